"""A job that fails at random, drawn: the check of the formulas, which it does not know. Seeded; numpy; seconds.

Many jobs at once, each going from event to event: a segment of work with the checkpoint at its end, or a restart. Every time
without a failure is drawn anew, since failures have no memory. A failure of class i is of a job that goes back to the newest
state saved at level i or above; a drain reaches
level after level, what was on its way is lost, and is sent again once the job is back there.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .pattern import Scheme

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Simulated(NamedTuple):
    """The waste (T/Ts - 1) of all jobs together with its standard error, from the spread between them."""

    waste: float
    error: float
    failures: int


def simulate(
    scheme: Scheme,
    work: float,
    counts: tuple[int, ...],
    *,
    jobs: int = 200,
    patterns: int = 4,
    seed: int = 1,
    most_steps: int = 200_000,
) -> Simulated:
    """Let ``jobs`` jobs do ``patterns`` patterns each (``pattern.waste`` says what one is). Infinite waste where they are
    not through after ``most_steps`` events."""
    drawn = _Jobs(scheme, work, counts, jobs, patterns, np.random.default_rng(seed))
    for _ in range(most_steps):
        running = np.flatnonzero(drawn.at < drawn.last)
        if not len(running):
            break
        drawn.step(running)
    else:
        return Simulated(math.inf, math.inf, drawn.failures)
    ratio = drawn.seconds / drawn.useful - 1
    return Simulated(float(ratio.mean()), float(ratio.std(ddof=1) / math.sqrt(jobs)), drawn.failures)


class _Jobs:
    """All jobs, an array element each. ``at`` counts the checkpoints that lie behind a job; ``saved[i]`` is the newest of
    them that holds after a failure of class i; ``left`` is how long the one at ``sent`` still drains."""

    def __init__(
        self, scheme: Scheme, work: float, counts: tuple[int, ...], jobs: int, patterns: int, draws: np.random.Generator
    ) -> None:
        self.scheme, self.work, self.draws = scheme, work, draws
        self.mean = 1 / sum(scheme.rates)
        self.shares = np.cumsum(scheme.rates) * self.mean
        each = np.cumprod(counts)  # checkpoints of the lowest level between two of each
        self.last = int(each[-1]) * patterns
        numbers = np.arange(self.last + 1)
        self.level = np.sum([numbers % one == 0 for one in each], axis=0) - 1
        segments = np.maximum(work, (1 - scheme.slowdown) * np.array(scheme.drain))
        self.useful = float(segments[self.level[:-1]].sum())
        self.at = np.zeros(jobs, np.int64)
        self.saved = np.zeros((len(counts), jobs), np.int64)
        self.sent = np.zeros(jobs, np.int64)
        self.left = np.full(jobs, scheme.drain[-1])
        self.down = np.full(jobs, -1)  # the class that a job restarts from; -1: it works
        self.seconds = np.zeros(jobs)
        self.failures = 0

    def step(self, running: Ints) -> None:
        """One event of each of these jobs."""
        until = self.draws.exponential(self.mean, len(running))
        works = self.down[running] < 0
        self._work(running[works], until[works])
        self._restart(running[~works], until[~works])

    def _work(self, jobs: Ints, until: Floats) -> None:
        """A segment and the checkpoint at its end. The state after checkpoint ``at`` is what a job works from."""
        scheme, left = self.scheme, self.left[jobs]
        drain = np.array(scheme.drain)
        slow = 1 - scheme.slowdown
        work = np.maximum(self.work, slow * drain[self.level[self.at[jobs]]])
        in_drain = np.minimum(work, slow * left)  # of the work
        length = np.where(left > 0, in_drain / slow, 0.0) + (work - in_drain)
        closes = self.level[self.at[jobs] + 1]
        length += np.array(scheme.blocked)[closes]
        fails = until < length
        self.seconds[jobs] += np.minimum(until, length)
        sent = self.sent[jobs]
        self._keep(jobs, sent, drain[self.level[sent]] - np.maximum(left - np.minimum(until, length), 0.0))
        self._fail(jobs[fails])
        done, closes = jobs[~fails], closes[~fails]
        self.at[done] += 1
        self.left[done], self.sent[done] = drain[closes], self.at[done]
        self._keep(done, self.at[done], np.zeros(len(done)))

    def _keep(self, jobs: Ints, checkpoint: Ints, drained_s: Floats) -> None:
        """A checkpoint of each job holds after failures of all classes up to its level for which it has drained."""
        for kind, saved in enumerate(self.saved):
            holds = (self.level[checkpoint] >= kind) & (drained_s >= self.scheme.drain[kind])
            saved[jobs[holds]] = np.maximum(saved[jobs[holds]], checkpoint[holds])

    def _fail(self, jobs: Ints) -> None:
        """A failure of a drawn class. One that strikes a restart leaves the higher of the two to restart from."""
        self.failures += len(jobs)
        drawn = np.searchsorted(self.shares, self.draws.random(len(jobs)) * self.shares[-1], side="right")
        drawn = np.minimum(drawn, len(self.shares) - 1)
        self.down[jobs] = np.maximum(self.down[jobs], drawn)
        self.left[jobs] = 0.0

    def _restart(self, jobs: Ints, until: Floats) -> None:
        length = np.array(self.scheme.restart)[self.down[jobs]]
        fails = until < length
        self.seconds[jobs] += np.minimum(until, length)
        self._fail(jobs[fails])
        back, kinds = jobs[~fails], self.down[jobs[~fails]]
        self.at[back] = self.saved[kinds, back]
        for kind, saved in enumerate(self.saved):
            below = back[kinds >= kind]
            saved[below] = self.at[below]
        level = self.level[self.at[back]]
        short = self.saved[level, back] < self.at[back]  # saved, but not yet at the level that it is meant for
        self.left[back] = np.where(short, np.array(self.scheme.drain)[level], 0.0)
        self.sent[back] = self.at[back]
        self.down[back] = -1
