"""Energy from a meter of which nothing says how late it is: what its own readings and idle time tell about that.

A channel's window and delay are stated, characterised, or not known. Stamps of a device's own say when a value was ready,
not over how long it averages. What is not known is bounded from the readings: no kernel lets a reading move by more than
the share D/S of the load's range within D, whether it is a boxcar of length S or an exponential with time constant S, so

    S <= min over the readings of  D (r_max - r_min) / |r_k - r_k-1|                                        (``spread_s``)

A load that only ramps moves slowly too: then the bound is wide, and so is the uncertainty. Idle time on both sides does
better: the padded window needs no more of the lag than that the idle time holds all of it, which the readings after the
run show (``padded_widely``)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..errors import CannotMeasure
from ..metering.trace import Floats, Trace
from . import integrate
from .deduplicate import ordered, refreshed
from .padded import Padded, Window, padded_energy
from .refresh import LATE_REFRESHES, LATE_S
from .response import Response, cadence_s, caught, scatter
from .uncertainty.quantity import Term

#: The idle time that a padded window takes grows by this factor until the readings have settled,
_WIDER = 1.5
#: which they have where they still move by less than this share of what the run draws above idle.
_SETTLED = 0.005
#: What moves by more than this many standard deviations of the mean is no scatter.
_SURE = 3.0
#: A phase that readings take this share of to rise may be shorter than what they average over: they look alike.
_TOO_WIDE = 0.8
#: Kernels of each kind that are tried.
_TRIED = 6


def spread_s(trace: Trace, response: Response) -> float:
    """Over how long the meter spreads a step at most, by the fastest move that its readings show, in s: at least the time
    between two of them. 0 for readings that do not move beyond their scatter: then it does not matter."""
    kept = refreshed(ordered(trace), response)
    kept = kept.take(kept.ok)
    if len(kept) < 3:
        return 0.0
    power = integrate.watts(kept, response)
    between = np.diff(kept.t_ns) * 1e-9
    moved = np.abs(np.diff(power))
    whole = float(np.ptp(power))
    if whole <= 4 * _SURE * max(_noise(power), trace.channel.resolution or 0.0):
        return 0.0
    with np.errstate(divide="ignore"):
        return float(np.min(np.where(moved > 0, between * whole / moved, math.inf)))


class Lateness(NamedTuple):
    """What a lag that is not known does to an energy: the middle of what is possible and its standard uncertainty, in J."""

    middle_j: float
    u_j: float
    text: str


def lateness(
    trace: Trace, tiles: integrate.Tiles, response: Response, window: Window, energy_at: Callable[[int, int], float]
) -> Lateness:
    """The energies that the kernels which the readings allow would make of a window: boxcars and exponentials up to
    ``spread_s`` beyond what the scope says, the load stepping at the marks or well inside them; for a host's stamps mere
    delays up to ``late_s`` too. No lag at all or all of it are the likeliest: half the range over sqrt(2), as in edges.py.
    Raises CannotMeasure where the meter may spread the whole phase."""
    seconds = (window[1] - window[0]) * 1e-9
    spread = _possible_s(trace, response, seconds)
    found = [energy_at(*window)]
    age_s = 0.0 if response.dated else response.delay_s
    for (at_s, smear_s), by_s in itertools.product(_kernels(trace, response, spread), {-age_s, 0.0, age_s}):
        moved = window[0] + round((at_s + by_s) * 1e9), window[1] + round((at_s + by_s) * 1e9)
        if moved[0] >= tiles.end_ns[-1]:
            continue
        joules = energy_at(*moved)
        found += [joules, joules + averaged_away(tiles, smear_s, moved, joules)]
    low, high = min(found), max(found)
    text = f"nothing says how late its readings are: what they show allows a spread of {spread:.3g} s"
    if not response.dated:
        text += f", or a delay of {late_s(trace, response):.3g} s"
    return Lateness((low + high) / 2, (high - low) / math.sqrt(8), text)


def late_s(trace: Trace, response: Response) -> float:
    """How late the readings of a host may be by mere delay, in s, where nothing is known of it."""
    return max(LATE_S, LATE_REFRESHES * cadence_s(trace, response))


def _kernels(trace: Trace, response: Response, spread: float) -> Iterator[tuple[float, float]]:
    """By how much later than reckoned with a kernel's centre lies, and the boxcar that spreads as much as it does, in s."""
    cadence = cadence_s(trace, response)
    own, late = response.boxcar_s, late_s(trace, response)
    for share in np.linspace(0.0, 1.0, _TRIED):
        if spread > own:
            boxcar = own + share * (spread - own)
            yield (boxcar - own) / 2, boxcar
            tau = share * max(spread - max(own, cadence / 2), 0.0)
            yield tau, math.sqrt(own**2 + 12 * tau**2)
        if not response.dated:
            yield share * late - response.delay_s, own


