"""What became of a job: judged from queue and accounting, whatever of the two is away, late or of another job."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown import schedulers
from shakedown.errors import BadInput, CannotMeasure, StoreFailed
from shakedown.hosts.access import ReplayHost, Result
from shakedown.run.batch import job_monitor
from shakedown.run.batch.job_monitor import JobStatus, JobTicket, begin, judge
from shakedown.schedulers import JobRecord, JobState, Request
from support import clocks

SETTLE_S = job_monitor.SETTLE_S


def queued(state: JobState = "running", **more: Any) -> JobRecord:
    given_ = {"begin_s": 110.0} if state != "queued" else {}
    words = {"engine": "slurm", "id": "7", "state": state, "word": state.upper(), "source": "queue", "submit_s": 100.0}
    return JobRecord(**{**words, **given_, **more})


def row(state: JobState = "done", **more: Any) -> JobRecord:
    times = {"submit_s": 100.0, "begin_s": 110.0, "end_s": 200.0}
    words = {
        "engine": "slurm",
        "id": "7",
        "state": state,
        "word": state.upper(),
        "source": "accounting",
        "partition": "b",
    }
    return JobRecord(**{**words, **times, **more})


def looks(*answers: tuple[Sequence[JobRecord] | None, Sequence[JobRecord] | None], step_s: float = 10.0) -> JobStatus:
    """The view after these answers of queue and accounting, ``step_s`` apart."""
    view = begin(JobTicket(engine="slurm", job="7"))
    for number, (queue, accounts) in enumerate(answers):
        view = judge(view, queue, accounts, number * step_s, provisional=schedulers.get("slurm").provisional)
    return view


def test_a_job_goes_its_way() -> None:
    assert looks(([queued("queued")], [])).state == "queued"
    assert looks(([queued("queued")], []), ([queued()], [])).state == "running"
    view = looks(([queued()], []), ([], [row("failed", exit_code=3)]))
    assert view.final and view.state == "failed" and view.records == (row("failed", exit_code=3),)


def test_a_job_that_left_the_queue_is_unknown_until_the_accounting_says_and_never_done() -> None:
    view = looks(([queued()], []), ([], []))
    assert not view.final and view.state == "running" and "lag" in view.waiting, "the last that was known"
    late = looks(([queued()], []), ([], []), ([], []), ([], [row()]))
    assert late.final and late.state == "done"
    never = looks(([queued()], []), *([([], [])] * 14))
    assert never.final and never.state == "unknown" and "last seen RUNNING" in never.records[-1].reason
    attached = looks(([], []))
    assert attached.state == "unknown" and not attached.final
    strange = looks(*([([], [])] * 14))
    assert strange.final and strange.state == "unknown", "an id that nobody knows"
    tasks = [queued(id="7_1"), queued(id="7_2")]
    lost = looks((tasks, []), *([(tasks[1:], [])] * 14), *([([], [row(id="7_2")])] * 2))
    assert lost.final and lost.state == "unknown" and [one.id for one in lost.records] == ["7_1", "7_2"]


def test_an_engine_that_does_not_answer_is_waited_for() -> None:
    away = looks(([queued()], []), *([(None, None)] * 1000))
    assert not away.final and away.state == "running" and away.waiting == "the queue does not answer"
    dark = looks(([queued()], []), *([([], None)] * 1000))
    assert not dark.final and dark.waiting == "the accounting does not answer"
    back = looks(([queued()], []), *([([], None)] * 1000), ([], []), ([], [row("timeout")]))
    assert back.final and back.state == "timeout"


def test_time_without_an_answer_does_not_count_as_time_without_a_row() -> None:
    answers: list[tuple[Sequence[JobRecord] | None, Sequence[JobRecord] | None]] = [([queued()], []), ([], [])]
    answers += [([], None)] * 50
    answers += [([], [])]
    assert not looks(*answers).final


def test_a_state_that_the_queue_gave_stands_where_there_is_no_accounting() -> None:
    over = queued("failed", exit_code=3, end_s=200.0)
    first = looks(([over], []))
    assert not first.final and first.state == "failed"
    view = looks(([over], []), *([([over], [])] * 14))
    assert view.final and view.state == "failed" and view.records[-1].source == "queue"


def test_every_attempt_of_a_requeued_job_is_kept() -> None:
    lost = row("node_fail", end_s=150.0)
    waits = queued("queued", submit_s=150.0, attempt=1)
    view = looks(([queued()], []), ([waits], [lost]))
    assert view.state == "queued" and view.members[0].earlier == (lost,) and view.members[0].now.attempt == 1
    second = queued("running", submit_s=150.0, begin_s=160.0, attempt=1)
    end = row("done", submit_s=150.0, begin_s=160.0, attempt=1)
    view = looks(([queued()], []), ([waits], [lost]), ([second], [lost]), ([], [lost, end]))
    assert view.final and view.records == (lost, end)


def test_the_row_of_an_earlier_attempt_does_not_end_the_job() -> None:
    """The second attempt has left the queue, and its row lags: the first one's NODE_FAIL is not the end."""
    lost = row("node_fail", end_s=150.0)
    second = queued("running", submit_s=150.0, begin_s=160.0, attempt=1)
    view = looks(([second], [lost]), ([], [lost]))
    assert not view.final and view.members[0].earlier == (lost,)
    taken = row("preempted", word="REQUEUED", end_s=150.0)
    view = looks(([queued()], []), ([], [taken]))
    assert not view.final, "the engine took it back: it waits again"
    assert looks(([queued()], []), *([([], [taken])] * 14)).state == "unknown"


