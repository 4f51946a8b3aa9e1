"""workers with real ranks: all ways end in the same cells, what is damaged is named, wrong starts are refused."""

from __future__ import annotations

import pytest

from shakedown.programs.events import Events
from support.natives import run_ranks

SMALL = ("--allow-oversubscribe", "--samples", "2", "--sweeps", "23", "--bytes", "2400")


def _run(*words: str, ranks: int = 2) -> tuple[int, Events, str]:
    return run_ranks("workers", ranks, *SMALL, *words).told()


@pytest.mark.parametrize(("words", "ranks"), [((), 2), (("--scaling", "weak", "--meet-every", "3"), 3)])
def test_every_way_is_measured_with_one_worker_and_with_all(words: tuple[str, ...], ranks: int) -> None:
    code, found, err = _run(*words, ranks=ranks)
    assert (code, found.ended, found.garbage) == (0, True, ""), err
    ways = {(case.params["way"], case.params["cores"]) for case in found.cases}
    assert ways == {(way, count) for way in ("threads", "processes", "ranks") for count in (1, ranks)}
    for case in found.cases:
        each = "weak" in words
        assert len(case.seconds) == 2 and case.residual is not None and case.residual.passed
        assert case.work["sweeps"] == 23 * (case.params["cores"] if each else 1)  # type: ignore[operator]
        assert case.work["cells"] == case.work["sweeps"] * 300
        assert case.params.get("size") == (case.work["sweeps"] if each else None)


def test_a_wrong_cell_fails_and_is_named_in_each_way() -> None:
    code, found, err = _run("--inject", "flip", "--meet-every", "1")
    assert code == 1 and found.ended, err
    texts = [one.text for one in found.notices if one.code == "wrong-cells"]
    assert len(texts) == 6 and any(one.startswith("ranks: worker 1 of 2 on CPU") for one in texts)
    assert all(case.residual is not None and case.residual.value == 3 for case in found.cases)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--scaling", "both"), "unknown scaling"),
        (("--world-size", "3"), "2 ranks where 3"),
        (("--cpus", "9999"), "9999"),
    ],
)
def test_what_does_not_fit_is_one_error(words: tuple[str, ...], said: str) -> None:
    code, found, err = _run(*words)
    assert code in (2, 3) and not found.cases and err.count(said) == 1, err
