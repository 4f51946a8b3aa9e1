"""Run directories -> the columns of a Fleet, read in several processes. What cannot be read is named; the rest stands."""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import os
from array import array
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np

from .. import workloads
from ..analysis import run_summary
from ..analysis.trend import unfit
from ..document.text import natural
from ..errors import UNREADABLE, CannotMeasure, ShakedownError
from ..files import atomic
from ..records import Absent, Host, Metric, Params, SummarySeries
from ..results.run_directory import RunDirectory
from .fleet import FigureKey, Fleet, SiteRun, figures

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")

#: Directories that one process reads at once.
_TOGETHER = 1000


class _Part(NamedTuple):
    """What some directories came to; the columns count runs, nodes and figures within the part."""

    runs: list[SiteRun]
    digests: list[bytes]
    nodes: list[str]
    figures: list[FigureKey]
    columns: tuple[bytes, bytes, bytes, bytes]  # node, figure, run as int32, value as double
    left_out: list[Absent]


class _Reader:
    """Reads summaries into columns."""

    def __init__(self, now_ns: int, cache: Path) -> None:
        self._now_ns, self._cache = now_ns, cache
        self._nodes: dict[str, int] = {}
        self._figures: dict[FigureKey, int] = {}
        self._known: dict[bytes, tuple[array[int], array[int]]] = {}
        self._runs: list[SiteRun] = []
        self._digests: list[bytes] = []
        self._left_out: list[Absent] = []
        self._columns = array("i"), array("i"), array("i"), array("d")

    def part(self, paths: Sequence[Path]) -> _Part:
        for path in paths:
            try:
                self._read(path)
            except ShakedownError as error:
                self._left_out.append(Absent(what=shown_path(path), why=error.what))
            except OSError as error:
                self._left_out.append(Absent(what=shown_path(path), why=f"cannot be read: {error.strerror}"))
            except UNREADABLE as error:
                self._left_out.append(Absent(what=shown_path(path), why=f"is damaged: {error}"))
        node, figure, run, value = (one.tobytes() for one in self._columns)
        return _Part(
            self._runs,
            self._digests,
            list(self._nodes),
            list(self._figures),
            (node, figure, run, value),
            self._left_out,
        )

    def _read(self, path: Path) -> None:
        found, data = summary(path, self._cache)
        if why := unfit(found.created_ns, found.looked_ns, self._now_ns, imported=found.imported):
            self._left_out.append(Absent(what=shown_path(path), why=why))
            return
        nodes, known = self._series(bytes(found.series))
        if len(nodes) != len(found.values):
            raise ValueError("its values are not as many as their names")
        run = len(self._runs)
        self._columns[0].extend(nodes)
        self._columns[1].extend(known)
        self._columns[2].extend([run] * len(nodes))
        self._columns[3].extend(found.values)
        self._digests.append(hashlib.sha256(data).digest())
        self._runs.append(
            SiteRun(
                str(path),
                shown_path(path.name),
                found.created_ns,
                found.campaign,
                found.version,
                tuple(found.hosts),
                os.path.exists(f"{path}/report.html"),
                found.requirements,
                found.troubles,
                found.warnings,
            )
        )

    def _series(self, raw: bytes) -> tuple[array[int], array[int]]:
        """The numbers of node and figure of each value; the same bytes in each run of a node."""
        if raw not in self._known:
            series = msgspec.json.decode(raw, type=list[SummarySeries])
            nodes = array("i", [self._nodes.setdefault(one.host, len(self._nodes)) for one in series])
            keys = [FigureKey(one.workload, one.metric, one.params, one.circumstances) for one in series]
            self._known[raw] = nodes, array("i", [self._figures.setdefault(key, len(self._figures)) for key in keys])
        return self._known[raw]


def summary(path: Path, cache: Path) -> tuple[run_summary.RawSummary, bytes]:
    """The summary of a run directory, with its bytes. Of one that has none it is made from the measurements and kept beside
    the site, since that takes long. Raises ShakedownError, OSError, ValueError."""
    if (held := run_summary.read(path)) is not None:
        return held
    directory = RunDirectory.open(path)
    newest = max(run_summary.begun_ns(path), os.stat(path / "manifest.json").st_mtime_ns)
    name = hashlib.sha256(os.fsencode(f"{path.resolve()} {newest}")).hexdigest()[:32]
    file = cache / f"{name}.json"
    found, data = None, b""
    if file.exists():
        data = file.read_bytes()
        found = run_summary.decoded(data)
        with contextlib.suppress(OSError):
            os.utime(file)  # it is still of use
    if found is None:
        data = run_summary.encoded(run_summary.made(directory))
        found = run_summary.decoded(data)
        assert found is not None
        cache.mkdir(parents=True, exist_ok=True)
        atomic.replace(file, data, flush=False)
    return found, data


def shown_path(path: Path | str) -> str:
    """A path as text that every page may hold, also where its bytes are none."""
    return os.fsencode(path).decode("utf-8", "replace")


def _part(asked: tuple[list[Path], int, Path]) -> _Part:
    paths, now_ns, cache = asked
    return _Reader(now_ns, cache).part(paths)


def read(
    paths: Sequence[Path],
    now_ns: int,
    cache: Path,
    processes: int,
    say: Callable[[int, int], None] = lambda done, all_: None,
) -> Fleet:
    """All runs of the directories. ``say`` is told how many of how many were read."""
    asked = [(list(paths[at : at + _TOGETHER]), now_ns, cache) for at in range(0, len(paths), _TOGETHER)]
    joined = _Joined()
    for part in in_processes(_part, asked, processes):
        joined.add(part)
        say(len(joined.runs) + len(joined.left_out), len(paths))
    return joined.fleet()