def test_a_row_that_is_written_by_half_is_waited_for() -> None:
    """Seen on Slurm 22.05: the end of a job of a second is there before its beginning, without partition and name."""
    half = row("done", partition="", name="allocation")
    assert not looks(([queued()], []), ([], [half])).final
    whole = looks(([queued()], []), ([], [half]), ([], [row("done")]))
    assert whole.final and whole.records == (row("done"),)


def test_a_requeued_job_that_is_cancelled_before_it_begins_again_is_cancelled() -> None:
    lost = row("node_fail", end_s=150.0)
    gone = row("cancelled", submit_s=150.0, begin_s=None, end_s=170.0, attempt=1)
    view = looks(([queued()], []), ([], [lost, gone]))
    assert view.final and view.state == "cancelled" and view.records == (lost, gone)


def test_a_row_of_another_life_of_the_cluster_is_not_ours() -> None:
    old = row("done", submit_s=1.0, begin_s=2.0, end_s=3.0)
    assert not looks(([queued()], []), ([], [old])).final
    ticket = JobTicket(engine="slurm", job="7", submitted_s=1e9)
    assert judge(begin(ticket), [], [old], 0.0).state == "unknown"
    near = row("done", submit_s=1e9 - 3600, begin_s=1e9, end_s=1e9 + 1)
    assert judge(begin(ticket), [], [near], 0.0).state == "done", "clocks may differ by an hour"


def test_tasks_and_components_are_members_and_the_worst_of_them_is_the_state() -> None:
    tasks = [queued("running", id="7_1"), queued("queued", id="7_2")]
    view = looks((tasks, []))
    assert view.state == "running" and [member.now.id for member in view.members] == ["7_1", "7_2"]
    view = looks((tasks, []), ([], [row(id="7_1"), row("failed", id="7_2")]))
    assert view.final and view.state == "failed"
    lagging = looks((tasks, []), ([], [row(id="7_1")]))
    assert not lagging.final, "one row of two: after an array has left the queue its rows come one by one"
    parts = looks(([], [row(id="7+0"), row("node_fail", id="7+1")]))
    assert parts.final and parts.state == "node_fail"
    assert looks(([queued(id="70")], [row(id="71")])).state == "unknown", "the job of another number"


def test_a_task_that_ends_long_after_another_is_waited_for_as_long() -> None:
    tasks = [queued("running", id="7_1"), queued("running", id="7_2")]
    first = row(id="7_1")
    answers: list[tuple[Sequence[JobRecord] | None, Sequence[JobRecord] | None]] = [(tasks, []), (tasks[1:], [first])]
    answers += [(tasks[1:], [first])] * 50
    assert not looks(*answers, ([], [first])).final, "its own row has just begun to lag"
    assert looks(*answers, ([], [first]), ([], [first, row("failed", id="7_2")])).state == "failed"


