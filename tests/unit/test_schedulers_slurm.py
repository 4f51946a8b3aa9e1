"""What Slurm prints, of recordings and of the forms that are known to bite."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown import schedulers
from shakedown.errors import CannotMeasure
from shakedown.hosts.access import ReplayHost, Result
from shakedown.schedulers import JobRecord, JobState
from shakedown.schedulers.common.slurm_rows import UNIT, jobs_of, rows, seconds_of, state_of
from shakedown.schedulers.slurm import _ACCOUNTS, _QUEUE, interfaces

SLURM = schedulers.get("slurm")


def text(recordings: Path, name: str) -> str:
    return (recordings / "schedulers" / name).read_bytes().decode("utf-8", "replace")


def accounted(recordings: Path, name: str) -> dict[str, list[JobRecord]]:
    found = SLURM.accounted(Result(0, text(recordings, name), ""))
    assert found is not None
    by_id: dict[str, list[JobRecord]] = {}
    for one in found:
        by_id.setdefault(one.id, []).append(one)
    return by_id


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("COMPLETED", "done"),
        ("CANCELLED by 1000", "cancelled"),
        ("CANCELLED+", "cancelled"),
        ("CANCELLE+", "cancelled"),
        ("OUT_OF_ME+", "oom"),
        ("OUT_OF_MEMORY", "oom"),
        ("NODE_FAIL", "node_fail"),
        ("BOOT_FAIL", "node_fail"),
        ("TIMEOUT", "timeout"),
        ("DEADLINE", "timeout"),
        ("PREEMPTED", "preempted"),
        ("REQUEUED", "preempted"),
        ("COMPLETI+", "running"),
        ("COMPLET+", "unknown"),  # COMPLETED or COMPLETING
        ("REQUEUE_HOLD", "queued"),
        ("SUSPENDED", "running"),
        ("A_STATE_OF_TOMORROW", "unknown"),
        ("", "unknown"),
        ("+", "unknown"),
    ],
)
def test_a_state_is_known_by_its_first_word(word: str, state: JobState) -> None:
    assert state_of(word) == state


def test_a_real_night_of_failures(recordings: Path) -> None:
    jobs = accounted(recordings, "slurm-22.05-sacct.txt")
    assert [one.word for one in jobs["16"]] == ["NODE_FAIL", "COMPLETED"], "requeued after its node was killed"
    assert [one.attempt for one in jobs["16"]] == [0, 1]
    assert jobs["16"][0].hosts == ("node2",) and jobs["16"][0].exit_code in (None, 1)
    assert [one.state for one in jobs["17"]] == ["node_fail"]
    assert [one.state for one in jobs["18"]] == ["timeout"] and jobs["18"][0].exit_code is None
    assert [one.word for one in jobs["19"]] == ["REQUEUED", "COMPLETED"], "launch failed, requeued, held, released"
    assert [one.word for one in jobs["20"]] == ["REQUEUED", "COMPLETED"]
    assert SLURM.provisional(jobs["20"][0]) and not SLURM.provisional(jobs["16"][0])
    assert not any(SLURM.provisional(one[-1]) for one in jobs.values() if one[-1].ended), "each whole row has its end"
    half = msgspec.structs.replace(jobs["21"][0], end_s=None, exit_code=0, signal=None)
    assert SLURM.provisional(half), "slurmdbd, catching up, writes the state first and the end and the exit code later"
    assert (jobs["21"][0].state, jobs["21"][0].exit_code, jobs["21"][0].signal) == ("failed", None, 11)
    assert jobs["22"][0].word == "CANCELLED by 0" and jobs["22"][0].state == "cancelled"
    step = jobs["23"][0].steps[1]
    assert jobs["23"][0].state == "done" and (step.id, step.state, step.exit_code) == ("0", "failed", 9)
    begun = jobs["16"][1].begin_s
    assert begun and jobs["16"][0].end_s and begun > jobs["16"][0].end_s > 1.7e9, "Unix seconds"
    meanwhile = accounted(recordings, "slurm-22.05-sacct-requeued.txt")["16"]
    assert [one.state for one in meanwhile] == ["node_fail", "queued"], "sacct -D shows both while it waits again"
    assert meanwhile[1].begin_s is None and meanwhile[1].hosts == () and meanwhile[1].cpus is None


def test_a_real_queue(recordings: Path) -> None:
    found = SLURM.queued(Result(0, text(recordings, "slurm-22.05-squeue.txt"), ""))
    assert found is not None
    jobs = {one.id: one for one in found}
    assert jobs["16"].state == "running" and jobs["16"].hosts == ("node2",) and jobs["16"].end_s is None
    assert jobs["19"].state == "queued" and jobs["19"].attempt == 1 and jobs["19"].begin_s is None
    assert "held" in SLURM.hopeless(jobs["19"]) and not SLURM.hopeless(jobs["20"]), "it may begin by itself"
    assert (jobs["21"].state, jobs["21"].signal) == ("failed", 11), "139 is a core dump of signal 11"
    assert (jobs["22"].state, jobs["22"].signal) == ("cancelled", 15)
    assert (jobs["23"].state, jobs["23"].exit_code) == ("done", 0)


def test_a_job_that_the_queue_forgot_is_no_outage() -> None:
    assert SLURM.queued(Result(1, "", "slurm_load_jobs error: Invalid job id specified")) == ()
    for away in (
        Result(1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"),
        Result(None, "", "timed out"),
        Result(1, "", "slurm_load_jobs error: Socket timed out on send/recv operation"),
    ):
        assert SLURM.queued(away) is None
    assert SLURM.accounted(Result(1, "", "sacct: error: slurmdbd: Connection refused")) is None
    assert SLURM.accounted(Result(1, "", "Slurm accounting storage is disabled")) == ()
    assert SLURM.accounted(Result(0, "", "")) == ()


def recorded(recordings: Path, name: str, delimiter: str) -> tuple[list[str], list[dict[str, str]]]:
    head, _, rest = text(recordings, name).partition("\n")
    columns = head.split(delimiter)
    return columns, rows(rest, columns, delimiter)


def test_recordings_of_another_site_parse_whole(recordings: Path) -> None:
    _, plain = recorded(recordings, "sample-sacct-output.txt", "|")
    assert len(plain) == 68
    assert {row["JobID"].partition(".")[2] for row in plain} == {"0"} and jobs_of(plain) == (), "steps alone are no job"
    _, broken = recorded(recordings, "sample-sacct-output-invalid-utf8.txt", "|")
    assert len(broken) == 11 and any("\ufffd" in row["JobName"] for row in broken), "a name that is no UTF-8"
    _, lines = recorded(recordings, "sample-sacct-multiple-multiline.txt", "|#")
    assert len(lines) == 6, "three records of six stand on two lines each"
    assert ["\n" in "".join(row.values()) for row in lines] == [False, False, True, True, True, False]
    assert {state_of(row["State"]) for row in lines} == {"cancelled", "failed", "preempted"}


def line(columns: tuple[str, ...], **fields: str) -> str:
    return UNIT.join(fields.get(name, "") for name in columns)


def test_names_with_delimiters_and_line_breaks_change_nothing() -> None:
    names = ("a|b", "two\nlines", f"a{UNIT}b\n{UNIT}c", "\n\n", "7\x1fCOMPLETED", "ümläut", "")
    lines = [
        line((*_QUEUE, ""), JobArrayID=str(number), State="RUNNING", Name=name) for number, name in enumerate(names, 1)
    ]
    out = "\n".join([*lines, ""])
    found = SLURM.queued(Result(0, out, ""))
    assert found is not None and [one.name for one in found] == list(names)
    assert {one.state for one in found} == {"running"}


@given(st.lists(st.text(st.characters(exclude_characters=f"{UNIT}"), max_size=8), max_size=5))
def test_any_names_leave_every_record_whole(names: list[str]) -> None:
    out = "".join(
        line(_ACCOUNTS, JobID=str(number), State="FAILED", JobName=name, ExitCode="3:0") + "\n"
        for number, name in enumerate(names, 1)
    )
    found = SLURM.accounted(Result(0, out, ""))
    assert found is not None and [one.name for one in found] == names and {one.exit_code for one in found} <= {3}


@given(st.text(max_size=200))
def test_any_text_is_read_without_an_exception(garbage: str) -> None:
    for ask in (SLURM.queued, SLURM.accounted):
        assert isinstance(ask(Result(0, garbage, "")), tuple)


def test_ids_that_are_no_numbers_and_times_that_are_none() -> None:
    ids = ("3_1", "3_[4-9%2]", "4+0", "5_2+1")
    out = "".join(
        line(
            _ACCOUNTS,
            JobID=name,
            State="PENDING",
            Start="None",
            End="Unknown",
            NodeList="None assigned",
            AllocCPUS="40",
        )
        + "\n"
        for name in ids
    )
    found = SLURM.accounted(Result(0, out, ""))
    assert found is not None and [one.id for one in found] == list(ids)
    assert {(one.begin_s, one.end_s, one.cpus, one.hosts) for one in found} == {(None, None, None, ())}
    assert [seconds_of(word) for word in ("Unknown", "None", "N/A", "", "0", "1700000000")] == [None] * 5 + [1.7e9]
    assert seconds_of("2020-11-16T11:59:11") is not None, "where SLURM_TIME_FORMAT is not obeyed"


def test_a_step_that_ran_out_of_memory_is_told_of_its_job() -> None:
    """With the control groups' plug-in: the step is OUT_OF_MEMORY 0:125, the batch step FAILED 1:0, the job FAILED."""
    out = "\n".join(
        (
            line(_ACCOUNTS, JobID="7", State="FAILED", ExitCode="1:0", Reason="None"),
            line(_ACCOUNTS, JobID="7.batch", State="FAILED", ExitCode="1:0"),
            line(_ACCOUNTS, JobID="7.0", State="OUT_OF_MEMORY", ExitCode="0:125"),
            line(_ACCOUNTS, JobID="8", State="OUT_OF_MEMORY", ExitCode="0:125"),
            "",
        )
    )
    found = SLURM.accounted(Result(0, out, ""))
    assert found is not None
    assert (found[0].state, found[0].reason) == ("failed", "step 0 ran out of memory")
    assert found[0].steps[1].state == "oom" and found[1].state == "oom"


