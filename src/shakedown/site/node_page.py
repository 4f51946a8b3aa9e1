"""The page of a node: what it is, its figures with history and the fleet beside, what changed, what went wrong. Pure."""

from __future__ import annotations

from ..analysis import facts, stragglers
from ..analysis.trend.judge import FEWEST
from ..analysis.values import is_headline
from ..document import strips
from ..document.model import Block, Column, Facts, Figures, Table, Text
from ..document.text import count, listed
from ..records import Host, Machine, TrendSeries
from ..report import trend as trend_words
from ..times import minute, utc_day
from ..units import show
from .fleet import RECENT
from .judge import Peers, troubles
from .layout import Cell, Part, SitePage, SiteTable, between, figure_id, node_path, signed
from .others_page import HEALTH_STATES
from .view import View, shown

#: Control charts and runs of a page.
MOST_CHARTS, MOST_RUNS = 3, 400
#: Facts that say what a node is; the others are folded.
_FIRST = (
    "processor",
    "cores online",
    "memory",
    "memory modules",
    "GPUs",
    "GPU driver",
    "network",
    "operating system",
    "kernel",
    "virtualisation",
)


def node_page(view: View, node: int) -> SitePage:
    name = view.fleet.nodes[node]
    state = view.states[node]
    runs = view.runs_of[node]
    span = ""
    if runs:
        span = f"{count(len(runs), 'run')}, {between(view.fleet.runs[at].at_ns * 1e-9 for at in (runs[0], runs[-1]))}"
    parts = [Part(id="figures", title="Figures", blocks=_figures(view, node))]
    if node in view.judged.trends:
        parts.append(Part(id="changes", title="What changed", blocks=_changes(view, node)))
    if warnings := _warnings(view, node):
        parts.append(Part(id="warnings", title="Warnings of the newest run", blocks=warnings))
    parts.append(Part(id="hardware", title="Hardware and software", blocks=_hardware(view.fleet.hosts.get(name))))
    parts.append(
        Part(id="health", title="Acceptance and health", blocks=(*_acceptances(view, node), *_health(view, name)))
    )
    parts.append(Part(id="runs", title="Runs", blocks=(_runs(view, node),)))
    return SitePage(
        path=node_path(name),
        kind="Node" if name in view.hosts else "Nodes together",
        title=shown(name),
        subtitle=span,
        state=state.state,
        lead=_lead(view, node),
        parts=tuple(parts),
    )


def _lead(view: View, node: int) -> tuple[str, ...]:
    reasons = view.states[node].reasons
    if reasons:
        more = (f"and {len(reasons) - 4} more",) if len(reasons) > 4 else ()
        return (*reasons[:4], *more)
    return (f"Nothing stands out: no failure in its newest run, {_beside(view, node)}, {_since(view, node)}.",)


def _beside(view: View, node: int) -> str:
    """What was found by the nodes of its kind; where it could not be held against them, that."""
    figures = view.fleet.figures
    headlines = [
        at
        for at, _ in view.by_node[node]
        if figures[at].metric.headline and is_headline(figures[at].metric, figures[at].params)
    ]
    groups = [group.nodes for at in headlines for group in view.judged.peers[at]]
    if any(len(nodes) >= stragglers.FEWEST and node in nodes for nodes in groups):
        return "as fast as the nodes of its kind"
    return f"not compared with others, since fewer than {stragglers.FEWEST} of its kind have a figure that heads a workload"


def _since(view: View, node: int) -> str:
    """What was found by its own history; where that is too short, that."""
    longest = 0
    for at, place in view.by_node[node]:
        rows = view.fleet.figures[at].of(place)
        longest = max(longest, rows.stop - rows.start)
    if longest >= FEWEST:
        return "as good as it was"
    return f"not compared with before, which takes {FEWEST} runs of a figure"


# ---------------------------------------------------------------------------------------------------------------- figures


def _figures(view: View, node: int) -> tuple[Block, ...]:
    """Those that say most in a table, all others folded by workload."""
    own = view.by_node[node]
    if not own:
        return (Text(text="No run of it has a value."),)
    figures = view.fleet.figures
    first = [
        pair
        for pair in own
        if figures[pair[0]].metric.headline and is_headline(figures[pair[0]].metric, figures[pair[0]].params)
    ]
    first = first or own[:FEW]
    rest: dict[str, list[tuple[int, int]]] = {}
    chosen = set(first[:FEW])
    for pair in own:
        if pair not in chosen:
            rest.setdefault(figures[pair[0]].key.workload, []).append(pair)
    caption = (
        f"Now: the median of its newest {RECENT} runs. History: {between(view.span_s)}, drawn over the range beneath. "
        "Among its kind: the range as a line, 5 to 95 % of nodes as a bar, the median as a tick, this node as a dot."
    )
    blocks: list[Block] = [_table(view, node, "Figures of this node", first[:FEW], caption, folded=False)]
    blocks += [
        _table(view, node, f"Further figures: {workload}", pairs, "", folded=True) for workload, pairs in rest.items()
    ]
    return tuple(blocks)


