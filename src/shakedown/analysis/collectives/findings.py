"""Findings of collective operations with their bound, their best mock-up and what is slower than that. Pure."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ...records import Finding, Fraction, Notice, Params, Value
from ...units import show_bytes
from ..table import Cases, Floats, key
from . import bounds, cures, guidelines

WORKLOAD = "collectives"
LIBRARY, BOUND = "library", "bound"
SLOWER = "slower-than-mock-up"
#: Above this part of its bound a time says that the operation is not made of messages between two ranks.
ABOVE = 1.02
_NOT_MOCK_UPS = (LIBRARY, "non-blocking", BOUND)


class _Series(NamedTuple):
    launch: tuple[str, int]
    seconds: Floats


class _Row(NamedTuple):
    kernel: str
    host: str
    params: Params
    work: dict[str, float]
    launch: tuple[str, int]
    seconds: Floats


class _Case(NamedTuple):
    """What tells an operation from another, apart from its method."""

    host: str
    operation: str
    params: str


def judged(found: Sequence[Finding], cases: Cases) -> list[Finding]:
    """The findings; those of collective operations with fractions, notices, and a finding for each bound."""
    if WORKLOAD not in cases.workload:
        return list(found)
    rows = list(_rows(cases))
    times: dict[_Case, dict[str, list[_Series]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if "method" in row.params and row.kernel in bounds.OPERATIONS:
            times[_case(row.host, row.kernel, row.params)][str(row.params["method"])].append(
                _Series(row.launch, row.seconds)
            )
    verdicts = guidelines.judge(
        {
            (case, method): _ratios(methods[LIBRARY], series)
            for case, methods in times.items()
            for method, series in methods.items()
            if LIBRARY in methods and method not in _NOT_MOCK_UPS and '"oversubscribed"' not in case.params
        }
    )
    pairs = {host: pair for host in {row.host for row in rows} if (pair := point_to_point(rows, host)) is not None}
    done: list[Finding] = []
    for one in found:
        if one.workload != WORKLOAD or not one.metric.endswith(".time") or one.params.get("method") != LIBRARY:
            done.append(one)
            continue
        case = _case(one.host, one.metric.split(".")[1], one.params)
        done += _with_limits(one, case, times.get(case, {}), verdicts, pairs.get(one.host))
    return done


def _rows(cases: Cases) -> list[_Row]:
    ends = np.cumsum(cases.counts)
    return [
        _Row(
            str(cases.kernel[i]),
            str(cases.host[i]),
            json.loads(cases.params[i]),
            json.loads(cases.work[i]),
            (str(cases.run[i]), int(cases.repeat[i])),
            cases.seconds[ends[i] - cases.counts[i] : ends[i]],
        )
        for i in np.flatnonzero(cases.workload == WORKLOAD)
    ]


def _case(host: str, operation: str, params: Params) -> _Case:
    return _Case(host, operation, key({name: value for name, value in params.items() if name != "method"}))


def _ratios(library: Sequence[_Series], mock_up: Sequence[_Series]) -> list[list[float]]:
    """Of each launch, the library's times over those of the mock-up that were taken beside them."""
    partners = {one.launch: one.seconds for one in mock_up}
    found = []
    for one in library:
        other = partners.get(one.launch)
        if other is None:
            continue
        count = min(len(one.seconds), len(other))
        found.append([float(a / b) for a, b in zip(one.seconds[:count], other[:count], strict=True) if b > 0])
    return found


def point_to_point(rows: Sequence[_Row], host: str) -> bounds.PointToPoint | None:
    """What messages between two ranks of a host's job take, at their best; None where they were not measured."""
    trips: dict[Value, dict[tuple[int, bool], _Row]] = defaultdict(dict)
    port = added = 0.0
    for row in rows:
        if row.host != host or not len(row.seconds):
            continue
        least = float(row.seconds.min())
        if row.kernel == "prtt":
            kind = (int(row.params["messages"]), bool(row.params["paused"]))
            held = trips[row.params["between"]].get(kind)
            if held is None or least < held.seconds.min():
                trips[row.params["between"]][kind] = row
        elif row.kernel == "port" and least > 0:
            port = max(port, row.work["bytes"] / least)
        elif row.kernel == "reduce_local" and least > 0:
            added = max(added, row.work["bytes"] / least)
    pairs = {between: pair for between, kinds in trips.items() if (pair := _log_p(kinds)) is not None}
    if not pairs:
        return None
    best = min(pairs.values(), key=lambda one: one.arrival_s)
    across = pairs.get("hosts")
    return bounds.PointToPoint(best, port, added, across.arrival_s if across else 0.0)


