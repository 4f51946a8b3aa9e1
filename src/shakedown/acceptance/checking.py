"""What a plan must be beyond its keys: every requirement has a test, and every test something that it can fail by.

All that is wrong is found at once, each with the clause that it concerns.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import msgspec

from .. import campaign, units, workloads
from ..errors import BadInput, ShakedownError, nearest
from ..records import Limit, Metric
from .plan import (
    ACCEPTANCE,
    FLEET_MEDIAN,
    AcceptancePlan,
    AvailabilityTest,
    CommandTest,
    FieldEntry,
    LimitEntry,
    ManualTest,
    RunTest,
    Test,
    ValueEntry,
    duration_s,
    parse,
    repeats_of,
    run_entry,
    text_of,
)

#: What a limit can be of besides a peak.
_RELATIVE = (FLEET_MEDIAN, ACCEPTANCE)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a plan: where (with its clause), what, and what to do next."""

    where: str
    what: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f"\n  next: {self.hint}" if self.hint else "")


def load(name_or_path: str) -> tuple[AcceptancePlan, str]:
    """A plan that is right, and its text. Raises BadInput with everything that is wrong."""
    text, where = text_of(name_or_path)
    return checked(text, where), text


def checked(text: str, where: str) -> AcceptancePlan:
    """A plan from its text, right in every point. Raises BadInput with everything that is wrong."""
    plan = parse(text, where)
    found = problems(plan)
    if found:
        first, *rest = found
        more = "".join(f"\n{one}" for one in rest)
        raise BadInput(first.what, where=f"{where}: {first.where}", hint=f"{first.hint or 'fix it'}{more}")
    return plan


def problems(plan: AcceptancePlan) -> list[Problem]:
    """All that is wrong with a plan, in its order; empty for one that is right."""
    found: list[Problem] = []
    if not _NAME.fullmatch(plan.name):
        hint = "up to 64 letters, digits, dots, dashes and underscores; the title is free"
        found.append(Problem(where=f'name = "{plan.name}"', what="is not a valid name", hint=hint))
    for role, number in Counter(plan.signatories).items():
        if number > 1 or not role.strip():
            what = f"there are {number} of this role" if number > 1 else "is empty"
            found.append(Problem(where=f'signatory "{role}"', what=what, hint="name each role once"))
    for kind, names in (("requirement", [r.id for r in plan.requirements]), ("test", [t.id for t in plan.tests])):
        found += [
            Problem(where=f'{kind} "{name}"', what=f"there are {number} of this id", hint="give each an id of its own")
            for name, number in Counter(names).items()
            if number > 1
        ]
        found += [
            Problem(
                where=f'{kind} "{name}"',
                what="is not a valid id: folders are named after it",
                hint="up to 64 letters, digits, dots, dashes and underscores",
            )
            for name in names
            if not _NAME.fullmatch(name)
        ]
    for requirement in plan.requirements:
        empty = [name for name in ("clause", "text") if not getattr(requirement, name).strip()]
        if empty:
            what = f"{' and '.join(empty)} say{'s' * (len(empty) == 1)} nothing"
            found.append(Problem(where=f'requirement "{requirement.id}"', what=what, hint="as the contract has it"))
        if not plan.tests_of(requirement):
            where = f'requirement "{requirement.id}" (clause {requirement.clause})'
            hint = f'add a [[test]] with requirements = ["{requirement.id}"]'
            found.append(Problem(where=where, what="has no test", hint=hint))
    if not plan.requirements:
        found.append(Problem(where="the plan", what="has no requirement", hint="add a [[requirement]]"))
    known = {one.id for one in plan.requirements}
    for test in plan.tests:
        where = f'test "{test.id}" ({plan.clauses(test)})'
        faults = dict.fromkeys(_test(test, known, plan))  # each once, however many combinations of a sweep have it
        found += [Problem(where=where, what=what, hint=hint) for what, hint in faults]
    return found


Fault = tuple[str, str]


def _where(*cases: tuple[object, str, str]) -> Iterator[Fault]:
    """Of cases (what must not be so, what is said then, the next step) those that are so."""
    return ((what, hint) for is_so, what, hint in cases if is_so)


