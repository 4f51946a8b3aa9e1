"""Where the uncertainty of a submission's power comes from, term by term (JCGM 100:2008).

What a meter's class says never shrinks with more readings; errors of meters of one model are correlated as the description
says; the nodes that were not measured are the rest of a finite population.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...metering.trace import Floats, Ints
from .. import integrate
from ..response import response_of
from ..uncertainty.budget import divisor
from ..uncertainty.quantity import Term, coverage_factor
from . import intervals
from .feeds import load_of
from .rules import Rules
from .stamps import Window
from .submission import Loss, MeteredFeed, NodeSet, Submission, expand

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


def loads(feeds: Sequence[MeteredFeed]) -> tuple[tuple[MeteredFeed, ...], ...]:
    """Feeds by the load that they supply: redundant supplies and phases of one load together."""
    grouped: dict[str, list[MeteredFeed]] = {}
    for feed in feeds:
        grouped.setdefault(load_of(feed), []).append(feed)
    return tuple(map(tuple, grouped.values()))


def load_nodes(feeds: Sequence[MeteredFeed]) -> int:
    """How many nodes are behind the feeds of one load: each counts once, however many feeds name it. Where they are
    numbers, the feeds state the same (``submission.describe`` holds them to it), or one states it for all."""
    names = {name for feed in feeds for name in expand(feed.nodes)}
    return len(names) or max((feed.node_count or 0 for feed in feeds), default=0)


def measured_nodes(feeds: Sequence[MeteredFeed]) -> int:
    """How many nodes are behind some feeds, those of one load once."""
    return sum(load_nodes(one) for one in loads(feeds))


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
    """What the maker states for a feed's meter at a power, in W, as stated (bound, sigma or width); None: nothing, or a
    part of a range that is not known."""
    stated = submission.accuracy(feed)
    if stated is None:
        return None
    channel = submission.traces[feed.channel].channel
    model = submission.meter(feed)
    scale = (model.range_w if model else None) or channel.full_scale
    if stated.full_scale and scale is None:
        return None
    absolute = stated.absolute if channel.quantity == "power" else 0.0
    return abs(watts) * stated.reading + (scale or 0.0) * stated.full_scale + absolute


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
            # A load that moves in time with the readings errs alike between any two of them (budget.reading_terms).
            together = float(w[-1] - w[0]) / (math.sqrt(12) * len(w))
            points += scale**2 * max(noise**2 / len(w), together**2)
    found = (
        Term(name="resolution", u=math.sqrt(steps), remedy="take a meter with a finer step"),
        Term(name="sampling", u=math.sqrt(points), text="between point readings", remedy="read more often"),
    )
    return [term for term in found if term.u]


class _Load(NamedTuple):
    """What all readings of all feeds say of the power, whichever of them the rules count."""

    feeds: Sequence[tuple[float, integrate.Tiles]]  # factors upstream

    def mean_w(self, begin_ns: int, end_ns: int) -> float:
        """The mean power of a window."""
        joules = math.fsum(factor * integrate.window_energy(tiles, begin_ns, end_ns) for factor, tiles in self.feeds)
        return joules / ((end_ns - begin_ns) * 1e-9)

    def open_j(self, window: Window) -> tuple[float, float]:
        """What the window's ends and its gaps leave open: feeds of one load err alike at its marks."""
        found = [(f, integrate.integrate(tiles, window.begin_ns, window.end_ns)) for f, tiles in self.feeds]
        ends = math.fsum(factor * one.ends_u_j for factor, one in found if one)
        return ends, math.hypot(*(factor * one.gap_u_j for factor, one in found if one))


def _load(submission: Submission, parts: Sequence[Contribution]) -> _Load:
    feeds = []
    for part in parts:
        trace = submission.traces[part.feed.channel]
        method = "trapezoid" if trace.channel.scope == "point" else "step"
        method = "counter" if trace.channel.quantity == "energy" else method
        feeds.append((part.factor / part.efficiency, integrate.tiles_of(trace, response_of(trace), method)))
    return _Load(feeds)


def window_terms(
    window: Window, found: Series, parts: Sequence[Contribution], rules: Rules, submission: Submission
) -> list[Term]:
    """What moving the marks does to the mean, for the resolution of their stamps (each end on its own, and both by the half
    second that whole seconds lack); what marks and gaps leave open (edges.py); and what the readings that the rules count
    say less of the window than all readings do. The value stays that of the rules: this last part is no uncertainty that
    others average out but a known difference a, which the expanded uncertainty holds in full, U = a + k s, s of the rest."""
    if not len(found.begin_ns):
        return []
    load, seconds, begin, end = _load(submission, parts), window.seconds, window.begin_ns, window.end_ns
    mean_w = load.mean_w(begin, end)

    def moved(begin_s: float, end_s: float) -> float:
        first, last = begin + round(begin_s * 1e9), end + round(end_s * 1e9)
        return abs(load.mean_w(first, last) - mean_w) if last > first else 0.0

    u_s, half_s = window.resolution_s / math.sqrt(12), window.resolution_s / 2
    apart_w = math.hypot(max(moved(u_s, 0), moved(-u_s, 0)), max(moved(0, u_s), moved(0, -u_s)))
    corrected = rules.readings.half_second and submission.description.phases.half_second
    marks_w = math.hypot(apart_w, 0.0 if corrected else moved(half_s, half_s))
    ends_w, gaps_w = (joules / seconds for joules in load.open_j(window))
    differs_w = mean_w - math.fsum(part.factor * part.watts for part in parts)
    rest_w = math.hypot(marks_w, ends_w, gaps_w)
    in_full_w = math.sqrt(max((abs(differs_w) / coverage_factor(None) + rest_w) ** 2 - rest_w**2, 0.0))
    terms = (
        Term(
            name="window",
            u=marks_w,
            text=f"stamps of {window.resolution_s:g} s",
            remedy="stamp the phase with a finer clock",
        ),
        Term(
            name="ends",
            u=math.hypot(ends_w, in_full_w),
            text=f"all readings put the mean {differs_w:+.4g} W from that of those wholly inside, and those that the marks "
            f"cut leave {ends_w:.3g} W open",
            remedy="read more often",
        ),
        Term(
            name="gap",
            u=gaps_w,
            text="times without a reading, between the readings next to them",
            remedy="find out why readings are missing",
        ),
    )
    return [term for term in terms if term.u]
