"""Lists of numbers and words, and the memory that is free: what the workloads of many particles take alike."""

from __future__ import annotations

from ...errors import BadInput
from ...records import Value
from ...units import whole_number


def words(value: Value) -> tuple[str, ...]:
    """Words separated by commas, each once."""
    return tuple(dict.fromkeys(word.strip() for word in str(value).split(",") if word.strip()))


def counts_of(text: str, *, where: str, low: int, high: int) -> tuple[int, ...]:
    """Whole numbers separated by commas, each once. Raises BadInput."""
    found = [word.strip() for word in text.split(",")]
    for word in found:
        if whole_number(word, low, high) is None:
            raise BadInput(
                f"{where}: {word!r} is not a number from {low} to {high}",
                hint="write whole numbers separated by commas: 16384,65536",
            )
    return tuple(dict.fromkeys(map(int, found)))
