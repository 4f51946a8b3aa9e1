"""What is searched: the axes, their values on this machine, and which combinations make sense.

An axis is a parameter of the ``hpl`` workload by its own name, but for three that stand for several:

    layout   "RxT": R ranks on each host with T threads each         -> ranks, threads
    grid     "PxQ": ranks of a column by ranks of a row, on both sides of the square -> p, q
    binding  "packed" (a rank's threads next to each other) or "spread" (dealt over the NUMA nodes) -> cpus

An axis that cannot matter has one value: the broadcast with Q = 1, the row exchange with P = 1. ``canonical`` sets it
there, so that two configurations that would run alike are one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path

import msgspec

from .. import strict
from ..errors import BadInput, unknown
from ..launchers.mpirun import cores
from ..records import Host, Record, Value
from ..units import whole_number
from .records import Point

FOUNDATION = ("library", "binding")  # tried first: everything else is compared on top of them
PRIMARY = ("layout", "grid", "mapping", "nb")  # ranked by the model, then raced
SECONDARY = (
    "trsm",
    "depth",
    "bcast",
    "swap",
    "split",
    "progress_thread",
    "panel_threads",
    "nbmin",
    "ndiv",
    "pfact",
    "rfact",
    "segment_bytes",
    "swap_threshold",
    "pages",
)
AXES = (*FOUNDATION, *PRIMARY, *SECONDARY)
_FILTERS = ("p", "q", "ranks", "threads")
_NEEDS_ROW = ("bcast", "segment_bytes")  # say nothing with Q = 1
_NEEDS_COLUMN = ("swap", "swap_threshold", "split")  # say nothing with P = 1
_NEEDS_RANKS = ("progress_thread", "mapping")  # say nothing on one rank


class Space(Record, frozen=True, kw_only=True):
    """``axes``: the values of each axis in the order of a person's interest; ``defaults``: where nothing is known."""

    axes: dict[str, tuple[Value, ...]]
    defaults: Point
    hosts: int = 1
    cpus: int = 1  # that a host's ranks may use

    def grids(self, layout: str) -> tuple[str, ...]:
        """The grids of a layout that are in the space."""
        ranks = pair(layout)[0] * self.hosts
        return tuple(str(grid) for grid in self.axes["grid"] if math.prod(pair(str(grid))) == ranks)


#: Of ranks and threads.
_MOST = 10**9


@cache
def pair(text: str) -> tuple[int, int]:
    """ "4x2" -> (4, 2). Raises BadInput."""
    left, _, right = text.partition("x")
    p, q = whole_number(left, 1, _MOST), whole_number(right, 1, _MOST)
    if p is None or q is None:
        raise BadInput(f"{text[:40]!r} is not two numbers with an x between", hint="write it as 2x4")
    return p, q


