"""collectives with real ranks: every operation by every method, damage of every kind, clocks, late and lost ranks."""

from __future__ import annotations

import os
import signal
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from shakedown.programs import events
from shakedown.programs.events import Events
from shakedown.workloads import collectives
from support.natives import end, run_ranks, start

SHARED = ("--allow-oversubscribe", "--no-point-to-point")
YIELD = {"OMPI_MCA_mpi_yield_when_idle": "1"}
OPERATIONS = collectives.TABLE.params["operations"].items


def _run(ranks: int, *words: str) -> tuple[int, Events, str]:
    return run_ranks("collectives", ranks, *words, env=YIELD).told()


def _methods(found: Events) -> Counter[tuple[str, object]]:
    return Counter((case.kernel, case.params["method"]) for case in found.cases if case.kernel in OPERATIONS)


@pytest.fixture(scope="module")
def two_cpus() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two CPUs that this process may use")


@pytest.mark.parametrize("ranks", [2, 3])
def test_every_operation_by_every_method_has_the_right_result(ranks: int) -> None:
    words = (
        "--sizes",
        "8,72",
        "--samples",
        "1",
        "--budget-s",
        "0.01",
        "--in-place",
        "--non-blocking",
        "--roots",
        "0,-1",
    )
    code, found, err = _run(ranks, *SHARED, *words)
    assert (code, found.ended, found.garbage) == (0, True, ""), err
    assert {kernel for kernel, _ in _methods(found)} == set(OPERATIONS)
    for case in found.cases:
        if case.kernel in OPERATIONS:
            assert case.residual is not None and case.residual.value == 0
    both = {case.params.get("in_place") for case in found.cases if case.kernel == "allreduce"}
    assert both == {False, True}
    roots = {case.params["root"] for case in found.cases if case.kernel == "reduce"}
    assert roots == {0, ranks - 1}
    assert {method for kernel, method in _methods(found) if kernel == "allgather"} == {
        *("library", "non-blocking", "gather+bcast", "alltoall", "allgatherv", "allreduce")
    }


def test_some_of_the_ranks_take_part_and_sizes_that_ranks_do_not_divide() -> None:
    words = ("--operations", "bcast,reduce,allreduce", "--sizes", "8,40,1000", "--groups", "2,3", "--samples", "1")
    code, found, err = _run(3, *SHARED, *words)
    assert (code, found.ended) == (0, True), err
    assert {case.params["ranks"] for case in found.cases if case.kernel in OPERATIONS} == {2, 3}


