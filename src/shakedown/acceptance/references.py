"""What a relative limit is of: a peak of the host, the median over the fleet, another metric's value, or the figure at an
earlier acceptance. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ..analysis import limits, stragglers, table, values
from ..document.text import count, day, ranges
from ..records import Finding, Params
from ..units import round_to, show
from .plan import ACCEPTANCE, FLEET_MEDIAN, LimitEntry
from .results import Then

if TYPE_CHECKING:
    from .baseline import Figure
    from .run_verdict import Measured


class Reference(NamedTuple):
    """What a relative limit is of: its value with its interval (both ends equal where it is exact), or why it has none."""

    low: float
    high: float
    words: str
    missing: str = ""
    figure: Then | None = None  # at an earlier acceptance


def reference(entry: LimitEntry, one: Finding, here: list[Finding], session: Measured, test: str) -> Reference:
    """What a limit on a finding is of. ``here``: the findings of the test's own runs."""
    if entry.of == FLEET_MEDIAN:
        return _fleet(one, here)
    if entry.of == ACCEPTANCE:
        return _then(entry, one, session, test)
    if entry.of_metric:
        return _other(entry, one, session)
    peak = limits.peak_meant(entry.of, session.peaks.get(one.host, ()))
    if peak is None:
        return Reference(0, 0, entry.of, f"the peak {entry.of} is not known on {one.host}")
    if peak.kind == "measured":  # by programs such as the one that is judged: it would be held against itself
        return Reference(0, 0, entry.of, limits.only_measured(entry.of))
    return Reference(peak.value, peak.value, f"{entry.of} ({show(peak.value, peak.unit)}, {peak.kind})")


def best(spoken: Sequence[Finding]) -> list[Finding]:
    """The best case on each host."""
    found: dict[str, Finding] = {}
    for one in spoken:
        sign = -1 if one.better == "lower" else 1
        held = found.get(one.host)
        if held is None or sign * (one.value or 0.0) > sign * (held.value or 0.0):
            found[one.host] = one
    return list(found.values())


def _fleet(one: Finding, here: list[Finding]) -> Reference:
    """The median over all hosts of the same value. The fleet is all of it, not a sample: the median is exact."""
    same = {
        other.host: other.value
        for other in here
        if (other.metric, table.key(other.params)) == (one.metric, table.key(one.params)) and other.value is not None
    }
    if len(same) < stragglers.FEWEST:
        few = f"{count(len(same), 'host')} with this value at these parameters: a median needs {stragglers.FEWEST}"
        return Reference(0, 0, FLEET_MEDIAN, few)
    middle = statistics.median(same.values())
    return Reference(middle, middle, f"the median of {len(same)} hosts ({show(middle, one.unit)})")


def _other(entry: LimitEntry, one: Finding, session: Measured) -> Reference:
    """Another metric's value on the same host, wherever in the session it was measured; its best case where it has many."""
    found = [
        other
        for other in session.analysis.findings
        if other.metric == entry.of_metric
        and other.value is not None
        and _with(other.params, entry.of_params)
        and _is_figure(other, session, entry.of_params)
    ]
    here = [other for other in found if other.host == one.host] or found
    if not here:
        return Reference(0, 0, entry.of_metric, f"no value of {entry.of_metric} was measured in this session")
    chosen = best([msgspec.structs.replace(other, host="") for other in here])[0]
    low, high = (chosen.value if end is None else end for end in (chosen.low, chosen.high))
    assert chosen.value is not None and low is not None and high is not None
    return Reference(low, high, f"{entry.of_metric} ({show(chosen.value, chosen.unit)})")


def _with(params: Params, wanted: Params) -> bool:
    return all(params.get(name) == value for name, value in wanted.items())


def _is_figure(one: Finding | Figure, session: Measured, named: Params) -> bool:
    metric = next((metric for metric in session.analysis.metrics if metric.name == one.metric), None)
    return metric is None or values.is_figure(metric, one.params, named)


