"""Evidence -> verdicts: one attempt, then its test, then its requirement, then the whole. Pure.

attempt      every criterion met: met; any surely missed: not met; an interval that straddles a limit: undecided
test         over the attempts of its last round: a failure counts until it is classified as a user's or the test's own
requirement  the worst of its mandatory tests; waived by name where somebody answers for it
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..errors import BadInput
from ..units import show_seconds
from . import checking
from .forms import Answer, Form
from .plan import (
    AcceptancePlan,
    AvailabilityTest,
    CommandTest,
    FieldEntry,
    ManualTest,
    Requirement,
    RunTest,
    Test,
    ValueEntry,
    duration_s,
)
from .results import GivenUp, Point, Required, Round, State, Tested, Tried, Waiver
from .running import Ended
from .words import asked_of, beside_bounds, bounds, criteria, how, often

WORST: tuple[State, ...] = ("not met", "not measured", "undecided", "met")


#: What is found where nothing was.
NO_VALUE = "no value of it was measured"


def worst(states: Iterable[State]) -> State:
    """The state of things that must all be met; nothing at all is not measured."""
    found = set(states)
    return next((state for state in WORST if state in found), "not measured")


def reason_of(points: Sequence[Point], most: int = 2) -> str:
    """What keeps the state from met, in words: each criterion that was missed once, with one place where it was."""
    state = worst(point.state for point in points)
    if state == "met" or not points:
        return ""
    bad = [point for point in points if point.state == state]
    bad = [point for point in bad if point.found != NO_VALUE] or bad  # why there is none says more
    groups: dict[tuple[str, str], list[Point]] = {}
    for one in bad:  # what ended in the same way on many hosts is said once; of numbers the first stands for all
        groups.setdefault((one.criterion, "" if one.value is not None else one.found), []).append(one)
    words = []
    for (criterion, _), group in list(groups.items())[:most]:
        held = sum(one.criterion == criterion for one in points)
        many = f" ({len(group)} of {held} {state})" if len(group) > 1 else ""
        shown = _farthest(group)
        where = f" on {shown.where}" if shown.where and (len(group) == 1 or shown.value is not None) else ""
        words.append(f"{criterion}{many}{where}: {shown.found}")
    return "; ".join(words) + (f"; and {len(groups) - most} more" if len(groups) > most else "")


def _farthest(group: Sequence[Point]) -> Point:
    """The point whose value lies farthest from the others' limit: where they are to be at most, the largest."""
    if any(one.value is None for one in group):
        return group[0]
    high = "at most" in group[0].criterion and "at least" not in group[0].criterion
    return (max if high else min)(group, key=lambda one: one.value or 0.0)


# --------------------------------------------------------------------------------------------------------------- commands


def command_points(test: CommandTest, ended: Ended, output: str) -> tuple[Point, ...]:
    """What a command is held against: how it ended, then patterns and numbers in its standard output."""
    points = [_exit(test, ended)]
    if ended.exit_code in test.open_codes and ended.signal is None and not ended.timed_out:
        return tuple(points)  # it says itself that nothing is decided: what it printed meanwhile decides nothing either
    if ended.lost:
        points.append(Point(criterion="all output is kept", found=ended.lost, state="not measured"))
    for wanted, patterns in ((True, test.expect), (False, test.refuse)):
        for pattern in patterns:
            match = re.search(pattern, output, re.MULTILINE)
            found = f"found: {_short(match[0])}" if match else "not found"
            criterion = f"the output {'holds' if wanted else 'does not hold'} {pattern!r}"
            points.append(Point(criterion=criterion, found=found, state="met" if bool(match) == wanted else "not met"))
    return (*points, *(_value(value, output) for value in test.values))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:77]}..."


def _exit(test: CommandTest, ended: Ended) -> Point:
    wanted = test.exit_code or 0
    criterion = f"ends with exit code {wanted} within {test.time_limit}"
    if ended.timed_out:
        return Point(criterion=criterion, found="ended at its time limit", state="not met")
    if ended.signal is not None:
        return Point(criterion=criterion, found=f"ended by signal {ended.signal}", state="not met")
    if ended.exit_code != wanted and ended.exit_code in test.open_codes:
        found = test.open_codes[ended.exit_code]
        means = "it could not measure" if found == "not measured" else "nothing is decided yet"
        return Point(criterion=criterion, found=f"exit code {ended.exit_code}: {means}", state=found)
    state: State = "met" if ended.exit_code == wanted else "not met"
    return Point(criterion=criterion, found=f"exit code {ended.exit_code}", state=state)


def _value(entry: ValueEntry, output: str) -> Point:
    criterion = f"{entry.name}: {bounds(entry)}"
    found = re.search(entry.pattern, output, re.MULTILINE)
    if found is None or found[1] is None:
        return Point(criterion=criterion, found="not in the output", state="not measured", source=entry.source)
    try:
        value = checking.quantity(found[1], entry.unit)
    except BadInput as error:
        why = f"{found[1]!r}: {error.what}"
        return Point(criterion=criterion, found=why, state="not measured", source=entry.source)
    return Point(
        criterion=criterion,
        found=beside_bounds(value, entry),
        state=within(value, entry),
        source=entry.source,
        value=value,
        unit=entry.unit,
    )


