"""Shares of a time that another hides: what follows exactly, how often the interval holds, and what is beside what."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest

from shakedown import workloads
from shakedown.analysis import derive, hidden
from shakedown.analysis.table import Cases
from shakedown.records import Finding, Params

METRICS = {"overlap": workloads.get("overlap").metrics}


def cases(rows: Sequence[tuple[str, Params, Sequence[float]]], repeats: int = 1) -> Cases:
    every = [(repeat, *row) for repeat in range(repeats) for row in rows]
    strings = lambda values: np.array(list(values), object)  # noqa: E731
    return Cases(
        run=strings("r" for _ in every),
        repeat=np.array([repeat for repeat, *_ in every], np.int64),
        workload=strings("overlap" for _ in every),
        host=strings("n1" for _ in every),
        kernel=strings(kernel for _, kernel, _, _ in every),
        params=strings(json.dumps(params, sort_keys=True) for _, _, params, _ in every),
        work=strings("{}" for _ in every),
        counts=np.array([len(seconds) for *_, seconds in every], np.int64),
        seconds=np.array([one for *_, seconds in every for one in seconds], float),
    )


def found(rows: Sequence[tuple[str, Params, Sequence[float]]], metric: str, repeats: int = 1) -> list[Finding]:
    return [one for one in derive.findings(cases(rows, repeats), METRICS) if one.metric == metric]


def test_a_form_names_the_kernels_and_nothing_else_is_one() -> None:
    assert hidden.form("1-(s-computing)/pure") == hidden.Form("computing", "pure")
    assert hidden.form("1-s/pure") == hidden.Form("", "pure")
    assert all(hidden.form(per) is None for per in ("s", "bytes/s", "1-s", "1-(s-a)/", "hpl.rate/flops.fp64", ""))


BARE: Params = {"operation": "iallreduce", "bytes": 8}


@pytest.mark.parametrize(("both_s", "share"), [(1.25, 1.0), (2.25, 0.0), (1.5, 0.75), (2.5, -0.25), (1.0, 1.25)])
def test_what_is_hidden_follows_from_three_times(both_s: float, share: float) -> None:
    rows = [("pure", BARE, [1.0] * 7), ("computing", BARE, [1.25] * 7), ("both", {**BARE, "tests": 0}, [both_s] * 7)]
    (one,) = found(rows, "overlap.hidden")
    assert (one.value, one.low, one.high) == (share, share, share), "and it is not cut at 0 and 1"
    assert one.params == {**BARE, "tests": 0} and one.n_samples == 7


def test_what_disturbs_neighbours_alike_is_in_no_difference() -> None:
    slow = np.linspace(1, 3, 51)
    rows = [
        ("pure", BARE, [1.0] * 51),
        ("computing", BARE, (slow + 0.25).tolist()),
        ("both", {**BARE, "tests": 0}, (slow + 0.5).tolist()),
    ]
    (one,) = found(rows, "overlap.hidden")
    assert one.value == pytest.approx(0.75) and one.low == pytest.approx(0.75) == one.high


def test_availability_is_of_the_operations_own_time() -> None:
    rows = [("pure", BARE, [1.0] * 7), ("in_mpi", {**BARE, "tests": 4}, [0.2] * 7)]
    (one,) = found(rows, "overlap.availability")
    assert one.value == pytest.approx(0.8)


def test_without_what_it_is_laid_over_there_is_no_value() -> None:
    both: tuple[str, Params, list[float]] = ("both", {**BARE, "tests": 0}, [1.0] * 7)
    pure: tuple[str, Params, list[float]] = ("pure", BARE, [1.0] * 7)
    other: Params = {**BARE, "bytes": 16}
    assert not found([both], "overlap.hidden")
    assert not found([both, pure], "overlap.hidden"), "no computation"
    assert not found([both, pure, ("computing", other, [1.0] * 7)], "overlap.hidden"), "another size"
    assert not found([both, ("pure", BARE, [0.0] * 7), ("computing", BARE, [1.0] * 7)], "overlap.hidden")
    assert not found([both, ("pure", BARE, []), ("computing", BARE, [1.0])], "overlap.hidden")


def test_repeats_are_launches_and_each_has_its_own_pure_time() -> None:
    rows = [("pure", BARE, [1.0] * 7), ("computing", BARE, [1.0] * 7), ("both", {**BARE, "tests": 0}, [1.5] * 7)]
    made = cases(rows, repeats=2)
    made.seconds[21:28] *= 4  # the second launch's operation took four times as long, and as much was left
    (one,) = [each for each in derive.findings(made, METRICS) if each.metric == "overlap.hidden"]
    assert one.n_runs == 2 and one.n_samples == 14
    assert one.value == pytest.approx((0.5 + 0.875) / 2) and one.low == 0.5 and one.high == 0.875


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_the_interval_holds_the_truth_on_data_that_scatter(share: float) -> None:
    """At least 95 % of 400 series of each length; scatter that is skewed, one sample in 20 far off."""
    draw = np.random.default_rng(7)
    for count in (10, 30, 100):
        held = 0
        for _ in range(400):
            noise = draw.lognormal(0, 0.05, (3, count)) + 4 * (draw.random((3, count)) < 0.05)
            middle = 1.0  # the median of the noise, but for its tail: 1 at 0.475 of a lognormal
            pure, computing = noise[0], 1.25 * noise[1]
            both = computing + (1 - share) * middle * noise[2]
            one = hidden.share(both, computing, pure)
            assert one is not None
            held += one.low <= share <= one.high
        assert held >= 0.95 * 400, (share, count, held)
