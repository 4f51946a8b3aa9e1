"""path_loss beside itmlogic (PyPI) and splat (Debian), the Irregular Terrain Model in Python and C++: links/s of one core.

Alike: model, frequency, antennas, ground, climate, number of points. Not alike: our program reads its profiles from a grid,
which is counted; itmlogic gets made ones (rough hills) at hand. It takes the receiver's ground from the last point but
one, so losses differ by hundredths of a dB: our own are held to NTIA's in itm_test.

splat (``-olditm``) finds many links when it draws a map: a profile from the middle to each point of its edge, and the
model for every beginning of it. Both sides count CPU seconds; of splat's those of a map of 2 km are taken away (reading
the tile, writing the picture), of ours those of making the terrain. splat reads a profile once for hundreds of links,
ours one for each, with as many points as splat's have in the mean. First its losses over flat ground, where all profiles
are the same, are laid beside those of radio_engine: beyond 10 km they must agree within 0.3 dB in the median (its Earth
is a sphere, its points are whole cells).
"""

from __future__ import annotations

import argparse
import cmath
import importlib
import math
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import common
from common import Option, Wrong

from . import Figure, Group, Pass, Rates, Row, program

FREQUENCY_MHZ, ANTENNA_M = 450.0, 2.0


def command(asked: argparse.Namespace, precision: str, radios: int) -> list[str]:
    words = ["--radios", str(radios), "--points", str(asked.points), "--side", str(asked.side), "--threads", "1"]
    words += ["--precision", precision, "--samples", "1", "--no-verify", "--frequency-mhz", str(FREQUENCY_MHZ)]
    return [program(asked, "path_loss"), *words, "--antenna-m", str(ANTENNA_M)]


def ours(asked: argparse.Namespace, precision: str) -> Rates:
    (case,) = common.cases(command(asked, precision, asked.radios))
    return {precision: {"links": case["work"]["links"] / case["seconds"][0]}}


def ours_by_cpu(asked: argparse.Namespace, precision: str) -> Rates:
    """By CPU seconds, without those of the terrain; all links are found twice, once as a warm-up."""
    spent = [common.cost(command(asked, precision, radios)).cpu_s for radios in (asked.radios, 2)]
    return {precision: {"links": asked.radios * (asked.radios - 1) / (spent[0] - spent[1])}}


def hills(points: int, seed: int) -> list[float]:
    """Heights of a rough profile in m."""
    draw = random.Random(seed)
    waves = [(draw.uniform(0.005, 0.2), draw.uniform(0, 60), draw.uniform(0, 6.3)) for _ in range(8)]
    return [300 + sum(high * math.sin(often * i + begin) for often, high, begin in waves) for i in range(points)]


