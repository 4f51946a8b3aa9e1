"""Scaling series in what run directories and published systems hold. Pure."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ... import workloads
from ...records import Finding, Metric, Params, ScalingKind, ScalingPoint, ScalingSeries, Value
from .. import days
from ..table import Cases
from ..values import applies, is_figure

if TYPE_CHECKING:
    from ...published.model import System

#: What may be counted, the widest first: where two grow together the first is named.
COUNTED = ("nodes", "gpus", "ranks", "cores", "threads")
#: Parameters that say how large the work is: alike in strong scaling, in proportion in weak.
SIZES = (
    "n",
    "size",
    "shape",
    "bytes",
    "rows",
    "cells",
    "atoms",
    "bodies",
    "grid",
    "steps",
    "sites",
    "patterns",
    "boxes",
    "span",
    "batch",
)
#: Work a worker of a weak series may differ by this: sizes are whole numbers.
WEAK_TOLERANCE = 0.05


class _Seen(NamedTuple):
    """One case of one launch."""

    workload: str
    metric: Metric
    params: Params
    host: str
    launch: tuple[int, str, int]  # directory, run, repeat
    work: float
    seconds: tuple[float, ...]


def from_cases(sets: Sequence[Cases], energies: Sequence[Finding] = (), over: str = "") -> list[ScalingSeries]:
    """The series that the cases of run directories hold together, the longest first. ``energies``: what meters found;
    ``over`` names what is counted."""
    seen = [one for index, cases in enumerate(sets) for one in _seen(index, cases)]
    found = []
    for axis in (over,) if over else COUNTED:
        for kind in ("strong", "weak"):
            found += _series_over(axis, kind, seen, energies)
    return _without_repeats(found)


def _seen(index: int, cases: Cases) -> list[_Seen]:
    start, found = 0, []
    for row in range(len(cases)):
        count = int(cases.counts[row])
        seconds = tuple(cases.seconds[start : start + count].tolist())
        start += count
        if not count:
            continue
        workload, work = str(cases.workload[row]), json.loads(cases.work[row])
        params = json.loads(cases.params[row])
        metric = _metric(workload, str(cases.kernel[row]), work, params)
        if metric is None:
            continue
        amount = float(work.get(metric.per.partition("/")[0], 1.0))
        launch = (index, str(cases.run[row]), int(cases.repeat[row]))
        found.append(_Seen(workload, metric, params, str(cases.host[row]), launch, amount, seconds))
    return found


def _metric(workload: str, kernel: str, work: Mapping[str, float], params: Params) -> Metric | None:
    """The rate, or the time, that says how long the work of a case took; a latency says nothing of the kind."""
    metrics = [
        one
        for one in workloads.get(workload).metrics
        if one.kernel == kernel
        and (one.per == "s" or one.per.endswith("/s"))
        and "link" not in one.ranked_by  # of messages: more ranks are other work
        and applies(one, work)
        and is_figure(one, params)
    ]
    return next((one for one in metrics if one.headline), metrics[0] if metrics else None)


# ----------------------------------------------------------------------------------------------------------------- groups


def _series_over(
    axis: str, kind: ScalingKind, seen: Sequence[_Seen], energies: Sequence[Finding]
) -> list[ScalingSeries]:
    groups: dict[str, list[_Seen]] = {}
    for one in seen:
        count = one.params.get(axis)
        if isinstance(count, int) and not isinstance(count, bool) and count > 0:
            groups.setdefault(_key(axis, kind, one), []).append(one)
    found = []
    for members in groups.values():
        for alike in _bound(axis, members):
            made = _series(axis, kind, alike, energies)
            if made is not None:
                found.append(made)
    return found


def _key(axis: str, kind: ScalingKind, one: _Seen) -> str:
    """What is alike in a series: all but what is counted, and in weak scaling the size."""
    varied = {*COUNTED, *(SIZES if kind == "weak" else ())}
    kept = {name: value for name, value in one.params.items() if name not in varied}
    return json.dumps([one.workload, one.metric.name, kept], sort_keys=True)


def _bound(axis: str, members: Sequence[_Seen]) -> list[list[_Seen]]:
    """Parted by what else is counted, where that does not grow in proportion with the axis, and by host where each job ran
    on one."""
    free = []
    for name in COUNTED:
        counts = [(one.params.get(name), int(one.params[axis])) for one in members]
        shares = {value / count if isinstance(value, int) else value for value, count in counts}
        if name != axis and (name == "threads" or axis == "threads" or len(shares) != 1):  # threads are those of a rank
            free.append(name)
    alone = all(len(days.members(one.host)) < 2 for one in members) and axis != "nodes"
    groups: dict[tuple[Value | None, ...], list[_Seen]] = {}
    for one in members:
        groups.setdefault((one.host if alone else "", *(one.params.get(name) for name in free)), []).append(one)
    return list(groups.values())


def _series(
    axis: str, kind: ScalingKind, members: Sequence[_Seen], energies: Sequence[Finding]
) -> ScalingSeries | None:
    by_count: dict[int, list[_Seen]] = {}
    for one in members:
        by_count.setdefault(int(one.params[axis]), []).append(one)
    counts = sorted(by_count)
    if len(counts) < 2:
        return None
    if kind == "weak":
        shares = [one.work / count for count in counts for one in by_count[count]]
        sizes = {json.dumps({name: one.params.get(name) for name in SIZES}) for one in members}
        if max(shares) > (1 + WEAK_TOLERANCE) * min(shares) or len(sizes) < 2:
            return None
    first = by_count[counts[0]][0]
    work = {count: first.work * (count / counts[0] if kind == "weak" else 1.0) for count in counts}
    launches = {count: _launches(by_count[count], work[count]) for count in counts}
    single = all(len(one) == 1 for one in launches.values())
    points = tuple(
        _point(count, by_count[count][0], launches[count], work[count], single, energies) for count in counts
    )
    common = dict(first.params.items() & set.intersection(*(set(one.params.items()) for one in members)))
    return ScalingSeries(
        workload=first.workload,
        title=first.metric.title,
        kind=kind,
        over=axis,
        params={name: common[name] for name in first.params if name in common},
        host=by_count[counts[-1]][0].host,
        cores_per_count=_cores(axis, members),
        points=points,
        within_launch=single and any(len(one.seconds) > 1 for one in points),
    )


_Launches = dict[tuple[int, str, int], list[float]]


def _launches(members: Sequence[_Seen], work: float) -> _Launches:
    """The times of so much work: samples of more steps did more of it."""
    found: _Launches = {}
    for one in members:
        found.setdefault(one.launch, []).extend(seconds * (work / one.work) for seconds in one.seconds)
    return found


def _point(
    count: int, one: _Seen, launches: _Launches, work: float, single: bool, energies: Sequence[Finding]
) -> ScalingPoint:
    """``single``: no count was launched twice, so that the samples of a launch are all that shows the spread."""
    seconds = tuple(next(iter(launches.values()))) if single else tuple(map(statistics.median, launches.values()))
    energy = _energy(one, energies)
    value = half = None
    if energy is not None and energy.value is not None:
        value = energy.value * work / one.work
        if energy.low is not None and energy.high is not None:
            half = (energy.high - energy.low) / 2 * work / one.work
    return ScalingPoint(count=count, seconds=seconds, energy_j=value, energy_half_j=half)


def _energy(one: _Seen, energies: Sequence[Finding]) -> Finding | None:
    """The energy to solution of a case: by a meter of whole nodes."""
    stems = {f"{one.metric.name.rpartition('.')[0]}.energy", f"{one.metric.name}.energy"}
    return next(
        (
            each
            for each in energies
            if each.metric in stems
            and each.workload == one.workload
            and each.params.items() >= {(name, value) for name, value in one.params.items()}
        ),
        None,
    )


def _cores(axis: str, members: Sequence[_Seen]) -> int | None:
    """Cores that one of what is counted stands for; None where that is not told, or differs."""
    found = set()
    for one in members:
        ranks, threads = one.params.get("ranks"), one.params.get("threads", 1)
        total = one.params.get(
            "cores", ranks * threads if isinstance(ranks, int) and isinstance(threads, int) else None
        )
        if total is None and axis == "threads":
            total = one.params[axis]
        if not isinstance(total, int) or total % int(one.params[axis]):
            return None
        found.add(total // int(one.params[axis]))
    return found.pop() if len(found) == 1 else None


def _without_repeats(found: Sequence[ScalingSeries]) -> list[ScalingSeries]:
    """Each set of times once: under the widest of what is counted."""
    kept: dict[object, ScalingSeries] = {}
    for one in found:
        kept.setdefault((one.workload, one.title, tuple(point.seconds for point in one.points)), one)
    return sorted(kept.values(), key=lambda one: -len(one.points))


# -------------------------------------------------------------------------------------------------------------- published


def from_published(system: System) -> list[ScalingSeries]:
    """The times against workers that a document printed: strong scaling, since its rows name no other size."""
    groups: dict[str, dict[int, float]] = {}
    named: dict[str, tuple[str, Params, str, str]] = {}
    for one in system.values:
        axis = next((name for name in COUNTED if isinstance(one.params.get(name), int)), None)
        if axis is None or one.unit != "s" or one.required:
            continue
        rest = {name: value for name, value in one.params.items() if name not in COUNTED}
        where = one.where.partition(", row ")[0]
        key = json.dumps([one.metric, axis, rest, where], sort_keys=True, default=str)
        named[key] = (one.metric, rest, axis, where)
        groups.setdefault(key, {})[int(one.params[axis])] = one.value
    found = []
    for key, values in groups.items():
        metric, rest, axis, where = named[key]
        if len(values) < 2:
            continue
        counts = sorted(values)
        found.append(
            ScalingSeries(
                workload="published",
                title=metric,
                kind="strong",
                over=axis,
                params=rest,
                source=f"{system.name}, {where}",
                cores_per_count=1 if axis == "cores" else None,
                points=tuple(ScalingPoint(count=count, seconds=(values[count],)) for count in counts),
            )
        )
    return found
