"""The figures of a workload: those of its headline metric first, one for each parameter that was swept; the rest folded.

A sweep over many parameters at once makes more figures than a person reads (one for each combination of the others). Then
each parameter has one figure, with the other parameters as in the best configuration:

    a number of three values or more     a line
    words, or two numbers                bars
    P and Q, the grid of processes       a matrix

All of it is pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..analysis.values import is_figure, is_headline
from ..document.model import Bar, Bars, Block, Dots, Figures, Heat
from ..document.text import better, interval_of, natural, params_of, title_of, value_of, value_with_interval
from ..records import Curve, Finding, Metric, PublishedComparison, Value
from ..units import scale_for, show
from . import _choose, _figures
from ._choose import Choice, Row

GRID = ("p", "q")
MOST_BARS = 12
MOST_FIGURES = 3  # of the headline metric, where fewer parameters than that were swept
#: How much was asked for, not how it was done.
_SIZES = ("bytes", "n")
#: Names of the parameters of a pair's ends, which a matrix shows.
_ENDS = ("_a", "_b")


def blocks(
    findings: Sequence[Finding],
    metrics: Mapping[str, Metric],
    beside: Sequence[PublishedComparison],
    curves: Sequence[Curve] = (),
) -> list[Block]:
    """The figures of one workload, those that are shown and those that are folded."""
    head = headline(findings, metrics)
    mine = [one for one in findings if one.metric == head]
    others = [one for one in findings if one.metric != head]
    shown = _figures.of_workload(mine, metrics, beside, curves)
    rest = _figures.of_workload(others, metrics, beside, curves)
    made: list[Block] = []
    folded = list(rest.figures) if rest else []
    if shown and head in metrics:
        rows = _rows(mine, metrics[head])
        swept = _parameters(rows)
        dots = any(isinstance(one, Dots) for one in shown.figures) and len(swept) > 1  # one for each combination
        if dots or len(shown.figures) > max(MOST_FIGURES, len(swept)):
            made = _each(rows, swept, metrics[head])
            folded = [*shown.figures, *folded]
        else:
            made = [shown]
    if folded:
        title = "Further figures" if made else "Figures"
        made.append(Figures(figures=tuple(folded), title=title, folded=True))
    return made


def headline(findings: Sequence[Finding], metrics: Mapping[str, Metric]) -> str:
    """The metric that heads a workload: the first that is a headline and was measured, else the first that was measured."""
    names = dict.fromkeys(one.metric for one in findings if one.value is not None)
    ordered = [name for name in metrics if name in names] or list(names)
    heads = [name for name in ordered if metrics.get(name) and metrics[name].headline and not _of_power(name)]
    return next(iter([*heads, *ordered]), "")


def _of_power(name: str) -> bool:
    return name.endswith("energy_efficiency")


def _rows(findings: Sequence[Finding], metric: Metric) -> list[Row]:
    return [row for row in _choose.rows_of(findings) if is_figure(metric, row.finding.params)]


def _parameters(rows: Sequence[Row]) -> list[str]:
    """The parameters that were swept; of those that follow from one another the first."""
    kept: list[str] = []
    for name in _choose.varying(rows):
        if name == _choose.HOST or name.endswith(_ENDS) or name == "meter":
            continue
        grid = name in GRID and all(one in rows[0].dims for one in GRID)  # P tells Q, and the two are one matrix
        if grid or not any(_same(rows, name, other) for other in kept):
            kept.append(name)
    return kept


def _same(rows: Sequence[Row], name: str, other: str) -> bool:
    """Whether ``name`` says nothing beyond ``other``."""
    seen: dict[Value, Value] = {}
    return all(
        seen.setdefault(row.dims.get(other, ""), row.dims.get(name, "")) == row.dims.get(name, "") for row in rows
    )


def _each(rows: Sequence[Row], swept: Sequence[str], metric: Metric) -> list[Block]:
    figures: list[_figures.Figure] = []
    bars: list[Block] = []
    grid = [name for name in GRID if name in swept]
    if len(grid) == len(GRID):
        figures.append(_grid(rows, swept, metric))
    for name in [one for one in swept if len(grid) < len(GRID) or one not in GRID]:
        best, words = _at_each(rows, (name,), swept, metric)
        numbers = all(isinstance(row.dims[name], (int, float)) and not isinstance(row.dims[name], bool) for row in best)
        line = None
        if numbers and len(best) > 2:
            choice = Choice(shape="lines", metrics=(metric,), rows=tuple(best), axis=name, left_out=words)
            line = _figures.lines(choice, (), ())
        if line is not None:
            figures.append(line)
        elif len(best) > 1:
            bars.append(_bars(best, name, metric, _caption(best, swept, words)))
    return [*([Figures(figures=tuple(figures))] if figures else []), *bars]


def _at_each(rows: Sequence[Row], names: Sequence[str], swept: Sequence[str], metric: Metric) -> tuple[list[Row], str]:
    """A row for each value of ``names``, and in words what the others are: those of the best configuration, where every
    value was measured with them; else at each value the best that was measured, with whatever else."""
    heads = [row for row in rows if is_headline(metric, row.finding.params)] or list(rows)
    finding = better([row.finding for row in heads])
    top = next(row for row in heads if row.finding is finding)
    others = {name: top.dims[name] for name in swept if name not in names and name in top.dims}
    alike = _best([row for row in rows if all(row.dims.get(name) == value for name, value in others.items())], names)
    whole = _best(rows, names)
    if len(alike) == len(whole):
        return alike, "The other parameters are those of the best configuration."
    of_heads = _best(heads, names)
    return (
        of_heads if len(of_heads) == len(whole) else whole,
        "At each value the best that was measured; the other parameters differ from value to value.",
    )


def _caption(best: Sequence[Row], swept: Sequence[str], words: str) -> str:
    """Which of the swept parameters are the same for all, and how the others were chosen."""
    same = {name: best[0].dims[name] for name in swept if len({str(row.dims.get(name)) for row in best}) == 1}
    return f"With {params_of(same)}. {words}" if same else words


def _best(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """Of each value of ``names`` the row with the best value."""
    groups: dict[tuple[Value, ...], list[Row]] = {}
    for row in rows:
        if all(name in row.dims for name in names):
            groups.setdefault(tuple(row.dims[name] for name in names), []).append(row)
    best = []
    for group in groups.values():
        finding = better([row.finding for row in group])
        best.append(next(row for row in group if row.finding is finding))
    return best


def _bars(best: Sequence[Row], name: str, metric: Metric, words: str) -> Bars:
    """The best at each word, the best of all first, as shares of it. Sizes are no alternatives: in their order, without
    shares."""
    lower = metric.better == "lower"
    sized = name in _SIZES
    if sized:
        ordered = sorted(best, key=lambda row: natural(str(row.dims[name])))
    else:
        ordered = sorted(best, key=lambda row: (row.finding.value or 0.0) * (1 if lower else -1))
    most = ordered[0].finding.value or 0.0
    kept = ordered[:MOST_BARS]
    made = []
    for row in kept:
        value = row.finding.value or 0.0
        share = (most / value if lower else value / most) if value and most else 0.0
        made.append(
            Bar(
                title=value_of(name, row.dims[name]),
                detail="",
                value=show(row.finding.value, row.finding.unit),
                interval=interval_of(row.finding),
                fractions=() if sized else (("of the best", share),),
            )
        )
    left = (
        f" The {'first' if sized else 'best'} {MOST_BARS} of {len(ordered)} are shown."
        if len(ordered) > MOST_BARS
        else ""
    )
    by = metric.titles.get(name) or title_of(name)
    return Bars(title=f"{metric.title} by {by}", bars=tuple(made), caption=f"{words}{left}".strip())


def _grid(rows: Sequence[Row], swept: Sequence[str], metric: Metric) -> Heat:
    """The best of each P x Q."""
    best, words = _at_each(rows, GRID, swept, metric)
    labels = sorted({row.dims[name] for row in best for name in GRID}, key=lambda value: natural(str(value)))
    at = {value: index for index, value in enumerate(labels)}
    cells = tuple(
        (
            at[row.dims["p"]],
            at[row.dims["q"]],
            row.finding.value or 0.0,
            f"{params_of(row.dims, GRID)}: {value_with_interval(row.finding)}",
        )
        for row in best
    )
    unit = scale_for(max(cell[2] for cell in cells), metric.unit)[1]
    return Heat(
        title=f"{metric.title} by P and Q ({unit})",
        caption=_caption(best, swept, words),
        summary="; ".join(cell[3] for cell in cells[:6]),
        unit=metric.unit,
        better=metric.better,
        row_title="P",
        column_title="Q",
        labels=tuple(str(value) for value in labels),
        cells=cells,
    )
