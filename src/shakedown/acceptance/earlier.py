"""An acceptance -> the figures that another one can be held against.

A test's figures are those of its last attempt that was met (of its last one with values, where none was), made again from
its evidence. An acceptance whose evidence is not as it was sealed is refused: nothing can be held against it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import BadInput
from . import evaluating, run_verdict
from .baseline import Baseline, Figure
from .directory import Acceptance
from .journal import Attempt, Tampered
from .plan import RunTest
from .results import Before, Result, Tested, TestThen, Tried


def of(acceptance: Acceptance) -> Baseline:
    """The figures of an acceptance. Raises Tampered where its evidence does not hold, BadInput where it has no figure."""
    result = evaluating.evaluate(acceptance)
    if result.faults:
        raise Tampered(
            f"its evidence is not as it was sealed: {result.faults[0]}",
            where=str(acceptance.path),
            hint=f"shakedown accept verify {acceptance.path}; restore it from a copy",
        )
    tests = {one.id: one for one in result.tests}
    sessions: evaluating.Sessions = {}
    figures = tuple(
        figure
        for test in acceptance.plan.tests
        if isinstance(test, RunTest)
        for figure in _figures(acceptance, tests[test.id], sessions)
    )
    if not figures:
        raise BadInput(
            "no run of this acceptance has a value",
            where=str(acceptance.path),
            hint="shakedown accept status shows what was measured in it",
        )
    return Baseline(about=_about(acceptance, result), figures=figures)


def _about(acceptance: Acceptance, result: Result) -> Before:
    return Before(
        folder=str(acceptance.path.resolve()),
        system=result.system,
        plan=result.plan,
        title=result.title,
        plan_sha256=result.plan_sha256,
        head=result.head,
        version=result.version,
        begun_ns=result.begun_ns,
        until_ns=result.until_ns,
        state=result.state,
        tests=tuple(
            TestThen(id=one.id, title=one.title, state=one.state, criteria=one.criteria) for one in result.tests
        ),
        facts=result.accepted.facts,
    )


def _figures(acceptance: Acceptance, tested: Tested, sessions: evaluating.Sessions) -> Iterator[Figure]:
    attempt = _chosen(tested)
    if attempt is None:
        return
    entry = acceptance.entries[attempt.entry - 1]
    assert isinstance(entry, Attempt)
    if entry.folder not in sessions:  # of all tests of a session it is read once
        sessions[entry.folder] = run_verdict.load(acceptance.path / entry.folder)
    session = sessions[entry.folder]
    mine = [one for one in session.measurements if one.run in set(entry.runs)]
    for one in run_verdict.findings(mine, session):
        if one.value is not None:
            low, high = (one.value if end is None else end for end in (one.low, one.high))
            yield Figure(
                test=tested.id,
                metric=one.metric,
                params=one.params,
                host=one.host,
                value=one.value,
                low=low,
                high=high,
                unit=one.unit,
                state=attempt.state,
                time_ns=attempt.end_ns,
            )


def _chosen(tested: Tested) -> Tried | None:
    """The attempt that a test's figures are of."""
    counted = [one for one in tested.attempts if one.counts and any(point.value is not None for point in one.points)]
    return next((one for one in reversed(counted) if one.state == "met"), counted[-1] if counted else None)
