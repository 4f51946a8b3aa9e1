"""What becomes of HPL's output; verify mode; beside published results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from shakedown import published, report
from shakedown.analysis import build, compare, table
from shakedown.campaign import parse as parse_campaign
from shakedown.campaign.plan import make
from shakedown.records import (
    Analysis,
    Finding,
    Host,
    Job,
    Machine,
    Measurement,
    Params,
    Plan,
    Run,
    Value,
)
from shakedown.results import outcome
from shakedown.workloads import hpl
from shakedown.workloads.common import hpl as _hpl
from support.hpls import CORE, node, resolve

# ---------------------------------------------------------------------------------------------------- what it becomes

PARAMS: Params = {
    "n": 8064,
    "nb": 192,
    "p": 1,
    "q": 1,
    "ranks": 1,
    "threads": 2,
    "mapping": "row",
    "bcast": "1ringM",
    "depth": 1,
    "pfact": "right",
    "rfact": "crout",
    "nbmin": 8,
    "ndiv": 2,
    "swap": "mix",
    "swap_threshold": 192,
    "trsm": "recursive",
    "split": 0.5,
    "segment_bytes": 1048576,
    "panel_threads": 0,
    "pages": "huge",
    "progress_thread": False,
}
PARTS = {"update": 0.83, "panel": 0.06, "solve": 0.03, "rows": 0.03, "messages": 0.0, "wait": 0.04, "other": 0.01}


def event(
    kernel: str, work: dict[str, float], seconds: Sequence[float], more: Params, residual: float | None = None
) -> bytes:
    """One ``case`` event as native/hpl/README.md gives it."""
    told: dict[str, object] = {
        "event": "case",
        "kernel": kernel,
        "params": {**PARAMS, **more},
        "work": work,
        "seconds": list(seconds),
        "begin_ns": 1,
        "end_ns": 2,
    }
    if residual is not None:
        told["residual"] = {"value": residual, "limit": 16, "kind": "HPL scaled residual"}
    return json.dumps(told).encode()


def one_run(rate: float, ceiling: float, residual: float = 0.004, **more: Value) -> list[bytes]:
    """The cases of one whole run at a rate in flop/s, beside a DGEMM at ``ceiling``."""
    flop = _hpl.flop(int(more.get("n", PARAMS["n"])))
    return [
        event("ceiling", {"flop": 1e11}, [1e11 / ceiling], more),
        event("hpl", {"flop": flop}, [flop / rate], more, residual),
        *(event(part, {"value": share}, [], more) for part, share in PARTS.items()),
    ]


def measured(lines: Sequence[bytes], **run_params: Value) -> Measurement:
    """What the harness makes of a program's output."""
    start = b'{"event":"start","program":"hpl","schema":1,"unix_ns":1,"monotonic_ns":1,"host":"node1","facts":{}}'
    end = b'{"event":"end","ok":true,"unix_ns":3,"max_rss_bytes":1}'
    run = Run(
        id="r1",
        workload="hpl",
        params={"library": "openblas 0.3.34", **run_params},
        label="hpl",
        estimate_s=1,
        limit_s=30,
    )
    job = Job(run="r1", repeat=1, argv=("hpl",), host="node1", begin_ns=1, end_ns=4, exit_code=0)
    return outcome.measurement(run, job, b"\n".join([start, *lines, end]), b"")


def analysed(record: Measurement, on: Host, campaign: str = "") -> Analysis:
    machine_here = Machine(hosts=(on,), discovered_ns=1, version="t")
    plan = Plan(campaign="m", title="M", runs=())
    if campaign:
        plan = make(parse_campaign(campaign, "m.toml"), machine_here)
    return build.build("run", plan, machine_here, table.from_measurements([record]), (), 1, "t")


def values(analysis: Analysis, host_name: str = "node1") -> dict[str, Finding]:
    return {one.metric: one for one in analysis.findings if one.host == host_name}


def test_a_run_has_its_rate_its_fractions_and_its_shares() -> None:
    found = values(analysed(measured(one_run(1.2e11, 1.5e11)), node(2)))
    assert found["hpl.rate"].value == pytest.approx(1.2e11)
    assert found["hpl.time"].value == pytest.approx(_hpl.flop(8064) / 1.2e11)
    assert found["hpl.ceiling.rate"].value == pytest.approx(1.5e11)
    assert found["hpl.ceiling.fraction"].value == pytest.approx(0.8)
    assert found["hpl.efficiency"].value == pytest.approx(1.2e11 / (2 * CORE.value))
    assert found["hpl.rate"].fractions[0].fraction == found["hpl.efficiency"].value, "one peak, one fraction"
    shares = {name.removeprefix("hpl.share."): one.value for name, one in found.items() if "share" in name}
    assert shares == PARTS, "a share of nothing is a measured zero"
    assert sum(PARTS.values()) == pytest.approx(1)
    for one in found.values():
        assert one.params == {**PARAMS, "library": "openblas 0.3.34"}


