"""Evidence -> verdicts: one attempt, then its test, then its requirement, then the whole. Pure.

attempt      every criterion met: met; any surely missed: not met; an interval that straddles a limit: undecided
test         over the attempts of its last round: a failure counts until it is classified as a user's or the test's own
requirement  the worst of its mandatory tests; waived by name where somebody answers for it
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..errors import BadInput
from ..units import show, show_seconds, si
from . import checking
from .forms import Form
from .plan import (
    CommandTest,
    FieldEntry,
    LimitEntry,
    ManualTest,
    Plan,
    Requirement,
    RunTest,
    Test,
    ValueEntry,
    duration_s,
)
from .results import Point, Required, Round, State, Tested, Tried, Waiver
from .running import Ended

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
    if ended.lost:
        points.append(Point(criterion="all output is kept", found=ended.lost, state="not measured"))
    for pattern in test.expect:
        found = re.search(pattern, output, re.MULTILINE)
        points.append(
            Point(
                criterion=f"the output holds {pattern!r}",
                found=f"found: {_short(found[0])}" if found else "not found",
                state="met" if found else "not met",
            )
        )
    for pattern in test.refuse:
        found = re.search(pattern, output, re.MULTILINE)
        points.append(
            Point(
                criterion=f"the output does not hold {pattern!r}",
                found=f"found: {_short(found[0])}" if found else "not found",
                state="not met" if found else "met",
            )
        )
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
        return Point(
            criterion=criterion, found=f"{found[1]!r}: {error.what}", state="not measured", source=entry.source
        )
    return Point(
        criterion=criterion,
        found=in_unit(value, entry.unit),
        state=within(value, entry),
        source=entry.source,
        value=value,
        unit=entry.unit,
    )


def in_unit(value: float, unit: str) -> str:
    """A value in SI for a person: percent where the plan writes percent."""
    return show(value, "%" if unit == "%" else si(unit or "1")[0], 4)


def bounds(entry: ValueEntry | FieldEntry) -> str:
    """``at least 97 % and at most 100 %``."""
    parts = []
    for word, given in (("at least", entry.at_least), ("at most", entry.at_most)):
        if given is not None:
            bare = not isinstance(given, str) or given.strip().replace(".", "").lstrip("+-").isdigit()
            unit = f" {entry.unit}" if bare and entry.unit not in ("", "1") else ""
            parts.append(f"{word} {given if isinstance(given, str) else format(given, 'g')}{unit}")
    return " and ".join(parts)


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
        if not field.judged:
            continue
        given = answers.get(field.name)
        criterion = f"{field.title}: {field.expect or bounds(field)}"
        if given is None:
            points.append(Point(criterion=criterion, found="not filled in", state="not measured", where=form.subject))
        elif field.expect:
            state: State = "met" if given.text == field.expect else "not met"
            points.append(Point(criterion=criterion, found=given.text, state=state, where=form.subject))
        elif given.value is None:
            points.append(Point(criterion=criterion, found="no number", state="not measured", where=form.subject))
        else:
            points.append(
                Point(
                    criterion=criterion,
                    found=in_unit(given.value, field.unit),
                    state=within(given.value, field),
                    where=form.subject,
                    value=given.value,
                    unit=field.unit,
                )
            )
    for one in test.attachments:
        if one.required and one.name not in form.attachments:
            points.append(Point(criterion=f"attached: {one.title}", found="missing", state="not measured"))
    return tuple(points)


# ----------------------------------------------------------------------------------------------------------------- tests


def tested(test: Test, attempts: Sequence[Tried], rounds: Sequence[Round], *, abandoned: str = "") -> Tested:
    """A test by its attempts; those of earlier rounds stay in the record and decide nothing."""
    now = [one for one in attempts if one.round == len(rounds) + 1]
    state, reason = _state(test, now, abandoned)
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
        note=test.note,
    )


def _state(test: Test, attempts: Sequence[Tried], abandoned: str) -> tuple[State, str]:
    if waiting := checking.waits(test):
        return "not measured", f"awaits {waiting}"
    counted = [one for one in attempts if one.counts]
    failed = [one for one in counted if one.state == "not met"]
    if failed:
        return "not met", f"attempt {failed[-1].number}: {failed[-1].reason}"
    open_ = [one for one in counted if one.state == "undecided"]
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


def _lacking(test: Test, passed: Sequence[Tried]) -> str:
    """How far the successes fall short of what the plan asks for; empty where they do not."""
    needed = needed_of(test)
    subjects = test.subjects if isinstance(test, ManualTest) and test.subjects else ("",)
    short = [
        f"{sum(one.subject == subject for one in passed)} of {needed}" + (f" with {subject}" if subject else "")
        for subject in subjects
        if sum(one.subject == subject for one in passed) < needed
    ]
    if short:
        return f"done {', '.join(short)} times"
    wanted_s = duration_s(test.over, test.id)
    spanned_s = (max(one.end_ns for one in passed) - min(one.begin_ns for one in passed)) * 1e-9
    if spanned_s < wanted_s:
        return f"its successes span {show_seconds(spanned_s)} of {test.over}"
    return ""


def left_to_do(test: Test, found: Tested) -> int:
    """How many more attempts a test wants now: 0 where it is decided, or waits for something. One that must succeed over
    days wants one at a time."""
    now = [one for one in found.attempts if one.round == len(found.rounds) + 1 and one.counts]
    if found.state == "met" or checking.waits(test) or any(one.state in ("not met", "undecided") for one in now):
        return 0
    if test.over:
        return 1
    return max(1, needed_of(test) - sum(one.state == "met" for one in now))


def needed_of(test: Test) -> int:
    """How many attempts must succeed. A run's repeats are within one attempt, unless it is spread over days."""
    return 1 if isinstance(test, RunTest) and not test.over else test.times


