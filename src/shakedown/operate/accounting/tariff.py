"""A tariff (TOML) and what it makes of a window. Money is exact: rates are decimals as written, amounts fractions of whole
seconds; each line is rounded once, half up, and the total is the sum of the rounded lines.

    name = "HPC 2026"                 # money below may be a string or a number: "0.012", 0.012
    currency = "CHF"
    decimals = 2
    charge = "window"                 # runs as they are cut at the window; or "ended": whole runs that ended in it
    round_up_to = "1 min"             # of each run's time; cut at an edge, both parts add up to the rounded whole
    minimum = "0.01"                  # the least charge of a run, in the window that it ends in
    not_charged = ["node_fail"]       # states (shakedown's words)

    [rates]                           # for an hour
    cpu_h = "0.012"
    node_h = "0"
    gpu_h = { a100 = "0.90", h200 = "2.40", default = "0.60" }

    [partition.fat]
    factor = "1.5"
    [qos.low]
    factor = "0.5"
    [free]                            # every project's, in the window that is charged
    cpu_h = 1000
    [project.alpha]
    discount = "10 %"
    free_gpu_h = 50
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from ... import strict
from ...errors import BadInput, unknown
from ...records import Notice
from ...schedulers import ENDED
from ...units import UnknownUnit, exact_number, parse_quantity
from .measure import DIMENSIONS, NOT_RECORDED, Measure
from .records import Bill, Charges, Line
from .sums import upto

_HOUR_S = 3600
Money = str | int | float


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the file's tables."""


class Rates(_Table, frozen=True, kw_only=True):
    cpu_h: Money = 0
    node_h: Money = 0
    gpu_h: Money | dict[str, Money] = 0


class Factor(_Table, frozen=True, kw_only=True):
    factor: Money


class Free(_Table, frozen=True, kw_only=True):
    cpu_h: Money = 0
    gpu_h: Money = 0


class Project(_Table, frozen=True, kw_only=True):
    discount: Money = 0
    free_cpu_h: Money | None = None
    free_gpu_h: Money | None = None


class Tariff(_Table, frozen=True, kw_only=True):
    name: str
    currency: str
    decimals: int = 2
    charge: Literal["window", "ended"] = "window"
    round_up_to: str = "1 s"
    minimum: Money = 0
    not_charged: tuple[str, ...] = ()
    rates: Rates
    partition: dict[str, Factor] = {}
    qos: dict[str, Factor] = {}
    free: Free = Free()
    project: dict[str, Project] = {}


def load(path: Path) -> Tariff:
    """A tariff from a file. Raises BadInput with the entry."""
    raw = strict.read_toml(strict.read_text(path), str(path))
    found = strict.convert(raw, Tariff, str(path), hint="docs/accounting.md describes every key")
    for state in found.not_charged:
        if state not in ENDED:
            raise unknown("state", state, ENDED, where=f"{path}: not_charged")
    if not 0 <= found.decimals <= 6:
        raise BadInput("decimals is not from 0 to 6", where=str(path), hint="2 for cents")
    step_s(found)
    every = [found.minimum, found.rates.cpu_h, found.rates.node_h, found.free.cpu_h, found.free.gpu_h]
    every += found.rates.gpu_h.values() if isinstance(found.rates.gpu_h, dict) else [found.rates.gpu_h]
    every += [one.factor for one in (*found.partition.values(), *found.qos.values())]
    for one in found.project.values():
        every += [word for word in (one.free_cpu_h, one.free_gpu_h) if word is not None]
        if not 0 <= exact(one.discount, "discount") <= 1:
            raise BadInput(f"discount {one.discount!r} is not from 0 to 100 %", where=str(path), hint='"10 %" or 0.1')
    for word in every:
        if exact(word, "an amount") < 0:
            raise BadInput(f"{word!r} is below zero", where=str(path), hint="give discounts as discount")
    return found


def exact(word: Money, what: str) -> Fraction:
    """A number as it is written; ``10 %`` is 1/10. Raises BadInput."""
    text = str(word).strip()
    value = exact_number(text.removesuffix("%").strip())
    if value is None:
        raise BadInput(f"{what} {str(word)[:40]!r} is not a number", where="the tariff", hint='write it as "0.012"')
    return value / (100 if text.endswith("%") else 1)


