"""A report of accounting as a page."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ... import times
from ...document.model import Block, Column, Document, Facts, Figures, Histogram, Lines, Section, Table, Text
from . import figures, readers, tables
from .records import AccountingReport, Charges, Source

#: Rows from which a table is folded, and that a page shows at most.
FOLD, MANY = 20, 2000


def render(told: AccountingReport) -> str:
    """The page as HTML. It needs no network."""
    from ... import __version__
    from ...report.formats import html

    return html.render_document(document(told, version=__version__))


def document(told: AccountingReport, *, version: str) -> Document:
    gpus = figures.use(told, gpus=True) if told.whole.gpu_s else None
    sized = figures.sizes(told)
    sections = (
        ("whole", "The window as a whole", "Whole", (Facts(pairs=tables.facts(told)),)),
        ("time", "Use over time", "Over time", _drawn(figures.use(told), gpus, figures.utilisation(told))),
        ("quality", "Waiting and efficiency", "Waiting", _drawn(figures.waits(told), figures.efficiency(told))),
        ("sizes", "Sizes of jobs", "Sizes", (sized,) if sized else ()),
        ("endings", "How runs ended", "Endings", (_endings(told),) if told.endings else ()),
        ("charges", "Charges", "", _charges(told.charges) if told.charges else ()),
        ("tables", "Use in tables", "Tables", _tables(told)),
        ("method", "How it was counted", "Method", _method(told)),
    )
    return Document(
        title=told.title,
        subtitle=f"{times.stamp(told.begin_s, told.zone)} to {times.stamp(told.end_s, told.zone)} ({told.zone})",
        state="measured",
        counts=(),
        lead=lead(told),
        sections=tuple(
            Section(id=name, title=title, short=short, blocks=blocks)
            for name, title, short, blocks in sections
            if blocks
        ),
        footer=f"Made by Shakedown {version} from {', '.join(one.name for one in told.sources)}.",
        rows_in="the files of --format csv,json",
    )


def _drawn(*drawn: Lines | Histogram | None) -> tuple[Block, ...]:
    kept = tuple(one for one in drawn if one is not None)
    return (Figures(figures=kept),) if kept else ()


def lead(told: AccountingReport) -> tuple[str, ...]:
    """What a reader should know first."""
    one = told.whole
    gpus = "GPU hours are not recorded" if one.gpu_s is None else f"{tables.hours(one.gpu_s)} GPU hours"
    cpus = "CPU hours are not recorded" if one.cpu_s is None else f"{tables.hours(one.cpu_s)} CPU hours"
    said = [f"{one.jobs:,} jobs used {cpus}; {gpus}."]
    if told.capacity and told.capacity.cpu_utilisation is not None:
        up = told.capacity.cpu_utilisation_up
        of_up = f" ({tables.percent(up)} of what was up)" if up is not None and told.capacity.down_cpu_s else ""
        said.append(f"{tables.percent(told.capacity.cpu_utilisation)} of the available CPU hours were used{of_up}.")
    if one.wait_median_s is not None:
        said.append(
            f"Half of the runs began within {tables.wait(one.wait_median_s)}, nine of ten within "
            f"{tables.wait(one.wait_90_s)}."
        )
    if told.charges:
        said.append(f"Charges: {tables.money(told.charges.total)} {told.charges.currency}.")
    doubts = [f"{one.text}. {one.advice}." for one in told.notices if one.code == "over-capacity"]
    return (" ".join(said), *(doubt[:1].upper() + doubt[1:] for doubt in doubts))


def _charges(charges: Charges) -> tuple[Block, ...]:
    bills = Table(
        title=f"By project, in {charges.currency}",
        columns=(
            Column("project"),
            *(Column(name, "number") for name in ("free CPU h used", "free GPU h used", "net")),
        ),
        rows=(
            *(
                (one.project, tables.hours(one.free_cpu_s), tables.hours(one.free_gpu_s), tables.money(one.net))
                for one in charges.bills[:MANY]
            ),
            ("total", "", "", tables.money(charges.total)),
        ),
        caption=f"Before rounding the lines: {tables.money(charges.unrounded)}. " + "; ".join(charges.rules) + ".",
        folded=len(charges.bills) > FOLD,
    )
    of_use = ("project", "partition", "QoS", "GPU", "runs", "CPU h", "GPU h", "node h")
    names = (*of_use, "factor", "free", "discount", "minimum", "net")
    lines = Table(
        title="Lines",
        columns=tuple(Column(name, "text" if place < 4 else "number") for place, name in enumerate(names)),
        rows=tuple(
            (
                *(one.project, one.partition, one.qos, one.gpu_type, f"{one.runs:,}"),
                *(tables.hours(seconds) for seconds in (one.cpu_s, one.gpu_s, one.node_s)),
                one.factor,
                *(tables.money(amount) for amount in (one.free, one.discount, one.minimum, one.net)),
            )
            for one in charges.lines[:MANY]
        ),
        folded=len(charges.lines) > FOLD,
    )
    return (bills, lines, *(Text(text=f"{one.text}. {one.advice}".strip()) for one in charges.notices))


def _endings(told: AccountingReport) -> Table:
    return Table(
        title="States of the runs that ended in the window",
        columns=(Column("state"), *(Column(name, "number") for name in ("runs", "share", "CPU h", "share of CPU h"))),
        rows=tuple(
            (state, f"{runs:,}", tables.percent(share), tables.hours(cpu_s), tables.percent(cpu_share))
            for state, runs, share, cpu_s, cpu_share in map(msgspec.structs.astuple, told.endings)
        ),
        caption="CPU hours of their whole runs, also before the window.",
    )


def _tables(told: AccountingReport) -> tuple[Block, ...]:
    made = []
    for one in told.tables:
        heads = tables.heads(one)
        # As wide as the page: expansion by group is in the CSV files.
        shown = [place for place, name in enumerate(heads) if name != "expansion"]
        made.append(
            Table(
                title=tables.titled(one),
                columns=tuple(Column(heads[place], "text" if place < len(one.by) else "number") for place in shown),
                rows=tuple(tuple(row[place] for place in shown) for row in tables.rows(one, MANY)),
                caption="A job that runs in several periods counts in each."
                if not one.additive
                else tables.left_out(one, MANY),
                folded=len(one.rows) > FOLD,
            )
        )
    return tuple(made)


def _method(told: AccountingReport) -> tuple[Block, ...]:
    return (
        *(Text(text=line) for line in METHOD),
        Table(
            title="Sources",
            columns=(
                Column("source"),
                Column("read as"),
                *(Column(name, "number") for name in ("rows", "runs", "steps", "repaired", "lost")),
            ),
            rows=tuple((one.name, readers.get(one.reader).title, *_counts(one)) for one in told.sources),
            caption="Repaired: rows with line breaks or delimiters in a name, or bytes that are not UTF-8.",
        ),
        *(_notices(told)),
    )


def _counts(one: Source) -> tuple[str, ...]:
    return tuple(f"{value:,}" for value in (one.rows, one.jobs, one.steps, one.mended, one.lost))


def _notices(told: AccountingReport) -> Sequence[Block]:
    rows = tuple((one.text, one.advice) for one in told.notices)
    return (Table(title="What to know", columns=(Column("what"), Column("next")), rows=rows),) if rows else ()


METHOD = (
    "A run uses what was allocated to it for the time that it ran, without the time that it was suspended. Runs that "
    "cross an edge "
    "of the window, or of a day, count with the part inside; the parts add up to the whole. Every attempt of a "
    "requeued job uses "
    "resources; the job counts once.",
    "Waiting is from when a job was eligible to its start, of runs that started in the window. Expansion is wait and "
    "run over run, "
    "both added up over the runs that started and ended in it. Efficiencies are those of runs that ended in it: CPU "
    "time used over "
    "allocated, highest memory over requested (weighted by time), time over its limit. Failed: ended as failed, "
    "timeout, out of "
    "memory or node failure.",
)
