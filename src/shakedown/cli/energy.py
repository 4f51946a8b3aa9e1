"""shakedown energy of TRACE: the energy of a phase from a trace, with its uncertainty and what would shrink it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import COULD_NOT_MEASURE, BadInput, CannotMeasure, unknown
from . import common

if TYPE_CHECKING:
    from ..energy.methods import Idle
    from ..energy.uncertainty.quantity import Quantity
    from ..metering.character import Character
    from ..metering.meters import Channel
    from ..metering.trace import Trace
    from ..records import Notice, Phase

#: At least so far around a window readings are looked at: an hour of another time zone, averages, refreshes.
AROUND_NS = 3900 * 10**9

app = typer.Typer(
    no_args_is_help=True, help="Energy and power of phases, the rules of the Green500, a facility's figures."
)


@app.callback()
def _root() -> None:
    pass


File = Annotated[
    Path, typer.Argument(metavar="TRACE", help="A trace that `shakedown meter record` or a run wrote (Parquet).")
]
Begin = Annotated[
    str,
    typer.Option(
        help="Unix seconds, ISO 8601 with its zone, or +SECONDS after the trace's first stamp. Default: its begin."
    ),
]
End = Annotated[str, typer.Option(help="The same, or +SECONDS after the begin where that was given. Default: its end.")]
PhaseName = Annotated[
    str, typer.Option("--phase", help="With --run: the phase of this name, each time that it occurs.")
]
Run = Annotated[Path | None, typer.Option("--run", help="The run directory whose phase marks are meant.")]
ChannelName = Annotated[str, typer.Option("--channel", help="The channel, where the trace has several: HOST:ID or ID.")]
CharacterFile = Annotated[Path | None, typer.Option("--character", help="The channel's characterisation (JSON).")]
Method = Annotated[str, typer.Option(help="auto, counter, step, trapezoid, inside-mean or padded. See docs/energy.md.")]
Before = Annotated[
    float,
    typer.Option(
        "--idle-before", callback=common.not_negative, help="For how many seconds before the phase the nodes were idle."
    ),
]
After = Annotated[float, typer.Option("--idle-after", callback=common.not_negative, help="And for how many after it.")]
Marks = Annotated[
    float | None,
    typer.Option(
        "--window-u",
        callback=common.not_negative,
        help="How exactly begin and end are known, in s (standard uncertainty). Default: by how they are written, 0.29 for "
        "whole seconds; 0 for the marks of a run. 0: exact.",
    ),
]
Clock = Annotated[
    float,
    typer.Option(
        "--clock-u",
        callback=common.not_negative,
        help="How exactly the phase's clock is known against the meter's, in s.",
    ),
]
Steady = Annotated[
    str, typer.Option("--steady", help="Also the power of the steady part: auto, prace2013 or hpl-core.")
]
Json = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


@app.command("of")
def of(
    file: File,
    begin: Begin = "",
    end: End = "",
    phase: PhaseName = "",
    run: Run = None,
    channel: ChannelName = "",
    character: CharacterFile = None,
    method: Method = "auto",
    idle_before: Before = 0.0,
    idle_after: After = 0.0,
    window_u: Marks = None,
    clock_u: Clock = 0.0,
    steady: Steady = "",
    json: Json = False,
) -> None:
    """Energy and mean power between two times or of a run's phase, with the uncertainty budget."""
    from ..energy import phase as phases
    from ..energy.green500 import soundness
    from ..metering import trace as traces

    if not file.is_file():
        raise BadInput(
            "is a folder, not a trace" if file.is_dir() else "there is no such file",
            where=str(file),
            hint="a trace is RUN/power/1/power.parquet, what `meter record` left, or `energy import` made",
        )
    wanted = _chosen(traces.channels(file), channel, str(file))
    windows = _phases(run, phase) if run or phase else [_window(file, wanted, begin, end)]
    chosen = _around(file, wanted, windows, max(idle_before, idle_after))
    known = character_of(character) if character else None
    marks_u_s, marks = _marks_u(window_u, begin, end) if not run else (window_u or 0.0, None)
    found = []
    for one in windows:
        given = {
            "character": known,
            "idle": _idle(one.begin_ns, one.end_ns, idle_before, idle_after),
            "window_u_s": marks_u_s,
            "clock_u_s": clock_u,
            "method": method,
        }
        energy = phases.energy_of(chosen, one.begin_ns, one.end_ns, name="energy", **given)  # type: ignore[arg-type]
        power = phases.power_of(chosen, one.begin_ns, one.end_ns, name="mean power", **given)  # type: ignore[arg-type]
        settled = (
            phases.power_of(chosen, one.begin_ns, one.end_ns, name="steady power", character=known, preset=steady)
            if steady
            else None
        )
        values = [value for value in (energy, power, settled) if value is not None]
        why = soundness.dead(chosen, one.begin_ns, one.end_ns)
        found.append((one, [_not_known(value, why) for value in values] if why else values))
    notices = (*([marks] if marks else []), *phases.warnings_of(chosen, windows))
    _show(chosen, found, notices, json)
    if any(values[0].value is None for _, values in found):
        raise typer.Exit(COULD_NOT_MEASURE)


