"""A journal folded into a verdict. Pure: the same entries give the same report, during the run and years later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .records import (
    NODE,
    Begin,
    BurninPlan,
    BurninReport,
    Device,
    DeviceVerdict,
    End,
    Entry,
    Figures,
    Judgement,
    Minute,
    State,
    Symptom,
    SymptomEntry,
    Turn,
    WorkerEnd,
)

#: Of each device and kind so many symptoms are kept whole; the rest are counted.
MOST_TOLD = 20
#: Of the time that was asked for, this share must have been burnt for a verdict: edges of sessions cost some.
WHOLE = 0.98
_WORST_FIRST: tuple[Judgement, ...] = ("failed", "running", "not tested", "unfinished", "passed in part", "passed")


class _Device:
    """What is known of one device so far."""

    def __init__(self) -> None:
        self.state: State = "waiting"
        self.why = ""
        self.first: Symptom | None = None
        self.first_warning: Symptom | None = None
        self.counts: Counter[str] = Counter()
        self.before = WorkerEnd()  # of sessions that have ended
        self.done = WorkerEnd()  # of this one
        self.slowest: float | None = None
        self.figures: Figures = {}

    def total(self) -> WorkerEnd:
        return added(self.before, self.done)


class BurninState:
    """Everything that the entries so far add up to; its size does not grow with time."""

    def __init__(self, plan: BurninPlan) -> None:
        self.plan = plan
        self._devices = {one.id: _Device() for one in plan.devices}
        self._devices[NODE] = _Device()
        self._symptoms: list[Symptom] = []
        self._notes: list[str] = []
        self._sessions = 0
        self._begun_s = self._session_s = self._last_s = 0.0
        self._burnt_s = 0.0  # of sessions that have ended
        self._why = ""

    def apply(self, entry: Entry) -> None:
        """One entry more."""
        match entry:
            case Begin():
                self._begin(entry)
            case Minute():
                self._minute(entry)
            case SymptomEntry():
                self._tell(entry.symptom)
            case Turn():
                self._devices[entry.device].state = entry.state
                self._devices[entry.device].why = entry.why
                self._last_s = max(self._last_s, entry.at_s)
            case End():
                self._last_s = max(self._last_s, entry.at_s)
                self._why = entry.why

    def _begin(self, entry: Begin) -> None:
        if self._sessions:
            self._burnt_s = self.burnt_s
        else:
            self._begun_s = entry.at_s
        self._sessions += 1
        self._session_s = self._last_s = entry.at_s
        self._why = ""
        self._notes += [one for one in entry.notes if one not in self._notes]
        for one in self._devices.values():
            one.before, one.done = one.total(), WorkerEnd()
            one.state, one.why = "waiting", ""

    def _minute(self, entry: Minute) -> None:
        self._last_s = max(self._last_s, entry.at_s)
        for name, done in entry.done.items():
            one = self._devices[name]
            rate = rate_between(one.done, done)
            if rate is not None:
                one.slowest = rate if one.slowest is None else min(one.slowest, rate)
            one.done = done
        for name, figures in entry.figures.items():
            self._devices[name].figures = joined(self._devices[name].figures, figures)
        for key, count in entry.more.items():
            name, _, kind = key.partition(" ")
            self._devices[name].counts[kind] += count

    def _tell(self, symptom: Symptom) -> None:
        self._last_s = max(self._last_s, symptom.at_s)
        one = self._devices[symptom.device]
        one.counts[symptom.kind] += 1
        if symptom.severity == "critical":
            one.first = earlier(one.first, symptom)
        else:
            one.first_warning = earlier(one.first_warning, symptom)
        if one.counts[symptom.kind] <= MOST_TOLD:
            self._symptoms.append(symptom)

    @property
    def burnt_s(self) -> float:
        """Seconds of all sessions so far."""
        return self._burnt_s + (self._last_s - self._session_s if self._sessions else 0.0)

    def kept(self, device: str, kind: str) -> int:
        """How often this has been."""
        return self._devices[device].counts[kind]

    @property
    def failed(self) -> bool:
        """Whether there was a critical symptom."""
        return any(one.first is not None for one in self._devices.values())

    def report(self, *, running: bool = False) -> BurninReport:
        """The verdict so far; ``running``: somebody burns in at this moment."""
        whole = self.burnt_s >= WHOLE * self.plan.seconds
        devices = tuple(self._verdict(one.id, one.title, whole, running) for one in self.plan.devices)
        node = self._devices[NODE]
        criticals = [one.first for one in self._devices.values() if one.first is not None]
        found = {one.judgement for one in devices} | ({"failed"} if criticals else set())
        covered, in_part = coverage(self.plan)
        if in_part:
            found.add("passed in part")
        if running:
            found.add("running")
        judgement: Judgement = next((one for one in _WORST_FIRST if one in found), "not tested")
        return BurninReport(
            host=self.plan.host,
            judgement=judgement,
            drill=bool(self.plan.drills),
            asked_s=self.plan.seconds,
            burnt_s=self.burnt_s,
            begun_s=self._begun_s,
            ended_s=self._last_s,
            sessions=self._sessions,
            why=self._why or ("under way" if running else "under way elsewhere, or cut off"),
            first=min(criticals, key=lambda one: one.at_s, default=None),
            devices=devices,
            symptoms=tuple(sorted(self._symptoms, key=lambda one: one.at_s)),
            node=node.figures,
            node_symptoms=dict(node.counts),
            notes=tuple(self._notes),
            covered=covered,
        )

    def _verdict(self, name: str, title: str, whole: bool, running: bool) -> DeviceVerdict:
        one = self._devices[name]
        total = one.total()
        judgement: Judgement = "passed"
        if one.first is not None or total.faults:  # faults that were counted and not told count too
            judgement = "failed"
        elif running and one.state in ("waiting", "running"):
            judgement = "running"
        elif total.products == 0 and total.passes == 0:
            judgement = "not tested"
        elif not whole or one.state not in ("ended", "running"):
            judgement = "unfinished"
        return DeviceVerdict(
            device=name,
            title=title,
            judgement=judgement,
            state=one.state,
            why=one.why,
            first=one.first,
            first_warning=one.first_warning,
            symptoms=dict(one.counts),
            done=total,
            rate_flops=total.flop / total.product_s if total.product_s > 0 else None,
            slowest_flops=one.slowest,
            figures=one.figures,
        )


def coverage(plan: BurninPlan) -> tuple[str, bool]:
    """How much of the node a plan burns in, in words, and whether it leaves out some of a kind that it takes."""
    words, in_part = [], False
    for kind, there in plan.there.items():
        taken = sum(kind_of(one) == kind for one in plan.devices)
        words.append(f"{taken} of {there} {kind}{'s' * (there != 1)}")
        in_part |= 0 < taken < there
    return ", ".join(words), in_part


def kind_of(device: Device) -> str:
    return "core" if device.index is None else "GPU"


def fold(plan: BurninPlan, entries: Iterable[Entry]) -> BurninState:
    """A whole journal."""
    course = BurninState(plan)
    for entry in entries:
        course.apply(entry)
    return course


def earlier(one: Symptom | None, other: Symptom) -> Symptom:
    return other if one is None or other.at_s < one.at_s else one


def added(one: WorkerEnd, other: WorkerEnd) -> WorkerEnd:
    return WorkerEnd(**{name: getattr(one, name) + getattr(other, name) for name in WorkerEnd.__struct_fields__})


def joined(one: Figures, other: Figures) -> Figures:
    """The ranges of both together."""
    return {
        name: one[name].joined(other[name]) if name in one and name in other else one.get(name) or other[name]
        for name in (*one, *(name for name in other if name not in one))
    }


def rate_between(before: WorkerEnd, after: WorkerEnd) -> float | None:
    """flop/s of the products between two tellings; None where there were too few to tell."""
    seconds = after.product_s - before.product_s
    return (after.flop - before.flop) / seconds if seconds > 0.5 else None
