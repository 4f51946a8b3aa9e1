"""What documents print of storage stands beside a run, under other circumstances and never ranked."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown import published
from shakedown.analysis import compare, derive, published_comparison, table
from shakedown.programs import events
from shakedown.records import Case, Measurement, Metric, Params
from shakedown.workloads import bonnie, checkpoint, filesystem, ior

METRICS: dict[str, Metric] = {
    one.name: one for one in (*ior.TABLE.metrics, *filesystem.TABLE.metrics, *checkpoint.TABLE.metrics)
}
BONNIE, IOR = "bonnie/bonnie-2.00a-ext4-2G.csv", "ior/ior-4.1.0-dev-direct-40g.txt"


def entry(workload: str, cases: tuple[Case, ...]) -> compare.Entry:
    record = Measurement(
        run="r", repeat=1, workload=workload, params={}, host="h", state="ok", cases=cases, begin_ns=0, end_ns=1
    )
    found = derive.findings(table.from_measurements([record]), {workload: tuple(METRICS.values())})
    return compare.Entry(name="run", findings=tuple(found), metrics=tuple(METRICS.values()))


@pytest.mark.parametrize(
    ("workload", "metric", "other", "value"),
    [
        ("bonnie", "filesystem.read.bandwidth", "iict-bas", 436e6),
        ("ior", "filesystem.write.bandwidth", "curie", 3.4e9),
        ("ior", "filesystem.write.bandwidth", "ambre", 3.4e9),
    ],
)
def test_a_figure_without_its_blocks_and_caches_stands_beside_our_best(
    recordings: Path, workload: str, metric: str, other: str, value: float
) -> None:
    parse, recording = (bonnie.parse, BONNIE) if workload == "bonnie" else (ior.parse, IOR)
    mine = entry(workload, parse((recordings / recording).read_text(), {}))
    theirs = compare.from_published(published.system(other), METRICS)
    (row,) = (one for one in compare.side_by_side([mine, theirs], METRICS) if one.metric == metric)
    cell = row.cells[1]
    assert cell is not None and cell.value == value and cell.apart and cell.rank is None and cell.ratio is None
    (beside,) = (
        one
        for one in published_comparison.beside(mine.findings, METRICS, [published.system(other)])
        if one.metric == metric
    )
    assert beside.theirs == value and beside.verdict == "other circumstances" and beside.ratio is None
    assert not any(difference.startswith("application") for difference in beside.differences), "one program, both"


def test_what_is_in_doubt_stands_beside_nothing(recordings: Path) -> None:
    params: Params = {"memory_bytes": 2**36}
    mine = entry("bonnie", bonnie.parse((recordings / BONNIE).read_text(), params))
    assert {one.params.get("doubt") for one in mine.findings if one.metric == "filesystem.read.bandwidth"} == {
        "page cache"
    }
    assert not published_comparison.beside(mine.findings, METRICS, [published.system("iict-bas")])


def test_the_overhead_of_checkpoints_stands_beside_that_of_fti(recordings: Path) -> None:
    told = events.parse((recordings / "native/checkpoint-4-ranks.jsonl").read_bytes())
    mine = entry("checkpoint", told.cases)
    found = [
        one
        for one in published_comparison.beside(mine.findings, METRICS, [published.system("curie")])
        if one.metric == "checkpoint.overhead" and "checkpoint_level" in one.theirs_params
    ]
    assert sorted(int(one.theirs_params["checkpoint_level"]) for one in found) == [1, 2, 3, 4]
    for one in found:
        assert one.ours.params["checkpoint_level"] == one.theirs_params["checkpoint_level"]
        assert one.theirs == 0.06 and one.verdict == "other circumstances" and one.ratio is None
        assert "interval: 0.5 here, 360 there" in one.differences
    theirs = compare.from_published(published.system("curie"), METRICS)
    rows = [one for one in compare.side_by_side([mine, theirs], METRICS) if one.metric == "checkpoint.overhead"]
    levels = [row for row in rows if row.cells[1] is not None]
    assert len(levels) == 4 and {cell.value for row in levels for cell in row.cells[1:] if cell} <= {0.06, 0.1}
    assert all(cell is None or cell.rank is None for row in levels for cell in row.cells)
