"""shakedown predict hpl: the whole cluster from one, two and four nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import BadInput, unknown
from . import common

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..prediction.forecast import Forecast
    from ..prediction.page import Baselines
    from ..prediction.ranking import Ranked
    from ..prediction.setup import Row, Setup

WHAT = ("hpl",)


Runs = Annotated[
    list[Path] | None,
    typer.Argument(
        help="What was measured on few nodes, to calibrate with: run directories with runs of hpl (and of pingpong), "
        "logs of HPL. An HPL.dat among them: forecast and rank what it would run."
    ),
]
To = Annotated[str, typer.Option("--to", "--nodes", help="Numbers of nodes to forecast, separated by commas: 64,128.")]
Published = Annotated[
    str, typer.Option(help="Take the runs from this published system (see `shakedown list published`).")
]
From = Annotated[str, typer.Option("--from", help="With --published: the numbers of nodes to calibrate with.")]
LeaveOut = Annotated[
    str, typer.Option(help="Measured runs that do not count: nodes, or nodes@N, separated by commas: 1,2@142080.")
]
Model = Annotated[Path | None, typer.Option(help="A TOML file that describes the cluster (docs/forecast.md).")]
RanksPerNode = Annotated[int, typer.Option(help="Ranks on a node, for logs of HPL, which do not say.", min=0)]
Order = Annotated[int, typer.Option("--n", help="Order of the matrix. Default: what fills memory.")]
MemoryPerNode = Annotated[str, typer.Option(help="Memory of a node, such as 64GiB, for N.")]
MemoryShare = Annotated[
    float, typer.Option(callback=common.not_negative, help="The share of it that the matrix fills. Default: 0.8.")
]
Grid = Annotated[str, typer.Option(help="P x Q where one number of nodes is given; several are ranked: 36x144,24x216.")]
Seed = Annotated[int, typer.Option(help="Of the draws; the same seed gives the same forecast.")]
Output = Annotated[
    Path | None, typer.Option(help="The page with figures. Default: hpl-forecast.html; none with --json.")
]


def command(
    what: Annotated[str, typer.Argument(help="What to forecast: hpl.")],
    runs: Runs = None,
    to: To = "",
    published: Published = "",
    calibrate: From = "1,2,4",
    leave_out: LeaveOut = "",
    model: Model = None,
    ranks_per_node: RanksPerNode = 0,
    n: Order = 0,
    memory_per_node: MemoryPerNode = "",
    memory_share: MemoryShare = 0.0,
    grid: Grid = "",
    seed: Seed = 1,
    output: Output = None,
    json: Annotated[bool, typer.Option("--json", help="Print the forecast as JSON.")] = False,
) -> None:
    """Forecast HPL on many nodes from runs on few, from logs, from probes, or from a published system's small runs."""
    from ..prediction import baselines, forecast, ranking, sources, targets

    if what not in WHAT:
        raise unknown("forecast", what, WHAT)
    if runs and published:
        raise BadInput("measured runs and --published exclude each other", hint="take one source of runs")
    if published:
        found = sources.of_published(published, targets.counts_of(calibrate, "--from"), model)
    else:
        found = sources.of_paths(runs or [], model, ranks_per_node)
    setup = _with_memory(found.setup, memory_per_node, memory_share)
    observed = targets.without(found.observed, leave_out, "--leave-out") if leave_out else found.observed
    rows, said = sources.targets(
        setup, found, observed, targets.counts_of(to, "--to") if to else (), n, targets.grids_of(grid) if grid else ()
    )
    predicted = forecast.forecast(setup, observed, rows, seed=seed)
    ranked = ranking.rank(setup, observed, rows, seed=seed) if ranking.worth_ranking(rows) else ()
    formulas: Baselines = {}
    if observed:
        formulas = {
            "straight line": [baselines.log_linear(observed, row) for row in rows],
            "netlib's formula": [baselines.netlib(observed, row) for row in rows],
        }
    if json:
        terminal.print_json(
            {
                "forecast": predicted,
                "baselines": formulas,
                "ranking": ranked,
                "notices": said,
                "against_measured": forecast.summary(predicted),
                "inputs": setup.priors,
            }
        )
    else:
        _print(predicted, formulas, ranked, said)
    if output or not json:
        path = output or Path("hpl-forecast.html")
        _write_page(path, setup, predicted, _strong(setup, observed, rows, seed), formulas, ranked, said)
        terminal.say(f"\npage: {path}")


