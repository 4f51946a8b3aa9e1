"""shakedown checkpoint plan: how often to save at which level, and the waste to expect."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import BadInput

if TYPE_CHECKING:
    from ..checkpoint.measured import MeasuredCosts
    from ..checkpoint.mtti import Mtti
    from ..checkpoint.plan import Costs, Plan

Size = Annotated[
    str,
    typer.Option(help="Of one checkpoint, all nodes together: 64GB, 2TiB; with --run that of the run on each node."),
]
FromRun = Annotated[
    Path | None,
    typer.Option(
        "--run",
        metavar="RUN",
        help="Take what was not given from a run of the workload `checkpoint`: its directory, or its report.json.",
    ),
]
Nodes = Annotated[int, typer.Option(help="How many nodes the job runs on.", min=1, max=10**7)]
MttiOption = Annotated[str, typer.Option("--mtti", help="Mean time to interrupt of the whole job: 6h, 3d.")]
NodeMtti = Annotated[str, typer.Option(help="The same of one node; divided by --nodes: 5year.")]
Failures = Annotated[
    int | None, typer.Option(help="Interrupts of the job that were counted; with --over. 0 is a number, too.", min=0)
]
Over = Annotated[str, typer.Option(help="The time in which --failures were counted: 90d.")]
Availability = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="SOURCE",
        help="Take failures from what `shakedown availability --from` reads: a watch, events, a table; or a folder of them.",
    ),
]
Mix = Annotated[str, typer.Option(help="How failures share out among those that need levels 1 to 4: 60/30/8/2.")]
L1 = Annotated[
    str, typer.Option("--l1", help="Node-local storage: rate of each node (2GB/s) or time of a checkpoint (5s).")
]
L2 = Annotated[str, typer.Option("--l2", help="Copy on a partner node: as --l1.")]
L3 = Annotated[str, typer.Option("--l3", help="Erasure code over a group of nodes: as --l1.")]
Global = Annotated[
    str,
    typer.Option("--global", help="Global file system: rate of all nodes together (10GB/s) or time of a checkpoint."),
]
Staging = Annotated[
    str, typer.Option(help="Asynchronous: copying in memory, rate of each node or blocked time: 8GB/s.")
]
Slowdown = Annotated[str, typer.Option(help="Asynchronous: how much slower the application is meanwhile; 5 %.")]
Restart = Annotated[
    str, typer.Option(help="Time from a failure until work continues, for each level: 30s,60s,90s,10min.")
]
Relaunch = Annotated[str, typer.Option(help="Where --restart is not given: starting the job again, before it reads.")]
Cadence = Annotated[
    str, typer.Option(help="The fixed cadence to compare with, 6min; L1 to L4 every 1st, 2nd, 4th, 8th time.")
]
Seed = Annotated[int, typer.Option(help="Of the drawn failures; the same seed gives the same plan.", min=0)]
Zone = Annotated[str, typer.Option(help="With --availability: of local times in the files.")]
NodeNames = Annotated[
    str, typer.Option(help="With --availability, where no source lists the nodes: 'node[1-4] processors=4'.")
]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write the page with figures here.")]


def command(
    size: Size = "",
    nodes: Nodes = 1,
    run: FromRun = None,
    mtti: MttiOption = "",
    node_mtti: NodeMtti = "",
    failures: Failures = None,
    over: Over = "",
    availability: Availability = None,
    mix: Mix = "",
    l1: L1 = "",
    l2: L2 = "",
    l3: L3 = "",
    global_: Global = "",
    staging: Staging = "",
    slowdown: Slowdown = "",
    restart: Restart = "",
    relaunch: Relaunch = "30s",
    cadence: Cadence = "",
    seed: Seed = 1,
    zone: Zone = "",
    node_names: NodeNames = "",
    output: Output = None,
    json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Choose intervals and levels: the expected waste of four policies, at today's mean time to interrupt and at others.

    The mean time to interrupt is one of --mtti, --node-mtti, --failures with --over, or --availability.
    """
    from ..checkpoint import plan as plans

    measured = _measured(run) if run else None
    size_bytes = _size(size, nodes, measured)
    known, shares = _mtti(nodes, mtti, node_mtti, failures, over, availability or [], zone, node_names)
    costs = _costs(
        size_bytes,
        nodes,
        {1: l1, 2: l2, 3: l3, 4: global_},
        mix=mix,
        shares=shares,
        staging=staging,
        slowdown=slowdown,
        restart=restart,
        relaunch=relaunch,
        cadence=cadence,
        measured=measured,
    )
    found = plans.plan(size_bytes, nodes, known, costs, seed=seed)
    if json:
        terminal.print_json(found)
    else:
        _print(found)
    if output:
        _write_page(output, found)


# ------------------------------------------------------------------------------------------------------------- what is asked


def _measured(run: Path) -> MeasuredCosts:
    """What a run measured. Raises BadInput where there is no run, or none of checkpoints."""
    from ..analysis import build
    from ..checkpoint import measured
    from ..results.run_directory import RunDirectory

    analysis = build.analyse(RunDirectory.open(run))[0] if run.is_dir() else build.read_analysis(run)
    return measured.of_findings(analysis.findings, str(run))


def _size(text: str, nodes: int, measured: MeasuredCosts | None) -> float:
    from ..checkpoint.costs import quantity

    if measured and not text:
        return measured.node_bytes * nodes
    if not text:
        raise BadInput(
            "is missing", where="--size", hint="one checkpoint, all nodes together: --size 64GB, or --run RUN"
        )
    return quantity(text, "--size", ("B",), "a size with its unit, all nodes together: 64GB, 2TiB")[0]


