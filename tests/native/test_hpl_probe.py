"""hpl_probe with real ranks: every case is there, positive and right, and damage is found."""

from __future__ import annotations

import pytest

from shakedown.programs.events import Events
from shakedown.records import Case
from support.natives import run_ranks

SMALL = (
    *("--rows", "128", "--columns", "300", "--k", "32,48", "--nb", "16,32", "--panel-rows", "100"),
    *("--narrow-rows", "32", "--narrow-columns", "64", "--sizes", "4096,300000", "--samples", "2"),
    "--allow-oversubscribe",
)


def run(ranks: int, *words: str) -> tuple[int, Events, str]:
    """hpl_probe on so many ranks; one needs no launcher."""
    return run_ranks("hpl_probe", ranks if ranks > 1 else 0, *words).told()


def kernels(cases: tuple[Case, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for case in cases:
        found[case.kernel] = found.get(case.kernel, 0) + 1
    return found


@pytest.mark.parametrize(("ranks", "threads"), [(1, 2), (2, 1)])
def test_every_case_is_measured_and_right(ranks: int, threads: int) -> None:
    code, found, err = run(ranks, *SMALL, "--threads", str(threads))
    assert (code, found.ended, found.garbage) == (0, True, ""), err
    panels = 2 * (1 if threads == 1 else 3)  # NB; on two threads alone, beside products, and both
    expected = {"probe.gemm": 2, "probe.narrow": 2, "probe.node": 1, "probe.solve": 6, "probe.rows": 2}
    if ranks > 1:
        expected |= {"probe.latency": 1, "probe.ring": 2 * 2}
    assert kernels(found.cases) == {**expected, "probe.panel": panels}
    for case in found.cases:
        assert len(case.seconds) == 2 and all(second > 0 for second in case.seconds), case
        assert case.work and all(value > 0 for value in case.work.values()), case
        assert case.residual is not None and case.residual.passed, case
        if case.residual.limit > 0:
            assert case.residual.value is not None and 0 < case.residual.value < 0.5, case
    distinct = {(case.kernel, tuple(case.params.items())) for case in found.cases}
    assert len(distinct) == len(found.cases)
    places = found.provenance["facts"]["grid"]
    assert [place["rank"] for place in places] == list(range(ranks))
    assert all(len(place["threads"]) == threads for place in places)


def test_messages_are_measured_beside_products_where_threads_are_left_for_them() -> None:
    code, found, err = run(2, *SMALL, "--threads", "2", "--only", "ring,latency", "--sizes", "4096", "--samples", "1")
    assert code == 0 and found.ended, err
    assert kernels(found.cases) == {"probe.latency": 2, "probe.ring": 4}
    assert {(case.kernel, case.params["busy"]) for case in found.cases} == {
        (kernel, busy) for kernel in ("probe.latency", "probe.ring") for busy in (0, 1)
    }
    assert all(case.residual and case.residual.passed and case.params["scope"] == "on" for case in found.cases)


def test_work_is_that_of_one_rank() -> None:
    _, found, err = run(2, *SMALL, "--threads", "1", "--only", "gemm,node,rows,ring")
    assert found.ended, err
    by_kernel = {case.kernel: case for case in found.cases}
    gemm = by_kernel["probe.gemm"]
    one = 2 * int(gemm.params["m"]) * int(gemm.params["n"]) * int(gemm.params["k"])
    assert gemm.work["flop"] % one == 0
    node = by_kernel["probe.node"]
    assert node.params["hosts"] == 1 and node.params["ranks"] == 2
    assert node.work["flop"] % (2 * 2 * int(node.params["m"]) * int(node.params["n"]) * int(node.params["k"])) == 0
    rows = by_kernel["probe.rows"]
    assert rows.work["bytes"] == 16 * rows.work["elements"]
    ring = by_kernel["probe.ring"]
    assert ring.work["bytes"] == ring.work["messages"] * int(ring.params["bytes"])


@pytest.mark.parametrize("probe", ["gemm", "narrow", "solve", "panel", "rows", "node", "ring", "latency"])
def test_damage_is_found_where_it_was_done(probe: str) -> None:
    other = "rows" if probe != "rows" else "gemm"
    ranks = 2 if probe in ("ring", "latency") else 1
    code, found, _ = run(ranks, *SMALL, "--threads", "1", "--only", f"{probe},{other}", "--inject", probe)
    assert code == 1 and found.ended
    for case in found.cases:
        assert case.residual is not None
        assert case.residual.passed == (case.kernel != f"probe.{probe}"), case


def test_the_seed_chooses_the_order() -> None:
    orders = []
    for seed in ("1", "1", "2"):
        _, found, _ = run(1, *SMALL, "--threads", "1", "--only", "gemm,rows,narrow", "--seed", seed)
        orders.append([(case.kernel, tuple(case.params.items())) for case in found.cases])
    assert orders[0] == orders[1] != orders[2] and sorted(orders[0]) == sorted(orders[2])


def test_what_cannot_be_measured_is_refused() -> None:
    code, _, err = run(1, "--only", "ring")
    assert code == 2 and "two ranks" in err
    code, _, err = run(1, "--columns", "100000000")
    assert code == 3 and "need" in err and "next:" in err
    code, _, err = run(1, "--only", "gem")
    assert code == 2 and "narrow" in err


def test_time_that_is_over_leaves_cases_out_and_says_so() -> None:
    code, found, _ = run(1, *SMALL, "--threads", "1", "--seconds-total", "0.000001")
    assert code == 0 and found.ended
    assert [notice.code for notice in found.notices] == ["budget"]
