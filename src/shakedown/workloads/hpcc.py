"""HPC Challenge (hpcc), as a site has installed it: an adapter that writes its input, runs it and reads its summary.

One program gives HPL, DGEMM, STREAM, PTRANS, RandomAccess, FFT and ping-pong, each alone on one rank ("Single"), on all
ranks at once ("Star") and across all ranks ("MPI"). Each figure is printed once, so there is no interval within a run:
repeats of the run give one. HPL's residual is checked by the program against its threshold of 16.

Source: HPC Challenge 1.5, README and hpccoutf.txt's summary section.
"""

from __future__ import annotations

import math
import re
from typing import Literal, NamedTuple

from ..errors import BadInput, Unavailable
from ..records import Case, Host, Machine, Metric, Params, Residual
from . import Command, Garbage, Param, Sample, Workload
from ._hpl import grid


class Figure(NamedTuple):
    """One line of the summary and what it becomes."""

    key: str
    metric: str
    title: str
    unit: str
    factor: float  # from the printed unit to SI
    better: Literal["higher", "lower"] = "higher"
    limit: str = ""


FIGURES = (
    Figure("HPL_Tflops", "hpcc.hpl.rate", "HPL in hpcc", "flop/s", 1e12, limit="flops.fp64"),
    Figure("StarDGEMM_Gflops", "hpcc.dgemm.star", "DGEMM in hpcc, each rank, all at once", "flop/s", 1e9),
    Figure("SingleDGEMM_Gflops", "hpcc.dgemm.single", "DGEMM in hpcc, one rank alone", "flop/s", 1e9),
    Figure("StarSTREAM_Copy", "hpcc.copy.star", "STREAM copy in hpcc, each rank, all at once", "B/s", 1e9),
    Figure("StarSTREAM_Triad", "hpcc.triad.star", "STREAM triad in hpcc, each rank, all at once", "B/s", 1e9),
    Figure("SingleSTREAM_Triad", "hpcc.triad.single", "STREAM triad in hpcc, one rank alone", "B/s", 1e9),
    Figure("PTRANS_GBs", "hpcc.ptrans.bandwidth", "PTRANS in hpcc", "B/s", 1e9),
    Figure("MPIRandomAccess_GUPs", "hpcc.random_access.rate", "RandomAccess in hpcc, all ranks", "update/s", 1e9),
    Figure("MPIFFT_Gflops", "hpcc.fft.rate", "FFT in hpcc, all ranks", "flop/s", 1e9),
    Figure(
        "MinPingPongLatency_usec",
        "hpcc.pingpong.latency",
        "Ping-pong in hpcc, 8 B, least over pairs",
        "s",
        1e-6,
        "lower",
    ),
    Figure(
        "MaxPingPongBandwidth_GBytes", "hpcc.pingpong.bandwidth", "Ping-pong in hpcc, 2 MB, most over pairs", "B/s", 1e9
    ),
    Figure("RandomlyOrderedRingLatency_usec", "hpcc.ring.latency", "Random ring in hpcc, 8 B", "s", 1e-6, "lower"),
    Figure(
        "RandomlyOrderedRingBandwidth_GBytes", "hpcc.ring.bandwidth", "Random ring in hpcc, 2 MB, each rank", "B/s", 1e9
    ),
)

_INPUT = """HPLinpack benchmark input file
written by shakedown
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{n}         Ns
1            # of NBs
{nb}           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{p}            Ps
{q}            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
separator, ignored
1            Number of additional problem sizes for PTRANS
{n}          values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
"""


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    ranks = len(host.usable_cpus) if params["ranks"] == "all" else int(params["ranks"])
    memory = host.memory.room_bytes
    n = int(params["n"])
    if 8 * n * n > 0.8 * memory:
        raise BadInput(
            f"hpcc's matrix of N = {n} takes {8 * n * n / 2**30:.1f} GiB, more than 80 % of the "
            f"{memory / 2**30:.1f} GiB that are free",
            hint=f"at most n = {math.isqrt(int(0.1 * memory))}",
        )
    if not any(one.kind == "mpi" for one in host.software):
        raise Unavailable(
            "hpcc needs the MPI that it was built with; no mpirun was found",
            hint="load the site's MPI module, or install openmpi-bin",
        )
    return ({**params, "ranks": ranks},)


def _command(params: Params, host: Host) -> Command:
    p, q = grid(int(params["ranks"]))
    text = _INPUT.format(n=params["n"], nb=params["nb"], p=p, q=q)
    return Command(
        argv=(str(params["program"]),),
        ranks=int(params["ranks"]),
        files={"hpccinf.txt": text},
        output="hpccoutf.txt",
        site_mpi=True,
    )


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """The figures of the summary section. Raises Garbage."""
    found = re.search(r"^Begin of Summary section\.$(.*)^End of Summary section\.$", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise Garbage("there is no whole summary section ('Begin of Summary section.' to 'End of Summary section.')")
    lines = dict(line.split("=", 1) for line in found[1].split() if "=" in line)
    residuals = [float(value) for value in re.findall(r"\|\|Ax-b\|\|_oo/\(eps\*\([^=]*=\s*([\d.eE+-]+|nan)", text)]
    base: Params = {
        "ranks": int(lines.get("CommWorldProcs", 0)),
        "n": int(lines.get("HPL_N", 0)),
        "nb": int(lines.get("HPL_NB", 0)),
    }
    cases = []
    for figure in FIGURES:
        try:
            value = float(lines[figure.key]) * figure.factor
        except (KeyError, ValueError):
            raise Garbage(f"the summary has no number {figure.key!r}") from None
        if value <= 0:
            continue  # a part that was left out prints 0 or -1: it was not measured
        check = None
        if figure.key == "HPL_Tflops" and residuals:
            check = Residual(value=max(residuals), limit=16.0, kind="HPL residual")
        elif figure.key == "MPIRandomAccess_GUPs":
            check = Residual(
                value=float(lines.get("MPIRandomAccess_ErrorsFraction", "nan")),
                limit=0.01,
                kind="fraction of wrong updates",
            )
        cases.append(Case(kernel=figure.key, params=base, work={"value": value}, residual=check))
    return tuple(cases)


WORKLOAD = Workload(
    name="hpcc",
    title="HPC Challenge, as the site installed it",
    metrics=tuple(
        Metric(
            name=one.metric,
            title=one.title,
            unit=one.unit,
            better=one.better,
            kernel=one.key,
            per="value",
            limit=one.limit,
            source="HPC Challenge 1.5, README",
        )
        for one in FIGURES
    ),
    params={
        "program": Param(kind="word", default="hpcc", help="the site's hpcc: a name on PATH or a path"),
        "n": Param(kind="integer", default=4000, low=100, help="HPL's N"),
        "nb": Param(kind="integer", default=160, low=1, help="HPL's NB"),
        "ranks": Param(kind="integer", default="all", words=("all",), low=1, help="MPI ranks"),
    },
    command=_command,
    parse=parse,
    resolve=_resolve,
    estimate_s=lambda params, host: 10 + 2e-10 * float(params["n"]) ** 3,
    samples=(
        Sample(
            recording="hpcc/hpccoutf-1.5.0-debian-2-ranks.txt",
            expect={
                "hpcc.hpl.rate": 1.634e9,
                "hpcc.dgemm.star": 2.05315e9,
                "hpcc.triad.star": 30.0909e9,
                "hpcc.random_access.rate": 0.0174664e9,
                "hpcc.fft.rate": 8.25448e9,
                "hpcc.pingpong.latency": 0.233759e-6,
                "hpcc.ring.bandwidth": 12.5797e9,
            },
        ),
    ),
)
