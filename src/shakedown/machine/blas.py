"""The BLAS libraries of a machine: in the loader's cache, in the usual folders, in modules, in Python's wheels.

A library is known by the name of its file and the folder that it lies in; nothing is loaded here. Each real file is
listed once, whatever the links that lead to it. The wrappers of Debian's alternatives
(``openblas-pthread/libblas.so.3``, which holds nothing but calls into ``libopenblas``) are left out in favour of what
they wrap.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from ..hosts.access import HostAccess
from ..records import Software, Value
from .software_table import table


class _Kind(NamedTuple):
    """One implementation: how its files are called, and what else their names tell."""

    name: str
    file: str  # regular expression of the whole file name; group "version" where the name has it
    title: str  # regular expression of how folders call it: OpenBLAS/0.3.24-GCC, openblas-0.3.26-abcdef
    threading: tuple[tuple[str, str], ...] = ()  # regular expression in the path -> pthread, openmp, serial


_SO = r"\.so(?:\.\d+)*"
_FOLDERS = ((r"[-_]pthreads?/", "pthread"), (r"[-_](?:openmp|omp)/", "openmp"), (r"[-_]serial/", "serial"))
_KINDS = (
    _Kind(
        "openblas",
        rf"lib(?:scipy_)?openblas(?:64_?|ilp64)?[op]?(?:64_?)?(?:_\w+?p?)?(?:-r(?P<version>\d[\d.]*\d))?{_SO}",
        "openblas",
        (
            *_FOLDERS,
            (r"libscipy_openblas", "pthread"),
            (r"libopenblas(?:64)?o(?:64_?)?[-.]", "openmp"),
            (r"libopenblas(?:64)?p(?:64_?)?[-.]", "pthread"),
            (r"libopenblas-r", "serial"),
        ),
    ),
    _Kind("aocl", rf"lib(?:blis|aocl)(?:-mt)?{_SO}", "aocl", ((r"-mt\.so", "openmp"), (r"libblis\.so", "serial"))),
    _Kind("blis", rf"libblis(?:64)?(?:-mt)?{_SO}", "blis", (*_FOLDERS, (r"-mt\.so", "openmp"))),
    _Kind("mkl", rf"libmkl_rt{_SO}", "i?mkl", ((r"libmkl_rt", "openmp"),)),
    _Kind(
        "nvpl",
        r"libnvpl_blas_i?lp64_(?:seq|gomp)\.so(?:\.(?P<version>\d+\.\d[\d.]*)|\.\d+)?",
        "nvpl",
        ((r"_seq\.so", "serial"), (r"_gomp\.so", "openmp")),
    ),
    _Kind(
        "armpl",
        rf"libarmpl(?:_i?lp64)?(?:_int64)?(?:_mp)?{_SO}",
        "armpl",
        ((r"_mp\.so", "openmp"), (r"libarmpl", "serial")),
    ),
    _Kind(
        "libsci",
        rf"libsci_(?:cray|gnu|amd|intel|nvidia|aocc)\w*?(?:_mp)?{_SO}",
        "libsci",
        ((r"_mp\.so", "openmp"), (r"libsci", "serial")),
    ),
    _Kind("flexiblas", r"libflexiblas(?:64)?\.so(?:\.(?P<version>\d+\.\d[\d.]*)|\.\d+)?", "flexiblas"),
    _Kind("atlas", rf"lib[ts]atlas{_SO}", "atlas", ((r"libtatlas", "pthread"), (r"libsatlas", "serial"))),
    _Kind("atlas", rf"(?<=/atlas/)libblas(?:\.so\.(?P<version>\d+\.\d[\d.]*)|{_SO})", "atlas"),
    _Kind(
        "netlib",
        r"(?:librefblas|libblas(?:64)?)\.so(?:\.(?P<version>\d+\.\d[\d.]*)|\.\d+)?",
        "blas",
        ((r"lib(?:ref)?blas", "serial"),),
    ),
)
#: Whose a variable of the environment is, by how its name begins.
_READ_BY = {
    "OPENBLAS": ("openblas",),
    "BLIS": ("blis", "aocl"),
    "MKL": ("mkl",),
    "NVPL": ("nvpl",),
    "ARMPL": ("armpl",),
}


def read_by(variable: str) -> tuple[str, ...]:
    """The libraries that read a variable of the environment: ``MKL_DEBUG_CPU_TYPE`` -> mkl; none for those of others."""
    return _READ_BY.get(variable.partition("_")[0], ())


#: How a file or a link to one of these may be called.
_NAMES = re.compile(
    r"lib(?:(?:scipy_)?openblas|blis|aocl|mkl_rt|nvpl_blas|armpl|sci_|flexiblas|[ts]atlas|(?:ref)?blas)\S*\.so"
)
#: Folders of Debian's alternatives whose ``libblas.so`` is a wrapper.
_WRAPPERS = re.compile(r"/(?:openblas|blis|mkl|flexiblas)[^/]*/lib(?:blas|cblas)(?:64)?\.so[^/]*$")

#: Folders below what a variable of the environment names (software.toml).
_LIBRARY_FOLDERS = ("lib", "lib64", "lib/intel64", "lib_LP64", "lib_ILP64", "lib/LP64", "lib/ILP64")
#: Python distributions that hold a BLAS: the distribution, and its folder among the packages ("": the prefix's lib).
_WHEELS = (("scipy_openblas32", "scipy_openblas32/lib"), ("scipy_openblas64", "scipy_openblas64/lib"), ("mkl", ""))


def blas(door: HostAccess) -> tuple[Software, ...]:
    """Every BLAS library found, the site's first: ``path`` is the real file, ``version`` what its name, its folder or
    its package tells, else "".

    Facts: ``source`` ("site" or "wheel"), ``threading`` ("pthread", "openmp", "serial" or "unknown"), ``ilp64``
    (integers of 64 bits), ``symbol_prefix``; ``reference`` (True) on the plain one of netlib, no measure of a machine.
    """
    found: dict[str, Software] = {}
    versions = dict(_wheel_versions(door))
    for folder, source in _folders(door):
        for name in door.list(folder):
            if not _NAMES.match(name):
                continue
            path = _real(door, posixpath.join(folder, name))
            if path is None or path in found or _WRAPPERS.search(path):
                continue
            entry = _software(door, path, source, versions)
            if entry is not None:
                found[path] = entry
    return tuple(sorted(found.values(), key=lambda one: one.facts["source"] != "site"))


# ---------------------------------------------------------------------------------------------------------------- where


def _folders(door: HostAccess) -> Iterator[tuple[str, str]]:
    """Each folder to look into once, with its source; those that the user chose come first."""
    seen: set[str] = set()
    candidates: list[tuple[str, str]] = []
    candidates += [(folder, "site") for folder in (door.env("LD_LIBRARY_PATH") or "").split(":") if folder]
    for variable in table().blas.variables:
        root = door.env(variable)
        if root:
            candidates += [(posixpath.join(root, below), "site") for below in _LIBRARY_FOLDERS]
            candidates += [(posixpath.join(root, "mkl", "latest", below), "site") for below in ("lib", "lib/intel64")]
    candidates += [(folder, "site") for folder in _loader_folders(door)]
    candidates += [(folder, "site") for pattern in table().blas.folders for folder in matching(door, pattern)]
    candidates += [(folder, "wheel") for folder in _wheel_folders(door)]
    wheels = {folder for folder, source in candidates if source == "wheel"}
    for folder, source in candidates:
        real = _real(door, folder)
        if real is not None and real not in seen and not _is_foreign(real):
            seen.add(real)
            yield real, "wheel" if folder in wheels else source


def _is_foreign(folder: str) -> bool:
    """Libraries of 32 bits beside those of 64."""
    return bool(re.search(r"/(?:i[3-6]86-linux-gnu|lib32|arm-linux-gnueabi(?:hf)?)(?:/|$)", folder))


def _loader_folders(door: HostAccess) -> list[str]:
    """Folders of the loader's cache in which a library of ours lies."""
    for program in ("ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"):  # not on PATH for every user
        printed = door.run((program, "-p"), limit_s=5)
        if printed.ok:
            paths = re.findall(r"=> (/\S+)$", printed.out, re.MULTILINE)
            return list(dict.fromkeys(posixpath.dirname(path) for path in paths if _kind_of(path)))
    return []


