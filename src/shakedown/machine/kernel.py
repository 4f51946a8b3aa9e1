"""The few shapes in which the kernel writes numbers into files, read in one place."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import TypeVar

from ..hosts.access import HostAccess, format_cpu_list, parse_cpu_list
from ..records import Absent


def parse_mask(text: str) -> tuple[int, ...]:
    """The CPUs of a kernel mask such as ``00000001,00000101``: words of 32 bits, the highest first.

    Raises ValueError, in words, on anything else.
    """
    plain = text.strip(" \t\r\n\0")
    if not re.fullmatch(r"(?:0x)?(?:[0-9A-Fa-f]{0,4096}|[0-9A-Fa-f]{0,8}(?:,[0-9A-Fa-f]{0,8}){0,4096})", plain):
        raise ValueError(f"{text[:40]!r} is not a mask of CPUs such as 00000001,00000101")
    bits = 0
    for word in plain.split(","):
        bits = bits << 32 | int(word or "0", 16)
    return tuple(number for number in range(bits.bit_length()) if bits >> number & 1)


def parse_size(text: str) -> int:
    """A size such as ``48K``, ``2M`` or ``512`` in bytes. Raises ValueError on anything else."""
    match = re.fullmatch(r"([0-9]{1,18})\s*([KMG]?)B?", text.strip(" \t\r\n\0"))
    if match is None:
        raise ValueError(f"{text[:40]!r} is not a size such as 32K")
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]]


def parse_meminfo(text: str) -> dict[str, int]:
    """The lines of ``/proc/meminfo`` or of a node's ``meminfo``: name -> bytes (pages for ``HugePages_*``)."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        match = re.fullmatch(r"(?:Node \d+ )?([^:]+):\s+([0-9]{1,18})( kB)?\s*", line)
        if match:
            found[match[1]] = int(match[2]) * (1024 if match[3] else 1)
    return found


def chosen(text: str) -> str:
    """The word in brackets of a choice such as ``always [madvise] never``; all of it where there are none."""
    match = re.search(r"\[([^\]]+)\]", text)
    return match[1] if match else text.strip()


def read_word(door: HostAccess, path: str) -> str | None:
    """A file's text without the space around it and NULs behind it, or None where it cannot be read or is empty."""
    text = door.read(path)
    return text.strip(" \t\r\n\f\v\0") or None if text is not None else None


def parse_int(text: str) -> int:
    """A whole number as the kernel writes it. Raises ValueError, in words, on anything else."""
    if not re.fullmatch(r"[+-]?[0-9]{1,20}", text.strip(" \t\r\n\0")):
        raise ValueError(f"{text[:40]!r} is not a whole number")
    return int(text.strip(" \t\r\n\0"))


def read_int(door: HostAccess, path: str) -> int | None:
    """A file's number, or None where it cannot be read or holds something else."""
    text = read_word(door, path)
    try:
        return parse_int(text) if text is not None else None
    except ValueError:
        return None


T = TypeVar("T")


class Reader:
    """Reads the kernel's files one fact at a time.

    What is there but cannot be understood, or cannot be, costs that fact alone: it is None, and ``absent`` has the
    reason. What is not there at all is None without a word: whoever asks knows what follows from it.
    """

    def __init__(self, door: HostAccess) -> None:
        self.door = door
        self._odd: dict[str, tuple[str, set[str]]] = {}  # path without CPU and node numbers -> first reason, paths

    def cpus(self, path: str) -> tuple[int, ...] | None:
        """The CPUs of a list; an empty file is an empty list."""
        return self._parsed(path, parse_cpu_list)

    def mask(self, path: str) -> tuple[int, ...] | None:
        """The CPUs of a mask."""
        return self._parsed(path, parse_mask, empty="is empty")

    def number(self, path: str, least: int, most: int) -> int | None:
        """A whole number from ``least`` to ``most``, which is what the fact can be on any machine."""
        return self._within(path, self._parsed(path, parse_int, empty="is empty"), least, most)

    def numbers(self, path: str, least: int, most: int) -> tuple[int, ...]:
        """Whole numbers with space between them, all from ``least`` to ``most``; empty where any is not."""
        found = self._parsed(path, lambda text: tuple(parse_int(word) for word in text.strip("\0\n").split())) or ()
        odd = next((value for value in found if not least <= value <= most), None)
        return found if self._within(path, odd, least, most) is odd else ()

    def size(self, path: str, most: int) -> int | None:
        """A size in bytes from 0 to ``most``."""
        return self._within(path, self._parsed(path, parse_size, empty="is empty"), 0, most)

    def choice(self, path: str, words: Collection[str]) -> str | None:
        """One of these words."""
        word = read_word(self.door, path)
        if word is None or word in words:
            return word
        self.odd(path, f"holds {word[:40]!r}, which is none of {', '.join(words)}")
        return None

    def odd(self, path: str, why: str) -> None:
        """Note that a file's content is of no use, and why."""
        kind = re.sub(r"\b(cpu|node)[0-9]+\b", r"\1*", path)
        self._odd.setdefault(kind, (f"{path} {why}", set()))[1].add(path)

    @property
    def absent(self) -> tuple[Absent, ...]:
        """What could not be understood so far: one for all the files of a kind."""
        return tuple(
            Absent(
                what=kind, why=f"{first}: not used" + (f", nor are {len(paths) - 1} more like it" * (len(paths) > 1))
            )
            for kind, (first, paths) in self._odd.items()
        )

    def _parsed(self, path: str, parse: Callable[[str], T], empty: str = "") -> T | None:
        text = self.door.read(path)
        if text is None:
            return None
        if empty and not text.strip(" \t\r\n\0"):
            self.odd(path, empty)
            return None
        try:
            return parse(text)
        except ValueError as error:
            self.odd(path, f"cannot be understood: {error}")
            return None

    def _within(self, path: str, value: int | None, least: int, most: int) -> int | None:
        if value is None or least <= value <= most:
            return value
        self.odd(path, f"holds {value}, which is not within {least} to {most}")
        return None


def online_cpus(reader: Reader) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The logical CPUs that run, and those that are there but do not. Both empty where sysfs does not say."""
    folder = "/sys/devices/system/cpu"
    present = {int(name[3:]) for name in reader.door.list(folder) if re.fullmatch(r"cpu[0-9]{1,5}", name)}
    online = set(reader.cpus(f"{folder}/online") or ())
    if present and not online <= present:
        strangers = format_cpu_list(sorted(online - present))
        reader.odd(f"{folder}/online", f"names CPUs that have no folder beside it ({strangers})")
        online = set()
    if not online:  # kernels before 2.6.26 say it CPU by CPU; one that cannot be taken offline has no such file
        online = {number for number in present if reader.number(f"{folder}/cpu{number}/online", 0, 1) != 0}
    offline = {*(reader.cpus(f"{folder}/offline") or ()), *present} - online
    plugged = reader.cpus(f"{folder}/present")
    if plugged:  # "offline" also counts numbers that no socket holds
        offline &= set(plugged)
    return tuple(sorted(online)), tuple(sorted(offline))
