"""Campaigns in one job of a real Slurm: where they run, what proves it, and what becomes of jobs that are cut short."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from shakedown import schedulers
from shakedown.hosts.access import LocalHost, Result
from shakedown.records import Measurement
from shakedown.rehearsal_cluster import RehearsalCluster
from shakedown.results.run_directory import RunDirectory
from shakedown.run.batch import submission
from support.labs import saved
from support.waiting import until

pytestmark = [pytest.mark.system, pytest.mark.slow]

EVERYWHERE = """
name = "everywhere"
title = "On every node and over all of them"

[[run]]
workload = "stream"
params = { sizes = "8 MiB", threads = "1", kernels = "triad", samples = 3 }
nodes = "each"

[[run]]
workload = "pingpong"
params = { ranks = "hosts", sizes = "8", kernels = "latency", pairs = "all", rounds = "tournament", samples = 5 }
nodes = [2, "all"]

[[run]]  # an MPI program that is started without a launcher, below srun: it must not take itself for srun's task
workload = "hpl"
params = { n = 500, nb = 64, threads = 1 }
nodes = "each"
"""
SHAPES = """
[shape.narrow]
hosts = "node4"

[shape.wide]
nodes = 2
hosts = "node[1-2]"
"""
SLOW = """
name = "slow"
title = "Time enough to be cut short"

[[run]]
workload = "empty"
sweep = { seconds = [1.0, 1.1, 1.2, 30.0] }
"""
LAYERS = """
name = "layers"
title = "In pairs, over two nodes and on one"
under = ["native", "namespaces"]

[[run]]
workload = "pingpong"
params = { ranks = "hosts", sizes = "8", kernels = "latency", samples = 3 }
nodes = 2
repeat = { max = 1 }

[[run]]
workload = "pingpong"
params = { ranks = "hosts", sizes = "8", kernels = "latency", samples = 3 }
nodes = 2
repeat = { max = 1 }
under = "aside@job=env A=1"

[[run]]
workload = "empty"
params = { seconds = 3.0 }
repeat = { max = 1 }
"""


def shakedown(lab: RehearsalCluster, *words: str | Path) -> Result:
    """The command on the laboratory's login host."""
    return lab.run([sys.executable, "-m", "shakedown", *map(str, words)], limit_s=600)


def campaign(lab: RehearsalCluster, name: str, text: str) -> Path:
    path = lab.shared / f"{name}.toml"
    path.write_text(text)
    return path


def results(path: Path) -> list[Measurement]:
    return RunDirectory.open(path).load().measurements


def test_one_job_runs_on_every_node_and_over_all(lab: RehearsalCluster) -> None:
    path = lab.shared / "everywhere"
    asked = shakedown(
        lab, "run", campaign(lab, "everywhere", EVERYWHERE), "--on", "slurm", "--nodes", 4, "--directory", path
    )
    assert asked.code == 0, asked.err
    found = results(path)
    assert [one.state for one in found] == ["ok"] * 10, [one.reason for one in found]
    stream = {one.host for one in found if one.workload == "stream"}
    assert stream == {"node1", "node2", "node3", "node4"}
    jobs = {one.host: one for one in found if one.workload == "pingpong"}
    assert set(jobs) == {"node[1-2]", "node[1-4]"}
    facts = jobs["node[1-4]"].provenance["facts"]
    assert facts["world_size"] == 4 and set(facts["hosts"]) == stream
    assert {rank["host"] for rank in facts["ranks"]} == stream
    pairs = {(case.params["rank_a"], case.params["rank_b"]) for case in jobs["node[1-4]"].cases}
    assert len(pairs) == 6, "every pair of four nodes"
    (folder,) = submission.folders(path)
    (record,) = submission.ended(folder)
    assert (record.state, record.hosts) == ("done", ("node1", "node2", "node3", "node4"))
    rows = lab.run(["sacct", "-X", "-n", "-P", "-o", "JobID,JobName", f"--jobs={record.id}"])
    assert len(rows.out.split()) == 1, "one job in the queue"
    assert [host.name for host in RunDirectory.open(path).machine().hosts] == sorted(stream)
    page = (path / "report.html").read_text()
    assert "node[1-4]" in page and "node3" in page


