"""Units: conversion is exact, display keeps digits, nonsense is refused."""

from __future__ import annotations

import pytest

from shakedown import units, workloads
from shakedown.records import Metric


@pytest.mark.parametrize(
    ("unit", "si", "factor"),
    [
        ("GB/s", "B/s", 1e9),
        ("MiB/s", "B/s", 2**20),
        ("Gflop/s/W", "flop/J", 1e9),
        ("Gflop/J", "flop/J", 1e9),
        ("MB/J", "B/J", 1e6),
        ("us", "s", 1e-6),
        ("%", "1", 0.01),
        ("kW", "W", 1e3),
        ("Gbit/s", "B/s", 1.25e8),
        ("IOPS", "op/s", 1),
        ("kWh", "J", 3.6e6),
        ("min", "s", 60),
        ("Tflop/s", "flop/s", 1e12),
        ("1", "1", 1),
        ("packet/s", "packet/s", 1),
        ("kpacket/s", "packet/s", 1e3),
        ("datagram/s", "packet/s", 1),
        ("Mpps", "packet/s", 1e6),
        ("Ginteraction/s", "interaction/s", 1e9),
        ("G interactions/s", "interaction/s", 1e9),
        ("interactions/s", "interaction/s", 1),
        ("M updates/s", "update/s", 1e6),
        ("kIOPS", "op/s", 1e3),
        ("IOPS/W", "op/J", 1),
    ],
)
def test_units_become_si(unit: str, si: str, factor: float) -> None:
    name, got = units.si(unit)
    assert (name, got) == (si, pytest.approx(factor, rel=1e-15))


def test_an_unknown_unit_names_the_nearest() -> None:
    with pytest.raises(units.UnknownUnit, match="nearest: 'Gflop'"):
        units.si("Gflops")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (44.4e9, "B/s", "44.4 GB/s"),
        (3.6e-7, "s", "360 ns"),
        (1e12, "flop/s", "1.00 Tflop/s"),
        (0.971, "%", "97.1 %"),
        (1200.0, "s", "1200 s"),
        (0.0, "W", "0 W"),
        (None, "B/s", "not measured"),
        (999.6e9, "flop/s", "1.00 Tflop/s"),
        (-5e3, "W", "-5.00 kW"),
        (0.85, "1", "0.850"),
        (123456.0, "1", "123456"),
        (12.0, "1", "12"),
        (-0.0, "1", "0"),
        (3e-7, "1", "3.00e-7"),
        (1.1e6, "packet/s", "1.10 M packets/s"),
        (4.5179641e9, "interaction/s", "4.52 G interactions/s"),
        (0, "interaction/s", "0 interactions/s"),
        (0.25, "message/s", "0.250 messages/s"),
        (0.25, "op/s", "0.250 op/s"),
    ],
)
def test_numbers_for_a_person(value: float | None, unit: str, text: str) -> None:
    assert units.show(value, unit) == text


def test_sizes_are_binary_and_durations_are_words() -> None:
    assert [units.show_bytes(size) for size in (0, 1023, 1024, 1536, 4 * 2**20, 3 * 2**30)] == [
        "0 B",
        "1023 B",
        "1 KiB",
        "1.5 KiB",
        "4 MiB",
        "3 GiB",
    ]
    hour = 3600
    assert [units.show_seconds(s) for s in (99.9 * hour, 721 * hour + 60, 240 * hour, 1098638.4 * hour)] == [
        "99 h 54 min",
        "30 d 1 h",
        "10 d",
        "125 years",
    ]
    assert [units.show_seconds(s) for s in (0.2, 45, 125, 200, 3600, 7500)] == [
        "0.2 s",
        "45 s",
        "2 min 5 s",
        "3 min 20 s",
        "1 h",
        "2 h 5 min",
    ]


def test_quantities_with_their_unit() -> None:
    assert units.parse_quantity("5 min") == (300.0, "s")
    assert units.parse_bytes("64 KiB") == 65536
    assert units.parse_bytes("4096") == 4096
    assert units.parse_bytes("1.5GiB") == 1536 * 2**20
    with pytest.raises(units.UnknownUnit):
        units.parse_bytes("5 min")
    with pytest.raises(ValueError, match="does not begin with a number"):
        units.parse_quantity("five min")


def every_metric() -> list[Metric]:
    return [metric for name in workloads.names() for metric in workloads.get(name).metrics]


@pytest.mark.parametrize("metric", every_metric(), ids=lambda metric: metric.name)
def test_every_unit_of_every_workload_is_known_and_can_be_read(metric: Metric) -> None:
    assert units.si(metric.unit) == (metric.unit, 1.0)
    for value in (2.5e-9, 3e-4, 0.5, 1.0, 12.25, 12345.0, 4.5e9):
        text = units.show(value, metric.unit)
        assert "nan" not in text and len(text) < 24
        read, unit = units.parse_quantity(text)
        assert unit == metric.unit
        assert read == pytest.approx(value, rel=0.006), text


@pytest.mark.parametrize("text", ["-1", "-3GiB", "-1e-3 KiB"])
def test_no_size_is_below_zero(text: str) -> None:
    with pytest.raises(ValueError, match="below zero"):
        units.parse_bytes(text)
