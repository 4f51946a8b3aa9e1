"""A sensor history like that of CoolMUC's adsorption chiller (PRACE D9.3.4, chapter 5), drawn from a seed, its truth known.

From 31 October to 14 November 2013 every minute: outside air by day and night, jobs that come and go, a chiller of two
beds that take turns about every 7.5 minutes, flow sensors that lag, thermometers that are off within what their makers
state, noise, a logger that was down. The truth has the document's means: COP 0.52, pPUE 1.23, pERE 1.03 and so 20 % of
the IT energy re-used, driving water of 58.8 degC, outside air of 9.4 degC. Besides, the experiment of Figure 35: the
power at the highest load over the inlet temperature, 0.133 kW/K. The document prints no series; what lies between its
means is invented.
"""

from __future__ import annotations

import csv
import io
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...files import atomic
from ...metering.trace import Floats
from . import water

BEGIN_S = 1_383_174_000  # 2013-10-31T00:00+01:00
DAYS = 15
SEED = 11
STEP_S = 10  # of the truth
POLL_S = 60  # of the loggers: Table 12
COP, PPUE, REUSE = 0.52, 1.23, 0.20
DRIVE_DEGC, OUTSIDE_DEGC = 58.8, 9.4
IT_W, PUMPS_W, RACK_W = 43_000.0, 350.0, 6_000.0
HALF_CYCLE_S = 450
VOLUME_M3 = 0.006
SLOPE_W_K, REFERENCE_W, REFERENCE_DEGC = 133.0, 133.0 / 0.00322, 27.0  # Figure 35: 0.133 kW/K, 0.322 %/K at 27 degC


class History(NamedTuple):
    """Files by name, each a table of texts; and what is true."""

    tables: dict[str, dict[str, list[str]]]
    truth: dict[str, float]


class _World(NamedTuple):
    """The truth, every ``STEP_S``: W, degC, m3/s."""

    t: Floats
    outside: Floats
    it: Floats
    cooling: Floats
    pumps: Floats
    rack: Floats
    hot: Floats
    cold: Floats
    hot_in: Floats
    hot_out: Floats
    hot_flow: Floats
    cold_in: Floats
    cold_out: Floats
    cold_flow: Floats


def history(seed: int = SEED, days: int = DAYS) -> History:
    """The sensor files of a seed. Seeds differ in weather and load, and in how far each sensor is off."""
    random = np.random.default_rng(seed)
    world = _world(random, days)
    it, reused = np.sum(world.it), np.sum(world.hot + world.pumps)
    truth = {
        "cop": float(np.sum(world.cold) / reused),
        "ppue": float(np.sum(world.it + world.cooling + world.pumps) / it),
        "pere": float(np.sum(world.it + world.cooling + world.pumps) - reused) / float(it),
        "reuse": float(reused / it),
        "hot_in": float(np.mean(world.hot_in)),
        "outside": float(np.mean(world.outside)),
        "removed_w": float(np.mean(world.cold)),
        "rack_w": float(np.mean(world.rack)),
        "slope_w_k": SLOPE_W_K,
        "relative_slope": SLOPE_W_K / REFERENCE_W,
    }
    return History(
        {"loops.csv": _loops(random, world), "power.csv": _power(random, world), "inlet.csv": _inlet(random)}, truth
    )


# ------------------------------------------------------------------------------------------------------------ the truth


def _slow(random: np.random.Generator, count: int, hours: float) -> Floats:
    """A random course that forgets itself within so many hours, of deviation 1."""
    from scipy.signal import lfilter

    keep = float(np.exp(-STEP_S / (hours * 3600)))
    made: Floats = lfilter([np.sqrt(1 - keep**2)], [1.0, -keep], random.standard_normal(count))
    return made


def _steps(random: np.random.Generator, count: int, hours: float) -> Floats:
    """Jobs: levels between -1 and 1 that hold for some hours."""
    held = random.exponential(hours * 3600 / STEP_S, int(3 * count * STEP_S / (hours * 3600)) + 20).astype(int) + 1
    levels = np.clip(random.normal(0, 0.5, len(held)), -1, 1)
    long = np.repeat(levels, held)
    while len(long) < count:
        long = np.concatenate([long, long])
    out: Floats = long[:count]
    return out