def in_processes(work: Callable[[_Asked], _Answer], asked: Sequence[_Asked], processes: int) -> Iterable[_Answer]:
    """The answers in the order of what was asked; a single process where there is little to do. Raises CannotMeasure where a
    process was killed, as the kernel does where memory runs short."""
    if processes < 2 or len(asked) < 2:
        yield from map(work, asked)
        return
    forked = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(min(processes, len(asked)), mp_context=forked) as pool:
        try:
            yield from pool.map(work, asked)
        except BrokenProcessPool:
            raise CannotMeasure(
                "a process of the site was killed",
                where="site",
                hint="if memory ran short: --processes 1 takes the least",
            ) from None


class _Joined:
    """The parts as one."""

    def __init__(self) -> None:
        self.runs: list[SiteRun] = []
        self.left_out: list[Absent] = []
        self._nodes: dict[str, int] = {}
        self._figures: dict[FigureKey, int] = {}
        self._seen: dict[bytes, str] = {}
        self._columns: list[tuple[np.ndarray, ...]] = []

    def add(self, part: _Part) -> None:
        node, figure, run = (np.frombuffer(one, np.int32) for one in part.columns[:3])
        value = np.frombuffer(part.columns[3], np.float64)
        first = len(self.runs)
        kept = np.ones(len(part.runs), bool)
        for at, (one, digest) in enumerate(zip(part.runs, part.digests, strict=True)):
            if digest in self._seen and len(node):
                self.left_out.append(
                    Absent(what=shown_path(one.path), why=f"it is a copy of {shown_path(self._seen[digest])}")
                )
                kept[at] = False
                continue
            self._seen[digest] = one.path
            self.runs.append(one)
        places = np.cumsum(kept) - 1 + first
        nodes = np.array([self._nodes.setdefault(one, len(self._nodes)) for one in part.nodes], np.int32)
        known = np.array([self._figures.setdefault(one, len(self._figures)) for one in part.figures], np.int32)
        rows = kept[run] & (value > 0) & np.isfinite(value) if len(run) else np.zeros(0, bool)
        if rows.any():
            self._columns.append(
                (nodes[node[rows]], known[figure[rows]], places[run[rows]].astype(np.int32), value[rows])
            )
        self.left_out += part.left_out

    def fleet(self) -> Fleet:
        by_time = sorted(range(len(self.runs)), key=lambda at: (self.runs[at].at_ns, self.runs[at].path))
        rank = np.empty(len(by_time), np.int32)
        rank[by_time] = np.arange(len(by_time))
        runs = [self.runs[at] for at in by_time]
        names = sorted(
            {*self._nodes, *(name for one in runs for name in one.hosts)}, key=lambda one: (natural(one), one)
        )
        place = {name: at for at, name in enumerate(names)}
        keys, remap = self._defined()
        if self._columns:
            node, figure, run, value = (np.concatenate(columns) for columns in zip(*self._columns, strict=True))
            self._columns.clear()
            node = np.array([place[name] for name in self._nodes], np.int32)[node]
            figure = remap[figure]
            rows = figure >= 0
            made = figures(
                keys,
                node[rows],
                figure[rows].astype(np.uint16 if len(keys) < 2**16 else np.int32),
                rank[run[rows]],
                value[rows],
            )
        else:
            made = []
        newest = {name: at for at, one in enumerate(runs) for name in one.hosts}
        for figure_ in made:
            for at, number in enumerate(figure_.nodes):
                last = int(figure_.runs[figure_.of(at)][-1])
                name = names[number]
                newest[name] = max(newest.get(name, -1), last)
        return Fleet(runs, names, made, self._hosts(runs, newest), newest, self.left_out)

    def _defined(self) -> tuple[list[tuple[FigureKey, Metric, Params]], np.ndarray]:
        """The figures whose metric this version knows, in an order that is always the same, and where each went."""
        known: dict[str, dict[str, Metric]] = {}
        found: list[tuple[FigureKey, Metric, Params]] = []
        missing: dict[str, str] = {}
        for key in self._figures:
            if key.workload not in known:
                try:
                    known[key.workload] = {one.name: one for one in workloads.get(key.workload).metrics}
                except ShakedownError as error:
                    known[key.workload] = {}
                    missing[key.workload] = error.what
            metric = known[key.workload].get(key.metric)
            if metric is None:
                missing.setdefault(key.workload, f"its metric {key.metric} is not one of this version")
                continue
            try:
                params = msgspec.json.decode(key.params, type=Params)
            except UNREADABLE as error:
                missing.setdefault(key.workload, f"its parameters are damaged: {error}")
                continue
            found.append((key, metric, params))
        self.left_out += [Absent(what=f"values of {name}", why=why) for name, why in sorted(missing.items())]
        order = {name: at for at, name in enumerate(workloads.names())}
        found.sort(
            key=lambda one: (
                order.get(one[0].workload, len(order)),
                not one[1].headline,
                one[0].metric,
                natural(one[0].params),
                one[0],
            )
        )
        place = {key: at for at, (key, _, _) in enumerate(found)}
        return found, np.array([place.get(key, -1) for key in self._figures], np.int32)

    def _hosts(self, runs: list[SiteRun], newest: dict[str, int]) -> dict[str, Host]:
        """What each host is, as its newest run saw it; a machine that cannot be read is no host."""
        found: dict[str, Host] = {}
        wanted: dict[int, list[str]] = {}
        for name, run in newest.items():
            wanted.setdefault(run, []).append(name)
        for run, hosts in wanted.items():
            try:
                machine = RunDirectory(Path(runs[run].path)).machine()
            except ShakedownError as error:
                self.left_out.append(Absent(what=f"machine.json of {shown_path(runs[run].path)}", why=error.what))
                continue
            found |= {host.name: host for host in machine.hosts if host.name in hosts}
        return found
