"""Sessions of acceptances, made up: STREAM on hosts with the rates that a test says."""

from __future__ import annotations

from shakedown.acceptance.run_verdict import Measured
from shakedown.records import (
    Absent,
    Analysis,
    Case,
    Machine,
    Measurement,
    Metric,
    Peak,
    Plan,
)
from shakedown.workloads import stream
from support.acceptances import host

GB = 1e9


def measured(
    values: dict[str, list[float]], *, repeats: int = 1, state: str = "ok", run: str = "r1"
) -> list[Measurement]:
    """Measurements of STREAM triad: on each host the samples of its rates in B/s."""
    return [
        Measurement(
            run=run,
            repeat=repeat,
            workload="stream",
            params={},
            host=name,
            state=state,  # type: ignore[arg-type]
            reason="" if state == "ok" else "it broke",
            cases=(
                Case(
                    kernel="triad",
                    params={"level": "memory", "threads": 2},
                    work={"bytes": GB, "bytes_moved": GB},
                    seconds=tuple(GB / rate for rate in rates),
                ),
            ),
            begin_ns=1,
            end_ns=2,
        )
        for repeat in range(1, repeats + 1)
        for name, rates in values.items()
    ]


def session(measurements: list[Measurement], *, hosts: int | None = None, skipped: tuple[Absent, ...] = ()) -> Measured:
    """A session of these, over their hosts and so many more."""
    names = sorted({one.host for one in measurements})
    names += [f"extra{index}" for index in range((hosts or len(names)) - len(names))]
    machine = Machine(hosts=tuple(host(name) for name in names), discovered_ns=0, version="0")
    from shakedown.analysis import derive, table

    metrics: tuple[Metric, ...] = stream.WORKLOAD.metrics
    found = derive.findings(table.from_measurements(measurements), {"stream": metrics})
    analysis = Analysis(
        name="a",
        campaign="c",
        title="t",
        created_ns=0,
        version="0",
        machine=machine,
        metrics=metrics,
        findings=tuple(found),
    )
    peak = Peak(name="memory.bandwidth", scope="node", value=100 * GB, unit="B/s", kind="derived", basis="b")
    plan = Plan(campaign="c", title="t", runs=(), skipped=skipped)
    return Measured(plan, analysis, measurements, dict.fromkeys(names, (peak,)))
