"""hydro with real ranks: the same bits however many there are and however often they are killed, and a spoiled cell that
is seen."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from shakedown.hosts import process
from shakedown.programs.events import Events
from support.natives import end, run_ranks, start
from support.waiting import until

WORDS = ("--n", "61", "--samples", "2", "--steps", "5", "--allow-oversubscribe")


def _run(ranks: int, *words: str) -> tuple[int, Events, str]:
    return run_ranks("hydro", ranks, *WORDS, *words).told()


def _gas(found: Events) -> dict[str, Any]:
    (gas,) = (value for name, value in found.provenance["facts"].items() if name.startswith("gas of "))
    assert isinstance(gas, dict)
    return gas


@pytest.mark.parametrize("problem", ["blast", "checkers"])
def test_ranks_and_threads_give_the_bits_of_one(problem: str) -> None:
    digests = set()
    for ranks, threads, across in ((1, 1, 0), (2, 2, 1), (3, 1, 3), (4, 1, 2)):
        words = ("--problem", problem, "--threads", str(threads), "--rank-columns", str(across))
        code, found, err = _run(ranks, *words)
        assert (code, found.ended) == (0, True), err
        (case,) = found.cases
        assert case.params["ranks"] == ranks and case.work["cell_steps"] == 5 * 61**2
        digests.add(_gas(found)["digest"])
    assert len(digests) == 1


def test_a_cell_that_was_spoiled_on_one_rank_fails_the_run() -> None:
    code, found, err = _run(2, "--threads", "1", "--inject", "momentum")
    assert code == 1 and "1 of 1 checks failed" in err
    (case,) = found.cases
    assert case.residual is not None and not case.residual.passed


def test_ranks_that_cannot_divide_the_box_are_told_so() -> None:
    code, _, err = _run(2, "--threads", "1", "--rank-columns", "3")
    assert code == 2 and "does not divide 2 ranks" in err


UNTIL = ("--n", "200", "--threads", "1", "--until", "200", "--steps", "4", "--allow-oversubscribe")


def _checkpointed(tmp_path: Path, *words: str) -> tuple[str, ...]:
    folders = ("--checkpoint-local", str(tmp_path / "local"), "--checkpoint-global", str(tmp_path / "global"))
    return (*UNTIL, *folders, *words)


def _generations(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("gen-*/COMMIT"))


@pytest.fixture(scope="module")
def undisturbed() -> str:
    code, found, err = run_ranks("hydro", 2, *UNTIL).told()
    assert code == 0, err
    return str(_gas(found)["digest"])


def _killed(tmp_path: Path, level: int, generation: int, of_all: bool) -> None:
    """Two ranks, killed once that generation is committed: one of them alone, or both and their launcher."""
    words = _checkpointed(tmp_path, "--checkpoint-level", str(level), "--checkpoint-every", "2")
    started = start("hydro", 2, *words)
    try:
        folder = tmp_path / ("global" if level == 4 else "local")
        last = f"gen-{generation:020d}"
        while started.poll() is None and not any(name >= last for name in _generations(folder)):
            time.sleep(0.001)
        assert started.poll() is None, "it ended before it could be killed"
        if of_all:
            os.killpg(started.pid, signal.SIGKILL)
        for pid in _ranks_in(tmp_path)[0 if of_all else 1 :]:
            os.kill(pid, signal.SIGKILL)
    finally:
        ended = end(started)
    assert ended.code != 0
    assert not any(case.kernel == "hydro" for case in ended.told()[1].cases)


def _ranks_in(folder: Path) -> list[int]:
    """The processes of the program whose checkpoints are in a folder."""
    return [
        pid
        for pid in process.pids()
        if process.facts_of(pid, "comm").strip() == b"hydro"
        and str(folder).encode() in process.facts_of(pid, "cmdline")
    ]


@pytest.mark.parametrize(("level", "generation", "of_all"), [(1, 1, True), (1, 4, False), (4, 2, True), (4, 5, False)])
def test_a_gas_whose_ranks_are_killed_goes_on_to_the_same_bits(
    tmp_path: Path, undisturbed: str, level: int, generation: int, of_all: bool
) -> None:
    _killed(tmp_path, level, generation, of_all)
    code, found, err = run_ranks(
        "hydro", 2, *_checkpointed(tmp_path, "--checkpoint-level", str(level), "--checkpoint-every", "10")
    ).told()
    assert code == 0, err
    gas = _gas(found)
    assert gas["digest"] == undisturbed
    assert gas["checkpoints"]["restored_step"] >= 8 * generation


def test_it_goes_on_with_other_ranks_from_the_global_folder(tmp_path: Path, undisturbed: str) -> None:
    _killed(tmp_path, 4, 3, of_all=True)
    shutil.rmtree(tmp_path / "local")  # the nodes are lost with what they hold
    code, found, err = run_ranks("hydro", 3, *_checkpointed(tmp_path, "--checkpoint-every", "10")).told()
    assert code == 0, err
    gas = _gas(found)
    assert gas["digest"] == undisturbed and gas["checkpoints"]["restored_level"] == "global"


COST = ("--n", "80", "--threads", "1", "--pairs", "2", "--restarts", "2", "--interval", "0.05", "--allow-oversubscribe")


def test_every_level_is_measured_and_survives_its_failure(tmp_path: Path) -> None:
    words = (*COST, "--levels", "1,2,3,4", "--directory", str(tmp_path))
    code, found, err = run_ranks("hydro", 4, *words).told()
    assert (code, found.ended, [*found.notices]) == (0, True, []), err
    for level in (1, 2, 3, 4):
        cases = {case.kernel: case for case in found.cases if case.params["checkpoint_level"] == level}
        restart = cases["restart"]
        assert restart.residual is not None and restart.residual.value == 0 and len(restart.seconds) == 2
        assert restart.work["restored_level"] == level  # what its class of failure leaves, and no more
        assert restart.params["emulated_nodes"] == 4
        assert restart.work["bytes"] == cases["blocked"].work["bytes"] == 80 * 80 * 4 * 8
        assert len(cases["with"].seconds) == len(cases["without"].seconds) == 2
        assert cases["with"].work == cases["without"].work
        for blocked, drain in zip(cases["blocked"].seconds, cases["drain"].seconds, strict=True):
            assert blocked > 0 and drain > 0
        pairs = [case.work for case in found.cases if case.kernel == "pair" and case.params == cases["pair"].params]
        for pair, with_s, without_s in zip(pairs, cases["with"].seconds, cases["without"].seconds, strict=True):
            assert pair["overhead"] == pytest.approx(with_s / without_s - 1, abs=1e-9)
            assert pair["added_s"] == pytest.approx(with_s - without_s, abs=1e-9)
    assert not list(tmp_path.iterdir())


def test_a_restart_that_brings_other_bits_fails_the_run(tmp_path: Path) -> None:
    words = (*COST, "--levels", "2", "--directory", str(tmp_path), "--inject", "mass")
    code, found, err = run_ranks("hydro", 2, *words).told()
    assert code == 1 and "checks failed" in err
    (restart,) = (case for case in found.cases if case.kernel == "restart")
    assert restart.residual is not None and restart.residual.value == 2


def test_folders_go_when_the_ranks_are_killed(tmp_path: Path) -> None:
    words = (*COST, "--levels", "1,2,3,4", "--pairs", "1000", "--directory", str(tmp_path))
    started = start("hydro", 2, *words)
    try:
        while started.poll() is None and not list(tmp_path.glob("*/node*/gen-*/COMMIT")):
            time.sleep(0.001)
        assert started.poll() is None, "it ended before it could be killed"
        os.killpg(started.pid, signal.SIGKILL)
        for pid in _ranks_in(tmp_path):
            if os.getsid(pid) != pid:  # those that clear up have a session of their own
                os.kill(pid, signal.SIGKILL)
    finally:
        end(started)
    until(lambda: not list(tmp_path.iterdir()), what="their folders go", every_s=0.01)


def test_checkpoints_of_another_gas_are_refused_and_stay(tmp_path: Path) -> None:
    words = _checkpointed(tmp_path, "--checkpoint-every", "50")
    assert run_ranks("hydro", 1, *words).code == 0
    kept = _generations(tmp_path / "global")
    for other, reason in ((("--n", "201"), "another shape"), (("--problem", "sod_x"), "began otherwise")):
        code, _, err = run_ranks("hydro", 1, *words, *other).told()
        assert code == 3 and reason in err
    code, found, err = run_ranks("hydro", 1, *words).told()
    assert code == 0 and not found.cases, err
    assert [notice.code for notice in found.notices] == ["nothing-left"]
    assert _generations(tmp_path / "global") == kept
