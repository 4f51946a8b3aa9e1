"""Traces that are another's times a factor: one meter's readings under two names, made to look like two meters.

Two meters on two loads share what the job does, and each has noise of its own. Where the changes of one, less the change
before, are those of the other times one factor, and what is left is no more than both rounded away, there was one meter.
Only readings whose changes differ by much beside the rounding can tell; a coarse meter, a power that holds still or one that
falls in a line is not judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...metering.trace import Floats, Ints, Trace
from ..response import response_of
from ..steps import resolution
from .copied import telling_length

#: Readings of each trace that are looked at, and the fewest changes that tell.
MOST, FEWEST = 512, 24
#: Half of the changes are so many times as large as what rounding explains, and all together carry so many bits.
LARGE, BITS = 4.0, 72.0
#: Of a copy so many changes agree: a few readings were missed, or read a moment later.
AGREE = 0.95
#: Pairs whose changes correlate less are not looked at closer.
_CORRELATED = 0.9
#: Changes beyond so many usual ones count as that many: the job's own steps are in all traces.
_CLIPPED = 4.0


class Scaled(NamedTuple):
    """``name`` shows what ``of`` shows, times ``factor``."""

    of: str
    name: str
    factor: float


class _Series(NamedTuple):
    """Readings at whose stamps a power is known, and how far rounding may move a change between two of them."""

    t_ns: Ints
    value: Floats
    rounding: float


def pairs(traces: Mapping[str, Trace]) -> Iterator[Scaled]:
    """Traces that are an earlier one's times a factor, each once."""
    for quantity in ("power", "energy"):
        series = {
            name: found
            for name, one in traces.items()
            if one.channel.quantity == quantity and (found := _series(one)) is not None
        }
        seen: set[str] = set()
        names = list(series)
        for i, j in _candidates([series[name] for name in names]):
            if names[j] not in seen and (factor := _factor(series[names[i]], series[names[j]])) is not None:
                seen.add(names[j])
                yield Scaled(names[i], names[j], factor)


def _series(trace: Trace) -> _Series | None:
    """The power at each reading, of a counter over the time since the one before; None where there are too few."""
    good = trace.take(trace.ok)
    t, value = good.t_ns[: MOST + 1], good.value[: MOST + 1]
    if len(t) <= FEWEST + 1 or np.any(np.diff(t) <= 0):
        return None
    step = response_of(trace).resolution
    if trace.channel.quantity == "energy":
        seconds = np.diff(t) * 1e-9
        return _Series(t[1:], np.diff(value) / seconds, 2 * step / float(np.median(seconds)))
    return _Series(t, value, max(step, resolution(value) or 0.0))


def _candidates(series: list[_Series]) -> list[tuple[int, int]]:
    """Pairs whose changes correlate on a common clock."""
    if len(series) < 2:
        return []
    begin, end = max(one.t_ns[0] for one in series), min(one.t_ns[-1] for one in series)
    width = int(np.median([np.median(np.diff(one.t_ns)) for one in series]))
    clock = np.arange(begin, end + 1, max(width, 1))[:MOST]
    if len(clock) <= FEWEST:
        return [(i, j) for i in range(len(series)) for j in range(i + 1, len(series))]
    rows = np.array([_unit(np.diff(one.value[_nearest(one.t_ns, clock)])) for one in series])
    like = rows @ rows.T
    return [(int(i), int(j)) for i, j in np.argwhere(np.triu(like, 1) > _CORRELATED)]


def _unit(change: Floats) -> Floats:
    usual = float(np.median(np.abs(change)))
    clipped = np.clip(change, -_CLIPPED * usual, _CLIPPED * usual)
    length = float(np.linalg.norm(clipped))
    return clipped / length if length else np.zeros(len(change))


def _nearest(stamps: Ints, at: Ints) -> NDArray[np.int64]:
    """The index of the stamp that lies nearest to each time."""
    after = np.clip(np.searchsorted(stamps, at), 1, len(stamps) - 1)
    return after - (at - stamps[after - 1] < stamps[after] - at)


def _factor(one: _Series, other: _Series) -> float | None:
    """What the first is to be multiplied by to give the second, where that explains all but rounding; else None."""
    near = _nearest(other.t_ns, one.t_ns)
    half = float(np.median(np.diff(one.t_ns))) / 2
    both = np.abs(other.t_ns[near] - one.t_ns) < half
    x, y = np.diff(one.value[both], 2), np.diff(other.value[near[both]], 2)
    usual = float(np.median(np.abs(x))) if len(x) >= FEWEST else 0.0
    large = np.abs(x) >= usual
    if not usual:
        return None
    factor = float(np.median(y[large] / x[large]))
    inside = large & (np.abs(y - factor * x) <= 4 * (abs(factor) * one.rounding + other.rounding))
    factor = float(np.sum(x[inside] * y[inside]) / np.sum(x[inside] ** 2)) if inside.any() else factor
    rounding = 2.02 * (abs(factor) * one.rounding + other.rounding)
    explained = rounding + 1e-9 * float(np.abs(y).max())
    large_by = abs(factor) * usual / explained
    if factor <= 0 or large_by < LARGE or len(x) * math.log2(large_by) < BITS:
        return None
    if telling_length(np.round(x * factor / (2 * explained)).astype(np.int64)) > len(x):
        return None  # what follows a rule says no more than the rule
    return factor if np.mean(np.abs(y - factor * x) <= explained) >= AGREE else None
