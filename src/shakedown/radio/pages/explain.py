"""One link with every step: its profile drawn, each term of its loss with meaning and source, what the model warns of, the
paths of a ray through a town on its plan."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ...document.model import Block, Column, Document, Drawing, Figures, Section, Table, Text
from ...units import show
from . import profile, stated, town

if TYPE_CHECKING:
    from ..scene import LinkBudget, Radio
    from .profile import Profile
    from .stated import Made

#: Endings of the names of terms: the unit that is shown, and what a value is multiplied by.
_UNITS = (
    ("_db_per_m", "dB/m", 1.0),
    ("_db", "dB", 1.0),
    ("_dbm", "dBm", 1.0),
    ("_mrad", "mrad", 1.0),
    ("_rad", "mrad", 1000.0),
    ("_deg", "°", 1.0),
    ("_mhz", "MHz", 1.0),
    ("_km", "km", 1.0),
    ("_m", "m", 1.0),
    ("_n", "N-units", 1.0),
    ("_ns", "ns", 1.0),
)


class Explained(NamedTuple):
    """What the engine says of a link between two radios: ``Engine.explain``."""

    a: Radio
    b: Radio
    said: dict[str, Any]

    @property
    def loss_db(self) -> float | None:
        return self.said.get("loss_db")

    @property
    def error(self) -> str:
        return str(self.said.get("error") or "")

    @property
    def warnings(self) -> list[str]:
        return [str(one) for one in self.said.get("warnings") or ()]

    @property
    def terms(self) -> list[dict[str, Any]]:
        return list(self.said.get("terms") or ())

    def term(self, name: str) -> float | None:
        """The value of a term, None where the model has none of this name."""
        return next((one["value"] for one in self.terms if one["name"] == name), None)


def path_of(link: Explained, frequency_mhz: float) -> Profile | None:
    """The profile of a link; None where a height on it is not known."""
    import numpy as np

    heights = [math.nan if one is None else one for one in (link.said.get("profile") or {}).get("height_m") or ()]
    if len(heights) < 2 or not all(map(math.isfinite, heights)):
        return None
    horizons = _pair(link, "horizon_rad"), _pair(link, "horizon_m")
    both = horizons[0] is not None and horizons[1] is not None
    return profile.Profile(
        step_m=link.said["distance_m"] / (len(heights) - 1),
        ground_m=np.array(heights, np.float64),
        tx_m=link.a.place.height_m,
        rx_m=link.b.place.height_m,
        frequency_mhz=frequency_mhz,
        earth_m=float(link.said["effective_earth_radius_m"]),
        horizons=tuple(profile.Horizon(*one) for one in zip(*horizons, strict=True)) if both else None,  # type: ignore[arg-type]
        effective_m=_pair(link, "effective_height_m"),
        names=(link.a.name, link.b.name),
    )


def _pair(link: Explained, name: str) -> tuple[float, float] | None:
    one, other = link.term(f"tx_{name}"), link.term(f"rx_{name}")
    return (one, other) if one is not None and other is not None else None


# --------------------------------------------------------------------------------------------------------------- words


def sentences(link: Explained, budget: LinkBudget, path: Profile | None) -> Iterator[str]:
    """What there is to say of a link, the loss first."""
    length = show(link.said["distance_m"], "m", 4)
    if link.loss_db is None:
        why = link.error or "the model gives none"
        yield f"{link.a.name} and {link.b.name} are {length} apart; no loss is known: {why}."
    else:
        snr_db = budget.snr_db(link.loss_db)
        usable = link.loss_db <= budget.usable_loss_db
        margin = abs(budget.usable_loss_db - link.loss_db)
        yield (
            f"{link.loss_db:.2f} dB between {link.a.name} and {link.b.name}, which are {length} apart: SNR {snr_db:.1f} dB, "
            f"{'usable' if usable else 'not usable'} ({margin:.1f} dB {'to spare' if usable else 'too much loss'})."
        )
    if link.said.get("paths"):
        yield town.in_words(link.said["paths"], (link.a.name, link.b.name))
    elif path is not None and path.length_m > 0:
        yield profile.in_words(path)
    for warning in link.warnings:
        yield f"Warning: {warning}."


HEADINGS = ("term", "value", "sum", "meaning", "source")


def rows(link: Explained) -> list[tuple[str, str, str, str, str]]:
    """The terms: first those whose sum is the loss, with the sum so far, then the steps that led to them."""
    total = 0.0
    found = []
    summands = [one for one in link.terms if one.get("summand")]
    for one in (*summands, *(other for other in link.terms if not other.get("summand"))):
        name, value = in_unit(one["name"], one["value"])
        so_far = ""
        if one.get("summand") and one["value"] is not None:
            total += one["value"]
            so_far = f"{total:.2f} dB"
        found.append((name, value, so_far, str(one.get("meaning") or ""), str(one.get("source") or "")))
    return found


def in_unit(name: str, value: float | None) -> tuple[str, str]:
    """A term's name as words, and its value with its unit: ``tx_horizon_rad`` is ("tx horizon", "12.3 mrad")."""
    for ending, unit, factor in _UNITS:
        if name.endswith(ending):
            words = name.removesuffix(ending).replace("_", " ") + (" angle" if unit == "mrad" else "")
            return words, "not known" if value is None else f"{_rounded(value * factor, unit)} {unit}"
    return name.replace("_", " "), "not known" if value is None else f"{value:.6g}"


