"""Ours beside a peer on a machine whose speed moves: short passes in turn, ratios of neighbours, what they allow to claim.

    python scripts/bench/paired.py [NAME...] [--rounds N] [--tiny] [--json] [--list] [--build DIR] [options of NAME]

A machine's speed drifts over minutes and jumps within seconds, so that whole programs one after the other show the machine
and not the programs. Here passes are a second or two apart, their order alternates from round to round (ours, peer, peer,
ours), and only the ratio within a round counts. What is claimed is what the interval of the median ratio allows.

NAME is a row of `peers/`; without one all of them run. A peer that is not here is said, with what brings it; a pass that
fails is said and left out of the further rounds. Exit codes: 0 measured, 1 something failed, is
wrong or misses its limit, 2 usage, 3 nothing could be measured. `paired.py NAME --help` has a row's docstring and options.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product, takewhile
from typing import Any, NamedTuple

import common
import peers
from peers import Figure, Group, Pass

from shakedown.analysis.statistics import PairedFactor, paired_factor
from shakedown.errors import COULD_NOT_MEASURE, MET, NOT_MET, USAGE, ShakedownError, Unavailable

#: What a pass may raise: it failed, or printed something else than it does when it works.
FAILURES = (ShakedownError, OSError, subprocess.SubprocessError, ValueError, LookupError, StopIteration)


class Ratio(NamedTuple):
    """Ours over the peer's: the median over pairs, its 95 % interval (statistics.paired_factor), the least and the greatest
    of them, and how many. Of rates, or of times where less is better."""

    median: float
    low: float
    high: float
    least: float
    most: float
    pairs: int
    better: str = "higher"
    level: float = 0.95

    @property
    def claim(self) -> str:
        """What may be said: only what the interval excludes 1 for, and of too few pairs nothing."""
        side = PairedFactor(self.pairs, self.median, self.low, self.high, self.level).side
        if side == "too few pairs":
            return "too few pairs to tell"
        if side == "not told apart":
            return side
        return "faster" if (side == "above") == (self.better == "higher") else "slower"

    def __str__(self) -> str:
        return (
            f"{self.median:.3f} [{self.low:.3f}, {self.high:.3f}] in {self.pairs} pairs "
            f"({self.least:.3f} to {self.most:.3f}): {self.claim}"
        )


def ratio(ours: Sequence[float], peer: Sequence[float], better: str = "higher") -> Ratio:
    """The ratio of two series, neighbour by neighbour. Raises ValueError where their lengths differ or are 0."""
    each = [a / b for a, b in zip(ours, peer, strict=True)]
    found = paired_factor(each)
    return Ratio(found.factor, found.low, found.high, min(each), max(each), found.pairs, better, found.level)


class Measured:
    """What the rounds of a group gave: side -> figure -> round -> (value, how the side ran), and what failed."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.values: dict[str, dict[str, dict[int, tuple[float, str]]]] = defaultdict(lambda: defaultdict(dict))
        self.failed: dict[str, str] = {}
        self.wrong = False

    def add(self, turn: int, rates: peers.Rates) -> None:
        """What a pass gave: of several of one side in a round the best counts."""
        for key, figures in rates.items():
            side, _, how = key.partition(": ")
            for figure, value in figures.items():
                held = self.values[side][figure]
                lower = self.group.figures[figure].better == "lower"
                if turn not in held or (value < held[turn][0] if lower else value > held[turn][0]):
                    held[turn] = value, how

    def ratios(self) -> Iterator[tuple[str, str, str, Ratio]]:
        """Figure, ours, peer and their ratio, over the rounds in which both gave one."""
        theirs = [side for side in self.values if side not in self.group.ours]
        for figure, ours, peer in product(self.group.figures, self.group.ours, theirs):
            mine, other = self.values[ours].get(figure, {}), self.values[peer].get(figure, {})
            both = sorted(mine.keys() & other.keys())
            better = self.group.figures[figure].better
            if both and better:
                pairs = [mine[turn][0] for turn in both], [other[turn][0] for turn in both]
                yield figure, ours, peer, ratio(*pairs, better)


def absent(needs: Mapping[str, str]) -> str:
    """What is not here of what a pass needs, and what brings it; "" where all is."""
    for name, brings in needs.items():
        module = name.removeprefix("import ")
        here = importlib.util.find_spec(module) if module != name else shutil.which(name)
        if not here:
            return f"{module} is absent\n  next: {brings}"
    return ""


def measure(group: Group, rounds: int) -> Measured:
    """Every pass once a round, the order turned round from one to the next. What fails is left out from then on."""
    measured = Measured(group)
    for turn in range(rounds):
        common.say(f"{group.title}: round {turn + 1} of {rounds}, load {os.getloadavg()[0]:.1f}")
        for one in group.passes if turn % 2 == 0 else reversed(group.passes):
            if one.name in measured.failed:
                continue
            try:
                measured.add(turn, one.run())
            except FAILURES as error:
                detail = str(error) if isinstance(error, ShakedownError) else f"{type(error).__name__}: {error}"
                measured.failed[one.name] = detail
                measured.wrong |= isinstance(error, ShakedownError) and error.exit_code == NOT_MET
                common.say(f"{one.name}: failed: {detail}")
    return measured


def present(group: Group) -> tuple[Group, list[str]]:
    """The group with the passes that can run here, none where no comparison is left; and what is absent, said."""
    missing = {one.name: text for one in group.passes if (text := absent(one.needs))}
    left: tuple[Pass, ...] = tuple(one for one in group.passes if one.name not in missing)
    if missing and not group.alone and len({one.name for one in left}) < 2:
        left = ()
    return group._replace(passes=left), [f"{name}: not measured: {text}" for name, text in missing.items()]


