"""Which nodes sit behind which switch: given in a file, or found from the values.

A file is Slurm's topology.conf (``SwitchName=leaf1 Nodes=node[1-16]``, ``SwitchName=top Switches=leaf[1-4]``) or TOML:

    [switches]
    leaf1 = ["n1", "n2", "n3"]
    leaf2 = ["n4", "n5", "n6"]

Two nodes behind one switch are near each other, and healthy pairs of them differ from others: that is no finding.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import BadInput
from ...hosts.hostlist import expand
from ...strict import read_text, read_toml
from ..statistics import MAD_TO_SIGMA
from ..table import Floats, Ints

#: How far near and far pairs lie apart before groups are believed, in robust deviations within each.
APART = 4.0
_GAP = 0.03  # in log time: nearer heaps are not worth a group
_FEWEST = 20  # pairs
PURE = 0.95  # of the pairs of a group that are near, and of the others that are far


class Groups(NamedTuple):
    """``of`` numbers the group of each place (-1: in none); ``names`` are those of the switches, where known."""

    of: Ints
    names: tuple[str, ...]


def read(path: Path) -> dict[str, str]:
    """Node -> its switch. Raises BadInput."""
    text = read_text(path)
    if re.search(r"^\s*SwitchName\s*=", text, re.MULTILINE | re.IGNORECASE):
        return _slurm(text, str(path))
    raw = read_toml(text, str(path)).get("switches")
    if not isinstance(raw, dict) or not raw:
        raise BadInput(
            "names no switch",
            where=str(path),
            hint='write a table [switches] with leaf1 = ["n1", "n2"], or give Slurm\'s topology.conf',
        )
    found: dict[str, str] = {}
    for switch, nodes in raw.items():
        if not isinstance(nodes, list) or not all(isinstance(node, str) for node in nodes):
            raise BadInput(
                f"switch {switch!r} is not a list of names", where=str(path), hint=f'{switch} = ["n1", "n2"]'
            )
        for node in nodes:
            _put(found, node, switch, str(path))
    return found


def tree(path: Path) -> dict[str, str]:
    """Node or switch -> the switch that it hangs on: as ``read``, and the switches behind switches. Raises BadInput."""
    found = dict(read(path))
    for line in read_text(path).splitlines():
        entries = {name.lower(): item for name, item in re.findall(r"(\w+)\s*=\s*(\S+)", line.partition("#")[0])}
        if "switchname" in entries and "switches" in entries:
            for below in expand(entries["switches"]):
                _put(found, below, entries["switchname"], str(path))
    return found


def _put(found: dict[str, str], node: str, switch: str, file: str) -> None:
    if found.setdefault(node, switch) != switch:
        raise BadInput(
            f"node {node!r} stands behind {found[node]} and behind {switch}",
            where=file,
            hint="name each node once, behind its leaf switch",
        )


def _slurm(text: str, file: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        entries = {name.lower(): item for name, item in re.findall(r"(\w+)\s*=\s*(\S+)", line.partition("#")[0])}
        if "switchname" in entries and "nodes" in entries:
            try:
                nodes = expand(entries["nodes"])
            except BadInput as error:
                raise BadInput(error.what, where=file, hint="SwitchName=leaf1 Nodes=node[1-16]") from None
            for node in nodes:
                _put(found, node, entries["switchname"], file)
    if not found:
        raise BadInput("names no switch with nodes", where=file, hint="SwitchName=leaf1 Nodes=node[1-16]")
    return found


def given(switches: dict[str, str], hosts: Sequence[str]) -> Groups:
    """The groups of the places by their hosts. Raises BadInput where the file names none of them."""
    names = tuple(dict.fromkeys(switches[host] for host in hosts if host in switches))
    if not names:
        raise BadInput(
            "the topology names none of the measured nodes",
            hint=f"it must name nodes as they name themselves, for example {hosts[0] if hosts else 'n1'}",
        )
    number = {name: index for index, name in enumerate(names)}
    return Groups(np.array([number.get(switches.get(host, ""), -1) for host in hosts], np.int64), names)


def by_host(hosts: Sequence[str]) -> Groups | None:
    """Ranks of one host are near each other; None where every host has one rank."""
    names = tuple(dict.fromkeys(hosts))
    if len(names) in (1, len(hosts)):
        return None
    return Groups(np.array([names.index(host) for host in hosts], np.int64), names)


def found(a: Ints, b: Ints, residuals: Floats, places: int) -> Groups | None:
    """Groups whose pairs among themselves are faster than the rest, or None where there are none such.

    The residuals of the fit fall into two heaps far apart (Otsu's threshold, 1979), and the faster pairs join places
    into groups that are almost complete inside and almost without such pairs outside.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    threshold = _between(residuals)
    if threshold is None:
        return None
    near = residuals < threshold
    graph = coo_matrix((np.ones(int(near.sum()), np.int8), (a[near], b[near])), shape=(places, places))
    number, labels = connected_components(graph, directed=False)
    inside = labels[a] == labels[b]
    if number < 2 or not inside.any() or inside.all():
        return None
    sizes = np.bincount(labels)
    most = sizes[sizes >= 2].sum() >= places / 2  # a few odd nodes are no topology
    if not most or near[inside].mean() < PURE or near[~inside].mean() > 1 - PURE:
        return None
    return Groups(labels.astype(np.int64), ())


def _between(residuals: Floats) -> float | None:
    """The threshold between a fast heap and the rest, or None where they are one."""
    if len(residuals) < _FEWEST:
        return None
    low, high = np.quantile(residuals, [0.0005, 0.9995])
    if high - low < _GAP:
        return None
    counts, edges = np.histogram(residuals, 200, (float(low), float(high)))
    middles = (edges[1:] + edges[:-1]) / 2
    below = np.cumsum(counts)
    above = below[-1] - below
    sums = np.cumsum(counts * middles)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = below * above * (sums / below - (sums[-1] - sums) / above) ** 2
    best = int(np.nanargmax(gain[:-1]))
    # within the gap any threshold is as good: its middle keeps farthest from both heaps
    equal = np.flatnonzero(np.isclose(gain[:-1], gain[best], rtol=1e-9))
    threshold = float((edges[equal[0] + 1] + edges[equal[-1] + 1]) / 2)
    parts = residuals[residuals < threshold], residuals[residuals >= threshold]
    if min(map(len, parts)) < 2:
        return None
    centres = [float(np.median(part)) for part in parts]
    widths = [
        MAD_TO_SIGMA * float(np.median(np.abs(part - centre))) for part, centre in zip(parts, centres, strict=True)
    ]
    apart = centres[1] - centres[0] > APART * max(*widths, 1e-9) and centres[1] - centres[0] > _GAP
    return threshold if apart else None
