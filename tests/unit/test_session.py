"""The story of a run as a library call: where it is carried out, what goes on where, and what its end says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shakedown.analysis import build
from shakedown.errors import BadInput, Interrupted
from shakedown.run import loop, session
from shakedown.run.batch import campaign_jobs, submission
from shakedown.run.batch.options import BatchOptions
from shakedown.run.observer import Lines
from shakedown.run.session import How

TEXT = 'name = "c"\ntitle = "C"\n[[run]]\nworkload = "empty"\nparams = { seconds = 0.01 }\nsweep = { tag = [1, 2] }\n'
SLURM = BatchOptions(engine="slurm", nodes=2, time_limit_s=60.0)


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Mapping[Path, BatchOptions], str, bool]]:
    """What would be handed to an engine."""
    kept: list[tuple[Mapping[Path, BatchOptions], str, bool]] = []

    def carry_out(parts: Mapping[Path, BatchOptions], back: str, observer: Any, *, detach: bool) -> bool:
        kept.append((parts, back, detach))
        return False

    monkeypatch.setattr(campaign_jobs, "carry_out", carry_out)
    return kept


def had_a_job(path: Path, *, ended: bool) -> None:
    """As after a submission."""
    folder = path / submission.JOBS / "1"
    folder.mkdir(parents=True)
    (folder / "asked.json").write_bytes(msgspec.json.encode(SLURM))
    (folder / "job.json").write_text('{"engine": "slurm", "id": "7", "submitted_s": 0.0}')
    if ended:
        (folder / "ended.json").write_text('[{"engine": "slurm", "id": "7", "state": "done"}]')


def test_a_campaign_is_planned_and_run_here_and_whoever_watches_is_told(tmp_path: Path) -> None:
    said: list[str] = []
    ran = session.begin(TEXT, "c", tmp_path / "R", How(), Lines(said.append))
    assert ran is not None and ran.whole and [one.state for one in ran.measurements] == ["ok", "ok"]
    assert ran.parts[0].path == tmp_path / "R" and session.code_of_states(ran) == 0
    assert said[0].startswith("C: 2 runs, about") and sum("ok " in one for one in said) == 2
    again = session.go_on(tmp_path / "R", How(), Lines())
    assert again is not None and list(again.measurements) == list(ran.measurements), "what is whole is not repeated"


def test_what_the_time_limit_leaves_out_is_named_undecided_and_gone_on_with(tmp_path: Path) -> None:
    text = TEXT.replace("tag = [1, 2]", "seconds = [0.01, 50]").replace("params = { seconds = 0.01 }\n", "")
    said: list[str] = []
    ran = session.begin(text, "c", tmp_path / "R", How(time_limit_s=20.0), Lines(said.append))
    assert ran is not None and ran.not_begun and len(ran.measurements) == 1 and session.code_of_states(ran) == 4
    assert any("not begun" in one and "the time limit ends before it would" in one for one in said)
    assert f"shakedown run --resume {tmp_path / 'R'}" in said[-1]
    analysis, damaged = build.analyse(ran.parts[0])
    assert len(analysis.not_begun) == 1 and not damaged and session.exit_code(analysis) == 4
    assert any(one.startswith("Not begun: ") for one in analysis.summary)
    again = session.go_on(tmp_path / "R", How(time_limit_s=0.1), Lines())
    assert again is not None and len(again.measurements) == 1, "what is whole is not repeated"


def test_a_time_limit_is_none_of_a_job(tmp_path: Path, handed: list[Any]) -> None:
    with pytest.raises(BadInput, match="--time-limit"):
        session.begin(TEXT, "c", tmp_path / "R", How(batch=SLURM, time_limit_s=60.0), Lines())
    assert not handed and not (tmp_path / "R").exists()


def test_a_limit_of_what_was_not_begun_is_undecided_and_one_of_what_is_not_possible_not_measured(
    tmp_path: Path,
) -> None:
    text = TEXT.replace("tag = [1, 2]", "seconds = [50]").replace("params = { seconds = 0.01 }\n", "")
    text += '[[run]]\nworkload = "gpu_query"\n'
    text += '[[limit]]\nmetric = "empty.time"\nat_most = "1 s"\n[[limit]]\nmetric = "gpu_query.devices"\nat_least = 1\n'
    ran = session.begin(text, "c", tmp_path / "R", How(time_limit_s=1.0), Lines())
    assert ran is not None
    analysis, _ = build.analyse(ran.parts[0])
    states = [(one.state, one.evidence) for one in analysis.verdicts]
    assert states == [("undecided", "a run of it was not begun"), ("not measured", "no run of it ended successfully")]
    assert session.exit_code(analysis) == 3


def test_a_campaign_for_an_engine_is_prepared_and_handed_over(tmp_path: Path, handed: list[Any]) -> None:
    how = How(batch=SLURM, detach=True)
    assert session.begin(TEXT, "c", tmp_path / "R", how, Lines()) is None
    ((parts, back, detach),) = handed
    assert dict(parts) == {tmp_path / "R": SLURM} and detach and back == f"shakedown run --resume {tmp_path / 'R'}"
    assert (tmp_path / "R/campaign.toml").read_text() == TEXT and not (tmp_path / "R/manifest.json").exists()


@pytest.mark.parametrize(
    ("ended", "in_its_job", "in_a_job"), [(False, False, True), (True, False, False), (True, True, True)]
)
def test_what_an_engine_had_goes_on_there_while_its_job_is_at_work_or_where_that_is_wanted(
    tmp_path: Path, handed: list[Any], ended: bool, in_its_job: bool, in_a_job: bool
) -> None:
    session.begin(TEXT, "c", tmp_path / "R", How(), Lines())
    had_a_job(tmp_path / "R", ended=ended)
    ran = session.go_on(tmp_path / "R", How(back="again", retry_failed=True), Lines(), in_its_job=in_its_job)
    assert bool(handed) == in_a_job == (ran is None)
    if handed:
        ((parts, back, _),) = handed
        assert back == "again" and parts[tmp_path / "R"].retry_failed


def test_begin_or_go_on_begins_once(tmp_path: Path, handed: list[Any]) -> None:
    first = session.begin_or_go_on(TEXT, "c", tmp_path / "R", How(), Lines())
    again = session.begin_or_go_on("", "c", tmp_path / "R", How(), Lines())
    assert first is not None and again is not None and list(again.measurements) == list(first.measurements)
    had_a_job(tmp_path / "R", ended=True)
    assert session.begin_or_go_on("", "c", tmp_path / "R", How(), Lines()) is None and len(handed) == 1


def test_ctrl_c_says_how_to_go_on_and_keeps_what_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*words: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "execute", stopped)
    with pytest.raises(Interrupted, match="what is whole was kept") as left:
        session.begin(TEXT, "c", tmp_path / "R", How(), Lines())
    assert left.value.hint == f"shakedown run --resume {tmp_path / 'R'}" and left.value.exit_code == 130
    with pytest.raises(Interrupted) as left:
        session.go_on(tmp_path / "R", How(back="shakedown accept run A"), Lines())
    assert left.value.hint == "shakedown accept run A"


def test_a_part_that_no_engine_had_needs_to_be_told_which() -> None:
    with pytest.raises(BadInput, match="was not handed to an engine"):
        campaign_jobs.again(Path("/nowhere"), None, retry_failed=False)
