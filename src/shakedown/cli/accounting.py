"""shakedown accounting: who used the machine, how long they waited, what it costs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import times
from ..document import terminal
from ..errors import BadInput

if TYPE_CHECKING:
    from ..operate.accounting.records import AccountingReport
    from ..operate.accounting.report import ReportOptions

app = typer.Typer(
    name="accounting",
    no_args_is_help=True,
    help="Use, waiting, utilisation, efficiency and charges, from what batch engines record. docs/accounting.md describes "
    "sources, definitions and tariffs.",
)

Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SOURCE]...", help="Files: sacct -P or --json, Grid Engine, PBS, LSF, CSV; also packed (gz, xz, bz2)."
    ),
]
From = Annotated[str, typer.Option("--from", metavar="ENGINE", help="slurm: ask the live engine for the window.")]
Reader = Annotated[
    str, typer.Option("--as", metavar="READER", help="The format of the files, where they do not show it.")
]
Begin = Annotated[str, typer.Option(help="A day, ISO 8601 or Unix seconds. Default: all that the sources cover.")]
End = Annotated[str, typer.Option(help="As --begin; not included.")]
Zone = Annotated[
    str, typer.Option("--timezone", help="Of days, of options, and of times in files that say none. Default: UTC.")
]
Written = Annotated[str, typer.Option(help="The time zone of stamps in files, where it is another.")]
GpusPer = Annotated[str, typer.Option(help="Grid Engine: whether a consumable counts per slot or per job.")]

#: Rows of a table on the terminal.
_FEW = 12


@app.command("report")
def report(
    source: Sources = None,
    engine: From = "",
    reader: Reader = "",
    begin: Begin = "",
    end: End = "",
    timezone: Zone = "",
    written_in: Written = "",
    by: Annotated[
        str,
        typer.Option(
            help="Tables: user, project, group, partition, qos, cluster, state, size, gpus, gpu, day, week, month; a+b."
        ),
    ] = "project,user,partition,day,size,state",
    tariff: Annotated[Path | None, typer.Option(help="Charge by this tariff (TOML).")] = None,
    nodes: Annotated[
        str, typer.Option(help="The capacity: 'node[1-4] processors=64 gpus=4; fat processors=256'.")
    ] = "",
    availability: Annotated[
        list[str] | None,
        typer.Option(help="Histories of nodes, as shakedown availability --from: capacity less down time."),
    ] = None,
    gpus_per: GpusPer = "slot",
    format: Annotated[str, typer.Option(help="Files to write: html,csv,json.")] = "",
    output: Annotated[Path | None, typer.Option(help="Folder for them. Default: accounting")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Add up the use of a window."""
    from ..hosts.access import LocalHost
    from ..operate.accounting import report as reports
    from ..operate.accounting.loading import Store

    formats = _formats(format, output)
    asked = _asked(source, engine, reader, begin, end, timezone, written_in, by, tariff, nodes, availability, gpus_per)
    door = LocalHost()
    with Store(zone=asked.written_in or timezone, gpus_per=asked.gpus_per, lean=True) as store:
        reports.load(store, asked, door)
        told = reports.make(store, asked, door)
    if json:
        terminal.print_json(told)
    else:
        _print(told)
    if formats:
        _write(output or Path("accounting"), formats, told)


@app.command("jobs")
def jobs(
    source: Sources = None,
    engine: From = "",
    reader: Reader = "",
    begin: Begin = "",
    end: End = "",
    timezone: Zone = "",
    written_in: Written = "",
    gpus_per: GpusPer = "slot",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
) -> None:
    """Print the jobs themselves in one set of columns, whatever engine they are from (CSV)."""
    from ..hosts.access import LocalHost
    from ..operate.accounting import export
    from ..operate.accounting import report as reports
    from ..operate.accounting.loading import Store

    asked = _asked(source, engine, reader, begin, end, timezone, written_in, "user", None, "", None, gpus_per)
    with Store(zone=asked.written_in or timezone, gpus_per=asked.gpus_per) as store:
        door = LocalHost()
        reports.load(store, asked, door)
        low, high = reports.window(store, asked, door) if begin or end else (None, None)
        for line in export.lines(store, low, high, as_json=json):
            sys.stdout.write(line)
    for one in store.notices:
        terminal.say(f"note: {one.text}{f'; {one.advice}' if one.advice else ''}")


