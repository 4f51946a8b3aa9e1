"""Energy of every case by every channel, what follows from it, idleness, and where the power goes."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from ...energy import phase
from ...energy.green500 import feed_power, feeds
from ...energy.uncertainty.quantity import scaled, total
from ...errors import ShakedownError
from ...metering.meters import UPSTREAM
from ...records import Case, Finding, Measurement, Metric, Notice, Phase, PowerPart, Quantity
from ...units import show_seconds
from ..spans import disagreement
from .case_values import BUSY, LEAST_BUSY, Figure, Group, Window, figures, finding, metric_of, of_other_work, windows
from .readings import Read

#: A case must last this many refreshes of its meter: with fewer its energy is mostly that of its neighbours.
LEAST_REFRESHES = 2.0
MOST_BUDGETS = 12
#: Phases of one run that are looked at; a program that marks more has them by the hundred, one for each case.
MOST_PHASES = 24

SET_CLOCK = "keep the clocks of the meters and the hosts by NTP or PTP"
MORE_EDGES = "rest between runs (--rest), and let them last, so that their edges show in the readings"


class Longest(NamedTuple):
    """The longest case of something, those with a headline first."""

    rank: tuple[bool, float]
    title: str
    window: Window


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
        self._groups: dict[tuple[str, str, str, str], tuple[Group, list[tuple[str, Figure]]]] = {}

    def add(self, record: Measurement, case: Case, metric: Metric, stem: str) -> None:
        if case.begin_ns is None or case.end_ns is None or not case.seconds:
            return
        if problem := disagreement(case):
            self.checks.append(
                Notice(
                    code="span-disagrees",
                    text=f"{metric.title}: {problem}: it has no energy",
                    advice="report this: the program marks its case wrongly, or the host's clock was set during it",
                )
            )
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
            self._case(record, case, metric, stem, one, place)

    def _case(self, record: Measurement, case: Case, metric: Metric, stem: str, one: Read, host: str) -> None:
        spans = windows(case, LEAST_REFRESHES * one.refresh_s)
        seconds = sum(end - begin for begin, end in spans) * 1e-9
        busy = sum(case.seconds) / seconds
        title = f"{metric.title}, {one.key}"
        if busy < LEAST_BUSY:
            self._failed[one.key].append(f"{metric.title}: its samples fill {busy:.0%} of its time")
            return
        parts = [self.energy(one, window, title) for window in spans]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return
        energy = known[0] if len(known) == 1 else total(title, "J", [(1.0, part) for part in known])
        if busy < BUSY:
            energy = of_other_work(energy, busy)
        channel = one.trace.channel
        part = channel.place not in UPSTREAM
        params = {name: value for name, value in case.params.items() if name != "host"}
        for word, figure in figures(metric, case, energy, seconds).items():
            group = Group(metric_of(metric, stem, word, part), record.workload, {**params, "meter": channel.id}, host)
            self._put(group, record.run, figure)
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
                group = Group(metric, "idle", {"meter": channel.id}, channel.host or self.host)
                self._put(group, "", Figure(value))

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
                for one in feed_power.checks(tree, powers)
                if one.agree is False
            ]
        return tuple(found)

    def _rest(self, tree: feeds.Tree, key: str, powers: dict[str, Quantity], title: str) -> list[PowerPart]:
        inner = [feed.name for feed in tree.children(key)]
        if not inner or any(name not in powers for name in inner):
            return []
        rest = feed_power.rest(tree, key, powers)
        self.checks += rest.notices
        return [PowerPart(case=title, part=f"rest of {key}", within=key, power=rest.value)]

    def _idle_w(self) -> dict[str, float]:
        """By channel: the median power of idleness."""
        watts: dict[str, list[float]] = defaultdict(list)
        for group, values in self._groups.values():
            if group.workload == "idle":
                key = next(one.key for one in self.channels if one.trace.channel.id == group.params["meter"])
                watts[key] += [one.value.value for _, one in values if one.value.value is not None]
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

    def _put(self, group: Group, run: str, figure: Figure) -> None:
        known = self.metrics.setdefault(group.workload, ())
        if group.metric.name not in {one.name for one in known}:
            self.metrics[group.workload] = (*known, group.metric)
        key = (group.metric.name, group.workload, repr(sorted(group.params.items(), key=str)), group.host)
        self._groups.setdefault(key, (group, []))[1].append((run, figure))

    def findings(self) -> list[Finding]:
        """One finding for each metric, set of parameters, meter and host: the median over repeats."""
        return [finding(group, made) for group, made in self._groups.values()]

    def notices(self) -> list[Notice]:
        """What could not be had, one notice for each channel and reason."""
        made = list(dict.fromkeys(self.checks))
        for key, lengths in self._short.items():
            made.append(
                Notice(
                    code="too-short",
                    text=f"{key}: {len(lengths)} case{'s' * (len(lengths) != 1)} of {show_seconds(min(lengths))} to "
                    f"{show_seconds(max(lengths))} lasted less than two of its readings and have no energy",
                    advice="let each case last longer (more samples or seconds), or take a meter with new values more often",
                )
            )
        for key, reasons in self._failed.items():
            for text in dict.fromkeys(reasons):
                times = reasons.count(text)
                made.append(
                    Notice(code="no-energy", text=f"{key}: {text}" + (f" ({times} times)" if times > 1 else ""))
                )
        return made
