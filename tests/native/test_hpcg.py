"""hpcg with real ranks: the same answer of one grid however ranks divide it, and a spoiled value that is named."""

from __future__ import annotations

import math
from typing import Any

from shakedown.programs.events import Events
from support.natives import run_ranks

WORDS = ("--samples", "1", "--threads", "1", "--triad-bytes", "65536", "--allow-oversubscribe")


def _run(ranks: int, points: str, *words: str) -> tuple[int, Events, str]:
    nx, ny, nz = points.split("x")
    return run_ranks("hpcg", ranks, "--nx", nx, "--ny", ny, "--nz", nz, *WORDS, *words).told()


def _problem(found: Events) -> dict[str, Any]:
    problem = found.provenance["facts"]["problem"]
    assert isinstance(problem, dict)
    return problem


def test_one_grid_by_1_2_and_8_ranks_has_one_answer() -> None:
    problems = []
    for ranks, points in ((1, "32x32x32"), (2, "32x32x16"), (8, "16x16x16")):
        code, found, err = _run(ranks, points)
        assert (code, found.ended) == (0, True), err
        assert {case.params["ranks"] for case in found.cases} == {ranks}
        problems.append(_problem(found))
    for problem in problems:
        assert problem["points"] == [32, 32, 32]
        assert problem["entries"] == [94**3, 46**3, 22**3, 10**3]
        # Ranks smooth with what neighbours had before: a few iterations' difference at most, charged where it is one.
        assert 50 <= problem["iterations"] <= 52
        assert abs(math.log10(problem["reductions"][19] / problems[0]["reductions"][19])) < 1
        assert problem["reductions"][-1] < 1e-14


def test_a_value_that_was_spoiled_is_named_with_its_point() -> None:
    code, found, err = _run(2, "16x16x16", "--inject", "value")
    assert code == 1 and "checks failed" in err
    (notice,) = (one for one in found.notices if one.code == "hpcg.matrix")
    assert "of grid 0 (point" in notice.text
    assert not any(case.residual.passed for case in found.cases if case.kernel in ("cg", "hpcg") and case.residual)
