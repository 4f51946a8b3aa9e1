"""The model of one run: limits that are known exactly, what must rise and fall, and the recurrence that it solves."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.prediction import BROADCASTS, Config, Rates, seconds
from shakedown.prediction import inputs as records
from shakedown.prediction.model import SHARES, arrays, dgemm_rate, evaluate, slowest_of, step
from shakedown.prediction.network import bandwidth, geometry

RANK = 9e9  # flop/s
RATES = Rates(
    dgemm=((240, RANK),),
    panel=0.25 * RANK,
    trsm=0.6 * RANK,
    rows=1.5e8,
    back=0.1 * RANK,
    narrow=0.08,
    latency_on_s=2e-6,
    latency_off_s=6e-6,
    stream_on=0.8e9,
    stream_off=0.8e9,
    node_off=1.2e9,
    spread=0.01,
)
FREE = Rates(dgemm=((240, RANK),))


def run(n: int, p: int, q: int, **other: object) -> Config:
    return Config(**{"n": n, "nb": 240, "p": p, "q": q, "ranks_per_node": 8, "threads": 2, **other})


NETLIB = records.netlib(run(160_080, 8, 8, bcast="2ringM", swap_threshold=240))


# ----------------------------------------------------------------------------------------------------------- exact limits


def test_one_rank_without_other_costs_does_the_update_alone() -> None:
    n, b = 96_000, 240
    expected = (2 / 3 * n**3 - n**2 * b + n * b**2 / 3) / RANK  # sum of 2 b (n - k b)^2 over the panels
    assert seconds(run(n, 1, 1), FREE).time_s == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "config", [run(400_000, 16, 16), run(400_000, 8, 32, depth=0), records.netlib(run(400_000, 16, 16))]
)
def test_without_messages_the_dgemm_bound_is_reached_but_for_the_uneven_blocks(config: Config) -> None:
    bound = 2 / 3 * config.n**3 / (config.p * config.q * RANK)
    uneven = 0.75 * config.nb * (config.p + config.q) / config.n  # half a block more than n / P rows and n / Q columns
    time_s = seconds(config, FREE).time_s
    assert bound * 0.998 < time_s < bound * (1 + uneven * 1.1)


def test_shares_sum_to_one_and_none_is_negative() -> None:
    for config in (NETLIB, run(160_080, 8, 8), run(20_000, 2, 4, bcast="long")):
        shares = seconds(config, RATES).shares
        assert set(shares) == set(SHARES)
        assert sum(shares.values()) == pytest.approx(1)
        assert min(shares.values()) > -1e-12


def test_draws_are_what_single_runs_are() -> None:
    single = arrays(RATES, 240)
    fast = single._replace(dgemm=single.dgemm * 2)
    both = single._replace(dgemm=np.concatenate([single.dgemm, fast.dgemm]))
    alone = [float(evaluate(NETLIB, one).time_s[0]) for one in (single, fast)]
    assert evaluate(NETLIB, both).time_s.tolist() == pytest.approx(alone, rel=1e-12)


def test_a_rate_in_between_is_linear_in_the_logarithm() -> None:
    table = ((100, 10.0), (400, 30.0))
    assert dgemm_rate(table, 200) == pytest.approx(20)
    assert dgemm_rate(table, 50) == 10
    assert dgemm_rate(table, 800) == 30
    with pytest.raises(ValueError, match="empty"):
        dgemm_rate((), 200)


@pytest.mark.parametrize(("count", "expected"), [(2, 0.5642), (10, 1.5388), (100, 2.5076), (1000, 3.2414)])
def test_the_slowest_of_many_is_what_the_tables_of_order_statistics_say(count: int, expected: float) -> None:
    assert slowest_of(count) == pytest.approx(expected, rel=0.05 if count == 2 else 0.01)


def test_one_node_has_no_slowest() -> None:
    assert slowest_of(1) == 0


# ------------------------------------------------------------------------------------------------------- rises and falls


@settings(max_examples=60, deadline=None)
@given(
    p=st.sampled_from([1, 2, 4, 8]),
    q=st.sampled_from([1, 2, 3, 8, 16]),
    blocks=st.integers(20, 600),
    bcast=st.sampled_from(BROADCASTS),
    mapping=st.sampled_from(["row", "column"]),
    netlib=st.booleans(),
    depth=st.sampled_from([0, 1]),
)
def test_what_slows_a_part_never_makes_the_run_faster(
    p: int, q: int, blocks: int, bcast: str, mapping: str, netlib: bool, depth: int
) -> None:
    config = run(240 * blocks, p, q, bcast=bcast, mapping=mapping, depth=depth)
    config = records.netlib(config) if netlib else config
    base = seconds(config, RATES).time_s
    slower = [
        {"dgemm": ((240, RANK / 2),)},
        {"panel": RATES.panel / 4},
        {"trsm": RATES.trsm / 3},
        {"rows": RATES.rows / 3},
        {"latency_on_s": 1e-3, "latency_off_s": 1e-3},
        {"stream_on": 1e8},
        {"stream_off": 1e8},
        {"node_off": 1e8},
        {"exchange": 2.0},
        {"spread": 0.03},
        {"slowest": 0.9},
        {"jitter": 0.03},
    ]
    for change in slower:
        assert seconds(config, msgspec.structs.replace(RATES, **change)).time_s >= base * (1 - 1e-9), change
    larger = msgspec.structs.replace(config, n=config.n + 2400)
    grown = seconds(larger, RATES)
    assert grown.time_s > base
    assert grown.flop_per_s > seconds(config, RATES).flop_per_s  # a larger matrix hides more


@pytest.mark.parametrize("make", [records.netlib, lambda config: config])
def test_efficiency_falls_with_the_number_of_nodes_at_the_same_memory_each(make: object) -> None:
    assert callable(make)
    each = [
        seconds(make(run(57_600 * side, 2 * side, 4 * side)), RATES).flop_per_s / (8 * side**2)
        for side in (1, 2, 4, 8, 16)
    ]
    assert all(before > after for before, after in pairwise(each))


def test_a_split_update_hides_the_row_exchange() -> None:
    slow = msgspec.structs.replace(RATES, stream_off=2e8, node_off=2e8)
    exposed, split = (seconds(run(160_080, 8, 8, split=share), slow).shares["messages"] for share in (0.0, 0.5))
    assert split < exposed / 2


def test_pieces_hide_the_ring_from_those_far_away() -> None:
    far = msgspec.structs.replace(RATES, stream_on=5e7, stream_off=5e7)
    whole, pieces = (seconds(run(200_000, 4, 64, segment_bytes=size), far).time_s for size in (0, 1 << 20))
    assert pieces < whole


def test_a_progress_thread_takes_nothing_from_computing() -> None:
    times = [
        seconds(run(160_080, 8, 8, progress=progress, progress_thread=thread), RATES).time_s
        for progress, thread in ((False, False), (True, False), (True, True))
    ]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("name", ["n", "nb", "p", "q", "ranks_per_node"])
def test_what_is_no_run_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        seconds(msgspec.structs.replace(NETLIB, **{name: 0}), RATES)


# ---------------------------------------------------------------------------- the closed form against what it stands for


def recurrence(config: Config, rates: Rates) -> float:
    """Every panel and every process column in turn, with the same costs of an iteration; without back substitution."""
    panels = -(-config.n // config.nb)
    order = np.maximum(config.n - config.nb * np.arange(1.0, panels + 1), 0)
    draws = arrays(rates, config.nb)._replace(back=float("inf"))
    costs = step(config, draws, order)
    work, factor, ahead = (np.broadcast_to(one, (1, panels))[0] for one in (costs.work, costs.factor, costs.ahead))
    places = [place for place, _ in costs.sent]
    arrivals = np.array([np.broadcast_to(value, (1, panels))[0] for _, value in costs.sent])
    column = np.arange(config.q)
    clock = np.zeros(config.q)
    sent_at = float(np.ravel(step(config, draws, np.array([float(config.n)])).factor)[0])
    for panel in range(panels):
        distance = (column - panel) % config.q
        arrival = sent_at + np.interp(distance, places, arrivals[:, panel])
        begin = np.where(distance == 0, clock, np.maximum(clock, arrival))
        owner = (panel + 1) % config.q
        clock = begin + work[panel]
        if panel + 1 < panels:
            clock[owner] += factor[panel]
            sent_at = begin[owner] + (ahead[panel] if config.depth else work[panel]) + factor[panel]
    return float(clock.max())


@pytest.mark.parametrize(
    ("config", "bound"),
    [
        (records.netlib(run(58_320, 2, 4, bcast="2ringM")), 0.001),
        (records.netlib(run(160_080, 8, 8, bcast="1ringM")), 0.001),
        (records.netlib(run(160_080, 8, 8, bcast="1ringM", depth=0)), 0.001),
        (records.netlib(run(620_400, 32, 32, bcast="long")), 0.001),
        (records.netlib(run(995_520, 34, 136, bcast="1ring")), 0.001),
        (run(620_400, 32, 32), 0.001),
        (records.netlib(run(241_200, 16, 128, bcast="1ring")), 0.01),  # 8 times round the ring: the ends count
    ],
)
@pytest.mark.parametrize("speed", [1.0, 0.25])
def test_the_steady_state_is_that_of_the_recurrence(config: Config, bound: float, speed: float) -> None:
    names = ("stream_on", "stream_off", "node_off")
    rates = msgspec.structs.replace(RATES, back=float("inf"), **{name: getattr(RATES, name) * speed for name in names})
    assert seconds(config, rates).time_s == pytest.approx(recurrence(config, rates), rel=bound)


@pytest.mark.parametrize(
    "config", [NETLIB, run(620_400, 32, 32), records.netlib(run(1_334_160, 36, 144, bcast="1ring"))]
)
@pytest.mark.parametrize("speed", [1.0, 0.1])
def test_quadrature_changes_less_than_a_thousandth(config: Config, speed: float) -> None:
    rates = arrays(msgspec.structs.replace(RATES, stream_on=8e8 * speed, stream_off=8e8 * speed), 240)
    every_panel = float(evaluate(config, rates, points=10_000).time_s[0])
    assert float(evaluate(config, rates).time_s[0]) == pytest.approx(every_panel, rel=1e-3)


# --------------------------------------------------------------------------------------------------------------- flows


def test_flows_of_rows_along_nodes() -> None:
    """4 x 2 ranks, four to a node, along rows: a node has two rows of the grid."""
    shape = geometry(4, 2, "row", 4, 0)
    near, far = shape.steps
    assert (near.flows, near.columns) == (1, 2)  # row 1 to row 2, row 3 to row 0: one rank of each column
    assert (far.flows, far.columns) == (2, 2)
    assert shape.ring_off == 0
    assert shape.nodes == 2


def test_flows_of_columns_along_nodes() -> None:
    """The same with consecutive ranks down a column: a node is a column, and every hop along a row leaves it."""
    shape = geometry(4, 2, "column", 4, 0)
    assert [one.flows for one in shape.steps] == [0, 0]
    assert shape.steps[0].within == 4
    assert (shape.ring_off, shape.ring.flows) == (1.0, 4)


def test_edge_switches_count_what_crosses_them() -> None:
    """8 x 8 ranks, a row to a node, two nodes to a switch: at distance 1 one row of a switch sends across."""
    shape = geometry(8, 8, "row", 8, 2)
    assert shape.leaves == 4
    assert [(one.leaf_flows, one.leaf_columns) for one in shape.steps] == [(1, 8), (2, 8), (2, 8)]


def test_a_link_is_shared_by_what_crosses_it_at_once() -> None:
    rates = Rates(dgemm=((240, RANK),), stream_off=1e9, node_off=2e9, leaf_off=8e9)
    shape = geometry(8, 8, "row", 8, 2)
    alone = bandwidth(rates, shape.steps[0], 0.0)
    together = bandwidth(rates, shape.steps[0], 1.0)
    assert alone == 1e9  # the message's own limit
    assert together == pytest.approx(2e9 / 8)  # eight columns of the node at once
    narrow = msgspec.structs.replace(rates, leaf_off=1e9)
    assert bandwidth(narrow, shape.steps[1], 1.0) == pytest.approx(1e9 / 16)
