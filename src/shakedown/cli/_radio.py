"""The options that the verbs of `shakedown radio` share, each declared here: radios, ground, town, model, budget, engine.

    app.command("links", cls=options("radios", "ground", "town", "model", "budget", "engine"))(command)

gives a verb the groups that it names; ``given(ctx)`` is what was said of them, of which ``radios``, ``ground_and_town``,
``setting`` and ``budget`` make records. The model's options and the budget's are the fields of their records, with their
defaults.
Nothing is loaded before such a verb is called.
"""

from __future__ import annotations

import inspect
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand

from . import _options

if TYPE_CHECKING:
    from ..radio.buildings import Town
    from ..radio.scene import LinkBudget, Radio, RadioSetting
    from ..radio.terrain import Terrain

_GIVEN = "shakedown.radio"


class Option(NamedTuple):
    """An option: its type, its help, its default, and its name where that is not the key's with dashes."""

    kind: Any
    help: str
    default: Any = None
    name: str = ""


RADIOS = {
    "radios": Option(Path, "A file of radios: CSV, JSON or GeoJSON; docs/radio.md shows each. Default: --synthetic."),
    "synthetic": Option(int, "So many radios at random places, by --seed. Default, where no file is given: 20."),
    "antenna_m": Option(float, "Height above ground, in m, of radios that are given none.", 2.0),
}
GROUND = {
    "terrain": Option(
        list[Path], "Heights of the ground: SRTM HGT, GeoTIFF, DTED; may be given again. Default: made by --seed."
    ),
    "fill": Option(bool, "Close holes in the heights between their neighbours; else links over a hole have no loss."),
    "seed": Option(int, "Of terrain and places that are made.", 1),
    "side_km": Option(
        float, "How far the terrain that is made reaches from north to south and from west to east.", 30.0
    ),
    "relief_m": Option(float, "From its lowest to its highest point.", 600.0),
}
TOWN = {
    "buildings": Option(Path, "A town for `--model rays`: GeoJSON, outlines with heights; docs/radio-towns.md."),
    "synthetic_town": Option(int, "Or houses in blocks between streets, made by this seed."),
    "houses": Option(int, "So many of them.", 400),
}
#: What the fields of RadioSetting are, in this order.
MODEL = {
    "model": "The model of losses; `shakedown radio models` lists them.",
    "frequency_mhz": "In MHz.",
    "polarization": "vertical or horizontal.",
    "climate": "1 equatorial, 2 continental subtropical, 3 maritime subtropical, 4 desert, 5 continental temperate, "
    "6 maritime temperate over land, 7 over sea.",
    "refractivity_n": "Of the surface, reduced to sea level, in N-units.",
    "permittivity": "Of the ground, relative.",
    "conductivity_s_per_m": "Of the ground, in S/m.",
    "variability_mode": "0 single message, 1 accidental, 2 mobile, 3 broadcast; +10 without that of locations, +20 "
    "without that of situations.",
    "time_percent": "The share of time in which the loss is not exceeded.",
    "location_percent": "And of locations.",
    "situation_percent": "And of situations (confidence).",
    "points": "Heights of a profile. Default: 500.",
    "spacing_m": "Or the largest distance between them, in m.",
    "parameters": "A further value that the model reads, NAME=VALUE; may be given again. `shakedown radio models` has them.",
}
#: And those of LinkBudget.
BUDGET = {
    "tx_power_dbm": "Power of a transmitter, in dBm.",
    "tx_gain_dbi": "Gain of its antenna, in dBi.",
    "rx_gain_dbi": "And of the receiver's.",
    "noise_figure_db": "Of a receiver, in dB.",
    "bandwidth_hz": "Of a signal, in Hz.",
    "required_snr_db": "The least ratio of signal to noise that a link is usable with, in dB.",
}
ENGINE = {
    "threads": Option(int, "Threads of the engine. Default: one a core."),
    "precision": Option(str, "fp32 or fp64.", "fp32"),
}


def options(*groups: str) -> type[TyperCommand]:
    """A verb with the options of these groups, after its own."""

    class Command(TyperCommand):
        """A verb with shared options; what was given of them is asked for by ``given``."""

        def get_params(self, ctx: Any) -> list[Any]:
            if not any(param.name == _LAST for param in self.params):
                self.params.extend(_params(groups))
            return super().get_params(ctx)

    return Command


_LAST = "radio_options"


def declared(group: str) -> dict[str, Option]:
    """The options of a group: field -> option."""
    import msgspec

    from ..radio.scene import LinkBudget, RadioSetting

    if group not in ("model", "budget"):
        return {"radios": RADIOS, "ground": GROUND, "town": TOWN, "engine": ENGINE}[group]
    record, helps = (RadioSetting, MODEL) if group == "model" else (LinkBudget, BUDGET)
    kinds = {"points": int, "spacing_m": float}
    found = {}
    for field in msgspec.structs.fields(record):
        if field.name == "parameters":
            found[field.name] = Option(list[str], helps[field.name], name="--parameter")
            continue
        kind = kinds.get(field.name) or type(field.default)
        found[field.name] = Option(kind, helps[field.name], field.default)
    return found


def _params(groups: tuple[str, ...]) -> list[Any]:
    """The parameters, as typer makes them of a function that has them all."""
    parameters = []
    for group in groups:
        for field, option in declared(group).items():
            name = option.name or f"--{field.replace('_', '-')}"
            kind: Any = bool if option.kind is bool else option.kind | None
            hint: Any = Annotated[kind, typer.Option(name, metavar=_metavar(option), help=_help(option))]
            default = False if option.kind is bool else None
            parameters.append(
                inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
            )
    hidden: Any = Annotated[bool, typer.Option(f"--{_LAST.replace('_', '-')}", hidden=True)]
    parameters.append(inspect.Parameter(_LAST, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=hidden))
    return _options.params(parameters, _keep)