# ------------------------------------------------------------------------------------------------------- what is asked


def _chosen(there: tuple[Channel, ...], channel: str, where: str) -> Channel:
    """The one channel of power or energy that is meant. Raises BadInput."""
    from ..metering.meters import channel_key

    useful = [one for one in there if one.quantity in ("power", "energy")]
    if channel:
        named = [one for one in useful if channel in (channel_key(one), one.id)]
        if not named:
            raise unknown("channel", channel, [channel_key(one) for one in useful], where=where)
        useful = named
    if len(useful) != 1:
        names = ", ".join(channel_key(one) for one in useful[:8]) or "none"
        names += f" and {len(useful) - 8} more" if len(useful) > 8 else ""
        raise BadInput(
            f"the trace has {len(useful)} channels of power or energy that this may mean",
            where=where,
            hint=f"name one with --channel: {names}",
        )
    return useful[0]


def _around(file: Path, channel: Channel, windows: list[Phase], idle_s: float) -> Trace:
    """The channel's readings in the windows and as far around them as matters for these: what a meter averages over, how
    often it refreshes, a leap of its clock, an hour of another zone."""
    from ..metering import trace as traces

    begin, end = min(one.begin_ns for one in windows), max(one.end_ns for one in windows)
    reach = max(end - begin, round(idle_s * 1e9), round(60 * (channel.refresh_s or channel.window_s or 0.0) * 1e9))
    reach = max(reach, AROUND_NS)
    found = traces.read(file, [channel], begin - reach, end + reach)[0]
    if not len(found):  # nothing near: the whole trace tells where it lies
        found = traces.read(file, [channel])[0]
    return found


def _not_known(value: Quantity, why: str) -> Quantity:
    """A value of a meter that measures nothing: none, with the reason."""
    from ..energy.uncertainty.quantity import unknown as not_known
    from ..records import Notice

    advice = "check whether the meter, its port and what it feeds are alive"
    return not_known(value.name, value.unit, Notice(code="dead", text=f"{why} in this window", advice=advice))


def character_of(path: Path) -> Character:
    """What `meter characterise` left. Raises BadInput."""
    import msgspec

    from .. import strict
    from ..metering.character import Character

    try:
        return msgspec.json.decode(path.read_bytes(), type=Character)
    except OSError as error:
        raise BadInput(f"the characterisation cannot be read: {error.strerror}", where=str(path)) from None
    except strict.UNREADABLE as error:
        raise BadInput(
            f"this is not a characterisation: {error}", where=str(path), hint="shakedown meter characterise makes one"
        ) from None


def _window(file: Path, channel: Channel, begin: str, end: str) -> Phase:
    from .. import times
    from ..metering import trace as traces
    from ..records import Phase

    there = traces.span_ns(file, channel) if not (begin and end) or begin.startswith("+") else (0, 0)
    if there is None:
        raise CannotMeasure("the trace is empty", where=channel.id)
    begin_ns = times.parse(begin, "", "--begin", there[0]) if begin else there[0]
    end_ns = times.parse(end, "", "--end", begin_ns) if end else there[1]
    return Phase(name="window", begin_ns=begin_ns, end_ns=end_ns)


