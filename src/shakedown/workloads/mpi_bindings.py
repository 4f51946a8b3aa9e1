"""The bindings of the site's MPI: C, C++ and Fortran's three (mpif.h, mpi, mpi_f08), each a program of its own.

The programs are compiled by the MPI's wrappers and started by the launcher of the same MPI, on one host or on all those
that the run has. Each checks messages between neighbours (short ones and such as are agreed on first), any source, six
collectives with known results, derived types, one-sided communication, and a file that all ranks write and read; what a
rank received is compared element by element. The number of ranks in the world and the host of each rank are checked
against what was requested: a launcher that does not fit starts every rank as a world of one. A wrong result fails the run.
A binding that cannot be compiled (module files of another compiler, no wrapper) is not counted, and a notice gives the
compiler's reason. What an MPI refuses to begin on a network or file system (one-sided communication, files) is reported in a
notice with its reason, and fails only where ``require`` names it. ``mpi_bindings.bindings`` counts programs,
``mpi_bindings.languages`` languages with at least one.

``mpi`` is ``auto`` (the first of the site), ``all`` that are found, or a name such as ``MPICH``.
"""

from __future__ import annotations

import msgspec

from ..errors import Unavailable, unknown
from ..launchers import Command
from ..records import Host, Machine, Params, Software
from .common.table import table_of

TABLE = table_of(__file__)


def choose(word: str, host: Host) -> tuple[Software, ...]:
    """The MPIs that ``mpi`` asks for, the site's before one of a Python wheel. Raises BadInput and Unavailable."""
    found = sorted(
        (one for one in host.software if one.kind == "mpi"), key=lambda one: one.facts.get("source") == "wheel"
    )
    if not found:
        raise Unavailable(
            f"no MPI was found on {host.name}",
            hint="load the site's MPI module, or: sudo apt-get install openmpi-bin libopenmpi-dev",
        )
    if word == "all":
        return tuple(found)
    if word == "auto":
        return (found[0],)
    named = [one for one in found if word in (one.name, one.path, f"{one.name} {one.version}")]
    if not named:
        raise unknown("MPI", word, {one.name for one in found})
    return (named[0],)


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    languages, require = TABLE.selection(params, "languages"), TABLE.selection(params, "require", allow_empty=True)
    given = {**params, "languages": ",".join(languages), "require": ",".join(require)}
    if params["modules"]:  # what they bring is found out when they are loaded
        return ({**given, "label": str(params["mpi"])},)
    return tuple(
        {**given, "mpi": one.path or one.name, "label": f"{one.name} {one.version}".strip()}
        for one in choose(str(params["mpi"]), host)
    )


def _command(params: Params, host: Host) -> Command:
    return Command(
        argv=(*TABLE.argv(params, omit=()), "--host", "host.json"),
        files={"host.json": msgspec.json.encode(host).decode()},
        starts_itself=True,
    )


def _label(params: Params) -> str:
    ranks = "" if params["ranks"] == "auto" else f", {params['ranks']} ranks"
    return f"bindings of {params['label'] or params['mpi']}: {str(params['languages']).replace(',', ', ')}{ranks}"


WORKLOAD = TABLE.workload(
    title="MPI bindings (C, C++, Fortran)",
    command=_command,
    estimate_s=lambda params, host: 15.0 + 2.0 * host.count,
    resolve=_resolve,
    label=_label,
)
