"""Units: SI inside, prefixes at the rim.

Every stored number is in an SI base unit without a prefix (``B/s``, ``flop/s``, ``s``, ``W``, ``J``...). This module is
the one home of conversion from what a document or a tool prints, and of the way a number is shown to a person.
"""

from __future__ import annotations

import difflib
import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

DECIMAL = {
    "p": 1e-12,
    "n": 1e-9,
    "u": 1e-6,
    "µ": 1e-6,
    "m": 1e-3,
    "c": 1e-2,
    "": 1.0,
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
}
_EXACT = re.compile(r"[+-]?(?:[0-9]+/[0-9]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)")
_LEADING = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_WHOLE = re.compile(r"-?[0-9]{1,40}")
BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}

#: Units of one word that take prefixes, each with its SI unit and factor.
_BASES: dict[str, tuple[str, float]] = {
    "flop": ("flop", 1.0),
    "B": ("B", 1.0),
    "bit": ("B", 1 / 8),
    "s": ("s", 1.0),
    "W": ("W", 1.0),
    "J": ("J", 1.0),
    "Wh": ("J", 3600.0),
    "Hz": ("Hz", 1.0),
    "V": ("V", 1.0),
    "A": ("A", 1.0),
    "m": ("m", 1.0),
    "update": ("update", 1.0),
    "message": ("message", 1.0),
    "packet": ("packet", 1.0),
    "frame": ("frame", 1.0),
    "datagram": ("packet", 1.0),
    "pps": ("packet/s", 1.0),
    "op": ("op", 1.0),
    "IOPS": ("op/s", 1.0),
    "transfer": ("transfer", 1.0),
    "interaction": ("interaction", 1.0),
    "link": ("link", 1.0),
    "point": ("point", 1.0),
    "token": ("token", 1.0),
}
#: Whole words among them: shown as one writes them, ``3.91 G interactions/s``, and read so or as ``Ginteraction/s``.
_SPELT = ("update", "message", "packet", "frame", "transfer", "interaction", "link", "point", "token")
#: Units of one word that take no prefix.
_PLAIN: dict[str, tuple[str, float]] = {
    "1": ("1", 1.0),
    "%": ("1", 0.01),
    "min": ("s", 60.0),
    "h": ("s", 3600.0),
    "d": ("s", 86400.0),
    "degC": ("degC", 1.0),
    "K": ("K", 1.0),
    "dB": ("dB", 1.0),
    "cycle": ("cycle", 1.0),
    "m3": ("m3", 1.0),
    "l": ("m3", 1e-3),
    "EUR": ("EUR", 1.0),
    "USD": ("USD", 1.0),
    "month": ("s", 365.25 / 12 * 86400.0),
    "year": ("s", 365.25 * 86400.0),
    "RT": ("W", 3516.8528),  # ton of refrigeration: 12 000 BTU/h
}


class UnknownUnit(ValueError):
    """The text names no unit that is known here; the message gives the nearest one."""


def _word(word: str) -> tuple[str, float]:
    if word.endswith(tuple(f"{one}s" for one in _SPELT)):
        word = word.removesuffix("s").replace(" ", "")
    if word in _PLAIN:
        return _PLAIN[word]
    if word in _BASES:
        return _BASES[word]
    for prefixes in (BINARY, DECIMAL):
        for prefix, factor in prefixes.items():
            if prefix and word.startswith(prefix) and word[len(prefix) :] in _BASES:
                si, base = _BASES[word[len(prefix) :]]
                return si, base * factor
    known = [*_PLAIN, *_BASES, *(p + b for b in _BASES for p in ("k", "M", "G", "T", "m", "u", "n"))]
    near = difflib.get_close_matches(word, known, 1)
    hint = f"; nearest: {near[0]!r}" if near else ""
    raise UnknownUnit(f"unknown unit {word!r}{hint}")


def si(unit: str) -> tuple[str, float]:
    """Return the SI unit and the factor that brings a value in ``unit`` to it.

    ``unit`` is words joined by ``/`` (``GB/s``, ``MiB/s``, ``Gflop/s/W``, ``kW``, ``%``). Time in a denominator behind a
    power cancels: ``flop/s/W`` is ``flop/J`` and ``B/s/W`` is ``B/J``. Raises UnknownUnit.
    """
    head, *rest = unit.split("/")
    name, factor = _word(head)
    below: list[str] = []
    for word in rest:
        below_name, below_factor = _word(word)
        factor /= below_factor
        below.append(below_name)
    if name.endswith("/s"):  # IOPS, pps: rates of one word
        name, below = name.removesuffix("/s"), ["s", *below]
    if "s" in below and "W" in below:
        below.remove("s")
        below[below.index("W")] = "J"
    return "/".join([name, *below]), factor


_SCALES = (
    (1e18, "E"),
    (1e15, "P"),
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
    (1e-12, "p"),
)
_NO_PREFIX = ("1", "degC", "dB", "K", "EUR", "USD")
#: What is counted, and so has no thousandth: half an operation a second is 0.5 op/s.
_COUNTED = ("flop", "B", "op", "cycle", *_SPELT)
_LEAST_PLAIN = 1e-4  # below it a bare number, or one of what is counted, is shown with an exponent


def scale_for(value: float, unit: str) -> tuple[float, str]:
    """The factor and the prefixed unit that show ``value`` (SI) with one to three digits before the point."""
    if unit in _NO_PREFIX or not math.isfinite(value) or value == 0:
        return 1.0, "" if unit == "1" else _spelt("", unit)
    head = unit.split("/")[0]
    for factor, prefix in _SCALES:
        if abs(value) >= factor * 0.9995:
            if (head == "s" and factor > 1) or (head in _COUNTED and factor < 1):
                break
            return factor, _spelt(prefix, unit)
    return 1.0, _spelt("", unit)