def _metavar(option: Option) -> str | None:
    return "FILE" if option.kind in (Path, list[Path]) else None


def _help(option: Option) -> str:
    if option.default is None:
        return option.help
    shown = f"{option.default:g}" if isinstance(option.default, float) else option.default
    return f"{option.help} Default: {shown}."


def _keep(ctx: Any, param: Any, value: Any) -> Any:
    ctx.meta.setdefault(_GIVEN, {})[param.name] = value
    return value


def given(ctx: typer.Context) -> dict[str, Any]:
    """What was given of the shared options: field -> value, without those that were not."""
    absent = (None, False)
    said = ctx.meta.get(_GIVEN, {}).items()
    return {name: value for name, value in said if not any(value is one for one in absent) and value not in ((), [])}


# ------------------------------------------------------------------------------------------------------------- records


def setting(said: dict[str, Any]) -> RadioSetting:
    """The model's setting. Raises BadInput."""
    from ..radio.scene import RadioSetting

    values = {name: said[name] for name in MODEL if name in said}
    if "parameters" in values:
        values["parameters"] = dict(_parameter(text) for text in values["parameters"])
    return RadioSetting(**values)


def _parameter(text: str) -> tuple[str, float | str]:
    """The name and value of NAME=VALUE. Raises BadInput."""
    from ..errors import BadInput

    name, equals, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if not (name.isidentifier() and equals and value.strip()):
        raise BadInput(f"{text!r} is not NAME=VALUE", where="--parameter", hint="--parameter wood_depth_m=50")
    if name in MODEL:
        raise BadInput(
            f"{name} has an option of its own", where="--parameter", hint=f"--{name.replace('_', '-')} {value}"
        )
    try:
        return name, float(value)
    except ValueError:
        return name, value.strip()


def budget(said: dict[str, Any]) -> LinkBudget:
    """The link budget. Raises BadInput."""
    from ..radio.scene import LinkBudget

    return LinkBudget(**{name: said[name] for name in BUDGET if name in said})


def ground_and_town(said: dict[str, Any]) -> tuple[Terrain, Town | None]:
    """The terrain, and the town on it where one was given. Raises BadInput."""
    from ..errors import BadInput
    from ..radio import buildings

    if "synthetic_town" not in said:
        if "houses" in said:
            raise BadInput("--houses is about a town that is made", hint="give --synthetic-town SEED too")
        town = buildings.read(said["buildings"]) if "buildings" in said else None
        return ground(said, town), town
    if "buildings" in said:
        raise BadInput("--buildings and --synthetic-town are both given", hint="give one of them")
    seed, houses = said["synthetic_town"], said.get("houses", TOWN["houses"].default)
    if "terrain" not in said:
        town = buildings.synthetic(seed, buildings=houses)
        return ground(said, town), town
    found = ground(said)
    middle = (found.south_deg + found.north_deg) / 2, (found.west_deg + found.east_deg) / 2
    return found, buildings.synthetic(seed, buildings=houses, latitude_deg=middle[0], longitude_deg=middle[1])


def ground(said: dict[str, Any], town: Town | None = None) -> Terrain:
    """The terrain of the files that were given, or one that is made: flat around a town, unless --relief-m is given. Raises
    BadInput."""
    from ..errors import BadInput
    from ..radio import terrain

    if files := said.get("terrain"):
        for name in ("side_km", "relief_m"):
            if name in said:
                option = f"--{name.replace('_', '-')}"
                raise BadInput(f"{option} is about terrain that is made, and files were given", hint="leave one out")
        found = terrain.read(files)
    else:
        found = _made(said, town)
    return terrain.filled(found) if said.get("fill") else found


def _made(said: dict[str, Any], town: Town | None) -> Terrain:
    from ..radio import buildings
    from ..radio.terrain import made

    side_km = _positive(said, "side_km")
    seed = said.get("seed", GROUND["seed"].default)
    if town is None:
        return made.square(seed, side_km=side_km, relief_m=said.get("relief_m", GROUND["relief_m"].default))
    chosen = side_km if "side_km" in said else None
    return buildings.ground(town, seed=seed, side_km=chosen, relief_m=said.get("relief_m", 0.0))


def _positive(said: dict[str, Any], name: str) -> float:
    from ..errors import BadInput

    value = float(said.get(name, {**RADIOS, **GROUND}[name].default))
    if not (math.isfinite(value) and value > 0):
        raise BadInput(f"{value:g} is not above 0", where=f"--{name.replace('_', '-')}", hint="give a number above 0")
    return value


def radios(said: dict[str, Any], terrain: Terrain, town: Town | None = None) -> tuple[Radio, ...]:
    """The radios of the file that was given, or some at random on the terrain and in no building. Raises BadInput."""
    from ..errors import BadInput
    from ..radio import radios as reading

    height_m = _positive(said, "antenna_m")
    if "radios" not in said:
        bounds = (terrain.south_deg, terrain.west_deg, terrain.north_deg, terrain.east_deg)
        seed = said.get("seed", GROUND["seed"].default)
        return reading.scattered(said.get("synthetic", 20), seed, bounds, height_m, town)
    if "synthetic" in said:
        raise BadInput("--radios and --synthetic are both given", hint="give one of them")
    return reading.read(said["radios"], height_m)
