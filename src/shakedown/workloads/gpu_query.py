"""The device query as part of a campaign: what each GPU is, how many answer, and what of them is below par.

Nothing is timed. `shakedown gpu` shows the same to a person; here it joins a run's values, so that an acceptance can hold
every node to the number of GPUs that was ordered and to no uncorrected memory error, and so that a report and `shakedown
compare` lay it beside the device queries that others published. Values come from the CUDA driver (the native program
``gpu_query``, which takes no device) and from the management library, joined by PCI address; clocks are the highest, sizes
in bytes. What neither tells is left out. A GPU that answers no more is not among those counted.
"""

from __future__ import annotations

import sys

from ..launchers import Command
from ..records import Machine, Metric, Params
from . import Sample, Workload
from .common import gpu

_SOURCE = "CUDA driver (cuDeviceGetAttribute) and NVML, as `shakedown gpu` shows them"
#: Name of the metric, title, unit, which is better, and what a case holds of it.
_DEVICE = (
    ("multiprocessors", "Multiprocessors of a device", "1", "higher", "multiprocessors"),
    ("cores_per_multiprocessor", "CUDA cores of a multiprocessor", "1", "higher", "cores_per_multiprocessor"),
    ("cores", "CUDA cores of a device", "1", "higher", "cores"),
    ("memory.size", "Global memory of a device", "B", "higher", "memory"),
    ("clock", "Clock of a device's cores", "Hz", "higher", "clock"),
    ("memory.clock", "Memory clock of a device", "Hz", "higher", "memory_clock"),
    ("memory.bus_width", "Width of a device's memory bus", "B", "higher", "bus_width"),
    ("l2.size", "Level 2 cache of a device", "B", "higher", "l2"),
    ("constant_memory.size", "Constant memory of a device", "B", "higher", "constant_memory"),
    ("shared_memory_per_block.size", "Shared memory per block", "B", "higher", "shared_memory_per_block"),
    ("registers_per_block", "Registers per block", "1", "higher", "registers_per_block"),
    ("warp_size", "Threads of a warp", "1", "none", "warp_size"),
    ("threads_per_block", "Most threads of a block", "1", "higher", "threads_per_block"),
    ("texture_alignment", "Alignment of textures", "B", "none", "texture_alignment"),
)


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    if not host.gpus:
        raise gpu.none_shown("gpu_query needs a GPU", host)
    return (params,)


def _metric(name: str, title: str, unit: str, better: str, per: str) -> Metric:
    return Metric(
        name=name,
        title=title,
        unit=unit,
        better=better,  # type: ignore[arg-type]
        kernel="node" if per == "devices" else "device",
        per=per,
        ranked_by=("device",) if name.startswith("device_query.") else ("nodes",),
        exact=unit in ("1", "B"),
        source=_SOURCE,
    )


WORKLOAD = Workload(
    name="gpu_query",
    title="Device query",
    metrics=(
        _metric("gpu_query.devices", "GPUs of a host that answer", "1", "higher", "devices"),
        _metric("gpu_query.below_par", "What is below par on a GPU", "1", "lower", "below_par"),
        _metric("gpu_query.uncorrected", "Uncorrected memory errors of a GPU ever", "1", "lower", "uncorrected"),
        _metric(
            "gpu_query.uncorrected.now",
            "Uncorrected memory errors of a GPU since the driver started",
            "1",
            "lower",
            "uncorrected_now",
        ),
        *(_metric(f"device_query.{name}", *rest) for name, *rest in _DEVICE),
    ),
    params={},
    command=lambda params, host: Command(argv=(sys.executable, "-m", "shakedown.machine.gpu_events")),
    estimate_s=lambda params, host: 3.0,
    resolve=_resolve,
    label=lambda params: "device query",
    samples=(
        Sample(
            recording="gpu/gpu-query-a100.jsonl",
            source="nvidia-smi of an A100, recorded by others; the CUDA driver was not asked",
            expect={
                "gpu_query.devices": 1,
                "gpu_query.below_par[index=0]": 1,
                "gpu_query.uncorrected[index=0]": 0,
                "device_query.cores[index=0]": 6912,
                "device_query.memory.size[index=0]": 85899345920,
                "device_query.clock[index=0]": 1.41e9,
            },
        ),
    ),
)
