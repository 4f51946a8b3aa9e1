"""Events and contracts for the availability, and how they are read."""

from __future__ import annotations

from pathlib import Path

import msgspec

from shakedown.hosts.access import LocalHost
from shakedown.operate.availability import cumulative_downtime, evaluate, reading
from shakedown.operate.availability.contract import Contract, WindowRule
from shakedown.operate.availability.history import History
from shakedown.operate.availability.words import STATES

RECORDINGS = Path(__file__).parent.parent / "recordings" / "availability"


EVENTS = RECORDINGS / "slurm-22.05-events.txt"


WATCH = RECORDINGS / "watch-slurm-22.05.jsonl"


T = 1_700_000_000


def contract(**changed: object) -> Contract:
    plain = Contract(name="t", title="t", source="t", at_least="97 %", window=WindowRule(length="1 h"))
    return msgspec.structs.replace(plain, **changed)


def read(*sources: Path | str, zone: str = "", nodes: str = "") -> History:
    return reading.read([str(one) for one in sources], LocalHost(), begin_s=None, end_s=None, zone=zone, nodes=nodes)


def rows(history: History) -> list[tuple[str, int, int, str, str]]:
    one = history.events
    return [
        (history.names[n], int(a), int(b), STATES[s], history.causes[c].what)
        for n, a, b, s, c in zip(one.node, one.begin, one.end, one.state, one.cause, strict=True)
    ]


def inventory(history: History) -> set[tuple[str, int, int, int, int]]:
    one = history.presence
    return {
        (history.names[n], int(a), int(b), int(c), int(g))
        for n, a, b, c, g in zip(one.node, one.begin, one.end, one.cpus, one.gpus, strict=True)
    }


def lost(history: History, begin: int, end: int, agreed: Contract | None = None) -> tuple[float, float]:
    found = evaluate.prepare(history, agreed or contract(), begin, end)
    window = cumulative_downtime.window(found.course, begin, end)
    return window.lost, window.unobserved
