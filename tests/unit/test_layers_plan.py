"""Runs under layers in a plan: pairs, their order, what is absent, and what an earlier session left of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from shakedown import campaign
from shakedown.analysis import commands
from shakedown.campaign import plan
from shakedown.cli import _chosen
from shakedown.errors import BadInput, Unavailable
from shakedown.layers import asked
from shakedown.records import Measurement, Plan, State
from shakedown.run import schedule
from shakedown.run.schedule import Done
from support.machines import machine


def planned(text: str, **more: Any) -> Plan:
    return plan.make(campaign.parse(text, "x"), machine(), version="1", **more)


TEXT = """
name = "c"
title = "t"
[[run]]
workload = "empty"
"""


def test_native_among_them_makes_pairs() -> None:
    made = planned('under = ["native", "control,namespaces"]\n' + TEXT)
    assert [(one.under, one.pair) for one in made.runs] == [
        ("native", "control"),
        ("control", "control"),
        ("native", "namespaces"),
        ("namespaces", "namespaces"),
    ]
    assert len({one.id for one in made.runs}) == 4 and {one.repeat_max for one in made.runs} == {plan.LAUNCHES}
    assert "native beside control" in made.runs[0].label and "under control" in made.runs[1].label


def test_without_native_each_is_a_run_of_its_own() -> None:
    made = planned(TEXT + 'under = "namespaces,bubblewrap"\n')
    assert [(one.under, one.pair, one.repeat_max) for one in made.runs] == [
        ("namespaces", "", 1),
        ("bubblewrap", "", 1),
    ]
    alone = planned(TEXT)
    assert [(one.under, one.pair) for one in alone.runs] == [("", "")]
    assert alone.runs[0].id not in {one.id for one in made.runs}
    said = planned('under = "native,namespaces"\nrepeat = { min = 2, max = 3 }\n' + TEXT)
    assert {one.repeat_max for one in said.runs} == {3}, "what is said holds"


def test_a_layer_that_is_not_here_is_skipped_and_the_rest_goes_on() -> None:
    def absent(one: asked.Asked) -> Unavailable | None:
        return Unavailable("no bwrap", hint="install it") if one.label == "bubblewrap" else None

    made = planned('under = ["native", "bubblewrap", "namespaces"]\n' + TEXT, absent=absent)
    assert [one.under for one in made.runs] == ["native", "namespaces"]
    assert made.skipped[0].what == "empty under bubblewrap" and "install it" in made.skipped[0].why
    nothing = planned('under = ["native", "bubblewrap"]\n' + TEXT, absent=absent)
    assert not nothing.runs and nothing.skipped, "native alone would be beside nothing"
    with pytest.raises(Unavailable, match="no bwrap"):
        planned('under = "bubblewrap"\n' + TEXT + "optional = false\n", absent=absent)


def test_a_bad_layer_is_named_with_its_place() -> None:
    with pytest.raises(BadInput, match="unknown kind") as caught:
        planned('under = ["nativ"]\n' + TEXT)
    assert "run 1 'empty'" in caught.value.where


def test_the_option_is_a_line_of_the_campaign(tmp_path: Path) -> None:
    text, _ = _chosen.campaign("stream", ["threads=1"], None, ["native,x=env a,b"])
    assert campaign.parse(text, "x").under == ("native", "x=env a,b")
    own = tmp_path / "own.toml"
    own.write_text(text)
    with pytest.raises(BadInput, match="names layers itself"):
        _chosen.campaign(str(own), [], None, ["native"])
    with pytest.raises(BadInput, match="names none"):
        _chosen.campaign("stream", [], None, [" , "])


def test_a_run_s_command_has_its_layer() -> None:
    (run,) = planned('under = "x=env A=1"\n' + TEXT).runs
    assert commands.of_run(run).endswith("--under 'x=env A=1'")


def test_the_order_within_a_pair_alternates() -> None:
    made = planned('under = "native,control,namespaces"\n' + TEXT)
    rounds = [[one.under for one in schedule.in_turn(made.runs, number)] for number in (1, 2, 3)]
    assert rounds[0] == rounds[2] == ["native", "control", "native", "namespaces"]
    assert rounds[1] == ["control", "native", "namespaces", "native"]


def test_a_pair_of_which_one_failed_is_given_up_and_the_others_go_on() -> None:
    made = planned('under = "native,control,namespaces"\n' + TEXT)
    native, control, other, namespaces = (one.id for one in made.runs)
    done = {(one, 1): Done("ok", (1.0,)) for one in (native, control, other)} | {(namespaces, 1): Done("failed", ())}
    left = []
    while step := schedule.next_step(made, done, 0.0):
        left.append((step.run.id, step.repeat))
        done[step.run.id, step.repeat] = Done("ok", (1.0,))
    assert {one for one, _ in left} == {native, control} and len(left) == 2 * (plan.LAUNCHES - 1)
    assert schedule.missing(made, done) == [] and schedule.left_s(made, done, 0.0) == 0.0


def left_by(run: str, repeat: int = 1, state: State = "ok", host: str = "n1") -> Measurement:
    return Measurement(
        run=run, repeat=repeat, workload="latency", params={}, host=host, state=state, begin_ns=0, end_ns=1
    )


def test_half_a_pair_that_an_earlier_session_left_is_made_again() -> None:
    """Hours may lie between the two, and another node: the pair is made as a whole, one right after the other."""
    made = planned('under = "native,control,namespaces"\n' + TEXT)
    native, control, other, namespaces = (one.id for one in made.runs)
    whole = [left_by(one) for one in (native, control, other, namespaces)]
    assert schedule.split(made, []) == schedule.split(made, whole) == set()
    assert schedule.split(made, [*whole, left_by(control, 2)]) == {(native, 2), (control, 2)}
    assert schedule.split(made, [*whole, left_by(control, 2, "failed")]) == set(), "it is left as it is"
    alone = planned('under = "control,namespaces"\n' + TEXT)
    assert schedule.split(alone, [left_by(alone.runs[0].id)]) == set(), "of no pair"


def test_a_pair_on_each_host_is_whole_when_it_is_on_all() -> None:
    made = planned('under = "native,namespaces"\n' + TEXT)
    made = msgspec.structs.replace(made, runs=tuple(msgspec.structs.replace(one, each=True) for one in made.runs))
    native, namespaces = (one.id for one in made.runs)
    first = [left_by(native, host="n1"), left_by(native, host="n2"), left_by(namespaces, host="n1")]
    assert schedule.split(made, first, ("n1", "n2")) == {(native, 1), (namespaces, 1)}
    assert schedule.split(made, first[:1], ("n1", "n2")) == {(native, 1), (namespaces, 1)}
    assert schedule.split(made, [*first, left_by(namespaces, host="n2")], ("n1", "n2")) == set()


def test_what_is_beside_a_failure_is_tried_once() -> None:
    """So that nothing of the plan is left that a resume would not do either."""
    made = planned('under = "native,namespaces"\n' + TEXT)
    native, namespaces = (one.id for one in made.runs)
    done = {(native, 1): Done("timeout", ())}
    assert schedule.missing(made, done) == [schedule.Step(made.runs[1], 1)] and schedule.left_s(made, done, 0.0) > 0
    assert schedule.next_step(made, done, 0.0) == schedule.Step(made.runs[1], 1)
    done[namespaces, 1] = Done("ok", (1.0,))
    assert schedule.next_step(made, done, 0.0) is None and schedule.missing(made, done) == []