def _raised(call: Callable[[], object]) -> Iterator[Fault]:
    """What a check that raises has to say."""
    try:
        call()
    except ShakedownError as error:
        yield (error.what, error.hint)


def _test(test: Test, known: set[str], plan: AcceptancePlan) -> Iterator[Fault]:
    if not test.requirements:
        yield "is for no requirement", "name them: requirements = [...]"
    for name in test.requirements:
        if name not in known:
            near = nearest(name, known)
            yield f"is for {name!r}, which is not a requirement", f"did you mean {near!r}?" if near else "add it"
    if test.times < 1:
        yield f"times = {test.times} is not a valid number of times", "once at least"
    yield from _raised(lambda: duration_s(test.over, ""))
    match test:
        case RunTest():
            yield from _run(test, plan)
        case CommandTest():
            yield from _command(test)
        case AvailabilityTest():
            yield from _availability(test)
        case ManualTest():
            yield from _manual(test)


def waits(test: Test) -> str:
    """What a test still waits for before it can be done: a workload, a parameter left empty, a command; empty where it
    can be done."""
    if isinstance(test, RunTest):
        open_ = test.workload not in workloads.names() or "" in test.params.values()
        return test.awaits if open_ else ""
    if isinstance(test, CommandTest):
        return test.awaits if not test.command else ""
    if isinstance(test, AvailabilityTest):
        return test.awaits if not test.source else ""
    return ""


# ----------------------------------------------------------------------------------------------------------------- runs


def _run(test: RunTest, plan: AcceptancePlan) -> Iterator[Fault]:
    if not test.limits:
        yield "has no limit", "add a [[test.limit]] with metric and at_least or at_most"
    if test.workload not in workloads.names():
        if not test.awaits:
            yield from _raised(lambda: workloads.get(test.workload))
        return
    entry = run_entry(test, repeats_of(test))
    yield from _raised(lambda: campaign.nodes(entry, ""))
    if test.repeat and not 1 <= test.repeat.min <= test.repeat.max:
        yield f"repeat min {test.repeat.min} and max {test.repeat.max} must be 1 <= min <= max", "fix it"
    if test.repeat and test.repeat.interval is not None and not 0 < test.repeat.interval < 1:
        yield (
            f"repeat interval {test.repeat.interval:g} is not a valid interval width",
            "a fraction of the value, as 0.02",
        )
    yield from _hosts(test)
    if test.outside and test.nodes != ():
        yield (
            "is `outside` and names nodes",
            "a run outside of the job runs where `accept run` is called: remove one of them",
        )
    yield from _raised(lambda: duration_s(test.time_limit, ""))
    workload = workloads.get(test.workload)
    params = {name: value for name, value in test.params.items() if value != "" or not test.awaits}
    for combination in itertools.product(*test.sweep.values()):
        given = {**params, **dict(zip(test.sweep, combination, strict=True))}
        yield from _raised(lambda given=given: workloads.check_params(workload, given))  # type: ignore[misc]
    metrics = metrics_of(plan)
    own = {metric.name for metric in workload.metrics}
    for number, limit in enumerate(test.limits, 1):
        for what, hint in _limit(limit, own, metrics):
            yield f"limit {number}: {what}", hint


def _hosts(test: RunTest) -> Iterator[Fault]:
    """What is wrong with how many hosts are asked for."""
    if test.hosts < 0:
        yield (
            f"hosts = {test.hosts} is not a valid number of hosts",
            "how many at least; leave it out for what the workload needs",
        )
    nodes = test.nodes if isinstance(test.nodes, tuple) else (test.nodes,)
    most = max((one for one in nodes if isinstance(one, int)), default=0)
    if most and not {"all", "each"} & set(map(str, nodes)) and test.hosts > most:
        yield f"hosts = {test.hosts} and nodes = {most}: nothing can meet it", "fix one of them"


def metrics_of(plan: AcceptancePlan) -> dict[str, Metric]:
    """The metrics of all workloads that the plan runs and that there are, by name."""
    names = {one.workload for one in plan.tests if isinstance(one, RunTest)} & set(workloads.names())
    return {metric.name: metric for name in sorted(names) for metric in workloads.get(name).metrics}


