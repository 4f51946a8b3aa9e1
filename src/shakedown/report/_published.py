"""Published systems beside our values: bars and a table of like with like, and apart from them what is not alike. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..analysis import circumstances
from ..document.model import Bar, Bars, Block, Table
from ..document.tables import table
from ..document.text import interval_of, params_of, value_with_interval, with_half
from ..records import Finding, Metric, PublishedComparison
from ..units import round_to, show
from . import _choose

#: Metrics that have a figure of bars: those of most systems.
MOST_BARS = 4


def blocks(
    beside: Sequence[PublishedComparison], findings: Sequence[Finding], metrics: Mapping[str, Metric]
) -> list[Block]:
    """What is published in the metrics of one workload: empty where nothing is."""
    vary = list(_choose.varying([_choose.Row(dict(one.params), one) for one in findings]))
    alike = [one for one in beside if not one.differences]
    apart = [one for one in beside if one.differences]
    made: list[Block] = list(_bars(alike, metrics))
    if alike:
        made.append(_ranked(alike, vary, metrics))
    if apart:
        made.append(_apart(apart, vary, metrics))
    return made


def _title(metric: str, metrics: Mapping[str, Metric]) -> str:
    return metrics[metric].title if metric in metrics else metric


def _system(one: PublishedComparison) -> str:
    return f"{one.system_name}{f' ({one.year})' if one.year else ''}"


def _bars(alike: Sequence[PublishedComparison], metrics: Mapping[str, Metric]) -> list[Bars]:
    """For each metric the systems and this run as bars, the best first, of the parameters that most systems share."""
    groups: dict[tuple[str, int], list[PublishedComparison]] = {}
    for one in alike:
        if one.better != "none" and one.theirs > 0 and one.ours.value:
            groups.setdefault((one.metric, id(one.ours)), []).append(one)
    best: dict[str, list[PublishedComparison]] = {}
    for (name, _), group in groups.items():
        if len(group) > len(best.get(name, ())):
            best[name] = group
    return [_figure(group, metrics) for group in sorted(best.values(), key=lambda group: -len(group))[:MOST_BARS]]


def _figure(group: Sequence[PublishedComparison], metrics: Mapping[str, Metric]) -> Bars:
    first = group[0]
    metric, ours = metrics.get(first.metric), first.ours
    assert ours.value is not None
    lower = first.better == "lower"
    values = [ours.value, *(one.theirs for one in group)]
    top = min(values) if lower else max(values)

    def share(value: float) -> tuple[tuple[str, float], ...]:
        return (("of the best of these", top / value if lower else value / top),)

    under = _circumstances(first, metrics)
    bars = [
        (
            ours.value,
            Bar(
                title="here",
                detail=under,
                value=show(ours.value, ours.unit),
                interval=interval_of(ours),
                fractions=share(ours.value),
            ),
        ),
        *(
            (
                one.theirs,
                Bar(
                    title=_system(one),
                    detail=circumstances.words(one.theirs_circumstances, metric) if metric else "",
                    value=with_half(one.theirs, one.theirs_half, one.unit),
                    fractions=share(one.theirs),
                ),
            )
            for one in group
        ),
    ]
    ordered = sorted(bars, key=lambda pair: pair[0], reverse=not lower)
    return Bars(
        title=f"{_title(first.metric, metrics)}: systems",
        bars=tuple(bar for _, bar in ordered),
        caption=f"Like with like: {under}." if under else "",
    )


def _ours(one: PublishedComparison, vary: list[str]) -> str:
    return f"{value_with_interval(one.ours)}\n{params_of(one.ours.params, vary)}"


def _theirs(one: PublishedComparison, otherwise: str = "") -> str:
    return f"{with_half(one.theirs, one.theirs_half, one.unit)}\n{params_of(one.theirs_params) or otherwise}"


def _circumstances(one: PublishedComparison, metrics: Mapping[str, Metric]) -> str:
    metric = metrics.get(one.metric)
    return circumstances.words(one.circumstances, metric) if metric else ""


def _ranked(alike: Sequence[PublishedComparison], vary: list[str], metrics: Mapping[str, Metric]) -> Table:
    return table(
        "Beside published systems",
        alike,
        (
            ("Metric", "text", lambda one: _title(one.metric, metrics)),
            ("Here", "text", lambda one: _ours(one, vary)),
            ("Published system", "text", _system),
            ("Published", "text", lambda one: _theirs(one, "conditions not stated")),
            ("Both under", "text", lambda one: _circumstances(one, metrics)),
            ("Here / published", "number", lambda one: "not defined" if one.ratio is None else round_to(one.ratio, 3)),
            ("Here is", "state", _shown),
            ("Where it stands", "text", lambda one: one.where),
        ),
    )


def _shown(one: PublishedComparison) -> str:
    """The verdict in the report's words."""
    if one.verdict == "not ranked" and not interval_of(one.ours):
        return "not ranked: no interval here"
    return "not distinguishable" if one.verdict == "not told apart" else one.verdict


def _apart(apart: Sequence[PublishedComparison], vary: list[str], metrics: Mapping[str, Metric]) -> Table:
    return table(
        "Published under other circumstances",
        apart,
        (
            ("Metric", "text", lambda one: _title(one.metric, metrics)),
            ("Here", "text", lambda one: _ours(one, vary)),
            ("Published system", "text", _system),
            ("Published", "text", _theirs),
            ("What differs", "text", lambda one: "; ".join(one.differences)),
            ("Where it stands", "text", lambda one: one.where),
        ),
        caption="Neither better nor worse: each differs from what was measured here in what stands beside it. Shown is what "
        "is nearest, by nodes first.",
        fold_from=0,
    )
