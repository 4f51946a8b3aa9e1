"""What ``shakedown bigdata`` says: rates beside the machine's own limits, and an event log stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..document.text import count
from ..units import show

if TYPE_CHECKING:
    from ..records import Finding
    from ..workloads.common.spark_log import Log, Stage

LIMIT_HEADINGS = ("rate of Spark", "value", "limit", "the machine's own", "fraction")
STAGE_HEADINGS = (
    "stage",
    "step",
    "tasks",
    "time",
    "on a CPU",
    "garbage",
    "read",
    "shuffled in",
    "shuffled out",
    "spilled",
    "written",
)
_RATES = {
    "bigdata.sort.durable": "sort, until on the device",
    "bigdata.write.rate": "files written",
    "bigdata.read.rate": "files read",
    "bigdata.shuffle.remote": "shuffle from other hosts, into each",
}


def limit_rows(findings: Sequence[Finding]) -> list[tuple[str, ...]]:
    """Each rate that has a limit, beside it; "not measured" where this run has none."""
    rows: list[tuple[str, ...]] = []
    for one in findings:
        if one.metric not in _RATES or one.value is None:
            continue
        limits = [part for part in one.fractions if part.kind == "measured"]
        for part in limits:
            own, share = show(part.value, one.unit), f"{part.fraction:.2f}"
            rows.append((_RATES[one.metric], show(one.value, one.unit), part.limit, own, share))
        if not limits:
            rows.append((_RATES[one.metric], show(one.value, one.unit), "", "not measured", "not measured"))
    return rows


def stage_rows(log: Log) -> list[tuple[str, ...]]:
    """The stages of an event log."""
    return [_stage_row(one) for one in log.stages]


def _stage_row(one: Stage) -> tuple[str, ...]:
    run = one.total("run_s")
    shares = tuple(f"{one.total(field) / run:.0%}" if run else "" for field in ("cpu_s", "gc_s"))
    moved = (
        one.total("input_bytes"),
        one.total("read_local") + one.total("read_remote"),
        one.total("written"),
        one.total("spilled"),
        one.total("output_bytes"),
    )
    sizes = tuple(show(size, "B") if size else "" for size in moved)
    ended = sum(task.ok for task in one.tasks)
    return (f"{one.id}.{one.attempt}", one.group or one.name[:40], str(ended), show(one.seconds, "s"), *shares, *sizes)


def sentences(log: Log) -> list[str]:
    """What held the application back, and what was lost."""
    from ..workloads.common.spark_log import stragglers

    head = f"Spark {log.version}, {log.app}: {show(log.seconds, 's')} on {count(len(set(log.hosts.values())), 'host')}"
    said = [f"{head}, {count(len(log.hosts), 'executor')}."]
    for stage in log.stages:
        if stage.failure:
            said.append(f"Stage {stage.id}.{stage.attempt} failed: {stage.failure.splitlines()[0][:200]}")
        for one in stragglers(stage):
            said.append(
                f"Stage {stage.id}: task {one.task.number} on {one.task.host} took {one.task.seconds:.1f} s, "
                f"and {one.median_s:.1f} s is the median: {one.why}."
            )
        failed = [task for task in stage.tasks if not task.ok]
        if failed:
            said.append(f"Stage {stage.id}: {count(len(failed), 'task')} failed ({failed[0].why}) and was tried again.")
    return [*said, *(f"Executor {one.executor} on {one.host} was lost: {one.reason[:200]}" for one in log.lost)]