# ----------------------------------------------------------------------------------------------- at an earlier acceptance


def _then(entry: LimitEntry, one: Finding, session: Measured, test: str) -> Reference:
    """The figure of the same metric, parameters and host then; of its best case, where the limit speaks of the best."""
    baseline = session.baseline
    if baseline is None:
        return Reference(0, 0, ACCEPTANCE, "this acceptance was not begun against an earlier one")
    metric = [figure for figure in baseline.figures if figure.metric == one.metric and figure.unit == one.unit]
    metric = [figure for figure in metric if figure.test == test] or metric
    if not metric:
        return Reference(0, 0, ACCEPTANCE, f"{one.metric} has no figure at the acceptance of {baseline.about.system}")
    if entry.cases == "best":
        spoken = [figure for figure in metric if _with(figure.params, entry.params)]
        figures = [figure for figure in spoken if _is_figure(figure, session, entry.params)]
        same = _best_then(figures, one.better == "lower")
    else:
        key = table.key(one.params)
        same = [figure for figure in metric if table.key(figure.params) == key]
    if not same:
        return Reference(0, 0, ACCEPTANCE, f"no case at the acceptance had these parameters: {_differs(one, metric)}")
    return _as_reference(one, same)


def _best_then(figures: Sequence[Figure], lower: bool) -> list[Figure]:
    """The best figure on each host."""
    found: dict[str, Figure] = {}
    for one in figures:
        held = found.get(one.host)
        if held is None or (one.value < held.value if lower else one.value > held.value):
            found[one.host] = one
    return list(found.values())


def _as_reference(one: Finding, same: Sequence[Figure]) -> Reference:
    """The host's own figure; of a host that was not there then, what all of those that were say together: its limit is
    surely met only where it is met against each of them."""
    own = [figure for figure in same if figure.host == one.host]
    figures = own or list(same)
    low, high = min(figure.low for figure in figures), max(figure.high for figure in figures)
    value = statistics.median(figure.value for figure in figures)
    then = max(figure.time_ns for figure in figures)
    hosts = () if own else tuple(sorted({figure.host for figure in figures}))
    words = f"the figure of {day(then)} ({show(value, one.unit)}"
    if hosts:
        words += f", of {ranges(hosts)}: {one.host} was not there"
    figure = Then(value=value, low=low, high=high, time_ns=then, hosts=hosts)
    return Reference(low, high, f"{words})", figure=figure)


def _differs(one: Finding, figures: Sequence[Figure]) -> str:
    """In which parameters the nearest case then was another: ``threads 4 then, 8 now``."""

    def unlike(figure: Figure) -> list[str]:
        names = dict.fromkeys((*figure.params, *one.params))
        return [name for name in names if figure.params.get(name) != one.params.get(name)]

    nearest = min(figures, key=lambda figure: len(unlike(figure)))
    return ", ".join(
        f"{name} {nearest.params.get(name, 'not given')} then, {one.params.get(name, 'not given')} now"
        for name in unlike(nearest)
    )


def ratio(value: float, low: float | None, high: float | None, then: Then) -> tuple[float, float, float] | None:
    """Now over then, with the interval from the far ends of both: at least as wide as at 95 %. None where then was 0."""
    if min(abs(then.value), abs(then.low), abs(then.high)) == 0:
        return None
    ends = (value if low is None else low, value if high is None else high)
    found = [end / other for end in ends for other in (then.low, then.high)]
    return value / then.value, min(found), max(found)


def ratio_words(one: Finding, reference: Reference) -> str:
    """``0.962 [0.951, 0.973] of the figure then``."""
    assert reference.figure is not None and one.value is not None
    found = ratio(one.value, one.low, one.high, reference.figure)
    if found is None:
        return "the figure then was 0"
    middle, low, high = (round_to(part, 3) for part in found)
    return f"{middle} [{low}, {high}] of the figure then"
