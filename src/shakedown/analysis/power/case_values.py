"""From the energy of a case to its figures: power, energy of a sample, work per joule, energy-delay product. Pure.

Samples of one case do the same work under the same load: the energy in their spans is divided among them by their
times. So a figure and the rate beside it are of one sample, the median one, and rate = efficiency x power where the samples
fill their spans. The spread of the samples and of repeats is kept apart from what the meter does not know, until
``finding`` puts them together.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from ...energy import phase
from ...energy.uncertainty.quantity import scaled
from ...records import Case, Finding, Metric, Notice, Params, Quantity
from ..statistics import median_interval

Window = tuple[int, int]

#: Share of a case's time that its samples fill, below which its energy is said to hold other work...
BUSY = 0.9
#: ... and below which it says nothing of them.
LEAST_BUSY = 0.4
#: The notice of an energy that holds other work.
OF_OTHER_WORK = "energy-of-more"
#: Spans of samples that are looked at one by one.
MOST_SPANS = 64


class Figure(NamedTuple):
    """One value of one case: by the meter, with the interval that its samples' spread gives; how many they are."""

    value: Quantity
    low: float | None = None
    high: float | None = None
    n_samples: int = 1


class Group(NamedTuple):
    """One value over its repeats and cases."""

    metric: Metric
    workload: str
    params: Params
    host: str


def windows(case: Case, least_s: float) -> tuple[Window, ...]:
    """Where a case's energy lies: its samples' own spans where each lasts ``least_s``, else all from begin to end."""
    assert case.begin_ns is not None and case.end_ns is not None
    if 0 < len(case.spans) <= MOST_SPANS and all((end - begin) * 1e-9 >= least_s for begin, end in case.spans):
        return case.spans
    return ((case.begin_ns, case.end_ns),)


def figures(metric: Metric, case: Case, energy: Quantity, seconds: float) -> dict[str, Figure]:
    """What the ``energy`` of a case comes to that its spans of ``seconds`` in all hold. By the word of ``TITLES``."""
    per_s = scaled(energy, 1 / sum(case.seconds))  # of the samples: all that was taken while they ran is theirs
    work = case.work[metric.per.partition("/")[0]]

    def efficiency(sample_s: float) -> Quantity:
        return phase.efficiency(work, scaled(per_s, sample_s), unit=f"{metric.unit.removesuffix('/s')}/J")

    return {
        "power": Figure(scaled(energy, 1 / seconds, unit="W")),
        "energy": _figure(case, lambda sample_s: scaled(per_s, sample_s)),
        "energy_efficiency": _figure(case, efficiency),
        "edp": _figure(case, lambda sample_s: phase.edp(scaled(per_s, sample_s), sample_s)),
    }


def _figure(case: Case, at: Callable[[float], Quantity]) -> Figure:
    """A figure of the median sample, and at the ends of the interval of that median."""
    value = at(statistics.median(case.seconds))
    ends = [at(sample_s).value for sample_s in median_interval(case.seconds)]
    known = sorted(end for end in ends if end is not None)
    return Figure(value, known[0] if known else None, known[-1] if known else None, len(case.seconds))


TITLES = {
    "power": ("Mean power during {}", "W", "lower", "energy over the length of the case"),
    "energy": (
        "Energy to solution, {}",
        "J",
        "lower",
        "energy between the marks by the samples' times: of the median one",
    ),
    "energy_efficiency": (
        "{}, energy efficiency",
        "",
        "higher",
        "work of a sample over its energy, of the median sample",
    ),
    "edp": ("{}, energy-delay product", "J s", "lower", "energy of a sample times its time, of the median one"),
}


def metric_of(metric: Metric, stem: str, word: str, part: bool) -> Metric:
    """The metric ``stem.word`` of cases whose rate is ``metric``; ``part``: of a channel that sees a part of a node."""
    title, unit, better, source = TITLES[word]
    name = f"{stem}.{'part_' if part else ''}{word}"
    return Metric(
        name=name.replace("part_energy_efficiency", "part_efficiency"),
        title=title.format(metric.title) + (" of a part" if part else ""),
        unit=unit or f"{metric.unit.removesuffix('/s')}/J",
        better="higher" if better == "higher" else "lower",
        headline=word == "energy_efficiency" and not part and metric.headline,
        match=metric.match,
        ranked_by=(*metric.ranked_by, "rail", *(("n", "bytes") if word in ("energy", "edp") else ())),
        only=metric.only,
        titles=metric.titles,
        limit="",
        source=source,
    )


def finding(group: Group, made: Sequence[tuple[str, Figure]]) -> Finding:
    """The median over repeats. Its interval holds the spread of samples and of repeats, as a rate's does
    (analysis/derive.py), and in quadrature what the meter does not know: that is common to all repeats.

    A figure of one sample has no spread to state: it has no interval, and a notice says what the meter's part is.
    """
    known = [(figure.value.value, figure) for _, figure in made if figure.value.value is not None]
    singles = [value for value, _ in known]
    middle = statistics.median(singles)
    expanded = [figure.value.expanded for _, figure in known if figure.value.expanded is not None]
    meter = statistics.median(expanded) if expanded else None
    low, high = _spread(known, singles)
    notices = [notice for _, figure in known for notice in figure.value.notices]
    n_samples = sum(figure.n_samples for _, figure in known)
    if low is None or high is None or meter is None:
        low = high = None
        if meter is not None and middle:
            text = (
                f"one sample: of its spread nothing is known; the meter's part is +- {meter / abs(middle):.1%} (95 %)"
            )
            notices.append(Notice(code="one-sample", text=text, advice="ask for more samples, seconds or repeats"))
    else:
        low, high = middle - math.hypot(middle - low, meter), middle + math.hypot(high - middle, meter)
    return Finding(
        metric=group.metric.name,
        unit=group.metric.unit,
        better=group.metric.better,
        workload=group.workload,
        params=group.params,
        host=group.host,
        value=middle,
        low=low,
        high=high,
        n_samples=n_samples,
        n_runs=len(known),
        best=min(singles) if group.metric.better == "lower" else max(singles),
        notices=tuple(dict.fromkeys(notices)),
        runs=tuple(dict.fromkeys(run for run, _ in made if run)),
    )


def _spread(known: Sequence[tuple[float, Figure]], singles: Sequence[float]) -> tuple[float | None, float | None]:
    """The interval by samples and repeats alone; a value that is no sample's (a mean power) has none within a repeat."""
    lows = [value if figure.low is None else figure.low for value, figure in known]
    highs = [value if figure.high is None else figure.high for value, figure in known]
    by_samples = any(figure.low is not None for _, figure in known)
    if by_samples and sum(figure.n_samples for _, figure in known) < 2:
        return None, None
    low, high = statistics.median(lows), statistics.median(highs)
    if len(singles) > 1:
        between = median_interval(singles)
        low, high = min(low, between.low), max(high, between.high)
    return low, high


def of_other_work(energy: Quantity, busy: float) -> Quantity:
    """The energy with a notice of the share of other work that it holds."""
    text = f"the case's energy holds {1 - busy:.0%} of other work: filling, checking, waiting"
    notice = Notice(code=OF_OTHER_WORK, text=text, advice="ask for more samples or seconds in a case")
    return msgspec.structs.replace(energy, notices=(*energy.notices, notice))
