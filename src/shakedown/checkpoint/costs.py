"""What a checkpoint of each level takes: from sizes and rates, from times, or from measured runs. Seconds.

A checkpoint of a level holds the levels below it too, so it costs no less than they do. Where nothing was given a rate is
assumed, and the plan says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from ..errors import BadInput
from ..records import Record
from ..units import UnknownUnit, parse_quantity, show

NAMES = {1: "node-local", 2: "partner copy", 3: "erasure code", 4: "global"}
OPTIONS = {1: "--l1", 2: "--l2", 3: "--l3", 4: "--global"}
#: Rates where none is given, B/s: levels 1 to 3 of each node, 4 of all nodes together.
#: 1: the median of fio's buffered writes with fsync on one NVMe volume; 2: written twice; 3: with parity in groups of 8
#: nodes of which 2 may be lost; 4: a small parallel file system.
ASSUMED = {1: 1.2e9, 2: 0.6e9, 3: 0.5e9, 4: 10e9}
#: Staging, B/s of each node: copying with a checksum in the same pass, on one core.
ASSUMED_STAGING = 8e9
ASSUMED_SLOWDOWN = 0.05
ASSUMED_RELAUNCH_S = 30.0
#: Shares of failures that need levels 1 to 4, where nothing was recorded.
ASSUMED_SHARES = (0.60, 0.30, 0.08, 0.02)


class Level(Record, frozen=True, kw_only=True):
    """``share`` is of the failures that need this level. ``source`` says where cost and restart come from."""

    number: int
    cost_s: float
    restart_s: float
    share: float
    source: str
    assumed: bool = False

    @property
    def title(self) -> str:
        return f"L{self.number} {NAMES[self.number]}"


def quantity(text: str, option: str, units: Sequence[str], hint: str) -> tuple[float, str]:
    """A positive number with one of these SI units. Raises BadInput with the option for anything else."""
    try:
        value, unit = parse_quantity(text)
    except (UnknownUnit, ValueError) as error:
        raise BadInput(str(error), where=option, hint=hint) from None
    if unit not in units:
        raise BadInput(f"{text!r} has not the right unit", where=option, hint=hint)
    if not (math.isfinite(value) and value > 0):
        raise BadInput(f"{text!r} is not above zero", where=option, hint=hint)
    return value, unit


def seconds_of(text: str, option: str, *, zero: bool = False) -> float:
    """A time such as ``6h``. Raises BadInput; ``zero``: none at all is fine."""
    try:
        if zero and parse_quantity(text) == (0.0, "s"):
            return 0.0
    except (UnknownUnit, ValueError):
        pass
    return quantity(text, option, ("s",), "a time above zero with its unit: 90 s, 6h, 30d")[0]


def share_of(text: str, option: str) -> float:
    """``5 %`` or ``0.05``, from 0 to below 1. Raises BadInput."""
    hint = "a share such as 5 %, below 100 %"
    try:
        value, unit = parse_quantity(text)
    except (UnknownUnit, ValueError) as error:
        raise BadInput(str(error), where=option, hint=hint) from None
    if unit != "1" or not 0 <= value < 1:
        raise BadInput(f"{text!r} is not a valid share", where=option, hint=hint)
    return value


def shares_of(text: str) -> tuple[float, ...]:
    """``60/30/8/2``: failures by the level that they need, in any unit. Raises BadInput."""
    hint = "how failures share out among levels 1 to 4: 60/30/8/2"
    parts = text.split("/")
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = []
    if len(values) != 4 or not all(math.isfinite(value) and value >= 0 for value in values) or not sum(values) > 0:
        raise BadInput(f"{text!r} is not a valid mix of failures", where="--mix", hint=hint)
    return tuple(value / sum(values) for value in values)


def levels(
    size_bytes: float,
    nodes: int,
    given: Mapping[int, str],
    *,
    relaunch_s: float = ASSUMED_RELAUNCH_S,
    restarts: Sequence[float] = (),
    shares: Sequence[float] = ASSUMED_SHARES,
    measured: Mapping[int, Level] | None = None,
) -> tuple[Level, ...]:
    """The levels that there are, the lowest first: those that were given or measured, and the global one; all four where
    none was given. ``given`` are rates or times as text; a restart is the relaunch and as long a reading as the writing.
    Failures that need a level that is not there need the next above.

    Raises BadInput for a level that costs more than one above it, and for as many restarts as there are no levels.
    """
    measured = measured or {}
    chosen = sorted({*given, *measured, 4} if given or measured else NAMES)
    if restarts and len(restarts) != len(chosen):
        raise BadInput(
            f"{len(restarts)} restart times for {len(chosen)} levels",
            where="--restart",
            hint=f"one for each of {', '.join(f'L{number}' for number in chosen)}: --restart 30s,10min",
        )
    found: list[Level] = []
    for at, number in enumerate(chosen):
        one = measured.get(number) if number not in given else None
        if one is None:
            cost, source = _cost(number, size_bytes, nodes, given.get(number, ""))
            is_assumed = number not in given
            one = Level(
                number=number, cost_s=cost, restart_s=relaunch_s + cost, share=0.0, source=source, assumed=is_assumed
            )
        if restarts:
            one = msgspec.structs.replace(one, restart_s=restarts[at])
        # One that nobody gave by hand, and that costs more than a safer one, is not worth having.
        while found and found[-1].number not in given and one.cost_s < found[-1].cost_s:
            found.pop()
        if found and one.cost_s < found[-1].cost_s:
            raise _too_dear(found[-1], one)
        found.append(one)
    ends = [one.number for one in found]
    return tuple(
        msgspec.structs.replace(one, share=sum(shares[begin : one.number]))
        for one, begin in zip(found, [0, *ends], strict=False)
    )


def _cost(number: int, size_bytes: float, nodes: int, text: str) -> tuple[float, str]:
    """Seconds of a checkpoint, and where they are from."""
    moved = size_bytes if number == 4 else size_bytes / nodes
    of = "of all nodes together" if number == 4 else "of each node"
    if not text:
        return moved / ASSUMED[number], f"assumed: {show(ASSUMED[number], 'B/s')} {of}"
    hint = f"a rate {of} such as 2GB/s, or the time of a whole checkpoint such as 12s"
    value, unit = quantity(text, OPTIONS[number], ("B/s", "s"), hint)
    return (value, "given") if unit == "s" else (moved / value, f"given: {show(value, 'B/s')} {of}")


def _too_dear(below: Level, above: Level) -> BadInput:
    return BadInput(
        f"{below.title} takes {below.cost_s:.4g} s and {above.title}, which survives more, only {above.cost_s:.4g} s",
        where=OPTIONS[below.number],
        hint=f"leave {OPTIONS[below.number]} out; a checkpoint of L{above.number} is cheaper and safer",
    )
