"""shakedown groups: slow GPUs, nodes, switches, links and rails from collectives over chosen groups."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import BadInput, CannotMeasure
from . import _batch, common
from .common import share

if TYPE_CHECKING:
    from ..analysis.groups import GroupVerdict
    from ..operate.group_tests import GroupPlan
    from ..run.session import How


_Directory = Annotated[
    Path,
    typer.Argument(
        help="Where the stages lie as run directories 1, 2, ...: a new one, or one to continue. Or one run "
        "directory with groups, which is judged."
    ),
]
_Ranks = Annotated[
    int, typer.Option(min=0, help="So many ranks of this host alone are the places: a trial without a cluster.")
]
_Gpus = Annotated[
    int,
    typer.Option(
        min=0,
        help="So many GPUs of each host are the places (shakedown run gpu_collectives), in groups within the host.",
    ),
]
_Backend = Annotated[
    str, typer.Option(help="With --gpus: cuda, or host, where threads stand in for GPUs: a trial without any.")
]
_Recorded = Annotated[bool, typer.Option("--recorded", help="Judge what is recorded, and measure nothing.")]
_Operation = Annotated[str, typer.Option(help="The collective; in all-to-all each member sends to each other.")]
_Size = Annotated[str, typer.Option(help="Bytes of each block, or of the vector.")]
_Samples = Annotated[int, typer.Option(min=3, help="Repetitions in each group.")]
_Seconds = Annotated[
    float, typer.Option(callback=common.not_negative, help="A group with 10 repetitions ends after so long.")
]
_GroupSize = Annotated[int, typer.Option(min=0, help="Members of a group. Default: 2 to 4, by the number of places.")]
_Rounds = Annotated[int, typer.Option(min=0, help="The most rounds. Default: 2 log2 of the number of places.")]
_Topology = Annotated[
    Path | None,
    typer.Option(
        help="Which node hangs on which switch, and which switch on which: Slurm's topology.conf, or TOML "
        "with a table [switches]. Without it only places and rails are named."
    ),
]
_Rate = Annotated[
    float, typer.Option(callback=common.not_negative, help="The false-discovery rate that parts are named at.")
]
_Floor = Annotated[str, typer.Option(help="A part that is slower by less is not named, however sure it is.")]
_Wanted = Annotated[str, typer.Option(help="Rounds continue until a place this much slower would be found.")]
_AllowOversubscribe = Annotated[
    bool, typer.Option("--allow-oversubscribe", help="With --ranks: let ranks share CPUs. Such times mean nothing.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")]


def command(
    ctx: typer.Context,
    directory: _Directory,
    ranks: _Ranks = 0,
    gpus: _Gpus = 0,
    backend: _Backend = "cuda",
    recorded: _Recorded = False,
    operation: _Operation = "alltoall",
    size: _Size = "1 MiB",
    samples: _Samples = 20,
    seconds: _Seconds = 0.2,
    group_size: _GroupSize = 0,
    rounds: _Rounds = 0,
    topology: _Topology = None,
    rate: _Rate = 0.01,
    floor: _Floor = "2 %",
    wanted: _Wanted = "5 %",
    allow_oversubscribe: _AllowOversubscribe = False,
    json: _Json = False,
) -> None:
    """Name what is slow (GPUs, nodes, switches, links, rails), several at once, from rounds of collectives over groups.

    Exit code 0: none is slow or failed; 1: some are; 3: damaged records; 4: undecided.
    """
    from ..operate import group_tests
    from ..operate.group_tests.session import directories
    from ._observer import Terminal

    how = _batch.how(ctx)
    plan = _plan(ranks, group_size, rounds, operation, size, rate, floor, wanted, topology)
    plan = plan._replace(samples=samples, seconds=seconds, oversubscribe=allow_oversubscribe)
    plan = plan._replace(gpus=gpus, backend=_backend(backend, gpus))
    if not recorded and (place := _places(how, ranks, gpus)):
        hosts, number, how = place
        group_tests.measure(directory, plan._replace(hosts=hosts, places=number), how, Terminal())
    judged, damaged = group_tests.judge(directories(directory), plan)
    for one in damaged:
        terminal.say(f"shakedown: {one.what}: {one.why}")
    if not judged:
        raise CannotMeasure(
            "there is no group in it",
            where=str(directory),
            hint="measure some: --on slurm --nodes 16, --hosts node[1-16], --gpus 8 of each host, or --ranks 8 on this one",
        )
    verdicts = [verdict for _, verdict in judged]
    if json:
        terminal.print_json({"verdicts": verdicts, "damaged": damaged})
    else:
        for verdict in verdicts:
            show(verdict)
    raise typer.Exit(common.exit_code({verdict.state for verdict in verdicts}, bool(damaged)))


def _plan(
    ranks: int,
    group_size: int,
    rounds: int,
    operation: str,
    size: str,
    rate: float,
    floor: str,
    wanted: str,
    topology: Path | None,
) -> GroupPlan:
    """Raises BadInput."""
    from ..analysis.groups.data import Topology
    from ..analysis.groups.search import Settings
    from ..analysis.pairs import topology as switches
    from ..operate.group_tests import GroupPlan

    common.check_rate(rate)
    if group_size == 1:
        raise BadInput("--group-size 1 is not a group", hint="give 2 or more, or leave it out")
    return GroupPlan(
        ranks=ranks,
        group_size=group_size,
        rounds=rounds,
        operation=operation,
        size_bytes=_bytes(size),
        topology=Topology(switches.tree(topology)) if topology else None,
        settings=Settings(rate, share("--floor", floor), share("--wanted", wanted)),
    )


def _bytes(text: str) -> int:
    from ..units import UnknownUnit, parse_quantity

    try:
        value, unit = parse_quantity(text)
    except (UnknownUnit, ValueError) as error:
        raise BadInput(f"--size {text!r}: {error}", hint="write it as '1 MiB' or 65536") from None
    if unit not in ("B", "1") or value < 8 or value % 8:
        raise BadInput(f"--size {text!r} is not a multiple of 8 bytes", hint="write it as '1 MiB' or 65536")
    return int(value)


def _backend(word: str, gpus: int) -> str:
    """As gpu_collectives takes it. Raises BadInput."""
    if word not in ("cuda", "host"):
        raise BadInput(f"--backend {word!r} is not known", hint="cuda, or host")
    return f"host:{gpus}" if word == "host" else word


def _places(how: How, ranks: int, gpus: int) -> tuple[tuple[str, ...], int, How] | None:
    """The hosts' names, as far as they are known, and how many places there are; None where nothing is to be measured."""
    from .. import schedulers
    from ..hosts.access import LocalHost

    if ranks and gpus:
        raise BadInput("--ranks and --gpus are two kinds of places", hint="leave one of them out")
    if ranks:
        if how.batch is not None or how.hosts is not None:
            raise BadInput("--ranks is for this host alone", hint="leave out --on and --hosts, or --ranks")
        return (), ranks, how
    if how.batch is not None:
        return how.batch.hosts, how.batch.nodes, how
    hosts = how.hosts or schedulers.inside(os.environ, LocalHost())
    if hosts is None:
        return ((), 1, how) if gpus else None
    return hosts.hosts, len(hosts.hosts), how._replace(hosts=hosts)


def show(verdict: GroupVerdict) -> None:
    """One verdict for a person: the summary, each name with its next step, and the notices."""
    from ..report import groups as _groups

    print(f"\n{_groups.title(verdict)}")
    print(f"  {_groups.summary(verdict)}")
    for one in _groups.named(verdict):
        print(f"  {one.seen}")
        print(f"    next: {one.step}")
    for notice in verdict.notices:
        print(f"  note: {notice.text}; {notice.advice}")
