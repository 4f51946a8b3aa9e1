"""The machine with what its limits really are: a shipped campaign, run in a scratch folder, and the peaks that it reached.

``clock`` takes about two seconds (clock and FLOP rate under vector load); ``limits`` a minute (caches, memory and core to
core as well).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from .. import __version__, campaign
from ..campaign import plan
from ..hosts.access import HostAccess
from ..records import Absent, Machine
from . import harness, loop


def with_limits(
    machine: Machine, name: str, door: HostAccess, progress: loop.Progress | None = None
) -> tuple[Machine, list[Absent]]:
    """``machine`` with measured peaks, and what could not be measured, with the reason. Raises StoreFailed."""
    from ..analysis import build

    text, where = campaign.text_of(name)
    made = plan.make(campaign.parse(text, where), machine, where=where, version=__version__)
    if not made.runs:
        return machine, list(made.skipped)
    with tempfile.TemporaryDirectory(prefix="shakedown-") as scratch:
        directory = harness.create(Path(scratch) / "run", text, machine, made, door)
        loop.execute(directory, made, machine, door, progress)
        analysis, _ = build.analyse(directory)
    missing = [Absent(what=one.label, why=one.reason) for one in analysis.outcomes if one.state != "ok"]
    return analysis.machine, [*made.skipped, *missing]
