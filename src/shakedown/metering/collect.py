"""What a sampler left: readings to traces, and what the system's clock did meanwhile. Made public by ``sampler``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from ..errors import BadInput, StoreFailed
from ..records import Record
from . import raw_files
from .meters import Channel, Status, channel_key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .trace import Ints, Trace

#: The Parquet file that ``collect`` leaves in the folder.
TRACE_FILE = "power.parquet"
#: A difference of the clocks that moves by more than this was set: the looks themselves differ by microseconds.
LEAST_STEP_S = 1e-3
#: A device whose stamps lie further from the host's clock keeps a time of its own.
_OTHER_CLOCK_NS = 60 * 10**9


class ClockStep(Record, frozen=True, kw_only=True):
    """The system's clock was set: between two looks it moved by ``step_s`` more than the time that passed.

    ``suspend``: the machine slept. The clock is right after it; nothing was read, and the stamps are left alone.
    """

    kind: Literal["step", "suspend"]
    before_ns: int  # the clock at the last look before it
    after_ns: int  # and at the first after it
    step_s: float


class _Step(NamedTuple):
    """A step between two looks at the clocks, as CLOCK_MONOTONIC_RAW and as differences of the system's clock to it."""

    raw_before_ns: int
    raw_after_ns: int
    apart_before_ns: int
    apart_after_ns: int
    found: ClockStep


def _steps(folder: Path) -> list[_Step]:
    found = []
    looks = raw_files.clocks(folder)
    for old, new in pairwise(looks):
        set_ns = (new.real_ns - old.real_ns) - (new.boot_ns - old.boot_ns)
        slept_ns = (new.boot_ns - old.boot_ns) - (new.raw_ns - old.raw_ns)
        # Steering moves BOOTTIME against RAW by 0.05 % at most by the kernel's clock, by 10 % with chrony's.
        slack_ns = LEAST_STEP_S * 1e9 + old.width_ns + new.width_ns
        steered_ns = slack_ns + (new.raw_ns - old.raw_ns) // 10
        for kind, moved_ns, limit in (("step", set_ns, slack_ns), ("suspend", slept_ns, steered_ns)):
            if abs(moved_ns) > limit:
                step = ClockStep(
                    kind="step" if kind == "step" else "suspend",
                    before_ns=old.real_ns,
                    after_ns=new.real_ns,
                    step_s=moved_ns * 1e-9,
                )
                found.append(_Step(old.raw_ns, new.raw_ns, old.real_ns - old.raw_ns, new.real_ns - new.raw_ns, step))
    return found


def clock_steps(folder: Path) -> tuple[ClockStep, ...]:
    """Every time that the system's clock was set, or the machine slept, while the sampler ran."""
    return tuple(one.found for one in _steps(folder))


def cost(folder: Path) -> float | None:
    """The share of one core that sampling takes once all sources are open: CPU time over time, between the looks at the
    clocks after the first second. None for less than three looks. Works for a sampler that was killed, too."""
    looks = raw_files.clocks(folder)[1:]
    if len(looks) < 2 or looks[-1].raw_ns == looks[0].raw_ns:
        return None
    return (looks[-1].cpu_s - looks[0].cpu_s) / ((looks[-1].raw_ns - looks[0].raw_ns) * 1e-9)


def collect(folder: Path) -> tuple[Trace, ...]:
    """The traces of a folder that a sampler wrote, also of one that was killed or still runs; they are written beside it
    as ``power.parquet`` (trace.py). A folder whose raw files are gone, or older than that file, is read from it: a
    report made again writes nothing. A step of the system's clock is taken out of all stamps after it, and the channels'
    notes say so. Raises StoreFailed."""
    from . import trace

    found = raw_files.sources(folder)
    if not found or _collected(folder, [one.records for one in found]):
        try:
            return trace.read(folder / TRACE_FILE)
        except BadInput as error:  # what a run left is no file that the user named
            raise StoreFailed(error.what, where=error.where, hint=error.hint) from None
    steps = [one for one in _steps(folder) if one.found.kind == "step"]
    traces: list[Trace] = []
    keys: dict[str, int] = {}
    for source in found:
        rows = _rows(source.records)
        told = bool(steps) and not bool((rows["flags"] & raw_files.STAMPED).all())
        for index, channel in enumerate(source.header.channels):
            mine = rows[rows["channel"] == index]
            key = channel_key(channel)
            keys[key] = keys.get(key, 0) + 1
            if keys[key] > 1:  # two targets with channels of one name: two files, two of one device
                channel = msgspec.structs.replace(channel, id=f"{channel.id}#{keys[key]}")
            if told:
                moved = ", ".join(f"{one.found.step_s:+.3f} s" for one in steps)
                note = f"the system's clock was set during the run ({moved}); stamps are on the clock before it"
                channel = msgspec.structs.replace(channel, note="; ".join(filter(None, (channel.note, note))))
            traces.append(_trace(channel, mine, steps))
    trace.write(folder / TRACE_FILE, traces)
    return tuple(traces)


