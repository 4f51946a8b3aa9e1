"""The page of a document's evaluation: every row with both sides, drawn as the document draws it, and the words for the
terminal."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from .. import __version__
from ..document.model import (
    Axis,
    Block,
    Column,
    Document,
    Dots,
    Figures,
    Lines,
    Mark,
    Point,
    Section,
    Series,
    Table,
    Text,
)
from ..document.text import count, listed, title_of, value_of
from ..records import PublishedComparison, Value
from ..units import round_to, show, show_seconds
from .answering import Answer
from .choosing import Planned
from .lines import Cell, Line
from .model import NEEDS, Evaluation, Row, metrics_of

#: Lines of a table or a drawing that can still be read, and rows of a list.
MOST_COLUMNS, MOST_DRAWN, MOST_LISTED, MOST_MARKS = 6, 8, 60, 4
_ORDER = ("answered", "answered in part", "failed", "not run", "needs", "by command", "nothing to measure")
_LOG_FROM = 12.0


def document(evaluation: Evaluation, answers: Sequence[Answer], machine: str, cost: Mapping[str, float]) -> Document:
    """The page. ``machine``: what this machine is, in a sentence; ``cost``: seconds of rows that can run here."""
    tally = {state: sum(one.state == state for one in answers) for state in _ORDER}
    told = [f"{number} {state}" for state, number in tally.items() if number]
    lead = (
        f"{evaluation.summary} Every table and figure of the document is a row below: {listed(told, 9)}.",
        f"This machine: {machine}.",
        *(f"{label(one.row)}: {headline(one)}." for one in answers if headline(one)),
    )
    sections = [
        Section(id="rows", title="Tables and figures of the document", short="Rows", blocks=(_overview(answers, cost),))
    ]
    sections += [
        _section(one) for one in answers if one.lines or one.state in ("answered", "answered in part", "failed")
    ]
    return Document(
        title=evaluation.title,
        subtitle="the document's evaluation, and this machine's",
        state="measured" if tally["answered"] or tally["answered in part"] else "not measured",
        counts=(),
        lead=lead[:14],
        sections=tuple(sections),
        footer=f"Made by Shakedown {__version__}.",
    )


def label(row: Row) -> str:
    """``Table 3-6``, ``Figure 12``, or the result's title."""
    if row.kind == "result":
        return row.title
    at = row.id.find(f"{row.kind}-")
    return f"{row.kind.capitalize()} {row.id[at + len(row.kind) + 1 :]}"


def _full(row: Row) -> str:
    return row.title if row.kind == "result" else f"{label(row)}: {row.title}"


