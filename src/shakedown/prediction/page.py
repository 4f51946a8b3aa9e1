"""A forecast as a page: the report's Document, with the figures of weak and strong scaling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..document.model import Axis, Column, Document, Facts, Figures, Lines, Point, Section, Series, Table, Text
from ..document.tables import table
from ..units import show, show_seconds
from .forecast import LEVEL, Forecast, Moves, Predicted, summary
from .numbers import interval, percent, signed
from .priors import Prior
from .ranked import best_sentence, ranked_table
from .ranking import Ranked
from .setup import Setup

#: Forecasts of the two formulas to beat, in the order of ``Forecast.predicted``: name -> rates in flop/s.
Baselines = Mapping[str, Sequence[float]]


def document(
    setup: Setup,
    found: Forecast,
    strong: Forecast | None,
    baselines: Baselines,
    *,
    version: str,
    ranked: Sequence[Ranked] = (),
    said: Sequence[str] = (),
) -> Document:
    """The whole page. ``strong`` has the same N for every number of nodes; None leaves its figure out. ``said``: further
    sentences for its beginning."""
    last = headline(found, ranked)
    figures = [weak_figure(found, baselines)]
    if strong is not None and len(strong.predicted) > 1:
        figures.append(strong_figure(strong))
    sections = (
        Section(
            id="forecast", title="Forecast", blocks=(_table(found), *ranked_table(ranked), *_errors(found, baselines))
        ),
        Section(id="scaling", title="Scaling", blocks=(Figures(figures=tuple(figures)),)),
        Section(id="sensitivity", title="What moves the forecast", blocks=(_moves(last, found.counts),)),
        Section(id="shares", title="Where the time goes", blocks=(_shares(found),)),
        Section(id="basis", title="What it stands on", blocks=(_calibration(found), _inputs(setup), _method(found))),
    )
    return Document(
        title=f"HPL forecast: {setup.title}",
        subtitle=f"{found.counts} {', '.join(dict.fromkeys(str(one.count) for one in found.predicted))}",
        state="forecast",
        counts=(),
        lead=(*lead(found, ranked), *said),
        sections=sections,
        footer=f"Made by Shakedown {version}: {found.draws} draws, seed {found.seed}.",
    )


def lead(found: Forecast, ranked: Sequence[Ranked] = ()) -> list[str]:
    """The largest forecast in words (the best of those that are ranked), and the two inputs that its interval hangs on;
    what is wrong with the measured runs."""
    last = headline(found, ranked)
    words = [
        f"{last.count} {found.counts} are forecast to reach {show(last.rate, 'flop/s', 4)} at N = {last.n:,} "
        f"({percent(LEVEL, 0)} interval {interval(last.low, last.high, 'flop/s')}), "
        f"{percent(last.of_dgemm)} of their DGEMM, in {show_seconds(last.time_s)}."
    ]
    if ranked:
        words.append(best_sentence(ranked))
    if top := dominant(last):
        words.append("Its interval hangs most on " + " and on ".join(_moved(one) for one in top) + ".")
    if found.notices:
        words.append("The measured runs do not agree with one another or with the description.")
        words += found.notices
    return words


def headline(found: Forecast, ranked: Sequence[Ranked] = ()) -> Predicted:
    """The largest forecast; where several ways to run on so many nodes are ranked, the best of them."""
    if not ranked:
        return found.predicted[-1]
    best = max((one for one in ranked if one.count == ranked[-1].count), key=lambda one: one.rate)
    own = [one for one in found.predicted if (one.count, one.n, one.p, one.q) == (best.count, best.n, best.p, best.q)]
    return next(one for one in own if one.variant == best.variant)


def dominant(one: Predicted) -> tuple[Moves, ...]:
    """The two inputs that move a forecast most; the model's own error is none that could be measured."""
    return tuple(move for move in one.sensitivity if move.input != "model")[:2]


def _moved(one: Moves) -> str:
    return f"{one.title} ({span(one)}: {signed(one.moves)})"


def span(one: Moves) -> str:
    """From where to where an input goes: ``0.4 % to 2.5 %``."""
    unit = "%" if one.unit == "1" and one.high <= 1 else one.unit
    return f"{show(one.low, unit, 2)} to {show(one.high, unit, 2)}"


# ----------------------------------------------------------------------------------------------------------------- tables