def step_s(tariff: Tariff) -> int:
    """The seconds that a run's time is rounded up to. Raises BadInput."""
    try:
        value, unit = parse_quantity(tariff.round_up_to)
    except (UnknownUnit, ValueError):
        value, unit = 0.0, ""
    if unit != "s" or value < 1 or value != int(value):
        raise BadInput(
            f"round_up_to {tariff.round_up_to!r} is not a valid time", where="the tariff", hint='"1 s", "15 min", "1 h"'
        )
    return int(value)


#: Partition, QoS, type of GPU: what a price hangs on.
_Key = tuple[str, str, str]


class _Sums(NamedTuple):
    """The runs of one line: billed seconds times what was allocated, and what the least charge adds, in the currency."""

    project: str
    partition: str
    qos: str
    gpu_type: str
    runs: int
    cpu_s: int
    gpu_s: int
    node_s: int
    unknown: int
    minimum: Fraction = Fraction(0)

    @property
    def key(self) -> _Key:
        return self.partition, self.qos, self.gpu_type


class _Price(NamedTuple):
    """For one second of a CPU, a GPU, a node, the factors of partition and QoS in them."""

    cpu: Fraction
    gpu: Fraction
    node: Fraction
    factor: Fraction


def charge(measure: Measure, tariff: Tariff) -> Charges:
    """The charges of a window. Raises BadInput for a type of GPU that the tariff has no rate for."""
    sums = _sums(measure, tariff)
    prices = {one.key: _price(tariff, *one.key) for one in sums}
    if exact(tariff.minimum, "minimum"):
        sums = _with_minimum(measure, tariff, sums, prices)
    lines: list[Line] = []
    bills: dict[str, list[Fraction]] = {}
    whole = Fraction(0)
    shares = {name: _free(tariff, name, sums) for name in {one.project for one in sums}}
    for one in sums:
        line, amount, net = _line(tariff, one, prices[one.key], shares[one.project])
        lines.append(line)
        whole += amount
        bills.setdefault(one.project, []).append(net)
    total = sum((sum(parts, Fraction(0)) for parts in bills.values()), Fraction(0))
    return Charges(
        tariff=tariff.name,
        currency=tariff.currency,
        lines=tuple(sorted(lines, key=lambda one: (one.project, one.partition, one.qos, one.gpu_type))),
        bills=tuple(
            Bill(
                project=name,
                net=show(sum(parts, Fraction(0)), tariff.decimals),
                free_cpu_s=shares[name].used_cpu_s,
                free_gpu_s=shares[name].used_gpu_s,
            )
            for name, parts in sorted(bills.items())
        ),
        total=show(total, tariff.decimals),
        unrounded=show(whole, tariff.decimals + 4),
        rules=rules(tariff),
        notices=_notices(sums),
    )


def _sums(measure: Measure, tariff: Tariff) -> list[_Sums]:
    keys = ", ".join(DIMENSIONS[name] for name in ("project", "partition", "qos", "gpu"))
    rows = measure.store.rows(
        f"SELECT {keys}, count(*), coalesce(sum(billed * cpus), 0), coalesce(sum(billed * gpus), 0), "
        f"coalesce(sum(billed * nodes), 0), count(*) FILTER (WHERE gpus IS NULL) FROM ({_billed(measure, tariff)}) "
        "GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
    )
    return [_Sums(*row[:4], *(int(value) for value in row[4:])) for row in rows]


def _billed(measure: Measure, tariff: Tariff) -> str:
    """SQL: the runs that are charged, with their billed seconds, and whether they ended in the window."""
    step = step_s(tariff)
    begin, end = str(measure.begin_s), str(measure.end_s)

    def up(seconds: str) -> str:
        return f"(({seconds} + {step - 1}) // {step} * {step})" if step > 1 else seconds

    ended = f"NOT open AND end_s <= {end}"
    billed = up("ran_s") if tariff.charge == "ended" else f"{up(upto('ran_s', end))} - {up(upto('ran_s', begin))}"
    states = ", ".join(f"'{state}'" for state in tariff.not_charged)
    free = f" AND coalesce(state, '') NOT IN ({states})" if states else ""
    only = f" AND {ended}" if tariff.charge == "ended" else ""
    return f"SELECT *, {billed} AS billed, {ended} AS ended_here FROM runs WHERE touches{only}{free}"


