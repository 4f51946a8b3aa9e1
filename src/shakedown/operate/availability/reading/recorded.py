"""sinfo as a site recorded it: a line for each node, the time in front, appended by cron.

    * * * * *  sinfo -h -N -o "$(date +\\%s) %N %T %c %G" >> states.log

One look is all lines of one time. What a node was holds until the next look; if that is late (by more than one and a half of
the usual spacing) nobody knows what was between. A node that a look does not list was not there.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from ....files.packed import opened_text
from ..history import Builder
from ..records import Source
from ..words import State, of_slurm_word
from .slurm_asked import gpus_of
from .snapshots import NodeSnapshot, lay

_LINE = re.compile(r"^(\d{9,12}) (\S+) ([A-Za-z_+]+\S*)(?: (\d+))?(?: (\S+))?(?: (.*))?$")


def is_mine(head: str) -> bool:
    lines = [line for line in head.split("\n")[:-1] if line.strip()]
    return bool(lines) and all(_LINE.match(line.rstrip()) for line in lines[:20])


def read(builder: Builder, path: Path, zone: str) -> None:
    """Read the looks."""
    times: list[int] = []
    with opened_text(path) as file:
        for line in file:
            if (match := _LINE.match(line.rstrip())) and (not times or times[-1] != int(match[1])):
                times.append(int(match[1]))
    spacing = [b - a for a, b in pairwise(times) if b > a]
    every = statistics.median(spacing) if spacing else 60.0
    count = lay(builder, _looks(path, every), "sinfo", factor=1.5)
    span = (times[0], times[-1]) if times else ()
    builder.sources.append(Source(str(path), "recorded sinfo", count, *span))


def _looks(path: Path, every_s: float) -> Iterator[NodeSnapshot]:
    states: dict[str, tuple[State, str]] = {}
    sizes: dict[str, tuple[int, int]] = {}
    at = None
    with opened_text(path) as file:
        for line in file:
            match = _LINE.match(line.rstrip())
            if not match:
                continue
            if at is not None and int(match[1]) != at:
                yield NodeSnapshot(at, every_s, states, sizes)
                states, sizes = {}, {}
            at = int(match[1])
            states[match[2]] = (of_slurm_word(match[3]), (match[6] or "").replace("none", ""))
            sizes[match[2]] = (int(match[4] or 1), gpus_of(match[5] or ""))
    if at is not None:
        yield NodeSnapshot(at, every_s, states, sizes)
