"""Energy of every case by every channel, what follows from it, idleness, and where the power goes."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from ...energy import feeds, phase
from ...energy.quantity import scaled
from ...errors import ShakedownError
from ...meters import UPSTREAM
from ...records import Case, Finding, Measurement, Metric, Notice, Params, Phase, PowerPart, Quantity
from ...units import show_seconds
from ..statistics import median_interval
from .readings import Read

#: A case must last this many refreshes of its meter: with fewer its energy is mostly that of its neighbours.
LEAST_REFRESHES = 2.0
#: Share of a case's time that its samples fill, below which its energy is said to hold other work.
BUSY = 0.9
MOST_BUDGETS = 12
#: Phases of one run that are looked at; a program that marks more has them by the hundred, one for each case.
MOST_PHASES = 24

Window = tuple[int, int]


SET_CLOCK = "keep the clocks of the meters and the hosts by NTP or PTP"
MORE_EDGES = "rest between runs (--rest), and let them last, so that their edges show in the readings"


class Longest(NamedTuple):
    """The longest case of something, those with a headline first."""

    rank: tuple[bool, float]
    title: str
    window: Window


class _Group(NamedTuple):
    """One value over its repeats and cases."""

    metric: Metric
    workload: str
    params: Params
    host: str


class Cases:
    """The quantities as they are made, with what is said of those that could not be."""

    def __init__(self, channels: Sequence[Read], idle: list[Window], host: str, marks_ns: Sequence[int] = ()) -> None:
        self.channels = channels
        self.idle = idle
        self.marks_ns = marks_ns  # when anything is known to have begun or ended
        self.host = host  # where the meters without a host of their own were read
        self.metrics: dict[str, tuple[Metric, ...]] = {}
        self.longest: dict[str, Longest] = {}  # by workload
        self.longest_of_run: dict[tuple[str, int], Longest] = {}
        self.checks: list[Notice] = []
        self._budgets: dict[tuple[str, str], tuple[tuple[bool, bool, float], Quantity]] = {}
        self._energies: dict[tuple[str, Window], Quantity | None] = {}
        self._short: dict[str, list[float]] = defaultdict(list)  # channel -> lengths of cases that were too short
        self._failed: dict[str, list[str]] = defaultdict(list)  # channel -> reasons
        self._groups: dict[tuple[str, str, str, str], tuple[_Group, list[tuple[str, Quantity]]]] = {}

    def add(self, record: Measurement, case: Case, metric: Metric) -> None:
        if case.begin_ns is None or case.end_ns is None or not case.seconds:
            return
        window = (case.begin_ns, case.end_ns)
        seconds = (case.end_ns - case.begin_ns) * 1e-9
        place = str(case.params.get("host", record.host))
        mine = Longest((metric.headline, seconds), metric.title, window)
        self.longest[record.workload] = max(self.longest.get(record.workload, mine), mine)
        run = (record.run, record.repeat)
        self.longest_of_run[run] = max(self.longest_of_run.get(run, mine), mine)
        for one in self.channels:
            if one.trace.channel.host not in ("", place) or not len(one.trace):
                continue
            if seconds < LEAST_REFRESHES * one.refresh_s:
                self._short[one.key].append(seconds)
                continue
            self._case(record, case, metric, one, window, place)

    def _case(self, record: Measurement, case: Case, metric: Metric, one: Read, window: Window, host: str) -> None:
        channel = one.trace.channel
        energy = self.energy(one, window, f"{metric.title}, {one.key}")
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
        part = channel.place not in UPSTREAM
        params = {name: value for name, value in case.params.items() if name != "host"}
        for word, value in made.items():
            self._keep(_metric(metric, word, part), record, {**params, "meter": channel.id}, host, value)
        rank = (metric.headline, not part, seconds)
        have = self._budgets.get((metric.name, channel.id))
        if have is None or have[0] < rank:
            self._budgets[metric.name, channel.id] = (rank, energy)

    @property
    def budgets(self) -> tuple[Quantity, ...]:
        """The longest case of each metric and channel: headlines first, and what is upstream of the supply."""
        best = sorted(self._budgets.values(), key=lambda pair: pair[0][:2], reverse=True)
        return tuple(energy for _, energy in best[:MOST_BUDGETS])

    def add_idle(self) -> None:
        """The power of idleness: the last stretch before the first run, and each between runs, settled."""
        for one in self.channels:
            channel = one.trace.channel
            settle_ns = int(2e9 * max(one.refresh_s, channel.window_s or 0.0, 0.5))
            for begin, end in self.idle:
                if end - begin - settle_ns < LEAST_REFRESHES * 1e9 * one.refresh_s:
                    continue
                window = (begin + settle_ns, end)
                value = self.power(one, window, f"idle, {one.key}")
                if value is None:
                    continue
                part = channel.place not in UPSTREAM
                metric = Metric(
                    name="idle.part_power" if part else "idle.power",
                    title="Idle power of a part" if part else "Idle power",
                    unit="W",
                    better="lower",
                    headline=not part,
                    source="mean between runs, once the meter has settled",
                )
                group = _Group(metric, "idle", {"meter": channel.id}, channel.host or self.host)
                self._put(group, "", value)

    def warn(self, measurements: Sequence[Measurement], labels: Mapping[str, str]) -> None:
        """What the traces show by themselves, and what became of the meters' clocks."""
        runs = [
            Phase(name=labels.get(one.run, one.workload), begin_ns=one.begin_ns, end_ns=one.end_ns)
            for one in measurements
        ]
        for device, clock in {one.device: one.clock for one in self.channels}.items():
            if clock.how in ("estimated", "read"):
                self.checks.append(Notice(code="clock-corrected", text=f"{device}: {clock.text()}", advice=SET_CLOCK))
            elif clock.how == "assumed" and measurements:
                self.checks.append(Notice(code="clock-assumed", text=f"{device}: {clock.text()}", advice=MORE_EDGES))
        # Where the power steps within a run, its program's own phases say so.
        runs += [inner for one in measurements if len(one.phases) <= MOST_PHASES for inner in one.phases]
        for one in self.channels:
            found = phase.warnings_of(one.trace, runs) if len(one.trace) else ()
            self.checks += [
                msgspec.structs.replace(notice, text=f"{one.key}: {notice.text}")
                for notice in found
                if notice.code != "averaging" or one.character is None  # how it averages is known
            ]

    def parts(self) -> tuple[PowerPart, ...]:
        """For the longest case of each workload: every channel's mean power, what no part accounts for, and how far two
        meters on one load are apart (which adds to ``checks``)."""
        tree = feeds.tree([one.trace.channel for one in self.channels])
        idle = self._idle_w()
        found: list[PowerPart] = []
        for _, title, window in self.longest.values():
            powers = {
                one.key: power for one in self.channels if (power := self.power(one, window, one.key)) is not None
            }
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
                key = next(one.key for one in self.channels if one.trace.channel.id == group.params["meter"])
                watts[key] += [value.value for _, value in values if value.value is not None]
        return {key: statistics.median(found) for key, found in watts.items() if found}

    def energy(self, one: Read, window: Window, name: str) -> Quantity | None:
        """The energy of a channel in a window, reckoned once; None where there is none, with the reason kept."""
        if (one.key, window) not in self._energies:
            self._energies[one.key, window] = self._energy(one, window)
        found = self._energies[one.key, window]
        return None if found is None else msgspec.structs.replace(found, name=name)

    def power(self, one: Read, window: Window, name: str) -> Quantity | None:
        """The mean power of that: the energy over the length."""
        found = self.energy(one, window, name)
        return None if found is None else scaled(found, 1e9 / (window[1] - window[0]), unit="W")

    def _energy(self, one: Read, window: Window) -> Quantity | None:
        try:
            found = phase.energy_of(
                one.trace,
                *window,
                character=one.character,
                idle=self._beside(window),
                clock_u_s=one.clock.u_s,
                clock=one.device,
            )
        except ShakedownError as error:
            self._failed[one.key].append(error.what)
            return None
        if found.value is None:
            self._failed[one.key] += [notice.text for notice in found.notices[:1]]
            return None
        return found

    def _beside(self, window: Window) -> phase.Idle:
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
        for key, lengths in self._short.items():
            made.append(
                Notice(
                    code="too-short",
                    text=f"{key}: {len(lengths)} case{'s' * (len(lengths) != 1)} of {show_seconds(min(lengths))} to "
                    f"{show_seconds(max(lengths))} lasted less than two of its readings and have no energy",
                    advice="let each case last: params = { seconds = 30 }",
                )
            )
        for key, reasons in self._failed.items():
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
        ranked_by=(*metric.ranked_by, "rail", *(("n", "bytes") if word in ("energy", "edp") else ())),
        only=metric.only,
        titles=metric.titles,
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
