"""A plant, checked: what its file (``plant_file``) becomes, every name known and every unit SI."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ... import strict, times
from ...errors import BadInput, unknown
from ...metering.meters import Accuracy, Place
from ...metering.meters import Quantity as Kind
from ...records import Record
from ...units import UnknownUnit, parse_quantity, si
from . import water
from .plant_file import (
    AccuracyText,
    AreaText,
    BalanceText,
    CopText,
    FigureText,
    Flow,
    FlowText,
    LoopText,
    Pair,
    PlantFile,
    RegressionText,
    SensorText,
)

_HINT = "the format is in docs/facility.md"
_KINDS: dict[str, Kind] = {"W": "power", "J": "energy", "degC": "temperature", "m3/s": "flow", "1": "ratio"}
#: Where the IT energy is metered -> the category of the PUE (ISO/IEC 30134-2, EN 50600-4-2).
CATEGORIES = {"UPS output": 1, "PDU output": 2, "IT input": 3}


# ----------------------------------------------------------------------------------------------------- what it becomes


class Sensor(Record, frozen=True, kw_only=True):
    """One sensor, in SI. ``factor`` brings its file's unit to SI."""

    name: str
    title: str
    file: str
    column: str
    time: str
    quantity: Kind
    unit: str
    factor: float
    accuracy: Accuracy
    accuracy_known: bool
    low: float | None
    high: float | None
    scope: Literal["point", "last", "next", "counter"]
    place: Place
    delay_s: float
    lag_s: float
    most_gap_s: float | None
    note: str = ""


class MeterLimits(Record, frozen=True, kw_only=True):
    en1434: Literal[1, 2, 3]
    qp_m3_s: float
    least_difference_k: float


class Loop(Record, frozen=True, kw_only=True):
    """One loop, in SI. ``flow_at``: the thermometer at the flow meter."""

    name: str
    title: str
    fluid: water.Fluid
    flow: str
    warm: str
    cool: str
    flow_at: str
    volume_m3: float | None
    inlet: str  # the thermometer that the water passes first; empty where that is not said
    meter: MeterLimits | None
    note: str = ""


class Plant(Record, frozen=True, kw_only=True):
    """A plant, checked: every name is known and every unit is right."""

    title: str
    folder: str
    zone: str
    published: str
    note: str
    sensors: dict[str, Sensor]
    pairs: dict[str, tuple[str, float]]  # sensor -> its partner and the bound of the pair's difference, K
    loops: dict[str, Loop]
    areas: tuple[AreaText, ...]
    cops: tuple[CopText, ...]
    balances: tuple[BalanceText, ...]
    regressions: tuple[RegressionText, ...]
    figures: tuple[FigureText, ...]


def load(path: Path) -> Plant:
    """A plant from its file. Raises BadInput."""
    text = strict.read_text(path, hint="give a plant file; `shakedown facility example DIR` writes one")
    return parse(text, path.name, path.parent)


def parse(text: str, file: str, folder: Path) -> Plant:
    """A plant from the text of its file; the sensors' files are looked for in ``folder``. Raises BadInput."""
    raw = strict.convert(strict.read_toml(text, file), PlantFile, file, hint=_HINT)
    _once([*(one.name for one in raw.sensor), *(one.name for one in raw.loop)], "a sensor or loop", file)
    _once([*(one.name for one in raw.area), *(one.name for one in raw.cop)], "an area or COP", file)
    if raw.zone:
        times.checked_zone(raw.zone, f"{file}: zone")
    sensors = {one.name: _sensor(one, file) for one in raw.sensor}
    plant = Plant(
        title=raw.title,
        folder=str(folder),
        zone=raw.zone,
        published=raw.published,
        note=raw.note,
        sensors=sensors,
        pairs=_pairs(raw.pair, sensors, file),
        loops={one.name: _loop(one, sensors, file) for one in raw.loop},
        areas=raw.area,
        cops=raw.cop,
        balances=raw.balance,
        regressions=raw.regression,
        figures=raw.figure,
    )
    _check_areas(plant, file)
    _check_rest(plant, file)
    return plant


def flows(texts: tuple[FlowText, ...]) -> tuple[Flow, ...]:
    """Names made flows."""
    return tuple(Flow(of=one) if isinstance(one, str) else one for one in texts)


def in_si(text: str, unit: str, where: str, *, least: float | None = None) -> float:
    """A text such as ``"5 min"`` in the SI unit that is expected there; not below ``least``. Raises BadInput."""
    try:
        value, found = parse_quantity(text)
    except (UnknownUnit, ValueError) as error:
        raise BadInput(
            str(error), where=where, hint=f"write a number with its unit, one that leads to {unit}"
        ) from None
    if found != unit and {found, unit} != {"K", "degC"}:
        raise BadInput(f"{text!r} is in {found}, not in {unit}", where=where, hint="write a number with its unit")
    if least is not None and value < least:
        raise BadInput(f"{text!r} is below {least:g}", where=where, hint="give a number that can be")
    return value


