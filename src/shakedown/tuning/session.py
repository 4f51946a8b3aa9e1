"""One call of the tuner in its folder: what was asked for, the machine, the problem; then the loop, then the files."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from .. import __version__, machine, schedulers, strict, workloads
from ..errors import BadInput, CannotMeasure, ShakedownError
from ..files import atomic
from ..hosts import hostlist
from ..hosts.access import HostAccess, LocalHost
from ..launchers.mpirun import cores
from ..programs import events
from ..records import Host, Machine, Notice, Record, Value
from ..results import run_directory
from ..run import harness
from ..run import loop as execute
from ..schedulers import Allocation
from ..units import whole_number
from ..workloads.common import blas
from . import explain, launch, loop, outcome, page, prior, program
from . import space as spaces
from .history import Problem, Windows
from .journal import Journal, Setup
from .records import Request, Result
from .space import Space

SHARES = (1.0, 0.7, 0.4, 0.15)
COLUMNS = 0.03  # of N, in a window
LONG_S = 20.0  # whole runs are taken where they are expected to be shorter
_PANEL = 192  # what --window-panels counts in


class TuneOptions(Record, frozen=True, kw_only=True):
    """What a person asked for, in their words."""

    n: str = "auto"
    memory_share: float = 0.8
    time_limit_s: float = 0.0
    nodes: str = ""
    fix: tuple[str, ...] = ()
    space: Path | None = None
    library: str = "auto"
    windows: str = "auto"
    window_panels: int = 0
    seed: int = 1
    probes: Path | None = None


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that is ready: its journal, what it is for, and the machine."""

    folder: Path
    journal: Journal
    setup: Setup
    machine: Machine
    allocation: Allocation | None = None  # where there are several hosts
    rates: prior.Base  # what the model starts from


def open_folder(folder: Path | None, asked: TuneOptions) -> Opened:
    """Make or open the folder. A folder with trials keeps its N and its windows; axes may be given anew.

    Raises BadInput for what was asked wrongly, CannotMeasure where another tuner is at work there, StoreFailed.
    """
    door = LocalHost()
    given = {} if asked.space is None else {name: tuple(values) for name, values in spaces.read(asked.space).items()}
    for text in asked.fix:
        name, values = spaces.parse_fix(text)
        given[name] = tuple(values)
    hosts, names = _hosts(asked.nodes)
    allocation = _allocation(hosts, names, door)
    path = folder or Path("runs") / run_directory.new_name("tune-hpl", door.now_ns())
    if path.exists() and not path.is_dir():
        raise BadInput("is a file", where=str(path), hint="give a folder")
    found = machine.machine(door)
    rates = _rates(asked.probes, found.hosts[0])
    setup = _setup(asked, given, found, hosts)
    journal = Journal(path)
    try:
        kept = journal.setup()
        if kept is not None:
            setup = _again(kept, setup, asked, path)
        journal.keep_setup(setup)
        if not (path / "machine.json").exists():
            atomic.write_record(path / "machine.json", found)
        found = harness.with_hosts(path, found, allocation)
        execute.clear_leftovers(run_directory.RunDirectory(path))
    except ShakedownError:
        journal.close()
        raise
    return Opened(folder=path, journal=journal, setup=setup, machine=found, allocation=allocation, rates=rates)


def _rates(probes: Path | None, host: Host) -> prior.Base:
    """Rules of thumb, or what a file of probe events says. Raises BadInput where that holds no case."""
    if probes is None:
        return prior.base(host)
    cases = events.parse(strict.read_text(probes).encode()).cases
    if not any(case.kernel.startswith("probe.") for case in cases):
        raise BadInput("contains no case of a probe", where=str(probes), hint="give what the probe program printed")
    return prior.from_probes(prior.base(host), cases)


def _hosts(text: str) -> tuple[int, tuple[str, ...]]:
    """How many hosts, and their names where they were given. Raises BadInput."""
    if (count := whole_number(text, most=hostlist.MOST_HOSTS)) is not None:
        if not count:
            raise BadInput("--nodes 0: there must be one", hint="give a number from 1, or names separated by commas")
        return count, ()
    names = tuple(dict.fromkeys(hostlist.expand(text)))
    if text and not names:
        raise BadInput(f"--nodes {text!r} names no host", hint="write names separated by commas")
    if names:
        return len(names), names
    return (int(os.environ.get("SLURM_JOB_NUM_NODES", "1")) if launch.in_slurm(os.environ) else 1), ()


