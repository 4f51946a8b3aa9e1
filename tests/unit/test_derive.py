"""From samples to findings: exact arithmetic on small cases, and the same answer by whatever road."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown import workloads
from shakedown.analysis import derive, limits, table, values
from shakedown.analysis.statistics import median_interval, outliers, proportion_interval
from shakedown.errors import StoreFailed
from shakedown.programs import events
from shakedown.records import Case, Limit, Measurement, Metric, Residual

RECORDINGS = Path(__file__).parents[1] / "recordings"
RATE = Metric(name="x.rate", title="Rate", unit="B/s", better="higher", kernel="k", per="bytes/s")
EACH = Metric(name="x.each", title="Time each", unit="s", better="lower", kernel="k", per="s/messages")
TIME = Metric(name="x.time", title="Time", unit="s", better="lower", kernel="k", per="s")
SAID = Metric(name="x.said", title="Printed", unit="flop/s", better="higher", kernel="k", per="rate")
ALL = {"x": (RATE, EACH, TIME, SAID)}


def measurement(*cases: Case, repeat: int = 1, state: str = "ok", host: str = "n1") -> Measurement:
    return Measurement(
        run="r",
        repeat=repeat,
        workload="x",
        params={},
        host=host,
        state=state,  # type: ignore[arg-type]
        cases=cases,
        begin_ns=0,
        end_ns=1,
    )


def case(*seconds: float, **work: float) -> Case:
    return Case(kernel="k", params={"threads": 2}, work=work, seconds=seconds)


def find(*records: Measurement) -> dict[str, derive.Finding]:
    return {one.metric: one for one in derive.findings(table.from_measurements(records), ALL)}


def test_rates_times_and_printed_figures() -> None:
    found = find(measurement(case(2.0, 1.0, 4.0, bytes=8.0, messages=4.0, rate=7.0)))
    assert (found["x.rate"].value, found["x.rate"].best) == (4.0, 8.0)
    assert (found["x.each"].value, found["x.each"].best) == (0.5, 0.25)
    assert (found["x.time"].value, found["x.time"].n_samples) == (2.0, 3)
    assert (found["x.said"].value, found["x.said"].n_samples, found["x.said"].low) == (7.0, 1, None)


def test_the_interval_of_a_rate_is_that_of_its_times_turned_over() -> None:
    seconds = [1.0, 1.1, 1.2, 0.9, 1.05, 0.95, 1.3]
    found = find(measurement(case(*seconds, bytes=10.0)))["x.rate"]
    low, high = median_interval(seconds)
    assert (found.low, found.high) == (10.0 / high, 10.0 / low)


def test_a_message_of_no_bytes_has_a_latency_and_no_bandwidth() -> None:
    found = find(measurement(case(1.0, 2.0, bytes=0.0, messages=2.0)))
    assert "x.rate" not in found and found["x.each"].value == 0.75


def test_a_run_that_failed_has_no_score() -> None:
    assert (
        find(measurement(case(1.0, bytes=1.0), state="wrong"), measurement(case(1.0, bytes=1.0), state="timeout")) == {}
    )


def test_one_sample_has_no_interval() -> None:
    found = find(measurement(case(2.0, bytes=8.0)))["x.rate"]
    assert (found.value, found.low, found.high, found.n_samples) == (4.0, None, None, 1)


def test_repeats_widen_the_interval_and_hosts_stay_apart() -> None:
    quiet = [1.0, 1.0, 1.0, 1.0, 1.0]
    found = find(
        *(
            measurement(case(*(t * factor for t in quiet), bytes=1.0), repeat=i)
            for i, factor in enumerate((1.0, 1.25, 2.0), 1)
        )
    )["x.rate"]
    assert (found.value, found.low, found.high, found.n_runs, found.n_samples) == (0.8, 0.5, 1.0, 3, 15)
    both = derive.findings(
        table.from_measurements([measurement(case(1.0, bytes=1.0), host=name) for name in "ab"]), ALL
    )
    assert sorted(one.host for one in both if one.metric == "x.rate") == ["a", "b"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.floats(1e-6, 1e3), max_size=30), min_size=1, max_size=8))
def test_all_series_at_once_give_what_each_gives_alone(groups: list[list[float]]) -> None:
    counts = np.array([len(group) for group in groups], np.int64)
    got = derive.series(counts, np.array([t for group in groups for t in group], float))
    for i, group in enumerate(groups):
        if not group:
            assert np.isnan(got.median[i])
            continue
        assert got.median[i] == pytest.approx(statistics.median(group), rel=1e-15)
        assert (got.low[i], got.high[i]) == median_interval(group)
        assert (got.least[i], got.most[i]) == (min(group), max(group))
        assert got.outliers[i] == len(outliers(group))


@settings(max_examples=30, deadline=None)
@given(st.permutations(range(6)))
def test_the_order_of_measurements_does_not_matter(order: list[int]) -> None:
    records = [measurement(case(1.0 + i, 2.0 + i, bytes=4.0), repeat=i + 1) for i in range(6)]
    assert find(*records)["x.rate"] == find(*(records[i] for i in order))["x.rate"]


LOSS = Metric(name="x.loss", title="Loss", unit="1", better="lower", kernel="loss", per="loss")


def trial(repeat: int, loss: float, seconds: float = 1.0, bytes_done: float = 4.0) -> Measurement:
    """One repeat of a program that reports a loss beside its counts, and does other work each time."""
    counts = {"loss": loss, "lost": loss * 1000, "expected": 1000.0 + repeat}
    return measurement(
        Case(kernel="loss", params={"receivers": 4}, work=counts),
        case(seconds, 2 * seconds, 3 * seconds, bytes=bytes_done),
        repeat=repeat,
    )


def all_of(records: Sequence[Measurement]) -> list[derive.Finding]:
    return derive.findings(table.from_measurements(records), {"x": (RATE, LOSS)})


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 10), st.floats(1, 100)), min_size=2, max_size=9),
    st.randoms(use_true_random=False),
)
def test_what_a_repeat_reports_is_a_sample_and_never_another_finding(
    told: list[tuple[float, float, float]], order: random.Random
) -> None:
    records = [trial(index, *one) for index, one in enumerate(told, 1)]
    found = {one.metric: one for one in all_of(records)}
    assert len(all_of(records)) == 2
    losses = [one[0] for one in told]
    loss, rate = found["x.loss"], found["x.rate"]
    assert (loss.value, loss.n_runs, loss.n_samples) == (statistics.median(losses), len(told), len(told))
    assert (loss.low, loss.high) == median_interval(losses)
    assert (loss.best, loss.outliers) == (min(losses), len(outliers(losses)))
    assert rate.value == pytest.approx(statistics.median(work / (2 * seconds) for _, seconds, work in told))
    assert rate.low is not None and rate.high is not None and rate.low <= (rate.value or 0) <= rate.high
    order.shuffle(records)
    assert {one.metric: one for one in all_of(records)} == found


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0, 0.5), min_size=1, max_size=6), st.floats(0.6, 1))
def test_a_repeat_with_another_loss_widens_the_one_finding(losses: list[float], other: float) -> None:
    records = [trial(index, loss) for index, loss in enumerate(losses, 1)]
    (before,) = (one for one in all_of(records) if one.metric == "x.loss")
    (after,) = (one for one in all_of([*records, trial(99, other)]) if one.metric == "x.loss")
    assert after.params == before.params and after.n_samples == before.n_samples + 1
    assert after.low is not None and after.high is not None and after.low <= (after.value or 0) <= after.high
    assert before.low is None or after.high >= (before.high or 0)
    assert before.best == after.best == min(losses)


@pytest.mark.parametrize("name", workloads.names())
def test_the_cases_of_every_transcript_are_told_apart_by_kernel_and_parameters(name: str) -> None:
    workload = workloads.get(name)
    for sample in workload.samples:
        text = (RECORDINGS / sample.recording).read_text()
        defaults = workloads.check_params(workload, {})
        found = workload.parse(text, defaults) if workload.parse else events.parse(text.encode()).cases
        # A value that each pair of segments has of its own, without a time, is a sample of the one finding.
        cases = [one for one in found if (name, one.kernel) != ("checkpoint", "pair") or one.seconds]
        if not any(metric.kernel == "check" for metric in workload.metrics):
            cases = [
                one for one in cases if one.kernel != "check"
            ]  # of an application: it holds a residual, and no figure
        names = [(one.kernel, table.key(one.params)) for one in cases]
        assert len(set(names)) == len(names), sample.recording


def test_parameters_tell_findings_apart() -> None:
    one, other = (
        measurement(Case(kernel="loss", params={"receivers": n}, work={"loss": 0.5}), repeat=n) for n in (4, 8)
    )
    assert [found.params for found in all_of([one, other])] == [{"receivers": 4}, {"receivers": 8}]


def test_a_repeat_that_lacks_a_figure_is_not_counted_for_it() -> None:
    silent = measurement(Case(kernel="loss", params={"receivers": 4}, work={"lost": 3.0}), repeat=2)
    (loss,) = all_of([measurement(Case(kernel="loss", params={"receivers": 4}, work={"loss": 0.5})), silent])
    assert (loss.value, loss.n_runs, loss.n_samples) == (0.5, 1, 1)


def test_packed_measurements_give_the_same_findings(tmp_path: Path) -> None:
    records = [
        measurement(case(*np.random.default_rng(i).uniform(1, 2, i), bytes=4.0), repeat=i, host=f"h{i % 3}")
        for i in range(1, 30)
    ]
    cases = table.from_measurements(records)
    table.pack(cases, tmp_path / "a.parquet")
    assert derive.findings(table.unpack([tmp_path / "a.parquet"]), ALL) == derive.findings(cases, ALL)


def test_a_damaged_packed_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(StoreFailed, match="cannot read the packed measurements"):
        table.unpack([tmp_path / "a.parquet"])


def test_the_word_to_a_person_names_the_best_case() -> None:
    slow, fast = case(2.0, bytes=8.0), Case(kernel="k", params={"threads": 4}, work={"bytes": 8.0}, seconds=(1.0,))
    found = values.best((RATE,), (slow, fast))
    assert found is not None and found[1] is fast and found[2] == 8.0


def test_residuals_pass_only_as_numbers_within_their_limit() -> None:
    assert Residual(value=1.0, limit=1.0, kind="").passed
    assert not Residual(value=1.1, limit=1.0, kind="").passed
    assert not Residual(value=None, limit=1.0, kind="").passed
    assert not Residual(value=float("nan"), limit=1.0, kind="").passed


# ----------------------------------------------------------------------------------------- a share of counted things

COUNTED = msgspec.structs.replace(LOSS, share_of="expected")
WORST = msgspec.structs.replace(LOSS, name="x.worst", per="worst", share_of="expected/ranks")


def counted(lost: int, of: int, repeat: int = 1, worst: float = 0.0) -> Measurement:
    work = {"loss": lost / of, "lost": float(lost), "expected": float(of), "worst": worst}
    return measurement(Case(kernel="loss", params={"ranks": 4}, work=work), repeat=repeat)


def shares(*records: Measurement) -> dict[str, derive.Finding]:
    found = derive.findings(table.from_measurements(records), {"x": (COUNTED, WORST)})
    return {one.metric: one for one in found}


def test_a_loss_that_was_counted_once_has_the_interval_of_a_proportion_and_says_what_it_is_worth() -> None:
    one = shares(counted(180, 18_000))["x.loss"]
    assert (one.low, one.high) == proportion_interval(0.01, 18_000)
    assert one.low is not None and one.high is not None and 0.008 < one.low < 0.01 < one.high < 0.012
    assert [notice.code for notice in one.notices] == ["counted-once"]
    none = shares(counted(0, 18_000))["x.loss"]
    assert none.low == 0.0 and none.high == pytest.approx(3.69 / 18_000, rel=0.01), "nothing lost is not never"


def test_the_worst_of_several_listeners_has_the_interval_that_holds_for_each_of_them() -> None:
    """The worst of four of one true loss lies above it: the interval must hold it all the same."""
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(300):
        lost = rng.binomial(4500, 0.01, size=4)
        one = shares(counted(int(lost.sum()), 18_000, worst=float(lost.max()) / 4500))["x.worst"]
        assert one.low is not None and one.high is not None
        held += one.low <= 0.01 <= one.high
    assert held >= 0.94 * 300


def test_losses_in_bursts_scatter_more_than_a_proportion_and_repeats_show_it() -> None:
    """Bursts of 200 packets: one run's interval is too narrow, and says so; that of repeats holds their scatter."""
    lost = (0, 200, 600, 0, 400)
    found = shares(*(counted(each, 18_000, repeat) for repeat, each in enumerate(lost, 1)))["x.loss"]
    alone = shares(counted(200, 18_000))["x.loss"]
    assert found.value == alone.value == 200 / 18_000 and found.notices == ()
    assert found.low == 0.0 and found.high == pytest.approx(600 / 18_000)
    assert alone.low and alone.high and found.high > 2 * alone.high


def test_a_limit_on_loss_is_judged_by_its_interval() -> None:
    bound = Limit(metric="x.loss", at_most=0.01)
    for lost, state in ((0, "met"), (120, "met"), (175, "undecided"), (185, "undecided"), (260, "not met")):
        one = shares(counted(lost, 18_000))["x.loss"]
        (got,) = limits.verdicts([bound], [one], {"x.loss": COUNTED}, {})
        assert got.state == state, lost
