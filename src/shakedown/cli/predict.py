"""shakedown predict hpl: the whole cluster from one, two and four nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import BadInput, unknown
from . import common

if TYPE_CHECKING:
    from ..prediction.forecast import Forecast
    from ..prediction.page import Baselines
    from ..prediction.setup import Row, Setup

WHAT = ("hpl",)


Runs = Annotated[
    list[Path] | None,
    typer.Argument(help="Run directories with runs of hpl on few nodes (and of pingpong), to calibrate with."),
]
To = Annotated[str, typer.Option("--to", "--nodes", help="Numbers of nodes to forecast, with commas between: 64,128.")]
Published = Annotated[
    str, typer.Option(help="Take the runs from this published system (see `shakedown list published`).")
]
From = Annotated[str, typer.Option("--from", help="With --published: the numbers of nodes to calibrate with.")]
Model = Annotated[Path | None, typer.Option(help="A TOML file that describes the cluster (docs/forecast.md).")]
Order = Annotated[int, typer.Option("--n", help="Order of the matrix. Default: as published, or what fills memory.")]
MemoryPerNode = Annotated[str, typer.Option(help="Memory of a node, such as 64GiB, for N.")]
MemoryShare = Annotated[
    float, typer.Option(callback=common.not_negative, help="The share of it that the matrix fills. Default: 0.8.")
]
Grid = Annotated[str, typer.Option(help="P x Q as 36x144, where one number of nodes is asked for.")]
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
    model: Model = None,
    n: Order = 0,
    memory_per_node: MemoryPerNode = "",
    memory_share: MemoryShare = 0.0,
    grid: Grid = "",
    seed: Seed = 1,
    output: Output = None,
    json: Annotated[bool, typer.Option("--json", help="Print the forecast as JSON.")] = False,
) -> None:
    """Forecast HPL on many nodes from runs on few, from probes, or from a published system's small runs."""
    from ..prediction import baselines, forecast

    if what not in WHAT:
        raise unknown("forecast", what, WHAT)
    setup, observed, known = _sources(runs or [], published, calibrate, model)
    setup = _with_memory(setup, memory_per_node, memory_share)
    counts = _counts(to, "--to") if to else _rest(known, observed, setup)
    targets = _targets(setup, counts, known, n, grid)
    found = forecast.forecast(setup, observed, targets, seed=seed)
    formulas: Baselines = {}
    if observed:
        formulas = {
            "straight line": [baselines.log_linear(observed, row) for row in targets],
            "netlib's formula": [baselines.netlib(observed, row) for row in targets],
        }
    if json:
        common.print_json(
            {
                "forecast": found,
                "baselines": formulas,
                "against_measured": forecast.summary(found),
                "inputs": setup.priors,
            }
        )
    else:
        _print(found, formulas)
    if output or not json:
        path = output or Path("hpl-forecast.html")
        _write_page(path, setup, found, _strong(setup, observed, targets, seed), formulas)
        common.say(f"\npage: {path}")


# ------------------------------------------------------------------------------------------------------------- what is asked


def _sources(
    runs: list[Path], published: str, calibrate: str, model: Path | None
) -> tuple[Setup, tuple[Row, ...], tuple[Row, ...]]:
    """The setup, the rows to calibrate with, and every row that is known. Raises BadInput."""
    import msgspec

    from ..prediction import priors
    from ..prediction import setup as setups

    if runs and published:
        raise BadInput("run directories and --published exclude each other", hint="take one source of runs")
    described = setups.load(model) if model else None
    if published:
        from .. import published as systems
        from ..prediction import publications

        system = systems.system(published)
        described = described or setups.shipped(system.id)
        if described is None:
            raise BadInput(
                f"how HPL was run on {system.id!r} is not described",
                where="--published",
                hint="describe it: --model FILE (docs/forecast.md)",
            )
        known = publications.published_rows(system, described)
        return described, publications.pick(known, _counts(calibrate, "--from"), "--from", described.counts), known
    if runs:
        from ..prediction import measured

        found = measured.from_runs(runs)
        base = described or setups.Setup(title="this cluster", run=found.run, priors=priors.DEFAULTS)
        setup = msgspec.structs.replace(
            base, priors={**base.priors, **found.priors}, memory_bytes=base.memory_bytes or found.memory_bytes
        )
        return setup, (*setup.measured, *found.rows), ()
    if described is None:
        raise BadInput(
            "there is nothing to forecast from",
            hint="give run directories, --published SYSTEM, or --model FILE: shakedown predict hpl --published tsubame",
        )
    return described, described.measured, described.measured


