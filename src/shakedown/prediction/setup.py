"""The description of a cluster and of how HPL is run there: one TOML file, strict, or one that is shipped.

    title = "..."              what is described, in words
    counts = "nodes"           what --from and --to count: nodes, or gpus (one rank each)
    [run]                      program, ranks_per_node, threads, nb, mapping, bcast, depth, swap, swap_threshold ...
    [[run_at]]                 what differs from so many nodes on: nodes_from, bcast, mapping
    [memory]                   per_node = "32 GiB"   share = 0.8
    [network]                  leaf_nodes = 109
    [input.NAME]               value, or low and high: numbers with units; source; replaces the default range
    [error]                    noise, discrepancy, uncalibrated
    [[measured]]               count, n, p, q, rate: a run to calibrate with
    [published]                which rows of the published system are such runs: where, params

``mapping`` and ``bcast`` may be lists: where it is not known which one was used, the forecast covers them all.
"""

from __future__ import annotations

import math
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import msgspec

from .. import strict
from ..errors import BadInput, unknown
from ..records import Record
from ..units import UnknownUnit, parse_bytes, parse_quantity, show_bytes
from ..workloads.common.hpl import grid
from .inputs import Broadcast, Config, Mapping, Swap
from .inputs import netlib as as_netlib
from .priors import DEFAULTS, DGEMM, GPU_DEFAULTS, Prior

Program = Literal["netlib", "shakedown"]
Counts = Literal["nodes", "gpus"]
_HINT = "the format is in docs/forecast.md"
#: Of one run. The model counts messages rank by rank: at this number it takes 0.4 GB and half a minute.
MOST_RANKS = 1 << 22


class RunAs(Record, frozen=True, kw_only=True):
    """How HPL is run."""

    ranks_per_node: strict.Count
    nb: strict.Count
    program: Program = "shakedown"
    threads: int = 1
    mapping: Mapping | tuple[Mapping, ...] = "row"
    bcast: Broadcast | tuple[Broadcast, ...] = "1ringM"
    depth: int = 1
    swap: Swap = "mix"
    swap_threshold: int = 64
    split: float = 0.5
    segment_bytes: int = 1 << 20
    progress: bool = True
    progress_thread: bool = False


class RunAt(Record, frozen=True, kw_only=True):
    """What is different from ``nodes_from`` nodes on."""

    nodes_from: int
    bcast: Broadcast | tuple[Broadcast, ...] | None = None
    mapping: Mapping | tuple[Mapping, ...] | None = None


class Memory(Record, frozen=True, kw_only=True):
    per_node: str
    share: strict.Share = 0.8


class Network(Record, frozen=True, kw_only=True):
    leaf_nodes: int = 0


class Input(Record, frozen=True, kw_only=True):
    """A known ``value``, or a range; numbers, or texts with a unit such as "6 us"."""

    source: str
    value: float | str | None = None
    low: float | str | None = None
    high: float | str | None = None


class Error(Record, frozen=True, kw_only=True):
    """Relative standard deviations: ``noise`` of one run against its repetition; of the model for each root of a doubling
    of P, Q or the order a rank has, ``discrepancy`` of the whole time and ``overhead`` of the time beside DGEMM;
    ``uncalibrated`` of the model where no run of HPL was measured."""

    noise: strict.NotNegative = 0.008
    discrepancy: strict.NotNegative = 0.007
    overhead: strict.NotNegative = 0.06
    uncalibrated: strict.NotNegative = 0.1


#: ``discrepancy`` where a rank is a GPU, whose DGEMM depends on sizes that the model does not know. Five published series of
#: GPU runs (scripts/bench/forecast.py) were missed by 2 to 16 % for each root of a doubling, 13 % in root mean square; times
#: 1.15, Student's t of five over the normal quantile, for an interval of 80 %. Without the series itself: 14 to 17 %.
GPU_DISCREPANCY = 0.15


class ErrorFile(Record, frozen=True, kw_only=True):
    """``Error`` as the file says it: what is not said is that of the kind of machine."""

    noise: strict.NotNegative | None = None
    discrepancy: strict.NotNegative | None = None
    overhead: strict.NotNegative | None = None
    uncalibrated: strict.NotNegative | None = None


class Row(Record, frozen=True, kw_only=True):
    """A run: on how many nodes (or GPUs), of which size, on which grid, how fast (flop/s; None: to be forecast)."""

    count: int
    n: int
    p: int
    q: int
    rate: float | None = None
    where: str = ""
    config: Config | None = None  # exactly as it was run, where that is known

    @property
    def ranks(self) -> int:
        return self.p * self.q


class MeasuredRow(Record, frozen=True, kw_only=True):
    count: int
    n: int
    rate: str
    p: int = 0
    q: int = 0


class PublishedRows(Record, frozen=True, kw_only=True):
    """Rows of a published system: their place begins with one of ``where``, their parameters are among those given."""

    where: tuple[str, ...]
    params: dict[str, tuple[int | float | str, ...]] = msgspec.field(default_factory=dict)


