"""Acceptance plans: requirements and the tests that show them, one TOML file each.

Those in ``plans/`` are shipped; a user's own is given by its path. A plan is read strictly: a misspelt key is an error
that names the test, its clause and the nearest right key. What a plan means, beyond its keys, is held in checking.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from .. import campaign, strict
from ..campaign import Repeat
from ..errors import COULD_NOT_MEASURE, UNDECIDED, BadInput, unknown
from ..records import Params, Value
from ..strict import to_toml

Severity = Literal["mandatory", "desirable"]
HostKind = Literal["any", "gpu", "bare metal"]
FLEET_MEDIAN = "fleet median"
#: What a limit is of that is held against the figure at an earlier acceptance.
ACCEPTANCE = "acceptance"
_HINT = "the keys are described in docs/acceptance.md; `shakedown accept check` checks a plan without running it"


class _Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all that a plan holds."""


class Requirement(_Entry, frozen=True, kw_only=True):
    """What the contract asks for, in its own words."""

    id: str
    clause: str  # as the document numbers it: "3.3 (11)"
    text: str
    page: str = ""
    phase: str = ""  # inventory, functionality, performance, stability: a heading of the report


class LimitEntry(_Entry, frozen=True, kw_only=True):
    """What a metric of a run must reach: a quantity, or a fraction of a peak, of the fleet's median or of a metric."""

    metric: str
    params: Params = {}  # of the cases that it speaks of; empty: all
    at_least: str | float | None = None
    at_most: str | float | None = None
    of: str = ""  # the name of a peak, "fleet median", or "acceptance": the figure then
    of_metric: str = ""
    of_params: Params = {}
    cases: Literal["every", "best"] = "every"  # of several cases on a host: each must reach it, or the best
    source: str = ""  # where the number comes from


class ValueEntry(_Entry, frozen=True, kw_only=True):
    """A number in the output of a command: the first group of ``pattern``, in ``unit``."""

    name: str
    pattern: str
    unit: str = "1"
    at_least: str | float | None = None
    at_most: str | float | None = None
    source: str = ""


class FieldEntry(_Entry, frozen=True, kw_only=True):
    """One line of a form. ``expect``, ``at_least`` and ``at_most`` make it a criterion."""

    name: str
    title: str
    type: Literal["text", "number", "integer", "choice", "yes-no", "time"] = "text"
    unit: str = ""
    choices: tuple[str, ...] = ()
    required: bool = True
    expect: str = ""
    at_least: str | float | None = None
    at_most: str | float | None = None
    after: str = ""  # of a time: the field that it must not be before
    distinct: bool = False  # each time another answer: of two supplies, the first and the second

    @property
    def judged(self) -> bool:
        """Whether the verdict depends on it."""
        return bool(self.expect or self.after) or self.at_least is not None or self.at_most is not None


class AttachmentEntry(_Entry, frozen=True, kw_only=True):
    """A file that a person brings: a photo, a log."""

    name: str
    title: str
    required: bool = False


class _Test(_Entry, frozen=True, kw_only=True):
    id: str
    requirements: tuple[str, ...]
    kind: Literal["run", "command", "manual", "availability"]
    title: str = ""
    by: str = ""  # the role that does it
    severity: Severity = "mandatory"  # a desirable test is reported and decides nothing
    times: strict.Count = 1  # how often it must succeed
    over: str = ""  # "30 d": the successes must span as much
    awaits: str = ""  # what it still waits for; until then it is not measured
    note: str = ""


class RunTest(_Test, frozen=True, kw_only=True):
    """A run of a campaign, with limits on its metrics."""

    workload: str
    params: Params = {}
    sweep: dict[str, tuple[Value, ...]] = {}
    nodes: int | str | tuple[int | str, ...] = ()
    time_limit: str = ""
    hosts: int = 0  # that its values come from, at least; 0: two for a workload of a network, else one
    host_kind: HostKind = "any"  # of which kind those are
    outside: bool = False  # it submits jobs itself: run where `accept run` is called, after the job of the others
    repeat: Repeat | None = None
    limits: tuple[LimitEntry, ...] = msgspec.field(default=(), name="limit")


