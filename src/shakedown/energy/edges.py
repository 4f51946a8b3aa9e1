"""What readings leave open at the marks of a phase and in gaps: bounds, and no assumption of when the load moved.

A stretch of length D that a mark cuts has the mean r, and the share g of it lies inside. Its power stayed between ``low``
and ``high``, which its own reading and its neighbours' tell, a little wider for what moves faster than they are read. What
lies outside had between (1 - g) low and (1 - g) high, so that the part inside holds, over D,

    from max(g low, r - (1 - g) high) to min(g high, r - (1 - g) low).

Where r lies between the readings of the two neighbours the power is taken to have moved one way, as at the begin of a run,
at its end and on any ramp: the part inside has a mean between r and the reading inside, less what readings scatter by. That
halves the bounds; they hold whether the power stepped at the mark, before it, after it or not at all. Where a ramp beside
the stretch leads away from r it turned within: then that is not assumed, and the ramp may have gone on for as long as a
stretch. Readings that see only the share f of the time have a mean between f r + (1 - f) low and f r + (1 - f) high; those
at a point have none: from g low to g high. A stretch without a reading lies between what the readings beside it say, as far
to either side as it is long.

The middle of the bounds is taken. Half their distance over sqrt(2) is its standard uncertainty: since loads step at the
marks, the very ends of what is possible are the likeliest (a U-shaped distribution; JCGM 100, 4.3.7, has sqrt(3) where all
is as likely)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .integrate import Gap, Tiles

#: Stretches to either side of a mark that tell how much the power scatters from one to the next.
_AROUND = 10


class Bounds(NamedTuple):
    """Energy in J: the middle of what is possible, and its standard uncertainty."""

    middle_j: float
    u_j: float


def _between(low_j: float, high_j: float) -> Bounds:
    return Bounds((low_j + high_j) / 2, (high_j - low_j) / math.sqrt(8))


def cut_stretch(tiles: Tiles, at_ns: int) -> int | None:
    """The stretch that a time cuts; None where it falls between two or into a gap."""
    index = int(np.searchsorted(tiles.end_ns, at_ns, side="right"))
    if index >= len(tiles.begin_ns) or tiles.begin_ns[index] >= at_ns:
        return None
    return index


def cut(tiles: Tiles, index: int, begin_ns: int, end_ns: int) -> Bounds:
    """The energy of the part of one stretch that lies in a window."""
    length_s = float(tiles.end_ns[index] - tiles.begin_ns[index]) * 1e-9
    inside = min(end_ns, int(tiles.end_ns[index])) - max(begin_ns, int(tiles.begin_ns[index]))
    g = inside * 1e-9 / length_s
    low, high = _power_bounds(tiles, index)
    left, right = float(tiles.left_w[index]), float(tiles.right_w[index])
    if left != right or tiles.points:
        return _between(g * low * length_s, g * high * length_s)
    least = tiles.covered * left + (1 - tiles.covered) * low
    most = tiles.covered * left + (1 - tiles.covered) * high
    part_low, part_high = max(g * low, least - (1 - g) * high), min(g * high, most - (1 - g) * low)
    at_begin, at_end = begin_ns > tiles.begin_ns[index], end_ns < tiles.end_ns[index]
    if at_begin != at_end and _moved_one_way(tiles, index):
        beside = float(tiles.left_w[index + 1]), float(tiles.right_w[index - 1])
        within, without = beside if at_begin else beside[::-1]
        scatter = _wiggle(tiles, index) * math.sqrt(g * (1 - g))
        if without < left < within:
            part_low = max(part_low, g * least - scatter)
        elif without > left > within:
            part_high = min(part_high, g * most + scatter)
    return _between(part_low * length_s, part_high * length_s)


def gap(tiles: Tiles, missing: Gap) -> Bounds:
    """The energy of a stretch without a reading. Beyond the trace's ends the range of the whole trace is possible."""
    if missing.where != "inside":
        powers = np.concatenate([tiles.left_w, tiles.right_w])
        return _between(missing.seconds * float(powers.min()), missing.seconds * float(powers.max()))
    after = int(np.searchsorted(tiles.begin_ns, missing.end_ns, side="left"))
    whole_ns = int(tiles.begin_ns[after] - tiles.end_ns[after - 1])
    first, last = tiles.end_ns[after - 1] - whole_ns, tiles.begin_ns[after] + whole_ns
    near = slice(
        min(after - 1, int(np.searchsorted(tiles.end_ns, first, side="right"))),
        max(after + 1, int(np.searchsorted(tiles.begin_ns, last, side="left"))),
    )
    powers = np.concatenate([tiles.left_w[near], tiles.right_w[near]])
    wider = _wiggle(tiles, after)
    low, high = float(powers.min()) - wider, float(powers.max()) + wider
    return _between(missing.seconds * low, missing.seconds * high)


def _power_bounds(tiles: Tiles, index: int) -> tuple[float, float]:
    """Between which powers a stretch stayed: those of its neighbours; where it lies above or below both, as far again
    beyond it; without a neighbour to one side, the range of the trace."""
    left, right = float(tiles.left_w[index]), float(tiles.right_w[index])
    beside = [float(tiles.right_w[index - 1])] if index else []
    beside += [float(tiles.left_w[index + 1])] if index + 1 < len(tiles.begin_ns) else []
    if len(beside) < 2:
        beside += [
            float(min(tiles.left_w.min(), tiles.right_w.min())),
            float(max(tiles.left_w.max(), tiles.right_w.max())),
        ]
    wider = _wiggle(tiles, index)
    if tiles.points or left != right:
        return min(left, right) - wider, max(left, right) + wider
    beyond = max(left - max(beside), 0.0), max(min(beside) - left, 0.0)
    beside += _going_on(tiles, index)
    return min(*beside, left) - beyond[1] - wider, max(*beside, left) + beyond[0] + wider


def _going_on(tiles: Tiles, index: int) -> list[float]:
    """What the neighbours would have gone on to within the stretch, had they moved as between them and theirs: only where
    that is away from it, since a ramp that turns in the stretch shows in no reading."""
    found = []
    for near, far in ((index - 1, index - 2), (index + 1, index + 2)):
        if min(near, far) >= 0 and max(near, far) < len(tiles.begin_ns):
            beside, trend = float(tiles.left_w[near]), float(tiles.left_w[near] - tiles.left_w[far])
            if trend * (float(tiles.left_w[index]) - beside) < 0 and abs(trend) > _wiggle(tiles, index):
                found.append(beside + trend)
    return found


def _moved_one_way(tiles: Tiles, index: int) -> bool:
    """Whether nothing speaks against a power that moved through the stretch in one direction."""
    return 0 < index < len(tiles.begin_ns) - 1 and not _going_on(tiles, index)


def _wiggle(tiles: Tiles, index: int) -> float:
    """How far the power within a stretch may lie from what its neighbours say: three standard deviations of the stretches
    near it about a line (the swings of a load average out over a stretch, but not over a part of one). The second
    differences of independent values have sqrt(6) times their standard deviation, and 0.6745 of that as the median of their
    sizes."""
    near = tiles.right_w[max(0, index - _AROUND) : index + _AROUND + 1]
    bends = np.abs(np.diff(near, 2))
    return 3 * float(np.median(bends)) / (0.6745 * math.sqrt(6)) if len(bends) else 0.0
