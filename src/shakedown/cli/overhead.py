"""shakedown overhead: what layers (namespaces, containers, a command of the site's) cost a workload, in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import COULD_NOT_MEASURE, MET, UNDECIDED, BadInput
from . import _batch, _chosen, common

if TYPE_CHECKING:
    from ..records import Analysis
    from ..run.session import Ran


def command(
    ctx: typer.Context,
    workload: Annotated[
        str, typer.Argument(help="A workload (`shakedown list workloads`), or a run directory of this verb ('latest').")
    ],
    settings: _chosen.Settings = None,
    under: Annotated[
        list[str] | None,
        typer.Option(
            "--under",
            metavar="KIND[,KIND]",
            help="The layers: namespaces, bubblewrap, charliecloud:IMAGE, apptainer:IMAGE, podman:IMAGE, NAME=COMMAND; may "
            "be given again. See docs/overhead.md.",
            show_default=False,
        ),
    ] = None,
    pairs: Annotated[
        int, typer.Option(min=1, max=1000, help="Pairs of launches for each layer; fewer than 6 decide nothing.")
    ] = 9,
    equivalence: Annotated[
        str, typer.Option(help="A layer whose interval lies within this share of native is equivalent.")
    ] = "2 %",
    directory: Annotated[
        Path | None, typer.Option(help="The new run directory. Default: a name made from the time below ./runs.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON on standard output.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the page here, as HTML.")] = None,
) -> None:
    """Say what layers cost a workload: pair by pair beside native, in alternating order, with native a second time as the
    control; each a factor with its 95 % interval.

    Exit code 0; 1: a result is wrong; 3: a layer could not be measured; 4: too few pairs to decide.
    """
    from ..run import session

    share = common.share("--equivalence", equivalence)
    if _is_run(workload):
        if settings or under:
            raise BadInput("a run directory is read as it is", where=workload, hint="leave parameters and --under out")
        analysis = _read(workload)
        _show(analysis, share, json=json, output=output)
        raise typer.Exit(_code(analysis, session.exit_code(analysis), whole=True))
    text = _campaign(workload, settings or (), under or (), pairs)
    ran = _measured(ctx, text, workload, directory)
    if ran is None:
        return
    analysis = _analysed(ran)
    _show(analysis, share, json=json, output=output)
    if not json:
        terminal.say(f"run directory: {ran.parts[0].path}")
    raise typer.Exit(_code(analysis, session.exit_code(analysis), whole=ran.whole))


def _is_run(name: str) -> bool:
    return name == "latest" or (Path(name) / "manifest.json").exists()


def _campaign(workload: str, settings: Sequence[str], under: Sequence[str], pairs: int) -> str:
    """The campaign that measures the workload in so many pairs. Raises BadInput."""
    from .. import workloads
    from ..layers import asked

    repeats = [one for one in settings if one.startswith("repeat=")]
    if repeats:
        raise BadInput(f"{repeats[0]}: how often is said in pairs here", hint="--pairs 8")
    layers = [one for one in asked.read_all(under, where="--under") if one.label != asked.NATIVE]
    if not layers:
        raise BadInput(
            "there is nothing to compare with native", hint="--under namespaces, or --under control (native again)"
        )
    if all(one.label != asked.CONTROL for one in layers):
        layers.insert(0, asked.read(asked.CONTROL))
    text = _chosen.of_workload(workloads.get(workload), (*settings, f"repeat={pairs}"))
    return _chosen.with_layers(text, workload, (asked.NATIVE, *(one.text for one in layers)))


def _measured(ctx: typer.Context, text: str, workload: str, directory: Path | None) -> Ran | None:
    from ..hosts.access import LocalHost
    from ..results import run_directory
    from ..run import session
    from ._observer import Terminal

    path = directory or Path("runs") / run_directory.new_name(f"overhead-{workload}", LocalHost().now_ns())
    return session.begin(text, f"shakedown overhead {workload}", path, _batch.how(ctx), Terminal())


def _analysed(ran: Ran) -> Analysis:
    from .report import write_report

    analysis, _, _ = write_report(ran.parts[0], "html,json")
    return analysis


def _read(name: str) -> Analysis:
    from ..analysis import build
    from ..results.run_directory import RunDirectory

    path = common.latest_run(Path("runs")) if name == "latest" else Path(name)
    analysis, damaged = build.analyse(RunDirectory.open(path))
    for one in damaged:
        terminal.note(f"{one.what}: {one.why}")
    if not analysis.overheads:
        raise BadInput(
            "there is no pair of launches in it", where=str(path), hint="shakedown overhead WORKLOAD --under namespaces"
        )
    return analysis


def _show(analysis: Analysis, share: float, *, json: bool, output: Path | None) -> None:
    from ..analysis import summary
    from ..files import atomic
    from ..report import overheads as page
    from ..report.formats import html

    found = analysis.overheads
    failed = [f"{one.label}: {one.reason or one.state}" for one in analysis.outcomes if one.state != "ok"]
    if output:
        title = f"{analysis.title}, {', '.join(dict.fromkeys(one.name for one in analysis.machine.hosts))}"
        atomic.write(output, html.render_document(page.document(found, analysis.machine, share, title)))
    if json:
        rows = [dict(zip(page.PUBLISHED_HEADINGS, row, strict=True)) for row in page.published_rows()]
        verdicts = [page.verdict(one, share) for one in found]
        equivalent = [page.is_equivalent(one, share) for one in found]
        terminal.print_json(
            {
                "overheads": found,
                "verdicts": verdicts,
                "equivalence": share,
                "equivalent": equivalent,
                "rests_on": page.basis(analysis.machine),
                "doubts": page.doubts(found),
                "disturbed": summary.whether_it_counts(analysis),
                "published": rows,
                "skipped": analysis.skipped,
                "failed": failed,
            }
        )
        return
    for one in page.tables(found, share):
        terminal.print_table(page.HEADINGS, one.rows, title=one.title)
        terminal.print_sentence(one.summary, "  ", "  ")
    terminal.print_table(page.PUBLISHED_HEADINGS[:4], [row[:4] for row in page.published_rows()], title=page.PUBLISHED)
    disturbed = summary.whether_it_counts(analysis)
    for line in (*page.basis(analysis.machine), page.NOTE, *page.doubts(found), *([disturbed] if disturbed else [])):
        terminal.print_sentence(line, "  ", "  ")
    for line in (*(f"{one.what}: {one.why}" for one in analysis.skipped), *failed):
        terminal.print_sentence(f"no result: {line}", "  ", "    ")
    if output:
        print(f"\nthe page: {output}")


def _code(analysis: Analysis, code: int, *, whole: bool) -> int:
    """The exit code of what was measured: a layer that is not here or gave no pair is not measured."""
    if code not in (MET, UNDECIDED):
        return code
    if not whole or analysis.skipped or not analysis.overheads:
        return COULD_NOT_MEASURE
    return UNDECIDED if any(one.side == "too few pairs" for one in analysis.overheads) else code
