"""Which values stand for a metric: figures, not what was made beside them, and never what measures nothing of it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown import campaign, workloads
from shakedown.acceptance import run_verdict
from shakedown.acceptance.plan import LimitEntry, RunTest
from shakedown.analysis import build, compare, limits, published_comparison, values
from shakedown.campaign import plan
from shakedown.document.model import Alert, Bars
from shakedown.hosts.access import LocalHost
from shakedown.published import systems
from shakedown.records import Analysis, Case, Finding, Job, Limit, Measurement, Metric, Only, Run, Value
from shakedown.report._sections import document
from shakedown.report.formats import html, markdown
from shakedown.results import outcome as measure
from shakedown.results import run_directory
from shakedown.results.run_directory import RunDirectory
from shakedown.run import loop
from shakedown.run.observer import outcome
from support.findings import finding
from support.machines import machine
from support.workloads import cases_of, installed

RATE = Metric(
    name="m",
    title="M",
    unit="flop/s",
    better="higher",
    headline=True,
    match=("n",),
    only={"data": Only(value="random")},
)
STAND_IN = "made on the host backend, which measures no GPU"
GPU = msgspec.structs.replace(RATE, only={**RATE.only, "backend": Only(value="cuda", why=STAND_IN)})


def verdict(metric: Metric, bound: float, *found: Finding, **named: Value) -> tuple[str, str]:
    limit = Limit(metric="m", at_least=bound, params=named)
    (one,) = limits.verdicts([limit], found, {"m": metric}, {})
    return one.state, one.evidence


RANDOM, ZEROS = finding(RATE, 3, 3, 3, n=192, data="random"), finding(RATE, 8, 8, 8, n=192, data="zeros")


def test_a_limit_is_held_against_the_figure_and_not_against_what_is_faster_beside_it() -> None:
    assert verdict(RATE, 5, RANDOM, ZEROS)[0] == "not met"
    assert verdict(RATE, 2, RANDOM, ZEROS) == ("met", "measured 3.00 flop/s [3.00 flop/s, 3.00 flop/s]")
    assert verdict(RATE, 5, RANDOM, ZEROS, data="zeros")[0] == "met", "it names the data that it is meant for"
    assert verdict(RATE, 5, RANDOM, ZEROS, n=192)[0] == "not met", "another parameter names no data"


def test_a_limit_without_a_figure_says_what_there_is_and_how_to_mean_it() -> None:
    state, evidence = verdict(RATE, 5, ZEROS)
    assert state == "not measured"
    assert "cases with data random" in evidence and "only data zeros" in evidence and 'data = "zeros"' in evidence


def test_where_memory_was_measured_a_cache_does_not_meet_a_limit_that_names_no_level() -> None:
    metric = msgspec.structs.replace(RATE, only={}, limit="{level}.bandwidth")
    found = [finding(metric, 10, level="memory"), finding(metric, 99, level="l1")]
    assert verdict(metric, 50, *found)[0] == "not met"
    assert verdict(metric, 50, *found, level="l1")[0] == "met"


def test_headlines_and_words_as_runs_end_are_those_of_the_figure() -> None:
    assert published_comparison.headlines([RANDOM, ZEROS], {"m": RATE}) == {("m", "n=192"): RANDOM}
    cases = [
        Case(kernel="", params={"n": 192, "data": data}, work={"flop": work}, seconds=(1.0,))
        for data, work in (("random", 3.0), ("zeros", 8.0))
    ]
    metric = msgspec.structs.replace(RATE, per="flop/s")
    found = values.best([metric], cases)
    assert found is not None and found[2] == 3
    alone = values.best([metric], cases[1:])
    assert alone is not None and values.told(metric, alone[1].params) == " (n 192, data zeros)", "and says what it is"


def test_what_was_made_on_a_stand_in_decides_nothing_whatever_a_limit_names() -> None:
    rehearsed = finding(GPU, 8, 8, 8, n=192, data="random", backend="host:2")
    for named in ({}, {"data": "random"}, {"backend": "host:2"}):
        state, evidence = verdict(GPU, 5, rehearsed, **named)
        assert state == "undecided" and evidence.endswith(STAND_IN)
    assert published_comparison.headlines([rehearsed], {"m": GPU}) == {}
    assert limits.fractions(rehearsed, msgspec.structs.replace(GPU, limit="flops.fp64"), ()) == ()
    real = finding(GPU, 3, 3, 3, n=192, data="random", backend="cuda")
    assert verdict(GPU, 5, rehearsed, real)[0] == "not met", "the real one counts, the other not"
    assert verdict(GPU, 2, rehearsed, finding(GPU, 3, 3, 3, n=192, data="random"))[0] == "met"


# ------------------------------------------------------------------------------------------------- a campaign's whole way

CAMPAIGN = """
name = "gpus"
title = "GPUs"

