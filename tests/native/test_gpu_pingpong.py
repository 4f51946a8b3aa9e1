"""gpu_pingpong with real ranks on the host backend: cases, paths, checks that fail, what is refused."""

from __future__ import annotations

import pytest

from shakedown.programs.events import Events
from support.natives import here, run_ranks


def _run(ranks: int, *words: str) -> tuple[int, Events, str]:
    if len(here().usable_cpus) < 2:
        pytest.skip("needs two CPUs that this process may use")
    small = ("--backend", "host", "--samples", "2", "--window", "4")
    return run_ranks("gpu_pingpong", ranks, *small, *words).told()


def test_every_side_and_size_is_measured_and_right() -> None:
    code, found, err = _run(2, "--sizes", "0,8,70000", "--sides", "dd,dh,hd,hh")
    assert code == 0 and found.ended, err
    assert {(case.kernel, case.params["sides"], case.params["bytes"]) for case in found.cases} == {
        (kernel, sides, size)
        for kernel in ("latency", "bandwidth")
        for sides in ("dd", "dh", "hd", "hh")
        for size in (0, 8, 70000)
    }
    facts = found.provenance["facts"]
    assert (facts["world_size"], len(facts["hosts"])) == (2, 1), "what proves that a job was one over its hosts"
    for case in found.cases:
        assert len(case.seconds) == 2 and min(case.seconds) > 0
        assert case.residual is not None and case.residual.value == 0
        assert case.params["path"] == ("host" if case.params["sides"] == "hh" else "direct")
        assert case.work["bytes"] == case.work["messages"] * int(case.params["bytes"])
        assert case.work["messages"] % (2 if case.kernel == "latency" else 4) == 0


def test_messages_that_are_copied_through_the_host_say_so_and_are_right() -> None:
    code, found, err = _run(2, "--aware", "no", "--sizes", "8,70000")
    assert code == 0, err
    assert {case.params["path"] for case in found.cases} == {"staged", "host"}
    assert [one.code for one in found.notices] == ["gpu-mpi-staged"]


@pytest.mark.parametrize("aware", ["yes", "no"])
def test_a_damaged_byte_fails(aware: str) -> None:
    code, found, _ = _run(2, "--spoil", "--sizes", "1024", "--aware", aware, "--sides", "dd")
    assert code == 1 and len(found.cases) == 2
    assert all(case.residual is not None and not case.residual.passed for case in found.cases)


@pytest.mark.parametrize(
    "words", [("--sides", "dg"), ("--kernels", "lat"), ("--aware", "perhaps"), ("--sizes", "2147483648")]
)
def test_what_cannot_be_is_refused(words: tuple[str, ...]) -> None:
    code, found, err = _run(2, *words)
    assert code == 2 and not found.cases and "next:" in err


def test_two_ranks_are_needed() -> None:
    code, _, err = _run(1)
    assert code == 2 and "two ranks are needed" in err
