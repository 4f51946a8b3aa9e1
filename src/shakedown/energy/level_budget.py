"""Where the uncertainty of a submission's power comes from, term by term (JCGM 100:2008).

What a meter's class says never shrinks with more readings; errors of meters of one model are correlated as the description
says; the nodes that were not measured are the rest of a finite population.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from . import integrate, intervals
from .budget import divisor
from .quantity import Term, coverage_factor
from .response import response_of
from .rules import Rules
from .stamps import Window
from .submission import Loss, MeteredFeed, NodeSet, Submission, expand
from .trace import Floats, Ints

#: Below so many feeds a stated spread between nodes is believed rather than that of the feeds.
ENOUGH_FEEDS = 5


class Contribution(NamedTuple):
    """One feed's part in a total: its mean power upstream of the conversion, and how often it counts."""

    feed: MeteredFeed
    factor: float
    watts: float
    efficiency: float  # of the conversion between the meter and the required point; 1 upstream


class Series(NamedTuple):
    """The sum of the feeds' factors times power at the slowest meter's readings, and each feed's own mean."""

    begin_ns: Ints
    end_ns: Ints
    w: Floats  # one row a feed
    missing: float


def nodes_of(feed: MeteredFeed) -> int:
    """How many nodes a feed has behind it."""
    return feed.node_count or len(expand(feed.nodes))


def conversion(submission: Submission, feed: MeteredFeed, watts: float) -> float:
    """The efficiency of the conversion above a feed at its load, from its loss model; 1 upstream or without a model.
    Beyond the model's loads its last value holds."""
    model = loss_of(submission, feed)
    if model is None or submission.upstream(feed):
        return 1.0
    loads, shares = zip(*model.efficiency, strict=True)
    return float(np.interp(watts / feed.supplies, loads, shares))


def loss_of(submission: Submission, feed: MeteredFeed) -> Loss | None:
    return next((one for one in submission.description.losses if one.name == feed.loss), None)


def extrapolation_u(one: NodeSet, units: Sequence[tuple[float, int]]) -> float | None:
    """The standard uncertainty of N/n sum p for n nodes drawn from N in units of feeds, W: with K units of m_i nodes and
    R = sum y / sum m, u = (N / m_mean) sqrt((1 - n/N) sum (y_i - R m_i)^2 / (K (K - 1))) (ratio estimate of a finite
    population; Cochran, Sampling Techniques, chapter 6). One unit alone tells no spread: the stated one is taken."""
    count = sum(nodes for _, nodes in units)
    if not count:
        return None
    unmeasured = 1 - count / one.nodes
    if unmeasured <= 0:
        return 0.0
    mean = math.fsum(watts for watts, _ in units) / count
    if one.spread is not None and len(units) < ENOUGH_FEEDS:
        return one.nodes * math.sqrt(unmeasured / count) * one.spread * mean
    if len(units) < 2:
        return None
    squares = math.fsum((watts - mean * nodes) ** 2 for watts, nodes in units)
    units_of_all = one.nodes * len(units) / count
    return units_of_all * math.sqrt(unmeasured * squares / (len(units) * (len(units) - 1)))


def accuracy_w(submission: Submission, feed: MeteredFeed, watts: float) -> float | None:
    """What the maker states for a feed's meter at a power, in W, as stated (bound, sigma or width); None: nothing."""
    stated = submission.accuracy(feed)
    if stated is None:
        return None
    channel = submission.traces[feed.channel].channel
    model = submission.meter(feed)
    scale = (model.range_w if model else None) or channel.full_scale or 0.0
    absolute = stated.absolute if channel.quantity == "power" else 0.0
    return abs(watts) * stated.reading + scale * stated.full_scale + absolute


def meter_terms(submission: Submission, parts: Sequence[Contribution]) -> list[Term]:
    """The meters' classes: those of one model share the square root of the stated correlation of their errors, the rest
    adds in quadrature over devices."""
    rho = submission.description.correlation
    models: dict[str, dict[str, float]] = {}
    for part in parts:
        stated = accuracy_w(submission, part.feed, part.watts * part.efficiency)
        kind = submission.accuracy(part.feed)
        if stated is None or kind is None:
            continue
        u = part.factor * stated / part.efficiency / divisor(kind)
        devices = models.setdefault(part.feed.meter or part.feed.channel, {})
        device = part.feed.device or part.feed.name
        devices[device] = devices.get(device, 0.0) + u
    terms = []
    for model, devices in models.items():
        together = math.fsum(devices.values())
        alone = math.sqrt(math.fsum(u**2 for u in devices.values()))
        terms.append(
            Term(
                name=f"meter class, {model}",
                u=math.sqrt(rho) * together,
                common=f"batch of {model}",
                text=f"{len(devices)} meters of one model, correlation {rho:g}",
                remedy="take better meters, or have them calibrated",
            )
        )
        terms.append(
            Term(
                name=f"meter class, each {model}",
                u=math.sqrt(1 - rho) * alone,
                text=f"{len(devices)} meters, independent part",
                remedy="take better meters, or have them calibrated",
            )
        )
    return terms


