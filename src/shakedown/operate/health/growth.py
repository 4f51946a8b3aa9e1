"""Counters that only grow: what they grew by in the last hour or day, across restarts of the counter. Pure.

A count of the last call's difference would be seen by one of several callers only (Slurm, Nagios, a person) and by none
for long; the increase within a window is the same for all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

HOUR_S = 3600.0
DAY_S = 86400.0
#: A window is kept as at most so many steps.
_STEPS = 12


class Growth(NamedTuple):
    """Of one counter."""

    value: int  # as the device shows it
    increase: int  # within the window, as far as it has been watched
    seconds: float  # for how long that is
    first: bool  # never seen before: nothing is known of an increase
    reset: bool  # it began anew since the last call

    within: float = 0.0  # the increase of just one window: of a step that began before it, in proportion
    spread_s: float = 0.0  # how long that step was; zero where nothing came in it

    def words(self, window_s: float) -> str:
        """What ``within`` is of: ``within a day``, ``a day, on average over 4.0 days``."""
        name, unit, units = ("an hour", HOUR_S, "hours") if window_s == HOUR_S else ("a day", DAY_S, "days")
        if self.spread_s < 1.5 * window_s:
            return f"within {name}"
        return f"{name}, on average over {self.spread_s / unit:.1f} {units}"


def follow(kept: dict[str, Any] | None, value: int, now_s: float, window_s: float) -> tuple[Growth, dict[str, Any]]:
    """How a counter grew, and what to keep of it.

    A value below the last one says that the device started anew from zero; what it shows then is an increase in full.
    """
    if not kept:
        return Growth(value, 0, 0.0, True, False), {"raw": value, "total": 0, "ring": [[now_s, 0]]}
    reset = value < kept["raw"]
    total = kept["total"] + (value if reset else value - kept["raw"])
    ring = [list(one) for one in kept["ring"] if one[0] <= now_s] or [[now_s, total]]
    begin = next((one for one in reversed(ring) if one[0] <= now_s - window_s), ring[0])
    if len(ring) > 1 and now_s - ring[-2][0] < window_s / _STEPS:
        ring.pop()  # the last one is always the last call's
    ring = [*(one for one in ring if one[0] >= begin[0]), [now_s, total]]
    after = next(one for one in ring if one[0] > begin[0] or one is ring[-1])
    spread_s, came = after[0] - begin[0], after[1] - begin[1]
    before = came * max(0.0, now_s - window_s - begin[0]) / spread_s if spread_s > 0 else 0.0
    increase = total - begin[1]
    growth = Growth(value, increase, now_s - begin[0], False, reset, increase - before, spread_s if came else 0.0)
    return growth, {"raw": value, "total": total, "ring": ring}


#: A counter that has not been seen for so long is forgotten: its part was taken out.
_FORGET_S = 30 * DAY_S


class Counters:
    """The counters of one check in one call: what it kept goes in, what it keeps comes out in ``kept``. One that cannot be
    read this time is kept as it was."""

    def __init__(self, before: dict[str, Any], now_s: float, window_s: float) -> None:
        self._now_s, self._window_s = now_s, window_s
        self.kept = {name: one for name, one in before.items() if one["ring"][-1][0] > now_s - _FORGET_S}

    def grown(self, name: str, value: int) -> Growth:
        growth, self.kept[name] = follow(self.kept.get(name), value, self._now_s, self._window_s)
        return growth
