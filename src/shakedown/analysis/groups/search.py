"""The search for the parts that explain the slow groups: named one by one, cleared again where others explain them as
well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..pairs.noise import discovery_rates
from ..table import Floats
from . import evidence, fit
from .fit import Evidence, Measured
from .parts import FEWEST_TESTS, Parts
from .records import Kind

_LEVEL = 0.05  # of chance over all parts, from which one is tried
_AS_WELL = 3.0  # logarithm of the ratio of likelihoods, 20 to 1: less does not tell two explanations apart
_SHORTLIST = 12
_OUT = 1.5  # deviations, below which no probability is worked out


class Settings(NamedTuple):
    """``rate``: the false-discovery rate. ``floor``: less is not named, however sure. ``wanted``: what must be found before
    nothing found means anything."""

    rate: float = 0.01
    floor: float = 0.02
    wanted: float = 0.05


class Healthy(NamedTuple):
    """What healthy parts of each kind are like: the typical effect, and how they scatter."""

    centre: dict[Kind, float]
    spread: dict[Kind, float]
    places: Kind  # the kind of the members themselves
    number: int  # of those
    size: int
    dof: float


class Found(NamedTuple):
    """A part that is named, its effect as a logarithm, and what else would explain the same."""

    part: int
    effect: float
    u: float
    tests: int
    p: float
    alternatives: tuple[int, ...]


class Search(NamedTuple):
    named: tuple[Found, ...]
    residuals: Floats
    sigma: float
    rest: Evidence  # of every part, beyond what is named
    p: Floats  # of that
    healthy: Healthy


def search(measured: Measured, parts: Parts, size: int, settings: Settings) -> Search:
    """From no part, and from each of those that shift the base: the start with the smallest residuals counts."""
    starts: list[list[int]] = [[], *([part] for part in fit.large_parts(measured, parts))]
    best: Search | None = None
    least = np.inf
    for start in starts:
        found = _from(start, measured, parts, size, settings)
        cost = len(measured.y) * np.log(np.mean(np.abs(found.residuals)) + 1e-12)
        cost += len(found.named) * np.log(len(measured.y))
        if cost < least:
            best, least = found, cost
    assert best is not None
    return best


def _from(start: list[int], measured: Measured, parts: Parts, size: int, settings: Settings) -> Search:
    named = list(start)
    effects = _first_effects(start, measured, parts)
    least = _log(settings.floor)
    while len(named) < fit.MOST_NAMED:
        _, rest, p, healthy, _ = _state(named, effects, measured, parts, size)
        score = _score(rest, parts, healthy)
        score[(p * len(p) > _LEVEL) | (rest.effect < least)] = -np.inf
        score[named] = -np.inf
        if not len(score) or not np.isfinite(score.max()):
            break
        named.append(int(np.argmax(score)))
        effects, _ = fit.refined(named, np.append(effects, rest.effect[named[-1]]), measured, parts)
    named, effects = _exchanged(named, effects, measured, parts, size)
    return _kept(named, effects, measured, parts, size, settings)


def _first_effects(start: list[int], measured: Measured, parts: Parts) -> Floats:
    effects = []
    for part in start:
        mine = np.zeros(len(measured.y), bool)
        mine[fit.tests_of(parts, part)] = True
        residuals, _ = fit.sparse(np.zeros(len(measured.y)), measured)
        effects.append(max(float(np.median(residuals[mine]) - np.median(residuals[~mine])), 0.0))
    return np.array(effects, float)


def _log(share: float) -> float:
    return float(-np.log1p(-share))


_State = tuple[Floats, Evidence, Floats, Healthy, float]


def _state(named: list[int], effects: Floats, measured: Measured, parts: Parts, size: int) -> _State:
    """Residuals, evidence of all parts, its probabilities, what healthy parts are like, sigma."""
    explained = fit.explained_by(named, effects, parts, len(measured.y))
    residuals, sigma = fit.sparse(explained, measured)
    rest = fit.evidence_of(residuals, explained, sigma, parts)
    dof = max((len(measured.y) - len(named) - 1) / 2, 1.0)
    healthy = _healthy(rest, parts, size, dof)
    return residuals, rest, probabilities(rest.effect, rest.u, range(len(parts.kinds)), parts, healthy), healthy, sigma


def _healthy(rest: Evidence, parts: Parts, size: int, dof: float) -> Healthy:
    places: Kind = "gpu" if "gpu" in parts.kinds else "node"
    centres: dict[Kind, float] = {}
    spreads: dict[Kind, float] = {}
    kinds = np.array(parts.kinds, object)
    for kind in dict.fromkeys(parts.kinds):
        mine = kinds == kind
        effects, u = rest.effect[mine], rest.u[mine]
        is_place = kind == places
        centres[kind], spreads[kind] = (
            evidence.place_scatter(effects, u, size) if is_place else evidence.scatter(effects, u)
        )
    if "link" in spreads:  # it is as slow as its two ends at least, and these differ
        spreads["link"] = max(spreads["link"], spreads.get(places, 0.0))
    return Healthy(centres, spreads, places, int((kinds == places).sum()), size, dof)


def probabilities(effects: Floats, u: Floats, which: Sequence[int] | range, parts: Parts, healthy: Healthy) -> Floats:
    """P(chance) of the effects of some parts; 1 where they do not stand out at all."""
    found = np.ones(len(effects))
    kinds = np.array([parts.kinds[part] for part in which], object)
    for kind in dict.fromkeys(kinds.tolist()):
        scale = np.sqrt(u**2 + healthy.spread[kind] ** 2)
        mine = np.flatnonzero((kinds == kind) & (effects - healthy.centre[kind] > _OUT * scale))
        size = healthy.size if kind == healthy.places else 0
        beyond = effects[mine] - healthy.centre[kind]
        found[mine] = evidence.chance(beyond, u[mine], healthy.spread[kind], healthy.dof, size, healthy.number)
    return found


def _score(rest: Evidence, parts: Parts, healthy: Healthy) -> Floats:
    spread = np.array([healthy.spread[kind] for kind in parts.kinds])
    centre = np.array([healthy.centre[kind] for kind in parts.kinds])
    return np.asarray((rest.effect - centre) / np.sqrt(rest.u**2 + spread**2), float)


# --------------------------------------------------------------------------------------------- which explanation is better


def _loss(residuals: Floats, sigma: float) -> float:
    """Huber's, in units of the logarithm of a likelihood."""
    z = np.abs(residuals) / sigma
    bend = fit.HUBER_BEND
    return float(np.sum(np.where(z <= bend, z**2 / 2, bend * z - bend**2 / 2)))


