"""OpenCL on every device, through whatever drivers the site's loader finds: GPUs, or CPUs by PoCL.

On each device two kernels are compiled from source and run, in single precision and, where the device has it, in double:
a triad a = b + 3 c, every element of which is checked, and the gravity of n bodies on each (20 operations a pair, the usual
count), of which 64 are computed again in higher precision; a residual above its limit gives no score. Devices work one after
another, and then those that were right all at the same time, each verified again: Thufir's GPUs passed alone and failed
together. A device whose call fails is a failed check. ``opencl.devices`` counts those that were right throughout. Without
a loader, a driver or a device the run is unavailable, and says which of them is missing. See native/opencl/README.md.
"""

from __future__ import annotations

from ..errors import BadInput, unknown
from ..records import Host, Machine, Params
from ..units import whole_number
from .common import lists
from .common.table import table_of

TABLE = table_of(__file__)

KINDS = ("all", "gpu", "cpu", "accelerator")


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    devices = lists.words(params["devices"])
    for word in devices:
        if word not in KINDS and whole_number(word) is None:
            raise unknown("device of opencl", word, KINDS)
    precisions = TABLE.selection(params, "precision")
    if not devices:
        raise BadInput("opencl.devices is empty", hint='devices = "all"')
    return ({**params, "devices": lists.text(devices), "precision": lists.text(precisions)},)


def _estimate_s(params: Params, host: Host) -> float:
    """Compilation and the arrays, two cases for each precision, and the time of all devices together."""
    cases = 2 * len(lists.words(params["precision"]))
    case_s = max(float(params["seconds"]), 0.03 * int(params["samples"]))
    return 3.0 + max(1, len(host.gpus)) * cases * (1.0 + case_s) + float(params["together"])


def _label(params: Params) -> str:
    return "opencl, " + ("all devices" if params["devices"] == "all" else f"devices {params['devices']}")


WORKLOAD = TABLE.workload(
    title="OpenCL (two kernels on every device)",
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
