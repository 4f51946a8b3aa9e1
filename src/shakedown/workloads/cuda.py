"""CUDA on every device: two kernels through the driver, and compiled by nvcc where the site has one.

A triad a = b + 3 c, every element of which is checked, and the gravity of n bodies on each (20 operations a pair, the usual
count), of which 64 are computed again in double precision on the host; a residual above its limit is no score. The kernels
are brought along as PTX, which any driver translates, so that no toolkit is needed; with nvcc they are compiled for each
device as well. Devices work one after another, and then those that were right all at the same time, each verified again:
Thufir's GPUs passed alone and failed when all four worked. The management library is asked before and after: a GPU that has
fallen off the bus, or new uncorrectable memory errors, fail the run. ``cuda.devices`` counts those that were right
throughout. Without a driver or a device the run is unavailable, and says which of them is missing.
"""

from __future__ import annotations

import sys

from ..launchers import Command
from ..records import Host, Metric, Params
from . import Param, Workload

_SOURCE = "ARL-TR-7085, 3.3 (9) and 3.4; native/opencl/README.md"
_NAMES = ("library", "nvcc", "bodies", "elements", "samples", "together")


def _command(params: Params, host: Host) -> Command:
    words = [word for name in _NAMES for word in (f"--{name}", str(params[name]))]
    return Command(argv=(sys.executable, "-m", "shakedown.functional_tests.cuda", *words))


def _estimate_s(params: Params, host: Host) -> float:
    """The driver's start, arrays made and checked on the host, samples, and the time of all devices together."""
    return 5.0 + max(1, len(host.gpus)) * (6.0 + 0.1 * int(params["samples"])) + float(params["together"])


WORKLOAD = Workload(
    name="cuda",
    title="CUDA (two kernels on every device)",
    metrics=(
        Metric(
            name="cuda.devices",
            title="CUDA devices that are right, alone and together",
            unit="1",
            better="higher",
            kernel="devices",
            per="devices",
            headline=True,
            source=_SOURCE,
        ),
        Metric(
            name="cuda.rate",
            title="CUDA N-body rate",
            unit="flop/s",
            better="higher",
            kernel="nbody",
            per="flop/s",
            match=("pattern", "n"),
            source=f"20 operations a pair; {_SOURCE}",
        ),
        Metric(
            name="cuda.bandwidth",
            title="CUDA triad bandwidth",
            unit="B/s",
            better="higher",
            kernel="triad",
            per="bytes/s",
            match=("pattern",),
            source=_SOURCE,
        ),
    ),
    params={
        "library": Param(kind="word", default="libcuda.so.1", help="the driver's library"),
        "nvcc": Param(kind="word", default="auto", help="auto (where one is found), off, or the path of nvcc"),
        "bodies": Param(kind="integer", default=65536, low=256, high=2**22, help="bodies of the N-body kernel"),
        "elements": Param(kind="integer", default=2**26, low=1, help="elements of the triad's arrays, as they fit"),
        "samples": Param(kind="integer", default=10, low=1, help="at least so many samples of each case"),
        "together": Param(
            kind="real", default=10, low=0, unit="s", help="how long all devices work at the same time; 0: not at all"
        ),
    },
    command=_command,
    estimate_s=_estimate_s,
    label=lambda params: "cuda, all devices",
)
