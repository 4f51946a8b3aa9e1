"""Moves the nodes of an emulation: a process that lives and ends with it.

    python -m shakedown.radio.emulate.updating DIRECTORY

Every ``update_s`` it asks the engine which losses changed and tells the forwarder. A line of ``updates.jsonl`` says of each
update when it was due, how late it was done, how many nodes moved, how many of them are where no loss is known, how many
links changed, how many pairs are in range and the parts that they make, and what became of all frames until then. One that
takes longer than the interval makes later ones be left out, which the next line counts.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import numpy as np

from ...errors import ShakedownError
from ..mobility.tracks import Positions, Tracks, at
from . import files, links, scenario
from .control import Control
from .links import LossEngine
from .scenario import Scenario

#: Of more nodes the parts of the network are not found at each update: it would take longer than some losses.
MOST_PARTED = 5000


class Connected:
    """Which nodes are in range of each other, as far as that was told."""

    def __init__(self, nodes: int) -> None:
        self._near = np.zeros((nodes, nodes), np.bool_) if nodes <= MOST_PARTED else None

    def change(self, told: links.Links) -> None:
        """Take in what is told to the forwarder."""
        if self._near is not None:
            self._near[told["from"] - 1, told["to"] - 1] = ~np.isnan(told["snr_db"])

    def words(self) -> dict[str, int]:
        """Pairs of nodes in range of each other, the parts that these make, and the nodes of the largest; nothing where
        there are too many nodes."""
        if self._near is None:
            return {}
        from scipy.sparse import csgraph, csr_array

        parts, labels = csgraph.connected_components(csr_array(self._near), directed=False)
        return {"pairs": int(self._near.sum()) // 2, "parts": int(parts), "largest": int(np.bincount(labels).max())}


class Updater:
    """What is known between two updates."""

    def __init__(self, asked: Scenario, tracks: Tracks, engine: LossEngine) -> None:
        self._asked, self._tracks, self._engine = asked, tracks, engine
        self._positions: Positions | None = None
        self.connected = Connected(asked.nodes)
        self.unknown = 0  # nodes that were off the map, or over a hole in it, when they last moved
        #: Losses that leave less signal than any receiver can use are not told.
        self._below_db = asked.budget.snr_db(0.0) - asked.least_snr_db

    def update(self, time_s: float) -> tuple[links.Links, int]:
        """The links that changed by a time, and how many nodes moved."""
        now = at(self._tracks, time_s)
        if self._positions is None:
            self.unknown = len(self._engine.place(*now).unknown)
            moved = np.arange(self._tracks.radios)
        else:
            moved = links.moved(self._positions, now)
            if len(moved):
                self.unknown = len(self._engine.move(moved, *(one[moved] for one in now)).unknown)
        self._positions = now
        if not len(moved):
            return np.empty(0, links.LINK), 0
        found = self._engine.changes(above_db=self._asked.change_db, below_db=self._below_db)
        told = links.changed(self._asked, found, now)
        self.connected.change(told)
        return told, len(moved)


def next_update(now_s: float, every_s: float) -> tuple[float, int]:
    """The next time on the grid of updates that is still to come, and how many behind the present one are left out."""
    index = int(now_s // every_s) + 1
    return index * every_s, index


def begin_of(begin_unix_s: float | None, now_unix_s: float, now_s: float) -> float:
    """When time 0 of the ways is, on the monotonic clock that says ``now_s``."""
    return now_s if begin_unix_s is None else now_s + begin_unix_s - now_unix_s


def run(
    updater: Updater,
    asked: Scenario,
    tell: Callable[[links.Links], None],
    log: TextIO,
    ready: Callable[[], None],
    begin_unix_s: float | None = None,
    counts: Callable[[], dict[str, int]] = dict,
) -> None:
    """Update for ever: the emulation's end is this one's. ``ready`` is called behind the first. Nodes begin to move then, or
    at ``begin_unix_s``: hosts with the same begin, whose clocks agree, have them at the same places.
    ``counts``: what became of frames so far, for the log."""
    begin, due_s, index = time.monotonic(), 0.0, 0
    while True:
        found, moved = updater.update(due_s)
        if len(found):
            tell(found)
        late_s = time.monotonic() - begin - due_s
        if index == 0:
            ready()
            begin, late_s = begin_of(begin_unix_s, time.time(), time.monotonic()), 0.0
        line: dict[str, float] = {"time_s": due_s, "late_s": round(late_s, 6), "moved": moved, "links": len(found)}
        line |= {"unknown": updater.unknown, **updater.connected.words(), **counts()}
        due_s, following = next_update(max(0.0, time.monotonic() - begin), asked.update_s)
        line["skipped"], index = following - index - 1, following
        log.write(json.dumps(line) + "\n")
        log.flush()
        if not asked.moves:
            return
        time.sleep(max(0.0, begin + due_s - time.monotonic()))


def main() -> int:
    from ..engine import Engine

    directory = Path(sys.argv[1])
    try:
        description = files.load(directory)
        asked = description.scenario
        terrain, town = scenario.ground(asked), scenario.town(asked)
        tracks = scenario.ways(asked, terrain)
        with (
            Control(directory) as control,
            Engine(terrain, asked.radio, buildings=town, precision="fp32") as engine,
            (directory / files.UPDATES).open("w") as log,
        ):
            updater, begun = Updater(asked, tracks, engine), description.begin_unix_s
            run(updater, asked, control.change, log, lambda: files.mark_ready(directory), begun, control.fates)
    except ShakedownError as error:
        print(error, file=sys.stderr, flush=True)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