def _rounded(value: float, unit: str) -> str:
    if unit == "m" and abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if unit in ("dB", "dBm") else f"{value:.4g}"


# ---------------------------------------------------------------------------------------------------------------- page


def document(link: Explained, made: Made, *, version: str) -> Document:
    """The page."""
    path = path_of(link, made.setting.frequency_mhz)
    plan = town.plan(link.said, (link.a.name, link.b.name))
    drawn: list[Drawing] = [profile.drawing(path)] if path is not None and path.length_m > 0 else []
    kinds = ("text", "number", "number", "text", "text")
    steps = Table(
        title="Terms of the loss",
        columns=tuple(Column(head, kind) for head, kind in zip(HEADINGS, kinds, strict=True)),  # type: ignore[arg-type]
        rows=tuple(rows(link)),
        caption="The loss is the sum of the terms that have one beside them; the others are the steps that led to them.",
    )
    ends = Table(
        title="Ends",
        columns=(Column("radio"), *(Column(head, "number") for head in _ENDS)),
        rows=tuple(_end(link, radio, key) for radio, key in ((link.a, "from"), (link.b, "to"))),
    )
    blocks: list[Block] = [Figures(figures=tuple(drawn))] if drawn else []
    sections = [Section(id="profile", title="The path", short="Path", blocks=(*blocks, ends))]
    if plan is not None:
        sections.append(Section(id="town", title="Through the town", short="Town", blocks=plan))
    warned: tuple[Block, ...] = tuple(Text(text=f"{one}.") for one in link.warnings)
    sections.append(Section(id="terms", title="The loss, step by step", short="Terms", blocks=(steps,)))
    if warned:
        sections.append(Section(id="warnings", title="What the model warns of", short="Warnings", blocks=warned))
    loss = "no loss" if link.loss_db is None else f"{link.loss_db:.2f} dB"
    length = show(link.said["distance_m"], "m", 4)
    return Document(
        title=f"{link.a.name} to {link.b.name}: {loss}",
        subtitle=f"{made.setting.frequency_mhz:g} MHz, {length}, {link.said.get('model', '')}",
        state="computed" if link.loss_db is not None else "unknown",
        counts=(),
        lead=tuple(sentences(link, made.budget, path)),
        sections=(*sections, stated.section(made)),
        footer=f"Made by Shakedown {version}.",
    )


_ENDS = ("id", "latitude", "longitude", "above ground", "ground", "azimuth to the other")


def _end(link: Explained, radio: Radio, key: str) -> tuple[str, ...]:
    """A row of the table of ends."""
    said = link.said.get(key) or {}
    ground, azimuth = said.get("ground_m"), said.get("azimuth_deg")
    return (
        radio.name,
        str(radio.id),
        f"{radio.place.latitude_deg:.6f}",
        f"{radio.place.longitude_deg:.6f}",
        f"{radio.place.height_m:g} m",
        "not known" if ground is None else f"{ground:.1f} m",
        "not known" if azimuth is None else f"{azimuth:.1f}°",
    )