class CommandTest(_Test, frozen=True, kw_only=True):
    """A program with its arguments, started without a shell, judged by its exit code and its output."""

    command: tuple[str, ...]
    exit_code: int | None = None  # 0 where patterns are given and this is not
    expect: tuple[str, ...] = ()  # patterns that the output must hold
    refuse: tuple[str, ...] = ()  # patterns that it must not hold
    values: tuple[ValueEntry, ...] = msgspec.field(default=(), name="value")
    not_measured: tuple[int, ...] | None = None  # exit codes by which it says that it could not measure, and
    undecided: tuple[int, ...] | None = None  # that nothing is decided yet; by default Shakedown's own 3 and 4
    time_limit: str = "10 min"

    @property
    def open_codes(self) -> dict[int, Literal["not measured", "undecided"]]:
        """Exit codes that say something other than met or not met. Shakedown's own programs need no words for theirs."""
        own = bool(self.command) and Path(self.command[0]).name == "shakedown"
        could_not = self.not_measured if self.not_measured is not None else (COULD_NOT_MEASURE,) * own
        open_ = self.undecided if self.undecided is not None else (UNDECIDED,) * own
        return {**dict.fromkeys(open_, "undecided"), **dict.fromkeys(could_not, "not measured")}


class AvailabilityTest(_Test, frozen=True, kw_only=True):
    """A history of the machine, judged by a contract of `shakedown availability`. It is asked for until it is decided."""

    contract: str  # a shipped one, or a file: a copy is sealed when the acceptance begins
    source: tuple[str, ...] = ()  # "slurm", or files, as --from takes them
    nodes: str = ""  # where no source tells of them
    zone: str = ""
    jobs: str = ""
    begin: str = ""  # from when on; empty: where the sources begin
    time_limit: str = "1 h"


class ManualTest(_Test, frozen=True, kw_only=True):
    """Something that a person does and observes: steps, a form, attachments."""

    steps: tuple[str, ...]
    subjects: tuple[str, ...] = ()  # what it is done with, each ``times`` times: "admin node", "login node"
    witness: str = ""  # who must watch: "the buyer"; empty: nobody must
    fields: tuple[FieldEntry, ...] = msgspec.field(name="field")
    attachments: tuple[AttachmentEntry, ...] = msgspec.field(default=(), name="attachment")


Test: TypeAlias = RunTest | CommandTest | AvailabilityTest | ManualTest
_Kind: TypeAlias = type[RunTest] | type[CommandTest] | type[AvailabilityTest] | type[ManualTest]
_KINDS: dict[str, _Kind] = {
    "run": RunTest,
    "command": CommandTest,
    "availability": AvailabilityTest,
    "manual": ManualTest,
}


class _Raw(_Entry, frozen=True, kw_only=True):
    name: str
    title: str
    document: str = ""
    summary: str = ""
    signatories: tuple[str, ...] = ()
    requirement: list[dict[str, Any]]
    test: list[dict[str, Any]]


class AcceptancePlan(_Entry, frozen=True, kw_only=True):
    """A whole plan."""

    name: str
    title: str
    document: str = ""  # that the clauses are of
    summary: str = ""
    signatories: tuple[str, ...] = ()  # roles that sign
    requirements: tuple[Requirement, ...]
    tests: tuple[Test, ...]

    def clauses(self, test: Test) -> str:
        """The clauses that a test is for: ``clause 3.3 (8)``."""
        if not test.requirements:
            return "of no clause"
        known = {one.id: one.clause for one in self.requirements}
        words = ", ".join(known.get(name, name) for name in test.requirements)
        return f"clause {words}" if len(test.requirements) == 1 else f"clauses {words}"

    def test(self, name: str) -> Test:
        """The test of that id. Raises BadInput with the nearest."""
        for one in self.tests:
            if one.id == name:
                return one
        raise unknown("test", name, (one.id for one in self.tests), where=self.name)

    def requirement(self, name: str) -> Requirement:
        """The requirement of that id, or of that clause. Raises BadInput with the nearest, or with all of a clause."""
        for one in self.requirements:
            if name == one.id:
                return one
        mine = [one for one in self.requirements if name == one.clause]
        if len(mine) > 1:
            ids = ", ".join(one.id for one in mine)
            raise BadInput(f"clause {name} has {len(mine)} requirements", where=self.name, hint=f"name one: {ids}")
        if mine:
            return mine[0]
        raise unknown("requirement", name, (one.id for one in self.requirements), where=self.name)

    def tests_of(self, requirement: Requirement) -> tuple[Test, ...]:
        """Every test that is for the requirement."""
        return tuple(one for one in self.tests if requirement.id in one.requirements)


def names() -> tuple[str, ...]:
    """The names of the shipped plans."""
    files = resources.files("shakedown.acceptance").joinpath("plans").iterdir()
    return tuple(sorted(file.name[:-5] for file in files if file.name.endswith(".toml")))


