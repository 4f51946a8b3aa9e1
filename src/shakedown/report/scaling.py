"""Scaling: a table of each count, what the laws say, the best counts, and efficiency drawn against the count.

``section(found)`` is what a report shows, ``document`` the page of the command; ``rows`` and ``sentences`` serve the
terminal as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from .. import __version__
from ..analysis.scaling import comparison
from ..analysis.scaling.comparison import Ratio
from ..document.model import Axis, Block, Column, Document, Figures, Lines, Point, Section, Series, Table
from ..document.text import listed, params_of, title_of
from ..records import BestCount, Scaling, ScalingLaw, ScalingSeries
from ..units import round_to, show, show_seconds

#: Series of which the page's beginning says a sentence.
MOST_LED = 8
_ONE = {"nodes": "node", "gpus": "GPU", "ranks": "rank", "cores": "core", "threads": "thread"}
_MANY = {**{name: name for name in _ONE}, "gpus": "GPUs"}
_COST = {
    "fastest": "time",
    "cheapest": "core hours",
    "most frugal": "energy",
    "least energy-delay product": "energy x time",
}


def title(series: ScalingSeries) -> str:
    """``hydro, n 1000: strong scaling over ranks``."""
    name = series.title if series.workload == "published" else series.workload
    words = params_of({key: value for key, value in series.params.items() if key not in ("host",)})
    whose = series.source if series.workload == "published" else series.host
    return f"{name}{f', {words}' if words else ''}: {series.kind} scaling over {_MANY[series.over]}" + (
        f" ({whose})" if whose else ""
    )


def rows(one: Scaling) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headings and cells; columns of which nothing is known are left out."""
    strong = one.series.kind == "strong"
    scaled = "speedup" if strong else "scaled speedup"
    headings = [_MANY[one.series.over], "launches", "time", "95 %", scaled, "efficiency", "95 %"]
    if strong:
        headings.append("Karp-Flatt")
    with_cost = all(row.core_hours is not None for row in one.speedups)
    with_energy = any(row.energy_j is not None for row in one.speedups)
    headings += ["core hours"] * with_cost + ["energy"] * with_energy
    cells = []
    for row, point in zip(one.speedups, one.series.points, strict=True):
        launches = 1 if one.series.within_launch else len(point.seconds)
        line = [
            str(row.count),
            str(launches),
            _time(row.seconds),
            _ends(row.seconds_low, row.seconds_high),
            round_to(row.speedup, 3),
            f"{row.efficiency:.1%}",
            _shares(row.efficiency_low, row.efficiency_high) if row is not one.speedups[0] else "reference",
        ]
        if strong:
            line.append("-" if row.karp_flatt is None else f"{row.karp_flatt:.2%}")
        if with_cost:
            line.append(round_to(row.core_hours or 0.0, 3))
        if with_energy:
            line.append(show(row.energy_j, "J"))
        cells.append(tuple(line))
    return tuple(headings), cells


def _time(seconds: float) -> str:
    """With the digits that a speedup needs: ``213 ms``, ``45.2 s``, ``16 min 56 s``."""
    return show(seconds, "s") if seconds < 100 else show_seconds(seconds)


