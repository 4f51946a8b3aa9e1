"""pingpong, collectives and onesided beside the Intel MPI Benchmarks (IMB), with the same MPI, on two ranks.

IMB-MPI1 must be on PATH: its folder's mpiexec.hydra starts both, and both load its library (the wheel impi-rt brings all
three, in an environment of its own). Ours are the programs that are built for the MPICH family. Each figure is IMB's by its
own definition: half a round trip, its mean; of a collective the mean over ranks of the mean over a loop with a barrier
after each call (``t_avg``), which is what OSU prints, too, and what `collectives` prints as ``osu_s``; of a one-sided
operation on memory of MPI_Win_create the mean of it with its flush (non-aggregate mode), the target waiting in MPI.

Not alike: IMB reduces MPI_DOUBLE, ours words of 64 bits; IMB sends the same buffer again, ours too, and compares the ends
of what came with what it must be outside of the time. IMB's reduce-scatter counts the bytes of all ranks, ours those of a
block; the same call stands beside the same call. ``median`` is ours as our reports have it: of a mean one repetition that
another program held up is all.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import common
from common import Option

from shakedown import programs
from shakedown.errors import Unavailable
from shakedown.workloads.common import imb_output

from . import Figure, Group, Pass, Rates, Row

RANKS = 2
NEEDS = {"IMB-MPI1": "python3 -m venv imb && imb/bin/pip install impi-rt && PATH=$PWD/imb/bin:$PATH"}
#: IMB's name -> ours, and how many of our bytes its bytes are.
COLLECTIVES = {
    "Allreduce": ("allreduce", 1),
    "Bcast": ("bcast", 1),
    "Alltoall": ("alltoall", 1),
    "Allgather": ("allgather", 1),
    "Reduce_scatter_block": ("reduce_scatter_block", RANKS),
}
ONE_SIDED = {
    "Unidir_put": "put",
    "Unidir_get": "get",
    "Accumulate": "accumulate",
    "Fetch_and_op": "fetch_and_op",
    "Compare_and_swap": "compare_and_swap",
}
#: Of an atomic operation IMB has one size, an int.
ATOMIC_BYTES = 4


def launcher() -> str:
    """IMB's, else one of the same family, so that ours starts without IMB. Raises Unavailable."""
    imb = shutil.which("IMB-MPI1")
    own = Path(imb).parent / "mpiexec.hydra" if imb else None
    found = str(own) if own and own.exists() else shutil.which("mpirun.mpich") or shutil.which("mpiexec.hydra")
    if not found:
        raise Unavailable("there is no launcher of the MPICH family", hint=NEEDS["IMB-MPI1"])
    return found


def start(program: str | Path) -> tuple[list[str], dict[str, str]]:
    """The words before a program's options, and what its library needs. Intel's pins ranks, ours do so themselves."""
    mpiexec = launcher()
    libraries = Path(mpiexec).parent.parent / "lib"
    env = {"PATH": f"{Path(mpiexec).parent}:{os.environ['PATH']}"}
    if (libraries / "libmpi.so.12").exists():
        env["LD_LIBRARY_PATH"] = str(libraries)
    return [mpiexec, "-n", str(RANKS), str(program)], env


def built(asked: argparse.Namespace, name: str) -> Path:
    """A program of ours that is built for the MPICH family. Raises Unavailable."""
    for folder in (Path(asked.build) / "native" / name if asked.build else None, programs.folder()):
        if folder and (folder / "mpich" / name).exists():
            return folder / "mpich" / name
    raise Unavailable(
        f"{name} is not built for the MPICH family",
        hint="install libmpich-dev (or name an mpicxx of it), and build again",
    )


def ours(asked: argparse.Namespace, name: str, *words: object) -> list[dict[str, Any]]:
    argv, env = start(built(asked, name))
    cases = common.cases([*argv, *map(str, words)], env={**env, "I_MPI_PIN": "off"}, limit_s=300)
    if wrong := sum(case["residual"]["value"] for case in cases if case.get("residual")):
        raise common.Wrong(f"{name} found {wrong} wrong elements")
    return cases


def theirs(asked: argparse.Namespace, part: str, names: Sequence[str], sizes: Sequence[int]) -> imb_output.Log:
    argv, env = start(Path(launcher()).parent / f"IMB-{part}")
    with TemporaryDirectory() as folder:
        lengths = Path(folder, "sizes")
        lengths.write_text("".join(f"{size}\n" for size in sizes))
        words = ["-npmin", RANKS, "-iter", asked.iterations, "-iter_policy", "off", "-msglen", lengths]
        words += ["-red_data_type", "double"] if part == "MPI1" else ["-aggregate_mode", "non_aggregate"]
        return imb_output.log(common.output([*argv, *names, *words], env=env, limit_s=300))


