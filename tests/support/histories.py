"""Histories of nodes that were up and down, as tests of availability draw and judge them."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from hypothesis import strategies as st

from shakedown.operate.availability import evaluate
from shakedown.operate.availability.contract import Contract, WindowRule
from shakedown.operate.availability.history import OPEN_S, WHOLE, Builder, Cause, History
from shakedown.operate.availability.records import AvailabilityReport

DAY = 86400
BEGIN = 1_700_000_000


class Out(NamedTuple):
    """An outage of node ``n``: seconds after BEGIN, share in ten-thousandths, GPUs as bits."""

    n: int
    begin: int
    end: int
    share: int = WHOLE
    mask: int = 0
    what: str = "broken"


def agreed(**changed: object) -> Contract:
    plain = Contract(name="t", title="t", source="t", at_least="97 %", window=WindowRule(length="30 d"))
    return msgspec.structs.replace(plain, **changed)


def history(
    outages: list[Out],
    *,
    nodes: int = 4,
    cpus: int = 4,
    gpus: int = 4,
    length: int = 40 * DAY,
    seen: tuple[tuple[int, int], ...] | None = None,
    gaps: tuple[tuple[int, int, int], ...] = (),
    origin: int = BEGIN,
) -> History:
    builder = Builder()
    for at in range(nodes):
        builder.present(f"node{at}", origin, origin + length, cpus, gpus)
    for one in outages:
        builder.event(
            f"node{one.n}",
            origin + one.begin,
            origin + one.end if one.end < OPEN_S else OPEN_S,
            "down",
            Cause(one.what),
            share=one.share,
            mask=one.mask,
        )
    for node, low, high in gaps:
        builder.gap(f"node{node}", origin + low, origin + high)
    builder.seen = [(origin + low, origin + high) for low, high in (seen or ((0, length),))]
    return builder.history()


def found(outages: list[Out], contract: Contract, *, length: int = 40 * DAY, **more: object) -> evaluate.Evaluation:
    return evaluate.prepare(history(outages, length=length, **more), contract, BEGIN, BEGIN + length)  # type: ignore[arg-type]


def report(outages: list[Out], contract: Contract, *, length: int = 40 * DAY, **more: object) -> AvailabilityReport:
    made = history(outages, length=length, **more)  # type: ignore[arg-type]
    return evaluate.evaluate(made, contract, BEGIN, BEGIN + length, explained=True)[0]


SPAN, NODES, WINDOW = 60, 3, 20
OUTS = st.lists(
    st.builds(
        lambda n, a, b, share, mask: Out(n, min(a, b), max(a, b) + 1, share, mask),
        st.integers(0, NODES - 1),
        st.integers(-5, SPAN + 5),
        st.integers(-5, SPAN + 5),
        st.sampled_from([WHOLE, WHOLE, 2500, 5000]),
        st.sampled_from([0, 0, 0, 1, 2, 3, 15]),
    ),
    max_size=12,
)
GAPS = st.lists(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, SPAN), st.integers(0, SPAN)).map(
        lambda one: (one[0], min(one[1:]), max(one[1:]))
    ),
    max_size=3,
)
SMALL = agreed(window=WindowRule(length="20 s"), at_least="80 %")
