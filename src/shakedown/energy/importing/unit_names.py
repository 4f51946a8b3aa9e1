"""The units that columns, tags and cells of somebody's table state."""

from __future__ import annotations

import re
from typing import Any

from ... import units
from ...metering.meters import csv
from ..archive import columns as archive_columns


def named_unit(name: str) -> str:
    """The unit of power or energy that a name states; empty where it states none."""
    found = re.search(r"[\[(]\s*([^\])]+?)\s*[\])]\s*$", name)
    word = found[1] if found else re.split(r"[_ /.-]", name)[-1]
    return power_unit(archive_columns.BY_NAME.get(word.lower(), word))


#: What a tag says beside a unit of one letter, or of a large prefix and one, where it means the unit.
_QUANTITY = re.compile(r"power|pwr|watt|energy|joule|leistung|energie|arbeit|puissance|consum|verbrauch|demand", re.I)


def tag_unit(cell: str, *, alone: bool) -> str:
    """The unit of power or energy that a tag states (``power_kw``, ``energy [J]``; ``alone``: the cells of its column are
    units). A single letter is one only where the tag speaks of power or energy: racks and rows have letters too."""
    if alone:
        return power_unit(cell)
    found = named_unit(cell)
    bare = re.split(r"[_ /.-]", cell)[-1]
    doubtful = re.fullmatch(r"[MGTPm]?[WJwj]", bare) is not None
    return "" if doubtful and not _QUANTITY.search(cell.removesuffix(bare)) else found


def is_unit(word: str) -> bool:
    """Whether a cell is a unit of whatever is measured."""
    word = archive_columns.BY_NAME.get(word.strip().lower(), word.strip())
    return csv.unit_word(word) is not None or word.lower() in (
        "c",
        "f",
        "v",
        "kv",
        "ma",
        "rpm",
        "celsius",
        "volt",
        "ampere",
    )


def power_unit(word: str) -> str:
    """A unit of power or energy as ``units`` knows it; empty for another word."""
    word = archive_columns.BY_NAME.get(word.strip().lower(), word.strip())
    try:
        return word if word and units.si(word)[0] in ("W", "J") else ""
    except units.UnknownUnit:
        return ""


def prefixed(factor: float, unit: str) -> str:
    """The unit with a prefix that has a factor to SI."""
    words: dict[Any, str] = {units.si(word)[1]: word for word in ("W", "kW", "MW", "mW", "uW")}
    if unit == "J":
        words = {units.si(word)[1]: word for word in ("J", "kJ", "MJ", "mJ", "uJ", "Wh", "kWh", "MWh", "mWh")}
    return words.get(factor, unit)
