"""The section of one workload: its best values as bars, its figures, all values, and published systems beside it. Pure."""

from __future__ import annotations

import collections
import re

import msgspec

from ..analysis.advice import NO_FIGURE
from ..analysis.checks import share_of, words
from ..analysis.values import is_figure, is_share
from ..document.model import FOLD_FROM, Alert, Bar, Bars, Block, Column, Section, Table
from ..document.tables import table
from ..document.text import (
    better,
    count,
    interval_of,
    kinds_of,
    limit_title,
    params_of,
    ranked,
    title_of,
    value_of,
    why_not,
)
from ..records import Analysis, Check, Finding, Metric
from ..units import show
from . import _choose, _fleet, _published, _swept

MOST_BARS = 4  # best values that are shown; further ones are folded


def section(
    name: str, analysis: Analysis, findings: list[Finding], metrics: dict[str, Metric], fleet: _fleet.Fleet | None
) -> Section:
    beside = [one for one in analysis.beside if one.ours.workload == name]
    blocks: list[Block] = [Alert(text=text) for text in _stand_ins(findings)]
    bars = _headline(findings, metrics, many=fleet is not None)
    if bars:
        blocks.append(msgspec.structs.replace(bars, bars=bars.bars[:MOST_BARS]))
        if more := bars.bars[MOST_BARS:]:
            blocks.append(Bars(title="Further best values", bars=more, caption=bars.caption, folded=True))
    curves = [one for one in analysis.curves if one.metric in {finding.metric for finding in findings}]
    blocks += _swept.blocks(findings, metrics, beside, curves)
    blocks += _published.blocks(beside, findings, metrics)
    blocks.append(_fleet.spread(fleet, name, metrics, FOLD_FROM) if fleet else _values(findings, metrics))
    if checked := [one for one in analysis.checks if one.workload == name]:
        blocks.append(_checks(checked))
    title = analysis.workload_titles.get(name, "")
    return Section(
        id=f"workload-{_slug(name)}", title=f"{name}: {title}" if title else name, short=name, blocks=tuple(blocks)
    )


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "unnamed"


def _title(metric: str, metrics: dict[str, Metric]) -> str:
    return metrics[metric].title if metric in metrics else metric


def _stand_ins(findings: list[Finding]) -> list[str]:
    """Why what was measured is no figure, each reason once, with how many of the values it is of where not of all."""
    whys = collections.Counter(
        notice.text.partition(" (on ")[0] for one in findings for notice in one.notices if notice.code == NO_FIGURE
    )
    return [
        (
            "No value here is a figure"
            if number == len(findings)
            else f"{number:,} of {count(len(findings), 'value')} are not valid figures"
        )
        + f": {why}. None heads this section, stands beside a published system, or decides a requirement."
        for why, number in whys.items()
    ]


def _checks(checks: list[Check]) -> Table:
    """How near the results came to the limits of their checks; kernels whose worst is the same share a row."""
    groups: dict[tuple[object, ...], list[Check]] = {}
    for one in checks:
        groups.setdefault((one.value, one.limit, one.kind), []).append(one)
    ranked = sorted(groups.values(), key=lambda group: -share_of(group[0]))
    return table(
        "Checks",
        ranked,
        (
            ("Kernel", "code", lambda group: ", ".join(one.kernel for one in group)),
            ("Checked", "number", lambda group: count(sum(one.cases for one in group), "case")),
            ("Worst", "text", lambda group: words(group[0])),
            ("What is compared", "text", lambda group: group[0].kind or "not stated"),
            ("Where", "text", lambda group: _where(group[0]) if share_of(group[0]) else ""),
        ),
        caption="Of each kernel the worst case; a run with a value above its limit has no score.",
        fold_from=0,
    )


def _where(one: Check) -> str:
    return ", ".join(filter(None, (params_of(one.params), one.host)))


