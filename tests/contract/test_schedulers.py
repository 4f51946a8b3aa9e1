"""Every batch engine and every launcher, found by discovery: what all of them owe to whoever uses them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shakedown import launchers, schedulers
from shakedown.errors import CannotMeasure
from shakedown.hosts.access import ReplayHost, Result
from shakedown.launchers import Launcher, Start
from shakedown.schedulers import Allocation, JobRecord, Request, Scheduler
from support.machines import OPENBLAS, host

ENGINES = [schedulers.get(name) for name in schedulers.names()]
LAUNCHERS = [launchers.get(name) for name in launchers.names()]
SILENT = (Result(None, "", "timed out after 60 s"), Result(1, "", "cannot connect to server"))


def named(one: Scheduler | Launcher) -> str:
    return one.name


def request(**more: Any) -> Request:
    return Request(**{"name": "acceptance", "argv": ("/bin/true",), "folder": "/shared/run", **more})


@pytest.mark.parametrize("engine", ENGINES, ids=named)
def test_an_engine_is_whole_and_absent_from_an_empty_machine(engine: Scheduler, tmp_path: Path) -> None:
    assert engine.name in schedulers.names() and engine.title
    assert engine.absent(ReplayHost(tmp_path)), "it must say why"
    assert engine.inside({}, ReplayHost(tmp_path)) is None
    assert engine.inside({"PATH": "/bin", "HOME": "/", "JOB_ID": "1"}, ReplayHost(tmp_path)) is None


@pytest.mark.parametrize("engine", ENGINES, ids=named)
def test_silence_is_no_answer_and_no_job(engine: Scheduler) -> None:
    for result in SILENT:
        assert engine.queued(result) is None, "an outage is not an empty queue"
        assert engine.accounted(result) is None
        with pytest.raises(CannotMeasure) as caught:
            engine.submitted(result)
        assert caught.value.hint and caught.value.where == ("pbs" if engine.name == "torque" else engine.name)


@pytest.mark.parametrize("engine", ENGINES, ids=named)
def test_a_script_names_its_engine_and_parses_as_bash(engine: Scheduler) -> None:
    text = engine.script(request(time_limit_s=3600.0, partition="batch", env={"A": "b c"}))
    assert text.startswith("#!/bin/bash\n") and "/shared/run/stdout" in text and "/shared/run/stderr" in text
    assert text.rstrip().endswith("exec -- /bin/true") and "batch" in text
    subprocess.run(["bash", "-n", "-c", text], check=True, timeout=300)
    assert engine.script(request()) == engine.script(request()), "the same request is the same script"


@pytest.mark.parametrize("engine", ENGINES, ids=named)
def test_words_are_words_and_ids_stay_one_word(engine: Scheduler) -> None:
    nasty = "7; rm -rf /"
    for words in (
        engine.submit("/a b/script"),
        engine.queue(["7", "8"]),
        engine.accounts(["7", "8"]),
        engine.cancel(nasty),
    ):
        assert words and all(isinstance(word, str) and word for word in words)
    assert nasty in engine.cancel(nasty) and "/a b/script" in engine.submit("/a b/script")


@pytest.mark.parametrize("engine", ENGINES, ids=named)
def test_only_jobs_that_wait_can_be_hopeless(engine: Scheduler) -> None:
    for state in ("running", "done", "unknown"):
        record = JobRecord(engine=engine.name, id="7", state=state, word="Eqw H", reason="launch failed requeued held")
        assert engine.hopeless(record) == "", state


def test_records_go_to_json_and_back() -> None:
    record = JobRecord(engine="slurm", id="7", state="oom", tres={"cpu": "4"}, hosts=("a",))
    assert msgspec.json.decode(msgspec.json.encode(record), type=JobRecord) == record
    allocation = Allocation(engine="slurm", job="7", hosts=("a", "b"), cpus=(4, 4), mpi=("pmix",))
    assert msgspec.json.decode(msgspec.json.encode(allocation), type=Allocation) == allocation


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=named)
def test_a_launcher_refuses_or_starts_every_situation(launcher: Launcher) -> None:
    """No situation makes a launcher raise, and whoever does not refuse gives words that end in the program's own."""
    mpi = msgspec.structs.replace(OPENBLAS, kind="mpi", name="Open MPI", version="4.1.4", path="/usr/bin/mpirun")
    for engine in ("", *schedulers.names()):
        for hosts in ((), ("node1",), ("node2",), ("node1", "node2"), ("elsewhere", "node2")):
            for ranks in (0, 1, 2, 5):
                for whole in (False, True):
                    for found in (None, mpi, msgspec.structs.replace(mpi, name="MPICH", path="")):
                        start = Start(
                            argv=("prog", "--x"),
                            ranks=ranks,
                            host=host(2),
                            mpi=found,
                            hosts=hosts if ranks >= len(hosts) or len(hosts) == 1 else (),
                            allocation=Allocation(engine=engine, job="7", hosts=("node1", "node2")) if engine else None,
                            whole=whole,
                        )
                        if launcher.refusal(start):
                            continue
                        argv, env = launcher.start(start)
                        assert argv[-2:] == ("prog", "--x") and all(isinstance(word, str) for word in argv)
                        assert all(isinstance(value, str) for value in env.values())
