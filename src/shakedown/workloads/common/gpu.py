"""What the workloads on GPUs share: which devices, where a library is, what is said where there is none. Pure but for the
look for libraries in this Python's own folders."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ... import programs
from ...errors import BadInput, Unavailable
from ...launchers import Command
from ...records import Host, Machine, Notice, Params
from ...units import whole_number
from .table import Table

#: What became of a device, by the code of the notice that a program gives of it (native/gpu/README.md). Of these the machine
#: is at fault; of the others whoever shares or set it up.
FAILED = {"gpu-lost": "lost", "gpu-corrupted": "corrupted", "gpu-failed": "failed", "gpu-hung": "hung"}
REFUSED = {
    "gpu-busy": "busy",
    "gpu-prohibited": "prohibited",
    "gpu-not-ready": "not ready",
    "gpu-out-of-memory": "out of memory",
    "gpu-driver-too-old": "driver too old",
}
#: Workloads on GPUs whose programs have no kernels of their own: they run in a build without CUDA's compiler too.
_WITHOUT_KERNELS = ("gpu_fft", "gpu_pingpong")


def marks(params: Params) -> tuple[str, ...]:
    """The parameters that join those of cases: the backend, where it is not that of GPUs."""
    return () if params["backend"] == "cuda" else ("backend",)


def present(params: Params, machine: Machine, workload: str) -> Params:
    """The parameters as they are, where the machine has a GPU that they can mean. Raises Unavailable, BadInput."""
    devices = [word.strip() for word in str(params["devices"]).split(",")]
    if str(params["devices"]) != "all" and any(whole_number(word) is None for word in devices):
        raise BadInput(
            f"{workload}.devices = {params['devices']!r} names no devices", hint='devices = "all", or numbers: "0,1"'
        )
    backend = str(params["backend"])
    if backend == "host" or backend.startswith("host:"):
        return params
    if backend != "cuda":
        raise BadInput(f"{workload}.backend = {backend!r} is not known", hint="cuda, host, or host:N")
    host = machine.hosts[0]
    if not any(gpu.vendor == "NVIDIA" for gpu in host.gpus):
        raise none_shown(f"{workload} needs an NVIDIA GPU", host)
    if workload not in _WITHOUT_KERNELS and (why := without_kernels()):
        raise Unavailable(f"{workload} needs kernels for CUDA, and this build has none", hint=why)
    return params


def none_shown(need: str, host: Host) -> Unavailable:
    """That a host shows no such GPU as is needed, with what could not be looked at."""
    reasons = "; ".join(f"{gap.what}: {gap.why}" for gap in host.absent if "GPU" in gap.what)
    return Unavailable(
        f"{need}, and {host.name} shows none" + (f" ({reasons})" if reasons else ""),
        hint="in a batch job ask for a GPU (--gres=gpu:1); 'shakedown gpu' shows what is known of them",
    )


def without_kernels() -> str:
    """Why our programs were built without kernels for CUDA, and what to do about it; empty where they have them."""
    built = programs.build()
    return "" if "cuda" in built else str(built.get("cuda_absent", ""))


def count(params: Params, host: Host) -> int:
    """How many devices are measured."""
    if str(params["devices"]) != "all":
        return len(str(params["devices"]).split(","))
    backend = str(params["backend"])
    if backend.startswith("host"):
        return whole_number(backend[5:]) or 1
    return max(1, len(host.gpus))


def without_result(notices: Iterable[Notice]) -> str:
    """The devices that gave no result or not all of theirs, each with its state and why, from a program's notices; empty
    where all did."""
    known = {**FAILED, **REFUSED}
    found = [(known[one.code], one.text) for one in notices if one.code in known]
    return "; ".join(f"{state}: {text}" for state, text in dict.fromkeys(found))


def at_fault(notices: Iterable[Notice]) -> bool:
    """Whether one of the devices itself failed."""
    return any(one.code in FAILED for one in notices)


def argv(table: Table, params: Params, **made: object) -> tuple[str, ...]:
    """What is started: the program with its options, and the libraries that it is to load."""
    own: dict[str, Any] = {name: library(params, name) for name in ("cublas", "cufft") if name in params}
    own["seconds"] = params.get("seconds") or None
    return table.argv(params, **{**own, **made})


def command(table: Table, *lists: str) -> Callable[[Params, Host], Command]:
    """What starts a program on GPUs whose parameters of these names are lists of numbers."""
    return lambda params, host: Command(
        argv=argv(table, params, **{name: table.numbers(params, name) for name in lists})
    )


def library(params: Params, name: str) -> str:
    """The path to give to ``--NAME`` (cublas, cufft): what was asked for, else that of a wheel in this Python, else "auto".

    The site's comes first: the program asks its loader where the answer is "auto", and the wheel's only serves where the
    loader's own list of libraries has none.
    """
    if str(params[name]) != "auto" or str(params["backend"]) != "cuda":
        return str(params[name])
    if _loader_has(f"lib{name}.so"):
        return "auto"
    found = sorted(
        path for folder in sys.path for path in Path(folder).glob(f"nvidia/*/lib/lib{name}.so.*") if path.is_file()
    )
    return str(found[-1]) if found else "auto"


def _loader_has(name: str) -> bool:
    """Whether a library of that name lies where LD_LIBRARY_PATH points, or in the loader's list."""
    import os

    folders = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    if any(any(Path(folder).glob(f"{name}*")) for folder in folders):
        return True
    try:
        return f"/{name}".encode() in Path("/etc/ld.so.cache").read_bytes()
    except OSError:
        return False
