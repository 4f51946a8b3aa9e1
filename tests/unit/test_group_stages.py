"""Which rounds come next: from nothing, from a verdict, after hosts have gone; and the loop around it with a stand-in
session."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from shakedown import campaign as campaigns
from shakedown.analysis import groups
from shakedown.analysis.groups import simulate
from shakedown.analysis.groups.data import Topology
from shakedown.analysis.groups.simulate import GroupFleet
from shakedown.errors import CannotMeasure
from shakedown.operate.group_tests import GroupPlan, session, stages
from shakedown.run.multihost.fanout import HostsDoNotAnswer
from shakedown.run.observer import Lines
from shakedown.run.session import How, named
from shakedown.workloads import collectives
from support.group_runs import cases, run_directory

FLEET = GroupFleet(places=40, slow_places={5: 0.1, 6: 0.1}, noise=0.01)


def test_the_first_rounds_name_ranks_and_are_half_of_all() -> None:
    rounds = stages.next_rounds(GroupPlan(), 64, None, None)
    assert len(rounds) == 6
    assert {int(name) for group in rounds[0] for name in group} == set(range(64))
    assert len(stages.next_rounds(GroupPlan(rounds=4, group_size=8), 64, None, None)) == 2


def test_known_hosts_behind_switches_get_a_round_among_themselves() -> None:
    hosts = tuple(f"n{index}" for index in range(64))
    tree = Topology({host: f"leaf{index // 16}" for index, host in enumerate(hosts)})
    rounds = stages.next_rounds(GroupPlan(hosts=hosts, topology=tree), 64, None, None)
    local = [all(len({int(name) // 16 for name in group}) == 1 for group in one) for one in rounds]
    assert local == [False, False, False, True, False, False]


def carried_out(plan: GroupPlan, fleet: GroupFleet) -> tuple[list[int], groups.GroupVerdict]:
    """Stages on a simulated fleet: how many rounds each had, and the last verdict."""
    tests = verdict = None
    counts: list[int] = []
    while rounds := stages.next_rounds(plan, fleet.places, tests, verdict):
        names = [simulate.place_name(fleet, place) for place in range(fleet.places)]
        numbered = [[[int(m) if m.isdecimal() else names.index(m) for m in group] for group in one] for one in rounds]
        new = simulate.measure(fleet, numbered, 3, sum(counts))
        counts.append(len(rounds))
        tests = new if tests is None else simulate.joined(tests, new)
        verdict = groups.verdict(tests)
    assert verdict is not None
    return counts, verdict


def test_stages_end_when_nothing_is_in_doubt_or_after_two_log2_of_the_places() -> None:
    counts, verdict = carried_out(GroupPlan(), FLEET)
    assert {one.name for one in verdict.slow} == {"n6", "n7"}
    assert sum(counts) <= groups.most_rounds(40) and counts[0] == 6
    counts, verdict = carried_out(GroupPlan(), GroupFleet(places=40, noise=0.3))
    assert sum(counts) == groups.most_rounds(40) and verdict.state == "undecided"


def test_hosts_that_are_gone_and_places_that_failed_are_in_no_further_group() -> None:
    fleet = FLEET._replace(dead_places=(9,), noise=0.05)
    tests = simulate.measure(fleet, groups.first_rounds(40, 1, count=6), 1)
    rounds = stages.next_rounds(GroupPlan(), 38, tests, groups.verdict(tests), {"n3", "n4"})
    members = {name for one in rounds for group in one for name in group}
    assert rounds and not members & {"n3", "n4", "n10"} and len(members) >= 36


def test_the_campaign_of_a_stage_is_a_run_of_collectives() -> None:
    plan = GroupPlan(operation="allreduce", size_bytes=4096, ranks=6, oversubscribe=True)
    (run,) = campaigns.parse(stages.campaign(plan, ((("0", "1"), ("2", "3")), (("0", "2"), ("1", "3")))), "groups").runs
    assert run.workload == "collectives" and run.nodes in (None, (), "") and run.params["ranks"] == 6
    assert collectives.rounds_of(run.params) == ((("0", "1"), ("2", "3")), (("0", "2"), ("1", "3")))
    (run,) = campaigns.parse(stages.campaign(GroupPlan(), ((("n1", "n2"),),)), "groups").runs
    assert run.nodes and run.params["ranks"] == "hosts"


class Site:
    """Stands in for the session: hosts that measure as a fleet does, some of which do not answer."""

    def __init__(self, fleet: GroupFleet, silent: tuple[str, ...] = (), broken: bool = False) -> None:
        self.fleet, self.silent, self.broken, self.begun = fleet, silent, broken, 0
        self.asked: list[tuple[str, ...]] = []

    def begin(self, text: str, where: str, path: Path, how: How, observer: Any) -> object:
        assert how.hosts is not None
        hosts = how.hosts.hosts
        self.asked.append(hosts)
        if silent := [host for host in hosts if host in self.silent]:
            raise HostsDoNotAnswer(silent, f"{len(silent)} hosts do not answer")
        (run,) = campaigns.parse(text, where).runs
        places = [simulate.place_name(self.fleet, place) for place in range(self.fleet.places)]
        number = {name: places.index(host) for index, host in enumerate(hosts) for name in (str(index), host)}
        rounds = [[[number[m] for m in group] for group in one] for one in collectives.rounds_of(run.params)]
        tests = simulate.measure(self.fleet, rounds, 2, self.begun)
        self.begun += len(rounds)
        run_directory(path, [] if self.broken else cases(tests))
        return object()


def how(count: int) -> How:
    return How(hosts=named(f"n[1-{count}]"))


def test_the_loop_measures_stage_after_stage_and_goes_on_from_what_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(FLEET)
    monkeypatch.setattr(session.session, "begin", site.begin)
    plan = GroupPlan(places=40)
    session.measure(tmp_path, plan, how(40), Lines())
    begun = site.begun
    assert begun <= groups.most_rounds(40)
    session.measure(tmp_path, plan, how(40), Lines())
    assert site.begun == begun, "all that is needed was recorded"
    ((_, verdict),), _ = session.judge(session.directories(tmp_path), plan)
    assert {one.name for one in verdict.slow} == {"n6", "n7"} and verdict.rounds == begun


def test_hosts_that_do_not_answer_drop_out_and_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, said = Site(FLEET, silent=("n3", "n30")), list[str]()
    monkeypatch.setattr(session.session, "begin", site.begin)
    session.measure(tmp_path, GroupPlan(places=40), how(40), Lines(said.append))
    assert len(site.asked[0]) == 40 and all(len(hosts) == 38 for hosts in site.asked[1:])
    assert re.search(r"2 hosts do not answer\n.*drop out; 38 hosts remain", "\n".join(said))
    ((tests, verdict),), _ = session.judge(session.directories(tmp_path), GroupPlan())
    assert not {"n3", "n30"} & set(tests.places)
    assert {one.name for one in verdict.slow} == {"n6", "n7"}


def test_too_few_that_answer_and_stages_without_a_group_end_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(FLEET, silent=tuple(f"n{index}" for index in range(4, 41)))
    monkeypatch.setattr(session.session, "begin", site.begin)
    with pytest.raises(HostsDoNotAnswer):
        session.measure(tmp_path / "few", GroupPlan(places=40), how(40), Lines())
    site = Site(FLEET, broken=True)
    monkeypatch.setattr(session.session, "begin", site.begin)
    with pytest.raises(CannotMeasure, match="2 stages one after another gave no group"):
        session.measure(tmp_path / "broken", GroupPlan(places=40), how(40), Lines())
    assert len(site.asked) == 2
