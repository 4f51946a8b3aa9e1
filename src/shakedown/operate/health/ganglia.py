"""A report as calls of gmetric(1), one a line, for a shell: ``shakedown health --ganglia | sh``. Pure.

A metric's name becomes the name of a round-robin file at the collector, and has no labels: it holds letters, digits,
underscores and points alone, and what the labels say besides. Texts are quoted for the shell, since they come from the
machine (labels of modules, names of mounts).
"""

from __future__ import annotations

import math
import re
import shlex

from .prometheus import VALUES, states
from .records import HealthReport, Metric

_PREFIX = "shakedown_"
_UNITS = {"s": "s", "B": "bytes", "%": "%", "c": "", "": ""}
#: A metric that is told no more is shown for so long, and kept for so long; calls lie minutes apart.
_SHOWN_S, _KEPT_S = 1800, 86400


def text(report: HealthReport, gmetric: str = "gmetric") -> str:
    """All lines: the state of each check and of the node (0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN), then the numbers."""
    found: dict[str, str] = {}
    whole = Metric(name="status", value=VALUES[report.severity], help="The worst of all checks of the node.")
    for one in (whole, *states(report), *report.metrics):
        if one.name in ("problem", "absent") or not math.isfinite(one.value):
            continue  # series that come and go are nothing for a file of fixed places
        name = first = name_of(one)
        again = 1
        while name in found:  # two labels may be alike once they are plain
            again += 1
            name = f"{first}_{again}"
        found[name] = _line(gmetric, name, one)
    return "".join(f"{line}\n" for line in found.values())


def name_of(one: Metric) -> str:
    """``shakedown_filesystem_used_ratio_scratch``: the name, and its labels' values."""
    words = [one.name, *(_plain(value) for _, value in sorted(one.labels.items()))]
    return _PREFIX + ".".join(word for word in words if word)


def _plain(value: str) -> str:
    if value == "/":
        return "root"
    return re.sub(r"[^A-Za-z0-9_]+", "_", value).strip("_")


def _line(gmetric: str, name: str, one: Metric) -> str:
    number = f"{one.value:.0f}" if one.value == int(one.value) else repr(one.value)
    words = {
        "--name": name,
        "--value": number,
        "--type": "double",
        "--units": _UNITS[one.unit],
        "--slope": "positive" if one.counter else "both",
        "--group": "shakedown",
        "--desc": " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", one.help).split()),
        "--tmax": str(_SHOWN_S),
        "--dmax": str(_KEPT_S),
    }
    return " ".join([gmetric, *(f"{option}={shlex.quote(word)}" for option, word in words.items() if word)])
