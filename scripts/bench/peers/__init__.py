"""The table of what is measured beside a peer: one file a row, whose docstring says what is alike and what is not.

A file has ``ROW = Row(...)``; ``groups`` says what runs in turn. Take ``storage.py`` as the model.
``paired.py`` measures a row.
"""

from __future__ import annotations

import argparse
import importlib
import math
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from common import Option

from shakedown import programs


class Figure(NamedTuple):
    """What a pass gives: its unit, what its values are multiplied by to be in it, and which direction is better."""

    unit: str
    scale: float = 1.0
    better: str = "higher"  # or "lower"; "": shown, and not compared
    goal: str = ""
    at_most: float = math.inf  # where the median is above it the exit code is 1


#: Side -> figure -> value. A side that says how it ran, "hpcc: NB 192", counts with the best of what it gave in a round.
Rates = Mapping[str, Mapping[str, float]]


class Pass(NamedTuple):
    """A short run of one side (or of several at once). ``needs``: program, path or ``import NAME`` -> what brings it."""

    name: str
    run: Callable[[], Rates]
    needs: Mapping[str, str] = {}


class Group(NamedTuple):
    """Passes that run in turn. Sides that are not named as ours are peers: every one of ours is laid over every one."""

    title: str
    figures: Mapping[str, Figure]
    passes: Sequence[Pass]
    ours: Sequence[str]
    rounds: int | None = None  # its own, whatever the row has
    alone: bool = False  # ours is measured where no peer is here


class Row(NamedTuple):
    """``groups`` gets the options, with ``rounds`` and ``build``. It may raise CannotMeasure or Unavailable where ours
    cannot run; what it makes lasts until its next group."""

    groups: Callable[[argparse.Namespace], Iterable[Group]]
    rounds: int
    options: Mapping[str, Option] = {}
    bench: str = ""  # options with which make bench starts it


def names() -> list[str]:
    """The rows: every file of this folder."""
    return [one.name for one in pkgutil.iter_modules(__path__)]


def row(name: str) -> tuple[Row, str]:
    """A row and its docstring. Imported when it is wanted: each needs what it measures."""
    module = importlib.import_module(f"{__name__}.{name}")
    return module.ROW, str(module.__doc__)


def program(asked: argparse.Namespace, name: str) -> str:
    """A native program of ours: of the build folder that was named, else the installed one. Raises Unavailable."""
    built = Path(asked.build) / "native" / name / name if asked.build else None
    return str(built.resolve()) if built and built.exists() else programs.path(name)
