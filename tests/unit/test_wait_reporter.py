"""Waiting for an engine that does not answer is said: what for, since when, how to look; soon at first and then rarely."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path

import pytest

from shakedown import schedulers
from shakedown.cli import _patience
from shakedown.cli._observer import Terminal
from shakedown.cli._patience import WaitReporter, due_s, words
from shakedown.errors import Interrupted
from shakedown.hosts.access import ReplayHost, Result
from shakedown.run.batch import campaign_jobs, job_monitor
from shakedown.run.batch.submission import JobHandle
from shakedown.schedulers import JobRecord


def test_words_come_soon_and_then_ever_more_rarely() -> None:
    gaps = [due_s(0), *(later - earlier for earlier, later in pairwise(due_s(number) for number in range(8)))]
    assert gaps[0] <= 15 and gaps == sorted(gaps) and gaps[-1] == 3600
    assert due_s(20) > due_s(19)


def test_it_says_for_what_since_when_and_how_to_look() -> None:
    said = words("job 7", "Slurm", job_monitor.QUEUE_SILENT, ("squeue --jobs=7", "scontrol ping"), 0.0, 75.0)
    assert "job 7 waits for Slurm since " in said and "(75 s)" in said and "the queue does not answer" in said
    assert "look: squeue --jobs=7, or scontrol ping" in said
    assert "no answer yet" in words("job 7", "Slurm", "", ("squeue",), 0.0, 10.0)


@pytest.mark.parametrize("name", schedulers.names())
def test_every_engine_says_how_to_look(name: str) -> None:
    look = schedulers.get(name).look("7")
    assert len(look) >= 2 and "7" in look[0] and all(one.split()[0].isalpha() for one in look)


@pytest.mark.parametrize(
    ("record", "missing"),
    [
        (JobRecord(engine="slurm", id="7", state="running", source="queue"), ""),
        (JobRecord(engine="slurm", id="7", state="queued", source="queue", reason="Resources"), ""),
        (
            JobRecord(engine="slurm", id="7", state="running", source="queue", reason=f"x; {job_monitor.QUEUE_SILENT}"),
            job_monitor.QUEUE_SILENT,
        ),
        (JobRecord(engine="slurm", id="7", state="unknown", reason="not yet queried"), "not yet queried"),
        (JobRecord(engine="slurm", id="7", state="unknown"), "it is not known to the engine"),
    ],
)
def test_an_answer_is_told_from_none(record: JobRecord, missing: str) -> None:
    assert job_monitor.unanswered(record) == missing


def test_silence_is_broken_by_words_and_an_answer_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_patience, "SAY_S", (0.0,))
    spoken, said = threading.Event(), []

    def say(text: str) -> None:
        said.append(text)
        spoken.set()

    with WaitReporter("job 7", "Slurm", ("squeue --jobs=7",), say) as patience:
        assert spoken.wait(300), "it spoke though the engine's command had not come back yet"
        monkeypatch.setattr(_patience, "SAY_S", (3000.0,))
        patience.hear("")
        patience.hear(job_monitor.QUEUE_SILENT)
    assert len(said) == 1 and "job 7 waits for Slurm" in said[0], "the second word is not due"


def test_an_engine_that_never_answers_is_not_waited_for_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`shakedown run --on slurm` over commands that fail for ever; Ctrl-C ends the test once something was said."""
    looks = 0

    class Deaf(ReplayHost):
        def run(self, argv: object, **more: object) -> Result:
            nonlocal looks
            looks += 1
            if looks > 3:
                raise KeyboardInterrupt
            return Result(1, "", "slurm_load_jobs error: Unable to contact slurm controller")

    monkeypatch.setattr(_patience, "SAY_S", (0.0,))
    monkeypatch.setattr(campaign_jobs, "LocalHost", lambda: Deaf(tmp_path))
    job = JobHandle(engine="slurm", id="7", submitted_s=0.0)
    with pytest.raises(Interrupted, match="the job goes on") as left:
        campaign_jobs.watch(tmp_path, tmp_path, job, "back", Terminal())
    assert "back" in left.value.hint and "scancel 7" in left.value.hint
    said = capsys.readouterr().err
    assert "job 7 waits for Slurm since" in said and "squeue --jobs=7" in said
