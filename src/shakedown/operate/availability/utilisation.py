"""Full use as a condition: processors that jobs held over those that were operational, window by window. Pure; exact.

Both are piecewise linear over time, as the level is; the first window that meets the level and is in full use, too, is
therefore found between their edges as it is for the level alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...schedulers import JobRecord
from .contract import Contract, share_of
from .cumulative_downtime import CumulativeDowntime, Edges, at_times, slide, timeline, window
from .history import Ints, distinct
from .records import Use, Window
from .segments import Bools, Segments

if TYPE_CHECKING:
    from .contract_verdict import Judged
    from .evaluate import Evaluation


@dataclass(frozen=True, slots=True)
class Utilisation:
    """As a course: ``scheduled`` holds the operational processor-seconds, ``lost`` those that jobs held; times ``parts``."""

    course: CumulativeDowntime

    def share(self, begin_s: int, end_s: int) -> tuple[int, int]:
        """(used, operational) processor-seconds x parts of a window."""
        sums = at_times(self.course, np.array([begin_s, end_s], np.int64))
        return int(sums[1][1]) - int(sums[1][0]), int(sums[0][1]) - int(sums[0][0])


def of_jobs(found: Segments, edges: Edges, cpus: Ints, counted: Bools, records: Sequence[JobRecord]) -> Utilisation:
    """What was operational (there, seen, counted and not lost; ``cpus`` of each segment's node), and what jobs held."""
    up = np.where(counted & found.seen, cpus * (found.parts - found.lost), 0)
    (operational,) = timeline(edges, up)
    low, high = found.begin_s, found.end_s
    spans = []
    for one in records:
        if one.begin_s is None or not one.cpus:
            continue
        until = one.end_s if one.end_s is not None else (high if one.state == "running" else one.begin_s)
        begin, end = int(max(one.begin_s, low)), int(min(until, high))
        if end > begin:
            spans.append((begin, end, one.cpus))
    table = np.array(spans, np.int64).reshape(-1, 3)
    at = distinct(np.concatenate((edges.at, table[:, 0], table[:, 1])))
    used = np.zeros(len(at), np.int64)
    np.add.at(used, np.searchsorted(at, table[:, 0]), table[:, 2] * found.parts)
    np.subtract.at(used, np.searchsorted(at, table[:, 1]), table[:, 2] * found.parts)
    rates = (operational[np.searchsorted(edges.at, at[:-1], "right") - 1], np.cumsum(used)[:-1])
    length = np.diff(at).astype(object)
    sums: list[NDArray[Any]] = [np.concatenate(([0], np.cumsum(rate.astype(object) * length))) for rate in rates]
    nothing = np.zeros_like(rates[0])
    blind = np.zeros(len(at), np.int64)
    return Utilisation(CumulativeDowntime(at, sums[0], sums[1], blind, (rates[0], rates[1], nothing), found.parts))


def first_both(
    own: CumulativeDowntime,
    using: Utilisation,
    length_s: int,
    target: Fraction,
    at_least: Fraction,
    *,
    blind_is_lost: bool,
) -> int | None:
    """The earliest whole second at which a window ends that meets the level and is in use; None where none is."""
    level = slide(own, length_s)
    use = slide(using.course, length_s)
    if not len(level.end):
        return None
    ends = distinct(np.concatenate((level.end, use.end)))
    high, low = at_times(own, ends), at_times(own, ends - length_s)
    scheduled, lost, unseen = ((a - b).astype(object) for a, b in zip(high, low, strict=True))
    gone = lost + unseen if blind_is_lost else lost
    margins = [(target.denominator - target.numerator) * scheduled - target.denominator * gone]
    high, low = at_times(using.course, ends), at_times(using.course, ends - length_s)
    up, held = (high[at] - low[at] for at in (0, 1))
    margins.append(at_least.denominator * held - at_least.numerator * up)
    return _first(ends, margins, scheduled > 0)


def _first(ends: Ints, margins: Sequence[NDArray[Any]], there: Bools) -> int | None:
    """The first whole second at which all margins, linear between the ends, are at or above zero."""
    good = there.copy()
    for one in margins:
        good &= one >= 0
    first = int(np.argmax(good)) if good.any() else len(ends)
    maybe = np.ones(max(0, len(ends) - 1), bool)
    for one in margins:
        maybe &= (one[:-1] >= 0) | (one[1:] >= 0)
    for at in np.flatnonzero(maybe[:first]).tolist():
        begin, step = int(ends[at]), int(ends[at + 1] - ends[at])
        low, high = 0, step
        for one in margins:
            here, there_ = int(one[at]), int(one[at + 1])
            if here < 0:
                low = max(low, -(-step * -here // (there_ - here)))
            elif there_ < 0:
                high = min(high, step * here // (here - there_))
        if low <= high:
            return begin + low
    return int(ends[first]) if first < len(ends) else None


# ----------------------------------------------------------------------------------------------------------- the verdict


def judged(found: Evaluation, level: Judged, records: Sequence[JobRecord] | None) -> tuple[Window | None, Use | None]:
    """The window that decides, and whether it was in full use: the first that is both, where any window may meet."""
    contract = found.contract
    in_use = _using(found, records) if contract.utilisation and records is not None else None
    chosen = level.judged
    if in_use and contract.window.kind == "sliding" and contract.window.met == "some":
        chosen = _with_use(found, in_use, level)
    return chosen, _use(contract, in_use, chosen)


def _using(found: Evaluation, records: Sequence[JobRecord]) -> Utilisation:
    cpus = found.segments.weight if found.contract.counting == "processors" else _cpus(found)
    return of_jobs(found.segments, found.edges, cpus, found.counts, records)


def _with_use(found: Evaluation, in_use: Utilisation, level: Judged) -> Window | None:
    """The first window that meets the level and is in use; where there is none, the one that decides without it."""
    contract = found.contract
    assert contract.utilisation is not None
    share = share_of(contract.utilisation.at_least, "")
    length = contract.window_s
    for blind_is_lost in (True, False):
        end = first_both(found.course, in_use, length, contract.target, share, blind_is_lost=blind_is_lost)
        if end is not None:
            return window(found.course, end - length, end)
    return level.judged


def _use(contract: Contract, in_use: Utilisation | None, judged: Window | None) -> Use | None:
    """Processor-hours that jobs held over those that were operational, in the judged window."""
    rule = contract.utilisation
    if rule is None:
        return None
    share = share_of(rule.at_least, "")
    if in_use is None or judged is None:
        why = "give the jobs: --jobs FILE" if in_use is None else "no window was judged"
        return Use(at_least=float(share), value=None, state="undecided", basis=why)
    used, up = in_use.share(judged.begin_s, judged.end_s)
    parts = in_use.course.parts
    return Use(
        at_least=float(share),
        value=used / up if up else None,
        state="undecided" if not up else "met" if used >= share * up else "not met",
        used_h=used / parts / 3600,
        of_h=up / parts / 3600,
        basis="processor-hours that jobs held / operational processor-hours of the judged window",
    )


def _cpus(found: Evaluation) -> Ints:
    """Processors of each segment's node, whatever the contract counts."""
    size = np.zeros(len(found.history.names), np.int64)
    size[found.history.presence.node] = found.history.presence.cpus
    own: Ints = size[found.segments.node]
    return own
