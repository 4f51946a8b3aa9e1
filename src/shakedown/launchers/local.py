"""A program without MPI is started as it is."""

from __future__ import annotations

from . import Launcher, Start, Started


def _refusal(start: Start) -> str:
    if start.spread:
        return f"it starts programs on this host alone, {start.host.name}"
    return f"{start.ranks} ranks need an MPI launcher" if start.ranks and not start.whole else ""


def _start(start: Start) -> Started:
    return start.argv, {}


LAUNCHER = Launcher(name="local", title="no launcher", order=0, refusal=_refusal, start=_start, fed=True)
