"""shakedown availability: was the machine there as promised?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import COULD_NOT_MEASURE, MET, NOT_MET, UNDECIDED, BadInput

if TYPE_CHECKING:
    from ..hosts.access import LocalHost
    from ..operate.availability.evaluate import Evaluation
    from ..operate.availability.history import History
    from ..operate.availability.jobs import JobTable
    from ..operate.availability.records import AvailabilityReport

app = typer.Typer(
    name="availability",
    no_args_is_help=True,
    help="Availability over a contract's window, from the batch engine's events, our own watch or a table of outages. "
    "docs/availability.md describes contracts and files.",
)

From = Annotated[
    list[str],
    typer.Option(
        "--from",
        metavar="SOURCE",
        help="slurm, or a file: a watch, `sacctmgr -P show event`, Grid Engine's reporting, CSV. Several are merged.",
    ),
]
Nodes = Annotated[
    str, typer.Option(help="The nodes, where no source lists them: 'node[1-4] processors=4 gpus=4; login'.")
]
Zone = Annotated[str, typer.Option(help="Of local times in files and options; in options else the contract's.")]


@app.command("report")
def report(
    source: From,
    contract: Annotated[
        str, typer.Option(help="A shipped one (thufir, doe-lcf, hector, semi-e10) or a file.")
    ] = "thufir",
    begin: Annotated[str, typer.Option(help="ISO 8601 or Unix seconds. Default: where the sources begin.")] = "",
    end: Annotated[str, typer.Option(help="As --begin. Default: where the sources end.")] = "",
    nodes: Nodes = "",
    zone: Zone = "",
    jobs: Annotated[
        str,
        typer.Option(
            metavar="FILE|none", help="What `sacct -P` printed, or Grid Engine's accounting. --from slurm asks for it."
        ),
    ] = "",
    html: Annotated[Path | None, typer.Option(help="Write the page with figures here.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the arithmetic of the judged window to the line.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Judge a history against a contract.

    Exit code 0 met, 1 not met, 4 undecided (too little was observed, or the history is too short), 3 no data.
    """
    from ..hosts.access import LocalHost
    from ..operate.availability import contract as contracts
    from ..operate.availability import evaluate, published_comparison, reading

    agreed = contracts.load(contract)
    door = LocalHost()
    low, high = _asked(begin, end, _zone(zone) or agreed.zone)
    history = _history(source, door, low, high, zone, nodes)  # a local time is not read in a zone that nobody named
    low, high = reading.observed(history, low, high)
    live = "slurm" in source
    table = _jobs(jobs, live, door, low, high)
    told, found = evaluate.evaluate(
        history,
        agreed,
        low,
        high,
        records=table.records if table else None,
        jobs_source=table.source if table else "",
        jobs_unread=table.unread if table else (),
        explained=explain,
        compared=live,
    )
    if live and told.beside:
        told = evaluate.with_beside(told, published_comparison.ask(door, told.beside))
    if json:
        terminal.print_json(told)
    else:
        _print(told)
    if html:
        _write_page(html, told, found)
    if not told.nodes:
        raise typer.Exit(COULD_NOT_MEASURE)
    raise typer.Exit({"met": MET, "not met": NOT_MET, "undecided": UNDECIDED}[told.verdict])


@app.command("watch")
def watch(
    output: Annotated[Path, typer.Option(help="The file that observations are appended to.")] = Path(
        "availability.jsonl"
    ),
    every: Annotated[str, typer.Option(help="How often to observe: 60 s, 5 min.")] = "60 s",
    heartbeat: Annotated[
        int, typer.Option(help="Ask each host by itself, too: a TCP port, slurmd's is 6818. 0: do not.")
    ] = 0,
    looks: Annotated[int, typer.Option(help="End after so many. 0: run until it is ended.")] = 0,
    engine: Annotated[str, typer.Option(help="slurm or gridengine. Default: whose commands are on PATH.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print at the end how often it looked.")] = False,
) -> None:
    """Observe the nodes' states again and again and append what changed; gaps stay gaps.

    Exit code 3 where the engine never answered.
    """
    from ..errors import unknown
    from ..hosts.access import LocalHost
    from ..operate.availability import contract as contracts
    from ..operate.availability import watching

    door = LocalHost()
    chosen = engine or watching.engine_here(door)
    if chosen not in watching.ENGINES:
        raise unknown("engine", chosen, watching.ENGINES, where="--engine")
    every_s = contracts.seconds_of(every, "--every")
    if every_s < 1 or looks < 0 or not 0 <= heartbeat < 65536:
        raise BadInput(
            "observations are at least a second apart, and a port is below 65536",
            hint="--every '60 s' --heartbeat 6818",
        )
    terminal.say(f"observing {chosen} every {every_s} s; observations are appended to {output}; Ctrl-C ends it")
    found = 0
    try:
        found = watching.watch(output, chosen, door, every_s=every_s, looks=looks, port=heartbeat, say=terminal.say)
    except KeyboardInterrupt:
        found = 1  # ended as it is meant to be
    if json:
        terminal.print_json({"file": str(output), "engine": chosen, "every_s": every_s, "answered": found})
    raise typer.Exit(MET if found else COULD_NOT_MEASURE)


