"""Campaigns: what to run and which limits to meet, one TOML file each.

Those in ``shipped/`` are shipped; a user's own is given by its path. The keys are those of the structs below; a
misspelt one is an error that names the nearest.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import msgspec

from .. import strict, units
from ..errors import BadInput, unknown
from ..layers.asked import Asked, read_all
from ..records import Limit, Name, Params, Value
from ..schedulers.common.options import NodeOptions
from ..strict import CountOrNone, Positive


class Repeat(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often a run is repeated, each time as a new process, spread over the campaign's duration."""

    min: int = 1
    max: int = 1
    interval: Positive | None = None  # end when the 95 % interval of the medians is narrower than this fraction


class RunEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    workload: str
    params: Params = {}
    sweep: dict[str, tuple[Value, ...]] = {}  # each combination is a run of its own
    nodes: (
        int | str | tuple[int | str, ...]
    ) = ()  # "each": a copy on every host; "all", 4 or [1, 2, "all"]: jobs over so many
    shape: str = ""  # the kind of node that it is for; empty: every kind
    mpi: str | tuple[str, ...] = ()  # "all", or MPIs by name: a run with each of them; empty: as the campaign says
    under: str | tuple[str, ...] = ()  # layers, as `--under` takes them: a run under each; empty: as the campaign says
    limit: str = ""  # "2 min": killed past it; otherwise ten times the estimate, at least 30 s
    repeat: Repeat | None = None
    optional: bool = True  # what is not possible here is skipped and said; false makes it an error


class LimitEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    metric: str
    params: Params = {}
    at_least: str | float | None = None  # "40 GB/s", or a fraction of the peak named in `of`
    at_most: str | float | None = None
    of: str = ""
    source: str = ""


class ShapeEntry(NodeOptions, frozen=True, kw_only=True):
    """One kind of node of a cluster: what a batch engine is asked for it. Each kind gets an allocation of its own."""

    nodes: CountOrNone = 0  # 0: as the command line says
    hosts: str = ""


