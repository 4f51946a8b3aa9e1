"""The two ways in which a setting is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ..hosts.access import HostAccess
from ..records import Setting
from .kernel import read_int

State = Literal["good", "warn", "unknown", "info"]


def setting(name: str, value: str | None, state: State, effect: str, advice: str = "") -> Setting:
    """A setting; one without a value is "unknown" whatever was asked, so that absence never passes for good."""
    return Setting(name=name, value=value, state="unknown" if value is None else state, effect=effect, advice=advice)


def from_number(
    door: HostAccess,
    name: str,
    path: str,
    states: Mapping[int, tuple[State, str]],
    effect: str,
    other: tuple[State, str] = ("info", ""),
) -> tuple[Setting, ...]:
    """The setting that a file's number decides: ``states`` maps it to state and advice, ``other`` is for the rest."""
    value = read_int(door, path)
    if value is None:
        return (setting(name, None, "unknown", effect, f"{path} cannot be read"),)
    state, advice = states.get(value, other)
    return (setting(name, str(value), state, effect, advice),)
