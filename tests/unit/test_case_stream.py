"""Matrices of very many pairs: the analysis keeps them as columns, and says what it would with a finding each."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from test_pairs_read import cases, run_directory

from shakedown import report
from shakedown.analysis import build, case_stream, derive, table
from shakedown.analysis.pairs import pair_matrix, pairs_of, simulate
from shakedown.analysis.pairs import verdict as judged
from shakedown.analysis.pairs.simulate import Fleet
from shakedown.records import Analysis, Case, Limit, Measurement, Residual
from shakedown.report.formats import json as json_format
from shakedown.results import run_directory as store
from shakedown.workloads import pingpong

FLEET = Fleet(nodes=66, slow_nodes={2: 0.12}, slow_links={(3, 9): 0.4})
METRICS = {"pingpong": pingpong.WORKLOAD.metrics}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> store.RunDirectory:
    return run_directory(tmp_path_factory.mktemp("many") / "run", cases(simulate.pairs(FLEET, 3)), repeats=2)


@pytest.fixture(scope="module")
def analysis(directory: store.RunDirectory) -> Analysis:
    return build.analyse(directory)[0]


def test_the_best_and_the_worst_pair_stay_findings_with_their_repeats(
    directory: store.RunDirectory, analysis: Analysis
) -> None:
    every = derive.findings(table.from_measurements(directory.load().measurements), METRICS)
    assert len(every) == 2 * 66 * 65 // 2  # bandwidth and message rate
    kept = {(one.metric, table.key(one.params)): one for one in analysis.findings}
    for metric in ("pingpong.bandwidth", "pingpong.message_rate"):
        of_metric = [one for one in every if one.metric == metric]
        for end in (min, max):
            one = end(of_metric, key=lambda one: one.value or 0.0)
            told = kept[metric, table.key(one.params)]
            assert (told.value, told.low, told.high, told.n_samples, told.n_runs) == (
                one.value,
                one.low,
                one.high,
                one.n_samples,
                one.n_runs,
            )
    assert len(kept) == 4
    noted = [one for one in analysis.findings if any(note.code == "of-many-pairs" for note in one.notices)]
    assert {one.metric for one in noted} == {"pingpong.bandwidth"}


def test_limits_are_judged_as_with_all_findings(directory: store.RunDirectory, analysis: Analysis) -> None:
    part = build.read(directory)
    best = max(one.value or 0.0 for one in analysis.findings if one.metric == "pingpong.bandwidth")
    for bound, state in ((best * 0.5, "met"), (best * 2, "not met")):
        limit = Limit(metric="pingpong.bandwidth", at_least=bound)
        plan = msgspec.structs.replace(part.plan, limits=(limit,))
        judged_with, _ = build.from_part(directory, part._replace(plan=plan))
        assert [one.state for one in judged_with.verdicts] == [state]


def test_the_matrix_is_whole_and_gives_the_verdict(analysis: Analysis) -> None:
    assert analysis.pairs
    (one,) = analysis.pairs
    got = pairs_of(one)
    assert len(got.values) == 2 * 66 * 65 // 2 and len(got.places) == 66
    verdict = judged(got)
    assert [one.node for one in verdict.slow_nodes] == ["n3"]
    assert [(one.a, one.b) for one in verdict.slow_links] == [("n4", "n10")]


def test_every_format_holds_the_pairs(analysis: Analysis, tmp_path: Path) -> None:
    paths = report.write(analysis, tmp_path)
    assert json_format.read(paths["json"].read_bytes()) == analysis
    with open(tmp_path / "report_pairs.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert analysis.pairs
    (matrix,) = analysis.pairs
    assert [float(row["value"]) for row in rows] == list(matrix.values)
    assert [row["a"] for row in rows] == [matrix.places[a] for a in matrix.a]
    page = paths["html"].read_text()
    assert "Pairs of nodes" in page and "n4 - n10" in page
    assert len(page) < 1_500_000
    assert "n4 - n10" in paths["md"].read_text().replace("\\", "")


def test_names_and_values_survive_the_csv() -> None:
    matrix = pair_matrix.matrix("w", simulate.pairs(Fleet(nodes=5), 1))
    odd = ('a,"b', "=1+1", "n3", "n4", "n5")
    odd_matrix = msgspec.structs.replace(matrix, places=odd, spread=(None, *matrix.spread[1:]))
    from shakedown.report.formats.csv import _pairs

    rows = list(csv.reader(io.StringIO(_pairs([odd_matrix]))))
    assert {name for row in rows[1:] for name in row[3:5]} <= {'a,"b', "'=1+1", "n3", "n4", "n5"}
    assert rows[1][7] == "" and float(rows[2][7]) == matrix.spread[1]
    assert [len(row) for row in rows] == [len(rows[0])] * 11


def test_few_pairs_stay_findings(tmp_path: Path) -> None:
    few = run_directory(tmp_path / "run", cases(simulate.pairs(Fleet(nodes=12), 1)))
    analysis, _ = build.analyse(few)
    assert not analysis.pairs
    assert len(analysis.findings) == 2 * 66


def test_an_analysis_without_matrices_reads_back_as_what_it_was(tmp_path: Path) -> None:
    few = run_directory(tmp_path / "run", cases(simulate.pairs(Fleet(nodes=6), 1)))
    analysis, _ = build.analyse(few)
    assert msgspec.json.decode(msgspec.json.encode(analysis), type=Analysis) == analysis


# -------------------------------------------------------------------------------------------- reading case by case


def test_reading_case_by_case_gives_what_the_store_gives(directory: store.RunDirectory) -> None:
    cases_read, damaged = case_stream.read(directory, table.from_measurements)
    whole = table.from_measurements(directory.load().measurements)
    assert not damaged
    for got, expected in zip(cases_read, whole, strict=True):
        assert np.array_equal(got, expected)


@pytest.mark.parametrize("damage", ["cut", "a case of another shape"])
def test_what_is_damaged_is_told_and_the_rest_is_read(tmp_path: Path, damage: str) -> None:
    found = cases(simulate.pairs(Fleet(nodes=6), 1))
    made = run_directory(tmp_path / "run", found, repeats=2)
    path = made.folder("r1", 1) / "measurement.json"
    text = path.read_text()
    if damage == "cut":
        path.write_text(text[: len(text) // 2])
    else:
        record = json.loads(text)
        record["cases"][-1]["seconds"] = "soon"
        path.write_text(json.dumps(record))
    got, damaged = case_stream.read(made, table.from_measurements)
    assert len(got) == len(found) and len(damaged) == 1
    assert str(path) in damaged[0].what


def test_work_and_hosts_of_cases_are_kept() -> None:
    record = Measurement(
        run="r",
        repeat=1,
        workload="x",
        params={},
        host="n1",
        state="ok",
        cases=(
            Case(kernel="k", params={"host": "n7", "n": 1}, work={"b": 1.0, "a": 2.0}, seconds=(1.0, 2.0)),
            Case(kernel="k", params={"n": 1}, work={"a": 2.0, "b": 1.0}, residual=Residual(value=0, limit=1, kind="")),
        ),
        begin_ns=0,
        end_ns=1,
    )
    got = table.from_measurements([record])
    assert got.host.tolist() == ["n7", "n1"] and got.params.tolist() == ['{"n":1}'] * 2
    assert got.work.tolist() == ['{"a":2.0,"b":1.0}'] * 2 and got.counts.tolist() == [2, 0]
    assert table.from_measurements([]).counts.tolist() == []


def test_packing_keeps_order_over_chunks_and_lengths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_PACKED_TOGETHER", 7)
    monkeypatch.setattr(table, "_WIDE", 3)
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 6, 40)
    names = np.array([f"p{index}" for index in range(40)], object)
    same = np.array(["x"] * 40, object)
    packed = table.Cases(
        same, np.arange(40), same, same, same, names, same, counts.astype(np.int64), rng.random(counts.sum())
    )
    table.pack(packed, tmp_path / "a.parquet")
    for got, expected in zip(table.unpack([tmp_path / "a.parquet"]), packed, strict=True):
        assert np.array_equal(got, expected)
    rows = np.arange(40) % 3 == 0
    some = table.chosen(packed, rows)
    assert some.params.tolist() == names[rows].tolist() and len(some.seconds) == counts[rows].sum()
