"""hpcc, which several rows have as their peer: Debian's, with the MPI that our programs are built with."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import common

from shakedown.workloads.common import hpl_dat

NEEDS = {"hpcc": "sudo apt-get install hpcc", "mpirun": "sudo apt-get install openmpi-bin"}


def run(
    dat: hpl_dat.HplDat,
    *,
    bind: str = "core",
    env: Mapping[str, str] | None = None,
    blas: str = "",
    mpirun: str = "mpirun",
    program: str = "hpcc",
) -> str:
    """All that hpcc writes of a run, on the ranks of ``dat``; the sizes of its tests follow N. ``blas``: a library that it
    loads in place of its own. Raises CannotMeasure."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "hpccinf.txt").write_text(hpl_dat.text(dat))
        if blas:
            Path(folder, "libblas.so.3").symlink_to(Path(blas).resolve())
        path = {"LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"} if blas else {}
        argv = [mpirun, "-np", str(dat.ranks), "--bind-to", bind, program]
        common.output(argv, cwd=folder, env={"OMP_NUM_THREADS": "1", **path, **(env or {})})
        return Path(folder, "hpccoutf.txt").read_text()
