"""Runs -> points: the findings of a test's own runs against its limits, host by host and case by case.

A limit that is relative becomes a number first (references.py): a fraction of a peak of the host, of the median over
the fleet, of another metric's value, or of the figure at an earlier acceptance. The comparison itself, with its
intervals, is that of analysis/limits.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ..analysis import build, checks, derive, limits, published_comparison, ratios, table, values
from ..document.text import listed, params_of, value_with_interval
from ..errors import nearest
from ..records import Analysis, Finding, Limit, Measurement, Metric, Params, Peak, Plan, Residual, Verdict
from ..results.run_directory import RunDirectory
from ..units import show
from ..workloads.common import gpu
from . import checking, hosts, references
from .plan import ACCEPTANCE, LimitEntry, RunTest, repeats_of
from .results import Point, State
from .verdict import NO_VALUE
from .words import limit_words

if TYPE_CHECKING:
    from .baseline import Baseline

#: States of a run that are a failure of what was tested; in the others nothing was shown.
_FAILED = ("wrong", "failed", "crashed", "timeout")
_MOST_POINTS = 2000


class Measured(NamedTuple):
    """One run directory, read once for all of its tests."""

    plan: Plan
    analysis: Analysis
    measurements: Sequence[Measurement]
    peaks: dict[str, tuple[Peak, ...]]
    baseline: Baseline | None = None  # the figures at the acceptance that this one repeats


def load(path: Path, baseline: Baseline | None = None) -> Measured:
    """A run directory with everything that limits need. Raises StoreFailed."""
    opened = RunDirectory.open(path)
    part = build.read(opened, whole=True)
    analysis, _ = build.from_part(opened, part)
    peaks = {host.name: host.peaks for host in analysis.machine.hosts}
    names = {one.host for one in analysis.findings}
    if len(peaks) == 1:  # a host that is unknown to the machine is of its one kind
        peaks = dict.fromkeys({*names, *peaks}, analysis.machine.hosts[0].peaks)
    peaks |= build.peaks_of_jobs(names - peaks.keys(), analysis.machine)
    return Measured(part.plan, analysis, part.measurements, peaks, baseline)


def points(test: RunTest, runs: Sequence[str], session: Measured) -> tuple[Point, ...]:
    """Everything that a test's runs are held against."""
    mine = [one for one in session.measurements if one.run in set(runs)]
    if not mine:
        why = [one.why for one in session.plan.skipped if one.what == test.workload]
        skipped = why[0] if why else "no run of it"
        return (Point(criterion=f"{test.workload} runs", found=skipped, state="not measured"),)
    mine, few = hosts.counted(test, mine, session.analysis.machine)
    found = [_ended(one) for one in mine if one.state != "ok"]
    if few:
        return (*found, few)
    found_here = findings(mine, session)
    known = _checks(mine)
    metrics = {metric.name: metric for metric in session.analysis.metrics}
    said = _said(mine)
    for entry in test.limits:
        found += [
            msgspec.structs.replace(one, found=f"{NO_VALUE}: {said}") if one.found == NO_VALUE and said else one
            for one in _limit(entry, test, found_here, metrics, session, known)
        ]
    return tuple(found[:_MOST_POINTS])


def _ended(one: Measurement) -> Point:
    """A run that came to no result, or to none on some devices, with what it said itself: less its own name and the exit
    code that stands for it."""
    broken = one.state in _FAILED or (one.state == "partial" and gpu.at_fault(one.notices))
    state: State = "not met" if broken else "not measured"
    said = re.sub(rf"^exit code \d+: (?={re.escape(one.workload)}: )", "", one.reason)
    found = f"{one.state}: {said.removeprefix(f'{one.workload}: ')}"
    return Point(
        criterion=f"{one.workload} ends successfully", found=found, state=state, where=one.host, host=one.host, runs=1
    )


def _said(measurements: Iterable[Measurement]) -> str:
    """What the programs of runs that ended successfully told of what they could not do: why a value may be missing."""
    texts = dict.fromkeys(
        one.text for run in measurements if run.state == "ok" for one in run.notices if one.code.endswith(_WITHOUT)
    )
    return "; ".join(texts)


