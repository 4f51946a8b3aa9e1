"""Stage after stage: measure, read all that is recorded, judge, plan the next. What lies in the directory is where it
goes on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...analysis import groups
from ...analysis.groups import GroupTests, GroupVerdict
from ...errors import BadInput, CannotMeasure
from ...records import Absent
from ...results.run_directory import RunDirectory
from ...run import session
from ...run.multihost.fanout import HostsDoNotAnswer
from ...run.observer import Observer
from ...run.session import How
from ...schedulers import Allocation
from ...units import whole_number
from .stages import GroupPlan, campaign, next_rounds

_MOST_FAILED = 2  # stages one after another that gave no group


def directories(path: Path) -> list[RunDirectory]:
    """The run directories of the stages below ``path``, in their order; or the one that it is itself."""
    if (path / "manifest.json").exists():
        return [RunDirectory.open(path)]
    stages = {whole_number(one.name, 1, 2**31): one for one in path.glob("*")}
    numbers = sorted(number for number in stages if number is not None)
    return [RunDirectory.open(stages[one]) for one in numbers if (stages[one] / "manifest.json").exists()]


def judge(
    opened: Sequence[RunDirectory], plan: GroupPlan
) -> tuple[list[tuple[GroupTests, GroupVerdict]], list[Absent]]:
    """A verdict for each value and size in the run directories, and what in them is damaged. Raises StoreFailed."""
    found, damaged = groups.from_directories(opened)
    return [(one, groups.verdict(one, plan.settings, plan.topology)) for one in found], damaged


def measure(path: Path, plan: GroupPlan, how: How, observer: Observer) -> None:
    """Stages of rounds until nothing is in doubt, from what lies below ``path``. Hosts that do not answer drop out.

    Raises BadInput for too few places, CannotMeasure where stages fail without a group, and what a session raises.
    """
    each = max(plan.gpus, 1)  # places of a host
    places, gone, failed = plan.ranks or each * (plan.places or len(plan.hosts) or 1), set[str](), 0
    if places < groups.FEWEST_PLACES:
        raise BadInput(
            f"group tests need {groups.FEWEST_PLACES} places or more, not {places}",
            hint="name them: --on slurm --nodes 16, --hosts node[1-16], --gpus 8 of each host, or --ranks 8 on this one",
        )
    while True:
        opened = directories(path)
        judged, _ = judge(opened, plan)
        tests, verdict = next(iter(judged), (None, None))
        rounds = next_rounds(plan, places - each * len(gone), tests, verdict, gone)
        if not rounds:
            return
        before = 0 if verdict is None else verdict.tests
        try:
            _stage(path / str(len(opened) + 1), plan, rounds, how, observer)
        except HostsDoNotAnswer as error:
            gone, how = _without(error, gone, how, observer)
            plan = plan._replace(hosts=tuple(host for host in plan.hosts if host not in gone))
            if places - each * len(gone) < groups.FEWEST_PLACES:
                raise
            continue
        judged, _ = judge(directories(path), plan)
        gained = bool(judged) and judged[0][1].tests > before
        failed = 0 if gained else failed + 1
        if failed >= _MOST_FAILED:
            raise CannotMeasure(
                f"{failed} stages one after another gave no group",
                where=str(path),
                hint="read stderr in the folder of the last one's run; what was measured before is kept",
            )


def _stage(
    path: Path, plan: GroupPlan, rounds: Sequence[tuple[tuple[str, ...], ...]], how: How, observer: Observer
) -> None:
    observer.say(f"stage {path.name}: {len(rounds)} round{'s' * (len(rounds) != 1)} of {len(rounds[0])} groups")
    back = how._replace(back=f"the same command again; it continues in {path.parent}")
    if session.begin(campaign(plan, rounds), "groups", path, back, observer) is None:
        raise BadInput("group tests plan each stage from the last", hint="leave out --detach")


def _without(error: HostsDoNotAnswer, gone: set[str], how: How, observer: Observer) -> tuple[set[str], How]:
    """The hosts that remain; Raises the error where it names none of those that were asked."""
    silent = set(error.hosts)
    if how.hosts is None or not silent or silent <= gone:
        raise error
    left = tuple(host for host in how.hosts.hosts if host not in silent)
    observer.say(f"shakedown: {error.what}\n  these drop out; {len(left)} hosts remain")
    return gone | silent, how._replace(hosts=Allocation(engine=how.hosts.engine, job=how.hosts.job, hosts=left))
