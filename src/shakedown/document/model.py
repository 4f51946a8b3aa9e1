"""What a report says, free of how it looks: a Document of sections, each a list of blocks."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Kind = Literal["text", "number", "state", "code", "note"]
#: Rows from which a table is shown when asked for, and rows of runs that a page holds at most: CSV and JSON hold all.
FOLD_FROM, MOST_ROWS = 8, 400

#: What a word of state means: these four looks are all that a format needs to know.
Tone = Literal["good", "bad", "doubt", "plain"]

TONES: dict[str, Tone] = {
    "met": "good",
    "ok": "good",
    "good": "good",
    "better": "good",
    "worse": "bad",
    "other circumstances": "plain",
    "equal": "plain",
    "measured": "good",
    "not met": "bad",
    "failed": "bad",
    "crashed": "bad",
    "critical": "bad",
    "timeout": "bad",
    "garbage": "bad",
    "wrong": "bad",
    "undecided": "doubt",
    "not measured": "doubt",
    "warn": "doubt",
    "unknown": "doubt",
    "partial": "doubt",
    "unavailable": "doubt",
    "interrupted": "doubt",
    "slow": "doubt",
    "silent": "doubt",
}


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what a section is made of."""


class Text(Block, frozen=True, kw_only=True):
    """A paragraph."""

    text: str


class Alert(Block, frozen=True, kw_only=True):
    """What must be known before anything that follows is believed."""

    text: str


class Facts(Block, frozen=True, kw_only=True):
    """Names with their values."""

    title: str = ""
    pairs: tuple[tuple[str, str], ...]


class Column(msgspec.Struct, frozen=True):
    title: str
    kind: Kind = "text"


class Table(Block, frozen=True, kw_only=True):
    """``rows`` are cells as text, as many as there are columns; what follows a line break is of less weight.

    ``folded``: long, and shown when asked for.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = ()  # numbered from 1; cells of the kind "note" refer to them
    folded: bool = False


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A value that heads its workload, with its fractions of its limits (1 is the limit)."""

    title: str
    detail: str
    value: str
    interval: str = ""
    fractions: tuple[tuple[str, float], ...] = ()  # (what the limit is, fraction)


class Bars(Block, frozen=True, kw_only=True):
    title: str
    bars: tuple[Bar, ...]
    caption: str = ""
    folded: bool = False


class Log(msgspec.Struct, frozen=True, kw_only=True):
    """What a run printed last."""

    title: str
    state: str
    text: str


class Logs(Block, frozen=True, kw_only=True):
    title: str
    logs: tuple[Log, ...]


# ------------------------------------------------------------------------------------------------------------- figures


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """``labels`` maps the values at which the axis is marked to the words beside them.

    ``zero`` is where a zero stands on a logarithmic axis, which has none: one step below the least of the others.
    """

    title: str
    labels: dict[float, str]
    low: float
    high: float
    log: bool = False
    zero: float | None = None


class Point(msgspec.Struct, frozen=True):
    """``y`` in SI units, with the interval where there is one; ``says`` is read out and shown beside the pointer."""

    x: float
    y: float
    low: float | None
    high: float | None
    says: str


class Series(msgspec.Struct, frozen=True):
    name: str
    points: tuple[Point, ...]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A limit that holds from ``begin`` to ``end`` of the x axis."""

    name: str
    y: float
    begin: float
    end: float


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A published value; ``x`` is None where the document does not say at which x it was taken."""

    name: str
    x: float | None
    y: float
    says: str


class Region(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of the x axis with a name, such as the sizes that fit into one cache."""

    name: str
    begin: float
    end: float


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """``title`` says what is shown, ``caption`` under which conditions, ``summary`` what is seen."""

    title: str
    caption: str
    summary: str


class Lines(Figure, frozen=True, kw_only=True):
    x: Axis
    unit: str
    y_title: str
    series: tuple[Series, ...]
    rules: tuple[Rule, ...] = ()
    marks: tuple[Mark, ...] = ()
    regions: tuple[Region, ...] = ()
    log: bool = False
    from_zero: bool = True  # the axis of y; without it, small differences of large values can be seen


class Heat(Figure, frozen=True, kw_only=True):
    """A matrix; a cell that was not measured is absent. ``cells`` are (row, column, value in SI units, words)."""

    unit: str
    better: str
    row_title: str
    column_title: str
    labels: tuple[str, ...]  # of rows and of columns, in order
    cells: tuple[tuple[int, int, float, str], ...]


class Histogram(Figure, frozen=True, kw_only=True):
    """How many (``bins``: low, high, count) lie where; ``named`` are values that are pointed out."""

    x_title: str
    y_title: str
    bins: tuple[tuple[float, float, int], ...]
    named: tuple[tuple[str, float], ...] = ()


class Dots(Figure, frozen=True, kw_only=True):
    """One value with its interval for each name: where nothing but words varies."""

    unit: str
    y_title: str
    rows: tuple[Point, ...]  # x is the row's index
    names: tuple[str, ...]


class Drawing(Figure, frozen=True, kw_only=True):
    """A figure that a room lays out itself, such as a map: ``layout`` is Vega-Lite, which gets the house's type and colours;
    ``keys`` are its legend (name, colour, look as in ``charts.Key``). It takes the width of the page."""

    layout: dict[str, Any]
    keys: tuple[tuple[str, str, str], ...] = ()


class Figures(Block, frozen=True, kw_only=True):
    """``folded``: shown when asked for, under the words of ``title``."""

    figures: tuple[Lines | Heat | Histogram | Dots | Drawing, ...]
    title: str = ""
    folded: bool = False


# ------------------------------------------------------------------------------------------------------------ document


class Section(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: str
    blocks: tuple[Block, ...]
    short: str = ""  # for the table of contents
    folded: bool = False  # an appendix: shown, and printed, when asked for


class Document(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    subtitle: str
    state: str  # of the whole: met, not met, undecided, or "measured" where nothing was required
    counts: tuple[tuple[str, int], ...]  # state -> how many requirements
    lead: tuple[str, ...]  # the verdict in a paragraph
    sections: tuple[Section, ...]
    footer: str
    rows_in: str = ""  # which other files hold the rows of its tables, for paper, on which folded ones are not shown
