"""A report as rows of words (terminal, page) and as CSV with plain numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from ...report._text import count
from ...units import show_seconds
from .measure import NOT_RECORDED
from .records import Capacity, Report, Table, Use

_H = 3600
#: What a grouping is called.
TITLES = {
    "user": "user",
    "project": "project",
    "partition": "partition",
    "group": "group",
    "qos": "QoS",
    "cluster": "cluster",
    "state": "state",
    "size": "size in CPUs",
    "gpus": "size in GPUs",
    "gpu": "type of GPU",
    "day": "day",
    "week": "week",
    "month": "month",
}


def hours(seconds: int | None) -> str:
    """Whole hours from a hundred on; a little is not nothing."""
    if seconds is None:
        return NOT_RECORDED
    value = seconds / _H
    if value >= 100 or seconds == 0:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 0.05 else "< 0.1"


def percent(share: float | None, digits: int = 1) -> str:
    return "-" if share is None else f"{100 * share:.{digits}f} %"


def wait(seconds: int | None) -> str:
    return "-" if seconds is None else show_seconds(seconds)


def energy(joules: int | None, seen: float | None = None) -> str:
    """In kWh, with how much of the use has it where that is not all."""
    if joules is None:
        return NOT_RECORDED
    value = joules / 3.6e6
    words = f"{value:,.0f} kWh" if value >= 100 else f"{value:.3g} kWh"
    return words if seen is None or seen > 0.999 else f"{words} ({percent(seen, 0)})"


def titled(table: Table) -> str:
    return f"By {' and '.join(TITLES[one] for one in table.by)}"


def heads(table: Table) -> tuple[str, ...]:
    money = ("charge",) if any(row.charge for row in table.rows) else ()
    return (
        *(TITLES[one] for one in table.by),
        *(
            "runs" if "state" in table.by else "jobs",
            "CPU h",
            "GPU h",
            "node h",
            "energy",
            "wait, median",
            "wait, 90 %",
            "expansion",
            "CPU used",
            "failed",
        ),
        *money,
    )


def row(one: Use, money: bool, *, runs: bool = False) -> tuple[str, ...]:
    failed = one.failed / one.ended if one.ended else None
    partly = " +" if one.gpu_s is not None and one.runs_without_gpus else ""
    return (
        *one.key,
        f"{one.runs if runs else one.jobs:,}",
        hours(one.cpu_s),
        hours(one.gpu_s) + partly,
        hours(one.node_s),
        energy(one.energy_j, one.energy_seen),
        wait(one.wait_median_s),
        wait(one.wait_90_s),
        "-" if one.expansion is None else f"{one.expansion:.2f}",
        percent(one.cpu_efficiency),
        percent(failed),
        *((one.charge or "-",) if money else ()),
    )


def rows(table: Table, most: int | None = None) -> tuple[tuple[str, ...], ...]:
    money = any(one.charge for one in table.rows)
    return tuple(row(one, money, runs="state" in table.by) for one in table.rows[:most])


def left_out(table: Table, most: int) -> str:
    """What a table that was cut says at its end."""
    rest = table.rows[most:]
    if not rest:
        return ""
    seconds = sum(one.cpu_s or 0 for one in rest)
    return f"{count(len(rest), 'more row')} with {hours(seconds)} CPU h: --json and CSV have all"


def utilisation(capacity: Capacity | None) -> tuple[tuple[str, str], ...]:
    """Utilisation in pairs of words."""
    if capacity is None:
        return (("utilisation", "the capacity is not known: give --nodes or --availability"),)
    found = []
    for name, of_all, of_up, there, down in (
        ("CPU", capacity.cpu_utilisation, capacity.cpu_utilisation_up, capacity.cpu_s, capacity.down_cpu_s),
        ("GPU", capacity.gpu_utilisation, capacity.gpu_utilisation_up, capacity.gpu_s, capacity.down_gpu_s),
        ("node", capacity.node_utilisation, None, capacity.node_s, capacity.down_node_s),
    ):
        if not there:
            continue
        words = f"{percent(of_all)} of {hours(there)} {name} h" if of_all is not None else NOT_RECORDED
        if of_up is not None and down:
            words += f"; {percent(of_up)} of what was up ({hours(down)} {name} h down)"
        found.append((f"{name} utilisation", words))
    return tuple(found)


def facts(told: Report) -> tuple[tuple[str, str], ...]:
    """The window as a whole in pairs of words."""
    one = told.whole
    runs = f", {one.runs:,} runs" if one.runs != one.jobs else ""
    gpus = hours(one.gpu_s)
    if one.gpu_s is not None and one.runs_without_gpus:
        gpus += f", and {one.runs_without_gpus:,} runs whose GPUs are not recorded"
    if len(one.gpu_s_of_type) > 1:
        gpus += f" ({', '.join(f'{name} {hours(part)}' for name, part in one.gpu_s_of_type.items())})"
    failed = one.failed / one.ended if one.ended else None
    lost = f", with {percent(one.failed_cpu_s / one.cpu_s)} of the CPU hours" if one.cpu_s else ""
    pairs = [
        ("jobs", f"{one.jobs:,}{runs}; {one.never_started:,} more never started"),
        ("CPU hours", hours(one.cpu_s)),
        ("GPU hours", gpus),
        ("node hours", hours(one.node_s)),
        (
            "energy",
            energy(one.energy_j) + (f", recorded for {percent(one.energy_seen)} of the use" if one.energy_seen else ""),
        ),
        *utilisation(told.capacity),
        (
            "wait",
            f"{wait(one.wait_median_s)} in the median, {wait(one.wait_90_s)} at 90 %, from when a job was eligible",
        ),
        ("expansion", "-" if one.expansion is None else f"{one.expansion:.2f} (wait and run over run)"),
        ("CPU time used", f"{percent(one.cpu_efficiency)} of that allocated, known of {percent(one.cpu_seen)}"),
        ("memory used", f"{percent(one.memory_efficiency)} of that asked for, known of {percent(one.memory_seen)}"),
        ("time used", f"{percent(one.limit_efficiency)} of the limits"),
        ("failed", f"{percent(failed)} of the runs that ended{lost}"),
    ]
    if told.charges:
        pairs.append(("charges", f"{told.charges.total} {told.charges.currency} ({told.charges.tariff})"))
    return tuple(pairs)


# ----------------------------------------------------------------------------------------------------------------- CSV

_USE = (
    *(
        "jobs",
        "runs",
        "started",
        "ended",
        "never_started",
        "cpu_s",
        "gpu_s",
        "node_s",
        "runs_without_cpus",
        "runs_without_gpus",
    ),
    *(
        "runs_without_nodes",
        "energy_j",
        "energy_seen",
        "wait_median_s",
        "wait_90_s",
        "expansion",
        "cpu_efficiency",
        "cpu_seen",
    ),
    *("memory_efficiency", "memory_seen", "limit_efficiency", "failed", "failed_cpu_s", "charge"),
)


def table_csv(table: Table) -> str:
    """One table in plain numbers: seconds, joules, fractions. What is not recorded is an empty cell."""
    return _csv((*table.by, *_USE), ((*one.key, *(getattr(one, name) for name in _USE)) for one in table.rows))


def charges_csv(told: Report) -> str:
    """The lines of the charges, and their total."""
    assert told.charges is not None
    names = (
        *("project", "partition", "qos", "gpu_type", "runs", "cpu_s", "gpu_s", "node_s", "factor"),
        *("free", "discount", "minimum", "net"),
    )
    lines: list[Sequence[object]] = [[getattr(one, name) for name in names] for one in told.charges.lines]
    lines.append(["total", *[""] * (len(names) - 2), told.charges.total])
    return _csv((*names, "currency"), ((*line, told.charges.currency) for line in lines))


def _csv(head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([cell(value) for value in line] for line in lines)
    return out.getvalue()


def cell(value: object) -> object:
    """A text that a spreadsheet would take for a formula is led by an apostrophe."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return "" if value is None else value


def files(told: Report) -> dict[str, str]:
    """The CSV files of a report: name -> text."""
    found = {f"by-{'-'.join(table.by)}.csv": table_csv(table) for table in told.tables}
    if told.charges:
        found["charges.csv"] = charges_csv(told)
    return found
