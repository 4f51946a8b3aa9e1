"""Files that users have of HPL: logs of runs become rows to calibrate with, HPL.dat files what is to be forecast.

A log does not say on how many nodes it was made: the ranks of a node are asked for, or stand in the description.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..errors import BadInput
from ..files import packed
from ..records import Case
from ..workloads import Garbage, xhpl
from ..workloads.common import hpl_dat
from ..workloads.common.hpl_dat import HplDat
from .inputs import Config, netlib
from .setup import Row, RunAs, check_ranks, on_gpus

_MOST_BYTES = 64 << 20


class Files(NamedTuple):
    """What files say: rows of logs in the order of their size, HPL.dat files with their paths, and which results of logs do
    not count."""

    rows: tuple[Row, ...]
    dats: tuple[tuple[str, HplDat], ...]
    said: tuple[str, ...] = ()


def read(paths: Iterable[Path], ranks_per_node: int, threads: int = 1) -> Files:
    """Read logs and HPL.dat files. Raises BadInput that names the file."""
    rows: list[Row] = []
    dats: list[tuple[str, HplDat]] = []
    said: list[str] = []
    for path in paths:
        text = _text(path)
        if "T/V " in text:
            cases = _cases(text, path)
            rows += _rows(cases, path, ranks_per_node, threads)
            if failed := sum(not _passed(case) for case in cases):
                said.append(f"{failed} of {len(cases)} results of {path} failed their check and are not counted.")
        elif "HPLinpack benchmark input file" in text or "output file name" in text:
            dats.append((str(path), hpl_dat.read(text, where=str(path))))
        else:
            raise BadInput(
                "is neither an output of HPL nor an HPL.dat",
                where=str(path),
                hint="give a run directory, a log with HPL's table 'T/V  N  NB  P  Q  Time  Gflops', or an HPL.dat",
            )
    return Files(tuple(sorted(rows, key=lambda row: (row.count, row.n))), tuple(dats), tuple(said))


def _text(path: Path) -> str:
    return packed.read_text(path, most_bytes=_MOST_BYTES, hint="give a run directory, a log or an HPL.dat")


def _cases(text: str, path: Path) -> tuple[Case, ...]:
    """The results of a log. Raises BadInput for a log that is cut."""
    try:
        return xhpl.parse(text, {})
    except Garbage as error:
        raise BadInput(str(error), where=str(path), hint="give the whole log of a run that ended") from None


def _passed(case: Case) -> bool:
    return case.residual is None or case.residual.passed


def _rows(cases: Sequence[Case], path: Path, ranks_per_node: int, threads: int) -> list[Row]:
    """The runs of a log that passed their check. Raises BadInput for a log of GPUs, or without such a run."""
    if any(_on_gpus(case, ranks_per_node) for case in cases):
        raise BadInput(
            "these runs were made on GPUs, and the forecast would take them for nodes of processors",
            where=str(path),
            hint='describe the machine with --model FILE: counts = "gpus", its runs as [[measured]]',
        )
    if ranks_per_node < 1:
        raise BadInput(
            "a log does not say how many ranks ran on a node",
            where=str(path),
            hint="say it: --ranks-per-node 2 (or in the file of --model)",
        )
    rows = []
    for case in cases:
        if not _passed(case):
            continue
        known = {name: value for name, value in case.params.items() if name in Config.__struct_fields__ and value != ""}
        try:
            config = msgspec.convert(
                {**known, "ranks_per_node": ranks_per_node, "threads": threads, "split": 0.0}, Config
            )
        except msgspec.ValidationError as error:
            raise BadInput(f"a result cannot be used: {error}", where=str(path), hint="give a log of HPL") from None
        check_ranks(config.p * config.q, str(path))
        if case.params.get("implementation") == "netlib":
            config = netlib(config)
        nodes = -(-config.p * config.q // ranks_per_node)
        rate = case.work["flop"] / case.seconds[0]
        rows.append(Row(count=nodes, n=config.n, p=config.p, q=config.q, rate=rate, where=str(path), config=config))
    if not rows:
        raise BadInput("no run of this log passed its check", where=str(path), hint="give a log of a valid run")
    return rows


def _on_gpus(case: Case, ranks_per_node: int) -> bool:
    ranks = int(case.params["p"]) * int(case.params["q"])
    return bool(case.params.get("gpus")) or on_gpus(
        case.work["flop"] / case.seconds[0], -(-ranks // max(ranks_per_node, 1))
    )


def run_as(config: Config) -> RunAs:
    """How HPL is run, by one run."""
    fields = {name: getattr(config, name) for name in RunAs.__struct_fields__ if name in Config.__struct_fields__}
    return RunAs(**fields, program="netlib" if config.chunked else "shakedown")
