"""What is said of a run of Spark: its stages as cases, what held them back, what was lost and tried again."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import CannotMeasure
from ...programs.emitter import Emitter
from ...records import Value
from ...units import show, show_bytes
from ...workloads.common.spark_log import Log, Stage, stragglers
from .cluster import Nodes

_MOST_NOTICES = 8
_WORDS = 200
_ADVICE = (
    "the same host again and again: look at it (shakedown health); more data: more partitions; garbage: more memory"
)


def explained(error: CannotMeasure, nodes: Nodes) -> CannotMeasure:
    """An error with what executors' logs say beside it, and what had happened before."""
    if "No space left" in error.what or "OutOfMemory" in error.what:
        return error
    try:
        found = nodes.ask(nodes.each({}), "look")
    except CannotMeasure:
        return error
    for host, one in found.items():
        for line in one["errors"]:
            if "No space left on device" in line:
                left = f"{show_bytes(int(one['free_bytes']))} and {one['free_files']} files are free there now"
                return CannotMeasure(
                    f"the scratch folder is full ({left}): {_short(line)}",
                    where=host,
                    hint="name a folder with more room (scratch=), or fewer rows",
                )
            if "OutOfMemoryError" in line:
                return CannotMeasure(
                    f"an executor has too little memory: {_short(line)}", where=host, hint="more memory (memory=)"
                )
    return error


def _short(line: str) -> str:
    """A line whose end, which says why, stays."""
    return line if len(line) <= _WORDS else f"{line[: _WORDS - 84]} ... {line[-80:]}"


def happened(nodes: Nodes, emit: Emitter) -> None:
    """What ended while the job was at work; Spark went on without it."""
    for event in nodes.notes:
        if event.answer and "ended" in event.answer.found:
            what, code = event.answer.found["ended"], event.answer.found["code"]
            text = f"Spark's {what} on {event.source} ended (exit code {code}); the others went on with its tasks"
            emit.notice("bigdata-lost", text, "look at that host: its kernel's log, its memory")


def stages(log: Log, names: Mapping[str, str], cores: int, emit: Emitter) -> None:
    """A case for each stage of the steps, the shuffle of the sort, and notices of what was lost or late. ``names``: the host
    of an address, which is what Spark knows of it."""
    for place, stage in enumerate(one for one in log.stages if one.group):
        emit.case(
            "stage",
            {"step": stage.group, "stage": place, "cores": cores},
            _work_of(stage),
            [stage.seconds] if stage.seconds else [],
        )
    _shuffle(log, cores, emit)
    for gone in log.lost[:_MOST_NOTICES]:
        host = names.get(gone.host, gone.host)
        text = f"executor {gone.executor} on {host} was lost: {gone.reason[:_WORDS]}; Spark tried its tasks again"
        emit.notice("bigdata-lost", text, "look at that host: its kernel's log, its memory (memory=)")
    failed = [task for stage in log.stages for task in stage.tasks if not task.ok]
    if failed:
        hosts = ", ".join(sorted({names.get(task.host, task.host) for task in failed}))
        text = f"{len(failed)} tasks failed on {hosts} ({failed[0].why}) and were carried out again"
        emit.notice("bigdata-retried", text, "the result stands; the time has what was done twice")
    late = [(stage, one) for stage in log.stages for one in stragglers(stage)]
    for stage, one in sorted(late, key=lambda pair: pair[1].median_s - pair[1].task.seconds)[:_MOST_NOTICES]:
        host = names.get(one.task.host, one.task.host)
        what = f"task {one.task.number} of the step {stage.group or stage.name[:40]}, on {host},"
        times = f"took {one.task.seconds:.1f} s, and {one.median_s:.1f} s is the median"
        emit.notice("bigdata-straggler", f"{what} {times}: {one.why}", _ADVICE)
    spilled = sum(stage.total("spilled") for stage in log.stages)
    if spilled:
        advice = "more memory (memory=), more partitions"
        emit.notice("bigdata-spilled", f"{show(spilled, 'B')} were spilled to disk", advice)


def _work_of(stage: Stage) -> dict[str, float]:
    run = stage.total("run_s")
    work = {
        "tasks": float(len({task.number for task in stage.tasks if task.ok})),
        "input_bytes": stage.total("input_bytes"),
        "output_bytes": stage.total("output_bytes"),
        "shuffle_read_bytes": stage.total("read_local") + stage.total("read_remote"),
        "shuffle_written_bytes": stage.total("written"),
        "spilled_bytes": stage.total("spilled"),
    }
    if run:
        work |= {"gc_share": stage.total("gc_s") / run, "cpu_share": stage.total("cpu_s") / run}
    return work


def _shuffle(log: Log, cores: int, emit: Emitter) -> None:
    """What the sort shuffles: written by the stage before it, read by the one behind."""
    params: dict[str, Value] = {"cores": cores}
    for stage in log.of("sort"):
        written, local, remote = (stage.total(one) for one in ("written", "read_local", "read_remote"))
        if not stage.seconds or stage.failure:
            continue
        if written:
            emit.case("shuffle_write", params, {"bytes": written}, [stage.seconds])
        if local + remote:
            emit.case("shuffle_read", params, {"bytes": local + remote}, [stage.seconds])
        if remote:
            hosts = len({task.host for task in stage.tasks})
            emit.case("shuffle_remote", params, {"bytes": remote, "bytes_of_each": remote / hosts}, [stage.seconds])