def _enough(test: Test, passed: Sequence[Tried]) -> str:
    if len(passed) == 1:
        points = passed[0].points
        return f"{points[0].criterion}: {points[0].found}" if len(points) == 1 else f"{len(points)} criteria met"
    return f"{len(passed)} attempts, each with all criteria met"


def how(test: Test) -> str:
    """What is done, in words."""
    match test:
        case RunTest():
            words = [f"{name} = {'(to be filled in)' if value == '' else value}" for name, value in test.params.items()]
            words += [f"{name} = {', '.join(map(str, values))}" for name, values in test.sweep.items()]
            nodes = test.nodes if isinstance(test.nodes, tuple) else (test.nodes,)
            place = {"each": " on each node", "all": " over all nodes"}
            over = "".join(place.get(str(one), f" over {one} nodes") for one in nodes)
            return f"run {test.workload}{over}" + (f" with {', '.join(words)}" if words else "")
        case CommandTest():
            return f"command {' '.join(test.command)}" if test.command else "a command of the site's own"
        case ManualTest():
            return "by hand, in the steps below, with a form"


def often(test: Test) -> str:
    """How often it must succeed, in words."""
    subjects = len(test.subjects) if isinstance(test, ManualTest) else 0
    words = "once" if test.times == 1 else f"{test.times} times"
    words += f" with each of {subjects} subjects" if subjects else ""
    return f"{words} over {test.over}" if test.over else words


def criteria(test: Test) -> tuple[str, ...]:
    """What it is held against, in words."""
    match test:
        case RunTest():
            return tuple(limit_words(one) for one in test.limits)
        case CommandTest():
            return (
                f"ends with exit code {test.exit_code or 0} within {test.time_limit}",
                *(f"the output holds {one!r}" for one in test.expect),
                *(f"the output does not hold {one!r}" for one in test.refuse),
                *(f"{one.name}: {bounds(one)}" + (f" [{one.source}]" if one.source else "") for one in test.values),
            )
        case ManualTest():
            return tuple(f"{one.title}: {one.expect or bounds(one)}" for one in test.fields if one.judged)


def limit_words(limit: LimitEntry) -> str:
    """A limit in words: ``stream.triad.bandwidth: at least 0.95 of fleet median``."""
    of = limit.of or limit.of_metric
    parts = []
    for word, given in (("at least", limit.at_least), ("at most", limit.at_most)):
        if given is not None:
            bare = not isinstance(given, str)
            amount = show(float(given), "%" if of else "1", 4) if bare else str(given)
            parts.append(f"{word} {amount}" + (f" of {of}" if of else ""))
    where = ", ".join(f"{name} {value}" for name, value in limit.params.items())
    which = "" if limit.cases == "every" else ", the best case"
    source = f" [{limit.source}]" if limit.source else ""
    return f"{limit.metric}{f' ({where})' if where else ''}: {' and '.join(parts)}{which}{source}"


# ---------------------------------------------------------------------------------------------------------- requirements


def required(plan: Plan, requirement: Requirement, tests: Mapping[str, Tested], waiver: Waiver | None) -> Required:
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