def within(value: float, entry: ValueEntry | FieldEntry) -> State:
    """A number that is exact against its bounds; both ends belong to what is met, and NaN to nothing."""
    low = None if entry.at_least is None else checking.quantity(entry.at_least, entry.unit)
    high = None if entry.at_most is None else checking.quantity(entry.at_most, entry.unit)
    good = (low is None or value >= low) and (high is None or value <= high) and value == value
    return "met" if good else "not met"


# ----------------------------------------------------------------------------------------------------------------- forms


def form_points(test: ManualTest, form: Form) -> tuple[Point, ...]:
    """What a form is held against: every field that has a criterion, and the attachments that must be there."""
    answers = {one.name: one for one in form.answers}
    points = []
    for field in test.fields:
        if field.judged:
            found, state, value = _answered(field, answers)
            criterion = f"{field.title}: {asked_of(field, test)}"
            unit = "" if value is None else field.unit
            points.append(
                Point(criterion=criterion, found=found, state=state, where=form.subject, value=value, unit=unit)
            )
    for one in test.attachments:
        if one.required and one.name not in form.attachments:
            points.append(Point(criterion=f"attached: {one.title}", found="missing", state="not measured"))
    if test.witness:
        watched = form.witness.strip() and form.witness.strip().casefold() != form.by.strip().casefold()
        found = form.witness if watched else "by nobody else" if form.witness.strip() else "no witness is named"
        points.append(
            Point(criterion=f"watched by {test.witness}", found=found, state="met" if watched else "not measured")
        )
    return tuple(points)


def _answered(field: FieldEntry, answers: Mapping[str, Answer]) -> tuple[str, State, float | None]:
    """What an answer says in words, its state, and its value where it is a number."""
    given, first = answers.get(field.name), answers.get(field.after)
    if given is None:
        return "not filled in", "not measured", None
    if field.expect:
        return given.text, "met" if given.text == field.expect else "not met", None
    if field.after:  # a time that must not be before another
        if given.value is None or first is None or first.value is None:
            return "one of both times is missing", "not measured", None
        return f"{given.text}, and {first.text}", "met" if given.value >= first.value else "not met", None
    if given.value is None:
        return "no number", "not measured", None
    return beside_bounds(given.value, field), within(given.value, field), given.value


# ----------------------------------------------------------------------------------------------------------------- tests


def tested(
    test: Test, attempts: Sequence[Tried], rounds: Sequence[Round], *, given_up: Sequence[GivenUp] = ()
) -> Tested:
    """A test by its attempts; those of earlier rounds stay in the record and decide nothing."""
    now = [one for one in attempts if one.round == len(rounds) + 1]
    state, reason = _state(test, now, given_up[-1].reason if given_up else "")
    return Tested(
        id=test.id,
        title=test.title or test.id,
        kind=test.kind,
        by=test.by,
        severity=test.severity,
        how=how(test),
        steps=test.steps if isinstance(test, ManualTest) else (),
        often=often(test),
        criteria=criteria(test),
        state=state,
        reason=reason,
        attempts=tuple(attempts),
        rounds=tuple(rounds),
        given_up=tuple(given_up),
        note=test.note,
    )


def _state(test: Test, attempts: Sequence[Tried], abandoned: str) -> tuple[State, str]:
    if waiting := checking.waits(test):
        return "not measured", f"awaits {waiting}"
    counted = [one for one in attempts if one.counts]
    failed = [one for one in counted if one.state == "not met"]
    if failed:
        return "not met", f"attempt {failed[-1].number}: {failed[-1].reason}"
    open_ = [one for one in _standing(test, counted) if one.state == "undecided"]
    if open_:
        return "undecided", f"attempt {open_[-1].number}: {open_[-1].reason}"
    passed = [one for one in counted if one.state == "met"]
    if not passed:
        last = attempts[-1] if attempts else None
        if last is None:
            return "not measured", f"nothing came of it: {abandoned}" if abandoned else "not done yet"
        why = last.reason or last.state
        return "not measured", f"attempt {last.number}: {why}" if last.counts else "its attempts are set aside"
    lacking = _lacking(test, passed)
    return ("undecided", lacking) if lacking else ("met", _enough(test, passed))


def _standing(test: Test, counted: Sequence[Tried]) -> Sequence[Tried]:
    """The attempts whose being undecided stands. A command or a history that says that nothing is decided yet is asked
    again, and its newest answer counts; a value that straddles a limit stays, and so does evidence that was changed."""
    if not _asked_again(test):
        return counted
    return [one for one in counted if one is counted[-1] or not one.points]


