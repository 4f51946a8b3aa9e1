"""What the radio engine takes for all pairs, for radios that moved, and for a coverage map, over synthetic terrain.

    python scripts/bench/radio_engine.py [--radios 5000] [--moved 50] [--cells 1000] [--precision fp32] [--tiny] [--json]

Radios stand at random on 2049 x 2049 points of 1 arc second, with profiles of 500 points. ``seconds`` are those of a
caller in Python, with what goes over the pipes; ``cpu_s`` those of the engine's threads, which on a busy machine say
more. Each round moves some radios and asks for what changed by more than 1 dB below 140 dB: the median of ``seconds``,
the mean of ``cpu_s``."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import Option

from shakedown.radio.engine import Engine
from shakedown.radio.scene import Place, RadioSetting
from shakedown.radio.terrain import Terrain, synthetic

_TICKS_PER_S = 100  # of /proc/PID/stat


def cpu_s(pid: int) -> float:
    """Seconds of CPU that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def timed(engine: Engine, work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of a call, and of CPU in the engine."""
    cpu, begin = cpu_s(engine.pid), time.perf_counter()
    work()
    return time.perf_counter() - begin, cpu_s(engine.pid) - cpu


def draw(terrain: Terrain, count: int, random: np.random.Generator) -> list[Any]:
    """Places at random on the terrain, 2 m above ground."""
    return [
        random.uniform(terrain.south_deg, terrain.north_deg, count),
        random.uniform(terrain.west_deg, terrain.east_deg, count),
        np.full(count, 2.0),
    ]


def measure(engine: Engine, terrain: Terrain, radios: int, moved: int, cells: int, rounds: int) -> list[dict[str, Any]]:
    """A row for each kind of question."""
    random = np.random.default_rng(1)
    engine.place(*draw(terrain, radios, random))
    rows = [("all pairs", radios * (radios - 1) // 2, timed(engine, engine.losses))]
    engine.changes(1, 140)

    def move() -> None:
        index = random.choice(radios, moved, replace=False)
        engine.move(index, *draw(terrain, moved, random))
        engine.changes(1, 140)

    found = [timed(engine, move) for _ in range(rounds)]
    middle = statistics.median(one for one, _ in found), sum(one for _, one in found) / rounds
    rows.append((f"{moved} moved", moved * (radios - 1) - moved * (moved - 1) // 2, middle))
    bounds = (terrain.south_deg, terrain.west_deg, terrain.north_deg, terrain.east_deg)
    place = Place(latitude_deg=sum(bounds[::2]) / 2, longitude_deg=sum(bounds[1::2]) / 2, height_m=10)
    rows.append(("coverage", cells * cells, timed(engine, lambda: engine.coverage(place, 2, cells, cells, bounds))))
    return [
        {"what": what, "links": links, "seconds": wall, "cpu_s": cpu, "links_per_s": links / wall}
        for what, links, (wall, cpu) in rows
    ]


def main() -> None:
    asked = common.arguments(
        __doc__,
        radios=Option(5000, 60, "in the network"),
        moved=Option(50, 3, "radios that move in each round"),
        cells=Option(1000, 20, "along each side of the map"),
        side=Option(2049, 129, "points of the terrain"),
        rounds=Option(9, 2, "of moves"),
        precision=Option("fp32", None, "of the loops", ("fp32", "fp64")),
    )
    terrain = synthetic(1, rows=asked.side, columns=asked.side)
    with Engine(terrain, RadioSetting(), precision=asked.precision) as engine:
        rows = measure(engine, terrain, asked.radios, asked.moved, asked.cells, asked.rounds)
    common.show(
        asked, radio=(rows, {"what": "", "seconds": ".3f", "cpu_s": ".2f", "links_per_s": ",.0f", "links": ","})
    )


if __name__ == "__main__":
    main()
