"""Our loops of the gas in a box beside the solver written down as in the books, which the tests hold them to.

Both advance the same gas by the same steps of time, in turn, on one thread and by that thread's own time (hydro_peers, built
with the native tests, --build); in the end they must agree within rounding (--tolerance). The books' solver goes cell by
cell with a division where the formula has one. HydroC is in no package: its 3.5 million cells a second and core, on two
ranks of a machine with AVX-512, 2,000 x 2,000 cells of the same blast, is what `ours` stands beside in docs/performance.md.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import common
from common import Option

from . import Figure, Group, Pass, Rates, Row

RATE = "million cell steps/s"


def both(asked: argparse.Namespace, path: str, problem: str) -> Rates:
    """Cell steps a second by the medians of their steps. Raises Wrong where the two do not agree."""
    (found,) = common.events([path, "--n", str(asked.n), "--steps", str(asked.steps), "--problem", problem])
    if not found["apart"] <= asked.tolerance:
        raise common.Wrong(f"{problem}: the loops and the books' solver are {found['apart']} apart")
    return {side: {RATE: found["cells"] / statistics.median(found[side])} for side in ("ours", "books")}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    path = str(Path(asked.build or "build", "native/hydro/hydro_peers").resolve())
    needs = {path: "configure with -DSHAKEDOWN_TESTS=ON, build the target peers, and name the folder by --build"}
    for problem in ("blast", "checkers"):
        one = Pass("hydro_peers", partial(both, asked, path, problem), needs)
        yield Group(f"{problem}, {asked.n} x {asked.n} cells", {RATE: Figure(RATE, 1e-6)}, [one], ["ours"])


ROW = Row(
    groups,
    rounds=5,
    options={
        "n": Option(400, 20),
        "steps": Option(20, 4),
        "tolerance": Option(1e-9, help="relative, of mass and energy of each cell"),
    },
)
