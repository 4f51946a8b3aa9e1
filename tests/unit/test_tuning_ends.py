"""How the tuner's search ends: failures, budget, resumption, windows."""

from __future__ import annotations

import math

import msgspec
import pytest

from shakedown.tuning import loop, search, space
from shakedown.tuning.history import Windows
from shakedown.tuning.records import Point, Trial, name_of
from support.landscapes import (
    AXES,
    SPACE,
    Machine,
    Memory,
    even,
    flat,
    loss,
    problem,
    run,
    skewed,
)

# ------------------------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize("state", ["wrong", "crashed", "hangs"])
def test_a_broken_configuration_is_never_chosen_and_is_told(state: str) -> None:
    from shakedown.tuning import outcome

    machine = Machine(even, broken=lambda point: state if point["nb"] in (192, 256) else "")
    ended, memory = run(machine, problem(even))
    chosen = search.best(ended.known)
    assert chosen is not None and chosen["nb"] not in (192, 256)
    assert loss(machine, chosen) < 0.03
    found = outcome.result(ended, n_reason="", budget_s=None, version="")
    assert {one.point["nb"] for one in found.failures} <= {192, 256}
    assert {one.state for one in found.failures} == {"timeout" if state == "hangs" else state}
    tried = [trial for trial in memory.trials if trial.point["nb"] in (192, 256)]
    assert len(tried) <= 6, "a value that never works is not tried again and again"


def test_a_failed_run_of_one_configuration_takes_it_out_although_others_passed() -> None:
    point = space.canonical(SPACE, SPACE.defaults)
    seen = {"count": 0}

    def sometimes(asked: Point) -> str:
        if asked == point:
            seen["count"] += 1
            return "wrong" if seen["count"] == 2 else ""
        return ""

    machine = Machine(flat, broken=sometimes)
    ended, memory = run(machine, problem())
    assert seen["count"] == 2, "it was run again after it had failed"
    assert search.best(ended.known) != point
    assert [trial.state for trial in memory.trials if trial.point == point] == ["ok", "wrong"]


def test_everything_broken_gives_no_choice_and_ends() -> None:
    machine = Machine(even, broken=lambda point: "crashed")
    ended, memory = run(machine, problem(even))
    assert search.best(ended.known) is None
    assert 1 <= len(memory.trials) < 30


def test_slow_hosts_are_named() -> None:
    from shakedown.tuning import outcome

    hosts = {f"node{i}": 10.0 for i in range(8)} | {"node8": 11.5, "node9": 10.2}
    axes = {**AXES, "grid": tuple(f"{p}x{80 // p}" for p in (5, 8, 10)), "layout": ("8x1",)}
    wide = space.Space(axes=axes, defaults=space.first_values(axes, 10), hosts=10, cpus=8)
    ended, _ = run(Machine(even, hosts=hosts), problem(even, space=wide))
    found = outcome.result(ended, n_reason="", budget_s=None, version="")
    assert list(found.slow_hosts) == ["node8"]
    assert found.slow_hosts["node8"] == pytest.approx(0.15)


def test_a_disturbed_run_is_made_again_and_counts_for_little() -> None:
    class Shared(Machine):
        def measure(self, asked: loop.Asked) -> Trial:
            trial = super().measure(asked)
            if trial.ok and len(self.asked) % 5 == 0:
                assert trial.seconds is not None
                return msgspec.structs.replace(trial, seconds=trial.seconds * 1.8, disturbed=0.6)
            return trial

    machine = Shared(even, noise=0.005)
    ended, memory = run(machine, problem(even))
    assert loss(machine, search.best(ended.known)) < 0.02
    for before, after in zip(memory.trials, memory.trials[1:], strict=False):
        if before.disturbed and before.stage == after.stage:
            assert after.point == before.point and after.repeat == before.repeat + 1


# --------------------------------------------------------------------------------------------------------------- budget


@pytest.mark.parametrize("budget_s", [0.01, 3.0, 10.0, 40.0, 150.0])
@pytest.mark.parametrize("broken", ["", "hangs"])
def test_the_budget_is_kept_exactly(budget_s: float, broken: str) -> None:
    machine = Machine(even, noise=0.03, broken=lambda point: broken if point["trsm"] == "blas" else "")
    ended, memory = run(machine, problem(even, budget_s=budget_s))
    assert machine.clock_s <= budget_s
    assert ended.spent_s == machine.clock_s
    assert not ended.finished or budget_s == 150.0
    if budget_s >= 10.0:
        assert any(trial.stage == "final" for trial in memory.trials), "nothing was kept for the final"