def _possible_s(trace: Trace, response: Response, seconds: float) -> float:
    """Over how long the meter may spread a phase. A phase as short as that does not show the whole range of the load, so
    that the bound grows; averages whose steps take no more than two intervals are taken at their scope's word."""
    spread, cadence = spread_s(trace, response), cadence_s(trace, response)
    if response.boxcar_s > 0 and spread <= 2 * cadence:
        return response.boxcar_s
    if spread >= _TOO_WIDE * seconds and seconds > cadence:
        raise CannotMeasure(
            f"nothing says over how long its readings average, and they may spread {spread:.3g} s: as long as the phase",
            where=response.key,
            hint="hold the nodes idle before and after the run and give that idle time, or characterise the meter",
        )
    return spread / (1 - spread / (2 * seconds)) if spread < _TOO_WIDE * seconds else spread


def averaged_away(tiles: integrate.Tiles, smear_s: float, window: Window, joules: float) -> float:
    """The energy in J that a meter which averages for longer than its readings are laid over shows before and after the
    window, if the load steps at the marks: w/8 x the step at each end for a boxcar w; for a window shorter than 2 w, from
    the share that is caught of its power above the surroundings. ``joules``: what it shows inside."""
    beyond = math.sqrt(max(smear_s**2 - tiles.cadence_s**2, 0.0))
    if smear_s <= 0 or beyond < 0.1 * tiles.cadence_s:
        return 0.0
    seconds = (window[1] - window[0]) * 1e-9
    reach = round((smear_s + tiles.cadence_s) * 0.5e9)
    begin = _power_at(tiles, window[0] - reach), _power_at(tiles, window[0] + reach)
    end = _power_at(tiles, window[1] - reach), _power_at(tiles, window[1] + reach)
    if seconds >= 2 * smear_s:
        return beyond / 8 * (begin[1] - begin[0] + end[0] - end[1])
    share = caught(beyond, seconds)
    return (joules - (begin[0] + end[1]) / 2 * seconds) * (1 - share) / share


def _power_at(tiles: integrate.Tiles, at_ns: int) -> float:
    """The power of the stretch at a time; the least of the trace where there is none."""
    index = int(np.clip(np.searchsorted(tiles.end_ns, at_ns), 0, len(tiles.begin_ns) - 1))
    known = tiles.begin_ns[index] <= at_ns <= tiles.end_ns[index]
    return float(tiles.left_w[index] + tiles.right_w[index]) / 2 if known else float(tiles.left_w.min())


def term(found: Lateness, key: str) -> Term:
    """The lag in the budget."""
    return Term(
        name="lag",
        u=found.u_j,
        common=f"lag of {key}",
        text=found.text,
        remedy="characterise the meter: shakedown meter characterise; or rest longer around the run",
    )


# ------------------------------------------------------------------------------------------------- with idle on both sides


class Wide(NamedTuple):
    """A padded window that was made wide enough for the meter."""

    found: Padded
    response: Response  # with the window that was assumed
    tail: Term  # what may still have come after it


