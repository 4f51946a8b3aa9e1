"""make bench: every side-by-side measurement, one after another, on a machine that should be quiet.

    python scripts/bench/all.py [harness] [analysis] [stream] [gemm] [pingpong] [hpl] [energy] [counters] [sampling]
        [archive] [multicast] [filesystem] [pairs] [cluster] [allocation] [accept] [health]
        [availability] [accounting] [fft] [nbody] [lj]

Each part runs ours and its peers interleaved in one run and prints medians and ratios; a peer that is not installed is
said. The figures of record stand in docs/performance.md. The native programs are built into build/bench, with the
site's MPI where there is one, since hpcc is linked to it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
BUILD = ROOT / "build" / "bench"
CORES = len(os.sched_getaffinity(0))
PARTS: dict[str, tuple[str, ...]] = {
    "harness": (),
    "analysis": (),
    "stream": ("--build", str(BUILD)),
    "gemm": ("--program", str(BUILD / "native/gemm/gemm"), "--precision", "d", "--threads", str(CORES)),
    "pingpong": ("--program", str(BUILD / "native/pingpong/pingpong")),
    "hpl": ("--program", str(BUILD / "native/hpl/hpl")),
    "energy": (),
    "counters": (),
    "sampling": (),
    "archive": ("--nodes", "8", "--days", "25"),
    "multicast": ("--program", str(BUILD / "native/multicast/multicast")),
    "filesystem": ("--program", str(BUILD / "native/filesystem/filesystem")),
    "pairs": ("--seeds", "5"),
    "cluster": (),
    "allocation": (),
    "accept": (),
    "health": (),
    "availability": (),
    "accounting": (),
    "fft": ("--threads", "1"),
    "nbody": ("--build", str(BUILD)),
    "lj": (),
}


def build() -> None:
    """The native programs and what their peers need, in Release."""
    if shutil.which("cmake") is None:
        sys.exit("bench: there is no cmake\n  next: sudo apt-get install cmake ninja-build")
    BUILD.mkdir(parents=True, exist_ok=True)
    configure = ["cmake", "-S", str(ROOT), "-B", str(BUILD), "-DSHAKEDOWN_TESTS=ON", "-DCMAKE_BUILD_TYPE=Release"]
    for command in (configure, ["cmake", "--build", str(BUILD), "-j", str(os.cpu_count() or 1)]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"bench: the build failed\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


def main() -> None:
    parts = sys.argv[1:] or list(PARTS)
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        sys.exit(f"bench: no part {unknown[0]!r}\n  next: one of {', '.join(PARTS)}")
    if {"stream", "gemm", "pingpong", "hpl", "multicast", "filesystem", "nbody"} & set(parts):
        build()
    failed = []
    for part in parts:
        print(f"\n== {part}", flush=True)
        command = [sys.executable, str(Path(__file__).parent / f"{part}.py"), *PARTS[part]]
        if subprocess.run(command, check=False).returncode:
            failed.append(part)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
