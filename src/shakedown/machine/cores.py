"""The cores, by the logical CPUs that share each, and the sockets that they are in.

The topology comes from ``/sys/devices/system/cpu/cpu*/topology``, and where that is not there (old kernels, some
containers) from ``/proc/cpuinfo``. A core is known by the logical CPUs that share it, never by ``core_id`` alone: that
number repeats in each die of some processors (Opteron 6200). Nor is a socket known by ``physical_package_id`` alone: it is
-1 where the firmware does not say, and counts from 0 in each node of some large machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..hosts.access import HostAccess
from ..records import Absent, Core
from .kernel import Reader, parse_int
from .numa import distances, node_cpus, node_numbers

_CPUS = "/sys/devices/system/cpu"
#: Nodes nearer than this are parts of one socket or board (Intel's sub-NUMA clusters 11 to 17, AMD's 11 to 16); the next
#: socket is at 20 or more, which is also what a kernel assumes that is not told.
_REMOTE = 20
_MOST = (1 << 31) - 1


class Processor(NamedTuple):
    """One block of ``/proc/cpuinfo``: the number of the logical CPU, and its fields."""

    number: int
    fields: dict[str, str]


class _Place(NamedTuple):
    """Where a core is, as far as it is told. ``package`` is None for -1; ``beside`` are the CPUs of its package."""

    cpus: tuple[int, ...]
    core_id: int
    package: int | None
    beside: frozenset[int] | None
    node: int | None


def cores(
    reader: Reader, processors: Sequence[Processor], online: Sequence[int]
) -> tuple[tuple[Core, ...], tuple[Absent, ...]]:
    """The cores that run, and what could not be told of them."""
    nodes = {cpu: node for node in node_numbers(reader.door) for cpu in node_cpus(Reader(reader.door), node)}
    absent: list[Absent] = []
    if any(reader.door.list(f"{_CPUS}/cpu{number}/topology") for number in online):
        places = _from_sysfs(reader, online, nodes)
    else:
        places = _from_cpuinfo(processors, online, nodes)
        why = f"{_CPUS}/cpu*/topology is not there: cores are identified from /proc/cpuinfo"
        if not any("core id" in processor.fields for processor in processors):
            why += ", which does not say which CPUs share a core: each is taken for one"
        absent.append(Absent(what="core topology", why=why))
    sockets, doubt = _sockets(places, _near(reader.door, {place.node for place in places if place.node is not None}))
    if doubt:
        absent.append(Absent(what="sockets", why=doubt))
    return tuple(
        Core(cpus=place.cpus, core_id=place.core_id, socket=socket, numa_node=place.node)
        for place, socket in zip(places, sockets, strict=True)
    ), tuple(absent)


# ---------------------------------------------------------------------------------------------------------------- cores


def _from_sysfs(reader: Reader, online: Sequence[int], nodes: Mapping[int, int]) -> list[_Place]:
    ids = {number: reader.number(f"{_CPUS}/cpu{number}/topology/core_id", -1, _MOST) for number in online}
    ids = {number: None if core_id == -1 else core_id for number, core_id in ids.items()}  # -1: not told
    told = {number: _listed(reader, number, ("thread_siblings", "core_cpus")) for number in online}
    found: list[_Place] = []
    for cpus in _groups(online, told, ids):
        first = f"{_CPUS}/cpu{cpus[0]}/topology"
        package = reader.number(f"{first}/physical_package_id", -1, _MOST)
        core_id = next((known for cpu in cpus if (known := ids[cpu]) is not None), cpus[0])
        found.append(
            _Place(
                cpus=cpus,
                core_id=core_id,
                package=None if package is None or package < 0 else package,  # -1: the firmware does not say
                beside=_listed(reader, cpus[0], ("core_siblings", "package_cpus")),
                node=next((nodes[cpu] for cpu in cpus if cpu in nodes), None),
            )
        )
    return found


def _listed(reader: Reader, number: int, names: Sequence[str]) -> frozenset[int] | None:
    """A set of CPUs by the first file that tells it: lists before masks, which only old kernels have alone."""
    folder = f"{_CPUS}/cpu{number}/topology"
    for read, ending in ((reader.cpus, "_list"), (reader.mask, "")):
        for name in names:
            if cpus := read(f"{folder}/{name}{ending}"):
                return frozenset(cpus)
    return None


def _groups(
    online: Sequence[int], told: Mapping[int, frozenset[int] | None], ids: Mapping[int, int | None]
) -> Iterable[tuple[int, ...]]:
    """The CPUs of each core: those that name one another; one that names none belongs to whoever names it."""
    seen: set[int] = set()
    for number in online:
        if number in seen:
            continue
        own = told[number]
        if own is None:
            own = next((cpus for cpus in told.values() if cpus and number in cpus), frozenset((number,)))
        cpus = {number}
        for other in own - seen:
            back = told.get(other)
            # kernels of its time list the two cores of an AMD module as threads of one, with numbers of their own
            alike = None in (ids.get(number), ids.get(other)) or ids[number] == ids[other]
            if other in told and alike and (back is None or number in back):
                cpus.add(other)
        seen |= cpus
        yield tuple(sorted(cpus))


def _from_cpuinfo(processors: Iterable[Processor], online: Iterable[int], nodes: Mapping[int, int]) -> list[_Place]:
    fields = {processor.number: processor.fields for processor in processors}
    keys: dict[tuple[int | None, int], list[int]] = {}
    for number in online:
        package, core_id = (_field(fields.get(number, {}), name) for name in ("physical id", "core id"))
        keys.setdefault((package, number if core_id is None else core_id), []).append(number)
    return [
        _Place(tuple(cpus), core_id, package, None, next((nodes[cpu] for cpu in cpus if cpu in nodes), None))
        for (package, core_id), cpus in keys.items()
    ]


def _field(fields: Mapping[str, str], name: str) -> int | None:
    try:
        value = parse_int(fields[name])
    except (KeyError, ValueError):
        return None
    return value if value >= 0 else None


# -------------------------------------------------------------------------------------------------------------- sockets


def _near(door: HostAccess, nodes: set[int]) -> dict[int, int]:
    """Node -> the lowest node that is near it, through others too: those are of one socket or board."""
    reader = Reader(door)
    rows = {node: distances(reader, node) for node in nodes}
    numbers = node_numbers(door)
    group = {node: node for node in sorted(nodes)}
    for node, row in sorted(rows.items()):
        for other, distance in zip(numbers, row, strict=False):
            if other in group and distance < _REMOTE and group[other] != group[node]:
                low, high = sorted((group[node], group[other]))
                group = {key: low if value == high else value for key, value in group.items()}
    return group


def _sockets(places: Sequence[_Place], near: Mapping[int, int]) -> tuple[list[int | None], str]:
    """The socket of each core, None where that cannot be determined, and what is in doubt.

    By the package's number, unless the packages' sets of CPUs or the nodes show that it repeats; where it is not told, by
    those sets, else by the nodes.
    """
    if not places:
        return [], ""
    far = [None if place.node is None else near[place.node] for place in places]
    packages = [place.package for place in places]
    numbered = None not in packages
    sets = _by_sets(places)
    if numbered:
        split = [*zip(packages, far, strict=True)]
        if sets is not None and _finer(sets, packages) and (not _single(sets) or _same(sets, split)):
            return _number(sets), "physical_package_id repeats: identified by the CPUs that share each core's socket"
        if _finer(split, packages) and _repeats(places, split):
            return _number(split), "physical_package_id and core_id repeat in each NUMA node: identified by the nodes"
        return [*packages], ""
    what = "physical_package_id does not give the socket of every core"
    if sets is not None and not _single(sets) and not _spans(sets, far):
        return _named(sets, packages), f"{what}: identified by the CPUs that share each core's socket"
    if any(package is not None for package in packages):
        filled = _filled(packages, [place.node for place in places])
        return filled, f"{what}: " + (
            "not known for those" if None in filled else "those are where their node's others are"
        )
    if None not in far and len(set(far)) > 1:
        return _number(far), f"{what}: identified by the NUMA nodes, those nearer than {_REMOTE} taken as one"
    return [None] * len(places), f"{what}, nor do NUMA nodes: their number is not known"


_Keys = Sequence[object]


def _by_sets(places: Sequence[_Place]) -> list[frozenset[int]] | None:
    """The CPUs of each core's package by its own file or another's; None where that is not told or does not fit."""
    sets = {place.beside for place in places if place.beside is not None}
    found = []
    for place in places:
        mine = [cpus for cpus in sets if cpus & set(place.cpus)]
        if len(mine) != 1:
            return None
        found.append(mine[0])
    return found or None


def _number(keys: _Keys) -> list[int | None]:
    order: dict[object, int] = {}
    return [order.setdefault(key, len(order)) for key in keys]


def _named(sets: Sequence[frozenset[int]], packages: Sequence[int | None]) -> list[int | None]:
    """The sets by the one number that is told of each, where these differ; else by their order."""
    told = {cpus: {p for other, p in zip(sets, packages, strict=True) if other == cpus} - {None} for cpus in sets}
    numbers = {number for known in told.values() for number in known}
    if all(len(known) == 1 for known in told.values()) and len(numbers) == len(told):
        return [next(iter(told[cpus])) for cpus in sets]
    return _number(sets)


def _same(keys: _Keys, others: _Keys) -> bool:
    return _number(keys) == _number(others)


def _single(keys: _Keys) -> bool:
    """Whether each core stands alone, which kernels say of cores that they know nothing of."""
    return len(keys) > 1 and len(set(keys)) == len(keys)


def _finer(keys: _Keys, others: _Keys) -> bool:
    """Whether the first parts the cores as the second does and further."""
    return not _same(keys, others) and not _spans(keys, others)


def _spans(keys: _Keys, others: _Keys) -> bool:
    """Whether a part of the first has cores of several parts of the second."""
    return len({*zip(keys, others, strict=True)}) > len(set(keys))


def _repeats(places: Sequence[_Place], keys: _Keys) -> bool:
    """Whether a package has a core's number in several nodes that are far from each other."""
    met: dict[tuple[int | None, int], object] = {}
    return any(
        met.setdefault((place.package, place.core_id), key) != key for place, key in zip(places, keys, strict=True)
    )


def _filled(packages: Sequence[int | None], nodes: Sequence[int | None]) -> list[int | None]:
    """Those that are not told, taken from the other cores of their node where these agree."""
    mates: dict[int | None, set[int]] = {}
    for package, node in zip(packages, nodes, strict=True):
        if package is not None:
            mates.setdefault(node, set()).add(package)

    def fill(package: int | None, node: int | None) -> int | None:
        known = mates.get(node, set())
        return package if package is not None else next(iter(known)) if len(known) == 1 else None

    return [fill(package, node) for package, node in zip(packages, nodes, strict=True)]
