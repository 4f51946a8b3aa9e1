"""The caches: level, size, line, ways, and which logical CPUs share each instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ..host import Door, parse_cpu_list
from ..records import Absent, Cache
from .kernel import parse_mask, parse_size, read_int, read_word

_KINDS: dict[str, Literal["data", "instruction", "unified"]] = {
    "Data": "data",
    "Instruction": "instruction",
    "Unified": "unified",
}

_Shape = tuple[int, Literal["data", "instruction", "unified"], int, int | None, int | None]


def caches(door: Door, online: Sequence[int]) -> tuple[tuple[Cache, ...], tuple[Absent, ...]]:
    """The caches of the CPUs that are online, smallest level first, and what the kernel does not say of them.

    Instances of one level that differ in size (processors with two kinds of core) are separate entries.
    """
    shapes: dict[_Shape, list[tuple[int, ...]]] = {}
    seen: dict[str, set[int]] = {}
    sizeless: set[str] = set()
    for number in online:
        folder = f"/sys/devices/system/cpu/cpu{number}/cache"
        for index in (name for name in door.list(folder) if name.startswith("index")):
            if number in seen.setdefault(index, set()):
                continue
            group = _shared(door, f"{folder}/{index}", number, online)
            seen[index].update(group)
            shape = _shape(door, f"{folder}/{index}")
            if shape is None:
                sizeless.add(index)
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


def _shared(door: Door, folder: str, number: int, online: Sequence[int]) -> tuple[int, ...]:
    mask = door.read(f"{folder}/shared_cpu_map")  # before the list, which some kernels get wrong (Opteron 6200)
    listed = None if mask else door.read(f"{folder}/shared_cpu_list")
    cpus = parse_mask(mask) if mask else parse_cpu_list(listed or "")
    return tuple(sorted(set(cpus) & set(online) | {number}))


def _shape(door: Door, folder: str) -> _Shape | None:
    level = read_int(door, f"{folder}/level")
    kind = _KINDS.get(read_word(door, f"{folder}/type") or "")
    size = read_word(door, f"{folder}/size")
    if level is None or kind is None or size is None or parse_size(size) == 0:
        return None
    return (
        level,
        kind,
        parse_size(size),
        read_int(door, f"{folder}/coherency_line_size"),
        read_int(door, f"{folder}/ways_of_associativity") or None,
    )  # 0: fully associative or not told
