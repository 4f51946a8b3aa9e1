"""From readings of power, flow and temperature to energy over a window, with its budget.

A loop's heat is rho(theta at the flow meter) x flow x [h(warm) - h(cool)], at the flow meter's stamps, temperatures between
their own stamps by straight lines. Integrals are trapezoids over what is known; what is not known is bridged by straight
lines and stands in the budget with its share x the whole range / sqrt(12).

Every term carries a ``common`` name, so that a sensor that stands in several energies is the same in all of them: in a sum
it adds with its sign, in a ratio it cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...errors import BadInput
from ...metering.meters import Accuracy
from ...metering.trace import Floats, Trace
from ...records import Notice
from ..uncertainty.budget import divisor
from ..uncertainty.quantity import Quantity, Term, quantity, unknown
from . import water
from .plant import Loop, Plant, Sensor
from .window import Pieces, Series, at, pieces, series

#: Less than this share of a window seen is no measurement of it.
LEAST_SEEN = 0.5


# ------------------------------------------------------------------------------------------------- what is not certain


def standard(accuracy: Accuracy, bound: float) -> float:
    """The standard uncertainty of what a maker states: a bound is rectangular (JCGM 100, 4.3.7)."""
    return bound / divisor(accuracy)


def _shared(name: str, u: float, text: str, remedy: str) -> Term:
    """A term under whose own name the same error stands in other values: it adds in sums and cancels in ratios."""
    return Term(name=name, u=u, common=name, text=text, remedy=remedy)


def _class_term(sensor: Sensor, u: float, remedy: str) -> Term:
    return _shared(f"class of {sensor.name}", u, sensor.accuracy.source or "as the maker states", remedy)


def _readings_terms(cut: Pieces, name: str) -> list[Term]:
    """What lies between readings, their noise, and what was not seen.

    Neighbours that differ by d leave d / sqrt(2) on each of them: the noise of white readings exactly, more than the truth
    where the quantity really moves."""
    known = cut.known > 0
    steps = (cut.v1 - cut.v0)[known] * (cut.t1 - cut.t0)[known]
    swing = float(np.sqrt(np.sum(steps**2) / 2))
    terms = [
        _shared(f"noise of {name}", swing, f"differences of {int(known.sum())} neighbours", f"read {name} more often")
    ]
    missing_s = float(np.sum((cut.t1 - cut.t0)[~known]))
    if missing_s > 0:
        ends = np.concatenate([cut.v0[known], cut.v1[known]])
        span = float(ends.max() - ends.min())
        terms.append(
            _shared(
                f"gaps of {name}",
                missing_s * span / math.sqrt(12),
                f"{missing_s:.0f} s not seen, bridged; range {span:.4g} over sqrt(12)",
                f"close the gaps of {name}",
            )
        )
    return terms


def _class_notice(sensor: Sensor) -> tuple[Notice, ...]:
    if sensor.accuracy_known:
        return ()
    return (
        Notice(
            code="accuracy-unknown",
            text=f"the accuracy of {sensor.name} is not stated: the uncertainty is too small by it",
            advice=f"give the sensor {sensor.name} an accuracy in the plant file",
        ),
    )


def _below_notice(sensor: Sensor, values: Floats) -> tuple[Notice, ...]:
    if sensor.low is None:
        return ()
    with np.errstate(invalid="ignore"):
        share = float(np.mean(values < sensor.low)) if len(values) else 0.0
    if share == 0:
        return ()
    text = f"{share:.1%} of the readings of {sensor.name} lie below its range: its accuracy does not hold there"
    return (Notice(code="below-range", text=text, advice="mind the low flow, or take a smaller meter"),)


def _unseen(name: str, cut: Pieces) -> Quantity | None:
    if len(cut.t0) and cut.seen >= LEAST_SEEN:
        return None
    seen = cut.seen if len(cut.t0) else 0.0
    text = f"only {seen:.0%} of the window is seen by {name}"
    return unknown(name, "J", Notice(code="not-seen", text=text, advice="choose a window with readings"))


# ------------------------------------------------------------------------------------------------------------- sensors


def energy(trace: Trace, sensor: Sensor, origin_ns: int, begin_s: float, end_s: float) -> Quantity:
    """The energy of a sensor of power or of energy over a window."""
    if sensor.quantity == "energy":
        return _counted(trace, sensor, origin_ns, begin_s, end_s)
    if sensor.quantity != "power":
        raise BadInput(f"{sensor.name} measures {sensor.quantity}: it has no energy", where="plant")
    one = series(trace, sensor, origin_ns)
    cut = pieces(one, begin_s, end_s)
    if (why := _unseen(sensor.name, cut)) is not None:
        return why
    value, length = cut.integral, end_s - begin_s
    terms = _readings_terms(cut, sensor.name)
    stated = sensor.accuracy
    bound = stated.reading * value + (stated.absolute + stated.full_scale * (sensor.high or 0.0)) * length
    terms.append(_class_term(sensor, standard(stated, bound), f"take a better meter for {sensor.name}"))
    if sensor.lag_s:
        moved = value - pieces(series(trace, sensor, origin_ns, lag=False), begin_s, end_s).integral
        terms.append(_lag_term(sensor, moved))
    return quantity(
        sensor.name,
        "J",
        value,
        terms,
        method="trapezoids over the readings" if sensor.scope == "point" else f"steps: a reading is the {sensor.scope}",
        seen=cut.seen,
        notices=_class_notice(sensor),
    )


def _lag_term(sensor: Sensor, moved: float) -> Term:
    return _shared(
        f"lag of {sensor.name}",
        moved / math.sqrt(3),
        f"setting its stamps back by {sensor.lag_s:g} s moved the energy by {moved:.4g} J",
        "take a longer window",
    )


def _counted(trace: Trace, sensor: Sensor, origin_ns: int, begin_s: float, end_s: float) -> Quantity:
    """The difference of a counter between the window's ends, by straight lines between readings. A counter that goes back
    started anew: what it counted across that is not known."""
    good = trace.ok
    t, value = trace.seconds(origin_ns)[good], trace.value[good]
    if len(t) < 2 or t[0] > begin_s or t[-1] < end_s:
        text = f"the counter {sensor.name} was not read before and after the window"
        return unknown(sensor.name, "J", Notice(code="not-seen", text=text, advice="choose a shorter window"))
    first = int(np.searchsorted(t, begin_s, side="right")) - 1
    last = int(np.searchsorted(t, end_s, side="left"))
    if np.any(np.diff(value[first : last + 1]) < 0):
        text = f"the counter {sensor.name} went back: it restarted, or it wrapped"
        return unknown(sensor.name, "J", Notice(code="reset", text=text, advice="choose a window on one side of it"))
    ends = np.interp([begin_s, end_s], t, value)
    counted = float(ends[1] - ends[0])
    steps = [float(value[i] - value[i - 1]) for i in (first + 1, last)]
    stated = sensor.accuracy
    terms = [
        _shared(
            f"ends of {sensor.name}",
            math.hypot(*steps) / math.sqrt(12),
            "the steps at both ends of the window, over sqrt(12)",
            f"read {sensor.name} more often",
        ),
        _class_term(
            sensor,
            standard(stated, stated.reading * counted + math.sqrt(2) * stated.absolute),
            f"take a better meter for {sensor.name}",
        ),
    ]
    return quantity(
        sensor.name, "J", counted, terms, method="difference of the counter", seen=1.0, notices=_class_notice(sensor)
    )


# --------------------------------------------------------------------------------------------------------------- loops


class Readings(NamedTuple):
    """A loop's readings at the stamps of its flow meter."""

    t_s: Floats
    flow: Floats  # m3/s
    warm: Floats  # degC
    cool: Floats
    at: Floats  # at the flow meter
    gap_s: float
    scope: str

    def power(self, fluid: water.Fluid) -> Series:
        """The heat flow in W."""
        mass = water.density(fluid, self.at) * self.flow
        heat = mass * (water.enthalpy(fluid, self.warm) - water.enthalpy(fluid, self.cool))
        return Series(self.t_s, heat, self.gap_s, self.scope)


