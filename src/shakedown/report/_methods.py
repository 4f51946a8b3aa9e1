"""The closing sections: how each number was made, and what made it: programs, libraries, every run. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..document.model import MOST_ROWS, Block, Column, Facts, Section, Table, Text
from ..document.tables import table
from ..document.text import count, day, listed, natural, rest
from ..records import Analysis, Metric, Outcome
from ..units import show


def sections(analysis: Analysis) -> tuple[Section, Section]:
    """Methods and provenance."""
    return _methods(analysis), _provenance(analysis)


_FORMULA = {"s": "seconds of a sample", "bytes": "bytes", "flop": "floating-point operations", "messages": "messages"}


def formula(metric: Metric) -> str:
    """``bytes/s`` in words: "bytes / seconds of a sample"."""
    return " / ".join(_FORMULA.get(part, part) for part in metric.per.split("/")) if metric.per else "not stated"


def _kernel(metric: Metric) -> str:
    return f"of the kernel {metric.kernel}" if metric.kernel else "of all kernels"


def _methods(analysis: Analysis) -> Section:
    direction = {"higher": "higher is better", "lower": "lower is better", "none": "neither is better"}
    return Section(
        id="methods",
        title="How each number was made",
        short="Methods",
        folded=True,
        blocks=(
            Text(
                text="The programs record the seconds of every sample and the work that was done in it; every rate is "
                "derived from those by the formula below. A value stands with its interval, the number of its "
                "samples and of the runs that they come from. Its fraction is the value over its limit, or the limit "
                "over the value where lower is better. A value that was not measured says so; it is never "
                "zero and never a pass."
            ),
            table(
                "Metrics",
                analysis.metrics,
                (
                    ("Metric", "text", lambda metric: f"{metric.title}\n{metric.name}"),
                    ("Unit", "code", lambda metric: metric.unit),
                    ("Direction", "text", lambda metric: direction[metric.better]),
                    ("Formula", "text", lambda metric: f"{formula(metric)}\n{_kernel(metric)}"),
                    ("Limit", "text", lambda metric: metric.limit or "none is known"),
                    ("Source", "text", lambda metric: metric.source or "not stated"),
                ),
            ),
        ),
    )


def _flat(value: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested provenance as one level: ``libraries.libc.so.6`` -> text."""
    flat: dict[str, str] = {}
    for key, item in value.items():
        if isinstance(item, dict):
            flat |= _flat(item, f"{prefix}{key}.")
        elif isinstance(item, (list, tuple)):
            flat[f"{prefix}{key}"] = ", ".join(map(str, item))
        else:
            flat[f"{prefix}{key}"] = "not known" if item is None else str(item)
    return flat


def _provenance(analysis: Analysis) -> Section:
    distinct: dict[bytes, tuple[dict[str, Any], list[Outcome]]] = {}
    for one in analysis.outcomes:
        if one.provenance:
            key = msgspec.json.encode(one.provenance, order="deterministic")
            distinct.setdefault(key, (one.provenance, []))[1].append(one)
    values: dict[str, dict[str, list[Outcome]]] = {}
    for provenance, outcomes in distinct.values():
        for name, text in _flat(provenance).items():
            values.setdefault(name, {}).setdefault(text, []).extend(outcomes)
    total = sum(len(outcomes) for _, outcomes in distinct.values())
    rows = []
    for name, texts in values.items():
        for index, (text, outcomes) in enumerate(texts.items()):
            if index == 4:
                rows.append((name, f"and {len(texts) - 4:,} other values", "see the JSON file"))
                break
            workloads = sorted({one.workload for one in outcomes}, key=natural)
            rows.append(
                (
                    name,
                    text,
                    "all runs" if len(outcomes) == total else f"{count(len(outcomes), 'run')} of {listed(workloads)}",
                )
            )
    blocks: list[Block] = [
        Facts(
            pairs=(
                ("Run directory", analysis.name),
                ("Campaign", analysis.campaign),
                ("Shakedown", analysis.version),
                (
                    "Machine described by",
                    f"Shakedown {analysis.machine.version}, {day(analysis.machine.discovered_ns)}",
                ),
                ("Analysed", day(analysis.created_ns)),
                ("Runs", f"{len(analysis.outcomes):,}"),
            )
        )
    ]
    if rows:
        blocks.append(
            Table(
                title="Programs and libraries",
                rows=tuple(rows),
                columns=(Column("What", "code"), Column("Value", "code"), Column("Of")),
            )
        )
    if analysis.outcomes:
        blocks.append(_runs(analysis.outcomes))
    return Section(id="provenance", title="Provenance", folded=True, blocks=tuple(blocks))


def _runs(outcomes: Sequence[Outcome]) -> Table:
    return table(
        "Runs",
        outcomes[:MOST_ROWS],
        (
            ("Run", "code", lambda one: one.run),
            ("Repeat", "number", lambda one: f"{one.repeat}"),
            ("Workload", "text", lambda one: one.workload),
            ("Label", "text", lambda one: one.label),
            ("Host", "code", lambda one: one.host),
            ("State", "state", lambda one: one.state),
            ("Time", "number", lambda one: show(one.seconds, "s")),
            ("Load before", "number", _load),
            ("Stolen", "number", lambda one: show(one.disturbance.steal_fraction, "%")),
            ("Output", "code", lambda one: one.log),
        ),
        caption=rest(len(outcomes), MOST_ROWS, "run"),
        fold_from=0,
    )


def _load(one: Outcome) -> str:
    seen = one.disturbance.load_before
    return "not known" if seen is None else f"{seen:.2f}"