def _limit(limit: LimitEntry, own: set[str], metrics: Mapping[str, Metric]) -> Iterator[Fault]:
    if limit.metric not in own:
        near = nearest(limit.metric, own)
        hint = f"did you mean {near!r}? " if near else ""
        yield f"unknown metric {limit.metric!r}", f"{hint}known: {', '.join(sorted(own))}"
        return
    if limit.at_least is None and limit.at_most is None:
        yield f"limit on {limit.metric!r} has neither at_least nor at_most", "say what it must reach"
        return
    if limit.of and limit.of_metric:
        yield "has both `of` and `of_metric`", "it is compared with one thing"
    if limit.of and limit.of not in _RELATIVE:
        yield from _peak(limit.of, metrics[limit.metric].unit)
    if limit.of_metric:
        other = metrics.get(limit.of_metric)
        if other is None:
            near = nearest(limit.of_metric, metrics)
            yield f"unknown metric {limit.of_metric!r} in of_metric", f"did you mean {near!r}?" if near else "fix it"
        elif other.unit != metrics[limit.metric].unit:
            yield (
                f"of_metric is in {other.unit}, the metric in {metrics[limit.metric].unit}",
                "take one of the same unit",
            )
    try:
        found = limit_of(limit, metrics[limit.metric])
    except BadInput as error:
        yield error.what, error.hint
        return
    if found.at_least is not None and found.at_most is not None and found.at_least > found.at_most:
        yield "at_least is above at_most: nothing can meet it", "fix one of them"


def _peak(name: str, unit: str) -> Iterator[Fault]:
    """What is wrong with the peak that a limit is of; "fleet median" is offered beside the peaks."""
    known = campaign.peaks()
    if name in known:
        yield from _raised(lambda: campaign.check_peak(name, unit, ""))
        return
    names = [*_RELATIVE, *known]
    near = nearest(name, names)
    yield f"unknown peak {name!r}", (f"did you mean {near!r}? " if near else "") + f"known: {', '.join(names)}"


def limit_of(entry: LimitEntry, metric: Metric) -> Limit:
    """A limit in SI units, or as a fraction where it is relative (its ``of`` is then what it is of). Raises BadInput."""
    relative = entry.of or entry.of_metric
    plain = campaign.LimitEntry(
        metric=entry.metric,
        params=entry.params,
        at_least=entry.at_least,
        at_most=entry.at_most,
        of=relative,
        source=entry.source,
    )
    return campaign.limit(plain, "1" if relative else metric.unit, "")


# ------------------------------------------------------------------------------------------------------------- commands


def _command(test: CommandTest) -> Iterator[Fault]:
    first = test.command[0] if test.command else ""
    empty = 'write it as a list of arguments: command = ["sinfo", "-N"]'
    relative = "/" in first and not first.startswith("/")
    judged = test.exit_code is not None or test.expect or test.refuse or test.values
    yield from _where(
        (not test.command and not test.awaits, "has an empty command", empty),
        (test.command and test.awaits, "has its command and still `awaits` it", "remove the key awaits"),
        (relative, f"{first!r} is a relative path", "give an absolute path, or a name that is found on PATH"),
        (not judged, "has no criterion", "give exit_code, expect, refuse or a [[test.value]]"),
    )
    for pattern in (*test.expect, *test.refuse):
        yield from _pattern(pattern, groups=0)
    for value in test.values:
        yield from _pattern(value.pattern, groups=1)
        yield from ((f"value {value.name!r}: {what}", hint) for what, hint in _bounds(value))
    yield from _raised(lambda: duration_s(test.time_limit, ""))
    if not test.time_limit:
        yield "has no time limit", 'write time_limit = "10 min"'


def _availability(test: AvailabilityTest) -> Iterator[Fault]:
    from . import availability

    yield from _raised(lambda: availability.contract_text(test.contract))
    missing = 'name what knows the history: source = ["slurm"], or files'
    often = test.times != 1 or test.over
    yield from _where(
        (not test.source and not test.awaits, "has no source", missing),
        (test.source and test.awaits, "has its source and still `awaits` it", "remove the key awaits"),
        (often, "has times or over", "the contract's window says over how long: remove them"),
    )
    for path in (*test.source, *((test.jobs,) if test.jobs not in ("", "none") else ())):
        if path != "slurm" and not path.startswith("/"):
            yield f"source {path!r} is a relative path", "give an absolute path, or slurm"
    yield from _raised(lambda: duration_s(test.time_limit, ""))


