"""What Grid Engine prints (recorded), and what PBS, Torque, LSF and Flux print by their documentation."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown import schedulers
from shakedown.errors import CannotMeasure
from shakedown.hosts.access import ReplayHost, Result
from shakedown.schedulers import JobRecord
from shakedown.schedulers import gridengine as ge
from shakedown.schedulers import torque as torque_engine

GE, PBS, TORQUE, LSF, FLUX = (schedulers.get(name) for name in ("gridengine", "pbs", "torque", "lsf", "flux"))
OCTOBER_S = 1633428000.0  # 2021-10-05 10:00:00 UTC


def by_id(records: tuple[JobRecord, ...] | None) -> dict[str, list[JobRecord]]:
    assert records is not None
    found: dict[str, list[JobRecord]] = {}
    for one in records:
        found.setdefault(one.id, []).append(one)
    return found


def read(recordings: Path, name: str) -> Result:
    return Result(0, (recordings / "schedulers" / name).read_text(), "")


# ---------------------------------------------------------------------------------------------------------- Grid Engine


def test_grid_engines_accounting_of_a_day(recordings: Path) -> None:
    jobs = by_id(GE.accounted(read(recordings, "gridengine-8.1.9-accounting")))
    assert (jobs["1"][0].state, jobs["1"][0].exit_code, jobs["1"][0].cpus) == ("failed", 7, 4)
    assert jobs["2"][0].exit_code == 0, "qsub -b y sh -c 'exit 7' loses its quotes: the trap is real"
    assert {"3.1", "3.2"} <= set(jobs) and "3" not in jobs
    assert (jobs["7"][0].state, jobs["7"][0].signal) == ("failed", 9) and "qdel" in jobs["7"][0].reason
    assert (jobs["8"][0].state, jobs["8"][0].signal, jobs["8"][0].word) == ("timeout", 9, "failed 37")
    first, second = jobs["9"]
    assert (first.state, first.submit_s, first.begin_s, first.end_s, first.hosts) == ("preempted", None, None, None, ())
    assert (second.state, second.attempt) == ("done", 1) and GE.provisional(first) and not GE.provisional(second)
    assert (jobs["11"][0].state, jobs["11"][0].exit_code) == ("failed", None), "it was never set up"
    assert (jobs["12"][0].exit_code, jobs["12"][0].signal) == (200, None), "there is no signal 72"
    (par,) = jobs["15"]
    assert par.hosts == ("node4", "node1") and par.cpus == 4, "one line a host, each with all slots: counted once"


def test_grid_engines_queue(recordings: Path) -> None:
    jobs = by_id(GE.queued(read(recordings, "gridengine-8.1.9-qstat.xml")))
    (par,) = jobs["18"]
    assert par.state == "running" and len(par.hosts) == 2 and par.name == "par" and par.begin_s
    assert "qmod -cj" in GE.hopeless(jobs["21"][0]) and "qrls" in GE.hopeless(jobs["19"][0])
    assert {"20.1", "20.3", "20.5"} <= set(jobs), "a task each: 1-5:2"
    assert all(one[0].begin_s is None for name, one in jobs.items() if name != "18")
    for away in (
        Result(1, "", "error: commlib error: got select error (Connection refused)"),
        Result(0, "<job_info>", ""),
    ):
        assert GE.queued(away) is None
    assert GE.accounted(Result(1, "", "")) is None and GE.accounted(Result(0, "", "")) == ()


def ge_line(**fields: str) -> str:
    names = {"number": 5, "submit": 8, "begin": 9, "end": 10, "failed": 11, "exit": 12, "requests": 39, "pe_task": 41}
    words = [
        "all.q",
        "node1",
        "g",
        "me",
        "job",
        "7",
        "sge",
        "0",
        "1700000000",
        "1700000001",
        "1700000011",
        "0",
        "0",
        "10",
    ]
    words += ["0"] * 19 + ["mpi", "6", "0", "0", "0", "0", "NONE", "0", "NONE", "0", "0", "0"]
    for name, value in fields.items():
        words[names[name]] = value
    return ":".join(words)


def test_times_of_other_forks_are_milliseconds() -> None:
    (one,) = ge.accounting(ge_line(submit="1700000000123", begin="1700000001500", end="1700000011000"))
    assert (one.submit_s, one.begin_s, one.end_s) == (1700000000.123, 1700000001.5, 1700000011.0)


def test_a_limit_is_of_time_only_where_the_time_was_reached() -> None:
    def state(requests: str) -> str:
        return ge.accounting(ge_line(failed="37", exit="137", requests=requests))[0].state

    assert state("-l h_rt=10") == "timeout"
    assert state("-l h_rt=3600,h_vmem=1G") == "oom"
    assert state("-l h_rt=3600,h_cpu=5") == "failed", "a limit of CPU time: neither"


def test_a_request_with_colons_does_not_hide_a_slave() -> None:
    slave, master = ge_line(requests="-l x=a:b", pe_task="2.node9"), ge_line(requests="-l x=a:b")
    (one,) = ge.accounting(f"# comment\n{slave}\nbroken:line\n{master}\n")
    assert one.state == "done" and one.attempt == 0


def test_grid_engine_inside(tmp_path: Path) -> None:
    (tmp_path / "pe").write_text("node3 2 all.q@node3 UNDEFINED\nnode1 2 all.q@node1 UNDEFINED\nnode3 1 long@node3 X\n")
    environment = {"JOB_ID": "5", "SGE_ROOT": "/sge", "QUEUE": "all.q", "PE_HOSTFILE": "/pe", "RESTARTED": "1"}
    shown = (
        "<job_info><queue_info><job_list><JB_job_number>5</JB_job_number><JAT_start_time>2021-10-05T10:00:00"
        '</JAT_start_time><hard_request name="h_rt">60</hard_request></job_list></queue_info></job_info>'
    )
    door = ReplayHost(tmp_path, commands={("env", "TZ=UTC", "LC_ALL=C", "qstat", "-xml", "-r"): shown})
    found = GE.inside(environment, door)
    assert found is not None and found.hosts == ("node3", "node1") and found.cpus == (3, 2)
    assert found.attempt == 1 and found.end_s == OCTOBER_S + 60
    alone = GE.inside(
        {"JOB_ID": "5", "SGE_ROOT": "/sge", "QUEUE": "q", "NSLOTS": "1", "HOSTNAME": "n", "SGE_TASK_ID": "3"}, door
    )
    assert alone is not None and alone.hosts == ("n",) and alone.job == "5.3"
    assert GE.inside({"JOB_ID": "5"}, door) is None, "other tools set JOB_ID too"
    with pytest.raises(CannotMeasure, match="hosts"):
        GE.inside({**environment, "PE_HOSTFILE": "/gone"}, door)


def test_grid_engine_ids() -> None:
    assert GE.submitted(Result(0, "17\n", "")) == "17"
    assert GE.submitted(Result(0, "3.1-2:1\n", "")) == "3"
    with pytest.raises(CannotMeasure, match="nope"):
        GE.submitted(Result(1, "", "Unable to run job: the requested parallel environment nope does not exist"))
    assert GE.accounts(["3.1", "17"])[-1] == "3,17"


# ------------------------------------------------------------------------------------------------------------------ PBS


def test_openpbs_history(recordings: Path) -> None:
    jobs = {name: one[0] for name, one in by_id(PBS.accounted(read(recordings, "openpbs-qstat.json"))).items()}
    whole = jobs["11.server"]
    assert (whole.state, whole.exit_code, whole.hosts, whole.cpus) == ("done", 0, ("node1", "node2"), 16)
    assert (whole.submit_s, whole.begin_s, whole.end_s) == (OCTOBER_S, OCTOBER_S + 3, OCTOBER_S + 14)
    crashed = jobs["12.server"]
    assert (crashed.state, crashed.exit_code, crashed.signal, crashed.attempt) == ("failed", None, 11, 1)
    assert jobs["13.server"].state == "timeout" and jobs["16.server"].state == "timeout"
    assert (jobs["14.server"].state, jobs["14.server"].exit_code) == ("cancelled", None)
    assert jobs["15.server"].state == "queued" and "can never run" in PBS.hopeless(jobs["15.server"])
    live = PBS.queued(read(recordings, "openpbs-qstat.json"))
    assert live is not None and [one.id for one in live] == ["15.server"]


def test_json_that_is_none_is_read_by_its_lines(recordings: Path) -> None:
    found = PBS.accounted(read(recordings, "openpbs-qstat-broken.json"))
    assert found is not None
    (one,) = found
    assert (one.id, one.state, one.exit_code, one.name) == ("11.server", "failed", 3, "007"), "and not R of a variable"


def test_a_job_that_pbs_does_not_know_is_no_outage() -> None:
    assert PBS.accounted(Result(153, "", "qstat: Unknown Job Id 99.server")) == ()
    assert PBS.queued(Result(35, '{"Jobs":{}}', "qstat: 11.server Job has finished, use -x or -H")) == ()
    assert PBS.queued(Result(1, "", "qstat: cannot connect to server server (errno=15010)")) is None
    assert "-x" in PBS.accounts(["1"]) and "-x" not in TORQUE.accounts(["1"]), "-x is XML in Torque"


def test_torque_text_with_lines_that_go_on(recordings: Path) -> None:
    found = TORQUE.accounted(read(recordings, "torque-qstat.txt"))
    assert found is not None
    over, held = found
    assert (over.engine, over.state, over.exit_code, over.hosts) == ("torque", "failed", 7, ("node1", "node2"))
    assert over.end_s == OCTOBER_S + 14 and held.state == "queued" and "qrls" in TORQUE.hopeless(held)
    assert torque_engine.attributes("nonsense\n    a = b\n") == {}


def test_pbs_inside(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("node1\nnode1\nnode2\nnode2\n")
    environment = {"PBS_JOBID": "11.server", "PBS_NODEFILE": "/nodes", "PBS_QUEUE": "workq"}
    words = ("env", "TZ=UTC", "LC_ALL=C", "qstat", "-f", "-F", "json", "11.server")
    shown = (
        '{"Jobs":{"11.server":{"stime":"Tue Oct  5 10:00:00 2021","run_count":2,'
        '"Resource_List":{"walltime":"01:00:00"}}}}'
    )
    found = PBS.inside(environment, ReplayHost(tmp_path, commands={words: shown}))
    assert found is not None and found.hosts == ("node1", "node2") and found.cpus == (2, 2)
    assert found.end_s == OCTOBER_S + 3600 and found.attempt == 1
    assert TORQUE.inside(environment, ReplayHost(tmp_path)) is None
    theirs = TORQUE.inside({**environment, "PBS_VERSION": "TORQUE-6.1.2"}, ReplayHost(tmp_path))
    assert theirs is not None and theirs.engine == "torque"
    assert PBS.inside({**environment, "PBS_VERSION": "TORQUE-6.1.2"}, ReplayHost(tmp_path)) is None


# --------------------------------------------------------------------------------------------------------- LSF and Flux


def test_lsf_says_why_it_ended_a_job(recordings: Path) -> None:
    jobs = {name: one[0] for name, one in by_id(LSF.accounted(read(recordings, "lsf-bjobs.json"))).items()}
    assert jobs["31"].state == "running" and jobs["31"].hosts == ("node1", "node2") and jobs["31"].end_s is None
    assert (jobs["32"].state, jobs["32"].exit_code, jobs["32"].end_s) == ("done", 0, OCTOBER_S + 63)
    assert (jobs["33"].state, jobs["33"].signal, jobs["33"].word) == ("timeout", 12, "EXIT TERM_RUNLIMIT")
    assert (jobs["34[2]"].state, jobs["34[2]"].exit_code, jobs["34[2]"].submit_s) == ("failed", 3, None), "no year"
    assert "35" not in jobs, "one that it does not know has no record"
    assert LSF.queued(Result(255, "", "Failed in an LSF library call: LIM is down")) is None
    assert LSF.submitted(Result(0, "Job <31> is submitted to queue <normal>.\n", "")) == "31"


def test_lsf_inside(tmp_path: Path) -> None:
    environment = {"LSB_JOBID": "31", "LSB_MCPU_HOSTS": "node1 4 node2 4 ", "LSB_QUEUE": "normal"}
    found = LSF.inside(environment, ReplayHost(tmp_path))
    assert found is not None and found.hosts == ("node1", "node2") and found.cpus == (4, 4) and found.mpi == ()
    summit = {**environment, "LSB_MCPU_HOSTS": "batch5 1 h41n08 42 h41n09 42"}
    with_jsrun = ReplayHost(tmp_path, commands={("jsrun",): ""})
    found = LSF.inside(summit, with_jsrun)
    assert found is not None and found.hosts == ("h41n08", "h41n09") and found.mpi == ("jsm",)


def test_flux_jobs(recordings: Path) -> None:
    jobs = {name: one[0] for name, one in by_id(FLUX.accounted(read(recordings, "flux-jobs.json"))).items()}
    assert (jobs["f2bcDe"].state, jobs["f2bcDe"].exit_code, jobs["f2bcDe"].signal) == ("failed", 137, 9)
    assert jobs["f2bcDe"].hosts == ("node1", "node2") and jobs["f2bcDe"].end_s == 1700000011.5
    assert jobs["f2bcDf"].state == "timeout" and jobs["f2bcDg"].state == "node_fail" and jobs["f2bcDg"].signal == 9
    assert jobs["f2bcDh"].state == "queued"
    assert FLUX.submitted(Result(0, "ƒ2bcDe\n", "")) == "f2bcDe"
    assert FLUX.queued(Result(1, "", "flux-jobs: ERROR: unable to connect to Flux")) is None


@pytest.mark.parametrize("engine", schedulers.names())
@given(garbage=st.text(max_size=200))
def test_any_text_is_read_without_an_exception(engine: str, garbage: str) -> None:
    one = schedulers.get(engine)
    for ask in (one.queued, one.accounted):
        for result in (Result(0, garbage, ""), Result(1, garbage, garbage), Result(None, "", garbage)):
            assert all(record.state != "done" or record.id for record in ask(result) or ())
