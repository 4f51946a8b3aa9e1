"""Messages between two ranks from and to the memory of GPUs: D-D, D-H and H-H, latency and bandwidth by size.

The tables of the Comet document (osu_latency D D and its kin). Latency is half the time of a round trip of blocking calls,
bandwidth that of windows of 64 messages, each window acknowledged. Rank i of a host takes the i-th GPU and a core near it.
Where the MPI takes addresses of devices (Open MPI says so itself, others by the variable that turns it on) it gets them;
where it does not, each message is copied through pinned memory, as a program would have to, and the cases say ``staged``.
What arrives is compared byte by byte. See native/gpu_pingpong/README.md.
"""

from __future__ import annotations

from .. import launchers, programs
from ..errors import Unavailable
from ..launchers import Command
from ..records import Host, Machine, Params
from .common import gpu
from .common.table import table_of

TABLE = table_of(__file__)

_NAME = "gpu_pingpong"


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    TABLE.numbers(params, "sizes")
    TABLE.selection(params, "sides")
    TABLE.selection(params, "kernels")
    host = machine.hosts[0]
    if len(host.usable_cpus) < 2:
        raise Unavailable(
            f"{_NAME} needs two CPUs, and {host.name} lets this process use {len(host.usable_cpus)}",
            hint="give the job or the container two CPUs or more",
        )
    present = gpu.present(params, machine, _NAME)
    launchers.fitting_mpi(host.software, programs.build())
    return (present,)


def _command(params: Params, host: Host) -> Command:
    return Command(argv=gpu.argv(TABLE, params, sizes=TABLE.numbers(params, "sizes")), ranks=2)


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, and for each case the samples of a millisecond, or of one message or window at 5 GB/s."""
    total = 3.0
    sides = len(TABLE.selection(params, "sides"))
    for kernel in TABLE.selection(params, "kernels"):
        messages = 2 if kernel == "latency" else int(params["window"])
        for size in TABLE.numbers(params, "sizes"):
            sample_s = max(1e-3, messages * size / 5e9)
            total += sides * ((int(params["samples"]) + 12) * sample_s + 4 * size / 1e9)
    return total


WORKLOAD = TABLE.workload(
    title="Messages from and to the memory of GPUs",
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=lambda params: f"messages between GPUs ({str(params['sides']).replace(',', ', ')})",
    marks=gpu.marks,
)
