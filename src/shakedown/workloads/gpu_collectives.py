"""Collective operations of a node's GPUs by NCCL or RCCL: bus bandwidth beside what the links allow, every element checked.

All-reduce, all-gather, reduce-scatter, broadcast, reduce, all-to-all, gather, scatter and a ring of messages, out of place
and in place, with sizes as nccl-tests counts them. The library is loaded at run time: the site's, else that of a wheel. Each
GPU is a rank, a thread of one process; no MPI is needed. Rounds of chosen groups measure at the same time, for whoever looks
for a slow GPU or link (docs/groups.md). A sample is a series of calls between two events of each GPU's
stream after all ranks met, and its time that of the rank where it took longest; nccl-tests prints the mean over ranks of the
host's time for one such series, without an interval. Bus bandwidth is the bytes over the time, times 2 (n-1)/n for an all-
reduce, (n-1)/n for operations of blocks, 1 for the rest: what a ring sends over each GPU's links, and no measurement of a
bus. A reduction in the switch sends less, and may show more than the links carry.

Every element of every rank is compared, before, during and after the samples; one wrong bit is named with its rank, GPU and
element, and the run has no result. The library's own log shows how it was done: the algorithm, the transport of each pair of
ranks, and where shared memory or sockets took the place of links that are there. A rank that does not answer within seconds,
or whose GPU or communicator fails, is named and left out, and the others go on. See native/gpu_collectives/README.md.
"""

from __future__ import annotations

from ..launchers import Command
from ..machine.accelerators import NVLINK_PAYLOAD, NVLINK_SWITCHED, gpu_peaks
from ..records import Host, Machine, Params
from ..units import show_bytes
from .common import gpu, lists, rounds
from .common.table import table_of

TABLE = table_of(__file__)

_NAME = "gpu_collectives"


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    TABLE.numbers(params, "sizes")
    TABLE.numbers(params, "groups", 256)
    rounds_of(params)
    operations = ",".join(TABLE.selection(params, "operations"))
    return ({**gpu.present(params, machine, _NAME), "operations": operations},)


def rounds_of(params: Params) -> rounds.Rounds:
    """The rounds that are asked. Raises BadInput."""
    return rounds.parse(params["rounds"], "gpu_collectives.rounds")


def links(host: Host) -> str:
    """What joins the GPUs of a host, for the program: ``switch`` (that can reduce), ``nvlink``, ``pcie``, or ``unknown``."""
    names = {peak.name for peak in gpu_peaks(host.gpus)[0]}
    if NVLINK_SWITCHED in names:
        return "switch"
    if NVLINK_PAYLOAD in names:
        return "nvlink"
    return "pcie" if "gpu.pcie.payload" in names else "unknown"


def _command(params: Params, host: Host) -> Command:
    made = {name: TABLE.numbers(params, name) for name in ("sizes", "groups")}
    argv = gpu.argv(TABLE, params, **made, nccl=gpu.library(params, "nccl"))
    argv = (*argv, "--links", links(host) if params["backend"] == "cuda" else "unknown")
    if asked := rounds_of(params):
        return Command(argv=(*argv, "--rounds", rounds.FILE), files={rounds.FILE: rounds.text(asked)})
    return Command(argv=argv)


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up and communicators, and for each case samples of 2 ms or one call, and checks, at 20 GB/s."""
    places = 2 if params["place"] == "both" else 1
    made = len(rounds_of(params))
    cases = len(TABLE.selection(params, "operations")) * places * (made or len(lists.words(params["groups"])))
    total = 5.0 + made  # communicators of each round
    for size in TABLE.numbers(params, "sizes"):
        call_s = max(2e-3, size / 2e10)
        total += cases * (max(float(params["seconds"]), int(params["samples"]) * call_s) + 8 * call_s)
    return total


def _label(params: Params) -> str:
    span = lists.span([show_bytes(size) for size in sorted(TABLE.numbers(params, "sizes"))])
    operations = TABLE.selection(params, "operations")
    every = len(operations) == len(TABLE.params["operations"].items)
    asked = len(rounds_of(params))
    rounds_of_groups = f", {asked} round{'s' * (asked != 1)} of groups" if asked else ""
    return f"collectives between GPUs: {'all' if every else '+'.join(operations)}, {span}{rounds_of_groups}"


WORKLOAD = TABLE.workload(
    title="Collectives between the GPUs of a node",
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    marks=gpu.marks,
)
