"""Forecasts of published series by scripts/bench/forecast.py: how often their 80 % intervals hold, who is refused."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import msgspec
import pytest

from shakedown.errors import BadInput
from shakedown.prediction import forecast, page, setup
from shakedown.prediction.priors import DEFAULTS
from support import bench


@cache
def outcomes() -> dict[str, Any]:
    return {one.name: bench.script("forecast").judge(one) for one in bench.script("forecast").read()}


def test_the_intervals_hold_on_series_that_were_held_out() -> None:
    """At least ten series of machines that no range was settled with; those that the model refuses have no interval."""
    own = [one for one in outcomes().values() if one.series.role == "held out"]
    assert len(own) >= 10
    rows = sum(len(one.rows) for one in own)
    assert rows >= 40
    assert 0.75 <= sum(one.inside for one in own) / rows <= 0.90


def test_the_intervals_are_narrow_enough_to_be_of_use() -> None:
    widths = [
        (high - low) / rate
        for one in outcomes().values()
        if one.series.role == "held out"
        for _, rate, low, high in one.rows
    ]
    assert sorted(widths)[len(widths) // 2] < 0.15


def test_few_are_refused_and_each_with_its_reason() -> None:
    refused = [one for one in outcomes().values() if one.refused]
    assert len(refused) <= 2
    assert all("the model misses the run on" in one.refused for one in refused)


def test_gpus_described_as_nodes_are_refused_and_as_gpus_forecast() -> None:
    """42, 83 and 168 Tflop/s on 1, 2 and 4 GPUs: measured 328 on 8, once forecast at 37."""
    series = next(one for one in bench.script("forecast").read() if one.name.startswith("Kempner"))
    as_nodes = msgspec.structs.replace(series.described, counts="nodes", priors=DEFAULTS)
    with pytest.raises(BadInput, match="by -") as refused:
        forecast.forecast(as_nodes, series.observed, series.held_out)
    assert 'counts = "gpus"' in refused.value.hint
    found = forecast.forecast(series.described, series.observed, series.held_out)
    assert all(abs(one.error) < 0.1 for one in found.calibrated)
    assert page.lead(found)


def test_the_script_prints_each_series_and_the_coverage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["forecast.py", "--only", "Siyuan", "--rows"])
    bench.script("forecast").main()
    out = capsys.readouterr().out
    assert "Siyuan-1" in out and "held out 1 1 1 100%" in " ".join(out.split())  # rows, inside, of, share


def test_intervals_of_gpus_hold_too_and_say_why_they_are_wide() -> None:
    """1 of 5 held-out rows of GPU series lay in their intervals, which were those of processors."""
    on_gpus = [one for one in outcomes().values() if one.series.described.counts == "gpus"]
    rows = sum(len(one.rows) for one in on_gpus)
    assert rows == 13 and 0.75 <= sum(one.inside for one in on_gpus) / rows <= 0.95
    own = [one for one in on_gpus if one.series.role == "held out"]
    assert sum(one.inside for one in own) >= 4 and sum(len(one.rows) for one in own) == 5
    series = own[0].series
    found = forecast.forecast(series.described, series.observed, series.held_out)
    assert any("On GPUs the intervals are wide" in one for one in found.notices)


def test_the_error_of_a_description_is_that_of_its_kind_where_it_says_none() -> None:
    text = 'title = "t"\ncounts = "{}"\n[run]\nranks_per_node = 1\nnb = 256\n[error]\nnoise = 0.02\n{}'
    gpus = setup.parse(text.format("gpus", ""), "t.toml").error
    assert (gpus.noise, gpus.discrepancy) == (0.02, setup.GPU_DISCREPANCY)
    assert setup.parse(text.format("gpus", "discrepancy = 0.0"), "t.toml").error.discrepancy == 0.0
    assert setup.parse(text.format("nodes", ""), "t.toml").error.discrepancy == 0.007


def test_the_documentation_says_how_much_the_choices_matter() -> None:
    document = (bench.BENCH.parents[1] / "docs" / "forecast.md").read_text(encoding="utf-8")
    for one in bench.script("forecast").choices():
        (line,) = (row for row in document.splitlines() if row.startswith(f"| {one.changed} |"))
        told = [float(cell.strip().removesuffix(" %")) for cell in line.strip("|").split("|")[1:]]
        assert told == pytest.approx([100 * one.mean, 100 * one.worst, 100 * one.last], abs=0.15), one.changed