def itmlogic_loss_db(profile: Sequence[float], step_m: float) -> float:
    """The path loss of a profile at the medians, vertical polarization over average ground, climate 5."""
    prepare = importlib.import_module("itmlogic.preparatory_subroutines.qlrpfl").qlrpfl
    variability = importlib.import_module("itmlogic.statistics.avar").avar
    intervals = len(profile) - 1
    inner = profile[intervals // 10 : intervals - intervals // 10 + 1]
    surface_n = 301 * math.exp(-sum(inner) / len(inner) / 9460)
    permittivity = complex(15, 18000 * 0.005 / FREQUENCY_MHZ)
    path = {
        "pfl": [intervals, step_m, *profile],
        "hg": [ANTENNA_M, ANTENNA_M],
        "wn": FREQUENCY_MHZ / 47.7,
        "ens": surface_n,
        "gme": 157e-9 * (1 - 0.04665 * math.exp(surface_n / 179.3)),
        "zgnd": cmath.sqrt(permittivity - 1) / permittivity,
        "klimx": 5,
        "klim": 5,
        "mdvarx": 12,
        "mdvar": 12,
        "lvar": 5,
        "kwx": 0,
        "mdp": -1,
    }
    above_db, _ = variability(0, 0, 0, prepare(path))
    return float(above_db) + 32.45 + 20 * math.log10(FREQUENCY_MHZ) + 20 * math.log10(intervals * step_m / 1e3)


def itmlogic(asked: argparse.Namespace) -> Rates:
    profiles = [hills(asked.points, seed) for seed in range(asked.links)]
    itmlogic_loss_db(profiles[0], 60)  # imports
    begin = time.perf_counter()
    for profile in profiles:
        itmlogic_loss_db(profile, 60)
    return {"itmlogic": {"links": len(profiles) / (time.perf_counter() - begin)}}


#: The tile that splat reads: cells of 3 seconds of arc, the sender in its middle. West counts upwards there.
SOUTH_DEG, WEST_DEG, CELLS, CELL_M = 47, 11, 1200, 92.7
AGREE_FROM_KM, AGREE_DB = 10.0, 0.3
NEAR_KM = 2.0  # of the map whose time is taken away


def splat_folder(folder: Path, height_m: Callable[[int, int], float]) -> Path:
    """What splat needs in a folder: a tile of heights, the sender, the model's setting."""
    west = 360 - WEST_DEG
    heights = (f"{height_m(row, column):.0f}" for row in range(CELLS) for column in range(CELLS))
    edges = f"{west}\n{SOUTH_DEG}\n{west - 1}\n{SOUTH_DEG + 1}\n"
    (folder / f"{SOUTH_DEG}:{SOUTH_DEG + 1}:{west - 1}:{west}.sdf").write_text(edges + "\n".join(heights) + "\n")
    (folder / "tx.qth").write_text(f"tx\n{SOUTH_DEG + 0.5}\n{west - 0.5}\n{ANTENNA_M} meters\n")
    (folder / "tx.lrp").write_text(f"15.0\n0.005\n301.0\n{FREQUENCY_MHZ}\n5\n1\n0.50\n0.50\n")
    return folder


def splat_cpu_s(folder: Path, reach_km: float, *more: str) -> float:
    """CPU seconds of the map of so many km around the sender."""
    words = ["env", "-C", str(folder), "splat", "-t", "tx", "-L", str(ANTENNA_M), "-R", f"{reach_km:g}", "-metric"]
    return common.cost([*words, "-olditm", "-N", "-d", ".", "-o", "map", *more]).cpu_s


@cache
def splat_links(reach_km: float) -> int:
    """How many links a map has beyond those of NEAR_KM. Raises Wrong where its losses over flat ground are not ours."""
    import numpy

    from shakedown.radio.engine import Engine
    from shakedown.radio.scene import RadioSetting
    from shakedown.radio.terrain import Terrain

    with tempfile.TemporaryDirectory() as name:
        folder = splat_folder(Path(name), lambda row, column: 300)
        splat_cpu_s(folder, NEAR_KM, "-ano", "losses")
        near = len((folder / "losses").read_text().splitlines())
        splat_cpu_s(folder, reach_km, "-ano", "losses")
        lines = (folder / "losses").read_text().splitlines()[2:]
    some = [[float(word) for word in line.replace("*", "").split(",")[:5]] for line in lines[:: len(lines) // 500 + 1]]
    flat = Terrain(numpy.full((101, 101), 300, numpy.int16), SOUTH_DEG + 1.0, float(WEST_DEG), 0.01, 0.01)
    with Engine(flat, RadioSetting(frequency_mhz=FREQUENCY_MHZ, spacing_m=CELL_M)) as engine:
        latitude_deg = [SOUTH_DEG + 0.5, *(line[0] for line in some)]
        longitude_deg = [WEST_DEG + 0.5, *(360 - line[1] for line in some)]
        engine.place(latitude_deg, longitude_deg, [ANTENNA_M] * len(latitude_deg))
        losses_db = engine.losses()[: len(some)]
    off_db = [
        abs(float(loss_db) - line[4])
        for loss_db, line in zip(losses_db, some, strict=True)
        if math.hypot(line[0] - SOUTH_DEG - 0.5, (360 - line[1] - WEST_DEG - 0.5) * 0.676) * 111.2 > AGREE_FROM_KM
    ]
    apart_db = statistics.median(off_db) if off_db else math.nan
    words = f"splat and ours over flat ground: {apart_db:.2f} dB apart, {len(off_db)} links beyond {AGREE_FROM_KM:g} km"
    if not apart_db <= AGREE_DB:
        raise Wrong(f"{words}; at most {AGREE_DB} dB are allowed")
    common.say(words)
    return len(lines) + 2 - near


def splat(asked: argparse.Namespace) -> Rates:
    rows, columns = (hills(CELLS, seed) for seed in (1, 2))
    links = splat_links(asked.reach_km)
    with tempfile.TemporaryDirectory() as name:
        folder = splat_folder(Path(name), lambda row, column: (rows[row] + columns[column]) / 2)
        seconds = splat_cpu_s(folder, asked.reach_km) - splat_cpu_s(folder, NEAR_KM)
    return {"splat": {"links": links / seconds}}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    mean = argparse.Namespace(**{**vars(asked), "points": round(asked.reach_km * 1e3 / CELL_M * 2 / 3)})
    passes = [Pass(f"path_loss {one}", partial(ours_by_cpu, mean, one)) for one in ("fp64", "fp32")]
    passes.append(Pass("splat", partial(splat, asked), {"splat": "sudo apt-get install splat"}))
    figures = {"links": Figure("link/s of CPU time")}
    yield Group(f"{mean.points} points in the mean, one core, CPU time", figures, passes, ["fp64", "fp32"])

    passes = [Pass(f"path_loss {one}", partial(ours, asked, one)) for one in ("fp64", "fp32")]
    passes.append(Pass("itmlogic", partial(itmlogic, asked), {"import itmlogic": "pip install itmlogic"}))
    figures = {"links": Figure("link/s")}
    yield Group(f"{asked.points} points, one core", figures, passes, ["fp64", "fp32"], alone=True)


ROW = Row(
    groups,
    rounds=5,
    options={
        "radios": Option(300, 200),
        "points": Option(500, 50),
        "side": Option(2049, 129),
        "links": Option(200, 10, "that itmlogic finds in a pass"),
        "reach_km": Option(36.0, 14.0, "of the map that splat draws"),
    },
)
