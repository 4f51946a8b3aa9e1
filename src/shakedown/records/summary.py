"""What one run came to, in one small file: what a page over hundreds of thousands of runs needs of each."""

from __future__ import annotations

import msgspec

from .machine import HostNames, Name, Record


class SummarySeries(msgspec.Struct, frozen=True, array_like=True):
    """What tells one value of a run from the others: the host or the hosts of a job, and what is alike in a history."""

    host: str
    workload: str
    metric: str
    params: str  # JSON text with sorted keys
    circumstances: str  # likewise


class RunTrouble(Record, frozen=True, kw_only=True):
    """A requirement that is not met, or a run that did not end well. ``host``: empty where it is of the whole run."""

    host: str = ""
    state: str
    what: str
    why: str = ""


class RunSummary(Record, frozen=True, kw_only=True):
    """Values with their series, in the same order, each with its interval where there is one."""

    schema: int
    campaign: Name
    title: str = ""
    created_ns: int
    looked_ns: int  # when the machine was looked at
    version: str
    imported: bool = False
    hosts: tuple[HostNames, ...] = ()
    series: tuple[SummarySeries, ...] = ()
    values: tuple[float, ...] = ()
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    requirements: dict[str, int] = msgspec.field(default_factory=dict)  # state -> how many
    troubles: tuple[RunTrouble, ...] = ()
    warnings: tuple[str, ...] = ()
