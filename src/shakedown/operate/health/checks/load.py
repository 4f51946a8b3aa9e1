"""Load: what runs and what waits, against the number of CPUs; pressure where the kernel measures it.

The load average counts processes that hang in the kernel as well as those that compute: far above the number of CPUs it
mostly tells of a file system that does not answer.
"""

from __future__ import annotations

import re

from ....records import Record
from ....strict import NotNegative
from ..node_access import cpu_list
from ..records import Check, CheckContext, Metric, Outcome
from ..thresholds import at_most, unknown


class LoadConfig(Record, frozen=True, kw_only=True):
    warning: NotNegative = 4.0  # load over 15 minutes for each CPU
    critical: NotNegative = 16.0


def run(look: CheckContext) -> Outcome:
    words = (look.senses.word("/proc/loadavg") or "").split()
    if len(words) < 3:
        return Outcome(findings=(unknown("load", "/proc/loadavg is not there"),))
    cpus = len(cpu_list(look.senses.word("/sys/devices/system/cpu/online") or "")) or 1
    minute, _, quarter = (float(word) for word in words[:3])
    what = f"load over 15 minutes for each of {cpus} CPUs"
    action = "see what waits: ps -eo stat,pid,wchan,comm | grep ^D, and who runs more than the node has CPUs"
    finding = at_most("load", what, quarter / cpus, look.plan.warning, look.plan.critical, action)
    metrics = [Metric("load_1min", minute, help="Processes that run or wait, over a minute.", least=0.0)]
    for kind in ("cpu", "io", "memory"):
        text = look.senses.text(f"/proc/pressure/{kind}") if look.senses.there(f"/proc/pressure/{kind}") else None
        if found := re.search(r"^some avg10=([\d.]+)", text or "", re.MULTILINE):
            share = "Share of the last 10 s in which something waited for it."
            metrics.append(Metric("pressure_ratio", float(found[1]) / 100, {"resource": kind}, share))
    return Outcome(findings=(finding,), metrics=tuple(metrics), load={"cpus": float(cpus), "load_1min": minute})


CHECK = Check(name="load", title="Load", plan=LoadConfig, run=run)