def test_what_the_shell_reports_above_128_stays_an_exit_code() -> None:
    out = line(_ACCOUNTS, JobID="7", State="FAILED", ExitCode="137:0") + "\n"
    found = SLURM.accounted(Result(0, out, ""))
    assert found and (found[0].exit_code, found[0].signal) == (137, None)


def test_an_id_and_nothing_else_is_taken_from_sbatch() -> None:
    assert SLURM.submitted(Result(0, "4711\n", "sbatch: warning: can't run 1 processes on 2 nodes")) == "4711"
    assert SLURM.submitted(Result(0, "a banner\n4711;cluster\n", "")) == "4711"
    for refused in (
        Result(1, "", "sbatch: error: invalid partition"),
        Result(0, "", ""),
        Result(None, "", "timed out"),
    ):
        with pytest.raises(CannotMeasure) as caught:
            SLURM.submitted(refused)
        assert caught.value.hint


def test_the_words_ask_for_our_own_jobs_and_unix_times() -> None:
    for words in (SLURM.queue(["7", "8_1"]), SLURM.accounts(["7", "8_1"])):
        assert "SLURM_TIME_FORMAT=%s" in words and "--jobs=7,8_1" in words
    assert "--duplicates" in SLURM.accounts(["7"]), "else a requeued job shows its last attempt alone"