def record(name: str, measured: Measured) -> dict[str, Any]:
    """All of a group as it goes into JSON: series and medians in SI units, ratios with their intervals."""
    sides = {
        side: {
            figure: {
                "values": [value for value, _ in held.values()],
                "median": statistics.median(value for value, _ in held.values()),
                "ran": [how for _, how in held.values() if how],
            }
            for figure, held in figures.items()
        }
        for side, figures in measured.values.items()
    }
    ratios = [
        {"figure": figure, "ours": ours, "peer": peer, **one._asdict(), "claim": one.claim}
        for figure, ours, peer, one in measured.ratios()
    ]
    title = measured.group.title
    return {"name": name, "group": title, "sides": sides, "ratios": ratios, "failed": measured.failed}


def page(measured: Measured) -> str:
    """The same for a reader."""
    lines = [f"{measured.group.title}"]
    for side, figures in measured.values.items():
        for figure, held in figures.items():
            what = measured.group.figures[figure]
            lines.append(f"  {side}, {figure}: {shown(what, held)}")
    lines += [f"  {figure}: {ours} over {peer} {one}" for figure, ours, peer, one in measured.ratios()]
    lines += [f"  {what}: above its limit" for what in missed(measured)]
    return "\n".join(lines)


def shown(what: Figure, held: Mapping[int, tuple[float, str]]) -> str:
    """Median, least and greatest of a series in the figure's unit, how its best came about, and the goal."""
    values = [value * what.scale for value, _ in held.values()]
    middle, least, most = (
        f"{one:,.5g}" if abs(one) < 1e4 else f"{one:,.0f}"
        for one in (statistics.median(values), min(values), max(values))
    )
    text = f"{middle} {what.unit}" + (f" ({least} to {most})" if len(values) > 1 else "")
    ran = sorted({how for _, how in held.values() if how})
    return text + (f"; with {' and '.join(ran)}" if ran else "") + (f"; goal {what.goal}" if what.goal else "")


class Result(NamedTuple):
    """What came of a row: whether it gave a figure, whether something failed, is wrong or misses its limit."""

    gave: bool = False
    failed: bool = False
    wrong: bool = False

    def __or__(self, other: object) -> Result:
        assert isinstance(other, Result)
        return Result(*(a or b for a, b in zip(self, other, strict=True)))

    @property
    def code(self) -> int:
        """The exit code: what is absent is no failure, unless there is nothing else."""
        if self.wrong or (self.failed and self.gave):
            return NOT_MET
        return MET if self.gave else COULD_NOT_MEASURE


def carry_out(name: str, asked: argparse.Namespace) -> Result:
    """Measure and print a row."""
    row, _ = peers.row(name)
    asked.rounds = asked.rounds or (1 if asked.tiny else row.rounds)
    result = Result()
    said: set[str] = set()
    try:
        for group in row.groups(asked):
            ready, notices = present(group)
            for text in notices:
                if text not in said:
                    common.say(text)
                said.add(text)
            rounds = asked.rounds if group.rounds is None else min(group.rounds, 1) if asked.tiny else group.rounds
            if not ready.passes or not rounds:
                continue
            measured = measure(ready, rounds)
            print(json.dumps(record(name, measured)) if asked.json else page(measured), flush=True)
            result |= Result(bool(measured.values), bool(measured.failed), measured.wrong or bool(missed(measured)))
    except Unavailable as error:
        common.say(f"{name}: not measured: {error}")
    except FAILURES as error:
        common.say(f"{name}: not measured: {error}")
        result |= Result(failed=True, wrong=not isinstance(error, ShakedownError) or error.exit_code == NOT_MET)
    return result


def missed(measured: Measured) -> list[str]:
    """The figures whose median is above their limit."""
    return [
        f"{side}, {figure}"
        for side, figures in measured.values.items()
        for figure, held in figures.items()
        if statistics.median(value for value, _ in held.values()) > measured.group.figures[figure].at_most
    ]


def main() -> int:
    """The command line; returns the exit code."""
    words = sys.argv[1:]
    names = list(takewhile(lambda word: not word.startswith("-"), words))
    if unknown := [name for name in names if name not in peers.names()]:
        common.say(f"{unknown[0]!r} is not in the table\n  next: one of {', '.join(peers.names())}")
        return USAGE
    rows = {name: peers.row(name) for name in names or peers.names()}
    options = {key: one for name in names for key, one in rows[name][0].options.items()}
    parser = common.parser("\n".join(f"{name}: {rows[name][1]}" for name in names) or __doc__, options)
    parser.add_argument("--rounds", type=int, help="in place of each row's own")
    parser.add_argument("--build", default="", help="a build folder with our programs; empty: the installed ones")
    parser.add_argument("--list", action="store_true", help="the rows and their first lines")
    given = parser.parse_args(words[len(names) :])
    if given.list:
        print("\n".join(f"{name:<13} {doc.splitlines()[0]}" for name, (_, doc) in rows.items()))
        return MET
    result = Result()
    for name, (row, _) in rows.items():
        asked = common.chosen(given, row.options)
        asked.build, asked.rounds = given.build, given.rounds
        if len(rows) > 1 and not given.json:
            print(f"\n== {name}", flush=True)
        result |= carry_out(name, asked)
    return result.code


if __name__ == "__main__":
    sys.exit(main())