def _spelt(prefix: str, unit: str) -> str:
    """A unit behind its prefix, as one writes it."""
    head, mark, rest = unit.partition("/")
    return f"{prefix} {head}s{mark}{rest}".strip() if head in _SPELT else prefix + unit


def show(value: float | None, unit: str, digits: int = 3) -> str:
    """``value`` (SI) for a person, with ``digits`` significant digits and a prefix: ``44.4 GB/s``, ``360 ns``, ``97.1 %``.

    A whole number without a unit is a count and has all its digits: ``12``. None is "not measured", never zero.
    """
    if value is None:
        return "not measured"
    if not math.isfinite(value):
        return str(value)
    if unit == "%":
        return f"{round_to(value * 100, digits)} %"
    if unit == "1" and value == round(value):
        return f"{value + 0:.0f}"  # never -0
    if value and abs(value) < _LEAST_PLAIN and (unit == "1" or unit.split("/")[0] in _COUNTED):
        number = re.sub(r"e([-+])0+", r"e\1", f"{value:.{digits - 1}e}")
        return f"{number} {scale_for(value, unit)[1]}".strip()
    factor, name = scale_for(value, unit)
    return f"{round_to(value / factor, digits)} {name}".strip()


#: Significant digits that a double can hold: beyond them two numbers that look alike are alike.
_MOST_DIGITS = 17


def show_apart(value: float, bound: float, unit: str, digits: int = 3) -> tuple[str, str]:
    """Two values (SI) as ``show`` has them, with as many digits more as tell them apart where they are not equal: a value
    just below its bound does not look as if it met it. Beyond a double's digits they stay alike."""
    for more in range(digits, _MOST_DIGITS + 1):
        words = show(value, unit, more), show(bound, unit, more)
        if value == bound or words[0] != words[1]:
            break
    return words


def show_bytes(count: float) -> str:
    """A size in memory or of a message in binary prefixes: ``64 KiB``, ``1.5 GiB``."""
    for prefix in ("Ti", "Gi", "Mi", "Ki"):
        if abs(count) >= BINARY[prefix]:
            return f"{round_to(count / BINARY[prefix], 4)} {prefix}B"
    return f"{int(count)} B"


def round_to(value: float, digits: int) -> str:
    """``value`` with ``digits`` significant digits, without an exponent and without losing whole digits."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits}g}")  # first: 999.6 has four digits before its point once it is rounded
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    text = f"{value:.{decimals}f}"
    if "." in text and digits > 3:
        text = text.rstrip("0").rstrip(".")
    return text


#: Of processors, slots, devices, exit codes: no machine has a thousandth of it, and sums of many stay exact in 64 bits.
MOST_COUNT = 10**9


def whole_number(text: str | None, least: int = 0, most: int = 2**63 - 1) -> int | None:
    """A whole number from a text that others wrote: ASCII digits, with a minus where ``least`` is below 0.

    None for everything else and for what is below ``least`` or above ``most``. ``str.isdigit`` is no such check: it takes
    "²", which ``int`` refuses, and digits without end, which ``int`` refuses or which fit no column.
    """
    if text is None or not _WHOLE.fullmatch(text):
        return None
    number = int(text)
    return number if least <= number <= most else None


def leading_number(text: str, most: float = 1e12) -> float | None:
    """The number that a text such as ``350.00 W`` begins with; None where it begins with none, or one above ``most``."""
    found = _LEADING.match(text.strip())
    value = float(found[0]) if found else math.inf
    return value if value <= most else None


def exact_number(text: str) -> Fraction | None:
    """A decimal number or ``1/4`` from a text that others wrote, exactly; None for everything else, and for one of more
    than 100 characters or an exponent of more than three digits: 1e-99999999 would fill the memory."""
    from fractions import Fraction

    if not _EXACT.fullmatch(text.strip()) or len(text) > 100:
        return None
    try:
        return Fraction(text)
    except ZeroDivisionError:
        return None


def parse_quantity(text: str) -> tuple[float, str]:
    """``"40 GB/s"``, ``"40GB/s"`` or ``"5 min"`` as a number in SI and its SI unit. Raises UnknownUnit or ValueError."""
    found = re.fullmatch(r"([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*(.*)", text.strip())
    if found is None:
        raise ValueError(f"{text!r} does not begin with a number")
    name, factor = si(found[2] or "1")
    value = float(found[1]) * factor
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]!r} is too large a number")
    return value, name


def parse_bytes(text: str) -> int:
    """``"64 KiB"``, ``"1.5 GiB"``, ``"4096"`` as a whole number of bytes. Raises UnknownUnit or ValueError."""
    value, unit = parse_quantity(text)
    if unit not in ("B", "1"):
        raise UnknownUnit(f"{text!r} is not a size in bytes; write it as '64 KiB' or '4096'")
    if value < 0:
        raise ValueError(f"{text!r} is below zero, and no size is")
    return round(value)


#: From here on in days, and in years: what is counted in so many hours has no use for its minutes.
_MOST_HOURS = 100
_MOST_DAYS = 1000


def show_seconds(seconds: float) -> str:
    """A duration for a person: ``45 s``, ``3 min 20 s``, ``2 h 5 min``, ``30 d 1 h``, ``125 years``."""
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < _MOST_HOURS:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    if days >= _MOST_DAYS:
        return f"{round_to(seconds / _PLAIN['year'][1], 3)} years"
    return f"{days} d {hours} h" if hours else f"{days} d"
