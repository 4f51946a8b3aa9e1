"""Meters as tests of them alone read them: opened by a target, once, channel by channel."""

from __future__ import annotations

from shakedown.hosts.access import HostAccess, LocalHost
from shakedown.metering import meters
from shakedown.metering.meters import Channel, Reading, Source


def opened(text: str, door: HostAccess | None = None) -> Source:
    target = meters.parse_target(text)
    return meters.get(target.meter).open(target, door or LocalHost())


def by_id(source: Source) -> dict[str, Reading]:
    return {source.channels[one.channel].id: one for one in source.read()}


def channel(source: Source, key: str) -> Channel:
    return next(one for one in source.channels if one.id == key)
