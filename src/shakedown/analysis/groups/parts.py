"""Which parts of a fleet each group uses: its places and their hosts, the switches between them, their links, its rail.

In a tree of switches (leaf, spine, core) messages between two hosts meet at the lowest switch above both. So a group uses a
switch when some of its members lie below it, unless all of them lie below one of that switch's own branches; and it uses the
link from a switch up when some of its members lie below that switch and some do not. ``path`` is what two leaf switches have
between them whatever way that takes: a cable from one to the other, or a route through the spine that is the same each time.
``link`` is the same of two places of one host: what joins two GPUs.

A group is taken to use all of its parts in every call. All-to-all does: each member sends to each other. A ring need not
send between all of its members' switches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..table import Ints
from .data import GroupTests, Topology
from .records import Kind

FEWEST_TESTS = 4  # of a part, before anything is said of it
_TO = " - "  # between the two ends in a name
MOST_SHARED = 0.9  # of the tests: a part in nearly all of them has nothing to be compared with


class Parts(NamedTuple):
    """Parts that can be judged. ``test`` and ``part`` are the incidence, ordered by part."""

    kinds: tuple[Kind, ...]
    names: tuple[str, ...]
    alike: tuple[tuple[str, ...], ...]  # further parts that the very same tests use
    test: Ints
    part: Ints
    counts: Ints  # tests of each part
    unjudged: dict[str, int]  # parts of each kind with too few tests, or in nearly all of them


class _Uses(NamedTuple):
    kind: Kind
    names: list[str]
    test: Ints
    part: Ints  # number in ``names``


def of(tests: GroupTests, topology: Topology | None = None) -> Parts:
    """The parts of all tests that have a value."""
    valid = np.isfinite(tests.values)
    rows = valid[tests.test]
    test, member = tests.test[rows], tests.member[rows]
    uses = _ends(tests, test, member)
    if topology is not None and topology.parent:
        uses += _tree(tests, topology, test, member)
    railed = np.flatnonzero(valid & (tests.rail >= 0))
    if len(tests.rails) > 1:
        uses.append(_Uses("rail", list(tests.rails), railed, tests.rail[railed]))
    return _chosen(uses, int(valid.sum()), len(tests.values))


def _ends(tests: GroupTests, test: Ints, member: Ints) -> list[_Uses]:
    hosts = list(dict.fromkeys(tests.hosts))
    if len(hosts) == len(tests.places):
        return [_Uses("node", list(tests.places), test, member)]
    number = {host: index for index, host in enumerate(hosts)}
    host_of = np.array([number[host] for host in tests.hosts], np.int64)
    by_host = _distinct(test, host_of[member], len(hosts))
    return [
        _Uses("gpu", list(tests.places), test, member),
        _Uses("node", hosts, *by_host),
        _links(tests, host_of, len(hosts), test, member),
    ]


def _links(tests: GroupTests, host_of: Ints, hosts: int, test: Ints, member: Ints) -> _Uses:
    """Every two places of one host that a test has among its members: what lies between two GPUs."""
    key = test * hosts + host_of[member]
    order = np.lexsort((member, key))
    labels, of_key, part = _pairs(tests.places, key[order], member[order])
    return _Uses("link", [_TO.join(sorted(one.split(_TO))) for one in labels], of_key // hosts, part)


def _distinct(test: Ints, thing: Ints, things: int) -> tuple[Ints, Ints]:
    keys = np.unique(test * things + thing)
    return keys // things, keys % things


def _tree(tests: GroupTests, topology: Topology, test: Ints, member: Ints) -> list[_Uses]:
    above = [topology.above(host) for host in tests.hosts]
    names = list(dict.fromkeys(switch for chain in above for switch in chain))
    if not names:
        return []
    number = {name: index for index, name in enumerate(names)}
    depth = max(map(len, above))
    levels = np.full((len(above), depth), -1, np.int64)
    for place, chain in enumerate(above):
        levels[place, : len(chain)] = [number[switch] for switch in chain]
    sizes = np.bincount(test, minlength=len(tests.values))
    count = len(names)
    switches: list[tuple[Ints, Ints]] = []
    uplinks: list[tuple[Ints, Ints]] = []
    whole_below = np.zeros(len(tests.values), bool)  # all members lie in one branch below this level
    for level in range(depth):
        here = levels[member, level]
        known = here >= 0
        keys, below = np.unique(test[known] * count + here[known], return_counts=True)
        of_test, switch = keys // count, keys % count
        used = ~whole_below[of_test]
        switches.append((of_test[used], switch[used]))
        out = below < sizes[of_test]
        uplinks.append((of_test[out], switch[out]))
        whole_below[of_test[~out]] = True
    leaves = switches[0]
    return [
        _Uses("switch", names, *_joined(switches)),
        _Uses("uplink", names, *_joined(uplinks)),
        _Uses("path", *_pairs(names, *leaves)),
    ]


def _joined(pieces: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    return np.concatenate([one for one, _ in pieces]), np.concatenate([other for _, other in pieces])


def _pairs(names: Sequence[str], test: Ints, thing: Ints) -> tuple[list[str], Ints, Ints]:
    """Every two things that a test touches; both columns are ordered by test, then by thing."""
    count = len(names)
    found_test, found_key = [], []
    _, times = np.unique(test, return_counts=True)
    for ahead in range(1, int(times.max(initial=1))):
        same = test[:-ahead] == test[ahead:]
        found_test.append(test[:-ahead][same])
        found_key.append(thing[:-ahead][same] * count + thing[ahead:][same])
    of_test = np.concatenate(found_test) if found_test else np.zeros(0, np.int64)
    keys = np.concatenate(found_key) if found_key else np.zeros(0, np.int64)
    every, number = np.unique(keys, return_inverse=True)
    labels = [f"{names[key // count]}{_TO}{names[key % count]}" for key in every.tolist()]
    return labels, of_test, number.astype(np.int64)


#: Of parts that the same tests use, the one that names them: what a person looks at first.
_FIRST: dict[Kind, int] = {"node": 0, "gpu": 1, "link": 2, "switch": 3, "uplink": 4, "path": 5, "rail": 6}


def label(kind: Kind, name: str) -> str:
    """``node n17``, ``uplink of leaf3``."""
    return {"uplink": f"uplink of {name}", "gpu": f"GPU or rank {name}"}.get(kind, f"{kind} {name}")


def _chosen(uses: list[_Uses], valid: int, tests: int) -> Parts:
    """Those with tests enough and not in all of them; of those that the same tests use one stands for all."""
    rng = np.random.default_rng(17)  # any: sums of random words tell sets of tests apart
    words = rng.integers(0, 2**64, tests, np.uint64, endpoint=False)
    marks: dict[int, list[tuple[Kind, str, Ints]]] = {}
    unjudged: dict[str, int] = {}
    for one in uses:
        order = np.lexsort((one.test, one.part))
        test, part = one.test[order], one.part[order]
        counts = np.bincount(part, minlength=len(one.names))
        ends = np.cumsum(counts)
        for index in range(len(one.names)):
            number = int(counts[index])
            if number < FEWEST_TESTS or number > MOST_SHARED * valid:
                unjudged[one.kind] = unjudged.get(one.kind, 0) + (number > 0)
                continue
            mine = test[ends[index] - number : ends[index]]
            marks.setdefault(int(words[mine].sum()), []).append((one.kind, one.names[index], mine))
    groups = [sorted(group, key=lambda item: _FIRST[item[0]]) for group in marks.values()]
    firsts = [group[0] for group in groups]
    counts = np.array([len(mine) for _, _, mine in firsts], np.int64)
    return Parts(
        kinds=tuple(kind for kind, _, _ in firsts),
        names=tuple(name for _, name, _ in firsts),
        alike=tuple(tuple(label(kind, name) for kind, name, _ in group[1:]) for group in groups),
        test=np.concatenate([mine for _, _, mine in firsts]) if firsts else np.zeros(0, np.int64),
        part=np.repeat(np.arange(len(firsts)), counts),
        counts=counts,
        unjudged={kind: number for kind, number in unjudged.items() if number},
    )
