"""The verdict over the windows that a contract speaks of, and what would have met it. Pure; exact at the limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...times import months
from ...units import show_apart
from . import exclusions, incidents
from . import segments as kernel
from .contract import Contract
from .cumulative_downtime import (
    CumulativeDowntime,
    Sliding,
    attempts,
    decide,
    extreme,
    first_met,
    meets_always,
    of_segments,
    window,
)
from .history import intersection
from .records import Attempt, Missing, Verdict, Window

if TYPE_CHECKING:
    from .evaluate import Evaluation

#: For a contract that counts the system as one, so many incidents are tried one after the other.
_MOST_TRIED = 12


class Judged(NamedTuple):
    """The verdict on availability. ``judged`` is the window that decides: the first that met, else the best."""

    verdict: Verdict
    reasons: tuple[str, ...]
    judged: Window | None
    first_met_s: int | None = None
    certain_first_met_s: int | None = None
    last: Window | None = None
    best: Window | None = None
    worst: Window | None = None
    months: tuple[Window, ...] = ()
    attempts: tuple[Attempt, ...] = ()


def judge(own: CumulativeDowntime, sliding: Sliding, contract: Contract) -> Judged:
    """The verdict: what was not observed is taken as lost and as up; where that matters it is undecided."""
    target = contract.target
    found = {
        "sliding": _sliding,
        "restarting": _restarting,
        "months": _months,
    }[contract.window.kind](own, sliding, contract)
    if len(sliding.end):
        last_end = own.end_s
        found = found._replace(
            last=window(own, last_end - contract.window_s, last_end),
            best=extreme(sliding, own, best=True),
            worst=extreme(sliding, own, best=False),
            first_met_s=first_met(sliding, target, blind_is_lost=False),
            certain_first_met_s=first_met(sliding, target, blind_is_lost=True),
        )
    return found


def _short(own: CumulativeDowntime, contract: Contract) -> Judged:
    length = (own.end_s - own.begin_s) / 86400
    told = f"the history is of {length:.2f} days, a window of {contract.window_s / 86400:g}: nothing can be judged yet"
    return Judged("undecided", (told,), None)


def _sliding(own: CumulativeDowntime, sliding: Sliding, contract: Contract) -> Judged:
    if not len(sliding.end):
        return _short(own, contract)
    target, length = contract.target, contract.window_s
    sure = first_met(sliding, target, blind_is_lost=True)
    maybe = first_met(sliding, target, blind_is_lost=False)
    end = own.end_s
    if contract.window.met == "last":
        judged = window(own, end - length, end)
        worst, best = decide(own, end - length, end, target)
        return Judged(_verdict(worst, best), (words(judged, contract, "the last window"),), judged)
    if contract.window.met == "every":
        found = extreme(sliding, own, best=False)
        worst = meets_always(sliding, target, blind_is_lost=True)
        best = meets_always(sliding, target, blind_is_lost=False)
        return Judged(_verdict(worst, best), (words(found, contract, "the worst window"),), found)
    if sure is not None:
        judged = window(own, sure - length, sure)
        return Judged("met", (words(judged, contract, "the first window that met"),), judged)
    if maybe is not None:
        judged = window(own, maybe - length, maybe)
        told = words(judged, contract, "the first window that may have met")
        return Judged("undecided", (told, _blind(judged)), judged)
    found = extreme(sliding, own, best=True)
    if found is None:
        return Judged("undecided", ("nothing was scheduled and observed in any window",), None)
    return Judged("not met", (words(found, contract, "the best window"),), found)


def _verdict(worst: bool, best: bool) -> Verdict:
    return "met" if worst else "undecided" if best else "not met"


def _blind(window: Window) -> str:
    part = window.unobserved / window.scheduled if window.scheduled else 1.0
    return f"{100 * part:.2f} % of it were not observed, and on them it depends"


def words(window: Window | None, contract: Contract, which: str) -> str:
    if window is None or window.level is None:
        return f"{which}: nothing was scheduled and observed in it"
    bounds = ""
    if window.unobserved > 0 and window.low is not None and window.high is not None:
        low, high = (_beside(end, contract) for end in (window.low, window.high))
        bounds = f" (from {low} to {high}, as what was not observed is taken)"
    return f"{which}: {_beside(window.level, contract)}{bounds}, {contract.at_least} are required"


def _beside(level: float, contract: Contract) -> str:
    """A level with four decimals, and more where it takes them to tell it from what is asked for."""
    return show_apart(level, float(contract.target), "%", digits=6)[0]


def _restarting(own: CumulativeDowntime, sliding: Sliding, contract: Contract) -> Judged:
    if not len(sliding.end):
        return _short(own, contract)
    worst = attempts(own, contract.window_s, contract.target, blind_is_lost=True)
    best = attempts(own, contract.window_s, contract.target, blind_is_lost=False)
    chosen = worst if worst[-1].met else best
    met = chosen[-1]
    judged = window(own, met.begin_s, met.end_s)
    broken = len(chosen) - 1
    which = f"attempt {len(chosen)}" + (f", after {broken} that broke" if broken else "")
    verdict: Verdict = "met" if worst[-1].met else "undecided" if best[-1].met else "not met"
    reasons = [words(judged, contract, which)]
    if not met.met:
        reasons.append("it was not over at the end of the history")
    return Judged(verdict, tuple(reasons), judged, attempts=chosen)


def _months(own: CumulativeDowntime, sliding: Sliding, contract: Contract) -> Judged:
    """Whole calendar months of the contract's zone."""
    whole = [
        one for one in months(own.begin_s, own.end_s, contract.zone) if own.begin_s <= one[0] and one[1] <= own.end_s
    ]
    if not whole:
        return Judged("undecided", ("there is no whole calendar month in the history",), None)
    windows = tuple(window(own, *one) for one in whole)
    sure, maybe = zip(*(decide(own, *one, contract.target) for one in whole), strict=True)
    if contract.window.met == "last":
        at, verdict = len(windows) - 1, _verdict(sure[-1], maybe[-1])
    elif contract.window.met == "every":
        at, verdict = _least(windows), _verdict(all(sure), all(maybe))
    else:
        verdict = _verdict(any(sure), any(maybe))
        at = sure.index(True) if any(sure) else maybe.index(True) if any(maybe) else _least(windows, greatest=True)
    count = f"{sum(sure)} of {len(windows)} months met; "
    which = {"last": "the last month", "every": "the worst month", "some": "the month that decides"}[
        contract.window.met
    ]
    return Judged(verdict, (count + words(windows[at], contract, which),), windows[at], months=windows)


