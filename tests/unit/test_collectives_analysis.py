"""Collective operations against their bounds and mock-ups: known times of LogP, planted slowness, noise that is none."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest

from shakedown.analysis import derive, table
from shakedown.analysis.collectives import bounds, cures, findings, guidelines
from shakedown.analysis.collectives.bounds import LogP, PointToPoint
from shakedown.records import Case, Finding, Measurement, Params
from shakedown.workloads import collectives

US = 1e-6


@pytest.mark.parametrize(("ranks", "expected_us"), [(2, 1.2), (16, 2.8), (64, 4.0), (1000, 6.2)])
def test_the_earliest_that_all_can_know_is_that_of_the_optimal_broadcast(ranks: int, expected_us: float) -> None:
    messages = LogP(0.8 * US, 0.2 * US, 0.1 * US)
    assert bounds.broadcast_s(ranks, messages) == pytest.approx(expected_us * US, rel=1e-9)


def test_the_limits_of_the_broadcast_are_known_forms() -> None:
    a = 1e-6
    for power in range(1, 11):  # a sender that is busy until its message has arrived: binomial, one round a doubling
        for ranks in (2**power, 2**power - 1 + (power == 1)):
            rounds = (ranks - 1).bit_length()
            assert bounds.broadcast_s(ranks, LogP(-a, a, a)) == pytest.approx(rounds * a)
    assert bounds.broadcast_s(1000, LogP(a, 0.0, 0.0)) == a  # one that is never busy: all at once
    assert bounds.broadcast_s(1, LogP(a, a, a)) == 0


def test_the_gap_of_one_pair_holds_nobody_up_who_sends_to_several() -> None:
    """As on simulated machines, where one receiver takes a message at a time and several take theirs at once."""
    assert bounds.broadcast_s(64, LogP(20 * US, 0.0, 20 * US)) == pytest.approx(20 * US)


def test_round_trips_give_back_what_they_were_made_of() -> None:
    made = LogP(latency_s=0.9 * US, overhead_s=0.2 * US, gap_s=0.3 * US)
    single, n, pause = 2 * (made.latency_s + 2 * made.overhead_s), 16, 4 * US
    many = single + (n - 1) * made.gap_s
    paused = single + (n - 1) * (made.overhead_s + pause)
    assert bounds.log_p(single, many, paused, n, pause) == pytest.approx(made)
    spoilt = bounds.log_p(single, 0.9 * single, 0.5 * single, n, pause)  # noise: nothing negative comes of it
    assert min(spoilt) >= 0 and spoilt.arrival_s == pytest.approx(single / 2)


@pytest.mark.parametrize(
    ("operation", "ranks", "port", "added"),
    [
        *(("barrier", 8, 0, 0), ("bcast", 8, 1, 0), ("reduce", 8, 1, 7 / 8), ("allreduce", 8, 14 / 8, 7 / 8)),
        *((name, 8, 7, 0) for name in ("gather", "scatter", "allgather", "alltoall", "alltoallv")),
        *(("reduce_scatter_block", 8, 7, 7), ("scan", 8, 1, 7 / 8), ("exscan", 2, 1, 1 / 2)),
    ],
)
def test_each_certain_term_bounds_alone(operation: str, ranks: int, port: float, added: float) -> None:
    none = LogP(0.0, 0.0, 0.0)
    size = 1 << 20
    by_port = bounds.bound(operation, ranks, size, 1, PointToPoint(none, 1e9, 0.0))
    by_sums = bounds.bound(operation, ranks, size, 1, PointToPoint(none, 0.0, 1e9))
    assert (by_port.seconds, by_sums.seconds) == pytest.approx((port * size / 1e9, added * size / 1e9))
    across = bounds.bound(operation, ranks, 8, 2, PointToPoint(LogP(1e-9, 0, 0), 0.0, 0.0, across_s=1.0))
    assert across.seconds == 1.0 and "two hosts" in across.basis
    assert set(bounds.OPERATIONS) == set(collectives.TABLE.params["operations"].items)


# ------------------------------------------------------------------------------------------------------------ verdicts


def _noise(rng: random.Random, count: int) -> list[float]:
    """Times of a busy machine: two modes that last, a long tail, and now and then a time slice of another program."""
    mode, found = 1.0, []
    for _ in range(count):
        if rng.random() < 0.1:
            mode = rng.choice((1.0, 1.0, 2.7))
        slice_s = rng.uniform(100, 4000) if rng.random() < 0.02 else 0.0
        found.append(mode * rng.lognormvariate(0, 0.15) + slice_s)
    return found


def _interleaved(rng: random.Random, factor: float, count: int = 50) -> list[float]:
    """Ratios of two ways that take turns in the same noise; the first is so many times slower."""
    both = _noise(rng, 2 * count)
    return [factor * a / b for a, b in zip(both[::2], both[1::2], strict=True)]


def test_what_is_alike_is_not_called_slower_in_one_table_of_twenty() -> None:
    rng, tables, wrong = random.Random(7), 300, 0
    for _ in range(tables):
        ratios = {f"{case}": [_interleaved(rng, 1.0) for _ in range(3)] for case in range(20)}
        wrong += any(one.slower for one in guidelines.judge(ratios).values())
    assert wrong <= 0.05 * tables


def test_at_the_very_margin_a_whole_table_is_wrong_in_one_of_twenty_at_most() -> None:
    rng, tables, wrong = random.Random(8), 400, 0
    for _ in range(tables):
        ratios = {f"{case}": [_interleaved(rng, guidelines.MARGIN)] for case in range(10)}
        wrong += any(one.slower for one in guidelines.judge(ratios).values())
    assert wrong <= 0.05 * tables + 3 * (0.05 * 0.95 * tables) ** 0.5


@pytest.mark.parametrize("factor", [1.5, 6.2, 49.0])
def test_what_is_planted_is_found_and_its_factor_is_in_the_interval(factor: float) -> None:
    rng, found, held = random.Random(9), 0, 0
    for _ in range(100):
        ratios: dict[str, Sequence[Sequence[float]]] = {f"{case}": [_interleaved(rng, 1.0)] for case in range(20)}
        ratios["bad"] = [_interleaved(rng, factor) for _ in range(2)]
        one = guidelines.judge(ratios)["bad"]
        found += one.slower
        held += one.interval.low <= factor <= one.interval.high
    assert found == 100 and held >= 90


def test_a_launch_that_does_not_show_it_and_few_pairs_decide_nothing() -> None:
    assert guidelines.judge({"a": [[9.0] * 50]})["a"].slower
    assert not guidelines.judge({"a": [[9.0] * 50, [1.0] * 10]})["a"].slower
    assert not guidelines.judge({"a": [[9.0] * 5]})["a"].slower
    assert (
        not guidelines.judge({"a": [[1.04] * 1500]})["a"].slower and guidelines.judge({"a": [[1.2] * 1500]})["a"].slower
    )
    assert guidelines.judge({"a": []}) == {}


# ------------------------------------------------------------------------------------------------------------ findings

POINT_TO_POINT = (
    Case(kernel="prtt", params={"between": "host", "messages": 1, "paused": False}, work={}, seconds=(2.4e-6, 9.0)),
    Case(kernel="prtt", params={"between": "host", "messages": 16, "paused": False}, work={}, seconds=(3.9e-6,)),
    Case(
        kernel="prtt",
        params={"between": "host", "messages": 16, "paused": True},
        work={"pause_s": 5e-6},
        seconds=(2.4e-6 + 15 * 5.2e-6,),
    ),
    Case(kernel="port", params={"bytes": 65536}, work={"bytes": 1e6}, seconds=(1e-3, 1e-4)),
    Case(kernel="reduce_local", params={"bytes": 65536}, work={"bytes": 1e6}, seconds=(1e-4,)),
)


def _cases(times: Mapping[str, Sequence[float]], **more: str | bool) -> list[Case]:
    params: Params = {"ranks": 16, "nodes": 1, "bytes": 1 << 20, "in_place": False, "mpi": "Open MPI v5.0.11", **more}
    return [
        Case(kernel="allreduce", params={**params, "method": method}, work={"osu_s": 1.0}, seconds=tuple(seconds))
        for method, seconds in times.items()
    ]


def _judged(*launches: Sequence[Case]) -> list[Finding]:
    records = [
        Measurement(
            run="r",
            repeat=repeat,
            workload="collectives",
            params={},
            host="h",
            state="ok",
            cases=(*POINT_TO_POINT, *cases),
            begin_ns=0,
            end_ns=1,
        )
        for repeat, cases in enumerate(launches, 1)
    ]
    cases = table.from_measurements(records)
    found = derive.findings(cases, {"collectives": collectives.WORKLOAD.metrics})
    return [one for one in findings.judged(found, cases) if one.metric == "collectives.allreduce.time"]


def _library(found: Sequence[Finding]) -> Finding:
    return next(one for one in found if one.params["method"] == "library")


def test_a_finding_stands_beside_its_bound_and_its_best_mock_up() -> None:
    times = {"library": [6e-3] * 20, "reduce+bcast": [1e-3] * 20, "reduce_scatter_block+allgather": [2e-3] * 20}
    found = _judged(_cases(times), _cases(times))
    one = _library(found)
    bound, mock_up = one.fractions
    assert (bound.limit, bound.value) == ("bound", pytest.approx(2 * 15 / 16 * (1 << 20) / 1e10))
    assert "port" in bound.basis and bound.fraction == pytest.approx(bound.value / 6e-3)
    assert (mock_up.limit, mock_up.value, mock_up.fraction) == ("mock-up reduce+bcast", 1e-3, pytest.approx(1 / 6))
    (notice,) = one.notices
    assert notice.code == findings.SLOWER
    assert "allreduce of 1 MiB on 16 ranks is 6 times slower (6 to 6) than its mock-up reduce+bcast" in notice.text
    assert "by 40 pairs in 2 launches" in notice.text and "coll_tuned_allreduce_algorithm 2 " in notice.advice
    (line,) = [other for other in found if other.params["method"] == "bound"]
    assert line.value == bound.value and line.n_samples == 0 and line.low is None


def test_one_that_keeps_its_guideline_has_nothing_said_of_it_and_none_beats_silence() -> None:
    one = _library(_judged(_cases({"library": [1e-3] * 20, "reduce+bcast": [1e-3] * 20, "non-blocking": [1e-5] * 20})))
    assert not one.notices and one.fractions[1].limit == "mock-up reduce+bcast"
    alone = _library(_judged(_cases({"library": [1e-3] * 20})))
    assert not alone.notices and [part.limit for part in alone.fractions] == ["bound"]


def test_faster_than_messages_is_shown_with_its_cause_and_not_cut() -> None:
    one = _library(_judged(_cases({"library": [1e-5] * 20})))
    assert one.fractions[0].fraction > 10
    assert [notice.code for notice in one.notices] == ["faster-than-messages"]


def test_ranks_that_share_cpus_are_judged_by_nothing() -> None:
    times = {"library": [6e-3] * 20, "reduce+bcast": [1e-3] * 20}
    one = _library(_judged(_cases(times, oversubscribed=True)))
    assert findings.SLOWER not in [notice.code for notice in one.notices]


def test_every_cure_names_an_operation_and_a_mock_up_that_are() -> None:
    assert "MPIR_CVAR_BCAST_INTRA_ALGORITHM" in cures.advice("bcast", "scatter+allgather", "MPICH Version: 4.0.2")
    assert "coll_tuned_reduce_scatter_block_algorithm 2 " in cures.advice(
        "reduce_scatter_block", "reduce+scatter", "Open MPI v4.1.4"
    )
    assert "can call gatherv" in cures.advice("gather", "gatherv", "Open MPI v4.1.4")
