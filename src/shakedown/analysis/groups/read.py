"""Run directories, or the findings of an analysis -> the tests of each value and size, as columns.

A case is a group's where its parameters name ``members``: places separated by commas, or a host list such as ``node[1-8]``.
``host:3`` is a place of its own on that host, a rank or a GPU. ``round`` says which groups measured at the same time, and
``rail`` by which of several networks. Any workload may print such cases: ``collectives`` does between MPI ranks, and
``gpu_collectives`` between the GPUs of each host.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ... import workloads
from ...errors import BadInput
from ...hosts import hostlist
from ...records import Absent, Case, Finding, Metric, Params
from ...results.run_directory import RunDirectory
from .. import case_stream, table
from ..pairs.read import metric_of
from ..values import applies, value
from .data import GroupTests

#: Parameters that differ from group to group of one set of tests.
_OF_GROUP = ("members", "round", "rail", "ranks", "nodes", "gpus")


class _Row(NamedTuple):
    members: tuple[str, ...]
    value: float
    round: tuple[object, ...] | None  # what tells its round from others
    rail: str
    why: str


class _Rows(NamedTuple):
    metric: Metric
    params: Params
    rows: list[_Row]


def from_directories(directories: Sequence[RunDirectory]) -> tuple[list[GroupTests], list[Absent]]:
    """All groups of the run directories, by metric and parameters, and what in them is damaged. Raises StoreFailed."""
    found: dict[tuple[str, str], _Rows] = {}
    damaged: list[Absent] = []
    for number, directory in enumerate(directories):
        rows, broken = case_stream.read(directory, lambda records, at=number: list(_rows(records, at)))  # type: ignore[misc]
        damaged += broken
        for metric, params, row in rows:
            key = (metric.name, table.key(params))
            found.setdefault(key, _Rows(metric, params, [])).rows.append(row)
    return [_tests(one) for one in found.values()], damaged


def from_findings(findings: Iterable[Finding]) -> list[GroupTests]:
    """The same from the findings of an analysis, whose repeats are pooled: of the groups that gave a right value."""
    found: dict[tuple[str, str], _Rows] = {}
    known: dict[tuple[str, str], Metric | None] = {}
    for one in findings:
        members = _members(str(one.params.get("members", "")))
        if len(members) < 2 or not one.value or one.value <= 0:
            continue
        if (one.workload, one.metric) not in known:
            metrics = workloads.get(one.workload).metrics
            mine = next((metric for metric in metrics if metric.name == one.metric), None)
            first = mine is not None and mine == metric_of(metrics, mine.kernel)
            known[one.workload, one.metric] = mine if first else None
        metric = known[one.workload, one.metric]
        if metric is None:
            continue
        at = one.params.get("round")
        together = None if at is None else (*one.runs, at)
        row = _Row(members, one.value, together, str(one.params.get("rail", "")), "")
        params = {name: what for name, what in one.params.items() if name not in _OF_GROUP}
        found.setdefault((metric.name, table.key(params)), _Rows(metric, params, [])).rows.append(row)
    return [_tests(one) for one in found.values()]


def _rows(records: Iterable[case_stream.CaseStream], number: int) -> Iterable[tuple[Metric, Params, _Row]]:
    for record in records:
        metrics = workloads.get(record.workload).metrics
        for case in record.cases:
            if "members" not in case.params:
                continue
            metric = metric_of(metrics, case.kernel)
            members = _members(str(case.params["members"]))
            if metric is None or len(members) < 2 or not (case.seconds or _why(case)):
                continue
            at = case.params.get("round")
            row = _Row(
                members,
                _value(metric, case),
                None if at is None else (number, record.run, record.repeat, at),
                str(case.params.get("rail", "")),
                _why(case),
            )
            params = {name: what for name, what in case.params.items() if name not in _OF_GROUP}
            yield metric, params, row


def _members(text: str) -> tuple[str, ...]:
    """The places of a group, each once. A text that is not a host list is taken as names between commas."""
    try:
        names = hostlist.expand(text) if "[" in text else text.split(",")
    except BadInput:
        names = text.split(",")
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def _value(metric: Metric, case: Case) -> float:
    """The metric by the median of the samples; NaN where there is none, or where the group's check failed."""
    if not case.seconds or _why(case) or not applies(metric, case.work):
        return math.nan
    found = value(metric, statistics.median(case.seconds), case.work)
    return found if found > 0 else math.nan


def _why(case: Case) -> str:
    check = case.residual
    if check is None or check.passed:
        return "no answer" if case.work.get("unanswered") else ""
    return check.kind if check.value is None else f"{check.value:g} {check.kind}"


def _tests(found: _Rows) -> GroupTests:
    rows = found.rows
    places = tuple(dict.fromkeys(name for row in rows for name in row.members))
    number = {name: index for index, name in enumerate(places)}
    rounds: dict[tuple[object, ...], int] = {}
    rails = sorted({row.rail for row in rows if row.rail})
    several = any(":" in name for name in places)
    return GroupTests(
        metric=found.metric,
        params=found.params,
        places=places,
        hosts=tuple(name.rpartition(":")[0] or name if several else name for name in places),
        test=np.repeat(np.arange(len(rows)), [len(row.members) for row in rows]),
        member=np.array([number[name] for row in rows for name in row.members], np.int64),
        values=np.array([row.value for row in rows], float),
        round=np.array(
            [-1 if row.round is None else rounds.setdefault(row.round, len(rounds)) for row in rows], np.int64
        ),
        rail=np.array([rails.index(row.rail) if row.rail else -1 for row in rows], np.int64),
        rails=tuple(rails),
        why=tuple(row.why for row in rows),
    )