def loss_terms(submission: Submission, parts: Sequence[Contribution]) -> list[Term]:
    """P / eta moves by P u(eta) / eta^2; one model's error is common to all that it serves."""
    sums: dict[str, float] = {}
    for part in parts:
        model = loss_of(submission, part.feed)
        if model is not None and part.efficiency < 1:
            sums[model.name] = sums.get(model.name, 0.0) + part.factor * part.watts * model.u / part.efficiency
    return [
        Term(name=f"loss model {name}", u=u, common=f"loss {name}", remedy="measure the loss")
        for name, u in sums.items()
        if u
    ]


def reading_terms(submission: Submission, parts: Sequence[Contribution], window: Window) -> list[Term]:
    """What one reading leaves open: its least step, and for points what happens between them; feeds in quadrature."""
    steps = points = 0.0
    for part in parts:
        trace = submission.traces[part.feed.channel]
        stretches = intervals.of(trace)
        w = stretches.take(intervals.inside(stretches, window.begin_ns, window.end_ns)).w
        scale = part.factor / part.efficiency
        noise = float(np.std(np.diff(w))) / math.sqrt(2) if len(w) > 2 else 0.0
        least = response_of(trace).resolution
        if trace.channel.quantity == "energy":
            steps += (scale * least / math.sqrt(6) / window.seconds) ** 2
            continue
        steps += (scale * least / math.sqrt(12)) ** 2 / (len(w) if noise > least / 2 and len(w) else 1)
        if trace.channel.scope == "point" and len(w):
            points += (scale * noise) ** 2 / len(w)
    found = (
        Term(name="resolution", u=math.sqrt(steps), remedy="take a meter with a finer step"),
        Term(name="sampling", u=math.sqrt(points), text="between point readings", remedy="read more often"),
    )
    return [term for term in found if term.u]


def window_terms(
    window: Window, found: Series, parts: Sequence[Contribution], rules: Rules, submission: Submission
) -> list[Term]:
    """A mean moves by (P(edge) - mean) / T for a second that its edge moves: for the resolution of the stamps (each end
    on its own, and both by the half second that whole seconds lack). And what the readings that the rules count say less of
    the window than all readings do (``_edge_terms``)."""
    if not len(found.begin_ns):
        return []
    scale = np.array([part.factor / part.efficiency for part in parts])
    watts = scale @ found.w
    length = (found.end_ns - found.begin_ns).astype(np.float64)
    mean, seconds = float(np.average(watts, weights=length)), window.seconds
    early, late = float(watts[0]) - mean, float(watts[-1]) - mean
    resolution = window.resolution_s
    moved = rules.readings.half_second and submission.description.phases.half_second
    together = 0.0 if moved else abs(late - early) * resolution / 2 / seconds
    apart = math.hypot(early, late) * resolution / math.sqrt(12) / seconds
    terms = (
        Term(
            name="window",
            u=math.hypot(together, apart),
            text=f"stamps of {resolution:g} s; power at the ends {early:+.4g} W and {late:+.4g} W from the mean",
            remedy="stamp the phase with a finer clock",
        ),
        *_edge_terms(window, parts, submission),
    )
    return [term for term in terms if term.u]


def _edge_terms(window: Window, parts: Sequence[Contribution], submission: Submission) -> list[Term]:
    """The rules' mean against the energy of the window by all readings, those that its marks cut and what is missing bounded by
    their neighbours (integrate.integrate). The value stays that of the rules, so what the two differ by is not corrected: it
    counts in full, besides what the bounds leave open. One load's feeds err alike at its marks."""
    apart_j = ends_j = gaps_j = 0.0
    for part in parts:
        trace = submission.traces[part.feed.channel]
        method = {"energy": "counter", "power": "trapezoid" if trace.channel.scope == "point" else "step"}
        tiles = integrate.tiles_of(trace, response_of(trace), method[trace.channel.quantity])
        found = integrate.integrate(tiles, window.begin_ns, window.end_ns)
        if found is not None:
            scale = part.factor / part.efficiency
            apart_j += scale * (found.joules - part.watts * part.efficiency * window.seconds)
            ends_j += scale * found.ends_u_j
            gaps_j = math.hypot(gaps_j, scale * found.gap_u_j)
    return [
        Term(
            name="ends",
            u=(abs(apart_j) / coverage_factor(None) + ends_j) / window.seconds,
            text=f"readings wholly inside; all of them put the mean {apart_j / window.seconds:+.4g} W from it, and those at the "
            f"ends leave {ends_j / window.seconds:.3g} W open",
            remedy="read more often",
        ),
        Term(
            name="gap",
            u=gaps_j / window.seconds,
            text="stretches without a reading",
            remedy="find out why readings are missing",
        ),
    ]
