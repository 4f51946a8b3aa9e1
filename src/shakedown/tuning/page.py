"""report.html of a tuning run: one file that works without a network, in the form of every other report.

The figures are those of TSUBAME's report (Sun 820-0831, figures 3-1, 3-3, 3-4, 3-6, 3-9 and 3-11): NB, binding,
processes x threads, broadcast, P x Q and N, here with intervals; further parameters follow where they were varied.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import times
from ..document.model import (
    Axis,
    Block,
    Column,
    Document,
    Dots,
    Facts,
    Figures,
    Lines,
    Logs,
    Point,
    Section,
    Series,
    Table,
    Text,
)
from ..document.model import Log as LogBlock
from ..records import Value
from ..report.formats.html import render_document
from ..units import round_to, show, show_seconds
from ..workloads.common.hpl import flop
from .explain import interval, percent, title
from .records import Candidate, Effect, Level, Result, Trial
from .space import say, words

_ORDER = ("nb", "binding", "layout", "bcast", "grid")


def page(result: Result, *, host: str, hpl_dat: str, trials: Sequence[Trial], created_ns: int) -> str:
    """The whole report as one HTML file."""
    sections = [_choice(result, hpl_dat)]
    figures = _figures(result)
    if figures:
        sections.append(
            Section(id="figures", title="Each parameter", short="Figures", blocks=(figures, *_missing(result)))
        )
    sections += [_mattered(result), _compared(result), _failed(result), _runs(trials, result.searched)]
    state = "measured" if result.chosen else "not measured"
    return render_document(
        Document(
            title=f"HPL tuned on {host}",
            subtitle=f"N = {result.n:,} · {times.utc_day(created_ns / 1e9)}",
            state=state,
            counts=(),
            lead=result.explanation,
            sections=tuple(sections),
            footer=f"Made by Shakedown {result.version} from the trials of this folder.",
        )
    )


def _choice(result: Result, hpl_dat: str) -> Section:
    blocks: list[Block] = []
    if result.chosen is None:
        blocks.append(Text(text="No configuration gave a valid result; the failures below say why."))
    else:
        chosen = result.chosen
        pairs = [
            ("rate", f"{show(flop(result.n) / chosen.seconds, 'flop/s')}"),
            ("N while tuning", f"{result.n:,} ({result.n_reason})"),
            ("N for the run", f"{result.final_n:,}" if result.final_n else "not known"),
            *((title(name), _plain(name, value)) for name, value in chosen.point.items()),
            ("scatter of one run", f"{round_to(100 * result.noise, 2)} %" if result.noise is not None else "not known"),
            ("budget", f"{show_seconds(result.spent_s)} in {result.runs} runs"),
        ]
        blocks.append(Facts(title="Chosen", pairs=tuple(pairs)))
        commands = "\n".join(result.launch) or "the program could not be found here"
        blocks.append(
            Logs(
                title="To run it",
                logs=(
                    LogBlock(title="command", state="ok", text=commands),
                    LogBlock(title="HPL.dat", state="ok", text=hpl_dat),
                ),
            )
        )
    for notice in result.notices:
        blocks.append(Text(text=f"{notice.text}. {notice.advice}".strip()))
    return Section(id="choice", title="The chosen configuration", short="Choice", blocks=tuple(blocks))


def _plain(name: str, value: Value) -> str:
    """A value beside its title."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "grid":
        return str(value).replace("x", " x ")
    return say(name, value) if name in ("layout", "library") else str(value)


# ------------------------------------------------------------------------------------------------------------- figures


def _figures(result: Result) -> Figures | None:
    if result.chosen is None:
        return None
    ordered = sorted(result.effects, key=lambda one: _ORDER.index(one.axis) if one.axis in _ORDER else len(_ORDER))
    made: list[Lines | Dots] = [
        _nb(one, result) if one.axis == "nb" else _dots(one, result) for one in ordered if len(one.levels) > 1
    ]
    if len(result.sizes) > 1:
        made.append(_sizes(result))
    return Figures(figures=tuple(made)) if made else None


