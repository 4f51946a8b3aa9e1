"""Run directories, or the findings of an analysis -> the pairs of each value and size, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ... import workloads
from ...records import Absent, Case, Finding, Metric, Params
from ...results.run_directory import RunDirectory
from .. import case_stream, derive, table
from ..table import Floats, Ints
from ..values import applies, is_reported, value
from .records import DeadLink

#: Parameters that tell one pair from another, and others that differ with them; what is left is common to a matrix.
_NEEDED = ("rank_a", "rank_b", "host_a", "host_b")
_BESIDE = ("cpu_a", "cpu_b")
LEVEL_Z = 1.96  # half the width of a 95 % interval, in standard uncertainties


class Pairs(NamedTuple):
    """One metric at one set of common parameters. A row is one series of samples of one pair; pairs may come twice."""

    metric: Metric
    params: Params
    places: tuple[str, ...]
    hosts: tuple[str, ...]  # of each place: the same, but where several ranks of a host were measured
    a: Ints  # places; where directions are apart, a sends
    b: Ints
    values: Floats  # of the metric
    spread: Floats  # relative standard uncertainty of the value from its own samples; NaN where unknown
    round: Ints  # -1 where nothing is known of rounds
    dead: tuple[DeadLink, ...] = ()


End = tuple[str, int]  # of a pair: host and rank


class Rows(NamedTuple):
    """One matrix while it is gathered, before the places have numbers; lists of equal length, but for ``dead``."""

    workload: str
    metric: Metric
    params: Params
    a: list[End]
    b: list[End]
    values: list[float]
    spread: list[float]
    cases: list[int]  # which case each row is of; empty where they come from findings
    dead: list[tuple[End, End, str]]


class Gathered:
    """Matrices by workload, metric and common parameters, in the order of their first row."""

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], Rows] = {}

    def rows(self, workload: str, metric: Metric, common: Params) -> Rows:
        """The matrix that a pair with these common parameters belongs to."""
        key = (workload, metric.name, *sorted(common.items()))
        if key not in self._groups:
            self._groups[key] = Rows(workload, metric, common, [], [], [], [], [], [])
        return self._groups[key]

    def all(self) -> list[Rows]:
        return list(self._groups.values())


def _split(params: Params) -> tuple[End, End]:
    """The two ends of a pair; what is common to all pairs stays in ``params``."""
    a = (str(params.pop("host_a")), int(params.pop("rank_a")))
    b = (str(params.pop("host_b")), int(params.pop("rank_b")))
    for name in _BESIDE:
        params.pop(name, None)
    return a, b


def from_directories(directories: Sequence[RunDirectory]) -> tuple[list[Pairs], list[Absent]]:
    """Every matrix of pairs in the run directories, and what in them is damaged. Raises StoreFailed."""
    gathered = Gathered()
    damaged: list[Absent] = []
    for directory in directories:
        (cases, dead), broken = case_stream.read(directory, _loose)
        damaged += broken
        if not len(cases) and not dead and (directory.path / table.PACKED).exists():
            cases = table.unpack([directory.path / table.PACKED])
        _add(gathered, cases)
        for workload, metric, params, why in dead:
            common = dict(params)
            a, b = _split(common)
            gathered.rows(workload, metric, common).dead.append((a, b, why))
    return [_matrix(rows) for rows in gathered.all()], damaged


def from_cases(cases: table.Cases) -> list[tuple[Pairs, list[int]]]:
    """The same from the cases of runs that ended successfully, each with the case of each row."""
    gathered = Gathered()
    _add(gathered, cases)
    return [(_matrix(rows), rows.cases) for rows in gathered.all()]


def from_findings(findings: Iterable[Finding]) -> list[Pairs]:
    """The same from findings, whose repeats are pooled."""
    gathered = Gathered()
    chosen: dict[tuple[str, str], Metric | None] = {}
    for one in findings:
        if not _is_pair(one.params) or not one.value or one.value <= 0:
            continue
        key = (one.workload, one.metric)
        if key not in chosen:
            metrics = workloads.get(one.workload).metrics
            mine = next((metric for metric in metrics if metric.name == one.metric), None)
            chosen[key] = mine if mine is not None and mine == metric_of(metrics, mine.kernel) else None
        metric = chosen[key]
        if metric is None:
            continue
        spread = float("nan")
        if one.low is not None and one.high is not None and one.low > 0:
            spread = float(np.log(one.high / one.low)) / 2 / LEVEL_Z
        common = dict(one.params)
        a, b = _split(common)
        rows = gathered.rows(one.workload, metric, common)
        rows.a.append(a)
        rows.b.append(b)
        rows.values.append(one.value)
        rows.spread.append(spread)
    return [_matrix(rows) for rows in gathered.all()]


Dead = tuple[str, Metric, Params, str]  # workload, metric, parameters of the pair, why


def _loose(measurements: Iterable[case_stream.CaseStream]) -> tuple[table.Cases, list[Dead]]:
    """The cases of pairs, whatever became of the run: a damaged or a dead link must not hide the others.

    Cases whose own check failed are dead pairs.
    """
    dead: list[Dead] = []
    return table.from_measurements(_Good(record, dead) for record in measurements), dead


class _Good:
    """A measurement as if it had ended successfully, with the cases of pairs that have values; dead ones are told apart."""

    state = "ok"

    def __init__(self, record: case_stream.CaseStream, dead: list[Dead]) -> None:
        self._record, self._dead = record, dead
        self.run, self.repeat, self.workload, self.host = record.run, record.repeat, record.workload, record.host

    @property
    def cases(self) -> Iterator[Case]:
        for case in self._record.cases:
            if not _is_pair(case.params):
                continue
            check = case.residual
            if check is not None and not check.passed:
                why = check.kind if check.value is None else f"{check.value:g} {check.kind}"
                metric = metric_of(workloads.get(self.workload).metrics, case.kernel)
                if metric is not None:
                    self._dead.append((self.workload, metric, case.params, why))
            elif case.seconds:
                yield case


def _is_pair(params: Mapping[str, object]) -> bool:
    return all(name in params for name in _NEEDED)


def are_pairs(cases: table.Cases) -> NDArray[np.bool_]:
    """Which cases are of pairs of nodes or ranks."""
    return np.array(['"rank_a"' in text and '"host_b"' in text for text in cases.params], bool)


def _add(gathered: Gathered, cases: table.Cases) -> None:
    """Each case's value by the metric of its kernel, with its own spread."""
    pairs = are_pairs(cases)
    if not pairs.any():
        return
    got = derive.series(cases.counts, cases.seconds)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.log(got.high / got.low) / 2 / LEVEL_Z
    spread[cases.counts < 3] = np.nan
    medians, spreads = got.median.tolist(), spread.tolist()
    decoder = msgspec.json.Decoder(Params)
    known: dict[tuple[object, ...], tuple[Metric | None, dict[str, float]]] = {}
    groups: dict[tuple[object, ...], Rows] = {}
    for index in np.flatnonzero(pairs & (got.median > 0)).tolist():
        of = (cases.workload[index], cases.kernel[index], cases.work[index])
        if of not in known:
            known[of] = _metric_and_work(*of)
        metric, work = known[of]
        if metric is None:
            continue
        common = decoder.decode(cases.params[index])
        a, b = _split(common)
        group = (of[0], of[1], *common.items())  # the text has its keys in order
        rows = groups.get(group)
        if rows is None:
            rows = groups[group] = gathered.rows(of[0], metric, common)
        rows.a.append(a)
        rows.b.append(b)
        rows.values.append(value(metric, medians[index], work))
        rows.spread.append(spreads[index])
        rows.cases.append(index)