def test_without_a_derived_peak_there_is_no_efficiency() -> None:
    bare = msgspec.structs.replace(node(2), peaks=())
    assert "hpl.efficiency" not in values(analysed(measured(one_run(1.2e11, 1.5e11)), bare))


def test_the_peak_is_that_of_the_threads_of_all_ranks() -> None:
    on = node(8)
    for ranks, threads in ((4, 2), (2, 4), (1, 8), (1, 2), (2, 1)):
        found = values(analysed(measured(one_run(1e11, 1.5e11, ranks=ranks, threads=threads)), on))
        assert found["hpl.efficiency"].value == pytest.approx(1e11 / (ranks * threads * CORE.value))


def test_rpeak_is_at_the_base_clock_where_a_clock_was_measured_too() -> None:
    on = node(2)
    faster = tuple(
        msgspec.structs.replace(
            peak, value=1.4 * peak.value, basis="32 flop/cycle x 3.5 GHz clock measured under vector load"
        )
        for peak in on.peaks
    )
    both = msgspec.structs.replace(on, peaks=(*faster, *on.peaks))
    found = values(analysed(measured(one_run(1.2e11, 1.5e11)), both))
    assert len(found["hpl.rate"].fractions) == 2
    assert found["hpl.efficiency"].value == pytest.approx(1.2e11 / (2 * CORE.value))


def test_a_failed_residual_or_none_at_all_where_it_is_nan_has_no_score() -> None:
    for residual in (17.0, float("nan")):
        lines = [line.replace(b"NaN", b"null") for line in one_run(1.2e11, 1.5e11, residual)]
        record = measured(lines)
        assert record.state == "wrong" and "HPL scaled residual" in record.reason
        assert not analysed(record, node(2)).findings


def test_the_interval_of_a_fraction_takes_both_intervals() -> None:
    flop, n = _hpl.flop(8064), 9
    lines = [
        event("ceiling", {"flop": 1e11}, [1e11 / (1.5e11 + i * 1e9) for i in range(n)], {}),
        event("hpl", {"flop": flop}, [flop / (1.2e11 + i * 1e9) for i in range(n)], {}, 0.004),
    ]
    found = values(analysed(measured(lines), node(2)))
    rate, ceiling, fraction = (found[f"hpl.{name}"] for name in ("rate", "ceiling.rate", "ceiling.fraction"))
    assert rate.low and rate.high and ceiling.low and ceiling.high and fraction.low and fraction.high and fraction.value
    assert fraction.low == pytest.approx(rate.low / ceiling.high)
    assert fraction.high == pytest.approx(rate.high / ceiling.low)
    assert fraction.low < fraction.value < fraction.high


def test_a_run_without_a_check_says_so() -> None:
    assert resolve({"n": 1000}, node(2))["check"] == ""
    params = resolve({"n": 1000, "threshold": -1}, node(2))
    (one,) = measured([event("hpl", {"flop": 1e11}, [1.0], {})], check=params["check"]).cases
    assert one.params["check"] == "not verified"
    (checked,) = measured([event("hpl", {"flop": 1e11}, [1.0], {}, 0.01)], check="").cases
    assert "check" not in checked.params


def test_two_libraries_are_two_findings() -> None:
    records = [
        measured(one_run(rate, 1.5e11), library=name)
        for rate, name in ((1.2e11, "openblas 0.3.34"), (1.3e11, "mkl 2024.1"))
    ]
    machine_here = Machine(hosts=(node(2),), discovered_ns=1, version="t")
    cases = table.from_measurements(records)
    found = build.build("run", Plan(campaign="m", title="M", runs=()), machine_here, cases, (), 1, "t")
    rates = {one.params["library"]: one.value for one in found.findings if one.metric == "hpl.rate"}
    assert rates == {"openblas 0.3.34": pytest.approx(1.2e11), "mkl 2024.1": pytest.approx(1.3e11)}


def test_windows_have_rates_of_their_own() -> None:
    lines = [
        event("window", {"flop": 4e10 * order / 8064}, [0.3], {"order": order, "panels": 4}) for order in (8064, 4032)
    ]
    analysis = analysed(measured(lines), node(2))
    rates = {one.params["order"]: one.value for one in analysis.findings if one.metric == "hpl.window.rate"}
    assert rates == {8064: pytest.approx(4e10 / 0.3), 4032: pytest.approx(2e10 / 0.3)}
    assert "hpl.rate" not in values(analysis), "a window is no score"


# --------------------------------------------------------------------------------------------------------- verify mode


def fleet(speeds: Sequence[float]) -> list[bytes]:
    """One job over many hosts: each solves its own system, at 120 Gflop/s times its speed."""
    return [
        line
        for index, speed in enumerate(speeds)
        for line in one_run(1.2e11 * speed, 1.5e11 * speed, host=f"node{index:02d}")
    ]


