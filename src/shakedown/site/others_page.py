"""The page of acceptances and health records. Pure."""

from __future__ import annotations

from ..document.model import Block, Text
from ..document.text import count, listed, natural, ranges
from ..times import minute, utc_day
from .layout import Cell, Part, SitePage, SiteTable
from .view import View, shown


def acceptances(view: View) -> SitePage:
    """Acceptances and health records."""
    page = "acceptances.html"
    rows = tuple(
        (
            Cell(
                one.system or one.name,
                small=one.title,
                away=view.away(f"{one.path}/report/report.html", page) if one.has_report else "",
            ),
            Cell(one.state),
            Cell(listed(f"{number} {state}" for state, number in one.counts.items())),
            Cell(f"{utc_day(one.begun_ns * 1e-9)} to {utc_day(one.until_ns * 1e-9)}", key=float(one.begun_ns)),
            Cell(shown(ranges(one.hosts)) if one.hosts else ""),
            Cell(
                count(one.faults, "piece") + " changed" if one.faults else "as it was sealed",
                tone="bad" if one.faults else "",
            ),
        )
        for one in view.acceptances
    )
    columns = (
        ("system", "text"),
        ("state", "state"),
        ("requirements", "text"),
        ("from, to", "text"),
        ("nodes", "text"),
        ("evidence", "text"),
    )
    blocks: tuple[Block, ...] = (
        (SiteTable(title="Acceptances", columns=columns, rows=rows),)
        if rows
        else (Text(text="No acceptance lies in the folders."),)
    )
    return SitePage(
        path=page,
        kind="Fleet",
        title="Acceptance and health",
        parts=(
            Part(id="acceptances", title="Acceptances", blocks=blocks),
            Part(id="health", title="Health", blocks=_health(view)),
        ),
    )


def _health(view: View) -> tuple[Block, ...]:
    if not view.health:
        return (
            Text(
                text="No health record lies in the folders: collect what shakedown health --json prints, or its states."
            ),
        )
    order = {"CRITICAL": 0, "WARNING": 1, "UNKNOWN": 2, "OK": 3}
    place = {name: at for at, name in enumerate(view.fleet.nodes)}
    rows = [
        (
            view.node_cell(place[name]) if name in place else Cell(shown(name)),
            Cell(HEALTH_STATES[one.severity], key=float(order[one.severity])),
            Cell("; ".join(f"{item}: {what}" if what else item for _, item, what, _ in one.findings[:3])),
            Cell(f"{minute(one.at_s, 'UTC')} UTC", key=one.at_s),
        )
        for name, one in sorted(view.health.items(), key=lambda pair: (order[pair[1].severity], natural(pair[0])))
    ]
    columns = (("node", "text"), ("state", "state"), ("findings", "text"), ("looked at", "text"))
    return (SiteTable(title="The newest record of each node", columns=columns, rows=tuple(rows)),)


#: Severities of health as states of a page.
HEALTH_STATES = {"CRITICAL": "critical", "WARNING": "warn", "UNKNOWN": "unknown", "OK": "good"}