def _price(tariff: Tariff, partition: str, qos: str, gpu: str) -> _Price:
    factor = Fraction(1)
    for table, name in ((tariff.partition, partition), (tariff.qos, qos)):
        if name in table:
            factor *= exact(table[name].factor, "factor")
    rate: Money = 0
    of_gpus = tariff.rates.gpu_h
    if not isinstance(of_gpus, dict):
        rate = of_gpus
    elif gpu not in ("none", NOT_RECORDED):
        if gpu not in of_gpus and "default" not in of_gpus:
            hint = f'gpu_h = {{ "{gpu}" = "1.00", default = "1.00" }}'
            raise BadInput(f"has no rate for GPUs of the type {gpu!r}", where="the tariff", hint=hint)
        rate = of_gpus.get(gpu, of_gpus.get("default", 0))
    cpu, gpu_s, node = (
        exact(one, "a rate") * factor / _HOUR_S for one in (tariff.rates.cpu_h, rate, tariff.rates.node_h)
    )
    return _Price(cpu, gpu_s, node, factor)


def _with_minimum(measure: Measure, tariff: Tariff, sums: list[_Sums], prices: Mapping[_Key, _Price]) -> list[_Sums]:
    """What each line lacks to the least charge of its runs: in whole numbers of a unit that all prices are multiples of."""
    least = exact(tariff.minimum, "minimum")
    unit = 1
    for price in prices.values():
        for part in price[:3]:
            unit = math.lcm(unit, part.denominator)
    unit = math.lcm(unit, least.denominator)
    table: dict[str, list[Any]] = {name: [] for name in ("partition", "qos", "gpu", "c", "g", "n")}
    for key, price in prices.items():
        values = (*key, *(str(int(part * unit)) for part in price[:3]))
        for name, value in zip(table, values, strict=True):
            table[name].append(value)
    measure.store.db.execute(
        "CREATE OR REPLACE TEMP TABLE prices AS SELECT unnest($partition) AS partition_, unnest($qos) AS qos_, "
        "unnest($gpu) AS gpu_, " + ", ".join(f"CAST(unnest(${name}) AS HUGEINT) AS {name}" for name in "cgn"),
        table,
    )
    keys = {name: DIMENSIONS[name] for name in ("project", "partition", "qos", "gpu")}
    cost = "CAST(billed AS HUGEINT) * (coalesce(cpus, 0) * c + coalesce(gpus, 0) * g + coalesce(nodes, 0) * n)"
    rows = measure.store.rows(
        f"SELECT x.k_project, x.k_partition, x.k_qos, x.k_gpu, sum(greatest(0, {int(least * unit)}::HUGEINT - {cost})) "
        "FROM (SELECT *, "
        + ", ".join(f"{sql} AS k_{name}" for name, sql in keys.items())
        + f" FROM ({_billed(measure, tariff)})) x JOIN prices ON k_partition = partition_ AND k_qos = qos_ AND k_gpu = gpu_ "
        "WHERE ended_here GROUP BY 1, 2, 3, 4"
    )
    lacking = {tuple(row[:4]): Fraction(int(row[4]), unit) for row in rows}
    return [one._replace(minimum=lacking.get(tuple(one[:4]), Fraction(0))) for one in sums]


class _Share(NamedTuple):
    """Which part of a project's CPU and GPU seconds is free, and its discount."""

    cpu: Fraction
    gpu: Fraction
    discount: Fraction
    used_cpu_s: int
    used_gpu_s: int