def _least(windows: Sequence[Window], *, greatest: bool = False) -> int:
    levels = [-1.0 if one.level is None else one.level for one in windows]
    return levels.index(max(levels) if greatest else min(levels))


# ------------------------------------------------------------------------------------------------- what would have met it


def missing(found: Evaluation, judged: Window) -> Missing:
    """By how much the judged window is short, and which incidents' absence would have met the contract, the greatest
    first."""
    contract = found.contract
    allowed = float(1 - contract.target) * judged.scheduled
    short = judged.lost - allowed
    own = incidents.costs(found.segments, found.outages, found.counts, judged.begin_s, judged.end_s)
    ranked = [int(at) for at in own.order if own.charged[at] > 0]
    fewest: int | None = 0
    if contract.counting == "system":
        fewest, short_by_node = (_tried(found, judged, ranked) if short > 0 else 0), 0.0
    else:
        short_by_node = short
        if short > 0:
            slack = 1e-9 * max(1.0, judged.scheduled)
            enough = np.flatnonzero(own.back >= short - slack)
            fewest = int(enough[0]) + 1 if len(enough) else None
    told = incidents.told(found, own, ranked[: incidents.MOST_TOLD], short_by_node)
    return Missing(window=judged, short_h=short / 3600, allowed_h=allowed / 3600, fewest=fewest, ranked=told)


def _tried(found: Evaluation, judged: Window, ranked: Sequence[int]) -> int | None:
    """How many incidents, the greatest first, have to be absent for the system as one to meet; each number is laid out
    anew."""
    contract = found.contract
    own = found.outages
    claims = exclusions.lines(found.history, contract, found.kinds, judged.begin_s, judged.end_s)
    for count in range(1, min(_MOST_TRIED, len(ranked)) + 1):
        gone = np.isin(own.incident, ranked[:count])
        rows = (own.of_record < 0) | ~gone[np.maximum(own.of_record, 0)]
        history = replace(found.history.only(rows))
        segments = kernel.segments(history, contract, judged.begin_s, judged.end_s, claims.claims)
        excluded, forgiven = exclusions.flags(segments, claims)
        whole = of_segments(segments, excluded, forgiven, system_at=contract.system_at)
        if decide(whole, judged.begin_s, judged.end_s, contract.target)[0]:
            return count
    return None


def seen_within(found: Evaluation) -> tuple[tuple[int, int], ...]:
    """When anybody looked, within the stretch."""
    return intersection(found.history.seen, [(found.course.begin_s, found.course.end_s)])
