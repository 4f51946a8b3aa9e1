"""What could have been used: the nodes that there were, with their processors and GPUs, less what was down. The
histories are those of ``shakedown availability``, cut by its kernel, so that a down node means the same in both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ...errors import BadInput
from ...hosts.access import HostAccess
from ...records import Notice
from ..availability import segments as kernel
from ..availability.contract import Contract
from ..availability.history import OPEN_S, Builder, History
from ..availability.reading import inventory
from ..availability.reading import read as read_history
from .records import Capacity, Use

_KINDS = ("nodes", "processors", "gpus")


class Amount(NamedTuple):
    """Seconds of one kind in a stretch: what was there, of it down, of it not observed."""

    there: int
    down: int
    unseen: int


class Available(NamedTuple):
    """What was there, as segments for each kind."""

    basis: str
    segments: dict[str, kernel.Segments]
    watched: bool  # whether anything tells of down time
    notices: tuple[Notice, ...] = ()

    def within(self, kind: str, begin_s: int, end_s: int) -> Amount:
        one = self.segments[kind]
        length = np.maximum(0, np.minimum(one.end, end_s) - np.maximum(one.begin, begin_s))
        there = length * one.weight
        down = int((there * np.where(one.seen, one.lost, 0)).sum()) // one.parts
        return Amount(int(there.sum()), down, int(there[~one.seen].sum()))


def given(nodes: str) -> Builder:
    """The nodes in words. Raises BadInput."""
    builder = Builder()
    inventory.add(builder, nodes)
    if not builder.has_inventory():
        raise BadInput("names no node", where="--nodes", hint="such as 'node[1-4] processors=64 gpus=4'")
    return builder


def find(
    nodes: str, sources: Sequence[str], door: HostAccess, *, begin_s: int, end_s: int, zone: str
) -> Available | None:
    """What the nodes in words and the histories tell together; None where neither is given. Raises BadInput."""
    if not nodes and not sources:
        return None
    if sources:
        history = read_history(sources, door, begin_s=begin_s, end_s=end_s, zone=zone, nodes=nodes)
        basis = f"nodes and down time of {', '.join(sources)}"
    else:
        builder = given(nodes)
        builder.seen.append((0, OPEN_S))
        history, basis = builder.history(), f"nodes as given: {nodes}"
    segments = {kind: _segments(history, kind, begin_s, end_s) for kind in _KINDS}
    return Available(basis, segments, bool(sources), tuple(history.notices))


def _segments(history: History, kind: str, begin_s: int, end_s: int) -> kernel.Segments:
    rule = Contract(name="capacity", title="", source="", at_least="0 %", counting=kind)  # type: ignore[arg-type]
    return kernel.segments(history, rule, begin_s, end_s, kernel.Claims.none())


def judged(found: Available | None, whole: Use, begin_s: int, end_s: int) -> Capacity | None:
    """The capacity of a window, and how much of it was used."""
    if found is None:
        return None
    nodes, cpus, gpus = (found.within(kind, begin_s, end_s) for kind in _KINDS)

    def share(used: int | None, of: int) -> float | None:
        return used / of if used is not None and of > 0 else None

    plain = Capacity(
        basis=found.basis,
        node_s=nodes.there,
        cpu_s=cpus.there,
        gpu_s=gpus.there,
        cpu_utilisation=share(whole.cpu_s, cpus.there),
        gpu_utilisation=share(whole.gpu_s, gpus.there),
        node_utilisation=share(whole.node_s, nodes.there),
    )
    if not found.watched:
        return plain
    return msgspec.structs.replace(
        plain,
        down_node_s=nodes.down,
        down_cpu_s=cpus.down,
        down_gpu_s=gpus.down,
        unseen_cpu_s=cpus.unseen,
        cpu_utilisation_up=share(whole.cpu_s, cpus.there - cpus.down),
        gpu_utilisation_up=share(whole.gpu_s, gpus.there - gpus.down),
    )
