"""Logs of several passes: the same kernel with the same parameters, measured again in one file."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import median

import msgspec

from ...records import Case, Residual

_DONE = ("bytes", "op")


def joined(cases: Iterable[Case]) -> tuple[Case, ...]:
    """A case for each kernel and parameters, in the order of its first pass; a pass is one of its samples.

    Of what passes tell beside their work and time (latencies, the time of opening) the median is kept, of what is a
    longest (``_max_s``) the largest, and the worst residual. A pass that did other work than the first (the clock ended
    it) is no sample of the same case: it stays one of its own with the parameter ``pass``, from 2 on.
    """
    passes: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        passes.setdefault((case.kernel, repr(sorted(case.params.items()))), []).append(case)
    return tuple(case for found in passes.values() for case in _of_one(found))


def _of_one(passes: list[Case]) -> list[Case]:
    first = passes[0]
    same = [one for one in passes if _work(one) == _work(first)]
    apart = [
        msgspec.structs.replace(one, params={**one.params, "pass": number})
        for number, one in enumerate(passes, start=1)
        if _work(one) != _work(first)
    ]
    residuals = [one.residual for one in same if one.residual is not None]
    whole = msgspec.structs.replace(
        first,
        work={name: _of_all(name, [one.work[name] for one in same]) for name in first.work},
        seconds=tuple(seconds for one in same for seconds in one.seconds),
        residual=max(residuals, key=_badness, default=None),
    )
    return [whole, *apart]


def _work(case: Case) -> tuple[object, ...]:
    """What makes passes samples of one case: the same work, the same things told, and a time or none."""
    return (*(case.work.get(name) for name in _DONE), sorted(case.work), len(case.seconds))


def _badness(residual: Residual) -> float:
    """What is not a number is the worst."""
    return math.inf if residual.value is None or math.isnan(residual.value) else residual.value


def _of_all(name: str, values: list[float]) -> float:
    return max(values) if name.endswith("_max_s") else median(values)
