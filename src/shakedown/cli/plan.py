"""shakedown plan: what would run, and how long it takes."""

from __future__ import annotations

from typing import Annotated

import typer

from ..document import terminal
from . import _chosen


def command(
    campaign: Annotated[str, typer.Argument(help="A shipped campaign, a TOML file, or a workload.")] = "quick",
    settings: _chosen.Settings = None,
    mpi: _chosen.Mpi = None,
    under: _chosen.Under = None,
    nodes: Annotated[int, typer.Option(min=1, help="As on so many hosts that are all like this one.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Show what a campaign would run on this machine and how long it takes; nothing is run."""
    from pathlib import Path

    from .. import __version__, machine
    from .. import campaign as campaigns
    from ..campaign import plan
    from ..hosts.access import LocalHost
    from ..layers import start
    from ..results import run_directory
    from ..units import show_seconds

    text, where = _chosen.campaign(campaign, settings or (), mpi, under)
    asked = campaigns.parse(text, where)
    made = plan.make(
        asked,
        plan.alike(machine.machine(LocalHost()), nodes),
        where=where,
        history=plan.learn(run_directory.durations(Path("runs"))),
        version=__version__,
        absent=lambda layer: start.missing(layer, LocalHost()),
    )
    if json:
        terminal.print_json(made)
        return
    print(f"{made.title}: {len(made.runs)} run{'s' * (len(made.runs) != 1)}, about {show_seconds(plan.total_s(made))}")
    rows = [
        (
            run.id,
            run.label,
            f"{run.repeat_min} to {run.repeat_max}" if run.repeat_max > run.repeat_min else str(run.repeat_min),
            show_seconds(run.estimate_s),
            show_seconds(run.limit_s),
        )
        for run in made.runs
    ]
    terminal.print_table(("run", "what", "times", "each", "limit"), rows)
    if made.skipped:
        terminal.print_table(("not here", "why"), plan.by_reason(made.skipped))
