"""Sources -> a report of a window: the one place that knows the order of things."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from ... import times
from ...errors import BadInput, CannotMeasure, Unavailable
from ...hosts.access import HostAccess
from ...records import Notice
from . import capacity, live, overuse, readers, settle, shapes, tariff, zones
from .loading import Store
from .measure import Measure, parse_by
from .records import AccountingReport, Capacity, Charges, Ending, Table, UsageOverTime, Use

#: What is grouped by where nobody says otherwise.
BY = "project,user,partition,day,size,state"


class ReportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a report is to be of."""

    sources: tuple[str, ...] = ()
    from_slurm: bool = False
    reader: str = ""
    begin: str = ""
    end: str = ""
    zone: str = "UTC"
    written_in: str = ""
    by: str = BY
    tariff: Path | None = None
    nodes: str = ""
    availability: tuple[str, ...] = ()
    gpus_per: str = "slot"


def check(asked: ReportOptions) -> None:
    """Find what is wrong with the words before millions of jobs are read. Raises BadInput."""
    if not asked.sources and not asked.from_slurm:
        raise BadInput("no source was named", where="SOURCE", hint="give files, or --from slurm")
    if asked.from_slurm and not asked.begin:
        raise BadInput("a window is needed to ask the engine", where="--begin", hint="such as --begin 2026-10-01")
    begin_s = zones.parse(asked.begin, asked.zone, "--begin") if asked.begin else None
    end_s = zones.parse(asked.end, asked.zone, "--end") if asked.end else None
    if begin_s is not None and end_s is not None:
        _ordered(begin_s, end_s, asked.zone)
    parse_by(asked.by)
    if asked.tariff:
        tariff.load(asked.tariff)
    if asked.nodes and not asked.availability:
        capacity.given(asked.nodes)


def _ordered(begin_s: int, end_s: int, zone: str) -> None:
    if end_s <= begin_s:
        raise BadInput(
            "the window ends before it begins", where="--end", hint=f"--begin is {times.stamp(begin_s, zone)}"
        )


def load(store: Store, asked: ReportOptions, door: HostAccess) -> None:
    """Read and settle everything that is asked for. Raises BadInput, CannotMeasure."""
    check(asked)
    if asked.from_slurm:
        now_s = store.asked_s = door.now_ns() // 10**9
        end_s = min(zones.parse(asked.end, asked.zone, "--end"), now_s) if asked.end else now_s
        begin_s = zones.parse(asked.begin, asked.zone, "--begin")
        if end_s <= begin_s:
            hint = f"it is {times.stamp(now_s, asked.zone)} now"
            raise BadInput("the window lies in the future", where="--begin", hint=hint)
        live.ask(store, door, begin_s, end_s)
    for source in asked.sources:
        path = Path(source)
        readers.for_file(path, asked.reader).read(store, path)
    settle.settle(store)
    if not store.one("SELECT count(*) FROM jobs")[0]:
        raise CannotMeasure(
            "no job was found",
            where=", ".join(asked.sources) or "slurm",
            hint="look at the notices: " + ("; ".join(one.text for one in store.notices) or "there are none"),
        )


def make(store: Store, asked: ReportOptions, door: HostAccess) -> AccountingReport:
    """The report of a store that is loaded. Raises BadInput."""
    begin_s, end_s = window(store, asked, door)
    measure = Measure(store, begin_s, end_s, asked.zone)
    groupings = parse_by(asked.by)
    shown = shapes.period_of(begin_s, end_s)
    there = _capacity(store, asked, door, begin_s, end_s)
    tables = measure.tables(groupings, shown=shown)
    whole = measure.whole()
    held = capacity.judged(there, whole, begin_s, end_s)
    charges = tariff.charge(measure, tariff.load(asked.tariff)) if asked.tariff else None
    tables = tuple(_charged(table, charges) for table in tables)
    across = store.one(f"SELECT count(*) FROM runs WHERE touches AND (start_s < {begin_s} OR end_s > {end_s})")[0]
    courses = shapes.courses(measure, shown, there)
    notices = (
        *store.notices,
        *(there.notices if there else ()),
        *_notices(store, measure, whole, held, across, courses, shown),
    )
    return AccountingReport(
        title="Accounting",
        zone=asked.zone,
        begin_s=begin_s,
        end_s=end_s,
        whole=whole if charges is None else msgspec.structs.replace(whole, charge=charges.total),
        tables=tables,
        endings=_endings(measure),
        capacity=held,
        charges=charges,
        waits=shapes.waits(measure),
        efficiencies=shapes.efficiencies(measure),
        courses=courses,
        period=shown,
        across=across,
        sources=tuple(store.sources),
        notices=notices,
    )


def _capacity(
    store: Store, asked: ReportOptions, door: HostAccess, begin_s: int, end_s: int
) -> capacity.Available | None:
    """What was asked for; of a live Slurm else what its events tell, if they do."""
    live_only = asked.from_slurm and not asked.availability and not asked.nodes
    sources = ("slurm",) if live_only else asked.availability
    try:
        return capacity.find(asked.nodes, sources, door, begin_s=begin_s, end_s=end_s, zone=asked.zone)
    except (CannotMeasure, Unavailable) as error:
        if not live_only:
            raise
        store.notice("capacity-not-known", f"what there was to use is not known: {error.what}", "give --nodes")
        return None


