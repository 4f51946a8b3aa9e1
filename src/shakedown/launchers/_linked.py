"""Which MPI a program of the site is linked to, as far as its file tells."""

from __future__ import annotations

import re
import shutil

from ..errors import Unavailable
from ..machine import mpi as flavours
from ..records import Software

#: Of a file, that is looked at.
_MOST_BYTES = 256 * 2**20
_NAMES = {
    "open_mpi": "Open MPI",
    "mpich": "the MPICH family (MPICH, Intel MPI, MVAPICH, Cray MPICH)",
    "mpi_abi": "the interface of the MPI standard",
}


def interface(path: str) -> str:
    """The binary interface of the MPI library that an executable names; empty where it names none, or several."""
    found = shutil.which(path)
    try:
        with open(found or path, "rb") as file:
            if file.read(4) != b"\x7fELF":
                return ""
            content = file.read(_MOST_BYTES)
    except OSError:
        return ""
    names = {name.decode() for name in re.findall(rb"\0(libmpi(?:ch|_abi)?\.so\.\d+)(?=\0)", content)}
    interfaces = {flavours.of_library(name) for name in names} - {""}
    return interfaces.pop() if len(interfaces) == 1 else ""


def check(path: str, mpi: Software) -> None:
    """Raises Unavailable for a program that is linked to an MPI of another interface than the launcher's: each rank would
    be a job of one."""
    linked, launcher = interface(path), flavours.interface(mpi.name)
    if linked == flavours.STANDARD and mpi.facts.get("standard_abi"):
        return
    if linked and launcher and linked != launcher:
        raise Unavailable(
            f"{path} is linked to {_NAMES[linked]}, and the launcher is that of {mpi.name} {mpi.version}: "
            "each rank would be a job of one",
            hint="name a program that is built with that MPI, or load the MPI that it is linked to",
        )
