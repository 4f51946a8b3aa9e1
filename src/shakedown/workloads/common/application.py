"""What the applications of a site share: how they are found and started, what a size is, and what a transcript holds.

A workload gives a `Recipe`: its programs, the steps of a job in their order (prepare, the run on ranks, a check), and
what its typical errors mean in words. ``functional_tests/application.py`` finds the programs (modules, PATH, a
container), carries the steps out in the run's folder and prints a transcript (`application_log`), which the workload's
``parse`` reads. All here is pure. A generated input has three sizes for which 2, 64 and 2,048 cores take a minute or
more, and ``smoke``, which takes seconds; with ``weak`` the size is that of one rank.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import msgspec

from ...errors import BadInput
from ...launchers import Command
from ...launchers.mpirun import cores
from ...records import Host, Machine, Params, Record
from . import site_mpi
from .lists import words


class Complaint(Record, frozen=True, kw_only=True):
    """What a line of a program that failed means. ``pattern``: a regular expression; ``what`` may name its groups as {1}."""

    pattern: str
    what: str
    hint: str
    absent: bool = False  # something must be brought first: the run is then unavailable, not failed


class Step(Record, frozen=True, kw_only=True):
    """One command of a job. ``argv[0]`` is a name of the recipe's ``programs``."""

    name: str
    argv: tuple[str, ...]
    ranks: int = 0  # 0: without a launcher
    env: dict[str, str] = msgspec.field(default_factory=dict)
    ends_with: tuple[int, ...] = (0,)  # exit codes with which its output is read
    shows: tuple[str, ...] = ()  # files of the run's folder (patterns) whose text joins the transcript
    tells: tuple[str, ...] = ()  # files in which it leaves why it failed, beside what it prints


class Recipe(Record, frozen=True, kw_only=True):
    """What is to be done, for ``functional_tests/application.py``."""

    application: str
    programs: dict[str, tuple[str, ...]]  # name in a step -> what it may be called on PATH; the first found is taken
    install: str  # the command that brings it
    steps: tuple[Step, ...]
    complaints: tuple[Complaint, ...] = ()
    #: The generated input: path in the run's folder -> text.
    files: dict[str, str] = msgspec.field(default_factory=dict)
    #: Environment variables that are set where there are none of that name.
    unset: dict[str, str] = msgspec.field(default_factory=dict)
    modules: tuple[str, ...] = ()
    container: str = ""
    mpi: str = "auto"


#: The amount of work by name of size; the keys are parameters of the workload.
Sizes = Mapping[str, Mapping[str, int]]

#: Ranks of a core, beyond which a request is taken for a mistake: they would wait for each other, and fill the memory.
MOST_OF_A_CORE = 16


def check_ranks(where: str, ranks: int, host: Host) -> None:
    """Raises BadInput for many more ranks than there are cores. ``where``: the workload."""
    most = MOST_OF_A_CORE * cores(host) * host.count
    if ranks > most:
        on = f"{cores(host) * host.count} cores of {host.count} hosts" if host.count > 1 else f"{cores(host)} cores"
        what = f"{where}.ranks = {ranks} on {on}: ranks that share a core wait for each other"
        raise BadInput(what, hint=f"at most {most}, and one for each core to be fast (ranks=all); or more hosts")


#: What a launcher says when it cannot start a program.
LAUNCHER_COMPLAINTS = (
    Complaint(
        pattern=r"There are not enough slots available",
        what="more ranks were requested than the launcher has slots",
        hint="ask for fewer ranks, or for more tasks of the batch engine",
    ),
    Complaint(
        pattern=r"mpirun has detected an attempt to run as root|prterun.*as root",
        what="the launcher refuses to start ranks as root",
        hint="run as a user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
    ),
    Complaint(
        pattern=r"MPI_Init[^\n]*\n?[^\n]*[Rr]eturned|undefined symbol: [io]mpi_|libmpi[^ ]*: cannot open shared object",
        what="the launcher is of another MPI than the library that the program is linked to",
        hint="name the launcher of that MPI in `mpi`, or load its module in `modules`",
    ),
    Complaint(
        pattern=r"Cannot allocate memory|std::bad_alloc|[Oo]ut of memory|oom-kill",
        what="the input needs more memory than there is",
        hint="take a smaller size, or more nodes",
    ),
)


def sized(params: Params, sizes: Sizes, ranks: int, grows: str) -> Params:
    """The parameters with the amounts of ``size`` in the place of "auto"; with ``weak``, ``grows`` times the ranks."""
    chosen = sizes[str(params["size"])]
    found = {**params, **{name: amount for name, amount in chosen.items() if params[name] == "auto"}}
    return {**found, grows: int(found[grows]) * ranks} if params["weak"] else found


def ranks_of(params: Params, host: Host) -> int:
    """How many ranks are requested; ``all``: one a core."""
    return cores(host) if params["ranks"] == "all" else int(params["ranks"])


def resolved(params: Params, machine: Machine, sizes: Sizes, grows: str, workload: str, *, mpi: bool = True) -> Params:
    """The parameters with numbers in the place of words. Raises BadInput for many more ranks than cores, Unavailable where
    several ranks have no MPI."""
    host = machine.hosts[0]
    ranks = ranks_of(params, host)
    check_ranks(workload, ranks, host)
    if mpi and ranks > 1 and not params["modules"]:
        site_mpi.need(host, "a program on several ranks")
    return {**sized(params, sizes, ranks, grows), "ranks": ranks}


def command(recipe: Recipe, params: Params, host: Host) -> Command:
    """What starts a job: the recipe with what the user asked for."""
    threads = str(params.get("threads", 1))
    full = msgspec.structs.replace(
        recipe,
        modules=words(params["modules"]),
        container=str(params["container"]),
        mpi=str(params.get("mpi", "auto")),
        complaints=(*recipe.complaints, *LAUNCHER_COMPLAINTS),
        programs=with_program(recipe.programs, str(params["program"])),
    )
    held = {"recipe.json": msgspec.json.encode(full).decode(), "host.json": msgspec.json.encode(host).decode()}
    return Command(
        argv=(sys.executable, "-m", "shakedown.functional_tests.application"),
        env=dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), threads),
        files=held,
        starts_itself=True,
    )


def with_program(programs: Mapping[str, Sequence[str]], asked: str) -> dict[str, tuple[str, ...]]:
    """The programs, the first of them being the one that the user names, where one is named."""
    found = {name: tuple(names) for name, names in programs.items()}
    if asked != "auto":
        found[next(iter(found))] = (asked,)
    return found


def workers(host: Host, ranks: int) -> float:
    """How many cores work for so many ranks, for an estimate; ranks that share a core wait for each other."""
    most = cores(host) * host.count
    return ranks if ranks <= most else most / 8
