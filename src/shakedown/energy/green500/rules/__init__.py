"""The rules of the EE HPC WG for a power submission, as data: one TOML a version, every parameter with its source.

    names() -> ids    load("eehpcwg-2.0") -> Rules    Rules.levels[0] is Level 1

Rules decide nothing here: ``levels.py`` does. A parameter that a version does not have is None (or empty), and the
checker then does not ask for it. Shares are fractions, times seconds, power watts.
"""

from __future__ import annotations

import functools
from typing import Literal

from ....errors import unknown
from ....records import Record

DEFAULT = "eehpcwg-2.0"


class Granularity(Record, frozen=True, kw_only=True):
    """Aspect 1a: how often the meter looks, inside itself."""

    samples_hz: float | None = None  # power samples a second
    integrated: bool = False  # an energy counter that never stops
    ac_waveform_hz: float | None = None  # how often voltage and current are sampled, AC
    dc_waveform_hz: float | None = None  # the same, DC
    source: str


class Timing(Record, frozen=True, kw_only=True):
    """Aspect 1b: which stretch is read how often."""

    window: Literal["core", "run"]  # what the readings must cover without a break
    interval_share: float | None = None  # the longest reading interval, of the core phase
    interval_s: float | None = None  # the longest reading interval
    readings: int = 0  # the least number in the core phase
    edge_s: float | None = None  # a counter's first and last reading may lie so far inside the core phase
    or_counter_edge_s: float | None = None  # a counter read so near both ends serves instead of interval and readings
    source: str


class ReportingRules(Record, frozen=True, kw_only=True):
    """Aspect 1c: which values are reported beside the mean power of the core phase."""

    run: bool = False  # the mean power (or energy) of the full run
    idle: bool = False  # of the idle system
    series: int = 0  # so many equal averages, or energy readings, within the core phase
    energy: bool = False  # energies, not averages
    source: str


class Fraction(Record, frozen=True, kw_only=True):
    """Aspect 2: how much of the compute subsystem is measured: whole, or the largest of three, or ``or_w``."""

    whole: bool = False
    share: float = 1.0
    power_w: float = 0.0
    nodes: int = 0
    or_w: float | None = None  # so many watts suffice
    set_share: float = 1.0  # of each heterogeneous set
    source: str


class Subsystems(Record, frozen=True, kw_only=True):
    """Aspect 3: what must be measured, and what must at least be estimated."""

    measured: Literal["compute", "all"]
    accounted: Literal["compute and interconnect", "all"]
    source: str


class Location(Record, frozen=True, kw_only=True):
    """Aspect 4a: which knowledge of the conversion loss suffices where a meter sits downstream of it."""

    loss: tuple[Literal["maker", "offline", "simultaneous"], ...]
    loss_every_s: float | None = None  # of the simultaneous measurement
    source: str


class MeterAccuracy(Record, frozen=True, kw_only=True):
    """Aspect 4b: how accurate the meters are."""

    at_most: float
    several_each: float | None = None  # of n meters with equal shares: each; and each over sqrt(n) at most ``at_most``
    standards: tuple[str, ...] = ()  # accepted whatever the number
    source: str


class Level(Record, frozen=True, kw_only=True):
    granularity: Granularity
    timing: Timing
    report: ReportingRules
    fraction: Fraction
    subsystems: Subsystems
    location: Location
    meter: MeterAccuracy


class Core(Record, frozen=True, kw_only=True):
    """What holds at every level."""

    at_least_s: float
    source: str


class Readings(Record, frozen=True, kw_only=True):
    """How readings are counted and averaged."""

    overlap: bool = False  # readings that lie partly inside may be weighted by the part; otherwise they are left out
    half_second: bool = False  # stamps in whole seconds may be moved by half a second
    true_refresh: bool = False  # repeated readings count at the rate at which the meter really makes values
    source: str


class Tolerance(Record, frozen=True, kw_only=True):
    """What the document leaves to judgement; these are this program's own."""

    unequal: float  # how far an interval may depart from the median, as a share of it, before intervals are not equal
    missing: float  # the share of a window without readings that still counts as covered
    source: str


class Rules(Record, frozen=True, kw_only=True):
    id: str
    title: str
    document: str
    draft: bool = False
    core: Core
    readings: Readings
    tolerance: Tolerance
    level_1: Level
    level_2: Level
    level_3: Level

    @property
    def levels(self) -> tuple[Level, Level, Level]:
        return self.level_1, self.level_2, self.level_3


def names() -> tuple[str, ...]:
    """The ids of all rule sets, sorted."""
    from importlib import resources

    found = (file.name for file in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


@functools.cache
def load(name: str = DEFAULT) -> Rules:
    """A rule set by its id. Raises BadInput with the nearest id."""
    from importlib import resources

    from .... import strict

    if name not in names():
        raise unknown("rule set", name, names())
    file = f"{name}.toml"
    text = (resources.files(__name__) / file).read_text(encoding="utf-8")
    return strict.convert(strict.read_toml(text, file), Rules, file, hint="see the records of energy/rules")