def readings(loop: Loop, plant: Plant, traces: dict[str, Trace], origin_ns: int, *, unlagged: str = "") -> Readings:
    """A loop's readings, brought to the stamps of the flow. ``unlagged``: a sensor whose lag is left as it is.

    Where the volume between the thermometers is given, the water that leaves at t is compared with what entered when it
    did: at t - volume / flow."""

    def get(name: str) -> Series:
        return series(traces[name], plant.sensors[name], origin_ns, lag=name != unlagged)

    flow = get(loop.flow)
    t = flow.t_s
    by_name = {name: at(get(name), t) for name in {loop.warm, loop.cool, loop.flow_at}}
    if loop.volume_m3:
        with np.errstate(divide="ignore", invalid="ignore"):
            passed = np.where(flow.value > 0, loop.volume_m3 / flow.value, np.nan)
        by_name[f"{loop.inlet} before"] = at(get(loop.inlet), t - passed)
    pick = {
        name: f"{name} before" if loop.volume_m3 and name == loop.inlet else name for name in (loop.warm, loop.cool)
    }
    return Readings(
        t, flow.value, by_name[pick[loop.warm]], by_name[pick[loop.cool]], by_name[loop.flow_at], flow.gap_s, flow.scope
    )


def heat(loop: Loop, plant: Plant, traces: dict[str, Trace], origin_ns: int, begin_s: float, end_s: float) -> Quantity:
    """The heat that a loop carries from warm to cool over a window; negative where it flows the other way."""
    found = readings(loop, plant, traces, origin_ns)
    cut = pieces(found.power(loop.fluid), begin_s, end_s)
    if (why := _unseen(loop.name, cut)) is not None:
        return why
    value = cut.integral

    def integrate(values: Floats) -> float:
        return pieces(Series(found.t_s, values, found.gap_s, found.scope), begin_s, end_s).integral

    terms = [*_readings_terms(cut, loop.name), *_fluid_terms(loop, found, value, integrate)]
    notices: list[Notice] = []
    if loop.meter:
        terms += _en1434_terms(loop, found, integrate)
    else:
        terms += [
            *_flow_terms(loop, plant, found, value, integrate),
            *_thermometer_terms(loop, plant, found, integrate),
        ]
        notices += [note for name in (loop.flow, loop.warm, loop.cool) for note in _class_notice(plant.sensors[name])]
    for name in (loop.flow, loop.warm, loop.cool):
        if plant.sensors[name].lag_s:
            lagging = readings(loop, plant, traces, origin_ns, unlagged=name).power(loop.fluid)
            terms.append(_lag_term(plant.sensors[name], value - pieces(lagging, begin_s, end_s).integral))
    inside = (found.t_s >= begin_s) & (found.t_s <= end_s)
    notices += _below_notice(plant.sensors[loop.flow], found.flow[inside])
    return quantity(
        loop.name,
        "J",
        value,
        terms,
        method=f"rho(theta at {loop.flow_at}) x flow x [h({loop.warm}) - h({loop.cool})], trapezoids",
        seen=cut.seen,
        notices=notices,
    )


