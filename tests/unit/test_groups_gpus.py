"""Groups of GPUs: what the program measured on the stand-in for NCCL with a slow GPU, a slow link and a lost GPU; which
rounds come next; and that pairs lead to groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from shakedown import campaign as campaigns
from shakedown.analysis import groups, pairs
from shakedown.analysis.groups import GroupTests, GroupVerdict
from shakedown.analysis.pairs import simulate
from shakedown.cli import _batch
from shakedown.cli import groups as verb
from shakedown.cli import pairs as pairs_verb
from shakedown.errors import BadInput, CannotMeasure
from shakedown.operate.group_tests import GroupPlan, stages
from shakedown.programs import events
from shakedown.report import groups as words
from shakedown.workloads import gpu_collectives
from support.group_runs import run_directory

RECORDINGS = Path(__file__).parent.parent / "recordings" / "gpu"


def judged(name: str, path: Path) -> tuple[GroupTests, GroupVerdict]:
    cases = events.parse((RECORDINGS / name).read_bytes()).cases
    (tests,), damaged = groups.from_directories([run_directory(path, cases, workload="gpu_collectives")])
    assert not damaged and tests.metric.name == "gpu_collective.group.time"
    return tests, groups.verdict(tests)


@pytest.mark.parametrize(
    ("name", "part", "slower"),
    [("groups-slow-gpu.jsonl", ("gpu", "n1:3"), 0.12), ("groups-slow-link.jsonl", ("link", "n1:2 - n1:5"), 0.15)],
)
def test_a_planted_slow_gpu_or_link_is_named_and_nothing_else(
    tmp_path: Path, name: str, part: tuple[str, str], slower: float
) -> None:
    tests, verdict = judged(name, tmp_path / "1")
    assert len(tests.places) == 8 and set(tests.hosts) == {"n1"}
    (one,) = verdict.slow
    assert (one.kind, one.name) == part and not one.alternatives
    assert one.effect.slower == pytest.approx(slower, abs=0.005)
    (said,) = words.named(verdict)
    assert said.step.startswith("compare its clocks" if part[0] == "gpu" else "look at what joins the two")
    assert "groups of GPUs at once" in said.seen


def test_a_gpu_that_does_not_answer_is_a_failed_place_and_the_others_are_judged(tmp_path: Path) -> None:
    _, verdict = judged("groups-lost-gpu.jsonl", tmp_path / "1")
    (lost,) = verdict.failed
    assert lost.place == "n1:6" and lost.why == "no answer" and not verdict.slow and verdict.tests >= 12
    assert "drain its node" in words.named(verdict)[0].step


def test_rounds_of_gpus_meet_until_each_link_can_be_judged() -> None:
    plan = GroupPlan(gpus=8, backend="host:8")
    first = stages.next_rounds(plan, 8, None, None)
    assert len(first) == 18 and {number for group in first[0] for number in group} == set(map(str, range(8)))
    assert all(len(group) == 2 for one in first for group in one)
    assert all(len(group) == 4 for group in stages.next_rounds(GroupPlan(gpus=16), 16, None, None)[0])
    (run,) = campaigns.parse(stages.campaign(plan, first), "groups").runs
    assert run.workload == "gpu_collectives" and run.nodes == "each" and run.params["backend"] == "host:8"
    assert gpu_collectives.rounds_of(run.params) == first


def test_more_rounds_follow_while_links_are_not_judged_and_a_lost_gpu_is_left_out(tmp_path: Path) -> None:
    tests, verdict = judged("groups-slow-gpu.jsonl", tmp_path / "1")
    assert verdict.unjudged.get("link") and len(stages.next_rounds(GroupPlan(gpus=8), 8, tests, verdict)) == 2
    tests, verdict = judged("groups-slow-link.jsonl", tmp_path / "2")
    assert not verdict.unjudged.get("link") and not stages.next_rounds(GroupPlan(gpus=8), 8, tests, verdict)
    tests, verdict = judged("groups-lost-gpu.jsonl", tmp_path / "3")
    more = stages.next_rounds(GroupPlan(gpus=8), 8, tests, verdict)
    assert more and "6" not in {number for one in more for group in one for number in group}


def test_one_slow_gpu_among_those_that_differ_is_not_taken_for_its_links() -> None:
    rng = np.random.default_rng(5)
    own = rng.normal(0, 0.005, 32)
    own[3] += 0.08
    rounds = groups.first_rounds(8, 5, size=2, count=35)
    members = [[8 * host + place for place in group] for one in rounds for host in range(4) for group in one]
    metric = next(one for one in gpu_collectives.WORKLOAD.metrics if one.name == "gpu_collective.group.time")
    places = tuple(f"n{host}:{gpu}" for host in range(4) for gpu in range(8))
    tests = GroupTests(
        metric=metric,
        params={},
        places=places,
        hosts=tuple(place.partition(":")[0] for place in places),
        test=np.repeat(np.arange(len(members)), 2),
        member=np.array(members).ravel(),
        values=np.exp([max(own[group]) + rng.normal(0, 0.01) for group in members]),
        round=np.repeat(np.arange(35), 16),
        rail=np.full(len(members), -1),
    )
    assert [(one.kind, one.name) for one in groups.verdict(tests).slow] == [("gpu", "n0:3")]


def run_verb(command: object, *arguments: str | Path) -> BaseException | None:
    app = typer.Typer()
    app.command(cls=_batch.Command)(command)  # type: ignore[type-var]
    return CliRunner().invoke(app, [str(word) for word in arguments]).exception


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--gpus", "8", "--ranks", "8"), "two kinds of places"),
        (("--gpus", "8", "--backend", "hip"), "--backend 'hip'"),
        (("--gpus", "4", "--backend", "host"), "5 places or more, not 4"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    error = run_verb(verb.command, tmp_path, *options)
    assert isinstance(error, BadInput) and message in str(error) and error.hint


def test_a_group_of_one_gpu_is_refused() -> None:
    with pytest.raises(BadInput, match=r"gpu_collectives.rounds: 3 is not a group|'3'|of two or more members"):
        gpu_collectives.rounds_of({"rounds": "0,1 3"})


def test_pairs_lead_to_groups_where_these_decide(tmp_path: Path) -> None:
    cases = events.parse((RECORDINGS / "groups-lost-gpu.jsonl").read_bytes()).cases
    run_directory(tmp_path / "1", cases, workload="gpu_collectives")
    error = run_verb(pairs_verb.command, tmp_path / "1")
    assert isinstance(error, CannotMeasure) and f"shakedown groups {tmp_path / '1'} --recorded" in error.hint


def leads(fleet: simulate.Fleet) -> list[str]:
    return [one.text for one in pairs.verdict(simulate.pairs(fleet, 1)).notices if one.code == "groups-decide"]


def test_pairs_that_are_few_or_behind_a_switch_lead_to_groups() -> None:
    loud = simulate.Fleet(nodes=64, rounds=3, jitter=0.3)
    assert leads(loud) == ["slow nodes show in at most 12 rounds of groups, without all pairs"]
    assert not leads(loud._replace(rounds=None, jitter=0.05)), "all pairs, and little noise: they decide"
    behind = simulate.Fleet(nodes=64, leaf=16, far=0.2, slow_leaves={1: 0.3})
    assert leads(behind) == ["which switch, uplink or path it is that nodes are slow behind, groups over them can say"]
    assert not leads(simulate.Fleet(nodes=4))