class Campaign(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Name
    title: str
    summary: str = ""
    budget: str = ""  # "5 min": no repeat is begun past it
    compare_with: tuple[str, ...] = ()
    mpi: str | tuple[str, ...] = ()  # of every run that takes ranks: see RunEntry
    under: str | tuple[str, ...] = ()  # of every run: see RunEntry
    repeat: Repeat | None = None  # of every run that does not say it; none: once
    shapes: dict[str, ShapeEntry] = msgspec.field(default_factory=dict, name="shape")
    runs: tuple[RunEntry, ...] = msgspec.field(name="run")
    limits: tuple[LimitEntry, ...] = msgspec.field(default=(), name="limit")


_HINT = "the keys are described in docs/campaigns.md; `shakedown plan` checks a file without running it"


def names() -> tuple[str, ...]:
    """The names of the shipped campaigns."""
    files = resources.files("shakedown.campaign.shipped").iterdir()
    return tuple(sorted(file.name[:-5] for file in files if file.name.endswith(".toml")))


def text_of(name_or_path: str) -> tuple[str, str]:
    """The TOML text of a shipped campaign or of a user's file, and what to call it in messages. Raises BadInput."""
    if name_or_path in names():
        return resources.files("shakedown.campaign.shipped").joinpath(f"{name_or_path}.toml").read_text(
            "utf-8"
        ), name_or_path
    path = Path(name_or_path)
    if path.suffix == ".toml" or path.exists():
        return strict.read_text(path, hint=f"give a TOML file or one of: {', '.join(names())}"), str(path)
    raise unknown("campaign", name_or_path, names())


def parse(text: str, where: str) -> Campaign:
    """A campaign from its TOML text. Raises BadInput."""
    document = strict.read_toml(text, where)
    for table in (document, *_tables(document.get("run"))):
        if isinstance(times := table.get("repeat"), int) and not isinstance(times, bool):
            table["repeat"] = {"min": times, "max": times}  # a number of times: repeat = 3
    campaign = strict.convert(document, Campaign, where, hint=_HINT)
    if not campaign.runs:
        raise BadInput("there is no [[run]]", where=where, hint=_HINT)
    for name in campaign.shapes:
        if not name.replace("-", "").replace("_", "").isalnum():
            raise BadInput(f"shape {name!r} is not a plain name", where=where, hint="letters, digits, - and _")
    _check_compared(campaign.compare_with, where)
    for number, entry in enumerate(campaign.runs, 1):
        if entry.shape and entry.shape not in campaign.shapes:
            raise unknown("shape", entry.shape, campaign.shapes, where=f"{where}: run {number} {entry.workload!r}")
        repeat = entry.repeat or campaign.repeat or Repeat()
        if not 1 <= repeat.min <= repeat.max:
            raise BadInput(
                f"repeat min {repeat.min} and max {repeat.max} must be 1 <= min <= max",
                where=f"{where}: run {number} {entry.workload!r}",
                hint=_HINT,
            )
    return campaign


def _tables(found: object) -> list[dict[str, object]]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _check_compared(wanted: tuple[str, ...], where: str) -> None:
    """Raises BadInput for a published system that there is none of."""
    if not wanted:
        return
    from .. import published

    known = published.ids()
    for name in wanted:
        if name not in known:
            raise unknown("published system", name, known, where=f"{where}: compare_with")


def nodes(entry: RunEntry, where: str) -> tuple[int | str, ...]:
    """Over how many hosts a run goes: numbers, "all", "each"; empty where that is not asked. Raises BadInput."""
    words = entry.nodes if isinstance(entry.nodes, tuple) else (entry.nodes,)
    for word in words:
        good = word in ("each", "all") if isinstance(word, str) else word >= 1
        if not good or (word == "each" and len(words) > 1):
            raise BadInput(
                f"nodes = {entry.nodes!r} is neither a number of hosts nor 'each' or 'all'",
                where=where,
                hint='write "each" (a copy on every host), "all", 4, or a list such as [1, 2, 4, "all"]',
            )
    return words


def mpis(campaign: Campaign, entry: RunEntry) -> tuple[str, ...]:
    """The MPIs that a run is asked for with, by the words of its entry or else of the campaign; empty: not asked."""
    asked = entry.mpi or campaign.mpi
    words = (asked,) if isinstance(asked, str) else asked
    return tuple(part.strip() for word in words for part in word.split(",") if part.strip())


def layers(campaign: Campaign, entry: RunEntry, where: str = "") -> tuple[Asked, ...]:
    """The layers that a run is asked for under, by the words of its entry or else of the campaign; empty: not asked. Raises
    BadInput."""
    asked = entry.under or campaign.under
    return read_all((asked,) if isinstance(asked, str) else asked, where)


def seconds(text: str, where: str) -> float:
    """A duration such as "5 min". Raises BadInput."""
    try:
        value, unit = units.parse_quantity(text)
    except ValueError as error:
        raise BadInput(
            f"{text!r} is not a valid duration: {error}", where=where, hint='write it as "90 s" or "5 min"'
        ) from None
    if unit != "s" or not value > 0:
        raise BadInput(f"{text!r} is not a duration above zero", where=where, hint='write it as "90 s" or "5 min"')
    return value


#: Where in the memory hierarchy our programs say that arrays lie: what ``{level}`` in the name of a peak stands for.
LEVELS = ("l1", "l2", "l3", "memory")


def peaks() -> dict[str, str]:
    """Every peak that a limit can be a fraction of, with its unit: what is derived of some machine, and what a workload of
    ours measures."""
    from .. import workloads
    from ..machine import peaks as derived

    found = derived.units()
    for metric in (metric for name in workloads.names() for metric in workloads.get(name).metrics):
        if metric.measures and "{directory}" not in metric.measures:  # the name of a site's folder is not known
            found |= {metric.measures.format(level=level): metric.unit for level in LEVELS}
    return found


def check_peak(name: str, unit: str, where: str) -> None:
    """Raises BadInput where no machine has a peak of that name, or where it is no limit of what is in ``unit``."""
    known = peaks()
    if name not in known:
        raise unknown("peak", name, known, where=where)
    if known[name] != unit:
        raise BadInput(
            f"the peak {name!r} is in {known[name]}, the metric in {unit}",
            where=where,
            hint=f"of these one: {', '.join(one for one in known if known[one] == unit) or 'none is in that unit'}",
        )


def limit(entry: LimitEntry, unit: str, where: str) -> Limit:
    """A limit in SI units; ``unit`` is the metric's. Raises BadInput."""

    def number(given: str | float | None) -> float | None:
        if not isinstance(given, str):
            if given is not None and not entry.of and unit != "1":
                raise BadInput(
                    f"limit {given:g} of {entry.metric!r} has neither a unit nor a peak in `of`",
                    where=where,
                    hint=f'write "40 {unit}", or a fraction with of = "memory.bandwidth"',
                )
            if given is not None and given < 0 and unit != "degC":
                raise BadInput(f"limit {given:g} of {entry.metric!r} is below zero", where=where, hint=_HINT)
            return given
        try:
            value, found = units.parse_quantity(given)
        except ValueError as error:
            raise BadInput(
                f"limit {given!r} of {entry.metric!r}: {error}", where=where, hint=f'write "40 {unit}"'
            ) from None
        if found != unit:
            raise BadInput(
                f"limit {given!r} of {entry.metric!r} is in {found}, the metric in {unit}",
                where=where,
                hint=f"write it in {unit}",
            )
        if value < 0 and unit not in ("degC", "dB"):
            raise BadInput(f"limit {given!r} of {entry.metric!r} is below zero", where=where, hint=_HINT)
        return value

    if entry.at_least is None and entry.at_most is None:
        raise BadInput(f"limit on {entry.metric!r} has neither at_least nor at_most", where=where, hint=_HINT)
    return Limit(
        metric=entry.metric,
        params=entry.params,
        at_least=number(entry.at_least),
        at_most=number(entry.at_most),
        of=entry.of,
        source=entry.source,
    )
