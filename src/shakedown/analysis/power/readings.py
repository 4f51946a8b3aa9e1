"""The channels that a run directory's meters read: joined over its sessions, with what is known of each, and on the host's
clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...energy.clocks import meter_clock as clock
from ...energy.clocks.meter_clock import Clock
from ...energy.deduplicate import once
from ...energy.green500.intervals import refresh_s
from ...energy.response import has_own_stamps
from ...metering import campaign_meters, sampler
from ...metering.character import Character
from ...metering.meters import channel_key
from ...metering.trace import Trace, trace
from ...records import Measurement
from ...results.run_directory import RunDirectory


class Read(NamedTuple):
    """One channel of power or energy."""

    key: str
    trace: Trace
    character: Character | None
    clock: Clock
    device: str  # what the clock belongs to
    refresh_s: float


def read_channels(directory: RunDirectory, measurements: Sequence[Measurement]) -> list[Read]:
    """Every channel with its clock set right by the measurements' own marks. Raises StoreFailed for damaged readings."""
    traces = _traces(directory)
    known = campaign_meters.characters_of(directory.path)
    characters = {channel_key(one.channel): known.get(channel_key(one.channel)) for one in traces}
    ahead_s = {
        key: ahead
        for folder in campaign_meters.folders(directory.path)
        for key, ahead in sampler.ahead_s(folder).items()
    }
    clocks = _clocks(traces, characters, marks_of(measurements), ahead_s)
    found = []
    for one in traces:
        key, device = channel_key(one.channel), device_of(one)
        right = clock.corrected(one, clocks[device])
        found.append(Read(key, right, characters[key], clocks[device], device, refresh_s(right)))
    return found


def device_of(one: Trace) -> str:
    """What keeps the channel's time: its meter, on its host. Two files of one kind (``csv/watts#2``) have a clock each."""
    meter = one.channel.id.partition("/")[0]
    number = one.channel.id.partition("#")[2]
    host = f"{one.channel.host}:" if one.channel.host else ""
    return f"{host}{meter}{'#' if number else ''}{number}"


def marks_of(measurements: Iterable[Measurement]) -> list[int]:
    """When anything is known to have begun or ended: runs, the phases that programs mark, their cases. Unix ns."""
    marks: list[int | None] = []
    for record in measurements:
        marks += [record.begin_ns, record.end_ns]
        marks += [end for one in record.phases for end in (one.begin_ns, one.end_ns)]
        marks += [end for one in record.cases for end in (one.begin_ns, one.end_ns)]
    return sorted({mark for mark in marks if mark is not None})


def _clocks(
    traces: Sequence[Trace],
    characters: Mapping[str, Character | None],
    marks_ns: Sequence[int],
    ahead_s: Mapping[str, float],
) -> dict[str, Clock]:
    """One clock for each device, from that of its channels which shows best what is on and off."""
    devices: dict[str, list[Trace]] = defaultdict(list)
    for one in traces:
        devices[device_of(one)].append(one)
    found = {}
    for device, group in devices.items():
        owning = [one for one in group if has_own_stamps(one)]
        if len(owning) > 1:
            owning.sort(key=lambda one: clock.swing(one, characters[channel_key(one.channel)]), reverse=True)
        if not owning:
            found[device] = Clock("host")
            continue
        key = channel_key(owning[0].channel)
        found[device] = clock.estimate(owning[0], marks_ns, characters[key], ahead_s=ahead_s.get(key))
    return found


def _traces(directory: RunDirectory) -> list[Trace]:
    """The power and energy channels, what several sessions read of one channel joined."""
    parts: dict[str, list[Trace]] = defaultdict(list)
    for folder in campaign_meters.folders(directory.path):
        for one in sampler.collect(folder):
            if one.channel.quantity in ("power", "energy"):
                parts[channel_key(one.channel)].append(one)
    return [
        once(
            trace(
                same[-1].channel,
                np.concatenate([one.t_ns for one in same]),
                np.concatenate([one.value for one in same]),
                half_ns=np.concatenate([one.half_ns for one in same]),
                status=np.concatenate([one.status for one in same]),
            )
        )
        for same in parts.values()
    ]


def idle_windows(measurements: Iterable[Measurement], channels: Sequence[Read]) -> list[tuple[int, int]]:
    """The stretches in which nothing ran, between the first and the last reading."""
    busy = sorted((one.begin_ns, one.end_ns) for one in measurements)
    at, last = span(channels)
    found: list[tuple[int, int]] = []
    if not last:
        return found
    for begin, end in busy:
        if begin > at:
            found.append((at, begin))
        at = max(at, end)
    if last > at:
        found.append((at, last))
    return found


def span(channels: Sequence[Read]) -> tuple[int, int]:
    """From the first reading to the last, Unix ns; nothing from 0 to 0 where there is none."""
    stamps = [int(one.trace.t_ns[index]) for one in channels if len(one.trace) for index in (0, -1)]
    return (min(stamps), max(stamps)) if stamps else (0, 0)
