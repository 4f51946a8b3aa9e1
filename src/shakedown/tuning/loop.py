"""The loop around the search: answer from the journal what was measured before, run the rest, keep the budget.

The budget is that of the folder: what all calls together may take. A run is started only where its worst case fits:
it is killed at its cap, or where the budget (less what is kept for the final) ends, whichever comes first, and it is
not started where even the expected time would not fit. So the budget is never passed, but by what a kill takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

import msgspec

from .history import Problem, TrialHistory
from .records import Request, Trial
from .search import search

#: A run is started where so many times its expected time are left.
ROOM = 1.3
_LEAST_S = 0.05


class TrialRequest(NamedTuple):
    """A request as it is carried out."""

    request: Request
    limit_s: float  # it is killed after so long
    session: int


#: Carries out a run. Foreseen failures are trials with their state and reason, never exceptions.
Measure = Callable[[TrialRequest], Trial]


class Keeper(Protocol):
    """Where trials come from and go to: a Journal, or a list in a test."""

    trials: list[Trial]
    session: int

    def add(self, trial: Trial) -> None: ...


class Progress(Protocol):
    """What a person is told. All calls return at once."""

    def begin(self, asked: TrialRequest, number: int, left_s: float | None) -> None: ...
    def end(self, trial: Trial) -> None: ...


class Ended(NamedTuple):
    known: TrialHistory
    finished: bool  # false: the budget ended the search early
    spent_s: float


def tune(
    problem: Problem,
    keeper: Keeper,
    measure: Measure,
    now_s: Callable[[], float],
    progress: Progress | None = None,
    *,
    spent_s: float = 0.0,
) -> Ended:
    """Search until done or until the budget is spent. ``spent_s``: by earlier calls in the same folder.

    Whatever ``measure`` raises (KeyboardInterrupt) passes through; all trials before it were kept.
    """
    begun_s = now_s()
    stored = {trial.key: trial for trial in keeper.trials}
    asking = search(problem)
    finished = True
    number = len(keeper.trials)
    answer: Trial | None = None
    try:
        request = next(asking)
        while True:
            answer = stored.get(request.key)
            if answer is None:
                left_s = None if problem.budget_s is None else problem.budget_s - spent_s - (now_s() - begun_s)
                limit_s = limit(request, left_s)
                if limit_s is None:
                    finished = False
                else:
                    number += 1
                    asked = TrialRequest(request, limit_s, keeper.session)
                    if progress:
                        progress.begin(asked, number, left_s)
                    answer = measure(asked)
                    keeper.add(answer)
                    if progress:
                        progress.end(answer)
            request = asking.send(answer)
    except StopIteration as stop:
        return Ended(stop.value, finished, spent_s + now_s() - begun_s)


def limit(request: Request, left_s: float | None) -> float | None:
    """Seconds after which the run is killed; None where it is not to be started."""
    if left_s is None:
        return request.cap_s
    room_s = left_s - request.reserve_s
    if room_s < max(_LEAST_S, min(ROOM * request.estimate_s, request.cap_s)):
        return None
    return min(request.cap_s, room_s)


def failed(asked: TrialRequest, *, state: str, reason: str, cost_s: float, begin_ns: int = 0) -> Trial:
    """The trial of a run that gave nothing."""
    return msgspec.structs.replace(blank(asked), state=state, reason=reason, cost_s=cost_s, begin_ns=begin_ns)


def blank(asked: TrialRequest) -> Trial:
    """What of a trial its request says."""
    request = asked.request
    return Trial(
        key=request.key,
        level=request.level,
        session=asked.session,
        stage=request.stage,
        block=f"{asked.session}/{request.block}",
        point=request.point,
        n=request.n,
        kind=request.kind,
        repeat=request.repeat,
        state="failed",
        cost_s=0.0,
    )


def total_cost_s(trials: Iterable[Trial]) -> float:
    """Seconds that all runs took, start-up included."""
    return sum(trial.cost_s for trial in trials)
