"""Real launches by the MPI that is here, with faults planted: what is named, what is kept, what is refused."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from shakedown.placement import launch, records
from support import command, natives
from support.placements import rank, thread

MPIRUN = ("mpirun", "--bind-to", "none", "--oversubscribe")
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
#: Works for so many seconds of the processor, whoever else has it meanwhile, and can bind itself to one CPU after another.
WORK = """
import os, sys, time
until, cpus = float(sys.argv[1]), [int(word) for word in sys.argv[2:]]
turn = 0
while time.process_time() < until:
    sum(range(2000))
    if cpus and time.process_time() > turn * 0.02:
        turn += 1
        os.sched_setaffinity(0, {cpus[turn % len(cpus)]})
"""

pytestmark = pytest.mark.needs("mpirun", "taskset")


@pytest.fixture(autouse=True)
def watcher() -> None:
    natives.path("placement_rank")


def work(seconds: float, *cpus: int) -> tuple[str, ...]:
    return (sys.executable, "-c", WORK, str(seconds), *map(str, cpus))


def placement(folder: Path, *words: str, code: int | None = 1) -> dict[str, Any]:
    done = command.shakedown("placement", "--json", "--keep", folder / "kept", *words, cwd=folder, env=AS_ROOT)
    assert code in (None, done.returncode), done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def kinds(found: dict[str, Any]) -> dict[str, list[int]]:
    ((_, diagnosis),) = found["diagnoses"]
    return {one["kind"]: one.get("ranks", []) for one in diagnosis["symptoms"] if one.get("wrong", True)}


def two_cpus() -> list[int]:
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        pytest.skip("needs two CPUs")
    return usable[:2]


def test_two_ranks_on_one_cpu_are_named_and_the_folder_says_it_again(tmp_path: Path) -> None:
    cpu, _ = two_cpus()
    found = placement(tmp_path, "--", *MPIRUN, "-n", "2", "taskset", "-c", str(cpu), *work(0.3))
    assert kinds(found)["shared-cpu"] == [0, 1]
    again = command.called("placement", "kept", cwd=tmp_path)
    assert again.returncode == 1 and "ranks 0 and 1 may only be on CPU" in again.stdout.replace("\n   ", "")
    left = records.read(tmp_path / "kept/as-launched/1")
    assert [one.rank for one in left.ranks] == [0, 1] and not left.damaged
    waits = [max(one.busy, key=lambda thread: thread.wanted_s).wait_share for one in left.ranks]
    assert sum(waits) > 0.6, "two that want one CPU all the time wait for half of it each"


def test_a_rank_that_moves_is_named(tmp_path: Path) -> None:
    found = placement(tmp_path, "--", *MPIRUN, "-n", "1", *work(0.6, *two_cpus()))
    assert kinds(found)["migrating"] == [0]


def test_more_ranks_than_cpus_are_named_however_many(tmp_path: Path) -> None:
    count = 4 * len(os.sched_getaffinity(0))
    found = placement(tmp_path, "--", *MPIRUN, "-n", str(count), *work(0.1))
    assert kinds(found)["oversubscribed"] == list(range(count))


def test_a_script_and_ranks_that_die_are_seen(tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text(
        f'#!/bin/sh\n{sys.executable} -c "sum(range(10**6))"\n[ $OMPI_COMM_WORLD_RANK = 0 ] || kill -9 $$\n'
    )
    script.chmod(0o755)
    found = placement(tmp_path, "--", *MPIRUN, "-n", "2", "./job.sh")
    assert 1 in kinds(found)["ended-badly"]


def test_a_price_has_a_factor_with_its_interval(tmp_path: Path) -> None:
    two_cpus()
    placement(
        tmp_path, "--price", "--rounds", "6", "--arrange", "compact", "--", *MPIRUN, "-n", "2", *work(0.02), code=None
    )
    found = json.loads(command.called("placement", "--json", tmp_path / "kept").stdout)
    (row,) = found["price"]
    assert row["rounds"] == 6 and 0 < row["low"] <= row["factor"] <= row["high"]
    arranged = records.read(tmp_path / "kept/compact/6").ranks
    assert [one.arrange for one in arranged] == ["compact", "compact"]
    assert not set(arranged[0].arranged) & set(arranged[1].arranged), "each on a CPU of its own"


def test_an_arrangement_that_is_another_one_here_is_launched_once() -> None:
    ranks = {name: [rank(0, thread([0]), arranged=(0,), arrange=name)] for name in ("compact", "spread")}
    wide = [rank(0, thread([0, 1]), launched_mask=(0, 1))]
    assert launch.alike({"as-launched": wide, **ranks}) == {"spread": "compact"}
    narrow = [rank(0, thread([0]), launched_mask=(0,))]
    assert launch.alike({"as-launched": narrow, **ranks}) == {"compact": "as-launched", "spread": "as-launched"}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--", "true"), 2, "not a launcher"),
        (("--", *MPIRUN, "-n", "1", "/nonexistent"), 3, "/nonexistent: No such file"),
        (("--", *MPIRUN, "-n", "one", "true"), 3, "no rank left a record"),
        (("--arrange", "tight", "--price", "--", *MPIRUN, "true"), 2, "unknown arrangement 'tight'"),
        (("--limit", "0", "--", *MPIRUN, "true"), 2, "--limit 0"),
        (("--price", "."), 2, "--price launches"),
        ((".",), 2, "no records"),
    ],
)
def test_what_cannot_be_launched_or_read_is_one_error(
    tmp_path: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    done = command.shakedown("placement", *words, cwd=tmp_path, env=AS_ROOT)
    assert done.returncode == code and said in done.stderr and "next:" in done.stderr, done.stderr


def test_a_launch_past_its_limit_is_ended_and_what_was_seen_is_kept(tmp_path: Path) -> None:
    found = placement(tmp_path, "--limit", "8", "--", *MPIRUN, "-n", "1", *work(3600))
    assert "ended-badly" in kinds(found)
    assert json.loads((tmp_path / "kept/as-launched/1/launch.json").read_text())["seconds"] is None
