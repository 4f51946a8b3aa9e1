"""What passes between the parts of a health check. Times are Unix seconds; values lie in SI units."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from ...records import Record

if TYPE_CHECKING:
    from .node_access import NodeAccess

Severity = Literal["OK", "WARNING", "CRITICAL", "UNKNOWN"]
#: From best to worst, as monitoring-plugins' max_state_alt orders them.
ORDER: tuple[Severity, ...] = ("OK", "UNKNOWN", "WARNING", "CRITICAL")


def worst(severities: Iterable[Severity]) -> Severity:
    """The worst of them; OK where there are none."""
    return max(severities, key=ORDER.index, default="OK")


class Finding(Record, frozen=True, kw_only=True):
    """One thing that was looked at: what it is, against which limit, and what to do next where it is not as it should be.

    UNKNOWN says that it could not be looked at, and ``what`` says why.
    """

    check: str
    item: str = ""  # which part: "/scratch", "mlx5_0:1", "GPU 0000:9b:00"; empty for the node as a whole
    severity: Severity = "OK"
    what: str  # one sentence without a full stop
    value: float | int | str | None = None
    unit: str = ""
    limit: str = ""  # in words, with where it is from: ">= 16 (plan)"
    action: str = ""  # the one next step; empty where there is nothing to do

    @property
    def key(self) -> str:
        """What makes this finding the same one in the next call."""
        return f"{self.check}:{self.item}"


class Metric(Record, frozen=True):
    """One number for a monitoring system. ``name`` is Prometheus's, without the prefix, with its unit at the end."""

    name: str
    value: float
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    help: str = ""
    counter: bool = False
    unit: Literal["", "s", "B", "%", "c"] = ""  # Nagios's unit of measure
    warn: str = ""  # Nagios's ranges
    crit: str = ""
    least: float | None = None
    most: float | None = None


def counter(name: str, value: float, labels: dict[str, str], words: str) -> Metric:
    """A metric that only grows."""
    return Metric(name, value, labels, words, counter=True, unit="c")


class Outcome(Record, frozen=True, kw_only=True):
    """What one check says."""

    findings: tuple[Finding, ...] = ()
    metrics: tuple[Metric, ...] = ()
    kept: dict[str, Any] | None = None  # for its next call; None: what it kept before stays
    more: tuple[str, ...] = ()  # parts of this check that need a child of their own, as each may hang
    absent: str = ""  # why there is nothing to look at on this node; it is then neither well nor ill
    load: dict[str, float] = msgspec.field(default_factory=dict)  # see exposure.py
    learnt: dict[str, Any] = msgspec.field(default_factory=dict)  # this check's section of a plan, as the node is now


class Exposure(Record, frozen=True, kw_only=True):
    """For how long the node has been watched in each state of load."""

    since_s: float = 0.0
    seconds: dict[str, float] = msgspec.field(default_factory=dict)
    last: str = ""  # the state at the last call
    last_s: float = 0.0
    figures: str = ""  # the same call's, for a person: "4 of 4 GPUs busy, 1400 W, load 20.1 on 24 CPUs"


class CheckContext(NamedTuple):
    """What a check may look at."""

    senses: NodeAccess
    plan: Any  # its section of the plan: an instance of ``Check.plan``
    kept: dict[str, Any]  # what it kept; empty at first
    now_s: float
    boot: str  # changes with every start of the machine
    part: str = ""
    exposure: Exposure = Exposure()  # what the node was doing at the last call


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check. Its module's docstring is its entry in the documentation."""

    name: str
    title: str
    plan: type[msgspec.Struct]
    run: Callable[[CheckContext], Outcome]
    """Looks and judges. May raise OSError and ValueError: what it then could not look at becomes UNKNOWN."""
    stuck: Severity = "UNKNOWN"
    """How bad it is that this check got no answer: CRITICAL where that is the fault itself (a mount, a driver)."""


class Stuck(Record, frozen=True, kw_only=True):
    """A child that was left behind."""

    check: str
    part: str = ""
    pid: int
    started: str  # field 22 of /proc/PID/stat: with the pid it names one process
    since_s: float
    touched: str = ""  # what it was about to do
    severity: Severity = "UNKNOWN"


class Occasion(Record, frozen=True, kw_only=True):
    """Lines of the kernel's log that tell of one fault: same kind, same part, none later than some minutes after another."""

    kind: str  # xid, sxid, mce, oom ...: see kernel.toml
    code: int = 0  # of an Xid
    item: str = ""
    first_s: float
    last_s: float
    lines: int = 1
    boot: str = ""
    load: str = ""  # what the node was doing before it (exposure.py); empty: not known
    figures: str = ""  # the same in figures
    text: str = ""  # the first line
    cleared: bool = False  # somebody has seen to it


class Verdict(Record, frozen=True, kw_only=True):
    """What one call concluded, for confirmations."""

    at_s: float
    critical: tuple[str, ...] = ()  # keys of findings
    unknown: tuple[str, ...] = ()


class Drained(Record, frozen=True, kw_only=True):
    """A drain that is ours."""

    reason: str
    at_s: float


class KeptState(Record, frozen=True, kw_only=True):
    """What outlives a call."""

    schema: int = 1
    host: str = ""
    boot: str = ""
    last_s: float | None = None
    checks: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    stuck: tuple[Stuck, ...] = ()
    exposure: Exposure = Exposure()
    verdicts: tuple[Verdict, ...] = ()
    drained: Drained | None = None


class HealthReport(Record, frozen=True, kw_only=True):
    """One call, whole."""

    host: str
    at_s: float
    took_s: float
    boot: str
    severity: Severity
    findings: tuple[Finding, ...]
    metrics: tuple[Metric, ...] = ()
    absent: dict[str, str] = msgspec.field(default_factory=dict)  # check -> why there is nothing to look at
    skipped: tuple[str, ...] = ()  # checks that the plan leaves out
    stuck: tuple[Stuck, ...] = ()
    plan: str = ""  # the file
    learnt: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """1 with something critical; else 3 with something that could not be looked at; else 0."""
        found = {one.severity for one in self.findings}
        return 1 if "CRITICAL" in found else 3 if "UNKNOWN" in found else 0