def _table(found: Forecast) -> Table:
    columns = [
        Column(found.counts, "number"),
        Column("P x Q"),
        Column("N", "number"),
        Column("forecast", "number"),
        Column(f"{percent(LEVEL, 0)} interval", "number"),
        Column("of DGEMM", "number"),
        Column("time", "number"),
    ]
    known = any(one.measured is not None for one in found.predicted)
    if known:
        columns += [Column("measured", "number"), Column("error", "number"), Column("inside")]
    rows = []
    for one in found.predicted:
        row = [*cells(one), show_seconds(one.time_s)]
        if known:
            row += held_out(one)
        rows.append(tuple(row))
    return Table(title="Forecasts", columns=tuple(columns), rows=tuple(rows))


def cells(one: Predicted) -> list[str]:
    """Count, grid (and what else differs), N, forecast, interval, share of DGEMM: as in the terminal."""
    return [
        str(one.count),
        f"{one.p} x {one.q}" + (f", {one.variant}" if one.variant else ""),
        f"{one.n:,}",
        show(one.rate, "flop/s", 4),
        interval(one.low, one.high, "flop/s"),
        percent(one.of_dgemm),
    ]


def held_out(one: Predicted) -> list[str]:
    """What was measured, the forecast's error, and whether the interval has it; dashes where nothing was measured."""
    if one.measured is None or one.error is None:
        return ["-", "-", "-"]
    inside = one.low <= one.measured <= one.high
    return [show(one.measured, "flop/s", 4), signed(one.error), "yes" if inside else "no"]


def comparison(found: Forecast, baselines: Baselines) -> list[tuple[str, str, str]]:
    """(forecast, mean error, worst error) of ours and of the formulas, over the rows that were measured."""
    ours = summary(found)
    if not ours:
        return []
    rows = [("this forecast", percent(ours["mean_error"]), percent(ours["worst_error"]))]
    for name, rates in baselines.items():
        errors = [
            abs(rate / one.measured - 1) for rate, one in zip(rates, found.predicted, strict=True) if one.measured
        ]
        rows.append((name, percent(sum(errors) / len(errors)), percent(max(errors))))
    return rows


def _errors(found: Forecast, baselines: Baselines) -> tuple[Table | Text, ...]:
    rows = comparison(found, baselines)
    if not rows:
        return ()
    ours = summary(found)
    return (
        Table(
            title="Against what was measured",
            columns=(Column("forecast"), Column("mean error", "number"), Column("worst", "number")),
            rows=tuple(rows),
            caption=f"{percent(ours['covered'], 0)} of {ours['rows']} measured rates lie in their intervals, which are "
            f"{percent(ours['mean_width'])} of the forecast wide in the mean.",
        ),
    )


def _moves(one: Predicted, counts: str) -> Table:
    return table(
        f"{one.count} {counts}",
        one.sensitivity,
        (
            ("input", "text", lambda move: move.title),
            ("from its 10 % to its 90 % quantile", "text", span),
            ("moves the rate", "number", lambda move: signed(move.moves)),
            ("where the range comes from", "note", lambda move: move.source),
        ),
        caption="Each alone, the others as they are; given what the calibrating runs show. Measure the first ones to "
        "narrow the interval.",
    )


def _shares(found: Forecast) -> Table:
    names = tuple(found.predicted[0].shares)
    return Table(
        title="Shares of the time",
        columns=(Column(found.counts, "number"), *(Column(name, "number") for name in names)),
        rows=tuple((str(one.count), *(percent(one.shares[name]) for name in names)) for one in found.predicted),
        caption="update: DGEMM of the trailing matrix; panel: its factorization; solve: triangular solves; rows: rows "
        "gathered in memory; messages: rows exchanged and panels passed on; wait: for panels.",
    )


def _calibration(found: Forecast) -> Table:
    return table(
        "Runs that it was calibrated with",
        found.calibrated,
        (
            (found.counts, "number", lambda one: str(one.row.count)),
            ("N", "number", lambda one: f"{one.row.n:,}"),
            ("measured", "number", lambda one: show(one.row.rate, "flop/s", 4)),
            ("fitted", "number", lambda one: show(one.fitted, "flop/s", 4)),
            ("error", "number", lambda one: signed(one.error, 2)),
            ("where", "note", lambda one: one.row.where),
        ),
        caption=f"DGEMM of a rank, from them: {show(found.dgemm[1], 'flop/s')} ({show(found.dgemm[0], 'flop/s')} to "
        f"{show(found.dgemm[2], 'flop/s')}).",
    )


