"""What a search knows: its trials, what they say of configurations, what further runs would cost.

``TrialHistory`` only grows, by ``add``; everything else is derived from its trials, in the order in which they came.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from .paired import DRIFT, NOISE, Comparison, Observation, compare
from .records import Kind, Point, Request, Trial, name_of
from .space import Space

if TYPE_CHECKING:
    from .surrogate import Posterior

#: Predicts the seconds of the whole solution: (configuration, n) -> seconds.
Predict = Callable[[Point, int], float]
#: Learns from trials: what Predict says from then on.
Learn = Callable[[Sequence[Trial]], Predict]

START_S = 1.0  # of a process, before one was seen: loading, allocation, generation, check
CAP_TIMES = 2.5  # a run is ended at so many times what the best takes
CAP_S = 5.0  # and so many seconds more
FIRST_CAP_TIMES = 20.0  # while nothing was measured, and only the model says how long a run takes
FIRST_CAP_S = 60.0
DISTURBED = 0.05  # of the CPU time taken by others: such a run is made again, and says little
DISTURBED_WEIGHT, DISTURBED_DRIFT = 0.05, 0.5
LEVEL_SPREAD = 0.05  # how far the model is expected to be off, relative, before anything was measured


class Windows(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of a run: at each share of n, so many columns."""

    shares: tuple[float, ...]
    columns: int


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What is searched for."""

    space: Space
    n: int
    learn: Learn
    windows: Windows | None = None  # None: only whole runs
    seed: int = 1
    budget_s: float | None = None
    sizes: bool = True  # the chosen configuration at smaller N too


class TrialHistory:
    """The trials so far."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.trials: list[Trial] = []
        self.refused = False  # the budget does not allow what was asked for last
        self.predict = problem.learn(())
        self._points: dict[str, Point] = {}
        self._repeats: dict[tuple[str, str], int] = {}
        self._failed: dict[str, Trial] = {}
        self._compared: tuple[object, Comparison | None] = (None, None)  # the last one, and what it was of
        self._judged = 0  # so many trials are in _suspected
        self._suspected: set[tuple[str, object]] = set()

    def add(self, trial: Trial) -> None:
        name = name_of(trial.point)
        self.trials.append(trial)
        self._points[name] = trial.point
        self._repeats[name, trial.level] = self._repeats.get((name, trial.level), 0) + 1
        if not trial.ok and not (trial.state == "timeout" and trial.disturbed > DISTURBED):
            self._failed.setdefault(name, trial)

    def learn(self) -> None:
        """Let the model learn from what was measured so far."""
        self.predict = self.problem.learn(tuple(self.trials))

    def repeat(self, point: Point, level: str) -> int:
        """The number of the next run of that level of a configuration, from 1."""
        return self._repeats.get((name_of(point), level), 0) + 1

    def failed(self, point: Point) -> bool:
        """Whether a run of this configuration gave no valid result: then it is out."""
        return name_of(point) in self._failed

    def failures(self) -> list[Trial]:
        """The first failed run of each configuration that failed."""
        return list(self._failed.values())

    def suspect(self, point: Point) -> bool:
        """Whether a value of this configuration failed with two configurations or more and never worked."""
        return bool(self._suspects()) and any(pair in self._suspects() for pair in point.items())

    def _suspects(self) -> set[tuple[str, object]]:
        if self._judged != len(self.trials):
            bad: dict[tuple[str, object], set[str]] = {}
            good: set[tuple[str, object]] = set()
            for trial in self.trials:
                for pair in trial.point.items():
                    if trial.ok:
                        good.add(pair)
                    else:
                        bad.setdefault(pair, set()).add(name_of(trial.point))
            self._judged = len(self.trials)
            self._suspected = {pair for pair, names in bad.items() if len(names) >= 2 and pair not in good}
        return self._suspected

    def usable(self, points: Iterable[Point]) -> list[Point]:
        """Those that did not fail and have no suspect value, each once."""
        unique = {name_of(point): point for point in points}
        return [point for point in unique.values() if not self.failed(point) and not self.suspect(point)]

    def compared(self, level: str, points: Iterable[Point] | None = None) -> Comparison | None:
        """The comparison at a level, of the valid configurations or those among ``points``; None without a trial."""
        wanted = None if points is None else frozenset(name_of(point) for point in points)
        key = (level, wanted, len(self.trials))
        if key != self._compared[0]:
            self._compared = key, self._compare(level, wanted)
        return self._compared[1]

    def _compare(self, level: str, wanted: frozenset[str] | None) -> Comparison | None:
        observations = [
            Observation(name, block_of(trial), math.log(trial.seconds), *trust_of(trial))
            for trial in self.trials
            if trial.level == level and trial.ok and trial.seconds is not None
            for name in (name_of(trial.point),)
            if name not in self._failed and (wanted is None or name in wanted)
        ]
        return compare(observations) if observations else None

    def point(self, name: object) -> Point:
        return self._points[str(name)]

    def ranked(self, level: str, points: Iterable[Point] | None = None) -> list[Point]:
        """The valid configurations at a level, the fastest first."""
        found = self.compared(level, points)
        return [] if found is None else [self.point(name) for name in found.order()]

    # ---------------------------------------------------------------------------------------------------------- costs

    def cost_s(self, point: Point, kind: Kind, n: int, work: float = 1.0) -> float:
        """Seconds that a run is expected to take, start-up included. ``work``: its part of the whole's operations."""
        name = name_of(point)
        seen = [one.cost_s for one in self.trials if name_of(one.point) == name and one.kind == kind and one.n == n]
        if seen:
            return statistics.median(seen)
        return self.predict(point, n) * self._scale() * work + self._start_s()

    def _scale(self) -> float:
        """Measured over predicted: its median."""
        ratios = [one.seconds / self.predict(one.point, one.n) for one in self.trials if one.ok and one.seconds]
        return statistics.median(ratios) if ratios else 1.0

    def _start_s(self) -> float:
        """What a whole run costs besides what is compared."""
        rest = [one.cost_s - (one.seconds or 0.0) for one in self.trials if one.ok and one.kind == "whole"]
        return max(0.0, statistics.median(rest)) if rest else START_S

    def cap_s(self, estimate_s: float, level: str) -> float:
        """After how long a run is ended: it is then far behind the best of its level and what was expected of it."""
        costs = [one.cost_s for one in self.trials if one.level == level and one.ok]
        if not costs:
            return FIRST_CAP_TIMES * estimate_s + FIRST_CAP_S
        return CAP_TIMES * max(min(costs), estimate_s) + CAP_S

    # ---------------------------------------------------------------------------------------------------------- guess

    def guess(self, points: Sequence[Point], level: str) -> Posterior:
        """The logarithm of the seconds that these configurations should take, run or not: the model corrected by what
        was measured at a level."""
        import numpy as np

        from .surrogate import Posterior, Run, Surrogate

        n = self.problem.n
        predicted = np.array([math.log(self.predict(point, n)) for point in points])
        runs = [
            Run(trial.point, block_of(trial), math.log(trial.seconds / self.predict(trial.point, n)), *trust_of(trial))
            for trial in self.trials
            if trial.level == level and trial.ok and trial.seconds and not self.failed(trial.point)
        ]
        if not runs:
            unknown = np.full(len(points), LEVEL_SPREAD**2)
            return Posterior(predicted, unknown, lambda index: np.zeros(len(points)))
        found = Surrogate(self.problem.space, runs, self.noise(level)).posterior(points)
        return Posterior(predicted + found.mean, found.variance, found.column)

    def noise(self, level: str) -> float:
        """The standard deviation of the logarithm of one run."""
        found = self.compared(level)
        return found.noise if found else NOISE

    # -------------------------------------------------------------------------------------------------------- requests

    def request(
        self,
        point: Point,
        kind: Kind,
        *,
        stage: str,
        block: str,
        n: int | None = None,
        shares: Sequence[float] = (),
        reserve_s: float = 0.0,
    ) -> Request:
        """The next run of a configuration."""
        from .windows import cost_share

        n = n or self.problem.n
        panels, work = 0, 1.0
        if kind == "windows":
            assert self.problem.windows is not None
            panels = panels_of(point, self.problem.windows.columns)
            work = cost_share(shares, panels * int(point["nb"]), n)
        estimate_s = self.cost_s(point, kind, n, work)
        asked = Request(
            point=point,
            n=n,
            kind=kind,
            shares=tuple(shares),
            panels=panels,
            stage=stage,
            block=block,
            estimate_s=estimate_s,
            cap_s=0.0,
            reserve_s=reserve_s,
        )
        return msgspec.structs.replace(
            asked, repeat=self.repeat(point, asked.level), cap_s=self.cap_s(estimate_s, asked.level)
        )


def trust_of(trial: Trial) -> tuple[float, float]:
    """What a run counts in comparisons, and how far its block may be shifted."""
    return (DISTURBED_WEIGHT, DISTURBED_DRIFT) if trial.disturbed > DISTURBED else (1.0, DRIFT)


def block_of(trial: Trial) -> str:
    """The block of a run; disturbed ones are compared among themselves."""
    return f"{trial.block} disturbed" if trial.disturbed > DISTURBED else trial.block


def panels_of(point: Point, columns: int) -> int:
    """Panels of a window: as many columns for every NB, and each process column at least twice the owner."""
    from .space import pair

    return max(2 * pair(str(point["grid"]))[1], round(columns / int(point["nb"])), 1)