#: Figures that are not folded.
FEW = 24


def _table(view: View, node: int, title: str, pairs: list[tuple[int, int]], caption: str, *, folded: bool) -> SiteTable:
    columns = (
        ("figure", "text"),
        ("now", "number"),
        ("history", "sketch"),
        ("among its kind", "sketch"),
        ("to the median", "number"),
        ("change", "number"),
    )
    changes = {
        (one.workload, one.metric, tuple(sorted(one.params.items()))): one
        for one in (view.judged.trends[node].series if node in view.judged.trends else ())
        if one.changes
    }
    slow = {one.figure for one in view.slow.get(node, ())}
    rows, ids = [], []
    for at, place in pairs:
        one = view.fleet.figures[at]
        changed = changes.get((one.key.workload, one.key.metric, tuple(sorted(one.params.items()))))
        rows.append(_row(view, node, at, place, changed, at in slow))
        ids.append(figure_id(f"{one.key.metric} {one.key.params}", one.key.circumstances))
    return SiteTable(title=title, columns=columns, rows=tuple(rows), ids=tuple(ids), caption=caption, folded=folded)


def _row(view: View, node: int, at: int, place: int, changed: TrendSeries | None, slow: bool) -> tuple[Cell, ...]:
    one = view.fleet.figures[at]
    rows = one.of(place)
    values = one.values[rows]
    times = view.times[one.runs[rows]]
    now = float(view.judged.now[at][place])
    unit = one.metric.unit
    low, high = float(values.min()), float(values.max())
    since = changed.points[changed.changes[-1].first].at_ns * 1e-9 if changed else None
    peers = next(group for group in view.judged.peers[at] if node in group.nodes)
    return (
        view.figure_cell(at),
        Cell(show(now, unit), key=now),
        Cell(
            "" if len(values) > 1 else "one run",
            small=f"{show(low, unit)} to {show(high, unit)}" if high > low else "",
            drawing=strips.history(times, values, *view.span_s, since) if len(values) > 1 else "",
            key=high / low,
        ),
        *_among(peers, now, unit, one.metric.better, slow),
        _change(changed),
    )


def _among(peers: Peers, now: float, unit: str, better: str, slow: bool) -> tuple[Cell, Cell]:
    if len(peers.nodes) < 2:
        return Cell("the only one"), Cell()
    median = peers.quantiles[2]
    apart = now / median - 1
    return (
        Cell(small=f"median {show(median, unit)}", drawing=strips.place(now, peers.quantiles), key=apart),
        Cell(signed(apart), small="slow" if slow else "", tone="bad" if slow else "", key=apart),
    )


def _change(changed: TrendSeries | None) -> Cell:
    if changed is None:
        return Cell()
    last = changed.changes[-1]
    day = utc_day(changed.points[last.first].at_ns * 1e-9)
    tone = {"worse": "bad", "better": "good"}.get(last.sense, "")
    return Cell(signed(last.ratio - 1), small=f"since {day}", tone=tone, key=last.ratio - 1)


# ---------------------------------------------------------------------------------------------------------------- changes


def _changes(view: View, node: int) -> tuple[Block, ...]:
    """Events with their figures, newest first; a control chart of those that are worse now."""
    found = view.judged.trends[node]
    blocks: list[Block] = []
    for event in found.events[:MOST_EVENTS]:
        headings, rows = trend_words.change_rows(event, found)
        explained = node in view.judged.explained
        words = (
            trend_words.event_sentences(event, found) if explained else trend_words.event_sentences(event, found)[:1]
        )
        name = trend_words.event_title(event, found)
        folded = len(rows) > _EVENT_ROWS
        blocks.append(Text(text=f"{name}. {' '.join(words)}" if folded else " ".join(words)))
        columns = tuple(Column(one) for one in headings)
        blocks.append(Table(title=name, columns=columns, rows=tuple(rows), folded=folded))
    if len(found.events) > MOST_EVENTS:
        blocks.append(Text(text=f"{len(found.events) - MOST_EVENTS} earlier changes: see shakedown trend --host NODE."))
    charted = [one for one in view.worse.get(node, ()) if one in found.series][:MOST_CHARTS]
    if charted:
        blocks.append(Figures(figures=tuple(trend_words.figure(one, found) for one in charted)))
    return tuple(blocks)


