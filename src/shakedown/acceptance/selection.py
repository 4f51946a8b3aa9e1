"""The smallest set of tests that would have found what earlier acceptances found: which to do again when time is short.

A finding is a host on which tests were not met in one session, or one failed attempt of a command or a form; failures that
were classified as a user's or the test's own are none. A test finds it where it was not met there. What a test that was not
done then would have found is not known. Pure.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..analysis.statistics import proportion_interval
from ..errors import CannotMeasure
from ..records import Record
from .results import Result, Tried


class Found(NamedTuple):
    """One finding: in which acceptance and session, on which host, and the tests that showed it."""

    acceptance: str
    session: str  # a folder of runs, or of an attempt's own evidence
    host: str
    tests: frozenset[str]
    why: str  # of the first of them


class Cost(Record, frozen=True, kw_only=True):
    """One test by what it found and takes."""

    test: str
    found: int
    alone: int  # found by no other test
    seconds: float | None  # the median of its attempts, from begin to end; None where it has none
    chosen: bool


class Selection(Record, frozen=True, kw_only=True):
    """The tests to do, and how much that rests on."""

    findings: int
    kept: int  # that the chosen tests found
    tests: tuple[Cost, ...]
    sessions: int  # with a finding
    held_out: int  # findings of sessions that were left out in turn
    held_out_found: int  # of them, those that the tests chosen without their session found
    held_out_whole: int = 0  # sessions all of whose findings were found so
    low: float | None = None  # 95 % interval of their share of the sessions; None where there is one session
    high: float | None = None


def findings(acceptances: Mapping[str, Result]) -> list[Found]:
    """Everything that acceptances (by their directory) found."""
    found: list[Found] = []
    for name, result in acceptances.items():
        shown: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for test in result.tests:
            for attempt in test.attempts:
                if attempt.counts and attempt.state == "not met":
                    for host, why in _hosts(attempt).items():
                        shown[attempt.folder, host].setdefault(test.id, why)
        found += [
            Found(name, session, host, frozenset(tests), next(iter(tests.values())))
            for (session, host), tests in shown.items()
        ]
    return found


def _hosts(attempt: Tried) -> dict[str, str]:
    """The hosts on which an attempt was not met, each with what was found there; no host is a place of its own."""
    bad = [one for one in attempt.points if one.state == "not met"]
    return {one.host: f"{one.criterion}: {one.found}" for one in reversed(bad)} or {"": attempt.reason}


def select(acceptances: Mapping[str, Result], keep: float = 1.0) -> Selection:
    """The fewest tests that found a share of at least ``keep`` of all findings; of several such sets the one that takes
    the least time. Raises CannotMeasure where there is no finding."""
    found = findings(acceptances)
    if not found:
        raise CannotMeasure(
            "no test of these acceptances has failed: nothing says which ones find something",
            hint="name acceptances with failures, also those that were repeated afterwards; they stay in the record",
        )
    seconds = _seconds(acceptances)
    chosen = _fewest([one.tests for one in found], seconds, keep)
    sessions = list(dict.fromkeys((one.acceptance, one.session) for one in found))
    left_out = left_out_found = whole = 0
    for session in sessions if len(sessions) > 1 else ():
        inside = [one for one in found if (one.acceptance, one.session) != session]
        outside = [one for one in found if (one.acceptance, one.session) == session]
        others = _fewest([one.tests for one in inside], seconds, keep)
        left_out += len(outside)
        caught = sum(bool(one.tests & others) for one in outside)
        left_out_found += caught
        whole += caught == len(outside)
    # What many hosts show in one session has mostly one cause: it is sessions that are counted, not hosts.
    ends = proportion_interval(whole / len(sessions), len(sessions)) if left_out else None
    return Selection(
        findings=len(found),
        kept=sum(bool(one.tests & chosen) for one in found),
        tests=_costs(found, seconds, chosen),
        sessions=len(sessions),
        held_out=left_out,
        held_out_found=left_out_found,
        held_out_whole=whole,
        low=ends.low if ends else None,
        high=ends.high if ends else None,
    )


def _seconds(acceptances: Mapping[str, Result]) -> dict[str, float | None]:
    """Test -> the median time of its attempts."""
    times: dict[str, list[float]] = defaultdict(list)
    for result in acceptances.values():
        for test in result.tests:
            times[test.id] += [(one.end_ns - one.begin_ns) * 1e-9 for one in test.attempts]
    return {name: statistics.median(found) if found else None for name, found in times.items()}


def _costs(found: Sequence[Found], seconds: Mapping[str, float | None], chosen: frozenset[str]) -> tuple[Cost, ...]:
    """Every test, those that were chosen first, then by how much they found."""
    rows = [
        Cost(
            test=name,
            found=sum(name in one.tests for one in found),
            alone=sum(one.tests == {name} for one in found),
            seconds=took,
            chosen=name in chosen,
        )
        for name, took in seconds.items()
    ]
    return tuple(sorted(rows, key=lambda one: (not one.chosen, -one.found, one.test)))


def _fewest(sets: Sequence[Iterable[str]], seconds: Mapping[str, float | None], keep: float) -> frozenset[str]:
    """A least set cover with ties by time, solved exactly: variables say which tests are chosen and which findings kept."""
    import numpy as np
    from scipy import optimize

    alike = Counter(frozenset(one) for one in sets)  # a cluster that fails as a whole is one row, not a thousand
    names = sorted({name for one in alike for name in one})
    place = {name: index for index, name in enumerate(names)}
    times = [seconds.get(name) or 0.0 for name in names]
    total = sum(times) + 1.0
    weights = [1.0 + took / (total * (len(names) + 1)) for took in times]  # all times together weigh less than one test
    covered = np.zeros((len(alike), len(names)))
    for row, one in enumerate(alike):
        covered[row, [place[name] for name in one]] = 1
    each = np.hstack([covered, -np.eye(len(alike))])  # findings are kept only where one of their tests is chosen
    share = np.concatenate([np.zeros(len(names)), list(alike.values())])
    least = math.ceil(keep * len(sets) - 1e-9)
    solved = optimize.milp(
        np.concatenate([weights, np.zeros(len(alike))]),
        integrality=1,
        bounds=optimize.Bounds(0, 1),
        constraints=[optimize.LinearConstraint(each, 0, np.inf), optimize.LinearConstraint(share, least, np.inf)],
    )
    return frozenset(name for name, value in zip(names, solved.x, strict=False) if value > 0.5)
