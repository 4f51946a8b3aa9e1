"""Lines of equal value over a grid, by marching squares: where a map's loss crosses the usable one.

Between two points of the grid the value is taken as linear; a cell with a corner that is not known has no line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]

#: The corners of a cell are 0 (row, column), 1 (row, column + 1), 2 (row + 1, column + 1), 3 (row + 1, column); its sides
#: begin at the corner of their number. Corners that are above the level, as bits -> the sides that a line joins.
_JOINED = {
    1: ((3, 0),),
    2: ((0, 1),),
    3: ((3, 1),),
    4: ((1, 2),),
    6: ((0, 2),),
    7: ((3, 2),),
    8: ((2, 3),),
    9: ((2, 0),),
    11: ((2, 1),),
    12: ((1, 3),),
    13: ((1, 0),),
    14: ((0, 3),),
}
#: Two opposite corners above: the mean of the four decides which of the two pairs of lines it is.
_SADDLES = {5: (((3, 0), (1, 2)), ((3, 2), (1, 0))), 10: (((0, 1), (2, 3)), ((0, 3), (2, 1)))}

_Line = list[tuple[float, float]]


def lines(values: Floats, level: float) -> list[_Line]:
    """Lines of (row, column) through a grid where it is ``level``; the first point is the last of a line that closes."""
    import numpy as np

    corners = (values[:-1, :-1], values[:-1, 1:], values[1:, 1:], values[1:, :-1])
    known = np.isfinite(corners[0]) & np.isfinite(corners[1]) & np.isfinite(corners[2]) & np.isfinite(corners[3])
    with np.errstate(invalid="ignore"):
        kinds = np.stack([corner > level for corner in corners]).T.dot([1, 2, 4, 8]).T
    crossed = known & (kinds > 0) & (kinds < 15)
    ends: dict[tuple[int, int, bool], list[tuple[int, int, bool]]] = {}
    for row, column in np.argwhere(crossed).tolist():
        kind = int(kinds[row, column])
        mean = sum(float(corner[row, column]) for corner in corners) / 4
        for one, other in _SADDLES[kind][mean > level] if kind in _SADDLES else _JOINED[kind]:
            a, b = _side(row, column, one), _side(row, column, other)
            ends.setdefault(a, []).append(b)
            ends.setdefault(b, []).append(a)
    return [[_crossing(values, level, side) for side in chain] for chain in _chains(ends)]


def _side(row: int, column: int, number: int) -> tuple[int, int, bool]:
    """A side of a cell by its first point of the grid and whether it goes along the row."""
    return (row + (number == 2), column + (number == 1), number in (0, 2))


def _crossing(values: Floats, level: float, side: tuple[int, int, bool]) -> tuple[float, float]:
    row, column, along = side
    begin = float(values[row, column])
    end = float(values[row, column + 1] if along else values[row + 1, column])
    share = (level - begin) / (end - begin)
    return (row, column + share) if along else (row + share, column)


def _chains(
    ends: dict[tuple[int, int, bool], list[tuple[int, int, bool]]],
) -> list[list[tuple[int, int, bool]]]:
    """Segments joined end to end: first those that begin at an edge or a hole, then the closed ones."""
    chains = []
    for start in [*(side for side, others in ends.items() if len(others) == 1), *ends]:
        chain = [start]
        while ends[chain[-1]]:
            following = ends[chain[-1]].pop()
            ends[following].remove(chain[-1])
            chain.append(following)
        if len(chain) > 1:
            chains.append(chain)
    return chains
