"""Which figures a workload gets, decided from its findings alone; what stands in them; and many hosts."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest

from shakedown import units, workloads
from shakedown.document import charts
from shakedown.document.model import Bars, Dots, Figures, Heat, Lines, Table
from shakedown.records import (
    Analysis,
    Circumstances,
    Curve,
    Finding,
    Fraction,
    Metric,
    Params,
    PublishedComparison,
    Value,
)
from shakedown.report import _choose, _figures, _published
from shakedown.report._sections import document
from support import analyses
from support.report_figures import RATE, figures, finding


def lines(findings: list[Finding], beside: tuple[PublishedComparison, ...] = ()) -> list[Lines]:
    return [one for one in figures(findings, beside) if isinstance(one, Lines)]


def test_a_number_that_varies_becomes_the_axis_and_words_become_lines() -> None:
    (made,) = lines([finding(1e9 + n, n=n, library=library) for library in ("a", "b") for n in (1, 2, 3)])
    assert [one.name for one in made.series] == ["a", "b"]
    assert [point.x for point in made.series[0].points] == [1, 2, 3]
    assert [point.y for point in made.series[0].points] == [1e9 + 1, 1e9 + 2, 1e9 + 3]


def test_a_workload_that_nobody_knew_gets_a_figure_over_its_own_parameter() -> None:
    (made,) = lines([finding(float(depth), queue_depth=depth) for depth in (1, 4, 16, 64)])
    assert made.title == "Rate by queue depth"
    assert made.x.log


def test_bytes_come_before_other_numbers_and_threads_get_a_figure_of_their_own() -> None:
    made = lines(
        [
            finding(size * threads * 1.0, bytes=size, threads=threads)
            for size in (1024, 4096, 65536, 2**20)
            for threads in (1, 2, 4, 8, 16)
        ]
    )
    assert [one.title for one in made] == ["Rate by size", "Rate by threads"]
    assert all(point.y == 2**20 * point.x for point in made[1].series[0].points)
    assert "1 MiB" in made[1].caption


def test_a_word_that_follows_from_the_axis_names_its_stretches() -> None:
    (made,) = lines(
        [finding(1.0, bytes=size, level="cache.l1" if size < 4096 else "memory") for size in (1024, 2048, 4096, 8192)]
    )
    assert [one.name for one in made.regions] == ["L1", "memory"]
    assert len(made.series) == 1
    assert made.regions[0].end == made.regions[1].begin


def test_a_number_that_follows_from_the_axis_is_no_line() -> None:
    (made,) = lines([finding(1.0, bytes=size, window=64 if size < 4096 else 8) for size in (1024, 2048, 4096, 8192)])
    assert len(made.series) == 1


def test_a_library_measured_at_other_sizes_stays_a_line_of_its_own() -> None:
    (made,) = lines([finding(1.0, n=n, library="a" if n % 2 else "b") for n in range(1, 9)])
    assert sorted(one.name for one in made.series) == ["a", "b"]


def test_pairs_become_a_heat_map_and_the_longest_sweep_a_line() -> None:
    sweep = [finding(1.0 * size, bytes=size, cpu_a=0, cpu_b=1) for size in (8, 64, 512)]
    pairs = [finding(2.0, bytes=8, cpu_a=a, cpu_b=b) for a in range(4) for b in range(a + 1, 4) if (a, b) != (0, 1)]
    made = figures([*sweep, *pairs])
    heat = next(one for one in made if isinstance(one, Heat))
    line = next(one for one in made if isinstance(one, Lines))
    assert len(heat.cells) == 6 and heat.labels == ("0", "1", "2", "3")
    assert [point.x for point in line.series[0].points] == [8, 64, 512]


def test_of_several_names_of_a_pair_the_telling_one_is_drawn() -> None:
    def between(a: int, b: int, size: int) -> Finding:
        return finding(float(size), bytes=size, rank_a=a, rank_b=b, cpu_a=a + 10, cpu_b=b + 10, host_a="n", host_b="n")

    pairs = [between(a, b, 8) for a in range(4) for b in range(a + 1, 4)]
    made = figures([*pairs, between(0, 1, 64), between(0, 1, 512)])
    heat = next(one for one in made if isinstance(one, Heat))
    line = next(one for one in made if isinstance(one, Lines))
    assert heat.labels == ("10", "11", "12", "13") and len(heat.cells) == 6
    assert [point.x for point in line.series[0].points] == [8, 64, 512]
    assert "CPU a 10" in line.caption


def test_a_level_that_some_points_lack_still_names_the_stretches() -> None:
    levels = {1024: "l1", 2048: "l1", 4096: "memory", 8192: "memory"}
    cached = [finding(1.0, bytes=size, variant="cached", level=level) for size, level in levels.items()]
    streaming = [finding(2.0, bytes=size, variant="nt") for size in levels]
    (made,) = lines([*cached, *streaming])
    assert [one.name for one in made.regions] == ["l1", "memory"]
    assert [one.name for one in made.series] == ["cached", "nt"]


def test_a_sweep_over_sizes_and_another_over_threads_get_a_figure_each() -> None:
    sizes = [finding(5.0, bytes=2**power, threads=64) for power in range(14, 30)]
    threads = [finding(1.0 * number, bytes=2**28, threads=number) for number in (1, 2, 4, 8, 16, 32)]
    by_size, by_threads = lines([*sizes, *threads])
    assert [one.name for one in by_size.series] == ["Rate"] and len(by_size.series[0].points) == 16
    assert "Lines of few points are left out." in by_size.caption
    assert [point.x for point in by_threads.series[0].points] == [1, 2, 4, 8, 16, 32, 64]
    assert "256 MiB" in by_threads.caption


@pytest.mark.parametrize(("better", "size"), [("lower", "8 B"), ("higher", "1 MiB")])
def test_a_matrix_is_drawn_at_the_size_that_tells_most(better: str, size: str) -> None:
    found = [
        msgspec.structs.replace(finding(1.0 + a + b, bytes=size, cpu_a=a, cpu_b=b), better=better)
        for size in (8, 2**20)
        for a in range(4)
        for b in range(a + 1, 4)
    ]
    metric = msgspec.structs.replace(RATE, better=better)
    made = _figures.of_workload(found, {RATE.name: metric}, ())
    assert made is not None
    assert [size in one.caption for one in made.figures if isinstance(one, Heat)] == [True]


def test_hosts_by_name_make_a_heat_map_too() -> None:
    made = figures([finding(2.0 + a, host_a=f"n{a}", host_b=f"n{b}") for a in (1, 2, 10) for b in (1, 2, 10) if a != b])
    heat = next(one for one in made if isinstance(one, Heat))
    assert heat.labels == ("n1", "n2", "n10")
    assert len(heat.cells) == 6


def test_nothing_but_words_makes_dots() -> None:
    (made,) = figures([finding(1.0, isa="avx2"), finding(2.0, isa="avx512")])
    assert isinstance(made, Dots) and made.names == ("avx2", "avx512")


def test_one_value_calls_for_no_figure() -> None:
    assert figures([finding(1.0, n=4)]) == ()


def test_what_was_not_measured_is_not_drawn() -> None:
    (made,) = lines([*(finding(1.0, n=n) for n in (1, 2, 3)), finding(None, n=4)])
    assert [point.x for point in made.series[0].points] == [1, 2, 3]


def test_many_lines_are_told_apart_by_figures() -> None:
    made = lines(
        [
            finding(1.0, n=n, library=library, pages=pages)
            for library in "abcd"
            for pages in ("4k", "2M")
            for n in (1, 2, 3)
        ]
    )
    assert len(made) == 2
    assert all(len(one.series) == 4 for one in made)
    assert {one.caption for one in made} == {"With pages 4k.", "With pages 2M."}


def test_more_libraries_than_colours_keep_the_best_and_say_so() -> None:
    (made,) = lines([finding(float(index), n=n, library=f"l{index}") for index in range(1, 13) for n in (1, 2, 3)])
    assert len(made.series) == 8
    assert "l12" in {one.name for one in made.series}
    assert "best 8 of 12" in made.caption


@pytest.mark.parametrize("seed", range(20))
def test_no_figure_has_more_lines_than_colours_and_none_invents_a_value(seed: int) -> None:
    draw = random.Random(seed)
    names = draw.sample(["n", "bytes", "threads", "library", "variant", "cpu_a", "cpu_b", "flag"], draw.randint(1, 6))
    domain: dict[str, list[Value]] = {
        "n": [8, 16, 32, 64],
        "bytes": [0, 1, 4096, 2**30],
        "threads": [1, 2, 3],
        "library": list("abcdefghijk"),
        "variant": ["x", "y"],
        "cpu_a": [0, 1, 2],
        "cpu_b": [0, 1, 2],
        "flag": [True, False],
    }
    kept: dict[str, Finding] = {}
    for _ in range(draw.randint(1, 120)):
        params: Params = {name: draw.choice(domain[name]) for name in names}
        made_up = finding(draw.uniform(1, 1e12), host=draw.choice("hi"))
        kept[repr(sorted(params.items()))] = msgspec.structs.replace(made_up, params=params)
    values = {one.value for one in kept.values()}
    for made in figures(list(kept.values())):
        charts.spec(made)
        if isinstance(made, Lines):
            assert len(made.series) <= _choose.MOST_LINES
            assert {point.y for one in made.series for point in one.points} <= values
            assert all(len({point.x for point in one.points}) == len(one.points) for one in made.series)


def test_a_limit_stands_where_it_holds() -> None:
    def limited(size: int) -> Finding:
        low = size < 4096
        name, value = ("cache.l1.bandwidth", 3.0) if low else ("memory.bandwidth", 1.5)
        limit = Fraction(limit=name, kind="measured", value=value, fraction=1 / value)
        return finding(1.0, bytes=size, fractions=(limit,))

    (made,) = lines([limited(size) for size in (1024, 2048, 4096, 8192)])
    assert [(one.y) for one in made.rules] == [1.5]  # three times the values: said in words
    assert made.rules[0].begin > 2048 and made.rules[0].end > 8192
    assert "measured cache.l1.bandwidth, 3.00 B/s" in made.caption


def curve(system: str, x: tuple[float, ...], **params: Value) -> Curve:
    return Curve(
        metric=RATE.name,
        unit="B/s",
        system=system,
        system_name=system.title(),
        year=2011,
        where="Table 1",
        axis="bytes",
        params=params,
        x=x,
        y=tuple(1e6 * (1 + at) for at in range(len(x))),
        y_half=(0.0,) * len(x),
    )


def test_a_published_curve_is_drawn_whole_as_far_as_the_axis_reaches() -> None:
    ours = [finding(1e9 + size, bytes=size) for size in (8, 1024, 65536)]
    theirs = curve("there", tuple(float(2**power) for power in range(23)), link="network")
    made = _figures.of_workload(ours, {RATE.name: RATE}, (), (theirs,))
    (figure,) = (one for one in (made.figures if made else ()) if isinstance(one, Lines))
    assert [len(one.points) for one in figure.series] == [3, 14] and "There (2011)" in figure.series[1].name
    assert "9 of the 23 points of There (2011)" in figure.caption and "beyond the figure" not in figure.caption
    assert all(figure.x.low <= point.x <= figure.x.high for point in figure.series[1].points)


def test_curves_for_which_there_is_no_colour_are_told() -> None:
    ours = [finding(1e9 + size, bytes=size) for size in (8, 1024, 65536)]
    many = tuple(curve(f"s{at}", (8.0, 1024.0, 65536.0)) for at in range(9))
    made = _figures.of_workload(ours, {RATE.name: RATE}, (), many)
    (figure,) = (one for one in (made.figures if made else ()) if isinstance(one, Lines))
    assert len(figure.series) == _figures.MOST_SERIES
    assert figure.caption.count("is in the table and not drawn") == 2
    charts.svg(figure)


def test_like_with_like_has_bars_over_systems_and_the_rest_stands_apart() -> None:
    ours = msgspec.structs.replace(finding(2e9, threads=4), low=1.9e9, high=2.1e9)
    node = Circumstances(device="cpu", nodes=1, cores=4, whole=True, virtual=False)

    def beside(system: str, theirs: float, *differences: str) -> PublishedComparison:
        return PublishedComparison(
            metric=RATE.name,
            unit="B/s",
            better="higher",
            ours=ours,
            system=system,
            system_name=system,
            theirs=theirs,
            ratio=None if differences else 2e9 / theirs,
            verdict="other circumstances" if differences else "better" if theirs < 1.9e9 else "worse",
            circumstances=node,
            theirs_circumstances=node,
            differences=differences,
        )

    found = [beside("slow", 1e9), beside("fast", 4e9), beside("card", 9e9, "device: cpu here, gpu there")]
    bars, ranked, apart = _published.blocks(found, [ours], {RATE.name: RATE})
    assert isinstance(bars, Bars) and [bar.title for bar in bars.bars] == ["fast", "here", "slow"]
    assert [bar.fractions[0][1] for bar in bars.bars] == [1.0, 0.5, 0.25]
    assert isinstance(ranked, Table) and [row[2] for row in ranked.rows] == ["slow", "fast"]
    assert isinstance(apart, Table) and [row[2] for row in apart.rows] == ["card"]
    assert "better" not in str(apart.rows) and "device: cpu here, gpu there" in apart.rows[0]
    assert _published.blocks([], [ours], {RATE.name: RATE}) == []


def test_a_published_value_stands_at_its_own_x_or_across() -> None:
    ours = [finding(1.0 * n, n=n) for n in (1, 2, 3)]

    def published(theirs: float, system: str, **params: int) -> PublishedComparison:
        return PublishedComparison(
            metric=RATE.name,
            unit="B/s",
            better="higher",
            ours=ours[0],
            system=system,
            system_name=system,
            theirs=theirs,
            theirs_params=dict(params),
            where="table 1",
        )

    (made,) = lines(
        ours,
        (
            published(2.5, "at", n=2),
            published(1.5, "across", nodes=4),
            published(90.0, "far"),
            published(2.0, "elsewhere", n=1000),
        ),
    )
    assert [(one.x, one.y) for one in made.marks] == [(2.0, 2.5), (None, 1.5)]
    assert "far 90.0 B/s" in made.caption and "elsewhere" not in made.caption


@pytest.mark.parametrize("analysis", [analyses.one_machine(), analyses.many_hosts(30)], ids=["one", "many"])
def test_every_drawing_is_valid_and_keeps_its_points(analysis: Analysis) -> None:
    for section in document(analysis).sections:
        for block in section.blocks:
            for figure in block.figures if isinstance(block, Figures) else ():
                drawn = charts.svg(figure)
                assert drawn.startswith("<svg") and "NaN" not in drawn and "undefined" not in drawn
                if isinstance(figure, Lines):
                    marks = sum(len(one.points) for one in figure.series) + len(figure.marks) + len(figure.rules)
                    assert drawn.split("role-mark", 1)[1].count("aria-label") == marks
                for key in charts.legend(figure):
                    assert f'"{key.colour}"' in drawn


@pytest.fixture(scope="module")
def vega_lite() -> Any:
    """What checks a description against the schema of Vega-Lite, compiled once: Chart.from_dict does so for each."""
    altair = pytest.importorskip("altair", reason="altair brings the schema of Vega-Lite: pip install altair")
    import jsonschema  # altair needs it, too

    schema = altair.load_schema()
    return jsonschema.validators.validator_for(schema)(schema)


@pytest.mark.parametrize("standalone", [False, True])
def test_every_description_keeps_to_the_schema_of_vega_lite(vega_lite: Any, standalone: bool) -> None:
    for analysis in (analyses.one_machine(), analyses.many_hosts(30)):
        for section in document(analysis).sections:
            for block in section.blocks:
                for figure in block.figures if isinstance(block, Figures) else ():
                    spec = charts.spec(figure, standalone=standalone)
                    vega_lite.validate(json.loads(json.dumps(spec, allow_nan=False)))  # raises where it is refused
    assert not vega_lite.is_valid({**spec, "width": "wide"}), "the schema refuses something"


def test_labels_of_an_axis_are_the_words_for_their_values() -> None:
    (made,) = lines([finding(1.0 * size, bytes=size) for size in (1, 1024, 2**20, 2**30)])
    assert list(made.x.labels.values()) == ["1 B", "1 KiB", "1 MiB", "1 GiB"]
    drawn = charts.svg(made)
    assert all(f">{words}</text>" in drawn for words in made.x.labels.values())


@pytest.mark.parametrize(
    "unit", sorted({one.unit for name in workloads.names() for one in workloads.get(name).metrics})
)
def test_every_unit_of_every_workload_is_drawn(unit: str) -> None:
    metric = Metric(name="new.rate", title="Rate", unit=unit, better="higher")
    for low in (3e-7, 0.02, 7.0, 5e9):
        found = [
            msgspec.structs.replace(finding(low * factor, n=n, host="h"), unit=unit)
            for n, factor in ((1, 1.0), (2, 1.5), (3, 2.0))
        ]
        made = _figures.of_workload(found, {metric.name: metric}, ())
        assert made is not None
        drawn = charts.svg(made.figures[0])
        assert "NaN" not in drawn and "undefined" not in drawn
        assert units.show(low * 2, unit) in drawn
