"""The software that a benchmark may use: compilers, CUDA and ROCm, schedulers, containers, MPIs and BLASes, tools."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable

from ..hosts.access import HostAccess
from ..records import Absent, Software
from . import blas, mpi
from .software_table import VERSION, Program, table
from .together import together

_LIMIT_S = 5.0


def _of_program(door: HostAccess, program: Program) -> tuple[Software, ...]:
    return (_program(door, program),)


def software(door: HostAccess) -> tuple[tuple[Software, ...], tuple[Absent, ...]]:
    """All that is found, programs first, and what did not answer.

    A program that is there but does not tell its version has an empty one.
    """
    present = [program for program in table().programs if door.which(program.name)]
    tasks: dict[str, Callable[[], tuple[Software, ...]]] = {
        program.name: functools.partial(_of_program, door, program) for program in present
    }
    tasks |= {
        "qstat": lambda: _qstat(door),
        "python": lambda: _python(door),
        "drivers": lambda: drivers(door),
        "mpi": lambda: mpi.mpi(door),
        "blas": lambda: blas.blas(door),
    }
    answers = together(tasks, limit_s=4 * _LIMIT_S)
    found = tuple(entry for answer in answers.values() for entry in answer.value or ())
    return found, tuple(Absent(what=name, why=answer.why) for name, answer in answers.items() if answer.value is None)


def _program(door: HostAccess, program: Program) -> Software:
    path = door.which(program.name) or ""
    version = ""
    if program.ask:
        answer = door.run((program.name, *program.ask), limit_s=_LIMIT_S)
        match = re.search(program.pattern.replace("VERSION", VERSION), answer.out + answer.err) if answer.ok else None
        version = match[1] if match else ""
    return Software(kind=program.kind, name=program.label or program.name, version=version, path=path)


def _qstat(door: HostAccess) -> tuple[Software, ...]:
    """Grid Engine, PBS and Torque all call their program ``qstat``."""
    path = door.which("qstat")
    if path is None:
        return ()
    for argv, pattern, name in (
        (("qstat", "-help"), r"^((?:SGE|GE|UGE|OGS/GE|AGE) \S+)", "gridengine"),
        (("qstat", "--version"), r"pbs_version = (\S+)", "pbs"),
        (("qstat", "--version"), r"Version: (\S+)", "torque"),
    ):
        answer = door.run(argv, limit_s=_LIMIT_S)
        match = re.search(pattern, answer.out + answer.err, re.MULTILINE)
        if match:
            return (Software(kind="scheduler", name=name, version=match[1].split()[-1], path=path),)
    return (Software(kind="scheduler", name="qstat", path=path),)


def _python(door: HostAccess) -> tuple[Software, ...]:
    answer = door.run((sys.executable, "--version"), limit_s=_LIMIT_S)
    match = re.search(r"Python (\S+)", answer.out + answer.err)
    return (Software(kind="python", name="python", version=match[1], path=sys.executable),) if match else ()


def drivers(door: HostAccess) -> tuple[Software, ...]:
    """The kernel drivers of GPUs, and the CUDA and ROCm that lie in their usual places."""
    found: list[Software] = []
    module = re.search(r"Kernel Module.*?\s(\d+\.\d[\d.]*)\s", door.read("/proc/driver/nvidia/version") or "")
    if module:
        found.append(Software(kind="driver", name="nvidia", version=module[1], path="/proc/driver/nvidia/version"))
    amdgpu = (door.read("/sys/module/amdgpu/version") or "").strip()
    if amdgpu:
        found.append(Software(kind="driver", name="amdgpu", version=amdgpu, path="/sys/module/amdgpu/version"))
    cuda = re.search(r'"cuda"\s*:\s*\{[^}]*"version"\s*:\s*"([\d.]+)"', door.read("/usr/local/cuda/version.json") or "")
    if cuda:
        found.append(Software(kind="library", name="cuda", version=cuda[1], path="/usr/local/cuda"))
    rocm = (door.read("/opt/rocm/.info/version") or "").strip()
    if rocm:
        found.append(Software(kind="library", name="rocm", version=rocm, path="/opt/rocm"))
    return tuple(found)
