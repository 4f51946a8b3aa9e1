"""Run directories, or the findings of an analysis -> the pairs of each value and size, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ... import workloads
from ...records import Absent, Finding, Measurement, Metric, Params
from ...store import RunDirectory
from .. import build, derive, table
from ..table import Floats, Ints
from ..values import applies, is_reported, value
from .records import DeadLink

#: Parameters that tell one pair from another; what is left is common to all pairs of a matrix.
_OF_A_PAIR = ("rank_a", "rank_b", "cpu_a", "cpu_b", "host_a", "host_b")
_NEEDED = ("rank_a", "rank_b", "host_a", "host_b")
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


class Dead(NamedTuple):
    """A pair whose check failed."""

    workload: str
    params: Params
    metric: Metric
    link: DeadLink


class Series(NamedTuple):
    """One row before the places have numbers."""

    workload: str
    kernel: str
    params: Params
    metric: Metric
    value: float
    spread: float


def from_directories(directories: Sequence[RunDirectory]) -> tuple[list[Pairs], list[Absent]]:
    """Every matrix of pairs in the run directories, and what in them is damaged. Raises StoreFailed."""
    rows: list[Series] = []
    dead: list[Dead] = []
    damaged: list[Absent] = []
    for directory in directories:
        loaded = directory.load()
        damaged += loaded.damaged
        if loaded.measurements:
            rows += _rows(_cases(loaded.measurements))
            dead += [one for record in loaded.measurements for one in _dead(record)]
        elif (directory.path / build.PACKED).exists():
            rows += _rows(table.unpack([directory.path / build.PACKED]))
    return _matrices(rows, dead), damaged


def from_findings(findings: Iterable[Finding]) -> list[Pairs]:
    """The same from findings, whose repeats are pooled."""
    rows = []
    chosen: dict[tuple[str, str], Metric | None] = {}
    for one in findings:
        if not _is_pair(one.params) or not one.value or one.value <= 0:
            continue
        key = (one.workload, one.metric)
        if key not in chosen:
            metrics = workloads.get(one.workload).metrics
            mine = next((metric for metric in metrics if metric.name == one.metric), None)
            chosen[key] = mine if mine is not None and mine == _metric_of(metrics, mine.kernel) else None
        metric = chosen[key]
        if metric is None:
            continue
        spread = float("nan")
        if one.low is not None and one.high is not None and one.low > 0:
            spread = float(np.log(one.high / one.low)) / 2 / LEVEL_Z
        rows.append(Series(one.workload, metric.kernel, one.params, metric, one.value, spread))
    return _matrices(rows, [])


def _cases(measurements: Sequence[Measurement]) -> table.Cases:
    """The cases of pairs, whatever became of the run: a damaged or a dead link must not hide the others.

    Cases whose own check failed are findings of another kind (``_dead``).
    """
    kept = []
    for record in measurements:
        good = tuple(case for case in record.cases if _is_pair(case.params) and _passed(case.residual) and case.seconds)
        if good:
            kept.append(msgspec.structs.replace(record, state="ok", cases=good))
    return table.from_measurements(kept)


def _is_pair(params: Mapping[str, object]) -> bool:
    return all(name in params for name in _NEEDED)


def _passed(residual: object) -> bool:
    return residual is None or bool(getattr(residual, "passed", False))


def _dead(record: Measurement) -> list[Dead]:
    found = []
    for case in record.cases:
        check = case.residual
        if not _is_pair(case.params) or check is None or check.passed:
            continue
        a, b = str(case.params["host_a"]), str(case.params["host_b"])
        why = check.kind if check.value is None else f"{check.value:g} {check.kind}"
        metric = _metric_of(workloads.get(record.workload).metrics, case.kernel)
        if metric is not None:
            found.append(Dead(record.workload, case.params, metric, DeadLink(a=a, b=b, why=why)))
    return found


def _rows(cases: table.Cases) -> list[Series]:
    """Each case's value by the metric of its kernel, with its own spread."""
    pairs = np.array(['"rank_a"' in text and '"host_b"' in text for text in cases.params], bool)
    if not pairs.any():
        return []
    got = derive.series(cases.counts, cases.seconds)
    known: dict[tuple[str, str, str], tuple[Metric | None, dict[str, float]]] = {}
    rows = []
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.log(got.high / got.low) / 2 / LEVEL_Z
    spread[cases.counts < 3] = np.nan
    medians, spreads = got.median.tolist(), spread.tolist()
    for index in np.flatnonzero(pairs).tolist():
        key = (str(cases.workload[index]), str(cases.kernel[index]), cases.work[index])
        if key not in known:
            work = msgspec.json.decode(key[2], type=dict[str, float])
            metric = _metric_of(workloads.get(key[0]).metrics, key[1])
            known[key] = (metric if metric is not None and applies(metric, work) else None, work)
        metric, work = known[key]
        if metric is None or not medians[index] > 0:
            continue
        params = msgspec.json.decode(cases.params[index], type=Params)
        rows.append(Series(key[0], key[1], params, metric, value(metric, medians[index], work), spreads[index]))
    return rows


def _metric_of(metrics: Iterable[Metric], kernel: str) -> Metric | None:
    """The first metric of the kernel: the others say the same of the same seconds."""
    found = (one for one in metrics if one.kernel == kernel and one.better != "none" and not is_reported(one))
    return next(found, None)


def _matrices(rows: Iterable[Series], dead: Sequence[Dead]) -> list[Pairs]:
    groups: dict[tuple[object, ...], tuple[Params, Metric, list[Series], list[Dead]]] = {}
    items: list[Series | Dead] = [*rows, *dead]
    for row in items:
        common = {name: item for name, item in row.params.items() if name not in _OF_A_PAIR}
        key = (row.workload, row.metric.name, *sorted(common.items()))
        _, _, good, gone = groups.setdefault(key, (common, row.metric, [], []))
        if isinstance(row, Series):
            good.append(row)
        else:
            gone.append(row)
    return [_matrix(*group) for group in groups.values()]


def _matrix(common: Params, metric: Metric, group: list[Series], dead: list[Dead]) -> Pairs:
    every = [*(one.params for one in group), *(one.params for one in dead)]
    several = any(params["host_a"] == params["host_b"] for params in every)  # ranks of one host met: a place is a rank
    met = {(str(params[f"host_{side}"]), int(params[f"rank_{side}"])) for params in every for side in "ab"}
    ends = sorted(met, key=lambda one: (one[1], one[0]))
    by_place: dict[str, str] = {_name(host, rank, several): host for host, rank in ends}
    number = {name: index for index, name in enumerate(by_place)}
    a, b = (
        np.array(
            [number[_name(str(row.params[f"host_{s}"]), int(row.params[f"rank_{s}"]), several)] for row in group],
            np.int64,
        )
        for s in "ab"
    )
    named = tuple(
        DeadLink(
            a=_name(one.link.a, int(one.params["rank_a"]), several),
            b=_name(one.link.b, int(one.params["rank_b"]), several),
            why=one.link.why,
        )
        for one in dead
    )
    together = common.get("pattern") == "tournament"
    return Pairs(
        metric=metric,
        params=common,
        places=tuple(by_place),
        hosts=tuple(by_place.values()),
        a=a,
        b=b,
        values=np.array([row.value for row in group]),
        spread=np.array([row.spread for row in group]),
        round=rounds(a, b) if together else np.full(len(a), -1, np.int64),
        dead=tuple(dict.fromkeys(named)),
    )


def _name(host: str, rank: int, several: bool) -> str:
    return f"{host}:{rank}" if several else host


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
