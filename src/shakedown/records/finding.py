"""What was made of the measurements: metrics, findings, limits and verdicts."""

from __future__ import annotations

from typing import Literal

import msgspec

from .machine import Params, Record, Value
from .run import Notice


class Only(Record, frozen=True, kw_only=True):
    """What a parameter of a case must be for the case to give a metric's figure; a case without the parameter does.

    Without ``why`` a case with another value stands beside the figure: it is shown, it heads nothing, and a limit speaks of
    it where it names the parameter. With ``why`` it measures nothing of the metric at all, for this reason, and nothing is
    decided by it.
    """

    value: Value
    why: str = ""  # "made on the host backend, which measures no GPU"


class Metric(Record, frozen=True, kw_only=True):
    """What a number means. ``per`` says how a sample becomes a value (see analysis.derive)."""

    name: str
    title: str
    unit: str
    better: Literal["higher", "lower", "none"]
    kernel: str = ""  # the case's kernel that it comes from
    # "bytes/s": work bytes over seconds; "s/messages": seconds over work; "s": seconds; "bytes": work itself;
    # "hpl.rate/flops.fp64": one metric over another, or over a peak; "1-s/pure": beside the times of another kernel
    per: str = ""
    limit: str = ""  # the peak that bounds it; "{level}.bandwidth" takes the case's parameter `level`
    measures: str = ""  # the peak that this metric is a measurement of (its best value over the run), same braces
    headline: bool = False  # named in the summary even when its workload is named already
    match: tuple[str, ...] = ()  # parameters that must agree before two values of it can be laid side by side
    # Circumstances that must be alike before two values of it are ranked: fields of Circumstances, "extent" (the cores or
    # devices that worked), or parameters.
    ranked_by: tuple[str, ...] = ("device", "nodes", "extent", "virtual")
    # The metric in which documents publish what accelerators reach of it ("hpl.rate"), or it without its direction
    # ("io.bandwidth").
    published_as: str = ""
    # The value is a share of so many counted things: the case's work of that name ("expected"), or that over a parameter
    # ("expected/ranks"), where the value is the worst of so many parts.
    share_of: str = ""
    exact: bool = False  # a count or a size by definition: it has no interval, and two are equal or they are not
    # Parameters of cases -> with which value a case gives its figure.
    only: dict[str, Only] = msgspec.field(default_factory=dict)
    # What parameters are beside this metric: {"n": "order of the matrix"}.
    titles: dict[str, str] = msgspec.field(default_factory=dict)
    source: str = ""  # document and equation


class Fraction(Record, frozen=True, kw_only=True):
    """A value against its limit."""

    limit: str
    kind: str  # derived | measured | stated
    value: float  # of the limit, SI
    fraction: float
    basis: str = ""


class Finding(Record, frozen=True, kw_only=True):
    """A derived value with its interval, its limit and what to think of it."""

    metric: str
    unit: str
    better: str
    workload: str
    params: Params
    host: str
    value: float | None  # None: not measured, with the reason among the notices
    low: float | None = None
    high: float | None = None
    n_samples: int = 0
    n_runs: int = 0
    best: float | None = None
    fractions: tuple[Fraction, ...] = ()
    notices: tuple[Notice, ...] = ()
    outliers: int = 0  # samples beyond 3.5 robust deviations: flagged, never dropped
    runs: tuple[str, ...] = ()


class Cause(Record, frozen=True, kw_only=True):
    """Why a value is low, and what to do about it."""

    text: str
    advice: str = ""
    cost: float | None = None  # estimated share of the rate that it takes, for the order of causes; None: not known


class Verdict(Record, frozen=True, kw_only=True):
    """Requirement -> test -> evidence."""

    requirement: str
    state: Literal["met", "not met", "undecided", "not measured"]
    evidence: str
    finding: Finding | None = None
    causes: tuple[Cause, ...] = ()  # known ones of a requirement that is not met, the dearest first
