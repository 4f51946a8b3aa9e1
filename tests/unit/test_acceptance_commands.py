"""What a test's command says and how it ends; forms, reasons and requirements of a plan."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.acceptance import forms, results
from shakedown.acceptance import verdict as judging
from shakedown.acceptance import words as words_of
from shakedown.acceptance.plan import AcceptancePlan as AcceptancePlan
from shakedown.acceptance.plan import (
    AttachmentEntry,
    CommandTest,
    FieldEntry,
    ManualTest,
    Requirement,
    ValueEntry,
)
from shakedown.acceptance.results import Point, Round, Tried, Waiver
from shakedown.acceptance.running import Ended
from shakedown.errors import BadInput
from support.acceptances import limit, run_test

# ------------------------------------------------------------------------------------------------------------- commands


def command(**more: Any) -> CommandTest:
    return CommandTest(id="t", requirements=("r",), kind="command", command=("x",), **more)


def ended(**more: Any) -> Ended:
    return Ended(
        **{"test": "t", "argv": ("x",), "program": "/x", "host": "h", "exit_code": 0, "begin_ns": 1, "end_ns": 2} | more
    )


def command_state(test: CommandTest, end: Ended, output: str) -> str:
    return judging.worst(point.state for point in judging.command_points(test, end, output))


def test_exit_code_and_patterns_of_a_command() -> None:
    test = command(expect=(r"^all \d+ nodes$",), refuse=("(?i)error",))
    assert command_state(test, ended(), "start\nall 12 nodes\n") == "met"
    assert command_state(test, ended(), "all nodes\n") == "not met"
    assert command_state(test, ended(), "all 12 nodes\nERROR\n") == "not met"
    assert command_state(test, ended(exit_code=1), "all 12 nodes\n") == "not met"
    assert command_state(command(exit_code=3), ended(exit_code=3), "") == "met"
    assert command_state(command(exit_code=0), ended(exit_code=None, signal=11), "") == "not met"
    assert command_state(command(exit_code=0), ended(exit_code=None, timed_out=True), "") == "not met"
    assert command_state(command(exit_code=0), ended(lost="disk full"), "") == "not measured"


@pytest.mark.parametrize(
    ("output", "wanted"),
    [("EL = 97.0", "met"), ("EL = 96.99", "not met"), ("nothing", "not measured"), ("EL = 9.9.9", "not measured")],
)
def test_a_number_in_the_output(output: str, wanted: str) -> None:
    value = ValueEntry(name="EL", pattern=r"EL = ([\d.]+)", unit="%", at_least="97 %")
    assert command_state(command(values=(value,)), ended(), output) == wanted


@given(st.floats(0, 100), st.floats(0, 100), st.floats(0, 100))
def test_a_number_is_met_exactly_between_its_bounds(value: float, one: float, two: float) -> None:
    low, high = min(one, two), max(one, two)
    entry = ValueEntry(name="v", pattern="(.)", at_least=low, at_most=high)
    assert judging.within(value, entry) == ("met" if low <= value <= high else "not met")
    assert judging.within(float("nan"), entry) == "not met"


# ---------------------------------------------------------------------------------------------------------------- forms

MANUAL = ManualTest(
    id="m",
    requirements=("r",),
    kind="manual",
    steps=("Look.",),
    fields=(
        FieldEntry(name="seen", title="Seen", type="yes-no", expect="yes"),
        FieldEntry(name="power", title="Power", type="number", unit="kW", at_most="3 kW"),
        FieldEntry(name="when", title="When", type="time", required=False),
        FieldEntry(name="side", title="Side", type="choice", choices=("left", "right"), required=False),
    ),
    attachments=(AttachmentEntry(name="photo", title="Photo", required=True),),
)


def form(given: dict[str, str], attached: dict[str, str] | None = None) -> forms.Form:
    files = {"photo": "photo.jpg"} if attached is None else attached
    answers = forms.answers(MANUAL, given)
    return forms.Form(test="m", by="Ann", observed_ns=1, answers=answers, attachments=files)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"seen": "yes", "power": "2.9"}, "met"),
        ({"seen": "Y", "power": "3000 W"}, "met"),
        ({"seen": "no", "power": "1"}, "not met"),
        ({"seen": "yes", "power": "3.1 kW"}, "not met"),
    ],
)
def test_a_form_is_judged_by_its_criteria(given: dict[str, str], wanted: str) -> None:
    assert judging.worst(one.state for one in judging.form_points(MANUAL, form(given))) == wanted


def test_a_form_without_what_must_be_attached_is_not_measured() -> None:
    points = judging.form_points(MANUAL, form({"seen": "yes", "power": "1"}, {}))
    assert judging.worst(one.state for one in points) == "not measured"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seen": "yes"}, "not filled in: power"),
        ({"seen": "perhaps", "power": "1"}, "neither yes nor no"),
        ({"seen": "yes", "power": "much"}, "not a number"),
        ({"seen": "yes", "power": "3 GB"}, "not a number"),
        ({"seen": "yes", "power": "nan"}, "not a number"),
        ({"seen": "yes", "power": "1", "when": "yesterday"}, "not a valid time"),
        ({"seen": "yes", "power": "1", "when": "2026-11-20T15:45"}, "no zone"),
        ({"seen": "yes", "power": "1", "side": "top"}, "not one of its choices"),
        ({"seen": "yes", "powr": "1"}, "no field 'powr'"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        forms.answers(MANUAL, given)


# --------------------------------------------------------------------------------------------------- tests, requirements


def tried(state_: Any, *, number: int = 1, round_: int = 1, day: float = 0, **more: Any) -> Tried:
    ns = int(day * 86400e9)
    return Tried(number=number, entry=number, round=round_, state=state_, reason="why", begin_ns=ns, end_ns=ns, **more)


def verdict(test: Any, *attempts: Tried, rounds: tuple[Round, ...] = ()) -> results.Tested:
    return judging.tested(test, attempts, rounds)


def test_a_test_is_met_when_it_succeeded_often_enough() -> None:
    test = command(exit_code=0, times=2)
    assert verdict(test).state == "not measured"
    assert verdict(test, tried("met")).state == "undecided"
    assert verdict(test, tried("met"), tried("met", number=2)).state == "met"
    assert verdict(test, tried("met"), tried("met", number=2), tried("not met", number=3)).state == "not met"


def test_successes_must_span_the_time_that_is_asked_for() -> None:
    test = command(exit_code=0, times=3, over="2 d")
    early = [tried("met", number=index, day=index / 10) for index in (1, 2, 3)]
    assert "span" in verdict(test, *early).reason and verdict(test, *early).state == "undecided"
    assert verdict(test, *early, tried("met", number=4, day=2.1)).state == "met"
    assert judging.left_to_do(test, verdict(test, *early)) == 1


def test_every_subject_must_be_seen() -> None:
    test = msgspec.structs.replace(MANUAL, subjects=("left", "right"), times=2)
    left = [tried("met", number=index, subject="left") for index in (1, 2)]
    right = [tried("met", number=index, subject="right") for index in (3, 4)]
    assert verdict(test, *left, right[0]).state == "undecided"
    assert verdict(test, *left, *right).state == "met"


def test_a_failure_counts_until_a_person_says_that_it_was_not_the_systems() -> None:
    test = command(exit_code=0)
    for failure, wanted in (
        ("", "not met"),
        ("system", "not met"),
        ("application", "not met"),
        ("user", "met"),
        ("test bug", "met"),
    ):
        found = verdict(test, tried("not met", failure=failure), tried("met", number=2))
        assert found.state == wanted, failure
    aside = verdict(test, tried("not met", failure="user"))
    assert aside.state == "not measured" and judging.left_to_do(test, aside) == 1


def test_the_verdict_rests_on_the_last_round() -> None:
    test = command(exit_code=0)
    again = (Round(by="Ann", reason="repaired", time_ns=1),)
    found = verdict(test, tried("not met"), tried("met", number=2, round_=2), rounds=again)
    assert found.state == "met" and len(found.attempts) == 2
    assert verdict(test, tried("met"), rounds=again).state == "not measured"


def test_an_undecided_attempt_is_not_made_good_by_trying_again() -> None:
    test = run_test(limit(at_least="1 GB/s"))
    found = verdict(test, tried("undecided"), tried("met", number=2))
    assert found.state == "undecided" and judging.left_to_do(test, found) == 0
    assert judging.left_to_do(test, verdict(test, tried("not measured"))) == 1


REQUIREMENT = Requirement(id="r", clause="1", text="R.")


def required(*states: tuple[str, str], waiver: Waiver | None = None) -> Any:
    tests = tuple(
        CommandTest(id=f"t{index}", requirements=("r",), kind="command", command=("x",), severity=severity)  # type: ignore[arg-type]
        for index, (_, severity) in enumerate(states)
    )
    plan = AcceptancePlan(name="p", title="P", requirements=(REQUIREMENT,), tests=tests)
    base = verdict(command(exit_code=0))
    judged = {
        f"t{index}": msgspec.structs.replace(base, id=f"t{index}", state=state_, severity=severity)  # type: ignore[arg-type]
        for index, (state_, severity) in enumerate(states)
    }
    return judging.required(plan, REQUIREMENT, judged, waiver)


def test_a_requirement_is_as_its_worst_mandatory_test() -> None:
    must, may = "mandatory", "desirable"
    assert required(("met", must), ("met", must)).state == "met"
    assert required(("met", must), ("undecided", must)).state == "undecided"
    assert required(("undecided", must), ("not measured", must)).state == "not measured"
    assert required(("not met", must), ("not measured", must)).state == "not met"
    assert required(("met", must), ("not met", may)).state == "met"
    only = required(("not met", may))
    assert only.state == "not met" and only.severity == "desirable"


def test_a_waiver_keeps_what_the_tests_show() -> None:
    found = required(("not met", "mandatory"), waiver=Waiver(by="Ann", reason="later", time_ns=1))
    assert (found.state, found.shown) == ("waived", "not met")
    assert judging.whole([found]) == "met"


def test_the_whole_is_the_worst_of_what_is_mandatory() -> None:
    met, missed = required(("met", "mandatory")), required(("not met", "mandatory"))
    wished = required(("not met", "desirable"))
    assert judging.whole([met, wished]) == "met"
    assert judging.whole([met, missed]) == "not met"
    assert judging.whole([wished]) == "not met"
    assert judging.whole([]) == "not measured"


@given(st.lists(st.sampled_from(judging.WORST)))
def test_nothing_is_met_unless_all_is(states: list[Any]) -> None:
    assert (judging.worst(states) == "met") == (bool(states) and set(states) == {"met"})


def test_the_reason_names_the_points_that_are_not_met() -> None:
    points = [
        Point(criterion="A", found="1", state="met"),
        Point(criterion="B", found="2", state="not met", where="n7"),
        Point(criterion="C", found="3", state="undecided"),
    ]
    assert judging.reason_of(points) == "B on n7: 2"
    assert judging.reason_of(points[:1]) == ""


def test_the_reason_says_once_what_many_hosts_have_in_common() -> None:
    gone = [
        Point(criterion="cuda ends successfully", found="no driver", state="not measured", where=f"n{i}")
        for i in range(4)
    ]
    assert judging.reason_of(gone) == "cuda ends successfully (4 of 4 not measured): no driver"
    slow = [
        Point(criterion="Latency: at most 3 us", found=f"{i} us", state="not met", where=f"n{i}", value=float(i))
        for i in (5, 9, 7)
    ]
    assert judging.reason_of(slow) == "Latency: at most 3 us (3 of 3 not met) on n9: 9 us"  # the worst of them


def test_a_parameter_that_is_left_open_is_said_to_be() -> None:
    assert "target = (to be filled in)" in words_of.how(run_test(limit(at_least="1 GB/s"), params={"target": ""}))
