"""Jobs of a real Slurm and a real Grid Engine, submitted, followed and cancelled while things break."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shakedown import schedulers
from shakedown.errors import CannotMeasure
from shakedown.hosts.hostlist import expand
from shakedown.rehearsal_cluster import RehearsalCluster
from shakedown.run.batch import job_monitor
from shakedown.schedulers import JobRecord, Request
from support.labs import saved
from support.waiting import until

pytestmark = [pytest.mark.system, pytest.mark.slow]

SLURM, GE = schedulers.get("slurm"), schedulers.get("gridengine")
#: Words that no shell and no engine may take for anything else.
NASTY = ("a b", "it's", "x\n#SBATCH --hold\n#$ -h\r\n", "$HOME `id` $(id)", "\udcff\x01é", "", "--", "%j\\%")


@pytest.fixture
def folder(lab: RehearsalCluster, request: pytest.FixtureRequest) -> Iterator[Path]:
    path = lab.shared / f"50% of {request.node.name}"
    path.mkdir(exist_ok=True)
    path.chmod(0o755)
    yield path


def shell(folder: Path, text: str, **more: object) -> Request:
    fields = {
        "name": "test",
        "argv": ("bash", "-c", text),
        "folder": str(folder),
        "exclusive": False,
        "time_limit_s": 600,
    }
    return Request(**{**fields, **more})  # type: ignore[arg-type]


def submit(lab: RehearsalCluster, request: Request, engine: schedulers.Scheduler = SLURM) -> str:
    return job_monitor.submit(engine, request, lab.door(), Path(request.folder) / "script")


def end_of(
    lab: RehearsalCluster, job: str, engine: schedulers.Scheduler = SLURM, limit_s: float = 600.0
) -> tuple[JobRecord, ...]:
    return job_monitor.follow(engine, job, lab.door(), every_s=2.0, give_up_s=limit_s)


def runs(lab: RehearsalCluster, job: str, engine: schedulers.Scheduler = SLURM) -> bool:
    found = engine.queued(lab.door().run(engine.queue([job]), limit_s=300.0))
    return any(one.id == job and one.state == "running" for one in found or ())


def test_the_engines_are_found(lab: RehearsalCluster) -> None:
    assert SLURM.absent(lab.door()) == ""


def test_hosts_expand_as_this_slurm_expands_them(lab: RehearsalCluster) -> None:
    for text in ("n[1-3,07-09],login,rack[1-2]n[01-02]", "r[1-2]c[0-1]n[1-2]", "a[1-2]b[3-4]c[5-6]d[7-8]", "n[9-010]"):
        shown = lab.run(["scontrol", "show", "hostnames", text])
        assert shown.ok and tuple(shown.out.split()) == expand(text)


def test_any_words_come_through_the_engine(lab: RehearsalCluster, folder: Path) -> None:
    program = "import os, sys; print(ascii((sys.argv[1:], os.environ['KEPT']))); sys.exit(5)"
    asked = Request(
        name="words; and more",
        argv=("/usr/bin/python3", "-c", program, *NASTY),
        folder=str(folder),
        nodes=2,
        gres="gpu:1",
        env={"KEPT": "1 \n2"},
        time_limit_s=61,
    )
    (one,) = end_of(lab, submit(lab, asked))
    assert (one.state, one.exit_code, one.source) == ("failed", 5, "accounting")
    assert len(one.hosts) == 2 and one.tres["node"] == "2" and one.begin_s and one.end_s and one.submit_s
    assert (folder / "stdout").read_text().strip() == ascii((list(NASTY), "1 \n2"))


def test_the_job_finds_its_allocation(lab: RehearsalCluster, folder: Path) -> None:
    import sys

    program = (
        "import msgspec, os; from shakedown import schedulers; from shakedown.hosts.access import LocalHost;"
        "print(msgspec.json.encode(schedulers.inside(os.environ, LocalHost())).decode())"
    )
    asked = Request(
        name="inside",
        argv=(sys.executable, "-c", program),
        folder=str(folder),
        nodes=3,
        time_limit_s=300,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    (one,) = end_of(lab, submit(lab, asked))
    assert one.state == "done", (folder / "stderr").read_text()
    import msgspec

    found = msgspec.json.decode((folder / "stdout").read_bytes(), type=schedulers.Allocation)
    assert found.job == one.id and found.hosts == one.hosts and found.cpus == (4, 4, 4) and "pmix" in found.mpi
    assert found.end_s and one.begin_s and 240 <= found.end_s - one.begin_s <= 360 and found.gpus == (4, 4, 4)


def test_a_refusal_says_what_the_engine_said(lab: RehearsalCluster, folder: Path) -> None:
    with pytest.raises(CannotMeasure, match="partition"):
        submit(lab, shell(folder, "true", partition="nowhere"))
    job = submit(lab, shell(folder, "true", partition="batch"))
    assert end_of(lab, job)[-1].partition == "batch"


def test_exit_codes_signals_and_cancelling(lab: RehearsalCluster, folder: Path) -> None:
    killed = submit(lab, shell(folder, "kill -SEGV $$"))
    long = submit(lab, shell(folder, "sleep 300"))
    until(lambda: runs(lab, long))
    job_monitor.cancel(SLURM, long, lab.door())
    ends = {job: end_of(lab, job)[-1] for job in (killed, long)}
    assert (ends[killed].state, ends[killed].signal) == ("failed", 11)
    assert ends[long].state == "cancelled" and ends[long].word.startswith("CANCELLED by ")
    job_monitor.cancel(SLURM, long, lab.door())


def test_a_killed_node_and_what_becomes_of_its_jobs(lab: RehearsalCluster, folder: Path) -> None:
    again = submit(lab, shell(folder, "sleep 2000", hosts=("node2",), requeue=True))
    never = submit(lab, shell(folder, "sleep 2000", hosts=("node3",)))
    until(lambda: runs(lab, again) and runs(lab, never))
    lab.fail("node2")
    lab.fail("node3")
    (lost,) = end_of(lab, never)
    assert (lost.state, lost.hosts, lost.exit_code) == ("node_fail", ("node3",), None)
    views = (job_monitor.begin(job_monitor.JobTicket(engine="slurm", job=again)),)

    def lost_and_queued() -> bool:
        nonlocal views
        views = job_monitor.look(SLURM, views, lab.door(), time.monotonic())
        return [one.state for one in views[0].members[0].earlier] == ["node_fail"]

    until(lost_and_queued)
    assert views[0].state == "queued" and not views[0].final
    job_monitor.cancel(SLURM, again, lab.door())
    first, second = end_of(lab, again)
    assert (first.state, first.hosts, second.state, second.attempt) == ("node_fail", ("node2",), "cancelled", 1)


def followed(
    lab: RehearsalCluster, job: str, engine: schedulers.Scheduler, mend: Callable[[list[str]], None]
) -> JobRecord:
    """Follow a job while another thread mends what is broken; it sees the reasons that were told."""
    heard: list[str] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            mend(heard)
        except BaseException as error:
            failed.append(error)

    helper = threading.Thread(target=work)
    helper.start()
    try:
        records = job_monitor.follow(
            engine, job, lab.door(), tell=lambda one: heard.append(one.reason), every_s=1.0, give_up_s=600.0
        )
    finally:
        helper.join(600)
    assert not failed, failed
    return records[-1]


def test_a_job_outlives_its_controller_and_its_accounting(lab: RehearsalCluster, folder: Path) -> None:
    job = submit(lab, shell(folder, "until [ -e end ]; do sleep 0.2; done; exit 3"))
    until(lambda: runs(lab, job))
    saved(lab, job)
    lab.daemon("slurmctld", "kill")

    def mend(heard: list[str]) -> None:
        until(lambda: any("queue does not answer" in one for one in heard))
        lab.daemon("slurmctld", "start")
        lab.daemon("slurmdbd", "stop")
        (folder / "end").touch()  # it ends while nobody can write that down
        until(lambda: any("accounting does not answer" in one for one in heard))
        lab.daemon("slurmdbd", "start")

    one = followed(lab, job, SLURM, mend)
    assert (one.state, one.exit_code, one.source) == ("failed", 3, "accounting"), one


def test_a_prolog_that_fails_holds_the_job_and_we_say_so(lab: RehearsalCluster, folder: Path) -> None:
    hook = lab.hooks("prolog") / "fails"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    try:
        job = submit(lab, shell(folder, "true", requeue=True))
        stuck: list[str] = []

        def held() -> bool:
            ticket = job_monitor.JobTicket(engine="slurm", job=job)
            (view,) = job_monitor.look(SLURM, [job_monitor.begin(ticket)], lab.door(), time.monotonic())
            stuck.append(view.stuck)
            return bool(view.stuck)

        until(held)
        assert "held" in stuck[-1] and "scontrol release" in stuck[-1]
    finally:
        hook.unlink()
        job_monitor.cancel(SLURM, job, lab.door())
    assert end_of(lab, job)[-1].state == "cancelled"


# ---------------------------------------------------------------------------------------------------------- Grid Engine


@pytest.fixture
def ge_folder(gridengine_lab: RehearsalCluster, request: pytest.FixtureRequest) -> Path:
    path = gridengine_lab.shared / f"of {request.node.name}"
    path.mkdir(exist_ok=True)
    path.chmod(0o755)
    return path


def environment_of_parallel(lab: RehearsalCluster) -> str:
    """One that gives slots on more than one host."""
    found = lab.run(["qconf", "-spl"]).out.split()
    rules = {name: lab.run(["qconf", "-sp", name]).out for name in found}
    return next(name for name, text in rules.items() if "$pe_slots" not in text and "$fill_up" not in text)


def test_grid_engine_runs_a_job_over_hosts(gridengine_lab: RehearsalCluster, ge_folder: Path) -> None:
    lab = gridengine_lab
    assert GE.absent(lab.door()) == ""
    program = "import os, sys, time; print(ascii((sys.argv[1:], os.environ['KEPT']))); time.sleep(2); sys.exit(7)"
    asked = Request(
        name="4 words",
        argv=("/usr/bin/python3", "-c", program, *NASTY),
        folder=str(ge_folder),
        nodes=2,
        slots=2,
        parallel_environment=environment_of_parallel(lab),
        env={"KEPT": "1 \n2"},
        time_limit_s=600,
    )
    (one,) = end_of(lab, submit(lab, asked, GE), GE)
    assert (one.state, one.exit_code, one.cpus) == ("failed", 7, 4) and len(one.hosts) >= 2, one
    assert (ge_folder / "stdout").read_text().strip() == ascii((list(NASTY), "1 \n2"))


def test_grid_engine_reschedules_and_every_attempt_is_kept(gridengine_lab: RehearsalCluster, ge_folder: Path) -> None:
    lab = gridengine_lab
    asked = shell(ge_folder, "if [ -e began ]; then sleep 1; else touch began; sleep 500; fi", requeue=True)
    job = submit(lab, asked, GE)
    until((ge_folder / "began").exists)
    until(lambda: runs(lab, job, GE))
    assert lab.run(["qmod", "-rj", job]).ok
    first, second = end_of(lab, job, GE)
    assert (first.state, first.word, second.state, second.attempt) == ("preempted", "failed 25", "done", 1)


def test_grid_engine_does_not_tell_who_killed_a_job_and_neither_do_we(
    gridengine_lab: RehearsalCluster, ge_folder: Path
) -> None:
    lab = gridengine_lab
    job = submit(lab, shell(ge_folder, "touch began; exec sleep 300"), GE)
    until(
        (ge_folder / "began").exists
    )  # its word for running comes before the job's first process, which a signal needs
    job_monitor.cancel(GE, job, lab.door())
    (one,) = end_of(lab, job, GE)
    assert (one.state, one.signal, one.word) == ("failed", 9, "failed 100") and "qdel" in one.reason


def test_grid_engine_away_is_waited_for(gridengine_lab: RehearsalCluster, ge_folder: Path) -> None:
    lab = gridengine_lab
    job = submit(lab, shell(ge_folder, "until [ -e end ]; do sleep 0.2; done; exit 4"), GE)
    until(lambda: runs(lab, job, GE))
    lab.daemon("sge_qmaster", "kill")

    def mend(heard: list[str]) -> None:
        until(lambda: any("queue does not answer" in one for one in heard))
        (ge_folder / "end").touch()  # it ends while nobody can be told
        time.sleep(3)
        lab.daemon("sge_qmaster", "start")

    one = followed(lab, job, GE, mend)
    assert (one.state, one.exit_code) == ("failed", 4)


# ------------------------------------------------------------------------------------------------------------ launchers

WORLD = """
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int rank, size, sum = 0;
    char host[256] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    gethostname(host, sizeof host - 1);
    printf("%d/%d %s %d\\n", rank, size, host, sum);
    return MPI_Finalize();
}
"""
#: In the job: starts the program in some ways, each of which must make one world of the ranks asked for.
STARTS = """
import os, subprocess, sys
from shakedown import launchers, schedulers
from shakedown.hosts.access import LocalHost
from shakedown.machine.mpi import mpi
from shakedown.workloads import Command
import msgspec
from support.machines import host

