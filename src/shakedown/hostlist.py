"""Names of hosts as batch engines fold them: ``node[1-3,07],login`` -> node1, node2, node3, node07, login. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

from .errors import BadInput

#: More than any machine has; a list that unfolds into more is a mistake, and would fill the memory.
MOST_HOSTS = 1_000_000

_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_LAST_NUMBER = re.compile(r"^(.*?)(\d+)(\D*)$")


def expand(text: str) -> tuple[str, ...]:
    """The names in a folded list, in its order. Raises BadInput for what is none."""
    names: list[str] = []
    for word in _words(text):
        pieces = _BRACKETS.split(word)
        if any(sign in piece for piece in pieces[::2] for sign in "[]"):
            raise _bad(text, f"the brackets of {word!r} do not match")
        choices = [_numbers(piece, text) if index % 2 else [piece] for index, piece in enumerate(pieces)]
        names += ["".join(parts) for parts in itertools.islice(itertools.product(*choices), MOST_HOSTS + 1)]
        if len(names) > MOST_HOSTS:
            raise _bad(text, f"it unfolds into more than {MOST_HOSTS} hosts")
    return tuple(names)


def _words(text: str) -> list[str]:
    """The parts between commas that stand outside of brackets."""
    words, depth, start = [], 0, 0
    for index, sign in enumerate(text):
        depth += (sign == "[") - (sign == "]")
        if sign == "," and depth == 0:
            words.append(text[start:index])
            start = index + 1
    words.append(text[start:])
    return [word.strip() for word in words if word.strip()]


def _numbers(text: str, whole: str) -> list[str]:
    """``1-3,07``: 1, 2, 3, 07; zeros in front are kept."""
    found: list[str] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        if not low.isdecimal() or (dash and not (high.isdecimal() and int(low) <= int(high))):
            raise _bad(whole, f"{part.strip()!r} is no number and no range")
        last = int(high) if dash else int(low)
        if last - int(low) > MOST_HOSTS:
            raise _bad(whole, f"it unfolds into more than {MOST_HOSTS} hosts")
        found += [str(number).zfill(len(low)) for number in range(int(low), last + 1)]
    return found


def _bad(text: str, why: str) -> BadInput:
    return BadInput(f"{text[:80]!r} is no list of hosts: {why}", hint="write it as node[1-4,7],login")


def fold(names: Iterable[str]) -> str:
    """The shortest usual way to write hosts, in their order: names that differ in their last number are folded."""
    parts: list[str] = []
    for key, group in itertools.groupby(names, _key):
        members = list(group)
        if key is None or len(members) == 1:
            parts += members
            continue
        before, after, _ = key
        parts.append(f"{before}[{','.join(_ranges([_number(name) for name in members]))}]{after}")
    return ",".join(parts)


def _key(name: str) -> tuple[str, str, int] | None:
    """What names of one bracket share: the text around the last number, and its width where it begins with zeros."""
    match = _LAST_NUMBER.match(name)
    if match is None:
        return None
    digits = match[2]
    return match[1], match[3], len(digits) if digits.startswith("0") and len(digits) > 1 else 0


def _number(name: str) -> str:
    match = _LAST_NUMBER.match(name)
    assert match is not None
    return match[2]


def _ranges(numbers: Sequence[str]) -> list[str]:
    """Runs of numbers that follow each other as ranges; the order stays."""
    found: list[str] = []
    start = 0
    for index, number in enumerate(numbers):
        follows = index + 1 < len(numbers) and int(numbers[index + 1]) == int(number) + 1
        if follows and len(numbers[index + 1]) >= len(number):
            continue
        found.append(numbers[start] if start == index else f"{numbers[start]}-{number}")
        start = index + 1
    return found