Integrate = Callable[[Floats], float]


def _fluid_terms(loop: Loop, found: Readings, value: float, integrate: Integrate) -> list[Term]:
    relative, text = water.relative_u(loop.fluid)
    name = f"properties of {loop.fluid.kind}"
    terms = [_shared(name, relative * value, text, "measure the fluid's density and heat")]
    if loop.fluid.u_concentration:
        step = min(loop.fluid.u_concentration, 0.6 - loop.fluid.concentration) or -loop.fluid.u_concentration
        other = water.Fluid(kind=loop.fluid.kind, concentration=loop.fluid.concentration + step)
        moved = (integrate(found.power(other).value) - value) / step * loop.fluid.u_concentration
        terms.append(
            _shared(
                f"concentration in {loop.name}",
                moved,
                f"+-{loop.fluid.u_concentration:g} of mass fraction",
                "measure the concentration with a refractometer",
            )
        )
    return terms


def _flow_terms(loop: Loop, plant: Plant, found: Readings, value: float, integrate: Integrate) -> list[Term]:
    sensor = plant.sensors[loop.flow]
    stated = sensor.accuracy
    bound = stated.reading * value
    fixed = stated.absolute + stated.full_scale * (sensor.high or 0.0)
    if fixed:
        fluid = loop.fluid
        per_flow = water.density(fluid, found.at) * (
            water.enthalpy(fluid, found.warm) - water.enthalpy(fluid, found.cool)
        )
        bound += fixed * integrate(np.where(np.isfinite(found.flow), per_flow, np.nan))
    return [_class_term(sensor, standard(stated, bound), f"calibrate the flow meter {loop.flow}")]


