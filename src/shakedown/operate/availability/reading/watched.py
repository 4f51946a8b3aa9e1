"""A watch of ours: what ``shakedown availability watch`` appended, one look a line (``watching`` writes it)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from ....files import journal, packed
from ....hosts.hostlist import expand
from ..history import Builder, Reservation
from ..records import Source, notice
from ..watching import MARK, Line
from ..words import State, of_gridengine, of_slurm_word
from .snapshots import NodeSnapshot, lay

#: Looks farther apart than so many intervals leave a gap.
LATE = 2.5
#: A host that does not answer our own heartbeat is silent from its first missed one on, once so many were missed in a row.
CONFIRM = 2
#: By so much of an interval the clocks may disagree before the wall clock is taken to have been set.
_STEP_S = 2.0


def is_mine(head: str) -> bool:
    return head.startswith(f'{{"watch":"{MARK}"')


def read(builder: Builder, path: Path, zone: str) -> None:
    """Read the looks. A line that a power cut left half is told of and passed over."""
    damaged: list[int] = []
    lines = list(_lines(path, damaged))
    if damaged:
        text = f"{path.name}: {len(damaged)} lines are damaged (the first is {damaged[0]}); their time is not observed"
        builder.notices.append(notice("damaged-watch", text))
    count = lay(builder, _looks(lines), "watch", factor=LATE)
    span = (lines[0].t_s, lines[-1].t_s) if lines else ()
    builder.sources.append(Source(str(path), "watch", count, *span))
    seen: dict[tuple[str, int], Reservation] = {}
    known = set(builder.names)
    for line in lines:
        for one in line.reservations or ():
            members = tuple(builder.node(name) for name in expand(one.nodes) if name in known) if one.nodes else ()
            earlier = seen.get((one.name, one.begin_s))
            first = line.t_s if earlier is None else earlier.first_seen_s
            seen[one.name, one.begin_s] = Reservation(
                one.name, one.begin_s, one.end_s, members, tuple(one.flags), first
            )
    builder.reservations[:] = [
        *(one for one in builder.reservations if (one.name, one.begin_s) not in seen),
        *seen.values(),
    ]


def _lines(path: Path, damaged: list[int]) -> Iterator[Line]:
    with packed.opened(path) as file:
        for row in journal.decoded(file, msgspec.json.Decoder(Line)):
            if row.record is not None:
                yield row.record
            elif row.line.strip():
                damaged.append(row.number)


def _looks(lines: list[Line]) -> Iterator[NodeSnapshot]:
    """Whole looks from lines that say only what changed."""
    states: dict[str, str] = {}
    reasons: dict[str, str] = {}
    sizes: dict[str, tuple[int, int]] = {}
    before: Line | None = None
    quiet = _quiet(lines)
    for number, line in enumerate(lines):
        broken = before is not None and _broken(before, line)
        if line.failed:
            yield NodeSnapshot(line.t_s, line.every_s, {}, {}, failed=True)
            before = line
            continue
        if line.full:
            states, reasons, sizes = {}, {}, {}
        elif not states:
            before = line
            continue  # what a whole look would have said is not there: not observed until the next one
        for word, nodes in line.states.items():
            for name in expand(nodes):
                if word == "":
                    states.pop(name, None)
                else:
                    states[name] = word
        reasons.update(line.reasons or {})
        for text, size in (line.sizes or {}).items():
            sizes |= dict.fromkeys(expand(text), (size[0], size[1]))
        silent = quiet[number]
        translate = of_gridengine if line.engine == "gridengine" else of_slurm_word
        told: dict[str, tuple[State, str]] = {}
        for name, word in states.items():
            state = translate(word)
            if name in silent and state in ("up", "unknown", "reserved"):
                told[name] = ("silent", "does not answer our heartbeat")
            else:
                told[name] = (state, reasons.get(name, "") if state != "up" else "")
        yield NodeSnapshot(line.t_s, line.every_s, told, sizes, broken=broken)
        before = line


def _quiet(lines: list[Line]) -> list[set[str]]:
    """For each line the hosts that count as silent: those that miss this heartbeat and, with it, ``CONFIRM`` in a row."""
    alone = [set(expand(line.silent)) if line.silent else set() for line in lines]
    in_a_row = [set.intersection(*alone[at : at + CONFIRM]) for at in range(len(alone) - CONFIRM + 1)]
    return [set[str]().union(*in_a_row[max(0, at - CONFIRM + 1) : at + 1]) for at in range(len(alone))]


def _broken(before: Line, line: Line) -> bool:
    """Whether the wall clock was set between two looks of one boot, so that their distance is not known."""
    if before.boot != line.boot or not line.boot:
        return False
    wall, steady = line.t_s - before.t_s, (line.steady_ns - before.steady_ns) / 1e9
    return abs(wall - steady) > _STEP_S + 0.1 * line.every_s