class SetupFile(Record, frozen=True, kw_only=True):
    """The file, key for key."""

    title: str
    run: RunAs
    counts: Counts = "nodes"
    published: PublishedRows | None = None
    run_at: tuple[RunAt, ...] = ()
    memory: Memory | None = None
    network: Network = Network()
    input: dict[str, Input] = msgspec.field(default_factory=dict)
    error: ErrorFile = ErrorFile()
    measured: tuple[MeasuredRow, ...] = ()


class Setup(Record, frozen=True, kw_only=True):
    """A cluster and how HPL is run there. ``priors`` has every input of the model; ``dgemm`` only where it is known."""

    title: str
    run: RunAs
    priors: dict[str, Prior]
    counts: Counts = "nodes"
    published: PublishedRows | None = None
    run_at: tuple[RunAt, ...] = ()
    memory_bytes: int | None = None
    memory_share: float = 0.8
    leaf_nodes: int = 0
    error: Error = Error()
    measured: tuple[Row, ...] = ()


# ---------------------------------------------------------------------------------------------------------------- reading


def load(path: Path) -> Setup:
    """A user's file. Raises BadInput."""
    return parse(strict.read_text(path, hint="give the path of a TOML file"), path.name)


def shipped(name: str) -> Setup | None:
    """The description that comes with a published system; None where there is none."""
    file = resources.files(__package__) / "clusters" / f"{name}.toml"
    return parse(file.read_text(encoding="utf-8"), f"{name}.toml") if file.is_file() else None


def parse(text: str, file: str) -> Setup:
    """A setup from the text of its file. Raises BadInput that says which entry is wrong."""
    read = strict.convert(strict.read_toml(text, file), SetupFile, file, hint=_HINT)
    for name, value, low in (
        ("ranks_per_node", read.run.ranks_per_node, 1),
        ("nb", read.run.nb, 1),
        ("threads", read.run.threads, 1),
        ("depth", read.run.depth, 0),
    ):
        if value < low:
            raise BadInput(f"{name} = {value} is below {low}", where=f"{file}: run", hint=_HINT)
    priors = dict(GPU_DEFAULTS if read.counts == "gpus" else DEFAULTS)
    for name, given in read.input.items():
        if name != "dgemm" and name not in DEFAULTS:
            raise unknown("input", name, [*DEFAULTS, "dgemm"], where=file)
        priors[name] = _prior(priors.get(name), given, f"{file}: input.{name}")
    memory = _bytes(read.memory.per_node, f"{file}: memory.per_node") if read.memory else None
    share = read.memory.share if read.memory else 0.8
    if not 0 < share <= 1:
        raise BadInput(
            f"share = {share} is not a valid share of the memory", where=f"{file}: memory", hint="above 0, at most 1"
        )
    measured = tuple(
        _row(one, read.run, read.counts, f"{file}: measured {index}") for index, one in enumerate(read.measured, 1)
    )
    return Setup(
        title=read.title,
        run=read.run,
        priors=priors,
        counts=read.counts,
        published=read.published,
        run_at=read.run_at,
        memory_bytes=memory,
        memory_share=share,
        leaf_nodes=read.network.leaf_nodes,
        error=_error(read.error, read.counts),
        measured=measured,
    )


def _error(said: ErrorFile, counts: Counts) -> Error:
    """What the file says, and for the rest what is known of the kind of machine."""
    known = Error(discrepancy=GPU_DISCREPANCY) if counts == "gpus" else Error()
    given = {name: value for name in said.__struct_fields__ if (value := getattr(said, name)) is not None}
    return msgspec.structs.replace(known, **given)


def _prior(default: Prior | None, given: Input, where: str) -> Prior:
    default = default or DGEMM
    numbers = [_number(one, default.unit, where) for one in (given.value, given.low, given.high)]
    value, low, high = numbers
    if (value is None) == (low is None and high is None) or (low is None) != (high is None):
        raise BadInput("an input has either a value or low and high", where=where, hint=_HINT)
    low, high = (value, value) if value is not None else (low, high)
    assert low is not None and high is not None
    if not 0 <= low <= high or (default.scale == "log" and low == 0 and high > 0):
        raise BadInput(
            f"the range from {low:g} to {high:g} is empty", where=where, hint="low is above 0 and below high"
        )
    return msgspec.structs.replace(default, low=low, high=high, source=given.source, measured=value is not None)


def _number(given: float | str | None, unit: str, where: str) -> float | None:
    """A number, or a text with a unit of that dimension, in SI. Raises BadInput."""
    if given is None or not isinstance(given, str):
        return given
    try:
        value, found = parse_quantity(given)
    except (UnknownUnit, ValueError) as error:
        raise BadInput(str(error), where=where, hint=f"give a number with its unit, {unit}") from None
    if found != unit and not (unit == "element/s" and found == "1"):
        raise BadInput(f"{given!r} is in {found}, not in {unit}", where=where, hint=f"give it in {unit}")
    return value


def _bytes(text: str, where: str) -> int:
    try:
        return parse_bytes(text)
    except (UnknownUnit, ValueError) as error:
        raise BadInput(str(error), where=where, hint="give a size such as '32 GiB'") from None