@pytest.mark.usefixtures("two_cpus")
@pytest.mark.parametrize(("kind", "operation"), [("flip", "allreduce"), ("swap", "gather"), ("lost", "scatter")])
def test_damage_fails_the_check_and_names_rank_and_word(kind: str, operation: str) -> None:
    words = (
        "--operations",
        operation,
        "--sizes",
        "512",
        "--samples",
        "2",
        "--no-point-to-point",
        "--budget-s",
        "0.05",
        "--inject",
        kind,
    )
    code, found, err = _run(2, *words)
    assert code == 1 and found.ended, err
    failed = [case for case in found.cases if case.residual is not None and not case.residual.passed]
    assert failed
    rank = 0 if operation == "gather" else 1
    word = {"flip": 512 // 8 // 3, "swap": 0, "lost": 0}[kind]
    assert any(
        one.code == "wrong-word" and f"rank {rank} " in one.text and f"wrong word {word} " in one.text
        for one in found.notices
    )


@pytest.mark.usefixtures("two_cpus")
def test_clocks_that_are_wrong_are_laid_over_each_other_within_the_stated_error() -> None:
    words = (
        "--operations",
        "barrier,bcast",
        "--sizes",
        "8",
        "--samples",
        "10",
        "--budget-s",
        "0.05",
        "--no-point-to-point",
    )
    code, found, err = _run(2, *words, "--inject", "clock")
    assert code == 0, err
    assert found.provenance["facts"]["clocks"] == 2, "clocks that differ are not taken for one"
    cases = [case for case in found.cases if case.kernel in OPERATIONS]
    assert cases
    for case in cases:
        assert 0 <= case.work["clock_true_error_s"] <= case.work["clock_error_s"] + 4e-9
        # 12.3 ms are planted: times that held them would show it.
        assert min(case.seconds, default=0.0) < 12e-3
    code, found, _ = _run(2, *words)
    assert found.provenance["facts"]["clocks"] == 1 and found.cases[0].work["clock_error_s"] == 0


@pytest.mark.timing
@pytest.mark.usefixtures("two_cpus")
def test_a_late_start_is_kept_apart_and_done_again() -> None:
    words = ("--operations", "bcast", "--sizes", "8", "--samples", "20", "--no-mock-ups", "--no-point-to-point")
    code, found, err = _run(2, *words, "--inject", "late")
    assert code == 0, err
    (late,) = (case for case in found.cases if case.kernel == "late")
    (timed,) = (case for case in found.cases if case.kernel == "bcast")
    planted = (len(late.seconds) + len(timed.seconds)) // 5
    assert len(late.seconds) == timed.work["late"] >= planted >= 1
    # The other rank may have been held up meanwhile, in some of them.
    assert 2 * sum(seconds >= 0.5e-3 for seconds in late.seconds) >= planted, "the millisecond is in them"


@pytest.mark.timing
@pytest.mark.usefixtures("two_cpus")
def test_a_planted_slow_operation_is_slower_than_its_mock_up_by_what_was_planted() -> None:
    words = ("--operations", "allreduce", "--sizes", "65536", "--samples", "30", "--no-point-to-point")
    code, found, err = _run(2, *words, "--inject", "slow")
    assert code == 0, err
    times = {case.params["method"]: case.seconds for case in found.cases if case.kernel == "allreduce"}
    if not times["library"]:
        pytest.skip("needs a machine on which two ranks can begin together: other programs held them up")
    ratios = [a / b for a, b in zip(times["library"], times["reduce+bcast"], strict=True)]
    assert statistics.median(ratios) > 1.5, "five times the operation against one reduce and one broadcast"


@pytest.mark.usefixtures("two_cpus")
def test_what_bounds_are_made_of_is_measured() -> None:
    code, found, err = _run(2, "--operations", "barrier", "--samples", "2")
    assert code == 0, err
    kinds = Counter(case.kernel for case in found.cases)
    assert kinds["prtt"] == 3 and kinds["port"] == 16 and kinds["reduce_local"] == 2


def test_64_ranks_on_few_cpus_end_and_say_that_their_figures_mean_nothing() -> None:
    if len(os.sched_getaffinity(0)) >= 64:
        pytest.skip("needs fewer than 64 CPUs")
    words = ("--operations", "allreduce", "--sizes", "8", "--samples", "1", "--no-mock-ups", "--budget-s", "0.05")
    code, found, err = _run(64, *SHARED, *words)
    assert (code, found.ended) == (0, True), err
    assert any(one.code == "oversubscribed" and "mean nothing" in one.text for one in found.notices)
    (case,) = (case for case in found.cases if case.kernel == "allreduce")
    assert case.params["oversubscribed"] is True and case.residual is not None and case.residual.passed


def test_a_rank_that_hangs_is_named() -> None:
    words = ("--operations", "bcast", "--sizes", "8", "--silent-s", "6", "--budget-s", "0.1", "--inject", "hang")
    code, found, err = _run(3, *SHARED, *words)
    assert code == 1
    (dead,) = (case for case in found.cases if case.residual is not None and not case.residual.passed)
    assert dead.residual is not None and dead.residual.value is None and dead.seconds == ()
    assert "rank 2 on" in err and "did not begin bcast of 8 bytes by 3 ranks" in err
    assert "no answer in" in err


@pytest.mark.usefixtures("two_cpus")
def test_a_rank_that_dies_ends_the_job() -> None:
    process = start(
        "collectives", 2, "--operations", "bcast", "--sizes", "8", "--samples", "100000000", "--budget-s", "900"
    )
    assert process.stdout is not None
    begun = events.parse(process.stdout.readline())
    os.kill(begun.provenance["facts"]["ranks"][1]["pid"], signal.SIGKILL)
    code, out, _ = end(process)
    assert code != 0 and not events.parse(out).ended


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--sizes", "12"), 2, "multiples of 8"),
        (("--sizes", "17179869184"), 2, "at most 17179869176"),
        (("--operations", "allredce"), 2, "known: barrier"),
        (("--groups", "4"), 2, "--groups: 4 of 3 ranks"),
        (("--roots", "3"), 2, "there are ranks 0 to 2, not 3"),
        (("--world-size", "4"), 3, "3 ranks where 4 were started"),
        (("--sampels", "4"), 2, "did you mean --samples"),
    ],
)
def test_what_cannot_be_is_said_once(words: Sequence[str], code: int, said: str) -> None:
    found = _run(3, *SHARED, *words)
    assert found[0] == code and not found[1].cases
    assert said in found[2] and found[2].count("collectives: ") == 1


