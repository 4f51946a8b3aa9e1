"""What is to be forecast: numbers of nodes, grids, orders and HPL.dat files become rows without a rate, or held-out rows.

A run that the forecast is calibrated with is never its target: the same number of nodes gets the N that fills the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ..errors import BadInput
from ..units import MOST_COUNT, show_bytes, whole_number
from ..workloads.common.hpl_dat import HplDat
from . import setup as setups
from .setup import Row, Setup

MOST_CANDIDATES = 1000


def counts_of(text: str, option: str) -> tuple[int, ...]:
    """Numbers of nodes separated by commas, each once. Raises BadInput."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if whole_number(word, 1) is None:
            raise BadInput(
                f"{word[:40]!r} is not a valid number of nodes", where=option, hint="whole numbers with commas: 64,128"
            )
    if not words:
        raise BadInput("there is no number of nodes", where=option, hint="whole numbers with commas: 64,128")
    return tuple(dict.fromkeys(int(word) for word in words))


def grids_of(text: str) -> tuple[tuple[int, int], ...]:
    """P x Q separated by commas, such as 8x8,4x16. Raises BadInput."""
    found = []
    for word in text.split(","):
        p, q = (whole_number(side.strip(), 1, MOST_COUNT) for side in word.lower().partition("x")[::2])
        if p is None or q is None:
            raise BadInput(
                f"{word.strip()[:40]!r} is not a grid",
                where="--grid",
                hint="write P x Q as 36x144, several with commas",
            )
        found.append((p, q))
    return tuple(dict.fromkeys(found))


def held_out_counts(known: Sequence[Row], observed: Sequence[Row], setup: Setup) -> tuple[int, ...]:
    """Where no target is named: every known size that is not calibrated with. Raises BadInput where there is none."""
    taken = {row.count for row in observed}
    found = tuple(dict.fromkeys(row.count for row in known if row.count not in taken))
    if not found:
        raise BadInput(
            "what is to be forecast is not given", where="--to", hint=f"name numbers of {setup.counts}: --to 64"
        )
    return found


def rows(
    setup: Setup,
    counts: Sequence[int],
    known: Sequence[Row],
    observed: Sequence[Row],
    *,
    n: int = 0,
    grids: Sequence[tuple[int, int]] = (),
) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """Rows to forecast, and where N comes from where it was not given: the known runs of that size that are held out,
    else N as asked for or as it fills the memory. Raises BadInput.
    """
    if grids and len(counts) > 1:
        raise BadInput(
            "one grid cannot serve several numbers of nodes",
            where="--grid",
            hint="ask for one number of nodes at a time",
        )
    if n < 0:
        raise BadInput(f"N = {n} is not a valid matrix order", where="--n", hint="give a whole number from 1")
    held_out = [row for row in known if row not in observed]
    made: list[Row] = []
    said: list[str] = []
    for count in counts:
        there = [row for row in held_out if row.count == count]
        if there and not n and not grids:
            made += there
            continue
        each = setups.ranks_each(setup)
        setups.check_ranks(count * each, "--to")
        shapes = [setups.checked_grid(count, each, p, q, "--grid") for p, q in grids or [(0, 0)]]
        order = n or setups.order(setup, count, "--to")
        setups.check_memory(setup, count, order, "--n")
        if not n:
            said.append(_filled(setup, count, order))
        for p, q in shapes:
            same = next((row.rate for row in there if (row.n, row.p, row.q) == (order, p, q)), None)
            made.append(Row(count=count, n=order, p=p, q=q, rate=same))
    return tuple(made), tuple(said)


def _filled(setup: Setup, count: int, order: int) -> str:
    assert setup.memory_bytes is not None
    return (
        f"N = {order:,} on {count} {setup.counts} was chosen: its matrix fills {setup.memory_share:.0%} of their memory, "
        f"{show_bytes(setup.memory_bytes)} a node."
    )


def candidates(setup: Setup, dat: HplDat, where: str) -> tuple[Row, ...]:
    """Every system that an HPL.dat solves and that the model tells apart: N, NB, grid, broadcast, look-ahead.

    Raises BadInput for one that has no place, or more than MOST_CANDIDATES.
    """
    depths = tuple(dict.fromkeys(min(depth, 1) for depth in dat.depth))  # the model knows none beyond 1
    combined = list(product(dat.n, dat.nb, dict.fromkeys(dat.grids), dict.fromkeys(dat.bcast), depths))
    if len(combined) > MOST_CANDIDATES:
        raise BadInput(
            f"{len(combined)} systems are more than the {MOST_CANDIDATES} that are ranked at once",
            where=where,
            hint="drop values that are not of interest",
        )
    made = []
    for n, nb, (p, q), bcast, depth in combined:
        setups.check_ranks(p * q, where)
        each = setups.ranks_each(setup)
        config = setups.config_of(
            setup.run,
            n,
            p,
            q,
            nb=nb,
            mapping=dat.mapping,
            depth=depth,
            bcast=bcast,
            swap=dat.swap,
            swap_threshold=dat.swap_threshold,
        )
        count = -(-p * q // each)
        setups.check_memory(setup, count, n, where)
        made.append(Row(count=count, n=n, p=p, q=q, where=where, config=config))
    return tuple(made)


def without(observed: Sequence[Row], text: str, option: str) -> tuple[Row, ...]:
    """The rows without those that ``text`` names: 2 (nodes) or 2@142080 (with that N), with commas. Raises BadInput."""
    left = tuple(observed)
    for word in (one.strip() for one in text.split(",")):
        named, at, size = word.partition("@")
        count, n = whole_number(named), whole_number(size)
        if count is None or (at and n is None):
            raise BadInput(f"{word[:40]!r} names no run", where=option, hint="write nodes, or nodes@N: 2@142080")
        kept = tuple(row for row in left if not (row.count == count and (not at or row.n == n)))
        if len(kept) == len(left):
            there = ", ".join(f"{row.count}@{row.n}" for row in left)
            raise BadInput(f"there is no measured run {word}", where=option, hint=f"there are {there}")
        left = kept
    return left
