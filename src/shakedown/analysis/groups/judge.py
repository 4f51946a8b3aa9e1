"""The story of a verdict: what was measured -> parts -> the search -> names, doubts, and what would have been found."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ...records import Notice
from ..pairs.noise import discovery_rates
from ..pairs.state import effect, slower
from ..table import Floats, Ints
from . import evidence, fit
from . import parts as _parts
from .data import GroupTests, Topology
from .design import FEWEST_PLACES
from .fit import Measured
from .parts import Parts
from .records import FailedPlace, GroupVerdict, SlowPart
from .search import Found, Search, Settings, search

FEWEST_TESTS = 12  # groups, before a scatter is known
_DOUBT = 0.5  # a place whose false-discovery rate lies between the asked one and this is measured again
_FEW_PLACES = 24
_LIKELY = 1.2816  # the 90 % quantile of the normal distribution


def verdict(tests: GroupTests, settings: Settings | None = None, topology: Topology | None = None) -> GroupVerdict:
    """Which parts are slow, from all tests of one metric and size."""
    settings = settings or Settings()
    valid = np.isfinite(tests.values)
    why = _too_few(tests, int(valid.sum()))
    if why:
        return _nothing(tests, settings, why)
    parts = _parts.of(tests, topology)
    if not parts.kinds:
        return _nothing(tests, settings, f"no part is in {_parts.FEWEST_TESTS} groups or more, and absent from others")
    kept, measured = _measured(tests, parts, topology)
    size = int(np.median(tests.sizes[valid]))
    found = search(measured, kept, size, settings)
    return _said(tests, settings, parts, found, size)


def _too_few(tests: GroupTests, valid: int) -> str:
    if len(tests.places) < FEWEST_PLACES:
        return (
            f"only {len(tests.places)} places: from {FEWEST_PLACES} on a slow one can be distinguished from the others"
        )
    if valid < FEWEST_TESTS:
        return f"only {valid} groups have a value: {FEWEST_TESTS} are the fewest that show their own scatter"
    return ""


def _measured(tests: GroupTests, parts: Parts, topology: Topology | None) -> tuple[Parts, Measured]:
    """The tests that have a value, numbered from 0, and the parts with those numbers."""
    rows = np.flatnonzero(np.isfinite(tests.values))
    number = np.full(len(tests.values), -1, np.int64)
    number[rows] = np.arange(len(rows))
    sign = 1.0 if tests.metric.better == "lower" else -1.0
    span = _spans(tests, topology)
    _, stratum = np.unique(tests.sizes[rows] * 2 + span[rows], return_inverse=True)
    measured = Measured(
        y=sign * np.log(tests.values[rows]),
        stratum=stratum.astype(np.int64),
        rail=tests.rail[rows],
        round=tests.round[rows],
    )
    return parts._replace(test=number[parts.test]), measured


def _spans(tests: GroupTests, topology: Topology | None) -> Ints:
    """1 where a group reaches beyond one leaf switch, or beyond one host where places share hosts."""
    chains = [topology.above(host)[:1] if topology is not None else [] for host in tests.hosts]
    one_host = len(set(tests.hosts)) == len(tests.places)
    near = [
        chain[0] if chain else (host if not one_host else "") for chain, host in zip(chains, tests.hosts, strict=True)
    ]
    number = {name: index for index, name in enumerate(dict.fromkeys(near))}
    of = np.array([number[name] for name in near], np.int64)[tests.member]
    low = np.full(len(tests.values), len(number), np.int64)
    high = np.full(len(tests.values), -1, np.int64)
    np.minimum.at(low, tests.test, of)
    np.maximum.at(high, tests.test, of)
    return (high > low).astype(np.int64)


def _said(tests: GroupTests, settings: Settings, parts: Parts, found: Search, size: int) -> GroupVerdict:
    better = tests.metric.better
    slow = tuple(_slow(one, parts, better) for one in sorted(found.named, key=lambda one: -one.effect))
    failed = failed_places(tests)
    doubtful = _doubtful(found, parts, settings)
    smallest = _smallest(found, parts, settings, better)
    valid = np.isfinite(tests.values)
    short = smallest is None or smallest > settings.wanted or found.healthy.places in parts.unjudged
    return GroupVerdict(
        metric=tests.metric,
        params=tests.params,
        places=len(tests.places),
        tests=int(valid.sum()),
        rounds=len(set(tests.round.tolist()) - {-1}),
        group_size=size,
        judged=dict(Counter(parts.kinds)),
        unjudged=parts.unjudged,
        typical=float(np.median(tests.values[valid])),
        sigma=found.sigma,
        spread=found.healthy.spread.get(found.healthy.places),
        smallest=smallest,
        rate=settings.rate,
        state="slow" if slow or failed else "undecided" if short else "fine",
        slow=slow,
        failed=failed,
        doubtful=doubtful,
        notices=_notices(parts, found, settings, smallest),
    )


def _slow(one: Found, parts: Parts, better: str) -> SlowPart:
    also = (
        *parts.alike[one.part],
        *(_parts.label(parts.kinds[other], parts.names[other]) for other in one.alternatives),
    )
    return SlowPart(
        kind=parts.kinds[one.part],
        name=parts.names[one.part],
        effect=effect(one.effect, one.u, better),
        tests=one.tests,
        p=one.p,
        alternatives=also,
    )


def _doubtful(found: Search, parts: Parts, settings: Settings) -> tuple[str, ...]:
    """Places that look slow without being sure, and those that share their evidence with other parts."""
    named = {one.part for one in found.named}
    rates = discovery_rates(found.p, len(found.p)) if len(found.p) else np.zeros(0)
    kind = found.healthy.places
    least = 0.5 * settings.floor
    unsure = [
        parts.names[part]
        for part in np.flatnonzero((rates < _DOUBT) & (found.rest.effect > least)).tolist()
        if parts.kinds[part] == kind and part not in named
    ]
    shared = [
        parts.names[part]
        for one in found.named
        for part in (one.part, *one.alternatives)
        if one.alternatives and parts.kinds[part] == kind
    ]
    return tuple(dict.fromkeys((*shared, *unsure)))


def _smallest(found: Search, parts: Parts, settings: Settings, better: str) -> float | None:
    """How slow a place must be to be named with a probability of 90 %, as the only one."""
    healthy = found.healthy
    mine = np.array([kind == healthy.places for kind in parts.kinds])
    if not mine.any():
        return None
    u = float(np.median(found.rest.u[mine]))
    level = settings.rate / len(parts.kinds)
    low, high = 0.0, 4.0  # of the logarithm: by bisection, since the chance falls with the effect
    for _ in range(50):
        middle = (low + high) / 2
        one, spread = np.array([middle]), healthy.spread[healthy.places]
        chance = evidence.chance(one, np.array([u]), spread, healthy.dof, healthy.size, healthy.number)
        low, high = (middle, high) if chance[0] > level else (low, middle)
    return max(slower(high + _LIKELY * u, better), settings.floor)


def _notices(parts: Parts, found: Search, settings: Settings, smallest: float | None) -> tuple[Notice, ...]:
    notices = []
    if smallest is not None and smallest > settings.wanted:
        slow = f"{100 * smallest:.0f} % slower" if smallest < 1 else f"{1 + smallest:.0f} times as slow"
        text = f"a place would have to be {slow} to be named in 9 of 10 cases"
        notices.append(Notice(code="weak-groups", text=text, advice="measure more rounds, or more samples in each"))
    for kind in ("switch", "uplink", "rail"):
        number = parts.unjudged.get(kind, 0)
        if number and kind in parts.unjudged:
            text = f"{number} of {number + Counter(parts.kinds)[kind]} parts of the kind {kind} cannot be judged"
            advice = "nearly all groups use them, or too few do: measure groups behind one switch as well as across"
            notices.append(Notice(code="parts-not-judged", text=text, advice=advice))
    if found.healthy.number < _FEW_PLACES:
        text = f"{found.healthy.number} places show little of how healthy ones differ: a slow one may just be different"
        notices.append(Notice(code="few-places", text=text, advice="compare its value with what the vendor states"))
    if len(found.named) >= fit.MOST_NAMED:
        text = f"{fit.MOST_NAMED} parts are named, and there may be more"
        notices.append(Notice(code="many-slow", text=text, advice="repair these, and measure again"))
    return tuple(notices)


def failed_places(tests: GroupTests) -> tuple[FailedPlace, ...]:
    """Places of which at least half of the groups (two at least) failed; of a failed group's members the one with most."""
    if not tests.why:
        return ()
    bad = np.isnan(tests.values)
    count = len(tests.places)
    failed = np.bincount(tests.member[bad[tests.test]], minlength=count)
    tried = np.bincount(tests.member, minlength=count)
    worst: set[int] = set()
    why: dict[int, str] = {}
    for test in np.flatnonzero(bad).tolist():
        members = tests.member[tests.test == test]
        most = failed[members].max(initial=0)
        for place in members[
            (failed[members] == most) & (failed[members] >= 2) & (2 * failed[members] >= tried[members])
        ]:
            worst.add(int(place))
            why.setdefault(int(place), tests.why[test])
    return tuple(
        FailedPlace(place=tests.places[one], failed=int(failed[one]), tried=int(tried[one]), why=why[one])
        for one in sorted(worst)
    )


def _nothing(tests: GroupTests, settings: Settings, why: str) -> GroupVerdict:
    """A verdict that names nothing but what failed."""
    valid = np.isfinite(tests.values)
    values: Floats = tests.values[valid]
    failed = failed_places(tests)
    return GroupVerdict(
        metric=tests.metric,
        params=tests.params,
        places=len(tests.places),
        tests=int(valid.sum()),
        rounds=len(set(tests.round.tolist()) - {-1}),
        group_size=int(np.median(tests.sizes)) if len(tests.values) else 0,
        judged={},
        unjudged={},
        typical=float(np.median(values)) if len(values) else None,
        sigma=None,
        spread=None,
        smallest=None,
        rate=settings.rate,
        state="slow" if failed else "undecided",
        failed=failed,
        notices=(
            Notice(
                code="few-groups",
                text=f"slow parts cannot be distinguished: {why}",
                advice="measure more places, or more rounds",
            ),
        ),
    )