def _rates(level: Level, result: Result) -> tuple[float, float | None, float | None]:
    """The rate with a value, and its interval: the chosen one's rate over how much slower the value is. No interval where
    nothing is known of it, and none of the chosen value itself."""
    assert result.chosen is not None
    rate = flop(result.n) / result.chosen.seconds
    slower = level.slower
    if slower.low == slower.high or not slower.bounded:
        return rate / (1 + slower.value), None, None
    return rate / (1 + slower.value), rate / (1 + slower.high), rate / (1 + slower.low)


def _point(x: float, level: Level, axis: str, result: Result) -> Point:
    rate, low, high = _rates(level, result)
    own = level.slower.low == level.slower.high
    says = f"{say(axis, level.value)}: {show(rate, 'flop/s')}" + ("" if own else f", {interval(level.slower)} slower")
    says += "" if level.as_chosen else "; from runs of other configurations"
    return Point(x, rate, low, high, says)


def _summary(one: Effect) -> str:
    fastest, slowest = say(one.axis, one.levels[0].value), say(one.axis, one.levels[-1].value)
    told = f"{slowest} is {interval(one.spread)} slower than {fastest}"
    return f"chosen {say(one.axis, one.chosen)}; {told}{'' if one.matters else ', which noise explains'}"


def _caption(one: Effect, result: Result) -> str:
    """What the points are: ratios to the chosen value over pairs of runs, which were not all made as chosen."""
    elsewhere = [say(one.axis, level.value) for level in one.levels if not level.as_chosen]
    where = (
        f" Run in other configurations only, and put beside the chosen one by the ratio found there: {', '.join(elsewhere)}."
        if elsewhere
        else ""
    )
    return (
        f"N = {result.n:,}. The chosen one's rate, and for each other value that rate by its ratio to the chosen value over "
        f"pairs of configurations that differ in nothing else; intervals of 95 %, corrected for all {result.comparisons} "
        f"comparisons.{where}"
    )


def _missing(result: Result) -> tuple[Text, ...]:
    """Which of the usual figures are not there, and why."""
    shown = {one.axis for one in result.effects if len(one.levels) > 1}
    said = []
    for axis in dict.fromkeys((*_ORDER, *result.searched)):
        if axis in shown:
            continue
        why = (
            "no two configurations that differ in it alone gave valid runs"
            if axis in result.searched
            else "it was not varied"
        )
        said.append(f"{title(axis)} ({why})")
    if len(result.sizes) < 2:
        said.append("N (no smaller N was run)")
    return (Text(text=f"No figure for: {', '.join(said)}."),) if said else ()


def _nb(one: Effect, result: Result) -> Lines:
    levels = sorted(one.levels, key=lambda level: int(level.value))
    xs = [float(level.value) for level in levels]
    edge = 0.05 * (xs[-1] - xs[0])
    return Lines(
        title="HPL rate by NB",
        caption=_caption(one, result),
        summary=_summary(one),
        x=Axis(title="NB", labels={x: f"{x:.0f}" for x in xs}, low=xs[0] - edge, high=xs[-1] + edge),
        unit="flop/s",
        y_title="HPL rate",
        series=(
            Series("HPL rate", tuple(_point(x, level, "nb", result) for x, level in zip(xs, levels, strict=True))),
        ),
    )


def _dots(one: Effect, result: Result) -> Dots:
    return Dots(
        title=f"HPL rate by {title(one.axis)}",
        caption=_caption(one, result),
        summary=_summary(one),
        unit="flop/s",
        y_title="HPL rate",
        rows=tuple(_point(float(i), level, one.axis, result) for i, level in enumerate(one.levels)),
        names=tuple(level.value for level in one.levels),
    )


def _sizes(result: Result) -> Lines:
    xs = [float(one.n) for one in result.sizes]
    edge = 0.05 * (xs[-1] - xs[0])
    points = tuple(
        Point(float(one.n), one.flops, None, None, f"N = {one.n:,}: {show(one.flops, 'flop/s')}")
        for one in result.sizes
    )
    return Lines(
        title="HPL rate by N",
        caption="The chosen configuration; one run at each smaller N.",
        summary=f"{show(points[0].y, 'flop/s')} at N = {xs[0]:,.0f} to {show(points[-1].y, 'flop/s')} at N = {xs[-1]:,.0f}",
        x=Axis(title="N", labels={x: f"{x:,.0f}" for x in xs}, low=xs[0] - edge, high=xs[-1] + edge),
        unit="flop/s",
        y_title="HPL rate",
        series=(Series("HPL rate", points),),
    )


