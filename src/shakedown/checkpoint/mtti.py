"""The mean time to interrupt of a job, and what is known of it. Hours as they are counted, results in seconds.

Failures are taken as a Poisson process. After n of them in X hours their rate has the gamma posterior with n + 1/2 events
in X (Jeffreys' prior): M = X/(n + 1/2), and its 90 % range is between the quantiles. Without a failure there is a bound
alone: M is above X/3.0 at 95 % (MIL-HDBK-338B, section 8.3.2.5.2; the "rule of three").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..document.text import count
from ..errors import BadInput
from ..records import Record
from ..units import show_seconds
from .interval import checked

#: The range that is shown holds the MTTI with this probability; each side of it is missed with half of the rest.
LEVEL = 0.90
#: How far an MTTI that was only stated may be off, either way.
STATED_FACTOR = 2.0


class Mtti(Record, frozen=True, kw_only=True):
    """``low_s`` to ``high_s`` is what it may be; ``basis`` says why."""

    mtti_s: float
    low_s: float
    high_s: float
    basis: str
    events: int | None = None
    hours: float | None = None


class Incidents(NamedTuple):
    """What was recorded of a machine: over ``hours`` of ``nodes`` nodes, incidents with the nodes that each took."""

    hours: float
    nodes: int
    sizes: tuple[int, ...]


def stated(mtti_s: float, basis: str = "as given") -> Mtti:
    """An MTTI of which nothing else is known. Raises BadInput where it is not positive."""
    checked(mtti_s)
    return Mtti(
        mtti_s=mtti_s,
        low_s=mtti_s / STATED_FACTOR,
        high_s=mtti_s * STATED_FACTOR,
        basis=f"{basis}; how well it is known was not given: a factor of {STATED_FACTOR:g} either way is shown",
    )


def of_failures(events: int, hours: float) -> Mtti:
    """From so many interrupts of the job in so many hours. Raises BadInput for a negative number or no time."""
    if events < 0 or not (math.isfinite(hours) and hours > 0):
        raise BadInput(
            f"{events} failures in {hours:g} h is not possible",
            where="--failures, --over",
            hint="a number from 0 on, and the time in which they were counted: --failures 3 --over 90d",
        )
    from scipy.special import gammaincinv

    tail = (1 - LEVEL) / 2
    low = 3600 * hours / float(gammaincinv(events + 0.5, 1 - tail))
    high = 3600 * hours / float(gammaincinv(events + 0.5, tail))
    if events:
        basis = f"{count(events, 'failure')} in {hours:.4g} h"
        return Mtti(
            mtti_s=3600 * hours / (events + 0.5), low_s=low, high_s=high, basis=basis, events=events, hours=hours
        )
    from ..operate.availability import rates

    bound = rates.between("MTTI", "", hours, 0, formula="").low_h or 0.0
    return Mtti(
        mtti_s=3600 * bound,
        low_s=3600 * bound,
        high_s=max(high, 3600 * bound),
        basis=f"none seen in {hours:.4g} h, so the MTTI is above {show_seconds(3600 * bound)} (a third of it) at 95 %; "
        "that bound is planned with",
        events=0,
        hours=hours,
    )


def scaled(known: Mtti, factor: float, why: str) -> Mtti:
    """The same of a job that meets failures ``1/factor`` times as often."""
    return Mtti(
        mtti_s=known.mtti_s * factor,
        low_s=known.low_s * factor,
        high_s=known.high_s * factor,
        basis=f"{known.basis}; {why}",
        events=known.events,
        hours=known.hours,
    )


# --------------------------------------------------------------------------------------------------------- what was recorded


def touched(size: int, job: int, machine: int) -> float:
    """The chance that an incident of ``size`` of a machine's nodes strikes a job on ``job`` of them, any being as likely:
    1 - C(N - k, n)/C(N, n)."""
    if job >= machine or size + job > machine:
        return 1.0
    log = math.lgamma(machine - size + 1) - math.lgamma(machine - size - job + 1)
    log += math.lgamma(machine - job + 1) - math.lgamma(machine + 1)
    return -math.expm1(min(log, 0.0))


def of_incidents(found: Incidents, job: int) -> Mtti:
    """The MTTI of a job on ``job`` nodes, from a machine's incidents. One on more nodes than the machine has meets
    them in proportion."""
    machine = of_failures(len(found.sizes), found.hours)
    chances = [touched(size, job, found.nodes) for size in found.sizes] or [touched(1, job, found.nodes)]
    mean = sum(chances) / len(chances) * max(1.0, job / found.nodes)
    if mean == 1:
        return machine
    return scaled(machine, 1 / mean, f"{count(job, 'node')} of {found.nodes:,} meet {100 * mean:.3g} % of them")


def shares(found: Incidents, job: int, tolerated: int) -> tuple[float, float, float, float]:
    """How failures share out among the classes 1 to 4: one node of the job, as many as a group tolerates, more. Half an
    event is added to each class that can occur (Jeffreys' prior), so that what was not seen is not impossible. Failures
    of a process alone leave no trace in a record of nodes: class 1 has none."""
    weights = [0.0, 0.5, 0.5, 0.5]
    for size in found.sizes:
        kind = 1 if size == 1 else 2 if size <= tolerated else 3
        weights[kind] += touched(size, job, found.nodes)
    total = sum(weights)
    one, two, three, four = (weight / total for weight in weights)
    return one, two, three, four


def recorded(sources: Sequence[str], *, zone: str = "", nodes: str = "") -> Incidents:
    """Incidents that begin in the histories that `shakedown availability --from` takes: unscheduled, and excluded by no
    contract. Raises BadInput and CannotMeasure for what cannot be read or saw nothing."""
    from ..hosts.access import LocalHost
    from ..operate.availability import contract, evaluate, reading

    history = reading.read(sources, LocalHost(), begin_s=None, end_s=None, zone=zone, nodes=nodes)
    begin, end = reading.observed(history, None, None)
    found = evaluate.prepare(history, contract.load("thufir"), begin, end)
    hours, sizes = evaluate.incidents_begun(found)
    if not hours > 0 or not len(found.segments.node):
        raise BadInput("no node was observed in that time", where=", ".join(sources), hint="name another history")
    return Incidents(hours, len(set(found.segments.node.tolist())), tuple(sizes))
