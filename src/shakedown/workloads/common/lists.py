"""Lists in parameters: words or whole numbers separated by commas."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import BadInput, unknown
from ...records import Value
from ...units import whole_number


def words(value: Value) -> tuple[str, ...]:
    """The words, each once."""
    return tuple(dict.fromkeys(word.strip() for word in str(value).split(",") if word.strip()))


def known_words(value: Value, known: Sequence[str], where: str) -> tuple[str, ...]:
    """The words, each once and one of ``known``. Raises BadInput with the nearest known one."""
    found = tuple(dict.fromkeys(word.strip() for word in str(value).split(",")))
    for word in found:
        if word not in known:
            raise unknown(where, word, known)
    return found


def whole(
    value: Value, where: str, low: int = 1, high: int = 2**31 - 1, *, once: bool = True, about: str = ""
) -> tuple[int, ...]:
    """The whole numbers, each ``once`` or as they come. Raises BadInput, with what the list is ``about``."""
    texts = [word.strip() for word in str(value).split(",")]
    for text in texts:
        if whole_number(text, low, high) is None:
            raise BadInput(
                f"{where}: {text!r} is not a number from {low} to {high}",
                hint="write whole numbers separated by commas" + (f": {about}" if about else ""),
            )
    found = tuple(map(int, texts))
    return tuple(dict.fromkeys(found)) if once else found


def text(values: Sequence[object]) -> str:
    """The list as a parameter has it."""
    return ",".join(map(str, values))


def span(shown: Sequence[str]) -> str:
    """For a line on a run: the one of a list, or from its first to its last."""
    return shown[0] if len(shown) == 1 else f"{shown[0]} to {shown[-1]}"