def text_of(name_or_path: str) -> tuple[str, str]:
    """The TOML text of a shipped plan or of a user's file, and what to call it in messages. Raises BadInput."""
    if name_or_path in names():
        file = resources.files("shakedown.acceptance").joinpath("plans", f"{name_or_path}.toml")
        return file.read_text("utf-8"), name_or_path
    path = Path(name_or_path)
    if path.suffix == ".toml" or path.exists():
        return strict.read_text(path, hint=f"give a TOML file or one of: {', '.join(names())}"), str(path)
    raise unknown("acceptance plan", name_or_path, names())


def parse(text: str, where: str) -> AcceptancePlan:
    """A plan from its TOML text: its keys and types are right. Raises BadInput."""
    raw = strict.convert(strict.read_toml(text, where), _Raw, where, hint=_HINT)
    requirements = tuple(
        _one(table, Requirement, f"{where}: requirement {number}{_clause(table, {})}")
        for number, table in enumerate(raw.requirement, 1)
    )
    clauses = {one.id: one.clause for one in requirements}
    tests = tuple(
        _one(table, _kind(table, number, where, clauses), f"{where}: test {number}{_clause(table, clauses)}")
        for number, table in enumerate(raw.test, 1)
    )
    return AcceptancePlan(
        name=raw.name,
        title=raw.title,
        document=raw.document,
        summary=raw.summary,
        signatories=raw.signatories,
        requirements=requirements,
        tests=tests,
    )


_S = TypeVar("_S", bound=msgspec.Struct)


def _one(table: dict[str, Any], kind: type[_S], where: str) -> _S:
    return strict.convert(table, kind, where, hint=_HINT)


def _kind(table: dict[str, Any], number: int, where: str, clauses: Mapping[str, str]) -> _Kind:
    given = table.get("kind")
    if given in _KINDS:
        return _KINDS[given]
    place = f"{where}: test {number}{_clause(table, clauses)}"
    if given is None:
        raise BadInput("the key 'kind' is missing", where=place, hint=f"one of: {', '.join(_KINDS)}")
    raise unknown("kind", str(given), _KINDS, where=place)


def _clause(table: Mapping[str, Any], clauses: Mapping[str, str]) -> str:
    """What to call an entry that could not be read yet: its id and its clauses."""
    words = f' "{table["id"]}"' if "id" in table else ""
    asked = table.get("requirements")
    if isinstance(asked, list):
        return f"{words} (clause {', '.join(clauses.get(str(name), str(name)) for name in asked)})"
    return f"{words} (clause {table['clause']})" if "clause" in table else words


def duration_s(text: str, where: str) -> float:
    """A duration such as "30 d" in seconds; 0 for none. Raises BadInput."""
    return campaign.seconds(text, where) if text else 0.0


def run_entry(test: RunTest, number_of_repeats: int) -> campaign.RunEntry:
    """The campaign's entry of a test. What cannot run here is skipped and said: the verdict then names it."""
    repeat = test.repeat or Repeat()
    most = max(repeat.max, number_of_repeats)
    return campaign.RunEntry(
        workload=test.workload,
        params=test.params,
        sweep=test.sweep,
        nodes=test.nodes,
        limit=test.time_limit,
        repeat=Repeat(min=max(repeat.min, number_of_repeats), max=most, interval=repeat.interval),
        optional=True,
    )


def repeats_of(test: RunTest) -> int:
    """How often a test's runs are repeated in one session; one that must succeed over days has one in each."""
    return 1 if test.over else test.times


def campaign_toml(plan: AcceptancePlan, tests: Iterable[RunTest]) -> str:
    """The campaign that runs ``tests``, as TOML text."""
    lines = [f"name = {to_toml(plan.name)}", f"title = {to_toml(plan.title)}"]
    for test in tests:
        entry = run_entry(test, repeats_of(test))
        assert entry.repeat is not None
        repeat: dict[str, object] = {"min": entry.repeat.min, "max": entry.repeat.max}
        if entry.repeat.interval is not None:
            repeat["interval"] = entry.repeat.interval
        lines += ["", "[[run]]", f"workload = {to_toml(entry.workload)}", f"params = {to_toml(entry.params)}"]
        lines += [f"repeat = {to_toml(repeat)}"]
        lines += [f"sweep = {to_toml(entry.sweep)}"] if entry.sweep else []
        lines += [f"nodes = {to_toml(entry.nodes)}"] if entry.nodes != () else []
        lines += [f"limit = {to_toml(entry.limit)}"] if entry.limit else []
    return "\n".join([*lines, ""])