def padded_widely(
    trace: Trace, response: Response, run: Window, idle: tuple[Window, Window], *, margin_s: float, stamp_u_s: float
) -> Wide:
    """The padded window with as much of the idle time as the meter needs to settle, by what it shows after the run. Raises
    CannotMeasure where the windows are not idle, or not for long enough."""
    seconds, cadence = (run[1] - run[0]) * 1e-9, cadence_s(trace, response)
    if seconds <= cadence:
        raise CannotMeasure(
            f"a run of {seconds:.3g} s may lie between two readings, which come every {cadence:.3g} s",
            where=response.key,
            hint="run for longer, or read a faster meter",
        )
    best: Wide | None = None
    refused: CannotMeasure | None = None
    for width_s in _widths(trace, response, run, idle):
        wide = response._replace(window_s=width_s)
        try:
            found = padded_energy(
                trace, wide, *run, idle, margin_s=margin_s, stamp_u_s=stamp_u_s, sampling_s=_sampling_s(trace, response)
            )
        except CannotMeasure as error:
            refused = error
            continue
        if found.idle[0] is found.idle[1]:
            refused = refused or _too_short_idle(response, width_s)
            continue
        left_w, settled = _left(trace, found, idle[1], seconds)
        best = Wide(found, wide, _tail_term(left_w, found, width_s, seconds))
        if settled:
            break
    if best is None:
        raise refused or CannotMeasure("there is no idle time on both sides", where=response.key)
    return best


def _too_short_idle(response: Response, width_s: float) -> CannotMeasure:
    return CannotMeasure(
        "no reading of the idle time on one side shows that the meter had settled",
        where=response.key,
        hint=f"hold the nodes idle for more than {width_s + 2 * response.refresh_s:.3g} s before and after the run",
    )


def _widths(trace: Trace, response: Response, run: Window, idle: tuple[Window, Window]) -> Iterator[float]:
    """Windows to try, in s: from the shortest that a meter of which nothing is known may have to the whole idle time."""
    most_s = min(run[0] - idle[0][0], idle[1][1] - run[1]) * 1e-9
    width_s = max(LATE_S, LATE_REFRESHES * cadence_s(trace, response))
    yield width_s
    while (width_s := width_s * _WIDER) < most_s:
        yield width_s


def _sampling_s(trace: Trace, response: Response) -> float | None:
    """What the sum of readings a kernel of which nothing is known may be off by, in s of the load's steps: D / sqrt(6) for
    points D apart, D^2 / (4 sqrt(6) S) for what is spread over S of two intervals or more (padded.sampling_u_s). None for
    averages, which see all of the time."""
    if response.boxcar_s > 0 and response.dated:
        return 0.0
    if response.boxcar_s > 0:
        return None
    cadence, spread = cadence_s(trace, response), spread_s(trace, response)
    return cadence / math.sqrt(6) * (cadence / (4 * (spread - cadence)) if spread >= 2 * cadence else 1.0)


def _left(trace: Trace, found: Padded, after: Window, run_s: float) -> tuple[float, bool]:
    """By how much the readings still move after the padded window, in W (or differ from the idle power before it, where
    they are too few to tell), and whether that is no more than scatter or a sliver of what the run draws."""
    rest = trace.take(trace.ok & (trace.t_ns > found.ends[1]) & (trace.t_ns <= after[1]))
    above = max(found.joules / run_s - (found.idle[0].watts + found.idle[1].watts) / 2, 0.0)
    apart = abs(found.idle[1].watts - found.idle[0].watts)
    if len(rest) < 4:
        return apart, apart <= _SETTLED * above
    power = rest.value
    quarter = max(1, len(power) // 4)
    moved = abs(float(power[:quarter].mean() - power[-quarter:].mean()))
    settled = moved <= _SETTLED * above + _SURE * _noise(power) * math.sqrt(2 / quarter)
    return moved if settled else max(moved, apart), settled


def _tail_term(left_w: float, found: Padded, width_s: float, run_s: float) -> Term:
    """Of an exponential that has decayed to A of the step P within W, the energy A W / ln(P / A) is still to come, and the
    idle power after the run is taken as too high by as much as A."""
    above = max(found.joules / run_s - (found.idle[0].watts + found.idle[1].watts) / 2, left_w)
    decayed = max(math.log(above / left_w), 1.0) if left_w > 0 else 1.0
    return Term(
        name="tail",
        u=left_w * (width_s / decayed + found.pad_s[1]) / math.sqrt(3),
        text=f"{width_s:.3g} s after the run the readings still move by {left_w:.2g} W",
        remedy="hold the nodes idle for longer after the run, or characterise the meter",
    )


def _noise(power: Floats) -> float:
    """Standard deviation of a reading, from second differences: what decays is no noise."""
    if len(power) < 4:
        return scatter(power)
    return float(np.median(np.abs(np.diff(power, 2)))) / (0.6745 * math.sqrt(6))