# --------------------------------------------------------------------------------------------------------------- inside

SHOWN = ("env", "SLURM_TIME_FORMAT=%s", "LC_ALL=C", "scontrol", "-o", "show", "job", "42")
JOB = "JobId=42 JobName=x Restarts=2 EndTime=1700003600 Partition=batch TRES=cpu=16,mem=4G,node=4,gres/gpu=8 x=y"
ENVIRONMENT = {
    "SLURM_JOB_ID": "42",
    "SLURM_JOB_NODELIST": "n[1-2,07],login",
    "SLURM_JOB_CPUS_PER_NODE": "4(x2),8,2",
    "SLURM_JOB_PARTITION": "batch",
}


def door(tmp_path: Path, job: str = JOB) -> ReplayHost:
    listed = Result(
        0, "", "srun: MPI types are...\nsrun: pmi2\nsrun: cray_shasta\nsrun: none\nsrun: pmix_v4\nsrun: pmix"
    )
    return ReplayHost(tmp_path, commands={SHOWN: job, ("srun", "--mpi=list"): listed})


def test_the_allocation_is_read_from_the_environment_and_the_controller(tmp_path: Path) -> None:
    found = SLURM.inside(ENVIRONMENT, door(tmp_path))
    assert found is not None
    assert found.hosts == ("n1", "n2", "n07", "login") and found.cpus == (4, 4, 8, 2) and found.gpus == (2, 2, 2, 2)
    assert found.end_s == 1700003600 and found.attempt == 2 and found.partition == "batch"
    assert found.mpi == ("cray_shasta", "pmi2", "pmix", "pmix_v4")
    told = {**ENVIRONMENT, "SLURM_JOB_END_TIME": "1700000001", "SLURM_RESTART_COUNT": "1"}
    alone = SLURM.inside(told, ReplayHost(tmp_path))
    assert alone is not None and (alone.end_s, alone.attempt, alone.mpi) == (1700000001, 1, ()), "no controller needed"