def _without(
    index: int, named: list[int], effects: Floats, measured: Measured, parts: Parts, size: int
) -> tuple[list[tuple[float, int]], float]:
    """What else would explain what the named part explains: (loss, part), the best first; and the loss of the part."""
    others, rates = named[:index] + named[index + 1 :], np.delete(effects, index)
    explained = fit.explained_by(others, rates, parts, len(measured.y))
    _, rest, _, healthy, _ = _state(others, rates, measured, parts, size)
    after, sigma = fit.sparse(fit.explained_by(named, effects, parts, len(measured.y)), measured)
    score = _score(rest, parts, healthy)
    score[others] = -np.inf
    score[~_covering(named[index], explained, parts)] = -np.inf
    found = []
    for part in np.argsort(-score)[:_SHORTLIST].tolist():
        if not np.isfinite(score[part]) or part == named[index]:
            continue
        mine = fit.tests_of(parts, part)
        level = explained[mine].min() if (explained[mine] > 0).all() else 0.0
        instead = explained.copy()
        instead[mine] = np.maximum(instead[mine], level + rest.effect[part])
        residuals, _ = fit.sparse(instead, measured)
        found.append((_loss(residuals, sigma), part))
    return sorted(found), _loss(after, sigma)


def _covering(part: int, explained: Floats, parts: Parts) -> NDArray[np.bool_]:
    """Which parts are in at least half of the tests that a part alone explains."""
    mine = np.zeros(len(explained), bool)
    mine[fit.tests_of(parts, part)] = True
    alone = mine & (explained <= 0)
    if not alone.any():
        alone = mine
    shared = np.bincount(parts.part, alone[parts.test].astype(float), len(parts.counts))
    return np.asarray(shared >= 0.5 * alone.sum(), bool)


def _exchanged(
    named: list[int], effects: Floats, measured: Measured, parts: Parts, size: int
) -> tuple[list[int], Floats]:
    """Each named part in turn against what else would explain its groups: the better explanation stays."""
    named = list(named)
    for index in range(len(named)):
        ranked, loss = _without(index, named, effects, measured, parts, size)
        if ranked and ranked[0][1] not in named and ranked[0][0] < loss - _AS_WELL / 2:
            named[index] = ranked[0][1]
            effects, _ = fit.refined(named, effects, measured, parts)
    return named, effects


def _kept(named: list[int], effects: Floats, measured: Measured, parts: Parts, size: int, settings: Settings) -> Search:
    """The named parts that pass the false-discovery rate, each beside all others; the least sure one goes first."""
    while True:
        residuals, rest, p_rest, healthy, sigma = _state(named, effects, measured, parts, size)
        if not named:
            return Search((), residuals, sigma, rest, p_rest, healthy)
        effects, own = fit.refined(named, effects, measured, parts)
        p = probabilities(own.effect, own.u, named, parts, healthy)
        short = own.effect - np.array([healthy.centre[parts.kinds[part]] for part in named]) < _log(settings.floor)
        p = np.where(short | (own.tests < FEWEST_TESTS), 1.0, p)
        worst = int(np.argmax(p))
        if discovery_rates(p, len(parts.kinds))[worst] <= settings.rate:
            break
        del named[worst]
        effects = np.delete(effects, worst)
        if named:
            effects, _ = fit.refined(named, effects, measured, parts)
    found = []
    for index, part in enumerate(named):
        ranked, loss = _without(index, named, effects, measured, parts, size)
        also = tuple(other for other_loss, other in ranked if other != part and other_loss < loss + _AS_WELL)
        centre = healthy.centre[parts.kinds[part]]
        row = float(own.effect[index]) - centre, float(own.u[index]), int(own.tests[index]), float(p[index])
        found.append(Found(part, *row, also))
    return Search(tuple(found), residuals, sigma, rest, p_rest, healthy)
