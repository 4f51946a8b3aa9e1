"""The result in words: what to run, what mattered and by how much, what went wrong, what is not known."""

from __future__ import annotations

from collections.abc import Iterable

from ..units import round_to, show, show_seconds
from ..workloads.common.hpl import flop
from .records import Effect, Interval, Result
from .space import say, words

TITLES = {
    "nb": "NB",
    "grid": "P x Q",
    "layout": "processes x threads",
    "bcast": "broadcast",
    "binding": "binding",
    "mapping": "mapping",
    "library": "BLAS library",
    "trsm": "triangular solve",
    "depth": "look-ahead",
    "swap": "row exchange",
}
_TOLD = 3


def title(axis: str) -> str:
    """An axis for a person."""
    return TITLES.get(axis, axis.replace("_", " "))


def percent(value: float) -> str:
    """A ratio less one: "+3.2 %"."""
    return f"{'+' if value >= 0 else '-'}{round_to(abs(value) * 100, 2)} %"


def interval(one: Interval) -> str:
    """A ratio less one with its interval: "+3.2 % [2.1, 4.4]"; "[not known]" where too few runs tell it."""
    if not one.bounded:
        return f"{percent(one.value)} [not known]"
    return f"{percent(one.value)} [{100 * one.low:.1f}, {100 * one.high:.1f}]"


def explanation(result: Result) -> tuple[str, ...]:
    """Sentences, the most important first."""
    if result.chosen is None:
        return ("No configuration gave a valid result.", *_failures(result), *_budget(result))
    chosen = result.chosen
    rate = flop(result.n) / chosen.seconds
    high, low = flop(result.n) / chosen.low_s, flop(result.n) / chosen.high_s
    how = "" if chosen.kind == "whole" else " (integrated from windows, not measured whole)"
    head = (
        f"Chosen at N = {result.n:,}: {words(chosen.point, result.searched)}. It reaches {show(rate, 'flop/s')} "
        f"[{show(low, 'flop/s')}, {show(high, 'flop/s')}] in {chosen.runs} run{'s' * (chosen.runs != 1)}{how}."
    )
    rest = (*_next_best(result), *_mattered(result.effects), *_rest(result), *_failures(result), *_budget(result))
    return (head, *rest)


def _next_best(result: Result) -> Iterable[str]:
    other = next((one for one in result.others if one.behind is not None), None)
    if other is None or other.behind is None or result.chosen is None:
        return
    changed = [name for name in other.point if other.point[name] != result.chosen.point.get(name)]
    what = words(other.point, changed)
    if other.behind.low > 0:
        yield f"The next best ({what}) is {interval(other.behind)} slower."
    else:
        yield f"The next best ({what}) is not distinguishable from it: {interval(other.behind)} slower."


def _mattered(effects: tuple[Effect, ...]) -> Iterable[str]:
    sure = [one for one in effects if one.matters]
    for one in sure[:_TOLD]:
        fastest, slowest = one.levels[0], one.levels[-1]
        yield (
            f"{title(one.axis)} mattered: {say(one.axis, slowest.value)} is {interval(one.spread)} slower than "
            f"{say(one.axis, fastest.value)}."
        )
    if more := [title(one.axis) for one in sure[_TOLD:]]:
        yield f"So did: {', '.join(more)}."
    rest = [title(one.axis) for one in effects if not one.matters]
    if rest:
        yield f"No difference was distinguishable from noise for: {', '.join(rest)}."


def _rest(result: Result) -> Iterable[str]:
    for one in result.interactions[:_TOLD]:
        yield (
            f"{title(one.axes[0])} and {title(one.axes[1])} do not add: {one.values[0]} with {one.values[1]} takes "
            f"{interval(one.extra)} more than each alone would make it (against {one.against[0]} with {one.against[1]})."
        )
    if result.window_error is not None:
        yield f"Windows put together came to {interval(result.window_error)} against the time of whole runs."
    for host, behind in list(result.slow_hosts.items())[:_TOLD]:
        yield f"Host {host} is {percent(behind)} slower than the median host; HPL runs at the pace of the slowest."
    if result.noise is not None:
        yield f"One run scatters by {round_to(100 * result.noise, 2)} %."
    if result.disturbed_runs:
        yield (
            f"Other processes took CPU time during {result.disturbed_runs} of {result.runs} runs, which count for little; "
            "tune on a machine of its own."
        )


def _failures(result: Result) -> Iterable[str]:
    if not result.failures:
        return
    first = result.failures[0]
    several = len(result.failures) > 1
    yield (
        f"{len(result.failures)} configuration{'s' * several} gave no valid result and {'are' if several else 'is'} out; "
        f"the first: {words(first.point, result.searched)}: {first.state}, {first.reason}."
    )


def _budget(result: Result) -> Iterable[str]:
    spent = f"{result.runs} runs took {show_seconds(result.spent_s)}"
    if result.budget_s is not None:
        spent += f" of {show_seconds(result.budget_s)}"
    if not result.finished:
        spent += (
            "; the budget ended the search early, so more time may find better: call again with a larger --budget-min"
        )
    yield spent + "."


def text(result: Result) -> str:
    """What the terminal shows."""
    lines = ["", *result.explanation]
    if result.effects:
        lines += ["", f"Slower than the chosen value (95 % intervals, corrected for {result.comparisons} comparisons):"]
        for one in result.effects:
            levels = [f"{level.value} {interval(level.slower)}" for level in one.levels if level.value != one.chosen]
            told = "" if one.matters else "   (not distinguishable from noise)"
            lines.append(f"  {title(one.axis):<20} {one.chosen:<12} {', '.join(levels)}{told}")
    if result.launch:
        lines += ["", "Run it:", *(f"  {line}" for line in result.launch)]
    return "\n".join(lines)
