"""The longest stretch in which a trace shows one value, and whether a counter that stood still made up for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...metering.trace import Floats, Trace
from ..green500.stamps import Window

#: A value may repeat so often before it is suspect, and so many times longer than it does elsewhere.
REPEATS, LONGER = 10, 8


class Still(NamedTuple):
    """The longest stretch in which a trace shows one value."""

    begin_ns: int
    end_ns: int
    readings: int
    others: Floats  # readings of each other stretch
    value: float

    @property
    def alone(self) -> bool:
        """Whether no other stretch is nearly as long: coarse meters and steady loads repeat everywhere."""
        enough = min(len(self.others), self.readings) >= REPEATS
        return enough and self.readings > LONGER * float(self.others.max())


def longest(trace: Trace, span: tuple[int, int]) -> Still | None:
    """That of the good readings in a span, Unix ns; None for fewer than ``REPEATS`` readings."""
    good = trace.take(trace.ok & (trace.t_ns >= span[0]) & (trace.t_ns <= span[1]))
    if len(good) < REPEATS:
        return None
    at = np.concatenate([[0], np.flatnonzero(np.diff(good.value) != 0) + 1])
    runs = np.diff(np.append(at, len(good)))
    longest = int(np.argmax(runs))
    first, last = int(at[longest]), int(at[longest] + runs[longest] - 1)
    others = np.delete(runs, longest).astype(np.float64)
    return Still(int(good.t_ns[first]), int(good.t_ns[last]), int(runs[longest]), others, float(good.value[first]))


def caught_up(trace: Trace, at: Still, core: Window) -> bool:
    """Whether a counter that stood still in the midst of the core phase made up for it at once: its energy is then right."""
    good = trace.take(trace.ok)
    after = good.take((good.t_ns > at.end_ns) & (good.value != at.value))
    if not len(after) or at.end_ns >= core.end_ns or int(after.t_ns[0]) > core.end_ns:
        return False
    inside = good.take((good.t_ns >= core.begin_ns) & (good.t_ns <= core.end_ns))
    usual = float(inside.value[-1] - inside.value[0]) / max(int(inside.t_ns[-1] - inside.t_ns[0]), 1)
    made = float(after.value[0] - at.value) / max(int(after.t_ns[0]) - at.begin_ns, 1)
    return made > 0.5 * usual
