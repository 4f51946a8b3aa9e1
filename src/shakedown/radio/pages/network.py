"""What usable links make of radios: the parts of the network, and the radios whose loss would split one.

A network of n radios has up to n (n - 1) / 2 links. Which radios split it shows in at most 2 (n - 1) of them: a
breadth-first forest, and one of what that leaves (Cheriyan, Kao, Thurimella, SIAM J. Comput. 22, 1993: scan-first search
forests). The search for articulation points is Tarjan's (SIAM J. Comput. 1, 1972).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]


class Connectivity(NamedTuple):
    """``part[radio]``: which part of the network it is in, the largest is 0. ``splits[radio]``: its loss would split it.
    ``neighbours[radio]``: how many usable links it has."""

    part: Ints
    sizes: Ints  # of each part, the largest first
    splits: Bools
    neighbours: Ints

    @property
    def alone(self) -> int:
        """Radios without a usable link."""
        return int((self.neighbours == 0).sum())


def connectivity(radios: int, a: Ints, b: Ints) -> Connectivity:
    """Of ``radios`` radios with usable links between ``a[k]`` and ``b[k]``."""
    import numpy as np
    from scipy.sparse import csgraph

    graph = _graph(radios, a, b)
    _, labels = csgraph.connected_components(graph, directed=False)
    sizes = np.bincount(labels, minlength=1)
    order = np.argsort(-sizes, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    first = _forest(graph)
    rest = graph - _graph(radios, *first)
    rest.eliminate_zeros()
    second = _forest(rest)
    splits = _articulation(radios, np.concatenate([first[0], second[0]]), np.concatenate([first[1], second[1]]))
    neighbours = np.bincount(np.concatenate([a, b]), minlength=radios).astype(np.int64)
    return Connectivity(place[labels], sizes[order].astype(np.int64), splits, neighbours)


def _graph(radios: int, a: Ints, b: Ints):  # type: ignore[no-untyped-def]  # scipy has no types
    import numpy as np
    from scipy.sparse import csr_array

    ones = np.ones(2 * len(a), np.int8)
    return csr_array((ones, (np.concatenate([a, b]), np.concatenate([b, a]))), shape=(radios, radios))


def _forest(graph) -> tuple[Ints, Ints]:  # type: ignore[no-untyped-def]
    """The links of a breadth-first forest: each radio but the first of a part with the one that it was found from. One
    search from a further point that leads to the first radio of every part."""
    import numpy as np
    from scipy.sparse import csgraph, csr_array

    radios = graph.shape[0]
    _, labels = csgraph.connected_components(graph, directed=False)
    firsts = np.unique(labels, return_index=True)[1]
    indices = np.concatenate([graph.indices, firsts.astype(graph.indices.dtype)])
    begins = np.append(graph.indptr, graph.indptr[-1] + len(firsts)).astype(graph.indptr.dtype)
    whole = csr_array((np.ones(len(indices), np.int8), indices, begins), shape=(radios + 1, radios + 1))
    _, before = csgraph.breadth_first_order(whole, radios, directed=True)
    children = np.flatnonzero((before[:radios] >= 0) & (before[:radios] < radios))
    return before[children].astype(np.int64), children


def _articulation(radios: int, a: Ints, b: Ints) -> Bools:
    """Tarjan's search without recursion: a radio splits its part where nothing below a child of it reaches above it."""
    import numpy as np

    near: list[list[int]] = [[] for _ in range(radios)]
    for one, other in zip(a.tolist(), b.tolist(), strict=True):
        near[one].append(other)
        near[other].append(one)
    found, lowest = [0] * radios, [0] * radios
    splits = np.zeros(radios, np.bool_)
    clock = 0
    for root in range(radios):
        if found[root]:
            continue
        clock += 1
        found[root] = lowest[root] = clock
        children = 0
        path = [(root, -1, iter(near[root]))]
        while path:
            at, parent, others = path[-1]
            other = next(others, None)
            if other is None:
                path.pop()
                if parent >= 0:
                    lowest[parent] = min(lowest[parent], lowest[at])
                    if parent == root:
                        children += 1
                    elif lowest[at] >= found[parent]:
                        splits[parent] = True
            elif not found[other]:
                clock += 1
                found[other] = lowest[other] = clock
                path.append((other, at, iter(near[other])))
            elif other != parent:
                lowest[at] = min(lowest[at], found[other])
        splits[root] = children > 1
    return splits
