"""Histories of runs: what changed and what changed with it, each series with a control chart.

``document`` is the page of the command; rows and sentences serve the terminal as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import __version__, times
from ..document.axes import time_axis
from ..document.model import Axis, Block, Column, Document, Figures, Lines, Point, Region, Section, Series, Table, Text
from ..document.text import count, listed, params_of
from ..records import FactChange, Trend, TrendCause, TrendChange, TrendEvent, TrendSeries
from ..units import show

#: Charts on a page, and rows of what was left out; the JSON holds all.
MOST_CHARTS, MOST_LEFT_OUT = 40, 10
#: Levels that a chart draws, the newest: there are so many colours.
_MOST_LEVELS = 7
_STATES = {
    "as good": "as good",
    "worse": "worse",
    "better": "better",
    "other": "another level",
    "too few runs": "too few runs",
}
_Rows = tuple[tuple[str, ...], list[tuple[str, ...]]]


def title(one: TrendSeries) -> str:
    """``STREAM triad, 2 threads, 1 GiB (node1)``."""
    words = params_of(one.params)
    return f"{one.title}{f', {words}' if words else ''} ({one.host or 'host not known'})"


def day(at_ns: int) -> str:
    return times.utc_day(at_ns * 1e-9)


def _ratio(one: TrendChange) -> str:
    return f"{one.ratio - 1:+.2%} [{one.low - 1:+.2%}, {one.high - 1:+.2%}]"


def lead(found: Trend) -> list[str]:
    """What it comes to, a sentence each."""
    watched = [one for one in found.series if one.state != "too few runs"]
    worse = [one for one in watched if one.state == "worse"]
    lines = [
        f"{count(found.runs, 'run')}, {count(len(found.series), 'figure')}: {len(watched)} with runs enough to say, "
        f"{len(worse)} worse than before."
    ]
    if len(watched) < len(found.series):
        lines.append(
            f"{len(found.series) - len(watched)} have fewer than 8 values, or all at one time: nothing is said of them."
        )
    if watched:
        lines.append(
            f"Chosen: at most {_alarms(watched[0].rate)} a year and figure; of {count(len(watched), 'figure')} together "
            f"at most {len(watched) * watched[0].rate:g} a year."
        )
        spreads = sorted(one.spread for one in watched if one.spread is not None)
        middle = spreads[len(spreads) // 2] if spreads else 0.0
        if middle:
            lines.append(
                f"A run scatters by {middle:.2%} (the middle figure): a change of {2 * middle:.2%} is found within 8 runs "
                "where some 50 lie before it."
            )
    if found.left_out:
        lines.append(f"{count(len(found.left_out), 'thing was', 'things were')} left out; the notes say why.")
    return lines


def _alarms(rate: float) -> str:
    return f"{rate:g} false alarm{'s' * (rate != 1)}"


# ----------------------------------------------------------------------------------------------------------------- events


def event_title(event: TrendEvent, found: Trend) -> str:
    """``node1, 2026-11-20: worse (3 figures)``."""
    words = {"worse": "worse", "better": "better", "other": "another level"}[event.sense]
    series, number = event.changes[0]
    change = found.series[series].changes[number]
    back = ", which takes back the change before it" if change.returned else ""
    figures = count(len(event.changes), "figure")
    return f"{event.host or 'host not known'}, {day(event.at_ns)}: {words} ({figures}){back}"


def change_rows(event: TrendEvent, found: Trend) -> _Rows:
    headings = ("figure", "before", "after", "change, 95 %", "known after")
    rows: list[tuple[str, ...]] = []
    for series, number in event.changes:
        one = found.series[series]
        change = one.changes[number]
        runs = count(max(change.told - change.first + 1, 1), "run")
        cells = (show(one.levels[number].value, one.unit), show(one.levels[number + 1].value, one.unit))
        rows.append((title(one), *cells, _ratio(change), runs))
    return headings, rows


def event_sentences(event: TrendEvent, found: Trend) -> list[str]:
    """Between which runs, and what explains it."""
    del found
    lines = [
        f"First in {event.run}; between {event.after_run} and {event.until_run} with 95 %."
        if event.after_run != event.until_run
        else f"First in {event.run}."
    ]
    near = [fact for cause in event.causes[: event.close] for fact in cause.facts]
    if event.verdict == "one":
        share = event.causes[0].share
        lines.append(f"What explains it: {_change(near[0])} ({share:.0%} of the likelihood).")
    elif event.verdict == "not distinguished":
        lines.append(
            "These changed with it and cannot be distinguished by this history: "
            f"{listed((_change(one) for one in near), 8)}. A run with one of them as before would distinguish them."
        )
    elif event.verdict == "none recorded":
        lines.append("No fact that is recorded explains it: what changed is likely not among them.")
    else:
        lines.append("Nothing that is recorded changed about it.")
    return lines


def cause(event: TrendEvent) -> str:
    """What explains an event, in a word or two."""
    near = [fact for one in event.causes[: event.close] for fact in one.facts]
    words = {"none recorded": "no recorded cause", "nothing recorded changed": "nothing recorded changed"}
    return words.get(event.verdict) or listed((_change(one) for one in near), 2)


def _change(one: FactChange) -> str:
    return f"{one.fact}: {_short(one.before)} -> {_short(one.after)}"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def cause_rows(event: TrendEvent) -> _Rows:
    """The facts that changed, the best first; beside them what is not recorded."""
    headings = ("what changed", "before", "after", "likelihood", "elsewhere")
    rows: list[tuple[str, ...]] = []
    for cause in event.causes:
        rows += [
            (one.fact, _short(one.before), _short(one.after), _share(cause), _elsewhere(one)) for one in cause.facts[:8]
        ]
    if rows:
        rows.append(("(something not recorded)", "", "", _percent(event.unknown_share), ""))
    return headings, rows


def _share(cause: TrendCause) -> str:
    together = f" with {len(cause.facts) - 1} more" if len(cause.facts) > 1 else ""
    return f"{_percent(cause.share)}{together}"


def _percent(share: float) -> str:
    return "under 0.1 %" if share < 0.001 else f"{share:.1%}"


def _elsewhere(one: FactChange) -> str:
    words = [f"{one.again} times with such an effect"] * (one.again > 0)
    words += [f"{one.without} times without effect"] * (one.without > 0)
    return ", ".join(words)


# ----------------------------------------------------------------------------------------------------------------- series


def series_rows(series: Sequence[TrendSeries]) -> _Rows:
    headings = ("figure", "runs", "since", "level now", "scatter", "state")
    rows: list[tuple[str, ...]] = []
    for one in series:
        last = one.levels[-1] if one.levels else None
        state = _STATES[one.state]
        if one.against_best is not None:
            state = f"worse: {one.against_best - 1:+.2%}"
        rows.append(
            (
                title(one),
                str(len(one.points)),
                day(one.points[last.begin if last else 0].at_ns),
                show(last.value if last else one.points[-1].value, one.unit),
                "-" if one.spread is None else f"{one.spread:.2%}",
                state,
            )
        )
    return headings, rows


def remarks(found: Trend) -> list[str]:
    """What else must be known: of hosts, of series, of what was left out."""
    lines = [_noted(one.text, one.advice) for one in found.notices]
    told: dict[str, list[TrendSeries]] = {}
    for one in found.series:
        for notice in one.notices:
            told.setdefault(_noted(notice.text, notice.advice), []).append(one)
        if one.passed:
            runs = listed(one.points[at].run for at in one.passed)
            told.setdefault(f"what was reported as a change after {runs} has not lasted", []).append(one)
    lines += [f"{listed((title(one) for one in which), 2)}: {text}" for text, which in told.items()]
    lines += [f"left out: {one.what}: {one.why}" for one in found.left_out[:MOST_LEFT_OUT]]
    if len(found.left_out) > MOST_LEFT_OUT:
        lines.append(f"left out: {len(found.left_out) - MOST_LEFT_OUT} more (--json names all)")
    return lines


def _noted(text: str, advice: str) -> str:
    return f"{text}; {advice}" if advice else text


def figure(one: TrendSeries, found: Trend) -> Lines:
    """The control chart: each value, the levels with what a run scatters, and where they change."""
    begin, end = (point.at_ns * 1e-9 for point in (one.points[0], one.points[-1]))
    axis = time_axis(begin, end, "UTC", pad=0.02)
    values = tuple(
        Point(
            point.at_ns * 1e-9,
            point.value,
            None,
            None,
            f"{day(point.at_ns)}, {point.run}: {show(point.value, one.unit)}",
        )
        for point in one.points
    )
    drawn = [Series("a run", values)]
    for level in one.levels:
        name = "level, with three deviations of a run"
        ends = (one.points[level.begin].at_ns * 1e-9, one.points[level.begin + level.points - 1].at_ns * 1e-9)
        half = 3 * (one.spread or 0.0) * level.value
        says = f"level {show(level.value, one.unit)} over {count(level.points, 'run')}"
        points = tuple(Point(x, level.value, level.value - half, level.value + half, says) for x in dict.fromkeys(ends))
        drawn.append(Series(name if level is one.levels[0] else f"level from {day(int(ends[0] * 1e9))}", points))
    return Lines(
        title=title(one),
        caption=_causes_of(one, found) or "no change",
        summary=f"{_STATES[one.state]}: {show(one.levels[-1].value, one.unit)} now" if one.levels else "too few runs",
        x=axis,
        unit=one.unit,
        y_title="",
        series=(drawn[0], *drawn[1:][-_MOST_LEVELS:]),
        regions=_regions(one, axis),
        from_zero=False,
    )


def _regions(one: TrendSeries, axis: Axis) -> tuple[Region, ...]:
    """The levels as stretches, named by their change."""
    found = []
    for index, level in enumerate(one.levels):
        begin = one.points[level.begin].at_ns * 1e-9 if index else axis.low
        after = one.levels[index + 1].begin if index + 1 < len(one.levels) else None
        end = axis.high if after is None else one.points[after].at_ns * 1e-9
        name = f"{one.changes[index - 1].ratio - 1:+.2%}" if index else ""
        found.append(Region(name=name, begin=begin, end=end))
    return tuple(found) if len(found) > 1 else ()


def _causes_of(one: TrendSeries, found: Trend) -> str:
    """The causes of its changes, the newest first."""
    words = []
    for event in found.events:
        if any(found.series[series] is one for series, _ in event.changes):
            near = [_change(fact) for cause in event.causes[: event.close] for fact in cause.facts]
            words.append(f"{day(event.at_ns)}: {' or '.join(near[:3]) or 'no recorded cause'}")
    return "; ".join(words[:4])


# ------------------------------------------------------------------------------------------------------------------- page


def sections(found: Trend) -> tuple[Section, ...]:
    """Changes with their causes, then the charts and the notes."""
    made = []
    blocks: list[Block] = []
    for event in found.events:
        headings, rows = change_rows(event, found)
        blocks.append(_table(event_title(event, found), headings, rows, " ".join(event_sentences(event, found))))
        headings, rows = cause_rows(event)
        if rows:
            blocks.append(_table("What else changed about it", headings, rows))
    made.append(
        Section(
            id="changes",
            title="What changed, since when, and what changed with it",
            short="Changes",
            blocks=tuple(blocks) or (Text(text="No figure changed."),),
        )
    )
    changed = sorted(
        (one for one in found.series if one.levels), key=lambda one: (one.state != "worse", not one.changes)
    )
    if changed:
        figures = Figures(figures=tuple(figure(one, found) for one in changed[:MOST_CHARTS]))
        made.append(Section(id="charts", title="Control charts", short="Charts", blocks=(figures,)))
    headings, rows = series_rows(found.series)
    made.append(Section(id="series", title="All figures", short="Figures", blocks=(_table("", headings, rows),)))
    if lines := remarks(found):
        made.append(
            Section(id="notes", title="Notes", short="Notes", blocks=tuple(Text(text=f"{line}.") for line in lines))
        )
    return tuple(made)


def _table(name: str, headings: Sequence[str], rows: Sequence[tuple[str, ...]], caption: str = "") -> Table:
    return Table(title=name, columns=tuple(Column(one) for one in headings), rows=tuple(rows), caption=caption)


def document(found: Trend) -> Document:
    """The page of the command."""
    worse = any(one.state == "worse" for one in found.series)
    return Document(
        title="Trend",
        subtitle=f"{count(found.runs, 'run')}, {count(len(found.series), 'figure')}",
        state="worse" if worse else "measured",
        counts=(),
        lead=tuple(lead(found)),
        sections=sections(found),
        footer=f"Made by Shakedown {__version__}.",
    )