def test_a_budget_for_nothing_starts_nothing() -> None:
    machine = Machine(even)
    ended, memory = run(machine, problem(even, budget_s=0.5))
    assert not memory.trials and not ended.finished and machine.clock_s == 0
    assert search.best(ended.known) is None


def test_more_budget_never_repeats_what_was_measured() -> None:
    machine = Machine(even)
    _, memory = run(machine, problem(even, budget_s=40.0))
    again = Memory(memory.trials, session=2)
    loop.tune(
        problem(even, budget_s=300.0), again, machine.measure, machine.now_s, spent_s=loop.total_cost_s(memory.trials)
    )
    assert len(machine.asked) == len(set(machine.asked))
    assert machine.clock_s <= 300.0 + 1e-6
    assert len(again.trials) > len(memory.trials)


# --------------------------------------------------------------------------------------------------------------- resume


@pytest.mark.parametrize("after", [0, 1, 7, 25, 45])
def test_an_interrupted_search_goes_on_without_repeating_a_run(after: int) -> None:
    whole = Machine(even, seed=5)
    _, uncut = run(whole, problem(even))

    class Cut(Machine):
        def measure(self, asked: loop.Asked) -> Trial:
            if len(self.asked) == after:
                raise KeyboardInterrupt
            return super().measure(asked)

    memory = Memory()
    with pytest.raises(KeyboardInterrupt):
        run(Cut(even, seed=5), problem(even), memory)
    assert len(memory.trials) == after
    rest = Machine(even, seed=6)
    ended, done = run(rest, problem(even), Memory(memory.trials, session=2))
    keys = [trial.key for trial in done.trials]
    assert len(keys) == len(set(keys)), "a run was made twice"
    assert loss(rest, search.best(ended.known)) < 0.02
    assert [trial.key for trial in done.trials[: after + 1]] == [trial.key for trial in uncut.trials[: after + 1]]


def test_a_finished_search_runs_nothing_when_it_is_called_again() -> None:
    machine = Machine(even)
    first, memory = run(machine, problem(even, sizes=True))
    again, after = run(machine, problem(even, sizes=True), Memory(memory.trials, session=2))
    assert len(after.trials) == len(memory.trials)
    assert search.best(again.known) == search.best(first.known)


def test_the_same_seed_asks_the_same_questions() -> None:
    one, other, third = (run(Machine(even), problem(even, seed=seed))[1] for seed in (1, 1, 2))
    assert [trial.key for trial in one.trials] == [trial.key for trial in other.trials]
    assert [trial.key for trial in one.trials] != [trial.key for trial in third.trials]


# -------------------------------------------------------------------------------------------------------------- windows


def test_windows_choose_and_whole_runs_decide() -> None:
    from shakedown.tuning import outcome

    machine = Machine(even, noise=0.004, base_s=200.0)
    asked = problem(windows=Windows(shares=(1.0, 0.7, 0.4, 0.15), columns=400), learn=skewed(even, 0.03, 1, 300.0))
    ended, memory = run(machine, asked)
    assert loss(machine, search.best(ended.known)) < 0.02
    whole = [trial for trial in memory.trials if trial.kind == "whole"]
    assert {trial.stage for trial in whole} == {"final"} and len({name_of(trial.point) for trial in whole}) == 2
    first = [trial for trial in memory.trials if trial.block.endswith("halving-1")]
    assert {len(trial.windows) for trial in first} == {1}, "the first round takes one window"
    found = outcome.result(ended, n_reason="", budget_s=None, version="")
    assert found.window_error is not None and abs(found.window_error.value) < 0.02
    assert found.chosen is not None and found.chosen.kind == "whole"


def test_rounds_turn_their_order_round() -> None:
    _, memory = run(Machine(flat), problem())
    rounds: dict[str, list[str]] = {}
    for trial in memory.trials:
        if trial.stage == "halving":
            rounds.setdefault(trial.block, []).append(name_of(trial.point))
    one, two = list(rounds.values())[:2]
    assert two == [name for name in reversed(one) if name in two]
    assert len(two) <= math.ceil(len(one) / 2)
