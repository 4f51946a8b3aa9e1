"""Burns in: starts the workers, reads them, looks at the machine, journals, and ends them. A thin loop around the rest."""

from __future__ import annotations

import contextlib
import selectors
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from ...errors import CannotMeasure
from ...units import show_bytes, show_seconds
from ..health.node_access import NodeAccess
from . import symptoms
from .journal import Journal
from .monitor import Monitor, Snapshot, Watts
from .records import (
    NODE,
    Begin,
    BurninPlan,
    Device,
    End,
    Figures,
    Minute,
    Severity,
    State,
    Symptom,
    SymptomEntry,
    Turn,
    WorkerEnd,
)
from .state import MOST_TOLD, BurninState, joined, rate_between
from .workers import Worker, command

Why = Literal["time", "signal", "first symptom", "nobody left"]

#: How long a worker has to end when it is asked to, and a killed one to be gone.
_GRACE_S, _KILL_S = 5.0, 2.0
_OURS = (-signal.SIGTERM, -signal.SIGKILL)
#: Past the end of the schedule workers end by themselves within this.
_LATE_S = 5.0
#: A worker that begins after this share of the time, and more than a second late, is told.
_LATE = 0.2
_TURN_S = 0.25


class Setting(NamedTuple):
    """What a session needs of the world."""

    folder: Path
    program: str
    senses: NodeAccess
    watts: Watts
    lead_s: float = 1.0  # workers are started one after the other; the schedule begins for all of them then
    say: Callable[[str], None] = lambda text: None  # to a person
    watched: Callable[[Session], None] = lambda session: None  # called at every turn of the loop


