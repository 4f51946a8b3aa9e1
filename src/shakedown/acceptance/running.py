"""What can be done without a person: runs as one campaign in one run directory, and commands one after the other.

What an interrupted session left is gone on with; nothing that is whole is done again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from ..campaign import Campaign
from ..campaign import plan as plans
from ..errors import BadInput, CannotMeasure, Interrupted, ShakedownError
from ..files import atomic
from ..hosts.process import Process
from ..results.run_directory import RunDirectory
from ..run import session as runs
from ..run.observer import Observer
from ..run.session import How
from . import availability, directory, forms, sealing
from .journal import Abandoned, Attempt, File, Session
from .plan import (
    AvailabilityTest,
    CommandTest,
    ManualTest,
    RunTest,
    Test,
    campaign_toml,
    duration_s,
    repeats_of,
    run_entry,
)

COMMAND = "command.json"
Say = Callable[[str], None]


class Ended(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a command ended."""

    test: str
    argv: tuple[str, ...]
    program: str  # what the first word led to
    host: str
    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    lost: str = ""  # why output could not be kept
    begin_ns: int
    end_ns: int


def run_command(root: Path, test: CommandTest | AvailabilityTest, say: Say) -> Attempt:
    """Start a command once, in a new folder of its own, and seal what it left. Raises BadInput for one that must not be
    started."""
    directory.refuse_if_others_write(root)
    command = test.command if isinstance(test, CommandTest) else availability.command(test)
    path = directory.program(command)
    limit_s = duration_s(test.time_limit, f"test {test.id!r}: time_limit")
    with directory.writing(root) as (acceptance, book):
        folder, name = directory.new_folder(root, acceptance.entries, test.id)
        del book
    say(f"  {test.id}: {' '.join(command)}")
    if isinstance(test, AvailabilityTest):
        availability.keep_sources(root, test, folder)
    begin_ns = time.time_ns()
    process = Process((path, *command[1:]), {"LC_ALL": "C"}, folder)
    try:
        ended = process.wait(limit_s, 0.0, lambda fraction, text: None)
    except BaseException:
        process.kill()
        raise
    record = Ended(
        test=test.id,
        argv=command,
        program=path,
        host=os.uname().nodename,
        exit_code=ended.code,
        signal=ended.signal,
        timed_out=ended.timed_out,
        lost=ended.lost,
        begin_ns=begin_ns,
        end_ns=time.time_ns(),
    )
    atomic.write_record(folder / COMMAND, record)
    with directory.writing(root) as (_, book):
        files = directory.keep(root, folder, name)
        attempt = Attempt(test=test.id, folder=name, begin_ns=begin_ns, end_ns=record.end_ns, files=files)
        written = book.append(attempt, time.time_ns())
    assert isinstance(written, Attempt)
    return written


def run_times(root: Path, test: CommandTest | AvailabilityTest, times: int, say: Say) -> bool:
    """Run a command as often as is left; False where it could not be begun, which is said and does not end the rest."""
    for _ in range(times):
        try:
            run_command(root, test, say)
        except BadInput as error:
            clauses = directory.open_(root).plan.clauses(test)
            say(f"shakedown: test {test.id!r} ({clauses}): {error}")
            return False
    return True


def filled(
    test: ManualTest,
    given: Mapping[str, str],
    files: Sequence[str],
    *,
    subject: str,
    by: str,
    witness: str = "",
    remark: str = "",
) -> tuple[forms.Form, dict[str, Path]]:
    """A form as it was filled in, and what is attached; nothing is written. Raises BadInput for what does not fit."""
    about = forms.subject_of(test, subject)
    forms.refuse_unwatched(test, by, witness)
    answers, attached = forms.answers(test, given), forms.attachments(test, files)
    form = forms.Form(
        test=test.id, subject=about, by=by, witness=witness, remark=remark, observed_ns=time.time_ns(), answers=answers
    )
    return form, attached


def record(root: Path, test: ManualTest, form: forms.Form, attached: Mapping[str, Path]) -> None:
    """Keep a form with what is attached, and seal it. Raises StoreFailed."""
    with directory.writing(root) as (acceptance, book):
        folder, name = directory.new_folder(root, acceptance.entries, test.id)
        forms.write(folder, form, attached)
        kept = directory.keep(root, folder, name)
        book.append(
            Attempt(
                test=test.id,
                folder=name,
                by=form.by,
                witness=form.witness,
                subject=form.subject,
                begin_ns=form.observed_ns,
                end_ns=form.observed_ns,
                files=kept,
            ),
            time.time_ns(),
        )


