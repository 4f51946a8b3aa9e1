"""What a report of accounting says; also its JSON. Amounts are integers (seconds, joules), shares are fractions, money
is text with its exact digits. None is "not recorded"."""

from __future__ import annotations

import msgspec

from ...records import Notice, Record


class Source(Record, frozen=True):
    """One file, or the engine."""

    name: str
    reader: str
    rows: int
    jobs: int  # attempts that came out of them
    steps: int = 0
    mended: int = 0
    lost: int = 0
    first_s: int | None = None  # of all times in it
    last_s: int | None = None


class Use(Record, frozen=True, kw_only=True):
    """What a group of runs used inside the window, how long they waited, how well they used what they had.

    ``jobs`` counts a requeued job once, ``runs`` each attempt. Waiting and expansion are those of runs that started in the
    window; failures, limits and efficiencies those of runs that ended in it.
    """

    key: tuple[str, ...]
    jobs: int
    runs: int
    started: int
    ended: int
    never_started: int
    cpu_s: int | None
    gpu_s: int | None
    node_s: int | None
    runs_without_cpus: int = 0
    runs_without_gpus: int = 0  # not recorded
    runs_without_nodes: int = 0
    gpu_s_of_type: dict[str, int] = msgspec.field(default_factory=dict)
    energy_j: int | None = None
    energy_seen: float | None = None  # share of the node seconds (CPU seconds) whose energy is recorded
    wait_total_s: int | None = None  # all waits added up
    wait_mean_s: float | None = None
    wait_median_s: int | None = None
    wait_90_s: int | None = None
    expansion: float | None = None  # (wait + run) / run, both added up over the runs
    cpu_efficiency: float | None = None
    cpu_seen: float | None = None  # share of the CPU seconds of ended runs whose CPU time is recorded
    memory_efficiency: float | None = None
    memory_seen: float | None = None
    limit_efficiency: float | None = None
    judged: int = 0  # ended, and how is recorded
    failed: int = 0
    failed_cpu_s: int = 0
    charge: str | None = None


class Table(Record, frozen=True, kw_only=True):
    """One way of grouping. ``additive`` is False where a job counts in several rows: periods of time."""

    by: tuple[str, ...]
    rows: tuple[Use, ...]
    additive: bool = True
    ordered: bool = False  # by time or size and not by use


class Ending(Record, frozen=True, kw_only=True):
    """Runs that ended in the window in one state."""

    state: str
    runs: int
    share: float
    cpu_s: int  # of their whole runs
    cpu_share: float | None


class Capacity(Record, frozen=True, kw_only=True):
    """What could have been used. ``down`` is what was not there, as the availability data says."""

    basis: str
    node_s: int | None = None
    cpu_s: int | None = None
    gpu_s: int | None = None
    down_node_s: int | None = None
    down_cpu_s: int | None = None
    down_gpu_s: int | None = None
    unseen_cpu_s: int | None = None  # nobody looked
    cpu_utilisation: float | None = None
    gpu_utilisation: float | None = None
    node_utilisation: float | None = None
    cpu_utilisation_up: float | None = None  # of what was up
    gpu_utilisation_up: float | None = None


class Line(Record, frozen=True):
    """One line of charges. ``net`` is what is asked for, rounded to the currency; the total is the sum of these."""

    project: str
    partition: str
    qos: str
    gpu_type: str
    runs: int
    cpu_s: int
    gpu_s: int
    node_s: int
    factor: str
    free: str  # taken off for the free quota
    discount: str  # taken off for the project's discount
    minimum: str  # added to reach the least charge of a run
    net: str


class Bill(Record, frozen=True, kw_only=True):
    project: str
    net: str
    free_cpu_s: int = 0  # of the quota, used
    free_gpu_s: int = 0


class Charges(Record, frozen=True, kw_only=True):
    tariff: str
    currency: str
    lines: tuple[Line, ...]
    bills: tuple[Bill, ...]
    total: str
    unrounded: str  # of the same lines
    rules: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()


class Bin(Record, frozen=True, kw_only=True):
    """``low`` is within, ``high`` is not; None: no end."""

    low: float
    high: float | None
    runs: int
    cpu_s: int = 0


class Spread(Record, frozen=True, kw_only=True):
    """How something is spread over classes."""

    name: str
    bins: tuple[Bin, ...]


class UsageOverTime(Record, frozen=True, kw_only=True):
    """One period of time for the figures; projects beyond the greatest are added up as "others"."""

    name: str
    begin_s: int
    end_s: int
    cpu_s_of: dict[str, int]
    gpu_s_of: dict[str, int]
    cpu_s: int
    gpu_s: int
    capacity_cpu_s: int | None = None
    capacity_gpu_s: int | None = None
    down_cpu_s: int | None = None


class AccountingReport(Record, frozen=True, kw_only=True):
    title: str
    zone: str
    begin_s: int
    end_s: int
    whole: Use
    tables: tuple[Table, ...]
    endings: tuple[Ending, ...] = ()
    capacity: Capacity | None = None
    charges: Charges | None = None
    waits: tuple[Spread, ...] = ()
    efficiencies: tuple[Bin, ...] = ()
    courses: tuple[UsageOverTime, ...] = ()
    period: str = "day"
    across: int = 0  # runs that were cut at an edge of the window
    sources: tuple[Source, ...] = ()
    notices: tuple[Notice, ...] = ()
