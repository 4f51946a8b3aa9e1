"""Energy of a run on a meter that averages for longer than the run: the tail is not lost, only late.

For any linear meter that shows a constant load at its full value, with the node idle around the run:

    E = sum over L0 < t_k <= L1 of r_k dt_k  -  b_before (t0 - L0)  -  b_after (L1 - t1),     L0 <= t0,  L1 >= t1 + W + D

L0 and L1 are stamps of readings; b is the idle power before and after, from readings that saw nothing else. Since the two
pads are subtracted at idle power, the result hardly depends on where exactly the run began. It is the energy of the whole
run, never of a part of it, and no value in the sense of the EE HPC WG (whose rules want readings inside the core phase).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..errors import CannotMeasure
from ..metering.trace import Floats, Trace
from .deduplicate import ordered, refreshed
from .integrate import Gap, Tiles, gaps_of, inside, integrate, step_tiles, watts
from .response import Response, scatter
from .uncertainty.correlated import mean_of

Window = tuple[int, int]  # begin and end, Unix ns


class Idle(NamedTuple):
    """The idle power of a window, its standard uncertainty, the degrees of freedom of that, and how far its readings range
    beyond what scatters from one to the next."""

    watts: float
    u: float
    dof: float | None
    moves_w: float = 0.0


#: A window is idle whose power moves by less than this share of what the run draws more; two are that differ by less.
MOST_MOVED = 0.15


class Padded(NamedTuple):
    """The energy of the run and what its uncertainty needs."""

    joules: float
    idle: tuple[Idle, Idle]  # before and after
    pad_s: tuple[float, float]
    drift_u_j: float  # idle before and after differ
    sampling_u_j: float  # the window is no whole number of refreshes
    stamps_u_j: float  # when each value was made is not known exactly
    gaps: tuple[Gap, ...]
    gap_u_j: float
    seen: float
    readings: int
    ends: Window  # L0, L1


def padded_energy(
    trace: Trace,
    response: Response,
    begin_ns: int,
    end_ns: int,
    idle: tuple[Window | None, Window | None],
    *,
    margin_s: float = 0.0,
    stamp_u_s: float = 0.0,
    sampling_s: float | None = None,
) -> Padded:
    """The energy of the run between two times, with the node idle in the two windows beside it (one may be None: its power
    is then taken from the other). ``margin_s``: how far the run may reach beyond its marks; ``stamp_u_s``: how exactly it is
    known when a value was made, each by itself; ``sampling_s``: what the sum may be off by, in seconds of the load's steps,
    where that is not the response's to say (``sampling_u_s``). Raises CannotMeasure where the windows do not reach far
    enough for this meter, or hold no reading that saw idle alone."""
    kept = refreshed(ordered(trace), response)
    tiles = step_tiles(kept, response._replace(scope="last"), moved=False)
    margin_ns = round(margin_s * 1e9)
    ends = _ends(tiles, response, begin_ns - margin_ns, end_ns + margin_ns)
    _check(response, tiles, ends, (begin_ns, end_ns), idle)
    quiet = (
        (idle[0][0], idle[0][1] - margin_ns) if idle[0] else None,
        (idle[1][0] + margin_ns, idle[1][1]) if idle[1] else None,
    )
    before, after = (_idle(trace, response, window) if window else None for window in quiet)
    known = [one for one in (before, after) if one is not None]
    if not known:
        raise CannotMeasure(
            "no reading saw the idle node alone",
            where=response.key,
            hint=f"hold the nodes idle for more than {response.settle_s + tiles.cadence_s:.0f} s before and after the run",
        )
    first, last = before or known[0], after or known[0]
    whole = integrate(tiles, *ends)
    assert whole is not None  # _ends has found readings in it
    pads = ((begin_ns - ends[0]) * 1e-9, (ends[1] - end_ns) * 1e-9)
    joules = whole.joules - first.watts * pads[0] - last.watts * pads[1]
    above = joules / ((end_ns - begin_ns) * 1e-9) - (first.watts + last.watts) / 2
    _check_idle(response, before, after, above)
    over = max(0.0, above)
    summed = np.append(first.watts, tiles.right_w[(tiles.end_ns > ends[0]) & (tiles.end_ns <= ends[1])])
    steps = steps_w(summed, response, tiles.cadence_s)
    return Padded(
        joules=joules,
        idle=(first, last),
        pad_s=pads,
        drift_u_j=abs(last.watts - first.watts) / math.sqrt(12) * (pads[0] + pads[1]),
        sampling_u_j=max(over, steps / math.sqrt(2))
        * (sampling_u_s(response, tiles.cadence_s) if sampling_s is None else sampling_s),
        stamps_u_j=stamp_u_s * float(np.linalg.norm(np.diff(summed))),
        gaps=gaps_of(tiles, *ends),
        gap_u_j=whole.gap_u_j,
        seen=whole.seen,
        readings=whole.readings,
        ends=ends,
    )


def steps_w(readings_w: Floats, response: Response, cadence_s: float) -> float:
    """The root of the sum of the squares of the load's steps, in W, from readings that each smear a step over their window.

    The difference between two readings a short L apart holds a step in the shape of a trapezoid; its square has the
    integral L - W/3 for L >= W, else (L/W)^2 (W - L/3). The noise's part, 2 s^2 for each pair, is taken away.
    """
    width = response.smear_s
    lag = max(1, round(width / cadence_s / 4)) if cadence_s > 0 else 1
    if len(readings_w) <= lag or cadence_s <= 0:
        return 0.0
    apart_s = lag * cadence_s
    shape_s = apart_s - width / 3 if apart_s >= width else (apart_s / width) ** 2 * (width - apart_s / 3)
    apart = readings_w[lag:] - readings_w[:-lag]
    noise = (response.noise or 0.0) / abs(response.gain)
    squares = float(apart @ apart) - 2 * noise**2 * len(apart)
    return math.sqrt(max(squares, 0.0) * cadence_s / shape_s)


def sampling_u_s(response: Response, cadence_s: float) -> float:
    """What the sum of readings may be off by, in seconds of the power above idle, when they come every D seconds.

    A boxcar W sees each moment floor(W/D) or ceil(W/D) times, weighted D/W. The integral of that weight less one swings by
    phi (1 - phi) D^2 / W, phi the fraction of W/D; with a run that begins and ends anywhere in it: / sqrt(6). An
    exponential's weight is x e^(-x s) / (1 - e^(-x)) with x = D/tau, s from 0 to 1; of both in series the smaller holds.
    A point sees one moment in D: D / sqrt(6).
    """
    found = [cadence_s / math.sqrt(6)]
    if response.boxcar_s > 0:
        ratio = response.boxcar_s / cadence_s
        phi = ratio - math.floor(ratio)
        phi = 0.0 if min(phi, 1 - phi) < 1e-3 else phi
        found.append(phi * (1 - phi) * cadence_s**2 / response.boxcar_s / math.sqrt(6))
    if response.tau_s > 0:
        x = cadence_s / response.tau_s
        s = np.linspace(0.0, 1.0, 201)
        swing = np.expm1(-x * s) / math.expm1(-x) - s
        found.append(cadence_s * float(np.std(swing)) * math.sqrt(2))
    return min(found)


def _ends(tiles: Tiles, response: Response, begin_ns: int, end_ns: int) -> Window:
    """The last stamp before the run and the first at which nothing of it is left. Raises CannotMeasure."""
    settled = end_ns + round(response.settle_s * 1e9)
    first = int(np.searchsorted(tiles.end_ns, begin_ns, side="right")) - 1
    last = int(np.searchsorted(tiles.end_ns, settled, side="left"))
    if first < 0 or last >= len(tiles.begin_ns):
        side = (
            "begins after the run does" if first < 0 else "ends before the last reading that holds something of the run"
        )
        raise CannotMeasure(
            f"the trace {side}: the padded window does not fit into it",
            where=response.key,
            hint=f"go on reading for {response.settle_s + tiles.cadence_s:.0f} s after the run, and begin before it",
        )
    return int(tiles.end_ns[first]), int(tiles.end_ns[last])


def _check(
    response: Response, tiles: Tiles, ends: Window, run: Window, idle: tuple[Window | None, Window | None]
) -> None:
    """That nothing but idle and the run is in the readings that are summed. Raises CannotMeasure."""
    before, after = idle
    first_seen = ends[0] + round((tiles.cadence_s - response.settle_s) * 1e9)
    slack = round(0.05 * tiles.cadence_s * 1e9)
    if before is not None and (before[0] > first_seen + slack or before[1] < run[0] - slack):
        raise CannotMeasure(
            f"the node is not known to be idle for long enough before the run: {(run[0] - before[0]) * 1e-9:.0f} s, where "
            f"the meter needs {(run[0] - first_seen) * 1e-9:.0f} s",
            where=response.key,
            hint="hold the nodes idle for longer before the run",
        )
    last_seen = ends[1] - round(response.delay_s * 1e9)
    if after is not None and (after[1] < last_seen - slack or after[0] > run[1] + slack):
        raise CannotMeasure(
            f"the node is not known to be idle for long enough after the run: {(after[1] - run[1]) * 1e-9:.0f} s, where "
            f"the meter needs {(last_seen - run[1]) * 1e-9:.0f} s",
            where=response.key,
            hint="hold the nodes idle for longer after the run",
        )


def _idle(trace: Trace, response: Response, window: Window) -> Idle | None:
    """None where no reading saw that window alone."""
    readings, _ = inside(trace, response, *window)
    if not len(readings):
        return None
    power = watts(readings, response)
    moves = max(float(np.ptp(power)) - _RANGE * scatter(power) - response.resolution, 0.0)
    step = response.resolution / math.sqrt(12 * len(power))
    if len(power) < 4:
        noise = response.noise if response.noise is not None else scatter(watts(trace.take(trace.ok), response))
        return Idle(float(power.mean()), max(noise / math.sqrt(len(power)), step), None, moves)
    mean = mean_of(power)
    return Idle(mean.value, max(mean.u, step), mean.dof, moves)


#: The range of some hundreds of independent readings, in standard deviations.
_RANGE = 6.0
#: Of the idle power: what moves by less is still.
_STILL = 0.01


def _check_idle(response: Response, before: Idle | None, after: Idle | None, above_w: float) -> None:
    """That the windows said to be idle are: their power holds still, lies below the run's and is the same on both sides.
    ``above_w``: what the run draws more. Raises CannotMeasure."""
    hint = "give windows in which nothing ran: see the power about the run for other work, its start-up and its tail"
    for side, idle in (("before", before), ("after", after)):
        if idle is not None and idle.moves_w > MOST_MOVED * max(above_w, 0.0) + _STILL * abs(idle.watts):
            raise CannotMeasure(
                f"the time {side} the run is not idle: its power moves by {idle.moves_w:.4g} W, the run draws "
                f"{above_w:.4g} W more than it",
                where=response.key,
                hint=hint,
            )
    level = max(abs(one.watts) for one in (before, after) if one is not None)
    if above_w < -_STILL * level:
        raise CannotMeasure(
            f"the time said to be idle draws {-above_w:.4g} W more than the run", where=response.key, hint=hint
        )
    apart = abs(after.watts - before.watts) if before is not None and after is not None else 0.0
    if before is not None and after is not None and apart > MOST_MOVED * above_w + _STILL * level:
        raise CannotMeasure(
            f"the power said to be idle is {before.watts:.4g} W before the run and {after.watts:.4g} W after it, the run "
            f"draws {above_w:.4g} W more: one of them is not idle",
            where=response.key,
            hint=hint,
        )
