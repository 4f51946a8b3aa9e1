"""The energy between two readings of a counter, when it wraps: exactly where that can be known, in bounds where it cannot.

A counter of modulus M that read e1 and then e2 has counted

    dE = (e2 - e1) mod M + k M,    k = 0, 1, 2 ...

k is known only if no more than one value fits: the most power that can flow bounds it from above, the energy by a second
sensor from both sides. Everything is kept as two running sums, the least and the most energy that the readings allow; where
k is known they rise by the same amount. Nothing is lost at a failed reading: the counter still holds what flowed meanwhile,
and the next good reading bridges it.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import BadInput
from ..metering.meters import Channel, Place, Status, channel_key
from ..metering.trace import Floats, Ints, Trace
from ..records import Notice

#: The most power taken as possible where neither the caller nor the channel says: generous for what stands at that place,
#: so that a wrap is called ambiguous too often rather than too seldom.
GENEROUS_W: dict[Place, float] = {
    "component": 5e3,
    "board": 20e3,
    "node": 50e3,
    "rack": 500e3,
    "facility": 200e6,
}

#: Of the most energy that can have flowed: beyond this a drop is no wrap, and a rise no counting. The bound is a rating, and
#: ratings are exceeded for moments; a true reset lands anywhere in the counter's range.
_DROP, _RISE = 2.0, 10.0
#: How old a counter's value may be where the refresh is not known: that of NVML, the slowest of the fast ones.
_REFRESH_S = 0.1
#: A second sensor is trusted for no stretch in which its readings lie further apart than this many times the usual.
_HOLE = 3.0
_ROUNDING = 1e-9


class Step(enum.IntFlag):
    """What is known of the energy between the good reading before and this one. OK: known, no wrap, nothing failed."""

    OK = 0
    WRAP = 1  # the counter wrapped, and how often is known
    AMBIGUOUS = 2  # it may have wrapped more often: the sums part
    BRIDGED = 4  # readings failed in between; the counter had counted on
    RESET = 8  # the counter began anew: what flowed in between is not known
    MISSING = 16  # this reading itself failed


class Unrolled(NamedTuple):
    """One entry for each reading of the trace. Sums begin at zero at the first good reading; NaN where a reading failed.

    The energy between two readings lies between ``least_j[j] - least_j[i]`` and ``most_j[j] - most_j[i]``.
    """

    channel: Channel
    t_ns: Ints
    least_j: Floats
    most_j: Floats
    step: NDArray[np.uint8]
    most_w: float  # the bound that was used

    @property
    def known(self) -> bool:
        """Whether the energy from the first good reading to the last is known."""
        return not bool(np.any(self.step & (Step.AMBIGUOUS | Step.RESET)))

    @property
    def good(self) -> NDArray[np.bool_]:
        """The readings that have a sum."""
        out: NDArray[np.bool_] = (self.step & Step.MISSING) == 0
        return out

    @property
    def energy_j(self) -> Floats:
        """The running energy, NaN where a reading failed; across a step that is not ``joined`` only its least."""
        return self.least_j

    @property
    def joined(self) -> NDArray[np.bool_]:
        """Between each of the good readings and the next, one fewer than these: whether the energy is known."""
        out: NDArray[np.bool_] = (self.step[self.good][1:] & (Step.AMBIGUOUS | Step.RESET)) == 0
        return out

    def between(self, begin: int = 0, end: int = -1) -> tuple[float, float]:
        """The least and the most energy between two of the good readings, given by their places among these."""
        least, most = self.least_j[self.good], self.most_j[self.good]
        if len(least) < 2:
            raise BadInput("fewer than two readings of the counter", where=channel_key(self.channel))
        return float(least[end] - least[begin]), float(most[end] - most[begin])

    def notices(self) -> tuple[Notice, ...]:
        """What a reader of the energy must know, with how much it matters."""
        found = []
        count = int(np.count_nonzero(self.step & Step.AMBIGUOUS))
        key = channel_key(self.channel)
        if count:
            least, most = self.between()
            found.append(
                Notice(
                    code="wrap-ambiguous",
                    text=f"{key}: between {count} pairs of readings the counter may have wrapped unseen: the energy lies "
                    f"between {least:.6g} and {most:.6g} J (at most {self.most_w:g} W)",
                    advice=f"read it at least every {(self.channel.modulus or 0) / (3 * self.most_w):.3g} s, state the most "
                    "power that can flow, or read a second meter beside it",
                )
            )
        count = int(np.count_nonzero(self.step & Step.RESET))
        if count:
            found.append(
                Notice(
                    code="counter-reset",
                    text=f"{key}: the counter restarted {count} times; the energy across is not known",
                    advice="take phases that do not contain a reset",
                )
            )
        return tuple(found)


def unroll(
    trace: Trace, *, most_w: float | None = None, second: Trace | None = None, second_error: float = 0.1
) -> Unrolled:
    """The running energy of a counter over its wraps, failed readings and resets.

    ``most_w``: the most power that can flow, in W (else the channel's, else GENEROUS_W). A drop that as a wrap would need
    more than twice that is a reset; so is a rise that would need more than ten times. ``second``: another trace, of power
    or of energy, over the same load; its energy between two readings is trusted within the fraction ``second_error``, and
    decides where most_w alone leaves several k. Raises BadInput for a trace that is not an energy counter.
    """
    channel = trace.channel
    if channel.quantity != "energy" or channel.scope != "counter":
        raise BadInput(
            f"a {channel.quantity} with scope {channel.scope!r} is not a counter", where=channel_key(channel)
        )
    bound = most_w or channel.most_w or GENEROUS_W[channel.place]
    good = np.flatnonzero(trace.ok)
    step = np.where(trace.ok, np.uint8(Step.OK), np.uint8(Step.MISSING))
    least = np.full(len(trace), np.nan)
    most = np.full(len(trace), np.nan)
    if len(good):
        spans = _spans(trace, good, bound)
        if second is not None:
            spans = _decided(trace, good, spans, second, second_error)
        least[good], most[good] = _sums(trace.value[good], spans, channel.modulus)
        step[good[1:]] = _steps(trace, good, spans)
    return Unrolled(channel, trace.t_ns, least, most, step, bound)


class _Spans(NamedTuple):
    """Between neighbouring good readings: the least and the most number of wraps beyond what the difference shows, which of
    them wrapped visibly, and which are resets with the most energy that they can hide."""

    dropped: NDArray[np.bool_]  # e2 < e1
    least: Floats
    most: Floats
    reset: NDArray[np.bool_]
    limit_j: Floats


def _spans(trace: Trace, good: NDArray[np.intp], bound_w: float) -> _Spans:
    channel = trace.channel
    difference = np.diff(trace.value[good])
    dropped = difference < 0
    # The counter lags by up to one refresh, and each stamp is off by up to half of its answer.
    refresh_s = _REFRESH_S if channel.refresh_s is None else channel.refresh_s
    slack_ns = refresh_s * 1e9 + trace.half_ns[good[1:]] + trace.half_ns[good[:-1]]
    passed_s = (np.diff(trace.t_ns[good]) + slack_ns) * 1e-9
    limit_j = bound_w * passed_s * (1 + _ROUNDING) + (channel.resolution or 0.0)
    # A meter of 0.1 kWh steps stands still for minutes and then counts them all at once.
    grain = float(np.min(difference[difference > 0], initial=np.inf))
    grain = grain if np.isfinite(grain) else 0.0
    told = np.concatenate([[0], np.cumsum(trace.status == Status.RESET)])
    reset = (np.diff(told[good]) > 0) | (~dropped & (difference > _RISE * limit_j + grain))
    if channel.modulus is None:
        zero = np.zeros(len(difference))
        return _Spans(dropped, zero, zero, reset | dropped, limit_j)
    seen = np.where(dropped, difference + channel.modulus, difference)
    most = np.maximum(np.floor((limit_j - seen) / channel.modulus), 0.0)
    reset |= dropped & ((seen < 0) | (seen > _DROP * limit_j + grain))
    return _Spans(dropped, np.zeros(len(difference)), most, reset, limit_j)


def _decided(trace: Trace, good: NDArray[np.intp], spans: _Spans, second: Trace, error: float) -> _Spans:
    """The spans with k narrowed to what the second sensor allows. Where it saw nothing, or contradicts the bound, nothing
    is narrowed."""
    modulus = trace.channel.modulus
    open_ones = np.flatnonzero((spans.most > spans.least) & ~spans.reset)
    if modulus is None or not len(open_ones):
        return spans
    least, most = spans.least.copy(), spans.most.copy()
    begins, ends = trace.t_ns[good[open_ones]], trace.t_ns[good[open_ones + 1]]
    low_j, high_j = _second_energy(second, begins, ends)
    difference = np.diff(trace.value[good])[open_ones]
    seen = np.where(difference < 0, difference + modulus, difference)
    low = np.ceil((low_j * (1 - error) - seen) / modulus)
    high = np.floor((high_j * (1 + error) - seen) / modulus)
    low, high = np.maximum(low, least[open_ones]), np.minimum(high, most[open_ones])
    narrowed = np.isfinite(low) & np.isfinite(high) & (low <= high)
    least[open_ones[narrowed]] = low[narrowed]
    most[open_ones[narrowed]] = high[narrowed]
    return spans._replace(least=least, most=most)


def _second_energy(second: Trace, begins: Ints, ends: Ints) -> tuple[Floats, Floats]:
    """The least and the most energy that a second trace saw over stretches; NaN where it does not cover one or has a gap
    in it. Between its readings power counts as the lower and the higher of its two neighbours, a counter as constant."""
    if second.channel.quantity == "energy":
        unrolled = unroll(second)
        stamps = second.t_ns[unrolled.good]
        low, high = unrolled.least_j[unrolled.good], unrolled.most_j[unrolled.good]
    else:
        stamps, watts = second.t_ns[second.ok], second.value[second.ok]
        passed = np.diff(stamps) * 1e-9
        low = np.concatenate([[0.0], np.cumsum(np.minimum(watts[1:], watts[:-1]) * passed)])
        high = np.concatenate([[0.0], np.cumsum(np.maximum(watts[1:], watts[:-1]) * passed)])
    nothing = np.full(len(begins), np.nan)
    if len(stamps) < 2:
        return nothing, nothing
    passed = np.diff(stamps)
    if second.channel.quantity == "energy":
        holes = np.zeros(len(stamps))  # a counter bridges its own gaps
    else:
        holes = np.concatenate([[0.0], np.cumsum(passed > _HOLE * np.median(passed))])
    origin = int(stamps[0])
    at = (stamps - origin).astype(float)

    def over(column: Floats) -> Floats:
        begin = np.interp((begins - origin).astype(float), at, column, left=np.nan, right=np.nan)
        end = np.interp((ends - origin).astype(float), at, column, left=np.nan, right=np.nan)
        out: Floats = end - begin
        return out

    whole = over(holes) == 0
    return np.where(whole, over(low), nothing), np.where(whole, over(high), nothing)


def _sums(values: Floats, spans: _Spans, modulus: float | None) -> tuple[Floats, Floats]:
    """The running sums. Wraps are counted in whole numbers and differences taken from the first reading, so that no
    rounding grows with the number of readings."""
    out = []
    for wraps, hidden in ((spans.least, np.zeros(len(spans.least))), (spans.most, spans.limit_j)):
        known = np.where(spans.reset, 0.0, wraps + spans.dropped)
        turns = np.concatenate([[0.0], np.cumsum(known)])
        across = np.where(spans.reset, hidden - np.diff(values), 0.0)
        jumps = np.concatenate([[0.0], np.cumsum(across)])
        out.append((values - values[0]) + turns * (modulus or 0.0) + jumps)
    return out[0], out[1]


def _steps(trace: Trace, good: NDArray[np.intp], spans: _Spans) -> NDArray[np.uint8]:
    known = ~spans.reset
    flags = (
        (Step.WRAP, known & (spans.dropped | (spans.least > 0))),
        (Step.AMBIGUOUS, known & (spans.most > spans.least)),
        (Step.BRIDGED, np.diff(good) > 1),
        (Step.RESET, spans.reset),
    )
    return sum((np.uint8(flag) * where.astype(np.uint8) for flag, where in flags), np.zeros(len(known), np.uint8))
