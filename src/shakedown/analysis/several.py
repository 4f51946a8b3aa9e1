"""Many run directories -> one Analysis: a campaign on every node of a cluster, or one node over time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ..files.atomic import read_record
from ..metering import campaign_meters
from ..records import Absent, Analysis, Machine, Notice, Outcome, Plan
from ..results.run_directory import RunDirectory
from . import days, table
from .build import OUTCOMES, PACKED, build, is_packed, origin_notices, read

if TYPE_CHECKING:
    from .power import Power


class DirectoryPart(NamedTuple):
    """What one run directory brings: its cases, or where they lie packed."""

    day: str
    plan: Plan
    machine: Machine
    made: tuple[int, str]  # when, in ns since 1970, and by which version
    cases: table.Cases | Path
    outcomes: Sequence[Outcome]
    damaged: Sequence[Absent] = ()
    power: Power | None = None

    @property
    def hosts(self) -> set[str]:
        return {host.name for host in self.machine.hosts} | {one.host for one in self.outcomes}


def read_directory(directory: RunDirectory) -> DirectoryPart:
    """A run directory's packed measurements where there are any, else all of its files."""
    if is_packed(directory) and not campaign_meters.folders(directory.path):
        manifest = directory.manifest()
        plan, machine, cases = directory.plan(), directory.machine(), directory.path / PACKED
        made, outcomes = (manifest.created_ns, manifest.version), read_record(directory.path / OUTCOMES, list[Outcome])
        return DirectoryPart(days.day_of(made[0]), plan, machine, made, cases, outcomes)
    part = read(directory)
    made = (part.created_ns, part.version)
    day = days.day_of(part.created_ns)
    return DirectoryPart(day, part.plan, part.machine, made, part.cases, part.outcomes, part.damaged, part.power)


def analyse_many(directories: Sequence[RunDirectory], *, pool_days: bool = False) -> tuple[Analysis, list[Absent]]:
    """One analysis over many run directories: a campaign on every node of a cluster, or one node over time.

    What one host gave on different days stands apart, unless ``pool_days`` asks to take it as repeats of one measurement.
    """
    parts = [read_directory(directory) for directory in directories]
    apart = {} if pool_days else days.repeated((one.day, one.hosts) for one in parts)
    newest, version = max((one.made for one in parts), default=(0, ""))
    hosts = {host.name: host for one in parts for host in days.of_records(one.machine.hosts, one.day, apart)}
    powers = [
        one.power._replace(findings=days.of_records(one.power.findings, one.day, apart)) for one in parts if one.power
    ]
    damaged = [absent for one in parts for absent in one.damaged]
    analysis = build(
        f"{len(directories)} runs",
        _merged([one.plan for one in parts], len({host.name for one in parts for host in one.machine.hosts})),
        Machine(hosts=tuple(hosts.values()), discovered_ns=newest, version=version),
        _cases(parts, apart),
        tuple(outcome for one in parts for outcome in days.of_records(one.outcomes, one.day, apart)),
        newest,
        version,
        power=_together(powers),
        notices=(
            *origin_notices([one.path.name for one in directories if one.manifest().imported]),
            *days.notices(apart),
            *(Notice(code="damaged", text=f"{one.what}: {one.why}") for one in damaged),
        ),
    )
    return analysis, damaged


def _cases(parts: Sequence[DirectoryPart], apart: Collection[str]) -> table.Cases:
    """The cases of all parts; those that lie packed are read at once, of each day where days stand apart."""
    found = [days.of_cases(one.cases, one.day, apart) for one in parts if not isinstance(one.cases, Path)]
    packed: dict[str, list[Path]] = {}
    for one in parts:
        if isinstance(one.cases, Path):
            packed.setdefault(one.day if apart else "", []).append(one.cases)
    return table.concatenate(
        [*found, *(days.of_cases(table.unpack(paths), day, apart) for day, paths in packed.items())]
    )


def _merged(plans: Sequence[Plan], hosts: int) -> Plan:
    """The plans of several run directories over so many hosts as one, without its runs."""
    limits_of = {msgspec.json.encode(limit): limit for plan in plans for limit in plan.limits}
    skipped = {(one.what, one.why): one for plan in plans for one in plan.skipped}
    titles = sorted({plan.title for plan in plans})
    return Plan(
        campaign=", ".join(sorted({plan.campaign for plan in plans})),
        title=f"{', '.join(titles)} on {hosts} host{'s' * (hosts != 1)}",
        runs=(),
        limits=tuple(limits_of.values()),
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
