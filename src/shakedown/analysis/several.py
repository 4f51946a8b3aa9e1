"""Many run directories -> one Analysis: a campaign on every node of a cluster, or one node over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from .. import metering
from ..records import Absent, Analysis, Host, Limit, Machine, Notice, Outcome, Plan
from ..store import RunDirectory, read_record
from . import days, table
from .build import OUTCOMES, PACKED, build, is_packed, read

if TYPE_CHECKING:
    from .power import Power


def analyse_many(directories: Sequence[RunDirectory], *, pool_days: bool = False) -> tuple[Analysis, list[Absent]]:
    """One analysis over many run directories: a campaign on every node of a cluster, or one node over time.

    What one host gave on different days stands apart, unless ``pool_days`` asks to take it as repeats of one measurement.
    """
    plans: list[Plan] = []
    hosts: dict[str, Host] = {}
    outcomes: list[Outcome] = []
    damaged: list[Absent] = []
    parts: list[table.Cases] = []
    packed: dict[str, list[Path]] = {}
    powers: list[Power] = []
    newest, version = 0, ""
    machines = [directory.machine() for directory in directories]
    created = [directory.manifest().created_ns for directory in directories]
    days_of = [days.day_of(created_ns) for created_ns in created]
    several = (
        {}
        if pool_days
        else days.repeated((day, [host.name for host in one.hosts]) for day, one in zip(days_of, machines, strict=True))
    )
    for directory, machine, day in zip(directories, machines, days_of, strict=True):
        if is_packed(directory) and not metering.folders(directory.path):
            manifest = directory.manifest()
            created_ns, made_by, plan = manifest.created_ns, manifest.version, directory.plan()
            packed.setdefault(day, []).append(directory.path / PACKED)
            outcomes += days.of_records(read_record(directory.path / OUTCOMES, list[Outcome]), day, several)
        else:
            plan, _, created_ns, made_by, cases, ended, broken, power = read(directory)
            if power:
                powers.append(power._replace(findings=days.of_records(power.findings, day, several)))
            parts.append(days.of_cases(cases, day, several))
            outcomes += days.of_records(ended, day, several)
            damaged += broken
        plans.append(plan)
        hosts.update((host.name, host) for host in days.of_records(machine.hosts, day, several))
        newest, version = max((newest, version), (created_ns, made_by))
    if several:
        parts += [days.of_cases(table.unpack(paths), day, several) for day, paths in packed.items()]
    elif packed:
        parts.append(table.unpack([path for paths in packed.values() for path in paths]))
    machine = Machine(hosts=tuple(hosts.values()), discovered_ns=newest, version=version)
    analysis = build(
        f"{len(directories)} runs",
        _merged(plans, len({host.name for machine in machines for host in machine.hosts})),
        machine,
        table.concatenate(parts),
        tuple(outcomes),
        newest,
        version,
        power=_together(powers),
        notices=(
            *days.notices(several),
            *(Notice(code="damaged", text=f"{one.what}: {one.why}") for one in damaged),
        ),
    )
    return analysis, damaged


def _merged(plans: Sequence[Plan], hosts: int) -> Plan:
    """The plans of several run directories over so many hosts as one, without its runs."""
    limits_of = dict.fromkeys(msgspec.json.encode(limit) for plan in plans for limit in plan.limits)
    skipped = {(one.what, one.why): one for plan in plans for one in plan.skipped}
    titles = sorted({plan.title for plan in plans})
    return Plan(
        campaign=", ".join(sorted({plan.campaign for plan in plans})),
        title=f"{', '.join(titles)} on {hosts} host{'s' * (hosts != 1)}",
        runs=(),
        limits=tuple(msgspec.json.decode(text, type=Limit) for text in limits_of),
        skipped=tuple(skipped.values()),
        compare_with=tuple(sorted({name for plan in plans for name in plan.compare_with})),
    )


def _together(powers: Sequence[Power]) -> Power | None:
    """What the meters of several run directories saw: the values and the meters; each has a time line of its own."""
    if not powers:
        return None
    if len(powers) == 1:
        return powers[0]
    from . import power

    return power.together(powers)
