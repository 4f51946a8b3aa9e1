"""The report's section on power: the time line with the runs and their steady windows, a characterised meter's answer to
them, the meters, phases, and the budgets behind the energies. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..document.model import Axis, Block, Figures, Lines, Point, Region, Section, Series, Table, Text
from ..document.tables import table
from ..energy.uncertainty.quantity import advice
from ..records import (
    Analysis,
    MeterFit,
    MeterSeen,
    PhaseShown,
    PowerLine,
    PowerPart,
    PowerSpan,
    PowerView,
    Quantity,
    SteadyWindow,
)
from ..units import round_to, scale_for, show, show_seconds

#: Runs that a time line can name without their names running into each other.
MOST_REGIONS = 14
LEAST_REGION = 0.02  # of the axis: a shorter run is not named
MOST_LINES = 6  # in one figure
TERMS = 5  # of a budget that are shown
LEAST_READINGS = 8  # of a meter's fit, for it to be drawn
POINTS = 44  # of it that are drawn: more would hide each other
LEAST_SHARE = 0.001  # of the variance, below which a term is not shown


def section(analysis: Analysis) -> Section | None:
    """What the meters saw; None where none was read."""
    view = analysis.power
    if view is None:
        return None
    blocks: list[Block] = []
    figures = [figure for figure in _time_lines(view, view.steady) if figure is not None]
    figures += [figure for one in view.fits if (figure := _fit(one)) is not None]
    if figures:
        blocks.append(Figures(figures=tuple(figures)))
    if view.steady:
        blocks.append(_steady(view.steady))
    if view.phases:
        blocks.append(_phases(view.phases))
    blocks.append(_meters(view.meters))
    if view.parts:
        blocks.append(_parts(view.parts))
    if view.budgets:
        blocks += [_budgets(view.budgets), _terms(view.budgets)]
    if view.notices:
        blocks.append(
            table(
                "What to mind",
                view.notices,
                (("What was seen", "text", lambda one: one.text), ("What to do", "text", lambda one: one.advice)),
            )
        )
    if not figures and not view.budgets:
        blocks.append(Text(text="The meters answered, but no run lasted long enough for an energy."))
    return Section(id="power", title="Power and energy", short="Power", blocks=tuple(blocks))


# ------------------------------------------------------------------------------------------------------------ time lines


def _time_lines(view: PowerView, steady: Sequence[SteadyWindow]) -> list[Lines | None]:
    """One figure for each host and side of the power supply: a node's input and its sockets differ too much for one axis."""
    groups: dict[tuple[str, str], list[PowerLine]] = {}
    for line in view.lines:
        groups.setdefault((line.host, "node" if line.place != "component" else "part"), []).append(line)
    return [_time_line(view, host, kind, lines, steady) for (host, kind), lines in groups.items()]


def _time_line(
    view: PowerView, host: str, kind: str, lines: Sequence[PowerLine], steady: Sequence[SteadyWindow]
) -> Lines | None:
    shown = sorted(lines, key=lambda line: -max(line.mean))[:MOST_LINES]
    ends = [t for line in shown for t in (line.t_s[0], line.t_s[-1])]
    low, high = min(ends), max(ends)
    if high <= low:
        return None
    what = {"node": "Power at the input", "part": "Power of the parts"}[kind]
    where = f" of {host}" if host else ""
    left = f"; {len(lines) - len(shown)} more channels are in the readings" if len(lines) > len(shown) else ""
    runs = _runs(view.spans, low, high)
    tinted = [one for one in steady if one.steady and one.channel in {line.channel for line in shown}]
    # A tint means one thing on the whole page: with steady windows anywhere, runs are named only.
    regions = _tinted(runs, tinted) if steady else runs
    named = "; named: the runs" if runs else ""
    named += "; tinted: where the power is steady" if tinted else ""
    return Lines(
        title=f"{what}{where} over time",
        caption=f"Mean of segments of {show_seconds((high - low) / max(1, len(shown[0].t_s) - 1))}; bars from the least to "
        f"the greatest reading{named}{left}.",
        summary="; ".join(f"{line.title}: {_range(line)}" for line in shown),
        x=_axis(low, high),
        unit="W",
        y_title="power",
        series=tuple(Series(line.title, _points(line)) for line in shown),
        regions=regions,
    )


def _range(line: PowerLine) -> str:
    factor, unit = scale_for(max(line.high), line.unit)
    return f"{round_to(min(line.low) / factor, 3)} to {round_to(max(line.high) / factor, 3)} {unit}"


def _points(line: PowerLine) -> tuple[Point, ...]:
    return tuple(
        Point(t, mean, low, high, f"{line.title}, {show_seconds(t)}: {show(mean, line.unit)}")
        for t, mean, low, high in zip(line.t_s, line.mean, line.low, line.high, strict=True)
    )


