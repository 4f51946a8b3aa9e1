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
    course = _Course(builder, engine)
    before: NodeSnapshot | None = None
    count = back = 0
    for look in looks:
        if before is not None:
            went_back = look.at_s < before.at_s
            late = look.at_s - before.at_s > factor * max(before.every_s, look.every_s, 1.0)
            if went_back or late or look.failed or look.broken:
                course.cut(before.at_s)
                before = None
            back += went_back
        if not look.failed:
            count += 1
            course.see(look, -1 if before is None else look.at_s - before.at_s)
            before = look
    if before is not None:
        course.cut(before.at_s)
    for name, (begin, size) in course.there.items():
        builder.present(name, begin, OPEN_S, *size)  # it is there still, though nobody looks
    if back:
        text = f"the clock went back {back} times; what lay there is not observed"
        builder.notices.append(notice("clock-went-back", text, "let chrony slew the clock of the host that watches"))
    return count


class _Course:
    """What the looks so far have said: which nodes are there with what, which are not well, and since when."""

    def __init__(self, builder: Builder, engine: str) -> None:
        self.builder, self.engine = builder, engine
        self.held: dict[str, _Held] = {}
        self.there: dict[str, tuple[int, tuple[int, int]]] = {}
        self.start: int | None = None  # of what was observed without a gap

    def see(self, look: NodeSnapshot, late: int) -> None:
        """One look: what changed ends what was held. ``late``: seconds since the look before, -1 for the first."""
        there, at_s = self.there, look.at_s
        self.start = at_s if self.start is None else self.start
        for name in [one for one in there if one not in look.states]:
            self._end(name, at_s)
            begin, size = there.pop(name)
            self.builder.present(name, begin, at_s, *size)
        for name, (state, reason) in look.states.items():
            size = look.sizes.get(name) or (there[name][1] if name in there else (1, 0))
            if name not in there:
                there[name] = (at_s, size)
            elif there[name][1] != size:
                self.builder.present(name, there[name][0], at_s, *there[name][1])
                there[name] = (at_s, size)
            own = self.held.get(name)
            if own is not None and own.state == state and (own.reason == reason or not reason):
                continue
            self._end(name, at_s)
            if state != "up":
                self.held[name] = _Held(state, reason, at_s, late if own is None else 0)

    def cut(self, at_s: int) -> None:
        """Nothing is known from here on: end what was held, and say for which time the looks speak."""
        for name in list(self.held):
            self._end(name, at_s)
        for name, (begin, size) in self.there.items():
            self.builder.present(name, begin, at_s, *size)
            self.there[name] = (at_s, size)
        if self.start is not None and at_s > self.start:
            self.builder.seen.append((self.start, at_s))
        self.start = None

    def _end(self, name: str, at_s: int) -> None:
        held = self.held.pop(name, None)
        if held is None:
            return
        if held.state == "unknown":
            self.builder.gap(name, held.begin, at_s)
            return
        told = held.reason or {"silent": "Not responding"}.get(held.state, held.state)
        cause = Cause(what=told, engine=self.engine)
        self.builder.event(name, held.begin, at_s, held.state, cause, late_s=held.late)
