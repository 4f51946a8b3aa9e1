"""Full use as a condition: processors that jobs held over those that were operational, window by window. Pure; exact.

Both are piecewise linear over time, as the level is; the first window that meets the level and is in full use, too, is
therefore found between their edges as it is for the level alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...schedulers import JobRecord
from . import jobs
from .contract import share_of
from .cumulative_downtime import (
    CumulativeDowntime,
    Edges,
    added_up,
    at_times,
    first_of_all,
    slide,
    timeline,
    window,
    within,
)
from .history import Ints, distinct
from .records import Use, Window
from .segments import Bools, Segments

if TYPE_CHECKING:
    from .contract_verdict import Judged
    from .evaluate import Evaluation


def of_jobs(
    found: Segments, edges: Edges, cpus: Ints, counted: Bools, records: Sequence[JobRecord]
) -> CumulativeDowntime:
    """What was operational (there, seen, counted and not lost; ``cpus`` of each segment's node) as ``scheduled``, and what
    jobs held as ``lost``: processor-seconds x parts."""
    up = np.where(counted & found.seen, cpus * (found.parts - found.lost), 0)
    (operational,) = timeline(edges, up)
    table = np.array(list(jobs.spans(records, found.begin_s, found.end_s)), np.int64).reshape(-1, 3)
    begin, end, held = table.T
    at = distinct(np.concatenate((edges.at, begin, end)))
    used = np.zeros(len(at), np.int64)
    np.add.at(used, np.searchsorted(at, begin), held * found.parts)
    np.subtract.at(used, np.searchsorted(at, end), held * found.parts)
    there = operational[np.searchsorted(edges.at, at[:-1], "right") - 1]
    return added_up(at, (there, np.cumsum(used)[:-1], np.zeros_like(there)), found.parts)


def first_both(
    own: CumulativeDowntime,
    using: CumulativeDowntime,
    length_s: int,
    target: Fraction,
    at_least: Fraction,
    *,
    blind_is_lost: bool,
) -> int | None:
    """The earliest whole second at which a window ends that meets the level and is in use; None where none is."""
    level = slide(own, length_s)
    if not len(level.end):
        return None
    ends = distinct(np.concatenate((level.end, slide(using, length_s).end)))

    def grown(course: CumulativeDowntime) -> list[NDArray[Any]]:
        sums = zip(at_times(course, ends), at_times(course, ends - length_s), strict=True)
        return [(high - low).astype(object) for high, low in sums]

    scheduled, lost, unseen = grown(own)
    gone = lost + unseen if blind_is_lost else lost
    up, held, _ = grown(using)
    meets = (target.denominator - target.numerator) * scheduled - target.denominator * gone
    in_use = at_least.denominator * held - at_least.numerator * up
    return first_of_all(ends, (meets, in_use), scheduled > 0)


# ----------------------------------------------------------------------------------------------------------- the verdict


def judged(found: Evaluation, level: Judged, records: Sequence[JobRecord] | None) -> tuple[Window | None, Use | None]:
    """The window that decides, and whether it was in full use (processor-hours that jobs held over those that were
    operational): the first that meets the level and is in use, where any window may meet; else the one that decides
    without it."""
    contract, chosen = found.contract, level.judged
    rule, length = contract.utilisation, contract.window_s
    if rule is None:
        return chosen, None
    share = share_of(rule.at_least, "")
    if records is None:
        return chosen, Use(at_least=float(share), value=None, state="undecided", basis="give the jobs: --jobs FILE")
    segments = found.segments
    cpus = segments.weight if contract.counting == "processors" else found.history.cpus_of(segments.node)
    using = of_jobs(segments, found.edges, cpus, found.counts, records)
    if contract.window.kind == "sliding" and contract.window.met == "some":
        for blind_is_lost in (True, False):
            end = first_both(found.course, using, length, contract.target, share, blind_is_lost=blind_is_lost)
            if end is not None:
                chosen = window(found.course, end - length, end)
                break
    if chosen is None:
        return None, Use(at_least=float(share), value=None, state="undecided", basis="no window was judged")
    up, used, _ = within(using, chosen.begin_s, chosen.end_s)
    return chosen, Use(
        at_least=float(share),
        value=used / up if up else None,
        state="undecided" if not up else "met" if used >= share * up else "not met",
        used_h=used / using.parts / 3600,
        of_h=up / using.parts / 3600,
        basis="processor-hours that jobs held / operational processor-hours of the judged window",
    )