def test_no_row_is_told_twice() -> None:
    taken = row("preempted", word="REQUEUED", end_s=150.0)
    assert looks(([], [taken])).records == (taken,)
    assert [one.state for one in looks(*([([], [taken])] * 14)).records] == ["preempted", "unknown"]


def test_hosts_that_the_accounting_leaves_out_come_from_the_queue() -> None:
    view = looks(([queued(hosts=("a", "b"))], []), ([], [row(hosts=("a",))]))
    assert view.records[-1].hosts == ("a", "b")


STATES = st.sampled_from([*schedulers.ENDED, "queued", "running", "unknown"])
ANSWERS = st.lists(
    st.tuples(
        st.none() | st.lists(st.builds(lambda state: queued(state), STATES), max_size=1),
        st.none() | st.lists(st.builds(lambda state: row(state), STATES), max_size=2),
    ),
    max_size=12,
)


@given(ANSWERS)
def test_whatever_is_answered_done_is_only_what_the_accounting_or_the_queue_called_so(answers: Any) -> None:
    view = looks(*answers)
    said = {one.state for queue, accounts in answers for one in (*(queue or ()), *(accounts or ()))}
    assert all(record.state in said or record.state == "unknown" for record in view.records)
    if view.final:
        assert view.records[-1].ended or view.state == "unknown"
        assert judge(view, [queued()], [row("failed")], 1e9) == view, "what is final stays"


# -------------------------------------------------------------------------------------------------------------- acting


class Engine(ReplayHost):
    """A door to an engine that answers from a script: each command, its answers in turn, the last one for ever."""

    def __init__(self, answers: dict[str, list[Result]]) -> None:
        super().__init__(Path("/nonexistent"))
        self.answers, self.asked = answers, []  # type: ignore[var-annotated]

    def run(self, argv: Any, *, limit_s: float = 10.0, env: Any = None) -> Result:
        name = next(word for word in argv if word in self.answers)
        self.asked.append(tuple(argv))
        left = self.answers[name]
        return left.pop(0) if len(left) > 1 else left[0]


