"""Pair tests: what the verdict says in words with the next step, the matrix as a heat map, the slow by name.

``section(analysis)`` is all that a report calls; ``named`` serves the command as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..document import heat_map
from ..document.model import Block, Column, Figures, Heat, Section, Table, Text
from ..document.text import count, listed, natural, params_of, ranges
from ..records import Analysis
from ..units import round_to, show

if TYPE_CHECKING:
    from ..analysis.pairs import Effect, Pairs, PairVerdict, SlowGroup, SlowLink, SlowNode

MOST_NAMED = 60
_UNSAID = ("pattern", "ranks", "window")  # parameters that every pair of a tournament has


def section(analysis: Analysis) -> Section | None:
    """The pairs of the analysis and of its findings, or None where no matrix over five nodes or more was measured."""
    from ..analysis import pairs

    found = [
        (one, pairs.verdict(one))
        for one in (*map(pairs.pairs_of, analysis.pairs), *pairs.from_findings(analysis.findings))
        if len(set(one.hosts)) >= pairs.FEWEST_NODES and len(one.a) >= len(one.places)
    ]
    if not found:
        return None
    blocks: list[Block] = []
    for one, verdict in found:
        blocks += _blocks(one, verdict)
    return Section(id="pairs", title="Pairs of nodes: slow nodes and slow links", short="Pairs", blocks=tuple(blocks))


def _blocks(pairs: Pairs, verdict: PairVerdict) -> list[Block]:
    blocks: list[Block] = [Text(text=f"{title(verdict)}: {summary(verdict)}")]
    rows = tuple(named(verdict))
    if rows:
        blocks.append(
            Table(
                title=f"Named in {title(verdict)}",
                columns=(
                    Column("Where", "code"),
                    Column("State", "state"),
                    Column("What was seen"),
                    Column("What to do"),
                ),
                rows=rows[:MOST_NAMED],
                caption=f"{len(rows) - MOST_NAMED:,} more: see shakedown pairs." if len(rows) > MOST_NAMED else "",
            )
        )
    figure = heat(pairs, verdict)
    if figure is not None:
        blocks.append(Figures(figures=(figure,)))
    for notice in verdict.notices:
        blocks.append(Text(text=f"{_capital(notice.text)}. To do: {notice.advice}."))
    return blocks


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# --------------------------------------------------------------------------------------------------------------- words


def title(verdict: PairVerdict) -> str:
    """``Message bandwidth, 1 MiB``."""
    said = params_of({name: value for name, value in verdict.params.items() if name not in _UNSAID})
    return ", ".join(filter(None, (verdict.metric.title, said)))


def summary(verdict: PairVerdict) -> str:
    """How much was measured, what a typical pair gives, how many are named, and what would have been found."""
    unit = verdict.metric.unit
    passes = f" in {count(verdict.passes, 'pass', 'passes')}" if verdict.passes > 1 else ""
    parts = [
        f"{verdict.pairs:,} of {verdict.possible:,} pairs of {count(verdict.nodes, 'node')} measured{passes}; "
        + ("no pair has a value." if verdict.typical is None else f"a typical pair has {show(verdict.typical, unit)}.")
    ]
    slow = [
        count(len(group), *words)
        for group, words in (
            (verdict.slow_nodes, ("slow node", "")),
            (verdict.slow_links, ("slow link", "")),
            (verdict.slow_groups, ("slow group", "")),
            (verdict.dead_nodes, ("dead node", "")),
            (verdict.dead_links, ("dead link", "")),
        )
        if group
    ]
    if verdict.state == "undecided":
        parts.append("Undecided.")
    else:
        parts.append(f"{_capital(', '.join(slow))}." if slow else "No node and no link is slow.")
    if verdict.noise is not None:
        parts.append(
            f"A node {amount(verdict.noise.smallest_node)} or a link {amount(verdict.noise.smallest_link)} would have been "
            f"named in 9 of 10 cases; of the nodes and of the links that are named at most {_percent(verdict.rate)} each "
            "are wrong in the mean."
        )
    return " ".join(parts)


def _percent(share: float) -> str:
    return show(share, "%", 2)


def amount(share: float) -> str:
    """``12 % slower``; of a time that more than doubles ``5.2 times as slow``."""
    return f"{_percent(share)} slower" if share <= 1 else f"{round_to(1 + share, 2)} times as slow"


def interval(effect: Effect) -> str:
    """``11 to 13 %``, ``3.9 to 7.0 times``; a bound below zero reads as it is."""
    if effect.slower > 1:
        return f"{round_to(1 + effect.low, 2)} to {round_to(1 + effect.high, 2)} times"
    digits = 2 if effect.high - effect.low > 0.01 else 3
    return f"{round_to(100 * effect.low, digits)} to {round_to(100 * effect.high, digits)} %"


_WAY = {"both": "", "sending": " when it sends", "receiving": " when it receives"}


class Named(NamedTuple):
    """A node, link or group that a verdict names."""

    where: str
    state: str
    seen: str
    step: str


def named(verdict: PairVerdict) -> list[Named]:
    """All that is named with what was seen and the next step: dead ones first, then what explains most."""
    what = verdict.metric.title.lower()
    return [
        *(
            Named(
                dead.node,
                "failed",
                f"node {dead.node}: {dead.dead} of the {dead.tried} pairs that were tried failed ({dead.why})",
                "check whether it is up and its port has a link; move its cable to another port, and measure it again",
            )
            for dead in verdict.dead_nodes
        ),
        *(
            Named(
                f"{cut.a} - {cut.b}",
                "failed",
                f"link {cut.a}-{cut.b} failed: {cut.why}",
                "measure the others without it (--skip): if more pairs of one of its nodes fail, it is that node; look at "
                "the error counters of the ports on the way (ibqueryerrors, ethtool -S), replace the cable, swap the port",
            )
            for cut in verdict.dead_links
        ),
        *(_slow_group(group, what) for group in verdict.slow_groups),
        *(_slow_node(node, what) for node in verdict.slow_nodes),
        *(_slow_link(link, what, verdict.metric.unit) for link in verdict.slow_links),
    ]


def _slow_group(group: SlowGroup, what: str) -> Named:
    whose = f" behind {group.switch}" if group.switch else ""
    some = f" on {_percent(group.share)} of their pairs" if group.share < 1 else ""
    seen = (
        f"nodes {ranges(group.nodes)}{whose}: {amount(group.effect.slower)} to all others{some}, and not among "
        f"themselves ({what}), 95 % interval {interval(group.effect)}"
    )
    step = f"look at the uplinks of {group.switch or 'the switch that they share'}: " + (
        "all of them, and its position in the fabric (iblinkinfo: speed, width, number of links up)"
        if group.share == 1
        else f"{_percent(group.share)} of the pairs take a slow one; find the port with errors, recable it"
    )
    return Named(group.switch or ranges(group.nodes), "slow", seen, step)


def _slow_node(node: SlowNode, what: str) -> Named:
    if node.share < 1:
        whom = f"to {len(node.peers):,} of its {node.pairs:,} peers ({_peers(node.peers)}) and as usual to the others"
        step = (
            "compare the routes to the slow peers with those to the others: a rail, an uplink or a member of a bond is "
            "slow; look at each of its ports (ibstat, ethtool), recable the slow one"
        )
    else:
        whom = "to everybody"
        step = (
            "compare its adapter's speed, width and PCIe slot (ibstat, ethtool, lspci -vv), its BIOS and clocks with "
            "a node that is not slow; then move its cable to another switch port: if the slowness moves, it is the port"
        )
    seen = (
        f"node {node.node}: {amount(node.effect.slower)} {whom}{_WAY[node.direction]} ({what}), "
        f"95 % interval {interval(node.effect)}"
    )
    return Named(node.node, "slow", seen, step)


def _slow_link(link: SlowLink, what: str, unit: str) -> Named:
    than = " than" if link.effect.slower <= 1 else " as"
    way = f"{link.a} to {link.b}, this way only:" if link.one_way else f"{link.a}-{link.b}:"
    seen = (
        f"link {way} {amount(link.effect.slower)}{than} its nodes explain ({what} "
        f"{show(link.value, unit)}, expected {show(link.expected, unit)}), 95 % interval {interval(link.effect)}"
    )
    again = "" if link.passes > 1 else "it was measured once: measure it again before anything is recabled; then "
    step = (
        f"{again}trace its route (ibtracert, traceroute) and look at the error counters of the ports on it; replace the "
        "cable between switches, or swap the port"
    )
    return Named(f"{link.a} {'>' if link.one_way else '-'} {link.b}", "slow", seen, step)


def _peers(peers: Sequence[str]) -> str:
    return (
        ranges(peers)
        if len(peers) <= 4
        else listed((ranges(peers),))
        if len(ranges(peers)) < 60
        else "listed by --json"
    )


# ------------------------------------------------------------------------------------------------------------ heat map


def heat(pairs: Pairs, verdict: PairVerdict) -> Heat | None:
    """The matrix of values; of more than 128 places the worst pair of each block, as a share of the typical value."""
    import numpy as np

    places = len(pairs.places)
    typical = verdict.typical
    if len(pairs.a) < 3 or typical is None:
        return None
    order = sorted(range(places), key=lambda place: natural(pairs.places[place]))
    at = np.empty(places, int)
    at[order] = np.arange(places)
    ordered = [pairs.places[place] for place in order]
    unit, better = pairs.metric.unit, pairs.metric.better
    size, rows = heat_map.worst(at[pairs.a], at[pairs.b], pairs.values, better, places)
    labels = tuple(
        ordered[begin] if size == 1 else ranges(ordered[begin : begin + size]) for begin in range(0, places, size)
    )
    cells = []
    for row in rows.tolist():
        a, b, value = int(pairs.a[row]), int(pairs.b[row]), float(pairs.values[row])
        met = f"{pairs.places[a]} to {pairs.places[b]}"
        says = f"{met}: {show(value, unit)}, {show(value / typical, '%')} of the typical pair"
        cells.append((int(at[a]) // size, int(at[b]) // size, value, says))
    low, high = float(pairs.values.min()), float(pairs.values.max())
    block = "" if size == 1 else f" Each cell is the worst pair of {size} by {size} nodes."
    return Heat(
        title=f"{title(verdict)} between nodes",
        caption=f"{'From the node of the row to that of the column.' if _directed(pairs) else ''}{block}".strip(),
        summary=f"{len(pairs.values):,} pairs: {show(low, unit)} to {show(high, unit)}, typical {show(typical, unit)}",
        unit=unit,
        better=better,
        row_title="node a",
        column_title="node b",
        labels=labels,
        cells=tuple(cells),
    )


def _directed(pairs: Pairs) -> bool:
    return bool((pairs.a > pairs.b).any() and (pairs.a < pairs.b).any())
