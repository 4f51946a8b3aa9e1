"""Histories in run directories: which value is of which series, what was known of each run, what had to be left out.

A series is one metric of one workload on one host, with the same parameters and under the same circumstances, by which
values are ranked elsewhere too (``circumstances.py``). A run's value is the median over its repeats.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from ... import workloads
from ...errors import BadInput, ShakedownError
from ...records import Absent, Finding, Machine, Metric, Params
from ...results.run_directory import RunDirectory
from .. import circumstances, derive, facts, several, table, values
from ..circumstances import Setting
from ..facts import Facts
from ..pairs import pair_matrix

#: Before it (2015) no clock was right.
_EARLIEST_NS = 1_420_070_400 * 10**9
_DAY_NS = 86_400 * 10**9


class Key(NamedTuple):
    """What is alike in a series."""

    host: str
    workload: str
    metric: str
    params: str
    circumstances: bytes


class HistoryRun(NamedTuple):
    """One run directory."""

    name: str
    at_ns: int
    values: dict[Key, float]
    facts: dict[str, Facts]  # by host
    machine: Machine
    measured: frozenset[tuple[str, str]] = frozenset()  # hosts with workloads that have a value


class Histories(NamedTuple):
    """The runs in the order of their times, the metrics by workload and name, and what had to be left out."""

    runs: list[HistoryRun]
    metrics: dict[tuple[str, str], Metric]
    left_out: list[Absent]


def directories(paths: Iterable[Path]) -> list[Path]:
    """Run directories among ``paths`` and directly below them, each once. Raises BadInput where one is neither."""
    found: dict[Path, Path] = {}
    for path in paths:
        try:
            below = sorted(one for one in path.iterdir() if (one / "manifest.json").exists() or (one / "runs").is_dir())
        except OSError as error:
            raise BadInput(
                f"cannot be read: {error.strerror}", where=str(path), hint="give run directories, or a folder of them"
            ) from None
        own = (path / "manifest.json").exists() or ((path / "runs").is_dir() and not below)
        if not own and not below:
            raise BadInput(
                "this is neither a run directory nor a folder of them",
                where=str(path),
                hint="give the folder that holds the folders which shakedown run made",
            )
        for one in [path] if own else below:
            found.setdefault(one.resolve(), one)
    return list(found.values())


def read(paths: Sequence[Path], now_ns: int, renamed: Mapping[str, str] | None = None) -> Histories:
    """All runs of the directories. One that cannot be read, whose clock was wrong, that was imported or is there twice is
    left out, with the reason. ``renamed``: what a host is called now, by a name that it had."""
    runs, left_out = [], []
    metrics: dict[tuple[str, str], Metric] = {}
    keys: dict[Key, Key] = {}  # each once: a thousand runs have the same
    for path in paths:
        try:
            directory = RunDirectory.open(path)
            if why := _unfit(directory, now_ns):
                left_out.append(Absent(what=str(path), why=why))
                continue
            part = several.read_directory(directory)
        except ShakedownError as error:
            left_out.append(Absent(what=str(path), why=error.what))
            continue
        left_out += part.damaged
        runs.append(_run(path.name, part, metrics, keys, left_out, renamed or {}))
    runs.sort(key=lambda one: (one.at_ns, one.name))
    return Histories(_without_copies(runs, left_out), metrics, left_out)


def _unfit(directory: RunDirectory, now_ns: int) -> str:
    manifest = directory.manifest()
    return unfit(manifest.created_ns, directory.machine().discovered_ns, now_ns, imported=manifest.imported)


def unfit(created_ns: int, looked_ns: int, now_ns: int, *, imported: bool) -> str:
    """Why a run that was made then, of a machine that was looked at then, has no place in a history; empty where it has."""
    if imported:
        return "it was imported from logs, and when and on what these were measured is not known"
    for at_ns in (created_ns, looked_ns):
        if not _EARLIEST_NS < at_ns < now_ns + _DAY_NS:
            return "its clock was wrong: it lies before 2015 or in the future"
    if abs(created_ns - looked_ns) > _DAY_NS:
        return "its clock was set while it ran: the machine was looked at on another day than the run began"
    return ""


def _run(
    name: str,
    part: several.DirectoryPart,
    metrics: dict[tuple[str, str], Metric],
    keys: dict[Key, Key],
    left_out: list[Absent],
    renamed: Mapping[str, str],
) -> HistoryRun:
    cases = table.unpack([part.cases]) if isinstance(part.cases, Path) else part.cases
    cases, _ = pair_matrix.split(cases)
    known: dict[str, Sequence[Metric]] = {}
    for workload in sorted(set(map(str, cases.workload))):
        try:
            known[workload] = [one for one in workloads.get(workload).metrics if not values.is_share(one)]
        except ShakedownError as error:
            left_out.append(Absent(what=f"{workload} of {name}", why=error.what))
    cases = table.chosen(cases, np.array([str(workload) in known for workload in cases.workload], bool))
    by_name = {metric.name: metric for group in known.values() for metric in group}
    metrics.update({(workload, one.name): one for workload, group in known.items() for one in group})
    setting = Setting({host.name: host for host in part.machine.hosts}, {})
    found: dict[Key, float] = {}
    for one in derive.findings(cases, known):
        metric = by_name[one.metric]
        if one.value is not None and one.value > 0 and math.isfinite(one.value) and not values.void(metric, one.params):
            key = _key(one, metric, setting, renamed)
            found[keys.setdefault(key, key)] = one.value
    by_host = facts.of_runs(part.machine, part.outcomes, part.made[1])
    return HistoryRun(
        name,
        part.made[0],
        found,
        {_now(host, renamed): one for host, one in by_host.items()},
        part.machine,
        frozenset((key.host, key.workload) for key in found),
    )


def _now(host: str, renamed: Mapping[str, str]) -> str:
    return renamed.get(host, host)


def _key(one: Finding, metric: Metric, setting: Setting, renamed: Mapping[str, str]) -> Key:
    under = circumstances.key(circumstances.of_finding(one, metric, setting))
    return Key(_now(one.host, renamed), one.workload, one.metric, table.key(one.params), under)


def _without_copies(runs: Sequence[HistoryRun], left_out: list[Absent]) -> list[HistoryRun]:
    """Runs of one time with the same values are one run, whose folder was copied."""
    kept: dict[object, HistoryRun] = {}
    for one in runs:
        same = (one.at_ns, tuple(sorted(one.values.items())))
        if same in kept and one.values:
            left_out.append(Absent(what=one.name, why=f"it is a copy of {kept[same].name}"))
        else:
            kept[same if one.values else object()] = one
    return list(kept.values())


def by_series(runs: Sequence[HistoryRun]) -> Iterator[tuple[Key, list[int]]]:
    """Each series with the indices of the runs that have a value of it, in the order of their first run."""
    found: dict[Key, list[int]] = {}
    for index, run in enumerate(runs):
        for key in run.values:
            found.setdefault(key, []).append(index)
    yield from found.items()


def params_of(key: Key) -> Params:
    """The parameters of a series."""
    decoded: Params = msgspec.json.decode(key.params, type=Params)
    return decoded


_NAMED = re.compile(r"\s*([^=]+?)\s*=\s*([^=]+?)\s*")


def renamed(words: Iterable[str]) -> dict[str, str]:
    """``old=new`` by the old name. Raises BadInput."""
    found = {}
    for word in words:
        told = _NAMED.fullmatch(word)
        if told is None:
            raise BadInput(f"--renamed {word!r} does not name two hosts", hint="write --renamed OLD=NEW")
        found[told[1]] = told[2]
    return found
