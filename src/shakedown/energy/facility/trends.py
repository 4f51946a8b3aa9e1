"""A plant's quantities averaged over equal segments of time, and the lines through those averages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...metering.trace import Floats
from ...records import Notice, Record
from ..uncertainty.quantity import Term
from . import heat, regression
from .heat import LEAST_SEEN
from .plant import flows, in_si
from .plant_file import CopText, FlowText, RegressionText
from .ratios import Data
from .regression import Line, Plane
from .window import Series, pieces, series


class Trend(NamedTuple):
    """Averages over segments of ``step_s``: the middle of each in Unix ns, NaN where less than half of it was seen."""

    middle_ns: Floats
    value: Floats


class CopCourse(Record, frozen=True, kw_only=True):
    """A COP over time, and what it depends on."""

    of: str
    step_s: float
    middle_ns: tuple[int, ...]
    cop: tuple[float | None, ...]
    against: dict[str, tuple[float | None, ...]]
    plane: Plane | None
    notices: tuple[Notice, ...] = ()


def of(data: Data, name: str) -> Series:
    """A loop's heat flow in W, or a sensor's readings (a counter's as power)."""
    if name in data.plant.loops:
        loop = data.plant.loops[name]
        return heat.readings(loop, data.plant, data.traces, data.begin_ns).power(loop.fluid)
    found = series(data.traces[name], data.plant.sensors[name], data.begin_ns)
    if data.plant.sensors[name].quantity != "energy":
        return found
    steps = np.diff(found.t_s)
    rises = np.diff(found.value)
    with np.errstate(invalid="ignore", divide="ignore"):
        power = np.where((rises >= 0) & (steps > 0), rises / steps, np.nan)
    return Series(found.t_s, np.concatenate([[np.nan], power]), found.gap_s, "last")


def averages(data: Data, name: str, begin_ns: int, end_ns: int, step_s: float) -> Trend:
    """The means of a flow or a sensor over whole segments of the window."""
    one = of(data, name)
    count = max(0, int((end_ns - begin_ns) * 1e-9 / step_s + 1e-9))
    begin_s = (begin_ns - data.begin_ns) * 1e-9
    values = np.full(count, np.nan)
    for at in range(count):
        low = begin_s + at * step_s
        cut = pieces(one, low, low + step_s)
        if len(cut.t0) and cut.seen >= LEAST_SEEN:
            values[at] = cut.integral / step_s
    middle = begin_ns + (np.arange(count) + 0.5) * step_s * 1e9
    return Trend(middle.astype(np.float64), values)


def summed(data: Data, texts: tuple[FlowText, ...], begin_ns: int, end_ns: int, step_s: float) -> Trend:
    """The mean power of flows together."""
    parts = [(one.factor, averages(data, one.of, begin_ns, end_ns, step_s)) for one in flows(texts)]
    total = np.zeros(len(parts[0][1].value))
    for factor, part in parts:
        total = total + factor * part.value
    return Trend(parts[0][1].middle_ns, total)


def cop_course(data: Data, cop: CopText, begin_ns: int, end_ns: int, step_s: float) -> CopCourse:
    """The COP of every stretch, which is a ratio of integrals too, and the plane over the temperatures it is laid over."""
    cold = summed(data, cop.cold, begin_ns, end_ns, step_s)
    drive = summed(data, cop.drive, begin_ns, end_ns, step_s)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.where(drive.value > 0, cold.value / drive.value, np.nan)
    beside = {name: averages(data, name, begin_ns, end_ns, step_s).value for name in cop.against}
    plane = regression.plane(f"COP of {cop.name}", list(beside.items()), values) if beside else None
    notices: tuple[Notice, ...] = ()
    if beside and plane is None:
        text = (
            f"too few segments, or temperatures that go together: what each adds to the COP of {cop.name} cannot be "
            "determined"
        )
        notices = (Notice(code="no-plane", text=text, advice="take a longer window"),)
    return CopCourse(
        of=cop.name,
        step_s=step_s,
        middle_ns=tuple(int(one) for one in cold.middle_ns),
        cop=_known(values),
        against={name: _known(x) for name, x in beside.items()},
        plane=plane,
        notices=notices,
    )


def _known(values: Floats) -> tuple[float | None, ...]:
    return tuple(float(one) if np.isfinite(one) else None for one in values)


def points(data: Data, one: RegressionText, begin_ns: int, end_ns: int) -> tuple[Floats, Floats]:
    """The averages that a regression goes through: x in degC, y in W."""
    if one.own_time:
        stamps = data.traces[one.x].t_ns
        begin_ns, end_ns = int(stamps[0]), int(stamps[-1])
    step_s = in_si(one.average, "s", one.name)
    x = averages(data, one.x, begin_ns, end_ns, step_s)
    return x.value, summed(data, (one.y,), begin_ns, end_ns, step_s).value


def regress(data: Data, one: RegressionText, begin_ns: int, end_ns: int) -> Line:
    """A power against a temperature; the class of the power's meter moves the slope, not the percentages."""
    x, y = points(data, one, begin_ns, end_ns)
    (flow,) = flows((one.y,))
    shared = None
    sensor = data.plant.sensors.get(flow.of)
    if sensor is not None and sensor.accuracy.reading:
        u = heat.standard(sensor.accuracy, sensor.accuracy.reading)
        shared = Term(name=f"class of {flow.of}", u=u, common=f"class of {flow.of}", text=sensor.accuracy.source)
    return regression.line(
        one.name,
        x,
        y,
        reference=in_si(one.reference, "degC", one.name) if one.reference else None,
        at=in_si(one.at, "degC", one.name) if one.at else None,
        bends=one.bends,
        shared=shared,
    )
