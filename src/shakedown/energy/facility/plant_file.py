"""The description of a plant: one TOML file, strict. docs/facility.md goes through it.

    title = "..."      zone = "Europe/Berlin"   for stamps without an offset      published = "lrz-coolmuc"
    [[sensor]]         name, file, column, unit, accuracy: one series of readings
    [[pair]]           sensors = [a, b], difference = "0.03 K": matched thermometers
    [[loop]]           flow, warm, cool, flow_at, fluid, volume, inlet: from water to heat
    [[area]]           it, infrastructure or total, reuse, saved, compute: what PUE and its like are made of
    [[cop]]            cold, drive, kind, includes, cycle
    [[balance]]        into, out, losses, stored: what must agree
    [[regression]]     y against x, and against the averages of others
    [[figure]]         what the page draws besides

A *flow* in this file is a sensor of power, a sensor of energy (a counter) or a loop's heat: ``"it"``, or with a factor
``{ of = "chilled", factor = 0.3, why = "..." }``.
"""

from __future__ import annotations

from typing import Literal

from ...metering.meters import Place
from ...records import Record
from ...strict import NotNegative, Share
from . import water


class AccuracyText(Record, frozen=True, kw_only=True):
    """+-(reading x value + full_scale x range + absolute): ``reading = "1.5 %"``, ``absolute = "0.1 K"``."""

    reading: str = ""
    full_scale: str = ""
    absolute: str = ""
    kind: Literal["bound", "sigma", "fwhm"] = "bound"
    source: str = ""


class SensorText(Record, frozen=True, kw_only=True):
    name: str
    file: str
    column: str
    unit: str
    title: str = ""
    time: str = "time"
    accuracy: AccuracyText | None = None
    range: tuple[str, str] | None = None
    scope: Literal["point", "last", "next", "counter"] = "point"
    place: Place = "facility"
    delay: str = ""
    lag: str = ""
    most_gap: str = ""
    note: str = ""


class Pair(Record, frozen=True, kw_only=True):
    """Two thermometers that were matched: what they share cancels in their difference, which is known to +- so much."""

    sensors: tuple[str, str]
    difference: str


class MeterClass(Record, frozen=True, kw_only=True):
    """A heat meter as a whole, by EN 1434-1: its class (1, 2, 3), q_p and the least difference of temperature."""

    en1434: Literal[1, 2, 3]
    qp: str
    least_difference: str


class FluidText(Record, frozen=True, kw_only=True):
    kind: water.Kind = "water"
    concentration: Share = 0.0
    u_concentration: NotNegative = 0.0


class LoopText(Record, frozen=True, kw_only=True):
    name: str
    flow: str
    warm: str
    cool: str
    flow_at: str  # "warm", "cool" or the name of a thermometer
    title: str = ""
    fluid: FluidText = FluidText()
    volume: str = ""  # between the thermometers
    inlet: Literal["", "warm", "cool"] = ""  # which thermometer the water passes first
    meter: MeterClass | None = None
    note: str = ""


class Flow(Record, frozen=True, kw_only=True):
    """A flow of energy by name, times an exact factor."""

    of: str
    factor: float = 1.0
    why: str = ""


FlowText = str | Flow


class AreaText(Record, frozen=True, kw_only=True):
    """What a boundary is drawn around. ``whole``: a data centre (PUE, ERE, ERF), else a part of one (pPUE, pERE)."""

    name: str
    it: tuple[FlowText, ...]
    whole: bool = False
    infrastructure: tuple[FlowText, ...] = ()
    total: tuple[FlowText, ...] = ()
    reuse: tuple[FlowText, ...] = ()
    saved: tuple[FlowText, ...] = ()
    compute: tuple[FlowText, ...] = ()
    it_metered_at: Literal["", "UPS output", "PDU output", "IT input"] = ""
    note: str = ""


class CopText(Record, frozen=True, kw_only=True):
    name: str
    cold: tuple[FlowText, ...]
    drive: tuple[FlowText, ...]
    kind: Literal["compression", "thermal", "electric"]
    includes: str  # which pumps and fans are in, and which are not
    cycle: str = ""  # how long the machine's own cycle is: less than five of them are no window
    against: tuple[str, ...] = ()  # sensors of temperature that it is laid over


class Losses(Record, frozen=True, kw_only=True):
    power: str
    u: str
    why: str = ""


class Stored(Record, frozen=True, kw_only=True):
    """What stores heat: all that follows the temperature of a sensor, its water too."""

    capacity: str  # "500 kJ/K"
    sensor: str
    u: str = "20 %"


class BalanceText(Record, frozen=True, kw_only=True):
    name: str
    into: tuple[FlowText, ...]
    out: tuple[FlowText, ...]
    losses: Losses | None = None
    stored: tuple[Stored, ...] = ()


class RegressionText(Record, frozen=True, kw_only=True):
    """``y`` (a flow of energy, as power) against ``x`` (a sensor). ``reference``: where the percentages count from."""

    name: str
    y: str
    x: str
    reference: str = ""
    at: str = ""
    average: str = "30 min"
    bends: int = 0
    own_time: bool = False  # an experiment of its own: all its readings are taken, whatever the window


class FigureText(Record, frozen=True, kw_only=True):
    """Powers over time in one figure, averaged as the page averages."""

    title: str
    flows: tuple[FlowText, ...]


class PlantFile(Record, frozen=True, kw_only=True):
    """The file, key for key."""

    title: str
    zone: str = ""
    published: str = ""
    note: str = ""
    sensor: tuple[SensorText, ...]
    pair: tuple[Pair, ...] = ()
    loop: tuple[LoopText, ...] = ()
    area: tuple[AreaText, ...] = ()
    cop: tuple[CopText, ...] = ()
    balance: tuple[BalanceText, ...] = ()
    regression: tuple[RegressionText, ...] = ()
    figure: tuple[FigureText, ...] = ()
