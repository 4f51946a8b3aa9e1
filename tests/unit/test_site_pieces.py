"""Pieces of the site: summaries of runs, what is screened out, paths, strips."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import msgspec
import numpy as np

from shakedown.analysis import run_summary, trend
from shakedown.analysis.trend import chart
from shakedown.document import strips
from shakedown.results.run_directory import RunDirectory
from shakedown.site.layout import slug
from support import trends
from support.command import called

T0_NS = 1_750_000_000 * 10**9
HOSTILE = "<img src=x onerror=alert(1)>'\"&ü\N{RIGHT-TO-LEFT OVERRIDE}"

# --------------------------------------------------------------------------------------------------------------- summaries


def test_a_summary_says_what_a_history_reads(tmp_path: Path) -> None:
    path = trends.run(tmp_path / "r", T0_NS, [2e10, 2.2e10, 2.1e10], trends.node())
    (run,) = trend.read([path], T0_NS + trends.DAY_NS).runs
    summary = run_summary.made(RunDirectory.open(path))
    found = {
        trend.Key(one.host, one.workload, one.metric, one.params, one.circumstances.encode()): value
        for one, value in zip(summary.series, summary.values, strict=True)
    }
    assert found == run.values and found
    assert called("report", path, "--format", "json").returncode == 0
    held = run_summary.read(path)
    assert held is not None and (held[0].values, held[0].looked_ns) == (summary.values, summary.looked_ns)
    assert msgspec.json.decode(held[0].series) == msgspec.json.decode(msgspec.json.encode(summary.series))


def test_a_summary_of_before_is_not_used(tmp_path: Path) -> None:
    path = trends.run(tmp_path / "r", T0_NS, [2e10], trends.node())
    (path / run_summary.FILE).write_bytes(run_summary.encoded(run_summary.made(RunDirectory.open(path))))
    assert run_summary.read(path) is not None
    later = (path / run_summary.FILE).stat().st_mtime_ns + 10**9
    os.utime(path / "runs/r1", ns=(later, later))
    assert run_summary.read(path) is None, "a repeat was begun after it"
    shutil.rmtree(path / "runs")
    assert run_summary.read(path) is not None
    (path / run_summary.FILE).write_text('{"schema": 1}')
    assert run_summary.read(path) is None


# ------------------------------------------------------------------------------------------------------------------ pieces


def test_what_is_screened_out_has_no_alarm() -> None:
    rng = np.random.default_rng(8)
    rows = np.exp(0.01 * rng.standard_normal((60, 300)))
    rows[:10, 200:] *= 0.97
    rows[10:20] = np.round(rows[10:20], 2)
    told = chart.alarming(rows, 1 / 400)
    assert told[:10].all() and 10 < told.sum() < 60
    for row, may in zip(rows, told, strict=True):
        assert may or not chart.alarms(np.log(row), 1 / 400)


def test_paths_are_plain_stable_and_never_alike() -> None:
    names = [
        "node1",
        "Node1",
        "NODE1",
        "",
        ".",
        "..",
        "a/b",
        "a\\b",
        "con",
        "nul.txt",
        "x" * 300,
        "\u00e9",
        "e\u0301",
        "a--b",
        "a b",
        HOSTILE,
    ]
    made_of = [slug(name) for name in names]
    assert len(set(made_of)) == len(names) == len({one.lower() for one in made_of})
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,79}", one) for one in made_of)
    assert made_of[0] == "node1" and made_of == [slug(name) for name in names]


def test_strips_stay_within_their_box_for_any_values() -> None:
    rng = np.random.default_rng(1)
    for values in (np.full(5, 3.0), 10 ** rng.uniform(-300, 300, 50), np.array([1e-9]), rng.normal(1, 1e-9, 400)):
        times = np.sort(rng.uniform(1e9, 2e9, len(values)))
        drawn = strips.history(times, values, 1e9, 2e9, 1.5e9)
        points = [tuple(map(int, pair.split(","))) for pair in re.findall(r'points="([^"]*)"', drawn)[0].split()]
        assert all(0 <= x <= strips.WIDTH and 0 <= y <= strips.HEIGHT for x, y in points)
        assert [x for x, _ in points] == sorted({x for x, _ in points})
    assert "nan" not in strips.place(1.0, (1.0, 1.0, 1.0, 1.0, 1.0))