def _marks_u(stated: float | None, begin: str, end: str) -> tuple[float, Notice | None]:
    """How exactly the marks are known, in s, and what is to be said of it: unless stated, half the last figure that they are
    written with to either side, as likely everywhere (JCGM 100, 4.3.7). The trace's own ends are exact."""
    from .. import times
    from ..records import Notice

    if stated is not None:
        return stated, None
    step_s = max(times.written_s(begin), times.written_s(end))
    if not step_s:
        return 0.0, None
    u_s = step_s / math.sqrt(12)
    text = f"begin and end are written to {step_s:g} s: each is taken as known to +-{step_s / 2:g} s (u = {u_s:.2g} s)"
    advice = "state how exactly they are known: --window-u SECONDS, 0 where they are exact; --clock-u for another clock"
    return u_s, Notice(code="marks", text=text, advice=advice) if step_s >= 0.01 else None


def _phases(run: Path | None, name: str) -> list[Phase]:
    """Every phase of that name in a run directory. Raises BadInput."""
    import msgspec

    from ..results.run_directory import RunDirectory

    if run is None or not name:
        raise BadInput("--phase and --run go together", hint="shakedown energy of TRACE --run RUN --phase NAME")
    there = [(one, each) for one in RunDirectory.open(run).load().measurements for each in one.phases]
    found = [
        msgspec.structs.replace(each, name=f"{each.name} ({one.workload}, repeat {one.repeat})")
        for one, each in there
        if each.name == name
    ]
    if not found:
        raise unknown("phase", name, {each.name for _, each in there}, where=str(run))
    return sorted(found, key=lambda each: each.begin_ns)


def _idle(begin_ns: int, end_ns: int, before_s: float, after_s: float) -> Idle | None:
    if before_s < 0 or after_s < 0:
        raise BadInput("idle time is not negative", where="--idle-before, --idle-after")
    before = (begin_ns - round(before_s * 1e9), begin_ns) if before_s else None
    after = (end_ns, end_ns + round(after_s * 1e9)) if after_s else None
    return (before, after) if before or after else None


# -------------------------------------------------------------------------------------------------------- what is shown


def _show(trace: Trace, found: list[tuple[Phase, list[Quantity]]], warnings: tuple[Notice, ...], json: bool) -> None:
    from ..energy.uncertainty.quantity import advice
    from ..metering.meters import channel_key

    if json:
        terminal.print_whole_json(
            {
                "channel": channel_key(trace.channel),
                "phases": [
                    {"phase": one, "values": values, "advice": [advice(value) for value in values]}
                    for one, values in found
                ],
                "warnings": warnings,
            }
        )
        return
    for one, values in found:
        seconds = (one.end_ns - one.begin_ns) * 1e-9
        print(f"{channel_key(trace.channel)}, {one.name}: {seconds:.6g} s\n")
        for value in values:
            _print(value)
        energy = values[0]
        if energy.value is not None:
            _print_budget(energy)
        for notice in dict.fromkeys(notice for value in values for notice in value.notices):
            terminal.say(f"  {notice.code}: {notice.text}" + (f"\n    next: {notice.advice}" if notice.advice else ""))
    for notice in warnings:
        terminal.say(f"  {notice.code}: {notice.text}" + (f"\n    next: {notice.advice}" if notice.advice else ""))


def _print(value: Quantity) -> None:
    if value.value is None or value.expanded is None:
        print(f"  {value.name}: not known")
        return
    share = f" ({value.expanded / abs(value.value):.2%})" if value.value else ""
    expanded = f"{float(f'{value.expanded:.2g}'):g}"
    print(f"  {value.name}: {value.value:.6g} {value.unit} +- {expanded} {value.unit}{share}, 95 %")
    seen = "" if value.seen is None else f"; readings stand for {value.seen:.1%} of it"
    print(f"    {value.method}{seen}")


def _print_budget(value: Quantity) -> None:
    from ..energy.uncertainty.quantity import advice, shares

    rows = [
        (term.name, f"{share:.1%}", f"{abs(term.u):.3g}", term.text) for term, share in shares(value) if share >= 5e-4
    ]
    terminal.print_table(("term", "share", f"u [{value.unit}]", "from"), rows, "Uncertainty budget of the energy")
    if sentence := advice(value):
        print(f"\n  {sentence}")