def _counts(text: str, option: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if not word.isdigit() or int(word) < 1:
            raise BadInput(f"{word!r} is no number of nodes", where=option, hint="whole numbers with commas: 64,128")
    if not words:
        raise BadInput("there is no number of nodes", where=option, hint="whole numbers with commas: 64,128")
    return tuple(dict.fromkeys(int(word) for word in words))


def _rest(known: tuple[Row, ...], observed: tuple[Row, ...], setup: Setup) -> tuple[int, ...]:
    """Where no target is named: every known size that is not calibrated with."""
    taken = {row.count for row in observed}
    found = tuple(dict.fromkeys(row.count for row in known if row.count not in taken))
    if not found:
        raise BadInput(
            "what is to be forecast is not said", where="--to", hint=f"name numbers of {setup.counts}: --to 64"
        )
    return found


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
            raise BadInput(f"{share:g} is no share of the memory", where="--memory-share", hint="above 0, at most 1")
        setup = msgspec.structs.replace(setup, memory_share=share)
    return setup


def _targets(setup: Setup, counts: tuple[int, ...], known: tuple[Row, ...], n: int, grid: str) -> tuple[Row, ...]:
    """One row a count: the known run of that size, unless N or the grid is given. Raises BadInput."""
    from ..prediction import setup as setups

    p, q = _grid(grid) if grid else (0, 0)
    if grid and len(counts) > 1:
        raise BadInput("one grid cannot serve several numbers of nodes", where="--grid", hint="ask for one at a time")
    if n < 0:
        raise BadInput(f"N = {n} is no order of a matrix", where="--n", hint="give a whole number from 1")
    rows = []
    for count in counts:
        there = [row for row in known if row.count == count]
        if there and not n and not grid:
            rows.append(there[-1])
            continue
        rows_p, rows_q = setups.checked_grid(count, setups.ranks_each(setup), p, q, "--grid")
        order = n or setups.order(setup, count, "--to")
        setups.check_memory(setup, count, order, "--n")
        same = next((row.rate for row in there if (row.n, row.p, row.q) == (order, rows_p, rows_q)), None)
        rows.append(setups.Row(count=count, n=order, p=rows_p, q=rows_q, rate=same))
    return tuple(rows)


def _grid(text: str) -> tuple[int, int]:
    p, _, q = text.lower().partition("x")
    if not (p.strip().isdigit() and q.strip().isdigit()):
        raise BadInput(f"{text!r} is no grid", where="--grid", hint="write P x Q as 36x144")
    return int(p), int(q)


def _strong(setup: Setup, observed: tuple[Row, ...], targets: tuple[Row, ...], seed: int) -> Forecast | None:
    """Every target's nodes at the N of the smallest one; None where there is one target."""
    from ..prediction import forecast
    from ..prediction.setup import Row

    least = min(targets, key=lambda row: row.count)
    rows = {row.count: Row(count=row.count, n=least.n, p=row.p, q=row.q) for row in targets}
    if len(rows) < 2:
        return None
    return forecast.forecast(setup, observed, [rows[count] for count in sorted(rows)], seed=seed)


# ----------------------------------------------------------------------------------------------------------- what is shown


def _print(found: Forecast, formulas: Baselines) -> None:
    from ..prediction import page
    from ..prediction.forecast import LEVEL, summary

    print(f"{found.title}\n")
    for sentence in page.lead(found):
        print(f"  {sentence}")
    known = any(one.measured is not None for one in found.predicted)
    headings = [found.counts, "P x Q", "N", "forecast", f"{page.percent(LEVEL, 0)} interval", "of DGEMM"]
    common.print_table(
        headings + (["measured", "error", "inside"] if known else []),
        [page.cells(one) + (page.held_out(one) if known else []) for one in found.predicted],
        "Forecasts",
    )
    last = found.predicted[-1]
    common.print_table(
        ("input", "10 % to 90 %", "moves the rate"),
        [(one.title, page.span(one), page.signed(one.moves)) for one in last.sensitivity[:6]],
        f"What moves the forecast for {last.count} {found.counts}",
    )
    if rows := page.comparison(found, formulas):
        common.print_table(("forecast", "mean error", "worst"), rows, "Against what was measured")
        ours = summary(found)
        print(
            f"\n  {page.percent(ours['covered'], 0)} of {ours['rows']} measured rates lie in their intervals, which are "
            f"{page.percent(ours['mean_width'])} of the forecast wide in the mean."
        )


def _write_page(path: Path, setup: Setup, found: Forecast, strong: Forecast | None, formulas: Baselines) -> None:
    from .. import __version__, store
    from ..prediction import page
    from ..report import html

    text = html.render_document(page.document(setup, found, strong, formulas, version=__version__))
    store.write(path, text)
