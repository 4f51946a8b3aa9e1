"""How late outages were noticed, and by how much they are therefore under-counted. Pure; numpy.

An engine stamps an outage when it notices it. Slurm pings its nodes every third of SlurmdTimeout and sets one down when
nothing was heard for SlurmdTimeout, at its next turn: a node that dies right after it answered is found after about
SlurmdTimeout and two turns more, one that dies just before it would have answered after two thirds. On a real Slurm (22.05,
SlurmdTimeout 15 s) 30 to 33 s were seen. A health check finds what is wrong up to its interval later, a watch up to its own.
Outages that people ordered (drains without a check's mark) are not late.

Where a second source (a watch with a heartbeat) saw the same outage begin earlier, the difference is measured, and the
outage counts from there on by itself: records that overlap are one outage.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .contract import Contract, seconds_of
from .history import STATE_CODE, History, Ints
from .incidents import Outages
from .records import DetectionLatency, Window
from .segments import Bools

if TYPE_CHECKING:
    from .evaluate import Evaluation

Floats = NDArray[np.float64]
#: SlurmdTimeout -> least and greatest delay.
UNHEARD = (2 / 3, 2.2)
CLASSES = ("not responding", "found by a health check", "seen by a watch")
#: What a health check writes in front of its reason.
_CHECK = re.compile(r"^\s*(HC|NHC|SD)\b[:\s]", re.IGNORECASE)


def settings(history: History, contract: Contract) -> dict[str, float]:
    """What the contract says of the engine, else the engine itself; empty where neither does."""
    found = dict(history.settings)
    for key, text in (
        ("slurmd_timeout_s", contract.detection.slurmd_timeout),
        ("health_interval_s", contract.detection.health_interval),
    ):
        if text:
            found[key] = float(seconds_of(text, "detection"))
    return found


def bounds(history: History, contract: Contract, own: Outages) -> tuple[Floats, Floats, Ints]:
    """Least and greatest delay of each outage in seconds, NaN where nothing is known, and its class: a place in
    ``CLASSES``, or -1 for one that is not late (a person's order) or that began before the stretch."""
    known = settings(history, contract)
    events, row = history.events, own.record
    checks = np.array([bool(_CHECK.match(one.what)) for one in history.causes], bool)
    unheard = np.array([one.engine == "slurm" and "not responding" in one.what.lower() for one in history.causes], bool)
    slurm = np.array([one.engine == "slurm" for one in history.causes], bool)
    if not len(own):
        return np.empty(0), np.empty(0), np.empty(0, np.int64)
    cause = events.cause[row]
    watched = events.late[row] >= 0
    silent = unheard[cause] | (slurm[cause] & (events.state[row] == STATE_CODE["silent"]))
    group = np.select([own.cut, watched, checks[cause], silent], [-1, 2, 1, 0], -1)
    timeout = known.get("slurmd_timeout_s", np.nan)
    health = known.get("health_interval_s", np.nan)
    low = np.select([group == 0, group > 0], [UNHEARD[0] * timeout, 0.0], np.nan)
    high = np.select([group == 0, group == 1, group == 2], [UNHEARD[1] * timeout, health, events.late[row]], np.nan)
    return np.where(np.isnan(high), np.nan, low), high, group


def delays(found: Evaluation, judged: Window | None) -> tuple[tuple[DetectionLatency, ...], tuple[float, float] | None]:
    """How late outages were noticed, a line for each class of those that cost anything (neither excluded nor forgiven at
    their begin) and one where two sources saw the same; then the judged window's level with the delays."""
    own = found.outages
    low, high, group = bounds(found.history, found.contract, own)
    weights, counts = weights_of(found), ~claimed(found)
    known = settings(found.history, found.contract)
    basis = (
        f"2/3 to 2.2 x SlurmdTimeout ({known.get('slurmd_timeout_s', 0):g} s)",
        f"0 to HealthCheckInterval ({known.get('health_interval_s', 0):g} s)",
        "0 to the time between two observations",
    )
    lines = []
    for place, (name, words) in enumerate(zip(CLASSES, basis, strict=True)):
        mine = (group == place) & counts
        sure = mine & np.isfinite(high)
        if mine.any():
            lines.append(
                DetectionLatency(
                    name=name,
                    outages=int(mine.sum()),
                    low_s=float(low[sure].mean()) if sure.any() else 0.0,
                    high_s=float(high[sure].max(initial=0.0)),
                    hours_low=float((low[sure] * weights[sure]).sum()) / 3600,
                    hours_high=float((high[sure] * weights[sure]).sum()) / 3600,
                    basis=words if sure.any() else "not known: give [detection] in the contract",
                )
            )
    if both := measured(found.history, own):
        lines.append(both)
    if judged is None or judged.level is None or found.contract.counting == "system":
        return tuple(lines), None
    inside = counts & (own.begin >= judged.begin_s) & (own.begin < judged.end_s) & np.isfinite(high)
    seen = judged.scheduled - judged.unobserved
    least, most = (float((one[inside] * weights[inside]).sum()) / seen for one in (low, high))
    return tuple(lines), (judged.level - most, judged.level - least)


def measured(history: History, own: Outages) -> DetectionLatency | None:
    """By how much the engine's stamps were later than those of a watch of the same outage; None where none was seen
    twice."""
    events = history.events
    watch = np.array([one.engine in ("watch", "sinfo") for one in history.causes], bool)
    if not len(events) or not len(own):
        return None
    rows = np.flatnonzero(own.of_record >= 0)
    ours = watch[events.cause[rows]]
    size = len(own)
    never = np.iinfo(np.int64).max
    first = {}
    for name, mask in (("watch", ours), ("engine", ~ours)):
        begin = np.full(size, never)
        np.minimum.at(begin, own.of_record[rows[mask]], events.begin[rows[mask]])
        first[name] = begin
    both = (first["watch"] < never) & (first["engine"] < never) & ~own.cut
    if not both.any():
        return None
    later = (first["engine"] - first["watch"])[both]
    return DetectionLatency(
        name="engine beside watch",
        outages=int(both.sum()),
        low_s=float(later.min()),
        high_s=float(later.max()),
        hours_low=0.0,
        hours_high=0.0,
        basis="begin by the engine less begin by the watch; counted from the earlier one",
        measured=True,
        median_s=float(np.median(later)),
    )


def _segment_at_begin(found: Evaluation) -> Ints:
    """The segment in which each outage begins; -1 for one before all of them."""
    places = (one.node.astype(np.int64) * (1 << 37) + one.begin for one in (found.segments, found.outages))
    return np.searchsorted(*places, "right") - 1  # type: ignore[call-overload, no-any-return]


def weights_of(found: Evaluation) -> Ints:
    """The weight of each outage's node at its begin."""
    at = _segment_at_begin(found)
    return np.where(at >= 0, found.segments.weight[np.maximum(at, 0)], 0)


def claimed(found: Evaluation) -> Bools:
    """Which outages begin in a segment that is excluded or forgiven."""
    at = np.maximum(_segment_at_begin(found), 0)
    return ~found.counts[at] if len(found.segments.node) else np.zeros(len(found.outages), bool)
