"""Findings for tests that look at little more than their value and interval."""

from __future__ import annotations

from shakedown.records import Finding, Metric, Value


def finding(
    metric: Metric, value: float | None, low: float | None = None, high: float | None = None, **params: Value
) -> Finding:
    """What nine samples of one run on node1 gave."""
    return Finding(
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        workload="w",
        params=params,
        host="node1",
        value=value,
        low=low,
        high=high,
        n_samples=9,
        n_runs=1,
    )
