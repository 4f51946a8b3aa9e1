"""Every workload with a program of ours, beside a meter that always reads 100 W: the spans of its cases are those of its
samples, and rate = efficiency x power."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from shakedown import launchers, workloads
from shakedown.analysis import build
from shakedown.analysis.spans import disagreement
from shakedown.errors import Unavailable
from shakedown.hosts.access import LocalHost
from shakedown.machine import discover
from shakedown.metering import trace as traces
from shakedown.records import Finding, Job, Machine, Measurement, Params, Run, Value
from shakedown.results import outcome
from support.runs import NODE, directory
from support.workloads import params_of

WATTS = 100.0

#: Small, and with several samples.
HOST = {"backend": "host"}
#: What trials of the fluid would find, which take most of its time on the host.
LJ_TRIED: dict[str, Value] = {"lanes": "1", "skin": 0.3}
SMALL: dict[str, list[dict[str, Value]]] = {
    "bigdata": [{"kernels": "sort", "rows": 2000, "cores": 1, "memory": 512, "partitions": 2}],
    "burnin": [{"seconds": 1.0}],
    "fft": [{"sizes": "4096", "plan": "estimate"}],
    "filesystem": [{"size": 4 << 20, "files": 50, "kernels": "write,read,metadata", "require": "none"}],
    # A pair of steps and one in place: each is repeated until it took a second, which is long for steps of few files.
    "storage": [
        {
            "size": 4 << 20,
            "files": 50,
            "kernels": "write,read,metadata",
            "steps": "create,stat,unlink",
            "folders": "own",
        }
    ],
    "checkpoint": [{"n": 200, "ranks": 1, "pairs": 2, "restarts": 2, "interval": 0.1}],
    "gemm": [{"sizes": "512", "library": "auto"}],
    "gpu_collectives": [{"backend": "host:2", "sizes": "1048576", "samples": 3, "operations": "all_reduce,alltoall"}],
    "gpu_copy": [{**HOST, "sizes": "1048576", "triad_bytes": 1 << 22, "blocks": "262144"}],
    "gpu_fft": [{**HOST, "sizes": "4096", "bytes": 1 << 20}],
    "gpu_gemm": [{**HOST, "sizes": "64", "samples": 3}],
    "gpu_lj": [
        {**HOST, **LJ_TRIED, "particles": "500", "equilibrate": 1, "steps": 1, "samples": 2, "precision": "mixed"}
    ],
    "gpu_nbody": [{**HOST, "bodies": "256", "steps": 2, "samples": 2}],
    "gpu_path_loss": [{**HOST, "radios": "8", "points": "60", "side": 129, "samples": 2}],
    "gpu_pingpong": [{**HOST, "sizes": "8,4096"}],
    "gpu_stream": [{**HOST, "sizes": "1048576", "samples": 3}],
    "hpcg": [{"nx": 16, "triad_bytes": 65536}, {"nx": 16, "triad_bytes": 65536, "ranks": 2, "threads": 1}],
    "hpl": [
        {"n": "600", "nb": "64", "samples": 5, "ranks": 1},
        {"n": "600", "nb": "64", "seconds": 0.5, "ranks": 2, "threads": 1, "repeat_in_place": True},
        {"n": "1200", "nb": "64", "windows": "1,0.5", "ranks": 1},
    ],
    "hpl_gpu": [{**HOST, "n": "200", "nb": "32", "samples": 4}],
    "hpl_mxp": [{**HOST, "n": "200", "nb": "32", "samples": 4}],
    "hpl_probe": [{"rows": 128, "columns": 300, "k": "32", "nb": "16", "panel_rows": "100", "samples": 2, "ranks": 1}],
    "hydro": [{"n": "200", "samples": 3}, {"n": "64", "ranks": 2, "threads": 1, "samples": 3}],
    "latency": [{"sizes": "16384,1048576", "samples": 3}],
    "lj": [{"particles": "2000", "equilibrate": 5, "samples": 2, "precision": "mixed"}],
    "load": [{"seconds": 0.4}, {"pattern": "square", "seconds": 0.6, "period": 0.2}],
    "manet": [{"radios": 4, "kernels": "rate", "frames": 5000, "samples": 3}],
    "multicast": [{"seconds": 0.1, "samples": 2, "sizes": "2", "ranks": 2, "kernels": "join,latency,rate"}],
    "multi_pair": [{"kernels": "bandwidth,random_ring", "pairs": "1", "sizes": "8,65536", "samples": 10}],
    "nbody": [{"bodies": "2048", "samples": 3}],
    "path_loss": [{"radios": "100", "points": "100", "side": 129, "samples": 3}],
    "onesided": [{"operations": "put", "sizes": "8,65536", "samples": 10, "computing": False}],
    "overlap": [{"operations": "exchange,iallreduce", "sizes": "8,65536", "samples": 10}],
    "shmem": [{"operations": "add", "atomic_bytes": "8", "samples": 10}],
    "training": [
        {
            "layers": 1,
            "width": 64,
            "sequence": 32,
            "vocabulary": 64,
            "batch": 4,
            "steps": 6,
            "ranks": 2,
            "device": "cpu",
        }
    ],
    "workers": [{"workers": "2", "sweeps": 2000, "samples": 3, "allow_oversubscribe": True}],
    "opencl": [{"precision": "s", "bodies": 512, "elements": 65536, "samples": 3, "together": 0}],
    "pingpong": [{"sizes": "8,65536", "samples": 20}],
    "probe": [{"samples": 2}],
    "stream": [{"sizes": "1048576", "samples": 5}],
}
#: These print native events from Python or a shell, or measure nothing (a device query), and mark no spans.
#: `collectives` measures in turn what is too short for any meter: its samples lie between those of others.
UNMARKED = {"collectives", "gpu_query", "batch", "compilers", "cuda", "dualstack", "empty", "exchange", "mpi_bindings"}
#: What takes a minute is started elsewhere (tests/cli/test_bigdata.py).
ELSEWHERE = {"bigdata"}


@pytest.fixture(scope="module")
def here() -> Machine:
    return Machine(hosts=(discover(LocalHost()),), discovered_ns=time.time_ns(), version="test")


def measured(name: str, given: dict[str, Value], here: Machine, folder: Path) -> Measurement:
    """One run of a workload, as the harness would start it. Skips where this machine has not what it needs."""
    one = workloads.get(name)
    try:
        params: Params = params_of(one, here, given)
        command = one.command(params, here.hosts[0])
        argv, launched = launchers.wrap(command, here.hosts[0])
    except Unavailable as error:
        pytest.skip(f"{name}: {error.what}; {error.hint}")
    for file, content in command.files.items():
        (folder / file).write_text(content)
    begin_ns = time.time_ns()
    done = subprocess.run(
        argv, cwd=folder, env={**os.environ, **command.env, **launched}, capture_output=True, timeout=300, check=False
    )
    end_ns = time.time_ns()
    job = Job(run="r1", repeat=1, host=here.hosts[0].name, argv=tuple(argv), begin_ns=begin_ns, end_ns=end_ns)
    job = msgspec.structs.replace(job, exit_code=done.returncode)
    run = Run(id="r1", workload=name, params=params, label=name, estimate_s=1, limit_s=300)
    return outcome.measurement(run, job, done.stdout, done.stderr)


def test_every_workload_is_here() -> None:
    own = {name for name in workloads.names() if workloads.get(name).parse is None}
    bare = own - SMALL.keys() - UNMARKED - ELSEWHERE
    assert not bare, f"{sorted(bare)}: give each a tiny run in SMALL, or name it in UNMARKED where it marks no spans"
    assert SMALL.keys() | UNMARKED | ELSEWHERE <= own, "a workload of SMALL or UNMARKED is gone"


@pytest.mark.parametrize(
    ("name", "given"),
    [pytest.param(name, one, id=f"{name}-{i}") for name, sets in SMALL.items() for i, one in enumerate(sets)],
)
def test_rate_is_efficiency_times_power(name: str, given: dict[str, Value], here: Machine, tmp_path: Path) -> None:
    record = measured(name, given, here, tmp_path)
    if record.state == "unavailable":
        pytest.skip(f"{name}: {record.reason}")
    assert record.state in ("ok", "partial"), record.reason
    for case in record.cases:
        assert disagreement(case) == "", (case.kernel, case.params)
    # What is measured before and after (a product beside HPL) was at other speeds on a busy machine: the median of two
    # rates and that of two efficiencies are then of different ones. One of each is looked at.
    once = {(case.kernel, msgspec.json.encode(case.params, order="sorted")): case for case in record.cases}
    record = msgspec.structs.replace(record, cases=tuple(once.values()))
    t_ns = np.arange(record.begin_ns - 10**8, record.end_ns + 10**8, 10**5)
    meter = traces.trace(NODE, t_ns, np.full(len(t_ns), WATTS))
    analysis, damaged = build.analyse(directory(tmp_path / "run", [record], [[meter]]))
    assert damaged == []
    checked = [check(one, analysis.findings) for one in analysis.findings if one.metric.endswith(".energy_efficiency")]
    if name in ("hpl", "hpl_gpu", "hpl_mxp") and "windows" not in given:
        assert len(checked) >= 2  # the solution and the product beside it


def check(efficiency: Finding, findings: tuple[Finding, ...]) -> float:
    """The rate over efficiency x power, which is 1 but for the share of other work that the energy is said to hold."""
    stem = efficiency.metric.removesuffix(".energy_efficiency")
    params = {name: value for name, value in efficiency.params.items() if name != "meter"}
    power = next(one for one in findings if one.metric == f"{stem}.power" and one.params == efficiency.params)
    assert power.value == pytest.approx(WATTS, rel=1e-6)
    rates = [
        one.value
        for one in findings
        if (one.metric == stem or one.metric.startswith(f"{stem}."))
        and one.params == params
        and one.unit == f"{efficiency.unit[:-2]}/s"
    ]
    assert efficiency.value is not None and power.value is not None
    ratios = [efficiency.value * power.value / rate for rate in rates if rate]
    ratio = min(ratios, key=lambda one: abs(one - 1))
    more = any(one.code == "energy-of-more" for one in efficiency.notices)
    assert (0.4 if more else 0.9) <= ratio <= 1.011, (efficiency, rates)
    return ratio
