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
from collections.abc import Sequence

import numpy as np

from .contract import Contract, seconds_of
from .history import STATE_CODE, History, Ints
from .incidents import Outages
from .kernel import Bools, Segments
from .records import Delay

#: SlurmdTimeout -> least and greatest delay.
UNHEARD = (2 / 3, 2.2)
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


def bounds(history: History, contract: Contract, own: Outages) -> tuple[np.ndarray, np.ndarray, list[str]]:  # type: ignore[type-arg]
    """Least and greatest delay of each outage in seconds, NaN where nothing is known, and the class of each."""
    known = settings(history, contract)
    low, high = np.full(len(own), np.nan), np.full(len(own), np.nan)
    classes = [""] * len(own)
    events = history.events
    silent = STATE_CODE["silent"]
    timeout, health = known.get("slurmd_timeout_s"), known.get("health_interval_s")
    checks = [bool(_CHECK.match(one.what)) for one in history.causes]
    engines = [one.engine for one in history.causes]
    for at, row in enumerate(own.record.tolist()):
        cause = int(events.cause[row])
        late = int(events.late[row])
        if own.cut[at]:
            continue  # when it began does not matter here
        if late >= 0:
            low[at], high[at], classes[at] = 0.0, late, "seen by a watch"
        elif checks[cause]:
            classes[at] = "found by a health check"
            if health:
                low[at], high[at] = 0.0, health
        elif engines[cause] == "slurm" and (int(events.state[row]) == silent or "not responding" in history.causes[cause].what.lower()):
            classes[at] = "not responding"
            if timeout:
                low[at], high[at] = UNHEARD[0] * timeout, UNHEARD[1] * timeout
    return low, high, classes


def told(
    history: History,
    contract: Contract,
    own: Outages,
    counts: Bools,
    weights: Ints,
    low: np.ndarray,  # type: ignore[type-arg]
    high: np.ndarray,  # type: ignore[type-arg]
    classes: Sequence[str],
) -> tuple[Delay, ...]:
    """One line for each class of outages that are late: how late, and the weighted hours that are missing. ``counts`` are the
    outages that cost anything (neither excluded nor forgiven at their begin), ``weights`` their nodes' weights."""
    known = settings(history, contract)
    basis = {
        "not responding": f"2/3 to 2.2 x SlurmdTimeout ({known.get('slurmd_timeout_s', 0):g} s)",
        "found by a health check": f"0 to HealthCheckInterval ({known.get('health_interval_s', 0):g} s)",
        "seen by a watch": "0 to the time between two looks",
    }
    found = []
    names = np.array(classes)
    for name, words in basis.items():
        mine = (names == name) & counts
        if not mine.any():
            continue
        sure = mine & np.isfinite(high)
        unknown = not sure.any()
        found.append(
            Delay(
                name=name,
                outages=int(mine.sum()),
                low_s=0.0 if unknown else float(low[sure].mean()),
                high_s=0.0 if unknown else float(high[sure].max()),
                hours_low=0.0 if unknown else float((low[sure] * weights[sure]).sum()) / 3600,
                hours_high=0.0 if unknown else float((high[sure] * weights[sure]).sum()) / 3600,
                basis="not known: give [detection] in the contract" if unknown else words,
            )
        )
    return tuple(found)


def measured(history: History, own: Outages) -> Delay | None:
    """By how much the engine's stamps were later than those of a watch of the same outage; None where none was seen twice."""
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
    return Delay(
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


def weights_of(found: Segments, own: Outages) -> Ints:
    """The weight of each outage's node at its begin."""
    key = found.node.astype(np.int64) * (1 << 37) + found.begin
    at = np.searchsorted(key, own.node.astype(np.int64) * (1 << 37) + own.begin, "right") - 1
    return np.where(at >= 0, found.weight[np.maximum(at, 0)], 0)


def claimed(found: Segments, own: Outages, excluded: Bools, forgiven: Bools) -> Bools:
    """Which outages begin in a segment that is excluded or forgiven."""
    key = found.node.astype(np.int64) * (1 << 37) + found.begin
    at = np.maximum(np.searchsorted(key, own.node.astype(np.int64) * (1 << 37) + own.begin, "right") - 1, 0)
    return (excluded | forgiven)[at] if len(found.node) else np.zeros(len(own), bool)

