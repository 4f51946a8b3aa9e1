"""Intervals of published values."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shakedown.published import intervals

# ------------------------------------------------------------------------------------------------------------ intervals


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("2.45", "2.445", "2.455"),
        ("3000", "2999.5", "3000.5"),
        ("0", "-0.5", "0.5"),
        ("-1.0", "-1.05", "-0.95"),
        ("1.2e3", "1150", "1250"),
        ("5e-2", "0.045", "0.055"),
        (".5", "0.45", "0.55"),
    ],
)
def test_a_printed_number_is_an_interval(text: str, low: str, high: str) -> None:
    assert intervals.printed(text) == intervals.Interval(Fraction(low), Fraction(high))


@pytest.mark.parametrize(
    "text", ["", ".", "-", "1 000", "1,000", "1.", "0x10", "nan", "inf", "1_000", "e3", "1e9999", "9" * 5000]
)
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(intervals.BadNumber):
        intervals.printed(text)


def test_a_whole_parameter_is_exact() -> None:
    assert intervals.exact("24") == intervals.Interval(Fraction(24), Fraction(24))
    assert intervals.exact("2.4") == intervals.printed("2.4")


@pytest.mark.parametrize(
    ("formula", "low", "high"),
    [
        ("a + b", "5.45", "6.55"),  # 1.95..2.05 + 3.5..4.5
        ("a - b", "-2.55", "-1.45"),
        ("a * b", "6.825", "9.225"),
        ("b / a", str(Fraction("3.5") / Fraction("2.05")), str(Fraction("4.5") / Fraction("1.95"))),
        ("-a", "-2.05", "-1.95"),
        ("-a * b", "-9.225", "-6.825"),
        ("(a - 2) * b", "-0.225", "0.225"),  # a factor around zero
        ("1 / (-b)", str(-1 / Fraction("3.5")), str(-1 / Fraction("4.5"))),
        ("0.1 + 0.2 - 0.3", "0", "0"),  # constants are decimal and exact
        ("first(a) / a", str(Fraction(9) / Fraction("2.05")), str(Fraction(10) / Fraction("1.95"))),
    ],
)
def test_intervals_by_hand(formula: str, low: str, high: str) -> None:
    row = {"a": intervals.printed("2.0"), "b": intervals.printed("4")}
    first = {"a": intervals.Interval(Fraction(9), Fraction(10))}
    assert intervals.evaluate(formula, row, first) == intervals.Interval(Fraction(low), Fraction(high))


def test_a_root_is_enclosed_tightly() -> None:
    row = {"a": intervals.Interval(Fraction(2), Fraction(9))}
    root = intervals.evaluate("sqrt(a)", row, {})
    assert root.low**2 <= 2 and root.high >= 3
    assert float(root.high - 3) < 1e-14
    with pytest.raises(intervals.Undefined):
        intervals.evaluate("sqrt(a - 3)", row, {})


def test_ends_that_touch_agree() -> None:
    """0.125 may be printed as 0.12 or as 0.13."""
    exactly = intervals.exact("1")
    eighth = intervals.evaluate("a / 8", {"a": exactly}, {})
    assert eighth.overlaps(intervals.printed("0.12")) and eighth.overlaps(intervals.printed("0.13"))
    assert not eighth.overlaps(intervals.printed("0.14"))


@pytest.mark.parametrize(
    "formula",
    [
        "a ** 2",
        "a // b",
        "a % b",
        "+a",
        "a if b else a",
        "a < b",
        "a.b",
        "a[0]",
        "f(a)",
        "first(1)",
        "first(a, b)",
        "sqrt()",
        "sqrt(x=a)",
        "'a'",
        "True",
        "1j",
        "(a := 1)",
        "lambda: 1",
        "a, b",
        "1e999",
        "first",
        "a b",
        "",
    ],
)
def test_only_arithmetic_is_evaluated(formula: str) -> None:
    with pytest.raises(intervals.BadFormula):
        intervals.evaluate(formula, {"a": intervals.exact("1"), "b": intervals.exact("2")}, {})
