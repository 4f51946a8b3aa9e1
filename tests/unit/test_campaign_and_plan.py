"""Campaign files are read strictly, and plans resolve every parameter."""

from __future__ import annotations

import msgspec
import pytest

from shakedown import campaign
from shakedown.campaign import plan
from shakedown.errors import BadInput
from support.machines import machine

GOOD = """
name = "c"
title = "C"
budget = "1 min"
repeat = { min = 1, max = 3, interval = 0.05 }
[[run]]
workload = "empty"
params = { seconds = 2 }
sweep = { tag = [1, 2, 3] }
"""


def test_a_sweep_is_a_run_for_each_combination_and_hashes_tell_them_apart() -> None:
    made = plan.make(campaign.parse(GOOD, "c"), machine())
    assert [run.params["tag"] for run in made.runs] == [1, 2, 3]
    assert len({run.id for run in made.runs}) == 3
    assert made.budget_s == 60


def test_the_same_content_is_the_same_run_in_whatever_order() -> None:
    one = plan.content_hash("empty", {"a": 1, "b": 2.5}, "0.1")
    assert one == plan.content_hash("empty", {"b": 2.5, "a": 1}, "0.1")
    assert one != plan.content_hash("empty", {"a": 1, "b": 2.5}, "0.2")
    assert one != plan.content_hash("empty", {"a": 2, "b": 2.5}, "0.1")
    assert one != plan.content_hash("other", {"a": 1, "b": 2.5}, "0.1")


def test_entries_that_resolve_to_the_same_run_are_one() -> None:
    twice = GOOD + '[[run]]\nworkload = "empty"\nparams = { tag = 2, seconds = 2 }\n'
    assert len(plan.make(campaign.parse(twice, "c"), machine()).runs) == 3


def test_a_number_of_times_is_said_at_the_top_or_of_a_run() -> None:
    text = GOOD.replace("{ min = 1, max = 3, interval = 0.05 }", "2")
    text += '[[run]]\nworkload = "empty"\nparams = { tag = 7 }\nrepeat = 4\n'
    made = plan.make(campaign.parse(text, "c"), machine())
    assert [(run.repeat_min, run.repeat_max) for run in made.runs] == [(2, 2)] * 3 + [(4, 4)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("title", "titel"), "unknown key 'titel'.*did you mean 'title'"),
        (("workload =", "worload ="), "run 1.*unknown key 'worload'.*did you mean 'workload'"),
        (('"empty"', '"emtpy"'), "unknown workload 'emtpy'.*did you mean 'empty'"),
        (("seconds = 2", "second = 2"), "no parameter 'second'.*did you mean 'seconds'"),
        (("seconds = 2", "seconds = -2"), r"empty.seconds = -2 is below 0 s"),
        (("seconds = 2", 'seconds = "long"'), "is not a number"),
        (("1 min", "1 minute"), "'1 minute' is not a valid duration"),
        (("1 min", "5 GB"), "'5 GB' is not a duration above zero"),
        (("max = 3", "max = 0"), "1 <= min <= max"),
        (('title = "C"', ""), "the key 'title' is missing"),
        (('name = "c"', 'name = "c'), "is not TOML"),
        (("interval = 0.05", 'interval = "narrow"'), "repeat.*Expected"),
        (("{ min = 1, max = 3, interval = 0.05 }", "0"), "1 <= min <= max"),
        (("{ min = 1, max = 3, interval = 0.05 }", "true"), "repeat.*Expected"),
    ],
)
def test_a_mistake_is_one_clear_error(change: tuple[str, str], message: str) -> None:
    with pytest.raises(BadInput) as caught:
        plan.make(campaign.parse(GOOD.replace(*change), "c.toml"), machine(), where="c.toml")
    import re

    assert re.search(message, str(caught.value), re.DOTALL), str(caught.value)
    assert "c.toml" in str(caught.value) and caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ('metric = "empty.tme"\nat_least = "1 s"', "unknown metric 'empty.tme'.*empty.time"),
        ('metric = "empty.time"\nat_least = "1 GB/s"', "is in B/s, the metric in s"),
        ('metric = "empty.time"', "neither at_least nor at_most"),
        ('metric = "empty.time"\nat_least = 3.0', "neither a unit nor a peak"),
    ],
)
def test_a_limit_must_make_sense(limit: str, message: str) -> None:
    with pytest.raises(BadInput, match=f"(?s){message}"):
        plan.make(campaign.parse(f"{GOOD}[[limit]]\n{limit}\n", "c"), machine())


def test_limits_are_in_si() -> None:
    made = plan.make(campaign.parse(f'{GOOD}[[limit]]\nmetric = "empty.time"\nat_most = "3 ms"\n', "c"), machine())
    assert made.limits[0].at_most == pytest.approx(0.003)


def test_estimates_learn_from_earlier_runs() -> None:
    parsed = campaign.parse(GOOD, "c")
    first = plan.make(parsed, machine())
    history = plan.learn([(first.runs[0].id, "empty", 2.0, 8.0), (first.runs[0].id, "empty", 2.0, 10.0)])
    second = plan.make(parsed, machine(), history=history)
    assert second.runs[0].estimate_s == 9.0  # this very run
    assert second.runs[1].estimate_s == pytest.approx(first.runs[1].estimate_s * 4.5)  # the workload's usual error


def test_every_shipped_campaign_is_understood() -> None:
    for name in campaign.names():
        parsed = campaign.parse(*campaign.text_of(name))
        assert parsed.name == name
        made = plan.make(parsed, machine(4))
        assert msgspec.json.decode(msgspec.json.encode(made), type=type(made)) == made
