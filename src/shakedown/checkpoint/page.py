"""A checkpoint plan as a page: the waste over the MTTI, one curve a policy, and what it stands on."""

from __future__ import annotations

from collections.abc import Callable

from ..document.model import Axis, Document, Facts, Figures, Lines, Mark, Point, Region, Section, Series
from ..document.tables import table
from ..document.text import count
from ..units import show, show_seconds
from .plan import STANDSTILL, Curve, Plan, Policy, words

#: A waste above this is not drawn: its curve would flatten all others.
HIGHEST = 2.0
#: Where the axis of the MTTI may be marked, in seconds.
_TICKS = (1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400)


def lead(found: Plan) -> list[str]:
    """The recommendation in words, and how well the MTTI is known."""
    best = next(one for one in found.policies if one.name == found.best)
    cadence = next(one for one in found.policies if one.name == "cadence")
    at = show_seconds(found.mtti.mtti_s)
    return [
        f"{best.title[:1].upper()}{best.title[1:]}: {words(best)}. At a mean time to interrupt of {at} it wastes "
        f"{shown(best.waste)} ({shown(best.low)} to {shown(best.high)} over what the MTTI may be), of which "
        f"{show(best.overhead, '%')} is for checkpoints.",
        f"A fixed cadence of {show_seconds(found.costs.cadence_s)} wastes {shown(cadence.waste)}, and at least "
        f"{show(cadence.overhead, '%')} however reliable the machine is.",
        f"MTTI: {at} ({show_seconds(found.mtti.low_s)} to {show_seconds(found.mtti.high_s)}): {found.mtti.basis}.",
    ]


def shown(waste: float) -> str:
    """A waste for a person."""
    return show(waste, "%") if waste < STANDSTILL else "no progress"


def policy_cells(one: Policy) -> tuple[str, ...]:
    """Policy, waste, range, checkpoints alone, first order, drawn, intervals: as in the terminal."""
    drawn = (
        "-" if one.simulated is None or one.error is None else f"{show(one.simulated, '%')} ± {show(one.error, '%', 1)}"
    )
    return (
        one.title,
        shown(one.waste),
        f"{shown(one.low)} to {shown(one.high)}",
        show(one.overhead, "%"),
        "-" if one.first_order is None else shown(one.first_order),
        drawn,
        words(one),
    )


def interval_cells(one: Policy, found: Plan) -> tuple[str, ...]:
    """Policy, and its interval at each level of the plan."""
    of = {part.level: show_seconds(part.interval_s) for part in one.intervals}
    return (one.title, *(of.get(level.number, "-") for level in found.costs.levels))


POLICY_HEADINGS = (
    "policy",
    "waste",
    "over the MTTI's range",
    "checkpoints alone",
    "first order",
    "drawn failures",
    "intervals",
)
LEVEL_HEADINGS = ("level", "checkpoint", "restart", "failures that need it", "from")


def level_cells(found: Plan) -> list[tuple[str, ...]]:
    """Level, cost, restart, share of failures, source."""
    return [
        (one.title, f"{one.cost_s:.3g} s", f"{one.restart_s:.3g} s", show(one.share, "%"), one.source)
        for one in found.costs.levels
    ]


def document(found: Plan, *, version: str) -> Document:
    """The whole page."""
    figures = (waste_figure(found), kept_figure(found))
    policies = table(
        "Policies at today's MTTI",
        [policy_cells(one) for one in found.policies],
        [(name, "number" if at in range(1, 6) else "text", _cell(at)) for at, name in enumerate(POLICY_HEADINGS[:-1])],
        caption="Waste: time over useful time, less one. The recommended intervals are those of the least expected waste.",
    )
    intervals = table(
        "Intervals",
        [interval_cells(one, found) for one in found.policies],
        [
            ("policy", "text", _cell(0)),
            *((one.title, "number", _cell(at)) for at, one in enumerate(found.costs.levels, start=1)),
        ],
        caption="Useful time between two checkpoints of a level or above; - where a policy has none of that level alone.",
    )
    levels = table(
        "Levels",
        level_cells(found),
        [(name, "number" if at in (1, 2, 3) else "text", _cell(at)) for at, name in enumerate(LEVEL_HEADINGS)],
    )
    return Document(
        title=f"Checkpoint plan: {show(found.size_bytes, 'B')} on {count(found.nodes, 'node')}",
        subtitle=f"{show(found.size_bytes / found.nodes, 'B')} on each node",
        state="forecast",
        counts=(),
        lead=(*lead(found), *(f"{one.text}{f'; {one.advice}' if one.advice else ''}." for one in found.notices)),
        sections=(
            Section(id="waste", title="Waste", blocks=(Figures(figures=figures), policies, intervals)),
            Section(id="basis", title="What it stands on", blocks=(levels, _method(found))),
        ),
        footer=f"Made by Shakedown {version}; drawn failures with seed {found.seed}.",
    )


