"""OpenCL on every device, through whatever drivers the site's loader finds: GPUs, or CPUs by PoCL.

On each device two kernels are compiled from source and run, in single precision and, where the device has it, in double:
a triad a = b + 3 c, every element of which is checked, and the gravity of n bodies on each (20 operations a pair, the usual
count), of which 64 are computed again in higher precision; a residual above its limit is no score. Devices work one after
another, and then those that were right all at the same time, each verified again: Thufir's GPUs passed alone and failed
together. A device whose call fails is a failed check. ``opencl.devices`` counts those that were right throughout. Without
a loader, a driver or a device the run is unavailable, and says which of them is missing. See native/opencl/README.md.
"""

from __future__ import annotations

from .. import programs
from ..errors import BadInput, unknown
from ..launchers import Command
from ..records import Host, Machine, Metric, Params
from ..units import whole_number
from . import Param, Sample, Workload

KINDS = ("all", "gpu", "cpu", "accelerator")
_SOURCE = "native/opencl/README.md; ARL-TR-7085, 3.3 (8)"


def _words(params: Params, name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in str(params[name]).split(",") if word.strip()))


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    devices = _words(params, "devices")
    for word in devices:
        if word not in KINDS and whole_number(word) is None:
            raise unknown("device of opencl", word, KINDS)
    precisions = _words(params, "precision")
    for word in precisions:
        if word not in ("s", "d"):
            raise unknown("precision of opencl", word, ("s", "d"))
    if not devices or not precisions:
        raise BadInput("opencl: no device or no precision is asked for", hint='devices = "all", precision = "s,d"')
    return ({**params, "devices": ",".join(devices), "precision": ",".join(precisions)},)


def _command(params: Params, host: Host) -> Command:
    names = ("devices", "precision", "bodies", "elements", "samples", "seconds", "together", "library")
    words = [word for name in names if params[name] != "" for word in (f"--{name}", str(params[name]))]
    return Command(argv=(programs.path("opencl"), *words))


def _estimate_s(params: Params, host: Host) -> float:
    """Compilation and the arrays, two cases for each precision, and the time of all devices together."""
    cases = 2 * len(_words(params, "precision"))
    case_s = max(float(params["seconds"]), 0.03 * int(params["samples"]))
    return 3.0 + max(1, len(host.gpus)) * cases * (1.0 + case_s) + float(params["together"])


def _label(params: Params) -> str:
    return "opencl, " + ("all devices" if params["devices"] == "all" else f"devices {params['devices']}")


WORKLOAD = Workload(
    name="opencl",
    title="OpenCL (two kernels on every device)",
    metrics=(
        Metric(
            name="opencl.rate",
            title="OpenCL N-body rate",
            unit="flop/s",
            better="higher",
            kernel="nbody",
            per="flop/s",
            headline=True,
            match=("precision", "pattern", "n"),
            source=f"20 operations a pair; {_SOURCE}",
        ),
        Metric(
            name="opencl.bandwidth",
            title="OpenCL triad bandwidth",
            unit="B/s",
            better="higher",
            kernel="triad",
            per="bytes/s",
            match=("precision", "pattern"),
            source=_SOURCE,
        ),
        Metric(
            name="opencl.devices",
            title="OpenCL devices that are right",
            unit="1",
            better="higher",
            kernel="devices",
            per="devices",
            source=_SOURCE,
        ),
    ),
    params={
        "devices": Param(
            kind="list", default="all", help="all, gpu, cpu, accelerator, or the devices' numbers between commas"
        ),
        "precision": Param(kind="list", default="s,d", help="s (single), d (double, where a device has it) or both"),
        "bodies": Param(kind="integer", default=0, low=0, high=2**24, help="bodies; 0: 4096 on a CPU, else 65536"),
        "elements": Param(kind="integer", default=0, low=0, help="elements; 0: 2^24 on a CPU, else 2^26, as they fit"),
        "samples": Param(kind="integer", default=10, low=1, help="at least so many samples of each case"),
        "seconds": Param(kind="real", default=0, low=0, unit="s", help="each case lasts at least so long"),
        "together": Param(
            kind="real", default=2, low=0, unit="s", help="how long all devices work at the same time; 0: not at all"
        ),
        "library": Param(kind="word", default="", help="the OpenCL loader; empty: libOpenCL.so.1"),
    },
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    samples=(
        Sample(
            recording="demonstrations/opencl-pocl-3.jsonl",
            source="PoCL 3.1, its devices basic and pthread on two virtual CPUs",
            expect={"opencl.devices": 2},
        ),
    ),
)
