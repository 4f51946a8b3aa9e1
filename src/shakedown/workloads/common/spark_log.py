"""Spark's event log taken apart: stages, what they moved, spilled and waited for, tasks that took long and why.

A log is a line of JSON an event, as ``spark.eventLog.enabled`` leaves it (versions 3 and 4, not compressed). Of the many
kinds of event those of stages, tasks, executors and of the application's begin and end are read, strictly: a line that is
broken, a number that is none, an end before its begin make the whole log void, and so does a log whose application has no
end: what it says of times would be of a part. All of it is pure.

A **straggler** is a task that took 1.5 times the median of its stage and half a second more, among four tasks or more. Why
follows from what is unlike in it: more data, collection of garbage, waiting for blocks, spilling, its host (where the
host's tasks all take long), Java's compiler (the first tasks of an executor), or a time in which it did not compute
(processor shared, disk); "not shown by the log" else.

Sources: Spark's JsonProtocol (names of events and of their fields), "Monitoring and Instrumentation" (what metrics mean);
the factor 1.5 is that of ``spark.speculation.multiplier`` before version 4.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec

from .. import Garbage

_MOST_LINE_BYTES = 64 << 20
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_T = TypeVar("_T")


def _named(name: str, default: Any = 0) -> Any:
    return msgspec.field(name=name, default=default)


class _Event(msgspec.Struct, frozen=True):
    event: str = msgspec.field(name="Event")


class _LogStart(msgspec.Struct, frozen=True):
    version: str = msgspec.field(name="Spark Version")


class _Begin(msgspec.Struct, frozen=True):
    name: str = msgspec.field(name="App Name")
    time_ms: _Count = msgspec.field(name="Timestamp")
    id: str | None = _named("App ID", None)


class _End(msgspec.Struct, frozen=True):
    time_ms: _Count = msgspec.field(name="Timestamp")


class _ExecutorInfo(msgspec.Struct, frozen=True):
    host: str = msgspec.field(name="Host")
    cores: _Count = _named("Total Cores")


class _ExecutorAdded(msgspec.Struct, frozen=True):
    id: str = msgspec.field(name="Executor ID")
    info: _ExecutorInfo = msgspec.field(name="Executor Info")


class _ExecutorRemoved(msgspec.Struct, frozen=True):
    id: str = msgspec.field(name="Executor ID")
    reason: str = _named("Removed Reason", "")


class _JobStart(msgspec.Struct, frozen=True):
    stages: list[_Count] = msgspec.field(name="Stage IDs")
    properties: dict[str, str | None] | None = _named("Properties", None)


class _StageInfo(msgspec.Struct, frozen=True):
    id: _Count = msgspec.field(name="Stage ID")
    attempt: _Count = msgspec.field(name="Stage Attempt ID")
    name: str = msgspec.field(name="Stage Name")
    tasks: _Count = msgspec.field(name="Number of Tasks")
    begin_ms: _Count | None = _named("Submission Time", None)
    end_ms: _Count | None = _named("Completion Time", None)
    failure: str | None = _named("Failure Reason", None)


class _StageCompleted(msgspec.Struct, frozen=True):
    info: _StageInfo = msgspec.field(name="Stage Info")


class _TaskInfo(msgspec.Struct, frozen=True):
    id: _Count = msgspec.field(name="Task ID")
    index: _Count = msgspec.field(name="Index")
    attempt: _Count = msgspec.field(name="Attempt")
    begin_ms: _Count = msgspec.field(name="Launch Time")
    end_ms: _Count = msgspec.field(name="Finish Time")
    executor: str = msgspec.field(name="Executor ID")
    host: str = msgspec.field(name="Host")


class _Reason(msgspec.Struct, frozen=True):
    reason: str = msgspec.field(name="Reason")


class _ShuffleRead(msgspec.Struct, frozen=True):
    remote_bytes: _Count = _named("Remote Bytes Read")
    local_bytes: _Count = _named("Local Bytes Read")
    wait_ms: _Count = _named("Fetch Wait Time")
    records: _Count = _named("Total Records Read")


class _ShuffleWrite(msgspec.Struct, frozen=True):
    bytes: _Count = _named("Shuffle Bytes Written")
    time_ns: _Count = _named("Shuffle Write Time")
    records: _Count = _named("Shuffle Records Written")


class _Moved(msgspec.Struct, frozen=True):
    read: _Count = _named("Bytes Read")
    written: _Count = _named("Bytes Written")


class _Metrics(msgspec.Struct, frozen=True):
    run_ms: _Count = _named("Executor Run Time")
    cpu_ns: _Count = _named("Executor CPU Time")
    gc_ms: _Count = _named("JVM GC Time")
    spilled_memory: _Count = _named("Memory Bytes Spilled")
    spilled_disk: _Count = _named("Disk Bytes Spilled")
    shuffle_read: _ShuffleRead = _named("Shuffle Read Metrics", _ShuffleRead())
    shuffle_write: _ShuffleWrite = _named("Shuffle Write Metrics", _ShuffleWrite())
    input: _Moved = _named("Input Metrics", _Moved())
    output: _Moved = _named("Output Metrics", _Moved())


class _TaskEnd(msgspec.Struct, frozen=True):
    stage: _Count = msgspec.field(name="Stage ID")
    stage_attempt: _Count = msgspec.field(name="Stage Attempt ID")
    reason: _Reason = msgspec.field(name="Task End Reason")
    info: _TaskInfo = msgspec.field(name="Task Info")
    metrics: _Metrics | None = _named("Task Metrics", None)


class Task(NamedTuple):
    """One attempt at a task. Times in seconds; ``wait_s``: for blocks of a shuffle."""

    number: int
    attempt: int
    host: str
    executor: str
    ok: bool
    why: str  # it failed: Spark's word for it
    seconds: float
    begin_ms: int
    end_ms: int
    run_s: float
    cpu_s: float
    gc_s: float
    wait_s: float
    input_bytes: int
    output_bytes: int
    read_local: int
    read_remote: int
    written: int
    spilled: int
    first: bool = False  # nothing had ended on its executor when it began

    @property
    def data(self) -> int:
        return self.input_bytes + self.read_local + self.read_remote


class Straggler(NamedTuple):
    """A task that held its stage back."""

    task: Task
    median_s: float
    why: str


class Stage(NamedTuple):
    """One attempt at a stage. ``group``: the job group that it belongs to, by which an application names its steps."""

    id: int
    attempt: int
    name: str
    group: str
    seconds: float
    begin_ms: int
    end_ms: int
    failure: str
    tasks: tuple[Task, ...]

    def total(self, field: str) -> float:
        """The sum of a field of its tasks that succeeded."""
        return float(sum(getattr(one, field) for one in self.tasks if one.ok))


class Lost(NamedTuple):
    """An executor that went away while the application was at work."""

    executor: str
    host: str
    reason: str


class Log(NamedTuple):
    version: str
    app: str
    seconds: float
    hosts: dict[str, str]  # executor -> host
    stages: tuple[Stage, ...]
    lost: tuple[Lost, ...]

    def of(self, group: str) -> tuple[Stage, ...]:
        """The stages of a step, in the order of their begin."""
        return tuple(one for one in self.stages if one.group == group)


def _decode(line: bytes, number: int, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Garbage(f"line {number} of the event log is not one that Spark writes: {str(error)[:200]}") from None


_KINDS: dict[str, type[Any]] = {
    "SparkListenerLogStart": _LogStart,
    "SparkListenerApplicationStart": _Begin,
    "SparkListenerApplicationEnd": _End,
    "SparkListenerExecutorAdded": _ExecutorAdded,
    "SparkListenerExecutorRemoved": _ExecutorRemoved,
    "SparkListenerJobStart": _JobStart,
    "SparkListenerStageCompleted": _StageCompleted,
    "SparkListenerTaskEnd": _TaskEnd,
}


class _Found:
    """What has been read so far."""

    def __init__(self) -> None:
        self.version = ""
        self.begin: _Begin | None = None
        self.end_ms: int | None = None
        self.hosts: dict[str, str] = {}
        self.groups: dict[int, str] = {}
        self.stages: dict[tuple[int, int], _StageInfo] = {}
        self.tasks: dict[tuple[int, int], list[Task]] = defaultdict(list)
        self.lost: list[Lost] = []

    def take(self, event: Any, number: int) -> None:
        match event:
            case _LogStart():
                self.version = event.version
            case _Begin():
                self.begin = event
            case _End():
                self.end_ms = event.time_ms
            case _ExecutorAdded():
                self.hosts[event.id] = event.info.host
            case _ExecutorRemoved():
                self.lost.append(Lost(event.id, self.hosts.get(event.id, ""), event.reason))
            case _JobStart():
                group = (event.properties or {}).get("spark.jobGroup.id") or ""
                self.groups |= {stage: group for stage in event.stages if stage not in self.groups}
            case _StageCompleted():
                self.stages[event.info.id, event.info.attempt] = event.info
            case _TaskEnd():
                self.tasks[event.stage, event.stage_attempt].append(_task(event, number))


def _task(event: _TaskEnd, number: int) -> Task:
    info, metrics = event.info, event.metrics or _Metrics()
    if info.end_ms < info.begin_ms:
        raise Garbage(f"line {number} of the event log: task {info.id} ended before it began")
    read = metrics.shuffle_read
    return Task(
        number=info.index,
        attempt=info.attempt,
        host=info.host,
        executor=info.executor,
        ok=event.reason.reason == "Success",
        why="" if event.reason.reason == "Success" else event.reason.reason,
        seconds=(info.end_ms - info.begin_ms) * 1e-3,
        begin_ms=info.begin_ms,
        end_ms=info.end_ms,
        run_s=metrics.run_ms * 1e-3,
        cpu_s=metrics.cpu_ns * 1e-9,
        gc_s=metrics.gc_ms * 1e-3,
        wait_s=read.wait_ms * 1e-3,
        input_bytes=metrics.input.read,
        output_bytes=metrics.output.written,
        read_local=read.local_bytes,
        read_remote=read.remote_bytes,
        written=metrics.shuffle_write.bytes,
        spilled=metrics.spilled_disk,
    )


def read(lines: Iterable[bytes]) -> Log:
    """An event log. Raises Garbage for what is none, is broken, or has no end."""
    found = _Found()
    count = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        count = number
        if len(line) > _MOST_LINE_BYTES:
            raise Garbage(f"line {number} of the event log is longer than {_MOST_LINE_BYTES >> 20} MiB")
        event = _decode(line, number, _Event).event
        if number == 1 and event != "SparkListenerLogStart":
            raise Garbage("this is not an event log of Spark: its first line is not SparkListenerLogStart")
        if event in _KINDS:
            found.take(_decode(line, number, _KINDS[event]), number)
    return _whole(found, count)


def _whole(found: _Found, count: int) -> Log:
    if not found.version:
        raise Garbage("this is not an event log of Spark: it has no SparkListenerLogStart")
    if found.begin is None or found.end_ms is None:
        raise Garbage(
            f"the event log ends (line {count}) before the application did: its times would be of a part of it"
        )
    if found.end_ms < found.begin.time_ms:
        raise Garbage("the event log's application ended before it began")
    stages = []
    _mark_first(found.tasks)
    for (number, attempt), info in sorted(found.stages.items()):
        begin, end = info.begin_ms, info.end_ms
        if begin is None or end is None or end < begin:
            raise Garbage(f"stage {number} of the event log has no begin and end that fit")
        tasks = tuple(found.tasks.pop((number, attempt), ()))
        if info.failure is None and len({one.number for one in tasks if one.ok}) < info.tasks:
            raise Garbage(f"stage {number} of the event log has {info.tasks} tasks, and not all of them ended")
        group = found.groups.get(number, "")
        stages.append(
            Stage(number, attempt, info.name, group, (end - begin) * 1e-3, begin, end, info.failure or "", tasks)
        )
    seconds = (found.end_ms - found.begin.time_ms) * 1e-3
    return Log(
        found.version, found.begin.id or found.begin.name, seconds, found.hosts, tuple(stages), tuple(found.lost)
    )


def _mark_first(tasks: dict[tuple[int, int], list[Task]]) -> None:
    """Those that began before anything had ended on their executor: its Java compiles what they do while they run."""
    ended: dict[str, int] = {}
    for one in (task for some in tasks.values() for task in some):
        ended[one.executor] = min(one.end_ms, ended.get(one.executor, one.end_ms))
    for place, some in tasks.items():
        tasks[place] = [one._replace(first=one.begin_ms < ended[one.executor]) for one in some]


# ------------------------------------------------------------------------------------------------------- stragglers

_FACTOR, _LEAST_S, _LEAST_TASKS = 1.5, 0.5, 4


def stragglers(stage: Stage) -> list[Straggler]:
    """The tasks that held a stage back, the slowest first, and why as far as the log shows it."""
    tasks = [one for one in stage.tasks if one.ok]
    if len(tasks) < _LEAST_TASKS:
        return []
    middle = statistics.median(one.seconds for one in tasks)
    late = [one for one in tasks if one.seconds >= _FACTOR * middle and one.seconds - middle >= _LEAST_S]
    return [Straggler(one, middle, _why(one, tasks)) for one in sorted(late, key=lambda one: -one.seconds)]


def _why(task: Task, tasks: Sequence[Task]) -> str:
    """What is unlike in a task: what explains half of its delay."""
    late = task.seconds - statistics.median(one.seconds for one in tasks)

    def over(field: str) -> float:
        return float(getattr(task, field)) - float(statistics.median(getattr(one, field) for one in tasks))

    usual = statistics.median(one.data for one in tasks)
    if usual and task.data >= _FACTOR * usual:
        return f"more data: {task.data / usual:.1f} times the median"
    if over("gc_s") >= late / 2:
        return "collection of garbage"
    if over("wait_s") >= late / 2:
        return "waiting for blocks of others"
    if task.spilled and not statistics.median(one.spilled for one in tasks):
        return "it spilled to disk"
    others = [one.seconds for one in tasks if one.host != task.host]
    same = [one.seconds for one in tasks if one.host == task.host]
    if len(same) >= 2 and others and min(same) >= _FACTOR * statistics.median(others):
        return f"its host: all its {len(same)} tasks there took long"
    if task.first:
        return "the first on its executor: Java still compiled what it ran"
    if over("cpu_s") < late / 2:
        return "it did not compute: its processor was shared, or it waited for a disk"
    return "not shown by the log"
