"""The native load: phases that follow one another on an absolute clock, the patterns that Python reckons with, refusals."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from shakedown.energy.clocks.align import markers
from shakedown.programs.events import Events
from support import natives


def run(*words: str, text: str = "") -> tuple[int, Events, str]:
    return natives.run("load", *words, text=text).told()


def levels(found: Events) -> list[float]:
    return [float(one.name.removeprefix("load ")) for one in found.phases]


def test_a_schedule_is_driven_as_written_and_each_edge_is_told(tmp_path: Path) -> None:
    file = tmp_path / "schedule.txt"
    file.write_text("# three\n0.05 0\n0.3 1\n0.4 0.5\n0.02 0\n")
    code, found, err = run("--schedule", str(file), "--threads", "1")
    assert (code, found.ended, found.garbage) == (0, True, ""), err
    assert levels(found) == [0, 1, 0.5, 0]
    for before, after in zip(found.phases, found.phases[1:], strict=False):
        assert before.end_ns == after.begin_ns
    kernels = {case.kernel: case for case in found.cases}
    late = kernels["load_edges"].seconds
    assert len(late) == 5 and min(late) >= 0
    # The edges are where the schedule has them, but for how late each says that it was; one thread has no mean to differ.
    planned = np.cumsum([0, 0.05, 0.3, 0.4, 0.02])
    stamps = np.array([one.begin_ns for one in found.phases] + [found.phases[-1].end_ns])
    real = (stamps - stamps[0]) * 1e-9 + late[0]
    assert np.abs(real - planned - np.array(late)).max() < 1e-3
    work = kernels["load_work"]
    assert work.residual is not None and work.residual.passed and work.work["flop"] > 0
    assert work.work["asked_s"] == pytest.approx(0.3 + 0.5 * 0.4)


def test_idle_does_no_work() -> None:
    code, found, err = run("--pattern", "constant", "--high", "0", "--seconds", "0.05")
    assert code == 0 and found.ended, err
    assert [case.kernel for case in found.cases] == ["load_edges"] and levels(found) == [0]


def test_a_start_that_is_given_is_kept() -> None:
    start = time.time_ns() + 5_000_000_000
    code, found, err = run("--pattern", "step", "--hold", "0.01", "--start", str(start), "--threads", "1")
    assert code == 0, err
    late = next(case for case in found.cases if case.kernel == "load_edges").seconds[0]
    assert (found.phases[0].begin_ns - start) * 1e-9 == pytest.approx(late, abs=1e-3)


def test_the_marks_are_those_that_the_alignment_expects() -> None:
    _, found, _ = run("--pattern", "markers", "--scale", "0.001", "--threads", "1")
    load, end = markers(0.001)
    assert levels(found) == load.w.tolist()
    assert found.provenance["facts"]["planned_s"] == pytest.approx(end, abs=1e-6)


def test_every_pattern_runs() -> None:
    for words, segments in (
        (("square", "--period", "0.01", "--cycles", "3", "--lead", "0.01"), 8),
        (("square", "--period", "0.01", "--seconds", "0.05"), 10),
        (("staircase", "--levels", "0,0.5,1", "--hold", "0.01"), 5),
        (("step", "--hold", "0.01", "--spread", "time"), 3),
    ):
        code, found, err = run("--pattern", *words)
        assert code == 0 and len(found.phases) == segments, err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--pattern", "sqare"), "known:"),
        (("--pattern", "constant", "--high", "2"), "is not a share"),
        (("--pattern", "square", "--period", "0.001"), "not a valid length"),
        (("--pattern", "constant", "--seconds", "0"), "not a valid length"),
        (("--schedule", "/nonexistent"), "cannot be read"),
        (("--start", "1"), "past"),
        (("--threads", "100000"), "threads"),
        (("--cpus", "99999"), "may not be used"),
        (("--spread", "both"), "neither"),
        (("--levls", "1"), "did you mean"),
    ],
)
def test_what_cannot_be_driven_is_refused(words: tuple[str, ...], says: str) -> None:
    code, found, err = run(*words)
    assert code == 2 and says in err and not found.started, err


def test_a_schedule_with_a_fault_names_its_line() -> None:
    code, _, err = run("--schedule", "-", text="0.1 1\n0.1 one\n")
    assert code == 2 and "line 2" in err and "next:" in err
