"""All devices of a node at work at once, every result checked to the bit: `shakedown burnin` as part of a campaign.

Every GPU, or every core where there is none, has a worker of its own: products of matrices with checksums over rows and
columns, power steps in which all devices rise and fall together, patterns through memory of its own. Meanwhile clocks,
heat, power, throttling, error counters and the kernel's log are read. A device with a critical symptom (a wrong bit, a
worker that died or hangs, an uncorrected memory error, an Xid) has failed and has no score; the run's reason and its notice
tell the first symptom with its time. A device that could not begin before the time ended was not tested: the run is then
unavailable, never a pass. For hours and days take the verb itself, which outlives a campaign's limits and can be gone on
with: docs/burnin.md.
"""

from __future__ import annotations

import sys

from .. import programs
from ..launchers import Command
from ..records import Host, Metric, Params
from . import Param, Sample, Workload

_SOURCE = "docs/burnin.md"


def _command(params: Params, host: Host) -> Command:
    programs.path("burnin")  # said here where it was not built, not by the run
    words = ["--time", f"{float(params['seconds']):g}s"]
    for name in ("devices", "memory", "periods", "stop"):
        words += [f"--{name}", str(params[name])]
    return Command(argv=(sys.executable, "-m", "shakedown.operate.burnin", *words))


WORKLOAD = Workload(
    name="burnin",
    title="Burn-in",
    metrics=(
        Metric(
            name="burnin.product.rate",
            title="Products under burn-in, of each device",
            unit="flop/s",
            better="higher",
            kernel="burnin_product",
            per="flop/s",
            headline=True,
            source=f"2 m n k of each product, checks included in the time; {_SOURCE}",
        ),
        Metric(
            name="burnin.memory.bandwidth",
            title="Memory patterns under burn-in, of each device",
            unit="B/s",
            better="higher",
            kernel="burnin_memory",
            per="bytes_moved/s",
            source=f"bytes read and written by patterns; {_SOURCE}",
        ),
    ),
    params={
        "seconds": Param(kind="real", default=600, low=1, high=86400, unit="s", help="how long; for days: the verb"),
        "devices": Param(
            kind="list",
            default="auto",
            help="auto (GPUs where there are any, else cores), cpu, gpu, all, or cpu:0-3,gpu:0",
        ),
        "memory": Param(
            kind="word",
            default="auto",
            help="for the patterns of each core: a size, a share as 80%, auto (50%, less where the time is short), 0",
        ),
        "periods": Param(kind="list", default="1,0.1,0.01", help="seconds of one power step up and down"),
        "stop": Param(
            kind="word", default="end", choices=("end", "first"), help="at the end of the time, or at the first symptom"
        ),
    },
    command=_command,
    estimate_s=lambda params, host: 5.0 + float(params["seconds"]),
    label=lambda params: f"burn-in, {params['devices']}, {float(params['seconds']):g} s",
    samples=(
        Sample(
            recording="native/burnin-two-cores.jsonl",
            source="two virtual CPUs with AVX-512, 8 s",
            expect={
                "burnin.product.rate[device=cpu:0]": 31287828310.607903,
                "burnin.product.rate[device=cpu:1]": 34965891024.27382,
                "burnin.memory.bandwidth[device=cpu:1]": 6845528460.734065,
            },
        ),
    ),
)
