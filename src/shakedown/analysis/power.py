"""What meters saw during a campaign -> power, energy and efficiency of every case, and the view that a report shows.

Energy is cut by the case's own marks, which share the system's clock with the readings (energy/phase.py makes it, with its
budget); work over it is the efficiency. A case that is too short for its meter has none, and the report says so.
Channels upstream of the power supply give ``hpl.power``, ``hpl.energy``, ``hpl.energy_efficiency`` and ``hpl.edp``, which
published figures may stand beside. A channel of a part (a socket, a GPU) gives ``hpl.part_power`` and so on: a part's
efficiency is no machine's.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from .. import metering, sampling
from ..energy import feeds, phase
from ..energy.character import Character
from ..energy.intervals import refresh_s
from ..energy.quantity import scaled
from ..energy.trace import Trace, trace
from ..errors import ShakedownError
from ..meters import UPSTREAM, channel_key
from ..records import (
    Case,
    Finding,
    Measurement,
    MeterSeen,
    Metric,
    Notice,
    Params,
    Phase,
    PowerLine,
    PowerPart,
    PowerSpan,
    PowerView,
    Quantity,
)
from ..store import RunDirectory
from ..units import show_seconds
from .statistics import median_interval
from .values import applies

#: A case must last this many refreshes of its meter: with fewer its energy is mostly that of its neighbours.
LEAST_REFRESHES = 2.0
#: Share of a case's time that its samples fill, below which its energy is said to hold other work.
BUSY = 0.9
#: Stretches of a line: what an eye tells apart on a page.
STRETCHES = 400
MOST_BUDGETS = 12


class Power(NamedTuple):
    """What the analysis takes over."""

    findings: list[Finding]
    metrics: dict[str, tuple[Metric, ...]]  # by workload
    view: PowerView


class _Group(NamedTuple):
    """One value over its repeats and cases."""

    metric: Metric
    workload: str
    params: Params
    host: str


def read(
    directory: RunDirectory,
    measurements: Sequence[Measurement],
    metrics: Mapping[str, tuple[Metric, ...]],
    labels: Mapping[str, str],
) -> Power | None:
    """Everything that the meters of a run directory say of its measurements; None where none was read.

    ``metrics`` is by workload, ``labels`` by run. Raises StoreFailed for readings that are damaged.
    """
    traces = _traces(directory)
    if not traces:
        return None
    ended_well = [record for record in measurements if record.state == "ok"]
    host = measurements[0].host if measurements else ""
    known = metering.characters_of(directory.path)
    made = _Made(
        traces,
        {id(one): known.get(channel_key(one.channel)) for one in traces},
        _idle_windows(measurements, traces),
        host,
    )
    for record in ended_well:
        for case in record.cases:
            if metric := _rate_of(case, metrics.get(record.workload, ())):
                made.add(record, case, metric)
    made.add_idle()
    runs = [
        Phase(name=labels.get(one.run, one.workload), begin_ns=one.begin_ns, end_ns=one.end_ns) for one in measurements
    ]
    for one in traces:
        found = phase.warnings_of(one, runs) if len(one) else ()
        made.checks += [
            msgspec.structs.replace(notice, text=f"{channel_key(one.channel)}: {notice.text}") for notice in found
        ]
    view = _view(traces, made, measurements, labels)
    return Power(made.findings(), made.metrics, view)


def _rate_of(case: Case, metrics: Sequence[Metric]) -> Metric | None:
    """The rate that stands for a case: a headline's, else the first; None where it has none."""
    rates = [one for one in metrics if one.kernel == case.kernel and one.per.endswith("/s") and applies(one, case.work)]
    return next((one for one in rates if one.headline), rates[0] if rates else None)


def together(powers: Sequence[Power]) -> Power:
    """Several run directories: their values and meters. Time lines are left to each directory's own report."""
    metrics: dict[str, tuple[Metric, ...]] = {}
    for one in powers:
        for name, group in one.metrics.items():
            have = {metric.name for metric in metrics.get(name, ())}
            metrics[name] = (*metrics.get(name, ()), *(metric for metric in group if metric.name not in have))
    view = PowerView(
        begin_ns=min(one.view.begin_ns for one in powers),
        meters=tuple(meter for one in powers for meter in one.view.meters),
        budgets=tuple(budget for one in powers for budget in one.view.budgets)[:MOST_BUDGETS],
        notices=tuple(dict.fromkeys(notice for one in powers for notice in one.view.notices)),
    )
    return Power([finding for one in powers for finding in one.findings], metrics, view)


