"""Colours, sizes and type of the drawings: each colour by its use, light and dark."""

from __future__ import annotations

from typing import Any

Spec = dict[str, Any]

WIDTH, HEIGHT = 440, 270
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"

#: Each colour by its use, light and dark. No two are equal: a page finds a mark by its colour.
PALETTE: dict[str, tuple[str, str]] = {
    "ink": ("#1b2027", "#e4e8ee"),
    "muted": ("#58636f", "#9ba8b7"),
    "grid": ("#e2e6eb", "#2c343e"),
    "region": ("#eef1f5", "#1d242c"),
    "limit": ("#59616b", "#a3adb8"),
    "published": ("#6b3fb8", "#bda4ff"),
    "series1": ("#0b63c4", "#6ab0ff"),
    "series2": ("#c2500a", "#ffa25e"),
    "series3": ("#0a7d6b", "#45d1b9"),
    "series4": ("#b5286f", "#ff8ac0"),
    "series5": ("#8a6a00", "#e3c04a"),
    "series6": ("#3c7a1a", "#93d15f"),
    "series7": ("#b3261e", "#ff8d84"),
    "series8": ("#3f5468", "#b3c4d6"),
    "heat1": ("#e6f0fa", "#12283f"),
    "heat2": ("#c6def2", "#163a5e"),
    "heat3": ("#9cc6e6", "#1c4f80"),
    "heat4": ("#6aa8d6", "#2867a4"),
    "heat5": ("#3c86bf", "#3f83c6"),
    "heat6": ("#1c639e", "#6aa6df"),
    "heat7": ("#0b3f6f", "#a5cdf3"),
    "heat-ink1": ("#1b2028", "#e4e8ef"),
    "heat-ink2": ("#fdfeff", "#0c1116"),
}


def colour(name: str) -> str:
    """The light colour of that use."""
    return PALETTE[name][0]


def dark_rules(scope: str) -> str:
    """The CSS that turns the drawings below ``scope`` dark."""
    rules = []
    for light, dark in PALETTE.values():
        rules.append(f'{scope} [fill="{light}"]{{fill:{dark}}}{scope} [stroke="{light}"]{{stroke:{dark}}}')
    return "\n".join(rules)
