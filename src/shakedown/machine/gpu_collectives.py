"""The bus bandwidth that a collective between GPUs can have at most, by what carries it and by how it is done. Pure.

Bus bandwidth is nccl-tests': the bytes of the operation over its time, times 2 (p-1)/p for an all-reduce, (p-1)/p for
all-gather, reduce-scatter and all-to-all, 1 for the rest, for p GPUs. With B the payload of one GPU's links and R that of a
node's rails (all its adapters), n GPUs on each of N nodes, p = n N, S the bytes:

    ring        each GPU sends what bus bandwidth counts, each node's rails carry one ring of it      B, R
    tree        each GPU sends S up and S down, in a chain within the node (all-reduce alone)         (p-1)/p x B or R
    in switch   each GPU sends S and receives S, and the n-th part of both again:
                S (1 + 1/n) through its links, where bus bandwidth counts 2 (n-1)/n S                 2 (n-1)/(n+1) x B
    by host     a ring whose GPUs are joined through the host's memory                                    its PCI Express
    any         between nodes, whatever is done: a node sends at least 2 (N-1)/N S of an all-reduce,
                and receives (N-1)/N S of an all-gather                                               N (p-1)/((N-1) p) x R
    all-to-all  n (p-n)/p S leave each node, where bus bandwidth counts (p-1)/p S of one GPU          (p-1)/(n (p-n)) x R

The bounds of a node follow Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009;
bus bandwidth is defined in nccl-tests, doc/PERFORMANCE.md; what a switch reduces is counted after NVIDIA/nccl issue 2140.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..records import Gpu, Network, Peak
from .accelerators import NVLINK_PAYLOAD, NVLINK_SWITCHED, peaks_of

RING, IN_SWITCH, RAILS = "gpu.collective.ring", "gpu.collective.in_switch", "gpu.rails.bandwidth"
#: The way of ranks of one node that are joined through the host's memory.
BY_HOST = "by_host"
UNITS = dict.fromkeys((RING, IN_SWITCH, RAILS), "B/s")


class Bound(NamedTuple):
    """The most that the bus bandwidth can be, and what bounds it, in words."""

    value: float  # B/s
    by: str


def in_switch(gpus: int) -> float:
    """Bus bandwidth over a GPU's link rate, where the switch reduces an all-reduce of so many GPUs."""
    return 2 * (gpus - 1) / (gpus + 1)


def between_nodes(operation: str, algorithm: str, gpus: int, nodes: int) -> float:
    """Bus bandwidth over the rate of a node's rails, at most, of ``gpus`` in all on so many nodes (more than one)."""
    each = gpus / nodes
    if operation == "alltoall":
        return (gpus - 1) / (each * (gpus - each))
    if operation == "all_reduce" and algorithm == "tree":
        return (gpus - 1) / gpus
    if operation not in ("all_reduce", "all_gather", "reduce_scatter") or algorithm == "ring":
        return 1.0
    return nodes * (gpus - 1) / ((nodes - 1) * gpus)


def bound(operation: str, algorithm: str, gpus: int, nodes: int, peaks: Sequence[Peak]) -> Bound | None:
    """What an operation on ``gpus`` in all on so many nodes is bounded by, done so ("ring", "tree", "in_switch"); None where
    the links are not known, or it cannot be done so."""
    links = _links(algorithm, peaks)
    if links is None or gpus < 2 or nodes < 1 or gpus % nodes:
        return None
    share = 1.0
    each = gpus // nodes
    if algorithm == "tree" and operation == "all_reduce":
        share = (gpus - 1) / gpus
    elif algorithm == "in_switch" and operation == "all_reduce":
        share = in_switch(max(2, each))
    words = _words(algorithm, operation, each, share)
    found = Bound(links.value * share, f"{words}: {links.basis}") if each > 1 else None
    if nodes == 1:
        return found
    rails = next((peak for peak in peaks if peak.name == RAILS), None)
    if rails is None:
        return None
    part = between_nodes(operation, algorithm, gpus, nodes)
    outside = Bound(rails.value * part, f"rails of {nodes} nodes: {rails.basis} x {part:.4g}")
    return outside if found is None or outside.value < found.value else found


def _links(algorithm: str, peaks: Sequence[Peak]) -> Peak | None:
    pcie = "gpu.pcie.payload"
    names = {"in_switch": (NVLINK_SWITCHED,), BY_HOST: (pcie,)}.get(algorithm, (NVLINK_PAYLOAD, pcie))
    return next((peak for name in names for peak in peaks if peak.name == name), None)


def _words(algorithm: str, operation: str, gpus: int, share: float) -> str:
    if algorithm == BY_HOST:
        return "through the host"
    if share == 1.0:
        return "ring" if operation == "all_reduce" else "each GPU's links"
    if algorithm == "in_switch":
        return f"reduced in the switch, 2 ({gpus}-1)/({gpus}+1) = {share:.4g} of the links"
    return f"tree, {share:.4g} of the links"


def node_peaks(gpus: Sequence[Gpu], networks: Sequence[Network]) -> tuple[Peak, ...]:
    """The limits of an all-reduce over all GPUs of a node, where they are of one kind; and the sum of its rails."""
    if len(gpus) < 2 or len({gpu.name for gpu in gpus}) > 1:
        return ()
    of_one = [*peaks_of(_weakest(gpus), f"each of {len(gpus)} {gpus[0].name}")]
    found = []
    for name, algorithm in ((RING, "ring"), (IN_SWITCH, "in_switch")):
        most = bound("all_reduce", algorithm, len(gpus), 1, of_one)
        if most is not None:
            found.append(Peak(name=name, scope="node", value=most.value, unit="B/s", kind="derived", basis=most.by))
    return (*found, *_rails(networks))


def _weakest(gpus: Sequence[Gpu]) -> Gpu:
    """The GPU with the fewest links that are up: a ring is as fast as its slowest part."""

    def links(gpu: Gpu) -> float:
        count = gpu.facts.get("nvlinks")
        return float(count) if isinstance(count, (int, float)) else 0.0

    return min(gpus, key=links)


def _rails(networks: Sequence[Network]) -> tuple[Peak, ...]:
    """The ports of adapters that reach memory by themselves (InfiniBand, RoCE) and are active, one way."""
    ports = [one for one in networks if "link_layer" in one.facts and one.rate_bit_s]
    if not ports:
        return ()
    rates = sorted({float(one.rate_bit_s or 0) for one in ports})
    words = f"{rates[0] / 1e9:g}" if len(rates) == 1 else f"{rates[0] / 1e9:g} to {rates[-1] / 1e9:g}"
    total = sum(float(one.rate_bit_s or 0) for one in ports) / 8
    basis = f"{len(ports)} port{'s' * (len(ports) > 1)} of {words} Gbit/s one way"
    return (Peak(name=RAILS, scope="node", value=total, unit="B/s", kind="derived", basis=basis),)
