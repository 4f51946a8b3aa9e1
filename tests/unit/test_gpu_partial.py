"""A device that fails among several: what the others gave is kept, judged and shown, and the failed one is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from shakedown import campaign
from shakedown.acceptance.run_verdict import _ended
from shakedown.analysis import build
from shakedown.campaign import plan
from shakedown.errors import COULD_NOT_MEASURE
from shakedown.hosts.access import LocalHost
from shakedown.records import Analysis, Gpu, Job, Machine, Measurement
from shakedown.report.formats import html, markdown
from shakedown.results import run_directory
from shakedown.results.outcome import measurement
from shakedown.results.run_directory import RunDirectory
from shakedown.run import loop
from shakedown.run.observer import outcome
from shakedown.run.session import exit_code
from support.machines import with_gpus
from support.workloads import installed

LOST = "gpu/gpu-stream-lost.jsonl"
CAMPAIGN = """
name = "gpus"
title = "GPUs"

[[run]]
workload = "gpu_stream"
repeat = { min = 2, max = 2 }

[[limit]]
metric = "gpu_stream.triad.bandwidth"
at_least = "1 MB/s"

[[limit]]
metric = "gpu_stream.triad.bandwidth"
at_least = "1 MB/s"
params = { index = 0 }

[[limit]]
metric = "gpu_stream.triad.bandwidth"
at_least = "9000 TB/s"
"""


@pytest.fixture
def gpus(tmp_path: Path, recordings: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Three GPUs, and a program that says what the real one said when the second was lost."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = installed(folder, monkeypatch, "gpu_stream") / "gpu_stream"
    program.write_text(f"#!/bin/sh\n{shutil.which('cat')} {recordings / LOST}\necho 'GPU 1 is gone' >&2\nexit 3\n")
    return with_gpus(3, Gpu(index=0, name="NVIDIA Fake", vendor="NVIDIA"))


@pytest.fixture
def ran(tmp_path: Path, gpus: Machine) -> tuple[list[Measurement], Analysis]:
    made = plan.make(campaign.parse(CAMPAIGN, "test"), gpus, where="test", version="0")
    manifest = run_directory.Manifest(
        schema=run_directory.SCHEMA, campaign="gpus", created_ns=0, version="0", host="node1"
    )
    path = tmp_path / "run"
    opened = RunDirectory.create(path, manifest=manifest, campaign_toml=CAMPAIGN, machine=gpus, plan=made)
    records = loop.execute(opened, made, gpus, LocalHost())
    analysis, damaged = build.analyse(opened)
    assert not damaged
    return records, analysis


def test_the_other_devices_keep_their_cases_and_the_failed_one_is_named(
    ran: tuple[list[Measurement], Analysis],
) -> None:
    records, analysis = ran
    assert [one.state for one in records] == ["partial", "partial"], "the good devices are repeated as was asked"
    assert all(one.reason.startswith("lost: GPU 1 (NVIDIA Fake, 0000:02:00.0)") for one in records)
    triad = [one for one in analysis.findings if one.metric == "gpu_stream.triad.bandwidth"]
    assert {one.params["index"]: one.n_runs for one in triad} == {0: 2, 2: 2}
    assert "GPU STREAM triad bandwidth" in outcome(records[0]) and "lost: GPU 1" in outcome(records[0])


def test_a_limit_that_names_no_device_is_not_met_by_those_that_are_left(
    ran: tuple[list[Measurement], Analysis],
) -> None:
    any_, first, too_much = ran[1].verdicts
    assert any_.state == "undecided" and "lost: GPU 1" in any_.evidence and any_.finding is not None
    assert first.state == "met"
    assert too_much.state == "not met"
    assert exit_code(msgspec.structs.replace(ran[1], verdicts=(first,))) == COULD_NOT_MEASURE


def test_reports_show_values_and_the_device_that_has_none(ran: tuple[list[Measurement], Analysis]) -> None:
    assert any("lacks devices: lost: GPU 1" in sentence for sentence in ran[1].summary)
    assert not any("no result" in sentence for sentence in ran[1].summary)
    for text in (html.render(ran[1]), markdown.render(ran[1])):
        assert "partial" in text and "have values of the other devices above" in text


def test_acceptance_blames_a_device_that_failed_and_not_one_that_others_hold(
    ran: tuple[list[Measurement], Analysis],
) -> None:
    lost = ran[0][0]
    assert _ended(lost).state == "not met" and "GPU 1" in _ended(lost).found
    (notice,) = [one for one in lost.notices if one.code == "gpu-lost"]
    busy = msgspec.structs.replace(lost, notices=(msgspec.structs.replace(notice, code="gpu-busy"),))
    assert _ended(busy).state == "not measured"


def test_only_a_program_that_came_to_its_end_with_right_results_is_partial(
    ran: tuple[list[Measurement], Analysis], tmp_path: Path, gpus: Machine, recordings: Path
) -> None:
    (run,) = plan.make(campaign.parse(CAMPAIGN, "test"), gpus, where="test", version="0").runs
    text = (recordings / LOST).read_bytes()
    lines = text.splitlines(keepends=True)
    job = Job(run=run.id, repeat=1, argv=(), host="node1", exit_code=3)

    def state(said: bytes, code: int = 3) -> str:
        return measurement(run, msgspec.structs.replace(job, exit_code=code), said, b"GPU 1 is gone").state

    assert state(text) == "partial"
    assert state(b"".join(lines[:-1])) == "unavailable", "it was cut short"
    assert state(text.replace(b'"residual":{"value":0', b'"residual":{"value":1', 1)) == "wrong"
    assert state(b"".join(line for line in lines if b'"case"' not in line)) == "unavailable"
    assert state(text.replace(b"gpu-lost", b"something-else")) == "unavailable", "nothing says what is missing"
    assert state(text, code=1) == "failed"
