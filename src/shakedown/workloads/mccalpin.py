"""John McCalpin's STREAM 5.10, as a site has compiled it: an adapter that runs it and reads what it prints.

STREAM prints the best rate of its repeats (not the median), in bytes that its source names: 16 a element for copy and
scale, 24 for add and triad. Its own check ("Solution Validates") decides whether there is a result. The best, mean and
worst times are kept as figures; the single times are not printed, so there are no samples and no interval.

Source: J. D. McCalpin, STREAM: Sustainable Memory Bandwidth in High Performance Computers, stream.c revision 5.10.
"""

from __future__ import annotations

import re

from ..records import Case, Host, Metric, Params, Residual
from . import Command, Garbage, Param, Sample, Workload
from .stream import RANKED_BY

KERNELS = ("copy", "scale", "add", "triad")


def _command(params: Params, host: Host) -> Command:
    threads = str(params["threads"])
    env = {} if threads == "all" else {"OMP_NUM_THREADS": threads}
    return Command(argv=(str(params["program"]),), env={"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores", **env})


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """The four kernels from STREAM's output. Raises Garbage."""
    size = re.search(r"Array size = (\d+)", text)
    if size is None:
        raise Garbage("this is no output of STREAM: there is no line 'Array size = ...'")
    threads = re.search(r"Number of Threads counted = (\d+)", text)
    valid = "Solution Validates" in text
    if not valid and "Failed Validation" not in text:
        raise Garbage("the output ends before STREAM's own check ('Solution Validates')")
    check = Residual(value=0.0 if valid else 1.0, limit=0.0, kind="STREAM's own validation")
    elements = int(size[1])
    cases = []
    for kernel in KERNELS:
        row = re.search(rf"^{kernel.capitalize()}:\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)", text, re.MULTILINE)
        if row is None:
            raise Garbage(f"there is no row '{kernel.capitalize()}:'")
        rate, mean, least, most = (float(word) for word in row.groups())
        cases.append(
            Case(
                kernel=kernel,
                residual=check,
                params={
                    "threads": int(threads[1]) if threads else 1,
                    "bytes": elements * 8,
                    "level": "memory",
                },
                work={"best_bytes_per_s": rate * 1e6, "mean_s": mean, "min_s": least, "max_s": most},
            )
        )
    return tuple(cases)


WORKLOAD = Workload(
    name="mccalpin",
    title="STREAM 5.10 by McCalpin, as the site compiled it",
    metrics=tuple(
        Metric(
            name=f"mccalpin.{kernel}.best",
            title=f"STREAM 5.10 {kernel}, best of its repeats",
            unit="B/s",
            better="higher",
            kernel=kernel,
            per="best_bytes_per_s",
            limit="{level}.bandwidth",
            ranked_by=RANKED_BY,
            source="stream.c 5.10: bytes of the kernel over the least time, the first repeat left out",
        )
        for kernel in KERNELS
    ),
    params={
        "program": Param(kind="word", default="stream", help="the site's compiled STREAM: a name on PATH or a path"),
        "threads": Param(kind="integer", default="all", words=("all",), low=1, help="OpenMP threads"),
    },
    command=_command,
    parse=parse,
    estimate_s=lambda params, host: 20.0,
    samples=(
        Sample(
            recording="mccalpin/stream-5.10-zen4.log",
            source="microsoft/superbenchmark",
            expect={
                "mccalpin.copy.best": 342008.3e6,
                "mccalpin.scale.best": 342409.6e6,
                "mccalpin.add.best": 343827.7e6,
                "mccalpin.triad.best": 363208.7e6,
            },
        ),
    ),
)
