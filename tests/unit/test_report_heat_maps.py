"""Heat maps, figures of many hosts, and their words."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.document import charts, heat_map, palette
from shakedown.document.model import Bars, Heat, Table
from shakedown.document.text import interval_of, natural, params_of, ranges, with_half
from shakedown.records import Analysis, Finding
from shakedown.report import _fleet
from shakedown.report._sections import document
from support import analyses
from support.report_figures import figures, finding

# ------------------------------------------------------------------------------------------------------------ heat maps


def matrix(labels: Sequence[str], low: float = 1.0) -> Heat:
    """Every pair of the names, once; the last is worth a hundred times the first."""
    number = len(labels)
    pairs = list(itertools.combinations(range(number), 2))
    values = [low * (1 + 99 * at / max(1, len(pairs) - 1)) for at in range(len(pairs))]
    return Heat(
        title="M",
        caption="",
        summary="",
        unit="B/s",
        better="higher",
        row_title="node a",
        column_title="node b",
        labels=tuple(labels),
        cells=tuple((a, b, value, f"{labels[a]} to {labels[b]}") for (a, b), value in zip(pairs, values, strict=True)),
    )


@pytest.mark.parametrize("number", [2, 4, 12, 24, 48, 100, 128])
@pytest.mark.parametrize("name", ["n{:d}", "node{:04d}", "compute-rack12-node{:04d}.cluster.example.org"])
def test_names_of_a_heat_map_never_touch_and_stay_in_the_picture(number: int, name: str) -> None:
    figure = matrix([name.format(at + 1) for at in range(number)])
    at = heat_map.layout(figure)
    longest = max(map(len, at.names)) * 6
    assert at.rows * at.cell >= 12
    assert at.columns * at.cell >= (12 if at.turned else longest + 4)
    assert at.plot + at.label <= (heat_map.WIDE_PIXELS if heat_map.is_wide(figure) else palette.WIDTH)
    assert at.plot >= min(0.6 * palette.WIDTH, number * 40), "the map is most of the picture"
    drawn = charts.svg(figure)
    written = re.findall(r">([^<>]+)</text>", drawn)
    assert at.names[0] in written and written.count(at.names[0]) == 2
    assert drawn.count(" to ") == len(figure.cells), "each cell says which pair it is"
    assert len([one for one in written if one in at.names]) == -(-number // at.rows) + -(-number // at.columns)


@given(st.lists(st.from_regex(r"[a-z\-]{0,12}[0-9]{1,4}(\.[a-z]{1,9})?", fullmatch=True), min_size=2, unique=True))
def test_shortened_names_are_told_apart_and_can_be_put_together_again(names: list[str]) -> None:
    cut, shared = heat_map.short(names)
    head, _, tail = shared.partition("…")
    assert [f"{head}{one}{tail}" for one in cut] == names
    assert len(set(cut)) == len(names) and all(cut)


def test_a_number_in_names_is_not_cut_in_two() -> None:
    names = [f"compute-node{at:04d}" for at in (110, 111, 112)]
    assert heat_map.short(names) == (("0110", "0111", "0112"), "compute-node…")
    assert heat_map.short(["n1", "n2"]) == (("n1", "n2"), "")


def test_more_pairs_than_fit_keep_the_worst_of_each_block() -> None:
    number = 200
    found = [
        finding(1e9 - (a == 3 and b == 9) * 9e8, host_a=f"n{a}", host_b=f"n{b}")
        for a, b in itertools.combinations(range(number), 2)
    ]
    (made,) = (one for one in figures(found) if isinstance(one, Heat))
    assert len(made.labels) == 100 and made.labels[0] == "n[0-1]"
    assert len(made.cells) == 100 * 99 // 2 + 100 and min(cell[2] for cell in made.cells) == 1e8
    assert (1, 4) in {cell[:2] for cell in made.cells if cell[2] == 1e8}
    assert "worst pair of 2 by 2" in made.caption and "19,900 pairs" in made.summary


def test_colours_follow_the_logarithm_where_values_span_much_and_the_key_says_so() -> None:
    assert heat_map.key(matrix(["a", "b", "c"]))[1].endswith("(logarithmic)")
    wide = charts.spec(matrix([f"n{at}" for at in range(30)]))["data"]["values"]
    first = sum(one["f"] == charts.colour("heat1") for one in wide)
    assert 0 < first < len(wide) / 20
    even = msgspec.structs.replace(matrix(["a", "b"]), cells=((0, 1, 5.0, "a to b"),))
    assert heat_map.key(even) == ("5.00 B/s", "5.00 B/s")


# ----------------------------------------------------------------------------------------------------------- many hosts


@pytest.fixture(scope="module")
def thousand() -> Analysis:
    return analyses.many_hosts(1000)


def test_the_slow_hosts_of_a_thousand_are_named(thousand: Analysis) -> None:
    fleet = _fleet.fleet(thousand)
    assert fleet is not None
    assert set(fleet.slow) == set(analyses.SLOW_HOSTS)
    assert list(fleet.slow) == sorted(fleet.slow, key=lambda host: analyses.SLOW_HOSTS[host])
    for host, speed in analyses.SLOW_HOSTS.items():
        assert fleet.scores[host] == pytest.approx(speed, rel=0.01)


def test_a_condensed_value_is_the_median_over_hosts(thousand: Analysis) -> None:
    fleet = _fleet.fleet(thousand)
    assert fleet is not None and len(fleet.groups) == 100
    group = fleet.groups[0]
    ordered = sorted(group.values)
    assert group.condensed.value == (ordered[499] + ordered[500]) / 2
    assert group.condensed.low is not None and group.condensed.high is not None
    assert ordered[0] < group.condensed.low < group.condensed.value < group.condensed.high < ordered[-1]
    assert group.hosts[0] == "node0901"


def test_a_thousand_hosts_make_a_page_that_can_be_read(thousand: Analysis) -> None:
    page = document(thousand)
    rows = sum(len(block.rows) for section in page.sections for block in section.blocks if isinstance(block, Table))
    assert rows < 1000
    slowest = next(
        block
        for section in page.sections
        if section.id == "hosts"
        for block in section.blocks
        if isinstance(block, Table) and block.title == "Slowest hosts"
    )
    assert {row[0] for row in slowest.rows} == set(analyses.SLOW_HOSTS)


def test_hosts_that_are_alike_accuse_none() -> None:
    findings = tuple(finding(100.0 + index % 3 * 0.1, host=f"n{index}", n=4) for index in range(30))
    fleet = _fleet.fleet(analyses.changed(analyses.nothing(), findings=findings))
    assert fleet is not None and fleet.slow == ()


def test_values_that_are_absent_on_some_hosts_are_counted_as_absent() -> None:
    findings = tuple(finding(None if index < 4 else 100.0, host=f"n{index}", n=4) for index in range(20))
    analysis = analyses.changed(analyses.nothing(), findings=findings)
    fleet = _fleet.fleet(analysis)
    assert fleet is not None
    assert len(fleet.groups[0].values) == 16 and fleet.groups[0].condensed.value == 100.0
    nowhere = analyses.changed(analysis, findings=tuple(finding(None, host=f"n{index}") for index in range(20)))
    table = next(
        block
        for section in document(nowhere).sections
        if section.id == "workload-new"
        for block in section.blocks
        if isinstance(block, Table)
    )
    assert table.rows[0][2:4] == ("0", "not measured")


def test_few_hosts_are_shown_one_by_one() -> None:
    findings = tuple(finding(100.0, host=f"n{index}", n=4) for index in range(8))
    analysis = analyses.changed(analyses.nothing(), findings=findings)
    assert _fleet.fleet(analysis) is None
    table = next(
        block
        for section in document(analysis).sections
        if section.id == "workload-new"
        for block in section.blocks
        if isinstance(block, Table)
    )
    assert len(table.rows) == 8


# ---------------------------------------------------------------------------------------------------------------- words


def test_the_best_values_name_the_best_and_its_limit() -> None:
    section = next(one for one in document(analyses.one_machine()).sections if one.id == "workload-gemm")
    bars = next(block for block in section.blocks if isinstance(block, Bars))
    best = max(one.value or 0 for one in analyses.one_machine().findings if one.metric == "gemm.dgemm.rate")
    assert bars.bars[0].value == f"{best / 1e9:.0f} Gflop/s"
    assert bars.bars[0].fractions[0][1] == pytest.approx(best / 166.4e9)


def test_an_interval_has_the_unit_of_its_value_and_enough_digits() -> None:
    def of(value: float, low: float, high: float) -> str:
        return interval_of(
            Finding(
                metric="m",
                unit="B/s",
                better="higher",
                workload="w",
                params={},
                host="h",
                value=value,
                low=low,
                high=high,
            )
        )

    assert of(44.4e9, 43.9e9, 44.8e9) == "[43.9, 44.8]"
    assert of(100e9, 99.98e9, 100.02e9) == "[99.98, 100.02]"
    assert of(1e3, 990, 1010) == "[0.99, 1.01]"
    assert interval_of(finding(1.0)) == ""


def test_a_published_value_and_its_half_share_a_unit() -> None:
    assert with_half(148e9, 0.5e9, "flop/s") == "148.0 ± 0.5 Gflop/s"
    assert with_half(148e9, 0, "flop/s") == "148 Gflop/s"


def test_parameters_in_words() -> None:
    assert params_of({"threads": 1, "bytes": 2**31, "variant": "nt"}) == "1 thread, 2 GiB, variant nt"
    assert params_of({"cpu_a": 0, "check": True}) == "CPU a 0, check yes"


def test_names_of_hosts_are_folded() -> None:
    assert ranges(f"node{index:03d}" for index in (1, 2, 3, 7)) == "node[001-003,007]"
    assert ranges(["login", "n9"]) == "login, n9"
    assert sorted(["n10", "n9", "a"], key=natural) == ["a", "n9", "n10"]
