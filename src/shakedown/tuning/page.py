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
    Document,
    Dots,
    Facts,
    Figures,
    Lines,
    Logs,
    Point,
    Section,
    Series,
    Text,
)
from ..document.model import Log as LogBlock
from ..document.tables import table
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
        table(
            "Parameters, the one that mattered most first",
            [(one, level) for one in result.effects for level in one.levels if level.value != one.chosen],
            (
                ("Parameter", "text", lambda pair: title(pair[0].axis)),
                ("Chosen", "text", lambda pair: pair[0].chosen),
                ("Value", "text", lambda pair: pair[1].value),
                ("Slower", "text", lambda pair: interval(pair[1].slower)),
                ("Runs", "number", lambda pair: str(pair[1].runs)),
            ),
            caption="Against the chosen value, over pairs of configurations that differ in nothing else; 95 % intervals, "
            f"corrected for all {result.comparisons} comparisons.",
        )
    ]
    if result.interactions:
        blocks.append(
            table(
                "Parameters that do not add",
                result.interactions,
                (
                    ("Parameters", "text", lambda one: " and ".join(map(title, one.axes))),
                    ("Values", "text", lambda one: " and ".join(one.values)),
                    ("Against", "text", lambda one: " and ".join(one.against)),
                    ("Extra", "text", lambda one: interval(one.extra)),
                ),
            )
        )
    return Section(id="mattered", title="What mattered", short="What mattered", blocks=tuple(blocks))


def _compared(result: Result) -> Section:
    def behind(one: Candidate) -> str:
        return interval(one.behind) if one.behind else "chosen" if one is result.chosen else "not compared"

    def seconds(one: Candidate) -> str:
        return f"{one.seconds:.4g}\n[{one.low_s:.4g}, {one.high_s:.4g}], {one.kind}"

    def model(one: Candidate) -> str:
        return percent(one.seconds / one.predicted_s - 1) if one.predicted_s else ""

    rows = table(
        "Configurations, the fastest first",
        [*([result.chosen] if result.chosen else []), *result.others],
        (
            ("Configuration", "text", lambda one: words(one.point, result.searched)),
            ("Seconds", "text", seconds),
            ("Behind", "text", behind),
            ("Model", "text", model),
            ("Runs", "number", lambda one: str(one.runs)),
        ),
        caption="Model: measured over predicted seconds, less one.",
    )
    return Section(id="compared", title="The best configurations", short="Configurations", blocks=(rows,))


def _failed(result: Result) -> Section:
    if not result.failures:
        return Section(id="failed", title="Failures", blocks=(Text(text="Every run gave a valid result."),))
    rows = table(
        "Configurations that are out",
        result.failures,
        (
            ("Configuration", "text", lambda one: words(one.point, result.searched)),
            ("State", "state", lambda one: one.state),
            ("Reason", "text", lambda one: one.reason),
        ),
    )
    return Section(id="failed", title="Failures", blocks=(rows,))


def _runs(trials: Sequence[Trial], searched: Sequence[str]) -> Section:
    def residual(trial: Trial) -> str:
        return f"{trial.residual.value:.3g}" if trial.residual and trial.residual.value is not None else ""

    rows = table(
        "Runs in order",
        list(enumerate(trials, 1)),
        (
            ("Run", "number", lambda pair: str(pair[0])),
            ("Stage", "text", lambda pair: pair[1].stage),
            ("Configuration", "text", lambda pair: words(pair[1].point, searched)),
            ("N", "text", lambda pair: f"{pair[1].n:,} {pair[1].kind}"),
            ("State", "state", lambda pair: pair[1].state),
            ("Seconds", "number", lambda pair: f"{pair[1].seconds:.4g}" if pair[1].seconds else ""),
            ("Cost in s", "number", lambda pair: f"{pair[1].cost_s:.3g}"),
            ("Residual", "number", lambda pair: residual(pair[1])),
        ),
        fold_from=0,
    )
    return Section(id="runs", title="Every run", short="Runs", blocks=(rows,))
