"""The records of a radio scene: where radios stand, what the model of losses is told, what a loss leaves of a signal.

Angles are degrees on WGS84, heights metres above ground, losses dB between isotropic antennas. A record that cannot be
true raises BadInput when it is made, read from a file or not.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec

from ..errors import BadInput
from ..records import Record

#: Ids of radios are those of EMANE's NEMs: 16 bits, where 0 means all and 65,535 is the broadcast address.
FIRST_ID, LAST_ID = 1, 65534
#: Thermal noise of a receiver at 290 K (the reference temperature of a noise figure), dBm in 1 Hz: k T in mW.
THERMAL_NOISE_DBM_PER_HZ = 10 * math.log10(1.380649e-23 * 290 * 1000)
#: Points of a profile where neither their number nor their spacing is given.
DEFAULT_POINTS = 500

Polarization = Literal["horizontal", "vertical"]


class Place(Record, frozen=True, kw_only=True):
    """Where an antenna is: latitude north, longitude east (-180 to 360), height above ground."""

    latitude_deg: float
    longitude_deg: float
    height_m: float

    def __post_init__(self) -> None:
        _within(self.latitude_deg, -90, 90, "latitude_deg")
        _within(self.longitude_deg, -180, 360, "longitude_deg")
        if not (math.isfinite(self.height_m) and self.height_m > 0):
            raise BadInput(f"height_m = {self.height_m:g}", where="place", hint="give metres above ground, more than 0")


class Radio(Record, frozen=True, kw_only=True):
    """A radio by its id (EMANE's NEM id) and name."""

    id: Annotated[int, msgspec.Meta(ge=FIRST_ID, le=LAST_ID)]
    name: str
    place: Place

    def __post_init__(self) -> None:
        if not FIRST_ID <= self.id <= LAST_ID:
            raise BadInput(f"id = {self.id}", where=f"radio {self.name!r}", hint=f"give {FIRST_ID} to {LAST_ID}")


class RadioSetting(Record, frozen=True, kw_only=True):
    """What all links have in common. ``model`` is a name that the engine knows, with what is added to it ("itm+gas"); the
    other entries are those of the Irregular Terrain Model (native/radio/itm.hpp), of which each model takes what it needs.

    A profile has ``points`` heights with both ends, or heights at most ``spacing_m`` apart; neither: DEFAULT_POINTS.
    ``climate``: 1 equatorial, 2 continental subtropical, 3 maritime subtropical, 4 desert, 5 continental temperate,
    6 maritime temperate over land, 7 over sea. ``variability_mode``: 0 single message, 1 accidental, 2 mobile,
    3 broadcast; +10 leaves the variability of locations out, +20 that of situations.
    """

    model: str = "itm"
    frequency_mhz: float = 450.0
    polarization: Polarization = "vertical"
    climate: int = 5
    refractivity_n: float = 301.0  # of the surface, reduced to sea level
    permittivity: float = 15.0  # of the ground, relative
    conductivity_s_per_m: float = 0.005
    variability_mode: int = 12
    time_percent: float = 50.0
    location_percent: float = 50.0
    situation_percent: float = 50.0
    points: int | None = None
    spacing_m: float | None = None
    #: What other models read, by name (``shakedown radio models``): loss_exponent, surroundings, wood_depth_m, ...
    parameters: dict[str, float | str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.points is not None and self.spacing_m is not None:
            raise _wrong("points and spacing_m are both given", "give one of them")
        if self.points is not None and not 3 <= self.points <= 20_000:
            raise _wrong(f"points = {self.points}", "give 3 to 20000")
        if self.spacing_m is not None and not 0.1 <= self.spacing_m <= 10_000:
            raise _wrong(f"spacing_m = {self.spacing_m:g}", "give 0.1 to 10000")
        if not 1 <= self.climate <= 7:
            raise _wrong(f"climate = {self.climate}", "give 1 (equatorial) to 7 (maritime temperate over sea)")
        if self.variability_mode // 10 not in (0, 1, 2, 3) or self.variability_mode % 10 > 3:
            raise _wrong(f"variability_mode = {self.variability_mode}", "give 0 to 3, and 10, 20 or 30 more")
        if self.polarization not in ("horizontal", "vertical"):
            raise _wrong(f"polarization = {self.polarization!r}", "give 'horizontal' or 'vertical'")
        for name, value in (("frequency_mhz", self.frequency_mhz), ("conductivity_s_per_m", self.conductivity_s_per_m)):
            if not (math.isfinite(value) and value > 0):
                raise _wrong(f"{name} = {value:g}", "give a number above 0")
        _within(self.refractivity_n, 250, 400, "refractivity_n")
        if not (math.isfinite(self.permittivity) and self.permittivity >= 1):
            raise _wrong(f"permittivity = {self.permittivity:g}", "give a number from 1 on")
        for name in ("time_percent", "location_percent", "situation_percent"):
            if not 0 < getattr(self, name) < 100:
                raise _wrong(f"{name} = {getattr(self, name):g}", "give more than 0 and less than 100")


class LinkBudget(Record, frozen=True, kw_only=True):
    """What a loss leaves of a signal. The noise is thermal, at 290 K, over the bandwidth, and the receiver's own."""

    tx_power_dbm: float = 37.0
    tx_gain_dbi: float = 0.0
    rx_gain_dbi: float = 0.0
    noise_figure_db: float = 6.0
    bandwidth_hz: float = 1e6
    required_snr_db: float = 10.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not math.isfinite(getattr(self, name)):
                raise BadInput(f"{name} = {getattr(self, name)}", where="link budget", hint="give a finite number")
        if self.bandwidth_hz <= 0:
            raise BadInput(f"bandwidth_hz = {self.bandwidth_hz:g}", where="link budget", hint="give more than 0")

    @property
    def noise_dbm(self) -> float:
        """The noise that a signal is received in."""
        return THERMAL_NOISE_DBM_PER_HZ + 10 * math.log10(self.bandwidth_hz) + self.noise_figure_db

    @property
    def usable_loss_db(self) -> float:
        """The largest loss at which the required ratio of signal to noise is still met."""
        return self.snr_db(0.0) - self.required_snr_db

    def snr_db(self, loss_db: float) -> float:
        """The ratio of signal to noise behind a loss."""
        return self.tx_power_dbm + self.tx_gain_dbi + self.rx_gain_dbi - loss_db - self.noise_dbm


def _within(value: float, least: float, most: float, name: str) -> None:
    """Raises BadInput where a number is outside of a range, or none."""
    if not least <= value <= most:
        raise BadInput(f"{name} = {value:g}", where="radio scene", hint=f"give {least:g} to {most:g}")


def _wrong(what: str, hint: str) -> BadInput:
    return BadInput(what, where="radio setting", hint=hint)