def default(host: Host, *, hosts: int = 1, n: int, libraries: Sequence[str] = (), known: Iterable[str] = AXES) -> Space:
    """The space on hosts like this one, for systems of order n. ``known``: the axes that the program has."""
    count = cores(host)
    found = layouts(host)
    every: dict[str, tuple[Value, ...]] = {
        "library": tuple(libraries) or ("auto",),
        "binding": ("packed", "spread") if len(host.numa) > 1 else ("packed",),
        "layout": tuple(f"{ranks}x{threads}" for ranks, threads in found),
        "grid": tuple(dict.fromkeys(grid for ranks, _ in found for grid in grids(ranks * hosts))),
        "mapping": ("row", "column") if hosts > 1 or len(host.numa) > 1 else ("row",),
        "nb": block_sizes(count, n),
        "trsm": ("recursive", "inverse"),
        "depth": (1, 0),
        "bcast": ("1ringM", "1ring", "2ring", "2ringM", "long", "longM"),
        "swap": ("mix", "long", "binary"),
        "split": (0.5, 0.0, 0.3),
        "progress_thread": (False, True) if count > 4 else (False,),
        "panel_threads": (0,) if count <= 2 else tuple(dict.fromkeys((0, max(1, count // 4), max(1, count // 2)))),
        "nbmin": (16, 8, 32),
        "pages": ("huge", "base"),
    }
    kept = {name: values for name, values in every.items() if name in set(known) | {"layout", "grid", "binding"}}
    return Space(axes=kept, defaults=first_values(kept, hosts), hosts=hosts, cpus=max(count, len(host.usable_cpus)))


def first_values(axes: Mapping[str, tuple[Value, ...]], hosts: int) -> Point:
    """The first value of each axis, with a grid that fits the layout: the nearest to a square, P <= Q."""
    point = {name: values[0] for name, values in axes.items()}
    ranks = pair(str(point["layout"]))[0] * hosts
    fitting = [str(grid) for grid in axes["grid"] if math.prod(pair(str(grid))) == ranks]
    if fitting:
        point["grid"] = fitting[0]
    return point


def layouts(host: Host) -> list[tuple[int, int]]:
    """(ranks, threads) on one host, all its cores busy: one rank a NUMA node, a socket, an L3, as far as these are known, a
    host, a core.

    With up to 8 cores every divisor is taken: it is cheap there, and rules of thumb are about larger hosts.
    """
    count = cores(host)
    usable = set(host.usable_cpus)
    l3 = next((len(one.groups) for one in host.cpu.caches if one.level == 3 and one.groups), 0)
    numa = sum(1 for node in host.numa if not usable or usable & set(node.cpus))
    wanted = [parts for parts in (numa, host.cpu.sockets, l3) if parts] + [1, count]
    if count <= 8:
        wanted += [ranks for ranks in range(1, count + 1) if count % ranks == 0]
    return list(dict.fromkeys((ranks, count // ranks) for ranks in wanted if ranks <= count))


def grids(ranks: int) -> list[str]:
    """All P x Q of that many ranks from 1:16 to 4:1 (small P is forgiving, small Q is not), the squarest with P <= Q
    first; all there are up to 16 ranks."""
    found = [(p, ranks // p) for p in range(1, ranks + 1) if ranks % p == 0]
    kept = [(p, q) for p, q in found if ranks <= 16 or 1 / 16 <= p / q <= 4] or found
    kept.sort(key=lambda grid: abs(math.log(grid[0] / grid[1])) + (0.5 if grid[0] > grid[1] else 0.0))
    return [f"{p}x{q}" for p, q in kept]


def block_sizes(count: int, n: int) -> tuple[int, ...]:
    """NB to try: around 192 on few cores, around 256 to 384 on many; none above an eighth of n."""
    values = (192, 256, 128, 160, 224, 320, 96, 384, 64) if count <= 8 else (256, 384, 192, 320, 128, 448, 512, 224)
    return tuple(value for value in values if value <= n // 8) or (max(1, min(64, n)),)


def replace(space: Space, given: Mapping[str, Sequence[Value]], host: Host, *, where: str = "") -> Space:
    """The space with the values of some axes given. ``p``, ``q``, ``ranks`` and ``threads`` choose layouts and grids.

    Raises BadInput for an unknown axis, no value, and values that leave no configuration.
    """
    axes = dict(space.axes)
    for name, values in given.items():
        if name not in axes and name not in _FILTERS:
            raise unknown("parameter", name, (*axes, *_FILTERS), where=where)
        if not values:
            raise BadInput(f"{name} has no value", where=where, hint=f"write {name} = [...] with at least one value")
        if name not in _FILTERS:
            axes[name] = tuple(values)
    numbers = {name: [_positive(name, value, where) for value in given[name]] for name in _FILTERS if name in given}
    if "layout" in given or "ranks" in numbers or "threads" in numbers:
        if "layout" not in given:
            axes["layout"] = _asked_layouts(numbers, host)
        for layout in axes["layout"]:
            if math.prod(pair(str(layout))) > space.cpus:
                raise BadInput(
                    f"layout {layout} needs {math.prod(pair(str(layout)))} CPUs; {space.cpus} may be used",
                    where=where,
                    hint="give fewer ranks or threads",
                )
        if "grid" not in given:
            ranks = [pair(str(layout))[0] * space.hosts for layout in axes["layout"]]
            axes["grid"] = tuple(dict.fromkeys(grid for count in ranks for grid in grids(count)))
    axes["grid"] = tuple(
        grid
        for grid in axes["grid"]
        if pair(str(grid))[0] in numbers.get("p", [pair(str(grid))[0]])
        and pair(str(grid))[1] in numbers.get("q", [pair(str(grid))[1]])
    )
    counts = {math.prod(pair(str(grid))) for grid in axes["grid"]}
    axes["layout"] = tuple(one for one in axes["layout"] if pair(str(one))[0] * space.hosts in counts)
    if not axes["layout"]:
        raise BadInput(
            "no grid fits the requested number of ranks",
            where=where,
            hint="P x Q is the number of all ranks: those of a host times the hosts",
        )
    return msgspec.structs.replace(space, axes=axes, defaults=first_values(axes, space.hosts))


def _positive(name: str, value: Value, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadInput(f"{name} = {value!r} is not a whole number from 1", where=where, hint=f"write {name}=2")
    return value


def _asked_layouts(numbers: Mapping[str, Sequence[int]], host: Host) -> tuple[str, ...]:
    count = cores(host)
    if "ranks" in numbers and "threads" in numbers:
        return tuple(f"{ranks}x{threads}" for ranks, threads in product(numbers["ranks"], numbers["threads"]))
    if "ranks" in numbers:
        return tuple(f"{ranks}x{max(1, count // ranks)}" for ranks in numbers["ranks"])
    return tuple(f"{max(1, count // threads)}x{threads}" for threads in numbers["threads"])


def read(path: Path) -> dict[str, list[Value]]:
    """A space file: TOML, ``axis = [values]`` a line. Raises BadInput."""
    raw = strict.read_toml(strict.read_text(path), str(path))
    found: dict[str, list[Value]] = {}
    for name, values in raw.items():
        listed = values if isinstance(values, list) else [values]
        for value in listed:
            if not isinstance(value, (int, float, str, bool)):
                raise BadInput(
                    f"{name}: {value!r} is not a valid value", where=str(path), hint=f"write {name} = [1, 2] or a name"
                )
        found[name] = listed
    return found


def parse_fix(text: str) -> tuple[str, list[Value]]:
    """``nb=192`` or ``nb=128,192`` -> the axis and its values. Raises BadInput."""
    name, sign, values = text.partition("=")
    if not sign or not name.strip() or not values.strip():
        raise BadInput(
            f"--fix {text!r} is not NAME=VALUE", hint="write --fix nb=192, several values separated by commas"
        )
    return name.strip().replace("-", "_"), [_value(word.strip()) for word in values.split(",")]


def _value(word: str) -> Value:
    if word in ("true", "false", "yes", "no"):
        return word in ("true", "yes")
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def canonical(space: Space, point: Point) -> Point:
    """The configuration with every axis that cannot matter at its default, and a grid that fits its layout."""
    made = {name: point.get(name, space.defaults[name]) for name in space.axes}
    if made["grid"] not in space.grids(str(made["layout"])):
        made["grid"] = space.grids(str(made["layout"]))[0]
    p, q = pair(str(made["grid"]))
    threads = pair(str(made["layout"]))[1]
    idle = [
        *(_NEEDS_ROW if q == 1 else ()),
        *(_NEEDS_COLUMN if p == 1 else ()),
        *(_NEEDS_RANKS if p * q == 1 else ()),
        *(("mapping",) if min(p, q) == 1 else ()),
        *(("panel_threads",) if threads == 1 else ()),
        *(("swap_threshold",) if made.get("swap") != "mix" else ()),
    ]
    for name in idle:
        if name in made:
            made[name] = space.defaults[name]
    return made


def changed(space: Space, point: Point, **values: Value) -> Point:
    """The configuration with some values changed."""
    return canonical(space, {**point, **values})


def combinations(space: Space, axes: Sequence[str], base: Point) -> list[Point]:
    """Every combination of the values of some axes, the others as in ``base``; each once."""
    kept = [name for name in axes if name in space.axes]
    found: dict[str, Point] = {}
    for values in product(*(space.axes[name] for name in kept)):
        asked = dict(zip(kept, values, strict=True))
        if "grid" in asked and asked["grid"] not in space.grids(str(asked.get("layout", base["layout"]))):
            continue
        point = canonical(space, {**base, **asked})
        found.setdefault(repr(sorted(point.items())), point)
    return list(found.values())


def alternatives(space: Space, base: Point, axes: Sequence[str]) -> Iterator[tuple[str, Value, Point]]:
    """Each change of one axis of ``base`` that makes another configuration: axis, value, configuration."""
    for name in axes:
        for value in space.axes.get(name, ()):
            point = changed(space, base, **{name: value})
            if point != base and point[name] == value:
                yield name, value, point


def differing(one: Point, other: Point) -> tuple[str, ...]:
    """The axes on which two configurations differ."""
    return tuple(name for name in AXES if one.get(name) != other.get(name))


def words(point: Point, only: Iterable[str] | None = None) -> str:
    """A configuration for a person: ``NB 192, 2x1 grid, 2 ranks x 1 thread, ...``."""
    chosen = [name for name in AXES if name in point and (only is None or name in set(only))]
    return ", ".join(say(name, point[name]) for name in chosen)


def told(space: Space) -> tuple[str, ...]:
    """The axes that a person wants to see: those that vary, and NB, layout and grid always."""
    return tuple(name for name in AXES if len(space.axes.get(name, ())) > 1 or name in ("nb", "layout", "grid"))


def say(name: str, value: Value) -> str:
    """One axis and its value for a person."""
    if name == "library":
        return str(value).rpartition("/")[2]
    if name == "layout":
        ranks, threads = pair(str(value))
        return f"{ranks} rank{'s' * (ranks > 1)} x {threads} thread{'s' * (threads > 1)}"
    if name == "grid":
        return f"grid {str(value).replace('x', ' x ')}"
    if isinstance(value, bool):
        return name.replace("_", " ") if value else f"no {name.replace('_', ' ')}"
    return f"{'NB' if name == 'nb' else name.replace('_', ' ')} {value}"
