"""Lists of hosts as Slurm and Flux write them: ``n[1-3,07-09],login,rack[1-2]n[01-02]``. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

#: A list that would expand to more hosts is refused: Slurm's own limit (MAX_RANGE).
MOST_HOSTS = 65536


def expand(text: str) -> tuple[str, ...]:
    """The hosts of a list, in the order in which Slurm counts them (``scontrol show hostnames``).

    A range has the width of its first number: ``07-09`` is 07, 08, 09. Of several brackets in one name the last varies
    fastest, then the first, the second and so on: Slurm expands the prefix by itself. Raises ValueError for a text that
    is no such list.
    """
    found: list[str] = []
    for word in _words(text):
        found.extend(itertools.islice(_names(word), MOST_HOSTS + 1))
        if len(found) > MOST_HOSTS:
            raise ValueError(f"more than {MOST_HOSTS} hosts in {text[:80]!r}")
    return tuple(found)


def counts(text: str) -> tuple[int, ...]:
    """``4(x2),8`` -> (4, 4, 8): one number for each node. Raises ValueError for all else."""
    found: list[int] = []
    for word in filter(None, text.strip().split(",")):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", word)
        if not match or int(match[2] or 1) + len(found) > MOST_HOSTS:
            raise ValueError(f"{word!r} is no count of the form 4 or 4(x2)")
        found.extend([int(match[1])] * int(match[2] or 1))
    return tuple(found)


def _words(text: str) -> list[str]:
    """The parts between the commas and blanks that stand outside of brackets."""
    words, depth, word = [], 0, ""
    for letter in text.strip():
        depth += (letter == "[") - (letter == "]")
        if depth not in (0, 1):
            raise ValueError(f"brackets do not match in {text[:80]!r}")
        if depth == 0 and (letter == "," or letter.isspace()):
            words.append(word)
            word = ""
        else:
            word += letter
    if depth:
        raise ValueError(f"brackets do not match in {text[:80]!r}")
    return [one for one in (*words, word) if one]


def _names(word: str) -> Iterator[str]:
    parts = re.split(r"\[([^\]]*)\]", word)
    fixed, ranges = parts[0::2], [_numbers(part, word) for part in parts[1::2]]
    if not ranges:
        yield word
        return
    last = len(ranges) - 1
    slowest_first = [*range(last - 1, -1, -1), last]
    for chosen in itertools.product(*(ranges[place] for place in slowest_first)):
        number = dict(zip(slowest_first, chosen, strict=True))
        yield "".join(text + number.get(place, "") for place, text in enumerate(fixed))


def _numbers(text: str, word: str) -> list[str]:
    found: list[str] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        low, high = (match[1], match[2] or match[1]) if match else ("1", "0")
        if not 0 <= int(high) - int(low) < MOST_HOSTS:
            raise ValueError(f"{part!r} in {word[:80]!r} is no range of numbers")
        found.extend(f"{number:0{len(low)}d}" for number in range(int(low), int(high) + 1))
    return found
