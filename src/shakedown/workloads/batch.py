"""A batch engine at work: jobs that end in every way that jobs end, the wait until one starts, and how many get through.

Each kind of job is a check against the engine's own accounting: one that ends well (where it says it ran is where it ran),
one that fails with exit code 7 (seen as failed, 7), an array of four, one that waits for another, one with generic
resources where there are any, one that is cancelled while it runs, one that is held and released, one beyond its time
limit of a minute. A state, an exit code or a time that is wrong or missing fails the run. ``batch.jobs`` counts kinds.
``batch.latency`` is the time from just before the submission to the first line of the job's script by the node's clock;
``batch.throughput`` the number of small jobs, submitted one by one, over the time until the last has begun, none lost.

Jobs ask for one CPU of one node. The run needs an engine's commands and free nodes: inside of an allocation that holds all
nodes its jobs wait until they are given up, and the run is unavailable. Jobs that are left at the end are cancelled.
"""

from __future__ import annotations

import sys

from ..errors import BadInput, unknown
from ..launchers import Command
from ..records import Host, Machine, Metric, Params
from . import Param, Sample, Workload

ENGINES = ("auto", "slurm", "gridengine", "pbs", "torque", "lsf", "flux")
KINDS = ("submit", "fail", "array", "dependency", "gres", "cancel", "hold", "limit")
_SOURCE = "ARL-TR-7085, 3.3 (6)"
_NAMES = ("engine", "kinds", "gres", "partition", "account", "qos", "options", "samples", "jobs", "wait")


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    kinds = tuple(dict.fromkeys(word.strip() for word in str(params["kinds"]).split(",") if word.strip()))
    for word in kinds:
        if word not in (*KINDS, "all"):
            raise unknown("kind of job of batch", word, (*KINDS, "all"))
    if not kinds:
        raise BadInput("batch.kinds is empty", hint=f"known: all, {', '.join(KINDS)}")
    return ({**params, "kinds": ",".join(KINDS if "all" in kinds else kinds)},)


def _command(params: Params, host: Host) -> Command:
    words = [f"--{name}={params[name]}" for name in _NAMES if params[name] != ""]
    return Command(argv=(sys.executable, "-m", "shakedown.functional_tests.batch", *words))


def _estimate_s(params: Params, host: Host) -> float:
    """A few seconds for each kind and each job of the latency; a limit takes its minute and what ends it."""
    kinds = str(params["kinds"]).split(",")
    return (
        6.0 * len(kinds)
        + (60.0 if "limit" in kinds else 0.0)
        + 4.0 * int(params["samples"])
        + 0.3 * int(params["jobs"])
    )


def _metric(name: str, title: str, unit: str, better: str, kernel: str, per: str, headline: bool = False) -> Metric:
    return Metric(
        name=f"batch.{name}",
        title=title,
        unit=unit,
        better="lower" if better == "lower" else "higher",
        kernel=kernel,
        per=per,
        headline=headline,
        source=_SOURCE,
    )


WORKLOAD = Workload(
    name="batch",
    title="Batch engine (jobs, latency, throughput)",
    metrics=(
        _metric("jobs", "Kinds of jobs that the engine handles right", "1", "higher", "jobs", "kinds", headline=True),
        _metric("latency", "Time from submission to start", "s", "lower", "latency", "s"),
        _metric("submission", "Time to submit a job", "s", "lower", "submission", "s"),
        _metric("throughput", "Small jobs begun in a second", "op/s", "higher", "throughput", "jobs/s"),
    ),
    params={
        "engine": Param(
            kind="word", default="auto", choices=ENGINES, help="which engine; auto: the first that answers"
        ),
        "kinds": Param(kind="list", default="all", help=f"kinds of jobs between commas: all, {', '.join(KINDS)}"),
        "gres": Param(
            kind="word", default="auto", help="generic resources of one job, as gpu:1; auto: what is shown; none"
        ),
        "partition": Param(kind="word", default="", help="partition or queue; empty: the engine's default"),
        "account": Param(kind="word", default="", help="account or project; empty: the user's default"),
        "qos": Param(kind="word", default="", help="quality of service; empty: the engine's default"),
        "options": Param(kind="word", default="", help="further words for the engine's command, between blanks"),
        "samples": Param(kind="integer", default=5, low=0, high=1000, help="jobs of the latency test; 0: none"),
        "jobs": Param(kind="integer", default=50, low=0, high=100_000, help="jobs of the throughput test; 0: none"),
        "wait": Param(kind="real", default=600, low=1, unit="s", help="a job that has not ended by then is given up"),
    },
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=lambda params: f"batch engine {params['engine']}: {str(params['kinds']).replace(',', ', ')}",
    samples=(
        Sample(
            recording="demonstrations/batch-slurm-22.jsonl",
            source="Slurm 22.05 of the rehearsal cluster, four nodes",
            expect={"batch.jobs": 8},
        ),
        Sample(
            recording="demonstrations/batch-gridengine-8.jsonl",
            source="Son of Grid Engine 8.1.9 of the rehearsal cluster, four nodes",
            expect={"batch.jobs": 8},
        ),
    ),
)
