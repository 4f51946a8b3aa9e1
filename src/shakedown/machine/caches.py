"""The caches: level, size, line, ways, and which logical CPUs share each instance."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from ..records import Absent, Cache
from .kernel import Reader

_KINDS: dict[str, Literal["data", "instruction", "unified"]] = {
    "Data": "data",
    "Instruction": "instruction",
    "Unified": "unified",
}
#: More than any processor has (the largest shared caches are of some GiB).
_MOST_BYTES = 64 << 30

_Shape = tuple[int, Literal["data", "instruction", "unified"], int, int | None, int | None]


def caches(reader: Reader, online: Sequence[int]) -> tuple[tuple[Cache, ...], tuple[Absent, ...]]:
    """The caches of the CPUs that are online, smallest level first, and what the kernel does not say of them.

    Instances of one level that differ in size (processors with two kinds of core) are separate entries.
    """
    shapes: dict[_Shape, list[tuple[int, ...]]] = {}
    sizeless: set[str] = set()
    for index, groups in _instances(reader, online).items():
        for group in groups:
            # of all that show the instance the first that says what it is: the file of one may be odd
            folders = (f"/sys/devices/system/cpu/cpu{number}/cache/{index}" for number in group)
            odd = reader.absent
            shape = next((shape for folder in folders if (shape := _shape(reader, folder))), None)
            if shape is None:
                sizeless |= {index} if reader.absent == odd else set()
            elif group not in shapes.setdefault(shape, []):
                shapes[shape].append(group)
    found = tuple(
        Cache(level=level, kind=kind, size_bytes=size, line_bytes=line, ways=ways, groups=tuple(groups))
        for (level, kind, size, line, ways), groups in sorted(shapes.items(), key=lambda item: item[0][:3])
    )
    if not found:
        why = "the kernel gives no size for any" if sizeless else "/sys/devices/system/cpu/cpu*/cache is not there"
        return (), (Absent(what="caches", why=why),)
    return found, tuple(
        Absent(what=f"cache {index}", why="the kernel gives no size for it") for index in sorted(sizeless)
    )


def _instances(reader: Reader, online: Sequence[int]) -> dict[str, list[tuple[int, ...]]]:
    """Index -> the CPUs of each instance. A CPU whose own file is odd belongs where the others say that it does."""
    shared: dict[str, dict[int, tuple[int, ...] | None]] = {}
    for number in online:
        folder = f"/sys/devices/system/cpu/cpu{number}/cache"
        for index in reader.door.list(folder):
            if re.fullmatch(r"index[0-9]{1,2}", index):
                shared.setdefault(index, {})[number] = _shared(reader, f"{folder}/{index}", number)
    return {index: _groups(sets, set(online)) for index, sets in sorted(shared.items())}


def _groups(sets: dict[int, tuple[int, ...] | None], online: set[int]) -> list[tuple[int, ...]]:
    groups: list[tuple[int, ...]] = []
    seen: set[int] = set()
    for number, cpus in sets.items():
        if cpus is not None and number not in seen:
            groups.append(tuple(sorted(set(cpus) & online | {number})))
            seen.update(groups[-1])
    return groups


def _shared(reader: Reader, folder: str, number: int) -> tuple[int, ...] | None:
    """Who shares it, by the mask before the list, which some kernels get wrong (Opteron 6200); None where both are odd."""
    names = ("shared_cpu_map", "shared_cpu_list")
    found = reader.mask(f"{folder}/{names[0]}") or reader.cpus(f"{folder}/{names[1]}")
    if found:
        return found
    told = any(reader.door.read(f"{folder}/{name}") is not None for name in names)
    return None if told else (number,)


def _shape(reader: Reader, folder: str) -> _Shape | None:
    level = reader.number(f"{folder}/level", 1, 9)
    kind = _KINDS.get(reader.choice(f"{folder}/type", _KINDS.keys()) or "")
    size = reader.size(f"{folder}/size", _MOST_BYTES)
    if level is None or kind is None or not size:
        return None
    return (
        level,
        kind,
        size,
        reader.number(f"{folder}/coherency_line_size", 0, 1 << 16) or None,
        reader.number(f"{folder}/ways_of_associativity", 0, 1 << 16) or None,
    )  # 0: fully associative or not told
