"""Hydro with a checkpoint a minute beside the same run without, by wall time.

Both runs compute the same gas, every cell at work, on all cores by one rank, for about --useful seconds as a short run
before them says; they run in turn. One saves its state by the checkpoint library at level 1 whenever --every seconds have
passed since the last, by the library's own clock, into --directory, which should be on the node's own storage. The time is
that of the steps with what kept them; both must end in the same bits, and half as many checkpoints as the time has room
for must have been committed. 4,000 x 4,000 cells are 512 MB: on two cores what a core of PRACE's Hydro saved with FTI (255
MB each 6 min, under 6 % more time).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import common
from common import Option

from . import Figure, Group, Pass, Rates, Row, program

#: Steps of a sample: a checkpoint may begin after each.
STEPS = 4


class Gas(NamedTuple):
    """What a run took, in seconds, and what it ended in."""

    seconds: float
    digest: str
    checkpoints: Mapping[str, Any]


def run(asked: argparse.Namespace, until: int, *words: str, env: Mapping[str, str] | None = None) -> Gas:
    size = ["--n", str(asked.n), "--problem", "checkers", "--steps", str(STEPS), "--until", str(until)]
    told = common.events([program(asked, "hydro"), *size, *words], env=env or {})
    (case,) = (one for one in told if one["event"] == "case")
    (facts,) = (
        facts
        for one in told
        if one["event"] == "facts"
        for name, facts in one["facts"].items()
        if name.startswith("gas of ")
    )
    return Gas(sum(case["seconds"]), facts["digest"], facts.get("checkpoints", {}))


def without(asked: argparse.Namespace, until: int, ends: set[str]) -> Rates:
    found = run(asked, until)
    agree(found, ends)
    return {"without": {"time": found.seconds}}


def saved(asked: argparse.Namespace, until: int, ends: set[str]) -> Rates:
    """Raises Wrong where fewer checkpoints were committed than the time has room for."""
    with tempfile.TemporaryDirectory(dir=asked.directory or None) as folder:
        words = ["--checkpoint-local", str(Path(folder, "local")), "--checkpoint-every", "0"]
        found = run(asked, until, *words, env={"SHAKEDOWN_CKPT_INTERVAL_SECONDS_1": str(asked.every)})
    agree(found, ends)
    local = found.checkpoints.get("local", {"committed": 0, "failed": 0})
    # One may be due as the gas ends, and each begins up to a sample late, later where the one before is still written.
    least = max(1, int(found.seconds / (asked.every + 1) / 2))
    if local["failed"] or local["committed"] < least:
        raise common.Wrong(f"{local['committed']} checkpoints in {found.seconds:.1f} s, {local['failed']} failed")
    return {"with a checkpoint each interval": {"time": found.seconds, "checkpoints": local["committed"]}}


def agree(found: Gas, ends: set[str]) -> None:
    """Raises Wrong where the gas ends in other bits than before."""
    ends.add(found.digest)
    if len(ends) > 1:
        raise common.Wrong(f"the same gas ended in {len(ends)} states: {', '.join(sorted(ends))}")


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    step_s = run(asked, 2 * STEPS).seconds / (2 * STEPS)
    until = STEPS * max(1, round(asked.useful / step_s / STEPS))
    ends: set[str] = set()
    passes = [Pass("with", partial(saved, asked, until, ends)), Pass("without", partial(without, asked, until, ends))]
    title = f"{asked.n} x {asked.n} cells, {until} steps, a checkpoint each {asked.every:g} s"
    figures = {"time": Figure("s", better="lower"), "checkpoints": Figure("", better="")}
    yield Group(title, figures, passes, ["with a checkpoint each interval"])


ROW = Row(
    groups,
    rounds=6,
    options={
        "n": Option(4000, 200),
        "useful": Option(150.0, 1.0, "seconds of work in each run"),
        "every": Option(60.0, 0.3, "seconds between checkpoints"),
        "directory": Option("", None, "where checkpoints are written; empty: the temporary folder"),
    },
    bench="--useful 30 --every 10",
)
