"""The one door to energy and power of a phase: chooses the method, builds the budget, says what is lost.

    counter      the channel counts energy
    padded       the meter averages for longer than a refresh, and the nodes were idle around the phase
    inside-mean  it averages for longer than a refresh, no idle is known, and the load is steady
    trapezoid    readings at a point
    step         interval averages

A value that cannot be had is an unknown Quantity with its reason. BadInput is raised only for what the caller got wrong.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from ..errors import BadInput, CannotMeasure, unknown
from ..metering.character import Character
from ..metering.meters import Channel, Status
from ..metering.trace import Trace
from ..records import Notice
from . import integrate
from .anomalies.signs import warnings_of
from .deduplicate import once, ordered
from .methods import EnergyRequest, Idle, Made, Refused, made_by
from .response import Response, response_of
from .steady import Steady, steady_of
from .uncertainty import budget
from .uncertainty import quantity as quantities
from .uncertainty.quantity import Quantity, Term
from .uncertainty.ratios import duration, edp, efficiency

__all__ = [
    "Idle",
    "duration",
    "edp",
    "efficiency",
    "energy_of",
    "power_of",
    "warnings_of",
]

METHODS = ("auto", "counter", "step", "trapezoid", "inside-mean", "padded")
WORDS = {
    "counter": "difference of the counter, straight lines between its readings",
    "step": "interval averages, each over the time before its stamp",
    "trapezoid": "straight lines between readings at a point",
    "inside-mean": "mean of the readings wholly inside, times the length",
    "padded": "corrected: sum of the readings from before the run until the meter has settled after it, less idle power",
}


def energy_of(
    trace: Trace,
    begin_ns: int,
    end_ns: int,
    *,
    character: Character | None = None,
    method: str = "auto",
    idle: Idle | None = None,
    window_u_s: float = 0.0,
    clock_u_s: float = 0.0,
    clock: str = "",
    name: str = "",
    reference: Channel | None = None,
    second: Trace | None = None,
) -> Quantity:
    """The energy in J between two times, with its budget.

    ``window_u_s``: how exactly each end is known (1/sqrt(12) s for stamps of whole seconds); ``clock_u_s``: how exactly the
    phase's clock is known against the meter's; both standard uncertainties. ``clock`` names whose clock that is, where
    several channels share one. ``reference``: the channel that the character's gain is relative to, for its class.
    ``second``: another trace over the same load, which decides how often a counter wrapped. Raises BadInput.
    """
    asked = EnergyRequest(begin_ns, end_ns, "energy", window_u_s, clock_u_s, name or "energy", reference, second, clock)
    return _answer(trace, asked, character, method, idle)


def power_of(
    trace: Trace,
    begin_ns: int,
    end_ns: int,
    *,
    character: Character | None = None,
    method: str = "auto",
    idle: Idle | None = None,
    window_u_s: float = 0.0,
    clock_u_s: float = 0.0,
    clock: str = "",
    name: str = "",
    reference: Channel | None = None,
    second: Trace | None = None,
    preset: str = "",
) -> Quantity:
    """The mean power in W between two times, with its budget: the energy over the length, the window's uncertainty taken
    for the ratio. With ``preset`` (steady.PRESETS) the mean of the steady part, or what it would settle to. Raises
    BadInput."""
    asked = EnergyRequest(begin_ns, end_ns, "power", window_u_s, clock_u_s, name or "power", reference, second, clock)
    if preset:
        return _steady_power(trace, asked, character, preset)
    return _answer(trace, asked, character, method, idle)


def _answer(
    trace: Trace, asked: EnergyRequest, character: Character | None, method: str, idle: Idle | None
) -> Quantity:
    _check(trace, asked, method)
    trace = once(ordered(trace))
    response = response_of(trace, character)
    try:
        made, why = made_by(trace, response, asked, method, idle)
    except Refused as refused:
        return quantities.unknown(asked.name, asked.unit, refused.notice)
    except CannotMeasure as error:
        notice = Notice(code="not-measured", text=error.what, advice=error.hint)
        return quantities.unknown(asked.name, asked.unit, notice)
    seconds = asked.seconds
    per = 1.0 if asked.want == "energy" else 1 / seconds
    terms, notices = budget.calibration_terms(trace.channel, response, made.joules, seconds, reference=asked.reference)
    value = made.joules * per
    return quantities.quantity(
        asked.name,
        asked.unit,
        value,
        [*budget.worth([*terms, *made.terms], per), *_window(trace, response, asked, made)],
        method=f"{made.method}: {WORDS[made.method]}{f'; chosen since {why}' if why else ''}",
        seen=made.seen,
        notices=[*made.notices, *notices, *_lost(trace, asked)],
    )


def _check(trace: Trace, asked: EnergyRequest, method: str) -> None:
    where = trace.channel.id
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    if asked.end_ns <= asked.begin_ns:
        raise BadInput("the phase ends before it begins", where=where, hint="check the two times and their zones")
    if trace.channel.quantity not in ("power", "energy"):
        raise BadInput(f"the channel gives a {trace.channel.quantity}, neither power nor energy", where=where)
    counts = trace.channel.quantity == "energy"
    if counts != (method == "counter") and method != "auto":
        told = "counts energy: only the method counter fits" if counts else "is not an energy counter"
        raise BadInput(f"the method {method!r} was requested, but the channel {told}", where=where)


def _lost(trace: Trace, asked: EnergyRequest) -> list[Notice]:
    """What became of the entries without a value."""
    counts = integrate.lost(trace, asked.begin_ns, asked.end_ns)
    entries = int(np.sum((trace.t_ns >= asked.begin_ns) & (trace.t_ns <= asked.end_ns)))
    return [
        Notice(
            code=f"readings-{status.name.lower()}", text=f"{count} of {entries} readings: {_STATUS[status]}", advice=""
        )
        for status, count in counts.items()
    ]


_STATUS = {
    Status.OK: "not a number",
    Status.GAP: "no answer",
    Status.REFUSED: "permission denied",
    Status.UNSUPPORTED: "the source says that it does not have the value",
    Status.OVERRANGE: "above what the meter can measure: the true energy is higher",
    Status.STALE: "the source says that the value is old",
    Status.RESET: "the source restarted",
}


# ---------------------------------------------------------------------------------------------------------- the window


def _window(trace: Trace, response: Response, asked: EnergyRequest, made: Made) -> list[Term]:
    # The padded window sums whole readings: what their own stamps do to it has its own term there.
    padded = made.method == "padded"
    half_s = float(np.median(trace.half_ns)) * 1e-9 / math.sqrt(3) if len(trace) and not padded else 0.0
    age_s = 0.0 if padded or made.method == "counter" else response.age_u_s
    per_power = asked.want == "power"

    def value_at(begin_ns: int, end_ns: int) -> float:
        found = made.energy_at(begin_ns, end_ns)
        return found / ((end_ns - begin_ns) * 1e-9) if per_power else found

    marks = math.hypot(asked.window_u_s, half_s, age_s)
    # A clock that several channels share is one term of them all; how well a channel's own delay is known is another.
    clocks = [(asked.clock_u_s, asked.clock), (response.timing_u_s, response.key)]
    if not asked.clock:
        clocks = [(math.hypot(asked.clock_u_s, response.timing_u_s), response.key)]
    terms: list[Term] = []
    for index, (clock_u_s, clock) in enumerate(clocks):
        terms += budget.window_terms(
            value_at,
            asked.begin_ns,
            asked.end_ns,
            window_u_s=0.0 if index else marks,
            clock_u_s=clock_u_s,
            clock=clock,
        )
    if per_power or not asked.window_u_s:
        return budget.worth(terms, 1.0)
    # The marks are shared with the run time and with other meters over the same window (ratios.duration).
    own = math.sqrt(1 - (asked.window_u_s / marks) ** 2) if marks > asked.window_u_s else 0.0
    shared = asked.window_u_s / marks
    return budget.worth(
        [
            piece
            for term in terms
            for piece in (
                (
                    msgspec.structs.replace(term, u=term.u * shared, common=f"marks {asked.begin_ns} {asked.end_ns}"),
                    msgspec.structs.replace(term, name="stamps", u=term.u * own),
                )
                if term.name == "window"
                else (term,)
            )
        ],
        1.0,
    )


# -------------------------------------------------------------------------------------------------------- steady power


def _steady_power(trace: Trace, asked: EnergyRequest, character: Character | None, preset: str) -> Quantity:
    """The mean of the steady window, its scatter in place of the terms of noise and coverage; of the whole phase where no
    part is steady, which is said."""
    _check(trace, asked, "auto")
    if trace.channel.quantity == "energy":
        raise BadInput("a steady window needs readings of power", where=trace.channel.id, hint="name a power channel")
    trace = once(ordered(trace))
    found = steady_of(trace, asked.begin_ns, asked.end_ns, preset)
    notice = Notice(code="steady" if found.steady else "not-steady", text=found.why)
    if found.extrapolated:
        return _extrapolated(trace, asked, character, found, notice)
    within = asked._replace(begin_ns=found.begin_ns, end_ns=found.end_ns) if found.steady else asked
    made = _answer(trace, within, character, "auto", None)
    if made.value is None:
        return made
    if not found.steady:
        return msgspec.structs.replace(made, notices=(notice, *made.notices))
    kept = [term for term in made.terms if term.name not in ("noise", "coverage")]
    return quantities.quantity(
        made.name,
        made.unit,
        made.value,
        [*kept, _scatter_term(found, response_of(trace, character))],
        method=f"{made.method}; steady window by {preset}",
        seen=made.seen,
        notices=[notice, *made.notices],
    )


def _extrapolated(
    trace: Trace, asked: EnergyRequest, character: Character | None, found: Steady, notice: Notice
) -> Quantity:
    response = response_of(trace, character)
    value = (found.mean - response.offset) / response.gain
    terms, more = budget.calibration_terms(trace.channel, response, value, 1.0, reference=asked.reference)
    return quantities.quantity(
        asked.name,
        "W",
        value,
        [*budget.worth(terms, 1.0), _scatter_term(found, response)],
        method="extrapolated: what the fitted warm-up settles to",
        notices=[notice, *more],
    )


def _scatter_term(found: Steady, response: Response) -> Term:
    return Term(
        name="fit" if found.extrapolated else "scatter",
        u=found.mean_u / abs(response.gain),
        dof=found.dof,
        text=f"{found.n} readings that scatter by {found.cv:.2%}, worth {found.n_eff:.0f} independent ones",
        remedy="measure for longer",
    )