def _cell(at: int) -> Callable[[tuple[str, ...]], str]:
    return lambda row: row[at]


def _method(found: Plan) -> Facts:
    costs = found.costs
    return Facts(
        title="Method",
        pairs=(
            ("waste", "T/Ts - 1: time over the time that the work takes without failures and checkpoints"),
            ("failures", "Poisson; a failure of class i needs a checkpoint of level i or above, also while restarting"),
            ("intervals", "of least exact expected time over nested patterns; formulas of first order beside them"),
            (
                "asynchronous",
                f"blocked {costs.staging_s:.3g} s a checkpoint ({costs.staging_source}), {show(costs.slowdown, '%')} slower "
                f"while it drains ({costs.slowdown_source}); it protects once it has drained",
            ),
            ("band", "what the intervals for an MTTI waste if it is at the ends of its range, relative to today's"),
        ),
    )


# ----------------------------------------------------------------------------------------------------------------- figures


def waste_figure(found: Plan) -> Lines:
    """Waste over the MTTI: a curve a policy with its band, today's estimate marked."""
    best = next(one for one in found.policies if one.name == found.best)
    says = f"today's estimate: MTTI {show_seconds(found.mtti.mtti_s)}, {best.title}: {show(best.waste, '%')}"
    return Lines(
        title="Waste against mean time to interrupt",
        caption="Bands: what the chosen intervals waste if the MTTI is at the ends of what it may be.",
        summary=says,
        x=_axis(found),
        unit="%",
        y_title="waste",
        series=tuple(Series(one.title, _points(one)) for one in found.curves),
        marks=(Mark(name="today's estimate", x=found.mtti.mtti_s, y=min(best.waste, HIGHEST), says=says),),
        regions=_known(found),
        log=True,
    )


def kept_figure(found: Plan) -> Lines:
    """The recommended intervals, unchanged, beside the best ones of each MTTI."""
    best = next(one for one in found.curves if one.name == found.best)
    return Lines(
        title="The recommended intervals, if the MTTI is another",
        caption="How much is lost by not knowing the MTTI: little, next to choosing the wrong policy.",
        summary=f"{found.kept.title}, beside intervals chosen again for each MTTI",
        x=_axis(found),
        unit="%",
        y_title="waste",
        series=(
            Series("intervals as recommended", _bare(found.kept)),
            Series("intervals chosen for each MTTI", _bare(best)),
        ),
        regions=_known(found),
        log=True,
    )


def _known(found: Plan) -> tuple[Region, ...]:
    axis = _axis(found)
    begin, end = max(found.mtti.low_s, axis.low), min(found.mtti.high_s, axis.high)
    return (Region(name="what the MTTI may be", begin=begin, end=end),) if end > begin else ()


def _points(curve: Curve) -> tuple[Point, ...]:
    return tuple(
        Point(
            one.mtti_s,
            one.waste,
            min(one.low, HIGHEST),
            min(one.high, HIGHEST),
            f"{curve.title}, MTTI {show_seconds(one.mtti_s)}: {show(one.waste, '%')} "
            f"({shown(one.low)} to {shown(one.high)})",
        )
        for one in curve.points
        if one.waste <= HIGHEST
    )


def _bare(curve: Curve) -> tuple[Point, ...]:
    return tuple(
        Point(one.mtti_s, one.waste, None, None, f"MTTI {show_seconds(one.mtti_s)}: {show(one.waste, '%')}")
        for one in curve.points
        if one.waste <= HIGHEST
    )


def _axis(found: Plan) -> Axis:
    at = [point.mtti_s for point in found.curves[0].points]
    labels = {float(tick): _tick(tick) for tick in _TICKS if at[0] <= tick <= at[-1]}
    if len(labels) < 2:
        labels = {at[0]: show_seconds(at[0]), at[-1]: show_seconds(at[-1])}
    return Axis(title="mean time to interrupt", labels=labels, low=at[0], high=at[-1], log=True)


def _tick(seconds: int) -> str:
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"
