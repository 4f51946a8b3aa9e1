"""Side by side: the better direction is known, and what the intervals do not tell apart is not ranked."""

from __future__ import annotations

import pytest

from shakedown import published, workloads
from shakedown.analysis import circumstances, compare, published_comparison
from shakedown.campaign import plan
from shakedown.published import systems
from shakedown.records import Finding, Metric
from support.findings import finding
from support.machines import host

UP = Metric(name="up", title="Up", unit="B/s", better="higher")
DOWN = Metric(name="down", title="Down", unit="s", better="lower", match=("bytes",))
METRICS = {"up": UP, "down": DOWN}


def entry(name: str, *findings: Finding) -> compare.Entry:
    return compare.Entry(name=name, findings=findings)


@pytest.mark.parametrize(
    ("better", "ours", "theirs", "rank"),
    [
        ("higher", (9, 10, 11), (5, 6, 7), "better"),
        ("lower", (9, 10, 11), (5, 6, 7), "worse"),
        ("higher", (5, 6, 7), (9, 10, 11), "worse"),
        ("lower", (5, 6, 7), (9, 10, 11), "better"),
        ("higher", (5, 6, 9.5), (9, 10, 11), "not told apart"),
        ("higher", (None, 6, None), (9, 10, 11), "not ranked"),
        ("none", (5, 6, 7), (9, 10, 11), "not ranked"),
        ("higher", (5, 5, 5), (5, 5, 5), "equal"),
    ],
)
def test_ranks(better: str, ours: tuple[float, float, float], theirs: tuple[float, float, float], rank: str) -> None:
    assert published_comparison.compare(better, ours, theirs) == rank


def test_the_winner_must_beat_every_other() -> None:
    rows = compare.side_by_side(
        [
            entry("a", finding(UP, 10, 9, 11)),
            entry("b", finding(UP, 20, 19, 21)),
            entry("c", finding(UP, 20.5, 20, 22)),
        ],
        METRICS,
    )
    assert compare.winner(rows[0]) is None
    rows = compare.side_by_side(
        [entry("a", finding(DOWN, 10, 9, 11, bytes=8)), entry("b", finding(DOWN, 20, 19, 21, bytes=8))], METRICS
    )
    assert compare.winner(rows[0]) == 0
    assert rows[0].cells[1] is not None and rows[0].cells[1].ratio == 2.0


def test_parameters_that_must_agree_keep_rows_apart() -> None:
    a = entry("a", finding(DOWN, 1, 1, 1, bytes=8), finding(DOWN, 2, 2, 2, bytes=64))
    b = entry("b", finding(DOWN, 3, 3, 3, bytes=64), finding(DOWN, 5, 5, 5, bytes=4096))
    rows = compare.side_by_side([a, b], METRICS)
    assert [row.params for row in rows] == ["bytes=64"]


#: A metric that is measured in caches and in memory, as our STREAM is, by all cores of the host.
TRIAD = Metric(name="stream.triad.bandwidth", title="Triad", unit="B/s", better="higher", limit="{level}.bandwidth")
IN_MEMORY = finding(TRIAD, 44e9, 43e9, 45e9, level="memory", threads=2)
SETTING = circumstances.Setting({"node1": host(2)}, {})


def test_published_values_stand_beside_ours_with_their_place() -> None:
    in_cache = finding(TRIAD, 999e9, 998e9, 1000e9, level="l1")
    laid = published_comparison.beside([in_cache, IN_MEMORY], {TRIAD.name: TRIAD}, systems(), SETTING)
    assert {one.system for one in laid} >= {"bsc-2", "snic-dsp", "uio-numa"}
    assert {one.system for one in laid if one.differences} == {"uio-numa"}, "one core there, or 70 nodes"
    for one in (one for one in laid if not one.differences):
        assert one.ours is IN_MEMORY and one.where and one.ratio == pytest.approx(44e9 / one.theirs)
        low, high = one.theirs - one.theirs_half, one.theirs + one.theirs_half
        assert one.verdict == ("better" if high < 43e9 else "worse" if low > 45e9 else "not told apart")


def test_a_run_stands_beside_a_document_that_knows_no_levels() -> None:
    metrics = {TRIAD.name: TRIAD}
    document = next(compare.from_published(one, metrics) for one in systems() if one.id == "bsc-2")
    told = circumstances.of_finding(IN_MEMORY, TRIAD, SETTING)
    mine = compare.Entry(name="mine", findings=(IN_MEMORY,), circumstances=(told,))
    rows = compare.side_by_side([mine, document], metrics)
    assert len(rows) == 1 and compare.winner(rows[0]) == 0


def test_documents_beside_each_other_show_what_they_print_and_nothing_else() -> None:
    """A bandwidth without a direction is no rate of writing, and a parameter that nobody tells is not shown as None."""
    metrics = {**METRICS, **compare_metrics()}
    pair = [compare.from_published(one, metrics) for one in systems() if one.id in ("curie", "ambre")]
    rows = compare.side_by_side(pair, metrics)
    assert [row.metric for row in rows if row.metric == "io.bandwidth"]
    assert not [
        row.metric for row in rows if row.metric.startswith(("filesystem.", "storage.write", "storage.bandwidth"))
    ]
    same = compare.side_by_side([pair[0], pair[0]], metrics)
    assert same and not [row.params for row in same if "None" in row.params]


def compare_metrics() -> dict[str, Metric]:
    """Those of the workloads and of the documents, as `shakedown compare` has them."""
    known = dict(plan.metrics(set(workloads.names())))
    for name, one in published.metrics(known).items():
        known[name] = Metric(**{field: getattr(one, field) for field in one.__struct_fields__})
    return known
