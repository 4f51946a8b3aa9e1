"""An acceptance directory -> its Result: read the evidence, check it against its checksums, judge it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ..errors import COULD_NOT_MEASURE, MET, NOT_MET, UNDECIDED, ShakedownError, StoreFailed
from ..files.atomic import read_record
from . import accepted, availability, evidence, forms, running, sealing, verdict
from .directory import Acceptance
from .journal import Abandoned, Again, Amended, Attempt, Classified, Entry, Reported, Sealed, Session, Waived
from .plan import AvailabilityTest, CommandTest, ManualTest, RunTest, Test
from .results import GivenUp, Point, Required, Result, Round, Tested, Tried, Waiver
from .sealing import Fault

if TYPE_CHECKING:
    from .run_verdict import Measured

#: Run directories that were read already, by their folder.
Sessions: TypeAlias = "dict[str, Measured]"


def evaluate(acceptance: Acceptance, *, faults: list[Fault] | None = None) -> Result:
    """Every verdict, made again from the evidence. ``faults``: what a verification found, where one was just made.

    An attempt whose evidence is not as it was sealed shows nothing: it is undecided, and says so.
    """
    found = sealing.verify(acceptance.path, acceptance.read, acceptance.plan) if faults is None else faults
    broken = _broken(acceptance, found)
    sessions: Sessions = {}
    tests = {
        test.id: verdict.tested(
            test,
            _attempts(acceptance, test, broken, sessions),
            _rounds(acceptance, test),
            given_up=_given_up(acceptance, test),
        )
        for test in acceptance.plan.tests
    }
    waivers = _waivers(acceptance)
    requirements = tuple(
        verdict.required(acceptance.plan, one, tests, waivers.get(one.id)) for one in acceptance.plan.requirements
    )
    return _result(acceptance, requirements, tuple(tests.values()), found, sessions)


def _result(
    acceptance: Acceptance,
    requirements: tuple[Required, ...],
    tests: tuple[Tested, ...],
    faults: list[Fault],
    sessions: Sessions,
) -> Result:
    begun, plan = acceptance.begun, acceptance.plan
    last = max(index for index, entry in enumerate(acceptance.entries) if not isinstance(entry, Reported))
    return Result(
        system=begun.system,
        parties=begun.parties,
        signatories=plan.signatories,
        plan=plan.name,
        title=plan.title,
        document=plan.document,
        summary=plan.summary,
        plan_sha256=acceptance.amendments[-1].plan_sha256 if acceptance.amendments else begun.plan_sha256,
        version=begun.version,
        begun_ns=begun.time_ns,
        until_ns=acceptance.entries[last].time_ns,
        entries=last + 1,
        head=acceptance.read.hashes[last],
        state=verdict.whole(requirements),
        requirements=requirements,
        tests=tests,
        accepted=accepted.accepted(acceptance, sessions, tests),
        amendments=evidence.amendments(acceptance),
        before=acceptance.baseline.about if acceptance.baseline else None,
        evidence=evidence.by_attempt(acceptance),
        faults=tuple(one for one in faults if not one.path.startswith(f"{sealing.REPORTS}/")),
    )


def test_code(tests: Iterable[Tested]) -> int:
    """The exit code that the states of these tests come to."""
    codes = {"met": MET, "not met": NOT_MET, "undecided": UNDECIDED, "not measured": COULD_NOT_MEASURE}
    return codes[verdict.worst(one.state for one in tests)]


def exit_code(result: Result) -> int:
    """1 for evidence that was changed or a mandatory requirement that is not met; 3 where an attempt at one could not be
    measured; 4 while one is open; else 0."""
    if result.faults or result.state == "not met":
        return NOT_MET
    if result.state == "met":
        return MET
    tried = {one.id for one in result.tests if one.attempts and one.state == "not measured"}
    open_ = [one for one in result.requirements if one.severity == "mandatory" and one.state == "not measured"]
    return COULD_NOT_MEASURE if any(tried & set(one.tests) for one in open_) else UNDECIDED


# -------------------------------------------------------------------------------------------------------------- attempts


def _broken(acceptance: Acceptance, faults: list[Fault]) -> dict[int, str]:
    """Attempts (by their entry's number) whose evidence does not hold, and which file it is."""
    paths = {one.path: one.what for one in faults}
    shared = {entry.folder: entry.files for entry in acceptance.entries if isinstance(entry, Sealed)}
    found: dict[int, str] = {}
    for entry in acceptance.entries:
        if not isinstance(entry, Attempt):
            continue
        for file in (*entry.files, *shared.get(entry.folder, ())):
            if file.path in paths:
                found.setdefault(entry.number, f"its evidence does not hold: {file.path} {paths[file.path]}")
        for one in faults:
            inside = one.path.startswith(f"{entry.folder}/") and (not entry.runs or _of_runs(one.path, entry))
            if one.what.startswith("added") and inside:
                found.setdefault(entry.number, f"its evidence does not hold: {one.path} was added")
    return found


def _of_runs(path: str, entry: Attempt) -> bool:
    """Whether a file below a run directory is one of the attempt's runs, or shared by all."""
    parts = path.removeprefix(f"{entry.folder}/").split("/")
    return parts[0] != "runs" or (len(parts) > 1 and parts[1] in entry.runs)


def _rounds(acceptance: Acceptance, test: Test) -> list[Round]:
    return [
        Round(
            by=one.by,
            reason=f"the plan was amended: {one.reason}" if isinstance(one, Amended) else one.reason,
            time_ns=one.time_ns,
        )
        for one in acceptance.entries
        if isinstance(one, (Again, Amended)) and _begins_anew(one, test.id)
    ]


def _begins_anew(entry: Entry, test: str) -> bool:
    """Whether what a test had shown before this entry counts no more."""
    return (isinstance(entry, Again) and entry.test == test) or (isinstance(entry, Amended) and test in entry.tests)


def _given_up(acceptance: Acceptance, test: Test) -> tuple[GivenUp, ...]:
    """The sessions that were to do a test, and of which nothing came."""
    tests = {one.folder: one.tests for one in acceptance.entries if isinstance(one, Session)}
    return tuple(
        GivenUp(folder=one.folder, reason=one.reason, runs=one.runs, time_ns=one.time_ns)
        for one in acceptance.entries
        if isinstance(one, Abandoned) and test.id in tests.get(one.folder, ())
    )


def _waivers(acceptance: Acceptance) -> dict[str, Waiver]:
    """The waivers that stand, by requirement: the last word counts."""
    found: dict[str, Waiver] = {}
    for one in acceptance.entries:
        if isinstance(one, Waived):
            found.pop(one.requirement, None)
            if not one.withdrawn:
                found[one.requirement] = Waiver(by=one.by, reason=one.reason, time_ns=one.time_ns)
    return found


def _attempts(acceptance: Acceptance, test: Test, broken: dict[int, str], sessions: Sessions) -> list[Tried]:
    classified = {one.attempt: one for one in acceptance.entries if isinstance(one, Classified) and one.test == test.id}
    found: list[Tried] = []
    round_ = 1
    for entry in acceptance.entries:
        if _begins_anew(entry, test.id):
            round_ += 1
        if not isinstance(entry, Attempt) or entry.test != test.id:
            continue
        agreed = next((one for one in acceptance.plan_at(entry.number).tests if one.id == test.id), test)
        judged = _attempt(acceptance, agreed, entry, broken.get(entry.number, ""), sessions)
        said = {}
        if kind := classified.get(entry.number):
            said = {"failure": kind.failure, "classified_by": kind.by, "classified_why": kind.reason}
        found.append(msgspec.structs.replace(judged, number=len(found) + 1, round=round_, **said))
    return found


def _attempt(acceptance: Acceptance, test: Test, entry: Attempt, fault: str, sessions: Sessions) -> Tried:
    tried = Tried(
        number=1,
        entry=entry.number,
        round=1,
        state="undecided",
        by=entry.by or entry.account,
        witness=entry.witness,
        subject=entry.subject,
        begin_ns=entry.begin_ns,
        end_ns=entry.end_ns,
        folder=entry.folder,
        folders=evidence.folders(entry),
        files=len(entry.files),
    )
    if fault:
        return msgspec.structs.replace(tried, reason=fault)
    try:
        points, form = _points(acceptance, test, entry, sessions)
        under = accepted.circumstances(test, entry.runs, sessions[entry.folder]) if isinstance(test, RunTest) else {}
    except ShakedownError as error:
        return msgspec.structs.replace(tried, reason=f"its evidence cannot be read: {error.what}")
    tried = msgspec.structs.replace(
        tried,
        points=points,
        state=verdict.worst(point.state for point in points),
        reason=verdict.reason_of(points),
        **under,
    )
    return _with_form(tried, test, form, entry) if form and isinstance(test, ManualTest) else tried


def _points(
    acceptance: Acceptance, test: Test, entry: Attempt, sessions: Sessions
) -> tuple[tuple[Point, ...], forms.Form | None]:
    folder = acceptance.path / entry.folder
    match test:
        case RunTest():
            from . import run_verdict

            session = sessions.get(entry.folder)
            if session is None:
                session = sessions[entry.folder] = run_verdict.load(folder, acceptance.baseline)
            return run_verdict.points(test, entry.runs, session), None
        case AvailabilityTest():
            ended = read_record(folder / running.COMMAND, running.Ended)
            return availability.points(test, ended.exit_code, ended.timed_out, folder), None
        case CommandTest():
            ended = read_record(folder / running.COMMAND, running.Ended)
            try:
                output = (folder / "stdout").read_bytes().decode("utf-8", "replace")
            except OSError as error:
                raise StoreFailed(f"cannot be read: {error.strerror}", where=str(folder / "stdout")) from None
            return verdict.command_points(test, ended, output), None
        case ManualTest():
            form = read_record(folder / forms.FORM, forms.Form)
            return verdict.form_points(test, form), form


def _with_form(tried: Tried, test: ManualTest, form: forms.Form, entry: Attempt) -> Tried:
    titles = {field.name: field.title for field in test.fields} | {one.name: one.title for one in test.attachments}
    judged = {field.name for field in test.fields if field.judged}
    observed = [(titles.get(one.name, one.name), one.text) for one in form.answers if one.name not in judged]
    if form.remark:
        observed.append(("Remark", form.remark))
    attached = tuple(
        (titles.get(name, name), f"{entry.folder}/{forms.ATTACHMENTS}/{file}")
        for name, file in form.attachments.items()
    )
    return msgspec.structs.replace(
        tried,
        observed=tuple(observed),
        attached=attached,
        by=form.by,
        witness=form.witness,
        answers={one.name: one.text for one in form.answers},
    )