def _allocation(hosts: int, names: tuple[str, ...], door: HostAccess) -> Allocation | None:
    """The hosts to tune over: by name, or the first of the allocation that this is in. Raises CannotMeasure."""
    if names:
        return Allocation(engine="", job="", hosts=names)
    if hosts == 1:
        return None
    found = schedulers.inside(os.environ, door)
    if found is None or len(found.hosts) < hosts:
        has = f"the allocation has {len(found.hosts)}" if found else "this process is in no allocation"
        raise CannotMeasure(
            f"{hosts} hosts were requested, and {has}", hint=f"name the hosts, or first: salloc --nodes {hosts}"
        )
    return msgspec.structs.replace(found, hosts=found.hosts[:hosts], cpus=found.cpus[:hosts], gpus=found.gpus[:hosts])


def _again(kept: Setup, setup: Setup, asked: TuneOptions, path: Path) -> Setup:
    """What a folder goes on with: its own N and windows, the axes that are asked for now. Raises BadInput."""
    if asked.n != "auto" and int(asked.n) != kept.n:
        raise BadInput(
            f"this folder tunes N = {kept.n}, not {asked.n}",
            where=str(path),
            hint="leave --n out, or take another folder",
        )
    if setup.hosts != kept.hosts:
        raise BadInput(
            f"this folder tunes {kept.hosts} hosts, not {setup.hosts}", where=str(path), hint="take another folder"
        )
    same = {"n": kept.n, "n_reason": kept.n_reason, "windows": kept.windows, "columns": kept.columns, "seed": kept.seed}
    if not asked.fix and asked.space is None and asked.library == "auto":
        same["axes"] = kept.axes
    return msgspec.structs.replace(setup, **same)


def _setup(asked: TuneOptions, given: dict[str, tuple[Value, ...]], found: Machine, hosts: int) -> Setup:
    host = found.hosts[0]
    n, reason = _order(asked, found, hosts)
    workload = workloads.get("hpl")
    known = [name for name in spaces.AXES if name in workload.params]
    space = spaces.default(host, hosts=hosts, n=n, libraries=_libraries(asked.library, host), known=known)
    space = _with_program_axes(space)
    space = spaces.replace(space, given, host, where=str(asked.space or "--fix"))
    _check(space, n, found)
    shares, columns = _windows(asked, n, host, hosts, space)
    return Setup(
        n=n,
        n_reason=reason,
        seed=asked.seed,
        hosts=hosts,
        windows=shares,
        columns=columns,
        axes=space.axes,
        version=__version__,
    )


def _with_program_axes(space: Space) -> Space:
    """The space with one value, the program's own, for every axis that is not searched by default but may be given."""
    workload = workloads.get("hpl")
    own = {name: (workload.params[name].default,) for name in spaces.SECONDARY if name in workload.params}
    axes = {**own, **space.axes}
    return msgspec.structs.replace(space, axes=axes, defaults={**{k: v[0] for k, v in own.items()}, **space.defaults})


def _libraries(word: str, host: Host) -> tuple[str, ...]:
    """The paths of the BLAS libraries to compare. Raises BadInput and Unavailable."""
    chosen = [path for one in word.split(",") for path, _ in blas.choose(one.strip(), host)]
    return tuple(dict.fromkeys(chosen))


def _check(space: Space, n: int, found: Machine) -> None:
    """Each value against what the workload takes. Raises BadInput."""
    workload = workloads.get("hpl")
    for name, values in space.axes.items():
        if name == "nb":
            for value in values:
                if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= n:
                    raise BadInput(
                        f"nb = {value!r} is not a valid block size for N = {n}", hint="give whole numbers: nb=128,192"
                    )
        if name in workload.params:
            listed = workload.params[name].kind == "list"
            for value in values:
                checked = workloads.check_params(workload, {name: str(value) if listed else value}, where="tune")
                if listed and name != "nb" and value != "auto":
                    workload.resolve({**checked, "n": str(n), "ranks": 1}, found)  # reads the list


def _order(asked: TuneOptions, found: Machine, hosts: int) -> tuple[int, str]:
    if asked.n != "auto":
        n = whole_number(asked.n, 64, 2**31 - 1)
        if n is None:
            raise BadInput(
                f"--n {asked.n[:40]!r} is not a matrix order of at least 64", hint="give a whole number, or auto"
            )
        return n, "as asked"
    if not 0 < asked.memory_share <= 1:
        raise BadInput(f"--memory-share {asked.memory_share:g} is not between 0 and 1", hint="0.8 is usual")
    host = found.hosts[0]
    nb = int(spaces.block_sizes(cores(host), 10**6)[0])
    n = program.largest(
        found, hosts, share=asked.memory_share, limit_s=asked.time_limit_s, nb=nb, grid=(1, 1), threads=cores(host)
    )
    limited = f", and about {asked.time_limit_s:g} s a solution" if asked.time_limit_s else ""
    return n, f"{asked.memory_share:.0%} of the free memory{limited}"