def test_blocks_beyond_what_a_call_counts_are_left_out_and_the_rest_goes_on() -> None:
    words = ("--operations", "alltoall", "--sizes", "8,8589934592", "--samples", "1", "--no-mock-ups")
    code, found, err = _run(3, *SHARED, *words)
    assert (code, found.ended) == (0, True), err
    left_out = [one.text for one in found.notices if one.code == "sizes-left-out"]
    assert any("alltoall of 8589934592 bytes" in one and "2^31 - 1" in one for one in left_out)
    assert {case.params["bytes"] for case in found.cases if case.kernel == "alltoall"} == {8}


def test_where_nothing_can_be_measured_that_is_the_error() -> None:
    words = ("--operations", "alltoall", "--sizes", "8589934592", "--no-point-to-point")
    code, found, err = _run(2, *SHARED, *words)
    assert code == 3 and not found.cases and "none of the sizes can be measured" in err


def test_groups_of_a_round_measure_at_once_and_a_slow_member_is_in_what_is_slow(tmp_path: Path) -> None:
    rounds = tmp_path / "rounds.txt"
    rounds.write_text("0,1 2,3,4\n\n4,0 1,3\n")
    words = ("--operations", "alltoall,barrier", "--sizes", "64,4096", "--samples", "3", "--budget-s", "0.01")
    code, found, err = _run(5, *SHARED, *words, "--rounds", str(rounds), "--inject", "lag")
    assert (code, found.ended, found.garbage) == (0, True, ""), err
    assert {case.kernel for case in found.cases} <= {"group", "late"}
    groups = [case for case in found.cases if case.kernel == "group"]
    host = str(groups[0].params["members"]).partition(":")[0]
    shapes = Counter((str(case.params["members"]).replace(f"{host}:", ""), case.params["round"]) for case in groups)
    assert shapes == dict.fromkeys((("0,1", 0), ("2,3,4", 0), ("4,0", 1), ("1,3", 1)), 3)  # two sizes, one barrier
    for case in groups:
        assert case.residual is not None and case.residual.passed and case.seconds
        assert case.params["ranks"] == len(str(case.params["members"]).split(","))
        if "4" in str(case.params["members"]).replace(host, ""):
            assert min(case.seconds) >= 0.02, "the last rank takes 20 ms more"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1 1,2\n", "is in it twice"),
        ("0,9\n", "there are ranks 0 to 2"),
        ("elsewhere,0\n", "no group of two or more"),
    ],
)
def test_rounds_that_cannot_be_are_said(tmp_path: Path, text: str, message: str) -> None:
    rounds = tmp_path / "rounds.txt"
    rounds.write_text(text)
    code, _, err = _run(3, *SHARED, "--operations", "barrier", "--rounds", str(rounds))
    assert code == 2 and message in err
    code, _, err = _run(3, *SHARED, "--operations", "barrier", "--rounds", str(tmp_path / "absent"))
    assert code == 2 and "cannot be read" in err