def test_components_of_a_heterogeneous_job_are_one_allocation(tmp_path: Path) -> None:
    environment = {
        "SLURM_JOB_ID": "42",
        "SLURM_HET_SIZE": "2",
        "SLURM_JOB_NODELIST_HET_GROUP_0": "n1",
        "SLURM_JOB_NODELIST_HET_GROUP_1": "g[1-2]",
        "SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0": "8",
        "SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1": "4(x2)",
    }
    found = SLURM.inside(environment, door(tmp_path))
    assert found is not None and found.hosts == ("n1", "g1", "g2") and found.cpus == (8, 4, 4)


def test_outside_there_is_no_allocation_and_nonsense_is_an_error(tmp_path: Path) -> None:
    assert schedulers.inside({}, ReplayHost(tmp_path)) is None
    assert SLURM.inside({"SLURM_CONF": "/x"}, ReplayHost(tmp_path)) is None
    with pytest.raises(CannotMeasure, match="42"):
        SLURM.inside({**ENVIRONMENT, "SLURM_JOB_NODELIST": "n[1-"}, door(tmp_path))
    uneven = SLURM.inside({**ENVIRONMENT, "SLURM_JOB_CPUS_PER_NODE": "4"}, door(tmp_path))
    assert uneven is not None and uneven.cpus == (), "not told for each host: not known"


def test_the_mpi_interfaces_of_old_and_new_slurm() -> None:
    new = "MPI plugin types are...\n\tpmix\n\tnone\n\tpmi2\nspecific pmix plugin versions available: pmix_v4,pmix_v3\n"
    assert interfaces(new) == ("pmi2", "pmix", "pmix_v3", "pmix_v4")
    assert interfaces("") == ()


def test_slurm_is_absent_where_its_commands_or_its_controller_are(tmp_path: Path) -> None:
    assert "sbatch" in SLURM.absent(ReplayHost(tmp_path))
    commands: dict[tuple[str, ...], Result | str] = {(name,): "" for name in ("sbatch", "squeue", "sacct", "scancel")}
    down = Result(0, "Slurmctld(primary) at ctl is DOWN", "")
    up = Result(0, "Slurmctld(primary) at ctl is UP", "")
    ping = ("scontrol", "ping")
    assert "does not answer" in SLURM.absent(ReplayHost(tmp_path, commands={**commands, ping: down}))
    assert SLURM.absent(ReplayHost(tmp_path, commands={**commands, ping: up})) == ""
