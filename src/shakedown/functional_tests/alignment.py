"""An alignment whose tree, model and likelihood are known: the input of ``raxml`` and ``examl``.

    python -m shakedown.functional_tests.alignment --taxa 218 --sites 2294 --seed 1

A random tree of ``taxa`` leaves with exponential branches; letters that evolve along it by GTR with four classes of
rates, those of Yang's discrete Gamma with alpha = 0.5, so that GTR+GAMMA holds the truth. Writes ``A.phy`` (PHYLIP),
``true.tree`` and ``start.tree`` (the same leaves on another random tree), and prints the likelihood of the truth by
Felsenstein's pruning: what an optimised likelihood of the true tree may not be below, and above which it lies by half
the number of free parameters, give or take (Wilks).

Source: Felsenstein, J Mol Evol 17 (1981) 368; Yang, J Mol Evol 39 (1994) 306; Wilks, Ann Math Stat 9 (1938) 60.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Exchange of A-C, A-G, A-T, C-G, C-T, G-T, and the frequencies of A, C, G, T.
EXCHANGE = (1.2, 3.6, 0.8, 1.1, 4.1, 1.0)
FREQUENCIES = (0.30, 0.21, 0.24, 0.25)
#: Means of the four quarters of a Gamma distribution with shape and rate 0.5.
RATES = (0.03338775, 0.25191592, 0.82026848, 2.89442785)
LETTERS = np.frombuffer(b"ACGT", dtype=np.uint8)
#: Means of the branches to leaves and between inner nodes, in substitutions a site.
TIP, INNER = 0.035, 0.0175
#: Sites that are drawn at once.
CHUNK = 65536
_Matrix = NDArray[np.float64]


class Tree(NamedTuple):
    """Nodes, the leaves first, each before its parent. The last is the root, with three children."""

    parents: NDArray[np.int64]
    lengths: _Matrix
    leaves: int


def tree(leaves: int, draw: np.random.Generator) -> Tree:
    """A random tree: two of the parts that are left are joined until three remain."""
    parents = np.full(2 * leaves - 2, -1)
    parts, node = list(range(leaves)), leaves
    while len(parts) > 3:
        for _ in range(2):
            parents[parts.pop(int(draw.random() * len(parts)))] = node
        parts.append(node)
        node += 1
    parents[parts] = node
    means = np.where(np.arange(node + 1) < leaves, TIP, INNER)
    return Tree(parents, -np.log1p(-draw.random(node + 1)) * means, leaves)


def newick(one: Tree) -> str:
    """The tree as text; the leaves are t1, t2, ..."""
    below: dict[int, list[str]] = {}
    for node, parent in enumerate(one.parents):
        name = f"t{node + 1}" if node < one.leaves else f"({','.join(below.pop(node))})"
        if parent < 0:
            return f"{name};\n"
        below.setdefault(int(parent), []).append(f"{name}:{one.lengths[node]:.9f}")
    raise AssertionError("the last node of a tree is its root")


def transitions(length: float) -> _Matrix:
    """Of each class of rates the probability of each letter at the end of a branch, by the letter at its beginning."""
    pi = np.array(FREQUENCIES)
    q = np.zeros((4, 4))
    q[np.triu_indices(4, 1)] = EXCHANGE
    q = (q + q.T) * pi
    q -= np.diag(q.sum(axis=1))
    q /= -(np.diag(q) * pi).sum()
    root = np.sqrt(pi)
    values, vectors = np.linalg.eigh(q * root[:, None] / root[None, :])
    grown = np.exp(np.outer(np.array(RATES) * length, values))
    found = np.einsum("ik,ck,jk->cij", vectors / root[:, None], grown, vectors * root[:, None])
    clipped: _Matrix = np.clip(found, 0.0, 1.0)
    return clipped


def evolve(one: Tree, moves: Sequence[_Matrix], sites: int, draw: np.random.Generator) -> NDArray[np.uint8]:
    """The letters (0 to 3) of each leaf at each site."""
    nodes = len(one.parents)
    state = np.empty((nodes, sites), dtype=np.uint8)
    rate = (draw.random(sites) * 4).astype(np.int64)
    state[nodes - 1] = np.searchsorted(np.cumsum(FREQUENCIES)[:3], draw.random(sites), side="right")
    for node in range(nodes - 2, -1, -1):
        bounds = np.cumsum(moves[node], axis=2)[rate, state[one.parents[node]], :3]
        state[node] = (draw.random(sites)[:, None] >= bounds).sum(axis=1)
    return state[: one.leaves]


def log_likelihood(one: Tree, moves: Sequence[_Matrix], columns: NDArray[np.uint8], counts: NDArray[np.int64]) -> float:
    """Of so many equal columns each, the logarithm of their probability: Felsenstein's pruning, scaled at every node."""
    patterns, nodes = columns.shape[1], len(one.parents)
    partial: dict[int, _Matrix] = {}
    scale = np.zeros(patterns)
    for node in range(nodes):
        if node < one.leaves:
            up = moves[node][:, :, columns[node]]
        else:
            mine = partial.pop(node)
            top = mine.max(axis=(0, 1))
            scale += np.log(top)
            mine /= top
            if node == nodes - 1:
                each = np.einsum("cjs,j->s", mine, np.array(FREQUENCIES)) / len(RATES)
                return float(((np.log(each) + scale) * counts).sum())
            up = np.matmul(moves[node], mine)
        parent = int(one.parents[node])
        partial[parent] = partial[parent] * up if parent in partial else up
    raise AssertionError("the last node of a tree is its root")


def write(folder: Path, taxa: int, sites: int, seed: int) -> float:
    """Write alignment and trees; the log-likelihood of the truth."""
    draw = np.random.Generator(np.random.PCG64(seed))
    true, start = tree(taxa, draw), tree(taxa, draw)
    (folder / "true.tree").write_text(newick(true))
    (folder / "start.tree").write_text(newick(start))
    moves = [transitions(float(length)) for length in true.lengths]
    total = 0.0
    width = len(str(taxa)) + 2
    with (folder / "A.phy").open("wb") as file:
        names = [f"t{leaf + 1}".ljust(width).encode() for leaf in range(taxa)]
        head = f"{taxa} {sites}\n".encode()
        file.write(head)
        for begin in range(0, sites, CHUNK):
            many = min(CHUNK, sites - begin)
            letters = evolve(true, moves, many, draw)
            for leaf in range(taxa):
                _put(file, len(head) + leaf * (width + sites + 1), width, begin, names[leaf], letters[leaf])
            for each in range(0, many, 4096):
                columns, counts = np.unique(letters[:, each : each + 4096], axis=1, return_counts=True)
                total += log_likelihood(true, moves, columns, counts)
        for leaf in range(taxa):
            file.seek(len(head) + (leaf + 1) * (width + sites + 1) - 1)
            file.write(b"\n")
    return total


def _put(file: IO[bytes], row: int, width: int, begin: int, name: bytes, letters: NDArray[np.uint8]) -> None:
    file.seek(row)
    file.write(name)
    file.seek(row + width + begin)
    file.write(LETTERS[letters].tobytes())


def main() -> int:
    words = argparse.ArgumentParser(prog="alignment", description="an alignment whose tree and likelihood are known")
    words.add_argument("--taxa", type=int, required=True)
    words.add_argument("--sites", type=int, required=True)
    words.add_argument("--seed", type=int, default=1)
    asked = words.parse_args()
    found = write(Path.cwd(), asked.taxa, asked.sites, asked.seed)
    print(f"alignment of {asked.taxa} taxa and {asked.sites} sites, seed {asked.seed}: log-likelihood {found:.6f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
