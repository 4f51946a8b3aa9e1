"""What the columns of a meter's text file stand for: their units, by header or dialect, and the channels made of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast, get_args

from ... import units
from ...errors import BadInput, unknown
from ...units import whole_number
from . import Channel, Place, Quantity, Scope

QUANTITIES: dict[str, Quantity] = {
    "W": "power",
    "J": "energy",
    "degC": "temperature",
    "m3/s": "flow",
    "Hz": "speed",
    "1": "ratio",
}
_POWER_NAMES = {
    "yokogawa": re.compile(r"P([-_ (]?(rms|E|El|element)?[-_ ]?(\d|SIGMA|Sigma|sigma|SUM|Sum|Σ|W).*)?"),
    "lmg": re.compile(r"P\d*|Psum|PΣ|P\d+sum", re.I),
}
#: Units as names of columns write them: power_w, energy_kwh. "mw" may be mW or MW and is neither.
_LOWER = {"w": "W", "kw": "kW", "wh": "Wh", "kwh": "kWh", "j": "J", "kj": "kJ"}
_SUM = re.compile(r"Σ|sigma|sum", re.I)
#: Of a column's name; the unit of a longer one is not looked for.
_LONGEST_NAME = 200


class Column(NamedTuple):
    """One column of values."""

    at: int  # from 0
    factor: float  # to SI
    channel: Channel


def unit_word(cell: str) -> str | None:
    """A cell of a row of units: ``[W]``, ``V``, ``kW``. None for what is none."""
    word = cell.strip("[]() ")
    if word in ("s", "ms", "-", "VA", "var", "Ah", "deg", "°", "h:m:s") and cell:
        return word
    try:
        units.si(word)
    except units.UnknownUnit:
        return None
    return word if word and whole_number(word) is None else None


#: Letters that head columns as units (volt, ampere) or as what is measured; others beside them count racks or phases.
_MEANT = frozenset("AVUIPQSWJ")
_LETTERED = re.compile(r"(|.*[/_ .-])([A-Za-z])", re.DOTALL)


def enumerated(names: Sequence[str]) -> frozenset[str]:
    """The names that only count by a letter (``rack_I``, ``rack_J``, ``rack_K``): their letter is no unit."""
    by_stem: dict[str, dict[str, str]] = {}
    for name in names:
        if found := _LETTERED.fullmatch(name[:_LONGEST_NAME]):
            by_stem.setdefault(found[1], {})[name] = found[2].upper()
    return frozenset(
        name
        for letters in by_stem.values()
        if not set(letters.values()) <= _MEANT and len(letters) > 1
        for name in letters
    )


def unit_of(name: str, own: str, dialect: str) -> str:
    """The unit that a header states, or that the dialect implies. Empty where it states none."""
    if own:
        return own
    name = name[:_LONGEST_NAME]
    found = re.search(r"[\[(]\s*([^\])]+?)\s*[\])]\s*$", name) or re.search(r"[/_ ]([A-Za-zµ°]+)$", name)
    for word in (found[1] if found else "", name):
        word = re.sub(r"(?i)watts?$", "W", re.sub(r"(?i)^joules?$", "J", word.replace("°C", "degC")))
        word = _LOWER.get(re.sub(r"(?i)^kilo(?=W)", "k", word), word)
        if (unit_word(word) or "") and word not in ("t", "h", "d", "m", "l", "K", "A"):
            return word
    bare = re.sub(r"[\[(].*", "", name).strip().strip('"')
    if dialect in _POWER_NAMES and _POWER_NAMES[dialect].fullmatch(bare):
        return "W"
    if dialect in _POWER_NAMES and re.match(r"(WP|EP)[-_ \d]", f"{bare} "):
        return "Wh"
    return ""


def channel_of(name: str, unit: str, factor: float, dialect: str, options: Mapping[str, str], where: str) -> Channel:
    quantity, name = QUANTITIES[unit], name[:_LONGEST_NAME]
    scope = options.get("scope") or ("counter" if quantity == "energy" else "point" if dialect == "generic" else "last")
    place = options.get("place", "node")
    for word, known, option in ((scope, get_args(Scope), "scope"), (place, get_args(Place), "place")):
        if word not in known:
            raise unknown(option, word, known, where=where)
    bare = re.sub(r"\s*[\[(].*?[\])]\s*", "", name).strip() or name
    given = {key: _positive(options, key, where) for key in ("modulus", "most_w", "window")}
    modulus = given["modulus"]
    return Channel(
        id=f"csv/{re.sub(r'[^A-Za-z0-9_.+-]+', '-', bare.replace('Σ', 'SIGMA')).strip('-') or 'value'}",
        title=name,
        quantity=quantity,
        unit=unit,
        scope=cast(Scope, scope),
        place=cast(Place, place),
        host=options.get("host", ""),
        modulus=modulus * factor if modulus and quantity == "energy" else None,
        most_w=given["most_w"],
        window_s=given["window"],
        device={"spl": "SPEC PTDaemon", "yokogawa": "Yokogawa", "lmg": "ZES ZIMMER LMG"}.get(dialect, ""),
    )


def _positive(options: Mapping[str, str], key: str, where: str) -> float | None:
    if key not in options:
        return None
    value = number(options[key], False)
    if value is None or not 0 < value < math.inf:
        raise BadInput(f"{key}={options[key]}", where=where, hint=f"give {key}= a number above zero")
    return value


def nested(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Elements within their sum, where there is one; ids made unique."""
    import msgspec

    ids: Counter[str] = Counter()
    out = []
    for one in columns:
        ids[one.channel.id] += 1
        count = ids[one.channel.id]
        channel = one.channel if count == 1 else msgspec.structs.replace(one.channel, id=f"{one.channel.id}-{count}")
        out.append(one._replace(channel=channel))
    sums = [one for one in out if one.channel.quantity == "power" and _SUM.search(one.channel.title)]
    if len(sums) != 1:
        return tuple(out)
    whole = sums[0].channel.id
    return tuple(
        one
        if one.channel.id == whole or one.channel.quantity != "power"
        else one._replace(channel=msgspec.structs.replace(one.channel, within=whole))
        for one in out
    )


def number(text: str, comma: bool) -> float | None:
    """A number as the file writes it; None for what is none."""
    text = text.strip()
    if comma and "," in text:
        text = text.replace(".", "").replace(",", ".")
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None
