"""Which channels somebody's tables hold: whose each is, in which unit, and what its readings stand for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast, get_args

from ... import units
from ...errors import BadInput, unknown
from ...metering.meters import Channel, Place, Scope, channel_key
from . import unit_names
from .table import HOSTS, Table

#: Key columns whose cells name places: a rack W is no watt.
_PLACES = re.compile(
    r"host|node|rack|row|cabinet|chassis|room|site|hall|zone|feed|phase|line|outlet|device|instance|pdu|id$|name|label",
    re.I,
)


class Series(NamedTuple):
    """A channel to be: from which files, keys and column."""

    number: int
    channel: Channel
    source: str
    unit: str
    factor: float


def series_of(db: Any, tables: Sequence[Table], options: Mapping[str, str]) -> tuple[list[Series], list[str]]:
    """The channels of all files, each once, and what is left out as of no power or energy."""
    out: dict[str, Series] = {}
    left_out: dict[str, None] = {}
    for table in tables:
        rows = list(_distinct(db, table))
        unit_keys = _unit_keys(rows)
        for cells, unit in rows:
            for value in table.values:
                words = [cell for _, cell in cells]
                found = options.get("unit", "") or unit_names.power_unit(unit) or value.unit
                tags = (unit_names.tag_unit(cell, alone=name in unit_keys) for name, cell in reversed(cells))
                found = found or next((one for one in tags if one), "")
                label = " ".join([*words, value.name] if len(table.values) > 1 or not words else words)
                if not found:
                    left_out[label] = None
                    continue
                channel, factor = _channel(
                    cells, value.name if len(table.values) > 1 or not words else "", found, options
                )
                name = channel_key(channel)
                out.setdefault(name, Series(len(out), channel, label, found, factor))
    return list(out.values()), list(left_out)


def _unit_keys(rows: Sequence[tuple[list[tuple[str, str]], str]]) -> set[str]:
    """The key columns in which nothing but units stands; one that names places has none, whatever their letters."""
    cells: dict[str, set[str]] = {}
    for row, _ in rows:
        for name, cell in row:
            cells.setdefault(name, set()).add(cell)
    return {
        name
        for name, found in cells.items()
        if not _PLACES.search(name) and all(not cell or unit_names.is_unit(cell) for cell in found)
    }


def _distinct(db: Any, table: Table) -> Iterator[tuple[list[tuple[str, str]], str]]:
    """The keys of a long table with their units; once nothing for a wide one."""
    if not table.keys:
        yield [], ""
        return
    columns = ", ".join([sql for _, sql in table.keys] + ([table.unit_sql] if table.unit_sql else []))
    rows = db.execute(
        f"select distinct {columns} from {table.relation} where not ({table.header_sql}) limit 100001"
    ).fetchall()
    if len(rows) > 100_000:
        raise BadInput(
            "the key columns name more than 100,000 channels",
            where=table.path,
            hint="name the columns: --key host,metric",
        )
    for row in sorted(rows, key=str):
        cells = [(name, str(cell or "")) for (name, _), cell in zip(table.keys, row, strict=False)]
        if any(cell for _, cell in cells):
            yield cells, str(row[-1] or "") if table.unit_sql else ""


def _channel(
    cells: Sequence[tuple[str, str]], column: str, unit: str, options: Mapping[str, str]
) -> tuple[Channel, float]:
    try:
        base, factor = units.si(unit)
    except units.UnknownUnit as error:
        raise BadInput(str(error), where="--unit", hint="W, kW, mW; for counters J, Wh, kWh") from None
    if base not in ("W", "J"):
        raise BadInput(
            f"{unit!r} is not a unit of power or energy", where="--unit", hint="W, kW, mW; for counters J, Wh, kWh"
        )
    scope = options.get("scope") or ("counter" if base == "J" else "point")
    place = options.get("place", "node")
    for word, known, option in ((scope, get_args(Scope), "--scope"), (place, get_args(Place), "--place")):
        if word not in known:
            raise unknown("value", word, known, where=option)
    if (base == "J") != (scope == "counter"):
        raise BadInput(
            f"readings in {unit} cannot be of scope {scope}", where="--scope", hint="counter goes with J, Wh, kWh"
        )
    host = options.get("host") or next((cell for name, cell in cells if name.lower() in HOSTS), "")
    cells = [(name, cell) for name, cell in cells if cell]
    rest = [cell for name, cell in cells if name.lower() not in HOSTS] + ([column] if column else [])
    bare = re.sub(r"\s{0,9}[\[(][^\[\]()]*[\])]\s{0,9}", "", "/".join(rest)) or "power"
    modulus, most, window = (_number(options, word) for word in ("modulus", "most_w", "window"))
    return (
        Channel(
            id=f"csv/{re.sub(r'[^A-Za-z0-9_.+/-]+', '-', bare).strip('-') or 'value'}",
            title=" ".join([cell for _, cell in cells] + ([column] if column else [])) or "power",
            quantity="energy" if base == "J" else "power",
            unit=base,
            scope=cast(Scope, scope),
            place=cast(Place, place),
            host=host,
            modulus=modulus * factor if modulus and base == "J" else None,
            most_w=most,
            window_s=window,
            stamped="device",  # whoever wrote the file: half a second of whole seconds is rounding, and no lag
        ),
        factor,
    )


def _number(options: Mapping[str, str], key: str) -> float | None:
    if key not in options:
        return None
    try:
        value = float(options[key])
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise BadInput(
            f"{options[key]!r} is not a number above zero", where=f"--{key.replace('_', '-')}", hint="give one"
        )
    return value
