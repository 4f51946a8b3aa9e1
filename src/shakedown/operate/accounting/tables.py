"""A report as rows of words (terminal, page) and as CSV with plain numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

import msgspec

from ...document.text import count, without_controls
from .measure import DIMENSIONS, NOT_RECORDED, PERIODS
from .records import AccountingReport, Capacity, Line, Table, Use

_H = 3600
_WAITS = (("min", 60), ("h", 3600), ("d", 86400))
#: What a grouping is called.
TITLES = {name: name for name in (*DIMENSIONS, *PERIODS)}
TITLES |= {"qos": "QoS", "size": "size in CPUs", "gpus": "size in GPUs", "gpu": "type of GPU"}


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


def wait(seconds: float | None) -> str:
    """In one unit: what a second more or less is, nobody asks of an hour."""
    if seconds is None:
        return "-"
    seconds = round(seconds)
    if seconds < 100:
        return f"{seconds} s"
    unit, size = next((unit, size) for unit, size in _WAITS if seconds < 100 * size or unit == "d")
    value = seconds / size
    return f"{value:.0f} {unit}" if value >= 9.95 else f"{value:.1f} {unit}"


def energy(joules: int | None, seen: float | None = None) -> str:
    """In kWh or MWh, with how much of the use has it where that is not all."""
    if joules is None:
        return NOT_RECORDED
    value, unit = (joules / 3.6e9, "MWh") if joules >= 3.6e9 else (joules / 3.6e6, "kWh")
    words = f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    return words if seen is None or seen > 0.999 else f"{words} ({percent(seen, 0)})"


def compact(value: float) -> str:
    """``346,000``, ``8.32 M``: where there is little room."""
    return f"{value / 1e6:,.3g} M" if value >= 1e6 else f"{round(value):,}"


def money(text: str | None) -> str:
    """An amount with its thousands parted, digit by digit as it is."""
    if text is None:
        return "-"
    whole, point, rest = text.partition(".")
    return f"{int(whole):,}{point}{rest}"


def titled(table: Table) -> str:
    return f"By {' and '.join(TITLES[one] for one in table.by)}"


#: What a narrow terminal can do without, the first first.
SPARE = ("expansion", "node h", "CPU used", "energy", "wait (90 %)")
_HEADS = ("CPU h", "GPU h", "node h", "energy", "wait (90 %)", "expansion", "CPU used")


def heads(table: Table) -> tuple[str, ...]:
    """Of a table as words: by state, rows are of runs, and need not say which failed."""
    told = ("runs", *_HEADS) if "state" in table.by else ("jobs", *_HEADS, "failed")
    charged = any(row.charge for row in table.rows)
    return (*(TITLES[one] for one in table.by), *told, *(("charge",) if charged else ()))


def rows(table: Table, most: int | None = None) -> tuple[tuple[str, ...], ...]:
    charged = any(one.charge for one in table.rows)
    by_state = "state" in table.by
    return tuple(
        (
            *map(without_controls, one.key),
            f"{one.runs if by_state else one.jobs:,}",
            *_cells(one),
            *(() if by_state else (percent(_failed(one)),)),
            *((money(one.charge),) if charged else ()),
        )
        for one in table.rows[:most]
    )


def _cells(one: Use) -> tuple[str, ...]:
    return (
        hours(one.cpu_s),
        hours(one.gpu_s) + ("+" if one.gpu_s is not None and one.runs_without_gpus else ""),  # and more
        hours(one.node_s),
        energy(one.energy_j, one.energy_seen),
        wait(one.wait_median_s) + (f" ({wait(one.wait_90_s)})" if one.wait_90_s is not None else ""),
        "-" if one.expansion is None else f"{one.expansion:.2f}",
        percent(one.cpu_efficiency),
    )


def _failed(one: Use) -> float | None:
    return one.failed / one.judged if one.judged else None


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


def _of(seen: float | None) -> str:
    """Of how much of the use something is recorded, where that is not all."""
    return "" if seen is None or seen > 0.999 else f", recorded for {percent(seen)} of the use"


def facts(told: AccountingReport) -> tuple[tuple[str, str], ...]:
    """The window as a whole in pairs of words."""
    one = told.whole
    runs = f", {one.runs:,} runs" if one.runs != one.jobs else ""
    gpus = hours(one.gpu_s)
    if one.gpu_s is not None and one.runs_without_gpus:
        gpus += f", and {one.runs_without_gpus:,} runs whose GPUs are not recorded"
    if len(one.gpu_s_of_type) > 1:
        gpus += f" ({', '.join(f'{name} {hours(part)}' for name, part in one.gpu_s_of_type.items())})"
    lost = f", with {percent(one.failed_cpu_s / one.cpu_s)} of the CPU hours" if one.cpu_s else ""
    cannot = "; more than all cannot be: see the notes" if (one.cpu_efficiency or 0) > 1 else ""
    pairs = [
        ("jobs", f"{one.jobs:,}{runs}; {one.never_started:,} more never started"),
        ("CPU hours", hours(one.cpu_s)),
        ("GPU hours", gpus),
        ("node hours", hours(one.node_s)),
        ("energy", energy(one.energy_j) + (_of(one.energy_seen) if one.energy_j is not None else "")),
        *utilisation(told.capacity),
        (
            "wait",
            f"{wait(one.wait_mean_s)} in the mean, {wait(one.wait_median_s)} in the median, {wait(one.wait_90_s)} at 90 %; "
            f"{hours(one.wait_total_s)} h in all, from when a job was eligible",
        ),
        ("expansion", "-" if one.expansion is None else f"{one.expansion:.2f} (wait and run over run)"),
        ("CPU time used", f"{percent(one.cpu_efficiency)} of that allocated{_of(one.cpu_seen)}{cannot}"),
        ("memory used", f"{percent(one.memory_efficiency)} of that requested{_of(one.memory_seen)}"),
        ("time used", f"{percent(one.limit_efficiency)} of the limits"),
        ("failed", f"{percent(_failed(one))} of the runs that ended{lost}"),
    ]
    if told.charges:
        pairs.append(("charges", f"{money(told.charges.total)} {told.charges.currency} ({told.charges.tariff})"))
    return tuple(pairs)


# ----------------------------------------------------------------------------------------------------------------- CSV

_USE = tuple(name for name in Use.__struct_fields__ if name not in ("key", "gpu_s_of_type"))


def table_csv(table: Table) -> str:
    """One table in plain numbers: seconds, joules, fractions. What is not recorded is an empty cell."""
    return _csv((*table.by, *_USE), ((*one.key, *(getattr(one, name) for name in _USE)) for one in table.rows))


def charges_csv(told: AccountingReport) -> str:
    """The lines of the charges, and their total."""
    assert told.charges is not None
    names = Line.__struct_fields__
    lines: list[Sequence[object]] = [msgspec.structs.astuple(one) for one in told.charges.lines]
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


def files(told: AccountingReport) -> dict[str, str]:
    """The CSV files of a report: name -> text."""
    found = {f"by-{'-'.join(table.by)}.csv": table_csv(table) for table in told.tables}
    if told.charges:
        found["charges.csv"] = charges_csv(told)
    return found
