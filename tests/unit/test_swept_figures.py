"""A sweep over many parameters has one figure for each, with the others as in the best configuration; the rest is folded."""

from __future__ import annotations

import itertools

from shakedown.document.model import Bars, Block, Figures, Heat, Lines
from shakedown.records import Finding, Metric, Params
from shakedown.report import _swept

HPL = Metric(name="hpl.rate", title="HPL rate", unit="flop/s", better="higher", per="flop/s", headline=True)
SHARE = Metric(name="hpl.fraction", title="Share", unit="1", better="higher", per="hpl.rate/flops.fp64")
ORDERS, BLOCKS, GRIDS = (5000, 10000, 20000), (64, 128, 192, 256), ((1, 4), (2, 2), (4, 1))
BROADCASTS = {"1ring": 1.0, "2ring": 0.97, "long": 0.9}


def rate(n: int, nb: int, grid: tuple[int, int], bcast: str) -> float:
    """No two factors depend on one another, so that the best of each is known."""
    return 1e11 * n / (n + 4000) * (1 - abs(nb - 192) / 1000) * {1: 0.8, 2: 1.0, 4: 0.6}[grid[0]] * BROADCASTS[bcast]


def finding(metric: Metric, value: float, params: Params) -> Finding:
    return Finding(
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        workload="hpl",
        params=params,
        host="n1",
        value=value,
        n_samples=5,
        n_runs=1,
    )


def sweep() -> list[Finding]:
    found = []
    for n, nb, grid, bcast in itertools.product(ORDERS, BLOCKS, GRIDS, BROADCASTS):
        params: Params = {"n": n, "nb": nb, "p": grid[0], "q": grid[1], "bcast": bcast}
        value = rate(n, nb, grid, bcast)
        found += [finding(HPL, value, params), finding(SHARE, value / 2e11, params)]
    return found


def shown(found: list[Finding]) -> list[Block]:
    blocks = _swept.blocks(found, {HPL.name: HPL, SHARE.name: SHARE}, ())
    return [one for one in blocks if not getattr(one, "folded", False)]


def test_one_figure_a_parameter_numbers_as_lines_words_as_bars_and_the_grid_as_a_matrix() -> None:
    figures = [figure for one in shown(sweep()) if isinstance(one, Figures) for figure in one.figures]
    bars = [one for one in shown(sweep()) if isinstance(one, Bars)]
    assert [type(one) for one in figures] == [Heat, Lines, Lines] and len(bars) == 1
    assert [len(one.series[0].points) for one in figures[1:] if isinstance(one, Lines)] == [3, 4]
    assert [bar.title for bar in bars[0].bars] == list(BROADCASTS)
    assert [round(bar.fractions[0][1], 3) for bar in bars[0].bars] == [1.0, 0.97, 0.9]


def test_every_value_stands_with_the_others_as_in_the_best_configuration() -> None:
    heat, by_n, _ = (figure for one in shown(sweep()) if isinstance(one, Figures) for figure in one.figures)
    assert isinstance(by_n, Lines) and isinstance(heat, Heat)
    assert [point.y for point in by_n.series[0].points] == [rate(n, 192, (2, 2), "1ring") for n in ORDERS]
    assert "best configuration" in by_n.caption and "192" in by_n.caption
    at = {(heat.labels[row], heat.labels[column]): value for row, column, value, _ in heat.cells}
    assert at == {(str(p), str(q)): rate(20000, 192, (p, q), "1ring") for p, q in GRIDS}


def test_where_values_were_not_measured_with_the_same_others_the_figure_says_so() -> None:
    lone = [one for one in sweep() if one.params["bcast"] != "long"]
    lone.append(finding(HPL, 1e9, {"n": 5000, "nb": 64, "p": 1, "q": 4, "bcast": "long"}))
    (bars,) = (one for one in shown(lone) if isinstance(one, Bars))
    assert "differ from value to value" in bars.caption
    assert {bar.title for bar in bars.bars} == set(BROADCASTS)


def test_shares_and_the_figures_of_single_combinations_are_folded() -> None:
    (folded,) = (
        one for one in _swept.blocks(sweep(), {HPL.name: HPL, SHARE.name: SHARE}, ()) if getattr(one, "folded", False)
    )
    assert isinstance(folded, Figures) and any("Share" in one.title for one in folded.figures)
    assert not any(
        "Share" in one.title for block in shown(sweep()) if isinstance(block, Figures) for one in block.figures
    )


def test_caches_are_not_the_best_of_memory() -> None:
    """A parameter other than the size is shown where the headline value stands: in memory, not in a cache."""
    triad = Metric(
        name="hpl.triad",
        title="Triad",
        unit="B/s",
        better="higher",
        per="bytes/s",
        limit="{level}.bandwidth",
        headline=True,
    )
    found = []
    for size, level in ((8192, "cache.l1d"), (2**27, "memory")):
        for at, (variant, pages) in enumerate(itertools.product(("cached", "nt"), ("huge", "small"))):
            value = (500e9 - at * 1e9) if level != "memory" else (20e9 + at * 1e9)
            found.append(finding(triad, value, {"bytes": size, "level": level, "variant": variant, "pages": pages}))
    bars = {one.title: one for one in _swept.blocks(found, {triad.name: triad}, ()) if isinstance(one, Bars)}
    assert [bar.value for bar in bars["Triad by variant"].bars] == ["23.0 GB/s", "21.0 GB/s"]
    assert "128 MiB" in bars["Triad by variant"].caption and len(bars["Triad by size"].bars) == 2