def _axis(low: float, high: float) -> Axis:
    span = high - low
    step = next(
        size
        for size in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400, 1e9)
        if span / size <= 8
    )
    marks = [step * i for i in range(int(low // step), int(high // step) + 2) if low <= step * i <= high]
    return Axis(
        title="time since the first reading",
        labels={float(mark): show_seconds(mark) if mark else "0" for mark in marks},
        low=low,
        high=high,
    )


def _runs(spans: Sequence[PowerSpan], low: float, high: float) -> tuple[Region, ...]:
    runs = [one for one in spans if one.kind == "run" and (one.end_s - one.begin_s) >= LEAST_REGION * (high - low)]
    if len(runs) > MOST_REGIONS:
        return ()
    short = [one.name.split(",")[0] for one in runs]
    return tuple(
        Region(name=name, begin=max(low, one.begin_s), end=min(high, one.end_s))
        for name, one in zip(short, runs, strict=True)
    )


def _tinted(runs: Sequence[Region], steady: Sequence[SteadyWindow]) -> tuple[Region, ...]:
    """The steady windows as tinted regions, the runs as names alone: every second region is tinted, from the first on."""
    channel = steady[0].channel if steady else ""
    regions: list[Region] = []
    left = list(runs)
    for one in steady:
        if one.channel != channel:
            continue
        name = next((run for run in left if run.begin <= one.end_s and one.begin_s <= run.end), None)
        regions.append(Region(name="", begin=one.begin_s, end=one.end_s))
        regions.append(name or Region(name="", begin=one.end_s, end=one.end_s))
        left = [run for run in left if run is not name]
    for run in left:  # not steady anywhere
        regions += [Region(name="", begin=run.begin, end=run.begin), run]
    return tuple(regions)


# ------------------------------------------------------------------------------------------------------------- the meter


def _fit(one: MeterFit) -> Lines | None:
    """A characterised meter's readings beside what its model makes of the load that explains them best."""
    if len(one.t_s) < LEAST_READINGS:
        return None
    left = f"the model leaves {show(one.residual_w, 'W', 2)} a reading"
    wanted = f", the meter's noise and steps would leave {show(one.expected_w, 'W', 2)}" if one.expected_w else ""
    # So many readings about the greatest step that each can be seen.
    heights = [abs(after - before) for before, after in zip(one.load, one.load[1:], strict=False)]
    step_s = one.edges_s[1 + max(range(len(heights)), key=heights.__getitem__)] if heights else one.t_s[0]
    first = next((index for index, t in enumerate(one.t_s) if t >= step_s), 0)
    part = slice(max(0, first - POINTS // 4), max(0, first - POINTS // 4) + POINTS)
    t_s = one.t_s[part]
    low, high = t_s[0], t_s[-1]
    steps = [
        (min(max(edge, low), high), power)
        for begin, end, power in zip(one.edges_s, one.edges_s[1:], one.load, strict=False)
        if end > low and begin < high
        for edge in (begin, end)
    ]
    series = (
        Series("load that explains them", _plain(steps, "load")),
        Series("the meter's answer to it", _plain(list(zip(t_s, one.model[part], strict=True)), "model")),
        Series("readings", _plain(list(zip(t_s, one.readings[part], strict=True)), "reading")),
    )
    return Lines(
        title=f"{one.title}: the meter's answer",
        caption="The greatest step of the longest case. Readings with gain and offset taken out, beside what the meter's "
        "window and delay, as characterised, make of a load that is constant between the marks of the runs.",
        summary=left + wanted,
        x=_axis(low, high),
        unit="W",
        y_title="power",
        series=series,
    )


def _plain(pairs: Sequence[tuple[float, float]], what: str) -> tuple[Point, ...]:
    return tuple(Point(t, w, None, None, f"{what}, {show_seconds(t)}: {show(w, 'W')}") for t, w in pairs)


# ---------------------------------------------------------------------------------------------------------------- tables


def _steady(windows: Sequence[SteadyWindow]) -> Table:
    return table(
        "Steady state",
        windows,
        (
            ("During", "text", lambda one: one.run),
            ("Channel", "code", lambda one: one.channel),
            (
                "Since the first reading",
                "number",
                lambda one: f"{show_seconds(one.begin_s)} to {show_seconds(one.end_s)}" if one.steady else "none",
            ),
            ("Length", "number", lambda one: show_seconds(one.end_s - one.begin_s) if one.steady else ""),
            ("Mean power", "number", lambda one: show(one.power.value, "W", 4)),
            ("U (95 %)", "number", lambda one: _expanded(one.power)),
            ("Why not", "text", lambda one: "" if one.steady else one.why),
        ),
        optional=("Why not",),
        caption="The longest case of each run. Where no part of it is steady, the power is the mean of all of it, or what a "
        "warm-up that was fitted settles to.",
        fold_from=TERMS,
    )


def _phases(phases: Sequence[PhaseShown]) -> Table:
    return table(
        "Phases that the programs mark",
        phases,
        (
            ("During", "text", lambda one: one.run),
            ("Channel", "code", lambda one: one.channel),
            ("Phase", "text", lambda one: one.name),
            ("Length", "number", lambda one: show_seconds(one.seconds)),
            ("Mean power", "number", lambda one: show(one.power.value, "W", 4) if one.power else "not known"),
            ("U (95 %)", "number", lambda one: _expanded(one.power)),
            ("Energy", "number", lambda one: show(one.energy.value, "J", 4) if one.energy else ""),
            ("Why", "text", lambda one: one.why),
        ),
        optional=("Why",),
        caption="Each phase's energy between its marks, with what the readings leave open there; of a meter that averages "
        "for longer than a refresh, the powers that explain its readings (docs/energy.md, forward model), where they do.",
        fold_from=2 * TERMS,
    )


def _expanded(value: Quantity | None) -> str:
    """The expanded uncertainty, where there is one."""
    return "" if value is None or value.expanded is None else f"± {show(value.expanded, value.unit, 2)}"


def _meters(meters: Sequence[MeterSeen]) -> Table:
    return table(
        "Meters",
        meters,
        (
            ("Channel", "code", lambda one: one.channel),
            ("What it measures", "text", lambda one: f"{one.title}\n{one.note}" if one.note else one.title),
            ("Where", "text", lambda one: one.place),
            ("A reading stands for", "text", lambda one: one.stands_for),
            ("New value each", "number", lambda one: show_seconds(one.refresh_s) if one.refresh_s else "not known"),
            ("Readings", "number", lambda one: f"{one.readings:,}"),
            ("Without a value", "number", lambda one: f"{one.missing:,}" if one.missing else ""),
            ("Characterised", "text", lambda one: "yes" if one.characterised else "no"),
        ),
        caption="A meter that was not characterised counts with what its maker states; `shakedown meter characterise` "
        "finds its window, delay, gain and offset.",
    )


def _over_idle(part: PowerPart) -> str:
    """How much more than idle; what the power's own uncertainty hides is said to be so."""
    if part.over_idle_w is None:
        return ""
    if part.power.expanded is not None and abs(part.over_idle_w) <= part.power.expanded:
        return f"none beyond ± {show(part.power.expanded, 'W', 2)}"
    return show(part.over_idle_w, "W")


def _parts(parts: Sequence[PowerPart]) -> Table:
    return table(
        "Where the power goes",
        parts,
        (
            ("During", "text", lambda one: one.case),
            ("Channel", "code", lambda one: one.part),
            ("Within", "code", lambda one: one.within),
            ("Mean power", "number", lambda one: show(one.power.value, "W")),
            ("U (95 %)", "number", lambda one: _expanded(one.power)),
            ("More than idle", "number", _over_idle),
        ),
        optional=("Within", "Mean power", "U (95 %)", "More than idle"),
        caption="The longest case of each workload. A rest is what flows into a feed and into none of its metered parts: "
        "fans, losses of the power supply, what has no meter.",
    )


def _relative(one: Quantity) -> str:
    return "" if not one.value or one.expanded is None else f"{one.expanded / abs(one.value):.1%}"


def _budgets(budgets: Sequence[Quantity]) -> Table:
    return table(
        "Energies and how precisely they are known",
        budgets,
        (
            ("Energy of", "text", lambda one: one.name),
            ("Value", "number", lambda one: show(one.value, one.unit, 4)),
            ("U (95 %)", "number", _expanded),
            ("U of the value", "number", _relative),
            ("How it was made", "text", lambda one: one.method),
            ("What to improve", "text", advice),
        ),
        fold_from=TERMS,
    )


def _terms(budgets: Sequence[Quantity]) -> Table:
    """The largest terms of the energy that is known worst, relatively, of those with a value."""
    worst = max(budgets, key=lambda one: (one.u or 0.0) / abs(one.value) if one.value else 0.0)
    total = sum(term.u**2 for term in worst.terms) or 1.0
    return table(
        f"Budget: {worst.name}",
        [term for term in worst.terms[:TERMS] if term.u**2 >= LEAST_SHARE * total],
        (
            ("Term", "text", lambda term: term.name),
            ("u", "number", lambda term: show(abs(term.u), worst.unit, 2)),
            ("Share of the variance", "number", lambda term: f"{term.u**2 / total:.0%}"),
            ("How it was found", "text", lambda term: term.text),
            ("Remedy", "text", lambda term: term.remedy),
        ),
        caption="The energy that is known worst of those above. u is one standard uncertainty (GUM).",
    )
