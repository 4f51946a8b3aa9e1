"""shakedown reproduce: a published document's evaluation done again on this machine, and laid beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import COULD_NOT_MEASURE, MET, UNDECIDED, BadInput
from . import _batch, common

if TYPE_CHECKING:
    from ..reproduce import Evaluation
    from ..reproduce.answering import Answer
    from ..reproduce.choosing import Choice, Planned
    from ..results.run_directory import RunDirectory
    from ..run.session import How


def command(
    ctx: typer.Context,
    document: Annotated[str, typer.Argument(help="thufir, tsubame, iict-bas, prace or comet.")],
    only: Annotated[
        list[str] | None,
        typer.Option(help="These rows alone: an id such as table-4, or how ids begin (table, bsc-2); may be repeated."),
    ] = None,
    minutes: Annotated[
        float,
        typer.Option(
            min=0.0, callback=common.not_negative, help="The rows that say most in so many minutes; 0: all rows."
        ),
    ] = 20.0,
    list_rows: Annotated[
        bool, typer.Option("--list", help="Show the rows, their cost here and what is missing; run nothing.")
    ] = False,
    directory: Annotated[Path | None, typer.Option(help="The new run directory. Default: below ./runs.")] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Continue this run directory ('latest': the newest of this document below ./runs)."),
    ] = None,
    kept: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            help="Measure nothing: make the page of these run directories; the first that has a row answers it.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the answers, or the list, as JSON.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The page. Default: reproduce.html in the run directory.")
    ] = None,
) -> None:
    """Do the evaluation of a published document again on this machine: every table and figure beside ours, on one page.

    Exit code 0: every row that can be answered here is; 3: a run failed; 4: rows are left for lack of time.
    """
    from .. import reproduce
    from ..campaign import plan
    from ..reproduce import choosing
    from ..results import run_directory

    evaluation = reproduce.load(document)
    how = _batch.how(ctx)
    rows = _rows(evaluation, how, plan.learn(run_directory.durations(Path("runs"))))
    budget_s = minutes * 60 or None
    choice = choosing.chosen(rows, only or (), budget_s, elsewhere=how.batch is not None)
    if list_rows:
        return _list(rows, choice, json=json)
    if (resume is not None) + (directory is not None) + bool(kept) > 1:
        raise BadInput("--resume, --directory and --from exclude each other", hint="give one of them")
    how = how._replace(time_limit_s=math.inf if how.batch or not budget_s else budget_s)
    if kept:
        parts: Sequence[RunDirectory] | None = [_opened(path) for path in kept]
    else:
        parts = _measured(evaluation, choice, budget_s, how, directory, resume)
    if parts is not None:
        raise typer.Exit(_answered(evaluation, parts, rows, choice, output, json=json))


def _measured(
    evaluation: Evaluation,
    choice: Choice,
    budget_s: float | None,
    how: How,
    directory: Path | None,
    resume: Path | None,
) -> Sequence[RunDirectory] | None:
    """The run directories, measured or continued; none where no row can run, None where a job is left to itself."""
    from ..reproduce import choosing
    from ..run import session
    from ._observer import Terminal

    if resume is not None:
        path = _latest(evaluation) if str(resume) == "latest" else resume
        _check_of(evaluation, path)
        ran = session.go_on(path, how._replace(back=_back(evaluation, path)), Terminal())
    elif not choice.rows:
        return ()
    else:
        path = directory or Path("runs") / _new_name(evaluation)
        text = choosing.text(evaluation, choice, budget_s)
        where = f"reproduce {evaluation.name}"
        ran = session.begin(text, where, path, how._replace(back=_back(evaluation, path)), Terminal())
    return ran and ran.parts


def _rows(evaluation: Evaluation, how: How, history: dict[str, float]) -> tuple[Planned, ...]:
    """The rows as planned on this machine, or on as many like it as are asked for."""
    from .. import machine
    from ..campaign import plan
    from ..hosts.access import LocalHost
    from ..reproduce import choosing

    number = how.batch.nodes if how.batch else len(how.hosts.hosts) if how.hosts else 1
    return choosing.planned(evaluation, plan.alike(machine.machine(LocalHost()), max(1, number)), history)


def _new_name(evaluation: Evaluation) -> str:
    from ..hosts.access import LocalHost
    from ..results import run_directory

    return run_directory.new_name(f"reproduce-{evaluation.name}", LocalHost().now_ns())


def _back(evaluation: Evaluation, path: Path) -> str:
    return f"shakedown reproduce {evaluation.name} --resume {path}"


def _latest(evaluation: Evaluation) -> Path:
    """The newest run directory of the document. Raises BadInput."""
    found = sorted(path.parent for path in Path("runs").glob(f"*reproduce-{evaluation.name}*/manifest.json"))
    if not found:
        raise BadInput(
            "there is no run directory of this document", where="runs", hint=f"shakedown reproduce {evaluation.name}"
        )
    return found[-1]


def _check_of(evaluation: Evaluation, path: Path) -> None:
    """Raises BadInput for the run directory of something else."""
    from .. import campaign as campaigns
    from ..run.batch import submission

    for part in submission.parts(path):
        held = part / "campaign.toml"
        name = campaigns.parse(*campaigns.text_of(str(held))).name if held.exists() else ""
        if name != f"reproduce-{evaluation.name}":
            raise BadInput(
                f"it is not a run of `shakedown reproduce {evaluation.name}`",
                where=str(part),
                hint="--from makes a page of whatever was measured; --resume continues a run of this document",
            )


def _opened(path: Path) -> RunDirectory:
    from ..results.run_directory import RunDirectory

    return RunDirectory.open(path)


def _answered(
    evaluation: Evaluation,
    parts: Sequence[RunDirectory],
    rows: Sequence[Planned],
    choice: Choice,
    output: Path | None,
    *,
    json: bool,
) -> int:
    """Write the page, say what is in it, and return the exit code."""
    from ..files import atomic
    from ..report.formats import html
    from ..reproduce import answering, page

    kept = [answering.keep(evaluation, part) for part in parts]
    found = answering.answers(evaluation, kept, choice.left_out, {one.row.id: one for one in rows})
    cost = {one.row.id: one.cost_s for one in rows if one.runs}
    made = page.document(evaluation, found, answering.machine_of(kept), cost)
    path = output or (parts[0].path / "reproduce.html" if parts else Path(f"reproduce-{evaluation.name}.html"))
    atomic.write(path, html.render_document(made))
    if json:
        terminal.print_json({"document": evaluation.name, "answers": found})
    else:
        _print(found, cost)
        print(f"\nthe page: {path}")
    states = {one.state for one in found}
    return COULD_NOT_MEASURE if "failed" in states else UNDECIDED if "not run" in states else MET


def _print(found: Sequence[Answer], cost: dict[str, float]) -> None:
    from ..reproduce import page

    answered = [one for one in found if page.headline(one)]
    if answered:
        print("\nAnswered, theirs beside ours:")
        for one in answered:
            terminal.print_sentence(page.headline(one), first=f"  {one.row.id}: ", rest="    ")
    headings, cells = page.overview(found, cost)
    rest = [cell for cell, one in zip(cells, found, strict=True) if one.state != "answered"]
    if rest:
        chosen = [headings.index(name) for name in ("row", "state", "why, and what answers it")]
        short = [tuple(cell[at] for at in chosen) for cell in rest]
        terminal.print_table([headings[at] for at in chosen], short, title="Not answered, or in part")


def _list(rows: Sequence[Planned], choice: Choice, *, json: bool) -> None:
    from ..reproduce import page
    from ..units import show_seconds

    taken = {one.row.id for one in choice.rows}
    if json:
        terminal.print_json(
            {
                "rows": [
                    {
                        "id": one.row.id,
                        "kind": one.row.kind,
                        "title": one.row.title,
                        "page": one.row.page,
                        "cost_s": one.cost_s if one.runs else None,
                        "missing": one.missing,
                        "needs": one.row.needs,
                        "command": one.row.command,
                        "nothing": one.row.nothing,
                        "would_run": one.row.id in taken,
                        "left_out": choice.left_out.get(one.row.id, ""),
                    }
                    for one in rows
                ]
            }
        )
        return
    headings, cells = page.listing(rows)
    marked = [("*" if one.row.id in taken else "", *cell) for one, cell in zip(rows, cells, strict=True)]
    terminal.print_table(("", *headings), marked, spare=("page",))
    paid = {run.id: run.estimate_s for one in choice.rows for run in one.runs}
    print(f"\n* would run: {len(choice.rows)} of {len(rows)} rows, about {show_seconds(sum(paid.values()))}")
