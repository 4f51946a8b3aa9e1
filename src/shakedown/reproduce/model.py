"""The file of a document's evaluation, key for key, and what must hold of it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from typing import Literal

import msgspec

from .. import published, strict, workloads
from ..campaign import RunEntry
from ..errors import BadInput, unknown
from ..records import Metric, Name

_HINT = "the keys are described in docs/reproduce.md"

#: What a machine may lack: the reason where nothing of ours can stand in, with what it would take.
NEEDS: dict[str, str] = {
    "gpu": "a GPU; the rows run as they are on a node that has one",
    "nodes": "a second node: --on slurm --nodes 2, or --hosts a,b",
    "meter": "a power meter: --meter auto reads those of this machine, `shakedown meter list` names the kinds",
    "application": "the application and its input, which the document does not hand out",
    "reboot": "root and a start of the machine with another setting of the kernel",
    "plant": "sensors of the cooling plant over days: shakedown facility PLANT.toml",
    "hands": "somebody at the machine: the acceptance asks for it and keeps what was seen",
    "virtual machine": "a guest on the same node as the layer: shakedown overhead ... --under guest=COMMAND "
    "(docs/overhead.md), then --from that run",
    "hardware": "that very hardware",
    "history": "a record of months of the machine's own",
}


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base: a key that is not named here is an error."""


class Theirs(_Strict, frozen=True, kw_only=True):
    """Published values: those of a system whose place begins so, of these metrics."""

    system: str
    where: str
    metrics: tuple[str, ...] = ()  # none: all of that place
    peak: str = ""  # the system's peak that they are a fraction of: "peak.network.bandwidth node"


class Row(_Strict, frozen=True, kw_only=True):
    """One table or figure of a document, or a result of its text."""

    id: Name
    part: str = ""  # of the document, such as one of its prototypes: can be asked for alone
    kind: Literal["table", "figure", "result"]
    title: str
    page: str  # or section, or slide, where the document's text has no pages
    rank: int = 2  # 1 says most of the machine, 3 least: the order in which a short run takes them
    theirs: tuple[Theirs, ...] = ()
    runs: tuple[RunEntry, ...] = msgspec.field(default=(), name="run")
    metrics: tuple[str, ...] = ()  # of our runs, those that answer
    stands: dict[str, str] = {}  # our metric -> the published one beside which it is shown, though it is another
    overheads: dict[
        str, str
    ] = {}  # our metric, in pairs under layers -> the published cost of a layer that it is beside
    axis: str = ""  # the parameter over which both sides are laid
    ours_axis: str = ""  # its name among our parameters, where it differs
    theirs_axis: str = ""  # and among the published ones
    theirs_factor: float = 1.0  # what makes a published place one of ours: 8 bytes for each element
    scaled: bool = False  # drawn relative to each series' own first value
    best: bool = False  # the document reports the best setting of the axis
    size: str = ""  # the rule by which our size follows from the machine
    needs: tuple[str, ...] = ()  # of NEEDS: what the row needs beyond its runs
    command: str = ""  # of ours, where no run answers
    nothing: str = ""  # why there is nothing to measure
    alike: str = ""
    differs: str = ""


class Evaluation(_Strict, frozen=True, kw_only=True):
    """A document."""

    name: Name
    title: str
    document: str  # the id of the document in published/
    summary: str
    rows: tuple[Row, ...] = msgspec.field(name="row")


def names() -> tuple[str, ...]:
    """The documents that are shipped."""
    return tuple(sorted(file.name[:-5] for file in _files().iterdir() if file.name.endswith(".toml")))


def _files() -> resources.abc.Traversable:
    return resources.files("shakedown.reproduce.shipped")


def load(name: str) -> Evaluation:
    """A shipped document. Raises BadInput."""
    if name not in names():
        raise unknown("document", name, names())
    return parse(_files().joinpath(f"{name}.toml").read_text("utf-8"), f"{name}.toml")


def parse(text: str, file: str) -> Evaluation:
    """An evaluation from the text of its file. Raises BadInput for what cannot be understood or does not hold."""
    made = strict.convert(strict.read_toml(text, file), Evaluation, file, hint=_HINT)
    if problems := check(made):
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise BadInput(problems[0] + more, where=file, hint=_HINT)
    return made


def check(made: Evaluation) -> list[str]:
    """What is wrong with an evaluation, a line each."""
    ids = [row.id for row in made.rows]
    problems = [f"two rows have the id {name!r}" for name in sorted({one for one in ids if ids.count(one) > 1})]
    for row in made.rows:
        problems += [f"row {row.id!r}: {one}" for one in _problems(row, made.document)]
    return problems


def _problems(row: Row, document: str) -> Iterator[str]:
    if not row.theirs_factor > 0:
        yield "theirs_factor is not above zero"
    if not 1 <= row.rank <= 3:
        yield f"rank {row.rank} is not 1, 2 or 3"
    if not (row.runs or row.needs or row.command or row.nothing):
        yield "neither runs nor needs, a command or why there is nothing to measure"
    if row.nothing and (row.runs or row.metrics or row.overheads or row.needs or row.command):
        yield "there is nothing to measure, and yet it names what measures it"
    if bool(row.runs) != bool(row.metrics or row.overheads):
        yield "runs and metrics go together"
    if not row.nothing and not (row.alike and row.differs):
        yield "no word on what is alike and what differs"
    if row.runs and not row.size:
        yield "no rule for the size"
    yield from (f"unknown need {one!r}" for one in row.needs if one not in NEEDS)
    yield from _unknown_metrics(row)
    yield from (
        f"{one!r} stands for another metric, and is none that answers" for one in row.stands if one not in row.metrics
    )
    for one in row.theirs:
        if one.system not in published.ids():
            yield f"there is no published system {one.system!r}"
        elif not values(one):
            yield f"{one.system} publishes nothing at {one.where!r} of {', '.join(one.metrics) or 'any metric'}"
        elif published.system(one.system).document.id != document:
            yield f"{one.system} is of another document"
        elif one.peak and peak(one) is None:
            yield f"{one.system} has no peak {one.peak!r}"


def _unknown_metrics(row: Row) -> Iterator[str]:
    known: set[str] = set()
    for entry in row.runs:
        if entry.workload not in workloads.names():
            yield f"there is no workload {entry.workload!r}"
            continue
        known |= {metric.name for metric in workloads.get(entry.workload).metrics}
    yield from (
        f"none of its workloads has the metric {one!r}" for one in (*row.metrics, *row.overheads) if one not in known
    )
    printed = {value.metric for one in row.theirs if one.system in published.ids() for value in values(one)}
    yield from (f"none of theirs has the cost {one!r}" for one in row.overheads.values() if one not in printed)


def values(one: Theirs) -> list[published.PublishedValue]:
    """The published values that are meant, in the document's order."""
    return [
        value
        for value in published.system(one.system).values
        if value.where.startswith(one.where) and (not one.metrics or value.metric in one.metrics)
    ]


def peak(one: Theirs) -> float | None:
    """The system's peak that these values are a fraction of, SI; None where it has none, or none is named."""
    metric, _, scope = one.peak.partition(" ")
    found = [each.value for each in published.system(one.system).peaks if (each.metric, each.scope) == (metric, scope)]
    return found[0] if found else None


def metrics_of(row: Row) -> dict[str, Metric]:
    """The definitions of the metrics that answer a row, by name."""
    found = {
        metric.name: metric
        for entry in row.runs
        for metric in workloads.get(entry.workload).metrics
        if metric.name in row.metrics
    }
    return {name: found[name] for name in row.metrics}
