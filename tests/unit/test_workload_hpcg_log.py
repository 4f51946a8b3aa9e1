"""A site's own HPCG file: both forms, and what makes one worthless."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import Unavailable
from shakedown.workloads import Garbage, hpcg_log
from support.machines import host

FILES = ("hpcg/reference-3.1-1-rank.txt", "hpcg/intel-3.0-8-ranks.yaml")


@pytest.fixture(params=FILES)
def text(request: pytest.FixtureRequest, recordings: Path) -> str:
    return (recordings / str(request.param)).read_text()


def test_a_short_run_by_reference_loops_is_told(text: str) -> None:
    short, slow = hpcg_log.notices(text, {})
    assert "of the 1800" in short.text
    assert "ComputeDotProduct" in slow.text


def test_an_invalid_result_is_no_score(text: str) -> None:
    lines = [
        line.partition("VALID with")[0].replace("HPCG result is ", "HPCG result is")
        + ("=" if "::" in line else ": ")
        + "INVALID."
        if "VALID with" in line
        else line
        for line in text.splitlines()
    ]
    cases = hpcg_log.parse("\n".join(lines), {})
    assert "rating" not in {case.kernel for case in cases}
    assert all(case.residual is not None and not case.residual.passed for case in cases)


def test_a_test_that_failed_is_named(text: str) -> None:
    for number in range(4):
        parts = text.split("PASSED")
        spoiled = "PASSED".join(parts[: number + 1]) + "FAILED" + "PASSED".join(parts[number + 1 :])
        checks = [case.residual for case in hpcg_log.parse(spoiled, {})]
        assert all(check is not None and check.value == 1 and not check.passed for check in checks)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("GFLOP/s Summary", "Rates"),  # a key that changed
        ("3.28908", "4.28908"),
        ("3.18753", "3.1875"),
        ("Total: 50.3291", "Total: 5.03291"),
        ("Summary::Total=0.0202554", "Summary::Total=0.202554"),
        ("Distributed Processes", "Processes"),
        ("version", "edition"),
        ("Reproducibility Information::Result=PASSED", ""),
        ("Raw MG: 4.05446", "Raw MG: nan"),
        ("Raw MG=3.02552", "Raw MG=-1"),
        ("optimization phase overhead: 3.28908", "phase overhead: 3.28908"),  # the rating, but not among the rates
    ],
)
def test_what_does_not_agree_or_is_missing_is_refused(recordings: Path, old: str, new: str) -> None:
    refused = 0
    for name in FILES:
        text = (recordings / name).read_text()
        spoiled = text.replace(old, new, 1) if old[:1].isdigit() else text.replace(old, new)
        if spoiled == text:
            continue
        with pytest.raises(Garbage):
            hpcg_log.parse(spoiled, {})
        refused += 1
    assert refused


def test_two_runs_in_one_file_are_refused(recordings: Path) -> None:
    text = (recordings / FILES[0]).read_text()
    with pytest.raises(Garbage, match="twice"):
        hpcg_log.parse(text + text.replace("3.18753", "3.2"), {})


def test_it_starts_nothing() -> None:
    with pytest.raises(Unavailable) as error:
        hpcg_log.WORKLOAD.command({}, host(2))
    assert "import hpcg_log" in str(error.value.hint)