def _world(random: np.random.Generator, days: int) -> _World:
    count = days * 86400 // STEP_S
    t = BEGIN_S + STEP_S * np.arange(count, dtype=np.float64)
    hour = (t - BEGIN_S) / 3600 % 24
    outside = 3.5 * np.cos(2 * np.pi * (hour - 15) / 24) + 2.5 * _slow(random, count, 40)
    outside += OUTSIDE_DEGC - np.mean(outside)
    load = _steps(random, count, 5)
    it = IT_W * (1 + 0.06 * load + 0.004 * _slow(random, count, 0.1))
    hot_in = 0.8 * load + 0.7 * _slow(random, count, 12) + 0.2 * _slow(random, count, 0.05)
    hot_in += DRIVE_DEGC - np.mean(hot_in)
    pumps = PUMPS_W * (1 + 0.02 * _slow(random, count, 1))
    phase = _phase(random, t - BEGIN_S)
    swing = 1 + 0.55 * (np.exp(-4 * phase) - (1 - np.exp(-4)) / 4)  # a bed takes most heat when its turn begins
    hot = (1 + 0.015 * (hot_in - DRIVE_DEGC)) * (1 + 0.05 * load) * swing
    hot *= (REUSE * np.sum(it) - np.sum(pumps)) / np.sum(hot)
    # The data sheet: more with hotter drive; flat where the re-cooler is cold, less where it is warm.
    recool = np.logaddexp(0.0, (outside - 9.0) / 2.0) * 2.0
    cop = COP + 0.010 * (hot_in - DRIVE_DEGC) - 0.008 * recool
    turn = 1 + 0.35 * np.sin(2 * np.pi * phase - 0.8)
    cold = cop * (np.mean(hot) + pumps) * turn * (hot / swing) / np.mean(hot / swing)
    cold *= COP * np.sum(hot + pumps) / np.sum(cold)
    cooling = (1 + 0.012 * (hot_in - DRIVE_DEGC)) * (1 + 0.03 * load)
    cooling *= ((PPUE - 1) * np.sum(it) - np.sum(pumps)) / np.sum(cooling)
    rack = RACK_W * (1 + 0.08 * _steps(random, count, 8))
    rack *= RACK_W / np.mean(rack)
    dip = np.where(phase < 0.05, 0.85, 1.0)  # valves turn
    hot_flow = 14.5e-3 / 60 * dip * (1 + 0.01 * _slow(random, count, 6))
    cold_flow = 13.0e-3 / 60 * dip * (1 + 0.01 * _slow(random, count, 6))
    cold_in = 19.0 + 0.1 * (outside - OUTSIDE_DEGC) + 0.4 * _slow(random, count, 2)
    entered = np.interp(t - VOLUME_M3 / hot_flow, t, hot_in)
    return _World(
        t, outside, it, cooling, pumps, rack, hot, cold,
        hot_in, _after(entered, hot, hot_flow), hot_flow,
        cold_in, _after(cold_in, cold, cold_flow, at=cold_in), cold_flow,
    )  # fmt: skip


def _phase(random: np.random.Generator, t: Floats) -> Floats:
    """How far the beds' turn is gone, 0 to 1. Turns differ by some seconds, so no logger keeps step with them."""
    turns = np.cumsum(HALF_CYCLE_S + 12 * random.standard_normal(int(1.2 * t[-1] / HALF_CYCLE_S) + 10))
    begins = np.concatenate([[0.0], turns])
    at = np.searchsorted(begins, t, side="right") - 1
    out: Floats = (t - begins[at]) / (begins[at + 1] - begins[at])
    return out


def _after(before: Floats, heat: Floats, flow: Floats, *, at: Floats | None = None) -> Floats:
    """The temperature behind what takes ``heat`` from the water; the flow meter sits at ``at``, else behind."""
    after = before - heat / (flow * 4.18e6)
    for _ in range(4):
        mass = flow * water.density(water.WATER, after if at is None else at)
        missing = heat / mass - (water.enthalpy(water.WATER, before) - water.enthalpy(water.WATER, after))
        after = after - missing / water.heat_capacity(water.WATER, after)
    return after


# -------------------------------------------------------------------------------------------------------------- sensors


