"""What the tests of the network meters share."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from shakedown.hosts.access import HostAccess
from shakedown.metering import meters
from shakedown.metering.meters import Reading, Source, Status
from support import waiting

from .servers import DOOR, Device


@contextmanager
def opened(target: str, door: HostAccess = DOOR) -> Iterator[Source]:
    """The source behind a target, closed afterwards."""
    parsed = meters.parse_target(target)
    source = meters.get(parsed.meter).open(parsed, door)
    try:
        yield source
    finally:
        source.close()
        source.close()  # twice is allowed


def by_id(source: Source, readings: Sequence[Reading]) -> dict[str, Reading]:
    """The last reading of each channel; every channel must have one."""
    assert {one.channel for one in readings} == set(range(len(source.channels)))
    for one in readings:
        assert (one.value is not None) == (one.status is Status.OK)
        assert one.before_ns <= one.after_ns
    return {source.channels[one.channel].id: one for one in readings}


def follows(
    source: Source, channel: str, device: Device, *, lag_s: float = 0.0, step: float = 0.0, moves: int = 2
) -> None:
    """Every reading is what the device showed while it was asked (or up to ``lag_s`` before), to a step; and it moves."""
    seen = set()
    deadline = time.monotonic() + 300
    while len(seen) <= moves:
        assert time.monotonic() < deadline, f"it does not move: {seen}"
        reading = by_id(source, source.read())[channel]
        assert reading.status is Status.OK and reading.value is not None
        seen.add(reading.value)
        shown = device.shown(reading.before_ns - round(lag_s * 1e9), reading.after_ns)
        far = min(abs(reading.value - value) for value in shown)
        assert far <= step + 1e-6 * abs(reading.value), f"{reading.value} is none of {sorted(shown)}"
        time.sleep(0.02)


def until(source: Source, channel: str, status: Status, limit_s: float = 300.0) -> Reading:
    """Read until a channel has a status."""
    found = waiting.until(lambda: _has(source, channel, status), limit_s, f"{channel} was {status.name}", every_s=0.03)
    assert found is not None
    return found


def _has(source: Source, channel: str, status: Status) -> Reading | None:
    reading = by_id(source, source.read())[channel]
    return reading if reading.status is status else None
