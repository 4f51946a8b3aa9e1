"""Analyses as a run directory gives them, for the tests of the report: one machine, and a thousand."""

from __future__ import annotations

import itertools
import random

import msgspec

from shakedown.records import (
    Absent,
    Analysis,
    Disturbance,
    Finding,
    Machine,
    Metric,
    Notice,
    Outcome,
    Params,
    PublishedComparison,
    Verdict,
)
from support.measured import BANDWIDTHS, CREATED_NS, METRICS, SIZES, UNSTABLE, finding_of, host, level_of


def stream(draw: random.Random) -> list[Finding]:
    """Triad and copy over sizes, threads and kinds of store; non-temporal stores have a level in memory alone."""
    findings = []
    for metric in METRICS[:2]:
        for variant, threads, size in itertools.product(("cached", "nt"), (1, 2), SIZES):
            level = level_of(size)
            base = BANDWIDTHS[level] * (1.12 if metric.kernel == "copy" else 1.0)
            nontemporal = {"memory": 1.5, "cache.l3": 0.62, "cache.l2": 0.2, "cache.l1d": 0.12}[level]
            value = threads * base * (nontemporal if variant == "nt" else 1) * (0.97 if threads == 2 else 1)
            params: Params = {"variant": variant, "threads": threads, "bytes": size}
            limits = {}
            if variant == "cached" or level == "memory":
                params["level"] = level
                peak = threads * BANDWIDTHS[level] * (1.6 if level == "memory" else 1.15)
                limits[f"{level}.bandwidth"] = ("measured", peak)
            params |= {"isa": "avx512", "pages": "huge", "placement": "close"}
            noisy = (UNSTABLE,) if size == 2**24 and threads == 2 else ()
            findings.append(finding_of(draw, metric, params, value, limits=limits, notices=noisy))
    return findings


def gemm(draw: random.Random) -> list[Finding]:
    """DGEMM over sizes, libraries and threads."""
    peak = 2 * 32 * 2.6e9
    return [
        finding_of(
            draw,
            METRICS[2],
            {"n": n, "threads": threads, "library": library, "precision": "fp64"},
            threads * 82e9 * eff * n / (n + 90),
            limits={"flops.fp64": ("derived", peak * threads / 2)},
        )
        for library, eff in (("openblas 0.3.34", 1.0), ("blis 0.9.0", 0.93))
        for threads in (1, 2)
        for n in (128, 256, 512, 1024, 2048, 4096)
    ]


def _pair(size: int, a: int, b: int) -> Params:
    """What the program says of one pair of ranks, each on the core of its number."""
    return {
        "bytes": size,
        "rank_a": a,
        "rank_b": b,
        "cpu_a": a,
        "cpu_b": b,
        "host_a": "vm-2core",
        "host_b": "vm-2core",
        "ranks": 8,
        "pattern": "one",
    }


def pingpong(draw: random.Random) -> list[Finding]:
    """A sweep over message sizes on one pair, and all pairs of eight cores for messages of 16 bytes."""
    findings = []
    for size in (2**power for power in range(0, 23, 2)):
        seconds = 0.34e-6 + size / 15e9 + (0.8e-6 if size > 4096 else 0)
        findings.append(finding_of(draw, METRICS[3], _pair(size, 0, 1), seconds))
        windowed = {**_pair(size, 0, 1), "window": 64}
        limit = {"memory.bandwidth": ("measured", 44.4e9)}
        findings.append(finding_of(draw, METRICS[4], windowed, size / (0.1e-6 + size / 16.7e9), limits=limit))
        findings.append(finding_of(draw, METRICS[5], windowed, size / (0.09e-6 + size / 31e9)))
    for a, b in itertools.combinations(range(8), 2):
        far = 1.0 if a // 4 == b // 4 else 2.1
        if (a, b) != (0, 1):
            findings.append(finding_of(draw, METRICS[3], _pair(16, a, b), 0.34e-6 * far))
    return findings


def probe(draw: random.Random) -> list[Finding]:
    """One value that was measured and one that was not."""
    clock = METRICS[6]
    absent = Finding(
        metric=clock.name,
        unit="Hz",
        better="higher",
        workload="probe",
        params={"isa": "amx"},
        host="vm-2core",
        value=None,
        notices=(
            Notice(
                code="unavailable",
                text="the kernel refuses AMX to this process",
                advice="request the permission with arch_prctl",
            ),
        ),
    )
    return [finding_of(draw, clock, {"isa": "avx512"}, 2.9e9), absent]


