"""From a time and the work done in it to a metric's value: the one home of that arithmetic. Pure, imports nothing heavy.

A metric's ``per`` says how; with t the seconds of a sample and W its work,

    "bytes/s"     W[bytes] / t      a rate
    "s/messages"  t / W[messages]   a time for each
    "s"           t                 the time itself
    "bytes"       W[bytes]          a figure that an existing program printed itself: there are no samples of ours behind it
    "hpl.rate/flops.fp64"           a metric over another or over a peak: made of those, in ratios.py
    "1-s/pure"    1 - t / t_pure    a share that another time hides: of samples that were taken in turn, in hidden.py
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Mapping, Sequence

from ..records import Case, Metric
from ..units import show_bytes


def value(metric: Metric, seconds: float, work: Mapping[str, float]) -> float:
    """The metric's value for one time in seconds. Raises KeyError where the work that it needs is not there."""
    top, _, below = metric.per.partition("/")
    if metric.per == "s":
        return seconds
    if below == "s":
        return work[top] / seconds
    if top == "s":
        return seconds / work[below]
    return work[metric.per]


def is_reported(metric: Metric) -> bool:
    """Whether the program printed the value itself, so that there is no time of ours behind it."""
    return "s" not in metric.per.split("/")


def applies(metric: Metric, work: Mapping[str, float]) -> bool:
    """Whether a case has the work that the metric needs: a message of 0 bytes has a latency and no bandwidth.

    A figure that the program printed itself counts when it is 0, too.
    """
    if is_reported(metric):
        return metric.per in work
    return all(work.get(word) for word in metric.per.split("/") if word != "s")


def void(metric: Metric, params: Mapping[str, object]) -> str:
    """Why a case measures nothing of its metric, though it has a value (a rehearsal on the host); empty where it does."""
    others = (one.why for name, one in metric.only.items() if params.get(name, one.value) != one.value)
    return next(filter(None, others), "")


def is_figure(metric: Metric, params: Mapping[str, object], named: Collection[str] = ()) -> bool:
    """Whether a case gives the metric's figure, or that with the parameters that were ``named``."""
    return not void(metric, params) and all(
        name in named or params.get(name, one.value) == one.value for name, one in metric.only.items()
    )


def is_share(metric: Metric) -> bool:
    """Whether the metric is another one as a share of a peak or of a third: it says again what that one says."""
    return metric.unit in ("1", "%") and "." in metric.per


def is_headline(metric: Metric, params: Mapping[str, object]) -> bool:
    """Whether a case can stand for its metric: it gives the figure, and of those measured in caches and in memory, only
    memory can."""
    return is_figure(metric, params) and ("{level}" not in metric.limit or params.get("level") == "memory")


def of_kernel(metrics: Sequence[Metric], kernel: str) -> list[Metric]:
    """The metrics of a kernel; what a program printed besides only where there are no samples of ours."""
    found = [one for one in metrics if one.kernel == kernel]
    return [one for one in found if not is_reported(one)] or found


def is_compared(metric: Metric, params: Mapping[str, object], work: Mapping[str, float], median_s: float) -> bool:
    """Whether a case gives a value of the metric that can be better or worse than another's."""
    if metric.better == "none" or is_share(metric) or void(metric, params):
        return False
    return applies(metric, work) and (is_reported(metric) or median_s == median_s)  # NaN: no samples


def best(metrics: Sequence[Metric], cases: Sequence[Case]) -> tuple[Metric, Case, float] | None:
    """The metric that says most of what the cases give, at its best case, by medians; a word to a person as runs end.

    Where none can stand for its metric, one of the others, whose parameters say what it is.
    """
    return _best(metrics, cases, is_headline) or _best(metrics, cases, lambda metric, params: not void(metric, params))


def _best(
    metrics: Sequence[Metric], cases: Sequence[Case], counts: Callable[[Metric, Mapping[str, object]], bool]
) -> tuple[Metric, Case, float] | None:
    for metric in sorted(metrics, key=lambda one: not one.headline):
        found = [
            (value(metric, statistics.median(case.seconds) if case.seconds else 1.0, case.work), case)
            for case in cases
            if case.kernel == metric.kernel
            and applies(metric, case.work)
            and (case.seconds or is_reported(metric))
            and counts(metric, case.params)
        ]
        if found:
            chosen = (min if metric.better == "lower" else max)(found, key=lambda pair: pair[0])
            return metric, chosen[1], chosen[0]
    return None


#: Parameters that a person looks for beside a value, in their order.
_TOLD = ("threads", "ranks", "n", "shape", "batch", "precision", "bytes", "level", "checkpoint_level", "library")


def told(metric: Metric, params: Mapping[str, object]) -> str:
    """The parameters that a person looks for, in brackets: `` (threads 2, n 65536, precision fp32)``."""
    names = [name for name in dict.fromkeys((*_TOLD, *metric.only)) if name in params]
    if "shape" in names and "n" in names:
        names.remove("n")  # the shape says it
    if isinstance(params.get("batch"), str):
        names.remove("batch")  # how they are done, not how many
    words = [f"{name} {show_bytes(float(str(params[name]))) if name == 'bytes' else params[name]}" for name in names]
    return f" ({', '.join(words)})" if words else ""
