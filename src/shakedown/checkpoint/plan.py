"""Which policy, how often at which level, and the waste to expect: policies at today's MTTI and over others. Pure; seconds.

Four policies: every checkpoint to the global file system; nested levels; nested levels that drain while the application
goes on; a fixed cadence. Intervals are those of least exact expectation (``pattern``); the formulas of first order stand
beside them, and drawn failures (``simulate``) check both. Where drawn failures and the expectation part, the drawn value
is the plan's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..errors import BadInput
from ..records import Notice, Record
from ..units import show, show_seconds
from . import interval, pattern, simulate
from .costs import Level
from .mtti import Mtti
from .pattern import Scheme

#: From where on two wastes are said to part, as a share of the better founded one.
APART = 0.10
#: A waste from which on a job is said to make no progress: less than a hundredth of the time is useful.
STANDSTILL = 100.0
#: Points of a curve over the MTTI; it goes this factor beyond what the MTTI may be, and no farther from today's than that.
POINTS, BEYOND, FARTHEST = 19, 8.0, 64.0
CADENCE_S = 360.0
#: How many jobs are drawn for a check; and how many checkpoints a pattern may have for it, since more would take minutes.
JOBS, MOST_SEGMENTS = 600, 4000


class Costs(Record, frozen=True, kw_only=True):
    """What all policies stand on. ``staging_s`` is the blocked time of a checkpoint that drains, ``slowdown`` the share of
    its speed that the application loses meanwhile; ``cadence_s`` the useful work between two at a fixed cadence."""

    levels: tuple[Level, ...]
    staging_s: float
    slowdown: float
    cadence_s: float
    staging_source: str = "given"
    slowdown_source: str = "given"


class Interval(Record, frozen=True, kw_only=True):
    """Every so many checkpoints (``every``) one is of this level or above. A level whose checkpoints are all of a higher one
    has none."""

    level: int
    interval_s: float
    every: int


class Policy(Record, frozen=True, kw_only=True):
    """``waste`` is T/Ts - 1; ``low`` and ``high`` are the same intervals' at the ends of what the MTTI may be.
    ``first_order`` is the published formula's for its own intervals; ``simulated`` that of drawn failures, ± ``error``."""

    name: str
    title: str
    intervals: tuple[Interval, ...]
    waste: float
    low: float
    high: float
    overhead: float  # the same without any failure: what checkpoints alone take
    first_order: float | None = None
    simulated: float | None = None
    error: float | None = None


class CurvePoint(Record, frozen=True, kw_only=True):
    """``low`` to ``high``: what the intervals chosen for this MTTI waste if it is at the ends of what it may be."""

    mtti_s: float
    waste: float
    low: float
    high: float


class Curve(Record, frozen=True, kw_only=True):
    name: str
    title: str
    points: tuple[CurvePoint, ...]


class Plan(Record, frozen=True, kw_only=True):
    size_bytes: float
    nodes: int
    mtti: Mtti
    costs: Costs
    policies: tuple[Policy, ...]
    best: str  # the policy that is recommended
    curves: tuple[Curve, ...]
    kept: Curve  # the recommended intervals as they are, where the MTTI is another than was thought
    seed: int
    notices: tuple[Notice, ...] = ()


POLICIES = {
    "global": "global only",
    "multilevel": "multilevel",
    "asynchronous": "multilevel, asynchronous",
    "cadence": "fixed cadence",
}


def scheme_of(name: str, costs: Costs, mtti_s: float) -> Scheme:
    """What a policy's checkpoints take, and the failures at this MTTI."""
    levels = costs.levels
    cost = tuple(one.cost_s for one in levels)
    none = (0.0,) * len(levels)
    restart = tuple(one.restart_s for one in levels)
    rates = tuple(one.share / mtti_s for one in levels)
    if name == "global":
        return Scheme(cost[-1:], (0.0,), restart[-1:], (sum(rates),))
    if name == "asynchronous":
        return Scheme((costs.staging_s,) * len(levels), cost, restart, rates, costs.slowdown)
    return Scheme(cost, none, restart, rates)


