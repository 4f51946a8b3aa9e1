"""The models of radio path loss that the engine has: ranges, settings and terms, from the native table itself
(``native/radio/models.hpp``), so that no list of them is kept twice.
"""

from __future__ import annotations

import math
import subprocess
from functools import cache

import msgspec

from .. import programs
from ..errors import UNREADABLE, CannotMeasure, unknown
from ..records import Record

#: The table is a constant of the program.
_LIMIT_S = 30.0


class Range(Record, frozen=True, kw_only=True):
    """Where a model was made for, and outside of what it has no loss; None: without an end."""

    valid: tuple[float | None, float | None]
    possible: tuple[float | None, float | None]

    def valid_words(self, unit: str, scale: float = 1) -> str:
        """``150 to 1500 MHz``, ``from 1 km``, ``any``; the numbers are multiplied by ``scale``."""
        low, high = (math.nan if end is None else end * scale for end in self.valid)
        if math.isnan(high):
            return f"from {low:,.10g} {unit}" if low > 0 else "any"
        return f"{low:,.10g} to {high:,.10g} {unit}"


class Term(Record, frozen=True, kw_only=True):
    """A term of a loss; the loss is the sum of those that are summands."""

    name: str
    summand: bool
    meaning: str
    source: str


class Model(Record, frozen=True, kw_only=True):
    """A model by its name. ``higher_m`` and ``lower_m`` are heights of the higher and the lower antenna of a link."""

    name: str
    title: str
    source: str
    about: str
    uses_profile: bool
    needs_town: bool
    frequency_mhz: Range
    distance_m: Range
    higher_m: Range
    lower_m: Range
    parameters: tuple[str, ...]
    terms: tuple[Term, ...]


class Addition(Record, frozen=True, kw_only=True):
    """What is added to a model by name: ``hata+woodland``."""

    name: str
    title: str
    source: str
    about: str
    frequency_mhz: Range
    parameters: tuple[str, ...]
    term: Term


class Parameter(Record, frozen=True, kw_only=True):
    """A value that models read: a number of a range, or one of some words."""

    name: str
    unit: str
    help: str
    default: float | str
    range: tuple[float, float] | None = None
    whole: bool = False
    words: tuple[str, ...] = ()

    @property
    def possible(self) -> str:
        """What the value may be."""
        if self.range is None:
            return ", ".join(self.words)
        low, high = self.range
        return f"{low:,.10g} to {high:,.10g}" + (" (whole)" if self.whole else "")


class ModelTable(Record, frozen=True, kw_only=True):
    """All of them."""

    models: tuple[Model, ...]
    additions: tuple[Addition, ...]
    parameters: tuple[Parameter, ...]

    def get(self, name: str) -> Model | Addition:
        """A model or an addition. Raises BadInput where there is none of this name."""
        entries: dict[str, Model | Addition] = {entry.name: entry for entry in self.models}
        entries |= {entry.name: entry for entry in self.additions}
        if name not in entries:
            raise unknown("model", name, entries)
        return entries[name]

    def read_by(self, entry: Model | Addition) -> tuple[Parameter, ...]:
        """The values that a model or an addition reads."""
        return tuple(one for one in self.parameters if one.name in entry.parameters)


@cache
def table() -> ModelTable:
    """The table of the engine. Raises Unavailable where it was not built, CannotMeasure where it does not answer."""
    program = programs.path("radio_engine")
    try:
        done = subprocess.run([program, "--models"], capture_output=True, timeout=_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotMeasure(f"does not answer: {error}", where=program, hint="build it again") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise CannotMeasure(f"has no table of models: {said}", where=program, hint="build it again")
    return read(done.stdout, program)


def read(text: bytes, where: str) -> ModelTable:
    """A table as the engine prints it. Raises CannotMeasure where it is another version's or torn."""
    try:
        return msgspec.json.decode(text, type=ModelTable)
    except UNREADABLE as error:
        raise CannotMeasure(
            f"its table of models cannot be read: {error}", where=where, hint="build it again"
        ) from None
