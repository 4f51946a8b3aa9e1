"""Matrices of so many pairs that a finding each would be no report: half a million rows say less than one picture.

Of such a matrix the findings keep the best and the worst pair, so that limits, peaks and headlines are what they would be
with all of them; the matrix itself goes into the analysis as columns, from which the report draws and judges it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from ...records import Analysis, Finding, Notice, PairMatrix
from .. import table
from .read import Pairs, are_pairs, from_cases

#: Pairs of a matrix up to which each is a finding: 64 nodes, every one with every other.
MOST_LISTED = 2_016


def split(cases: table.Cases) -> tuple[table.Cases, list[tuple[str, Pairs]]]:
    """The cases that findings are made of, and the matrices, by workload, that are too large for that."""
    told = are_pairs(cases)
    if np.count_nonzero(told) <= MOST_LISTED:
        return cases, []
    kept = np.ones(len(cases), bool)
    large: list[tuple[str, Pairs]] = []
    for pairs, rows in from_cases(cases):
        keys = np.minimum(pairs.a, pairs.b) * len(pairs.places) + np.maximum(pairs.a, pairs.b)
        if len(np.unique(keys)) <= MOST_LISTED:
            continue
        kept[rows] = False
        for end in (int(np.argmin(pairs.values)), int(np.argmax(pairs.values))):
            alike = (pairs.a == pairs.a[end]) & (pairs.b == pairs.b[end])  # every repeat of that pair
            kept[np.array(rows)[alike]] = True
        large.append((str(cases.workload[rows[0]]), pairs))
    return (table.chosen(cases, kept), large) if large else (cases, [])


def with_notices(findings: Sequence[Finding], large: Iterable[tuple[str, Pairs]]) -> list[Finding]:
    """The findings, those that stand for a whole matrix with a notice that says so."""
    common = {(workload, pairs.metric.kernel, table.key(pairs.params)): len(pairs.values) for workload, pairs in large}
    kernels = {(workload, pairs.metric.name): pairs.metric.kernel for workload, pairs in large}
    return [_noted(one, common, kernels) for one in findings]


def _noted(one: Finding, common: dict[tuple[str, str, str], int], kernels: dict[tuple[str, str], str]) -> Finding:
    kernel = kernels.get((one.workload, one.metric))
    shared = {name: value for name, value in one.params.items() if name[-2:] not in ("_a", "_b")}
    number = common.get((one.workload, kernel or "", table.key(shared)))
    if number is None:
        return one
    notice = Notice(
        code="of-many-pairs",
        text=f"the best or the worst of {number:,} pairs",
        advice="all of them are in the section of pairs and in report_pairs.csv",
    )
    return msgspec.structs.replace(one, notices=(*one.notices, notice))


def matrix(workload: str, pairs: Pairs) -> PairMatrix:
    """The columns as a record."""
    return PairMatrix(
        workload=workload,
        metric=pairs.metric,
        params=pairs.params,
        places=pairs.places,
        hosts=pairs.hosts,
        a=tuple(pairs.a.tolist()),
        b=tuple(pairs.b.tolist()),
        values=tuple(pairs.values.tolist()),
        spread=tuple(None if np.isnan(one) else one for one in pairs.spread.tolist()),
        round=tuple(pairs.round.tolist()),
    )


def pairs_of(one: PairMatrix) -> Pairs:
    """The record as columns."""
    return Pairs(
        metric=one.metric,
        params=one.params,
        places=one.places,
        hosts=one.hosts,
        a=np.array(one.a, np.int64),
        b=np.array(one.b, np.int64),
        values=np.array(one.values, float),
        spread=np.array([np.nan if value is None else value for value in one.spread], float),
        round=np.array(one.round, np.int64),
    )


def with_pairs(analysis: Analysis, large: Sequence[tuple[str, Pairs]]) -> Analysis:
    """The analysis with its matrices."""
    return msgspec.structs.replace(analysis, pairs=tuple(matrix(workload, pairs) for workload, pairs in large))
