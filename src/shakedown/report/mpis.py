"""Several MPIs side by side: of each case the value with each of them, and its ratio to the first one's.

``section(found)`` is what a report shows; ``tables`` serves the terminal as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..analysis.mpis import LEVEL, verdict
from ..document.model import Block, Column, Section, Table
from ..document.text import count, params_of
from ..records import MpiComparison, Params, WithMpi
from ..units import round_to, show

#: Rows of a metric that a page shows.
MOST_ROWS = 60


class MpiTable(NamedTuple):
    """The cases of one metric that were measured with the same MPIs."""

    title: str
    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]
    summary: str


def tables(found: Sequence[MpiComparison]) -> list[MpiTable]:
    """A table for each metric, its rows in the order of the cases."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[MpiComparison]] = {}
    for one in found:
        groups.setdefault((one.workload, one.metric, tuple(each.mpi for each in one.values)), []).append(one)
    made = []
    for (_, _, mpis), group in groups.items():
        common: Params = dict(set.intersection(*({*one.params.items()} for one in group))) if len(group) > 1 else {}
        hosts = {one.host for one in group}
        rows = [_row(one, common, several=len(hosts) > 1) for one in group]
        shared = params_of({name: common[name] for name in group[0].params if name in common})
        headings = ("case", *mpis, *(f"{mpi} over {mpis[0]}" for mpi in mpis[1:]))
        made.append(
            MpiTable(f"{group[0].title}{f' ({shared})' if shared else ''}", headings, rows, _summary(group, mpis))
        )
    return made


def _row(one: MpiComparison, common: Params, *, several: bool) -> tuple[str, ...]:
    words = params_of({name: each for name, each in one.params.items() if name not in common})
    place = ", ".join(filter(None, (words, one.host if several else "")))
    values = (show(each.value, one.unit) for each in one.values)
    return (place or one.host, *values, *(_ratio(one.better, each) for each in one.values[1:]))


def _ratio(better: str, one: WithMpi) -> str:
    if one.ratio is None:
        return "-"
    if one.low is None or one.high is None:
        return round_to(one.ratio, 3)
    sure = f" at {one.level:.0%}" if one.level is not None and one.level < LEVEL else ""
    told = {"better": " better", "worse": " worse"}.get(verdict(better, one), "")
    return f"{round_to(one.ratio, 3)} [{round_to(one.low, 3)}, {round_to(one.high, 3)}]{sure}{told}"


def _summary(group: Sequence[MpiComparison], mpis: Sequence[str]) -> str:
    """``MPICH 4.0.2 beside Open MPI 4.1.4: better in 3 of 12 cases, worse in 5, not distinguished in 4.``"""
    lines = []
    for at, mpi in enumerate(mpis[1:], 1):
        verdicts = [verdict(one.better, one.values[at]) for one in group]
        better, worse = verdicts.count("better"), verdicts.count("worse")
        lines.append(
            f"{mpi} beside {mpis[0]}: better in {better} of {count(len(group), 'case')}, worse in {worse}, not "
            f"distinguished in {len(group) - better - worse}."
        )
    return " ".join(lines)


def section(found: Sequence[MpiComparison]) -> Section | None:
    """The part of a report; None where nothing was measured with several MPIs."""
    if not found:
        return None
    launches = min(each.launches for one in found for each in one.values)
    few = f" With {count(launches, 'launch', 'launches')} of each that is less than 95 %." if launches < 6 else ""
    note = (
        "The ratio is the median over rounds, in each of which every MPI was launched once; its interval holds with 95 %, "
        f"whatever the distribution, and each by itself: of twenty equal cases one may look different.{few}"
    )
    blocks: list[Block] = []
    for one in tables(found):
        left = len(one.rows) - MOST_ROWS
        notes = (*((note,) if not blocks else ()), *((f"{left} more rows are in report.json",) if left > 0 else ()))
        columns = tuple(Column(heading, "text" if at == 0 else "number") for at, heading in enumerate(one.headings))
        blocks.append(
            Table(title=one.title, columns=columns, rows=tuple(one.rows[:MOST_ROWS]), caption=one.summary, notes=notes)
        )
    return Section(id="mpis", title="Several MPIs, each beside the first", short="MPIs", blocks=tuple(blocks))
