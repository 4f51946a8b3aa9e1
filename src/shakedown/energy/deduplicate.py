"""A trace at the device's own pace: in order of time, and with one reading for each value that the device made."""

from __future__ import annotations

import numpy as np

from ..metering.trace import Ints, Trace
from .refresh import changes
from .response import GAP, OFTEN, Response, has_own_stamps


def refreshed(trace: Trace, response: Response) -> Trace:
    """The trace at the device's own pace: of a value that is read several times over only the first reading is kept, with
    its stamp moved to the middle between the last old reading and it. Refreshes that brought the same value again are put
    back in where a run of equal values is longer than a refresh. Entries without a value stay."""
    if len(trace) < 3 or response.refresh_s <= 0:
        return trace
    poll_s = float(np.median(np.diff(trace.t_ns))) * 1e-9
    if poll_s > OFTEN * response.refresh_s:
        return trace
    good = trace.take(trace.ok)
    at = changes(good)
    if len(at) < 2:
        return trace
    half_ns = round(poll_s * 0.5e9)
    refresh_ns = round(response.refresh_s * 1e9)
    stamps = good.t_ns[at] - half_ns
    stamps[0] = good.t_ns[0]
    until = np.append(stamps[1:], good.t_ns[-1])
    again = np.maximum(np.round((until - stamps) / refresh_ns).astype(np.int64), 1)
    again[-1] = max((int(until[-1]) - int(stamps[-1])) // refresh_ns + 1, 1)
    index = np.repeat(np.arange(len(at)), again)
    nth = np.arange(len(index)) - np.repeat(np.cumsum(again) - again, again)
    step = np.where(again > 1, (until - stamps) / np.maximum(again, 1), 0.0)
    step[-1] = refresh_ns
    t_ns = stamps[index] + np.round(nth * step[index]).astype(np.int64)
    return _without_bridged(trace, good, at[index], t_ns, refresh_ns)


def _without_bridged(trace: Trace, good: Trace, source: Ints, t_ns: Ints, refresh_ns: int) -> Trace:
    """Only refreshes that a good reading followed before the next one are kept (a value is not repeated into a stretch where
    nothing was read), merged with the entries that have no value and stand where no good reading is near."""
    following = np.searchsorted(good.t_ns, t_ns)
    seen = good.t_ns[np.minimum(following, len(good) - 1)]
    near = (seen >= t_ns) & (seen - t_ns < refresh_ns)
    made = good.take(source[near])
    made = Trace(made.channel, t_ns[near], made.half_ns, made.value, made.status)
    bad = trace.take(~trace.ok)
    if len(bad):
        spot = np.clip(np.searchsorted(good.t_ns, bad.t_ns), 1, len(good) - 1)
        lonely = (good.t_ns[spot] - good.t_ns[spot - 1]) > GAP * refresh_ns
        bad = bad.take(lonely | (bad.t_ns < good.t_ns[0]) | (bad.t_ns > good.t_ns[-1]))
    order = np.argsort(np.concatenate([made.t_ns, bad.t_ns]), kind="stable")
    return Trace(
        trace.channel,
        np.concatenate([made.t_ns, bad.t_ns])[order],
        np.concatenate([made.half_ns, bad.half_ns])[order],
        np.concatenate([made.value, bad.value])[order],
        np.concatenate([made.status, bad.status])[order],
    )


def ordered(trace: Trace) -> Trace:
    """The trace by time; stable."""
    if np.any(np.diff(trace.t_ns) < 0):
        return trace.take(np.argsort(trace.t_ns, kind="stable"))
    return trace


def once(trace: Trace) -> Trace:
    """A device's own stamps stand once each: what was read again before it refreshed tells nothing more."""
    if not has_own_stamps(trace):
        return trace
    again = np.zeros(len(trace), np.bool_)
    again[1:] = (np.diff(trace.t_ns) == 0) & trace.ok[1:] & trace.ok[:-1]
    return trace.take(~again) if np.any(again) else trace
