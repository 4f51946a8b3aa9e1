"""Names of hosts as batch engines fold them: ``n[1-3,07-09],login,rack[1-2]n[01-02]``. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from ..errors import BadInput

_LAST_NUMBER = re.compile(r"^(.*?)(\d+)(\D*)$")

#: A name becomes a part of a path and a word for ssh: no separator, no control character, no option.
_NAME = re.compile(r"(?![-.]*$)[^-/\\\s\x00-\x1f\x7f-\x9f][^/\\\s\x00-\x1f\x7f-\x9f]{0,252}")

#: A list that would expand to more hosts is refused: Slurm's own limit (MAX_RANGE).
MOST_HOSTS = 65536
#: The same for the description of a whole system, which is no job: the largest that stood had 158,976 nodes (Fugaku).
MOST_NODES = 2**20


def expand(text: str, *, most: int = MOST_HOSTS) -> tuple[str, ...]:
    """The hosts of a list, in the order in which Slurm counts them (``scontrol show hostnames``).

    A range has the width of its first number: ``07-09`` is 07, 08, 09. Of several brackets in one name the last varies
    fastest, then the first, the second and so on: Slurm expands the prefix by itself. Raises BadInput for a text that
    is no such list, or one of more than ``most`` hosts.
    """
    found: list[str] = []
    for word in _words(text):
        names = list(itertools.islice(_names(word, most), most + 1))
        if wrong := next((name for name in names if not _NAME.fullmatch(name)), None):
            raise _bad(text, f"{wrong[:40]!r} is not a valid host name")
        found.extend(names)
        if len(found) > most:
            raise _bad(text, f"it unfolds into more than {most} hosts")
    return tuple(found)


def counts(text: str) -> tuple[int, ...]:
    """``4(x2),8`` -> (4, 4, 8): one number for each node. Raises BadInput for all else."""
    found: list[int] = []
    for word in filter(None, text.strip().split(",")):
        match = re.fullmatch(r"([0-9]{1,9})(?:\(x([0-9]{1,9})\))?", word)
        if not match or int(match[2] or 1) + len(found) > MOST_HOSTS:
            raise BadInput(f"{word!r} is not a count of the form 4 or 4(x2)", hint="one number for each node: 4(x2),8")
        found.extend([int(match[1])] * int(match[2] or 1))
    return tuple(found)


def _words(text: str) -> list[str]:
    """The parts between the commas and blanks that stand outside of brackets."""
    words, depth, word = [], 0, ""
    for letter in text.strip():
        depth += (letter == "[") - (letter == "]")
        if depth not in (0, 1):
            raise _bad(text, "its brackets do not match")
        if depth == 0 and (letter == "," or letter.isspace()):
            words.append(word)
            word = ""
        else:
            word += letter
    if depth:
        raise _bad(text, "its brackets do not match")
    return [one for one in (*words, word) if one]


def _names(word: str, most: int) -> Iterator[str]:
    parts = re.split(r"\[([^\]]*)\]", word)
    fixed, ranges = parts[0::2], [_numbers(part, word, most) for part in parts[1::2]]
    if not ranges:
        yield word
        return
    last = len(ranges) - 1
    slowest_first = [*range(last - 1, -1, -1), last]
    for chosen in itertools.product(*(ranges[place] for place in slowest_first)):
        number = dict(zip(slowest_first, chosen, strict=True))
        yield "".join(text + number.get(place, "") for place, text in enumerate(fixed))


def _numbers(text: str, word: str, most: int) -> list[str]:
    found: list[str] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,18})\s*(?:-\s*([0-9]{1,18})\s*)?", part)
        low, high = (match[1], match[2] or match[1]) if match else ("1", "0")
        if int(high) < int(low):
            raise _bad(word, f"{part[:40]!r} is neither a number nor a range")
        if len(found) + int(high) - int(low) >= most:
            raise _bad(word, f"it unfolds into more than {most} hosts")
        found.extend(f"{number:0{len(low)}d}" for number in range(int(low), int(high) + 1))
    return found


def _bad(text: str, why: str) -> BadInput:
    return BadInput(f"{text[:80]!r} is not a valid host list: {why}", hint="write it as node[1-4,7],login")


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
