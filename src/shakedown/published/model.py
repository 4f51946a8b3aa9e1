"""The records of published systems: the TOML file key for key, and what it becomes."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

import msgspec

Param = int | float | str

#: What a document requires of its system: results below a figure, or not below it. Empty: no requirement.
Required = Literal["", "below", "above"]

#: The parameters that all files share. A name that is nearly one of these is taken for a slip.
PARAMETERS = (
    "nodes",
    "cores",
    "threads",
    "ranks",
    "gpus",
    "n",
    "nb",
    "p",
    "q",
    "bytes",
    "precision",
    "device",
    "library",
    "binding",
    "placement",
    "application",
    "clock",
    "case",
    "level",
    "link",
    "rail",
    "virtual",
)

#: Metrics that need no definition, with their SI unit.
BUILT_IN = {"peak.flops.*": "flop/s", "peak.*.bandwidth": "B/s"}

FORMAT = "the format is in the README of the published systems"


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base: a key that is not named here is an error."""


# ---------------------------------------------------------------------------------------------- the file, key for key


class Document(_Strict, frozen=True, kw_only=True):
    id: str
    title: str
    authors: str
    date: str  # as precise as the document; empty where it prints none
    file: str


class Hardware(_Strict, frozen=True, kw_only=True):
    nodes: int | None = None
    node: str = ""
    sockets_per_node: int | None = None
    cpu: str = ""
    cores_per_node: int | None = None
    clock: str = ""
    memory_per_node: str = ""
    accelerators_per_node: int | None = None
    accelerator: str = ""
    interconnect: str = ""
    storage: str = ""
    software: str = ""
    cooling: str = ""
    notes: str = ""


class StatedPeak(_Strict, frozen=True, kw_only=True):
    metric: str
    scope: Literal["core", "socket", "node", "gpu", "system"]
    value: str
    unit: str
    basis: str
    where: str


class StatedValue(_Strict, frozen=True, kw_only=True):
    metric: str
    value: str
    unit: str
    where: str
    required: Required = ""
    params: dict[str, Param] = {}
    note: str = ""


class Column(_Strict, frozen=True, kw_only=True):
    """A parameter of the rows (``param``) or a value (``metric`` and ``unit``)."""

    name: str
    param: str = ""
    metric: str = ""
    unit: str = ""
    params: dict[str, Param] = {}
    derived: str = ""


class Table(_Strict, frozen=True, kw_only=True):
    where: str
    columns: tuple[Column, ...]
    rows: str
    title: str = ""
    params: dict[str, Param] = {}
    note: str = ""
    prose: bool = False  # written out of a sentence: another table of the same comes first


class Erratum(_Strict, frozen=True, kw_only=True):
    where: str
    row: int
    column: str
    note: str


class MetricDef(_Strict, frozen=True, kw_only=True):
    name: str
    title: str
    unit: str
    better: Literal["lower", "higher", "none"]
    source: str
    ranked_by: tuple[str, ...] = ("device", "nodes", "extent", "virtual")  # as of a Metric (records)
    exact: bool = False  # as of a Metric


class Record(_Strict, frozen=True, kw_only=True):
    """One file as it stands."""

    id: str
    name: str
    site: str
    country: str
    year: int
    summary: str
    document: Document
    hardware: Hardware = Hardware()
    stated_peaks: tuple[StatedPeak, ...] = msgspec.field(default=(), name="peak")
    stated_values: tuple[StatedValue, ...] = msgspec.field(default=(), name="value")
    tables: tuple[Table, ...] = msgspec.field(default=(), name="table")
    errata: tuple[Erratum, ...] = msgspec.field(default=(), name="erratum")
    metric_defs: tuple[MetricDef, ...] = msgspec.field(default=(), name="metric")


class MetricsFile(_Strict, frozen=True, kw_only=True):
    metric: tuple[MetricDef, ...] = ()


# ------------------------------------------------------------------------------------------------------ what it becomes


class PublishedValue(_Strict, frozen=True, kw_only=True):
    """One printed number: ``value`` in ``unit`` (SI), give or take ``half_width``, half a unit in its last place."""

    metric: str
    value: float
    unit: str
    half_width: float
    printed: str
    printed_unit: str
    params: dict[str, Param] = {}
    where: str
    document: str
    required: Required = ""
    note: str = ""
    doubt: int = 0  # 0: of a table; 1: of the text; 2: the document contradicts itself there (an erratum)


class PublishedPeak(_Strict, frozen=True, kw_only=True):
    """A theoretical peak as the document prints or implies it."""

    metric: str
    scope: Literal["core", "socket", "node", "gpu", "system"]
    value: float
    unit: str
    half_width: float
    printed: str
    printed_unit: str
    basis: str
    where: str
    document: str


class System(Record, frozen=True, kw_only=True):
    """The record, and every number in it in SI: those of the text first, then those of the tables, row by row."""

    values: tuple[PublishedValue, ...] = ()
    peaks: tuple[PublishedPeak, ...] = ()


class Recomputed(_Strict, frozen=True, kw_only=True):
    """A derived cell against its formula. Any result agrees (``-inf`` to ``inf``) where the divisor may be zero."""

    where: str
    row: int  # from 1
    column: str
    formula: str
    printed: str
    low: float
    high: float
    agrees: bool


class HasUnit(Protocol):
    """Any definition of a metric, here or in a workload."""

    @property
    def unit(self) -> str: ...


class Problem(NamedTuple):
    where: str
    what: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f" ({self.hint})" if self.hint else "")
