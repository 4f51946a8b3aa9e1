"""The figures of the page."""

from __future__ import annotations

from collections.abc import Callable

from ...document.axes import time_axis
from ...document.model import Axis, Bar, Bars, Histogram, Lines, Point, Rule, Series
from ...units import show_seconds
from . import tables
from .records import AccountingReport, Capacity, UsageOverTime
from .shapes import OTHERS

#: A capacity far above all use would press the bands flat: it is told in words then.
_FAR = 4.0
_WAIT_LABELS: dict[float, str] = {1: "1 s", 10: "10 s", 60: "1 min", 600: "10 min"}
_WAIT_LABELS |= {3600: "1 h", 28800: "8 h", 86400: "1 d", 604800: "7 d"}


def use(told: AccountingReport, *, gpus: bool = False) -> Lines | None:
    """CPUs (GPUs) in use over time, in bands by project, one above the other."""
    of: Callable[[UsageOverTime], dict[str, int]] = (lambda one: one.gpu_s_of) if gpus else (lambda one: one.cpu_s_of)
    what = "GPUs" if gpus else "CPUs"
    # In one order in both figures: a project keeps its colour.
    names = _ordered(told.courses, lambda one: one.cpu_s_of) or _ordered(told.courses, of)
    if len(told.courses) < 2 or not any(sum(of(one).values()) for one in told.courses):
        return None
    axis = time_axis(told.begin_s, told.end_s, told.zone)
    base = [0.0] * len(told.courses)
    series, highest = [], 0.0
    for name in names:
        points = []
        for place, one in enumerate(told.courses):
            share = of(one).get(name, 0) / (one.end_s - one.begin_s)
            low, base[place] = base[place], base[place] + share
            whole = sum(of(one).values()) / (one.end_s - one.begin_s)
            says = f"{one.name}: {name} {_number(share)} of {_number(whole)} {what}"
            points.append(Point((one.begin_s + one.end_s) / 2, base[place], low, base[place], says))
            highest = max(highest, base[place])
        series.append(Series(name, tuple(points)))
    there = _mean_capacity(told.capacity, told, gpus=gpus)
    rules: tuple[Rule, ...] = ()
    beyond = ""
    if there and there <= _FAR * highest:
        rules = (Rule(name=f"stated: {_number(there)} {what} in all", y=there, begin=axis.low, end=axis.high),)
    elif there:
        beyond = f" There were {_number(there)} {what}, beyond the scale."
    return Lines(
        title=f"{what} in use by project",
        caption=f"Mean of each {told.period}, one project above the other.{beyond}",
        summary=f"up to {_number(highest)} {what}",
        x=axis,
        unit="1",
        y_title=f"{what} in use",
        series=tuple(series),
        rules=rules,
    )


def _ordered(courses: tuple[UsageOverTime, ...], of: Callable[[UsageOverTime], dict[str, int]]) -> list[str]:
    sums: dict[str, int] = {}
    for one in courses:
        for name, seconds in of(one).items():
            sums[name] = sums.get(name, 0) + seconds
    return sorted((name for name in sums if sums[name]), key=lambda name: (name == OTHERS, -sums[name], name))