def _pattern(pattern: str, groups: int) -> Iterator[Fault]:
    try:
        found = re.compile(pattern)
    except re.error as error:
        yield f"{pattern!r} is not a valid pattern: {error}", "a Python regular expression; quote it with '...' in TOML"
        return
    if found.groups < groups:
        yield f"{pattern!r} has no group that is the number", r"put it into brackets: 'EL = ([\d.]+)'"


def quantity(given: str | float, unit: str) -> float:
    """A number in SI: ``given`` with its own unit, or a bare number in ``unit``. Raises BadInput."""
    hint = f'write it as "{3:g} {unit}"' if unit and unit != "1" else "write a number"
    try:
        si, factor = units.si(unit or "1")
        if not isinstance(given, str):
            return given * factor
        value, found = units.parse_quantity(given)
        bare = re.fullmatch(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?", given.strip())
    except ValueError as error:
        raise BadInput(str(error), hint=hint) from None
    if bare:
        return value * factor
    if found != si:
        raise BadInput(f"{given!r} is in {found}, not in {si}", hint=hint)
    return value


def _bounds(entry: ValueEntry | FieldEntry) -> Iterator[Fault]:
    if entry.at_least is None and entry.at_most is None and isinstance(entry, ValueEntry):
        yield "has neither at_least nor at_most", "say what it must reach"
    try:
        low, high = (None if one is None else quantity(one, entry.unit) for one in (entry.at_least, entry.at_most))
        quantity(0.0, entry.unit)
    except BadInput as error:
        yield error.what, error.hint
        return
    if low is not None and high is not None and low > high:
        yield "at_least is above at_most: nothing can meet it", "fix one of them"


# --------------------------------------------------------------------------------------------------------------- manual


def _manual(test: ManualTest) -> Iterator[Fault]:
    judged = any(field.judged for field in test.fields)
    yield from _where(
        (test.awaits, "is manual and `awaits` something", "it can be recorded at any time: remove the key"),
        (not test.steps, "has no steps", "say what to do: steps = [...]"),
        (not judged, "has no criterion", "give a field `expect`, `at_least` or `at_most`"),
    )
    names = [*(one.name for one in test.fields), *(one.name for one in test.attachments)]
    for name, number in Counter(names).items():
        if number > 1 or not _NAME.fullmatch(name):
            why = "is there twice" if number > 1 else "is not a valid name"
            yield f"field {name!r} {why}", "letters, digits, dashes and underscores, each once"
    times = {one.name for one in test.fields if one.type == "time"}
    for field in test.fields:
        yield from ((f"field {field.name!r}: {what}", hint) for what, hint in _field(field, times))
        if field.distinct and field.choices and test.times > len(field.choices):
            yield f"field {field.name!r} is another each time, {test.times} times, and has too few choices", "fix one"


def _field(field: FieldEntry, times: set[str]) -> Iterator[Fault]:
    numeric = field.type in ("number", "integer")
    bounded = field.at_least is not None or field.at_most is not None
    untimed = field.after and (field.type != "time" or field.after not in times - {field.name})
    choices = "has choices but is not a choice" if field.choices else "is a choice without choices"
    required = "remove required = false"
    yield from _where(
        (untimed, f"is after {field.after!r}, and both must be times", 'name another field of type = "time"'),
        (field.distinct and not field.required, "is another each time and is not required", required),
        ((field.type == "choice") != bool(field.choices), choices, "fix one of them"),
        (bounded and not numeric, f"has a limit and is a {field.type}", 'only type = "number" or "integer" has one'),
        (numeric and field.expect, "has `expect` and is a number", "give at_least and at_most"),
        (field.judged and not field.required, "decides and is not required", required),
    )
    if numeric:
        yield from _bounds(field)
    words = {"choice": field.choices, "yes-no": ("yes", "no")}.get(field.type)
    if field.expect and words and field.expect not in words:
        yield f"expects {field.expect!r}", f"one of: {', '.join(words)}"
