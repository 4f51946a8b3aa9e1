"""Values of either side as lines over an axis, and what tells the lines of one side apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ..document.text import params_of
from ..records import Params, Value


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One value of one side. ``of_peak``: of the machine's own peak."""

    x: Value | None  # on the row's axis; None: it has none
    value: float
    low: float | None = None
    high: float | None = None
    of_peak: float | None = None
    limit: str = ""  # what that peak is
    printed: str = ""  # as the document prints it, with its unit; of ours with its interval
    params: Params = {}


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """Values of one metric of one side that differ along the axis alone."""

    whose: str  # a published system's name, or "this machine"
    ours: bool
    metric: str
    title: str
    unit: str
    better: str
    label: str = ""  # what tells it from the side's other lines
    cells: tuple[Cell, ...]


def apart(all_params: Sequence[Mapping[str, Value | None]], axis: str) -> list[tuple[str, list[int]]]:
    """Positions grouped by the parameters that vary among them beside the axis, each group with those in words."""
    varying = [
        name
        for name in dict.fromkeys(name for one in all_params for name in one)
        if name != axis and len({repr(one.get(name)) for one in all_params}) > 1
    ]
    groups: dict[str, list[int]] = {}
    for at, one in enumerate(all_params):
        # Parameters that follow the axis (P and Q of a grid, the nodes of so many cores) tell no lines apart.
        told = {
            name: value
            for name in varying
            if (value := one.get(name)) is not None and not _follows(all_params, name, axis)
        }
        groups.setdefault(params_of(told), []).append(at)
    return list(groups.items())


def _follows(all_params: Sequence[Mapping[str, Value | None]], name: str, axis: str) -> bool:
    """Whether a parameter is decided by the axis: one value of it at each place of the axis, and several places."""
    places: dict[str, set[str]] = {}
    for one in all_params:
        places.setdefault(repr(one.get(axis)), set()).add(repr(one.get(name)))
    return bool(axis) and len(places) > 1 and all(len(held) == 1 for held in places.values())
