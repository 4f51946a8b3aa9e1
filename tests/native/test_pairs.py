"""A tournament with real ranks: passes, directions, a time limit, and a pair that does not answer."""

from __future__ import annotations

from collections import Counter

import pytest

from shakedown.programs.events import Events
from support.natives import run_ranks

ALL = ("--allow-oversubscribe", "--pairs", "all", "--rounds", "tournament", "--samples", "2")


def _run(ranks: int, *words: str) -> tuple[int, Events, str]:
    return run_ranks("pingpong", ranks, *words, env={"OMPI_MCA_mpi_yield_when_idle": "1"}).told()


def ends(found: Events) -> Counter[tuple[int, int]]:
    return Counter((int(case.params["rank_a"]), int(case.params["rank_b"])) for case in found.cases)


def test_every_pass_measures_every_pair_and_bandwidth_both_ways() -> None:
    words = ("--kernels", "latency,bandwidth", "--sizes", "64", "--passes", "2", "--both-directions")
    code, found, err = _run(3, *ALL, *words)
    assert (code, found.ended, found.garbage) == (0, True, ""), err
    there = {(0, 1): 4, (0, 2): 4, (1, 2): 4}  # two kernels, two passes
    assert ends(found) == {**there, (1, 0): 2, (2, 0): 2, (2, 1): 2}
    assert {case.kernel for case in found.cases if case.params["rank_a"] > case.params["rank_b"]} == {"bandwidth"}
    assert all(case.residual is not None and case.residual.passed for case in found.cases)


def test_some_rounds_and_some_pairs_only() -> None:
    short = ("--kernels", "latency", "--sizes", "8")
    code, found, err = _run(4, *ALL, *short, "--most-rounds", "1")
    assert (code, dict(ends(found))) == (0, {(0, 3): 1, (1, 2): 1}), err
    code, found, err = _run(3, *ALL, *short, "--skip", "1-0")
    assert (code, dict(ends(found))) == (0, {(0, 2): 1, (1, 2): 1}), err


def test_no_round_begins_after_the_time_is_over() -> None:
    code, found, err = _run(3, *ALL, "--kernels", "latency", "--sizes", "8", "--passes", "1000", "--limit-s", "0.2")
    assert (code, found.ended) == (0, True), err
    assert [one.code for one in found.notices] == ["rounds-left-out"]
    assert 1 <= len(found.cases) < 3000


def test_a_pair_that_does_not_answer_is_named_and_ends_the_job() -> None:
    words = ("--kernels", "latency", "--sizes", "8", "--budget-s", "0.1", "--silent-s", "6", "--inject", "hang")
    code, found, err = _run(3, *ALL, *words)
    assert code == 1
    (dead,) = (case for case in found.cases if case.residual is not None and not case.residual.passed)
    assert 2 in (dead.params["rank_a"], dead.params["rank_b"])
    assert dead.residual is not None
    assert (dead.residual.value, dead.seconds) == (None, ())
    assert dead.residual.kind.startswith("no answer in")
    assert "did not answer" in err
    assert "--skip" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*ALL, "--between", "hosts"), "all ranks are on"),
        ((*ALL, "--between", "racks"), "known: ranks, hosts"),
        ((*ALL, "--skip", "0-1,0-2,1-2"), "leaves no pair"),
        ((*ALL, "--skip", "0-7"), "--skip: '0-7' is not a pair"),
        (("--allow-oversubscribe", "--passes", "2"), "for a tournament of all"),
    ],
)
def test_what_cannot_be_is_said(words: tuple[str, ...], message: str) -> None:
    code, _, err = _run(3, *words, "--sizes", "8")
    assert code == 2
    assert message in err
