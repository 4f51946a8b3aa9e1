"""The rehearsal cluster on the real Grid Engine: batch jobs, MPI, its daemons."""

from __future__ import annotations

import re

import pytest

from shakedown import rehearsal_cluster
from support.labs import compiled, ranks
from support.waiting import until

pytestmark = pytest.mark.system


def test_grid_engine_runs_a_batch_job_and_keeps_account(gridengine_lab: rehearsal_cluster.RehearsalCluster) -> None:
    lab = gridengine_lab
    words = ["qsub", "-sync", "y", "-cwd", "-b", "y", "-shell", "n", "-o", "/dev/null", "-e", "/dev/null"]
    done = lab.run([*words, "sh", "-c", "exit 7"], user=lab.user, cwd=lab.shared)
    assert done.code == 7 and "exited with exit code 7" in done.out + done.err
    job = re.findall(r"job (\d+)", done.out)[0]
    told = ""

    def known() -> bool:
        nonlocal told
        told = lab.run(["qacct", "-j", job]).out
        return "exit_status" in told

    until(known)
    assert re.search(r"^exit_status +7", told, re.MULTILINE) and re.search(rf"^owner +{lab.user}", told, re.MULTILINE)


def test_grid_engine_runs_mpi_across_nodes_with_a_gpu_each(gridengine_lab: rehearsal_cluster.RehearsalCluster) -> None:
    lab = gridengine_lab
    hello = compiled(lab.shared)
    words = ["qsub", "-sync", "y", "-cwd", "-b", "y", "-shell", "n", "-pe", "mpi", "4", "-l", "gpu=1", "-o", "ge.out"]
    # where mpirun ends before its helpers on the other nodes have, Grid Engine kills them and says that the job failed
    script = f"mpirun {hello} && sleep 2"
    done = lab.run([*words, "-j", "y", "sh", "-c", script], user=lab.user, cwd=lab.shared, limit_s=300)
    assert "exited with exit code 0" in done.out, done
    found = ranks((lab.shared / "ge.out").read_text())
    assert [(rank, size, total) for rank, size, _, total in found] == [(rank, 4, 6) for rank in range(4)]
    assert {host for _, _, host, _ in found} == set(lab.nodes)
    refused = lab.run(["qsub", "-w", "e", "-l", "gpu=5", "-b", "y", "true"], user=lab.user, cwd=lab.shared)
    assert not refused.ok


def test_grid_engine_sees_its_daemon_go_and_come(gridengine_lab: rehearsal_cluster.RehearsalCluster) -> None:
    lab = gridengine_lab
    lab.daemon("sge_qmaster", "stop")
    assert not lab.run(["qstat"], limit_s=20).ok
    lab.daemon("sge_qmaster", "start")
    lab.fail("node2")
    lab.start("node2")
    assert lab.status().daemons["sge_execd@node2"]
    done = lab.run(["qsub", "-sync", "y", "-cwd", "-b", "y", "-l", "h=node2", "hostname"], cwd=lab.shared)
    assert "exited with exit code 0" in done.out
