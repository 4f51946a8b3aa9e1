"""overlap with real ranks: planted progress is found exactly, damage of every kind is seen, a rank is silent or lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

import pytest

from shakedown import workloads
from shakedown.analysis import hidden
from shakedown.programs import events
from shakedown.programs.events import Events
from shakedown.records import Case
from support.natives import end, run_ranks, start

QUICK = ("--allow-oversubscribe", "--samples", "3", "--budget-s", "0.01")
ALL = tuple(workloads.get("overlap").params["operations"].items)


def _run(ranks: int, *words: str) -> tuple[int, Events, str]:
    return run_ranks("overlap", ranks, *QUICK, *words).told()


def _whole(found: tuple[int, Events, str]) -> tuple[Case, ...]:
    code, told, err = found
    assert (code, told.ended, told.garbage) == (0, True, ""), err
    for case in told.cases:
        assert case.seconds and (case.residual is None or case.residual.value == 0), case.kernel
    return told.cases


def test_every_operation_is_right_and_each_way_has_as_many_samples() -> None:
    cases = _whole(_run(3, "--operations", ",".join(ALL), "--sizes", "8,4096", "--tests", "0,3"))
    assert {case.params["operation"] for case in cases} == set(ALL)
    for operation in ALL:
        for bytes_ in (8, 4096) if operation != "ibarrier" else (None,):
            mine = [one for one in cases if (one.params["operation"], one.params.get("bytes")) == (operation, bytes_)]
            kinds = [(one.kernel, one.params.get("tests")) for one in mine]
            assert kinds == [
                ("pure", None), ("computing", None), ("both", 0), ("in_mpi", 0), ("both", 3), ("in_mpi", 3),
            ]  # fmt: skip
            assert len({len(one.seconds) for one in mine}) == 1, "taken side by side"
            assert {one.params["ranks"] for one in mine} == {2 if operation[0] != "i" else 3}
            waited = [one.work for one in mine if one.kernel == "in_mpi"]
            assert waited[0]["test_s"] == 0 and all(work["post_s"] > 0 for work in waited)


#: A computation of 1.25 times the operation; begun at the first of k tests, the operation is done 1 later.
_HANDSHAKE = {0: 0.0, 1: 0.625, 2: 0.833, 16: 1.0}


@pytest.mark.parametrize(
    ("progress", "truth"),
    [
        ("asynchronous", dict.fromkeys(_HANDSHAKE, 1.0)),
        ("stalled", dict.fromkeys(_HANDSHAKE, 0.0)),
        ("handshake", _HANDSHAKE),
    ],
)
def test_a_network_whose_progress_is_planted_is_found(progress: str, truth: dict[int, float]) -> None:
    """In simulated time, so that load changes nothing: calibration, the ways in turn and figures are the program's."""
    tests = ",".join(map(str, truth))
    words = ("--operations", "send,receive,exchange,iallreduce", "--sizes", "8,65536", "--tests", tests)
    cases = _whole(_run(2, *words, "--inject", progress))
    seen = {
        (case.kernel, case.params["operation"], case.params["bytes"], case.params.get("tests")): case for case in cases
    }
    assert all(case.params["simulated"] is True for case in cases)
    for (kernel, operation, bytes_, count), case in seen.items():
        pure = seen["pure", operation, bytes_, None].seconds
        less = seen["computing", operation, bytes_, None].seconds if kernel == "both" else None
        if kernel not in ("both", "in_mpi"):
            continue
        share = hidden.share(*map(_array, (case.seconds, less, pure)))
        assert share is not None and share.value == pytest.approx(truth[int(str(count))], abs=2e-3), (kernel, operation)


def _array(values: Sequence[float] | None) -> object:
    import numpy as np

    return None if values is None else np.array(values)


@pytest.mark.parametrize("operation", ["receive", "ibcast", "ireduce", "ialltoall"])
@pytest.mark.parametrize("kind", ["flip", "lost"])
def test_damage_fails_the_check_and_names_rank_and_word(kind: str, operation: str) -> None:
    code, found, err = _run(2, "--operations", operation, "--sizes", "512", "--inject", kind)
    assert code == 1 and found.ended, err
    assert any(case.residual is not None and not case.residual.passed for case in found.cases)
    text = next(one.text for one in found.notices if one.code == "wrong-word")
    rank = 0 if operation == "ireduce" else 1
    words = 128 if operation == "ialltoall" else 64
    assert f": rank {rank} on " in text
    assert f"has a wrong word {words // 3 if kind == 'flip' else 0} of its result" in text


def test_clocks_that_are_wrong_are_laid_over_each_other_within_the_stated_error() -> None:
    code, found, err = _run(2, "--operations", "exchange", "--sizes", "8", "--inject", "clock")
    assert code == 0, err
    assert found.provenance["facts"]["clocks"] == 2
    pure = next(case for case in found.cases if case.kernel == "pure")
    assert 0 <= pure.work["clock_true_error_s"] <= pure.work["clock_error_s"]
    assert all(seconds > 0 for seconds in pure.seconds), "12.3 ms apart, a message would arrive before it was sent"


def test_a_rank_that_is_silent_is_named() -> None:
    code, found, err = _run(2, "--operations", "exchange", "--sizes", "8", "--silent-s", "4", "--inject", "hang")
    assert code == 1
    (dead,) = found.cases
    assert dead.residual is not None and dead.residual.value is None and dead.seconds == ()
    assert "no answer in" in err and "rank 1 on" in err and "the others wait for it" in err


def test_a_rank_that_dies_ends_the_job() -> None:
    process = start(
        "overlap", 2, "--allow-oversubscribe", "--samples", "100000000", "--budget-s", "900", "--sizes", "8"
    )
    assert process.stdout is not None
    begun = events.parse(process.stdout.readline())
    os.kill(begun.provenance["facts"]["ranks"][1]["pid"], signal.SIGKILL)
    code, out, _ = end(process)
    assert code != 0 and not events.parse(out).ended


@pytest.mark.parametrize(
    ("words", "ranks", "code", "said"),
    [
        (("--sizes", "12"), 2, 2, "not a whole number of 64-bit words"),
        (("--sizes", "17179869184"), 2, 2, "at most 17179869176"),
        (("--operations", "allreduce"), 2, 2, "known: send,receive,exchange,ibarrier"),
        (("--tests", "100001"), 2, 2, "at most 100000"),
        (("--computation", "0"), 2, 2, "--computation"),
        (("--inject", "melt"), 2, 2, "unknown damage 'melt'"),
        (("--world-size", "3"), 2, 3, "2 ranks where 3 were started"),
        ((), 1, 2, "started with 1 rank and needs at least 2"),
    ],
)
def test_what_cannot_be_is_said_once(words: Sequence[str], ranks: int, code: int, said: str) -> None:
    found = _run(ranks, *words)
    assert found[0] == code and not found[1].cases
    assert said in found[2] and found[2].count("overlap: ") == 1
