"""shakedown energy import: files of power that a site has, as a trace: what they hold is shown before it is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import times
from ..document import terminal

if TYPE_CHECKING:
    from ..energy.importing.trace_import import Described, Imported

#: Channels that are shown one by one.
SHOWN = 20


def command(
    files: Annotated[
        list[Path], typer.Argument(help="CSV (packed or not) or Parquet: a column a channel, or key columns.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The trace to write. Without it the files are only looked at.")
    ] = None,
    zone: Annotated[str, typer.Option(help="Of stamps that name none: Europe/Berlin, UTC, +01:00.")] = "",
    unit: Annotated[
        str,
        typer.Option(
            help="Of the values: W, kW, mW; of counters J, Wh, kWh. Default: as header, key or unit column say."
        ),
    ] = "",
    column: Annotated[str, typer.Option(help="Columns of values, with commas. Default: all of power and energy.")] = "",
    time: Annotated[str, typer.Option(help="Column of the stamps; two with a comma for date and time.")] = "",
    key: Annotated[str, typer.Option(help="Columns that name the channel in a long table, with commas.")] = "",
    scope: Annotated[
        str, typer.Option(help="What a reading stands for: point, last (interval up to its stamp), next, counter.")
    ] = "",
    place: Annotated[str, typer.Option(help="Where in the power path: facility, rack, node, board, component.")] = "",
    host: Annotated[
        str, typer.Option(help="What is measured, where no key column says it: a node's name, a rack's.")
    ] = "",
    window: Annotated[str, typer.Option(help="Seconds over which a reading averages.")] = "",
    modulus: Annotated[str, typer.Option(help="Where a counter starts again at zero, in its unit.")] = "",
    most_w: Annotated[str, typer.Option("--most-w", help="The most power that can flow, in W.")] = "",
    format: Annotated[
        str, typer.Option(help="How stamps are written: as for strptime, or s, ms, us, ns for numbers.")
    ] = "",
    start: Annotated[str, typer.Option(help="When the recording began, where stamps count from there.")] = "",
    separator: Annotated[str, typer.Option(help="comma, semicolon, tab or the character itself.")] = "",
    decimal: Annotated[str, typer.Option(help="point or comma.")] = "",
    overlap: Annotated[str, typer.Option(help="keep: where a time was recorded twice, take both.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print what was understood as JSON.")] = False,
) -> None:
    """Bring files of power into a trace for `energy of`, `energy check` and `energy bundle`."""
    from ..energy.importing import trace_import

    given = {
        "zone": zone, "unit": unit, "column": column, "time": time, "scope": scope, "place": place, "host": host,
        "window": window, "modulus": modulus, "most_w": most_w, "format": format, "start": start, "separator": separator,
        "decimal": decimal, "overlap": overlap,
    }  # fmt: skip
    options = {name: text for name, text in given.items() if text}
    keys = [word.strip() for word in key.split(",") if word.strip()]
    found = trace_import.bring(files, options, keys, output)
    if json:
        terminal.print_whole_json(found)
    else:
        _print(found)
    if output:
        terminal.say(f"written: {output}")
    else:
        terminal.say("nothing is written: name the trace with -o power.parquet")


def _print(found: Imported) -> None:
    from ..units import show, show_seconds

    print(f"{found.rows:,} rows of {len(found.files)} file{'s' * (len(found.files) > 1)}; stamps: {found.stamps}")
    rows = [
        (
            _name(one),
            one.unit,
            one.channel.scope,
            f"{one.readings:,}",
            show(one.step_s, "s"),
            str(one.gaps),
            _utc(one.first_ns),
            show_seconds((one.last_ns - one.first_ns) * 1e-9),
            show(one.mean_w, "W", 4),
        )
        for one in found.channels[:SHOWN]
    ]
    headings = ("channel", "in", "scope", "readings", "step", "gaps", "from (UTC)", "over", "mean power")
    terminal.print_table(headings, rows)
    if len(found.channels) > SHOWN:
        print(f"  and {len(found.channels) - SHOWN} channels more")
    if found.left_out:
        more = f" and {len(found.left_out) - 3} more" if len(found.left_out) > 3 else ""
        terminal.say(
            f"left out, no unit of power or energy: {', '.join(found.left_out[:3])}{more}; state it with --unit"
        )
    if any(one.channel.scope == "point" for one in found.channels):
        terminal.say(
            "what a reading stands for is not known; a point is taken: --scope last for averages up to their stamp"
        )
    for notice in found.notices:
        terminal.say(f"note: {notice.text}" + (f" -> {notice.advice}" if notice.advice else ""))


def _name(one: Described) -> str:
    from ..metering.meters import channel_key

    return channel_key(one.channel)


def _utc(ns: int) -> str:
    return times.utc(ns // 10**9)[:-1]