def _mtti(
    nodes: int, mtti: str, node_mtti: str, failures: int | None, over: str, sources: list[Path], zone: str, names: str
) -> tuple[Mtti, tuple[float, ...]]:
    """The MTTI, and the shares of failures where they were recorded."""
    from ..checkpoint import mtti as known
    from ..checkpoint.costs import seconds_of

    given = {"--mtti": mtti, "--node-mtti": node_mtti, "--failures": failures is not None, "--availability": sources}
    asked = [name for name, value in given.items() if value]
    if len(asked) != 1:
        raise BadInput(
            f"{' and '.join(asked)} exclude each other" if asked else "how often the job is interrupted was not given",
            where="MTTI",
            hint="one of --mtti 6h, --node-mtti 5year, --failures 3 --over 90d, --availability watch.jsonl",
        )
    if mtti:
        return known.stated(seconds_of(mtti, "--mtti")), ()
    if node_mtti:
        return known.stated(
            seconds_of(node_mtti, "--node-mtti") / nodes, f"{node_mtti} of a node over {nodes} nodes"
        ), ()
    if failures is not None:
        if not over:
            raise BadInput("is missing", where="--over", hint="the time in which the failures were counted: --over 90d")
        return known.of_failures(failures, seconds_of(over, "--over") / 3600), ()
    found = known.recorded(_files(sources), zone=zone, nodes=names)
    return known.of_incidents(found, nodes), known.shares(found, nodes, tolerated=2)


def _files(sources: list[Path]) -> list[str]:
    """Sources as they are, folders as the files in them."""
    found: list[str] = []
    for source in sources:
        inside = sorted(str(path) for path in source.iterdir() if path.is_file()) if source.is_dir() else [str(source)]
        if not inside:
            raise BadInput("there is no file in this folder", where=str(source), hint="name a watch, events or a table")
        found += inside
    return found


def _costs(
    size_bytes: float,
    nodes: int,
    given: dict[int, str],
    *,
    mix: str,
    shares: tuple[float, ...],
    staging: str,
    slowdown: str,
    restart: str,
    relaunch: str,
    cadence: str,
    measured: MeasuredCosts | None,
) -> Costs:
    from ..checkpoint import costs, plan
    from ..checkpoint.measured import levels as measured_levels

    staging_s, staging_source = _staging(staging, size_bytes / nodes, measured)
    relaunch_s = costs.seconds_of(relaunch, "--relaunch", zero=True)
    slowed, slowdown_source = _slowdown(slowdown, measured)
    levels = costs.levels(
        size_bytes,
        nodes,
        {number: text for number, text in given.items() if text},
        relaunch_s=relaunch_s,
        restarts=[costs.seconds_of(part, "--restart", zero=True) for part in restart.split(",")] if restart else (),
        shares=costs.shares_of(mix) if mix else shares or costs.ASSUMED_SHARES,
        measured=measured_levels(measured, size_bytes, nodes, relaunch_s) if measured else None,
    )
    return plan.Costs(
        levels=levels,
        staging_s=staging_s,
        slowdown=slowed,
        cadence_s=costs.seconds_of(cadence, "--cadence") if cadence else plan.usual_cadence(levels),
        staging_source=staging_source,
        slowdown_source=slowdown_source,
    )


def _staging(text: str, node_bytes: float, measured: MeasuredCosts | None) -> tuple[float, str]:
    """The blocked time of a checkpoint that drains, and where it is from."""
    from ..checkpoint import costs
    from ..units import show

    rate, kind = costs.ASSUMED_STAGING, "assumed"
    if text:
        value, unit = costs.quantity(text, "--staging", ("B/s", "s"), "8GB/s, or 0.5s")
        return (value if unit == "s" else node_bytes / value), "given"
    if measured and measured.staging_B_s:
        rate, kind = measured.staging_B_s, "measured"
    return node_bytes / rate, f"{kind}: {show(rate, 'B/s')} of each node"


def _slowdown(text: str, measured: MeasuredCosts | None) -> tuple[float, str]:
    """The share of its speed that an application loses while a checkpoint drains, and where it is from."""
    from ..checkpoint import costs

    if text:
        return costs.share_of(text, "--slowdown"), "given"
    if measured and measured.slowdown is not None:
        return measured.slowdown, "measured"
    return costs.ASSUMED_SLOWDOWN, "assumed: the run does not distinguish it from noise" if measured else "assumed"


# ----------------------------------------------------------------------------------------------------------- what is shown


def _print(found: Plan) -> None:
    from ..checkpoint import page
    from ..document.text import count
    from ..units import show

    head = f"{show(found.size_bytes, 'B')} on {count(found.nodes, 'node')}"
    print(f"Checkpoint plan: {head}, {show(found.size_bytes / found.nodes, 'B')} on each\n")
    for sentence in page.lead(found):
        terminal.print_sentence(sentence, "  ", "  ")
    terminal.print_table(page.POLICY_HEADINGS, [page.policy_cells(one) for one in found.policies], "Policies")
    terminal.print_table(page.LEVEL_HEADINGS, page.level_cells(found), "Levels")
    for note in found.notices:
        terminal.note(f"note: {note.text}" + (f"; {note.advice}" if note.advice else ""))


def _write_page(path: Path, found: Plan) -> None:
    from .. import __version__
    from ..checkpoint import page
    from ..files import atomic
    from ..report.formats import html

    atomic.write(path, html.render_document(page.document(found, version=__version__)))
    terminal.say(f"page: {path}")