def _traces(directory: RunDirectory) -> list[Trace]:
    """The power and energy channels, what several sessions read of one channel joined."""
    parts: dict[str, list[Trace]] = defaultdict(list)
    for folder in metering.folders(directory.path):
        for one in sampling.collect(folder):
            if one.channel.quantity in ("power", "energy"):
                parts[channel_key(one.channel)].append(one)
    return [
        trace(
            same[-1].channel,
            np.concatenate([one.t_ns for one in same]),
            np.concatenate([one.value for one in same]),
            half_ns=np.concatenate([one.half_ns for one in same]),
            status=np.concatenate([one.status for one in same]),
        )
        for same in parts.values()
    ]


def _idle_windows(measurements: Iterable[Measurement], traces: Sequence[Trace]) -> list[tuple[int, int]]:
    """The stretches in which nothing ran, between the first and the last reading."""
    busy = sorted((one.begin_ns, one.end_ns) for one in measurements)
    at, last = _span(traces)
    found: list[tuple[int, int]] = []
    if not last:
        return found
    for begin, end in busy:
        if begin > at:
            found.append((at, begin))
        at = max(at, end)
    if last > at:
        found.append((at, last))
    return found


def _span(traces: Sequence[Trace]) -> tuple[int, int]:
    """From the first reading to the last, Unix ns; nothing from 0 to 0 where there is none."""
    stamps = [int(one.t_ns[index]) for one in traces if len(one) for index in (0, -1)]
    return (min(stamps), max(stamps)) if stamps else (0, 0)


