"""Which BLAS library a workload loads: what several take as their parameter ``library``.

``all``, ``auto``, a name such as ``openblas``, a label such as ``openblas 0.3.34``, or a path. ``PATH@KERNELS`` takes an
OpenBLAS's kernels for another processor than the one that it recognises.
"""

from __future__ import annotations

import posixpath
from collections import Counter

from ..errors import Unavailable, unknown
from ..records import Host, Software

HELP = "all, auto, a name such as openblas, or the path of a library (PATH@KERNELS: an OpenBLAS's kernels of that name)"
#: OpenBLAS up to this version takes Haswell's kernels on AMD's Zen 5, though SkylakeX's run there: DGEMM 122 -> 214
#: Gflop/s on two cores (0.3.34). It knows processors by their family; a newer one may know this.
_KNOWS_NO_ZEN5 = (0, 3, 34)
_AVX512 = {"avx512f", "avx512dq", "avx512bw", "avx512vl"}
#: What ``auto`` prefers, by the processor's vendor.
_ORDER = {
    "GenuineIntel": ("mkl", "openblas", "aocl", "blis"),
    "AuthenticAMD": ("aocl", "openblas", "blis", "mkl"),
    "": ("nvpl", "armpl", "libsci", "openblas", "blis", "flexiblas", "mkl", "aocl", "atlas"),
}
_THREADING = ("openmp", "pthread", "unknown", "serial")


def ordered(found: tuple[Software, ...], vendor: str) -> list[Software]:
    """The libraries in the order in which ``auto`` takes them, references left out."""
    names = (*_ORDER.get(vendor, ()), *_ORDER[""])

    def rank(one: Software) -> tuple[int, int, bool, bool]:
        threading = str(one.facts.get("threading", "unknown"))
        return (
            _THREADING.index(threading) // 2,
            names.index(one.name) if one.name in names else len(names),
            bool(one.facts.get("ilp64")),
            one.facts.get("source") != "site",
        )

    return sorted((one for one in found if not one.facts.get("reference")), key=rank)


def short_version(version: str) -> str:
    """At most three parts: "0.3.34" of "0.3.34.481.3"."""
    return ".".join(version.split(".")[:3])


def labels(found: tuple[Software, ...]) -> dict[str, str]:
    """By path: a name for each library that no other has. Its name and version, then its threading and integers, then
    its folder, as far as they are needed."""
    stages: list[dict[str, str]] = [{}, {}, {}]
    for one in found:
        plain = f"{one.name} {short_version(one.version)}".strip()
        finer = " ".join(
            [plain, *(["ilp64"] if one.facts.get("ilp64") else []), str(one.facts.get("threading", "unknown"))]
        )
        stages[0][one.path], stages[1][one.path] = plain, finer
        stages[2][one.path] = f"{finer} {posixpath.dirname(one.path)}"
    chosen: dict[str, str] = {}
    for stage in stages:
        seen = Counter(stage.values())
        for path, label in stage.items():
            if seen[label] == 1 or stage is stages[-1]:
                chosen.setdefault(path, label)
    return chosen


def better_kernels(one: Software, host: Host) -> str:
    """The kernels that an OpenBLAS should be told to take on this host, since it does not know its processor; or empty."""
    unknown_to_it = host.cpu.vendor == "AuthenticAMD" and (host.cpu.family or 0) >= 26 and _AVX512 <= set(host.cpu.isa)
    version = tuple(int(part) for part in short_version(one.version).split(".") if part.isdigit())
    return "SkylakeX" if one.name == "openblas" and unknown_to_it and version <= _KNOWS_NO_ZEN5 else ""


def choose(word: str, host: Host) -> tuple[tuple[str, str], ...]:
    """Path and label of each library that ``library`` asks for, the better kernels of one before its own. Raises BadInput
    and Unavailable."""
    chosen = []
    for one, label in _chosen(word, host):
        kernels = better_kernels(one, host) if "@" not in word else ""
        if kernels:
            chosen.append((f"{one.path}@{kernels}", f"{label} {kernels}"))
        if not kernels or word == "all":
            chosen.append((one.path, label))
    return tuple(chosen)


def _chosen(word: str, host: Host) -> list[tuple[Software, str]]:
    found = tuple(one for one in host.software if one.kind == "blas")
    named = labels(found)
    if "/" in word:
        path, _, kernels = word.partition("@")
        return [(Software(kind="blas", name="", path=word), f"{named[path]} {kernels}".strip() if path in named else "")]
    usable = ordered(found, host.cpu.vendor)
    if word not in ("all", "auto"):
        chosen = [one for one in (*usable, *found) if word in (one.name, named[one.path])]
        if not chosen:
            raise unknown("BLAS library", word, {one.name for one in found} | set(named.values()))
        return [(chosen[0], named[chosen[0].path])]
    if not usable:
        raise Unavailable(
            f"no optimised BLAS library was found on {host.name}",
            hint="load its module, or: pip install scipy-openblas32; a path can be given as library",
        )
    return [(one, named[one.path]) for one in (usable if word == "all" else usable[:1])]