#: Ends of the codes of notices that say that something was not measured.
_WITHOUT = ("-no-lossless-rate", "-no-latency", "-left-out", "-tool", "-kind", "-absent")
#: By host, kernel and parameters: the check that came nearest to its limit.
_Checks = Mapping[tuple[str, str, str], Residual]


def _checks(measurements: Iterable[Measurement]) -> _Checks:
    """The worst check of each case over its repeats."""
    worst: dict[tuple[str, str, str], Residual] = {}
    for one in measurements:
        for case in one.cases:
            if case.residual is None:
                continue
            params = {name: value for name, value in case.params.items() if name != "host"}
            place = (str(case.params.get("host", one.host)), case.kernel, table.key(params))
            held = worst.setdefault(place, case.residual)
            if checks.share_of(case.residual) > checks.share_of(held):
                worst[place] = case.residual
    return worst


def _check_of(one: Finding, metric: Metric, known: _Checks) -> str:
    """How a figure's own check came out, in words; empty where it has none."""
    found = known.get((one.host, metric.kernel, table.key(one.params)))
    return f"{checks.words(found)}: {found.kind}" if found else ""


def findings(measurements: Iterable[Measurement], session: Measured) -> list[Finding]:
    """The findings of these runs alone; what other tests of the session measured does not mix with them."""
    from .. import workloads

    mine = list(measurements)
    by_workload = {name: workloads.get(name).metrics for name in sorted({one.workload for one in mine})}
    metrics = {metric.name: metric for group in by_workload.values() for metric in group}
    found = derive.findings(table.from_measurements(mine), by_workload)
    return ratios.ratios(limits.with_fractions(found, metrics, session.peaks), by_workload)


def _limit(
    entry: LimitEntry,
    test: RunTest,
    found_here: list[Finding],
    metrics: Mapping[str, Metric],
    session: Measured,
    known: _Checks,
) -> list[Point]:
    metric = metrics.get(entry.metric)
    valued = [one for one in found_here if one.metric == entry.metric and one.value is not None]
    spoken = [one for one in valued if all(one.params.get(name) == value for name, value in entry.params.items())]
    if metric is None or not spoken:
        why = _not_among(entry.params, valued) or NO_VALUE
        return [Point(criterion=limit_words(entry), found=why, state="not measured", source=entry.source)]
    figures = [one for one in spoken if values.is_figure(metric, one.params, entry.params)]
    real = [one for one in spoken if not values.void(metric, one.params)]
    if real and not figures:
        why = limits.only_others(metric, real)
        return [Point(criterion=limit_words(entry), found=why, state="not measured", source=entry.source)]
    spoken = figures or spoken  # what measures nothing of the metric is undecided, case by case
    if entry.cases == "best":
        spoken = references.best(spoken)
    limit = checking.limit_of(entry, metric)
    held = [
        msgspec.structs.replace(
            _held(entry, limit, one, metric, found_here, session, test), check=_check_of(one, metric, known)
        )
        for one in spoken
    ]
    found = _placed(held, spoken)
    if test.nodes == "each":
        there = {one.host for one in spoken}
        found += [
            Point(criterion=limit_words(entry), found=NO_VALUE, state="not measured", where=host.name)
            for host in hosts.of_kind(test, session.analysis.machine)
            if host.name not in there
        ]
    return found


def _not_among(wanted: Params, valued: Sequence[Finding]) -> str:
    """Why no case is the one that a limit speaks of, though there are values; empty where there are none."""
    if not valued:
        return ""
    known = sorted({name for one in valued for name in one.params})
    for name, value in wanted.items():
        there = list(dict.fromkeys(published_comparison.word(one.params[name]) for one in valued if name in one.params))
        if not there:
            near = nearest(name, known)
            meant = f"did you mean {near!r}? " if near else ""
            return f"no case has the parameter {name!r}; {meant}there are {', '.join(known) or 'none'}"
        if published_comparison.word(value) not in there:
            return f"no case has {name} = {value}; there are {listed(there)}"
    return "no case has all of these parameters together"


