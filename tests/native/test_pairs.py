"""A tournament with real ranks: passes, directions, a time limit, and a pair that does not answer."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter

import pytest

from shakedown import events, launchers, programs
from shakedown.errors import Unavailable
from shakedown.events import Events
from shakedown.host import RealHost
from shakedown.machine.mpi import mpi
from shakedown.records import Cpu, Host, Memory
from shakedown.workloads import Command

LIMIT_S = 120
ALL = ("--allow-oversubscribe", "--pairs", "all", "--rounds", "tournament", "--samples", "2")


def _run(ranks: int, *words: str) -> tuple[int, Events, str]:
    """pingpong on so many ranks. Skips, with what to install, where there is no program or no MPI for it."""
    door = RealHost()
    host = Host(
        name=door.name(),
        cpu=Cpu(model="", vendor="", architecture="", microarchitecture=""),
        memory=Memory(total_bytes=0),
        usable_cpus=door.affinity(),
        software=mpi(door),
    )
    try:
        argv, env = launchers.wrap(Command(argv=(programs.path("pingpong"), *words), ranks=ranks), host)
    except Unavailable as error:
        pytest.skip(f"needs pingpong and the MPI that it was built with: {error.what}; {error.hint}")
    process = subprocess.Popen(
        argv,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1", **env},
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, events.parse(out), err.decode()


def ends(found: Events) -> Counter[tuple[int, int]]:
    return Counter((int(case.params["rank_a"]), int(case.params["rank_b"])) for case in found.cases)


def test_every_pass_measures_every_pair_and_bandwidth_both_ways() -> None:
    words = ("--kernels", "latency,bandwidth", "--sizes", "64", "--passes", "2", "--both-directions")
    code, found, err = _run(3, *ALL, *words)
    assert (code, found.ended, found.garbage) == (0, True, ""), err
    there = {(0, 1): 4, (0, 2): 4, (1, 2): 4}  # two kernels, two passes
    assert ends(found) == {**there, (1, 0): 2, (2, 0): 2, (2, 1): 2}
    assert {case.kernel for case in found.cases if case.params["rank_a"] > case.params["rank_b"]} == {"bandwidth"}
    assert all(case.residual is not None and case.residual.passed for case in found.cases)


def test_some_rounds_and_some_pairs_only() -> None:
    short = ("--kernels", "latency", "--sizes", "8")
    code, found, err = _run(4, *ALL, *short, "--most-rounds", "1")
    assert (code, dict(ends(found))) == (0, {(0, 3): 1, (1, 2): 1}), err
    code, found, err = _run(3, *ALL, *short, "--skip", "1-0")
    assert (code, dict(ends(found))) == (0, {(0, 2): 1, (1, 2): 1}), err


def test_no_round_begins_after_the_time_is_over() -> None:
    code, found, err = _run(3, *ALL, "--kernels", "latency", "--sizes", "8", "--passes", "1000", "--limit-s", "0.2")
    assert (code, found.ended) == (0, True), err
    assert [one.code for one in found.notices] == ["rounds-left-out"]
    assert 1 <= len(found.cases) < 3000


def test_a_pair_that_does_not_answer_is_named_and_ends_the_job() -> None:
    words = ("--kernels", "latency", "--sizes", "8", "--budget-s", "0.1", "--silent-s", "0.5", "--inject", "hang")
    code, found, err = _run(3, *ALL, *words)
    assert code == 1
    (dead,) = (case for case in found.cases if case.residual is not None and not case.residual.passed)
    assert 2 in (dead.params["rank_a"], dead.params["rank_b"])
    assert dead.residual is not None
    assert (dead.residual.value, dead.seconds) == (None, ())
    assert dead.residual.kind.startswith("no answer in")
    assert "did not answer" in err
    assert "--skip" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*ALL, "--between", "hosts"), "all ranks are on"),
        ((*ALL, "--between", "racks"), "known: ranks, hosts"),
        ((*ALL, "--skip", "0-1,0-2,1-2"), "leaves no pair"),
        ((*ALL, "--skip", "0-7"), "--skip: '0-7' is not a pair"),
        (("--allow-oversubscribe", "--passes", "2"), "for a tournament of all"),
    ],
)
def test_what_cannot_be_is_said(words: tuple[str, ...], message: str) -> None:
    code, _, err = _run(3, *words, "--sizes", "8")
    assert code == 2
    assert message in err