class _Made:
    """The quantities as they are made, with what is said of those that could not be."""

    def __init__(
        self,
        traces: Sequence[Trace],
        characters: dict[int, Character | None],
        idle: list[tuple[int, int]],
        host: str,
    ) -> None:
        self.traces = traces
        self.characters = characters
        self.idle = idle
        self.host = host  # where the meters without a host of their own were read
        self.refresh_s = {id(one): refresh_s(one) for one in traces}
        self.metrics: dict[str, tuple[Metric, ...]] = {}
        self._budgets: dict[tuple[str, str], tuple[tuple[bool, bool, float], Quantity]] = {}
        self._longest: dict[str, tuple[tuple[bool, float], str, tuple[int, int]]] = {}  # by workload: a case's window
        self.checks: list[Notice] = []
        self.short: dict[str, list[float]] = defaultdict(list)  # channel -> lengths of cases that were too short
        self.failed: dict[str, list[str]] = defaultdict(list)  # channel -> reasons
        self._groups: dict[tuple[str, str, str, str], tuple[_Group, list[tuple[str, Quantity]]]] = {}

    def add(self, record: Measurement, case: Case, metric: Metric) -> None:
        if case.begin_ns is None or case.end_ns is None or not case.seconds:
            return
        window = (case.begin_ns, case.end_ns)
        seconds = (case.end_ns - case.begin_ns) * 1e-9
        place = str(case.params.get("host", record.host))
        longest = self._longest.get(record.workload)
        if longest is None or longest[0] < (metric.headline, seconds):
            self._longest[record.workload] = ((metric.headline, seconds), metric.title, window)
        for one in self.traces:
            if one.channel.host not in ("", place) or not len(one):
                continue
            key = channel_key(one.channel)
            if seconds < LEAST_REFRESHES * self.refresh_s[id(one)]:
                self.short[key].append(seconds)
                continue
            self._case(record, case, metric, one, window, place)

    def _case(
        self, record: Measurement, case: Case, metric: Metric, one: Trace, window: tuple[int, int], host: str
    ) -> None:
        energy = self._energy(one, window, f"{metric.title}, {channel_key(one.channel)}")
        if energy is None:
            return
        seconds = (window[1] - window[0]) * 1e-9
        busy = sum(case.seconds) / seconds
        if busy < BUSY:
            text = f"the case's energy holds {1 - busy:.0%} of other work: filling, checking, waiting"
            advice = "ask for more samples or seconds in a case"
            energy = _noticed(energy, Notice(code="energy-of-more", text=text, advice=advice))
        each = scaled(energy, 1 / len(case.seconds))
        work = case.work[metric.per.partition("/")[0]]
        made = {
            "power": scaled(energy, 1 / seconds, unit="W"),
            "energy": each,
            "energy_efficiency": phase.efficiency(work, each, unit=f"{metric.unit.removesuffix('/s')}/J"),
            "edp": phase.edp(each, statistics.median(case.seconds)),
        }
        part = one.channel.place not in UPSTREAM
        params = {name: value for name, value in case.params.items() if name != "host"}
        for word, value in made.items():
            self._keep(_metric(metric, word, part), record, {**params, "meter": one.channel.id}, host, value)
        rank = (metric.headline, not part, seconds)
        have = self._budgets.get((metric.name, one.channel.id))
        if have is None or have[0] < rank:
            self._budgets[metric.name, one.channel.id] = (rank, energy)

    @property
    def budgets(self) -> tuple[Quantity, ...]:
        """The longest case of each metric and channel: headlines first, and what is upstream of the supply."""
        best = sorted(self._budgets.values(), key=lambda pair: pair[0][:2], reverse=True)
        return tuple(energy for _, energy in best[:MOST_BUDGETS])

    def add_idle(self) -> None:
        """The power of idleness: the last stretch before the first run, and each between runs, settled."""
        for one in self.traces:
            settle_ns = int(2e9 * max(self.refresh_s[id(one)], one.channel.window_s or 0.0, 0.5))
            for begin, end in self.idle:
                if end - begin - settle_ns < LEAST_REFRESHES * 1e9 * self.refresh_s[id(one)]:
                    continue
                window = (begin + settle_ns, end)
                energy = self._energy(one, window, f"idle, {channel_key(one.channel)}")
                if energy is None:
                    continue
                value = scaled(energy, 1e9 / (window[1] - window[0]), unit="W")
                part = one.channel.place not in UPSTREAM
                metric = Metric(
                    name="idle.part_power" if part else "idle.power",
                    title="Idle power of a part" if part else "Idle power",
                    unit="W",
                    better="lower",
                    headline=not part,
                    source="mean between runs, once the meter has settled",
                )
                group = _Group(metric, "idle", {"meter": one.channel.id}, one.channel.host or self.host)
                self._put(group, "", value)

    def parts(self) -> tuple[PowerPart, ...]:
        """For the longest case of each workload: every channel's mean power, what no part accounts for, and how far two
        meters on one load are apart (which adds to ``checks``)."""
        tree = feeds.tree([one.channel for one in self.traces])
        idle = self._idle_w()
        found: list[PowerPart] = []
        for _, title, window in self._longest.values():
            powers = {}
            for one in self.traces:
                key = channel_key(one.channel)
                energy = self._energy(one, window, key)
                if energy is not None:
                    powers[key] = scaled(energy, 1e9 / (window[1] - window[0]), unit="W")
            for key, power in powers.items():
                more = None if key not in idle or power.value is None else power.value - idle[key]
                found.append(PowerPart(case=title, part=key, within=tree.parent(key), power=power, over_idle_w=more))
                if tree.canonical(key) == key:
                    found += self._rest(tree, key, powers, title)
            self.checks += [
                Notice(code="meters-differ", text=f"{title}: {one.text}", advice="characterise both on one load")
                for one in feeds.checks(tree, powers)
                if one.agree is False
            ]
        return tuple(found)

    def _rest(self, tree: feeds.Tree, key: str, powers: dict[str, Quantity], title: str) -> list[PowerPart]:
        inner = [feed.name for feed in tree.children(key)]
        if not inner or any(name not in powers for name in inner):
            return []
        rest = feeds.rest(tree, key, powers)
        self.checks += rest.notices
        return [PowerPart(case=title, part=f"rest of {key}", within=key, power=rest.value)]

    def _idle_w(self) -> dict[str, float]:
        """By channel: the median power of idleness."""
        watts: dict[str, list[float]] = defaultdict(list)
        for group, values in self._groups.values():
            if group.workload == "idle":
                key = next(channel_key(one.channel) for one in self.traces if one.channel.id == group.params["meter"])
                watts[key] += [value.value for _, value in values if value.value is not None]
        return {key: statistics.median(found) for key, found in watts.items() if found}

    def _energy(self, one: Trace, window: tuple[int, int], name: str) -> Quantity | None:
        character = self.characters[id(one)]
        try:
            found = phase.energy_of(one, *window, character=character, idle=self._beside(window), name=name)
        except ShakedownError as error:
            self.failed[channel_key(one.channel)].append(error.what)
            return None
        if found.value is None:
            self.failed[channel_key(one.channel)] += [notice.text for notice in found.notices[:1]]
            return None
        return found

    def _beside(self, window: tuple[int, int]) -> phase.Idle:
        """The idle stretches next to a window."""
        before = [one for one in self.idle if one[1] <= window[0]]
        after = [one for one in self.idle if one[0] >= window[1]]
        return (before[-1] if before else None, after[0] if after else None)

    def _keep(self, metric: Metric, record: Measurement, params: Params, host: str, value: Quantity) -> None:
        self._put(_Group(metric, record.workload, params, host), record.run, value)

    def _put(self, group: _Group, run: str, value: Quantity) -> None:
        known = self.metrics.setdefault(group.workload, ())
        if group.metric.name not in {one.name for one in known}:
            self.metrics[group.workload] = (*known, group.metric)
        key = (group.metric.name, group.workload, repr(sorted(group.params.items(), key=str)), group.host)
        self._groups.setdefault(key, (group, []))[1].append((run, value))

    def findings(self) -> list[Finding]:
        """One finding for each metric, set of parameters, meter and host: the median over repeats."""
        return [_finding(group, values) for group, values in self._groups.values()]

    def notices(self) -> list[Notice]:
        """What could not be had, one notice for each channel and reason."""
        made = list(dict.fromkeys(self.checks))
        for key, lengths in self.short.items():
            made.append(
                Notice(
                    code="too-short",
                    text=f"{key}: {len(lengths)} case{'s' * (len(lengths) != 1)} of {show_seconds(min(lengths))} to "
                    f"{show_seconds(max(lengths))} lasted less than two of its readings and have no energy",
                    advice="let each case last: params = { seconds = 30 }",
                )
            )
        for key, reasons in self.failed.items():
            for text in dict.fromkeys(reasons):
                times = reasons.count(text)
                made.append(
                    Notice(code="no-energy", text=f"{key}: {text}" + (f" ({times} times)" if times > 1 else ""))
                )
        return made


