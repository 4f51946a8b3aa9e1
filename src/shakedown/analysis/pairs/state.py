"""What the steps of a verdict share: the settings, the data after combining passes, the finished fit; and small words."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..table import Floats, Ints
from . import fit, noise, partial_slowdown, topology
from .read import Pairs
from .records import Direction, Effect

FEWEST_PAIRS = 3  # of a node, before it can be told from its links
LEVEL_Z = 1.96  # half the width of a 95 % interval, in standard uncertainties


class Settings(NamedTuple):
    """``rate``: the false-discovery rate of what is named. The floors: what nobody would send a technician for."""

    rate: float = 0.01
    node_floor: float = 0.02
    link_floor: float = 0.05


class Combined(NamedTuple):
    """One row a pair (and direction): y is the logarithm of the time, or of the inverse of the rate."""

    a: Ints
    b: Ints
    y: Floats
    mirror: Floats  # what y would be if slow were fast: of two passes the slower
    spread: Floats
    round: Ints
    passes: Ints
    directed: bool


class State(NamedTuple):
    """Everything between the fit and the names. Vertices: the places, and where directed the places receiving."""

    pairs: Pairs
    settings: Settings
    data: Combined
    fit: fit.Fit
    to: Ints  # the vertex of b
    offsets: Floats  # what nearness and disturbed rounds explain of each row
    groups: topology.Groups | None
    groups_from: str
    disturbed: tuple[tuple[int, float], ...]  # rounds and by how much they were slow
    tail: noise.Tail
    centre: Floats  # per vertex: the typical effect
    between: Floats  # per vertex: the scatter of healthy nodes
    sigma: Floats  # per row: of its residual, when the row has no say in the fit
    mirror: Floats  # per row: the residual of the mirrored values


class Half(NamedTuple):
    """A vertex that is slow to some."""

    vertex: int
    parts: partial_slowdown.Parts
    rows: Ints  # the rows of the data that are its pairs


def slower(effect: float, better: str) -> float:
    """A difference of logarithms as a share of the expected value: added to a time, or missing from a rate."""
    held = min(max(effect, -50.0), 50.0)  # an interval may be as wide as that where next to nothing was measured
    return math.expm1(held) if better == "lower" else -math.expm1(-held)


def effect(middle: float, u: float, better: str) -> Effect:
    return Effect(
        slower=slower(middle, better),
        low=slower(middle - LEVEL_Z * u, better),
        high=slower(middle + LEVEL_Z * u, better),
    )


def rows_of(state: State, vertex: int) -> Ints:
    return np.flatnonzero((state.data.a == vertex) | (state.to == vertex))


def raw_of(state: State, rows: Ints) -> Floats:
    """How slow pairs are beside a typical one, whatever their nodes are."""
    found: Floats = (
        state.data.y[rows] - state.offsets[rows] - state.centre[state.data.a[rows]] - state.centre[state.to[rows]]
    )
    return found


def direction_of(state: State, vertex: int) -> Direction:
    if not state.data.directed:
        return "both"
    return "sending" if vertex < len(state.pairs.places) else "receiving"


def rows_between(state: State, members: set[int]) -> Ints:
    """The rows whose two ends are both among the vertices of one side."""
    count = len(state.pairs.places)
    among = np.zeros(count, bool)
    among[[vertex % count for vertex in members]] = True
    return np.flatnonzero(among[state.data.a] & among[state.data.b])


def node_dof(got: fit.Fit) -> float:
    """Degrees of freedom of a node's uncertainty: a robust scale earns about half of those of a least-squares fit."""
    return max(got.dof / 2, 1.0)
