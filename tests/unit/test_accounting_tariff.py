"""Charges: to the last cent, by hand and by property."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.errors import BadInput
from shakedown.operate.accounting import settle, tariff
from shakedown.operate.accounting.loading import Store
from shakedown.operate.accounting.measure import Measure
from shakedown.operate.accounting.records import Charges

HOUR = 3600
T0 = 1_790_000_000
PLAIN = 'name = "t"\ncurrency = "EUR"\n'


def run(job: int, hours: float, **more: Any) -> dict[str, Any]:
    end = T0 + round(hours * HOUR)
    made = {
        "job": str(job), "user": "u", "project": "p", "partition": "x", "qos": "normal", "submit_s": T0, "start_s": T0,
        "end_s": end, "open": False, "ran_s": end - T0, "state": "done", "cpus": 1, "gpus": 0, "nodes": 1,
    }  # fmt: skip
    return made | more


@contextmanager
def measured(rows: list[dict[str, Any]], begin_s: int = T0, end_s: int = T0 + 1000 * HOUR) -> Iterator[Measure]:
    with Store(zone="UTC") as store:
        store.append(iter([*rows, run(10**6, 0, gpus=1, gpu_type="h200")]))  # so that GPUs are recorded
        store.done("file", "table", rows=0)
        settle.settle(store)
        yield Measure(store, begin_s, end_s, "UTC")


@pytest.fixture
def rules(tmp_path: Path) -> Any:
    def load(text: str) -> tariff.Tariff:
        path = tmp_path / "tariff.toml"
        path.write_text(PLAIN + text)
        return tariff.load(path)

    return load


def nets(found: Charges) -> dict[tuple[str, str, str], str]:
    return {(one.project, one.partition, one.gpu_type): one.net for one in found.lines if one.cpu_s or one.gpu_s}


def test_rates_types_factors_and_the_rounding_of_time(rules: Any) -> None:
    told = rules(
        'round_up_to = "1 h"\n[rates]\ncpu_h = "0.01"\nnode_h = 0.5\ngpu_h = { h200 = 2, default = "0.6" }\n'
        '[partition.fat]\nfactor = "1.5"\n[qos.low]\nfactor = 0.5\n'
    )
    rows = [
        run(1, 1.5, cpus=10),  # 2 h: 20 CPU h, 2 node h: 0.20 + 1.00
        run(2, 1, gpus=2, gpu_type="h200"),  # 0.01 + 0.50 + 4.00
        run(3, 1, gpus=1, gpu_type="a100"),  # 0.01 + 0.50 + 0.60
        run(4, 1, partition="fat", qos="low"),  # (0.01 + 0.50) * 0.75 = 0.3825
    ]
    with measured(rows) as measure:
        found = tariff.charge(measure, told)
    assert nets(found) == {
        ("p", "x", "none"): "1.20",
        ("p", "x", "h200"): "4.51",
        ("p", "x", "a100"): "1.11",
        ("p", "fat", "none"): "0.38",
    }
    assert found.total == "7.20" and found.unrounded == "7.202500"


def test_free_hours_discounts_the_least_charge_and_what_is_not_charged(rules: Any) -> None:
    told = rules(
        'minimum = "0.05"\nnot_charged = ["node_fail"]\n[rates]\ncpu_h = "0.1"\n[free]\ncpu_h = 2\n'
        '[project.rich]\ndiscount = "10 %"\nfree_cpu_h = 0\n'
    )
    rows = [
        run(1, 4),  # of 6 CPU h 2 are free: a third off both lines
        run(2, 2, partition="y"),
        run(3, 10, project="rich"),  # 1.00 less 10 %
        run(4, 50, state="node_fail"),
        run(5, 0.1, project="tiny"),  # 0.01, free, and the rest to 0.05 is asked for
    ]
    with measured(rows) as measure:
        found = tariff.charge(measure, told)
    assert nets(found) == {
        ("p", "x", "none"): "0.27",
        ("p", "y", "none"): "0.13",
        ("rich", "x", "none"): "0.90",
        ("tiny", "x", "none"): "0.04",
    }
    bills = {one.project: one for one in found.bills}
    assert bills["p"].free_cpu_s == 2 * HOUR and bills["rich"].free_cpu_s == 0
    assert bills["tiny"].free_cpu_s == 360
    assert any("at least 0.05" in rule for rule in found.rules)


def test_half_a_cent_goes_up_and_decimals_are_as_they_are_written(rules: Any) -> None:
    with measured([run(1, 1, cpus=1)]) as measure:
        for rate, net in (("0.005", "0.01"), ("0.0049999", "0.00"), ("0.015", "0.02"), (0.1, "0.10"), ("1e-3", "0.00")):
            word = f'"{rate}"' if isinstance(rate, str) else rate
            assert nets(tariff.charge(measure, rules(f"[rates]\ncpu_h = {word}\n")))["p", "x", "none"] == net
        assert nets(tariff.charge(measure, rules('decimals = 0\n[rates]\ncpu_h = "1.5"\n')))["p", "x", "none"] == "2"


def test_whole_runs_are_charged_where_they_end(rules: Any) -> None:
    rows = [run(1, 10), run(2, 30), run(3, 3, open=True)]
    ended = rules('charge = "ended"\n[rates]\ncpu_h = 1\n')
    with measured(rows, T0, T0 + 20 * HOUR) as measure:
        assert tariff.charge(measure, ended).total == "10.00"
    with measured(rows, T0 + 20 * HOUR, T0 + 40 * HOUR) as measure:
        assert tariff.charge(measure, ended).total == "30.00"


def test_gpus_that_are_not_recorded_are_said_and_types_without_a_rate_refused(rules: Any) -> None:
    with measured([run(1, 1, gpus=None), run(2, 1, gpus=1, gpu_type="mi300")]) as measure:
        with pytest.raises(BadInput, match="no rate for GPUs of the type 'mi300'"):
            tariff.charge(measure, rules("[rates]\ngpu_h = { h200 = 1 }\n"))
        found = tariff.charge(measure, rules("[rates]\ngpu_h = 2\n"))
        assert found.total == "2.00"
        assert [one.code for one in found.notices] == ["gpus-not-charged"]


@settings(max_examples=5, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 20 * HOUR),
            st.integers(1, 200),
            st.sampled_from((0, 1, 3)),
            st.sampled_from("pq"),
            st.sampled_from("xy"),
        ),
        min_size=1,
        max_size=8,
    ),
    st.decimals("0", "3", places=5),
    st.integers(1, 19),
    st.sampled_from(("1 s", "15 min", "1 h")),
)
def test_lines_add_up_to_the_cent_and_parts_of_a_window_to_the_whole(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[tuple[int, int, int, str, str]],
    rate: Decimal,
    edge_h: int,
    step: str,
) -> None:
    rows = [
        run(at, 0, ran_s=span, end_s=T0 + span, cpus=cpus, gpus=gpus, project=project, partition=partition)
        for at, (span, cpus, gpus, project, partition) in enumerate(drawn)
    ]
    path = tmp_path_factory.mktemp("tariff") / "t.toml"
    path.write_text(
        f'{PLAIN}decimals = 2\nround_up_to = "{step}"\nminimum = "0.07"\n[rates]\ncpu_h = "{rate}"\nnode_h = "0.3"\n'
        'gpu_h = "0.77777"\n[free]\ncpu_h = 1.5\n[project.q]\ndiscount = "33.3 %"\n'
    )
    told = tariff.load(path)
    end, middle = T0 + 30 * HOUR, T0 + edge_h * HOUR
    with measured(rows, T0, end) as measure:
        found = tariff.charge(measure, told)
        windows = ((T0, middle), (middle, end))
        parts = [tariff.charge(Measure(measure.store, *one, "UTC"), told) for one in windows]
    cents = [Decimal(one.net) for one in found.lines]
    assert sum(cents) == Decimal(found.total) == sum(Decimal(one.net) for one in found.bills)
    assert abs(Decimal(found.unrounded) - Decimal(found.total)) <= Decimal("0.005") * len(cents)
    # Seconds that are charged in two windows are those of the whole.
    for name in ("cpu_s", "gpu_s", "node_s"):
        sums = [sum(getattr(one, name) for one in part.lines) for part in (found, *parts)]
        assert sums[0] == sums[1] + sums[2]


@given(st.fractions(0, 10**9), st.integers(0, 6))
def test_rounding_is_the_nearest_and_up_from_the_middle(amount: Fraction, decimals: int) -> None:
    net = tariff.rounded(amount, decimals)
    half = Fraction(1, 2 * 10**decimals)
    assert (net * 10**decimals).denominator == 1 and -half < net - amount <= half
    assert Fraction(tariff.show(amount, decimals)) == net


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[rates]\ncpu = 1\n", "cpu"),
        ('[rates]\ncpu_h = "much"\n', "not a number"),
        ('[rates]\ncpu_h = "-1"\n', "below zero"),
        ('round_up_to = "0 s"\n[rates]\n', "not a valid time"),
        ('round_up_to = "5 kg"\n[rates]\n', "not a valid time"),
        ("decimals = 9\n[rates]\n", "decimals"),
        ('not_charged = ["node_failed"]\n[rates]\n', "did you mean 'node_fail'"),
        ('[rates]\n[project.p]\ndiscount = "110 %"\n', "not from 0 to 100"),
        ('charge = "all"\n[rates]\n', "charge"),
        ("", "rates"),
    ],
)
def test_tariffs_that_cannot_be_are_refused(rules: Any, text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        rules(text)