def _log_p(kinds: dict[tuple[int, bool], _Row]) -> bounds.LogP | None:
    many = next((row for (count, paused), row in kinds.items() if count > 1 and not paused), None)
    spaced = next((row for (count, paused), row in kinds.items() if count > 1 and paused), None)
    if (1, False) not in kinds or many is None or spaced is None:
        return None
    single_s, many_s, paused_s = (float(row.seconds.min()) for row in (kinds[1, False], many, spaced))
    return bounds.log_p(single_s, many_s, paused_s, int(many.params["messages"]), spaced.work["pause_s"])


def _with_limits(
    one: Finding,
    case: _Case,
    methods: dict[str, list[_Series]],
    verdicts: dict[object, guidelines.Verdict],
    pair: bounds.PointToPoint | None,
) -> list[Finding]:
    """A finding with its two limits and what is to be said of them, and the bound as a finding of its own."""
    fractions, notices, more = list(one.fractions), list(one.notices), []
    if pair is not None and one.value:
        size = float(one.params.get("bytes", 0))
        least = bounds.bound(case.operation, int(one.params["ranks"]), size, int(one.params["nodes"]), pair)
        fractions.append(_fraction(BOUND, "derived", least.seconds, one.value, least.basis))
        if least.seconds > ABOVE * one.value:
            notices.append(_above(case, least, one.value))
        more.append(
            msgspec.structs.replace(
                one,
                params={**one.params, "method": BOUND},
                value=least.seconds,
                low=None,
                high=None,
                best=None,
                n_samples=0,
                outliers=0,
                fractions=(),
                notices=(),
            )
        )
    mock_ups = {
        name: statistics.median([float(np.median(series.seconds)) for series in all_of if len(series.seconds)])
        for name, all_of in methods.items()
        if name not in _NOT_MOCK_UPS and any(len(series.seconds) for series in all_of)
    }
    if mock_ups and one.value:
        name = min(mock_ups, key=lambda each: mock_ups[each])
        fractions.append(
            _fraction(f"mock-up {name}", "measured", mock_ups[name], one.value, "measured in turn with it")
        )
    slower = {
        name: verdicts[case, name] for name in mock_ups if verdicts.get((case, name)) and verdicts[case, name].slower
    }
    if slower:
        worst = max(slower, key=lambda name: slower[name].factor)
        notices.append(_slower(one, case, worst, slower[worst]))
    done = msgspec.structs.replace(one, fractions=tuple(fractions), notices=tuple(notices))
    return [done, *more]


def _fraction(limit: str, kind: str, seconds: float, value: float, basis: str) -> Fraction:
    return Fraction(limit=limit, kind=kind, value=seconds, fraction=seconds / value, basis=basis)


def _words(case: _Case, params: Params) -> str:
    size = f" of {show_bytes(float(params['bytes']))}" if "bytes" in params else ""
    return f"{case.operation}{size} on {params['ranks']} ranks"


def _above(case: _Case, least: bounds.Bound, value: float) -> Notice:
    return Notice(
        code="faster-than-messages",
        text=f"{case.operation} takes {value / least.seconds:.2f} of its bound ({least.basis}): it is not made of messages "
        "between two ranks",
        advice="shared memory that several ranks read at once, or a network that reduces or multicasts, does this",
    )


def _slower(one: Finding, case: _Case, name: str, verdict: guidelines.Verdict) -> Notice:
    low, high = verdict.interval
    launches = f"{verdict.launches} launch{'es' * (verdict.launches != 1)}"
    return Notice(
        code=SLOWER,
        text=f"{_words(case, one.params)} is {verdict.factor:.3g} times slower ({low:.3g} to {high:.3g}) than its mock-up "
        f"{name}, by {verdict.pairs} pairs in {launches}",
        advice=cures.advice(case.operation, name, str(one.params.get("mpi", ""))),
    )
