"""One host on several days: its values stand apart by day, so that a machine that changed is not averaged with what it was.

A host that several run directories measured on different days is known by its name and the day, ``node1 (2026-11-20)``,
everywhere in the analysis over them; a job over many hosts likewise, ``node[1-4] (2026-11-20)``. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
import numpy as np

from .. import times
from ..errors import BadInput
from ..hosts import hostlist
from ..records import Finding, Host, Notice, Outcome
from .table import Cases

Named = TypeVar("Named", Host, Outcome, Finding)


def day_of(created_ns: int) -> str:
    """The day of a time in ns since 1970, in UTC: ``2026-11-20``."""
    return times.utc_day(created_ns * 1e-9)


def repeated(seen: Iterable[tuple[str, Iterable[str]]]) -> dict[str, tuple[str, ...]]:
    """Hosts that were measured on more than one day, with the days. ``seen``: the day and the hosts of each directory."""
    days: dict[str, set[str]] = {}
    for day, hosts in seen:
        for host in hosts:
            days.setdefault(host, set()).add(day)
    return {host: tuple(sorted(found)) for host, found in sorted(days.items()) if len(found) > 1}


def members(name: str) -> list[str]:
    """The hosts that a name stands for, folded or single, each with the day where the name has one."""
    hosts, bracket, day = name.partition(" (")
    try:
        return [f"{host}{bracket}{day}" for host in hostlist.expand(hosts)]
    except BadInput:
        return [name]


def labelled(name: str, day: str, several: Collection[str]) -> str:
    """The name, with the day where it or one of the hosts that it stands for was measured on ``several`` days."""
    if name in several or any(host in several for host in members(name)):
        return f"{name} ({day})"
    return name


def of_cases(cases: Cases, day: str, several: Collection[str]) -> Cases:
    """The cases of one day under their hosts' names of that day."""
    names = {name: labelled(name, day, several) for name in set(cases.host)}
    made = np.empty(len(cases), object)
    made[:] = [names[name] for name in cases.host]
    return Cases(*(made if name == "host" else getattr(cases, name) for name in Cases._fields))


def of_records(records: Sequence[Named], day: str, several: Collection[str]) -> list[Named]:
    """The records of one day under their hosts' names of that day."""
    named = [(one, "name" if isinstance(one, Host) else "host") for one in records]
    return [
        msgspec.structs.replace(one, **{field: labelled(getattr(one, field), day, several)}) for one, field in named
    ]


def notices(several: Mapping[str, tuple[str, ...]]) -> tuple[Notice, ...]:
    """That hosts stand apart by day; one notice for all of the same days."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for host, days in several.items():
        groups.setdefault(days, []).append(host)
    return tuple(
        Notice(
            code="days",
            text=f"{hostlist.fold(hosts)} {'was' if len(hosts) == 1 else 'were'} measured on {len(days)} days "
            f"({', '.join(days[:4])}{' ...' if len(days) > 4 else ''}): the values of each day stand apart",
            advice="--pool-days takes them as repeats of one measurement",
        )
        for days, hosts in groups.items()
    )
