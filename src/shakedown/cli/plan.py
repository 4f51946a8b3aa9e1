"""shakedown plan: what would run, and how long it takes."""

from __future__ import annotations

from typing import Annotated

import typer

from . import common


def command(
    campaign: Annotated[str, typer.Argument(help="A shipped campaign or a TOML file.")] = "quick",
    json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Show what a campaign would run on this machine and how long it takes; nothing is run."""
    from pathlib import Path

    from .. import __version__, machine, plan, store
    from .. import campaign as campaigns
    from ..host import RealHost
    from ..units import show_seconds

    text, where = campaigns.text_of(campaign)
    asked = campaigns.parse(text, where)
    made = plan.make(
        asked,
        machine.machine(RealHost()),
        where=where,
        history=plan.learn(store.durations(Path("runs"))),
        version=__version__,
    )
    if json:
        common.print_json(made)
        return
    print(f"{made.title}: {len(made.runs)} runs, about {show_seconds(plan.total_s(made))}")
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
    common.print_table(("run", "what", "times", "each", "limit"), rows)
    if made.skipped:
        common.print_table(("not here", "why"), [(one.what, one.why) for one in made.skipped])
