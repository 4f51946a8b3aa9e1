"""shakedown meter: which meters there are, what they say now, what they say over time."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import times
from ..document import terminal
from ..errors import COULD_NOT_MEASURE, MET, BadInput
from . import common

if TYPE_CHECKING:
    from ..energy.uncertainty.quantity import Quantity
    from ..metering.meters import Channel
    from ..metering.sampler import Sampler
    from ..records import Absent
    from ._meter import Read, Recorded

app = typer.Typer(
    name="meter", no_args_is_help=True, help="Power and energy meters: which there are, and what they say."
)

Targets = Annotated[
    list[str],
    typer.Argument(
        metavar="TARGET...",
        help="Meters as `shakedown meter list` writes them: rapl, ipmi://root@bmc7, csv:run3.csv; auto: all that this "
        "machine has.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print as JSON on standard output.")]


# -------------------------------------------------------------------------------------------------------------------- list


@app.command("list")
def list_(json: Json = False) -> None:
    """All kinds of meters: what this machine has of them, and why not the others."""
    from ..hosts.access import LocalHost
    from ..metering import meters
    from . import _meter

    door = LocalHost()
    found = [_meter.listed(name, door) for name in meters.names()]
    if json:
        terminal.print_json(found)
        return
    here = [one for one in found if one.here]
    terminal.print_table(
        ("target", "what", "channels"),
        [(target, one.title, ", ".join(one.channels)) for one in here for target in one.here],
        "On this machine",
    )
    terminal.print_table(
        ("target", "what"),
        [(one.address, one.title) for one in found if not one.here and not one.why_not],
        "Where an address is given (shakedown meter read TARGET)",
    )
    absent = [one for one in found if one.why_not]
    if absent:
        print("\nNot on this machine")
        for one in absent:
            print(f"  {one.address}: {one.title}\n    {one.why_not}" + (f"\n    next: {one.next}" if one.next else ""))


# -------------------------------------------------------------------------------------------------------------------- read


@app.command("read")
def read(targets: Targets, json: Json = False) -> None:
    """Ask meters once: every channel with its value, its status and what a reading stands for.

    Exit code 3 where no channel has a value.
    """
    from ..hosts.access import LocalHost
    from ..metering import sampler as sampling
    from . import _meter

    door = LocalHost()
    found: list[Read] = []
    refused: list[Absent] = []
    asked = sampling.some(targets, door)
    common.warn_of_passwords(map(str, asked))
    for target in asked:
        _meter.ask(target, door, found, refused)
    if json:
        terminal.print_whole_json({"channels": found, "refused": refused})
    else:
        rows = [
            (
                one.channel.id,
                _value(one.value, one.channel.unit),
                one.status,
                _stands_for(one.channel),
                one.channel.place,
            )
            for one in found
        ]
        if rows:
            terminal.print_table(("channel", "value", "status", "a reading stands for", "place"), rows)
        for one in found:
            if one.channel.note:
                terminal.say(f"{one.channel.id}: {one.channel.note}")
        _say_refused(refused)
    raise typer.Exit(MET if any(one.value is not None for one in found) else COULD_NOT_MEASURE)


def _value(value: float | None, unit: str) -> str:
    from ..units import show

    return "-" if value is None else show(value, unit, 5)


def _stands_for(channel: Channel) -> str:
    from ..units import show

    window = show(channel.window_s, "s") if channel.window_s else "an interval that is not known"
    words = {
        "point": "the moment",
        "last": f"the mean of {window} before it",
        "next": f"the mean of {window} after it",
        "counter": "all since it began",
    }[channel.scope]
    if channel.scope == "counter" and channel.modulus:
        words += f", wraps at {show(channel.modulus, channel.unit)}"
    return f"{words}, new every {show(channel.refresh_s, 's')}" if channel.refresh_s else words


def _say_refused(refused: Sequence[Absent]) -> None:
    for one in refused:
        terminal.say(f"not read: {one.what}: {one.why}")


# ------------------------------------------------------------------------------------------------------------------ record


@app.command("record")
def record(
    targets: Targets,
    seconds: Annotated[float, typer.Option(callback=common.not_negative, help="How long; 0: until Ctrl-C.")] = 0.0,
    interval: Annotated[
        float,
        typer.Option(
            callback=common.not_negative,
            help="Seconds between readings; 0: as fast as each meter allows. ?interval= takes precedence.",
        ),
    ] = 0.0,
    output: Annotated[
        Path | None, typer.Option(help="The folder for the readings. Default: meter-DATE-TIME in this one.")
    ] = None,
    json: Json = False,
) -> None:
    """Record meters, then sum up: readings and gaps, the refresh seen, mean power and energy with their uncertainty.

    Ctrl-C ends it and keeps everything. The folder then holds power.parquet (docs/energy.md). Exit code 3 where no channel
    had a value.
    """
    from ..hosts.access import LocalHost
    from ..metering import sampler as sampling
    from . import _meter

    if seconds < 0 or interval < 0:
        raise BadInput("times are not below zero", hint="--seconds 60 --interval 0.1")
    folder = output or Path(f"meter-{times.for_name()}")
    if folder.exists() and not any(folder.glob("*.raw")) and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise BadInput("is there already", where=str(folder), hint="name a folder that is new or empty")
    asked = sampling.some(targets, LocalHost())
    common.warn_of_passwords(map(str, asked))
    with sampling.start(asked, folder, interval_s=interval or None) as sampler:
        _say_refused(sampler.refused)
        for one in sampler.opened:
            for note in one.notes:
                terminal.say(f"{one.target}: {note}")
        died = _watch(sampler, seconds) if sampler.opened else False
    if not sampler.opened:
        terminal.say("nothing was recorded: no meter could be opened")
        raise typer.Exit(COULD_NOT_MEASURE)
    found = [_meter.recorded(one) for one in sampling.collect(folder)]
    notices = _meter.notices(sampler, died)
    if json:
        told = {"folder": str(folder), "channels": found, "refused": sampler.refused, "notices": notices}
        terminal.print_whole_json({**told, "sampler": sampler.ending})
    else:
        _print_recorded(found)
        for notice in notices:
            terminal.say(f"{notice.text}" + (f"; next: {notice.advice}" if notice.advice else ""))
        terminal.say(f"readings: {folder / sampling.TRACE_FILE}")
    valued = any(one.readings > sum(one.without_value.values()) for one in found)
    raise typer.Exit(MET if valued and not died else COULD_NOT_MEASURE)


def _watch(sampler: Sampler, seconds: float) -> bool:
    """Show the last readings until the time is over or Ctrl-C. Whether the sampler died."""
    begun = time.monotonic()
    live = sys.stderr.isatty()
    try:
        while not seconds or time.monotonic() - begun < seconds:
            left = seconds - (time.monotonic() - begun) if seconds else 0.5
            time.sleep(max(0.0, min(0.5, left)))
            if not sampler.alive:
                return True
            if live:
                words = [
                    f"{c.id} {_value(r.value, c.unit) if r.value is not None else r.status.name}"
                    for c, r in sampler.latest()
                ]
                line = f"{time.monotonic() - begun:6.0f} s  {'  '.join(words)}"
                print(f"\r\x1b[K{line[:118]}", end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        pass
    finally:
        if live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return False


def _print_recorded(found: Sequence[Recorded]) -> None:
    from ..units import show

    rows = []
    for one in found:
        missing = ", ".join(f"{count} {status}" for status, count in one.without_value.items())
        words = {"bounded": "each reading"}.get(one.refresh_how, "not seen")
        refresh = show(one.refresh_s, "s") if one.refresh_s else words
        rows.append(
            (one.channel.id, str(one.readings), missing or "none", refresh, _told(one.power), _told(one.energy))
        )
    terminal.print_table(("channel", "readings", "without value", "refresh", "mean power", "energy"), rows)
    for one in found:
        for notice in dict.fromkeys(
            (*one.notices, *(one.power.notices if one.power else ()), *(one.energy.notices if one.energy else ()))
        ):
            terminal.say(f"{one.channel.id}: {notice.text}" + (f"; next: {notice.advice}" if notice.advice else ""))


def _told(value: Quantity | None) -> str:
    from ..units import round_to, scale_for, show

    if value is None:
        return "-"
    if value.value is None or not value.expanded:
        return show(value.value, value.unit, 5)
    factor, unit = scale_for(value.value, value.unit)
    return f"{round_to(value.value / factor, 5)} +- {round_to(value.expanded / factor, 2)} {unit}"