def matching(door: HostAccess, pattern: str) -> list[str]:
    """The folders that match a pattern; only its parts with a wildcard are listed."""
    found = ["/"]
    for part in pattern.strip("/").split("/"):
        if any(sign in part for sign in "*?["):
            found = [
                posixpath.join(folder, name)
                for folder in found
                for name in door.list(folder)
                if fnmatchcase(name, part)
            ]
        else:
            found = [posixpath.join(folder, part) for folder in found]
    return found


def _packages() -> list[str]:
    """The folders of Python's packages."""
    return [folder for folder in sys.path if posixpath.basename(folder) in ("site-packages", "dist-packages")]


def _wheel_folders(door: HostAccess) -> Iterator[str]:
    for distribution, _ in _wheel_versions(door):
        below = dict(_WHEELS)[distribution]
        if below:
            yield from (posixpath.join(packages, below) for packages in _packages())
        else:
            yield posixpath.join(sys.prefix, "lib")


def _wheel_versions(door: HostAccess) -> Iterator[tuple[str, str]]:
    """Distribution and version of the wheels that are installed."""
    for packages in _packages():
        for name in door.list(packages):
            match = re.fullmatch(r"([A-Za-z0-9_]+)-(\d[\w.]*)\.dist-info", name)
            if match and match[1] in dict(_WHEELS):
                yield match[1], match[2]


