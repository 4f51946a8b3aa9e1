"""What a site says of its power measurement (TOML), and the traces and stamps that go with it.

    read(path)  ->  Description     the site's words, strictly: a misspelt key is named with its place
    load(path)  ->  Submission      with the traces, the phases as windows in time, and the performance

Nothing is judged here (``levels.py``) and nothing is added up (``measured.py``). docs/green500.md explains every key with
an example.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from ... import strict
from ...errors import BadInput, unknown
from ...hosts import hostlist
from ...metering.meters import UPSTREAM, Accuracy, channel_key
from ...metering.trace import Trace, channels, trace
from ...metering.trace import read as read_traces
from ...records import Notice, Record
from ...strict import Count, NotNegative, Positive, Share
from . import feeds as tree
from .stamps import Phases, Window, windows_of

COMPUTE = "compute"
#: So far around the phases the traces are read: what a meter averages over, and how it repeats elsewhere.
AROUND_NS = 600 * 10**9


class NodeSet(Record, frozen=True, kw_only=True):
    """Compute nodes of one kind."""

    name: str
    nodes: Count
    names: tuple[str, ...] = ()  # "cn[001-632]": needed to draw, and to verify what was drawn
    chassis: Count = 1  # nodes that share power supplies: they are measured together
    watts_per_node: Positive | None = None  # expected under load: what a draw reckons with
    spread: NotNegative | None = None  # relative standard deviation from node to node, where it is known


class MeterModel(Record, frozen=True, kw_only=True):
    """A kind of meter, as its data sheet says. Several feeds may name it: each has one of its own."""

    name: str
    model: str = ""
    accuracy: Accuracy | None = None
    range_w: Positive | None = None  # full scale, for an accuracy that is stated of it
    standard: Literal[
        "",
        "ansi-c12.20",
        "spec",
        "iec-62053-21-0.5",
        "iec-62053-21-1",
        "iec-62053-22-0.1s",
        "iec-62053-22-0.2s",
        "iec-62053-22-0.5s",
    ] = ""
    samples_hz: Positive | None = None  # power samples a second inside the meter
    waveform_hz: Positive | None = None  # samples of voltage and current a second
    current: Literal["ac", "dc"] = "ac"
    integrates: bool = False  # it has an energy counter that never stops
    calibrated: str = ""


class MeteredFeed(tree.Feed, frozen=True, kw_only=True):
    """A feed of the system with what it serves."""

    of: str = ""  # a set of nodes, or a subsystem; empty for a feed that only contains others
    nodes: tuple[str, ...] = ()  # the nodes behind it, by name
    node_count: Count | None = None  # or their number
    includes: tuple[str, ...] = ()  # subsystems that it feeds too: they are measured with it and stay in
    meter: str = ""
    device: str = ""  # serial number; feeds with one device share its error. Empty: a device of its own
    location: Literal["", "upstream", "downstream"] = ""  # of the power conversion; empty: as the channel's place says
    loss: str = ""  # the loss model, downstream
    supplies: Count = 1  # power supplies that share this feed's power, for the loss model


class Subsystem(Record, frozen=True, kw_only=True):
    """A part beside the compute nodes."""

    name: str
    kind: Literal["interconnect", "storage", "cooling", "head", "other"]
    state: Literal["measured", "estimated", "not participating"]
    upper_bound_w: NotNegative | None = None
    basis: Literal["maximum", "typical", "measured"] = "maximum"  # what the estimate is made from
    formula: str = ""  # "18 switches x 512 W"
    specification: str = ""  # where the maker says so
    note: str = ""


class Loss(Record, frozen=True, kw_only=True):
    """How much is lost between the required point and a meter downstream of it: upstream = downstream / efficiency."""

    name: str
    kind: Literal["maker", "offline", "simultaneous"]
    efficiency: tuple[tuple[float, float], ...]  # (W out of one supply, efficiency), rising
    u: NotNegative = 0.0  # standard uncertainty of the efficiency
    every_s: Positive | None = None  # how often it was measured, for "simultaneous"
    source: str = ""


class Selection(Record, frozen=True, kw_only=True):
    """How the measured nodes were chosen; ``shakedown energy draw`` writes it."""

    how: Literal["random", "whole", "other"]
    seed: int | None = None
    level: int | None = None
    rules: str = ""
    groups: dict[str, int] = msgspec.field(default_factory=dict)  # set -> how many sharing groups were drawn
    method: str = ""


class Performance(Record, frozen=True, kw_only=True):
    """What the benchmark reached; an HPL log or a run directory tells it too."""

    rmax: str = ""  # "1.21 Pflop/s"
    n: Count | None = None
    nodes: Count | None = None  # that the workload ran on; None: all
    note: str = ""


class Subtracted(Record, frozen=True, kw_only=True):
    """Something within a measured feed that the site took off its figure. No rule allows it: it is named and stays in."""

    what: str
    watts: NotNegative


class Description(Record, frozen=True, kw_only=True):
    """A submission, as the site writes it."""

    title: str
    site: str = ""
    traces: tuple[str, ...]  # Parquet files of `shakedown meter record`, beside this file
    sets: tuple[NodeSet, ...]
    feeds: tuple[MeteredFeed, ...]
    meters: tuple[MeterModel, ...] = ()
    subsystems: tuple[Subsystem, ...] = ()
    losses: tuple[Loss, ...] = ()
    subtracted: tuple[Subtracted, ...] = ()
    selection: Selection | None = None
    phases: Phases = Phases()
    performance: Performance = Performance()
    correlation: Share = 0.5  # between the errors of meters of one model


class Submission(NamedTuple):
    """A description with what was measured."""

    description: Description
    traces: Mapping[str, Trace]  # by channel key
    windows: Mapping[str, Window]
    rmax: float | None  # flop/s
    n: int | None
    notices: tuple[Notice, ...] = ()

    def feeds_of(self, name: str) -> tuple[MeteredFeed, ...]:
        """The metered feeds that serve a set or subsystem, without second meters on one load."""
        return tuple(one for one in self.description.feeds if one.of == name and one.channel and not one.same_as)

    def measures(self, name: str) -> bool:
        """Whether a metered feed serves or includes a subsystem."""
        return bool(self.feeds_of(name)) or any(name in one.includes for one in self.description.feeds if one.channel)

    def meter(self, feed: MeteredFeed) -> MeterModel | None:
        """The model of a feed's meter."""
        return next((one for one in self.description.meters if one.name == feed.meter), None)

    def accuracy(self, feed: MeteredFeed) -> Accuracy | None:
        """What is stated of a feed's meter: the site's word, else the channel's."""
        model = self.meter(feed)
        return (model.accuracy if model else None) or self.traces[feed.channel].channel.accuracy

    def upstream(self, feed: MeteredFeed) -> bool:
        """Whether a feed is metered before the power conversion."""
        if feed.location:
            return feed.location == "upstream"
        return self.traces[feed.channel].channel.place in UPSTREAM


