"""What is said of a time of serving: how much was done, how late, and everything that was left out, by its cause."""

from __future__ import annotations

import math
from array import array
from collections import Counter

from ...records import Record
from ...units import show_seconds
from .radios import Radios
from .schedule import Schedule
from .updater import Update


class Late(Record, frozen=True, kw_only=True):
    """How late something was, in s: over all updates. None where there was none."""

    max_s: float | None = None
    p99_s: float | None = None
    median_s: float | None = None


class ServeReport(Record, frozen=True, kw_only=True):
    """The whole. An update is ``found`` when its losses are known and encoded, ``sent`` when its last datagram left; both
    from when its interval was due. ``first_s``: the first, of all pairs, took so long. ``last_skipped_s``: the latest
    interval that was skipped was due so long after the first update: what is skipped while all losses go out at first
    says nothing about later."""

    seconds: float
    every_s: float
    ended: str
    radios: int
    links: int
    updates: int
    skipped: int
    last_skipped_s: float | None
    first_s: float | None
    found: Late
    sent: Late
    moves: int
    changes: int
    ceased: int
    positions: int
    positions_same: int
    positions_refused: dict[str, int]
    positions_lost_in_kernel: int
    heights_raised: int
    radios_not_known: dict[str, int]
    entries: int
    entries_refreshed: int
    entries_not_sent: int
    datagrams: int
    bytes: int
    readers: int
    readers_dropped: int
    updates_skipped_for_readers: int
    sources_ended: dict[str, int]


class Tally:
    """Counts as they come; ``report`` is what they say at any time."""

    def __init__(self, every_s: float) -> None:
        self.every_s = every_s
        self.updates = self.moves = self.changes = self.ceased = self.raised = 0
        self.radios = self.links = 0
        self.not_known: dict[str, int] = {}
        self.entries = self.refreshed = self.not_sent = self.datagrams = self.bytes = 0
        self.readers = self.readers_dropped = self.skipped_for_readers = 0
        self.lost_in_kernel = 0
        self.malformed: Counter[str] = Counter()
        self.sources_ended: Counter[str] = Counter()
        self.first_s: float | None = None
        self._found_s = array("d")
        self._sent_s = array("d")

    def update(self, one: Update, late_s: float | None) -> None:
        """An update was found, so late; None for the first, which nothing waited for."""
        self.updates += 1
        self.moves += one.moved
        self.changes += one.changed
        self.ceased += one.ceased
        self.raised += one.raised
        self.radios, self.links, self.not_known = one.radios, one.links, one.not_known
        self.refreshed += one.refreshed
        if late_s is not None:
            self._found_s.append(late_s)

    def sent(self, late_s: float) -> None:
        """The last datagram of an update left, so late."""
        self._sent_s.append(late_s)

    def report(self, *, seconds: float, schedule: Schedule | None, ended: str, positions: Radios) -> ServeReport:
        refused = self.malformed + positions.refused
        return ServeReport(
            seconds=round(seconds, 3),
            every_s=self.every_s,
            ended=ended,
            radios=self.radios,
            links=self.links,
            updates=self.updates,
            skipped=schedule.skipped if schedule else 0,
            last_skipped_s=schedule.last_skipped_s if schedule else None,
            first_s=self.first_s,
            found=late(self._found_s),
            sent=late(self._sent_s),
            moves=self.moves,
            changes=self.changes,
            ceased=self.ceased,
            positions=positions.received,
            positions_same=positions.same,
            positions_refused=dict(refused.most_common()),
            positions_lost_in_kernel=self.lost_in_kernel,
            heights_raised=self.raised,
            radios_not_known=self.not_known,
            entries=self.entries,
            entries_refreshed=self.refreshed,
            entries_not_sent=self.not_sent,
            datagrams=self.datagrams,
            bytes=self.bytes,
            readers=self.readers,
            readers_dropped=self.readers_dropped,
            updates_skipped_for_readers=self.skipped_for_readers,
            sources_ended=dict(self.sources_ended),
        )


def late(values_s: array[float]) -> Late:
    """Largest, 99th percentile (the least value that 99 % are at or below) and median."""
    if not values_s:
        return Late()
    ordered = sorted(values_s)

    def at(share: float) -> float:
        return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], 6)

    return Late(max_s=round(ordered[-1], 6), p99_s=at(0.99), median_s=at(0.5))


def line(one: ServeReport) -> str:
    """The state in one line, for a person who watches."""
    words = [f"{show_seconds(one.seconds)}: {one.radios:,} radios, {one.links:,} links, {one.updates:,} updates"]
    if one.found.max_s is not None:
        words.append(f"late by at most {one.found.max_s * 1000:.0f} ms")
    if one.skipped:
        words.append(f"{one.skipped:,} of {one.skipped + one.updates:,} intervals skipped, {_last_skipped(one)}")
    words += [f"{count:,} radios {cause}" for cause, count in one.radios_not_known.items()]
    if refused := sum(one.positions_refused.values()):
        words.append(f"{refused:,} positions refused")
    return ", ".join(words)


def pairs(one: ServeReport) -> list[tuple[str, str]]:
    """The whole for a person: names and what they are."""
    found = [
        ("time", f"{show_seconds(one.seconds)}, ended by {one.ended}"),
        ("radios", ", ".join([f"{one.radios:,}", *(f"{n:,} {cause}" for cause, n in one.radios_not_known.items())])),
        ("links", f"{one.links:,} usable, {one.ceased:,} ceased"),
        ("first update", "none" if one.first_s is None else f"after {show_seconds(one.first_s)}"),
        ("updates", f"{one.updates:,} every {one.every_s:g} s, {_skipped(one)}"),
        ("losses found", _times(one.found)),
        ("losses sent", _times(one.sent)),
        ("positions", f"{one.positions:,}: {one.moves:,} moves, {one.positions_same:,} equal to the last"),
        ("heights raised", f"{one.heights_raised:,} to the least height above ground"),
        ("entries", f"{one.entries:,} in {one.datagrams:,} datagrams, {one.entries_refreshed:,} for who came late"),
        ("readers", f"{one.readers:,}, {one.readers_dropped:,} dropped"),
        ("", f"{one.updates_skipped_for_readers:,} updates skipped for slow ones"),
    ]
    left_out = dict(one.positions_refused)
    if one.positions_lost_in_kernel:
        left_out["lost in this machine's kernel: they came faster than they were read"] = one.positions_lost_in_kernel
    if one.entries_not_sent:
        left_out["entries that the network refused or that were left at the end"] = one.entries_not_sent
    found += [("left out", f"{count:,}: {cause}") for cause, count in left_out.items()]
    return found + [("source ended", f"{cause} ({count:,})") for cause, count in one.sources_ended.items()]


def _skipped(one: ServeReport) -> str:
    return f"{one.skipped:,} intervals skipped" + (f", {_last_skipped(one)}" if one.skipped else "")


def _last_skipped(one: ServeReport) -> str:
    return f"the last {show_seconds(one.last_skipped_s or 0.0)} after the first update"


def _times(what: Late) -> str:
    if what.max_s is None or what.p99_s is None or what.median_s is None:
        return "none"
    most, p99, median = (f"{value * 1000:.1f} ms" for value in (what.max_s, what.p99_s, what.median_s))
    return f"late by at most {most}, 99 % within {p99}, half within {median}"