FAILED = (
    Outcome(
        run="a1" * 8,
        repeat=0,
        workload="gemm",
        label="dgemm mkl, 2 threads",
        host="vm-2core",
        state="unavailable",
        reason="libmkl_rt.so.2: not found",
        log="jobs/a1a1/0",
    ),
    Outcome(
        run="b2" * 8,
        repeat=0,
        workload="stream",
        label="stream 64 GiB",
        host="vm-2core",
        state="crashed",
        reason="ended by signal 9 (SIGKILL)",
        seconds=3.2,
        log="jobs/b2b2/0",
        tail="allocating 64 GiB\n<script>alert('tail')</script>\nKilled",
    ),
    Outcome(
        run="c3" * 8,
        repeat=1,
        workload="pingpong",
        label="pingpong 4 MiB",
        host="vm-2core",
        state="timeout",
        reason="no end within 60 s",
        seconds=60.0,
        log="jobs/c3c3/1",
        tail="waiting for rank 1",
    ),
    Outcome(
        run="d4" * 8,
        repeat=0,
        workload="gemm",
        label="sgemm openblas, 2 threads",
        host="vm-2core",
        state="wrong",
        reason="residual 3.1e-2 is above 16",
        seconds=1.5,
        log="jobs/d4d4/0",
        tail="residual 0.031\nFAILED",
    ),
    Outcome(
        run="e5" * 8,
        repeat=0,
        workload="empty",
        label="garbage",
        host="vm-2core",
        state="garbage",
        reason="line 1 is not an event",
        seconds=0.1,
        log="jobs/e5e5/0",
        tail="not an event at all",
    ),
)


def _good_outcomes(findings: list[Finding]) -> list[Outcome]:
    provenance = {
        "commit": "9f7e6257aa",
        "compiler": "gcc 12.2.0",
        "flags": "-O3 -march=native -fopenmp",
        "libraries": {"libopenblas.so.0": "build id 4f9c1d", "libc.so.6": "2.36"},
        "schema": 1,
    }
    labels = {(finding.workload, finding.runs[0]): finding for finding in findings if finding.runs}
    return [
        Outcome(
            run=run,
            repeat=repeat,
            workload=workload,
            label=f"{workload} {index}",
            host="vm-2core",
            state="ok",
            seconds=2.5 + index % 7,
            log=f"jobs/{run[:8]}/{repeat}",
            provenance=provenance,
            disturbance=Disturbance(load_before=0.2, load_after=1.9, steal_fraction=0.004),
        )
        for index, (workload, run) in enumerate(list(labels)[:24])
        for repeat in range(2)
    ]


def _verdicts(triad: Finding, dgemm: Finding, latency: Finding) -> tuple[Verdict, ...]:
    return (
        Verdict(
            requirement="Triad bandwidth is at least 85 % of the measured memory bandwidth",
            state="met",
            evidence="90 % [89, 91] of 48 GB/s",
            finding=triad,
        ),
        Verdict(
            requirement="DGEMM reaches 99 % of the derived peak",
            state="not met",
            evidence="96 % [95, 96] of 166 Gflop/s",
            finding=dgemm,
        ),
        Verdict(
            requirement="One-way latency of small messages is below 0.35 us",
            state="undecided",
            evidence="the interval contains the limit; more repeats would decide",
            finding=latency,
        ),
        Verdict(
            requirement="Power of the node under load is below 400 W",
            state="not measured",
            evidence="no power meter was found",
        ),
    )


def one_machine(*, title: str = "Quick check", host_name: str = "vm-2core") -> Analysis:
    """The usual report: one virtual machine with two cores."""
    draw = random.Random(7)
    findings = [*stream(draw), *gemm(draw), *pingpong(draw), *probe(draw)]
    if host_name != "vm-2core":
        findings = [_moved(finding, host_name) for finding in findings]
    triad = next(
        one
        for one in findings
        if one.params.get("variant") == "nt" and one.params.get("threads") == 2 and one.params.get("bytes") == SIZES[-1]
    )
    dgemm = max((one for one in findings if one.metric == "gemm.dgemm.rate"), key=lambda one: one.value or 0)
    latency = next(one for one in findings if one.metric == "pingpong.latency" and one.params["bytes"] == 1)
    wide = next(one for one in findings if one.metric == "pingpong.bandwidth" and one.params["bytes"] == 2**20)
    return Analysis(
        name="2026-05-28-quick",
        campaign="quick",
        title=title,
        created_ns=CREATED_NS,
        version="0.1.0",
        machine=Machine(hosts=(host(host_name),), discovered_ns=CREATED_NS - 600_000_000_000, version="0.1.0"),
        findings=tuple(findings),
        metrics=METRICS,
        workload_titles={"stream": "Memory bandwidth", "gemm": "Matrix multiplication", "pingpong": "Messages"},
        verdicts=_verdicts(triad, dgemm, latency),
        outcomes=(*_good_outcomes(findings), *FAILED),
        beside=(
            _beside(triad, "uio-numa", "UiO NUMA machine", 2012, 29.4e9, {"threads": 16}, "PRACE D9.3.4, table 12"),
            _beside(dgemm, "tsubame", "TSUBAME", 2006, 17.6e9, {"threads": 16}, "Endo et al., table 2"),
            _beside(dgemm, "curie", "Curie", 2011, 148e9, {"threads": 32, "n": 4096}, "PRACE D9.3.4, figure 8"),
            _beside(wide, "iict", "IICT-BAS cluster", 2016, 6.2e9, {"bytes": 2**20}, "Atanassov et al., figure 3"),
            _beside(latency, "comet", "Comet", 2015, 1.03e-6, {"bytes": 1}, "Moore et al., section 4"),
        ),
        skipped=(Absent(what="nvbandwidth", why="no GPU on this machine"),),
        notices=(
            Notice(code="balancing", text="automatic NUMA balancing is on", advice="sysctl kernel.numa_balancing=0"),
        ),
        summary=(
            "One requirement of four is met and one is missed: DGEMM reaches 96 % of its derived peak; 99 % was asked.",
            "Memory runs at 43.7 GB/s (91 % of what was measured at best) with non-temporal stores on both cores.",
            "One is undecided, as its interval contains the limit; one could not be measured, without a meter.",
        ),
    )