def _ends(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"[{_time(low)}, {_time(high)}]"


def _shares(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"[{low:.1%}, {high:.1%}]"


def sentences(one: Scaling) -> list[str]:
    """What the laws say, which counts are best, and times that were asked for."""
    lines = [_law(each) for each in one.laws]
    lines += [_best(each, one.series) for each in one.best]
    for each in one.between:
        lines.append(
            f"At {_counted(each.count, one.series)}: {_time(each.seconds)} {_ends(each.low, each.high)}, {each.basis}."
        )
    return lines


def _law(law: ScalingLaw) -> str:
    small = law.parameter_name == "serial part"
    value = _part(law.parameter, small)
    words = f"{law.name}: {law.parameter_name} {value}"
    if law.low is not None and law.high is not None:
        words += f" [{_part(law.low, small)}, {_part(law.high, small)}]"
    if law.overhead is not None:
        words += f", overhead {law.overhead:.2g} a worker"
    if law.misfit_probability is None:
        return f"{words}; whether it holds cannot be checked."
    chance = "less than 0.001" if law.misfit_probability < 0.001 else f"{law.misfit_probability:.2g}"
    verdict = "is not contradicted" if law.state == "holds" else "does not hold"
    return f"{words}; it {verdict} (such a misfit has a probability of {chance})."


def _part(value: float, share: bool) -> str:
    return f"{value * 100:.3g} %" if share else f"{value:.3g}"


def _best(best: BestCount, series: ScalingSeries) -> str:
    value = _time(best.value) if best.unit == "s" else show(best.value, best.unit)
    if best.unit == "core h":
        value = f"{round_to(best.value, 3)} core hours"
    words = f"{best.what.capitalize()}: {_counted(best.count, series)} ({value})"
    if not best.told:
        return f"{words}; nothing shows the spread, so that others may be as good."
    if not best.with_it:
        return f"{words}."
    return f"{words}; cannot be distinguished from {listed(map(str, best.with_it))}."


def _counted(count: int, series: ScalingSeries) -> str:
    return f"{count} {_ONE[series.over] if count == 1 else _MANY[series.over]}"


def beside(found: Sequence[Scaling]) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Series that differ in one parameter alone (the MPI, the library), side by side: title, headings and cells of each
    set. The first is the reference; ratios above 1 are slower."""
    made = []
    for name, members in comparison.alike(found):
        words = [str(one.series.params.get(name, "-")) for one in members]
        shared = {key: value for key, value in members[0].series.params.items() if key != name}
        cells = [(str(row.workers), *(_ratio(each) for each in row.ratios)) for row in comparison.ratios(members)]
        told = title(msgspec.structs.replace(members[0].series, params=shared))
        headings = (_MANY[members[0].series.over], *(f"{word} over {words[0]}" for word in words[1:]))
        made.append((f"{told}, by {title_of(name)}", headings, cells))
    return made


def _ratio(one: Ratio | None) -> str:
    if one is None:
        return "-"
    if one.low is None or one.high is None:
        return round_to(one.value, 3)
    told = "" if one.low <= 1 <= one.high else " *"
    return f"{round_to(one.value, 3)} [{round_to(one.low, 3)}, {round_to(one.high, 3)}]{told}"


def section(found: Sequence[Scaling]) -> Section | None:
    """The part of a report; None where nothing was measured at several counts."""
    if not found:
        return None
    blocks: list[Block] = []
    for one in found:
        headings, cells = rows(one)
        notes = tuple(f"{notice.text}; {notice.advice}" for notice in one.notices)
        blocks.append(
            Table(
                title=title(one.series),
                columns=tuple(Column(heading, "number") for heading in headings),
                rows=tuple(cells),
                caption=" ".join(sentences(one)),
                notes=notes,
            )
        )
        blocks.append(Figures(figures=(figure(one),)))
    return Section(
        id="scaling", title="Scaling: how times fall with the number of workers", short="Scaling", blocks=tuple(blocks)
    )


def figure(one: Scaling) -> Lines:
    """Efficiency with its interval against the count, and what the laws that hold say of it."""
    series, first = one.series, one.speedups[0]
    ours = tuple(
        Point(
            row.count,
            row.efficiency,
            row.efficiency_low,
            row.efficiency_high,
            f"{_counted(row.count, series)}: {row.efficiency:.1%}",
        )
        for row in one.speedups
    )
    drawn = [Series("measured, 95 %", ours)]
    for law in one.laws:
        if law.state == "does not hold":
            continue
        factors = [row.count / first.count if series.kind == "strong" else 1.0 for row in one.speedups]
        points = tuple(
            Point(row.count, first.seconds / seconds / factor, None, None, f"{law.name}, {_counted(row.count, series)}")
            for row, seconds, factor in zip(one.speedups, law.seconds, factors, strict=True)
        )
        drawn.append(Series(law.name, points))
    counts = [row.count for row in one.speedups]
    last = one.speedups[-1]
    return Lines(
        title=f"Efficiency over {_MANY[series.over]}",
        caption=title(series),
        summary=f"{last.efficiency:.0%} at {_counted(last.count, series)}, of {_counted(first.count, series)} = 100 %",
        x=Axis(
            title=_MANY[series.over],
            labels={float(count): str(count) for count in counts},
            low=counts[0] / 1.2,
            high=counts[-1] * 1.2,
            log=True,
        ),
        unit="1",
        y_title="efficiency",
        series=tuple(drawn),
    )


def _lead(one: Scaling) -> str:
    """A series in one sentence."""
    first, last = one.speedups[0], one.speedups[-1]
    words = (
        f"{title(one.series)}: efficiency {last.efficiency:.0%} at {_counted(last.count, one.series)}, of {first.count}"
    )
    best = [f"{each.what} {_counted(each.count, one.series)}" for each in one.best]
    return f"{words}; {', '.join(best)}." if best else f"{words}."


def document(found: Sequence[Scaling]) -> Document:
    """The page of the command."""
    made = section(found)
    return Document(
        title="Scaling",
        subtitle=f"{len(found)} series" if len(found) > 1 else title(found[0].series),
        state="published" if all(one.series.workload == "published" for one in found) else "measured",
        counts=(),
        lead=tuple(_lead(one) for one in found[:MOST_LED]),
        sections=(made,) if made else (),
        footer=f"Made by Shakedown {__version__}.",
    )