def window(store: Store, asked: ReportOptions, door: HostAccess) -> tuple[int, int]:
    """The window: as asked, else all that the sources tell of; never beyond both now and the last record, since what is to
    come is not unused. Raises BadInput."""
    first, last = store.one(
        "SELECT min(coalesce(start_s, end_s, submit_s)), max(greatest(start_s, end_s, submit_s)) FROM jobs"
    )
    if first is None and not (asked.begin and asked.end):
        raise BadInput("no job has a time", where="the sources", hint="give --begin and --end")
    begin_s = zones.parse(asked.begin, asked.zone, "--begin") if asked.begin else int(first)
    end_s = zones.parse(asked.end, asked.zone, "--end") if asked.end else int(last) + 1
    _ordered(begin_s, end_s, asked.zone)
    now_s = store.asked_s or door.now_ns() // 10**9
    if asked.from_slurm and not asked.end:
        end_s = now_s  # the engine was asked up to now, also where nothing ran of late
    known_s = now_s if asked.from_slurm or last is None else max(now_s, int(last) + 1)
    if end_s > known_s:
        if begin_s >= known_s:
            raise BadInput(
                "the window lies in the future", where="--begin", hint=f"it is {times.stamp(now_s, asked.zone)}"
            )
        store.notice(
            "up-to-now", f"the window ends at {times.stamp(known_s, asked.zone)}: what is to come is not counted"
        )
        end_s = known_s
    return begin_s, end_s


def _charged(table: Table, charges: Charges | None) -> Table:
    """A table by project with what each is charged."""
    if charges is None or table.by != ("project",):
        return table
    bills = {one.project: one.net for one in charges.bills}
    return msgspec.structs.replace(
        table, rows=tuple(msgspec.structs.replace(row, charge=bills.get(row.key[0])) for row in table.rows)
    )


def _endings(measure: Measure) -> tuple[Ending, ...]:
    rows = measure.store.rows(
        "SELECT coalesce(state, 'unknown'), count(*), coalesce(sum(ran_s * cpus), 0) FROM runs WHERE touches AND NOT open "
        f"AND end_s <= {measure.end_s} GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    runs, cpu_s = sum(row[1] for row in rows), sum(int(row[2]) for row in rows)
    return tuple(
        Ending(
            state=state, runs=count, share=count / runs, cpu_s=int(own), cpu_share=int(own) / cpu_s if cpu_s else None
        )
        for state, count, own in rows
    )


def _notices(
    store: Store,
    measure: Measure,
    whole: Use,
    held: Capacity | None,
    across: int,
    courses: Sequence[UsageOverTime],
    period: str,
) -> Sequence[Notice]:
    found: list[Notice] = []

    def say(code: str, text: str, advice: str = "") -> None:
        found.append(Notice(code=code, text=text, advice=advice))

    if across:
        say(
            "cut", f"{across} runs cross an edge of the window: they count with the part of their time that lies inside"
        )
    found += _gpu_notices(store, whole, held)
    if whole.runs_without_cpus:
        say("cpus-not-recorded", f"{whole.runs_without_cpus:,} runs have no CPUs recorded: their CPU hours are missing")
    if whole.energy_j is None and whole.runs:
        say(
            "energy-not-recorded",
            "no run has its energy recorded",
            "with Slurm: AcctGatherEnergyType and AccountingStorageTRES=energy; or shakedown energy archive",
        )
    if held is not None:
        found += overuse.notices(held, courses, period)
    first, last = store.one("SELECT min(coalesce(start_s, submit_s)), max(greatest(end_s, submit_s)) FROM jobs")
    if first is not None and (measure.begin_s < first - 86400 or measure.end_s > last + 86400):
        say(
            "window-beyond-data",
            f"the records cover {times.stamp(first, measure.zone)} to {times.stamp(last, measure.zone)}; the window "
            "is longer",
            "what lies beyond counts as unused",
        )
    return found


def _gpu_notices(store: Store, whole: Use, held: Capacity | None) -> tuple[Notice, ...]:
    """GPU hours that could not be counted, and how to come by them."""
    if whole.runs and whole.gpu_s is None and held is not None and held.gpu_s == 0:
        return (Notice(code="no-gpus", text="no GPU is recorded, and the machine as given has none", advice=""),)
    if not whole.runs_without_gpus:
        return ()
    ways = dict.fromkeys(readers.get(one.reader).gpus for one in store.sources)
    share = "no run" if whole.gpu_s is None else f"{whole.runs - whole.runs_without_gpus:,} of {whole.runs:,} runs"
    verb = "names GPUs" if whole.gpu_s is None else "have their GPUs recorded"
    text = f"{share} {verb}: GPU hours are not recorded, which is not zero"
    return (Notice(code="gpus-not-recorded", text=text, advice="; ".join(filter(None, ways))),)
