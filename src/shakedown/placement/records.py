"""What the watcher of each rank leaves (native/placement/README.md), and what is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec

from ..errors import UNREADABLE, CannotMeasure
from ..records import Absent, Record

_CPU = Annotated[int, msgspec.Meta(ge=0, lt=1 << 20)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
#: A CPU, its core, socket and NUMA node, and the lowest CPU with which it shares its first instruction cache.
_Place = tuple[_CPU, _CPU, int, int, _CPU]


class Thread(Record, frozen=True, kw_only=True):
    """One thread of a rank, over all samples."""

    pid: int
    tid: int
    name: str = ""
    mask: tuple[_CPU, ...] = ()
    cpus: dict[_CPU, _Count] = msgspec.field(
        default_factory=dict
    )  # how often it was seen where, while it was ready to run
    moves: _Count = 0  # between one sample and the next
    migrations: _Count | None = None  # by the kernel's own count
    run_s: _Seconds | None = None
    wait_s: _Seconds | None = None  # ready, and another had the CPU
    slices: _Count | None = None

    @property
    def wanted_s(self) -> float:
        """For how long it had a CPU or waited for one."""
        return (self.run_s or 0.0) + (self.wait_s or 0.0)

    @property
    def wait_share(self) -> float:
        """Of the time in which it wanted a CPU, the share without one."""
        return (self.wait_s or 0.0) / self.wanted_s if self.wanted_s else 0.0

    @property
    def seen(self) -> int:
        """In how many samples it ran or was ready to."""
        return sum(self.cpus.values())

    def share_on(self, cpu: int) -> float:
        """The share of its samples in which it was on that CPU."""
        return self.cpus.get(cpu, 0) / self.seen if self.seen else 0.0


class Usage(Record, frozen=True, kw_only=True):
    """What the kernel counted for a rank (getrusage)."""

    user_s: _Seconds
    system_s: _Seconds
    voluntary: _Count
    involuntary: _Count
    max_rss_bytes: _Count


class Pages(Record, frozen=True, kw_only=True):
    """A sample of a rank's pages by the NUMA node on which they lie."""

    nodes: dict[_CPU, _Count] = msgspec.field(default_factory=dict)
    asked: _Count = 0
    absent: str = ""


class Code(Record, frozen=True, kw_only=True):
    """Code of a file, where the rank has it in its memory."""

    path: str
    address: Annotated[int, msgspec.Meta(ge=0)]
    offset: Annotated[int, msgspec.Meta(ge=0)]


class Rank(Record, frozen=True, kw_only=True):
    """One rank as its watcher saw it; -1: the launcher does not say."""

    schema: Literal[1]
    rank: int
    size: int
    local_rank: int
    launcher: str
    host: str
    boot_id: str = ""
    argv: tuple[str, ...] = ()
    arrange: str = ""
    launched_mask: tuple[_CPU, ...] = ()
    reachable: tuple[_CPU, ...] = ()
    arranged: tuple[_CPU, ...] = ()  # what it began with, where that was arranged
    places: tuple[_Place, ...] = ()
    vendor: str = ""
    family: str = ""
    begin_unix_ns: int
    wall_s: _Seconds
    finished: bool
    exit_code: int = 0
    signal: int = 0
    samples: _Count
    period_s: _Seconds = 0.0
    own_cpu_s: _Seconds = 0.0
    pressure_s: _Seconds | None = None
    usage: Usage | None = None
    threads: tuple[Thread, ...] = ()
    threads_left_out: _Count = 0
    pages: Pages = Pages()
    code: tuple[Code, ...] = ()
    quota_cpus: Annotated[float, msgspec.Meta(gt=0)] | None = None
    throttled_s: _Seconds | None = None

    @property
    def busy(self) -> tuple[Thread, ...]:
        """The threads that wanted a CPU for at least ``BUSY_SHARE`` of the rank's time."""
        return tuple(one for one in self.threads if self.wall_s and one.wanted_s >= BUSY_SHARE * self.wall_s)

    @property
    def name(self) -> str:
        return f"rank {self.rank}" if self.rank >= 0 else f"process of {self.host}"


#: A thread that wants a CPU for less of its rank's time than this is no part of the work: a progress thread, a watcher.
BUSY_SHARE = 0.25

Kind = Literal[
    "shared-cpu",
    "oversubscribed",
    "crowded-rank",
    "shared-core",
    "migrating",
    "remote-memory",
    "throttled",
    "disturbed",
    "aliasing",
    "overlapping-masks",
    "unbound",
    "ended-badly",
    "no-record",
    "no-ranks",
    "other-mpi",
    "no-mpi",
    "binds-itself",
]


class Symptom(Record, frozen=True, kw_only=True):
    """One thing that was seen, with its evidence in words and the next step. ``wrong``: it is to be fixed, else a note."""

    kind: Kind
    text: str
    advice: str
    ranks: tuple[int, ...] = ()
    host: str = ""
    wrong: bool = True


class Diagnosis(Record, frozen=True, kw_only=True):
    """What is wrong with the placement of one launch, and what could not be known."""

    ranks: int
    hosts: tuple[str, ...]
    launcher: str
    symptoms: tuple[Symptom, ...]
    unknown: tuple[Absent, ...] = ()

    @property
    def wrong(self) -> bool:
        return any(one.wrong for one in self.symptoms)


class Left(NamedTuple):
    """The records of one launch, and those that could not be read."""

    ranks: tuple[Rank, ...]
    damaged: tuple[Absent, ...]


def decode(data: bytes) -> Rank:
    """One watcher's record. Raises ValueError (or what else ``UNREADABLE`` holds) with what is wrong in it."""
    return msgspec.json.decode(data, type=Rank)


def read(folder: Path) -> Left:
    """The records of a launch by rank. Raises CannotMeasure where the folder cannot be read."""
    ranks, damaged = [], []
    try:
        paths = sorted(path for path in folder.iterdir() if path.name.startswith("rank-") and path.suffix == ".json")
    except OSError as error:
        raise CannotMeasure(
            f"the records cannot be read: {error.strerror}", where=str(folder), hint="give a folder with records"
        ) from None
    for path in paths:
        try:
            ranks.append(decode(path.read_bytes()))
        except (OSError, *UNREADABLE) as error:
            damaged.append(Absent(what=path.name, why=str(error)[:200]))
    return Left(tuple(sorted(ranks, key=lambda one: (one.rank, one.host, one.begin_unix_ns))), tuple(damaged))


def by_host(ranks: tuple[Rank, ...]) -> Mapping[str, tuple[Rank, ...]]:
    """The ranks of each host: by the boot of its kernel, since containers of one machine may have names of their own."""
    groups: dict[str, list[Rank]] = {}
    for one in ranks:
        groups.setdefault(one.boot_id or one.host, []).append(one)
    return {group[0].host: tuple(group) for group in groups.values()}