def _mean_capacity(capacity: Capacity | None, told: AccountingReport, *, gpus: bool) -> float | None:
    seconds = (capacity.gpu_s if gpus else capacity.cpu_s) if capacity else None
    return seconds / (told.end_s - told.begin_s) if seconds else None


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def utilisation(told: AccountingReport) -> Lines | None:
    """The share of the capacity that was used, over time: of all CPUs, of those that were up, and of the GPUs."""
    if told.capacity is None or len(told.courses) < 2:
        return None
    made: list[Series] = []

    def add(name: str, used: Callable[[UsageOverTime], int], there: Callable[[UsageOverTime], int | None]) -> None:
        points = []
        for one in told.courses:
            of = there(one)
            if of:
                share = used(one) / of
                points.append(
                    Point((one.begin_s + one.end_s) / 2, share, None, None, f"{one.name}: {100 * share:.1f} % {name}")
                )
        if len(points) > 1:
            made.append(Series(name, tuple(points)))

    add("of all CPUs", lambda one: one.cpu_s, lambda one: one.capacity_cpu_s)
    if told.capacity.down_cpu_s:
        add(
            "of the CPUs that were up",
            lambda one: one.cpu_s,
            lambda one: (one.capacity_cpu_s or 0) - (one.down_cpu_s or 0),
        )
    if told.whole.gpu_s is not None:
        add("of all GPUs", lambda one: one.gpu_s, lambda one: one.capacity_gpu_s)
    if not made:
        return None
    shares = [point.y for point in made[0].points]
    axis = time_axis(told.begin_s, told.end_s, told.zone)
    return Lines(
        title="Utilisation",
        caption=f"Allocated over what there was, of each {told.period}.",
        summary=f"from {100 * min(shares):.0f} to {100 * max(shares):.0f} % of all CPUs",
        x=axis,
        unit="%",
        y_title="utilisation, %",
        series=tuple(made),
        rules=(Rule(name="stated: all that there was", y=1.0, begin=axis.low, end=axis.high),)
        if max(shares) > 0.5
        else (),
    )


def waits(told: AccountingReport) -> Lines | None:
    """The share of runs that had begun after a wait."""
    made = []
    for spread in told.waits:
        runs = sum(one.runs for one in spread.bins)
        if not runs:
            continue
        done, points = 0, []
        for one in spread.bins:
            done += one.runs
            if one.high is not None:
                says = f"{100 * done / runs:.1f} % began within {show_seconds(one.high)}"
                points.append(Point(float(one.high), done / runs, None, None, f"{spread.name}: {says}"))
        made.append(Series("all partitions" if spread.name == "all" else spread.name, tuple(points)))
    if not made:
        return None
    whole = told.whole
    return Lines(
        title="Waiting",
        caption="Share of the runs that had begun so long after they were eligible.",
        summary=f"half within {tables.wait(whole.wait_median_s)}, nine of ten within {tables.wait(whole.wait_90_s)}",
        x=Axis(title="waited", labels=_WAIT_LABELS, low=0.9, high=604800 * 1.1, log=True),
        unit="%",
        y_title="begun, %",
        series=tuple(made),
    )


def efficiency(told: AccountingReport) -> Histogram | None:
    """CPU hours by the share of them that was used."""
    if not told.efficiencies:
        return None
    bins = tuple((one.low, one.high or 1.0, round(one.cpu_s / 3600)) for one in told.efficiencies)
    if not any(count for _, _, count in bins):
        return None
    mean = told.whole.cpu_efficiency
    return Histogram(
        title="CPU time used over that allocated",
        caption="CPU hours of the runs that ended, by how much of their CPU time they used.",
        summary="" if mean is None else f"{100 * mean:.0f} % on the whole",
        x_title="CPU time used",
        y_title="CPU hours",
        bins=bins,
    )


def sizes(told: AccountingReport) -> Bars | None:
    """Jobs and CPU hours by the size of a job."""
    table = next((one for one in told.tables if one.by == ("size",)), None)
    if table is None or not told.whole.cpu_s:
        return None
    jobs = sum(one.jobs for one in table.rows)
    bars = tuple(
        Bar(
            title=f"{one.key[0]} CPU{'' if one.key[0] == '1' else 's'}",
            detail=f"{one.jobs:,} jobs",
            value=f"{tables.compact((one.cpu_s or 0) / 3600)} CPU h",
            fractions=(
                ("of the CPU hours", (one.cpu_s or 0) / told.whole.cpu_s),
                ("of the jobs", one.jobs / jobs if jobs else 0.0),
            ),
        )
        for one in table.rows
        if one.runs
    )
    return Bars(title="Sizes of jobs", bars=bars)
