"""A batch engine at work: jobs that end in every way that jobs end, the wait until one starts, and how many get through.

Each kind of job is a check against the engine's own accounting: one that succeeds (where it says it ran is where it ran),
one that fails with exit code 7 (seen as failed, 7), an array of four, one that waits for another, one with generic
resources where there are any, one that is cancelled while it runs, one that is held and released, one beyond its time
limit of a minute. A state, an exit code or a time that is wrong or missing fails the run. ``batch.jobs`` counts kinds.
``batch.latency`` is the time from just before the submission to the first line of the job's script by the node's clock;
``batch.throughput`` the number of small jobs, submitted one by one, over the time until the last has begun, none lost.

Jobs ask for one CPU of one node. The run needs an engine's commands and free nodes: inside of an allocation that holds all
nodes its jobs wait until they are given up, and the run is unavailable. Jobs that are left at the end are cancelled.
"""

from __future__ import annotations

from ..records import Host, Machine, Params
from .common.table import table_of

TABLE = table_of(__file__)


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    return ({**params, "kinds": ",".join(TABLE.selection(params, "kinds"))},)


def _estimate_s(params: Params, host: Host) -> float:
    """A few seconds for each kind and each job of the latency; a limit takes its minute and what ends it."""
    kinds = str(params["kinds"]).split(",")
    return (
        6.0 * len(kinds)
        + (60.0 if "limit" in kinds else 0.0)
        + 4.0 * int(params["samples"])
        + 0.3 * int(params["jobs"])
    )


WORKLOAD = TABLE.workload(
    title="Batch engine (jobs, latency, throughput)",
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=lambda params: f"batch engine {params['engine']}: {str(params['kinds']).replace(',', ', ')}",
)
