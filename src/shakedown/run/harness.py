"""What this process does of a run: look at the machine, make the plan, keep both in a run directory, carry it out.

The session (``session``) calls it here, and a job of a batch engine on the first of its nodes (``batch.campaign_jobs``).
"""

from __future__ import annotations

import math
import os
import shutil
from pathlib import Path

import msgspec

from .. import __version__, machine, schedulers
from .. import campaign as campaigns
from ..campaign import Campaign, plan
from ..errors import CannotMeasure, Interrupted, StoreFailed
from ..files.atomic import write
from ..hosts.access import HostAccess, LocalHost
from ..layers import start as layer_start
from ..metering import campaign_meters
from ..metering.campaign_meters import Metered
from ..records import Machine, Measurement, Plan
from ..results import run_directory
from ..results.run_directory import RunDirectory
from ..schedulers import Allocation
from ..units import show_seconds
from . import loop
from .multihost import agent, fanout
from .observer import Observer


def around(asked: Campaign, observer: Observer) -> Allocation | None:
    """The allocation that this process is in, where the campaign has use for several hosts and this is one of them."""
    if not any(entry.nodes for entry in asked.runs):
        return None
    door = LocalHost()
    found = schedulers.inside(os.environ, door)
    if found is None:
        return None
    try:
        agent.me(found.hosts, os.environ, door.name())
    except CannotMeasure as error:
        observer.say(f"shakedown: not in the allocation {found.job}: {error.what}")
        return None
    return found


def with_hosts(path: Path, found: Machine, allocation: Allocation | None) -> Machine:
    """The machine with every host of an allocation, asked of those that have not told into this run directory yet."""
    if allocation is None:
        return found
    return msgspec.structs.replace(found, hosts=fanout.machines(path, found.hosts[0], allocation))


def new(path: Path, text: str, where: str, allocation: Allocation | None, shape: str = "") -> RunDirectory:
    """A new run directory with campaign, machine and plan; with ``shape`` of what is for that kind of node. In an
    allocation every host is asked what it is.

    Raises BadInput, CannotMeasure where nothing of it can run here.
    """
    asked = campaigns.parse(text, where)
    was_there = path.exists()
    try:
        door = LocalHost()
        found = with_hosts(path, machine.machine(door), allocation)
        history = plan.learn(run_directory.durations(path.parent))
        made = plan.make(
            asked,
            found,
            where=where,
            history=history,
            version=__version__,
            shape=shape,
            absent=lambda layer: layer_start.missing(layer, door),
        )
        if not made.runs:
            reasons = "; ".join(f"{names}: {why}" for names, why in plan.by_reason(made.skipped))
            raise CannotMeasure("nothing in this campaign can run here", where=where, hint=reasons)
        return create(path, text, found, made, door)
    except BaseException:
        if not was_there:
            shutil.rmtree(path, ignore_errors=True)  # hosts that were refused leave no folder that looks like a run
        raise


def create(path: Path, text: str, found: Machine, made: Plan, door: HostAccess) -> RunDirectory:
    """A run directory with its manifest, the campaign's text, machine and plan. Raises StoreFailed."""
    manifest = run_directory.Manifest(
        schema=run_directory.SCHEMA,
        campaign=made.campaign,
        created_ns=door.now_ns(),
        version=__version__,
        host=door.name(),
    )
    return RunDirectory.create(path, manifest=manifest, campaign_toml=text, machine=found, plan=made)


def allocation_to_go_on(opened: RunDirectory, named: Allocation | None, observer: Observer) -> Allocation | None:
    """The allocation to go on in: that of hosts by name, of the engine around this process, else what it had by name."""
    path = opened.path
    text = (path / "campaign.toml").read_text("utf-8")
    found = named or around(campaigns.parse(text, str(path / "campaign.toml")), observer)
    before = fanout.allocation_of(path)
    return before if found is None and before is not None and not before.engine else found


def carry_out(
    opened: RunDirectory,
    observer: Observer,
    metered: Metered | None = None,
    *,
    retry_failed: bool = False,
    allocation: Allocation | None = None,
    back: str = "",
    time_limit_s: float = math.inf,
) -> list[Measurement]:
    """Execute what is left of the plan, meters read meanwhile; all measurements that there are then. No run is begun that
    would end after ``time_limit_s``.

    Ctrl-C leaves a directory that can be resumed: it raises Interrupted, which says how, by ``back`` where that is not
    `shakedown run`. Raises what ``loop.execute`` raises.
    """
    door, made = LocalHost(), opened.plan()
    with_hosts(opened.path, opened.machine(), allocation)  # asks hosts that are new since the plan
    number = f"{len(made.runs)} run{'s' * (len(made.runs) != 1)}"
    observer.say(f"{made.title}: {number}, about {show_seconds(plan.total_s(made))}, into {opened.path}")
    for names, why in plan.by_reason(made.skipped):
        observer.say(f"  not here     {names}: {why}")
    try:
        with campaign_meters.beside(opened.path, metered, door, observer.say) as rest, observer.live() as live:
            measurements = loop.execute(
                opened,
                made,
                opened.machine(),
                door,
                live,
                retry_failed=retry_failed,
                rest=rest,
                allocation=allocation,
                time_limit_s=time_limit_s,
            )
    except KeyboardInterrupt:
        hint = back or f"shakedown run --resume {opened.path}"
        raise Interrupted("stopped; what is whole was kept", hint=hint) from None
    _remember_durations(opened, made, measurements, observer)
    return measurements


def _remember_durations(opened: RunDirectory, made: Plan, measurements: list[Measurement], observer: Observer) -> None:
    """Leave what the runs took, so that later plans estimate better."""
    estimates = {run.id: run.estimate_s for run in made.runs}
    taken = [
        (one.run, one.workload, estimates.get(one.run, 0.0), (one.end_ns - one.begin_ns) * 1e-9)
        for one in measurements
        if one.state == "ok"
    ]
    try:
        write(opened.path / "durations.json", msgspec.json.encode(taken))
    except StoreFailed as error:
        observer.say(f"shakedown: {error}")  # estimates only: the measurements are kept