def test_a_cancelled_job_keeps_what_is_whole_and_goes_on(lab: RehearsalCluster) -> None:
    path = lab.shared / "cancelled"
    words = ("run", campaign(lab, "slow", SLOW.replace("30.0", "20.0")), "--on", "slurm", "--directory", path)
    first: list[Result] = []
    asking = threading.Thread(target=lambda: first.append(shakedown(lab, *words, "--no-report")))
    asking.start()
    until(lambda: len(list(path.glob("runs/*/1/measurement.json"))) >= 3)
    until(lambda: len(list(path.glob("runs/*/1/job.json"))) == 4, what="the fourth has begun")
    job = json.loads((path / "jobs" / "1" / "job.json").read_text())["id"]
    assert lab.run(["scancel", job]).ok
    asking.join()
    assert first and first[0].code == 3 and "cancelled" in first[0].err and "--resume" in first[0].err
    kept = {one.run: one.end_ns for one in results(path)}
    assert len(kept) == 3
    again = shakedown(lab, "run", "--resume", path, "--on", "slurm", "--exclude", "node[1-2]", "--no-report")
    assert again.code == 0, again.err
    (record,) = submission.ended(submission.folders(path)[1])
    assert set(record.hosts) <= {"node3", "node4"}
    ended = {one.run: one.end_ns for one in results(path)}
    assert len(ended) == 4 and kept.items() <= ended.items(), "what was whole was not measured again"


def test_layers_in_a_job_and_a_pair_that_was_cut_in_half(lab: RehearsalCluster) -> None:
    """The witnesses of the launch that was cancelled are not counted with those of the next, and its native launch, beside
    which nothing came, is made again."""
    path = lab.shared / "layers"
    words = ("run", campaign(lab, "layers", LAYERS), "--on", "slurm", "--nodes", 2, "--directory", path, "--no-report")
    asking = threading.Thread(target=lambda: shakedown(lab, *words))
    asking.start()
    until(lambda: len(list(path.glob("runs/*/1/witness/inside-*"))) == 6, what="the last of its launches has begun")
    assert lab.run(["scancel", json.loads((path / "jobs" / "1" / "job.json").read_text())["id"]]).ok
    asking.join()
    kept = {one.run: one for one in results(path)}
    (half,) = (one for one in kept.values() if one.workload == "empty")
    again = shakedown(lab, "run", "--resume", path, "--on", "slurm", "--no-report")
    ended = {one.run: one for one in results(path)}
    over, (native, under) = [[one for one in ended.values() if one.workload == name] for name in ("pingpong", "empty")]
    assert again.code == 3 and "goes around one launcher on one host" in " ".join(one.reason for one in over)
    assert sorted(one.state for one in over) == ["ok", "ok", "unavailable"]
    assert over == [one for one in kept.values() if one.workload == "pingpong"], "what is whole is not made again"
    assert (native.state, under.state) == ("ok", "ok"), (native.reason, under.reason)
    assert len(submission.ended(submission.folders(path)[1])[0].hosts) == 2, (
        "as many as the plan's widest run goes over"
    )
    assert ended[half.run].begin_ns > half.end_ns, "made again, right beside the other"


def test_a_job_at_its_limit_is_submitted_again(lab: RehearsalCluster) -> None:
    path = lab.shared / "limited"
    text = SLOW.replace("[1.0, 1.1, 1.2, 30.0]", "[23.0, 25.0]")  # a minute is the least that Slurm counts in
    asked = shakedown(
        lab,
        *("run", campaign(lab, "limited", text), "--on", "slurm", "--job-limit", "1 min", "--attempts", 3),
        *("--directory", path, "--no-report"),
    )
    assert asked.code == 0, asked.err
    assert len(results(path)) == 2
    assert len(submission.folders(path)) == 2, (
        "a minute is too short for both and what ends a job, however fast it begins"
    )


def test_a_node_that_dies_takes_its_job_and_nothing_that_is_whole(lab: RehearsalCluster) -> None:
    path = lab.shared / "dying"
    text = SLOW.replace("[1.0, 1.1, 1.2, 30.0]", "[1.0, 1.1, 40.0]").replace(
        'workload = "empty"', 'workload = "empty"\nnodes = "each"'
    )
    first: list[Result] = []
    words = ("run", campaign(lab, "dying", text), "--on", "slurm", "--hosts", "node[1-2]", "--directory", path)
    asking = threading.Thread(target=lambda: first.append(shakedown(lab, *words, "--no-report")))
    asking.start()
    until(lambda: len(list(path.glob("runs/*/1@*/measurement.json"))) >= 4)
    lab.fail("node2")
    asking.join()
    assert first and first[0].code == 3, first and first[0].err
    (record,) = submission.ended(submission.folders(path)[0])
    assert record.state in ("node_fail", "done", "failed"), "the engine's word decides, and it is kept"
    good = [one for one in results(path) if one.state == "ok"]
    assert {one.host for one in good} >= {"node1", "node2"}


