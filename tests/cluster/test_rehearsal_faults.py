"""The rehearsal cluster on the real Slurm, broken: nodes and daemons that die and come back."""

from __future__ import annotations

import pytest

from shakedown import rehearsal_cluster
from shakedown.errors import BadInput, CannotMeasure
from support.labs import ended, rows, submit
from support.waiting import until

pytestmark = pytest.mark.system


def test_a_dead_node_and_a_cut_one_fail_their_jobs_and_come_back(lab: rehearsal_cluster.RehearsalCluster) -> None:
    requeued = submit(lab, "sleep 300", "-w", "node2", "--requeue")
    lost = submit(lab, "sleep 300", "-w", "node3", "--no-requeue")
    until(lambda: lab.run(["squeue", "-h", "-t", "R", "-o", "%A"]).out.split() == [requeued, lost] or None)
    lab.fail("node2")
    with pytest.raises(CannotMeasure, match="node2 is off"):
        lab.run(["true"], "node2")
    if lab.namespaced:
        lab.cut("node3")
    else:
        lab.fail("node3")
    until(lambda: "NODE_FAIL" in {state for (state,) in rows(lab, requeued, "state")})
    until(lambda: rows(lab, lost, "state") == [["NODE_FAIL"]])
    # the second attempt of the same id is seen beside the first, and only with -D
    until(lambda: [state for (state,) in rows(lab, requeued, "state")] == ["NODE_FAIL", "PENDING"])
    assert all(lab.slurm_nodes()[node][0].startswith("down") for node in ("node2", "node3"))
    lab.start("node2")
    lab.mend("node3") if lab.namespaced else lab.start("node3")
    until(lambda: all(lab.slurm_nodes()[node][0] in ("idle", "mixed", "allocated") for node in ("node2", "node3")))
    assert lab.run(["srun", "-N1", "-w", "node3", "true"]).ok


def test_a_job_outlives_the_controller(lab: rehearsal_cluster.RehearsalCluster) -> None:
    end = lab.shared / "job-may-end"
    job = submit(lab, f"until [ -e {end} ]; do sleep 0.2; done; exit 5")
    until(lambda: lab.run(["squeue", "-h", "-t", "R"]).out)
    lab.daemon("slurmctld", "stop")  # one that is killed forgets what came in the last five seconds
    assert lab.status().daemons["slurmctld"] is None
    end.touch()
    lab.daemon("slurmctld", "start")
    assert ended(lab, job) == "FAILED"
    assert rows(lab, job, "exitcode") == [["5:0"]]


def test_rows_of_the_accounting_arrive_when_it_is_back(lab: rehearsal_cluster.RehearsalCluster) -> None:
    lab.daemon("slurmdbd", "stop")
    job = submit(lab, "true")
    until(lambda: not lab.run(["squeue", "-h"]).out)
    assert not lab.run(["sacct", "-n", "-j", job]).ok
    lab.daemon("slurmdbd", "start")
    assert ended(lab, job) == "COMPLETED"


def test_words_that_name_nothing_are_refused(lab: rehearsal_cluster.RehearsalCluster) -> None:
    with pytest.raises(BadInput, match="node9"):
        lab.fail("node9")
    with pytest.raises(BadInput, match="which slurmd"):
        lab.daemon("slurmd", "stop")
    with pytest.raises(BadInput, match="slurmcltd"):
        lab.daemon("slurmcltd", "stop")
    with pytest.raises(BadInput, match="mallory"):
        lab.run(["true"], user="mallory")
    with pytest.raises(BadInput, match="up here already"):
        rehearsal_cluster.up(lab.directory)
