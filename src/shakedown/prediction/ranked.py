"""Ranked configurations in words and as a table."""

from __future__ import annotations

from collections.abc import Sequence

from ..document.model import Column, Table
from ..units import show
from .numbers import percent, signed
from .ranking import Ranked


def best_sentence(ranked: Sequence[Ranked]) -> str:
    """The best of one number of nodes, and how many others are not distinguishable from it."""
    own = [one for one in ranked if one.count == ranked[-1].count]
    first, others = own[0], own[1:]
    near = sum(one.behind_high >= 0 for one in others)
    name = _name(first)
    if near:
        return f"{name} is the fastest of {len(own)}; {near} of the others are not distinguishable from it."
    return f"{name} is the fastest of {len(own)}, and distinguishable from all others."


def _name(one: Ranked) -> str:
    return f"{one.p} x {one.q} at N = {one.n:,}" + (f" ({one.variant})" if one.variant else "")


RANKED = (
    "place",
    "nodes",
    "P x Q",
    "N",
    "variant",
    "forecast",
    "behind the best",
    "80 % interval",
    "chance of the best",
)


def ranked_rows(ranked: Sequence[Ranked]) -> list[list[str]]:
    """The rows of the table RANKED."""
    rows = []
    place: dict[int, int] = {}
    for one in ranked:
        place[one.count] = place.get(one.count, 0) + 1
        behind = "" if one.behind == 0 else signed(one.behind)
        span = "" if one.behind == 0 else f"{signed(one.behind_low)} to {signed(one.behind_high)}"
        rows.append(
            [
                str(place[one.count]),
                str(one.count),
                f"{one.p} x {one.q}",
                f"{one.n:,}",
                one.variant,
                show(one.rate, "flop/s", 4),
                behind,
                span,
                percent(one.best_chance, 0),
            ]
        )
    return rows


def ranked_table(ranked: Sequence[Ranked]) -> tuple[Table, ...]:
    """The table of a page; nothing where nothing is ranked."""
    if not ranked:
        return ()
    numbers = {"place", "nodes", "N", "forecast", "behind the best", "chance of the best"}
    return (
        Table(
            title="Ranked",
            columns=tuple(Column(name, "number" if name in numbers else "text") for name in RANKED),
            rows=tuple(map(tuple, ranked_rows(ranked))),
            caption="By the same draws, so that what is not known of the machine cancels. Variants of the algorithm (NB, "
            "broadcast, look-ahead) are poorly distinguished by any model: run the first ones.",
        ),
    )
