"""Accounting on a real Slurm: an array, a requeue, GPUs, cancelled and suspended jobs beside sreport and sacct."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shakedown as package
from shakedown.rehearsal_cluster import RehearsalCluster
from support.labs import sql
from support.waiting import until

pytestmark = [pytest.mark.system, pytest.mark.slow]

SOURCE = Path(package.__file__).resolve().parent.parent
COMMAND = (sys.executable, "-c", "from shakedown.cli.accounting import app; app()")
HOUR = 3600
#: What took a second is made to have taken so many, hours ago: sreport adds up whole hours that are over.
STRETCH = 900
TIMES = {
    "job_table": ("time_submit", "time_eligible", "time_start", "time_end"),
    "step_table": ("time_start", "time_end"),
    "suspend_table": ("time_start", "time_end"),
}


def told(lab: RehearsalCluster, *words: object) -> dict[str, Any]:
    done = lab.run([*COMMAND, *(str(one) for one in words)], env={"PYTHONPATH": str(SOURCE), "LC_ALL": "C"})
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


class Done:
    """A history of real jobs that ended, moved into the past and stretched."""

    def __init__(self, lab: RehearsalCluster) -> None:
        self.lab = lab
        self.cluster = lab.run(["sacctmgr", "-n", "-P", "show", "cluster", "format=cluster"]).out.split()[0]
        query = f"select time_start from {self.cluster}_event_table where node_name='' and time_end=0"
        self._since = sql(lab, query).split()[0]
        self.first = int(time.time())
        self.jobs: list[str] = []
        self.begin = self.end = 0

    def submit(self, *words: str, script: str = "sleep 2", user: str | None = None) -> str:
        done = self.lab.run(["sbatch", "--parsable", *words, "--wrap", script], user=user, cwd=self.lab.shared)
        assert done.ok, done.err
        self.jobs.append(done.out.strip())
        return self.jobs[-1]

    def state(self, job: str) -> str:
        done = self.lab.run(["squeue", "-h", "-o", "%T", "-j", job])
        return done.out.strip() if done.ok else ""

    def run(self) -> None:
        """Everything that is hard to count, in some twenty seconds. What is to be met while it runs runs until then."""
        alice = self.lab.user
        end = self.lab.shared / f"idle-may-end-{self.first}"
        self.submit("-n2", "--array=0-2", user=alice)
        self.submit("-N2", "-n4", "--gres=gpu:2", script="sleep 4", user=alice)
        again = self.submit("-n1", "--requeue", script='[ -n "$SLURM_RESTART_COUNT" ] || sleep 600; sleep 3')
        killed = self.submit("-n3", script="sleep 600")
        idle = self.submit("-n2", script=f"until [ -e {end} ]; do sleep 0.2; done; sleep 1")
        until(lambda: {self.state(one) for one in (again, killed, idle)} == {"RUNNING"}, what="jobs run")
        late = self.submit("-N4", "--exclusive")  # waits for the others, and never starts
        time.sleep(1.2)
        for words in (("requeue", again), ("suspend", idle)):
            done = self.lab.run(["scontrol", *words])
            assert done.ok, done.err
        self.lab.run(["scancel", late, killed])
        time.sleep(2.2)
        self.lab.run(["scontrol", "resume", idle])
        end.touch()
        done = self.lab.run(["scontrol", "update", f"jobid={again}", "starttime=now"])  # else two minutes later
        assert done.ok, done.err
        until(lambda: not self.lab.run(["squeue", "-h"]).out.strip(), what="all jobs end")
        unfinished = f"select count(*) from {self.cluster}_job_table where time_submit >= {self.first} and time_end = 0"
        until(lambda: sql(self.lab, unfinished).split() == ["0"], what="the database knows")
        rows = f"select count(*) from {self.cluster}_job_table where time_submit >= {self.first}"
        until(lambda: int(sql(self.lab, rows).split()[0]) >= 9, what="all rows are there")

    def stretch(self) -> None:
        """Move and stretch all times in the database, and have slurmdbd add its hours up anew."""
        now = int(time.time())
        hours = -(-(now - self.first) * STRETCH // HOUR)
        self.begin = now // HOUR * HOUR - (hours + 2) * HOUR
        self.end = self.begin + (hours + 1) * HOUR
        text = ""
        for table, columns in TIMES.items():
            # Seventeen seconds past an hour, so that nothing ends with one.
            moved = ", ".join(
                f"{one} = if({one} >= {self.first}, ({one} - {self.first}) * {STRETCH} + {self.begin + 17}, {one})"
                for one in columns
            )
            text += f"update {self.cluster}_{table} set {moved} where {columns[0]} >= {self.first}; "
        text += (
            f"update {self.cluster}_job_table set time_suspended = time_suspended * {STRETCH} where time_suspended > 0 "
        )
        text += f"and time_suspended < 1000 and time_submit >= {self.begin} and time_submit < {self.end}; "
        self._apply(text, self.begin - HOUR)

    def unmake(self) -> None:
        text = "".join(
            f"delete from {self.cluster}_{table} where time_start < {self.first} and time_start > 0; "
            for table in TIMES
        )
        text += f"delete from {self.cluster}_job_table where time_submit < {self.first}; "
        self._apply(text, int(self._since))

    def _apply(self, text: str, since: int) -> None:
        self.lab.daemon("slurmdbd", "stop")
        text += f"update {self.cluster}_event_table set time_start={since} where node_name='' and time_end=0; "
        for kind in ("", "assoc_"):
            for table in ("hour", "day", "month"):
                text += f"delete from {self.cluster}_{kind}usage_{table}_table; "
        reached = ", ".join(f"{one}_rollup={since}" for one in ("hourly", "daily", "monthly"))
        sql(self.lab, f"{text} update {self.cluster}_last_ran_table set {reached}")
        self.lab.daemon("slurmdbd", "start")

    def sreport(self, tres: str, begin: int, end: int) -> dict[str, int]:
        """CPU or GPU seconds of each user, once the rollup has got there."""
        low, high = (time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(one)) for one in (begin, end))
        reached = f"select hourly_rollup from {self.cluster}_last_ran_table"
        until(lambda: int(sql(self.lab, reached).split()[0]) >= end, what="sreport's rollup")
        words = ("cluster", "AccountUtilizationByUser", f"start={low}", f"end={high}", "format=login,used")
        done = self.lab.run(["sreport", "-n", "-P", "-t", "Seconds", "-T", tres, *words])
        assert done.ok, done.err
        found: dict[str, int] = {}
        for line in done.out.split():
            user, _, used = line.partition("|")
            if user and int(used):
                found[user] = found.get(user, 0) + int(used)
        return found

    def sacct(self) -> list[dict[str, str]]:
        columns = "JobID,User,State,ElapsedRaw,AllocCPUS,AllocTRES,NNodes,Start,End,Suspended"
        words = ("-X", "-D", "-P", "-a", f"-S{self.window(self.begin)}", f"-E{self.window(self.end)}", "-o", columns)
        head, *lines = self.lab.run(["sacct", *words], env={"SLURM_TIME_FORMAT": "%s"}).out.splitlines()
        return [dict(zip(head.split("|"), line.split("|"), strict=True)) for line in lines]

    @staticmethod
    def window(at: int) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(at))


@pytest.fixture
def history(lab: RehearsalCluster) -> Iterator[Done]:
    made = Done(lab)
    made.run()
    try:
        made.stretch()
        yield made
    finally:
        made.unmake()


def by_user(found: dict[str, Any], name: str) -> dict[str, int]:
    (table,) = [one for one in found["tables"] if one["by"] == ["user"]]
    return {row["key"][0]: row[name] for row in table["rows"] if row.get(name)}


def test_real_jobs_are_counted_as_sreport_and_sacct_count_them(history: Done) -> None:
    window = ("--from", "slurm", "--begin", history.begin, "--end", history.end)
    found = told(history.lab, "report", *window, "--by", "user,state", "--json")
    # To the second of CPUs and GPUs, user by user.
    assert by_user(found, "cpu_s") == history.sreport("cpu", history.begin, history.end)
    assert by_user(found, "gpu_s") == history.sreport("gres/gpu", history.begin, history.end)
    # And as sacct's own rows add up: every attempt, no step.
    rows = [row for row in history.sacct() if int(row["ElapsedRaw"])]
    whole = found["whole"]
    assert whole["runs"] == len(rows)
    assert whole["cpu_s"] == sum(int(row["ElapsedRaw"]) * int(row["AllocCPUS"]) for row in rows)
    assert whole["node_s"] == sum(int(row["ElapsedRaw"]) * int(row["NNodes"]) for row in rows)
    # Three tasks, GPUs, again, killed, suspended; and one that was late.
    assert (whole["jobs"], whole["never_started"]) == (7, 1)
    assert whole["runs"] == 8  # one job ran twice
    (by_state,) = [one for one in found["tables"] if one["by"] == ["state"]]
    states = {row["key"][0]: row["runs"] for row in by_state["rows"]}
    assert (states["preempted"], states["cancelled"], states["done"]) == (1, 1, 6)
    # The suspended job was away for two seconds or three, which is no use.
    (idle,) = [row for row in rows if row["Suspended"] != "00:00:00"]
    assert int(idle["End"]) - int(idle["Start"]) - int(idle["ElapsedRaw"]) >= 2 * STRETCH


def test_a_window_that_cuts_jobs_is_sreports_but_for_suspended_ones(history: Done) -> None:
    """sreport knows when a job was suspended; sacct tells only for how long: we spread that over the run."""
    alice = history.lab.user
    for begin in range(history.begin, history.end, 2 * HOUR):
        end = min(begin + 2 * HOUR, history.end)
        window = ("--from", "slurm", "--begin", begin, "--end", end)
        found = told(history.lab, "report", *window, "--by", "user", "--json") if _runs(history, begin, end) else None
        ours = by_user(found, "cpu_s").get(alice, 0) if found else 0
        assert ours == history.sreport("cpu", begin, end).get(alice, 0), (begin, end)


def _runs(history: Done, begin: int, end: int) -> bool:
    return any(
        row["Start"].isdigit() and int(row["Start"]) < end and int(row["End"]) > begin for row in history.sacct()
    )
