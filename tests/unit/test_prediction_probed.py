"""Runs of hpl_probe as ranges of the model's inputs, and as the tuner's rates."""

from __future__ import annotations

import pytest

from shakedown.prediction import measured, probed
from shakedown.records import Case, Measurement, Value
from shakedown.tuning import prior
from support.machines import host

THREADS = 4


def case(kernel: str, rate: float, work: str = "flop", **params: Value) -> Case:
    """A case whose samples each did ``rate`` of work in a second."""
    return Case(kernel=f"probe.{kernel}", params=params, work={work: 2 * rate}, seconds=(2.0, 2.0, 2.5))


GEMM = [case("gemm", rate, k=k, m=1536, n=3072, threads=THREADS) for k, rate in ((128, 8e10), (256, 1e11))]
CASES = [
    *GEMM,
    case("narrow", 9e10, k=256, m=1536, n=256, threads=THREADS),
    case("narrow", 4e10, k=256, m=32, n=3072, threads=THREADS),
    case("solve", 5e10, nb=256, trsm="recursive", threads=THREADS),
    case("solve", 2e10, nb=256, trsm="blas", threads=THREADS),
    case("solve", 1e10, nb=64, trsm="recursive", threads=THREADS),
    case("panel", 2e10, nb=256, rows=4096, threads=1, busy=0),
    case("panel", 4e10, nb=256, rows=4096, threads=4, busy=0),
    case("panel", 9e10, nb=256, rows=4096, threads=8, busy=0),
    case("rows", 4e8, "elements", nb=256, threads=THREADS),
]
RING = [
    case("ring", 1e10, "bytes", bytes=1 << 20, scope="off", contended=0, busy=0, senders=1),
    case("ring", 8e9, "bytes", bytes=1 << 26, scope="off", contended=0, busy=1, senders=1),
    case("ring", 3e9, "bytes", bytes=1 << 22, scope="off", contended=1, busy=0, senders=4),
    case("ring", 1e12, "bytes", bytes=1 << 16, scope="off", contended=1, busy=0, senders=4),
    case("latency", 5e5, "messages", bytes=8, scope="off", busy=0),
]


def measurement(cases: list[Case], workload: str = "hpl_probe", state: str = "ok") -> Measurement:
    return Measurement(
        run="r",
        repeat=1,
        workload=workload,
        params={"ranks": 2},
        host="h",
        state=state,  # type: ignore[arg-type]
        cases=tuple(cases),
        begin_ns=0,
        end_ns=1,
    )


def test_only_cases_of_runs_that_ended_well_count() -> None:
    runs = [measurement(GEMM), measurement(CASES, state="wrong"), measurement(CASES, workload="probe")]
    assert probed.cases_of(runs) == GEMM
    assert probed.compute([], nb=256, threads=4) == {} == probed.network([])


def test_rates_become_ranges_around_what_was_measured() -> None:
    found = probed.compute(CASES, nb=256, threads=THREADS)
    for name, true in (("dgemm", 1e11), ("trsm", 0.5), ("rows", 4e8), ("narrow", 0.1)):
        assert found[name].low < true < found[name].high, name
        assert found[name].high / found[name].low < 2.3 and found[name].measured
    assert found["panel"].low < 0.2 and 0.4 < found["panel"].high < 0.6, "a gang that no rank can have does not count"
    assert found["dgemm"].unit == "flop/s" and "spread" not in found


def test_other_numbers_of_threads_are_taken_in_proportion() -> None:
    found = probed.compute(CASES, nb=256, threads=2 * THREADS)
    assert found["dgemm"].low < 2e11 < found["dgemm"].high
    assert found["rows"].low < 8e8 < found["rows"].high
    assert found["trsm"].low < 0.5 < found["trsm"].high, "a share of the products' rate"


def test_the_depth_lies_between_those_measured() -> None:
    found = probed.compute(GEMM, nb=181, threads=THREADS)
    assert found["dgemm"].low < 9e10 < found["dgemm"].high


def test_messages_of_a_host_together_are_as_many_times_one() -> None:
    found = probed.network(RING)
    assert set(found) == {"latency_off_s", "stream_off", "node_off"}
    assert found["latency_off_s"].low < 2e-6 < found["latency_off_s"].high
    assert found["stream_off"].low < 8e9 < 1e10 < found["stream_off"].high < 1.2e10
    assert found["node_off"].low < 1.2e10 < found["node_off"].high < 1.5e10


def test_the_spread_of_hosts_needs_four_of_them() -> None:
    hosts = [case("node", rate, host=f"n{i}") for i, rate in enumerate((0.98e12, 1e12, 1e12, 1.02e12))]
    assert probed.compute(hosts[:3], nb=256, threads=4) == {}
    spread = probed.compute(hosts, nb=256, threads=4)["spread"]
    assert spread.low < 0.0163 < spread.high


def test_run_directories_bring_them_to_the_forecast_where_no_run_of_hpl_shows_them() -> None:
    params: dict[str, Value] = {"n": 20000, "nb": 256, "p": 1, "q": 2, "threads": THREADS}
    solved = Case(kernel="hpl", params=params, work={"flop": 5.3e12}, seconds=(30.0,))
    ceiling = Case(kernel="ceiling", params=params, work={"flop": 3e11}, seconds=(1.0,))
    share = Case(kernel="rows", params=params, work={"value": 0.01})
    probes = measurement([*CASES, *RING])
    alone = measured.from_measurements([measurement([solved], "hpl"), probes]).priors
    assert alone["dgemm"].low < 1e11 < alone["dgemm"].high and alone["rows"].low < 4e8 < alone["rows"].high
    assert alone["node_off"].low < 1.2e10 < alone["node_off"].high
    beside = measured.from_measurements([measurement([solved, ceiling, share], "hpl"), probes]).priors
    assert beside["dgemm"].low < 1.5e11 < beside["dgemm"].high, "HPL's own products go before"
    assert "share of the time" in beside["rows"].source and beside["trsm"].source.startswith("hpl_probe")


def test_the_tuner_takes_the_same_cases() -> None:
    found = prior.from_probes(prior.base(host()), [*CASES, *RING])
    assert found.dgemm == 2.5e10 and dict(found.curve)[128] == pytest.approx(0.8)
    assert found.trsm == pytest.approx(1.25e10 * (5e10 + 1e10) / 2 / 5e10), "the program's way alone"
    assert found.rows == 1e8
    assert found.network["node_off"] == 1.2e10
    assert found.network["stream_off"] == 9e9
    assert found.network["latency_off_s"] == 2e-6
    gang = prior.from_probes(prior.base(host()), [case("panel", 4e10, threads=4)])
    assert prior.rates(gang, 4).panel == pytest.approx(4e10), "what was measured comes out again"
