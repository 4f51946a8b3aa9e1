"""What `shakedown meter` finds, asks and sums up; meter.py renders it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from ..document import terminal
from ..energy.uncertainty.quantity import Quantity
from ..errors import BadInput, ShakedownError
from ..hosts.access import HostAccess
from ..metering import meters
from ..metering import sampler as sampling
from ..metering.meters import Channel, Reading, Status, Target
from ..metering.sampler import Sampler
from ..records import Absent, Notice, Record

if TYPE_CHECKING:
    from ..metering.trace import Trace


class Listed(Record, frozen=True, kw_only=True):
    """One kind of meter on this machine."""

    name: str
    title: str
    address: str
    options: dict[str, str]
    here: tuple[str, ...] = ()  # targets
    channels: tuple[str, ...] = ()
    why_not: str = ""  # why this machine has none; empty where it has, or where an address decides
    next: str = ""


class Read(Record, frozen=True, kw_only=True):
    """One channel, read once."""

    target: str
    channel: Channel
    value: float | None
    status: str
    took_s: float
    device_ns: int | None = None


class Recorded(Record, frozen=True, kw_only=True):
    """One channel, recorded."""

    channel: Channel
    readings: int
    without_value: dict[str, int]  # status -> how many
    first_ns: int | None
    last_ns: int | None
    refresh_s: float | None  # as seen; None where that does not tell
    refresh_how: str  # "changes", "stamps", "bounded" (a new value at every reading) or "unknown"
    power: Quantity | None
    energy: Quantity | None
    notices: tuple[Notice, ...] = ()  # of its clock


def listed(name: str, door: HostAccess) -> Listed:
    """Never raises: a meter whose module or library is broken counts as absent."""
    try:
        meter = meters.get(name)
    except Exception as error:
        return Listed(name=name, title="", address=name, options={}, why_not=f"{type(error).__name__}: {error}")
    told = Listed(name=name, title=meter.title, address=meter.address, options=dict(meter.options))
    try:
        targets = meter.find(door) or (meters.Target(meter=name),)
        channels: list[str] = []
        for target in targets:
            source = meter.open(target, door)
            channels += [channel.id for channel in source.channels]
            source.close()
    except BadInput:  # it cannot do without an address
        return told
    except ShakedownError as error:
        return msgspec.structs.replace(told, why_not=error.what, next=error.hint)
    except Exception as error:
        return msgspec.structs.replace(told, why_not=f"{type(error).__name__}: {error}")
    return msgspec.structs.replace(told, here=tuple(map(str, targets)), channels=tuple(channels))


def ask(target: Target, door: HostAccess, found: list[Read], refused: list[Absent]) -> None:
    """Ask a target once: its channels join ``found``, or the reason why not ``refused``. Raises BadInput for a target that
    cannot be."""
    try:
        source = meters.get(target.meter).open(target, door)
    except BadInput:
        raise
    except ShakedownError as error:
        why = error.what + (f"; next: {error.hint}" if error.hint else "")
        refused.append(Absent(what=str(target), why=why))
        return
    try:
        answers: dict[int, Reading] = {one.channel: one for one in source.read()}
    finally:
        source.close()
    for index, channel in enumerate(source.channels):
        one = answers.get(index)
        found.append(
            Read(
                target=str(target),
                channel=channel,
                value=one.value if one else None,
                status=one.status.name.lower() if one else "no answer yet",
                took_s=(one.after_ns - one.before_ns) * 1e-9 if one else 0.0,
                device_ns=one.device_ns if one else None,
            )
        )


def recorded(one: Trace) -> Recorded:
    """A trace summed up, from its first value to its last."""
    from ..energy import phase, refresh

    missing = {
        status.name.lower(): count
        for status in Status
        if status is not Status.OK and (count := int((one.status == status).sum()))
    }
    stamps = one.t_ns[one.ok]
    power = energy = None
    if len(stamps) > 1 and stamps[-1] > stamps[0] and one.channel.quantity in ("power", "energy"):
        begin, end = int(stamps[0]), int(stamps[-1])
        try:
            power, energy = phase.power_of(one, begin, end), phase.energy_of(one, begin, end)
        except ShakedownError as error:
            terminal.say(f"{one.channel.id}: {error}")
    seen = refresh.refresh(one)
    return Recorded(
        channel=one.channel,
        readings=len(one),
        without_value=missing,
        first_ns=int(one.t_ns[0]) if len(one) else None,
        last_ns=int(one.t_ns[-1]) if len(one) else None,
        refresh_s=seen.period_s.value if seen.period_s and seen.how in ("changes", "stamps") else None,
        refresh_how=seen.how,
        power=power,
        energy=energy,
        notices=tuple(_clock_notices(one)),
    )


def _clock_notices(one: Trace) -> Iterator[Notice]:
    """Leaps of the clock that stamped a trace: those that it shows, and those that were taken out of it."""
    from ..energy.anomalies.signs import warnings_of

    if "its clock was set" in one.channel.note:
        advice = "the readings were put in order: read the file with `energy import`, which refuses what overlaps"
        yield Notice(code="clock-back", text=one.channel.note, advice=advice)
    yield from (found for found in warnings_of(one) if found.code.startswith("clock-"))


def notices(sampler: Sampler, died: bool) -> list[Notice]:
    """What the course of the sampling does to its readings."""
    found = []
    if died:
        text = "the sampler died before its time; what it had read is kept"
        found.append(Notice(code="sampler-died", text=text, advice=f"see {sampler.folder / 'sampler.stderr'}"))
    for step in sampling.clock_steps(sampler.folder):
        word = "was set" if step.kind == "step" else "went on while the machine slept"
        found.append(Notice(code="clock-set", text=f"the system's clock {word}: {step.step_s:+.3f} s"))
    if sampler.ending is None:
        return found
    for course in sampler.ending.courses:
        if course.error:
            found.append(Notice(code="source-error", text=f"{course.name}: {course.error}"))
        if course.hung:
            found.append(Notice(code="source-hung", text=f"{course.name}: it no longer answered at the end"))
        if course.lost:
            found.append(
                Notice(code="readings-lost", text=f"{course.name}: {course.lost} readings could not be written")
            )
        if course.skipped:
            text = (
                f"{course.name}: {course.skipped} readings were left out: an answer took up to {course.slowest_s:.3g} s"
            )
            found.append(Notice(code="readings-late", text=text, advice="a longer --interval"))
    share = sampling.cost(sampler.folder)
    if share is not None:
        text = f"sampling took {share:.2%} of a core"
        found.append(Notice(code="sampling-cost", text=text))
    return found
