"""The two ways in which a setting is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ..host import Door
from ..records import Setting
from .kernel import read_int


def setting(name: str, value: str | None, state: str, effect: str, advice: str = "") -> Setting:
    """A setting whose state is one of good, warn, unknown, info. Raises ValueError for any other word."""
    if state not in ("good", "warn", "unknown", "info"):
        raise ValueError(f"{state!r} is no state of a setting")
    return Setting(name=name, value=value, state=cast("object", state), effect=effect, advice=advice)  # type: ignore[arg-type]


def from_number(door: Door, name: str, path: str, states: Mapping[int, tuple[str, str]], effect: str,
                other: tuple[str, str] = ("info", "")) -> tuple[Setting, ...]:
    """The setting that a file's number decides: ``states`` maps it to state and advice, ``other`` is for the rest."""
    value = read_int(door, path)
    if value is None:
        return (setting(name, None, "unknown", effect, f"{path} cannot be read"),)
    state, advice = states.get(value, other)
    return (setting(name, str(value), state, effect, advice),)