def _free(tariff: Tariff, name: str, sums: list[_Sums]) -> _Share:
    own = tariff.project.get(name, Project())
    cpu_h = tariff.free.cpu_h if own.free_cpu_h is None else own.free_cpu_h
    gpu_h = tariff.free.gpu_h if own.free_gpu_h is None else own.free_gpu_h
    parts = []
    for hours, used in ((cpu_h, "cpu_s"), (gpu_h, "gpu_s")):
        whole = sum(getattr(one, used) for one in sums if one.project == name)
        free = min(Fraction(whole), exact(hours, "free hours") * _HOUR_S)
        parts.append((free / whole if whole else Fraction(0), int(free)))
    return _Share(parts[0][0], parts[1][0], exact(own.discount, "discount"), parts[0][1], parts[1][1])


def _line(tariff: Tariff, one: _Sums, price: _Price, share: _Share) -> tuple[Line, Fraction, Fraction]:
    """A line, its exact amount, and its rounded one."""
    free = one.cpu_s * price.cpu * share.cpu + one.gpu_s * price.gpu * share.gpu
    gross = one.cpu_s * price.cpu + one.gpu_s * price.gpu + one.node_s * price.node + one.minimum
    discount = (gross - free) * share.discount
    amount = gross - free - discount
    net = rounded(amount, tariff.decimals)
    money = (show(part, tariff.decimals) for part in (free, discount, one.minimum, net))
    names = (one.project, one.partition, one.qos, one.gpu_type)
    line = Line(*names, one.runs, one.cpu_s, one.gpu_s, one.node_s, f"{float(price.factor):g}", *money)
    return line, amount, net


def rounded(amount: Fraction, decimals: int) -> Fraction:
    """To so many decimals, half up; amounts are not below zero."""
    scale = 10**decimals
    return Fraction((2 * amount.numerator * scale + amount.denominator) // (2 * amount.denominator), scale)


def show(amount: Fraction, decimals: int) -> str:
    """An amount with exactly so many decimals, rounded half up."""
    whole = int(rounded(amount, decimals) * 10**decimals)
    if not decimals:
        return str(whole)
    return f"{whole // 10**decimals}.{whole % 10**decimals:0{decimals}d}"


def rules(tariff: Tariff) -> tuple[str, ...]:
    """What was applied, in words and in order."""
    unit = tariff.currency
    gpu = tariff.rates.gpu_h
    gpus = ", ".join(f"{name} {rate}" for name, rate in gpu.items()) if isinstance(gpu, dict) else str(gpu)
    said = [
        "runs count with the part that lies in the window"
        if tariff.charge == "window"
        else "runs that ended in the window count whole",
        f"an hour costs {tariff.rates.cpu_h} {unit} a CPU, {gpus} {unit} a GPU, {tariff.rates.node_h} {unit} a node",
    ]
    if step_s(tariff) > 1:
        said.append(f"the time of each run is rounded up to {tariff.round_up_to}")
    if tariff.not_charged:
        said.append(f"not charged: runs that ended as {', '.join(tariff.not_charged)}")
    for table, kind in ((tariff.partition, "partition"), (tariff.qos, "QoS")):
        said += [f"{kind} {name}: times {one.factor}" for name, one in table.items()]
    if exact(tariff.minimum, "minimum"):
        said.append(f"each run costs at least {tariff.minimum} {unit}, in the window that it ends in")
    if exact(tariff.free.cpu_h, "") or exact(tariff.free.gpu_h, ""):
        hours = f"{tariff.free.cpu_h} CPU hours and {tariff.free.gpu_h} GPU hours"
        said.append(f"every project has {hours} free in this window, taken off its lines in proportion")
    said.append(f"each line is rounded to {tariff.decimals} decimals, half up; the total is the sum of the lines")
    return tuple(said)


def _notices(sums: list[_Sums]) -> tuple[Notice, ...]:
    found = []
    if unknown_gpus := sum(one.unknown for one in sums):
        text = f"the GPUs of {unknown_gpus} runs are not recorded: they are charged without"
        found.append(Notice(code="gpus-not-charged", text=text, advice="let the engine record GPUs"))
    if mixed := sorted({one.gpu_type for one in sums if "+" in one.gpu_type}):
        text = (
            f"runs with several types of GPU ({', '.join(mixed)}) are charged by the rate of that name, or the default"
        )
        found.append(Notice(code="gpus-mixed", text=text, advice=""))
    return tuple(found)