def power_of(text: str, where: str) -> float:
    """Watts."""
    return in_si(text, "W", where)


# ------------------------------------------------------------------------------------------------------------ the parts


def _once(names: list[str], what: str, file: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"{what} is named {name!r} twice", where=file, hint="every name once")


def _sensor(raw: SensorText, file: str) -> Sensor:
    where = f"{file}: sensor {raw.name!r}"
    try:
        unit, factor = si(raw.unit)
    except UnknownUnit as error:
        raise BadInput(str(error), where=where, hint="W, kWh, degC, l/min, m3/h ...") from None
    if unit == "K":
        unit = "degC"
    if unit not in _KINDS:
        raise BadInput(
            f"a sensor in {raw.unit} cannot be used here",
            where=where,
            hint="power (W), energy (Wh), temperature (degC), flow (l/min) or a ratio (%)",
        )
    kind = _KINDS[unit]
    if (kind == "energy") != (raw.scope == "counter"):
        raise BadInput(
            f"a sensor of {kind} cannot have the scope {raw.scope!r}",
            where=where,
            hint="energy is a counter: scope = 'counter'; nothing else is",
        )
    low, high = (None, None) if raw.range is None else (in_si(one, unit, f"{where}, range") for one in raw.range)
    if low is not None and high is not None and low >= high:
        raise BadInput("the range is empty", where=where, hint="the lower end first")
    return Sensor(
        name=raw.name,
        title=raw.title or raw.name,
        file=raw.file,
        column=raw.column,
        time=raw.time,
        quantity=kind,
        unit=unit,
        factor=factor,
        accuracy=_accuracy(raw.accuracy or AccuracyText(), unit, high, where),
        accuracy_known=raw.accuracy is not None,
        low=low,
        high=high,
        scope=raw.scope,
        place=raw.place,
        delay_s=in_si(raw.delay, "s", f"{where}, delay", least=0.0) if raw.delay else 0.0,
        lag_s=in_si(raw.lag, "s", f"{where}, lag", least=0.0) if raw.lag else 0.0,
        most_gap_s=in_si(raw.most_gap, "s", f"{where}, most_gap", least=0.0) if raw.most_gap else None,
        note=raw.note,
    )


def _accuracy(raw: AccuracyText, unit: str, high: float | None, where: str) -> Accuracy:
    place = f"{where}, accuracy"
    if raw.full_scale and high is None:
        raise BadInput(
            "an accuracy of the full scale needs the range", where=place, hint="range = ['0 l/min', '40 l/min']"
        )
    values = [in_si(one, "1", place) if one else 0.0 for one in (raw.reading, raw.full_scale)]
    absolute = in_si(raw.absolute, unit, place) if raw.absolute else 0.0
    if min(*values, absolute) < 0 or max(values) >= 1:
        raise BadInput("an accuracy is a share between 0 and 100 %, or a value above 0", where=place, hint=_HINT)
    return Accuracy(reading=values[0], full_scale=values[1], absolute=absolute, kind=raw.kind, source=raw.source)


def _known(name: str, sensors: dict[str, Sensor], kind: Kind, where: str) -> Sensor:
    if name not in sensors:
        raise unknown("sensor", name, [one.name for one in sensors.values() if one.quantity == kind], where=where)
    if sensors[name].quantity != kind:
        raise BadInput(
            f"{name!r} measures {sensors[name].quantity}, not {kind}", where=where, hint=f"name a sensor of {kind}"
        )
    return sensors[name]


def _pairs(raw: tuple[Pair, ...], sensors: dict[str, Sensor], file: str) -> dict[str, tuple[str, float]]:
    found: dict[str, tuple[str, float]] = {}
    for pair in raw:
        where = f"{file}: pair {' and '.join(pair.sensors)}"
        bound = in_si(pair.difference, "K", where, least=0.0)
        for one, other in (pair.sensors, pair.sensors[::-1]):
            _known(one, sensors, "temperature", where)
            if one in found or one == other:
                raise BadInput(f"{one!r} is in two pairs", where=where, hint="a thermometer has one partner")
            found[one] = (other, bound)
    return found