# ------------------------------------------------------------------------------------------------------------- what is asked


def _with_memory(setup: Setup, per_node: str, share: float) -> Setup:
    import msgspec

    from ..units import UnknownUnit, parse_bytes

    if per_node:
        try:
            setup = msgspec.structs.replace(setup, memory_bytes=parse_bytes(per_node))
        except (UnknownUnit, ValueError) as error:
            raise BadInput(str(error), where="--memory-per-node", hint="give a size such as 64GiB") from None
    if share:
        if not 0 < share <= 1:
            raise BadInput(
                f"{share:g} is not a valid share of the memory", where="--memory-share", hint="above 0, at most 1"
            )
        setup = msgspec.structs.replace(setup, memory_share=share)
    return setup


def _strong(setup: Setup, observed: tuple[Row, ...], targets: tuple[Row, ...], seed: int) -> Forecast | None:
    """Every target's nodes at the N of the smallest one; None where there is one number of nodes."""
    from ..prediction import forecast
    from ..prediction.setup import Row

    least = min(targets, key=lambda row: row.count)
    rows = {row.count: Row(count=row.count, n=least.n, p=row.p, q=row.q) for row in targets}
    if len(rows) < 2:
        return None
    return forecast.forecast(setup, observed, [rows[count] for count in sorted(rows)], seed=seed)


# ----------------------------------------------------------------------------------------------------------- what is shown


def _print(found: Forecast, formulas: Baselines, ranked: Sequence[Ranked], said: Sequence[str]) -> None:
    from ..prediction import numbers, page
    from ..prediction import ranked as ranking_words
    from ..prediction.forecast import LEVEL, summary

    print(f"{found.title}\n")
    for sentence in (*page.lead(found, ranked), *said):
        print(f"  {sentence}")
    known = any(one.measured is not None for one in found.predicted)
    headings = [found.counts, "P x Q", "N", "forecast", f"{numbers.percent(LEVEL, 0)} interval", "of DGEMM"]
    terminal.print_table(
        headings + (["measured", "error", "inside"] if known else []),
        [page.cells(one) + (page.held_out(one) if known else []) for one in found.predicted],
        "Forecasts",
    )
    if ranked:
        terminal.print_table(ranking_words.RANKED, ranking_words.ranked_rows(ranked), "Ranked")
    last = page.headline(found, ranked)
    terminal.print_table(
        ("input", "10 % to 90 %", "moves the rate"),
        [(one.title, page.span(one), numbers.signed(one.moves)) for one in last.sensitivity[:6]],
        f"What moves the forecast for {last.count} {found.counts}",
    )
    if rows := page.comparison(found, formulas):
        terminal.print_table(("forecast", "mean error", "worst"), rows, "Against what was measured")
        ours = summary(found)
        print(
            f"\n  {numbers.percent(ours['covered'], 0)} of {ours['rows']} measured rates lie in their intervals, which are "
            f"{numbers.percent(ours['mean_width'])} of the forecast wide in the mean."
        )


def _write_page(
    path: Path,
    setup: Setup,
    found: Forecast,
    strong: Forecast | None,
    formulas: Baselines,
    ranked: Sequence[Ranked],
    said: Sequence[str],
) -> None:
    from .. import __version__
    from ..files import atomic
    from ..prediction import page
    from ..report.formats import html

    text = html.render_document(
        page.document(setup, found, strong, formulas, version=__version__, ranked=ranked, said=said)
    )
    atomic.write(path, text)
