"""What scripts/gpu_check.py runs: one Step a program and size, in the order in which they are worth their time. Pure.

A program that joins adds its Steps here and its Goal in gpu_goals.py.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Step(NamedTuple):
    """One program to run. ``takes_s``: a guess; what does not fit into the time left is not begun."""

    name: str
    program: str
    arguments: str  # {hpl}: the order of the largest system, see `filled`
    takes_s: float
    tiny: str  # the arguments of a rehearsal on the host
    ranks: int = 0  # 0: started without MPI
    each_device: bool = False  # a worker for every device, all at once
    extra: bool = False  # left out by --quick


_TINY_HPL = "--n 120 --nb 32 --no-ceiling"
#: Small sizes, every kernel and format, checked against the host: first, since figures of what is wrong are none.
CORRECT = (
    Step(
        "correct-stream",
        "gpu_stream",
        "--sizes 65536,4194304 --samples 2 --warm-ms 5",
        10,
        "--sizes 65536 --samples 2 --warm-ms 0",
    ),
    Step(
        "correct-copy",
        "gpu_copy",
        "--sizes 4096,1048576 --samples 2 --warm-ms 1 --triad-bytes 4194304 --blocks 65536",
        10,
        "--sizes 65536 --samples 2 --warm-ms 0 --triad-bytes 65536 --blocks 65536",
    ),
    Step(
        "correct-gemm",
        "gpu_gemm",
        "--sizes 256,1000,1024 --samples 2 --warm-ms 5",
        20,
        "--sizes 64 --samples 2 --warm-ms 0",
    ),
    Step(
        "correct-fft",
        "gpu_fft",
        "--sizes 2,256,1000,65536,97x101,32x36x40 --batch 1,auto --bytes 4194304 --samples 2 --warm-ms 1",
        10,
        "--sizes 64,6x5 --batch 1,auto --bytes 4096 --samples 2 --warm-ms 0",
    ),
    Step(
        "correct-nbody",
        "gpu_nbody",
        "--bodies 1000,16384 --precision fp32,fp64 --samples 2 --warm-ms 1",
        10,
        "--bodies 256 --precision fp32,fp64 --samples 2 --steps 1 --warm-ms 0 --shape r4u4",
    ),
    Step(
        "correct-lj",
        "gpu_lj",
        "--particles 4000,32000 --precision mixed,fp64 --samples 2 --equilibrate 200",
        15,
        "--particles 500 --samples 2 --steps 2 --equilibrate 5 --skin 0.3 --cutoff 2",
    ),
    Step("correct-hpl", "hpl_gpu", "--n 1000,2500 --nb 128,512 --no-ceiling", 20, _TINY_HPL),
    Step("correct-mxp", "hpl_mxp", "--n 1000,2500 --nb 128,512 --no-ceiling", 20, _TINY_HPL),
)
#: What the goals ask for, the quickest of it first; then what is worth knowing beside.
BENCH = (
    Step("stream", "gpu_stream", "--samples 20", 40, "--sizes 65536,131072 --samples 2 --warm-ms 0"),
    Step(
        "gemm",
        "gpu_gemm",
        "--sizes 8192 --formats f64,f32,bf16 --samples 20 --seconds 2 --bare",
        60,
        "--sizes 48 --formats f64,f32,bf16 --samples 2 --warm-ms 0",
    ),
    Step("hpl-32768", "hpl_gpu", "--n 32768 --nb 512 --samples 3", 25, "--n 96 --nb 32"),
    Step("hpl-65536", "hpl_gpu", "--n 65536 --nb 512 --samples 3", 50, "--n 160 --nb 32"),
    Step(
        "nbody",
        "gpu_nbody",
        "--bodies 1048576 --precision fp32",
        40,
        "--bodies 512 --precision fp32 --samples 2 --steps 1 --warm-ms 0 --shape r4u4",
    ),
    Step(
        "lj",
        "gpu_lj",
        "--particles 64000,1000000",
        60,
        "--particles 864 --samples 2 --steps 2 --equilibrate 5 --skin 0.3 --cutoff 2",
    ),
    Step(
        "copy",
        "gpu_copy",
        "--samples 20",
        40,
        "--sizes 65536,131072 --samples 2 --warm-ms 0 --triad-bytes 65536 --blocks 65536",
    ),
    Step("hpl-largest", "hpl_gpu", "--n {hpl} --nb 512", 80, "--n 200 --nb 64", extra=True),
    Step("mxp", "hpl_mxp", "--n 65536,131072 --nb 1024", 60, "--n 96,200 --nb 64"),
    Step(
        "fft",
        "gpu_fft",
        "--sizes 256,1024,4096,65536,1048576,4096x4096,256x256x256 --batch 1,auto",
        60,
        "--sizes 256,16x16 --batch 1,auto --bytes 65536 --samples 2 --warm-ms 0",
    ),
    Step(
        "burnin",
        "burnin",
        "--stages product:8,steps:4,memory:8 --periods 1,0.1 --memory auto --seconds 20",
        35,
        "--stages product:1,memory:1 --order 48 --memory 1MiB --seconds 2",
        each_device=True,
    ),
    Step(
        "gemm-formats",
        "gpu_gemm",
        "--sizes 8192 --formats tf32,f16,i8,f8 --samples 20 --seconds 2",
        60,
        "--sizes 64 --formats tf32,f16,i8,f8 --samples 2 --warm-ms 0",
        extra=True,
    ),
    Step(
        "gemm-sizes",
        "gpu_gemm",
        "--sizes 1024,2048,4096,16384 --data random",
        60,
        "--sizes 32,64 --data random --samples 2 --warm-ms 0",
        extra=True,
    ),
    Step(
        "nbody-fp64",
        "gpu_nbody",
        "--bodies 262144 --precision fp64",
        20,
        "--bodies 512 --precision fp64 --samples 2 --steps 1 --warm-ms 0 --shape r4u4",
        extra=True,
    ),
    Step("pingpong", "gpu_pingpong", "--samples 20", 40, "--sizes 8,65536 --samples 2", ranks=2, extra=True),
)
#: Built before the others: what says which devices there are, and what the first goals ask for.
FIRST = ("gpu_query", "gpu_stream", "gpu_gemm", "hpl_gpu", "gpu_nbody", "gpu_lj", "gpu_copy")
#: The order that the goals name; a device that cannot hold it takes what it can.
LARGEST = 131072
#: Of a device's memory, what a system may take.
_SHARE = 0.95
#: What a program loads that may lie where the loader does not look.
LIBRARIES = {"gpu_gemm": "cublas", "hpl_gpu": "cublas", "hpl_mxp": "cublas", "burnin": "cublas", "gpu_fft": "cufft"}


def hpl_bytes(n: int, nb: int) -> int:
    """Memory of a device for a system of order N on it alone, bytes, without terms below a hundredth: native/hpl_gpu,
    "Kernels": 8 (ld width + 2 m NB + 2 NB width)."""
    return 8 * (n * (n + 128) + 4 * n * nb)


def filled(step: Step, memory_bytes: int | None) -> str:
    """The step's arguments; {hpl} is the order that the goals name where the devices hold it, else "auto"."""
    fits = memory_bytes is not None and hpl_bytes(LARGEST, 512) <= _SHARE * memory_bytes
    return step.arguments.replace("{hpl}", str(LARGEST) if fits else "auto")


def library(program: str, listed: str) -> list[str]:
    """Where the program's library is, when the loader would not find it (``listed``: what ldconfig -p prints): a
    toolkit's folder, or a wheel of this Python."""
    name = LIBRARIES.get(program)
    if name is None or f"lib{name}.so" in listed:
        return []
    folders = [Path(os.environ[word]) / "lib64" for word in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(word)]
    folders.append(Path("/usr/local/cuda/lib64"))
    folders += [Path(entry) / sub for entry in sys.path for sub in ("nvidia/cu13/lib", f"nvidia/{name}/lib")]
    found = [path for folder in folders for path in sorted(folder.glob(f"lib{name}.so*"))]
    return [f"--{name}", str(found[0])] if found else []


def least_memory(devices: Sequence[dict[str, Any]]) -> int | None:
    """Of all devices, bytes; None where it is not known."""
    known = [int(device["memory_bytes"]) for device in devices if device.get("memory_bytes")]
    return min(known, default=None)