def _lacking(test: Test, passed: Sequence[Tried]) -> str:
    """How far the successes fall short of what the plan asks for; empty where they do not."""
    needed = needed_of(test)
    subjects = test.subjects if isinstance(test, ManualTest) and test.subjects else ("",)
    short = [
        f"{done} of {needed}" + (f" with {subject}" if subject else "")
        for subject in subjects
        if (done := done_with(test, subject, passed)) < needed
    ]
    if short:
        each = [one.title for one in test.fields if one.distinct] if isinstance(test, ManualTest) else []
        return f"done {', '.join(short)} times" + (f", each time another: {', '.join(each)}" if each else "")
    wanted_s = duration_s(test.over, test.id)
    spanned_s = (max(one.end_ns for one in passed) - min(one.begin_ns for one in passed)) * 1e-9
    if spanned_s < wanted_s:
        return f"its successes span {show_seconds(spanned_s)} of {test.over}"
    return ""


def done_with(test: Test, subject: str, passed: Iterable[Tried]) -> int:
    """How many of the successes with a subject count: with fields that must differ each time, different answers alone."""
    mine = [one for one in passed if one.subject == subject]
    names = [one.name for one in test.fields if one.distinct] if isinstance(test, ManualTest) else []
    return len({tuple(one.answers.get(name, "") for name in names) for one in mine}) if names else len(mine)


def left_with(test: ManualTest, subject: str, found: Tested) -> int:
    """How many more attempts a manual test wants with one subject, whatever became of the others: what failed counts as
    done, and is done anew by name and with a reason."""
    now = [one for one in found.attempts if one.round == len(found.rounds) + 1 and one.counts]
    failed = sum(one.subject == subject and one.state in ("not met", "undecided") for one in now)
    passed = [one for one in now if one.state == "met"]
    return max(0, test.times - done_with(test, subject, passed) - failed)


def left_to_do(test: Test, found: Tested) -> int:
    """How many more attempts a test wants now: 0 where it is decided, or waits for something. One that must succeed over
    days wants one at a time."""
    now = [one for one in found.attempts if one.round == len(found.rounds) + 1 and one.counts]
    if found.state == "met" or checking.waits(test):
        return 0
    if isinstance(test, ManualTest) and test.subjects:
        return sum(left_with(test, subject, found) for subject in test.subjects)
    if any(one.state == "not met" for one in now) or any(one.state == "undecided" for one in _closed(test, now)):
        return 0
    if test.over:
        return 1
    return max(1, needed_of(test) - sum(one.state == "met" for one in now))


def _closed(test: Test, now: Sequence[Tried]) -> Sequence[Tried]:
    """The attempts of which an undecided one ends the matter: not of what is asked until it is decided."""
    return [one for one in now if not one.points] if _asked_again(test) else now


def _asked_again(test: Test) -> bool:
    return isinstance(test, (CommandTest, AvailabilityTest))


def needed_of(test: Test) -> int:
    """How many attempts must succeed. A run's repeats are within one attempt, unless it is spread over days."""
    return 1 if isinstance(test, RunTest) and not test.over else test.times


def _enough(test: Test, passed: Sequence[Tried]) -> str:
    if len(passed) == 1:
        points = passed[0].points
        return f"{points[0].criterion}: {points[0].found}" if len(points) == 1 else f"{len(points)} criteria met"
    return f"{len(passed)} attempts, each with all criteria met"


# ---------------------------------------------------------------------------------------------------------- requirements


def required(
    plan: AcceptancePlan, requirement: Requirement, tests: Mapping[str, Tested], waiver: Waiver | None
) -> Required:
    """A requirement by its tests. One that has desirable tests alone is desirable itself."""
    mine = [tests[one.id] for one in plan.tests_of(requirement)]
    deciding = [one for one in mine if one.severity == "mandatory"]
    severity = "mandatory" if deciding else "desirable"
    judged = deciding or mine
    shown = worst(one.state for one in judged)
    reasons = [one.reason if len(judged) == 1 else f"{one.title}: {one.reason}" for one in judged if one.state == shown]
    return Required(
        id=requirement.id,
        clause=requirement.clause,
        text=requirement.text,
        page=requirement.page,
        phase=requirement.phase,
        severity=severity,
        state="waived" if waiver else shown,
        shown=shown,
        reason="; ".join(word for word in reasons if word),
        tests=tuple(one.id for one in mine),
        at_home=tuple(one.id for one in plan.tests_of(requirement) if one.requirements[0] == requirement.id),
        waiver=waiver,
    )


def whole(requirements: Iterable[Required]) -> State:
    """The state of all: the worst of the mandatory requirements that are not waived."""
    found = list(requirements)
    states = [one.state for one in found if one.severity == "mandatory"] or [one.state for one in found]
    for state in WORST[:-1]:
        if state in states:
            return state
    return "met" if states and any(state in ("met", "waived") for state in states) else "not measured"