def _headline(findings: list[Finding], metrics: dict[str, Metric], *, many: bool) -> Bars | None:
    """The best value of each metric, of those that give its figure, for each place where its limit differs (cache levels,
    memory); headlines first."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    vary: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.value is None:
            continue
        vary.setdefault(finding.metric, []).append(finding)
        metric = metrics.get(finding.metric)
        if metric is None or is_figure(metric, finding.params):
            places = sorted(_choose.placed_by(metrics[finding.metric])) if finding.metric in metrics else []
            key = (finding.metric, *(str(finding.params.get(place, "")) for place in places))
            groups.setdefault(key, []).append(finding)
    names = {metric: list(_choose.varying(_choose.rows_of(group))) for metric, group in vary.items()}
    placed = {key[0] for key in groups if all(key[1:]) and len(key) > 1}
    bars = []
    order = {
        name: (2 * is_share(metric) + (not metric.headline), at) for at, (name, metric) in enumerate(metrics.items())
    }
    for key, group in sorted(groups.items(), key=lambda item: order.get(item[0][0], (1, len(order)))):
        if key[0] in placed and not all(key[1:]):
            continue  # not of one level, so it heads none
        best = better(group)
        detail = params_of(
            best.params,
            [name for name in names[best.metric] if name in best.params and str(best.params[name]) not in key[1:]],
        )
        where = "" if many or len({one.host for one in findings}) == 1 else best.host
        bars.append(
            Bar(
                title=", ".join([_title(key[0], metrics), *(word for word in key[1:] if word)]),
                detail=", ".join(part for part in (detail, where) if part),
                value=show(best.value, best.unit),
                interval=interval_of(best),
                fractions=tuple(
                    (f"of {one.kind} {one.limit}, {show(one.value, best.unit)}", one.fraction) for one in best.fractions
                ),
            )
        )
    if not bars:
        return None
    words = "Median over hosts at the best setting; in brackets the 5th to the 95th percentile of hosts."
    return Bars(title="Best values", bars=tuple(bars), caption=words if many else "")


def _values(findings: list[Finding], metrics: dict[str, Metric]) -> Table:
    """Every value with what stands beside it; a column that would be empty throughout is left out."""
    vary = list(_choose.varying([_choose.Row(dict(one.params), one) for one in findings]))
    same = {name: value for name, value in findings[0].params.items() if name not in vary}
    kinds = kinds_of(findings)
    noted = _Notes(findings)
    columns = [
        Column("Metric"),
        *([Column("Host", "code")] if len({one.host for one in findings}) > 1 else []),
        *(Column(title_of(name), "number" if _numeric(name, findings) else "text") for name in vary),
        Column("Value", "number"),
        Column("Interval", "number"),
        *(Column(limit_title(kind), "number") for kind in kinds),
        *(Column(title, "number") for title in ("Samples", "Runs", "Outliers")),
        Column("Notes", "note"),
    ]
    rows = []
    for one in findings:
        shares = {kind: show(share.fraction, "%") for kind, share in ranked(one.fractions).items()}
        missing = "" if one.value is None else "no interval"
        rows.append(
            (
                _title(one.metric, metrics),
                *([one.host] if columns[1].title == "Host" else []),
                *(value_of(name, one.params[name]) if name in one.params else "" for name in vary),
                show(one.value, one.unit),
                interval_of(one) or missing,
                *(shares.get(kind, "") for kind in kinds),
                f"{one.n_samples:,}",
                f"{one.n_runs:,}",
                f"{one.outliers:,}" if one.outliers else "",
                noted.cell(one),
            )
        )
    one_metric = len({one.metric for one in findings}) == 1 and len(columns) > 2
    title = f"All values: {rows[0][0]}" if one_metric else "All values"
    kept = [index for index in range(one_metric, len(columns)) if any(row[index] for row in rows)]
    conditions = params_of(same)
    return Table(
        title=title,
        columns=tuple(columns[index] for index in kept),
        folded=len(rows) > FOLD_FROM,
        rows=tuple(tuple(row[index] for index in kept) for row in rows),
        notes=noted.texts,
        caption=f"The same for all: {conditions}." if conditions else "",
    )


def _numeric(name: str, findings: list[Finding]) -> bool:
    return all(isinstance(one.params.get(name, 0), (int, float)) for one in findings)


class _Notes:
    """Numbers the notices of a table. Where those of one code differ (in a figure), each cell says its own text."""

    def __init__(self, findings: list[Finding]) -> None:
        texts: dict[str, set[str]] = {}
        for notice in (notice for one in findings for notice in one.notices):
            texts.setdefault(notice.code, set()).add(notice.text)
        self._differ = {code for code, found in texts.items() if len(found) > 1}
        self._numbers: dict[str, int] = {}

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(self._numbers)

    def _number(self, text: str) -> str:
        return f"[{self._numbers.setdefault(text, len(self._numbers) + 1)}]"

    def cell(self, finding: Finding) -> str:
        words = []
        for notice in finding.notices:
            if notice.code in self._differ:
                words.append(f"{notice.text} {self._number(notice.advice)}" if notice.advice else notice.text)
            else:
                words.append(self._number(f"{notice.text}: {notice.advice}" if notice.advice else notice.text))
        if finding.value is None and not words:
            words.append(self._number(why_not(finding)))
        return ", ".join(words)