# ----------------------------------------------------------------------------------------------------------------- runs


def run_session(root: Path, tests: Sequence[RunTest], how: How, observer: Observer) -> bool:
    """Do these tests' runs as one campaign, or go on with the session that is open; True when it was sealed.

    Raises what ``runs.begin`` raises: the session stays open, and the next call goes on with it.
    """
    directory.refuse_if_others_write(root)
    with directory.writing(root) as (acceptance, book):
        session = directory.open_session(acceptance.entries)
        if session is None:
            if not tests:
                return True
            name = directory.next_run_folder(root, acceptance.entries)
            entry = book.append(Session(folder=name, tests=tuple(test.id for test in tests)), time.time_ns())
            assert isinstance(entry, Session)
            session = entry
        else:
            observer.say(f"continuing {session.folder}: {', '.join(session.tests)}")
    mine = [test for name in session.tests if isinstance(test := acceptance.plan.test(name), RunTest)]
    folder = (root / session.folder).resolve()
    try:
        ran = runs.begin_or_go_on(campaign_toml(acceptance.plan, mine), session.folder, folder, how, observer)
    except ShakedownError as error:
        planned = (folder / "manifest.json").exists()
        if not planned and not isinstance(error, Interrupted):  # it came to no plan: nothing to go on with
            abandon(root, error.what)
        raise
    if ran is None:
        return False
    (opened,) = ran.parts  # a plan names no kinds of nodes
    missing = unfinished(opened)
    if missing:
        observer.say(
            f"{session.folder} is not complete yet: {missing} of {len(opened.plan().runs)} runs have no result"
        )
        return False
    of_tests = {test.id: _runs_of(test, opened) for test in mine}
    with directory.writing(root) as (now, book):
        if directory.open_session(now.entries) == session:  # else another call has watched it too, and was first
            directory.seal_session(root, book, session, of_tests, time.time_ns())
    return True


def groups(tests: Sequence[RunTest], how: How) -> list[tuple[list[RunTest], How]]:
    """The sessions that these tests make, in their order, each with how it is carried out: one for all; where a job does
    it, another afterwards for those that run outside of it."""
    if how.batch is None:
        return [(list(tests), how)] if tests else []
    parts = [([one for one in tests if not one.outside], how), ([one for one in tests if one.outside], outside_of(how))]
    return [(mine, way) for mine, way in parts if mine]


def outside_of(how: How) -> How:
    """How tests are run that no job does: where `accept run` is called, and waited for."""
    return How(back=how.back)


def is_outside(tests: Sequence[Test], names: Sequence[str]) -> bool:
    """Whether a session's tests are run where `accept run` is called, and not in a job."""
    mine = {test.id: test for test in tests}
    return all(isinstance(test := mine[name], RunTest) and test.outside for name in names)


def abandon(root: Path, reason: str) -> None:
    """Close the open session, of which nothing came. Its files stay and count for nothing."""
    with directory.writing(root) as (acceptance, book):
        session = directory.open_session(acceptance.entries)
        if session is None:
            raise CannotMeasure(
                "there is no open session", where=str(root), hint="shakedown accept status shows what is"
            )
        folder = root / session.folder
        runs, files = _given_up(root, folder) if (folder / "manifest.json").exists() else (0, ())
        book.append(Abandoned(folder=session.folder, reason=reason, runs=runs, files=files), time.time_ns())


def _given_up(root: Path, folder: Path) -> tuple[int, tuple[File, ...]]:
    """How many results a session has that is given up, and their files: what is still under way in it may change."""
    opened = RunDirectory.open(folder)
    done = opened.load().measurements
    paths = [path for one in done for path in sealing.files_in(opened.folder_with(one)) if not path.is_symlink()]
    return len(done), sealing.seal(root, paths)


def unfinished(opened: RunDirectory) -> int:
    """How many runs of the plan have no measurement at all."""
    done = {one.run for one in opened.load().measurements}
    return sum(run.id not in done for run in opened.plan().runs)


def _runs_of(test: RunTest, opened: RunDirectory) -> tuple[str, ...]:
    """The ids of the runs in a run directory that are a test's: what it alone comes to on the machine that ran them."""
    entry = run_entry(test, repeats_of(test))
    alone = Campaign(name=test.id, title=test.title or test.id, runs=(entry,))
    made = plans.make(alone, opened.machine(), where=test.id, version=opened.manifest().version)
    known = {run.id for run in opened.plan().runs}
    return tuple(run.id for run in made.runs if run.id in known)