def _loop(raw: LoopText, sensors: dict[str, Sensor], file: str) -> Loop:
    where = f"{file}: loop {raw.name!r}"
    _known(raw.flow, sensors, "flow", where)
    for name in (raw.warm, raw.cool):
        _known(name, sensors, "temperature", where)
    at = {"warm": raw.warm, "cool": raw.cool}.get(raw.flow_at, raw.flow_at)
    _known(at, sensors, "temperature", f"{where}, flow_at")
    if bool(raw.volume) != bool(raw.inlet):
        raise BadInput(
            "the volume between the thermometers is of use only with the one that the water passes first",
            where=where,
            hint='give both: volume = "12 l", inlet = "warm"; or neither',
        )
    fluid = water.Fluid(
        kind=raw.fluid.kind, concentration=raw.fluid.concentration, u_concentration=raw.fluid.u_concentration
    )
    limits = None
    if raw.meter:
        limits = MeterLimits(
            en1434=raw.meter.en1434,
            qp_m3_s=in_si(raw.meter.qp, "m3/s", f"{where}, meter", least=0.0),
            least_difference_k=in_si(raw.meter.least_difference, "K", f"{where}, meter", least=0.0),
        )
    return Loop(
        name=raw.name,
        title=raw.title or raw.name,
        fluid=water.checked(fluid, where),
        flow=raw.flow,
        warm=raw.warm,
        cool=raw.cool,
        flow_at=at,
        volume_m3=in_si(raw.volume, "m3", f"{where}, volume", least=0.0) if raw.volume else None,
        inlet={"warm": raw.warm, "cool": raw.cool}.get(raw.inlet, ""),
        meter=limits,
        note=raw.note,
    )


def check_flows(plant: Plant, texts: tuple[FlowText, ...], where: str) -> None:
    """Every name is a loop, or a sensor of power or energy. Raises BadInput."""
    usable = [*plant.loops, *(one.name for one in plant.sensors.values() if one.quantity in ("power", "energy"))]
    for one in flows(texts):
        if one.of not in usable:
            raise unknown("flow of energy", one.of, usable, where=where)
        if one.factor != 1.0 and not one.why:
            raise BadInput(f"the factor of {one.of!r} is not explained", where=where, hint='add why = "..."')


def _check_areas(plant: Plant, file: str) -> None:
    for area in plant.areas:
        where = f"{file}: area {area.name!r}"
        for texts in (area.it, area.infrastructure, area.total, area.reuse, area.saved, area.compute):
            check_flows(plant, texts, where)
        if not area.it:
            raise BadInput("there is no IT", where=where, hint="it = [...]: what the IT equipment takes")
        if bool(area.total) == bool(area.infrastructure):
            raise BadInput(
                "an area has either a total of its own or an infrastructure beside the IT",
                where=where,
                hint="total = [...] where one meter has it all; infrastructure = [...] where it is metered by itself",
            )
        twice = {one.of for one in flows(area.it)} & {one.of for one in flows(area.infrastructure)}
        if twice:
            raise BadInput(f"{min(twice)!r} counts as IT and as infrastructure", where=where, hint="one of them")
        reused = {one.of for one in flows(area.reuse)} & {one.of for one in flows(area.saved)}
        if reused:
            raise BadInput(
                f"{min(reused)!r} counts as reused outside and as saved inside",
                where=where,
                hint="what is used inside the boundary already lowers the total: it is not reuse",
            )


def _check_rest(plant: Plant, file: str) -> None:
    for cop in plant.cops:
        where = f"{file}: cop {cop.name!r}"
        check_flows(plant, cop.cold, where)
        check_flows(plant, cop.drive, where)
        if not (cop.cold and cop.drive and cop.includes):
            raise BadInput(
                "a COP needs cold, drive and includes", where=where, hint='includes = "pumps in, re-cooler fan out"'
            )
        if cop.cycle:
            in_si(cop.cycle, "s", f"{where}, cycle", least=0.0)
        for name in cop.against:
            _known(name, plant.sensors, "temperature", where)
    for balance in plant.balances:
        where = f"{file}: balance {balance.name!r}"
        check_flows(plant, balance.into, where)
        check_flows(plant, balance.out, where)
        if balance.losses:
            power_of(balance.losses.power, where)
            power_of(balance.losses.u, where)
        for stored in balance.stored:
            _known(stored.sensor, plant.sensors, "temperature", where)
            in_si(stored.capacity, "J/K", f"{where}, stored", least=0.0)
            in_si(stored.u, "1", f"{where}, stored", least=0.0)
    for line in plant.regressions:
        where = f"{file}: regression {line.name!r}"
        check_flows(plant, (line.y,), where)
        _known(line.x, plant.sensors, "temperature", where)
        in_si(line.average, "s", where)
        for text in (line.reference, line.at):
            if text:
                in_si(text, "degC", where)
    for figure in plant.figures:
        check_flows(plant, figure.flows, f"{file}: figure {figure.title!r}")
