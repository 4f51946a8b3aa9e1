"""Batch engines: one file per engine, each with one constant ``SCHEDULER``.

A scheduler renders what is asked of the engine (a script, the words of its commands) and reads what its commands print;
all of it is pure, and ``run.batch.job_monitor`` asks and waits. The engines' own commands are used, not a library
around them: those lose or invent what acceptance lives from (a job that vanished reported as done, no nodes, no exit
codes). Live state is asked of the queue, for our own jobs only; the truth about a job that ended comes from the
accounting. A job that neither knows is ``unknown``: never done, and never failed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

from .. import plugins
from ..hosts.access import HostAccess, Result
from ..records import HostNames, Record
from .common.options import JobOptions, NodeOptions

JobState = Literal[
    "queued", "running", "done", "failed", "timeout", "oom", "node_fail", "cancelled", "preempted", "unknown"
]
#: States that nothing changes any more.
ENDED: tuple[JobState, ...] = ("done", "failed", "timeout", "oom", "node_fail", "cancelled", "preempted")


class Component(NodeOptions, frozen=True, kw_only=True):
    """A further kind of node in a heterogeneous job."""

    nodes: int = 1
    hosts: tuple[str, ...] = ()


class Request(JobOptions, frozen=True, kw_only=True):
    """One job: what is asked for it, and what it starts."""

    name: str
    argv: tuple[str, ...]  # what the job starts, once, on the first node of its allocation
    folder: str  # its working directory, on a file system that all nodes share; output and errors go there
    exclusive: bool = True
    requeue: bool = False  # whether the engine may start it again after a failure of a node
    components: tuple[Component, ...] = ()  # beyond the first, of a heterogeneous job (Slurm)
    env: dict[str, str] = msgspec.field(
        default_factory=dict
    )  # set in the job beyond what the engine gives it; never a secret


class Allocation(Record, frozen=True, kw_only=True):
    """The nodes that this process was given, as the engine's environment tells."""

    engine: str
    job: str
    hosts: tuple[HostNames, ...]  # in the engine's order; the first is where the batch script runs
    cpus: tuple[int, ...] = ()  # granted on each host, in the order of hosts; empty: not told
    gpus: tuple[int, ...] = ()
    partition: str = ""
    attempt: int = 0  # how often the engine has restarted the job
    end_s: float | None = None  # Unix time at which the engine ends it
    mpi: tuple[str, ...] = ()  # the interfaces through which the engine's own launcher starts MPI programs: pmix, pmi2


class JobStep(Record, frozen=True, kw_only=True):
    """One step of a job, where the engine knows steps."""

    id: str
    name: str = ""
    state: JobState = "unknown"
    exit_code: int | None = None
    signal: int | None = None
    hosts: tuple[str, ...] = ()
    begin_s: float | None = None
    end_s: float | None = None
    tres: dict[str, str] = msgspec.field(default_factory=dict)


class JobRecord(Record, frozen=True, kw_only=True):
    """What is known of one attempt of one job. A requeued job has one record for each attempt."""

    engine: str
    id: str
    attempt: int = 0
    state: JobState
    word: str = ""  # the engine's own: "CANCELLED by 1000", "Rq", "NODE_FAIL"
    source: Literal["queue", "accounting", "none"] = "none"
    exit_code: int | None = None
    signal: int | None = None
    reason: str = ""  # the engine's: why it waits, why it ended
    name: str = ""
    user: str = ""
    partition: str = ""
    hosts: tuple[str, ...] = ()
    submit_s: float | None = None  # Unix times
    eligible_s: float | None = None
    begin_s: float | None = None
    end_s: float | None = None
    cpus: int | None = None
    tres: dict[str, str] = msgspec.field(
        default_factory=dict
    )  # what was allocated, in the engine's words: cpu -> 16, gres/gpu -> 4
    steps: tuple[JobStep, ...] = ()

    @property
    def ended(self) -> bool:
        return self.state in ENDED


class Scheduler(msgspec.Struct, frozen=True, kw_only=True):
    """One engine. Words of commands go to ``HostAccess.run``; parsers raise nothing: what they cannot read is no record."""

    name: str
    title: str
    absent: Callable[[HostAccess], str]
    """Why this engine cannot be asked from here; empty where it can."""
    inside: Callable[[Mapping[str, str], HostAccess], Allocation | None]
    """The allocation that this environment belongs to; None outside of one of this engine. The door expands what the
    environment only names (Grid Engine's and PBS's host files)."""
    script: Callable[[Request], str]
    """The batch script of a request, every word quoted. Raises BadInput for what this engine cannot give."""
    submit: Callable[[str], tuple[str, ...]]
    """The words that submit the script at this path."""
    submitted: Callable[[Result], str]
    """The job's id from what those printed. Raises CannotMeasure with what the engine said where it refused."""
    queue: Callable[[Sequence[str]], tuple[str, ...]]
    """The words that ask the queue for the jobs of these ids."""
    queued: Callable[[Result], tuple[JobRecord, ...] | None]
    """What they said; a job that is not in the queue has no record. None: the engine did not answer."""
    accounts: Callable[[Sequence[str]], tuple[str, ...]]
    """The words that ask the accounting for every attempt of these jobs; empty where a file must be read instead."""
    accounted: Callable[[Result], tuple[JobRecord, ...] | None]
    """What they said, all attempts in order. None: the accounting did not answer."""
    cancel: Callable[[str], tuple[str, ...]]
    """The words that end a job."""
    look: Callable[[str], tuple[str, ...]]
    """The commands that show a person this job, and then whether the engine answers at all."""
    hopeless: Callable[[JobRecord], str] = lambda record: ""
    """Why a job that waits will not start unless somebody acts, with what to do; empty where it may."""
    overriding: Callable[[Request], tuple[str, ...]] = lambda request: ()
    """Environment variables that the submitting command would obey before the script: they are taken away."""
    provisional: Callable[[JobRecord], bool] = lambda record: False
    """Whether this row of the accounting is not the last word, though it names an end: the engine took the attempt back,
    or has written the row by half."""
    out_of_use: Callable[[Sequence[str]], tuple[str, ...]] | None = None
    """The words that tell of each of these hosts why it is out of use, a line each, and nothing of the others."""
    one_by_one: bool = False
    """The accounting is queried for one job a call."""


def under_way(jobs: tuple[JobRecord, ...] | None) -> tuple[JobRecord, ...] | None:
    """Those that wait or run, of what an engine printed; None where that could not be read."""
    return None if jobs is None else tuple(job for job in jobs if job.state in ("queued", "running"))


def names() -> tuple[str, ...]:
    """The names of all engines."""
    return plugins.names("schedulers")


def get(name: str) -> Scheduler:
    """The engine of that name. Raises BadInput with the nearest name."""
    found = plugins.load("schedulers", "SCHEDULER", name)
    assert isinstance(found, Scheduler)
    return found


def inside(environment: Mapping[str, str], door: HostAccess) -> Allocation | None:
    """The allocation that this process runs in; None where it runs in none."""
    for name in names():
        if found := get(name).inside(environment, door):
            return found
    return None
