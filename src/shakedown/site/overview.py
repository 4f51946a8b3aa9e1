"""The pages over all nodes: the fleet at a glance, the lists of nodes, metrics and runs, and what was left out. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..analysis import stragglers
from ..analysis.trend.judge import FEWEST
from ..document.model import Block, Facts, Text
from ..document.text import count, listed, natural, params_of, ranges
from ..records import Absent
from ..report import trend as trend_words
from ..times import minute, utc_day
from ..units import show
from .fleet import SiteRun
from .layout import Cell, Grid, GridCell, Part, SitePage, SiteTable, between, metric_path, node_path, signed
from .view import STATES, View, shown

#: Rows of the first page, and of the lists that other files hold in full.
FEW, MOST = 12, 400


def overview(view: View) -> SitePage:
    """The fleet at a glance."""
    fleet = view.fleet
    parts = [Part(id="nodes", title="Nodes", blocks=_grid(view))]
    asking = [node for node in range(len(fleet.nodes)) if view.states[node].state != "good"]
    if asking or view.together:
        blocks = (*((_asking(view, asking),) if asking else ()), *_together(view))
        parts.append(Part(id="asking", title="What wants a look", blocks=blocks))
    parts.append(Part(id="changed", title="What changed", blocks=_changed(view)))
    parts.append(Part(id="slow", title="What is slow", blocks=_slow(view)))
    parts.append(Part(id="newest", title="Newest runs", blocks=(_runs(view, "index.html", FEW),)))
    return SitePage(
        path="index.html",
        kind="Fleet",
        title=view.title,
        subtitle=_span(view),
        state=_whole(view),
        lead=_lead(view, asking),
        parts=tuple(parts),
    )


def _span(view: View) -> str:
    runs = view.fleet.runs
    if not runs:
        return "no runs"
    days = between(one.at_ns * 1e-9 for one in (runs[0], runs[-1]))
    return f"{count(len(view.fleet.nodes), 'node')}, {count(len(runs), 'run')}, {days}"


def _whole(view: View) -> str:
    seen = {one.state for one in view.states}
    seen |= {"not met" if one.state == "not met" else "failed" for _, one in view.together}
    return next((state for state in STATES if state in seen), "good") if view.fleet.nodes else ""


def _lead(view: View, asking: Sequence[int]) -> tuple[str, ...]:
    if not view.fleet.runs:
        return ("No run could be read.",)
    numbers = Counter(view.states[node].state for node in asking)
    words = {
        "failed": "with something that failed in the newest run",
        "not met": "below what was asked",
        "critical": "with a critical finding of health",
        "worse": "worse than before",
        "slow": "behind others of the kind",
        "silent": "without a run for long",
    }
    wanting = listed(f"{numbers[state]:,} {words[state]}" for state in words if numbers[state])
    nodes = count(len(view.fleet.nodes), "node")
    wants = "wants" if len(asking) == 1 else "want"
    lines = [f"{len(asking):,} of {nodes} {wants} a look: {wanting}." if asking else "No node wants a look."]
    if view.together:
        lines.append(f"{count(len(view.together), 'job')} over several nodes did not end well in the newest runs.")
    if view.acceptances:
        states = Counter(one.state for one in view.acceptances)
        lines.append(
            f"{count(len(view.acceptances), 'acceptance')}: {listed(f'{n} {state}' for state, n in states.items())}."
        )
    if view.fleet.left_out:
        lines.append(f"{count(len(view.fleet.left_out), 'thing was', 'things were')} left out: see the notes.")
    return tuple(lines)


def _grid(view: View) -> tuple[Block, ...]:
    numbers = Counter(one.state for one in view.states)
    cells = tuple(
        GridCell(
            shown(name),
            node_path(name),
            view.states[node].state,
            f"{shown(name)}: {'; '.join((view.states[node].state, *view.states[node].reasons[:1]))}",
        )
        for node, name in enumerate(view.fleet.nodes)
    )
    return (Grid(cells=cells, counts=tuple((state, numbers[state]) for state in STATES if numbers[state])),)


def _asking(view: View, asking: Sequence[int]) -> SiteTable:
    order = list(STATES)
    ranked = sorted(asking, key=lambda node: (order.index(view.states[node].state), _worst(view, node), node))
    rows = []
    for node in ranked[:FEW]:
        state = view.states[node]
        more = f"and {len(state.reasons) - 1} more" if len(state.reasons) > 1 else ""
        rows.append(
            (view.node_cell(node), Cell(state.state), Cell(state.reasons[0] if state.reasons else "", small=more))
        )
    caption = f"{len(ranked) - FEW:,} more stand in the list of nodes." if len(ranked) > FEW else ""
    return SiteTable(
        title="The worst first",
        columns=(("node", "text"), ("state", "state"), ("why", "text")),
        rows=tuple(rows),
        caption=caption,
    )


def _together(view: View) -> tuple[SiteTable, ...]:
    """Jobs over several nodes that did not end well: of no node alone, so that none is marked for them."""
    rows = tuple(
        (
            Cell(one.what, small=shown(one.host or ranges(run.hosts))),
            Cell(one.state),
            Cell(one.why),
            Cell(run.name, away=view.report_of(run, "index.html")),
        )
        for run, one in view.together
    )
    if not rows:
        return ()
    columns = (("job", "text"), ("state", "state"), ("why", "text"), ("run", "text"))
    more = f"{len(rows) - FEW:,} more are in the reports of these runs." if len(rows) > FEW else ""
    return (SiteTable(title="Jobs over several nodes", columns=columns, rows=rows[:FEW], caption=more),)


def _worst(view: View, node: int) -> float:
    shares = [-one.share for one in view.slow.get(node, ())]
    return min([*shares, *((one.against_best or 1.0) - 1 for one in view.worse.get(node, ()))], default=0.0)


def _changed(view: View) -> tuple[Block, ...]:
    """Figures that are worse than they were, a row a node, the largest change first; what changed with each."""
    if not view.worse:
        if any((figure.starts[1:] - figure.starts[:-1] >= FEWEST).any() for figure in view.fleet.figures):
            return (Text(text="No figure of any node is worse than it was."),)
        return (Text(text=f"Nothing can be said yet: no figure of a node has {FEWEST} runs to compare."),)
    rows = []
    for node in list(dict.fromkeys(node for node, _ in view.judged.standing))[:FEW]:
        found = view.judged.trends[node]
        series = view.worse[node]
        first = series[0]
        event = next(
            (
                one
                for one in found.events
                if one.sense == "worse" and any(found.series[at] == first for at, _ in one.changes)
            ),
            None,
        )
        more = f"and {count(len(series) - 1, 'more figure')}" if len(series) > 1 else params_of(first.params)
        change = (first.against_best or 1.0) - 1
        rows.append(
            (
                view.node_cell(node),
                Cell(first.title, small=more, link=metric_path(first.workload, first.metric)),
                Cell(signed(change), tone="bad", key=change),
                Cell("" if event is None else utc_day(event.at_ns * 1e-9)),
                Cell("" if event is None else trend_words.cause(event)),
            )
        )
    nodes = len(view.worse)
    caption = (
        f"{f'{nodes - FEW} more nodes are in the list of nodes. ' if nodes > FEW else ''}Levels are compared by a control "
        f"chart at {view.judged.rate:.2g} false alarms a year and figure; shakedown trend --host NODE says all of it."
    )
    columns = (
        ("node", "text"),
        ("figure", "text"),
        ("change", "number"),
        ("since", "text"),
        ("what changed with it", "text"),
    )
    return (SiteTable(title="Worse than before", columns=columns, rows=tuple(rows), caption=caption),)


def _slow(view: View) -> tuple[Block, ...]:
    if not view.judged.slow:
        if any(len(one.nodes) >= stragglers.FEWEST for group in view.judged.peers for one in group):
            return (Text(text="No node is slower than the others of its kind."),)
        return (Text(text=f"Nothing can be said: nodes are compared where there are {stragglers.FEWEST} of a kind."),)
    rows = []
    for node in list(dict.fromkeys(one.node for one in view.judged.slow))[:FEW]:
        one = view.slow[node][0]
        figure = view.fleet.figures[one.figure]
        rows.append(
            (
                view.node_cell(node),
                view.figure_cell(one.figure),
                Cell(show(one.now, figure.metric.unit), key=one.now),
                Cell(
                    f"{show(one.share, '%', 2)} behind",
                    small=f"{show(one.median, figure.metric.unit)}, {one.of} nodes",
                    tone="bad",
                    key=-one.share,
                ),
            )
        )
    columns = (("node", "text"), ("figure", "text"), ("now", "number"), ("of the median of its kind", "number"))
    return (
        SiteTable(
            title="Slower than the nodes of their kind",
            columns=columns,
            rows=tuple(rows),
            caption="Behind the median by more than 3.5 robust deviations and 2 %; nodes with the same processor, cores, "
            "memory and GPUs are of a kind.",
        ),
    )


def _state(run: SiteRun) -> str:
    """The worst that a run came to: ``met`` only where all that was asked is."""
    states = {one.state for one in run.troubles}
    if states:
        return "failed" if states - {"not met"} else "not met"
    order = ("undecided", "not measured", "met")
    return next((state for state in order if run.requirements.get(state)), "measured")


def _runs(view: View, page: str, most: int) -> SiteTable:
    rows = []
    for run in view.fleet.runs[: -most - 1 : -1]:
        state = _state(run)
        rows.append(
            (
                Cell(run.name, away=view.report_of(run, page)),
                Cell(f"{minute(run.at_ns * 1e-9, 'UTC')} UTC", key=float(run.at_ns)),
                Cell(run.campaign),
                Cell(shown(ranges(run.hosts)), link=node_path(run.hosts[0]) if len(run.hosts) == 1 else ""),
                Cell(state),
                Cell(run.version),
            )
        )
    columns = (
        ("run", "text"),
        ("begun", "text"),
        ("campaign", "text"),
        ("nodes", "text"),
        ("state", "state"),
        ("Shakedown", "code"),
    )
    total = len(view.fleet.runs)
    return SiteTable(
        title="The newest first",
        columns=columns,
        rows=tuple(rows),
        caption=f"The newest {len(rows)} of {total:,}; each node's page has its own." if total > len(rows) else "",
    )


# ------------------------------------------------------------------------------------------------------------------- lists


def nodes(view: View) -> SitePage:
    rows = []
    for node, name in enumerate(view.fleet.nodes):
        host = view.fleet.hosts.get(name)
        state = view.states[node]
        runs = view.runs_of[node]
        rows.append(
            (
                view.node_cell(node),
                Cell(state.state, key=float(list(STATES).index(state.state))),
                Cell(state.reasons[0] if state.reasons else ""),
                Cell("" if host is None else host.cpu.model, small="" if host is None else _parts(host)),
                Cell(f"{len(runs):,}", key=float(len(runs))),
                Cell(utc_day(view.fleet.runs[runs[-1]].at_ns * 1e-9) if runs else ""),
            )
        )
    columns = (
        ("node", "text"),
        ("state", "state"),
        ("why", "text"),
        ("processor", "text"),
        ("runs", "number"),
        ("newest", "text"),
    )
    meaning = Facts(title="States", pairs=tuple(STATES.items()))
    return SitePage(
        path="nodes.html",
        kind="Fleet",
        title="Nodes",
        subtitle=_span(view),
        parts=(
            Part(
                id="nodes",
                title="All nodes",
                blocks=(SiteTable(title="All nodes", columns=columns, rows=tuple(rows)), meaning),
            ),
        ),
    )


def _parts(host: object) -> str:
    cores, gpus = len(host.cpu.cores), host.gpus  # type: ignore[attr-defined]
    return ", ".join(
        filter(None, (count(cores, "core") if cores else "", f"{len(gpus)} x {gpus[0].name}" if gpus else ""))
    )


def metrics(view: View) -> SitePage:
    """Every figure with what the fleet gives."""
    rows = []
    for at, one in enumerate(view.fleet.figures):
        group = max(view.judged.peers[at], key=lambda peers: len(peers.nodes))
        unit, quantiles = one.metric.unit, group.quantiles
        slow = sum(slow.figure == at for slow in view.judged.slow)
        rows.append(
            (
                view.figure_cell(at),
                Cell(one.key.workload),
                Cell(f"{len(one.nodes):,}", key=float(len(one.nodes))),
                Cell(show(quantiles[2], unit), key=quantiles[2]),
                Cell(
                    f"{show(quantiles[1], unit)} to {show(quantiles[3], unit)}",
                    key=quantiles[3] / quantiles[1] if quantiles[1] else 0.0,
                ),
                Cell(str(slow) if slow else "", tone="bad" if slow else "", key=float(slow)),
            )
        )
    columns = (
        ("figure", "text"),
        ("workload", "text"),
        ("nodes", "number"),
        ("median", "number"),
        ("5 to 95 % of nodes", "number"),
        ("slow", "number"),
    )
    return SitePage(
        path="metrics.html",
        kind="Fleet",
        title="Metrics",
        subtitle=f"{count(len(view.fleet.figures), 'figure')}: a metric with its parameters",
        parts=(
            Part(
                id="figures",
                title="All figures",
                blocks=(SiteTable(title="All figures", columns=columns, rows=tuple(rows)),),
            ),
        ),
    )


def runs(view: View) -> SitePage:
    return SitePage(
        path="runs.html",
        kind="Fleet",
        title="Runs",
        subtitle=_span(view),
        parts=(Part(id="runs", title="Newest runs", blocks=(_runs(view, "runs.html", MOST),)),),
    )


def notes(view: View) -> SitePage:
    """What was left out, and what else must be known."""
    left = view.fleet.left_out
    why = Counter(one.why for one in left)
    blocks: list[Block] = []
    if not left:
        blocks.append(Text(text="Nothing was left out."))
    else:
        reasons = tuple(
            (Cell(reason), Cell(f"{number:,}", key=float(number))) for reason, number in why.most_common(FEW)
        )
        blocks.append(SiteTable(title="Reasons", columns=(("reason", "text"), ("how many", "number")), rows=reasons))
        blocks.append(_left_out(left))
    parts = [Part(id="left-out", title="Left out", blocks=tuple(blocks))]
    if view.judged.notices:
        lines = tuple(Text(text=f"{one.text}; shakedown trend {one.advice} joins them.") for one in view.judged.notices)
        parts.append(Part(id="renamed", title="Perhaps one node under two names", blocks=lines))
    return SitePage(path="notes.html", kind="Fleet", title="Notes", subtitle=_span(view), parts=tuple(parts))


def _left_out(left: Sequence[Absent]) -> SiteTable:
    ordered = sorted(left, key=lambda one: natural(one.what))
    return SiteTable(
        title="What was left out",
        columns=(("what", "code"), ("why", "text")),
        rows=tuple((Cell(one.what), Cell(one.why)) for one in ordered[:MOST]),
        caption=f"{len(left) - MOST:,} more." if len(left) > MOST else "",
    )
