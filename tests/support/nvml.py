"""NVIDIA's management library without a GPU: compiles ``fake_nvml.c`` and moves its values."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("fake_nvml.c")
H100 = {
    "name": "NVIDIA H100 PCIe",
    "uuid": "GPU-0",
    "vbios": "96.00.30.00.01",
    "arch": 9,
    "average": 310_250,
    "instant": 345_000,
    "usage": 310_250,
    "energy": 123_456_789,
    "temperature": 61,
    "limit": 350_000,
    "cap": 350_000,
}


def build(folder: Path) -> Path:
    """``libnvidia-ml.so.1`` in a folder. Skips the test where there is no C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler: sudo apt-get install gcc")
    library = folder / "libnvidia-ml.so.1"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(library), str(SOURCE)],
        check=True,
        timeout=300,
    )
    return library


def say(path: Path, *gpus: dict[str, object], driver: str = "535.104.05") -> None:
    """Write what the fake answers from now on: replaced as a whole, so that no half of it is ever read."""
    lines = [f"driver {driver}", f"gpus {len(gpus)}"]
    lines += [f"gpu{index}.{key} {value}" for index, gpu in enumerate(gpus) for key, value in gpu.items()]
    new = path.with_suffix(".new")
    new.write_text("\n".join(lines) + "\n")
    new.replace(path)