def _moved(finding: Finding, name: str) -> Finding:
    return msgspec.structs.replace(finding, host=name)


def _beside(
    ours: Finding, system: str, name: str, year: int, theirs: float, params: Params, where: str
) -> PublishedComparison:
    assert ours.value is not None
    ratio = ours.value / theirs
    better = ratio > 1 if ours.better == "higher" else ratio < 1
    return PublishedComparison(
        metric=ours.metric,
        unit=ours.unit,
        better=ours.better,
        ours=ours,
        system=system,
        system_name=name,
        year=year,
        theirs=theirs,
        theirs_half=theirs * 0.002,
        theirs_params=params,
        where=where,
        ratio=ratio,
        verdict="better" if better else "worse",
    )


SLOW_HOSTS = {"node0137": 0.82, "node0512": 0.90, "node0901": 0.71}


def _points() -> list[tuple[Metric, Params, float]]:
    """Metric, parameters and value of what each of many hosts is measured at."""
    points: list[tuple[Metric, Params, float]] = [
        (
            METRICS[0],
            {"variant": "nt", "threads": threads, "bytes": 2**power, "level": level_of(2**power)},
            threads * BANDWIDTHS[level_of(2**power)],
        )
        for threads in (1, 32)
        for power in range(14, 34)
    ]
    points += [
        (
            METRICS[2],
            {"n": 2**power, "threads": threads, "library": library},
            threads * 80e9 * 2**power / (2**power + 90),
        )
        for library in ("openblas", "blis")
        for threads in (1, 32)
        for power in range(7, 14)
    ]
    points += [
        (METRICS[3], {"bytes": 2**power, "cpu_a": 0, "cpu_b": 1}, 0.4e-6 + 2**power / 15e9) for power in range(0, 23, 2)
    ]
    points += [
        (METRICS[4], {"bytes": 2**power, "cpu_a": 0, "cpu_b": 1}, 2**power / (1e-7 + 2**power / 16e9))
        for power in range(3, 23)
    ]
    return points


def many_hosts(count: int = 1000) -> Analysis:
    """``count`` hosts with 100 findings each; three of them are slow (SLOW_HOSTS)."""
    draw = random.Random(11)
    findings = []
    points = _points()[:100]
    names = [f"node{index:04d}" for index in range(count)]
    for name in names:
        speed = SLOW_HOSTS.get(name, draw.gauss(1, 0.004))
        for metric, params, value in points:
            findings.append(
                finding_of(
                    draw, metric, params, value * (speed if metric.better == "higher" else 1 / speed), host_name=name
                )
            )
    return Analysis(
        name="2026-05-28-burn-in",
        campaign="burn-in",
        title="Burn-in of the cluster",
        created_ns=CREATED_NS,
        version="0.1.0",
        machine=Machine(hosts=tuple(host(name, 32) for name in names), discovered_ns=CREATED_NS, version="0.1.0"),
        findings=tuple(findings),
        metrics=METRICS[:5],
        outcomes=tuple(
            Outcome(
                run=f"{index:016x}",
                repeat=0,
                workload="stream",
                label="stream",
                host=name,
                state="ok",
                seconds=10.0,
                provenance={"commit": "9f7e6257aa", "compiler": "gcc 12.2.0"},
            )
            for index, name in enumerate(names)
        ),
        summary=(f"{count:,} hosts were measured; three are slower than the rest.",),
    )


def nothing() -> Analysis:
    """A run that was asked for and left nothing: no host, no finding, no run."""
    return Analysis(
        name="nothing",
        campaign="quick",
        title="",
        created_ns=CREATED_NS,
        version="0.1.0",
        machine=Machine(hosts=(), discovered_ns=CREATED_NS, version="0.1.0"),
        summary=("Nothing was measured.",),
    )


def changed(analysis: Analysis, **changes: object) -> Analysis:
    """``analysis`` with some fields changed."""
    return msgspec.structs.replace(analysis, **changes)