def overview(answers: Sequence[Answer], cost: Mapping[str, float]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headings and cells, a row each: what it is, its state, its cost, why and what answers it."""
    headings = ("row", "what", "page", "state", "cost", "why, and what answers it")
    cells: list[tuple[str, ...]] = []
    for one in answers:
        seconds = cost.get(one.row.id)
        why = "; ".join(filter(None, (one.reason, f"next: {one.next}" if one.next else "")))
        what = one.row.title
        cells.append((one.row.id, what, one.row.page, one.state, show_seconds(seconds) if seconds else "-", why or "-"))
    return headings, cells


def listing(rows: Sequence[Planned]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The rows before anything runs: headings and cells."""
    headings = ("row", "what", "page", "runs", "cost", "what is missing")
    cells: list[tuple[str, ...]] = []
    for one in rows:
        missing = listed(one.missing, 2) or one.row.nothing or "; ".join(NEEDS[name] for name in one.row.needs)
        if one.row.command:
            missing = f"run this: {one.row.command}"
        runs = listed(dict.fromkeys(run.workload for run in one.runs)) or "-"
        cost = show_seconds(one.cost_s) if one.runs else "-"
        cells.append((one.row.id, one.row.title, one.row.page, runs, cost, missing or "-"))
    return headings, cells


def _overview(answers: Sequence[Answer], cost: Mapping[str, float]) -> Table:
    _, cells = overview(answers, cost)
    rows = []
    for name, what, page, state, seconds, why in cells:
        small = page if seconds == "-" else f"{page}; {seconds}"
        rows.append((f"{name}\n{small}", what, state, why))
    columns = (Column("row, page, cost"), Column("what"), Column("state", "state"), Column("why, and what answers it"))
    return Table(title="", columns=columns, rows=tuple(rows))


def headline(answer: Answer) -> str:
    """An answered row in one sentence without its end; empty where it has none."""
    ours = [line for line in answer.lines if line.ours]
    if not ours:
        return ""
    if answer.best or answer.row.overheads:
        return answer.best or _costs(answer, ours)
    line, cell = _top(ours)
    shown = _joined(answer, line)
    theirs = [each for each in answer.lines if not each.ours and each.metric == shown and each.unit == line.unit]
    common = {each.x for one in theirs for each in one.cells} & {each.x for each in line.cells} - {None}
    if common:  # both at one place of the axis
        line, cell = _top(ours, common)
        theirs = [
            msgspec.structs.replace(one, cells=tuple(each for each in one.cells if each.x == cell.x)) for one in theirs
        ]
    words = f"here {show(cell.value, line.unit)}{_at(answer, cell)}{_share(cell)}"
    if theirs := [one for one in theirs if one.cells]:
        other, their = _top(theirs)
        words += f"; {other.whose}: {show(their.value, other.unit)}{_at(answer, their)}{_share(their)}"
    return words


def _costs(answer: Answer, ours: Sequence[Line]) -> str:
    """The largest cost of each layer here, and theirs."""
    tops = [(line, max(line.cells, key=lambda cell: cell.value)) for line in ours]
    words = [f"{line.label} {_cell(cell, line)}{_at(answer, cell)}" for line, cell in tops]
    others = [one for one in answer.lines if not one.ours and one.metric == ours[0].metric]
    return f"here at most {listed(words, 4)}; {'; '.join(f'{one.whose}: {one.cells[0].printed}' for one in others)}"


def _top(lines: Sequence[Line], places: Collection[Value | None] = ()) -> tuple[Line, Cell]:
    """The best value of the first line's metric; only at these places of the axis, where there are some."""
    own = [line for line in lines if line.metric == lines[0].metric]
    sign = -1 if own[0].better == "lower" else 1
    pairs = [(line, cell) for line in own for cell in line.cells if not places or cell.x in places]
    return max(pairs, key=lambda pair: sign * pair[1].value)


def _at(answer: Answer, cell: Cell) -> str:
    return f" at {value_of(answer.axis, cell.x)}" if answer.axis and cell.x is not None else ""


def _share(cell: Cell) -> str:
    return f" ({cell.of_peak:.0%} of its peak)" if cell.of_peak is not None else ""


# ------------------------------------------------------------------------------------------------------------ one row


def _section(answer: Answer) -> Section:
    row = answer.row
    blocks: list[Block] = [Text(text=text) for text in sentences(answer)]
    for metric in dict.fromkeys(_joined(answer, line) for line in answer.lines):
        group = [line for line in answer.lines if _joined(answer, line) == metric]
        placed = [line for line in group if _is_placed(line)]
        if len(_places(placed)) < 2 or len(placed) > MOST_COLUMNS:
            placed = []
        blocks += [_table(answer, placed)] if placed else []
        if rest := [line for line in group if line not in placed]:
            blocks.append(_list(answer, rest, rest[0].title + (", without a place on it" if placed else "")))
    if figures := _figures(answer):
        blocks.append(Figures(figures=tuple(figures)))
    return Section(id=row.id, title=f"{_full(row)} ({row.page})", short=label(row), blocks=tuple(blocks))


def _joined(answer: Answer, line: Line) -> str:
    """Under which metric a line is shown: ours under the published one that it stands for."""
    if not line.ours or line.metric not in answer.row.metrics:
        return line.metric
    printed = {each.metric for each in answer.lines if not each.ours}
    stands = (answer.row.stands.get(line.metric, ""), metrics_of(answer.row)[line.metric].published_as)
    return next((one for one in (line.metric, *stands) if one in printed), line.metric)


def sentences(answer: Answer) -> list[str]:
    """State and reason, what is alike and what differs, the size, and how the two rank."""
    row = answer.row
    lines = [f"{answer.state.capitalize()}{f': {answer.reason}' if answer.reason else ''}."]
    if answer.next:
        lines.append(f"What answers it: {answer.next}")
    if row.alike:
        lines.append(f"Alike: {row.alike} Different: {row.differs}")
    if row.size:
        lines.append(f"Size: {row.size}.")
    if answer.best:
        lines.append(f"{answer.best[0].upper()}{answer.best[1:]}.")
    if ranks := _ranks(answer.comparisons):
        lines.append(ranks)
    return lines


def _ranks(comparisons: Sequence[PublishedComparison]) -> str:
    """How many pairs are like with like and how they rank; what keeps the others apart."""
    if not comparisons:
        return ""
    words = []
    for verdict in ("better", "worse", "equal", "not told apart", "not ranked"):
        if number := sum(one.verdict == verdict for one in comparisons):
            words.append(f"{number} {verdict}")
    apart = [one for one in comparisons if one.verdict == "other circumstances"]
    text = f"Like with like: {', '.join(words)}." if words else ""
    if apart:
        why = listed(dict.fromkeys(word for one in apart for word in one.differences), 5)
        text += f" Not ranked, being unlike: {count(len(apart), 'pair')} ({why})."
    return text.strip()


class _Named(NamedTuple):
    name: str
    line: Line


def _names(lines: Sequence[Line]) -> list[_Named]:
    """What each line is called: whose it is, and what tells it from that side's others."""
    return [_Named(f"{line.whose}{f', {line.label}' if line.label else ''}", line) for line in lines]


def _table(answer: Answer, lines: Sequence[Line]) -> Table:
    """The document's table of one metric with both sides in it: a row for each place on the axis."""
    title = lines[0].title
    xs = _places(lines)
    named = _names(lines)
    rows = []
    for x in xs:
        cells = [_cell(next((cell for cell in line.cells if cell.x == x), None), line) for _, line in named]
        rows.append((value_of(answer.axis, x), *cells))
    columns = (Column(title_of(answer.axis)), *(Column(name, "number") for name, _ in named))
    return Table(title=title, columns=columns, rows=tuple(rows), caption=_caption(lines))


def _is_placed(line: Line) -> bool:
    return any(cell.x is not None for cell in line.cells)


def _places(lines: Sequence[Line]) -> list[Value]:
    xs = list(dict.fromkeys(cell.x for line in lines for cell in line.cells if cell.x is not None))
    numbers = [x for x in xs if isinstance(x, (int, float))]
    return sorted(numbers) if len(numbers) == len(xs) else xs


def _cell(cell: Cell | None, line: Line) -> str:
    if cell is None:
        return "-"
    value = cell.printed or show(cell.value, line.unit)
    if line.ours and not cell.printed and cell.low is not None and cell.high is not None:
        value += f" [{show(cell.low, line.unit)}, {show(cell.high, line.unit)}]"
    return value + (f" ({cell.of_peak:.1%})" if cell.of_peak is not None else "")


def _caption(lines: Sequence[Line]) -> str:
    """What brackets and parentheses in the cells are."""
    words = []
    if any(cell.low is not None for line in lines if line.ours for cell in line.cells):
        words.append("In brackets: the 95 % interval.")
    peaks = {("theirs" if not line.ours else "ours", cell.limit) for line in lines for cell in line.cells if cell.limit}
    if peaks:
        told = listed(f"{whose}: {limit}" for whose, limit in sorted(peaks))
        words.append(f"In parentheses: of the machine's own peak ({told}).")
    return " ".join(words)


def _list(answer: Answer, lines: Sequence[Line], title: str) -> Table:
    """Both sides below one another, where they have no axis in common that a table could stand on."""
    rows = []
    for name, line in _names(lines):
        for cell in line.cells:
            at = f"{title_of(answer.axis)} {value_of(answer.axis, cell.x)}" if cell.x is not None else "-"
            rows.append((name, at, _cell(cell, line)))
    shown = rows[:MOST_LISTED]
    left = f"{len(rows) - len(shown)} further rows: --json has all. " if len(rows) > len(shown) else ""
    keep = (0, 2) if all(at == "-" for _, at, _ in shown) else (0, 1, 2)
    columns = (Column("whose"), Column("at"), Column("value", "number"))
    return Table(
        title=title,
        columns=tuple(columns[at] for at in keep),
        rows=tuple(tuple(row[at] for at in keep) for row in shown),
        caption=left + _caption(lines),
    )


# ------------------------------------------------------------------------------------------------------------- figures


def _figures(answer: Answer) -> list[Lines | Dots]:
    made: list[Lines | Dots] = []
    groups: dict[str, list[Line]] = {}
    for line in answer.lines:
        groups.setdefault("" if answer.row.scaled else _joined(answer, line), []).append(line)
    for group in groups.values():
        ours = [line for line in group if line.ours]
        lines = [*[line for line in group if not line.ours][: max(0, MOST_DRAWN - len(ours))], *ours[:MOST_DRAWN]]
        numeric = [
            line
            for line in lines
            if sum(isinstance(cell.x, (int, float)) and cell.value > 0 for cell in line.cells) > 1
        ]
        if numeric and any(line.ours for line in answer.lines):
            beside = [line for line in lines if not line.ours and not _is_placed(line) and line.unit == numeric[0].unit]
            made.append(_lines(answer, numeric, beside))
        elif 1 < sum(len(line.cells) for line in lines) <= 12 and any(line.ours for line in lines):
            made.append(_dots(answer, lines))
    return made


def _lines(answer: Answer, lines: Sequence[Line], beside: Sequence[Line]) -> Lines:
    """Theirs and ours over the axis; relative to each line's own first value where the row asks for it. ``beside``:
    published values without a place on the axis, which are levels."""
    scaled = answer.row.scaled
    unit = "1" if scaled else lines[0].unit
    series = tuple(Series(name, _points(answer, line, name)) for name, line in _names(lines))
    xs = sorted({point.x for one in series for point in one.points})
    marks = () if scaled else _marks(beside)
    ys = [*(point.y for one in series for point in one.points), *(mark.y for mark in marks)]
    log_x = len(xs) > 1 and max(xs) / max(min(x for x in xs if x > 0), 1e-300) >= 16
    zero = min(x for x in xs if x > 0) / 2 if log_x and xs[0] == 0 else None
    marked = xs[:: max(1, -(-len(xs) // 7))]
    what = "relative to the first value" if scaled else lines[0].title
    ours = [line for line in lines if line.ours]
    return Lines(
        title=f"{lines[0].title} by {title_of(answer.axis)}",
        caption=f"{_full(answer.row)}; published and of this machine" if ours else _full(answer.row),
        summary=headline(answer) or "published values alone",
        x=Axis(
            title=title_of(answer.axis),
            labels={x: value_of(answer.axis, int(x) if x.is_integer() else x) for x in marked},
            low=(zero or xs[0]) / 1.1 if log_x else xs[0] - (xs[-1] - xs[0]) * 0.03,
            high=xs[-1] * 1.1 if log_x else xs[-1] + (xs[-1] - xs[0]) * 0.03,
            log=log_x,
            zero=zero,
        ),
        unit=unit,
        y_title=what,
        series=series,
        marks=marks,
        log=min(ys) > 0 and max(ys) / min(ys) > _LOG_FROM,
    )


def _marks(lines: Sequence[Line]) -> tuple[Mark, ...]:
    return tuple(
        Mark(name=name, x=None, y=cell.value, says=f"{name}: {cell.printed or show(cell.value, line.unit)}")
        for name, line in _names(lines)
        for cell in line.cells
        if cell.value > 0
    )[:MOST_MARKS]


def _points(answer: Answer, line: Line, name: str) -> tuple[Point, ...]:
    cells = sorted(
        (cell for cell in line.cells if isinstance(cell.x, (int, float)) and cell.value > 0),
        key=lambda cell: float(cell.x or 0),
    )
    first = cells[0].value

    def relative(value: float | None) -> float | None:
        if value is None or not answer.row.scaled:
            return value
        return value / first if line.better != "lower" else first / value if value > 0 else None

    points = []
    for cell in cells:
        y = relative(cell.value) or 0.0
        ends = sorted(end for end in (relative(cell.low), relative(cell.high)) if end is not None)
        low, high = (ends[0], ends[1]) if len(ends) == 2 else (None, None)
        value = round_to(y, 3) if answer.row.scaled else show(y, line.unit)
        points.append(Point(float(cell.x or 0), y, low, high, f"{name}, {value_of(answer.axis, cell.x or 0)}: {value}"))
    return tuple(points)


def _dots(answer: Answer, lines: Sequence[Line]) -> Dots:
    names: list[str] = []
    points: list[Point] = []
    for name, line in _names(lines):
        for cell in line.cells:
            names.append(f"{name}{f', {value_of(answer.axis, cell.x)}' if cell.x is not None else ''}")
            points.append(
                Point(len(points), cell.value, cell.low, cell.high, f"{names[-1]}: {show(cell.value, line.unit)}")
            )
    return Dots(
        title=lines[0].title,
        caption=_full(answer.row),
        summary=headline(answer) or "published values alone",
        unit=lines[0].unit,
        y_title=lines[0].title,
        rows=tuple(points),
        names=tuple(names),
    )