def _real(door: HostAccess, path: str) -> str | None:
    """``path`` with every link in it followed; None where it leads nowhere."""
    done, left = "/", [part for part in path.split("/") if part]
    for _ in range(200):  # links that lead in a circle end here
        if not left:
            return done
        part = left.pop(0)
        if part in (".", ""):
            continue
        if part == "..":
            done = posixpath.dirname(done)
            continue
        here = posixpath.join(done, part)
        target = door.link(here)
        if target is None:
            if not left and part not in door.list(done):
                return None
            done = here
        else:
            left = [*(word for word in target.split("/") if word), *left]
            done = "/" if target.startswith("/") else done
    return None


# ----------------------------------------------------------------------------------------------------------------- what


def _kind_of(path: str) -> _Kind | None:
    name_at = len(posixpath.dirname(path).rstrip("/")) + 1
    for kind in _KINDS:
        if re.compile(kind.file).fullmatch(path, name_at) and not (kind.name == "aocl" and not _is_aocl(path)):
            return kind
    return None


def _is_aocl(path: str) -> bool:
    """AMD's BLIS has the file names of the original: its folder tells."""
    return bool(re.search(r"aocl|/AMD/", path, re.IGNORECASE))


def _software(door: HostAccess, path: str, source: str, wheels: dict[str, str]) -> Software | None:
    kind = _kind_of(path)
    if kind is None:
        return None
    threading = next((word for pattern, word in kind.threading if re.search(pattern, path)), "unknown")
    name = posixpath.basename(path)
    facts: dict[str, Value] = {
        "source": source,
        "threading": threading,
        "ilp64": bool(re.search(r"(?:openblas|flexiblas|blis|libblas)[op]?_?64|ilp64|int64|openblas64", path)),
        "symbol_prefix": "scipy_" if name.startswith("libscipy_") else "",
    }
    if kind.name == "netlib":
        facts["reference"] = True
    version = _version(door, kind, path, source, wheels)
    return Software(kind="blas", name=kind.name, version=version, path=path, facts=facts)


def _version(door: HostAccess, kind: _Kind, path: str, source: str, wheels: dict[str, str]) -> str:
    """From the file's name, else a folder's name, else the wheel's or Debian's package."""
    name_at = len(posixpath.dirname(path).rstrip("/")) + 1
    match = re.compile(kind.file).fullmatch(path, name_at)
    if match and match.groupdict().get("version"):
        return str(match["version"])
    if source == "wheel":
        return next(
            (
                version
                for distribution, version in wheels.items()
                if (dict(_WHEELS)[distribution] or "/lib/libmkl") in path
            ),
            "",
        )
    match = re.search(
        rf"(?i)\b{kind.title}\w*(?:-linux)?(?:-\w+)?[-_/](?:\w+/)?v?(\d+\.\d[\d.]*)", posixpath.dirname(path)
    )
    return match[1].rstrip(".") if match else _debian_version(door, kind, path)


def _debian_version(door: HostAccess, kind: _Kind, path: str) -> str:
    """The version of the installed Debian package of that name, without its epoch and revision."""
    if not path.startswith("/usr/lib/"):
        return ""
    for block in (door.read("/var/lib/dpkg/status") or "").split("\n\n"):
        package = re.search(rf"^Package: lib{kind.name}\d", block, re.MULTILINE)
        version = re.search(r"^Version: (?:\d+:)?([^-+\s]+)", block, re.MULTILINE)
        if package and version and "Status: install ok installed" in block:
            return version[1]
    return ""
