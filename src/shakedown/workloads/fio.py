"""fio, the flexible I/O tester: an adapter that runs one job pattern and reads fio's JSON.

A job reads or writes for a given time or size; bandwidth is its bytes over its run time, operations likewise. Completion
latencies are fio's own mean and percentiles over all operations. One job is one sample: repeats of the run give the
interval. With ``direct`` the page cache is left out; without it a file smaller than memory measures memory.

Source: fio's documentation, "JSON output"; ``bw_bytes`` = ``io_bytes`` / ``runtime``.
"""

from __future__ import annotations

import json

from ..records import Case, Host, Metric, Params, Value
from . import Command, Garbage, Param, Sample, Workload

PATTERNS = ("read", "write", "randread", "randwrite", "rw", "randrw")


def _command(params: Params, host: Host) -> Command:
    argv = [
        "fio",
        "--output-format=json",
        "--name=shakedown",
        "--group_reporting",
        f"--rw={params['pattern']}",
        f"--bs={params['block']}",
        f"--size={params['size']}",
        f"--numjobs={params['jobs']}",
        f"--iodepth={params['depth']}",
        f"--ioengine={params['engine']}",
        f"--direct={int(bool(params['direct']))}",
        f"--directory={params['directory']}",
        "--unlink=1",
    ]
    if float(params["seconds"]) > 0:
        argv += ["--time_based", f"--runtime={params['seconds']}"]
    if "write" in str(params["pattern"]) or str(params["pattern"]).endswith("rw"):
        argv.append("--end_fsync=1")
    return Command(argv=tuple(argv))


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """One case for each direction that did something. Raises Garbage; a job with an error is garbage too."""
    start = text.find("{")  # warnings may come first
    try:
        answer = json.loads(text[start:]) if start >= 0 else {}
        jobs = answer["jobs"]
        options = answer.get("global options", {})
    except (ValueError, KeyError, TypeError):
        raise Garbage("this is no JSON output of fio (no 'jobs')") from None
    cases: list[Case] = []
    for job in jobs:
        if job.get("error"):
            raise Garbage(f"fio's job {job.get('jobname')!r} ended with error {job['error']}")
        given = {**options, **job.get("job options", {})}
        for direction in ("read", "write"):
            done = job.get(direction, {})
            if done.get("io_bytes"):
                cases.append(_case(direction, done, given, job))
    if not cases:
        raise Garbage("fio moved no bytes")
    return tuple(cases)


def _case(direction: str, done: dict[str, object], given: dict[str, str], job: dict[str, object]) -> Case:
    def number(value: object) -> float:
        return float(value) if isinstance(value, (int, float)) else 0.0

    latencies = [held for name in ("clat_ns", "lat_ns") if isinstance(held := done.get(name), dict)]
    latency: dict[str, object] = latencies[0] if latencies else {}
    percentiles: dict[str, float] = next((held["percentile"] for held in latencies if "percentile" in held), {})
    work = {
        "bytes": number(done["io_bytes"]),
        "op": number(done.get("total_ios")),
    }
    if latency.get("mean"):
        work["latency_mean_s"] = number(latency["mean"]) * 1e-9
    if "99.000000" in percentiles:
        work["latency_p99_s"] = number(percentiles["99.000000"]) * 1e-9
    params: dict[str, Value] = {
        "pattern": str(given.get("rw", direction)),
        "block": str(given.get("bs", "4k")),
        "depth": int(given.get("iodepth", 1)),
        "jobs": int(given.get("numjobs", 1)),
        "engine": str(given.get("ioengine", "psync")),
        "direct": str(given.get("direct", "0")) == "1",
    }
    return Case(kernel=direction, params=params, work=work, seconds=(number(done["runtime"]) * 1e-3,))


def _metrics(direction: str) -> tuple[Metric, ...]:
    source = "fio's documentation, JSON output"
    return (
        Metric(
            name=f"fio.{direction}.bandwidth",
            title=f"fio {direction} bandwidth",
            unit="B/s",
            better="higher",
            kernel=direction,
            per="bytes/s",
            source=source,
            match=("pattern", "block"),
        ),
        Metric(
            name=f"fio.{direction}.operations",
            title=f"fio {direction} operations",
            unit="op/s",
            better="higher",
            kernel=direction,
            per="op/s",
            source=source,
            match=("pattern", "block"),
        ),
        Metric(
            name=f"fio.{direction}.latency",
            title=f"fio {direction} completion latency, mean",
            unit="s",
            better="lower",
            kernel=direction,
            per="latency_mean_s",
            source=source,
            match=("pattern", "block"),
        ),
        Metric(
            name=f"fio.{direction}.latency_p99",
            title=f"fio {direction} completion latency, 99th percentile",
            unit="s",
            better="lower",
            kernel=direction,
            per="latency_p99_s",
            source=source,
            match=("pattern", "block"),
        ),
    )


WORKLOAD = Workload(
    name="fio",
    title="fio: file-system bandwidth, operations and latency",
    metrics=(*_metrics("read"), *_metrics("write")),
    params={
        "directory": Param(kind="word", default=".", help="where the test file lies; '.' is the run's own folder"),
        "pattern": Param(kind="word", default="write", choices=PATTERNS, help="fio's rw"),
        "block": Param(kind="word", default="1m", help="block size in fio's words: 4k, 1m"),
        "size": Param(kind="word", default="256m", help="file size of each job in fio's words"),
        "jobs": Param(kind="integer", default=1, low=1, help="processes at once"),
        "depth": Param(
            kind="integer", default=1, low=1, help="operations in flight of each job (asynchronous engines)"
        ),
        "engine": Param(kind="word", default="psync", help="fio's ioengine: psync, libaio, io_uring"),
        "direct": Param(kind="flag", default=False, help="leave the page cache out (O_DIRECT)"),
        "seconds": Param(kind="real", default=0, low=0, unit="s", help="go on for so long; 0: once over the size"),
    },
    command=_command,
    parse=parse,
    marks=("size", "directory"),
    estimate_s=lambda params, host: max(5.0, float(params["seconds"]) + 2),
    samples=(
        Sample(
            recording="fio/fio-3.33-write-1m.json",
            expect={
                "fio.write.bandwidth": 67108864 / 0.089,
                "fio.write.operations": 64 / 0.089,
                "fio.write.latency": 833329.515625e-9,
                "fio.write.latency_p99": 2539520e-9,
            },
        ),
        Sample(
            recording="fio/fio-3.16-nvme-randrw.json",
            source="microsoft/superbenchmark",
            expect={
                "fio.read.bandwidth": 10463010816 / 30.002,
                "fio.write.bandwidth": 10454208512 / 30.002,
                "fio.read.latency": 1444476.063469e-9,
            },
        ),
    ),
)