def _thermometer_terms(loop: Loop, plant: Plant, found: Readings, integrate: Integrate) -> list[Term]:
    """An error of a thermometer moves the heat by the capacity that flowed past; matched ones share most of theirs."""
    mass = water.density(loop.fluid, found.at) * found.flow

    def moved(name: str, theta: Floats) -> float:
        stated = plant.sensors[name].accuracy
        fixed = stated.absolute + stated.full_scale * (plant.sensors[name].high or 0.0)
        error = fixed + stated.reading * np.abs(theta)
        return standard(stated, integrate(mass * water.heat_capacity(loop.fluid, theta) * error))

    sides = ((loop.warm, found.warm, 1.0), (loop.cool, found.cool, -1.0))
    partner, bound = plant.pairs.get(loop.warm, ("", 0.0))
    if partner != loop.cool:
        return [
            _class_term(
                plant.sensors[name],
                sign * moved(name, theta),
                "take matched thermometers: what both have in common cancels",
            )
            for name, theta, sign in sides
        ]
    first, second = sorted((loop.warm, loop.cool))
    shared = f"shared offset of {first} and {second}"
    capacity = integrate(mass * water.heat_capacity(loop.fluid, (found.warm + found.cool) / 2))
    sign = 1.0 if first == loop.warm else -1.0
    return [
        *(Term(name=shared, u=one * moved(name, theta), common=shared) for name, theta, one in sides),
        _shared(
            f"difference of {first} and {second}",
            sign * capacity * bound / math.sqrt(3),
            f"matched to {bound:g} K (bound)",
            "compare the two at zero load and take their difference off",
        ),
    ]


# ------------------------------------------------------------------------------------------------------------- EN 1434


def en1434(grade: int, qp: float, q: Floats, least: float, difference: Floats) -> tuple[Floats, Floats, Floats]:
    """Maximum permissible errors of a heat meter by EN 1434-1, as shares: flow sensor (class 1: 1 + 0.01 qp/q, 2: 2 + 0.02
    qp/q, 3: 3 + 0.05 qp/q, at most 5 %), temperature sensors (0.5 + 3 least/difference), calculator (0.5 +
    least/difference), all in %. ``qp``, ``q`` in one unit; ``least``, ``difference`` in K. The meter's whole is their sum.
    """
    base, rise = {1: (1.0, 0.01), 2: (2.0, 0.02), 3: (3.0, 0.05)}[grade]
    with np.errstate(divide="ignore", invalid="ignore"):
        flow = np.minimum(base + rise * qp / np.abs(q), 5.0)
        ratio = least / np.abs(difference)
    return flow / 100, (0.5 + 3 * ratio) / 100, (0.5 + ratio) / 100


def _en1434_terms(loop: Loop, found: Readings, integrate: Integrate) -> list[Term]:
    assert loop.meter is not None
    power = np.abs(found.power(loop.fluid).value)
    limits = loop.meter
    difference = found.warm - found.cool
    errors = en1434(limits.en1434, limits.qp_m3_s, found.flow, limits.least_difference_k, difference)
    parts = ("flow sensor", "temperature sensors", "calculator")
    return [
        _shared(
            f"{part} of {loop.name}",
            integrate(np.where(power > 0, power * error, np.where(np.isfinite(power), 0.0, np.nan))) / math.sqrt(3),
            f"EN 1434-1 class {limits.en1434}, weighed by the heat (bound)",
            "take a meter of a better class, or more difference of temperature",
        )
        for part, error in zip(parts, errors, strict=True)
    ]
