"""How a number is parted along dimensions."""

from __future__ import annotations


def near_cubic(count: int, dimensions: int) -> tuple[int, ...]:
    """``dimensions`` whole numbers whose product is ``count``, as near to each other as can be, the largest first."""
    if dimensions == 1:
        return (count,)
    best = 1
    side = 1
    while side**dimensions <= count:
        if count % side == 0:
            best = side
        side += 1
    return (*near_cubic(count // best, dimensions - 1), best)
