"""Arithmetic on printed numbers: each is the interval of half a unit in its last place.

All ends are exact fractions, so that a printed number that lies just on the rounding limit is not lost to binary
rounding. ``evaluate`` reads the formula of a derived column by walking its syntax tree; nothing is ever executed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import ast

#: The words that a formula may call; no column can be named so.
FUNCTIONS = ("first", "sqrt")

_NUMBER = re.compile(r"[+-]?(?P<whole>\d{0,400})(?:\.(?P<decimals>\d{1,400}))?(?:[eE](?P<exponent>[+-]?\d{1,3}))?")
_INTEGER = re.compile(r"[+-]?\d+")


class BadNumber(ValueError):
    """The text is not one printed number."""


class BadFormula(ValueError):
    """The formula holds something other than arithmetic over the row's columns."""


class Undefined(ArithmeticError):
    """The divisor may be zero, or a negative number stand below a root: the interval says nothing of the result."""


class Interval(msgspec.Struct, frozen=True):
    low: Fraction
    high: Fraction

    def overlaps(self, other: Interval) -> bool:
        """True where a number lies in both. The ends count, since documents round halves either way."""
        return self.low <= other.high and other.low <= self.high


def value_of(text: str) -> Fraction:
    """The printed number, exactly. Raises BadNumber."""
    found = _NUMBER.fullmatch(text)
    if not found or not (found["whole"] or found["decimals"]):
        hint = " (write it without thousands separators)" if re.fullmatch(r"[\d,' ]+(\.\d+)?", text) else ""
        raise BadNumber(f"{text!r} is not a number{hint}")
    return Fraction(text)


def half_width(text: str) -> Fraction:
    """Half a unit in the last printed place: 0.005 for ``2.45``, 0.5 for ``3000``, 50 for ``1.2e3``."""
    value_of(text)
    found = _NUMBER.fullmatch(text)
    assert found is not None  # value_of has refused any other text
    return Fraction(10) ** (int(found["exponent"] or 0) - len(found["decimals"] or "")) / 2


def printed(text: str) -> Interval:
    """All numbers that print as ``text``."""
    value, half = value_of(text), half_width(text)
    return Interval(value - half, value + half)


def exact(text: str) -> Interval:
    """A parameter: a whole number was set or counted and is exact; any other is a printed number."""
    if _INTEGER.fullmatch(text):
        return Interval(Fraction(text), Fraction(text))
    return printed(text)


def _products(a: Interval, b: Interval) -> Interval:
    ends = (a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
    return Interval(min(ends), max(ends))


def _root(of: Interval) -> Interval:
    if of.low < 0:
        raise Undefined("square root of a number that may be negative")
    low, high = math.sqrt(of.low), math.sqrt(of.high)
    for _ in range(2):  # two steps outward cover the rounding of the argument and of the root
        low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
    return Interval(max(Fraction(0), Fraction(low)), Fraction(high))


def _parse(formula: str) -> ast.expr:
    import ast

    try:
        return ast.parse(formula, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise BadFormula(f"{formula!r} is not an expression: {error}") from None


def names_in(formula: str) -> tuple[frozenset[str], frozenset[str]]:
    """The columns that the formula takes from its own row, and those that it takes from the first row."""
    import ast

    own: set[str] = set()
    first: set[str] = set()

    def walk(node: ast.expr) -> None:
        match node:
            case ast.Constant(value=int(value) | float(value)) if not isinstance(value, bool) and math.isfinite(value):
                return
            case ast.Name(id=name) if name not in FUNCTIONS:
                own.add(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                walk(operand)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right=right):
                walk(left)
                walk(right)
            case ast.Call(func=ast.Name(id="sqrt"), args=[argument], keywords=[]):
                walk(argument)
            case ast.Call(func=ast.Name(id="first"), args=[ast.Name(id=name)], keywords=[]):
                first.add(name)
            case _:
                raise BadFormula(
                    f"{ast.unparse(node)!r} is not allowed: a formula holds + - * / ( ), numbers, columns, "
                    "first(column), sqrt(x)"
                )

    walk(_parse(formula))
    return frozenset(own), frozenset(first)


def evaluate(formula: str, row: Mapping[str, Interval], first_row: Mapping[str, Interval]) -> Interval:
    """All results that the formula can have. Raises BadFormula, Undefined, and KeyError for an unknown name."""
    import ast

    names_in(formula)  # refuses everything that is not arithmetic, so that the walk below meets nothing else

    def walk(node: ast.expr) -> Interval:
        match node:
            case ast.Constant(value=value):
                number = Fraction(str(value))  # as written: 0.1 is a tenth
                return Interval(number, number)
            case ast.Name(id=name):
                return row[name]
            case ast.UnaryOp(operand=operand):
                inner = walk(operand)
                return Interval(-inner.high, -inner.low)
            case ast.Call(func=ast.Name(id="first"), args=[ast.Name(id=name)]):
                return first_row[name]
            case ast.Call(args=[argument]):
                return _root(walk(argument))
            case ast.BinOp(left=left, op=op, right=right):
                a, b = walk(left), walk(right)
                match op:
                    case ast.Add():
                        return Interval(a.low + b.low, a.high + b.high)
                    case ast.Sub():
                        return Interval(a.low - b.high, a.high - b.low)
                    case ast.Mult():
                        return _products(a, b)
                if b.low <= 0 <= b.high:
                    raise Undefined(f"{ast.unparse(right)} may be zero")
                return _products(a, Interval(1 / b.high, 1 / b.low))
        raise BadFormula(ast.unparse(node))

    return walk(_parse(formula))
