"""A campaign handed to a batch engine: one job for the whole run directory, watched from outside until it is whole.

    outside   prepare -> submit -> follow the job and the directory -> report
    inside    `python -m shakedown.run.batch RUN`, on the first node of the allocation: hosts -> plan -> runs

    RUN/jobs/1, 2, ...   asked.json  job.sh                   what was asked, and what was submitted
                         job.json                             its id, once the engine took it
                         ended.json                           what became of it: every attempt, from the accounting
                         and what it printed
    RUN/allocation.json                                       the hosts of the harness that is at work, or was last

A job that was cut short (its time limit, a failed node) is submitted again as often as was asked; what is whole is not
measured again.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from ... import schedulers, strict
from ...errors import BadInput, CannotMeasure, StoreFailed, Unavailable
from ...files.atomic import failed, read_record, write, write_record
from ...hosts import hostlist
from ...hosts.access import HostAccess
from ...records import Measurement, Plan, Record
from ...results.run_directory import RunDirectory
from ...schedulers import JobRecord, Request
from ...schedulers.common.options import JobOptions
from ...units import whole_number
from .. import fallback_store, schedule
from ..multihost import fanout
from . import job_monitor
from .options import BatchOptions

JOBS = "jobs"
#: A job's limit where the plan's length is not known from here; else so many times the estimate, and start and end.
DEFAULT_LIMIT_S = 3600.0
SPARE = 3.0
SPARE_S = 600.0
#: How often a job and its run directory are looked at, at most.
LOOK_S = 5.0
#: What cuts a job short without its being at fault: worth another submission.
CUT_SHORT = ("timeout", "node_fail", "preempted")


class JobHandle(Record, frozen=True, kw_only=True):
    """A job that an engine took."""

    engine: str
    id: str
    submitted_s: float  # Unix time


def prepare(path: Path, campaign_toml: str) -> None:
    """The folder of a run directory that a job will fill. Raises BadInput for one that is not empty or not safe."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise BadInput(
                "the folder is not empty",
                where=str(path),
                hint=f"choose another with --directory, or continue it: --resume {path}",
            )
        (path / JOBS).mkdir()
    except OSError as error:
        raise failed(error, path, "create the run directory") from None
    refuse_open(path)
    write(path / "campaign.toml", campaign_toml)


def refuse_open(path: Path) -> None:
    """Raises BadInput where somebody else could put a script in the place of ours: the folder, or one above it, that
    others may write to (but for those with the sticky bit, as /tmp has)."""
    for folder in (path.resolve(), *path.resolve().parents):
        mode = folder.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise BadInput(
                f"{folder} can be written to by everybody: what a job runs from there could be exchanged",
                where=str(path),
                hint=f"chmod o-w {folder}, or choose another place with --directory",
            )


def folders(path: Path) -> list[Path]:
    """The folders of the jobs of a run directory, in their order."""
    base = path / JOBS
    found = [one for one in base.iterdir() if whole_number(one.name) is not None] if base.is_dir() else []
    return sorted(found, key=lambda one: int(one.name))


def request(path: Path, folder: Path, asked: BatchOptions) -> Request:
    """What is asked of the engine for this run directory. Pure but for the name of this Python."""
    wanted = {field: getattr(asked, field) for field in JobOptions.__struct_fields__}
    return Request(
        **{**wanted, "time_limit_s": asked.time_limit_s or DEFAULT_LIMIT_S},
        name=f"shakedown-{path.name}"[:60],
        argv=(sys.executable, "-m", "shakedown.run.batch", str(path.resolve())),
        folder=str(folder.resolve()),
        env={name: os.environ[name] for name in ("SHAKEDOWN_NATIVE", "SHAKEDOWN_HOME") if name in os.environ},
    )


def reachable(asked: BatchOptions, door: HostAccess) -> schedulers.Scheduler:
    """The engine that is asked. Raises BadInput where there is none of that name, Unavailable where it does not answer."""
    engine = schedulers.get(asked.engine)
    if why := engine.absent(door):
        raise Unavailable(f"{engine.title} cannot be asked from here: {why}", hint="submit where its commands work")
    return engine