def test_the_controller_may_go_away_meanwhile(lab: RehearsalCluster) -> None:
    path = lab.shared / "headless"
    text = SLOW.replace("[1.0, 1.1, 1.2, 30.0]", "[2.0, 8.0]")
    first: list[Result] = []
    words = ("run", campaign(lab, "headless", text), "--on", "slurm", "--directory", path, "--no-report")
    asking = threading.Thread(target=lambda: first.append(shakedown(lab, *words)))
    asking.start()
    until(lambda: list(path.glob("runs/*/1/measurement.json")))
    saved(lab, json.loads((path / "jobs" / "1" / "job.json").read_text())["id"])
    lab.daemon("slurmctld", "kill")
    time.sleep(5)
    lab.daemon("slurmctld", "start")
    asking.join()
    assert first and first[0].code == 0, first and first[0].err
    assert len(results(path)) == 2


def test_each_kind_of_node_gets_an_allocation_and_one_report_tells_of_all(lab: RehearsalCluster) -> None:
    text = EVERYWHERE.replace('[2, "all"]', '"all"\nshape = "wide"') + SHAPES
    path = lab.shared / "shapes"
    asked = shakedown(lab, "run", campaign(lab, "shapes", text), "--on", "slurm", "--directory", path)
    assert asked.code == 0, asked.err
    narrow, wide = results(path / "narrow"), results(path / "wide")
    assert {(one.workload, one.host) for one in narrow} == {("stream", "node4"), ("hpl", "node4")}
    assert {(one.workload, one.host) for one in wide} == {
        ("stream", "node1"),
        ("stream", "node2"),
        ("hpl", "node1"),
        ("hpl", "node2"),
        ("pingpong", "node[1-2]"),
    }
    page = (path / "report.html").read_text()
    assert "node4" in page and "node[1-2]" in page
    again = shakedown(lab, "run", "--resume", path, "--on", "slurm", "--no-report")
    assert again.code == 0 and len(submission.folders(path / "wide")) == 1, "nothing was left to be submitted"


def test_grid_engine_runs_a_campaign_too(gridengine_lab: RehearsalCluster) -> None:
    lab = gridengine_lab
    path = lab.shared / "everywhere"
    words = ("--on", "gridengine", "--nodes", 2, "--parallel-environment", "nodes", "--slots", lab.settings.cpus)
    words += ("--exclude", "node[1,3]")
    file = campaign(lab, "everywhere", EVERYWHERE.replace('[2, "all"]', "2"))
    asked = shakedown(lab, "run", file, *words, "--directory", path, "--no-report")
    assert asked.code == 0, asked.err
    found = results(path)
    assert [one.state for one in found] == ["ok"] * 5
    (job,) = (one for one in found if one.workload == "pingpong")
    assert len(set(job.provenance["facts"]["hosts"])) == 2
    (record,) = submission.ended(submission.folders(path)[0])
    assert record.state == "done" and {one.split(".")[0] for one in record.hosts} == {"node2", "node4"}


def test_what_cannot_be_is_refused_at_once(lab: RehearsalCluster) -> None:
    file = campaign(lab, "slow", SLOW)
    wrong = shakedown(lab, "run", file, "--on", "slurm", "--partition", "none", "--directory", lab.shared / "wrong")
    assert wrong.code == 3 and "sbatch refused the job" in wrong.err and "next:" in wrong.err
    open_ = lab.shared / "open"
    open_.mkdir()
    open_.chmod(0o777)
    loose = shakedown(lab, "run", file, "--on", "slurm", "--directory", open_)
    assert loose.code == 2 and "can be written to by everybody" in loose.err
    assert shakedown(lab, "run", file, "--on", "slrum").code == 2
    assert shakedown(lab, "run", file, "--nodes", 2).code == 2


def test_a_job_that_will_not_start_is_said_and_left_by_ctrl_c(lab: RehearsalCluster) -> None:
    path = lab.shared / "many"
    words = ("run", str(campaign(lab, "slow", SLOW)), "--on", "slurm", "--nodes", "40", "--directory", str(path))
    argv = lab.argv([sys.executable, "-m", "shakedown", *words])
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, start_new_session=True) as asked:
        assert asked.stderr is not None
        said = ""
        while not ("waits forever (Partition" in said and "cancel it" in said):
            line = asked.stderr.readline()
            assert line, said
            said += line
        os.killpg(asked.pid, signal.SIGINT)
        said += asked.stderr.read()
    job = json.loads((path / "jobs" / "1" / "job.json").read_text())["id"]
    assert f"scancel {job}" in said and f"--resume {path}" in said
    assert job in lab.run(["squeue", "-h", "-o", "%i"]).out.split(), "Ctrl-C leaves the job to the engine"


def test_no_engine_claims_a_process_outside() -> None:
    assert schedulers.inside({}, LocalHost()) is None
