"""Energy per job, node and hour: exact against the plainest sum there is, whatever the layout, the gaps and the jobs."""

from __future__ import annotations

import csv
import json
import math
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from shakedown.energy.archive import energies, jobs, layout, segments
from shakedown.errors import BadInput

BEGIN = 1_700_000_000 * 10**9 // segments.HOUR_NS * segments.HOUR_NS
Row = tuple[str, int, float | None]


def write(path: Path, rows: list[Row], *, order: str = "node, t_ns", group: int = 2048, time: str = "t_ns") -> Path:
    """Rows of node, stamp and power as a Parquet file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {
        "node": np.array([row[0] for row in rows], object),
        "t_ns": np.array([row[1] for row in rows], np.int64),
        "value": np.array([math.nan if row[2] is None else row[2] for row in rows], np.float64),
    }
    with duckdb.connect() as db:
        db.register("columns", columns)
        stamp = {"t_ns": "t_ns", "ns": "make_timestamp_ns(t_ns) as time", "tz": "to_timestamp(t_ns / 1e9) as time"}[
            time
        ]
        db.execute(
            f"copy (select node, {stamp}, case when not isnan(value) then value end as value from columns "
            f"order by {order}) to '{path}' (format parquet, row_group_size {group})"
        )
    return path


def brute(
    rows: list[Row], spans: list[tuple[str, int, int]], scope: segments.Scope, gap_ns: int
) -> list[tuple[Fraction, int]]:
    """(J, ns covered) of each (node, begin, end): every interval by itself, in exact fractions."""
    of_node: dict[str, list[tuple[int, float | None]]] = {}
    for node, t, v in rows:
        of_node.setdefault(node, []).append((t, v))
    for own in of_node.values():
        own.sort(key=lambda one: one[0])
    out = []
    for node, begin, end in spans:
        energy, covered = Fraction(0), 0
        own = of_node.get(node, [])
        for (t0, v0), (t1, v1) in pairwise(own):
            low, high = max(t0, begin), min(t1, end)
            if low >= high or t1 - t0 > gap_ns:
                continue
            if (v1 if scope == "last" else v0) is None or (scope == "point" and v1 is None):
                continue
            a, b = Fraction(v0 or 0), Fraction(v1 or 0)
            if scope == "last":
                mean = b
            elif scope == "next":
                mean = a
            else:
                mean = a + (b - a) * Fraction((low - t0) + (high - t0), 2 * (t1 - t0))
            energy += mean * (high - low) / 10**9
            covered += high - low
        out.append((energy, covered))
    return out


@st.composite
def history(draw: st.DrawFn) -> tuple[list[Row], list[tuple[str, str, int, int, float]]]:
    """Readings with gaps, nulls and repeated stamps on a few nodes, and jobs that overlap and reach beyond them."""
    rows: list[Row] = []
    for node in ("a", "b", "c")[: draw(st.integers(1, 3))]:
        t = BEGIN + draw(st.integers(0, 5 * 10**9))
        for _ in range(draw(st.integers(2, 40))):
            value = draw(st.one_of(st.none(), st.floats(0, 1000, allow_nan=False), st.integers(0, 500).map(float)))
            rows.append((node, t, value))
            t += draw(st.sampled_from([0, 10**9, 10**9, 10**9, 1_234_567_891, 30 * 10**9, 1800 * 10**9]))
    # Two readings with one stamp: which comes first is not told, so they agree.
    seen: dict[tuple[str, int], float | None] = {}
    rows = [(node, t, seen.setdefault((node, t), value)) for node, t, value in rows]
    work = []
    for number in range(draw(st.integers(0, 6))):
        begin = BEGIN + draw(st.integers(-10, 8000)) * 10**9 + draw(st.integers(0, 10**9))
        length = draw(st.integers(0, 4000)) * 10**9 + draw(st.integers(1, 10**9))
        for node in draw(st.sets(st.sampled_from(["a", "b", "c", "gone"]), min_size=1)):
            work.append((f"j{number}", node, begin, begin + length, float(draw(st.integers(1, 64)))))
    return rows, work


@settings(max_examples=20, deadline=None)
@given(
    history(), st.sampled_from(["last", "next", "point"]), st.sampled_from(["node, t_ns", "t_ns, node"]), st.booleans()
)
def test_energies_are_those_of_the_plainest_sum(
    tmp_path_factory: pytest.TempPathFactory,
    made: tuple[list[Row], list[tuple[str, str, int, int, float]]],
    scope: segments.Scope,
    order: str,
    small: bool,
) -> None:
    rows, work = made
    assume(min(row[1] for row in rows) < max(row[1] for row in rows))
    path = write(tmp_path_factory.mktemp("archive") / "a.parquet", rows, order=order)
    there = layout.open_archive([path])
    rules = segments.Rules(scope=scope, gap_s=20.0, shared="equal")
    whole = layout.CHUNK
    try:
        layout.CHUNK = 7 if small else whole
        found = energies.totals(there, jobs.jobs(work), rules)
    finally:
        layout.CHUNK = whole
    begin, end = found.begin_ns, found.end_ns
    wanted = brute(rows, [(node, begin, end) for node in found.nodes], scope, 20 * 10**9)
    assert found.node_j == pytest.approx([float(one[0]) for one in wanted], rel=1e-12, abs=1e-9)
    assert np.array_equal(np.round(found.node_covered_s * 1e9), [one[1] for one in wanted])
    for at, hour in enumerate(found.hour_ns):
        spans = [(node, max(begin, int(hour)), min(end, int(hour) + segments.HOUR_NS)) for node in found.nodes]
        parts = brute(rows, spans, scope, 20 * 10**9)
        assert found.hour_j[at] == pytest.approx(float(sum(one[0] for one in parts)), rel=1e-12, abs=1e-9)
    # What jobs have and what no job had add up to the nodes, however jobs share them.
    assert np.sum(found.job_j) + np.sum(found.node_idle_j) == pytest.approx(np.sum(found.node_j), rel=1e-12, abs=1e-9)
    for index, name in enumerate(found.job_ids):
        own = [row for row in work if row[0] == name]
        spans = [(row[1], max(begin, row[2]), min(end, row[3])) for row in own]
        parts = brute(rows, spans, scope, 20 * 10**9)
        assert found.job_covered_s[index] * 1e9 == pytest.approx(sum(one[1] for one in parts), abs=1)
        assert found.job_missing[index] == tuple(sorted({row[1] for row in own} - set(found.nodes)))
        alone = not any(
            other[0] != name and other[1] == row[1] and other[2] < row[3] and row[2] < other[3]
            for row in own
            for other in work
        )
        if alone:
            assert found.job_j[index] == pytest.approx(float(sum(one[0] for one in parts)), rel=1e-12, abs=1e-9)


def steady(nodes: int, seconds: int, watts: float = 100.0) -> list[Row]:
    return [(f"n{node}", BEGIN + t * 10**9, watts * (node + 1)) for node in range(nodes) for t in range(seconds + 1)]


def test_shared_nodes_are_split_equally_or_by_weight(tmp_path: Path) -> None:
    there = layout.open_archive([write(tmp_path / "a.parquet", steady(1, 100))])
    at = [BEGIN + second * 10**9 for second in range(101)]
    work = jobs.jobs([("a", "n0", at[0], at[60], 48.0), ("b", "n0", at[40], at[100], 16.0)])
    equal = energies.totals(there, work, segments.Rules())
    assert list(equal.job_j) == pytest.approx([4000 + 1000, 1000 + 4000])
    weighed = energies.totals(there, work, segments.Rules(shared="weight"))
    assert list(weighed.job_j) == pytest.approx([4000 + 1500, 500 + 4000])
    assert list(weighed.job_covered_s) == [60.0, 60.0]


def test_a_gap_is_unknown_not_zero_power(tmp_path: Path) -> None:
    rows = [row for row in steady(1, 100) if not 30 < (row[1] - BEGIN) // 10**9 < 70]
    found = energies.totals(layout.open_archive([write(tmp_path / "a.parquet", rows)]), jobs.none())
    assert found.node_j[0] == pytest.approx(6000)
    assert found.node_covered_s[0] == 60.0
    assert found.node_gap_s[0] == 5.0  # five times the spacing
    bridged = energies.totals(layout.open_archive([tmp_path / "a.parquet"]), jobs.none(), segments.Rules(gap_s=40))
    assert bridged.node_j[0] == pytest.approx(10_000)


@pytest.mark.parametrize("time", ["t_ns", "ns", "tz"])
@pytest.mark.parametrize("order", ["node, 2", "2, node"])
def test_layouts_kinds_of_time_and_processes_give_the_same(
    tmp_path: Path, time: str, order: str, monkeypatch: Any
) -> None:
    rows = steady(5, 4000)
    for part in range(2):
        half = [row for row in rows if (row[1] - BEGIN) // 10**9 // 2001 == part]
        write(tmp_path / f"traces/{part}.parquet", half, order=order, time=time)
    there = layout.open_archive([tmp_path / "traces"])
    assert layout.by_node(there, [f"n{node}" for node in range(5)]) == (order == "node, 2")
    monkeypatch.setattr(layout, "CHUNK", 3000)
    work = jobs.jobs([("j", f"n{node}", BEGIN + 10**9, BEGIN + 3600 * 10**9 + 1, 1.0) for node in range(5)])
    found = energies.totals(there, work)
    assert found.rows == len(rows)
    assert list(found.node_j) == pytest.approx([4000 * 100.0 * (node + 1) for node in range(5)])
    assert found.job_j[0] == pytest.approx(1500 * (3599 + 1e-9))
    assert list(found.hour_j) == pytest.approx([1500 * 3600, 1500 * 400])
    assert list(found.node_covered_s) == [4000.0] * 5


def test_readings_without_a_node_belong_to_none(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    with duckdb.connect() as db:
        db.execute(
            f"copy (select case when i < 50 then 'a' end as node, {BEGIN} + i * 1000000000 as t_ns, 100.0 as value "
            f"from range(100) r(i)) to '{path}' (format parquet)"
        )
    found = energies.totals(layout.open_archive([path]), jobs.none())
    assert found.nodes == ("a",) and list(found.node_j) == [4900.0]


def test_nodes_with_numbers_for_names(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    with duckdb.connect() as db:
        db.execute(
            f"copy (select 9 + i // 50 as node, {BEGIN} + i % 50 * 1000000000 as t_ns, 100.0 as value "
            f"from range(150) r(i)) to '{path}' (format parquet)"
        )
    found = energies.totals(layout.open_archive([path]), jobs.none())
    assert found.nodes == ("10", "11", "9") and list(found.node_j) == [4900.0] * 3


def test_two_processes_agree_with_one(tmp_path: Path) -> None:
    there = layout.open_archive([write(tmp_path / "a.parquet", steady(4, 3000))])
    work = jobs.jobs([("j", f"n{node}", BEGIN, BEGIN + 10**12, 1.0) for node in range(4)])
    one, two = energies.totals(there, work, processes=1), energies.totals(there, work, processes=2)
    assert one.nodes == two.nodes and np.array_equal(one.node_j, two.node_j) and np.array_equal(one.job_j, two.job_j)


# ------------------------------------------------------------------------------------------------------------ the jobs


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[001-003,7],m4", ["n001", "n002", "n003", "n7", "m4"]),
        ("a b;c+d", ["a", "b", "c", "d"]),
        ("r[1-2]n[3-4]x", ["r1n3x", "r1n4x", "r2n3x", "r2n4x"]),
        ("n1,n1", ["n1"]),
    ],
)
def test_lists_of_nodes(text: str, names: list[str]) -> None:
    assert jobs.expand(text) == names


@pytest.mark.parametrize("text", ["", " ", "n[1-", "n[3-1]", "n[a]", "n[1-2-3]"])
def test_lists_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(BadInput):
        jobs.expand(text)


def test_jobs_from_slurms_accounting(tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text(
        "JobID|NodeList|Start|End|AllocCPUS\n"
        "12|n[1-2],m4|2023-11-14T23:13:20|2023-11-15T00:13:20|96\n"
        "13|n7|2023-11-15T01:00:00|Unknown|4\n"
    )
    with pytest.raises(BadInput, match="no end"):
        jobs.read(path, zone="Europe/Berlin")
    found = jobs.read(path, zone="Europe/Berlin", until_ns=1_700_010_000 * 10**9)
    assert found.ids == ("12", "13") and found.open_ids == ("13",)
    assert set(found.node) == {"n1", "n2", "m4", "n7"}
    assert found.begin_ns[0] == 1_700_000_000 * 10**9 and found.end_ns[-1] == 1_700_010_000 * 10**9
    with pytest.raises(BadInput, match="zone"):
        jobs.read(path, until_ns=0)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("job,nodes,begin\n1,n1,0\n", "no column for end"),
        ("job,nodes,begin,end\n1,n[1,2],0,1\n", "cells"),
        ("job,nodes,begin,end\n1,n1,1700000100,1700000000\n", "ends before"),
        ("job,nodes,begin,end\n1,n1,yesterday,1700000000\n", "is not a valid time"),
        ("job,nodes,begin,end,cores\n1,n1,1700000000,1700000001,0\n", "above zero"),
    ],
)
def test_jobs_that_cannot_be_are_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=why) as raised:
        jobs.read(path, zone="UTC")
    assert raised.value.hint


# --------------------------------------------------------------------------------------------------------- the command


def run(*words: str | Path) -> Any:
    import typer

    from shakedown.cli.energy_archive import command

    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.fixture
def kept(tmp_path: Path) -> tuple[Path, Path]:
    traces = write(tmp_path / "a.parquet", steady(2, 7200))
    table = tmp_path / "jobs.csv"
    second = BEGIN // 10**9
    table.write_text(
        f"job,nodes,begin,end\nfirst,n[0-1],{second},{second + 3600}\nsecond,n1 n9,{second + 3600},{second + 5400}\n"
    )
    return traces, table


def test_the_command_by_job_as_json_csv_and_parquet(tmp_path: Path, kept: tuple[Path, Path]) -> None:
    traces, table = kept
    done = run(traces, "--jobs", table, "--by", "job", "--json")
    assert done.exit_code == 0, done.output
    rows = {row["job"]: row for row in json.loads(done.stdout)["jobs"]}
    assert rows["first"]["energy_j"] == pytest.approx(300 * 3600)
    assert rows["second"]["energy_j"] == pytest.approx(200 * 1800)
    assert rows["second"]["covered"] == pytest.approx(0.5) and rows["second"]["nodes_missing"] == ["n9"]
    done = run(traces, "--jobs", table, "--by", "job", "--csv")
    lines = list(csv.DictReader(done.stdout.splitlines()))
    assert float(lines[0]["energy_j"]) == pytest.approx(300 * 3600)
    out = tmp_path / "jobs.parquet"
    assert run(traces, "--jobs", table, "--by", "job", "--output", out).exit_code == 0
    with duckdb.connect() as db:
        assert db.execute(f"select sum(energy_j) from '{out}'").fetchone() == pytest.approx((300 * 3600 + 200 * 1800,))


def test_the_command_by_node_and_hour(kept: tuple[Path, Path]) -> None:
    traces, table = kept
    rows = json.loads(run(traces, "--by", "hour", "--json").stdout)["hours"]
    assert [row["energy_j"] for row in rows] == pytest.approx([300 * 3600, 300 * 3600])
    rows = json.loads(run(traces, "--jobs", table, "--by", "node", "--json").stdout)["nodes"]
    assert rows[1]["energy_j"] == pytest.approx(200 * 7200) and rows[1]["idle_j"] == pytest.approx(200 * 1800)
    text = run(traces, "--by", "node")
    assert "covered" in text.stdout and "n1" in text.stdout


def test_the_command_refuses(tmp_path: Path, kept: tuple[Path, Path]) -> None:
    traces, table = kept
    for words in (
        ("--by", "job"),
        ("--by", "week"),
        ("--jobs", table, "--by", "job", "--semantics", "guess"),
        ("--by", "node", "--begin", "2030-01-01", "--end", "2029-01-01"),
    ):
        done = run(traces, *words)
        assert isinstance(done.exception, BadInput), (words, done.output)
        assert done.exception.hint
    assert isinstance(run(tmp_path / "none.parquet", "--by", "node").exception, BadInput)