def _row(given: MeasuredRow, run: RunAs, counts: Counts, where: str) -> Row:
    rate = _number(given.rate, "flop/s", where)
    assert rate is not None
    if given.n < 1 or rate <= 0:
        raise BadInput(
            f"n = {given.n} and rate = {given.rate} are not a possible run", where=where, hint="both are above 0"
        )
    p, q = checked_grid(given.count, run.ranks_per_node if counts == "nodes" else 1, given.p, given.q, where)
    return Row(count=given.count, n=given.n, p=p, q=q, rate=rate, where=where)


# ---------------------------------------------------------------------------------------------------------------- targets


def ranks_each(setup: Setup) -> int:
    """Ranks of one of what the setup counts."""
    return setup.run.ranks_per_node if setup.counts == "nodes" else 1


def checked_grid(count: int, each: int, p: int, q: int, where: str = "") -> tuple[int, int]:
    """The grid of a run on ``count`` times ``each`` ranks: as given, or nearly square with P <= Q. Raises BadInput."""
    ranks = count * each
    if count < 1:
        raise BadInput(f"{count} nodes are not possible", where=where, hint="give a number from 1")
    check_ranks(ranks, where)
    if not p and not q:
        return grid(ranks)
    if p * q != ranks:
        near = " x ".join(map(str, grid(ranks)))
        raise BadInput(
            f"the grid {p} x {q} has {p * q} ranks, and {count} times {each} are {ranks}",
            where=where,
            hint=f"{near} is nearly square",
        )
    return p, q


def check_ranks(ranks: int, where: str = "") -> None:
    """Raises BadInput for more ranks than the model can count messages of."""
    if ranks > MOST_RANKS:
        raise BadInput(
            f"{ranks:,} ranks are more than the {MOST_RANKS:,} that a forecast can be made for",
            where=where,
            hint="ask for fewer nodes, or describe fewer ranks a node with more threads each",
        )


#: flop/s of a node: above what any of processors alone reaches (two of 192 cores with AVX-512: 18e12 at most).
_MOST_OF_PROCESSORS = 30e12


def on_gpus(rate: float, nodes: int) -> bool:
    """Whether a run is too fast for nodes of processors."""
    return rate > _MOST_OF_PROCESSORS * nodes


def room_bytes(setup: Setup, count: int) -> int | None:
    """Memory of ``count`` nodes (of the nodes of so many GPUs); None where it is not known."""
    if setup.memory_bytes is None:
        return None
    return setup.memory_bytes * count * ranks_each(setup) // setup.run.ranks_per_node


def order(setup: Setup, count: int, where: str = "") -> int:
    """The largest N, a multiple of NB, that fills the setup's share of the memory. Raises BadInput."""
    room = room_bytes(setup, count)
    if room is None:
        raise BadInput(
            "N is not given and the memory of a node is not known",
            where=where,
            hint="give --n, or --memory-per-node such as 64GiB",
        )
    fits = math.isqrt(int(setup.memory_share * room) // 8)
    return max(1, fits // setup.run.nb) * setup.run.nb


def check_memory(setup: Setup, count: int, n: int, where: str = "") -> None:
    """Raises BadInput where a matrix of order ``n`` has no place in the memory."""
    room = room_bytes(setup, count)
    if room is not None and 8 * n * n > room:
        raise BadInput(
            f"N = {n} needs {show_bytes(8 * n * n)}, and {count} {setup.counts} have {show_bytes(room)}",
            where=where,
            hint=f"N = {order(setup, count)} fills {setup.memory_share:.0%} of it",
        )


def configs(setup: Setup, row: Row) -> tuple[Config, ...]:
    """The ways in which that run may have been made: one for each mapping and broadcast that is possible.

    The number of ways is the same for every row of a setup, in the same order.
    """
    run = setup.run
    mapping, bcast = _words(run.mapping), _words(run.bcast)
    number = len(mapping) * len(bcast)
    if row.config is not None:
        return (row.config,) * number
    nodes = -(-row.ranks // run.ranks_per_node)
    for one in sorted(setup.run_at, key=lambda one: one.nodes_from):
        if nodes >= one.nodes_from:
            mapping, bcast = _words(one.mapping or mapping), _words(one.bcast or bcast)
    ways = [(one, other) for one in mapping for other in bcast]
    made = tuple(config_of(run, row.n, row.p, row.q, mapping=one, bcast=other) for one, other in ways)
    return (made * number)[: max(number, 1)] if len(made) != number else made


def _words(one: Any) -> tuple[Any, ...]:
    return one if isinstance(one, tuple) else (one,)


def config_of(run: RunAs, n: int, p: int, q: int, **different: Any) -> Config:
    """One run, made as ``run`` says but for what is ``different``."""
    same = {name: getattr(run, name) for name in Config.__struct_fields__ if name in RunAs.__struct_fields__}
    made = Config(**{**same, "n": n, "p": p, "q": q, **different})
    return as_netlib(made) if run.program == "netlib" else made