def submit(path: Path, asked: BatchOptions, door: HostAccess) -> JobHandle:
    """Submit one job for what is left in a run directory. Raises BadInput, Unavailable, CannotMeasure."""
    engine = reachable(asked, door)
    refuse_open(path)
    earlier = folders(path)
    folder = path / JOBS / str(int(earlier[-1].name) + 1 if earlier else 1)
    try:
        folder.mkdir(parents=True)
        folder.chmod(0o755)
    except OSError as error:
        raise failed(error, folder, "create the folder of the job") from None
    write_record(folder / "asked.json", asked)
    try:
        fallback_store.reserve(folder, asked.nodes)
    except OSError as error:
        raise failed(error, folder / fallback_store.NOTE, "write") from None
    job_id = job_monitor.submit(engine, request(path, folder, asked), door, folder / "job.sh")
    job = JobHandle(engine=asked.engine, id=job_id, submitted_s=door.now_ns() * 1e-9)
    write_record(folder / "job.json", job)
    return job


def last(path: Path) -> tuple[Path, BatchOptions, JobHandle | None] | None:
    """The last job of a run directory: its folder, what was asked, and its id where the engine took it."""
    found = folders(path)
    if not found:
        return None
    folder = found[-1]
    job = read_record(folder / "job.json", JobHandle) if (folder / "job.json").exists() else None
    return folder, read_record(folder / "asked.json", BatchOptions), job


def at_work(path: Path) -> tuple[Path, JobHandle] | None:
    """The last job of a run directory, unless it is known what became of it."""
    found = last(path)
    if found is None or found[2] is None or ended(found[0]):
        return None
    return found[0], found[2]


def parts(path: Path) -> list[Path]:
    """The run directories below a folder that was made for several kinds of nodes; else the folder itself."""
    inner = [one for one in sorted(path.iterdir()) if (one / JOBS).is_dir()] if path.is_dir() else []
    return [path] if (path / JOBS).is_dir() or not inner else inner


def ended(folder: Path) -> tuple[JobRecord, ...]:
    """What became of a job, attempt by attempt; empty while nobody knows."""
    try:
        return msgspec.json.decode((folder / "ended.json").read_bytes(), type=tuple[JobRecord, ...])
    except (OSError, *strict.UNREADABLE):
        return ()  # not yet; what is damaged is asked of the engine again


def follow(
    path: Path,
    folder: Path,
    job: JobHandle,
    door: HostAccess,
    tell: Callable[[JobRecord], None],
    seen: Callable[[Measurement], None],
) -> JobRecord:
    """Watch a job and its run directory until the job has ended; keep what the accounting says, and return the last attempt.
    Where that cannot be kept (the disk is full) the next call asks again.

    ``tell`` is called at every look at the job, ``seen`` for every result as it arrives.
    """
    results = Results(path)

    def look(record: JobRecord) -> None:
        if record.ended:
            for one in results.new():
                seen(one)
        tell(record)
        for one in results.new():
            seen(one)

    records = job_monitor.follow(
        schedulers.get(job.engine), job.id, door, submitted_s=job.submitted_s, tell=look, every_s=LOOK_S
    )
    for one in results.new():
        seen(one)
    with contextlib.suppress(StoreFailed):
        write(folder / "ended.json", msgspec.json.encode(records))
    return records[-1]


def settle(folder: Path, job: JobHandle, door: HostAccess) -> bool:
    """Whether a job is over, from one look at it; keeps what became of it. Raises StoreFailed where that cannot be kept."""
    engine = schedulers.get(job.engine)
    ticket = job_monitor.JobTicket(engine=job.engine, job=job.id, submitted_s=job.submitted_s)
    (view,) = job_monitor.watch(engine, (ticket,), door, give_up_s=0.0)
    if view.final:
        write(folder / "ended.json", msgspec.json.encode(view.records))
    return view.final


