"""What of a plan comes next, and how long the rest takes. Pure.

Every run happens once before any is repeated, so that repeats of one run are spread over the whole campaign and a
disturbance hits them unalike. Repeats end when the interval of their medians is narrow enough, when they reach their
number, or when the budget is spent.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..analysis.statistics import relative_width
from ..records import SCORED, Measurement, Plan, Run, State


class Done(NamedTuple):
    """What the next step needs to know of a repeat that is whole."""

    state: State
    medians: tuple[float, ...]  # seconds, one per case


class Step(NamedTuple):
    run: Run
    repeat: int


History = Mapping[tuple[str, int], Done]


def next_step(plan: Plan, done: History, spent_s: float, left_s: float = math.inf) -> Step | None:
    """What to run now, or None when the plan is fulfilled, or nothing of it is expected to end within ``left_s``. Pure.

    First every run's first repeat, in order; then, round by round, those whose repeats are not yet enough; of runs that
    differ in their MPI alone another one is first in each round. What is too long
    for the seconds that are left is passed over: a shorter one behind it may still fit.
    """
    rounds = max((run.repeat_max for run in plan.runs), default=0)
    halved = _halved(plan, done)
    for repeat in range(1, rounds + 1):
        for run in in_turn(plan.runs, repeat):
            if (
                (run.id, repeat) not in done
                and (repeat == 1 or run.id not in halved)
                and run.estimate_s <= left_s
                and wants(run, repeat, done, plan.budget_s, spent_s)
            ):
                return Step(run, repeat)
    return None


def in_turn(runs: Sequence[Run], repeat: int) -> Iterator[Run]:
    """The runs in the order of a round: those that stand side by side and differ in their MPI alone, or are the launches of
    a pair, begin with another of them in each, since what runs first finds the machine as another program left it."""
    for _, group in itertools.groupby(runs, key=_side_by_side):
        same = list(group)
        first = (repeat - 1) % len(same) if same[0].mpi or same[0].pair else 0
        yield from (*same[first:], *same[:first])


def _side_by_side(run: Run) -> tuple[object, ...]:
    """What runs have in common that take turns: a pair is of one MPI."""
    which = (run.pair, run.mpi) if run.pair else ("", bool(run.mpi))
    return (run.workload, run.params, run.nodes, run.each, *which)


def _halved(plan: Plan, done: History) -> set[str]:
    """The runs of pairs of which one launch failed: another launch of the other would stand beside nothing."""
    failed = {id_ for (id_, _), one in done.items() if one.state not in SCORED}
    of_failed = [_side_by_side(run) for run in plan.runs if run.pair and run.id in failed]
    return {run.id for run in plan.runs if run.pair and _side_by_side(run) in of_failed} if of_failed else set()


def split(plan: Plan, records: Sequence[Measurement], hosts: Sequence[str] = ()) -> set[tuple[str, int]]:
    """The launches of pairs of which only some were made, or on some of the hosts, before a session began: their others
    would not come right after them, so that such a pair is made again as a whole. Those that failed are left as they are."""
    made: dict[tuple[str, int], set[State]] = {}
    for one in records:
        made.setdefault((one.run, one.repeat), set()).add(one.state)
    done = history(plan, records, hosts)
    found: set[tuple[str, int]] = set()
    for _, group in itertools.groupby((run for run in plan.runs if run.pair), key=_side_by_side):
        same = list(group)
        for repeat in range(1, max(run.repeat_max for run in same) + 1):
            keys = {(run.id, repeat) for run in same}
            states = set().union(*(made.get(key, set()) for key in keys))
            if states and states <= set(SCORED) and not keys <= done.keys():
                found |= keys
    return found


def wants(run: Run, repeat: int, done: History, budget_s: float | None, spent_s: float) -> bool:
    """Whether this repeat of a run is still worth its time."""
    earlier = [done[run.id, number] for number in range(1, repeat) if (run.id, number) in done]
    if len(earlier) < repeat - 1 or any(one.state not in SCORED for one in earlier):
        return False  # a run that failed would fail again: it is repeated when somebody asks for it
    if repeat <= run.repeat_min:
        return True
    if repeat > run.repeat_max or (budget_s is not None and spent_s + run.estimate_s > budget_s):
        return False
    return run.repeat_interval is not None and not settled(earlier, run.repeat_interval)


def missing(plan: Plan, done: History) -> list[Step]:
    """What must still run, of each run its next repeat, in order."""
    steps = []
    halved = _halved(plan, done)
    for run in plan.runs:
        if run.id in halved and (run.id, 1) in done:
            continue
        repeat = next((number for number in range(1, run.repeat_min + 1) if (run.id, number) not in done), None)
        if repeat is not None and wants(run, repeat, done, None, 0):
            steps.append(Step(run, repeat))
    return steps


def settled(repeats: list[Done], interval: float) -> bool:
    """Whether the repeats agree: over the cases, the middle of the relative widths of their intervals is narrow enough."""
    widths = [
        width
        for series in zip(*(one.medians for one in repeats), strict=False)
        if (width := relative_width(series)) is not None
    ]
    return bool(widths) and statistics.median(widths) <= interval


def summary(record: Measurement) -> Done:
    """What next_step needs of a measurement."""
    return Done(record.state, tuple(statistics.median(case.seconds) for case in record.cases if case.seconds))


def left_s(plan: Plan, done: History, spent_s: float) -> float:
    """Seconds that the rest of the plan is expected to take: what must run, and repeats as far as the budget goes."""
    must = may = 0.0
    halved = _halved(plan, done)
    for run in plan.runs:
        if run.id in halved and (run.id, 1) in done:
            continue
        count = sum((run.id, number) in done for number in range(1, run.repeat_max + 1))
        left = range(count + 1, run.repeat_max + 1)
        if not left or not wants(run, left[0], done, None, 0):
            continue
        must += run.estimate_s * sum(number <= run.repeat_min for number in left)
        may += run.estimate_s * sum(number > run.repeat_min for number in left)
    return must + may if plan.budget_s is None else max(must, min(must + may, plan.budget_s - spent_s))


def step_key(step: Step) -> tuple[str, int]:
    """What names a step in a history."""
    return step.run.id, step.repeat


def spent(records: Iterable[Measurement]) -> float:
    """Seconds that runs took; copies that ran side by side took theirs once."""
    longest: dict[tuple[str, int], float] = {}
    for one in records:
        key = (one.run, one.repeat)
        longest[key] = max(longest.get(key, 0.0), (one.end_ns - one.begin_ns) * 1e-9)
    return sum(longest.values())


def history(plan: Plan, records: Iterable[Measurement], hosts: Sequence[str] = ()) -> dict[tuple[str, int], Done]:
    """What is whole. A run on each host is so when it is on every one of ``hosts``, and is repeated while any is ok."""
    each = {run.id for run in plan.runs if run.each}
    copies: dict[tuple[str, int], list[Measurement]] = {}
    done: dict[tuple[str, int], Done] = {}
    for one in records:
        if one.run in each and hosts:
            copies.setdefault((one.run, one.repeat), []).append(one)
        else:
            done[one.run, one.repeat] = summary(one)
    for key, group in copies.items():
        if {one.host for one in group} >= set(hosts):
            parts = [summary(one) for one in group if one.host in hosts]
            good = [part for part in parts if part.state in SCORED]
            medians = tuple(median for part in good for median in part.medians)
            done[key] = Done(good[0].state, medians) if good else parts[0]
    return done
