"""What each page says of how its numbers were made: model, ground, geodesics, budget, what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...document.model import Block, Facts, Section, Text

if TYPE_CHECKING:
    from ..buildings import Town
    from ..scene import LinkBudget, RadioSetting
    from ..terrain import Terrain

_CLIMATES = (
    "equatorial",
    "continental subtropical",
    "maritime subtropical",
    "desert",
    "continental temperate",
    "maritime temperate over land",
    "maritime temperate over sea",
)
_MODES = ("single message", "accidental", "mobile", "broadcast")
_MODELS = {"itm": "Irregular Terrain Model (Longley-Rice, version 1.4 of NTIA), point to point"}


class Made(NamedTuple):
    """How the losses of a page were found."""

    setting: RadioSetting
    budget: LinkBudget
    terrain: Terrain
    precision: str
    left_out: tuple[str, ...] = ()  # a sentence each
    town: Town | None = None


def section(made: Made) -> Section:
    """The section of a page."""
    blocks: list[Block] = [
        *(Text(text=sentence) for sentence in paths(made)),
        Facts(title="Model", pairs=tuple(model(made.setting))),
        Facts(title="Ground", pairs=tuple(ground(made.terrain, made.setting))),
        *([Facts(title="Town", pairs=tuple(town(made.town)))] if made.town else []),
        Facts(title="Link budget", pairs=tuple(budget(made.budget))),
    ]
    return Section(id="made", title="How the losses were found", short="Method", blocks=tuple(blocks))


def model(setting: RadioSetting) -> list[tuple[str, str]]:
    """Names and values of the model's setting; those of the Irregular Terrain Model where it is the one."""
    further = [(name.replace("_", " "), str(value)) for name, value in setting.parameters.items()]
    common = [
        ("Model", _MODELS.get(setting.model, setting.model)),
        ("Frequency", f"{setting.frequency_mhz:g} MHz"),
        ("Polarization", setting.polarization),
    ]
    if setting.model.partition("+")[0] != "itm":
        return [*common, *further]
    mode = setting.variability_mode
    without = [name for name, least in (("locations", 10), ("situations", 20)) if mode // 10 * 10 in (least, 30)]
    variability = _MODES[mode % 10] + (f", without that of {' and '.join(without)}" if without else "")
    shares = (
        (setting.time_percent, "time"),
        (setting.location_percent, "locations"),
        (setting.situation_percent, "situations"),
    )
    return [
        *common,
        ("Climate", f"{setting.climate}, {_CLIMATES[setting.climate - 1]}"),
        ("Refractivity", f"{setting.refractivity_n:g} N-units at sea level"),
        ("Constants", f"permittivity {setting.permittivity:g}, conductivity {setting.conductivity_s_per_m:g} S/m"),
        ("Variability", variability),
        *further,
        ("Not exceeded in", ", ".join(f"{share:g} % of {name}" for share, name in shares)),
    ]


def ground(terrain: Terrain, setting: RadioSetting) -> list[tuple[str, str]]:
    """Names and values of the terrain and of what is read from it."""
    holes = terrain.count_holes()
    share = holes / terrain.heights.size
    step = terrain.step_latitude_deg * 3600, terrain.step_longitude_deg * 3600
    kept = "float32" if terrain.heights.dtype.kind == "f" else f"int16, steps of {terrain.scale_m:.3g} m"
    profile = f"{setting.points} heights" if setting.points else "500 heights"
    if setting.spacing_m:
        profile = f"heights at most {setting.spacing_m:g} m apart"
    return [
        ("Heights from", terrain.source or "not known"),
        ("Grid", f'{terrain.rows:,} x {terrain.columns:,} points, {step[0]:.4g}" x {step[1]:.4g}"'),
        (
            "Area",
            f"{_angle(terrain.south_deg, 'NS')} to {_angle(terrain.north_deg, 'NS')}, "
            f"{_angle(terrain.west_deg, 'EW')} to {_angle(terrain.east_deg, 'EW')}",
        ),
        ("Heights kept as", kept),
        ("Holes", "none" if not holes else f"{holes:,} points ({share:.2%})"),
        ("Profile", profile),
        *(("Note", note) for note in terrain.notes),
    ]


def town(town: Town) -> list[tuple[str, str]]:
    """Names and values of the buildings."""
    return [
        ("Buildings from", town.source or "not known"),
        ("Buildings", f"{len(town.buildings):,}, {2 * town.reach_m / 1000:.2f} km across"),
        *(("Note", note) for note in town.notes),
    ]


def budget(budget: LinkBudget) -> list[tuple[str, str]]:
    """Names and values of the link budget, with what follows from it."""
    return [
        ("Transmitter", f"{budget.tx_power_dbm:g} dBm, antenna {budget.tx_gain_dbi:g} dBi"),
        ("Receiver", f"antenna {budget.rx_gain_dbi:g} dBi, noise figure {budget.noise_figure_db:g} dB"),
        ("Bandwidth", _hertz(budget.bandwidth_hz)),
        ("Noise", f"{budget.noise_dbm:.1f} dBm (thermal at 290 K, and the receiver's)"),
        ("Required SNR", f"{budget.required_snr_db:g} dB"),
        ("Usable loss", f"up to {budget.usable_loss_db:.1f} dB"),
    ]


def paths(made: Made) -> list[str]:
    """How a path goes over the ground, and what is not in a loss."""
    houses = "the houses that the town does not hold" if made.town else "houses that the heights do not hold"
    sentences = [
        "Paths are geodesics on WGS84. Heights of a profile are read at equal steps along them, bilinear between the points "
        "of the grid, from the file's vertical datum. The curvature of the Earth and the bending of rays in the atmosphere "
        "are the model's, by an effective radius of the Earth. Antennas stand at their heights above this ground.",
        f"Losses are between isotropic antennas, found in {made.precision}; antenna gains are in the link budget alone, the "
        f"same in all directions. Interference, fading beyond the model's variability, trees and {houses}, rain and gas are "
        "not in them unless the model says so.",
    ]
    return [*sentences, *made.left_out]


def _angle(degrees: float, letters: str) -> str:
    return f"{abs(degrees):.4f}° {letters[degrees < 0]}"


def _hertz(value: float) -> str:
    from ...units import show

    return show(value, "Hz")


def lead(sentences: Sequence[str]) -> tuple[str, ...]:
    """Sentences of a page's head, without empty ones."""
    return tuple(sentence for sentence in sentences if sentence)