def _held(
    entry: LimitEntry,
    limit: Limit,
    one: Finding,
    metric: Metric,
    found_here: list[Finding],
    session: Measured,
    test: RunTest,
) -> Point:
    """One finding against one limit: surely met only where it is met at both ends of what the limit is of."""
    if why := values.void(metric, one.params):
        return _point(one, limit_words(entry), entry, "undecided", f"{value_with_interval(one)}, {why}")
    absolute = msgspec.structs.replace(limit, of="", source="")
    criterion, verdicts, then = "", [], None
    if entry.of or entry.of_metric:
        reference = references.reference(entry, one, found_here, session, test.id)
        criterion = f"{metric.title}: {_bounds(limit, reference.words)}"
        if reference.missing:
            return _point(one, criterion, entry, "undecided", reference.missing)
        then = reference if entry.of == ACCEPTANCE else None
        for end in dict.fromkeys((reference.low, reference.high)):
            verdicts.append(_verdict(_scaled(absolute, end), one, metric))
    else:
        verdicts = [_verdict(absolute, one, metric)]
        criterion = f"{metric.title}: {_absolute(entry, metric, limit)}"
    states = {verdict.state for verdict in verdicts}
    state: State = states.pop() if len(states) == 1 else "undecided"
    words = verdicts[0].evidence.removeprefix("measured ")
    if then:
        words += f": {references.ratio_words(one, then)}"
    wanted = repeats_of(test)
    if state == "met" and one.n_runs < wanted:
        return _point(one, criterion, entry, "undecided", f"{words} from {one.n_runs} of {wanted} runs", then)
    return _point(one, criterion, entry, state, words, then)


def _verdict(limit: Limit, one: Finding, metric: Metric) -> Verdict:
    return limits.verdicts((limit,), (one,), {metric.name: metric}, {})[0]


def _scaled(limit: Limit, by: float) -> Limit:
    return msgspec.structs.replace(
        limit,
        at_least=None if limit.at_least is None else limit.at_least * by,
        at_most=None if limit.at_most is None else limit.at_most * by,
    )


def _bounds(limit: Limit, of: str) -> str:
    parts = [
        f"{word} {show(given, '%')} of {of}"
        for word, given in (("at least", limit.at_least), ("at most", limit.at_most))
        if given is not None
    ]
    return " and ".join(parts)


def _absolute(entry: LimitEntry, metric: Metric, limit: Limit) -> str:
    """An absolute limit as the plan words it; with the unit of the values beside it where the plan takes another."""
    parts = []
    for word, given, value in (("at least", entry.at_least, limit.at_least), ("at most", entry.at_most, limit.at_most)):
        if given is None or value is None:
            continue
        plain = show(value, metric.unit)
        if metric.unit == "1":
            amount = str(given).strip() if isinstance(given, str) else plain
        elif not isinstance(given, str) or given.split()[-1].replace("us", "µs") == plain.split()[-1]:
            amount = plain
        else:
            amount = f"{given.strip()} ({plain})"
        parts.append(f"{word} {amount}")
    return " and ".join(parts)


def _point(
    one: Finding,
    criterion: str,
    entry: LimitEntry,
    state: State,
    found: str,
    then: references.Reference | None = None,
) -> Point:
    return Point(
        criterion=criterion,
        found=found,
        state=state,
        where=one.host,
        host=one.host,
        source=entry.source,
        value=one.value,
        low=one.low,
        high=one.high,
        unit=one.unit,
        samples=one.n_samples,
        runs=one.n_runs,
        then=then.figure if then else None,
    )


def _placed(points: Sequence[Point], findings: Sequence[Finding]) -> list[Point]:
    """The points with the parameters that tell their cases apart; what is the same in all is left out. A pair of hosts is
    its own place: ``node1 to node2``."""
    names = dict.fromkeys(name for one in findings for name in one.params)
    varying = [name for name in names if len({one.params.get(name) for one in findings}) > 1]
    pairs = [(one.params.get("host_a"), one.params.get("host_b")) for one in findings]
    between = all(a and b for a, b in pairs)
    if between:
        ranked = {(one.params[f"host_{end}"], one.params.get(f"rank_{end}")) for one in findings for end in "ab"}
        single = len(ranked) == len({host for host, _ in ranked})  # one rank on each host: the host says it all
        varying = [name for name in varying if name not in ("host_a", "host_b")]
        varying = [name for name in varying if not (single and name in ("rank_a", "rank_b"))]
    found = []
    for point, one, (a, b) in zip(points, findings, pairs, strict=True):
        case = params_of(one.params, varying)
        place = f"{a} to {b}" if between else one.host
        found.append(msgspec.structs.replace(point, where=f"{place} ({case})" if case else place))
    return found