# ---------------------------------------------------------------------------------------------------------------- reading


def read(path: Path) -> Description:
    """A description from TOML. Raises BadInput for what is misspelt, missing, or names what is not there."""
    return describe(strict.read_toml(strict.read_text(path), str(path)), str(path))


def describe(raw: Mapping[str, object], file: str) -> Description:
    """The tables of a description, checked. Raises BadInput."""
    found = strict.convert(raw, Description, file, hint="docs/green500.md explains every key")
    for problem in _problems(found):
        raise BadInput(problem, where=file, hint="docs/green500.md explains every key")
    served = [*(one.name for one in found.sets), *(one.name for one in found.subsystems)]
    for feed in found.feeds:
        where = f"{file}: feed {feed.name!r}"
        for name in (*filter(None, [feed.of]), *feed.includes):
            if name not in served:
                raise unknown("set or subsystem", name, served, where=where)
        if feed.meter and feed.meter not in [one.name for one in found.meters]:
            raise unknown("meter", feed.meter, [one.name for one in found.meters], where=where)
        if feed.loss and feed.loss not in [one.name for one in found.losses]:
            raise unknown("loss model", feed.loss, [one.name for one in found.losses], where=where)
    return found


def _problems(found: Description) -> Iterator[str]:
    for kind, names in (
        ("set or subsystem", [*(one.name for one in found.sets), *(one.name for one in found.subsystems)]),
        ("meter", [one.name for one in found.meters]),
        ("loss model", [one.name for one in found.losses]),
    ):
        for name in sorted(set(names)):
            if names.count(name) > 1:
                yield f"there is more than one {kind} {name!r}"
    if not found.sets:
        yield "there is no set of compute nodes"
    for one in found.sets:
        if one.names and len(expand(one.names)) != one.nodes:
            yield f"the set {one.name!r} has {one.nodes} nodes, but {len(expand(one.names))} names"
    sets = {one.name: one for one in found.sets}
    for feed in found.feeds:
        if feed.node_count is not None and feed.nodes:
            yield f"the feed {feed.name!r}: give node_count or nodes, not both"
        shared = [one for one in found.feeds if feed.load and one.load == feed.load and one.of == feed.of]
        told = any(one.nodes or one.node_count for one in shared or [feed])
        if feed.of in sets and feed.channel and not told:
            yield f"the feed {feed.name!r} of {feed.of!r} does not say how many nodes are behind it"
        strangers = set(expand(feed.nodes)) - set(expand(sets[feed.of].names)) if feed.of in sets else set()
        if strangers and sets[feed.of].names:
            yield f"the feed {feed.name!r} names nodes that {feed.of!r} does not have: {', '.join(sorted(strangers)[:5])}"
        bounded = {one.name for one in found.subsystems if one.state == "estimated"}
        if feed.channel and not feed.same_as and bounded & {feed.of, *feed.includes}:
            yield f"the feed {feed.name!r} measures a subsystem that is said to be estimated: it would count twice"
    yield from _behind_two(found)
    for loss in found.losses:
        loads = [watts for watts, _ in loss.efficiency]
        if not loads or loads != sorted(set(loads)) or any(not 0 < eta <= 1 for _, eta in loss.efficiency):
            yield f"the loss model {loss.name!r}: efficiency is pairs [W, share], W rising, 0 < share <= 1"


