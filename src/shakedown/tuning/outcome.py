"""From the trials to the result: the chosen configuration, what is behind it, what mattered. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from ..workloads.common.hpl import flop
from . import search
from .effects import effects, interactions
from .history import DISTURBED, TrialHistory
from .loop import Ended
from .paired import ratio_interval
from .records import Candidate, Failure, Interval, Kind, Result, SizePoint, Trial, name_of
from .space import told

MOST_OTHERS = 10
SLOW = 0.03  # a host is slow from here on, against the median host


def result(ended: Ended, *, n_reason: str, budget_s: float | None, version: str) -> Result:
    """Everything that tuning found; launch lines, HPL.dat's order and the words come on top of it."""
    known = ended.known
    problem = known.problem
    chosen = search.best(known)
    whole, level = search.whole_level(problem), search.level_of(problem)
    candidates = () if chosen is None else _candidates(known, name_of(chosen), whole, level)
    mattered, comparisons = ((), 0) if chosen is None else effects(known, chosen, level)
    return Result(
        n=problem.n,
        n_reason=n_reason,
        searched=told(problem.space),
        chosen=candidates[0] if candidates else None,
        others=candidates[1 : 1 + MOST_OTHERS],
        effects=mattered,
        comparisons=comparisons,
        interactions=interactions(known, level),
        failures=tuple(Failure(point=one.point, state=one.state, reason=one.reason) for one in known.failures()),
        sizes=() if chosen is None else _sizes(known, name_of(chosen)),
        slow_hosts=slow_hosts(known.trials),
        window_error=_window_error(known, whole, level),
        model_error=_model_error(known),
        noise=known.noise(level) if known.trials else None,
        disturbed_runs=sum(trial.disturbed > DISTURBED for trial in known.trials),
        finished=ended.finished,
        runs=len(known.trials),
        spent_s=ended.spent_s,
        budget_s=budget_s,
        version=version,
    )


def _candidates(known: TrialHistory, chosen: str, whole: str, level: str) -> tuple[Candidate, ...]:
    """The chosen one, then all others that were compared with it, the fastest first."""
    made: dict[str, Candidate] = {}
    for at in dict.fromkeys((whole, level)):
        found = known.compared(at)
        if found is None:
            continue
        kind: Kind = "whole" if at == whole else "windows"
        for name in found.order():
            if str(name) in made:
                continue
            seconds, low_s, high_s = found.seconds(name)
            point = known.point(name)
            made[str(name)] = Candidate(
                point=point,
                seconds=seconds,
                low_s=low_s,
                high_s=high_s,
                runs=sum(trial.level == at and trial.ok and name_of(trial.point) == name for trial in known.trials),
                kind=kind,
                behind=found.interval(name, chosen) if chosen in found.items and name != chosen else None,
                predicted_s=known.predict(point, known.problem.n),
            )
    rest = sorted(
        (one for name, one in made.items() if name != chosen),
        key=lambda one: (one.behind.value if one.behind else math.inf, one.seconds),
    )
    return (made[chosen], *rest) if chosen in made else ()


def _sizes(known: TrialHistory, chosen: str) -> tuple[SizePoint, ...]:
    by_n: dict[int, list[float]] = {}
    for trial in known.trials:
        if trial.ok and trial.kind == "whole" and name_of(trial.point) == chosen and trial.seconds:
            by_n.setdefault(trial.n, []).append(trial.seconds)
    middle = {n: statistics.median(values) for n, values in sorted(by_n.items())}
    return tuple(SizePoint(n=n, seconds=seconds, flops=flop(n) / seconds) for n, seconds in middle.items())


def slow_hosts(trials: Sequence[Trial]) -> dict[str, float]:
    """Hosts that are more than 3 % slower than the median host in the runs where each solved its own system."""
    each: dict[str, list[float]] = {}
    for trial in trials:
        if trial.ok and trial.kind == "hosts":
            for host, seconds in trial.hosts.items():
                each.setdefault(host, []).append(seconds)
    medians = {host: statistics.median(values) for host, values in each.items()}
    if len(medians) < 2:
        return {}
    middle = statistics.median(medians.values())
    behind = {host: seconds / middle - 1 for host, seconds in medians.items()}
    return {host: value for host, value in sorted(behind.items(), key=lambda pair: -pair[1]) if value > SLOW}


def _window_error(known: TrialHistory, whole: str, level: str) -> Interval | None:
    """Integrated from windows over measured whole, less one: over the configurations that have both."""
    if whole == level:
        return None
    one, other = known.compared(level), known.compared(whole)
    if one is None or other is None:
        return None
    both = [name for name in one.items if name in other.items]
    if not both:
        return None
    logs = [one.effect[one.items.index(name)] - other.effect[other.items.index(name)] for name in both]
    spread = statistics.stdev(logs) if len(logs) > 1 else one.noise * math.sqrt(2)
    return ratio_interval(statistics.fmean(logs), spread / math.sqrt(len(logs)), max(1, len(logs) - 1))


def _model_error(known: TrialHistory) -> float | None:
    """The median of |measured / predicted - 1| over the trials, with the rates as they were learnt last."""
    errors = [
        abs(trial.seconds / known.predict(trial.point, trial.n) - 1)
        for trial in known.trials
        if trial.ok and trial.kind != "hosts" and trial.seconds
    ]
    return statistics.median(errors) if errors else None