def _noticed(value: Quantity, notice: Notice) -> Quantity:
    return msgspec.structs.replace(value, notices=(*value.notices, notice))


_WORDS = {
    "power": ("Mean power during {}", "W", "lower", "energy over the length of the case"),
    "energy": ("Energy to solution, {}", "J", "lower", "energy between the case's marks over its samples"),
    "energy_efficiency": ("{}, energy efficiency", "", "higher", "work of a sample over its energy"),
    "edp": ("{}, energy-delay product", "J s", "lower", "energy of a sample times its median time"),
}


def _metric(metric: Metric, word: str, part: bool) -> Metric:
    title, unit, better, source = _WORDS[word]
    name = f"{metric.name.rpartition('.')[0] or metric.name}.{'part_' if part else ''}{word}"
    return Metric(
        name=name.replace("part_energy_efficiency", "part_efficiency"),
        title=title.format(metric.title) + (" of a part" if part else ""),
        unit=unit or f"{metric.unit.removesuffix('/s')}/J",
        better="higher" if better == "higher" else "lower",
        headline=word == "energy_efficiency" and not part and metric.headline,
        match=metric.match,
        limit="",
        source=source,
    )


def _finding(group: _Group, values: Sequence[tuple[str, Quantity]]) -> Finding:
    """The median over repeats. Its interval is the middle one of theirs, widened to that of the median where there are
    three or more: what the meter does not know, and what the repeats disagree by."""
    known = [(value.value, value) for _, value in values if value.value is not None]
    singles = [number for number, _ in known]
    ends = [interval for _, value in known if (interval := value.interval) is not None]
    low = statistics.median(end[0] for end in ends) if ends else None
    high = statistics.median(end[1] for end in ends) if ends else None
    if low is not None and high is not None and len(singles) > 2:
        between = median_interval(singles)
        low, high = min(low, between.low), max(high, between.high)
    return Finding(
        metric=group.metric.name,
        unit=group.metric.unit,
        better=group.metric.better,
        workload=group.workload,
        params=group.params,
        host=group.host,
        value=statistics.median(singles),
        low=low,
        high=high,
        n_samples=len(known),
        n_runs=len(known),
        best=min(singles) if group.metric.better == "lower" else max(singles),
        notices=tuple(dict.fromkeys(notice for _, value in known for notice in value.notices)),
        runs=tuple(dict.fromkeys(run for run, _ in values if run)),
    )