def _collected(folder: Path, records: Sequence[Path]) -> bool:
    """Whether the Parquet file is younger than all that it is made from."""
    try:
        made_ns = (folder / TRACE_FILE).stat().st_mtime_ns
        made_from = [*records, *(one.with_suffix(".json") for one in records), folder / raw_files.CLOCK_FILE]
        return all(one.stat().st_mtime_ns < made_ns for one in made_from if one.exists())
    except OSError:
        return False


def ahead_s(folder: Path) -> dict[str, float]:
    """By channel whose device stamps its readings itself: the median of those stamps less when the answer came, in s. That
    is how far the device's clock is ahead, less the age of the value and the time of the answer. Nothing where the raw
    files are gone. Raises StoreFailed."""
    import numpy as np

    found: dict[str, float] = {}
    for source in raw_files.sources(folder):
        rows = _rows(source.records)
        rows = rows[(rows["flags"] & raw_files.STAMPED) > 0]
        for index, channel in enumerate(source.header.channels):
            mine = rows[rows["channel"] == index]
            if len(mine):
                found[channel_key(channel)] = float(np.median(mine["device"] - mine["after"])) * 1e-9
    return found


def _rows(path: Path) -> NDArray[np.void]:
    """The whole records of a raw file; what was cut off and holes of zeros are left out."""
    import numpy as np

    names = ["tick", "channel", "status", "flags", "before", "after", "device", "raw", "value"]
    kind = np.dtype(list(zip(names, ["<u4", "<u2", "u1", "u1", "<i8", "<i8", "<i8", "<i8", "<f8"], strict=True)))
    assert kind.itemsize == raw_files.RECORD.size
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreFailed(f"cannot be read: {error.strerror}", where=str(path)) from None
    rows = np.frombuffer(data[: len(data) // kind.itemsize * kind.itemsize], kind)
    out: NDArray[np.void] = rows[(rows["tick"] > 0) & (rows["status"] <= max(Status))]
    return out


def _trace(channel: Channel, rows: NDArray[np.void], steps: Sequence[_Step]) -> Trace:
    import numpy as np

    from . import trace

    stamped = (rows["flags"] & raw_files.STAMPED) > 0
    half = (rows["after"] - rows["before"]) // 2
    asked: Ints = rows["before"] + half
    if steps:
        moved, straddles = _moved(rows, steps)
        half = np.where(straddles, 0, half)  # before and after lie on different clocks
        asked = np.where(straddles, rows["after"], asked) - moved
    if stamped.any():
        ahead = int(np.median((rows["device"] - asked)[stamped]))
        if abs(ahead) > _OTHER_CLOCK_NS:  # what has no stamp is a gap: it lies where the device's clock was
            asked = asked + ahead
        if jumps := _jumps(rows["device"][stamped]):
            channel = msgspec.structs.replace(channel, note="; ".join(filter(None, (channel.note, jumps))))
    return trace.trace(
        channel,
        np.where(stamped, rows["device"], asked),
        rows["value"],
        half_ns=np.where(
            stamped, 0, np.maximum(half, 0)
        ),  # a device's own stamp is not as uncertain as the asking took
        status=rows["status"],
    )


def _jumps(device: Ints) -> str:
    """What a device's own stamps tell of its clock, in the order in which they were read: falls back, which the order of a
    trace would hide. Empty where it only ran on."""
    import numpy as np

    back = np.diff(device)
    back = back[back < 0]
    if not len(back):
        return ""
    return (
        f"the device's stamps fall back {len(back)} times, by up to {-float(back.min()) * 1e-9:g} s: its clock was set"
    )


def _moved(rows: NDArray[np.void], steps: Sequence[_Step]) -> tuple[Ints, NDArray[np.bool_]]:
    """By how much the clock had been set before each reading, and which readings it was set during.

    Between the two looks that a step lies between, the reading's own two clocks say on which side it is.
    """
    import numpy as np

    raw = rows["raw"]
    apart = rows["after"] - raw
    moved = np.zeros(len(rows), np.int64)
    straddles = np.zeros(len(rows), np.bool_)
    for step in steps:
        nearer = np.abs(apart - step.apart_after_ns) < np.abs(apart - step.apart_before_ns)
        after = (raw >= step.raw_after_ns) | ((raw > step.raw_before_ns) & nearer)
        size = round(step.found.step_s * 1e9)
        moved += np.where(after, size, 0)
        took = rows["after"] - rows["before"]
        straddles |= (np.abs(took - size) < abs(size) // 2) & (raw > step.raw_before_ns) & (took != 0)
    return moved, straddles
