"""For how long the machine has been up, and whether it was started anew since the last call.

A start that nobody asked for is a fault, or hides one; what was kept over it (counters, load) begins anew.
"""

from __future__ import annotations

from ....records import Record
from ..growth import DAY_S
from ..records import Check, CheckContext, Metric, Outcome
from ..thresholds import at_most, unknown


class UptimeConfig(Record, frozen=True, kw_only=True):
    maximum_days: float | None = None  # longer than the site lets a kernel run
    restarts_a_week: int = 3  # above which it is a warning


def run(look: CheckContext) -> Outcome:
    word = look.senses.word("/proc/uptime")
    if word is None:
        return Outcome(findings=(unknown("uptime", "/proc/uptime is not there"),))
    up_s = float(word.split()[0])
    boots: list[list[float | str]] = [list(one) for one in look.kept.get("boots", [])]
    started_s = look.now_s - up_s
    if look.boot and (not boots or boots[-1][0] != look.boot):
        boots.append([look.boot, started_s])
    boots = boots[-50:]
    action = "restart the node when it is empty: its kernel is older than the site allows"
    up = at_most("uptime", "days since the start", up_s / DAY_S, look.plan.maximum_days, None, action, item="up")
    # The first that is known is where watching began, so it is no restart.
    recent = [one for one in boots[1:] if float(one[1]) > look.now_s - 7 * DAY_S]
    what = "restarts within a week"
    action = "look for the cause: the kernel's log of the earlier starts, the management controller's event log"
    restarts = at_most("uptime", what, len(recent), look.plan.restarts_a_week, None, action, item="restarts")
    metrics = (
        Metric("uptime_seconds", up_s, help="Since the start of the machine.", unit="s"),
        Metric("restarts_week", len(recent), help="Starts of the machine within a week."),
    )
    return Outcome(findings=(up, restarts), metrics=metrics, kept={"boots": boots})


CHECK = Check(name="uptime", title="Time since the start", plan=UptimeConfig, run=run)
