"""A report as a plugin of Nagios or Icinga prints it (Monitoring Plugins Development Guidelines). Pure.

First line ``NAME STATE - text | 'label'=value[UOM];warn;crit;min;max``, further lines long text, exit codes 0 to 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .records import Finding, HealthReport, Metric, Severity

EXIT_CODES: dict[Severity, int] = {"OK": 0, "WARNING": 1, "CRITICAL": 2, "UNKNOWN": 3}
#: From what a person must see first.
_SHOWN: tuple[Severity, ...] = ("CRITICAL", "WARNING", "UNKNOWN")
#: Of NRPE 2 and of many pagers: the first line is kept below it, the rest is long text.
_FIRST_LINE = 400


def text(report: HealthReport) -> str:
    """All of the output, with its last newline."""
    wrong = [one for severity in _SHOWN for one in report.findings if one.severity == severity]
    head = f"SHAKEDOWN {report.severity} - {_summary(report, wrong)}"
    perf = " ".join(map(performance, report.metrics))
    lines = [f"{head} | {perf}" if perf else head]
    lines += [_line(one) for one in wrong]
    lines += [f"not here: {name}: {plain(why)}" for name, why in report.absent.items()]
    return "\n".join(lines) + "\n"


def plain(words: str) -> str:
    """Words without what has a meaning in the output: the bar begins performance data, a newline ends the line."""
    return " ".join(words.replace("|", "/").split())


def _summary(report: HealthReport, wrong: Sequence[Finding]) -> str:
    if not wrong:
        return f"{len(report.findings)} findings, none of concern" + (
            f"; not here: {', '.join(report.absent)}" if report.absent else ""
        )
    parts: list[str] = []
    for one in wrong:
        part = f"{one.check}{f' {one.item}' if one.item else ''}: {one.what}"
        if one.severity != report.severity:
            part = f"{one.severity} {part}"
        part = plain(part)
        if parts and sum(map(len, parts)) + len(part) > _FIRST_LINE:
            parts.append(f"and {len(wrong) - len(parts)} more")
            break
        parts.append(part[:_FIRST_LINE])
    return "; ".join(parts)


def _line(one: Finding) -> str:
    action = f" - next: {one.action}" if one.action else ""
    return plain(f"{one.severity} {one.check}{f' {one.item}' if one.item else ''}: {one.what}{action}")


def performance(one: Metric) -> str:
    """One item of performance data. A label's quote is doubled; ``=`` may not be in it; what is left out at the end may
    go with its semicolons."""
    words = [one.name, *one.labels.values()]
    label = plain(" ".join(word for word in words if word)).replace("=", "-").replace("'", "''")
    fields = [f"{number(one.value)}{one.unit}", one.warn, one.crit]
    fields += ["" if bound is None else number(bound) for bound in (one.least, one.most)]
    return f"'{label}'=" + ";".join(fields).rstrip(";")


def number(value: float) -> str:
    """A number as the guidelines have it: digits, point and minus only."""
    if not math.isfinite(value):
        return "U"
    return str(int(value)) if value == int(value) else f"{value:.6f}".rstrip("0").rstrip(".")