# ------------------------------------------------------------------------------------------------------------------ view


def _view(
    traces: Sequence[Trace], made: _Made, measurements: Sequence[Measurement], labels: Mapping[str, str]
) -> PowerView:
    begin_ns, end_ns = _span(traces)
    spans = [
        PowerSpan(
            name=labels.get(one.run, one.workload),
            kind="run",
            begin_s=(one.begin_ns - begin_ns) * 1e-9,
            end_s=(one.end_ns - begin_ns) * 1e-9,
        )
        for one in measurements
    ]
    spans += [
        PowerSpan(name="idle", kind="idle", begin_s=(begin - begin_ns) * 1e-9, end_s=(end - begin_ns) * 1e-9)
        for begin, end in made.idle
    ]
    parts = made.parts()
    return PowerView(
        begin_ns=begin_ns,
        parts=parts,
        lines=tuple(line for one in traces if (line := _line(one, begin_ns, end_ns)) is not None),
        spans=tuple(sorted(spans, key=lambda span: span.begin_s)),
        meters=tuple(_seen(one, made) for one in traces),
        budgets=made.budgets,
        notices=tuple(made.notices()),
    )


def _line(one: Trace, begin_ns: int, end_ns: int) -> PowerLine | None:
    """A channel's power in stretches: a counter's from its differences. None where fewer than two readings count."""
    from ..energy.counters import unroll

    good = one.take(one.ok)
    t_s, watts = good.seconds(begin_ns), good.value
    if one.channel.scope == "counter":
        counted = unroll(one, most_w=one.channel.most_w)
        t_s = (counted.t_ns - begin_ns).astype(np.float64) * 1e-9
        steps = np.diff(counted.energy_j) / np.maximum(np.diff(t_s), 1e-9)
        t_s, watts = t_s[1:], steps
        finite = np.isfinite(watts)
        t_s, watts = t_s[finite], watts[finite]
    if len(watts) < 2:
        return None
    span = max((end_ns - begin_ns) * 1e-9, 1e-9)
    count = int(min(STRETCHES, max(2, len(watts))))
    index = np.minimum((t_s / span * count).astype(int), count - 1)
    kept = [np.flatnonzero(index == i) for i in range(count)]
    kept = [rows for rows in kept if len(rows)]
    return PowerLine(
        channel=channel_key(one.channel),
        title=one.channel.title,
        host=one.channel.host,
        place=one.channel.place,
        unit="W",
        t_s=tuple(float(np.mean(t_s[rows])) for rows in kept),
        mean=tuple(float(np.mean(watts[rows])) for rows in kept),
        low=tuple(float(np.min(watts[rows])) for rows in kept),
        high=tuple(float(np.max(watts[rows])) for rows in kept),
    )


def _seen(one: Trace, made: _Made) -> MeterSeen:
    channel = one.channel
    window = f"{show_seconds(channel.window_s)} " if channel.window_s else ""
    words = {
        "point": "the power at its stamp",
        "last": f"the mean of the {window}before its stamp" if window else "the mean since the reading before",
        "next": f"the mean of the {window}after its stamp" if window else "the mean until the reading after",
        "counter": "the energy so far",
    }
    return MeterSeen(
        channel=channel_key(channel),
        title=channel.title,
        place=channel.place,
        stands_for=words[channel.scope],
        readings=int(one.ok.sum()),
        missing=int(len(one) - one.ok.sum()),
        refresh_s=made.refresh_s[id(one)] if len(one) else None,
        characterised=made.characters[id(one)] is not None,
        note=channel.note,
    )
