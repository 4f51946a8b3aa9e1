"""What people decide about tests: whose failure it was, that a test is done anew; and what is left to do."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

from ..errors import BadInput, nearest
from . import checking, directory, evaluating, forms, verdict
from .directory import Acceptance
from .journal import Again, Classified, FailureClass
from .plan import AvailabilityTest, CommandTest, ManualTest, RunTest, Test
from .results import Tested, Tried


def due(
    acceptance: Acceptance, wanted: Iterable[Test], *, named: bool
) -> tuple[list[RunTest], list[tuple[CommandTest | AvailabilityTest, int]]]:
    """The runs that are left to do, and the commands with how often. Raises BadInput for a test that was ``named`` and
    is not to be done."""
    tests = {one.id: one for one in evaluating.evaluate(acceptance).tests}
    runs: list[RunTest] = []
    commands: list[tuple[CommandTest | AvailabilityTest, int]] = []
    for test in wanted:
        times = verdict.left_to_do(test, tests[test.id])
        if named and (times == 0 or isinstance(test, ManualTest)):
            raise _not_now(acceptance, test, tests[test.id])
        if times and isinstance(test, RunTest):
            runs.append(test)
        elif times and isinstance(test, (CommandTest, AvailabilityTest)):
            commands.append((test, times))
    return runs, commands


def _not_now(acceptance: Acceptance, test: Test, found: Tested) -> BadInput:
    where = f"test {test.id!r} ({acceptance.plan.clauses(test)})"
    if waiting := checking.waits(test):
        return BadInput(
            f"awaits {waiting}",
            where=where,
            hint=f"fill it in, in a copy of {acceptance.path}/plan.toml, then: shakedown accept amend {acceptance.path} "
            "PLAN --by NAME --reason WHY",
        )
    if isinstance(test, ManualTest) and verdict.left_to_do(test, found):
        return BadInput("is done by a person", where=where, hint=f"shakedown accept record {acceptance.path} {test.id}")
    return BadInput(f"is decided: {found.state}", where=where, hint="to repeat it: --again --by NAME --reason WHY")


def refuse_people(acceptance: Acceptance, tests: Iterable[Test]) -> None:
    """Raises BadInput for a test that is not run but done by a person, or that still waits for something."""
    judged = {one.id: one for one in evaluating.evaluate(acceptance).tests}
    for test in tests:
        if checking.waits(test) or isinstance(test, ManualTest):
            raise _not_now(acceptance, test, judged[test.id])


def refuse_if_decided(acceptance: Acceptance, test: ManualTest, form: forms.Form) -> None:
    """Raises BadInput for a form whose test is decided with its subject, or that says what an earlier one says where each
    must say something else. The test is begun anew first, by name and with a reason; other subjects are recorded on."""
    found = next(one for one in evaluating.evaluate(acceptance).tests if one.id == test.id)
    now = [one for one in _last_round(found) if one.counts and one.subject == form.subject]
    left = verdict.left_with(test, form.subject, found) if test.subjects else verdict.left_to_do(test, found)
    if left == 0:
        raise _not_now(acceptance, test, found)
    forms.refuse_same(test, form.answers, [one.answers for one in now if one.state == "met"])


def begin_anew(path: Path, tests: Sequence[Test], *, by: str, reason: str) -> None:
    """Begin another round of tests. Raises BadInput where a failure of the last one was not classified yet."""
    with directory.writing(path) as (acceptance, book):
        judged = {one.id: one for one in evaluating.evaluate(acceptance).tests}
        for test in tests:
            open_ = [one for one in _last_round(judged[test.id]) if one.state == "not met" and not one.failure]
            if open_:
                raise BadInput(
                    f"attempt {open_[-1].number} failed, and its failure is not classified yet",
                    where=f"test {test.id!r} ({acceptance.plan.clauses(test)})",
                    hint=f"shakedown accept classify {path} {test.id} --as system --by NAME --reason WHY",
                )
        for test in tests:
            if _last_round(judged[test.id]):
                book.append(Again(test=test.id, by=by, reason=reason), time.time_ns())


def _last_round(found: Tested) -> list[Tried]:
    return [one for one in found.attempts if one.round == len(found.rounds) + 1]


def classify(path: Path, name: str, word: str, number: int, *, by: str, reason: str) -> None:
    """Say whose failure an attempt was (0: the last that is not met). Raises BadInput for one that did not fail."""
    known: tuple[FailureClass, ...] = get_args(FailureClass)
    wanted = word.replace("-", " ")
    chosen = next((one for one in known if one == wanted), None)
    if chosen is None:
        near = nearest(wanted, known)
        words = ", ".join(one.replace(" ", "-") for one in known)
        hint = f"did you mean {near!r}? " if near else ""
        raise BadInput(f"{word!r} is not a failure class", where="--as", hint=f"{hint}one of: {words}")
    with directory.writing(path) as (acceptance, book):
        test = acceptance.plan.test(name)
        found = next(one for one in evaluating.evaluate(acceptance).tests if one.id == test.id)
        failed = [one for one in found.attempts if one.state != "met"]
        mine = [one for one in failed if one.number == number] if number else failed[-1:]
        if not mine:
            raise BadInput(
                f"attempt {number} did not fail" if number else "no attempt of it failed",
                where=f"test {name!r} ({acceptance.plan.clauses(test)})",
                hint=f"failed: {', '.join(str(one.number) for one in failed) or 'none'}",
            )
        entry = Classified(test=test.id, attempt=mine[0].entry, failure=chosen, by=by, reason=reason)
        book.append(entry, time.time_ns())
