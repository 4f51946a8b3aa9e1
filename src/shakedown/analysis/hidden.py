"""Shares of a time that another one hides: values of several series of samples that were taken in turn.

    "1-(s-computing)/pure"   1 - (t - t_computing) / t_pure   what of `pure` is hidden behind `computing` where both are done
    "1-s/pure"               1 - t / t_pure                   what of `pure` is left beside t

t is of the metric's own kernel; the words are kernels of cases with the same parameters in the same launch (but for those
that the metric's own kernel alone has). Sample i of each was taken beside sample i of the others, so that the difference of
two is that of neighbours, and what disturbs both for a while cancels.

The value of a launch is made of medians: of the differences, and of what they are laid over. Its interval reaches to what
the ends of both medians' intervals make together at worst. It is not cut at 0 or 1: a computation that an operation slows
down has a share below 0, and a hidden one scatters round 1.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from ..records import Params
from .statistics import median_interval
from .table import Cases, Floats

_FORM = re.compile(r"1-(?:s|\(s-(?P<less>\w+)\))/(?P<over>\w+)")


class Form(NamedTuple):
    """1 - (t - t_less) / t_over; without ``less`` 1 - t / t_over."""

    less: str
    over: str


class Share(NamedTuple):
    """Of one launch."""

    value: float
    low: float
    high: float


def form(per: str) -> Form | None:
    """The kernels that a metric's ``per`` names; None where it is of another form."""
    found = _FORM.fullmatch(per)
    return None if found is None else Form(found["less"] or "", found["over"])


def share(own: Floats, less: Floats | None, over: Floats) -> Share | None:
    """The share by samples that were taken side by side; None where there are none, or no time to lay them over."""
    count = min(len(own), len(over), len(own) if less is None else len(less))
    if not count:
        return None
    left = own[:count] if less is None else own[:count] - less[:count]
    whole = over[:count]
    middle = float(np.median(whole))
    ends, wholes = median_interval(left.tolist()), median_interval(whole.tolist())
    if middle <= 0 or wholes.low <= 0:
        return None
    quotients = [end / by for end in ends for by in wholes]
    return Share(1 - float(np.median(left)) / middle, 1 - max(quotients), 1 - min(quotients))


class Launches:
    """The samples of all cases by the launch that they were taken in."""

    def __init__(self, cases: Cases) -> None:
        self._cases = cases
        self._begins = np.cumsum(cases.counts) - cases.counts
        self._rows: dict[tuple[object, ...], list[tuple[Params, int]]] = defaultdict(list)
        for row, params in enumerate(cases.params):
            self._rows[self._key(row, str(cases.kernel[row]))].append((json.loads(params), row))

    def _key(self, row: int, kernel: str) -> tuple[object, ...]:
        cases = self._cases
        return (cases.workload[row], cases.host[row], cases.run[row], int(cases.repeat[row]), kernel)

    def _samples(self, row: int) -> Floats:
        begin = self._begins[row]
        return self._cases.seconds[begin : begin + self._cases.counts[row]]

    def _beside(self, row: int, kernel: str, params: Params) -> Floats | None:
        """The samples of the case of that kernel that has no other parameters, and the same values; of several the one
        that has most."""
        fits = [one for one in self._rows.get(self._key(row, kernel), ()) if one[0].items() <= params.items()]
        best = max(fits, key=lambda one: len(one[0]), default=None)
        return None if best is None else self._samples(best[1])

    def share(self, of: Form, row: int, params: Params) -> Share | None:
        """The share by a case and those beside it; None where one of them is not there."""
        less = self._beside(row, of.less, params) if of.less else None
        over = self._beside(row, of.over, params)
        if over is None or (of.less and less is None):
            return None
        return share(self._samples(row), less, over)
