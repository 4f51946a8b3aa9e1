"""The few shapes in which the kernel writes numbers into files, read in one place."""

from __future__ import annotations

import re

from ..host import Door, parse_cpu_list


def parse_mask(text: str) -> tuple[int, ...]:
    """The CPUs of a kernel mask such as ``00000001,00000101``: words of 32 bits, the highest first.

    Raises ValueError on anything else.
    """
    bits = 0
    for word in text.strip().split(","):
        bits = bits << 32 | int(word or "0", 16)
    return tuple(number for number in range(bits.bit_length()) if bits >> number & 1)


def parse_size(text: str) -> int:
    """A size such as ``48K``, ``2M`` or ``512`` in bytes. Raises ValueError on anything else."""
    match = re.fullmatch(r"(\d+)\s*([KMG]?)B?", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a size")
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]]


def parse_meminfo(text: str) -> dict[str, int]:
    """The lines of ``/proc/meminfo`` or of a node's ``meminfo``: name -> bytes (pages for ``HugePages_*``)."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        match = re.fullmatch(r"(?:Node \d+ )?([^:]+):\s+(\d+)( kB)?\s*", line)
        if match:
            found[match[1]] = int(match[2]) * (1024 if match[3] else 1)
    return found


def chosen(text: str) -> str:
    """The word in brackets of a choice such as ``always [madvise] never``; all of it where there are none."""
    match = re.search(r"\[([^\]]+)\]", text)
    return match[1] if match else text.strip()


def read_word(door: Door, path: str) -> str | None:
    """A file's text without the space around it, or None where it cannot be read or is empty."""
    text = door.read(path)
    return text.strip() or None if text is not None else None


def read_int(door: Door, path: str) -> int | None:
    """A file's number, or None where it cannot be read or holds something else."""
    text = read_word(door, path)
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None


def online_cpus(door: Door) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The logical CPUs that run, and those that are there but do not. Both empty where sysfs does not say."""
    folder = "/sys/devices/system/cpu"
    present = {int(name[3:]) for name in door.list(folder) if re.fullmatch(r"cpu\d+", name)}
    text = read_word(door, f"{folder}/online")
    if text:
        online = set(parse_cpu_list(text))
    else:  # kernels before 2.6.26 say it CPU by CPU; one that cannot be taken offline has no such file
        online = {number for number in present if (read_word(door, f"{folder}/cpu{number}/online") or "1") == "1"}
    offline = {*parse_cpu_list(read_word(door, f"{folder}/offline") or ""), *present} - online
    plugged = parse_cpu_list(read_word(door, f"{folder}/present") or "")
    if plugged:  # "offline" also counts numbers that no socket holds
        offline &= set(plugged)
    return tuple(sorted(online)), tuple(sorted(offline))
