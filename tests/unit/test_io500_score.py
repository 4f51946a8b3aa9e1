"""The score of our own phases by IO500's formula, and the word INVALID where its rules were not kept. (The formula itself:
test_workload_io500.py.)"""

from __future__ import annotations

import math

import pytest

from shakedown.records import Case, Residual
from shakedown.workloads.common import io500_score as io500


def phase(name: str, *, stonewall: float = 300.0, seconds: float = 301.0, wrong: float = 0.0) -> Case:
    work = {"bytes": 2.0**40, "op": 1e6} if name in io500.BANDWIDTH else {"op": 1e6}
    return Case(
        kernel=name,
        params={"threads": 1, "ranks": 2, "stonewall": stonewall},
        work=work,
        seconds=(seconds,),
        residual=Residual(value=wrong, limit=0.0, kind="wrong"),
    )


def phases(**changed: Case) -> list[Case]:
    return [changed.get(name.replace("-", "_"), phase(name)) for name in (*io500.BANDWIDTH, *io500.METADATA)]


def test_a_run_by_the_rules_has_a_score() -> None:
    (case,), notices = io500.totals(phases())
    assert notices == () and "doubt" not in case.params and case.params["ranks"] == 2
    gib_s, kiops = 1024 / 301, 1000 / 301
    assert case.work["bytes_per_s"] == pytest.approx(gib_s * 2**30) and case.work["op_per_s"] == pytest.approx(
        kiops * 1e3
    )
    assert case.work["score"] == pytest.approx(math.sqrt(gib_s * kiops))


@pytest.mark.parametrize(
    ("cases", "why"),
    [
        (phases(ior_easy_write=phase("ior-easy-write", stonewall=10.0)), "the rules require 300 s"),
        (phases(mdtest_hard_write=phase("mdtest-hard-write", seconds=299.0)), "came to its end after 299 s"),
        (phases()[:-1], "mdtest-hard-delete has no result"),
        (phases(find=phase("find", wrong=1.0)), "find is wrong"),
    ],
)
def test_the_word_invalid_stands_where_a_rule_was_not_kept(cases: list[Case], why: str) -> None:
    (case,), (notice,) = io500.totals(cases)
    assert case.params["doubt"] == "INVALID" and "INVALID" in notice.text and why in notice.text


def test_other_cases_have_no_score() -> None:
    assert io500.totals([Case(kernel="write", params={}, work={"bytes": 1.0}, seconds=(1.0,))]) == ((), ())
