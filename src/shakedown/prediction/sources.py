"""Where a forecast's setup and measured runs come from: run directories, logs, a description, a published system."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from .. import published as systems
from ..errors import BadInput
from ..workloads.common.hpl_dat import HplDat
from . import files, measured, priors, publications
from . import setup as setups
from . import targets as wanted
from .setup import Row, Setup


class Sources(NamedTuple):
    """``observed`` calibrates; ``known`` are all runs that were measured, among them what may be held out; ``said`` is what
    a reader must know of runs that do not count."""

    setup: Setup
    observed: tuple[Row, ...]
    known: tuple[Row, ...] = ()
    dats: tuple[tuple[str, HplDat], ...] = ()
    said: tuple[str, ...] = ()


def of_published(name: str, counts: Sequence[int], model: Path | None) -> Sources:
    """The runs of a published system on so many nodes. Raises BadInput."""
    system = systems.system(name)
    described = setups.load(model) if model else setups.shipped(system.id)
    if described is None:
        raise BadInput(
            f"how HPL was run on {system.id!r} is not described",
            where="--published",
            hint="describe it: --model FILE (docs/forecast.md)",
        )
    known = publications.published_rows(system, described)
    return Sources(described, publications.pick(known, counts, "--from", described.counts), known)


def of_paths(paths: Sequence[Path], model: Path | None, ranks_per_node: int) -> Sources:
    """Run directories, logs of HPL and HPL.dat files, and a description's own runs. Raises BadInput."""
    described = setups.load(model) if model else None
    if not paths and described is None:
        raise BadInput(
            "there is nothing to forecast from",
            hint="give run directories, logs of HPL, --published SYSTEM, or --model FILE: shakedown predict hpl --published "
            "tsubame",
        )
    folders = [path for path in paths if path.is_dir()]
    asked = ranks_per_node or (described.run.ranks_per_node if described else 0)
    found = measured.from_runs(folders, ranks_per_node=asked) if folders else None
    run = described.run if described else found.run if found else None
    each = ranks_per_node or (run.ranks_per_node if run else 0)
    read = files.read([path for path in paths if path not in folders], each, run.threads if run else 1)
    rows = (*(found.rows if found else ()), *measured.merged(read.rows))
    if described is None:
        if not rows:
            raise BadInput(
                "an HPL.dat says what to run, and nothing says how fast the machine is",
                where=read.dats[0][0] if read.dats else "",
                hint="give logs or run directories of smaller runs too, or --model FILE with input.dgemm",
            )
        config = rows[-1].config
        assert config is not None
        described = setups.Setup(
            title="this cluster", run=found.run if found else files.run_as(config), priors=priors.DEFAULTS
        )
    if found:
        described = msgspec.structs.replace(
            described,
            priors={**described.priors, **found.priors},
            memory_bytes=described.memory_bytes or found.memory_bytes,
        )
    said = (*(found.said if found else ()), *read.said)
    return Sources(described, (*described.measured, *rows), (), read.dats, said)


def targets(
    setup: Setup,
    found: Sources,
    observed: Sequence[Row],
    counts: Sequence[int],
    n: int,
    grids: Sequence[tuple[int, int]],
) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """What to forecast: what the HPL.dat files would run and the numbers of nodes, else every size that is held out; and
    what to say of it. Raises BadInput where that is nothing."""
    made = tuple(row for where, dat in found.dats for row in wanted.candidates(setup, dat, where))
    if made and not counts:
        return made, found.said
    counts = counts or wanted.held_out_counts(found.known, observed, setup)
    rows, said = wanted.rows(setup, counts, found.known, observed, n=n, grids=grids)
    return (*made, *rows), (*found.said, *said)
