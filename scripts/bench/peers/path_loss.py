"""path_loss beside itmlogic, the Irregular Terrain Model in Python from PyPI: links a second on one core.

Alike: model, frequency, antennas, ground, climate, number of points. Not alike: our program reads its profiles from a grid,
which is counted; itmlogic gets made ones (rough hills) at hand. It takes the receiver's ground from the last point but
one, so losses differ by hundredths of a dB: our own are held to NTIA's in itm_test. Debian's splat has the model in C++, but
no command of it that finds many links: it cannot stand here.
"""

from __future__ import annotations

import argparse
import cmath
import importlib
import math
import random
import time
from collections.abc import Iterator, Sequence
from functools import partial

import common
from common import Option

from . import Figure, Group, Pass, Rates, Row, program

FREQUENCY_MHZ, ANTENNA_M = 450.0, 2.0


def ours(asked: argparse.Namespace, precision: str) -> Rates:
    words = ["--radios", str(asked.radios), "--points", str(asked.points), "--side", str(asked.side), "--threads", "1"]
    words += ["--precision", precision, "--samples", "1", "--no-verify", "--frequency-mhz", str(FREQUENCY_MHZ)]
    (case,) = common.cases([program(asked, "path_loss"), *words, "--antenna-m", str(ANTENNA_M)])
    return {precision: {"links": case["work"]["links"] / case["seconds"][0]}}


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


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    passes = [Pass(f"path_loss {one}", partial(ours, asked, one)) for one in ("fp64", "fp32")]
    passes.append(Pass("itmlogic", partial(itmlogic, asked), {"import itmlogic": "pip install itmlogic"}))
    figures = {"links": Figure("link/s")}
    yield Group(f"{asked.points} points, one core", figures, passes, ["fp64", "fp32"], alone=True)


ROW = Row(
    groups,
    rounds=5,
    options={
        "radios": Option(300, 20),
        "points": Option(500, 50),
        "side": Option(2049, 129),
        "links": Option(200, 10, "that itmlogic finds in a pass"),
    },
)
