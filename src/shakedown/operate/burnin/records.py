"""What passes between the parts of a burn-in, and what its journal holds. Times are Unix seconds, values in SI units."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ...records import Record

#: The device that a symptom belongs to where it is nobody's in particular.
NODE = "node"
Severity = Literal["critical", "warning"]
Stop = Literal["end", "first"]
#: Of a worker. ``silent``: it gives no sign of life; ``left``: silent, and it could not be killed; ``late``: the time had
#: ended before it began.
State = Literal["waiting", "running", "silent", "left", "died", "ended", "refused", "late"]
#: ``passed in part``: all that was burnt in passed, and the node has more of the kind. ``running``: it goes on.
Judgement = Literal["passed", "passed in part", "failed", "unfinished", "not tested", "running"]
#: Drills that a worker knows: faults on purpose.
DRILLS = ("result", "result-always", "operand", "memory", "memory-always", "die", "stop")


class Device(Record, frozen=True, kw_only=True):
    """One thing with a worker of its own."""

    id: str  # cpu:3, gpu:0
    title: str
    cpus: tuple[int, ...] = ()  # logical CPUs of its core; the worker runs on the first
    pci: str = ""  # 0000:9b:00
    index: int | None = None  # of a GPU, as the driver counts


class Drill(Record, frozen=True, kw_only=True):
    """A fault on purpose, after so many seconds."""

    device: str
    kind: str
    after_s: float = 1.0


class Stage(Record, frozen=True, kw_only=True):
    work: Literal["product", "steps", "memory"]
    seconds: float


class BurninPlan(Record, frozen=True, kw_only=True):
    """What was asked for, resolved; it never changes."""

    schema: int = 1
    version: str
    host: str
    devices: tuple[Device, ...]
    seconds: float
    stages: tuple[Stage, ...]
    periods_s: tuple[float, ...] = (1.0, 0.1, 0.01)
    memory_bytes: int = 0  # for the patterns of each core
    gpu_memory: str = "auto"  # of each GPU: auto (nearly all that is free), or bytes
    hang_s: float = 60.0  # without a sign of life
    look_s: float = 5.0
    stop: Stop = "end"
    drills: tuple[Drill, ...] = ()
    isa: str = "auto"
    meters: tuple[str, ...] = ()
    there: dict[str, int] = msgspec.field(
        default_factory=dict
    )  # kind -> how many of them the node has; empty: not known

    @property
    def by_id(self) -> dict[str, Device]:
        return {one.id: one for one in self.devices}


class WorkerEnd(Record, frozen=True, kw_only=True):
    """What a worker has done since it was started."""

    products: int = 0
    flop: float = 0.0
    product_s: float = 0.0
    memory_bytes: float = 0.0
    memory_s: float = 0.0
    passes: int = 0
    faults: int = 0


class Symptom(Record, frozen=True, kw_only=True):
    """Something that went wrong on a device, and what all the others were doing then."""

    at_s: float
    device: str
    kind: str  # corruption, died, silent, lost, ecc-uncorrected, ecc-corrected, slowed, kernel, machine-check ...
    severity: Severity
    what: str  # one sentence without a full stop
    action: str = ""
    stage: str = ""  # of the device then
    since_start_s: float = 0.0  # of burning, interruptions left out
    doing: dict[str, str] = msgspec.field(default_factory=dict)  # device -> what it did, its rate, heat and power
    fault: dict[str, Any] | None = None  # as the worker told it: place, expected, found, bits, again
    drill: bool = False


class Range(Record, frozen=True, kw_only=True):
    low: float
    high: float

    def joined(self, other: Range) -> Range:
        return Range(low=min(self.low, other.low), high=max(self.high, other.high))


Figures = dict[str, Range]  # "temperature_c", "power_w", "clock_hz"


class Begin(Record, frozen=True, kw_only=True, tag_field="entry", tag="begin"):
    """A session: the first, or one that goes on."""

    at_s: float
    boot: str = ""
    notes: tuple[str, ...] = ()  # what was already so at the start, and what cannot be watched


class Minute(Record, frozen=True, kw_only=True, tag_field="entry", tag="minute"):
    """From time to time: how far everybody is, and between which values the readings lay since the last one."""

    at_s: float
    done: dict[str, WorkerEnd]
    figures: dict[str, Figures]  # of each device, and of the node
    more: dict[str, int] = msgspec.field(default_factory=dict)  # "device kind" -> symptoms that were only counted


class SymptomEntry(Record, frozen=True, kw_only=True, tag_field="entry", tag="symptom"):
    symptom: Symptom


class Turn(Record, frozen=True, kw_only=True, tag_field="entry", tag="turn"):
    """A worker's state changed."""

    at_s: float
    device: str
    state: State
    why: str = ""


class End(Record, frozen=True, kw_only=True, tag_field="entry", tag="end"):
    """Of a session."""

    at_s: float
    why: Literal["time", "signal", "first symptom", "nobody left"]


Entry = Begin | Minute | SymptomEntry | Turn | End


class DeviceVerdict(Record, frozen=True, kw_only=True):
    device: str
    title: str
    judgement: Judgement
    state: State
    why: str = ""  # it is in this state, where its worker or its watcher said so
    first: Symptom | None = None
    first_warning: Symptom | None = None
    symptoms: dict[str, int] = msgspec.field(default_factory=dict)  # kind -> how often
    done: WorkerEnd
    rate_flops: float | None = None  # of products, over all
    slowest_flops: float | None = None  # between two minutes
    figures: Figures = msgspec.field(default_factory=dict)


class BurninReport(Record, frozen=True, kw_only=True):
    """The verdict so far."""

    host: str
    judgement: Judgement
    drill: bool  # faults were made on purpose: no verdict on the machine
    asked_s: float
    burnt_s: float
    begun_s: float
    ended_s: float
    sessions: int
    why: str  # it ended
    first: Symptom | None
    devices: tuple[DeviceVerdict, ...]
    symptoms: tuple[Symptom, ...]  # those that were kept whole
    node: Figures = msgspec.field(default_factory=dict)
    node_symptoms: dict[str, int] = msgspec.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    covered: str = ""  # how much of the node: "1 of 2 cores"; empty where it is not known how much there is

    @property
    def exit_code(self) -> int:
        """0 passed, 1 failed, 3 not all tested, or not to the end, 4 still running."""
        return {"passed": 0, "failed": 1, "running": 4}.get(self.judgement, 3)