@pytest.mark.parametrize("hosts", [4, 8, 16, 200])
def test_a_slow_host_in_one_job_over_many_is_named_with_how_far_behind_it_is(hosts: int) -> None:
    speeds = [1 + 0.002 * (index % 5 - 2) for index in range(hosts)]
    speeds[3] = 0.88
    analysis = analysed(measured(fleet(speeds)), node(2, name="node00"))
    assert {one.host for one in analysis.findings} == {f"node{index:02d}" for index in range(hosts)}
    assert all("host" not in one.params for one in analysis.findings)
    (sentence,) = [text for text in analysis.summary if "slower than the median" in text]
    assert f"median of {hosts} hosts" in sentence and "node03 (12 % behind)" in sentence
    assert sum(f"node{index:02d}" in sentence for index in range(hosts)) == 1
    assert all(len(one.fractions) == 1 for one in analysis.findings if one.metric == "hpl.rate"), "of one kind of host"
    noticed = {one.host for one in analysis.findings if any(notice.code == "slow-host" for notice in one.notices)}
    assert noticed == {"node03"}


@pytest.mark.parametrize(
    "speeds",
    [
        [1.0, 1.001, 0.999, 1.0, 0.985],  # beyond 3.5 deviations, and less than 2 % behind
        [1.0, 1.05, 0.95, 1.02, 0.93],  # 7 % behind among hosts that differ as much
        [1.0, 1.0, 1.0, 1.3],  # fast
        [1.0, 0.5],  # two hosts have no median
    ],
)
def test_hosts_that_are_as_fast_as_the_others_are_not_named(speeds: Sequence[float]) -> None:
    analysis = analysed(measured(fleet(speeds)), node(2, name="node00"))
    assert not [text for text in analysis.summary if "slower" in text]
    assert not [one for one in analysis.findings if any(notice.code == "slow-host" for notice in one.notices)]


def test_the_report_of_many_hosts_names_the_slow_one(tmp_path: Path) -> None:
    for count in (4, 12):  # shown one by one, and as a distribution
        speeds = [1.0] * count
        speeds[2] = 0.9
        written = report.write(analysed(measured(fleet(speeds)), node(2, name="node00")), tmp_path, ("md",))
        page = written["md"].read_text()
        assert "node02 (10 % behind)" in page and f"10 % behind the median of {count} hosts (120 Gflop/s)" in page


def test_every_host_must_meet_a_limit() -> None:
    campaign = 'name = "m"\ntitle = "M"\n[[run]]\nworkload = "hpl"\nparams = { n = 1000 }\n'
    campaign += '[[limit]]\nmetric = "hpl.rate"\nat_least = 0.7\nof = "flops.fp64"\n'
    analysis = analysed(measured(fleet([1.0, 1.0, 1.0, 0.88])), node(2, name="node00"), campaign)
    states = {verdict.finding.host: verdict.state for verdict in analysis.verdicts if verdict.finding}
    assert states == {"node00": "met", "node01": "met", "node02": "met", "node03": "not met"}
    assert all(f"on {verdict.finding.host}" in verdict.requirement for verdict in analysis.verdicts if verdict.finding)


# ------------------------------------------------------------------------------------------------- beside published ones


def test_a_measured_rate_lies_beside_published_ones() -> None:
    analysis = analysed(measured(one_run(1.2e11, 1.5e11)), node(2))
    beside = {(one.system, one.metric): one for one in analysis.beside}
    tsubame = beside["tsubame", "hpl.rate"]
    assert tsubame.theirs == 72.24e9, "one node beside one node, not 47 Tflop/s of all"
    assert tsubame.ours.value == pytest.approx(1.2e11)
    assert beside["tsubame", "hpl.efficiency"].theirs == pytest.approx(0.8732)
    assert not [one for one in analysis.beside if one.metric == "hpl.time"], "a time is compared at the same N only"


def test_a_time_is_compared_at_the_same_order() -> None:
    psnc = next(
        one
        for one in published.systems()
        if any(value.metric == "hpl.time" and "n" in value.params for value in one.values)
    )
    order = next(value.params["n"] for value in psnc.values if value.metric == "hpl.time" and "n" in value.params)
    analysis = analysed(measured(one_run(1.2e11, 1.5e11, n=int(order))), node(2))
    assert any(one.metric == "hpl.time" and one.system == psnc.id for one in analysis.beside)


def test_compare_has_rows_for_the_run_and_the_systems() -> None:
    analysis = analysed(measured(one_run(1.2e11, 1.5e11)), node(2))
    metrics = {metric.name: metric for metric in hpl.WORKLOAD.metrics}
    systems = (published.system(name) for name in ("tsubame", "iict-bas"))
    entries = [compare.from_analysis(analysis), *(compare.from_published(one, metrics) for one in systems)]
    rows = compare.side_by_side(entries, metrics)
    rate = next(row for row in rows if row.metric == "hpl.rate")
    assert [cell is not None for cell in rate.cells] == [True, True, True]
