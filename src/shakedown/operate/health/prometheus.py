"""A report in Prometheus's text format, for node_exporter's textfile collector. Pure but for ``write``.

Every metric is a whole family with its HELP and TYPE, once; names begin with ``shakedown_health_``.
"""

from __future__ import annotations

import math
from pathlib import Path

from ...errors import CannotMeasure
from ...files import atomic
from .records import ORDER, HealthReport, Metric, Severity, worst

_PREFIX = "shakedown_health_"
#: Like Nagios's exit codes, so that an alert needs no table.
VALUES: dict[Severity, int] = {"OK": 0, "WARNING": 1, "CRITICAL": 2, "UNKNOWN": 3}


def text(report: HealthReport) -> str:
    """All families, sorted by name."""
    families: dict[str, dict[str, Metric]] = {}
    for one in (*report.metrics, *states(report)):
        families.setdefault(one.name, {}).setdefault(
            _labels(one.labels), one
        )  # a series twice would void the whole file
    lines: list[str] = []
    for name, series in sorted(families.items()):
        first = next(iter(series.values()))
        words = (first.help or name).replace("\\", "\\\\").replace("\n", " ")
        lines.append(f"# HELP {_PREFIX}{name} {words}")
        lines.append(f"# TYPE {_PREFIX}{name} {'counter' if first.counter else 'gauge'}")
        lines += [f"{_PREFIX}{name}{labels} {_number(one.value)}" for labels, one in series.items()]
    return "\n".join(lines) + "\n"


def states(report: HealthReport) -> list[Metric]:
    """What every monitoring system is told besides the numbers: the state of each check, what is wrong, when it was."""
    by_check: dict[str, list[Severity]] = {}
    for one in report.findings:
        by_check.setdefault(one.check, []).append(one.severity)
    legend = ", ".join(f"{VALUES[severity]} {severity}" for severity in ORDER)
    found = [
        Metric("status", VALUES[worst(held)], {"check": name}, f"The worst of a check: {legend}.")
        for name, held in sorted(by_check.items())
    ]
    words = f"What is not as it should be: {legend}."
    found += [
        Metric("problem", VALUES[one.severity], {"check": one.check, "item": one.item}, words)
        for one in {one.key: one for one in report.findings if one.severity != "OK"}.values()
    ]
    found += [
        Metric("absent", 1, {"check": name}, "Checks that have nothing to look at on this node.")
        for name in sorted(report.absent)
    ]
    found.append(Metric("stuck_processes", len(report.stuck), help="Children that hang in the kernel."))
    found.append(Metric("last_run_timestamp_seconds", report.at_s, help="When the check was made."))
    return found


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    pairs = (
        f'{name}="' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        for name, value in labels.items()
    )
    return "{" + ",".join(pairs) + "}"


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def write(file: str, words: str) -> None:
    """Whole or not at all, readable for the collector. Raises CannotMeasure."""
    try:
        atomic.replace(Path(file), words, mode=0o644, flush=False)  # the collector reads *.prom only
    except OSError as error:
        raise CannotMeasure(
            f"cannot be written: {error.strerror}", where=file, hint="name a file that can be with --prometheus"
        ) from None
