"""What an acceptance comes to: the records that every form of its report is made from."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..records import Record
from .journal import File
from .sealing import Fault

State = Literal["met", "not met", "undecided", "not measured"]
Standing = Literal["met", "not met", "undecided", "not measured", "waived"]


class Then(Record, frozen=True, kw_only=True):
    """A figure at an earlier acceptance, in the unit of the value beside it. Of a host that was not there: the least and
    the greatest of those that were."""

    value: float
    low: float
    high: float
    time_ns: int  # when its attempt ended
    hosts: tuple[str, ...] = ()  # whose it is, where it is not this host's own


class Point(Record, frozen=True, kw_only=True):
    """One thing that was held against its criterion."""

    criterion: str  # "Triad bandwidth: at least 40 GB/s"
    found: str  # "44.1 GB/s [43.8, 44.3]"
    state: State
    where: str = ""  # host, case, subject
    host: str = ""  # of a run's value or failure
    source: str = ""  # where the limit comes from
    value: float | None = None  # SI
    low: float | None = None
    high: float | None = None
    unit: str = ""
    samples: int = 0
    runs: int = 0
    check: str = ""  # how near the result came to the limit of its own check, and what that compares
    then: Then | None = None  # the figure at the acceptance that this one repeats


class Tried(Record, frozen=True, kw_only=True):
    """One attempt of a test, judged."""

    number: int  # of its test, from 1
    entry: int  # of the journal
    round: int  # from 1; a test that is done anew begins another
    state: State
    reason: str = ""
    by: str = ""
    witness: str = ""
    subject: str = ""
    begin_ns: int
    end_ns: int
    points: tuple[Point, ...] = ()
    observed: tuple[tuple[str, str], ...] = ()  # what a form says besides its criteria: title, answer
    attached: tuple[tuple[str, str], ...] = ()  # title, path of the file
    failure: str = ""  # whose it was: system, application, user, test bug
    classified_by: str = ""
    classified_why: str = ""
    folder: str = ""
    folders: tuple[str, ...] = ()  # of the attempt's own evidence: a session's folder holds other tests' too
    files: int = 0
    answers: dict[str, str] = msgspec.field(default_factory=dict)  # of a form: field -> text
    circumstances: tuple[tuple[str, str], ...] = ()  # at which sizes, rates, groups... its values were measured
    runs: int = 0  # runs that it is made of
    disturbed: int = 0  # of them, those that something else disturbed
    disturbance: str = ""  # what disturbed the first of them

    @property
    def counts(self) -> bool:
        """Whether the verdict rests on it: failures of a user or of the test itself are set aside."""
        return self.failure not in ("user", "test bug")


class Round(Record, frozen=True, kw_only=True):
    """Why a test was done anew."""

    by: str
    reason: str
    time_ns: int


class GivenUp(Record, frozen=True, kw_only=True):
    """A session that was abandoned: what had been measured in it stays in its folder, and is no evidence."""

    folder: str
    reason: str
    runs: int  # that had a result when it was given up
    time_ns: int


class Amendment(Record, frozen=True, kw_only=True):
    """A change of the plan after the acceptance began. What tests that it changed had shown before counts no more."""

    by: str
    reason: str
    time_ns: int
    plan_sha256: str
    replaced_sha256: str  # of the plan before it
    changed: tuple[str, ...] = ()  # what became otherwise, in words
    dropped: tuple[str, ...] = ()  # tests that are no longer in the plan, each with what it had come to


class Fact(Record, frozen=True, kw_only=True):
    """One thing that was accepted: ``CPU``, what it is, and on which hosts."""

    what: str
    found: str
    where: str = ""


class Accepted(Record, frozen=True, kw_only=True):
    """What the evidence was made on: the machine as its own hosts told of it, and under which circumstances."""

    facts: tuple[Fact, ...] = ()
    rehearsal: str = ""  # why this is a rehearsal and no acceptance of a cluster; empty where nothing says so
    runs: int = 0
    disturbed: int = 0
    disturbances: tuple[str, ...] = ()  # what disturbed them, each with the number of runs


class TestThen(Record, frozen=True, kw_only=True):
    """A test as it stood at an earlier acceptance."""

    id: str
    title: str
    state: State
    criteria: tuple[str, ...] = ()


class Before(Record, frozen=True, kw_only=True):
    """The acceptance that this one repeats, as it stood when this one began."""

    folder: str  # where it lay, as it was named
    system: str
    plan: str
    title: str
    plan_sha256: str
    head: str  # the hash of its journal's last entry that is no report
    version: str  # of shakedown
    begun_ns: int
    until_ns: int
    state: State
    tests: tuple[TestThen, ...] = ()
    facts: tuple[Fact, ...] = ()  # what was accepted then


class Evidence(Record, frozen=True, kw_only=True):
    """The files of one attempt, or those that the attempts of one session share."""

    owner: str  # "stream, attempt 2", "session runs/1: all of its tests", "plan"
    files: tuple[File, ...]


class Tested(Record, frozen=True, kw_only=True):
    """One test with all of its attempts."""

    id: str
    title: str
    kind: Literal["run", "command", "manual", "availability"]
    by: str
    severity: str
    how: str  # what is done, in words
    steps: tuple[str, ...] = ()  # of a manual test
    often: str  # "3 times over 14 d"
    criteria: tuple[str, ...]
    state: State
    reason: str
    attempts: tuple[Tried, ...] = ()
    rounds: tuple[Round, ...] = ()
    given_up: tuple[GivenUp, ...] = ()  # sessions that were to do it, and of which nothing counts
    note: str = ""


class Waiver(Record, frozen=True, kw_only=True):
    by: str
    reason: str
    time_ns: int


class Required(Record, frozen=True, kw_only=True):
    """One requirement with its verdict."""

    id: str
    clause: str
    text: str
    page: str = ""
    phase: str = ""
    severity: str
    state: Standing
    shown: State  # what the tests show, waived or not
    reason: str
    tests: tuple[str, ...]  # ids; a test is at home with the first requirement that it names
    at_home: tuple[str, ...] = ()
    waiver: Waiver | None = None


class Result(Record, frozen=True, kw_only=True):
    """All of an acceptance: made from its directory alone, and the same each time."""

    system: str
    parties: dict[str, str]
    signatories: tuple[str, ...] = ()
    plan: str
    title: str
    document: str = ""
    summary: str = ""
    plan_sha256: str
    version: str  # of shakedown
    begun_ns: int
    until_ns: int  # of the last entry of the journal that is no report
    entries: int  # of the journal, up to there
    head: str  # the hash of that entry
    state: State  # of all that is mandatory and not waived
    requirements: tuple[Required, ...]
    tests: tuple[Tested, ...]
    accepted: Accepted = Accepted()
    amendments: tuple[Amendment, ...] = ()
    before: Before | None = None  # the acceptance that this one repeats
    evidence: tuple[Evidence, ...] = ()
    faults: tuple[Fault, ...] = ()

    def counts(self) -> dict[str, int]:
        """State -> how many requirements."""
        order = ("met", "not met", "undecided", "not measured", "waived")
        numbers = {state: sum(one.state == state for one in self.requirements) for state in order}
        return {state: number for state, number in numbers.items() if number}
