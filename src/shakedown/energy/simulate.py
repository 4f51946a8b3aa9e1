"""A load and meters whose truth is known: for tests, for the claims in the documents, and for planning a measurement.

The load is piecewise constant, so its energy is exact at any time; a meter's window is two looks at that energy. Ramps
and noise are steps that are short enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..metering.meter_model import Truth, count_j, mean_w, power_shown, stamp_s, stepped
from ..metering.meters import Channel, Status
from ..metering.trace import Floats, Trace, trace

__all__ = ["Load", "Truth", "filtered_w", "observe", "refreshes"]


class Load(NamedTuple):
    """Power ``w[i]`` from ``t_s[i]`` to ``t_s[i + 1]``; the last holds on for ever, the first held since ever."""

    t_s: Floats
    w: Floats

    def energy_j(self, t_s: Floats | float) -> Floats:
        """The energy from the first edge to a time (negative before it)."""
        t = np.atleast_1d(np.asarray(t_s, float))
        before = np.concatenate([[0.0], np.cumsum(np.diff(self.t_s) * self.w[:-1])])
        at = np.clip(np.searchsorted(self.t_s, t, side="right") - 1, 0, len(self.t_s) - 1)
        out: Floats = before[at] + (t - self.t_s[at]) * self.w[at]
        return out

    def power_w(self, t_s: Floats) -> Floats:
        """The power at some times."""
        return self.w[np.clip(np.searchsorted(self.t_s, t_s, side="right") - 1, 0, len(self.w) - 1)]

    def mean_w(self, begin_s: float, end_s: float) -> float:
        """The mean power of a stretch: the truth that a measurement must find."""
        begin, end = self.energy_j(np.array([begin_s, end_s]))
        return float((end - begin) / (end_s - begin_s))


def refreshes(truth: Truth, begin_s: float, end_s: float) -> Floats:
    """The true times at which the device makes a new value."""
    first = np.ceil((begin_s - truth.phase_s) / truth.refresh_s)
    last = np.floor((end_s - truth.phase_s) / truth.refresh_s)
    out: Floats = truth.phase_s + truth.refresh_s * np.arange(first, last + 1)
    return out


def filtered_w(load: Load, truth: Truth, t_s: Floats) -> Floats:
    """(window * power)(t - delay), exactly for a boxcar; an exponential is summed over the load's steps."""
    if truth.tau_s:
        return _exponential(load, truth.tau_s, truth.window_s, t_s - truth.delay_s)
    return mean_w(truth, load.energy_j, load.power_w, t_s)


def _exponential(load: Load, tau: float, window: float, t: Floats) -> Floats:
    """Steps answered by 1 - exp(-x / tau), through a boxcar first where there is one."""

    def answer(x: Floats) -> Floats:
        if not window:
            return np.where(x > 0, -np.expm1(-np.maximum(x, 0) / tau), 0.0)
        ramp = np.where(x > 0, np.maximum(x, 0) + tau * np.expm1(-np.maximum(x, 0) / tau), 0.0)
        late = np.where(x > window, (x - window) + tau * np.expm1(-np.maximum(x - window, 0) / tau), 0.0)
        out: Floats = (ramp - late) / window
        return out

    out = np.full(t.shape, load.w[0])
    for edge, step in zip(load.t_s[1:], np.diff(load.w), strict=True):
        out = out + step * answer(t - edge)
    return out


def observe(
    load: Load,
    truth: Truth,
    channel: Channel,
    begin_s: float,
    end_s: float,
    *,
    poll_s: float | None = None,
    origin_ns: int = 0,
    seed: int | None = None,
) -> Trace:
    """The trace that a meter leaves. Without ``poll_s`` every refresh is an entry with its own stamp; with it the value is
    read every ``poll_s`` and repeats between refreshes. A channel of quantity "energy" counts, and wraps at the modulus."""
    random = np.random.default_rng(seed)
    made = refreshes(truth, begin_s - truth.refresh_s, end_s)
    if channel.quantity == "energy":
        values = count_j(truth, load.energy_j, made, made[:1])
    else:
        values = power_shown(truth, filtered_w(load, truth, made), random.standard_normal(len(made)))
    values = stepped(truth, values)
    stamps = made
    if poll_s is not None:
        stamps = np.arange(begin_s, end_s, poll_s)
        values = values[np.maximum(np.searchsorted(made, stamps, side="right") - 1, 0)]
    inside = (stamps >= begin_s) & (stamps <= end_s)
    t_ns = origin_ns + np.round(stamp_s(truth, stamps[inside]) * 1e9).astype(np.int64)
    return trace(channel, t_ns, values[inside], status=np.full(int(inside.sum()), Status.OK, np.uint8))