def chosen(name: str, costs: Costs, mtti_s: float) -> pattern.Optimum:
    """The pattern of a policy at an MTTI: the best one, or of the cadence the one that it is."""
    scheme = scheme_of(name, costs, mtti_s)
    if name != "cadence":
        return pattern.optimum(scheme)
    numbers = [_every(one) for one in costs.levels]
    counts = (1, *(above // below for below, above in pairwise(numbers)))
    waste = float(pattern.waste(scheme, costs.cadence_s, counts))
    return pattern.Optimum(tuple(range(len(numbers))), costs.cadence_s, counts, waste)


def wasted(name: str, costs: Costs, mtti_s: float, one: pattern.Optimum) -> float:
    """What these intervals waste at another MTTI than they were chosen for."""
    scheme = pattern.kept_levels(scheme_of(name, costs, mtti_s), one.kept)
    return float(pattern.waste(scheme, one.work, one.counts))


def plan(size_bytes: float, nodes: int, mtti: Mtti, costs: Costs, *, seed: int = 1, jobs: int = JOBS) -> Plan:
    """The whole plan. Raises BadInput for costs or an MTTI that cannot be, and for a cadence that no checkpoint keeps."""
    interval.checked(mtti.mtti_s, costs.staging_s)
    _check_cadence(costs)
    policies, notices = [], []
    found = {name: chosen(name, costs, mtti.mtti_s) for name in POLICIES}
    for name, one in found.items():
        policy, said = _policy(name, costs, mtti, one, seed, jobs)
        policies.append(policy)
        notices += said
    best = min(policies, key=lambda one: one.waste)
    if not best.waste < STANDSTILL:
        raise BadInput(
            f"no policy makes progress: the job is interrupted every {show_seconds(mtti.mtti_s)}, and a checkpoint takes "
            f"{show_seconds(costs.levels[0].cost_s)} or more",
            where="checkpoint plan",
            hint="fewer nodes, or cheaper checkpoints and restarts",
        )
    notices += _on_inputs(costs, best)
    return Plan(
        size_bytes=size_bytes,
        nodes=nodes,
        mtti=mtti,
        costs=costs,
        policies=tuple(policies),
        best=best.name,
        curves=tuple(_curve(name, costs, mtti) for name in POLICIES),
        kept=_kept(best, found[best.name], costs, mtti),
        seed=seed,
        notices=tuple(notices),
    )


def first_order(name: str, costs: Costs, mtti_s: float) -> interval.FirstOrder | None:
    """The published formula for a policy; None for the cadence, which chooses nothing."""
    if name == "cadence":
        return None
    scheme = scheme_of(name, costs, mtti_s)
    late = tuple(restart + drain for restart, drain in zip(scheme.restart, scheme.drain, strict=True))
    return interval.multilevel(scheme.costs, late, scheme.rates)


# ---------------------------------------------------------------------------------------------------------------- a policy


def _policy(
    name: str, costs: Costs, mtti: Mtti, one: pattern.Optimum, seed: int, jobs: int
) -> tuple[Policy, list[Notice]]:
    scheme = pattern.kept_levels(scheme_of(name, costs, mtti.mtti_s), one.kept)
    formula = first_order(name, costs, mtti.mtti_s)
    drawn = _drawn(scheme, one, seed, jobs)
    each, between = np.cumprod(one.counts), pattern.intervals(scheme, one.work, one.counts)
    numbers = [4] if name == "global" else [costs.levels[at].number for at in one.kept]
    waste, notices = one.waste, []
    if drawn and abs(drawn.waste - waste) > max(APART * drawn.waste, 4 * drawn.error):
        notices.append(_notice("simulated", name, "the expectation gives", waste, "drawn failures", drawn.waste))
        waste = drawn.waste
    if formula and abs(formula.waste - waste) > APART * waste:
        notices.append(_notice("first-order", name, "formulas of first order give", formula.waste, "it is", waste))
    if waste > STANDSTILL:
        text = f"{POLICIES[name]}: the job makes no progress at this MTTI (less than 1 % of its time is useful)"
        notices = [Notice(code="no-progress", text=text)]
    ends = sorted(wasted(name, costs, at, one) for at in (mtti.low_s, mtti.high_s))
    policy = Policy(
        name=name,
        title=POLICIES[name],
        intervals=tuple(
            Interval(level=number, interval_s=seconds, every=int(every))
            for number, seconds, every, above in zip(numbers, between, each, [*each[1:], 0], strict=True)
            if every != above
        ),
        waste=waste,
        low=ends[0],
        high=ends[1],
        overhead=float(pattern.waste(scheme._replace(rates=(0.0,) * len(scheme.rates)), one.work, one.counts)),
        first_order=formula.waste if formula else None,
        simulated=drawn.waste if drawn else None,
        error=drawn.error if drawn else None,
    )
    return policy, notices


def _notice(code: str, name: str, one: str, value: float, other: str, truth: float) -> Notice:
    text = f"{POLICIES[name]}: {one} a waste of {show(value, '%')}, {other} {show(truth, '%')}, which holds here"
    return Notice(code=code, text=text)


def _drawn(scheme: Scheme, one: pattern.Optimum, seed: int, jobs: int) -> simulate.Simulated | None:
    """Drawn failures; None where they would take too long or the job never ends."""
    segments = math.prod(one.counts)
    if segments > MOST_SEGMENTS or not one.waste < STANDSTILL:
        return None
    patterns = max(2, min(25, MOST_SEGMENTS // 8 // segments))
    found = simulate.simulate(scheme, one.work, one.counts, jobs=jobs, patterns=patterns, seed=seed, most_steps=50_000)
    return found if math.isfinite(found.waste) else None


def usual_cadence(levels: Sequence[Level]) -> float:
    """Six minutes, as PRACE's runs had it; longer where a level takes longer than its interval would be."""
    return max(CADENCE_S, *(2 * one.cost_s / _every(one) for one in levels))


def _every(level: Level) -> int:
    """At a fixed cadence each so many checkpoints one is of this level: each, every second, every fourth, every eighth."""
    return 1 << (level.number - 1)


def _check_cadence(costs: Costs) -> None:
    """Whether each level's checkpoint is over before the next of its level is due."""
    for one in costs.levels:
        every = costs.cadence_s * _every(one)
        if one.cost_s > every:
            raise BadInput(
                f"a checkpoint of {one.title} drains for {show_seconds(one.cost_s)}, longer than its interval of "
                f"{show_seconds(every)}: it would never be done",
                where="--cadence",
                hint=f"--cadence {math.ceil(2 * one.cost_s / _every(one))}s or more",
            )


def _on_inputs(costs: Costs, best: Policy) -> list[Notice]:
    notices = []
    if assumed := [one for one in costs.levels if one.assumed]:
        what = ", ".join(f"{one.title} {one.cost_s:.3g} s" for one in assumed)
        advice = "give rates or times (--l1, --l2, --l3, --global); an application's own are in shakedown_ckpt_stats"
        notices.append(Notice(code="assumed", text=f"assumed, not measured: {what}", advice=advice))
    used = {one.level for one in best.intervals}
    if left_out := [one.title for one in costs.levels if one.number not in used and best.name != "global"]:
        text = (
            f"{', '.join(left_out)}: never alone; a higher level is worth its cost each time, or nothing needs this one"
        )
        notices.append(Notice(code="unused", text=text))
    return notices


# ------------------------------------------------------------------------------------------------------------------ curves


def _axis(mtti: Mtti) -> list[float]:
    """MTTIs to draw, today's among them."""
    low, high = max(mtti.low_s / BEYOND, mtti.mtti_s / FARTHEST), min(mtti.high_s * BEYOND, mtti.mtti_s * FARTHEST)
    points = np.geomspace(low, high, POINTS)
    points[np.argmin(np.abs(np.log(points / mtti.mtti_s)))] = mtti.mtti_s
    return [float(one) for one in points]


def _curve(name: str, costs: Costs, mtti: Mtti) -> Curve:
    points = []
    for at in _axis(mtti):
        one = chosen(name, costs, at)
        ends = sorted(wasted(name, costs, at * end / mtti.mtti_s, one) for end in (mtti.low_s, mtti.high_s))
        points.append(CurvePoint(mtti_s=at, waste=one.waste, low=ends[0], high=ends[1]))
    return Curve(name=name, title=POLICIES[name], points=tuple(points))


def _kept(best: Policy, one: pattern.Optimum, costs: Costs, mtti: Mtti) -> Curve:
    wastes = [(at, wasted(best.name, costs, at, one)) for at in _axis(mtti)]
    points = tuple(CurvePoint(mtti_s=at, waste=value, low=value, high=value) for at, value in wastes)
    return Curve(name=best.name, title=f"{best.title}, the intervals as recommended", points=points)


def words(one: Policy) -> str:
    """``L1 every 5 min, L2 every 12 min``."""
    return ", ".join(f"L{part.level} every {show_seconds(part.interval_s)}" for part in one.intervals)