class Session:
    """One session of a burn-in. ``run`` returns when it has ended; the course then has the verdict."""

    def __init__(self, plan: BurninPlan, course: BurninState, journal: Journal, setting: Setting) -> None:
        self._plan, self._course, self._journal, self._setting = plan, course, journal, setting
        self.workers: dict[str, Worker] = {}
        self._selector = selectors.DefaultSelector()
        self._eyes = Monitor(setting.senses)
        self._sight = Snapshot()
        self._figures: dict[str, Figures] = {}  # since the last minute
        self._told: dict[str, WorkerEnd] = {}  # what the last minute had of each
        self._slow: Counter[str] = Counter()
        self._best: dict[str, float] = {}
        self._more: Counter[str] = Counter()
        self._asked_to_end = self._ending = self._journal_failed = False
        self._over = "the burn-in"  # what has ended, in words
        self._burnt_before_s = course.burnt_s
        self._begun = 0.0  # monotonic

    # ------------------------------------------------------------------------------------------------------- the story

    def run(self) -> Why:
        """Burn in for what is left of the plan's time. Raises CannotMeasure where the journal cannot be kept."""
        left_s = self._plan.seconds - self._burnt_before_s
        with self._signals():
            try:
                self._begin()
                why = self._until(self._begun + left_s)
                self._over = "the time" if why == "time" else "the burn-in"
                self._end_workers()
                self._minute()
                self._add(End(at_s=time.time(), why=why))
                return why
            finally:
                self._end_workers()
                for worker in self.workers.values():
                    worker.close()
                self._selector.close()
                self._eyes.close()

    def _begin(self) -> None:
        self._sight = self._look()
        boot = self._setting.senses.word("/proc/sys/kernel/random/boot_id") or ""
        self._begun = time.monotonic() + self._setting.lead_s
        begin_ns = time.time_ns() + round(self._setting.lead_s * 1e9)
        self._add(Begin(at_s=begin_ns * 1e-9, boot=boot, notes=symptoms.notes(self._sight)))
        # The schedule goes on where the last session left it: stages that come late come all the same.
        start_ns = begin_ns - round(self._burnt_before_s * 1e9)
        errors = self._setting.folder / "workers"
        for number, device in enumerate(self._plan.devices):
            seed = (begin_ns // 1000 + number) % 2**40
            argv = command(self._setting.program, self._plan, device, start_ns, self._burnt_before_s, seed)
            path = errors / f"{device.id.replace(':', '-')}.err"
            try:
                worker = Worker(device, argv, path, time.monotonic(), self._plan)
            except OSError as error:
                raise CannotMeasure(
                    f"the worker cannot be started: {error}", where=argv[0], hint="see `ulimit -u`"
                ) from None
            self.workers[device.id] = worker
            self._selector.register(worker.pipe, selectors.EVENT_READ, worker)

    def _until(self, end: float) -> Why:
        """Watch until the end; why it came."""
        look = minute = time.monotonic()
        minute += _minute_s(0)
        while True:
            self._read(_TURN_S)
            now = time.monotonic()
            self._notice_silence(now)
            self._setting.watched(self)
            if self._asked_to_end:
                return "signal"
            if self._plan.stop == "first" and self._course.failed:
                return "first symptom"
            if not any(one.alive for one in self.workers.values()):
                return "time" if now >= end - _LATE_S else "nobody left"
            if now >= end + _LATE_S or (now >= end and all(one.state != "running" for one in self.workers.values())):
                return "time"
            if now >= look and now < end:
                look = now + self._plan.look_s
                self._watch()
            if now >= minute:
                minute = now + _minute_s(now - self._begun)
                self._minute()

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C, SIGTERM and SIGHUP end the session; the verdict so far still comes."""
        before = {}

        def ask(number: int, frame: Any) -> None:
            self._asked_to_end = True

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            before[number] = signal.signal(number, ask)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    # --------------------------------------------------------------------------------------------------------- workers

    def _read(self, limit_s: float) -> None:
        for key, _ in self._selector.select(limit_s):
            worker: Worker = key.data
            faults, closed = worker.read(time.monotonic())
            if not closed and worker.state in ("waiting", "silent") and worker.stage:
                back = worker.state == "silent"
                self._turn(worker, "running", "it goes on" if back else "")
                self._notice_late(worker, back)
            for fault in faults:
                self._symptom(_corruption(fault, worker.device))
            if closed:
                self._selector.unregister(worker.pipe)
                self._notice_end(worker)

    def _notice_end(self, worker: Worker) -> None:
        deadline = time.monotonic() + _KILL_S
        while (ended := worker.ended()) is None and time.monotonic() < deadline:
            time.sleep(0.005)
        state, why = ended or ("left", "it closed its output and does not end")
        early = self._plan.seconds - self._burnt_before_s - (time.monotonic() - self._begun)
        if state == "ended" and early > _LATE_S and not self._asked_to_end:
            state, why = "died", f"it ended {early:.0f} s too early"
        was = worker.state
        if self._ending and worker.process.returncode in _OURS:
            state, why = self._put_down(worker)
        self._turn(worker, state, why)
        if state == "died":
            what = f"its worker died during {was if was != 'running' else worker.stage}: {why}"
            self._new(worker.device.id, "died", "critical", what, "see the kernel's log, then run it alone")

    def _notice_late(self, worker: Worker, back: bool) -> None:
        """Say of a worker that has just begun that much of the time was over by then: so much less was tested."""
        late_s = time.monotonic() - self._begun
        left_s = self._plan.seconds - self._burnt_before_s
        if not back and late_s > max(_LATE * left_s, 1.0):
            what = (
                f"it began {show_seconds(late_s)} after the start, of {show_seconds(left_s)}: so much less was tested"
            )
            action = "give it more --time" + ("" if worker.device.index is not None else ", or less --memory to fill")
            self._new(worker.device.id, "late", "warning", what, action)

    def _put_down(self, worker: Worker) -> tuple[State, str]:
        """The state of a worker that was ended by a signal of ours, because the time was over: that is no death of a
        device. One that had not begun was not tested; one that was silent stays so; one at work has not finished."""
        if worker.state == "waiting":
            size = 0 if worker.device.index is not None else self._plan.memory_bytes
            filling = f", still filling {show_bytes(size)} of memory" if size else ""
            return "late", f"had not begun when {self._over} ended{filling}"
        if worker.state == "running":
            what = f"did not end within {_GRACE_S:g} s of being asked to, and was killed"
            action = "see what held it: the kernel's log, other programs, swapping; then run it alone"
            self._new(worker.device.id, "slow-to-end", "warning", f"its worker {what}", action)
            return "silent", what
        return "ended", ""

    def _notice_silence(self, now: float) -> None:
        for worker in self.workers.values():
            if worker.state in ("waiting", "running") and now - worker.seen > worker.patience_s:
                why = worker.why_silent()
                self._turn(worker, "silent", why)
                what = f"no sign of life for {now - worker.seen:.0f} s, last in {worker.stage or 'its beginning'}"
                action = "see what holds it: /proc/PID/stack as root, the kernel's log"
                self._new(worker.device.id, "silent", "critical", what + (f"; {why}" if why else ""), action)

    def _end_workers(self) -> None:
        """Ask, wait, kill, wait; what is still there then is left behind and named."""
        self._ending = self._asked_to_end = True
        for number, limit_s in ((signal.SIGTERM, _GRACE_S), (signal.SIGKILL, _KILL_S)):
            living = [one for one in self.workers.values() if one.process.poll() is None]
            for worker in living:
                # A stopped worker cannot hear: it is not waited for.
                worker.signal(signal.SIGKILL if worker.state == "silent" else number)
            deadline = time.monotonic() + limit_s
            while time.monotonic() < deadline and any(one.process.poll() is None for one in living):
                self._read(0.05)
        for _ in range(1000):  # what the dead have left in their pipes
            if not any(key.data.process.poll() is not None for key in self._selector.get_map().values()):
                break
            self._read(0.01)
        for worker in self.workers.values():
            if worker.alive and worker.process.poll() is None:
                self._turn(worker, "left", f"process {worker.process.pid} cannot be killed; {worker.why_silent()}")

    def _turn(self, worker: Worker, state: Any, why: str) -> None:
        if worker.state == state:
            return
        if self._ending and worker.state == "silent" and state in ("died", "ended"):  # killed by us: it stays silent
            worker.state = "ended"
            return
        self._add(Turn(at_s=time.time(), device=worker.device.id, state=state, why=why))
        worker.state = state
        if why and state not in ("ended",):
            self._setting.say(f"{worker.device.id}: {state}: {why}")

    # ------------------------------------------------------------------------------------------------------- the watch

    def _look(self) -> Snapshot:
        seen = self._eyes.look(time.time())
        return msgspec.structs.replace(seen, watts=self._setting.watts.read())

    def _watch(self) -> None:
        now = self._look()
        for symptom in symptoms.symptoms(self._sight, now, self._plan):
            self._symptom(symptom)
        # What could not be seen this time is compared with when it was last seen.
        kept = {"gpus": ("gpus", "gpu_hz"), "machine": ("memory", "machine_checks", "throttles")}
        held = {name: getattr(self._sight, name) for part in now.missing for name in kept.get(part, ())}
        self._sight = msgspec.structs.replace(now, **held)
        for device, values in symptoms.figures(now, self._plan).items():
            self._figures[device] = joined(self._figures.get(device, {}), values)

    def _minute(self) -> None:
        """Journal how far everybody is, and find who has become slow."""
        done = {name: one.done for name, one in self.workers.items()}
        figures = {name: values for name, values in self._figures.items() if values}
        self._add(Minute(at_s=time.time(), done=done, figures=figures, more=dict(self._more)))
        self._figures, self._more = {}, Counter()
        for name, now in done.items():
            rate = rate_between(self._told.get(name, WorkerEnd()), now)
            if rate is None:
                continue
            best = self._best[name] = max(self._best.get(name, 0.0), rate)
            self._slow[name] = self._slow[name] + 1 if rate < symptoms.SLOW * best else 0
            if self._slow[name] == 2:
                what = f"its products have slowed to {rate / best:.0%} of its best, {best / 1e9:.1f} Gflop/s"
                action = "see its clock and heat, and what else runs there"
                self._new(name, "slow", "warning", what, action)
        self._told = done

    # -------------------------------------------------------------------------------------------------------- symptoms

    def _new(self, device: str, kind: str, severity: Severity, what: str, action: str) -> None:
        """A symptom that this loop itself has seen, now."""
        now_s = time.time()
        self._symptom(Symptom(at_s=now_s, device=device, kind=kind, severity=severity, what=what, action=action))

    def _symptom(self, symptom: Symptom) -> None:
        """Keep it whole with what all the others do, or count it where there have been many of its kind."""
        if self._course.kept(symptom.device, symptom.kind) >= MOST_TOLD:
            self._more[f"{symptom.device} {symptom.kind}"] += 1
            return
        worker = self.workers.get(symptom.device)
        doing = {name: self._doing(name, one) for name, one in self.workers.items()}
        node = ", ".join(f"{name} {watts:.0f} W" for name, watts in self._sight.watts.items())
        if node:
            doing[NODE] = node
        since_s = self._burnt_before_s + max(0.0, time.monotonic() - self._begun)
        stage = symptom.stage or (worker.stage if worker else "")
        drilled = any(one.device == symptom.device for one in self._plan.drills)
        whole = msgspec.structs.replace(symptom, doing=doing, since_start_s=since_s, stage=stage, drill=drilled)
        self._add(SymptomEntry(symptom=whole))
        self._setting.say(f"{whole.device}: {whole.severity}: {whole.what}")

    def _doing(self, name: str, worker: Worker) -> str:
        words = [worker.doing()]
        gpu = next((one for one in self._sight.gpus if worker.device.pci and one.pci == worker.device.pci), None)
        if gpu is not None:
            words += [f"{gpu.temperature_c:g} degC"] if gpu.temperature_c is not None else []
            words += [f"{gpu.power_w:.0f} W"] if gpu.power_w is not None else []
            hz = self._sight.gpu_hz.get(gpu.index)
        else:
            hz = max((self._sight.cpu_hz[cpu] for cpu in worker.device.cpus if cpu in self._sight.cpu_hz), default=None)
        words += [f"{hz / 1e9:.2f} GHz"] if hz else []
        return ", ".join(words)

    def _add(self, entry: Any) -> None:
        """Keep it. The first time that this fails it is raised; after that only the workers' end matters."""
        self._course.apply(entry)
        if self._journal_failed:
            return
        try:
            self._journal.add(entry)
        except CannotMeasure:
            self._journal_failed = True
            raise


def _minute_s(since_s: float) -> float:
    """Between two entries of progress: a minute in the first hour, then five, so that a week is some megabytes."""
    return 60.0 if since_s < 3600 else 300.0


def _corruption(fault: dict[str, Any], device: Device) -> Symptom:
    """A fault as a worker tells it, in words."""
    place = fault.get("place") or {}
    where = fault.get("where")
    if where == "memory":
        at = f"memory at offset {place.get('offset_bytes')} of its part"
        at += f", physical address {place['physical']}" if "physical" in place else ""
        at += f", pattern {place.get('pattern')}"
    elif where == "sums":
        at = "the sums of a product"
    else:
        name = {"result": "C", "left": "A", "right": "B"}.get(str(where), str(where))
        at = f"{name}({place.get('row')}, {place.get('column')}), tile {place.get('tile')}"
    bits = fault.get("bits") or []
    shown = f": expected {fault['expected']}, found {fault['found']}" if "found" in fault else ""
    shown += f", bit{'s' if len(bits) != 1 else ''} {', '.join(map(str, bits))}" if bits else ""
    again = str(fault.get("again", ""))
    return Symptom(
        at_s=fault["unix_ns"] * 1e-9,
        device=device.id,
        kind="corruption",
        severity="critical",
        what=f"silent corruption in {at}{shown}; {again} ({'hard' if fault.get('hard') else 'soft'})",
        action="take it out of use; run it again alone, then replace it" if fault.get("hard") else "run it again alone",
        stage=str(fault.get("stage", "")),
        fault={key: value for key, value in fault.items() if key != "event"},
    )
