"""multi_pair with real ranks: pairs and rings, damage of every kind, a rank that is lost, late, slow or silent."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

import pytest

from shakedown.programs import events
from shakedown.programs.events import Events
from shakedown.records import Case
from support.natives import end, run_ranks, start

QUICK = ("--allow-oversubscribe", "--samples", "3", "--budget-s", "0.01", "--sample-us", "1", "--window", "4")
YIELD = {"OMPI_MCA_mpi_yield_when_idle": "1"}


def _run(ranks: int, *words: str) -> tuple[int, Events, str]:
    # More ranks than processors, and others that want these: a case may take minutes.
    patient = () if "--silent-s" in words else ("--silent-s", "280")
    return run_ranks("multi_pair", ranks, *QUICK, *patient, *words, env=YIELD).told()


def _whole(found: tuple[int, Events, str]) -> tuple[Case, ...]:
    code, told, err = found
    assert (code, told.ended, told.garbage) == (0, True, ""), err
    for case in told.cases:
        assert case.seconds and (case.residual is None or case.residual.value == 0), case.kernel
    return told.cases


def test_every_kernel_is_right_and_says_what_it_did() -> None:
    cases = _whole(_run(4, "--sizes", "0,1,13,4096,70000", "--pairs", "1,2", "--orders", "2"))
    assert {case.params["bytes"] for case in cases} == {0, 1, 13, 4096, 70000}
    pairs = [case for case in cases if case.kernel in ("latency", "bandwidth", "bidirectional")]
    assert {(case.kernel, case.params["pairs"]) for case in pairs} == {
        (kernel, count) for kernel in ("latency", "bandwidth", "bidirectional") for count in (1, 2)
    }
    for case in pairs:
        assert case.work["messages"] == case.params["pairs"] * case.work["messages_of_each"]
        assert case.work["bytes"] == case.work["messages"] * case.params["bytes"]
        assert case.residual is not None
        if case.kernel == "bandwidth":
            assert case.work["messages_of_each"] % 4 == 0 and case.work["osu_messages_per_s"] > 0
    each = [case for case in cases if case.kernel == "pair" and case.params["operation"] == "bandwidth"]
    assert {(case.params["rank_a"], case.params["rank_b"]) for case in each} == {(0, 2), (1, 3)}, "as osu_mbw_mr"
    rings = [case for case in cases if case.kernel in ("natural_ring", "random_ring")]
    assert {(case.kernel, case.params["method"]) for case in rings} == {
        (kernel, method) for kernel in ("natural_ring", "random_ring") for method in ("sendrecv", "non-blocking")
    }
    for case in rings:
        assert case.work["messages"] == 4 * case.work["messages_of_each"] and case.params["ranks"] == 4
    assert all(case.work["hpcc_s"] > 0 for case in cases if case.kernel.endswith("_hpcc"))


def test_all_together_take_as_long_as_the_slowest_pair_at_least() -> None:
    words = ("--kernels", "bandwidth", "--sizes", "512", "--pairs", "3", "--inject", "slow")
    cases = _whole(_run(6, *words))
    (whole,) = (case for case in cases if case.kernel == "bandwidth")
    (slow,) = (case for case in cases if case.kernel == "pair" and case.params["rank_a"] == 2)
    assert slow.params["rank_b"] == 5 and min(slow.seconds) >= 0.02, "which waits 20 ms in every sample"
    for together, one in zip(whole.seconds, slow.seconds, strict=True):
        assert together >= one


def test_a_placement_that_is_not_here_is_left_out_and_without_any_there_is_one_error() -> None:
    code, found, err = _run(2, "--kernels", "latency", "--sizes", "8", "--placements", "halves,hosts")
    assert code == 0, err
    assert {case.params["placement"] for case in found.cases} == {"halves"}
    (left,) = {one.text for one in found.notices if one.code == "pairs-left-out"}
    assert left == "no pair of the placement hosts among 2 ranks"
    code, found, err = _run(2, "--kernels", "latency", "--sizes", "8", "--placements", "hosts")
    assert code == 3 and not found.cases
    assert "placed as asked" in err and err.count("multi_pair: ") == 1


@pytest.mark.parametrize("kernel", ["bandwidth", "random_ring"])
@pytest.mark.parametrize(("kind", "byte"), [("flip", 256), ("stale", 0), ("swap", 0), ("lost", 0)])
def test_damage_fails_the_check_and_names_ranks_and_byte(kind: str, byte: int, kernel: str) -> None:
    code, found, err = _run(2, "--kernels", kernel, "--sizes", "512", "--pairs", "1", "--inject", kind)
    assert code == 1 and found.ended, err
    assert all(not case.residual.passed for case in found.cases if case.residual is not None)
    text = next(one.text for one in found.notices if one.code == "wrong-byte")
    assert ": rank 1 on " in text and f" has a wrong byte {byte} of a message from rank 0 on " in text


def test_clocks_that_are_wrong_are_laid_over_each_other_within_the_stated_error() -> None:
    code, found, err = _run(2, "--kernels", "bandwidth", "--sizes", "8", "--inject", "clock")
    assert code == 0, err
    assert found.provenance["facts"]["clocks"] == 2, "clocks that differ are not taken for one"
    (case,) = found.cases
    assert 0 <= case.work["clock_true_error_s"] <= case.work["clock_error_s"]
    assert all(seconds > 0 for seconds in case.seconds), "12.3 ms apart, a pair would end before it began"


def test_many_ranks_on_few_cpus_end_and_say_that_they_mean_nothing() -> None:
    words = ("--kernels", "bandwidth,random_ring", "--sizes", "8", "--pairs", "0", "--samples", "1", "--budget-s", "0")
    cases = _whole(found := _run(16, *words))
    assert all(case.params["oversubscribed"] is True for case in cases)
    assert "oversubscribed" in {one.code for one in found[1].notices}


def test_a_rank_that_is_silent_is_named() -> None:
    code, found, err = _run(2, "--kernels", "latency", "--sizes", "8", "--silent-s", "4", "--inject", "hang")
    assert code == 1
    (dead,) = found.cases
    assert dead.residual is not None and dead.residual.value is None and dead.seconds == ()
    assert "no answer in" in err and "rank 1 on" in err and "the others wait for it" in err


def test_a_rank_that_dies_ends_the_job() -> None:
    process = start(
        "multi_pair", 2, "--allow-oversubscribe", "--samples", "100000000", "--budget-s", "900", "--sizes", "8"
    )
    assert process.stdout is not None
    begun = events.parse(process.stdout.readline())
    os.kill(begun.provenance["facts"]["ranks"][1]["pid"], signal.SIGKILL)
    code, out, _ = end(process)
    assert code != 0 and not events.parse(out).ended


@pytest.mark.parametrize(
    ("words", "ranks", "code", "said"),
    [
        (("--sizes", "2147483648"), 2, 2, "at most 2147483647"),
        (("--kernels", "bandwith"), 2, 2, "known: latency, bandwidth"),
        (("--placements", "node"), 2, 2, "known: halves, cache, socket, host, hosts"),
        (("--inject", "melt"), 2, 2, "unknown damage 'melt'"),
        (("--world-size", "3"), 2, 3, "2 ranks where 3 were started"),
        (("--world-size", "2"), 1, 3, "1 rank where 2 were started"),
        (("--pairs", ""), 2, 2, "--pairs needs a value"),
        ((), 1, 2, "started with 1 rank and needs at least 2"),
    ],
)
def test_what_cannot_be_is_said_once(words: Sequence[str], ranks: int, code: int, said: str) -> None:
    found = _run(ranks, *words)
    assert found[0] == code and not found[1].cases
    assert said in found[2] and found[2].count("multi_pair: ") == 1
