"""The largest number of radios whose losses `shakedown radio serve` brings up to date twice a second, and how late it is.

    python scripts/bench/radio_serve.py [--radios 1000,2000,3000] [--seconds 30] [--share 0.02] [--side-km 30] [--tiny]
    [--json]

For each number: radios at random on terrain that is made, a share of which moves by some 10 m in each interval of 0.5
s, as a trace that is played in real time; events of EMANE go out over the loopback, sentences into an EEL file. A
number is held where no interval was skipped but for the first seconds, in which all losses go out (last skipped: so long
after the first update). Late is an update from when its interval was due: found (its losses known
and encoded) and sent (its last datagram has left; they are spread over 0.4 s on purpose)."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import Option

from shakedown.radio import terrain as ground
from shakedown.radio.engine import Engine
from shakedown.radio.scene import LinkBudget, RadioSetting
from shakedown.radio.serve import addresses
from shakedown.radio.serve.loop import ServeConfig, Server, Wake
from shakedown.radio.serve.updater import Settings
from shakedown.radio.wire import lines, traces

EVERY_S = 0.5
_DEGREE_M = 111_200.0
_STEP_DEG = 1e-4  # some 10 m


def write_trace(path: Path, terrain: ground.Terrain, count: int, seconds: float, share: float) -> None:
    """All radios at once, then a share of them a little elsewhere in each interval."""
    rng = np.random.Generator(np.random.PCG64(count))
    sides = np.array([terrain.north_deg - terrain.south_deg, terrain.east_deg - terrain.west_deg])
    places = np.array([terrain.south_deg, terrain.west_deg]) + rng.uniform(0.02, 0.98, (count, 2)) * sides

    def position(at: int, time_s: float) -> lines.Position:
        latitude_deg, longitude_deg = places[at].tolist()
        return lines.Position(at + 1, latitude_deg, longitude_deg, height_m=2.0, time_s=time_s)

    rows = [position(at, 0.0) for at in range(count)]
    for number in range(1, round(seconds / EVERY_S) + 1):
        for at in rng.choice(count, max(1, round(share * count)), replace=False).tolist():
            places[at] += rng.normal(0, _STEP_DEG, 2)
            rows.append(position(at, number * EVERY_S))
    traces.write(path, rows)


def serve(terrain: ground.Terrain, count: int, asked: Any) -> dict[str, Any]:
    """One number of radios, to the end of its trace. Raises ShakedownError."""
    with (
        tempfile.TemporaryDirectory(prefix="shakedown-bench-") as folder,
        Engine(terrain, RadioSetting(frequency_mhz=450.0), threads=asked.threads or None, precision="fp32") as engine,
    ):
        trace = Path(folder) / "trace.jsonl"
        write_trace(trace, terrain, count, asked.seconds, asked.share)
        config = ServeConfig(
            inputs=addresses.inputs(f"trace:{trace}"),
            outputs=(addresses.output("emane@lo"), addresses.output(f"eel:{folder}/losses.eel")),
            settings=Settings(above_db=1.0, usable_db=LinkBudget().usable_loss_db),
            most_radios=count,
        )
        wake = Wake()
        try:
            report, error = Server(config, engine, terrain, wake).run(common.say)
        finally:
            wake.close()
    if error is not None:
        raise error
    return {
        "radios": report.radios,
        "links": report.links,
        "updates": report.updates,
        "skipped": report.skipped,
        "last_skipped_s": "none" if report.last_skipped_s is None else f"{report.last_skipped_s:.1f}",
        "found_median_ms": 1000 * (report.found.median_s or 0.0),
        "found_p99_ms": 1000 * (report.found.p99_s or 0.0),
        "found_max_ms": 1000 * (report.found.max_s or 0.0),
        "sent_p99_ms": 1000 * (report.sent.p99_s or 0.0),
        "first_s": report.first_s or 0.0,
        "entries": report.entries,
        "not_sent": report.entries_not_sent,
    }


def made(side_km: float) -> ground.Terrain:
    rows = round(side_km * 1000 / (_DEGREE_M / 3600)) + 1
    return ground.synthetic(1, rows=rows, columns=round(rows / math.cos(math.radians(47))), step_arcsec=1.0)


def main() -> None:
    asked = common.arguments(
        __doc__,
        radios=Option([1000, 2000, 3000], [50], "numbers of radios, one after another"),
        seconds=Option(30.0, 2.0, "of each"),
        share=Option(0.02, help="of radios that move in each interval"),
        side_km=Option(30.0, 5.0, "of the terrain"),
        threads=Option(0, help="of the engine; 0: one a core"),
    )
    terrain = made(asked.side_km)
    rows = [serve(terrain, count, asked) for count in asked.radios]
    whole = dict.fromkeys(("radios", "links", "updates", "skipped"), ",d")
    times = dict.fromkeys(("found_median_ms", "found_p99_ms", "found_max_ms", "sent_p99_ms", "first_s"), ".1f")
    common.show(asked, radios=(rows, {**whole, "last_skipped_s": "", **times, "entries": ",d", "not_sent": ",d"}))


if __name__ == "__main__":
    main()
