"""The page of a report: its words and tables, with the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...document.model import Column, Document, Figures, Section, Table, Text
from ...times import stamp
from . import figures
from .records import AvailabilityReport
from .tables import MANY, lead, tables

if TYPE_CHECKING:
    from .evaluate import Evaluation


def render(told: AvailabilityReport, found: Evaluation) -> str:
    """The page as HTML."""
    from ... import __version__
    from ...report.formats import html

    text = html.render_document(document(told, version=__version__))
    return figures.insert_map(text, figures.node_map(found, told.zone))


def document(told: AvailabilityReport, *, version: str) -> Document:
    """The page without its map of nodes, whose place is marked."""
    clock = told.zone
    drawn = figures.course(told, clock)
    every = {
        title: Table(title=title, columns=_columns(heads), rows=tuple(rows))
        for title, heads, rows in tables(told, MANY)
    }
    window = [one for one in ("Windows", "Attempts", "Months") if every.get(one) and every[one].rows]

    def some(*titles: str) -> tuple[Table, ...]:
        return tuple(every[one] for one in titles if one in every and every[one].rows)

    bars = figures.causes(told)
    sections = [
        Section(
            id="window",
            title="The window",
            blocks=(*((Figures(figures=(drawn,)),) if drawn else ()), *some(*window), *some("Full use")),
        ),
        Section(id="nodes", title="Nodes over time", blocks=(Text(text=figures.MAP_MARK),)),
        Section(
            id="causes",
            title="What was lost, and why",
            blocks=(*((bars,) if bars else ()), *some("What would have met it", "Greatest incidents")),
        ),
        Section(id="exclusions", title="Exclusions", blocks=some("Exclusions")) if told.exclusions else None,
        Section(id="rates", title="Mean times", blocks=some("Mean times", "How late outages were noticed")),
        Section(id="definitions", title="Definitions side by side", blocks=some("Definitions")),
        Section(id="jobs", title="Jobs", blocks=some("Jobs that failed", "Nodes on which more jobs fail"))
        if told.jobs
        else None,
        Section(id="beside", title="Beside sreport", blocks=some("Down time beside sreport")) if told.beside else None,
        Section(id="arithmetic", title="The arithmetic", blocks=_arithmetic(told, clock)) if told.explained else None,
        Section(id="sources", title="Sources", blocks=(*some("Sources"), *_notes(told))),
    ]
    return Document(
        title=told.title,
        subtitle=f"{stamp(told.begin_s, clock)} to {stamp(told.end_s, clock)}: {told.nodes:,} nodes, "
        f"{told.processors:,} processors",
        state=told.verdict,
        counts=(),
        lead=tuple(lead(told)),
        sections=tuple(one for one in sections if one is not None and one.blocks),
        footer=f"Made by Shakedown {version}. {told.source}. Intervals are of 95 %.",
    )


def _columns(heads: tuple[str, ...]) -> tuple[Column, ...]:
    kinds = {"value": "number", "formula": "code", "hours": "number"}
    return tuple(Column(head, kinds.get(head, "number" if head.endswith(" h") else "text")) for head in heads)  # type: ignore[arg-type]


def _arithmetic(told: AvailabilityReport, clock: str) -> tuple[Text | Table, ...]:
    explained = told.explained
    assert explained is not None
    blocks: list[Text | Table] = [Text(text=f"In {explained.weight}-seconds: level = {explained.result}")]
    for title, lines in (
        ("Scheduled", explained.scheduled),
        ("Excluded", explained.excluded),
        ("Not observed", explained.unobserved),
        ("Lost", explained.lost),
    ):
        rows = tuple(
            (
                stamp(one.begin_s, clock) if one.begin_s else "",
                stamp(one.end_s, clock) if one.end_s else "",
                one.text,
                f"{one.amount:,.2f}",
                f"{one.sum:,.2f}",
            )
            for one in lines
        )
        if rows:
            columns = (
                Column("from"),
                Column("to"),
                Column("what"),
                Column("amount", "number"),
                Column("sum", "number"),
            )
            blocks.append(Table(title=title, columns=columns, rows=rows, folded=len(rows) > 40))
    return tuple(blocks)


def _notes(told: AvailabilityReport) -> tuple[Text, ...]:
    return tuple(Text(text=f"{one.text}. {one.advice}".strip()) for one in told.notices)