def _seen(
    random: np.random.Generator,
    true: Floats,
    *,
    lag_s: float = 0.0,
    bound: float = 0.0,
    noise: float = 0.0,
    gain: float = 0.0,
    step: float = 0.0,
) -> Floats:
    """What a sensor says every ``POLL_S``: sluggish, off by a constant and a share within their bounds, noisy, rounded."""
    from scipy.signal import lfilter

    if lag_s:
        keep = float(np.exp(-STEP_S / lag_s))
        true = lfilter([1 - keep], [1.0, -keep], true - true[0]) + true[0]
    said = true[:: POLL_S // STEP_S]
    said = said * (1 + random.uniform(-gain, gain)) + random.uniform(-bound, bound)
    said = said + noise * random.standard_normal(len(said))
    return np.round(said / step) * step if step else said


def _texts(values: Floats, digits: int) -> list[str]:
    return [f"{value:.{digits}f}" for value in values]


def _loops(random: np.random.Generator, world: _World) -> dict[str, list[str]]:
    """The loops' logger: local time with its offset; it was down for three hours, and one flow was out of range."""
    from datetime import datetime, timedelta, timezone

    zone = timezone(timedelta(hours=1))
    stamps = [datetime.fromtimestamp(int(one), zone).isoformat() for one in world.t[:: POLL_S // STEP_S]]
    litres = 60e3  # of m3/s in l/min
    columns = {
        "hot_flow": _texts(_seen(random, world.hot_flow * litres, lag_s=20, gain=0.015, noise=0.05), 2),
        "hot_in": _texts(_seen(random, world.hot_in, bound=0.1, noise=0.03), 2),
        "hot_out": _texts(_seen(random, world.hot_out, bound=0.1, noise=0.03), 2),
        "cold_flow": _texts(_seen(random, world.cold_flow * litres, lag_s=20, gain=0.015, noise=0.05), 2),
        "cold_in": _texts(_seen(random, world.cold_in, bound=0.1, noise=0.03), 2),
        "cold_out": _texts(_seen(random, world.cold_out, bound=0.1, noise=0.03), 2),
        "outside": _texts(_seen(random, world.outside, bound=0.3, noise=0.1), 1),
    }
    if len(stamps) > 8000:
        columns["hot_flow"][7777] = "-OL-"
        columns["cold_in"][5000:5030] = [""] * 30
    keep = np.ones(len(stamps), bool)
    keep[5 * 1440 + 180 : 5 * 1440 + 360] = False
    kept = np.flatnonzero(keep)
    return {"time": [stamps[at] for at in kept]} | {name: [cells[at] for at in kept] for name, cells in columns.items()}


def _power(random: np.random.Generator, world: _World) -> dict[str, list[str]]:
    """The power strips' logger: Unix seconds, whole watts."""
    meters = {
        "it": (world.it, 0.01, 60.0),
        "cooling": (world.cooling, 0.01, 20.0),
        "chiller_pumps": (world.pumps, 0.01, 2.0),
        "rack5": (world.rack, 0.01, 15.0),
    }
    columns = {"time": [str(int(one)) for one in world.t[:: POLL_S // STEP_S]]}
    for name, (true, gain, noise) in meters.items():
        columns[name] = _texts(_seen(random, true, gain=gain, noise=noise, step=1.0), 0)
    return columns


def _inlet(random: np.random.Generator) -> dict[str, list[str]]:
    """Figure 35: the highest load at inlet temperatures from 27 to 50 degC, each held for an hour and a half."""
    held = np.repeat(np.arange(27.0, 50.1, 2.3), 90 * 60 // STEP_S)
    inlet = held + 0.05 * random.standard_normal(len(held))
    power = REFERENCE_W + SLOPE_W_K * (held - REFERENCE_DEGC) + 40 * _slow(random, len(held), 0.2)
    begin = BEGIN_S - 140 * 86400
    return {
        "time": [str(begin + POLL_S * at) for at in range(-(-len(held) * STEP_S // POLL_S))],
        "inlet": _texts(_seen(random, inlet, bound=0.1, noise=0.03), 2),
        "max_load": _texts(_seen(random, power, gain=0.01, noise=50, step=1.0), 0),
    }


# ---------------------------------------------------------------------------------------------------------------- files

PLANT = resources.files(__package__).joinpath("coolmuc.toml").read_text(encoding="utf-8")


def write(folder: Path, seed: int = SEED, days: int = DAYS) -> History:
    """The history and its plant file. Raises StoreFailed."""
    made = history(seed, days)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise atomic.failed(error, folder, "make the folder") from None
    for name, columns in made.tables.items():
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        atomic.write(folder / name, text.getvalue())
    atomic.write(folder / "plant.toml", PLANT)
    return made
