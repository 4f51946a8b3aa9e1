"""Which BLAS library a workload loads: what several take as their parameter ``library``.

``all``, ``auto``, a name such as ``openblas``, a label such as ``openblas 0.3.34``, or a path.
"""

from __future__ import annotations

import posixpath
from collections import Counter

from ...errors import Unavailable, unknown
from ...records import Host, Software

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


def choose(word: str, host: Host) -> tuple[tuple[str, str], ...]:
    """Path and label of each library that ``library`` asks for. Raises BadInput and Unavailable."""
    found = tuple(one for one in host.software if one.kind == "blas")
    named = labels(found)
    if "/" in word:
        return ((word, named.get(word, "")),)
    usable = ordered(found, host.cpu.vendor)
    if word not in ("all", "auto"):
        chosen = [one for one in (*usable, *found) if word in (one.name, named[one.path])]
        if not chosen:
            raise unknown("BLAS library", word, {one.name for one in found} | set(named.values()))
        return ((chosen[0].path, named[chosen[0].path]),)
    if not usable:
        raise Unavailable(
            f"no optimised BLAS library was found on {host.name}",
            hint="load its module, or: pip install scipy-openblas32; a path can be given as library",
        )
    return tuple((one.path, named[one.path]) for one in (usable if word == "all" else usable[:1]))
