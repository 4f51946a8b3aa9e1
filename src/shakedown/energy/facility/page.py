"""A plant's figures as a page: the report's Document, with the courses of COP, pPUE and pERE and the lines through them."""

from __future__ import annotations

import numpy as np

from ...document.model import Column, Document, Figures, Section, Table, Text
from ...records import Notice, Record
from ...times import minute
from ...units import show
from ..uncertainty.quantity import Quantity, advice, shares
from .figures import (
    DAY_S,
    PUBLISHED,
    cop_figures,
    indicator_figure,
    number,
    percent,
    power_figure,
    published_means,
    regression_figure,
    sheet,
    slope_words,
)
from .plant import in_si
from .ratios import Data, Window
from .regression import Line
from .trends import CopCourse, Trend

#: Stretches that a page may average over; the least that makes no more than so many points is taken.
STEPS_S = (600.0, 3600.0, 3 * 3600.0, 6 * 3600.0, DAY_S, 7 * DAY_S, 28 * DAY_S)
MOST_POINTS = 130


class Facility(Record, frozen=True, kw_only=True):
    """All that `shakedown facility` says; also its JSON."""

    title: str
    note: str = ""
    zone: str = "UTC"
    whole: Window
    windows: tuple[Window, ...] = ()
    regressions: tuple[Line, ...] = ()
    cops: tuple[CopCourse, ...] = ()


class PageFigures(Record, frozen=True, kw_only=True):
    """What is drawn besides: (title, series of powers), (regression, its points)."""

    powers: tuple[tuple[str, tuple[tuple[str, tuple[tuple[int, float], ...]], ...]], ...] = ()
    clouds: tuple[tuple[tuple[float, float], ...], ...] = ()
    course: tuple[Window, ...] = ()  # windows of a page's step, for indicators over time


def step_s(length_s: float, least_s: float = 0.0) -> float:
    """How long a stretch the page averages over."""
    usable = [one for one in STEPS_S if one >= least_s and length_s / one <= MOST_POINTS]
    return usable[0] if usable else max(STEPS_S[-1], least_s)


def document(data: Data, found: Facility, drawn: PageFigures, *, version: str) -> Document:
    """The whole page."""
    clock = found.zone
    marks = published_means(data.plant.published)
    courses = [indicator_figure(one, drawn.course, clock, marks) for one in found.whole.indicators]
    over_time = [
        one for one in (*cop_figures(found.cops, found.whole, clock, marks, data), *courses) if one is not None
    ]
    over_time += [power_figure(title, rows, clock) for title, rows in drawn.powers if any(points for _, points in rows)]
    against = [one for one in (sheet(cop, data) for cop in found.cops) if one is not None]
    pairs = zip(found.regressions, drawn.clouds, strict=True)
    against += [figure for figure in (regression_figure(line, cloud) for line, cloud in pairs) if figure is not None]
    sections = [
        Section(id="figures", title="Figures of merit", blocks=(_indicators(found.whole), *_balances(found.whole))),
        Section(id="time", title="Over time", blocks=(Figures(figures=tuple(over_time)),)) if over_time else None,
        Section(
            id="temperature",
            title="Over temperature",
            blocks=(*((Figures(figures=tuple(against)),) if against else ()), *_slopes(found)),
        )
        if against or found.regressions
        else None,
        Section(id="budget", title="What the uncertainty is made of", blocks=_budgets(found.whole)),
        Section(id="plant", title="The plant", blocks=_plant(data, found)),
    ]
    return Document(
        title=found.title,
        subtitle=f"{minute(found.whole.begin_ns // 10**9, clock)} to {minute(found.whole.end_ns // 10**9, clock)}",
        state="measured",
        counts=(),
        lead=tuple(lead(found)),
        sections=tuple(one for one in sections if one is not None),
        footer=f"Made by Shakedown {version}. Intervals are of 95 %.",
    )


def lead(found: Facility) -> list[str]:
    """The figures in a sentence, and what does not agree."""
    known = [
        one for one in found.whole.indicators if one.quantity.value is not None and one.name in (*PUBLISHED, "ERE")
    ]
    known += [one for one in found.whole.indicators if one.name.startswith("PUE") and one.quantity.value is not None]
    words = []
    if known:
        words.append(
            "; ".join(f"{one.of}: {one.name} {number(one.quantity)}" for one in known) + f" ({known[0].label})."
        )
    for balance in found.whole.balances:
        if balance.closed is False:
            words.append(
                f"The balance of {balance.name} does not close: {power(balance.residual, found.whole)} are missing."
            )
    return words or ["Nothing could be measured."]


def power(value: Quantity, window: Window) -> str:
    """An energy as mean power over its window."""
    length = (window.end_ns - window.begin_ns) * 1e-9
    if value.value is None or value.expanded is None:
        return "not measured"
    return f"{show(value.value / length, 'W', 4)} ± {show(value.expanded / length, 'W', 2)}"


def notices(found: Facility) -> list[Notice]:
    """Every doubt, once."""
    window = found.whole
    every = [*window.notices, *(note for one in window.indicators for note in one.quantity.notices)]
    every += [note for one in window.balances for note in one.residual.notices]
    every += [note for line in found.regressions for note in line.notices]
    every += [note for cop in found.cops for note in cop.notices]
    return list(dict.fromkeys(every))


# ----------------------------------------------------------------------------------------------------------------- tables


