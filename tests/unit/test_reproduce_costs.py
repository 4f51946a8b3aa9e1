"""Rows of a document that print what virtual machines cost, answered by pairs under layers."""

from __future__ import annotations

import pytest

from shakedown import __version__, reproduce
from shakedown.records import Analysis, Overhead, Value
from shakedown.report.formats import html
from shakedown.reproduce import answering, choosing, page
from support.machines import OPEN_MPI, OPENBLAS, machine
from support.workloads import installed

COMET = reproduce.load("comet")
HERE = machine(2, software=(OPENBLAS, OPEN_MPI))


@pytest.fixture(autouse=True)
def built(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that seem built with the site's MPI."""
    installed(tmp_path_factory.mktemp("bin"), monkeypatch, "pingpong", "hydro")


def cost(metric: str, under: str, factor: float, pairs: int = 6, **params: Value) -> Overhead:
    return Overhead(
        workload=metric.partition(".")[0],
        metric=metric,
        title=metric,
        unit="s",
        better="lower",
        host="n1",
        params=params,
        under=under,
        pairs=pairs,
        native=1.0,
        value=factor,
        factor=factor,
        low=factor * 0.9,
        high=factor * 1.1,
        level=0.97,
        side="not told apart" if pairs > 5 else "too few pairs",
    )


def in_pairs(*costs: Overhead) -> answering.Kept:
    rows = {one.row.id: one for one in choosing.planned(COMET, HERE)}
    analysis = Analysis(
        name="r", campaign="c", title="T", created_ns=0, version=__version__, machine=HERE, overheads=costs
    )
    return answering.Kept(analysis, rows, frozenset(run.id for one in rows.values() for run in one.runs))


def answer(row: str, held: answering.Kept) -> answering.Answer:
    return next(one for one in answering.answers(COMET, [held]) if one.row.id == row)


def test_what_virtual_machines_cost_is_answered_by_pairs_under_layers() -> None:
    """By whichever layer they are: a run of `shakedown overhead` under a guest answers as one of the row's own does."""
    sizes = [cost("pingpong.latency", "guest", 1 + at / 100, bytes=at, ranks=2) for at in (0, 8, 64)]
    others = [cost("pingpong.bandwidth", "guest", 2.0, bytes=8), cost("pingpong.latency", "few", 9.0, 5, bytes=8)]
    found = answer("figure-sriov-latency", in_pairs(*sizes, *others))
    theirs, ours = found.lines
    assert ours.label == "under guest" and [cell.x for cell in ours.cells] == [0, 8, 64]
    assert [cell.value for cell in ours.cells] == pytest.approx([1, 1.08, 1.64]) and theirs.cells[0].value == 1.32
    assert found.state == "answered in part" and "--under guest=COMMAND" in found.reason
    assert "not measured here" not in found.reason and not found.comparisons, "unranked"
    assert page.headline(found) == "here at most under guest 1.64 [1.48, 1.80] at 64 B; Comet, 2015: 1.32"
    assert "under guest" in html.render_document(page.document(COMET, [found], "m", {}))
    few = answer("figure-sriov-latency", in_pairs(others[1]))
    assert few.state == "not run", "too few pairs answer nothing"


def test_a_cost_in_percent_is_what_a_factor_is_above_one() -> None:
    found = answer("figure-wrf", in_pairs(cost("hydro.rate", "namespaces", 1.02, n=2000)))
    costs = [line for line in found.lines if line.metric == "wrf.overhead"]
    assert [line.cells[0].value for line in costs] == pytest.approx([0.02, 0.15, 0.02]) and costs[2].unit == "1"
    said = page.headline(found)
    assert (
        said.startswith("here at most hydro under namespaces 2.0 % [-8.2 %, 12 %]")
        and "2 %" in said
        and "20 %" not in said
    ), "not EC2's"


def test_the_rows_of_layers_are_planned_in_pairs_and_cost_what_these_do() -> None:
    rows = {one.row.id: one for one in choosing.planned(COMET, HERE)}
    row = rows["figure-sriov-latency"]
    assert [run.under for run in row.runs] == ["native", "control", "native", "namespaces"]
    assert {run.repeat_min for run in row.runs} == {6}
    assert row.cost_s == pytest.approx(sum(6 * run.estimate_s for run in row.runs))