door = LocalHost()
allocation = schedulers.inside(os.environ, door)
site = next(one for one in mpi(door) if one.facts["source"] == "site" and one.name == "Open MPI")
here = msgspec.structs.replace(host(2, software=(site,)), name=allocation.hosts[0])
build = {"mpi": {"flavour": site.name, "version": site.version, "source": "site"}}
for title, hosts, ranks, launcher, whole in eval(sys.argv[2]):
    argv = ("hostname",) if whole else (sys.argv[1],)
    hosts = allocation.hosts[slice(*hosts)]
    command = Command(argv=argv, ranks=ranks or len(hosts), env={"OMPI_MCA_mpi_yield_when_idle": "1"})
    words, env = launchers.wrap(
        command, here, allocation=allocation, hosts=hosts, launcher=launcher, whole=whole, build=build
    )
    for attempt in range(3):  # Open MPI 4.1.4 under this srun crashes in MPI_Init, in its TCP, in one of some thirty starts
        ran = subprocess.run(words, env={**os.environ, **env}, capture_output=True, text=True, timeout=300)
        if ran.returncode == 0 or "ignal" not in ran.stderr + ran.stdout:
            break
    print(title, ran.returncode, sorted(ran.stdout.split("\\n"))[1:], file=sys.stdout if ran.returncode == 0 else sys.stderr)
    if ran.returncode:
        print(words, ran.stderr, file=sys.stderr)