MOST_EVENTS, _EVENT_ROWS = 6, 8


def _warnings(view: View, node: int) -> tuple[Block, ...]:
    name = view.fleet.nodes[node]
    if name not in view.fleet.newest:
        return ()
    run = view.fleet.runs[view.fleet.newest[name]]
    blocks: list[Block] = []
    if found := troubles(view.fleet, name):
        rows = tuple((Cell(one.what), Cell(one.state), Cell(one.why)) for one in found)
        blocks.append(
            SiteTable(
                title="What did not end well",
                columns=(("what", "text"), ("state", "state"), ("why", "text")),
                rows=rows,
            )
        )
    if len(run.hosts) <= 1:
        blocks += [Text(text=words) for words in run.warnings]
    return tuple(blocks)


# ------------------------------------------------------------------------------------------------- what it is, what it ran


def _hardware(host: Host | None) -> tuple[Block, ...]:
    if host is None:
        return (Text(text="No run says what it is."),)
    known = facts.of_runs(Machine(hosts=(host,), discovered_ns=0, version=""), (), "")[host.name]
    known = {fact: value for fact, value in known.items() if fact not in ("Shakedown", facts.BOOT)}
    first = tuple((fact, facts.in_words(known[fact])) for fact in _FIRST if fact in known)
    rest = tuple((Cell(fact), Cell(facts.in_words(value))) for fact, value in known.items() if fact not in _FIRST)
    blocks: list[Block] = [Facts(pairs=first)]
    if rest:
        blocks.append(
            SiteTable(
                title="Settings, devices and software",
                columns=(("what", "text"), ("value", "code")),
                rows=rest,
                folded=True,
            )
        )
    return tuple(blocks)


def _acceptances(view: View, node: int) -> tuple[Block, ...]:
    name = view.fleet.nodes[node]
    page = node_path(name)
    rows = tuple(
        (
            Cell(
                one.system or one.name,
                small=one.title,
                away=view.away(f"{one.path}/report/report.html", page) if one.has_report else "",
            ),
            Cell(one.state),
            Cell(listed(f"{number} {state}" for state, number in one.counts.items())),
            Cell(utc_day(one.until_ns * 1e-9), key=float(one.until_ns)),
        )
        for one in view.acceptances
        if name in one.hosts
    )
    if not rows:
        return (Text(text="No acceptance that lies in the folders was made on it."),)
    columns = (("system", "text"), ("state", "state"), ("requirements", "text"), ("until", "text"))
    return (SiteTable(title="Acceptances", columns=columns, rows=rows),)


def _health(view: View, name: str) -> tuple[Block, ...]:
    one = view.health.get(name)
    if one is None:
        return (Text(text="No health record of it lies in the folders."),)
    looked = f"Looked at {minute(one.at_s, 'UTC')} UTC: {HEALTH_STATES[one.severity]}."
    if not one.findings and not one.faults:
        return (Text(text=looked),)
    rows = tuple(
        (Cell(item), Cell(HEALTH_STATES[severity]), Cell(what, small=action))
        for severity, item, what, action in one.findings
    )
    rows += tuple((Cell(fault), Cell("warn"), Cell("a fault that nobody has cleared")) for fault in one.faults)
    return (
        SiteTable(
            title="Health",
            columns=(("what", "text"), ("state", "state"), ("finding", "text")),
            rows=rows,
            caption=looked,
        ),
    )


def _runs(view: View, node: int) -> SiteTable:
    name = view.fleet.nodes[node]
    page = node_path(name)
    rows = []
    mine = view.runs_of[node]
    for at in mine[: -MOST_RUNS - 1 : -1]:
        run = view.fleet.runs[at]
        bad = sum(one.host in (name, "") for one in run.troubles)
        rows.append(
            (
                Cell(run.name, away=view.report_of(run, page)),
                Cell(f"{minute(run.at_ns * 1e-9, 'UTC')} UTC"),
                Cell(run.campaign),
                Cell(f"{bad} not well" if bad else "", tone="bad" if bad else "", key=float(bad)),
            )
        )
    columns = (("run", "text"), ("begun", "text"), ("campaign", "text"), ("troubles", "text"))
    rest = f"The newest {len(rows)} of {len(mine):,}." if len(mine) > len(rows) else ""
    return SiteTable(title="Runs of this node", columns=columns, rows=tuple(rows), folded=len(rows) > FEW, caption=rest)
