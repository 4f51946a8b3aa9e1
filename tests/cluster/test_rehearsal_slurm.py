"""The rehearsal cluster on the real Slurm, whole: nodes of their own, jobs, MPI, GPUs, drains, hooks."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from shakedown import rehearsal_cluster
from support.labs import compiled, ended, ranks, rows, submit
from support.waiting import until

pytestmark = pytest.mark.system


def test_a_node_has_a_name_and_addresses_of_its_own(lab: rehearsal_cluster.RehearsalCluster) -> None:
    status = lab.status()
    assert status.up and all(status.daemons.values())
    assert [(one.name, one.state) for one in status.nodes] == [(f"node{i}", "idle") for i in (1, 2, 3, 4)]
    if not lab.namespaced:
        pytest.skip("this machine allows no namespaces: the nodes share its name and network")
    for node in lab.nodes:
        assert lab.run(["hostname"], node).out.strip() == node
        shown = lab.run(["ip", "-br", "addr", "show", "eth0"], node).out
        assert f"{lab.address(node)}/24" in shown and f"{lab.address(node, 6)}/64" in shown
        lab.run(["sh", "-c", "echo $HOSTNAME > /dev/shm/mine"], node, env={"HOSTNAME": node})
    assert lab.run(["cat", "/dev/shm/mine"], "node3").out == "node3\n"
    assert not Path("/dev/shm/mine").exists()
    for node in lab.nodes:
        lab.run(["rm", "/dev/shm/mine"], node)


def test_an_ordinary_user_submits_and_the_accounting_knows_it(lab: rehearsal_cluster.RehearsalCluster) -> None:
    job = submit(lab, "srun hostname", "-N2", "-o", "out.%j", user=lab.user)
    assert ended(lab, job) == "COMPLETED"
    assert rows(lab, job, "user,account,nnodes,exitcode") == [[lab.user, "accept", "2", "0:0"]]
    if lab.namespaced:
        assert len(set((lab.shared / f"out.{job}").read_text().split())) == 2
    job = submit(lab, "exit 7")
    assert ended(lab, job) == "FAILED"
    assert rows(lab, job, "exitcode") == [["7:0"]]


def test_mpi_runs_across_the_nodes_under_srun_and_under_mpirun(lab: rehearsal_cluster.RehearsalCluster) -> None:
    hello = compiled(lab.shared)
    if not lab.namespaced:
        pytest.skip("this machine allows no namespaces: the nodes share its name")
    wanted = [(rank, 4, 6) for rank in range(4)]
    done = lab.run(["srun", "--mpi=pmix", "-N4", "-n4", hello])
    found = ranks(done.out)
    assert [(rank, size, total) for rank, size, _, total in found] == wanted, done
    assert {host for _, _, host, _ in found} == set(lab.nodes)
    job = submit(lab, f"mpirun {hello}", "-N4", "-n4", "-o", "mpi.%j", user=lab.user)
    assert ended(lab, job) == "COMPLETED"
    found = ranks((lab.shared / f"mpi.{job}").read_text())
    assert [(rank, size, total) for rank, size, _, total in found] == wanted
    assert {host for _, _, host, _ in found} == set(lab.nodes)


def test_ranks_below_srun_wait_for_each_other(lab: rehearsal_cluster.RehearsalCluster) -> None:
    """What Slurm 22.05.8 does without the cluster's mpi.conf: PMIx's barrier of several nodes holds back no one. Open MPI
    has one at the end of MPI_Init, where it then crashes now and then, and one in MPI_Finalize, where it can be seen."""
    hello = compiled(lab.shared)
    if not lab.namespaced:
        pytest.skip("this machine allows no namespaces: the nodes share its name")
    done = lab.run(["srun", "--mpi=pmix", "-N4", "-n4", hello, "late"])
    left = {int(rank): float(seconds) for rank, seconds in re.findall(r"rank (\d) left after ([\d.]+) s", done.out)}
    assert set(left) == {0, 1, 2, 3}, done
    assert all(left[rank] > 3 for rank in (1, 2, 3)), "rank 0 came six seconds late, and all waited for it"


def test_each_job_is_given_gpus_of_its_own(lab: rehearsal_cluster.RehearsalCluster) -> None:
    end = lab.shared / "second-has-run"
    tell = "echo $CUDA_VISIBLE_DEVICES"
    show = ["srun", "-w", "node1", "--gres=gpu:2", "sh", "-c", f"{tell}; until [ -e {end} ]; do sleep 0.2; done"]
    with subprocess.Popen(lab.argv(show), stdout=subprocess.PIPE, text=True) as first:
        until(lambda: lab.run(["squeue", "-h", "-t", "R"]).out)
        second = lab.run([*show[:-1], tell])
        end.touch()
        assert first.stdout is not None
        given = first.stdout.read().split() + second.out.split()
    assert sorted(given) == ["0,1", "2,3"]
    refused = lab.run(["srun", "--gres=gpu:5", "true"])
    assert not refused.ok and "not available" in refused.err


def test_drain_and_resume(lab: rehearsal_cluster.RehearsalCluster) -> None:
    lab.run(["scontrol", "update", "NodeName=node3", "State=DRAIN", "Reason=acceptance"])
    assert lab.slurm_nodes()["node3"] == ("drained", "acceptance")
    assert not lab.run(["srun", "-w", "node3", "--immediate=1", "true"]).ok
    lab.run(["scontrol", "update", "NodeName=node3", "State=RESUME"])
    until(lambda: lab.slurm_nodes()["node3"][0] == "idle")
    assert lab.run(["srun", "-w", "node3", "true"]).ok


def test_a_hook_that_fails_drains_the_node_until_it_passes(lab: rehearsal_cluster.RehearsalCluster) -> None:
    hook = lab.hooks("healthcheck") / "10-disk"
    hook.write_text("#!/bin/sh\necho disk is full\nexit 1\n")
    hook.chmod(0o755)
    check = [str(lab.directory / "bin" / "healthcheck")]
    try:
        # as slurmd starts it: with the node's name and nothing else
        assert lab.run(["env", "-i", "SLURMD_NODENAME=node4", *check], "node4").ok
        assert lab.slurm_nodes()["node4"][1] == "HC: 10-disk: disk is full"
    finally:
        hook.unlink()
    lab.run(["env", "-i", "SLURMD_NODENAME=node4", *check], "node4")
    until(lambda: lab.slurm_nodes()["node4"][0] == "idle")
    lab.run(["scontrol", "update", "NodeName=node4", "State=DRAIN", "Reason=by a person"])
    lab.run(["env", "-i", "SLURMD_NODENAME=node4", *check], "node4")
    assert lab.slurm_nodes()["node4"] == ("drained", "by a person")


def test_prolog_and_epilog_run_on_the_node_of_a_job(lab: rehearsal_cluster.RehearsalCluster) -> None:
    for kind in ("prolog", "epilog"):
        hook = lab.hooks(kind) / "note"  # type: ignore[arg-type]
        hook.write_text(f"#!/bin/sh\necho {kind} $SLURMD_NODENAME >> {lab.shared}/notes.$SLURM_JOB_ID\n")
        hook.chmod(0o755)
    try:
        job = submit(lab, "true", "-w", "node2")
        notes = lab.shared / f"notes.{job}"
        until(lambda: notes.exists() and "epilog" in notes.read_text())
        assert notes.read_text() == "prolog node2\nepilog node2\n"
    finally:
        for kind in ("prolog", "epilog"):
            (lab.hooks(kind) / "note").unlink()  # type: ignore[arg-type]
