"""Time and energy of applications as seen from outside: of the recordings of real runs, beside a meter that reads 100 W."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shakedown import workloads
from shakedown.analysis import build
from shakedown.analysis.spans import disagreement
from shakedown.metering import trace as traces
from shakedown.programs import events
from shakedown.records import Case, Finding, Measurement
from support.applications import RECORDED
from support.runs import NODE, directory

WATTS = 100.0
#: Applications that print events of ours, beside those whose transcripts are read.
BY_EVENTS = {"training": "native/training.jsonl"}
ALL = {**{name: recording for name, (recording, _) in RECORDED.items()}, **BY_EVENTS}


@pytest.fixture(scope="module", params=ALL)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def cases_of(name: str, recordings: Path) -> tuple[Case, ...]:
    data = (recordings / ALL[name]).read_bytes()
    parse = workloads.get(name).parse
    return events.parse(data).cases if parse is None else parse(data.decode(), {})


def findings_of(name: str, recordings: Path, folder: Path) -> dict[str, Finding]:
    cases = cases_of(name, recordings)
    (job,) = (case for case in cases if case.kernel == "job")
    assert job.begin_ns is not None and job.end_ns is not None and disagreement(job) == ""
    record = Measurement(
        run="r1",
        repeat=1,
        workload=name,
        params={},
        host="node1",
        state="ok",
        cases=cases,
        begin_ns=job.begin_ns - 10**9,
        end_ns=job.end_ns + 10**9,
    )
    t_ns = np.arange(record.begin_ns - 10**9, record.end_ns + 10**9, 10**7)
    meter = traces.trace(NODE, t_ns, np.full(len(t_ns), WATTS))
    analysis, damaged = build.analyse(directory(folder / "run", [record], [[meter]]))
    assert damaged == []
    return {one.metric: one for one in analysis.findings}


def test_the_whole_launch_has_its_rate_its_energy_and_its_work_a_joule(
    name: str, recordings: Path, tmp_path: Path
) -> None:
    """PRACE's rule: efficiency is work per joule, of the whole launch from its start to its end."""
    found = findings_of(name, recordings, tmp_path)
    seconds, rate = found[f"{name}.outside"].value, found[f"{name}.outside.rate"]
    energy, efficiency = found[f"{name}.outside.energy"], found[f"{name}.outside.energy_efficiency"]
    assert seconds and rate.value and energy.value and efficiency.value
    assert energy.unit == "J" and efficiency.unit == f"{rate.unit.removesuffix('/s')}/J"
    assert energy.value == pytest.approx(WATTS * seconds, rel=1e-3)
    assert rate.value == pytest.approx(efficiency.value * WATTS, rel=1e-3)


def test_the_rate_from_outside_is_never_above_that_of_the_phase_that_counts(name: str, recordings: Path) -> None:
    cases = cases_of(name, recordings)
    (job,) = (case for case in cases if case.kernel == "job")
    inner = next(case for case in cases if case.kernel in ("run", "step"))
    shared = (inner.work.keys() & job.work.keys()).pop()
    for case in (inner, job):
        assert case.seconds
    inside = inner.work[shared] * len(inner.seconds) / sum(inner.seconds)
    assert job.work[shared] / job.seconds[0] <= inside * 1.01