def figures(log: imb_output.Log, names: Mapping[str, str]) -> dict[str, float]:
    """Figure -> seconds, of every row of two processes."""
    found = {}
    for table in log.tables:
        wanted = table.processes == RANKS and table.name in names and table.mode != "aggregate"
        for row in table.rows if wanted else ():
            time = row.cells.get("t_avg[usec]") or row.cells["t[usec]"]
            found[f"{names[table.name]}, {row.size} B"] = 1e-6 * float(time)
    return found


def of_samples(case: Mapping[str, Any]) -> tuple[float, float]:
    """Mean and median of a case's samples, for one operation."""
    each = [seconds / case["work"]["messages"] for seconds in case["seconds"]]
    return statistics.fmean(each), statistics.median(each)


def two_ways(found: Mapping[str, tuple[float, float]], name: str) -> Rates:
    return {
        f"{name}, {way}": {figure: both[at] for figure, both in found.items()}
        for at, way in enumerate(("mean", "median"))
    }


def our_pingpong(asked: argparse.Namespace) -> Rates:
    sizes = ",".join(map(str, asked.sizes))
    cases = ours(asked, "pingpong", "--kernels", "latency", "--sizes", sizes, "--samples", asked.samples)
    return two_ways({f"PingPong, {one['params']['bytes']} B": of_samples(one) for one in cases}, "pingpong")


def our_collectives(asked: argparse.Namespace) -> Rates:
    """The figure by OSU's and IMB's definition; and last exit less first entry, as the median of its repetitions."""
    names = {mine: (imb, scale) for imb, (mine, scale) in COLLECTIVES.items()}
    sizes = sorted({size // scale for size in asked.sizes for _, scale in COLLECTIVES.values() if size // scale >= 8})
    words = ["--operations", ",".join(names), "--sizes", ",".join(map(str, sizes)), "--no-point-to-point"]
    found: dict[str, tuple[float, float]] = {}
    for case in ours(asked, "collectives", *words, "--samples", asked.samples):
        if case["params"].get("method") != "library" or case["kernel"] not in names or "osu_s" not in case["work"]:
            continue
        imb, scale = names[case["kernel"]]
        size = case["params"]["bytes"] * scale
        if size in asked.sizes:
            found[f"{imb}, {size} B"] = case["work"]["osu_s"], statistics.median(case["seconds"])
    return two_ways(found, "collectives")


def our_onesided(asked: argparse.Namespace) -> Rates:
    words = ["--windows", "create", "--sizes", ",".join(map(str, asked.sizes)), "--atomic-bytes", ATOMIC_BYTES]
    words += ["--samples", asked.samples, "--no-computing", "--operations", ",".join(ONE_SIDED.values())]
    found = {}
    for case in ours(asked, "onesided", *words):
        name, _, kind = case["kernel"].rpartition("_")
        imb = next((imb for imb, mine in ONE_SIDED.items() if mine == name), None)
        if kind == "latency" and imb:
            found[f"{imb}, {case['params']['bytes']} B"] = of_samples(case)
    return two_ways(found, "onesided")


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    for title, part, names, run in (
        ("pingpong", "MPI1", ["PingPong"], our_pingpong),
        ("collectives", "MPI1", list(COLLECTIVES), our_collectives),
        ("onesided", "RMA", list(ONE_SIDED), our_onesided),
    ):
        small = {name.lower(): name for name in names}
        sized = [(name, ATOMIC_BYTES if name in ("Fetch_and_op", "Compare_and_swap") else 0) for name in names]
        table = {
            f"{name}, {size} B": Figure("us", 1e6, better="lower")
            for name, own in sized
            for size in ([own] if own else asked.sizes)
        }

        def peer(part: str = part, names: Sequence[str] = names, small: Mapping[str, str] = small) -> Rates:
            return {"IMB": figures(theirs(asked, part, names, asked.sizes), small)}

        def mine(run: Any = run) -> Rates:
            return run(asked)  # type: ignore[no-any-return]

        passes = [Pass(title, mine), Pass("IMB", peer, NEEDS)]
        yield Group(title, table, passes, [f"{title}, mean", f"{title}, median"], alone=True)


ROW = Row(
    groups,
    rounds=12,
    options={
        "sizes": Option([16, 1024, 65536, 1048576], [16], "message sizes in bytes, multiples of 16"),
        "iterations": Option(500, 5, "of IMB, of each benchmark and size in each round"),
        "samples": Option(200, 2, "of ours, of each case in each round"),
    },
)