def _range(prior: Prior) -> str:
    unit = "%" if prior.unit == "1" and prior.high <= 1 else prior.unit
    return show(prior.low, unit, 2) + (f" to {show(prior.high, unit, 2)}" if prior.low < prior.high else "")


def _inputs(setup: Setup) -> Table:
    return table(
        "Inputs before calibration",
        setup.priors.values(),
        (
            ("input", "text", lambda prior: prior.title),
            ("range", "text", _range),
            ("is", "text", lambda prior: "measured" if prior.measured else "assumed"),
            ("source", "note", lambda prior: prior.source),
        ),
        fold_from=0,
    )


def _method(found: Forecast) -> Facts:
    return Facts(
        title="Method",
        pairs=(
            ("model", "one iteration at a time, in its steady state; messages share links by counting flows"),
            (
                "draws",
                f"{found.draws} over the ranges, weighted by how well they explain the calibrating runs; they count "
                f"for {found.effective_draws:.0f}",
            ),
            ("forecast", f"weighted median; the interval holds the middle {percent(LEVEL, 0)}"),
        ),
    )


# ---------------------------------------------------------------------------------------------------------------- figures


def weak_figure(found: Forecast, baselines: Baselines) -> Lines:
    """Rate for each node (GPU) over their number: forecast with its interval, what was measured, the formulas."""
    unit = "flop/s"
    each = found.counts[:-1]
    ours = tuple(
        Point(
            one.count,
            one.rate / one.count,
            one.low / one.count,
            one.high / one.count,
            f"forecast, {one.count} {found.counts}: {show(one.rate / one.count, unit)} a {each}",
        )
        for one in found.predicted
    )
    series = [Series("forecast and its interval", ours)]
    measured = [(one.row.count, one.row.rate) for one in found.calibrated]
    held = [(one.count, one.measured) for one in found.predicted]
    for name, pairs in (("measured, for calibration", measured), ("measured, held out", held)):
        points = tuple(
            Point(count, rate / count, None, None, f"{name}, {count} {found.counts}: {show(rate / count, unit)}")
            for count, rate in pairs
            if rate is not None
        )
        if points:
            series.append(Series(name, points))
    for name, rates in baselines.items():
        series.append(
            Series(
                name,
                tuple(
                    Point(
                        one.count, rate / one.count, None, None, f"{name}, {one.count}: {show(rate / one.count, unit)}"
                    )
                    for one, rate in zip(found.predicted, rates, strict=True)
                ),
            )
        )
    last = found.predicted[-1]
    return Lines(
        title=f"Weak scaling: rate of a {each}",
        caption="N of each run as in the table.",
        summary=f"forecast {show(ours[0].y, unit)} at {found.predicted[0].count}, {show(ours[-1].y, unit)} at {last.count}",
        x=_axis([point.x for one in series for point in one.points], found.counts),
        unit=unit,
        y_title=f"rate of a {each}",
        series=tuple(series),
        from_zero=False,
    )


def strong_figure(strong: Forecast) -> Lines:
    """Rate at one N over the number of nodes, beside a rate that grows with their number."""
    first, last = strong.predicted[0], strong.predicted[-1]
    unit = "flop/s"
    points = tuple(
        Point(one.count, one.rate, one.low, one.high, f"{one.count} {strong.counts}: {show(one.rate, unit)}")
        for one in strong.predicted
    )
    ideal = tuple(
        Point(
            one.count, first.rate * one.count / first.count, None, None, f"in proportion, {one.count} {strong.counts}"
        )
        for one in strong.predicted
    )
    share = last.rate / first.rate * first.count / last.count
    return Lines(
        title=f"Strong scaling: rate at N = {first.n:,}",
        caption=f"{percent(share, 0)} of proportional growth from {first.count} to {last.count} {strong.counts}.",
        summary=f"{show(first.rate, unit)} at {first.count}, {show(last.rate, unit)} at {last.count}",
        x=_axis([point.x for point in points], strong.counts),
        unit=unit,
        y_title="rate",
        series=(Series("forecast and its interval", points), Series("in proportion", ideal)),
        log=True,
    )


def _axis(xs: Sequence[float], title: str) -> Axis:
    """Marked at counts that are there, at least a factor of 1.6 apart."""
    counts = sorted(set(xs))
    shown: list[float] = []
    for one in reversed(counts):
        if not shown or one * 1.6 <= shown[-1]:
            shown.append(one)
    return Axis(
        title=title, labels={one: f"{one:g}" for one in shown}, low=counts[0] / 1.2, high=counts[-1] * 1.2, log=True
    )
