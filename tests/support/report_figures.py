"""Findings that figures are drawn of."""

from __future__ import annotations

from shakedown.document.model import Dots, Heat, Histogram, Lines
from shakedown.records import Finding, Fraction, Metric, PublishedComparison, Value
from shakedown.report import _figures

RATE = Metric(name="new.rate", title="Rate", unit="B/s", better="higher", limit="{level}.bandwidth")


def finding(value: float | None, host: str = "h", fractions: tuple[Fraction, ...] = (), **params: Value) -> Finding:
    return Finding(
        metric=RATE.name,
        unit="B/s",
        better="higher",
        workload="new",
        params=params,
        host=host,
        value=value,
        fractions=fractions,
    )


def figures(
    findings: list[Finding], beside: tuple[PublishedComparison, ...] = ()
) -> tuple[Lines | Heat | Histogram | Dots, ...]:
    made = _figures.of_workload(findings, {RATE.name: RATE}, beside)
    return made.figures if made else ()