def _indicators(window: Window) -> Table:
    rows = tuple(
        (one.of, one.name, number(one.quantity), one.label, one.formula, one.title) for one in window.indicators
    )
    return Table(
        title="Ratios of integrals over the window",
        columns=(
            Column("of"),
            Column("ratio"),
            Column("value", "number"),
            Column("is"),
            Column("formula", "code"),
            Column("what it is"),
        ),
        rows=rows,
        caption="With U of 95 %. A PUE is of a year; anything shorter is interim and says its period.",
    )


def _balances(window: Window) -> tuple[Table, ...]:
    if not window.balances:
        return ()
    closed = {True: "met", False: "not met", None: "not measured"}
    rows = tuple(
        (
            one.name,
            power(one.into, window),
            power(one.out, window),
            power(one.losses, window),
            power(one.stored, window),
            power(one.residual, window),
            closed[one.closed],
        )
        for one in window.balances
    )
    heads = ("balance", "into", "out", "losses", "stored", "left over", "within U")
    kinds = ("text", "number", "number", "number", "number", "number", "state")
    columns = tuple(Column(head, kind) for head, kind in zip(heads, kinds, strict=True))  # type: ignore[arg-type]
    return (Table(title="Balances, as mean power", columns=columns, rows=rows),)


def _budgets(window: Window) -> tuple[Table | Text, ...]:
    rows = []
    for one in window.indicators:
        for term, share in shares(one.quantity)[:5]:
            if share >= 0.01:
                rows.append((f"{one.of} {one.name}", term.name, f"{share:.0%}", f"{abs(term.u):.2g}", term.text))
    told = [Text(text=f"{one.of} {one.name}: {text}") for one in window.indicators if (text := advice(one.quantity))]
    columns = (
        Column("ratio"),
        Column("term"),
        Column("share", "number"),
        Column("u", "number"),
        Column("how it was found"),
    )
    return (*told, Table(title="The largest terms", columns=columns, rows=tuple(rows), folded=True))


def _slopes(found: Facility) -> tuple[Table, ...]:
    rows = []
    for one in found.regressions:
        rise = f"{percent(one.rise)} at {one.at:g} degC" if one.rise is not None and one.at is not None else "-"
        bends = ", ".join(f"{place:.1f} degC" for place in one.bends) or "none"
        rows.append((one.name, slope_words(one.slope), percent(one.relative, "/K"), rise, bends, str(one.points)))
    tables = []
    if rows:
        heads = ("line", "slope", "of the value at the reference", "rise", "bends", "averages")
        tables.append(
            Table(title="Power over temperature", columns=tuple(Column(head) for head in heads), rows=tuple(rows))
        )
    planes = [one.plane for one in found.cops if one.plane is not None]
    by = [
        (slope.name, f"{slope.value or 0.0:+.4f} ± {slope.expanded or 0.0:.4f} 1/K", str(plane.points))
        for plane in planes
        for slope in plane.slopes
    ]
    if by:
        columns = (Column("by"), Column("slope", "number"), Column("averages", "number"))
        caption = "Each temperature alone, the others held."
        tables.append(Table(title="COP over temperatures", columns=columns, rows=tuple(by), caption=caption))
    return tuple(tables)


def _plant(data: Data, found: Facility) -> tuple[Table | Text, ...]:
    window = found.whole
    energies = tuple(
        (one.name, power(one, window), show(one.value, "J", 4), f"{one.seen or 0.0:.1%}", one.method)
        for one in window.energies
    )
    columns = (
        Column("flow"),
        Column("mean", "number"),
        Column("energy", "number"),
        Column("seen", "number"),
        Column("how"),
    )
    sensors = tuple(
        (one.name, one.title, f"{one.file}: {one.column}", _accuracy(data, one.name), one.note)
        for one in data.plant.sensors.values()
    )
    heads = ("sensor", "what", "where", "accuracy", "note")
    doubts = tuple(Text(text=f"{one.text}. {one.advice}") for one in notices(found))
    note = (Text(text=found.note),) if found.note else ()
    return (
        *note,
        *doubts,
        Table(title="Flows of energy", columns=columns, rows=energies),
        Table(title="Sensors", columns=tuple(Column(head) for head in heads), rows=sensors, folded=True),
    )


def _accuracy(data: Data, name: str) -> str:
    sensor = data.plant.sensors[name]
    one = sensor.accuracy
    parts = [f"{100 * one.reading:g} % of the reading"] * bool(one.reading)
    parts += [f"{100 * one.full_scale:g} % of the range"] * bool(one.full_scale)
    parts += [f"{one.absolute:g} {'K' if sensor.unit == 'degC' else sensor.unit}"] * bool(one.absolute)
    return (
        f"{' + '.join(parts) or 'not stated'} ({one.kind}) {one.source}".strip()
        if sensor.accuracy_known
        else "not stated"
    )


def course_points(course: Trend) -> tuple[tuple[int, float], ...]:
    """The stretches that were seen."""
    return tuple(
        (int(ns), float(value)) for ns, value in zip(course.middle_ns, course.value, strict=True) if np.isfinite(value)
    )


def least_step_s(data: Data) -> float:
    """Five of the longest cycle of a chiller."""
    cycles = [in_si(cop.cycle, "s", cop.name) for cop in data.plant.cops if cop.cycle]
    return 5 * max(cycles, default=0.0)