def _metric_and_work(workload: str, kernel: str, text: str) -> tuple[Metric | None, dict[str, float]]:
    """The metric that the values of such cases are in, None where it does not apply; and their work."""
    work = msgspec.json.decode(text, type=dict[str, float])
    metric = metric_of(workloads.get(workload).metrics, kernel)
    return (metric if metric is not None and applies(metric, work) else None), work


def metric_of(metrics: Iterable[Metric], kernel: str) -> Metric | None:
    """The first metric of the kernel: the others say the same of the same seconds."""
    found = (one for one in metrics if one.kernel == kernel and one.better != "none" and not is_reported(one))
    return next(found, None)


def _matrix(rows: Rows) -> Pairs:
    dead_ends = [end for a, b, _ in rows.dead for end in (a, b)]
    met = {*rows.a, *rows.b, *dead_ends}
    every = [*zip(rows.a, rows.b, strict=True), *((a, b) for a, b, _ in rows.dead)]
    several = any(a[0] == b[0] for a, b in every)  # ranks of one host met: a place is a rank
    by_place: dict[str, str] = {}
    number: dict[End, int] = {}
    numbers: dict[str, int] = {}
    for end in sorted(met, key=lambda one: (one[1], one[0])):
        name = _name(end, several)
        by_place[name] = end[0]
        number[end] = numbers.setdefault(name, len(numbers))
    a, b = (np.array([number[end] for end in ends], np.int64) for ends in (rows.a, rows.b))
    dead = (DeadLink(a=_name(a, several), b=_name(b, several), why=why) for a, b, why in rows.dead)
    together = rows.params.get("pattern") == "tournament"
    return Pairs(
        metric=rows.metric,
        params=rows.params,
        places=tuple(by_place),
        hosts=tuple(by_place.values()),
        a=a,
        b=b,
        values=np.array(rows.values, float),
        spread=np.array(rows.spread, float),
        round=rounds(a, b) if together else np.full(len(a), -1, np.int64),
        dead=tuple(dict.fromkeys(dead)),
    )


def _name(end: End, several: bool) -> str:
    return f"{end[0]}:{end[1]}" if several else end[0]


def rounds(a: Ints, b: Ints) -> Ints:
    """The number of each row's round: rows come round by round, and nobody plays twice in one."""
    found = np.empty(len(a), np.int64)
    number = 0
    busy: set[int] = set()
    for index, (one, other) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        if one in busy or other in busy:
            number += 1
            busy.clear()
        busy.update((one, other))
        found[index] = number
    return found
