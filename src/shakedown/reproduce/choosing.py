"""Which rows run here: each with its runs, its cost and what is missing, and the choice that a budget of time allows. Pure
but for the workloads' own look at the machine's record."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from .. import __version__
from ..campaign import Campaign, Repeat, RunEntry, plan
from ..errors import BadInput, unknown
from ..launchers.mpirun import cores
from ..records import Machine, Run
from ..strict import to_toml
from .model import Evaluation, Row

#: Of the minutes that are given, the part that runs may take by their estimates; the rest is for the page and for
#: estimates that were low.
SHARE = 0.7
REPEAT = Repeat(min=1, max=2, interval=0.05)


class Planned(NamedTuple):
    """A row, and what it comes to on a machine."""

    row: Row
    runs: tuple[Run, ...]
    entries: tuple[RunEntry, ...]  # that gave these runs, or may on other nodes: each combination of a sweep by itself
    missing: tuple[str, ...]  # why some or all of its runs are not possible here
    cost_s: float  # of each run as often as it must be made


class Choice(NamedTuple):
    """The rows that are run, and why others are left out."""

    rows: tuple[Planned, ...]
    left_out: Mapping[str, str]  # the row's id -> the reason


def planned(
    evaluation: Evaluation, machine: Machine, history: plan.History | None = None, version: str = __version__
) -> tuple[Planned, ...]:
    """Every row with its runs on the machine. Raises BadInput where a row asks for what no machine has."""
    return tuple(_planned(evaluation, row, machine, history or {}, version) for row in evaluation.rows)


def _planned(evaluation: Evaluation, row: Row, machine: Machine, history: plan.History, version: str) -> Planned:
    runs: dict[str, Run] = {}
    entries, missing, refused = [], [], []
    room = sum(cores(host) * host.count for host in machine.hosts)
    for entry in (one for given in row.runs for one in _single(given)):
        try:
            made = plan.make(
                Campaign(name=evaluation.name, title=row.title, repeat=REPEAT, runs=(entry,)),
                machine,
                where=f"{evaluation.name}: {row.id}",
                history=history,
                version=version,
            )
        except BadInput as error:  # of a list of counts, those that this machine is too small for
            refused.append(error.what)
            continue
        fitting = [run for run in made.runs if _workers(run) <= room]
        if made.runs and not fitting:  # a workload that lets workers share cores does so where its user asks for that
            continue
        entries.append(entry)
        missing += [
            one.why.replace("shakedown run ...", f"shakedown reproduce {evaluation.name}") for one in made.skipped
        ]
        runs |= {run.id: run for run in fitting}
    if not entries:
        missing += refused
    cost = sum(_cost_s(run) for run in runs.values())
    return Planned(row, tuple(runs.values()), tuple(entries), tuple(dict.fromkeys(missing)), cost)


def _cost_s(run: Run) -> float:
    """Seconds of a run, as often as it must be made: once, or in pairs."""
    return run.estimate_s * run.repeat_min


def _workers(run: Run) -> int:
    """Ranks times threads that a run asks for; words such as ``all`` fit by themselves."""
    counts = (run.params.get(name, 1) for name in ("ranks", "threads"))
    return math.prod(one for one in counts if isinstance(one, int))


def _single(entry: RunEntry) -> list[RunEntry]:
    """Each combination of an entry's sweep as an entry of its own."""
    return [
        msgspec.structs.replace(entry, params={**entry.params, **dict(zip(entry.sweep, chosen, strict=True))}, sweep={})
        for chosen in itertools.product(*entry.sweep.values())
    ]


def chosen(
    rows: Sequence[Planned], only: Sequence[str] = (), budget_s: float | None = None, *, elsewhere: bool = False
) -> Choice:
    """The rows to run: those of ``only`` (an id, or how ids begin: ``table``), or all; within ``budget_s`` first those that
    say most, the cheaper first among equals. A run that two rows share costs once. ``elsewhere``: they run on nodes that
    may have what this machine lacks. Raises BadInput for an unknown row."""
    wanted = _wanted([one.row for one in rows], only)
    taken: list[Planned] = []
    left_out = {one.row.id: "not among the rows that --only names" for one in rows if one.row.id not in wanted}
    paid: set[str] = set()
    spent = 0.0
    able = [one for one in rows if one.row.id in wanted and (one.runs or (elsewhere and one.entries))]
    for one in sorted(able, key=lambda one: (one.row.rank, one.cost_s)):
        cost = sum(_cost_s(run) for run in one.runs if run.id not in paid)
        if budget_s is not None and spent + cost > budget_s * SHARE:
            left_out[one.row.id] = f"no time was left for its {cost:.0f} s"
            continue
        spent += cost
        paid |= {run.id for run in one.runs}
        taken.append(one)
    order = [one.row.id for one in rows]
    return Choice(tuple(sorted(taken, key=lambda one: order.index(one.row.id))), left_out)


def _wanted(rows: Sequence[Row], only: Iterable[str]) -> set[str]:
    """The ids that ``only`` means: one id, ids that begin so, or a part of the document. Raises BadInput."""
    found: set[str] = set()
    for name in only:
        matching = [row.id for row in rows if row.id == name]
        matching = matching or [row.id for row in rows if row.part == name or row.id.startswith(f"{name}-")]
        if not matching:
            raise unknown(
                "row", name, [*(row.id for row in rows), *dict.fromkeys(row.part for row in rows if row.part)]
            )
        found |= set(matching)
    return found if only else {row.id for row in rows}


def text(evaluation: Evaluation, choice: Choice, budget_s: float | None) -> str:
    """The campaign of the chosen rows, those that say most first, the cheaper first among equals. Raises BadInput where
    nothing was chosen."""
    if not choice.rows:
        raise BadInput("no row is left to run", where=evaluation.name, hint="give more --minutes, or other rows")
    lines = [f"name = {to_toml(f'reproduce-{evaluation.name}')}", f"title = {to_toml(evaluation.title)}"]
    if budget_s is not None:
        lines.append(f"budget = {to_toml(f'{budget_s * SHARE:.0f} s')}")
    lines.append(f"repeat = {{ min = {REPEAT.min}, max = {REPEAT.max}, interval = {REPEAT.interval} }}")
    seen = []
    for one in sorted(choice.rows, key=lambda one: (one.row.rank, one.cost_s)):
        for entry in one.entries:
            if entry in seen:
                continue
            seen.append(entry)
            lines += ["", f"# {one.row.id}", "[[run]]", f"workload = {to_toml(entry.workload)}"]
            lines += [f"{key} = {to_toml(value)}" for key, value in _keys(entry)]
            if entry.repeat:
                lines.append(f"repeat = {{ min = {entry.repeat.min}, max = {entry.repeat.max} }}")
            if limit := entry.limit or _limit(one, budget_s):
                lines.append(f"limit = {to_toml(limit)}")
    return "\n".join([*lines, ""])


def _keys(entry: RunEntry) -> list[tuple[str, object]]:
    keys = (("params", entry.params), ("nodes", entry.nodes), ("under", entry.under))
    return [(name, value) for name, value in keys if value]


def _limit(one: Planned, budget_s: float | None) -> str:
    """Within a budget no run that hangs takes more than a quarter of it, nor less than twice the row's longest estimate."""
    if budget_s is None:
        return ""
    longest = max((run.estimate_s for run in one.runs), default=0.0)
    return f"{max(30.0, min(10 * longest, max(budget_s / 4, 2 * longest))):.0f} s"
