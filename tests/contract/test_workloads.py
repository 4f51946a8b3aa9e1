"""Every workload, found by discovery: its recordings parse to what they say, its metrics are whole, its defaults resolve."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shakedown import units, workloads
from shakedown.analysis import derive, table
from shakedown.errors import ShakedownError
from shakedown.programs import events
from shakedown.records import Measurement, Metric, Params
from shakedown.workloads import Garbage, Sample, Workload
from support.machines import machine
from support.workloads import cases_of

ALL = [workloads.get(name) for name in workloads.names()]
ROOT = Path(__file__).parents[2]
#: Without a transcript: nothing to measure, and one whose figures hang on the machine's CUDA alone.
NO_TRANSCRIPT = {"empty", "cuda"}
#: For tests and other workloads, not for users: left out of the README.
INTERNAL = {"empty", "hpl_probe", "load"}
SAMPLES = [(one, sample) for one in ALL for sample in one.samples]


@pytest.mark.parametrize(("workload", "sample"), SAMPLES, ids=[f"{one.name}-{s.recording}" for one, s in SAMPLES])
def test_a_real_transcript_gives_the_values_that_it_holds(workload: Workload, sample: Sample, recordings: Path) -> None:
    data = (recordings / sample.recording).read_bytes()
    params: Params = {name: param.default for name, param in workload.params.items()}
    cases = cases_of(workload, data, params)
    if workload.parse is not None:
        workload.parse(data.decode(), {})  # of a log that is imported, no parameters are known: `parse` must do without
    record = Measurement(
        run="r",
        repeat=1,
        workload=workload.name,
        params=params,
        host="h",
        state="ok",
        cases=cases,
        begin_ns=0,
        end_ns=1,
    )
    got = derive.findings(table.from_measurements([record]), {workload.name: workload.metrics})
    assert got and sample.expect
    for key, expected in sample.expect.items():
        name, _, wanted = key.partition("[")
        pairs = dict(pair.split("=", 1) for pair in re.split(r",\s*", wanted.rstrip("]"))) if wanted else {}
        values = [
            one.value
            for one in got
            if one.metric == name and all(str(one.params.get(param)) == value for param, value in pairs.items())
        ]
        assert values, f"no {key} among {sorted({one.metric for one in got})}"
        assert any(value == pytest.approx(expected, rel=1e-6) for value in values), (key, values)


def test_every_workload_has_a_transcript_and_every_transcript_its_origin(recordings: Path) -> None:
    bare = {one.name for one in ALL if not one.samples} - NO_TRANSCRIPT
    assert not bare, (
        f"{sorted(bare)}: put a real transcript into tests/recordings and name it in [[samples]] of the table"
    )
    page = (recordings / "README.md").read_text()
    named = set(re.findall(r"\w+", "".join(re.findall(r"^\|([^|]*)\|", page, re.MULTILINE))))
    unnamed = {sample.recording for _, sample in SAMPLES if sample.recording.split("/")[0] not in named}
    assert not unnamed, f"{sorted(unnamed)}: tests/recordings/README.md says where each recording is from"


def test_the_readme_names_every_workload_for_users() -> None:
    page = (ROOT / "README.md").read_text()
    unnamed = {one.name for one in ALL if f"`{one.name}`" not in page} - INTERNAL
    assert not unnamed, f"{sorted(unnamed)}: give them a line in the table of workloads in README.md"


@pytest.mark.parametrize("workload", ALL, ids=lambda one: one.name)
def test_a_transcript_that_is_cut_or_foreign_is_garbage(workload: Workload, recordings: Path) -> None:
    if workload.parse is None:
        assert events.parse(b"hello\n").garbage
        return
    params: Params = {name: param.default for name, param in workload.params.items()}
    for text in ("", "hello\n", "{}", "[1]"):
        with pytest.raises(Garbage):
            workload.parse(text, params)
    for sample in workload.samples:
        text = (recordings / sample.recording).read_text()
        with pytest.raises(Garbage):
            workload.parse(text[: len(text) // 2], params)


@pytest.mark.parametrize("workload", ALL, ids=lambda one: one.name)
def test_metrics_and_parameters_are_whole(workload: Workload) -> None:
    assert workload.name in workloads.names()
    for metric in workload.metrics:
        assert units.si(metric.unit) == (metric.unit, 1.0), f"{metric.name} is not in an SI unit"
        assert metric.kernel and metric.per and metric.title and metric.source
    for name, param in workload.params.items():
        assert param.help, name
    workloads.check_params(workload, {})


def test_a_metric_has_one_meaning() -> None:
    seen: dict[str, Metric] = {}
    for workload in ALL:
        for metric in workload.metrics:
            before = seen.setdefault(metric.name, metric)
            assert (before.unit, before.better) == (metric.unit, metric.better), metric.name


@pytest.mark.parametrize("workload", ALL, ids=lambda one: one.name)
def test_defaults_resolve_to_numbers_or_say_what_is_missing(workload: Workload) -> None:
    found = machine(4)
    try:
        resolved = workload.resolve(workloads.check_params(workload, {}), found)
    except ShakedownError as error:
        assert error.what and error.hint
        return
    assert resolved
    for params in resolved:
        assert workload.estimate_s(params, found.hosts[0]) > 0


@pytest.mark.parametrize("workload", ALL, ids=lambda one: one.name)
def test_the_docstring_says_how_the_number_is_made(workload: Workload) -> None:
    import importlib

    text = importlib.import_module(f"shakedown.workloads.{workload.name}").__doc__
    assert text and len(text.split()) > 30