@app.command("import")
def import_(
    source: From,
    output: Annotated[Path, typer.Option(help="The CSV file to write.")],
    begin: Annotated[str, typer.Option(help="From when on to ask an engine. Default: all that it knows.")] = "",
    nodes: Nodes = "",
    zone: Zone = "",
    json: Annotated[bool, typer.Option("--json", help="Print what was written.")] = False,
) -> None:
    """Keep a history as one CSV file: to annotate, to hand over, and because engines purge theirs.

    What it holds is read again by --from; times are Unix seconds.
    """
    from ..hosts.access import LocalHost
    from ..operate.availability import words
    from ..operate.availability.reading import table

    low, _ = _asked(begin, "", _zone(zone) or "UTC")
    history = _history(source, LocalHost(), low, None, _zone(zone), nodes)
    rows = table.write(output, history, tuple(one.kind or words.kind_of(one.what) for one in history.causes))
    if json:
        terminal.print_json(
            {"file": str(output), "records": rows, "nodes": len(history.names), "sources": history.sources}
        )
    for note in history.notices:
        terminal.note(f"note: {note.text}" + (f"; {note.advice}" if note.advice else ""))
    terminal.say(f"written: {output}: {rows} records of {len(history.names)} nodes")


@app.command("contracts")
def list_contracts(
    name: Annotated[str, typer.Argument(help="Print this one's file: a beginning for your own.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """The contracts that are shipped."""
    from ..operate.availability import contract as contracts

    if name:
        agreed = contracts.load(name)
        if json:
            terminal.print_json(agreed)
        else:
            sys.stdout.write((contracts.FOLDER / f"{agreed.name}.toml").read_text(encoding="utf-8"))
        return
    found = [contracts.load(one) for one in contracts.names()]
    if json:
        terminal.print_json(found)
        return
    rows = [(one.name, one.at_least, one.window.length, one.window.kind, one.counting, one.source) for one in found]
    terminal.print_table(("name", "at least", "window", "kind", "counts", "source"), rows)


# -------------------------------------------------------------------------------------------------------------- reading


def _zone(zone: str) -> str:
    from ..times import checked_zone

    return checked_zone(zone, "--zone") if zone else ""


def _asked(begin: str, end: str, zone: str) -> tuple[int | None, int | None]:
    from ..operate.availability.contract import time_of

    low = time_of(begin, zone, "--begin") if begin else None
    high = time_of(end, zone, "--end") if end else None
    if low is not None and high is not None and high <= low:
        raise BadInput("ends before it begins", where="--end", hint="--begin 2026-10-01 --end 2026-11-01")
    return low, high


def _history(source: list[str], door: LocalHost, low: int | None, high: int | None, zone: str, nodes: str) -> History:
    from ..operate.availability import reading

    return reading.read(source, door, begin_s=low, end_s=high, zone=zone, nodes=nodes)


def _jobs(asked: str, live: bool, door: LocalHost, low: int, high: int) -> JobTable | None:
    """Jobs of a file, or of the engine that listed the nodes."""
    from ..operate.availability import jobs

    if asked and asked != "none":
        return jobs.read(Path(asked))
    if live and not asked:
        return jobs.ask(door, low, high)
    return None


# ------------------------------------------------------------------------------------------------------------- printing


def _write_page(path: Path, told: AvailabilityReport, found: Evaluation) -> None:
    from ..files import atomic
    from ..operate.availability import page

    atomic.write(path, page.render(told, found))
    terminal.say(f"page: {path}")


def _print(told: AvailabilityReport) -> None:
    from ..operate.availability import tables

    for sentence in tables.lead(told):
        terminal.print_sentence(sentence, "  ", "  ")
    for title, headings, rows in tables.tables(told):
        if not rows:
            continue
        if title == "Definitions":
            terminal.print_table(headings[:4], [row[:4] for row in rows], title)
            for row in rows:
                terminal.print_sentence(f"{row[0]}: {row[4]}" + (f"; {row[5]}" if row[5] else ""), "  ", "    ")
            continue
        terminal.print_table(headings, rows, title)
    if told.explained:
        from ..operate.availability import explain

        print("\nThe arithmetic")
        print(explain.text(told.explained, told.zone))
    for note in told.notices:
        terminal.note(f"note: {note.text}" + (f"; {note.advice}" if note.advice else ""))
