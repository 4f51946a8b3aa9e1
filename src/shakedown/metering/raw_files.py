"""The sampler's files, and how they are read back whole: also those of a sampler that was killed.

    FOLDER/
      NN-METER.json    Header: target, channels, interval, notes; written when the source has opened
      NN-METER.raw     RECORD after RECORD, appended with one write a reading
      clock.raw        CLOCK after CLOCK, once a second: the clocks beside one another, and what the sampler has cost
      sampler.json     Begun: what was opened, what was refused and why
      ended.json       Ending: its cost, and what became of each source; absent where it was killed

Records have a fixed size and stand in the page cache as soon as they are written, so SIGKILL loses at most the one that
is being written. A record that is cut off or a hole of zeros (after a power cut) is left out when read.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from ..errors import UNREADABLE, StoreFailed
from ..records import Absent, Record
from .meters import Channel, Reading, Status

SCHEMA = 1
#: tick + 1 (zero marks a hole), channel, status, flags, before, after, device's stamp (ns of Unix time), CLOCK_MONOTONIC_RAW
#: when the answer was there (ns), value (SI).
RECORD = struct.Struct("<IHBBqqqqd")
#: CLOCK_MONOTONIC_RAW, CLOCK_REALTIME, CLOCK_BOOTTIME (ns), how long reading them took (ns), CPU seconds until now.
CLOCK = struct.Struct("<qqqqd")
#: Flag of a record: it has the device's own stamp.
STAMPED = 1
CLOCK_FILE, BEGUN_FILE, ENDED_FILE = "clock.raw", "sampler.json", "ended.json"
_NAN = float("nan")
_STATES = frozenset(map(int, Status))
_TICKS = 2**32 - 1
_T = TypeVar("_T")


class Header(Record, frozen=True, kw_only=True):
    """One source, open."""

    schema: int = SCHEMA
    target: str
    meter: str
    channels: tuple[Channel, ...]
    interval_s: float
    opened_ns: int
    notes: tuple[str, ...] = ()


class Begun(Record, frozen=True, kw_only=True):
    """What the sampler told when every source had settled: the names of the opened sources' files, and the refusals."""

    schema: int = SCHEMA
    pid: int
    opened: tuple[str, ...]
    refused: tuple[Absent, ...]


class Course(Record, frozen=True, kw_only=True):
    """What became of one source."""

    name: str  # of its files
    readings: int
    skipped: int  # ticks that passed while an answer was waited for: never made up for in a bunch
    lost: int  # records that could not be written
    slowest_s: float  # the longest answer
    cpu_s: float
    hung: bool = False  # it was still waiting for an answer at the end
    error: str = ""


class Ending(Record, frozen=True, kw_only=True):
    """What the sampler cost in all."""

    schema: int = SCHEMA
    why: str  # "stopped", "the parent has gone"
    wall_s: float
    cpu_s: float  # user and system time of its threads
    children_cpu_s: float  # and of the programs that meters ran
    peak_bytes: int
    cpus: tuple[int, ...]
    courses: tuple[Course, ...]

    @property
    def share(self) -> float:
        """Of one core, over its whole life."""
        return (self.cpu_s + self.children_cpu_s) / self.wall_s if self.wall_s else 0.0


class Clocks(NamedTuple):
    """One look at the clocks."""

    raw_ns: int
    real_ns: int
    boot_ns: int
    width_ns: int
    cpu_s: float


class Source(NamedTuple):
    """One source's files as they lie in a folder."""

    header: Header
    records: Path


def pack(tick: int, reading: Reading, raw_ns: int) -> bytes:
    """One reading as it is kept. Raises struct.error for what fits no record."""
    device = reading.device_ns
    value = reading.value
    return RECORD.pack(
        tick % _TICKS + 1,
        reading.channel,
        reading.status,
        0 if device is None else STAMPED,
        reading.before_ns,
        reading.after_ns,
        device or 0,
        raw_ns,
        _NAN if value is None else value,
    )


def unpack(data: bytes) -> list[tuple[Reading, int]]:
    """The readings of whole records, each with its CLOCK_MONOTONIC_RAW. A record with a status that is none is damaged, and
    left out as a hole is."""
    out = []
    for tick, channel, status, flags, before, after, device, raw, value in RECORD.iter_unpack(
        data[: len(data) // RECORD.size * RECORD.size]
    ):
        if tick and status in _STATES:
            state = Status(status)
            out.append(
                (
                    Reading(
                        channel,
                        before,
                        after,
                        device if flags & STAMPED else None,
                        value if state is Status.OK else None,
                        state,
                    ),
                    raw,
                )
            )
    return out


def sources(folder: Path) -> tuple[Source, ...]:
    """The sources of a folder, in the order in which they were asked for. Raises StoreFailed for a damaged header."""
    found = []
    for path in sorted(folder.glob("[0-9][0-9]-*.json")):
        found.append(Source(read(path, Header), path.with_suffix(".raw")))
    return tuple(found)


def clocks(folder: Path) -> tuple[Clocks, ...]:
    """The looks at the clocks; empty where there are none."""
    try:
        data = (folder / CLOCK_FILE).read_bytes()
    except FileNotFoundError:
        return ()
    whole = data[: len(data) // CLOCK.size * CLOCK.size]
    return tuple(one for one in map(Clocks._make, CLOCK.iter_unpack(whole)) if one.raw_ns)


def ending(folder: Path) -> Ending | None:
    """What the sampler wrote at its end; None where it was killed or still runs. Raises StoreFailed."""
    path = folder / ENDED_FILE
    return read(path, Ending) if path.exists() else None


def read(path: Path, kind: type[_T]) -> _T:
    """One of the records from its file. Raises StoreFailed."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise StoreFailed(f"cannot be read: {error.strerror}", where=str(path)) from None
    except UNREADABLE as error:
        raise StoreFailed(f"is damaged: {error}", where=str(path)) from None