@app.command("example")
def example(
    path: Annotated[Path, typer.Argument(help="A new file.")],
    jobs: Annotated[int, typer.Option(min=1, help="How many.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Of everything that is drawn.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print what is true of them as JSON.")] = False,
) -> None:
    """Write a made-up October of a cluster as `sacct -P` would, with known totals, to try the rest with."""
    from ..operate.accounting import simulate

    if path.exists():
        raise BadInput("is there already", where=str(path), hint="name a new file")
    known = simulate.write(path, jobs, seed=seed)
    if json:
        terminal.print_json(known)
    terminal.say(
        f"written: {path}: {known.whole.cpu_s} CPU seconds in the window\nnext: shakedown accounting report {path} "
        f"--begin 2026-10-01 --end 2026-11-01 --timezone {known.zone}"
    )


@app.command("readers")
def readers_(json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False) -> None:
    """What can be read."""
    from ..operate.accounting import readers

    found = [readers.get(name) for name in readers.names()]
    if json:
        terminal.print_json([{"name": one.name, "title": one.title, "gpus": one.gpus} for one in found])
    else:
        terminal.print_table(
            ("--as", "what", "to have GPUs recorded"), [(one.name, one.title, one.gpus or "-") for one in found]
        )


# ---------------------------------------------------------------------------------------------------------------- words


def _asked(
    source: list[str] | None,
    engine: str,
    reader: str,
    begin: str,
    end: str,
    zone: str,
    written_in: str,
    by: str,
    tariff: Path | None,
    nodes: str,
    availability: list[str] | None,
    gpus_per: str,
) -> ReportOptions:
    from ..errors import unknown
    from ..operate.accounting.report import ReportOptions
    from ..times import checked_zone

    if engine not in ("", "slurm"):
        raise unknown("engine", engine, ("slurm",), where="--from")
    if gpus_per not in ("slot", "job"):
        raise unknown("way of counting", gpus_per, ("slot", "job"), where="--gpus-per")
    zone = checked_zone(zone or "UTC", "--timezone")
    if written_in:
        checked_zone(written_in, "--written-in")
    return ReportOptions(
        sources=tuple(source or ()),
        from_slurm=engine == "slurm",
        reader=reader,
        begin=begin,
        end=end,
        zone=zone,
        written_in=written_in,
        by=by,
        tariff=tariff,
        nodes=nodes,
        availability=tuple(availability or ()),
        gpus_per=gpus_per,
    )


def _formats(text: str, output: Path | None) -> tuple[str, ...]:
    """Raises BadInput before anything is read."""
    from ..errors import unknown

    formats = tuple(filter(None, (word.strip() for word in text.split(","))))
    for word in formats:
        if word not in ("html", "csv", "json"):
            raise unknown("format", word, ("html", "csv", "json"), where="--format")
    if output is not None and not formats:
        raise BadInput(
            "names a folder, and no file is to be written", where="--output", hint="add --format html,csv,json"
        )
    if output is not None and output.exists() and not output.is_dir():
        raise BadInput("is not a folder", where="--output", hint="name a folder; it is made where it is not there")
    return formats


def _print(told: AccountingReport) -> None:
    from ..operate.accounting import tables

    print(f"{times.stamp(told.begin_s, told.zone)} to {times.stamp(told.end_s, told.zone)} ({told.zone})\n")
    pairs = tables.facts(told)
    terminal.print_pairs(pairs)
    for table in told.tables:
        most = len(table.rows) if table.ordered else _FEW
        terminal.print_table(tables.heads(table), tables.rows(table, most), tables.titled(table), tables.SPARE)
        if rest := tables.left_out(table, most):
            print(f"  ... {rest}")
    if told.charges:
        rows = [(one.project, tables.money(one.net)) for one in told.charges.bills]
        terminal.print_table(
            ("project", f"net, {told.charges.currency}"),
            [*rows, ("total", tables.money(told.charges.total))],
            "Charges",
        )
        for rule in told.charges.rules:
            print(f"  {rule}")
    for one in (*told.notices, *(told.charges.notices if told.charges else ())):
        terminal.note(f"note: {one.text}{f'; {one.advice}' if one.advice else ''}")


def _write(folder: Path, formats: tuple[str, ...], told: AccountingReport) -> None:
    from ..files import atomic
    from ..operate.accounting import page, tables

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot be made: {error.strerror}", where=str(folder), hint="name another --output") from None
    if "html" in formats:
        atomic.write(folder / "accounting.html", page.render(told))
    if "json" in formats:
        atomic.write_record(folder / "accounting.json", told)
    if "csv" in formats:
        for name, text in tables.files(told).items():
            atomic.write(folder / name, text)
    terminal.say(f"written: {folder}")