[[run]]
workload = "gpu_gemm"
params = { backend = "BACKEND", sizes = "128" }

[[run]]
workload = "gpu_lj"
params = { backend = "BACKEND", particles = "64000", precision = "mixed" }

[[limit]]
metric = "gpu_gemm.f64.rate"
at_least = "1 flop/s"
"""


def analysed(
    folder: Path, recordings: Path, patch: pytest.MonkeyPatch, backend: str
) -> tuple[list[Measurement], Analysis]:
    """What the real programs printed, as a campaign of theirs has it; 1,000 particles stand for 64,000."""
    (folder / "bin").mkdir()
    programs = installed(folder / "bin", patch, "gpu_gemm", "gpu_lj")
    for name in ("gpu_gemm", "gpu_lj"):
        said = (recordings / f"gpu/{name.replace('_', '-')}-host.jsonl").read_text().replace('"n":1000,', '"n":64000,')
        (folder / f"{name}.out").write_text(said)
        (programs / name).write_text(f'#!/bin/sh\nwhile read -r line; do echo "$line"; done <{folder}/{name}.out\n')
    text = CAMPAIGN.replace("BACKEND", "host")
    here = machine(2)
    made = plan.make(campaign.parse(text, "test"), here, where="test", version="0")
    if backend == "cuda":  # as on a machine with a GPU
        runs = [msgspec.structs.replace(one, params={**one.params, "backend": "cuda"}) for one in made.runs]
        made = msgspec.structs.replace(made, runs=tuple(runs))
    manifest = run_directory.Manifest(
        schema=run_directory.SCHEMA, campaign="gpus", created_ns=0, version="0", host="node1"
    )
    opened = RunDirectory.create(folder / "run", manifest=manifest, campaign_toml=text, machine=here, plan=made)
    records = loop.execute(opened, made, here, LocalHost())
    analysis, damaged = build.analyse(opened)
    assert not damaged and [one.state for one in records] == ["ok", "ok"], [one.reason for one in records]
    return records, analysis


def test_the_host_backend_is_told_everywhere_and_heads_nothing(
    tmp_path: Path, recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records, analysis = analysed(tmp_path, recordings, monkeypatch, "host")
    assert analysis.summary[0] == f"gpu_gemm, gpu_lj: {STAND_IN}."
    assert [one.state for one in analysis.verdicts] == ["undecided"] and STAND_IN in analysis.verdicts[0].evidence
    assert analysis.beside == () and not any("flop/s" in sentence for sentence in analysis.summary)
    assert all(STAND_IN in [notice.text for notice in one.notices] for one in analysis.findings)
    assert [outcome(one) for one in records] == [STAND_IN, STAND_IN]
    sections = {one.short: one.blocks for one in document(analysis).sections}
    for name in ("Verdicts", "gpu_gemm", "gpu_lj"):
        assert isinstance(sections[name][0], Alert) and not any(isinstance(one, Bars) for one in sections[name])
    for text in (html.render(analysis), markdown.render(analysis)):
        assert text.count(STAND_IN) >= 5
    test = RunTest(
        id="t",
        kind="run",
        requirements=("r",),
        workload="gpu_gemm",
        limits=(
            LimitEntry(metric="gpu_gemm.f64.rate", at_least="1 flop/s"),
            LimitEntry(metric="gpu_gemm.f64.rate", at_least=0.1, of="gpu.flops.fp64.matrix"),
        ),
    )
    session = run_verdict.load(tmp_path / "run")
    points = run_verdict.points(test, [records[0].run], session)
    assert points and {one.state for one in points} == {"undecided"}
    assert all(STAND_IN in one.found for one in points)


def test_on_gpus_the_figure_is_that_of_random_data_and_comet_stands_beside_the_fluid(
    tmp_path: Path, recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, analysis = analysed(tmp_path, recordings, monkeypatch, "cuda")
    assert [one.state for one in analysis.verdicts] == ["met"]
    assert STAND_IN not in " ".join(analysis.summary)
    headed = [one for one in analysis.summary if "GEMM" in one]
    assert headed and all("data random" in one for one in headed), "said, because constant data were measured too"
    section = next(one for one in document(analysis).sections if one.short == "gpu_gemm")
    bars = [bar for one in section.blocks if isinstance(one, Bars) for bar in one.bars]
    assert len(bars) == 7 and all(bar.detail == "data random" for bar in bars)
    assert bars[0].title == "DGEMM on a GPU", "what heads the workload stands first"
    assert {(one.metric, one.system, one.theirs) for one in analysis.beside} == {("gpu_lj.rate", "comet", 68.74e6)}
    assert analysis.beside[0].differences == ("1 GPU here, 2 GPUs there",), "the nearest in nodes and devices, unranked"


def test_constant_data_do_not_head_products_on_gpus() -> None:
    metrics = {one.name: one for one in workloads.get("gpu_gemm").metrics}
    for name in ("gpu_gemm.f64.rate", "gpu_gemm.bf16.rate", "gpu_gemm.i8.rate", "gpu_gemm.clock"):
        assert values.is_figure(metrics[name], {"n": 1024, "data": "random"})
        assert not values.is_figure(metrics[name], {"n": 1024, "data": "ones"})
        assert values.is_figure(metrics[name], {"n": 1024, "data": "ones"}, {"data"})


# --------------------------------------------------------------------------------------------- nothing could be measured


def left(text: str = "", *, code: int = 0, stderr: bytes = b"") -> Measurement:
    lines = [b'{"event":"start","program":"gpu_stream","schema":1,"unix_ns":0}']
    if text:
        event = {"event": "notice", "code": "gpu-size-left-out", "text": text, "advice": "name smaller --sizes"}
        lines.append(msgspec.json.encode(event))
    lines.append(b'{"event":"end","ok":true,"unix_ns":1}')
    job = Job(run="r", repeat=1, argv=("x",), exit_code=code, begin_ns=0, end_ns=1)
    params: dict[str, Value] = {name: one.default for name, one in workloads.get("gpu_stream").params.items()}
    run = Run(id="r", workload="gpu_stream", params=params, label="", estimate_s=1, limit_s=9)
    return measure.measurement(run, job, b"\n".join(lines), stderr)


def test_a_program_that_left_everything_out_could_not_measure_and_says_why_itself() -> None:
    why = "three arrays of 90.95 TiB do not fit"
    assert (left(why).state, left(why).reason) == ("unavailable", f"{why} (next: name smaller --sizes)")
    assert left(why, code=3).state == "unavailable" and why in left(why, code=3).reason
    assert left(why, code=3, stderr=b"gpu_stream: all sizes were left out\n").reason.endswith("all sizes were left out")
    assert left().state == "garbage", "nothing was left out, and there is nothing"


# ---------------------------------------------------------------------------------------- published systems and recordings


def printed(recordings: Path) -> dict[str, dict[str, set[str]]]:
    """By metric: the words that programs printed for each parameter in the recorded samples, and "" for a number."""
    found: dict[str, dict[str, set[str]]] = {}
    for one in map(workloads.get, workloads.names()):
        params = {name: param.default for name, param in one.params.items()}
        for sample in one.samples:
            data = (recordings / sample.recording).read_bytes()
            cases = cases_of(one, data, params)
            for metric in one.metrics:
                for case in (case for case in cases if case.kernel == metric.kernel):
                    for name, value in case.params.items():
                        words = found.setdefault(metric.name, {}).setdefault(name, set())
                        words.add(value if isinstance(value, str) else "")
    return found


#: What ends the program with the library that was there to record (Open MPI 4.1.4); what needs a third switch.
UNRECORDED = {"shmem_int_cswap", "nodes even further apart over outside a node"}


def test_every_published_value_agrees_with_what_our_programs_print(recordings: Path) -> None:
    known = printed(recordings)
    metrics = {one.name: one for name in workloads.names() for one in workloads.get(name).metrics}
    compared = 0
    for system in systems():
        for value in system.values:
            metric = metrics.get(value.metric)
            if metric is None:
                continue
            assert metric.unit == value.unit, (system.id, value.metric)
            assert metric.name in known, metric.name
            for name in metric.match:
                assert name in known[metric.name], f"no recorded sample of {metric.name} prints {name}"
                if name not in value.params:
                    continue  # not told: it stands beside nothing
                theirs, ours = value.params[name], known[metric.name][name]
                if metric.name.startswith("shmem.atomic."):  # which operation, by the name that OSU gives it
                    assert theirs in ours | UNRECORDED, (system.id, ours)
                elif (
                    name == "case" and metric.per != "ratio"
                ):  # an input that is generated is a case of its own: no seconds stand side by side
                    assert theirs not in ours and all(one.startswith("generated ") for one in ours), (system.id, ours)
                elif isinstance(theirs, str):
                    assert theirs in ours | UNRECORDED, (
                        f"{system.id}: {metric.name} has {name} {theirs!r}, programs print {ours}"
                    )
                else:
                    assert ours == {""}, (
                        f"{system.id}: {metric.name} has the number {name} {theirs}, programs print {ours}"
                    )
                compared += 1
    assert compared > 50


def test_numbers_agree_as_numbers_and_words_as_words() -> None:
    metric = msgspec.structs.replace(RATE, match=("n", "cutoff", "word"))
    same = [{"n": 64000, "cutoff": 3, "word": "3"}, {"n": 64000.0, "cutoff": 3.0, "word": "3"}]
    assert len({published_comparison.matched(metric, one) for one in same}) == 1
    assert published_comparison.matched(metric, {"n": 1, "cutoff": 2.5}) != published_comparison.matched(
        metric, {"n": 1, "cutoff": 2}
    )


# ------------------------------------------------------------------------------------------------------- rows of compare


def entries(*metrics: Metric, sizes: int, extra: str = "") -> list[compare.Entry]:
    def found(factor: float) -> tuple[Finding, ...]:
        return tuple(
            finding(metric, factor * (at + 1), n=2**at, data="random", **({"level": extra} if extra else {}))
            for metric in metrics
            for at in range(sizes)
        )

    return [compare.Entry(name=name, findings=found(factor)) for name, factor in (("a", 1.0), ("b", 2.0))]


def test_rows_with_several_parameters_are_shown() -> None:
    metric = msgspec.structs.replace(RATE, match=("n", "data"))
    rows = compare.side_by_side(entries(metric, sizes=3), {"m": metric})
    assert [row.params for row in rows if not row.detail] == [f"n={n}, data=random" for n in (1, 2, 4)]


def test_of_many_rows_of_a_metric_the_best_is_shown_and_of_others_theirs() -> None:
    metric = msgspec.structs.replace(RATE, match=("n", "data"))
    other = msgspec.structs.replace(RATE, name="o", match=())
    rows = compare.side_by_side(entries(metric, other, sizes=40), {"m": metric, "o": other})
    shown = [(row.metric, row.params) for row in rows if not row.detail]
    assert shown == [("m", f"n={2**39}, data=random"), ("o", "best")]
    assert len(rows) > 40, "the rest is there for --all"


def test_something_is_shown_where_anything_is_alike() -> None:
    metric = msgspec.structs.replace(RATE, limit="{level}.bandwidth", match=())
    rows = compare.side_by_side(entries(metric, sizes=20, extra="l1"), {"m": metric})
    assert rows and any(not row.detail for row in rows)
    assert compare.side_by_side(entries(metric, sizes=20), {}) == ()
