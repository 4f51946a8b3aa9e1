"""The pages of published systems: what each is, what its document prints, ours beside it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..document.model import Block, Facts, Text
from ..document.text import count, params_of, with_half
from ..published import MetricDef, System
from ..records import Metric
from .layout import Cell, Part, SitePage, SiteTable, system_path
from .metric_page import published_table
from .view import View

INDEX = "published.html"


def index(view: View, systems: Sequence[System]) -> SitePage:
    rows = []
    for one in sorted(systems, key=lambda one: (-one.year, one.id)):
        mine = [beside for beside in view.beside if beside.system == one.id]
        alike = sum(not beside.differences for beside in mine)
        rows.append(
            (
                Cell(one.name, small=f"{one.site}, {one.country}", link=system_path(one.id)),
                Cell(str(one.year)),
                Cell(one.hardware.cpu),
                Cell(f"{len(one.values):,}", key=float(len(one.values))),
                Cell(str(alike) if alike else "", key=float(alike)),
                Cell(str(len(mine) - alike) if len(mine) > alike else "", key=float(len(mine) - alike)),
            )
        )
    columns = (
        ("system", "text"),
        ("year", "number"),
        ("processor", "text"),
        ("values", "number"),
        ("like with like", "number"),
        ("other circumstances", "number"),
    )
    table = SiteTable(
        title="All systems",
        columns=columns,
        rows=tuple(rows),
        caption="How many of its metrics stand beside a value of this fleet.",
    )
    return SitePage(
        path=INDEX,
        kind="Fleet",
        title="Published systems",
        subtitle=count(len(systems), "system"),
        parts=(Part(id="systems", title="Systems", blocks=(table,)),),
    )


def system_page(view: View, one: System, metrics: Mapping[str, Metric | MetricDef]) -> SitePage:
    hardware = one.hardware
    pairs = [
        (
            "document",
            f"{one.document.title} ({one.document.authors}{f', {one.document.date}' if one.document.date else ''})",
        ),
        ("nodes", hardware.node or ("" if hardware.nodes is None else f"{hardware.nodes:,}")),
        (
            "processor",
            f"{hardware.cpu}{f', {hardware.cores_per_node} cores a node' if hardware.cores_per_node else ''}",
        ),
        ("memory", hardware.memory_per_node),
        ("accelerator", f"{hardware.accelerators_per_node or ''} {hardware.accelerator}".strip()),
        ("interconnect", hardware.interconnect),
        ("storage", hardware.storage),
        ("software", hardware.software),
    ]
    mine = [beside for beside in view.beside if beside.system == one.id]
    beside: Block = (
        published_table("Ours beside", mine, by_system=False)
        if mine
        else Text(text="No value of this fleet is in one of its metrics.")
    )
    return SitePage(
        path=system_path(one.id),
        kind="Published system",
        title=one.name,
        subtitle=f"{one.site}, {one.country}, {one.year}",
        lead=(),
        parts=(
            Part(
                id="system",
                title="The system",
                blocks=(Text(text=one.summary), Facts(pairs=tuple(pair for pair in pairs if pair[1]))),
            ),
            Part(id="beside", title="This fleet beside it", blocks=(beside,)),
            Part(id="values", title="What its document prints", blocks=(_values(one, metrics),)),
        ),
    )


def _values(one: System, metrics: Mapping[str, Metric | MetricDef]) -> SiteTable:
    rows = tuple(
        (
            Cell(metrics[value.metric].title if value.metric in metrics else value.metric),
            Cell(with_half(value.value, value.half_width, value.unit), key=value.value),
            Cell(params_of(value.params)),
            Cell(value.where, small="; ".join(filter(None, ("required" if value.required else "", value.note)))),
        )
        for value in one.values
    )
    columns = (("metric", "text"), ("value", "number"), ("parameters", "text"), ("where", "text"))
    return SiteTable(
        title="Values", columns=columns, rows=rows, caption="Give or take half a unit of the last printed place."
    )
