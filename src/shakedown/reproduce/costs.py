"""What layers cost, measured in pairs (`shakedown.layers`), as the lines of a row that prints what virtual machines cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ..analysis import overheads
from ..records import Analysis, Overhead, Value
from ..units import round_to
from .lines import Cell, Line, apart
from .model import Row


def of_row(row: Row, analysis: Analysis) -> list[Overhead]:
    """The costs of layers, whichever they are, that were measured in the row's metrics and in enough pairs to decide."""
    return [one for one in analysis.overheads if one.metric in row.overheads and one.side != "too few pairs"]


def lines(row: Row, found: Sequence[Overhead], titles: Mapping[str, str]) -> tuple[Line, ...]:
    """Ours as lines of the published metrics, whose titles these are: one for each layer."""
    return tuple(
        Line(
            whose="this machine",
            ours=True,
            metric=row.overheads[metric],
            title=titles[row.overheads[metric]],
            unit="1",
            better="lower",
            label=label,
            cells=tuple(_cost(row, one) for one in group),
        )
        for metric in row.overheads
        for label, group in _by_layer(row, [one for one in found if one.metric == metric])
    )


def _by_layer(row: Row, found: Sequence[Overhead]) -> list[tuple[str, list[Overhead]]]:
    """Those of each layer apart, and of each setting beside the axis."""
    hosts = len({one.host for one in found}) > 1
    made: list[tuple[str, list[Overhead]]] = []
    for under in dict.fromkeys(one.under for one in found):
        own = [one for one in found if one.under == under]
        params: list[dict[str, Value | None]] = [{**one.params, **({"host": one.host} if hosts else {})} for one in own]
        for label, chosen in apart(params, row.ours_axis or row.axis):
            # an application of ours that stands beside another one of theirs is named
            alike = row.overheads[own[0].metric].startswith(own[0].workload)
            name = f"under {under}" if alike else f"{own[0].workload} under {under}"
            made.append((", ".join(filter(None, (name, label))), [own[at] for at in chosen]))
    return made


def _cost(row: Row, one: Overhead) -> Cell:
    """A factor as the document gives its own: the factor itself, or what it is above 1."""
    less = overheads.PUBLISHED.get(row.overheads[one.metric], 0.0)
    x = one.params.get(row.ours_axis or row.axis)
    made = Cell(x=x, value=one.factor - less, low=one.low - less, high=one.high - less, params=one.params)
    if not less:
        return made
    value, low, high = (f"{round_to(100 * (each - less), 2)} %" for each in (one.factor, one.low, one.high))
    return msgspec.structs.replace(made, printed=f"{value} [{low}, {high}]")
