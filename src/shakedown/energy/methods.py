"""The methods behind phase.py: each gives the energy of a window with the terms that are its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from ..errors import BadInput, CannotMeasure
from ..metering.meters import Channel
from ..metering.trace import Floats, Trace
from ..records import Notice
from ..units import show_seconds
from . import integrate, lag
from .integrate import Integral, Tiles
from .padded import Padded, Window, padded_energy
from .response import Response, cadence_s
from .uncertainty import budget
from .uncertainty.quantity import Term

#: Windows before and after the phase in which the nodes were idle (Unix ns); either may be None.
Idle = tuple[Window | None, Window | None]

#: A window of which more than this is missing is refused, as is one whose averaging may hide this share of its energy.
MOST_MISSING = 0.5
#: Readings inside scatter by less than this: their mean stands for the edges too.
FLAT = 0.02


class EnergyRequest(NamedTuple):
    """What the caller wants to know: phase.energy_of has the meaning of each."""

    begin_ns: int
    end_ns: int
    want: Literal["energy", "power"]
    window_u_s: float
    clock_u_s: float
    name: str
    reference: Channel | None
    second: Trace | None
    clock: str = ""  # whose clock it is; empty: the channel's own

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.begin_ns) * 1e-9

    @property
    def unit(self) -> str:
        return "J" if self.want == "energy" else "W"


class Made(NamedTuple):
    """What a method found: the energy, its own terms in J, the energy of a window moved a little."""

    method: str
    joules: float
    terms: list[Term]
    seen: float
    energy_at: Callable[[int, int], float]
    notices: list[Notice]


class Refused(Exception):
    """There is no value, and the notice says why; phase.py makes an unknown Quantity of it."""

    def __init__(self, notice: Notice) -> None:
        super().__init__(notice.text)
        self.notice = notice


# --------------------------------------------------------------------------------------------------------- the methods


def made_by(trace: Trace, response: Response, asked: EnergyRequest, method: str, idle: Idle | None) -> tuple[Made, str]:
    """What the asked method found, or the one that fits best, and why it was taken."""
    if trace.channel.quantity == "energy":
        return _by_counter(trace, response, asked), "the channel counts energy" if method == "auto" else ""
    if method != "auto":
        return _by(trace, response, asked, method, idle), ""
    slow = response.smear_s > 1.2 * cadence_s(trace, response)
    more: list[Notice] = []
    if not response.timing_known and idle is not None and idle[0] and idle[1]:
        # The padded window does not ask how late the readings are, as long as the idle time holds all of it.
        try:
            wide = _padded_widely(trace, response, asked, (idle[0], idle[1]))
            return wide, "nothing says how late its readings are, and the machine was idle before and after"
        except CannotMeasure as error:  # not idle, or not for long enough: the lag has its own term below
            more = [_not_padded(error)]
    if slow and idle is not None and any(idle):
        try:
            return _by_padding(trace, response, asked, idle), f"readings average over {response.smear_s:.3g} s"
        except CannotMeasure as error:
            more = [_not_padded(error)]
    if slow and _flat(trace, response, asked):
        made = _by_inside(trace, response, asked)
        why = f"readings average over {response.smear_s:.3g} s and the load is steady"
    else:
        at_points = response.boxcar_s <= 0 and response.tau_s <= 0
        made = _by_tiles(trace, response, asked, "trapezoid" if at_points else "step")
        why = f"readings stand for {'a point' if at_points else 'an interval'} (scope {response.scope!r})"
    return made._replace(notices=[*made.notices, *more]), why


def _not_padded(error: CannotMeasure) -> Notice:
    return Notice(code="not-padded", text=f"no padded window: {error.what}", advice=error.hint)


def _by(trace: Trace, response: Response, asked: EnergyRequest, method: str, idle: Idle | None) -> Made:
    if method == "padded":
        if idle is None or not any(idle):
            raise BadInput(
                "the padded-window method needs idle time around the phase", hint="say when the nodes were idle"
            )
        if not response.timing_known and idle[0] and idle[1]:
            return _padded_widely(trace, response, asked, (idle[0], idle[1]))
        return _by_padding(trace, response, asked, idle)
    if method == "inside-mean":
        return _by_inside(trace, response, asked)
    return _by_tiles(trace, response, asked, method)


def _by_tiles(trace: Trace, response: Response, asked: EnergyRequest, method: str) -> Made:
    tiles = integrate.tiles_of(trace, response, method)
    whole = _whole(tiles, response, asked)
    if tiles.points and whole.readings <= 2:
        raise Refused(_unseen(tiles, response, asked))
    terms = [budget.ends_term(whole.ends_u_j, tiles.cadence_s), *_gap_terms(whole)]
    powers, t_s = _inside(tiles, asked.begin_ns, asked.end_ns)
    terms += budget.reading_terms(response, powers, t_s, tiles.cadence_s, asked.seconds, tiles.right_w)
    notices = _gap_notices(whole)
    window = asked.begin_ns, asked.end_ns
    late_j = lag.averaged_away(tiles, response.smear_s, window, whole.joules)
    if late_j:
        averaging = budget.averaging_term(response, late_j)
        terms.append(averaging)
        if abs(late_j) > MOST_MISSING * abs(whole.joules):
            text = (
                f"readings average over {response.smear_s:.3g} s and the phase lasts {asked.seconds:.4g} s: up to "
                f"{abs(late_j):.4g} J of it lie before and after, beside {whole.joules:.4g} J inside"
            )
            raise Refused(Notice(code="too-short", text=text, advice=averaging.remedy))
        if abs(late_j) > 0.01 * abs(whole.joules):
            notices.append(Notice(code="averaging", text=averaging.text, advice=averaging.remedy))

    lag_j = 0.0
    if not response.timing_known:
        found = lag.lateness(trace, tiles, response, window, lambda a, b: integrate.window_energy(tiles, a, b))
        lag_j = found.middle_j - whole.joules
        if math.sqrt(2) * found.u_j > MOST_MISSING * abs(found.middle_j):
            raise Refused(_too_late(found, asked))
        terms += [lag.term(found, response.key)] if found.u_j else []

    def energy_at(begin_ns: int, end_ns: int) -> float:
        return integrate.window_energy(tiles, begin_ns, end_ns) + late_j / 2 + lag_j

    return Made(method, whole.joules + late_j / 2 + lag_j, terms, whole.seen, energy_at, notices)


def _by_counter(trace: Trace, response: Response, asked: EnergyRequest) -> Made:
    found = integrate.counted(trace, response, second=asked.second)
    tiles = found.tiles
    whole = _whole(tiles, response, asked)
    terms = [budget.ends_term(whole.ends_u_j, tiles.cadence_s), *_gap_terms(whole)]
    terms += budget.counter_terms(response, whole.watts, response.age_u_s, tiles.cadence_s)
    notices = _gap_notices(whole)
    wide_j, _ = integrate.energy_of_tiles(
        tiles._replace(left_w=found.spread_w, right_w=found.spread_w), asked.begin_ns, asked.end_ns
    )
    if wide_j > 0:
        terms.append(
            Term(
                name="wraps",
                u=wide_j / math.sqrt(3),
                text=f"how often the counter wrapped is not known: {whole.joules - wide_j:.6g} to "
                f"{whole.joules + wide_j:.6g} J",
                remedy="read it more often, state the most power that can flow, or read a second meter beside it",
            )
        )
    within = (found.unrolled.t_ns > asked.begin_ns) & (found.unrolled.t_ns <= asked.end_ns)
    codes = {"wrap-ambiguous": wide_j > 0, "counter-reset": bool(np.any(found.unrolled.step[within] & 8))}
    notices += [one for one in found.unrolled.notices() if codes.get(one.code, True)]
    return Made("counter", whole.joules, terms, whole.seen, lambda a, b: integrate.window_energy(tiles, a, b), notices)


def _by_inside(trace: Trace, response: Response, asked: EnergyRequest) -> Made:
    found = integrate.inside_mean(trace, response, asked.begin_ns, asked.end_ns)
    if found is None:
        raise CannotMeasure(
            f"no reading lies wholly inside the {asked.seconds:.4g} s",
            where=response.key,
            hint=f"each stands for {max(response.settle_s, response.refresh_s):.3g} s: run for longer, or read a faster "
            "meter",
        )
    mean, seen, _ = found
    readings, _ = integrate.inside(trace, response, asked.begin_ns, asked.end_ns)
    powers = integrate.watts(readings, response)
    cadence = cadence_s(trace, response)
    terms = budget.reading_terms(response, powers, readings.seconds(asked.begin_ns), cadence, asked.seconds * seen)
    unseen_s = asked.seconds * (1 - seen)
    swing = float(np.ptp(powers))
    terms.append(
        Term(
            name="edges",
            u=unseen_s * swing / math.sqrt(12),
            text=f"{unseen_s:.3g} s of {asked.seconds:.4g} s lie in no reading wholly inside; readings range "
            f"over {swing:.3g} W",
            remedy="run for longer, or read a faster meter",
        )
    )
    return Made("inside-mean", mean * asked.seconds, terms, seen, lambda a, b: mean * (b - a) * 1e-9, [])


def _by_padding(trace: Trace, response: Response, asked: EnergyRequest, idle: Idle) -> Made:
    margin_s, stamp_u_s = _loose_s(trace, response, asked)
    found = padded_energy(trace, response, asked.begin_ns, asked.end_ns, idle, margin_s=margin_s, stamp_u_s=stamp_u_s)
    return _of_padded(trace, response, asked, idle, found)


def _padded_widely(trace: Trace, response: Response, asked: EnergyRequest, idle: tuple[Window, Window]) -> Made:
    margin_s, stamp_u_s = _loose_s(trace, response, asked)
    run = asked.begin_ns, asked.end_ns
    wide = lag.padded_widely(trace, response, run, idle, margin_s=margin_s, stamp_u_s=stamp_u_s)
    made = _of_padded(trace, wide.response, asked, idle, wide.found)
    return made._replace(terms=[*made.terms, *([wide.tail] if wide.tail.u else [])])


def _loose_s(trace: Trace, response: Response, asked: EnergyRequest) -> tuple[float, float]:
    """How far the run may reach beyond its marks, and how exactly it is known when each value was made."""
    margin_s = 2 * math.hypot(asked.window_u_s, asked.clock_u_s)
    return margin_s, math.hypot(response.age_u_s, float(np.median(trace.half_ns)) * 1e-9 / math.sqrt(3))


def _of_padded(trace: Trace, response: Response, asked: EnergyRequest, idle: Idle, found: Padded) -> Made:
    low, high = found.ends
    # The meter's noise shows in the idle readings; in the run's own it cannot be told from the tails of the averaging.
    quiet = [integrate.inside(trace, response, *window)[0] for window in idle if window is not None]
    rest = max(quiet, key=len)
    cadence = cadence_s(trace, response)
    terms = budget.reading_terms(
        response, integrate.watts(rest, response), rest.seconds(low), cadence, (high - low) * 1e-9
    )
    terms += budget.padded_terms(found)
    missing = math.fsum(gap.seconds for gap in found.gaps)
    if missing:
        terms.append(budget.gap_term(found.gap_u_j, missing, (high - low) * 1e-9))
    notices = [
        Notice(
            code="corrected",
            text="the energy of the whole run by the padded window; it is not a value in the sense of the EE HPC WG",
        )
    ]
    for side, window in (("before", idle[0]), ("after", idle[1])):
        if window is None:
            text = f"nothing is known of the time {side} the run: it is taken as idle, at the power of the other side"
            notices.append(
                Notice(code="idle-assumed", text=text, advice=f"say when the nodes were idle {side} the run")
            )
    if missing > MOST_MISSING * (high - low) * 1e-9:
        raise CannotMeasure(f"{missing:.3g} s of the padded window have no reading", where=response.key)

    def energy_at(begin_ns: int, end_ns: int) -> float:
        earlier, later = (asked.begin_ns - begin_ns) * 1e-9, (end_ns - asked.end_ns) * 1e-9
        return found.joules + found.idle[0].watts * earlier + found.idle[1].watts * later

    return Made("padded", found.joules, terms, found.seen, energy_at, notices)


# ---------------------------------------------------------------------------------------------------------- the pieces


def _whole(tiles: Tiles, response: Response, asked: EnergyRequest) -> Integral:
    found = integrate.integrate(tiles, asked.begin_ns, asked.end_ns) if len(tiles.begin_ns) else None
    if found is None:
        raise Refused(_outside(tiles, response, asked))
    if 1 - found.seen > MOST_MISSING:
        text = (
            f"{1 - found.seen:.0%} of the {asked.seconds:.4g} s have no reading ({_where(found)}): too much to fill in"
        )
        raise Refused(
            Notice(code="too-little-seen", text=text, advice="read without gaps, from before the phase to after it")
        )
    return found


def _outside(tiles: Tiles, response: Response, asked: EnergyRequest) -> Notice:
    """Why not one reading falls into the window."""
    if not len(tiles.begin_ns):
        return Notice(
            code="no-reading", text=f"{response.key} has no good reading", advice="see the statuses of its entries"
        )
    first, last = int(tiles.begin_ns[0]), int(tiles.end_ns[-1])
    if first < asked.end_ns and asked.begin_ns < last:
        return Notice(code="no-reading", text=f"the whole {asked.seconds:.4g} s lie in a gap of {response.key}")
    away = (first - asked.end_ns if asked.end_ns <= first else asked.begin_ns - last) * 1e-9
    side = "before the trace begins" if asked.end_ns <= first else "after the trace ends"
    return Notice(
        code="outside",
        text=f"the phase lies {show_seconds(away)} {side}",
        advice="check the clocks and time zones of the meter and of the phase marks",
    )


def _too_late(found: lag.Lateness, asked: EnergyRequest) -> Notice:
    half_j = math.sqrt(2) * found.u_j
    return Notice(
        code="too-short",
        text=f"{found.text}; over a phase of {asked.seconds:.4g} s that is {found.middle_j:.4g} J +- {half_j:.4g} J",
        advice="hold the nodes idle before and after the run and give that idle time, or characterise the meter",
    )


def _unseen(tiles: Tiles, response: Response, asked: EnergyRequest) -> Notice:
    """Why readings at a point say too little of a window that holds fewer than two of them."""
    return Notice(
        code="too-short",
        text=f"fewer than two readings of {response.key} lie in the {asked.seconds:.4g} s: one comes every "
        f"{tiles.cadence_s:.4g} s",
        advice="run for longer, or read a faster meter",
    )


def _where(found: Integral) -> str:
    told: dict[str, float] = {}
    for gap in found.gaps:
        told[gap.where] = told.get(gap.where, 0.0) + gap.seconds
    return ", ".join(f"{seconds:.3g} s {where}" for where, seconds in told.items())


def _gap_terms(found: Integral) -> list[Term]:
    missing = math.fsum(gap.seconds for gap in found.gaps)
    return [budget.gap_term(found.gap_u_j, missing, found.seconds)] if missing else []


def _gap_notices(found: Integral) -> list[Notice]:
    missing = math.fsum(gap.seconds for gap in found.gaps)
    if not missing:
        return []
    share = found.gap_u_j / abs(found.joules) if found.joules else math.inf
    return [
        Notice(
            code="gap",
            text=f"{missing:.3g} s of {found.seconds:.4g} s ({missing / found.seconds:.1%}) have no reading "
            f"({_where(found)}); filling them in adds {share:.2%} to the standard uncertainty",
            advice="read without gaps, from before the phase to after it",
        )
    ]


def _inside(tiles: Tiles, begin_ns: int, end_ns: int) -> tuple[Floats, Floats]:
    """The readings that tell the power of the stretches that lie in a window, and their times in seconds."""
    first = int(np.searchsorted(tiles.begin_ns, begin_ns, side="left"))
    last = int(np.searchsorted(tiles.end_ns, end_ns, side="right"))
    part = slice(first, max(first, last))
    powers, t_ns = tiles.right_w[part], tiles.end_ns[part]
    if tiles.points and first < last:  # the first stretch begins with a reading too
        powers, t_ns = np.append(tiles.left_w[first], powers), np.append(tiles.begin_ns[first], t_ns)
    return powers, (t_ns - begin_ns).astype(float) * 1e-9


def _flat(trace: Trace, response: Response, asked: EnergyRequest) -> bool:
    """Whether at least ten readings lie wholly inside and scatter little: then they stand for the edges too."""
    readings, _ = integrate.inside(trace, response, asked.begin_ns, asked.end_ns)
    powers = integrate.watts(readings, response)
    return len(powers) >= 10 and float(powers.std()) <= FLAT * abs(float(powers.mean()))
