"""What tests on the rehearsal cluster share: jobs of its Slurm, a program with MPI, its database, its namespaces."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from shakedown import rehearsal_cluster
from shakedown.rehearsal_cluster import namespaces
from support.waiting import until

HELLO = r"""
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
int main(int count, char** words) {
  int rank, size, sum;
  char host[256];
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  gethostname(host, sizeof host);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d on %s sum %d\n", rank, size, host, sum);
  if (count > 1 && rank == 0) sleep(6);
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  MPI_Finalize();
  clock_gettime(CLOCK_MONOTONIC, &b);
  if (count > 1) printf("rank %d left after %.3f s\n", rank, b.tv_sec - a.tv_sec + 1e-9 * (b.tv_nsec - a.tv_nsec));
}
"""


def submit(lab: rehearsal_cluster.RehearsalCluster, script: str, *options: str, user: str | None = None) -> str:
    done = lab.run(["sbatch", "--parsable", *options, "--wrap", script], user=user, cwd=lab.shared)
    assert done.ok, done.err
    return done.out.strip()


def rows(lab: rehearsal_cluster.RehearsalCluster, job: str, fields: str) -> list[list[str]]:
    """What the accounting says of all attempts of a job."""
    out = lab.run(["sacct", "-D", "-X", "-P", "-n", "-j", job, "-o", fields]).out
    return [line.split("|") for line in out.splitlines()]


def ended(lab: rehearsal_cluster.RehearsalCluster, job: str) -> str:
    return str(until(lambda: [state for (state,) in rows(lab, job, "state") if state not in ("PENDING", "RUNNING")])[0])


def saved(lab: rehearsal_cluster.RehearsalCluster, job: str) -> None:
    """slurmctld saves what it knows some seconds late, and forgets what it had not saved when it is killed: returns once it
    has saved this job as it is now."""
    state = lab.directory / "state" / "job_state"
    since_s = time.time()
    assert lab.run(["scontrol", "update", f"jobid={job}", "comment=saved"]).ok  # whatever is changed is saved
    until(lambda: state.stat().st_mtime > since_s, what="slurmctld saves its state")


def ranks(text: str) -> list[tuple[int, int, str, int]]:
    found = re.findall(r"rank (\d+) of (\d+) on (\S+) sum (\d+)", text)
    return sorted((int(rank), int(size), host, int(total)) for rank, size, host, total in found)


def compiled(folder: Path) -> str:
    if shutil.which("mpicc") is None:
        pytest.skip("needs mpicc: sudo apt-get install libopenmpi-dev")
    (folder / "hello.c").write_text(HELLO)
    subprocess.run(["mpicc", "-o", folder / "hello", folder / "hello.c"], check=True)
    return str(folder / "hello")


def python(*words: str) -> list[str]:
    return [namespaces.python(), "-I", "-S", "-c", *words]


def needs_namespaces(lab: rehearsal_cluster.RehearsalCluster) -> None:
    if not lab.namespaced:
        pytest.skip(f"the nodes share this machine's network: {lab.description.layout_reason}")


def sql(lab: rehearsal_cluster.RehearsalCluster, text: str) -> str:
    """What a statement gives in the database of Slurm's accounting."""
    socket = lab.directory / "mysql" / "sock"
    done = lab.run(["mariadb", "--no-defaults", "-N", "-u", "root", "-S", str(socket), "slurm_acct_db", "-e", text])
    assert done.ok, done.err
    return done.out