def _behind_two(found: Description) -> Iterator[str]:
    """Nodes behind several feeds: one load's supplies or phases say so, and agree on their number."""
    owner: dict[str, MeteredFeed] = {}
    counts: dict[tuple[str, str], tuple[int, str]] = {}
    for feed in found.feeds:
        if not feed.channel or feed.same_as or feed.of not in [one.name for one in found.sets]:
            continue
        for name in expand(feed.nodes):
            other = owner.setdefault(name, feed)
            if tree.load_of(other) != tree.load_of(feed):
                yield (
                    f"the feeds {other.name!r} and {feed.name!r} both name the node {name}: give both one load "
                    '(load = "...") where they are supplies or phases of it, or same_as to a second meter'
                )
                break
        if feed.load and (feed.node_count or feed.nodes):
            mine = feed.node_count or 0 if not feed.nodes else -1
            before, first = counts.setdefault((feed.of, feed.load), (mine, feed.name))
            if before != mine:
                yield (
                    f"the feeds {first!r} and {feed.name!r} of the load {feed.load!r} do not state the same nodes: "
                    "name them, or give the number of nodes behind the load in each"
                )


def load(path: Path) -> Submission:
    """A description with its traces and phases. Raises BadInput, StoreFailed, CannotMeasure."""
    found = read(path)
    windows = windows_of(found.phases, path.parent)[0].values()
    begin, end = min(one.begin_ns for one in windows), max(one.end_ns for one in windows)
    wanted = {feed.channel for feed in found.feeds}
    traces: list[Trace] = []
    for file in found.traces:
        there = channels(path.parent / file)
        named = [one for one in there if channel_key(one) in wanted] or list(there)
        traces += read_traces(path.parent / file, named, begin - AROUND_NS, end + AROUND_NS)
    return assemble(found, join(traces), path.parent)


def join(traces: Iterator[Trace] | Sequence[Trace]) -> dict[str, Trace]:
    """Traces by channel key; several of one channel become one, in order, what they share counted once."""
    parts: dict[str, list[Trace]] = {}
    for one in traces:
        parts.setdefault(channel_key(one.channel), []).append(one)
    out: dict[str, Trace] = {}
    for key, pieces in parts.items():
        whole = trace(
            pieces[0].channel,
            np.concatenate([one.t_ns for one in pieces]),
            np.concatenate([one.value for one in pieces]),
            half_ns=np.concatenate([one.half_ns for one in pieces]),
            status=np.concatenate([one.status for one in pieces]),
        )
        first = np.concatenate([[True], np.diff(whole.t_ns) > 0])[: len(whole)]
        out[key] = whole.take(first) if len(pieces) > 1 else whole
    return out


def assemble(found: Description, traces: Mapping[str, Trace], folder: Path = Path(".")) -> Submission:
    """A description and traces, put together. Raises BadInput for a feed whose channel has no trace, for two feeds of
    which one contains the other, and for phases that cannot be."""
    feeds = [one for one in found.feeds if one.channel]
    for feed in feeds:
        if feed.channel not in traces:
            raise unknown("channel", feed.channel, traces, where=f"feed {feed.name!r}")
        if traces[feed.channel].channel.quantity not in ("power", "energy"):
            raise BadInput(
                f"the channel {feed.channel!r} measures neither power nor energy", where=f"feed {feed.name!r}"
            )
    known = tree.tree([traces[one.channel].channel for one in feeds], tree.Site(feeds=found.feeds))
    tree.check_sum(known, [one.name for one in feeds if one.of and not one.same_as])
    windows, rmax, n, notices = windows_of(found.phases, folder)
    if found.performance.rmax:
        rmax = _rate(found.performance.rmax)
    return Submission(found, traces, windows, rmax, found.performance.n or n, notices)


def _rate(text: str) -> float:
    from ...units import UnknownUnit, parse_quantity

    try:
        value, unit = parse_quantity(text)
    except (UnknownUnit, ValueError) as error:
        raise BadInput(str(error), where="performance, rmax", hint='write it as "1.21 Pflop/s"') from None
    if unit != "flop/s" or value <= 0:
        raise BadInput(
            f"{text!r} is not a rate in flop/s", where="performance, rmax", hint='write it as "1.21 Pflop/s"'
        )
    return value


def expand(names: Sequence[str]) -> tuple[str, ...]:
    """``cn[001-003,7]`` as cn001, cn002, cn003, cn7; several brackets multiply. Raises BadInput."""
    return hostlist.expand(",".join(names), most=hostlist.MOST_NODES)
