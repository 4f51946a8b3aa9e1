"""The page of a report: its words and tables, with the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...document.model import Block, Column, Document, Figures, Section, Table, Text
from ...times import stamp
from . import figures
from .records import AvailabilityReport, Explained
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
    drawn = figures.course(told, told.zone)
    every = {
        title: Table(title=title, columns=_columns(heads), rows=tuple(rows))
        for title, heads, rows in tables(told, MANY)
    }
    window = [one for one in ("Windows", "Attempts", "Months") if every.get(one) and every[one].rows]

    def some(*titles: str) -> tuple[Table, ...]:
        return tuple(every[one] for one in titles if one in every and every[one].rows)

    bars = figures.causes(told)
    level = (Figures(figures=(drawn,)),) if drawn else ()
    causes = (bars,) if bars else ()
    notes = (Text(text=f"{one.text}. {one.advice}".strip()) for one in told.notices)
    sections: dict[str, tuple[str, tuple[Block, ...]]] = {
        "window": ("The window", (*level, *some(*window, "Full use"))),
        "nodes": ("Nodes over time", (Text(text=figures.MAP_MARK),)),
        "causes": ("What was lost, and why", (*causes, *some("What would have met it", "Greatest incidents"))),
        "exclusions": ("Exclusions", some("Exclusions")),
        "rates": ("Mean times", some("Mean times", "How late outages were noticed")),
        "definitions": ("Definitions side by side", some("Definitions")),
        "jobs": ("Jobs", some("Jobs that failed", "Nodes on which more jobs fail")),
        "beside": ("Beside sreport", some("Down time beside sreport")),
        "arithmetic": ("The arithmetic", _arithmetic(told.explained, told.zone) if told.explained else ()),
        "sources": ("Sources", (*some("Sources"), *notes)),
    }
    return Document(
        title=told.title,
        subtitle=f"{stamp(told.begin_s, told.zone)} to {stamp(told.end_s, told.zone)}: {told.nodes:,} nodes, "
        f"{told.processors:,} processors",
        state=told.verdict,
        counts=(),
        lead=tuple(lead(told)),
        sections=tuple(
            Section(id=name, title=title, blocks=blocks) for name, (title, blocks) in sections.items() if blocks
        ),
        footer=f"Made by Shakedown {version}. {told.source}. Intervals are of 95 %.",
    )


def _columns(heads: tuple[str, ...]) -> tuple[Column, ...]:
    kinds = {"value": "number", "formula": "code", "hours": "number"}
    return tuple(Column(head, kinds.get(head, "number" if head.endswith(" h") else "text")) for head in heads)  # type: ignore[arg-type]


def _arithmetic(explained: Explained, zone: str) -> tuple[Block, ...]:
    blocks: list[Block] = [Text(text=f"In {explained.weight}-seconds: level = {explained.result}")]
    for title, lines in (
        ("Scheduled", explained.scheduled),
        ("Excluded", explained.excluded),
        ("Not observed", explained.unobserved),
        ("Lost", explained.lost),
    ):
        rows = []
        for one in lines:
            span = (stamp(at_s, zone) if at_s else "" for at_s in (one.begin_s, one.end_s))
            rows.append((*span, one.text, f"{one.amount:,.2f}", f"{one.sum:,.2f}"))
        if rows:
            sums = (Column("amount", "number"), Column("sum", "number"))
            columns = (Column("from"), Column("to"), Column("what"), *sums)
            blocks.append(Table(title=title, columns=columns, rows=tuple(rows), folded=len(rows) > 40))
    return tuple(blocks)