def _windows(asked: TuneOptions, n: int, host: Host, hosts: int, space: Space) -> tuple[tuple[float, ...], int]:
    """Shares and columns of windows; none for whole runs. Raises BadInput."""
    columns = asked.window_panels * _PANEL or max(round(COLUMNS * n), _PANEL)
    if asked.windows == "none":
        return (), columns
    if asked.windows == "auto":
        predict = prior.learn(prior.base(host), hosts)(())
        return (SHARES if predict(spaces.canonical(space, space.defaults), n) > LONG_S else ()), columns
    try:
        shares = tuple(sorted((float(word) for word in asked.windows.split(",")), reverse=True))
    except ValueError:
        shares = (0.0,)
    if not all(0 < share <= 1 for share in shares) or len(set(shares)) < 3:
        raise BadInput(
            f"--windows {asked.windows!r} is not a list of at least three shares of N",
            hint="write them as 1,0.7,0.4,0.15",
        )
    return shares, columns


# ------------------------------------------------------------------------------------------------------------- running


def problem(opened: Opened, budget_s: float | None) -> Problem:
    """The search's problem for a folder."""
    setup, host = opened.setup, opened.machine.hosts[0]
    base = spaces.default(host, hosts=setup.hosts, n=setup.n)
    space = msgspec.structs.replace(base, axes=setup.axes, defaults=spaces.first_values(setup.axes, setup.hosts))
    return Problem(
        space=space,
        n=setup.n,
        learn=prior.learn(opened.rates, setup.hosts),
        windows=Windows(shares=setup.windows, columns=setup.columns) if setup.windows else None,
        seed=setup.seed,
        budget_s=budget_s,
    )


def run(opened: Opened, *, budget_s: float | None, progress: loop.Progress | None = None) -> Result:
    """Search, then write result.json, HPL.dat and report.html."""
    door, setup = LocalHost(), opened.setup
    measure = program.measure(
        run_directory.RunDirectory(opened.folder), opened.machine, door, hosts=setup.hosts, allocation=opened.allocation
    )
    ended = loop.tune(
        problem(opened, budget_s), opened.journal, measure, time.monotonic, progress, spent_s=opened.journal.spent_s()
    )
    found = outcome.result(ended, n_reason=setup.n_reason, budget_s=budget_s, version=__version__)
    return keep(opened, found)


def told(opened: Opened) -> tuple[str, ...]:
    """The axes that a person wants to see of a configuration."""
    return spaces.told(problem(opened, None).space)


def keep(opened: Opened, found: Result) -> Result:
    """The result with everything that a person needs, written into the folder."""
    host = opened.machine.hosts[0]
    dat = ""
    if found.chosen is not None:
        point = found.chosen.point
        final_n = program.rounded(found.n, point)
        ran = next((one.ran for one in reversed(opened.journal.trials) if one.point == point and one.ran), {})
        dat = launch.hpl_dat(point, final_n, ran)
        found = msgspec.structs.replace(found, final_n=final_n, launch=_lines(opened, found, final_n))
        atomic.write(opened.folder / "HPL.dat", dat)
    notices = (*opened.journal.notices, *_slow(found))
    found = msgspec.structs.replace(found, notices=notices)
    found = msgspec.structs.replace(found, explanation=explain.explanation(found))
    atomic.write_record(opened.folder / "result.json", found)
    html = page.page(found, host=host.name, hpl_dat=dat, trials=opened.journal.trials, created_ns=time.time_ns())
    atomic.write(opened.folder / "report.html", html)
    return found


def _lines(opened: Opened, found: Result, n: int) -> tuple[str, ...]:
    assert found.chosen is not None
    setup, host = opened.setup, opened.machine.hosts[0]
    request = Request(point=found.chosen.point, n=n, stage="final", block="", estimate_s=0, cap_s=0)
    try:
        params = program.resolved(request, opened.machine, setup.hosts)
        lines = launch.lines(
            found.chosen.point,
            params,
            host,
            hosts=setup.hosts,
            slurm=launch.in_slurm(os.environ),
            allocation=opened.allocation,
        )
    except ShakedownError:
        return ()
    return tuple(lines)


def _slow(found: Result) -> tuple[Notice, ...]:
    return tuple(
        Notice(
            code="slow-host",
            text=f"{host} is {explain.percent(behind)} slower than the median host",
            advice="repair it or leave it out: HPL runs at the pace of the slowest",
        )
        for host, behind in found.slow_hosts.items()
    )
