"""Published systems: what others measured on their machines, read strictly from TOML. The format is in README.md.

    systems() / system(id) / load(path) -> System    check(system) -> problems    recompute(system) -> derived cells

A file that cannot be understood (an unknown key, an unknown unit, a row with a cell too few) raises BadInput. What can
be understood but is not right (an unknown metric, a stale erratum, a wrong derived number) is left to ``check``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

from .checking import discrepancies, problems_of, recompute, shared_metrics
from .flatten import flatten
from .model import FORMAT, HasUnit, MetricDef, PublishedValue, Recomputed, Record, Required, System

__all__ = [
    "MetricDef",
    "PublishedValue",
    "Recomputed",
    "Required",
    "System",
    "check",
    "discrepancies",
    "ids",
    "load",
    "metrics",
    "parse",
    "recompute",
    "system",
    "systems",
]


def ids() -> tuple[str, ...]:
    """The ids of all published systems, which are the names of their files."""
    from importlib import resources

    found = (file.name[:-5] for file in resources.files(__name__).iterdir() if file.name.endswith(".toml"))
    return tuple(sorted(name for name in found if name != "metrics"))


@functools.cache
def systems() -> tuple[System, ...]:
    """All published systems, by id."""
    from importlib import resources

    files = (file for file in resources.files(__name__).iterdir() if file.name.endswith(".toml"))
    return tuple(
        parse(file.read_text(encoding="utf-8"), file.name)
        for file in sorted(files, key=lambda file: file.name)
        if file.name != "metrics.toml"
    )


def system(id: str) -> System:
    """The published system of that id. Raises BadInput."""
    from shakedown import errors

    for one in systems():
        if one.id == id:
            return one
    raise errors.unknown("published system", id, [one.id for one in systems()])


def load(path: Path) -> System:
    """A user's own file in the same format. Raises BadInput."""
    from shakedown import strict

    return parse(strict.read_text(path, hint="give the path of a TOML file"), path.name)


def parse(text: str, file: str) -> System:
    """A system from the text of its file; ``file`` is the file's name, which its id must equal. Raises BadInput."""
    from shakedown import strict
    from shakedown.errors import BadInput

    record = strict.convert(strict.read_toml(text, file), Record, file, hint=FORMAT)
    if f"{record.id}.toml" != file:
        raise BadInput(f"id {record.id!r} is not the name of the file", where=file, hint=f"expected {file[:-5]!r}")
    values, peaks, problems = flatten(record)
    if problems:
        where, what, hint = problems[0]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise BadInput(f"{what}{more}", where=f"{file}: {where}", hint=hint)
    fields = {name: getattr(record, name) for name in Record.__struct_fields__}
    return System(**fields, values=tuple(values), peaks=tuple(peaks))


def check(system: Record, known: Mapping[str, HasUnit] | None = None) -> list[str]:
    """What is wrong with the system, a line each. ``known`` are the metrics of our workloads."""
    return problems_of(system, systems(), known or {})


def metrics(known: Mapping[str, HasUnit] | None = None) -> dict[str, MetricDef]:
    """The metrics that published systems define, by name. Raises BadInput where one is defined twice.

    A metric that is also among ``known``, those of our workloads, is defined twice too.
    """
    from shakedown.errors import BadInput

    found = _shipped_metrics()
    for name in sorted(set(found) & set(known or ())):
        raise BadInput(
            f"metric {name!r} is defined by a workload too",
            where="published metrics",
            hint="remove the definition among the published ones",
        )
    return dict(found)


@functools.cache
def _shipped_metrics() -> dict[str, MetricDef]:
    from shakedown.errors import BadInput

    found: dict[str, MetricDef] = {}
    homes: dict[str, str] = {}
    places = [("metrics.toml", shared_metrics()), *((f"{one.id}.toml", one.metric_defs) for one in systems())]
    for place, definitions in places:
        for definition in definitions:
            name = definition.name
            if name in found:
                raise BadInput(
                    f"metric {name!r} is already defined in {homes[name]}",
                    where=place,
                    hint="define it once; in metrics.toml where several systems need it",
                )
            found[name], homes[name] = definition, place
    return found