AWAY = Result(1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
GONE = Result(1, "", "slurm_load_jobs error: Invalid job id specified")
NO_ROW = Result(0, "", "")


def squeue_line(state: str) -> Result:
    fields = ("7", state, "n", "None", "me", "batch", "node1", "100", "100", "110", "900", "4", "cpu=4", "0", "0", "7")
    return Result(0, "\x1f".join((*fields, "")) + "\n", "")


def sacct_line(state: str, code: str = "0:0") -> Result:
    fields = (
        "7",
        state,
        "n",
        code,
        "None",
        "me",
        "batch",
        "node1",
        "100",
        "100",
        "110",
        "200",
        "4",
        "cpu=4",
        "0:0",
        "7",
    )
    return Result(0, "\x1f".join(fields) + "\n", "")


def test_a_job_is_followed_through_outages_of_everything() -> None:
    """slurmctld away twice, the job gone from the queue meanwhile, slurmdbd away, rows that lag: FAILED 3:0 in the end."""
    door = Engine(
        {
            "squeue": [squeue_line("PENDING"), AWAY, squeue_line("RUNNING"), *[AWAY] * 3, GONE],
            "sacct": [Result(1, "", "sacct: error: slurmdbd: Connection refused")] * 2
            + [NO_ROW, sacct_line("FAILED", "3:0")],
        }
    )
    heard: list[JobRecord] = []
    views = job_monitor.watch(
        schedulers.get("slurm"),
        [JobTicket(engine="slurm", job="7")],
        door,
        lambda view: heard.append(view.members[0].now),
        clock=clocks.fake(),
    )
    assert views[0].final and views[0].records[-1].exit_code == 3
    assert [one.state for one in heard if one.state != "running"] == ["queued", "queued", "failed"]
    assert all("--jobs=7" in words for words in door.asked if "squeue" in words), "our own job alone"


def test_following_ends_where_it_is_told_to_and_says_for_what_it_waits() -> None:
    door = Engine({"squeue": [squeue_line("RUNNING"), AWAY], "sacct": [NO_ROW]})
    (view,) = job_monitor.watch(
        schedulers.get("slurm"),
        [JobTicket(engine="slurm", job="7")],
        door,
        give_up_s=600.0,
        clock=clocks.fake(),
    )
    assert not view.final and view.state == "running" and view.waiting == "the queue does not answer"


def test_a_job_that_nobody_will_start_says_so() -> None:
    fields = (
        "7",
        "PENDING",
        "n",
        "launch failed requeued held",
        "me",
        "b",
        "",
        "1",
        "N/A",
        "N/A",
        "N/A",
        "4",
        "",
        "0",
        "1",
    )
    door = Engine({"squeue": [Result(0, "\x1f".join((*fields, "7", "")) + "\n", "")], "sacct": [NO_ROW]})
    (view,) = job_monitor.look(schedulers.get("slurm"), [begin(JobTicket(engine="slurm", job="7"))], door, 0.0)
    assert "scontrol release" in view.stuck and view.state == "queued"


def request(folder: Path) -> Request:
    return Request(name="x", argv=("true",), folder=str(folder), partition="batch")


def test_a_job_is_submitted_once_from_a_script_that_only_we_can_write(tmp_path: Path) -> None:
    door = Engine({"sbatch": [Result(0, "7\n", "")]})
    assert job_monitor.submit(schedulers.get("slurm"), request(tmp_path), door, tmp_path / "script") == "7"
    (words,) = door.asked
    assert words[:2] == ("env", "-u") and "SBATCH_PARTITION" in words
    assert words[-3:] == ("sbatch", "--parsable", str(tmp_path / "script"))
    assert (tmp_path / "script").stat().st_mode & 0o777 == 0o700
    door = Engine({"sbatch": [Result(None, "", "timed out after 60 s")]})
    with pytest.raises(CannotMeasure, match="timed out") as caught:
        job_monitor.submit(schedulers.get("slurm"), request(tmp_path), door, tmp_path / "script")
    assert len(door.asked) == 1 and "before submitting again" in caught.value.hint


def test_a_script_is_not_written_where_others_could_change_it(tmp_path: Path) -> None:
    door = Engine({"sbatch": [Result(0, "7\n", "")]})
    tmp_path.chmod(0o777)
    with pytest.raises(BadInput, match="others can write"):
        job_monitor.submit(schedulers.get("slurm"), request(tmp_path), door, tmp_path / "script")
    tmp_path.chmod(0o755)
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / ".script.new").symlink_to(victim)
    job_monitor.submit(schedulers.get("slurm"), request(tmp_path), door, tmp_path / "script")
    assert victim.read_text() == "kept" and not (tmp_path / "script").is_symlink()
    with pytest.raises(StoreFailed):
        job_monitor.submit(schedulers.get("slurm"), request(tmp_path), door, tmp_path / "absent" / "script")


def test_cancelling_a_job_that_is_over_is_no_error() -> None:
    slurm = schedulers.get("slurm")
    refused = Result(1, "", "scancel: error: Kill job error on job id 7: Invalid job id specified")
    job_monitor.cancel(slurm, "7", Engine({"scancel": [Result(0, "", "")]}))
    job_monitor.cancel(slurm, "7", Engine({"scancel": [refused], "squeue": [GONE]}))
    for live in (squeue_line("RUNNING"), AWAY):
        with pytest.raises(CannotMeasure, match="did not cancel"):
            job_monitor.cancel(slurm, "7", Engine({"scancel": [refused], "squeue": [live]}))


def test_a_ticket_finds_the_job_again_from_another_process() -> None:
    ticket = JobTicket(engine="gridengine", job="12", submitted_s=1.5)
    assert msgspec.json.decode(msgspec.json.encode(ticket), type=JobTicket) == ticket
