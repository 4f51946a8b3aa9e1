"""Which experiment tells most about a meter next, from what is known so far: pure.

In order: how often it refreshes (an irregular load, read as fast as allowed); a step, longer each time until its plateaus
hold; square waves of six periods about the refresh period, where a step cannot resolve the window; a staircase; idle, read
at several rates; and constant load for as long as the time allows. Every load ends low for as long as the meter remembers.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from ...records import Record

Kind = Literal["irregular", "step", "square", "staircase", "cadence", "constant"]
#: Periods of the square waves over the refresh period: no two of them hide the same window (arXiv 2312.02741, section 4).
PERIODS = (2 / 3, 4 / 3, 4 / 5, 5 / 4, 1 / 2, 6 / 5)
CYCLES = 40
_FEWEST_CYCLES = 12
_LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
_SHORTEST_PERIOD_S = 0.004  # of a load that switches cores: edges are a tenth of a millisecond wide
_LONGEST_CONSTANT_S = 1800.0
_DWELLS = 6.0  # a plateau of so many windows


class Experiment(Record, frozen=True, kw_only=True):
    """One load, and how often the meter is read meanwhile. ``schedule``: seconds and level (0 to 1) one after another."""

    name: str
    kind: Kind
    schedule: tuple[tuple[float, float], ...]
    interval_s: float
    why: str = ""

    @property
    def seconds(self) -> float:
        return float(sum(length for length, _ in self.schedule))


class MeterKnowledge(NamedTuple):
    """What the recordings so far tell. ``memory_s``: window, four time constants and delay, as far as they are known."""

    done: tuple[Experiment, ...] = ()
    period_s: float | None = None
    bounded: bool = False  # the period is only known to be no longer
    window_s: float | None = None  # its upper end; None where nothing could be fitted
    memory_s: float = 0.0


class Limits(NamedTuple):
    """What the experiments may take: seconds in all, and how often the meter may be read."""

    budget_s: float
    least_interval_s: float
    seed: int = 0


def following(known: MeterKnowledge, limits: Limits) -> Experiment | None:
    """The next experiment, or None where nothing is left that the time allows."""
    left = limits.budget_s - sum(one.seconds for one in known.done)
    if known.period_s is None:
        return _irregular(known, limits, left)
    for make in (_step, _square, _staircase, _cadence, _constant):
        found = make(known, limits, left)
        if found is not None and found.seconds <= left:
            return found
    return None


def interval(known: MeterKnowledge, limits: Limits) -> float:
    """How often it is read: some eight times a refresh, never in step with it, at least once a second."""
    return max(limits.least_interval_s, min((known.period_s or 1.0) / 8.3, 1.0))


def _count(known: MeterKnowledge, kind: Kind) -> int:
    return sum(one.kind == kind for one in known.done)


def _tail(known: MeterKnowledge) -> float:
    return max(1.2 * known.memory_s + 3 * (known.period_s or 0.0), 0.5)


def _irregular(known: MeterKnowledge, limits: Limits, left: float) -> Experiment | None:
    """Pulses whose lengths have no common measure; eight times longer and four times more slowly read at each try."""
    tries = _count(known, "irregular")
    scale = 0.045 * 8**tries  # 30 s, then 4 min, then half an hour
    index = np.arange(1, 28)
    lengths = scale * (12 + 25 * np.mod(index * (np.sqrt(5) - 1) / 2, 1))
    schedule = tuple((round(float(s), 6), float(i % 2 == 0)) for i, s in zip(index, lengths, strict=True))
    found = Experiment(
        name=f"irregular-{tries + 1}",
        kind="irregular",
        schedule=schedule,
        interval_s=max(limits.least_interval_s, min(0.01 * 4**tries, 1.0)),
        why="how often it refreshes",
    )
    return found if tries < 3 and found.seconds <= left else None


def _step(known: MeterKnowledge, limits: Limits, left: float) -> Experiment | None:
    period = known.period_s or 1.0
    steps = [one for one in known.done if one.kind == "step"]
    hold = max(20 * period, 2.0)
    if steps:
        longest = max(one.schedule[1][0] for one in steps)
        wanted = _DWELLS * known.memory_s if known.window_s is not None else 4 * longest
        if wanted <= 1.05 * longest or len(steps) > 3:
            return None
        hold = max(wanted, 1.5 * longest)
    hold = min(hold, 0.3 * left)
    if steps and hold <= 1.05 * max(one.schedule[1][0] for one in steps):
        return None
    return Experiment(
        name=f"step-{len(steps) + 1}",
        kind="step",
        schedule=((hold, 0.0), (hold, 1.0), (hold, 0.0)),
        interval_s=interval(known, limits),
        why="gain, offset, delay, and windows longer than three refreshes",
    )


def _square(known: MeterKnowledge, limits: Limits, left: float) -> Experiment | None:
    """Only where the window is not much longer than the refresh: a longer one is told by the step, and hides the waves."""
    period = known.period_s or 1.0
    if known.window_s is not None and known.window_s > 3 * period:
        return None
    made = _count(known, "square")
    periods = [one * period for one in PERIODS if one * period >= _SHORTEST_PERIOD_S]
    if made >= len(periods):
        return None
    share = 0.6 * left / (len(periods) - made)
    wave = periods[made]
    cycles = int(min(CYCLES, (share - 2 * _tail(known)) / wave))
    if cycles < _FEWEST_CYCLES:
        return None
    random = np.random.default_rng((limits.seed, made))
    lead = round(0.2 + float(random.uniform(1, 3)) * period, 6)
    waves = tuple((wave / 2, level) for _ in range(cycles) for level in (1.0, 0.0))
    return Experiment(
        name=f"square-{made + 1}",
        kind="square",
        schedule=((lead, 0.0), *waves, (_tail(known), 0.0)),
        interval_s=interval(known, limits),
        why=f"the window, by waves of {wave:.4g} s",
    )


def _staircase(known: MeterKnowledge, limits: Limits, left: float) -> Experiment | None:
    if _count(known, "staircase"):
        return None
    levels = (*_LEVELS, *_LEVELS[-2::-1])
    hold = max(1.2 * known.memory_s + 8 * (known.period_s or 1.0), 3.0)
    return Experiment(
        name="staircase",
        kind="staircase",
        schedule=tuple((hold, level) for level in levels),
        interval_s=interval(known, limits),
        why="linearity and resolution",
    )


def _cadence(known: MeterKnowledge, limits: Limits, left: float) -> Experiment | None:
    """Idle, which reading disturbs most, read at this meter's rate, at its refresh's and more slowly."""
    period = known.period_s or 1.0
    usual = interval(known, limits)
    rates = sorted({usual, max(usual, 1.1 * period), max(4 * usual, 3.1 * period)})
    made = _count(known, "cadence")
    if made >= len(rates):
        return None
    hold = max(1.5 * known.memory_s + 12 * period, 14 * rates[made], 4.0)
    return Experiment(
        name=f"cadence-{made + 1}",
        kind="cadence",
        schedule=((hold, 0.0),),
        interval_s=rates[made],
        why="whether reading it changes what it says",
    )


def _constant(known: MeterKnowledge, limits: Limits, left: float) -> Experiment | None:
    if _count(known, "constant"):
        return None
    tail = _tail(known)
    hold = min(left - tail, _LONGEST_CONSTANT_S)
    if hold < max(30.0, 3 * known.memory_s, 20 * (known.period_s or 1.0)):
        return None
    return Experiment(
        name="constant",
        kind="constant",
        schedule=((hold, 1.0), (tail, 0.0)),
        interval_s=interval(known, limits),
        why="warm-up and drift",
    )