def refuse_unsaved(path: Path, folder: Path, record: JobRecord, back: str) -> None:
    """Raise ResultSaved where a job could not keep all that it measured, or anything that it wanted to say: it left a note.
    ``back`` is the command that goes on."""
    note = fallback_store.note_in(folder)
    if note is None and ended(folder):
        return
    if note is None:  # this file system writes nothing in place, or the job was ended before it could say anything
        hosts = hostlist.fold(record.hosts) or "its hosts"
        said = f"the run directory takes no file; a result that it refused lies on {hosts}: {fallback_store.PATTERN}"
        note = fallback_store.SpilledResult(what=said, hint="free some space, then go on")
    what = f"job {record.id} ended ({words(record)}): {note.what}"
    hint = f"{note.hint}\n        here: {back}"
    raise fallback_store.ResultSaved(msgspec.structs.replace(note, what=what, where=note.where or str(path), hint=hint))


class Results:
    """The results that have arrived in a run directory since it was last asked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = set(self._files())

    def _files(self) -> list[tuple[Path, int]]:
        """Every result with the time of its writing: one that is measured again is another."""
        found = []
        for file in sorted((self._path / "runs").glob("*/*/measurement.json")):
            try:
                found.append((file, file.stat().st_mtime_ns))
            except OSError:  # it is being replaced
                continue
        return found

    def new(self) -> list[Measurement]:
        """In the order of their ends. One that cannot be read yet comes later."""
        found = []
        for one in self._files():
            if one in self._known:
                continue
            try:
                found.append(read_record(one[0], Measurement))
            except StoreFailed:
                continue
            self._known.add(one)
        return sorted(found, key=lambda one: one.end_ns)


def left(path: Path, *, retry_failed: bool = False) -> bool:
    """Whether anything of the plan is still to be run (with ``retry_failed`` also what failed); also where no plan was made
    yet."""
    if not (path / "manifest.json").exists():
        return True
    directory = RunDirectory.open(path)
    plan: Plan = directory.plan()
    records = directory.load().measurements
    if retry_failed:
        records = [record for record in records if record.state == "ok"]
    allocation = fanout.allocation_of(path)
    done = schedule.history(plan, records, allocation.hosts if allocation else ())
    return schedule.next_step(plan, done, schedule.spent(records)) is not None


def said(folder: Path) -> str:
    """The last lines that a job printed, on standard error where there is any; empty where there is nothing."""
    texts = []
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".json", ".sh") and path.is_file():
            text = path.read_text("utf-8", "replace").strip()
            texts.append((text, "err" in path.name))
    chosen = max(texts, key=lambda one: (bool(one[0]), one[1]), default=("", False))[0]
    return "\n".join(chosen.splitlines()[-8:])


def why_nothing(folder: Path, record: JobRecord, back: str, door: HostAccess) -> CannotMeasure:
    """The error for a job that ended before it made a plan; ``back`` is the command that submits again."""
    text = said(folder) or _out_of_use(record, door)
    hint = f"the first node must see this folder and this Python ({sys.executable}); then: {back}"
    if record.state in ("cancelled", "preempted", "node_fail") or (record.state == "unknown" and not text):
        hint = back
    return CannotMeasure(
        f"job {record.id} ended ({words(record)}) before it had made its plan"
        + (f"; it said:\n{text}" if text else ""),
        where=str(folder),
        hint=hint,
    )


def _out_of_use(record: JobRecord, door: HostAccess) -> str:
    """What the engine says of those of the job's hosts that are out of use: a full spool ends a job without a word."""
    words = schedulers.get(record.engine).out_of_use
    result = door.run(words(record.hosts), limit_s=job_monitor.COMMAND_LIMIT_S) if words and record.hosts else None
    return result.out.strip() if result and result.ok else ""


def words(record: JobRecord) -> str:
    """What is known of a job, for a person: the engine's word, where it runs, why it waits or ended."""
    hosts = f" on {hostlist.fold(record.hosts)}" if record.hosts else ""
    why = record.reason if record.reason != "None" else ""
    return f"{(record.word or record.state).lower()}{hosts}" + (f" ({why})" if why else "")