# -------------------------------------------------------------------------------------------------------------- tables


def _mattered(result: Result) -> Section:
    blocks: list[Block] = [
        Table(
            title="Parameters, the one that mattered most first",
            columns=(
                Column("Parameter"),
                Column("Chosen"),
                Column("Value"),
                Column("Slower"),
                Column("Runs", "number"),
            ),
            rows=tuple(
                (title(one.axis), one.chosen, level.value, interval(level.slower), str(level.runs))
                for one in result.effects
                for level in one.levels
                if level.value != one.chosen
            ),
            caption="Against the chosen value, over pairs of configurations that differ in nothing else; 95 % intervals, "
            f"corrected for all {result.comparisons} comparisons.",
        )
    ]
    if result.interactions:
        blocks.append(
            Table(
                title="Parameters that do not add",
                columns=(Column("Parameters"), Column("Values"), Column("Against"), Column("Extra")),
                rows=tuple(
                    (
                        " and ".join(map(title, one.axes)),
                        " and ".join(one.values),
                        " and ".join(one.against),
                        interval(one.extra),
                    )
                    for one in result.interactions
                ),
            )
        )
    return Section(id="mattered", title="What mattered", short="What mattered", blocks=tuple(blocks))


def _compared(result: Result) -> Section:
    rows: list[Candidate] = [*([result.chosen] if result.chosen else []), *result.others]
    return Section(
        id="compared",
        title="The best configurations",
        short="Configurations",
        blocks=(
            Table(
                title="Configurations, the fastest first",
                columns=(
                    Column("Configuration"),
                    Column("Seconds"),
                    Column("Behind"),
                    Column("Model"),
                    Column("Runs", "number"),
                ),
                rows=tuple(
                    (
                        words(one.point, result.searched),
                        f"{one.seconds:.4g}\n[{one.low_s:.4g}, {one.high_s:.4g}], {one.kind}",
                        interval(one.behind) if one.behind else ("chosen" if one is result.chosen else "not compared"),
                        percent(one.seconds / one.predicted_s - 1) if one.predicted_s else "",
                        str(one.runs),
                    )
                    for one in rows
                ),
                caption="Model: measured over predicted seconds, less one.",
            ),
        ),
    )


def _failed(result: Result) -> Section:
    if not result.failures:
        return Section(id="failed", title="Failures", blocks=(Text(text="Every run gave a valid result."),))
    return Section(
        id="failed",
        title="Failures",
        blocks=(
            Table(
                title="Configurations that are out",
                columns=(Column("Configuration"), Column("State", "state"), Column("Reason")),
                rows=tuple((words(one.point, result.searched), one.state, one.reason) for one in result.failures),
            ),
        ),
    )


def _runs(trials: Sequence[Trial], searched: Sequence[str]) -> Section:
    rows = tuple(
        (
            str(number),
            trial.stage,
            words(trial.point, searched),
            f"{trial.n:,} {trial.kind}",
            trial.state,
            f"{trial.seconds:.4g}" if trial.seconds else "",
            f"{trial.cost_s:.3g}",
            f"{trial.residual.value:.3g}" if trial.residual and trial.residual.value is not None else "",
        )
        for number, trial in enumerate(trials, 1)
    )
    columns = ("Run", "Stage", "Configuration", "N", "State", "Seconds", "Cost in s", "Residual")
    kinds = {"Run": "number", "State": "state", "Seconds": "number", "Cost in s": "number", "Residual": "number"}
    return Section(
        id="runs",
        title="Every run",
        short="Runs",
        blocks=(
            Table(
                title="Runs in order",
                columns=tuple(Column(name, kinds.get(name, "text")) for name in columns),  # type: ignore[arg-type]
                rows=rows,
                folded=True,
            ),
        ),
    )
