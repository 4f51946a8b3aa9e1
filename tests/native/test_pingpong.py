"""pingpong with real ranks: the whole way from the MPI found here to the events that rank 0 prints."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

import pytest

from shakedown.programs import events
from shakedown.programs.events import Events
from support.natives import LIMIT_S, end, run_ranks, start


def _run(ranks: int, *words: str) -> tuple[int, Events, str]:
    return run_ranks("pingpong", ranks, *words).told()


@pytest.fixture(scope="module")
def two_cpus() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two CPUs that this process may use")


@pytest.mark.usefixtures("two_cpus")
def test_two_ranks_measure_every_kernel_and_check_every_size() -> None:
    code, found, err = _run(2, "--sizes", "0,1,7,8,4096,4160,100000", "--samples", "3", "--window", "3")
    assert (code, found.ended, found.garbage) == (0, True, ""), err
    sizes = [0, 1, 7, 8, 4096, 4160, 100000]
    assert [(case.kernel, case.params["bytes"]) for case in found.cases] == [
        (kernel, size) for kernel in ("latency", "bandwidth", "bidirectional") for size in sizes
    ]
    for case in found.cases:
        assert len(case.seconds) == 3 and case.residual is not None and case.residual.passed
        assert case.work["bytes"] == case.work["messages"] * int(case.params["bytes"])
        assert case.begin_ns is not None and case.end_ns is not None and case.begin_ns < case.end_ns
    facts = found.provenance["facts"]
    assert [rank["rank"] for rank in facts["ranks"]] == [0, 1]
    assert facts["ranks"][0]["cpu"] != facts["ranks"][1]["cpu"]
    assert {rank["cpu"] for rank in facts["ranks"]} <= os.sched_getaffinity(0)
    assert facts["hosts"] == [os.uname().nodename]


@pytest.mark.usefixtures("two_cpus")
def test_ranks_go_to_the_cpus_that_are_named() -> None:
    last, first = sorted(os.sched_getaffinity(0))[-1], sorted(os.sched_getaffinity(0))[0]
    code, found, err = _run(2, "--sizes", "8", "--kernels", "latency", "--samples", "2", "--cpus", f"{last},{first}")
    assert code == 0, err
    assert (found.cases[0].params["cpu_a"], found.cases[0].params["cpu_b"]) == (last, first)


@pytest.mark.parametrize("rounds", ["one", "tournament"])
def test_three_ranks_measure_all_pairs_even_on_two_cpus(rounds: str) -> None:
    code, found, err = _run(
        3,
        "--sizes",
        "0,64",
        "--samples",
        "2",
        "--window",
        "2",
        "--pairs",
        "all",
        "--rounds",
        rounds,
        "--allow-oversubscribe",
    )
    assert (code, found.ended, found.garbage) == (0, True, ""), err
    met = {(case.params["rank_a"], case.params["rank_b"]) for case in found.cases}
    assert met == {(0, 1), (0, 2), (1, 2)} and len(found.cases) == 3 * 2 * 3
    assert {case.params["pattern"] for case in found.cases} == {rounds}


def test_four_ranks_meet_in_disjoint_pairs() -> None:
    code, found, err = _run(
        4,
        "--sizes",
        "8",
        "--kernels",
        "latency",
        "--samples",
        "2",
        "--pairs",
        "all",
        "--rounds",
        "tournament",
        "--allow-oversubscribe",
    )
    assert code == 0, err
    pairs = [(int(case.params["rank_a"]), int(case.params["rank_b"])) for case in found.cases]
    assert len(set(pairs)) == 6
    for first, second in zip(pairs[::2], pairs[1::2], strict=True):
        assert not set(first) & set(second), "the two pairs of a round share no rank"
    assert found.provenance["facts"]["rounds"] == 3


@pytest.mark.usefixtures("two_cpus")
@pytest.mark.parametrize(("kind", "wrong"), [("flip", 2), ("stale", None), ("swap", None)])
def test_damage_on_the_way_fails_the_check_and_the_run(kind: str, wrong: int | None) -> None:
    code, found, _ = _run(2, "--sizes", "512", "--kernels", "latency", "--samples", "2", "--inject", kind)
    assert code == 1 and found.ended
    check = found.cases[0].residual
    assert check is not None and check.value is not None and not check.passed
    assert check.value == wrong if wrong else check.value > 900, "nearly all of the 512 bytes on both sides"


@pytest.mark.usefixtures("two_cpus")
def test_an_empty_message_that_is_not_empty_fails_the_check() -> None:
    code, found, _ = _run(2, "--sizes", "0", "--kernels", "bandwidth", "--samples", "2", "--inject", "stale")
    assert code == 1 and found.cases[0].residual is not None and found.cases[0].residual.value == 1


@pytest.mark.usefixtures("two_cpus")
def test_load_lasts_as_long_as_it_was_asked_to() -> None:
    code, found, err = _run(2, "--sizes", "8", "--kernels", "bandwidth", "--samples", "1", "--seconds", "0.5")
    assert code == 0, err
    case = found.cases[0]
    assert case.begin_ns is not None and case.end_ns is not None
    assert case.end_ns - case.begin_ns >= 0.5e9
    assert len(case.seconds) > 1


def test_one_rank_is_refused_with_what_to_do() -> None:
    code, found, err = _run(1, "--sizes", "8")
    assert code == 2 and not found.started
    assert "1 rank and needs at least 2" in err and "mpirun -np 2" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sizzes", "8"), "did you mean --sizes"),
        (("--kernels", "latencey"), "known: latency"),
        (("--pairs", "0-2"), "pair of different ranks from 0 to 1"),
        (("--rounds", "all"), "known: one, tournament"),
        (("--window", "0"), "at least 1"),
        (("--cpus", "0"), "name one for each rank"),
    ],
)
def test_wrong_words_are_refused_once(words: Sequence[str], said: str) -> None:
    code, found, err = _run(2, *words, "--allow-oversubscribe")
    assert code == 2 and not found.cases
    assert err.count("pingpong: ") == 1, "rank 0 alone speaks"
    assert said in err


def test_two_ranks_on_one_cpu_are_refused() -> None:
    cpu = min(os.sched_getaffinity(0))
    code, found, err = _run(2, "--sizes", "8", "--cpus", f"{cpu},{cpu}")
    assert code == 3 and not found.cases
    assert f"both pinned to CPU {cpu}" in err and "--allow-oversubscribe" in err


@pytest.mark.usefixtures("two_cpus")
@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_dies_ends_the_job(victim: int) -> None:
    process = start("pingpong", 2, "--sizes", "8", "--kernels", "latency", "--seconds", str(10 * LIMIT_S))
    assert process.stdout is not None
    begun = events.parse(process.stdout.readline())
    os.kill(begun.provenance["facts"]["ranks"][victim]["pid"], signal.SIGKILL)
    code, out, _ = end(process)  # within its limit
    assert code != 0
    assert not events.parse(out).ended
