"""Looks at the nodes' states, one after the other -> records, inventory, and what nobody saw. Pure but for the builder.

A state that a look found holds until the next look: what changed between them is stamped when it was seen, and by how much
that can be late is kept with the record. Where the next look is late, fails, or the clock went back, nothing is known
between them: neither up nor down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..history import OPEN_S, Builder, Cause
from ..records import notice
from ..words import State


class NodeSnapshot(NamedTuple):
    """``states``: node -> (state, reason). ``every_s`` is how often it was meant to look; ``broken`` that what lay between
    the look before and this one is not known, whatever their times say."""

    at_s: int
    every_s: float
    states: Mapping[str, tuple[State, str]]
    sizes: Mapping[str, tuple[int, int]]
    failed: bool = False
    broken: bool = False


class _Held(NamedTuple):
    state: State
    reason: str
    begin: int
    late: int


def lay(builder: Builder, looks: Iterable[NodeSnapshot], engine: str, *, factor: float) -> int:
    """Put looks into the builder; returns how many there were. Looks farther apart than ``factor`` intervals leave a gap."""
    held: dict[str, _Held] = {}
    there: dict[str, tuple[int, tuple[int, int]]] = {}
    before: NodeSnapshot | None = None
    start: int | None = None
    count = back = 0
    for look in looks:
        if before is not None and look.at_s < before.at_s:
            back += 1
            _cut(builder, held, there, engine, start, before.at_s)
            before = start = None
        elif before is not None and (
            look.failed or look.broken or look.at_s - before.at_s > factor * max(before.every_s, look.every_s, 1.0)
        ):
            _cut(builder, held, there, engine, start, before.at_s)
            before = start = None
        if look.failed:
            continue
        count += 1
        if start is None:
            start = look.at_s
        late = -1 if before is None else look.at_s - before.at_s
        _nodes(builder, held, there, look, engine, late)
        before = look
    if before is not None:
        _cut(builder, held, there, engine, start, before.at_s)
    for name, (begin, size) in there.items():
        builder.present(name, begin, OPEN_S, *size)  # it is there still, though nobody looks
    if back:
        text = f"the clock went back {back} times; what lay there is not observed"
        builder.notices.append(notice("clock-went-back", text, "let chrony slew the clock of the host that watches"))
    return count


def _nodes(
    builder: Builder,
    held: dict[str, _Held],
    there: dict[str, tuple[int, tuple[int, int]]],
    look: NodeSnapshot,
    engine: str,
    late: int,
) -> None:
    """One look: what changed ends what was held."""
    for name in [one for one in there if one not in look.states]:
        _end(builder, name, held.pop(name, None), engine, look.at_s)
        begin, size = there.pop(name)
        builder.present(name, begin, look.at_s, *size)
    for name, (state, reason) in look.states.items():
        size = look.sizes.get(name) or (there[name][1] if name in there else (1, 0))
        if name not in there:
            there[name] = (look.at_s, size)
        elif there[name][1] != size:
            builder.present(name, there[name][0], look.at_s, *there[name][1])
            there[name] = (look.at_s, size)
        own = held.get(name)
        if own is not None and own.state == state and (own.reason == reason or not reason):
            continue
        _end(builder, name, own, engine, look.at_s)
        if state == "up":
            held.pop(name, None)
        else:
            held[name] = _Held(state, reason, look.at_s, late if own is None else 0)


def _cut(
    builder: Builder,
    held: dict[str, _Held],
    there: dict[str, tuple[int, tuple[int, int]]],
    engine: str,
    start: int | None,
    at: int,
) -> None:
    """Nothing is known from here on: end what was held, and say for which time the looks speak."""
    for name, one in held.items():
        _end(builder, name, one, engine, at)
    held.clear()
    for name, (begin, size) in there.items():
        builder.present(name, begin, at, *size)
        there[name] = (at, size)
    if start is not None and at > start:
        builder.seen.append((start, at))


def _end(builder: Builder, name: str, held: _Held | None, engine: str, at: int) -> None:
    if held is None:
        return
    if held.state == "unknown":
        builder.gap(name, held.begin, at)
        return
    told = held.reason or {"silent": "Not responding"}.get(held.state, held.state)
    builder.event(name, held.begin, at, held.state, Cause(what=told, engine=engine), late_s=held.late)