"""


def started(
    lab: RehearsalCluster, engine: schedulers.Scheduler, folder: Path, request: Request, ways: list[object]
) -> dict[str, str]:
    """What each way of starting printed, in one job."""
    import subprocess
    import sys

    (folder / "world.c").write_text(WORLD)
    subprocess.run(["/usr/bin/mpicc", "-o", folder / "world", folder / "world.c"], check=True, timeout=300)
    (folder / "starts.py").write_text(STARTS)
    import msgspec

    paths = ":".join((*sys.path, str(Path(__file__).parent.parent)))
    argv = (sys.executable, str(folder / "starts.py"), str(folder / "world"), repr(ways))
    asked = msgspec.structs.replace(request, argv=argv, env={"PYTHONPATH": paths})
    (one,) = end_of(lab, submit(lab, asked, engine), engine)
    assert one.state == "done", (folder / "stderr").read_text()
    found = {line.split(" ")[0]: line for line in (folder / "stdout").read_text().splitlines()}
    assert set(found) == {way[0] for way in ways}, (folder / "stderr").read_text()  # type: ignore[index]
    return found


def worlds(line: str) -> list[tuple[str, str]]:
    """rank/size and host of each rank."""
    return [tuple(words.split(" ")[:2]) for words in eval(line.split(" ", 2)[2])]  # type: ignore[misc]


@pytest.mark.needs("mpicc")
def test_every_way_over_slurms_nodes_makes_one_world(lab: RehearsalCluster, folder: Path) -> None:
    asked = Request(name="worlds", argv=("true",), folder=str(folder), nodes=3, time_limit_s=1200)
    ways: list[object] = [
        ("srun", (0, 3), 3, "srun", False),
        ("mpirun", (0, 3), 3, "mpirun", False),
        ("uneven-srun", (0, 2), 3, "srun", False),
        ("uneven-mpirun", (0, 2), 3, "mpirun", False),
        ("other", (2, 3), 2, "", False),
        ("alone", (0, 1), 2, "", False),
        ("whole", (0, 3), 0, "", True),
    ]
    found = started(lab, SLURM, folder, asked, ways)
    first, second, third = "node1", "node2", "node3"
    for name in ("srun", "mpirun"):
        assert worlds(found[name]) == [("0/3", first), ("1/3", second), ("2/3", third)]
        assert worlds(found[f"uneven-{name}"]) == [("0/3", first), ("1/3", first), ("2/3", second)]
    assert worlds(found["other"]) == [("0/2", third), ("1/2", third)]
    assert worlds(found["alone"]) == [("0/2", first), ("1/2", first)]
    assert eval(found["whole"].split(" ", 2)[2]) == [first, second, third]


@pytest.mark.needs("mpicc")
def test_every_way_over_grid_engines_hosts_makes_one_world(gridengine_lab: RehearsalCluster, ge_folder: Path) -> None:
    lab = gridengine_lab
    environment = environment_of_parallel(lab)
    asked = shell(ge_folder, "", nodes=2, slots=4, parallel_environment=environment, time_limit_s=1200)
    ways: list[object] = [
        ("mpirun", (0, 2), 4, "", False),
        ("alone", (0, 1), 2, "", False),
        ("crowded", (0, 1), 5, "", False),
        ("whole", (0, 2), 0, "", True),
    ]
    found = started(lab, GE, ge_folder, asked, ways)
    ranks = worlds(found["mpirun"])
    assert [rank for rank, _ in ranks] == ["0/4", "1/4", "2/4", "3/4"]
    assert len({host for _, host in ranks}) == 2 and ranks[0][1] == ranks[1][1] != ranks[2][1]
    assert len(worlds(found["alone"])) == 2 and len(worlds(found["crowded"])) == 5
    assert len(set(eval(found["whole"].split(" ", 2)[2]))) == 2
