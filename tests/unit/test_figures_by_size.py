"""Figures over sizes: lines where a word spells the size, axes in the workload's words, titles that tell figures apart."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import msgspec
import pytest

from shakedown import workloads
from shakedown.analysis import derive, table
from shakedown.document.model import Lines
from shakedown.document.text import params_of
from shakedown.programs import events
from shakedown.records import Finding, Measurement, Metric, Value
from shakedown.report import _choose, _figures
from support.findings import finding

FFT = {one.name: one for one in workloads.get("gpu_fft").metrics}
RATE = FFT["gpu_fft.rate"]
SHAPES = ("256", "1024", "4096", "16384", "64x64", "128x128", "16x16x16")


def lines(found: list[Finding], *metrics: Metric) -> list[Lines]:
    made = _figures.of_workload(found, {one.name: one for one in metrics or (RATE,)}, ())
    return [one for one in made.figures if isinstance(one, Lines)] if made else []


def transform(shape: str, batch: int, **more: Value) -> Finding:
    n = math.prod(map(int, shape.split("x")))
    return finding(RATE, 1e9 + n, n=n, shape=shape, batch=batch, **more)


def test_a_line_over_sizes_for_each_number_of_dimensions() -> None:
    (drawn,) = lines([transform(shape, 1, precision="double") for shape in SHAPES])
    assert {one.name: len(one.points) for one in drawn.series} == {"one dimension": 4, "two dimensions": 2}
    assert "Lines of few points are left out" in drawn.caption
    assert drawn.x.title == "points" and drawn.title.endswith("by points")


def test_batches_that_fill_what_there_is_are_a_line_and_not_a_point_each() -> None:
    found = [
        transform(shape, batch, precision="double")
        for shape in ("256", "1024", "4096", "16384")
        for batch in (1, 2**20 // int(shape))
    ]
    (drawn,) = lines(found)
    assert {one.name: len(one.points) for one in drawn.series} == {"batch 1": 4, "full batch": 4}


def test_a_batch_that_was_asked_for_as_a_number_stays_one() -> None:
    found = [transform(shape, batch) for shape in ("256", "1024", "4096") for batch in (1, 4)]
    drawn = lines(found)[0]
    assert {one.name for one in drawn.series} == {"batch 1", "batch 4"}


def test_shapes_that_only_their_word_tells_apart_stay_as_they_are() -> None:
    rows = _choose.rows_of([transform(shape, 1) for shape in ("8x32", "32x8", "16x16")])
    assert _choose._spelt(rows) == rows
    rows = _choose.rows_of([finding(RATE, 1, n=5, shape="2x4"), finding(RATE, 1, n=9, shape="9")])
    assert _choose._spelt(rows) == rows, "no number is what the word spells"


def test_figures_that_would_have_one_title_say_what_each_is_made_with() -> None:
    found = [
        transform(shape, 1, precision=precision, library=library)
        for precision, library, shape in itertools.product(
            ("double", "single"), ("a", "b"), (*SHAPES, "256x256", "32x32x32")
        )
    ]
    drawn = lines(found)
    titles = [one.title for one in drawn]
    assert len(drawn) > 1 and len(set(titles)) == len(titles), titles


@pytest.mark.parametrize(
    ("workload", "title"),
    [
        ("gpu_nbody", "bodies"),
        ("nbody", "bodies"),
        ("lj", "particles"),
        ("gpu_lj", "particles"),
        ("fft", "points"),
        ("gemm", "order of the matrix"),
        ("hpl", "order of the matrix"),
        ("gpu_gemm", "order of the matrix"),
    ],
)
def test_an_axis_is_called_what_it_is(workload: str, title: str) -> None:
    metric = workloads.get(workload).metrics[0]
    (drawn,) = lines([finding(metric, float(n), n=n) for n in (1000, 2000, 4000)], metric)
    assert drawn.x.title == title


def test_a_number_that_nobody_named_keeps_its_name() -> None:
    metric = Metric(name="x", title="X", unit="s", better="lower")
    (drawn,) = lines([finding(metric, float(n), n=n) for n in (1000, 2000, 4000)], metric)
    assert drawn.x.title == "n"


def test_a_sweep_as_the_program_prints_it_is_lines_over_all_its_sizes(recordings: Path) -> None:
    printed = events.parse((recordings / "gpu/gpu-fft-host.jsonl").read_bytes()).cases
    like = next(one for one in printed if one.kernel == "fft" and one.params["index"] == 0)
    cases = [
        msgspec.structs.replace(like, params={**like.params, "n": n, "shape": str(n), "batch": batch})
        for n in (256, 1024, 4096, 16384, 65536, 262144)
        for batch in (1, 2**24 // n)
    ]
    record = Measurement(
        run="r", repeat=1, workload="gpu_fft", params={}, host="h", state="ok", cases=tuple(cases), begin_ns=0, end_ns=1
    )
    found = derive.findings(table.from_measurements([record]), {"gpu_fft": (RATE,)})
    (drawn,) = lines(found)
    assert sorted(len(one.points) for one in drawn.series) == [6, 6]


def test_what_speaks_for_itself_stands_without_its_name() -> None:
    assert params_of({"batch": "full batch", "precision": "double"}) == "full batch, precision double"
