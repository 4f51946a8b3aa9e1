"""Many hosts: the distribution of each value over them, and the slowest by name. All of it is pure.

A condensed finding is one finding in place of all hosts': its value is the median over hosts, its interval reaches from
the 5th to the 95th percentile of hosts, and its fractions are medians. Figures and tables treat it like any other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from ..analysis.statistics import MAD_TO_SIGMA, OUTLIER_DEVIATIONS
from ..analysis.stragglers import SLOW_AT_LEAST
from ..document.model import Block, Column, Figures, Histogram, Section, Table, Text
from ..document.tables import table
from ..document.text import FEW_HOSTS, count, kinds_of, limit_title, listed, natural, params_of, ranked
from ..records import Analysis, Finding, Fraction, Metric, Notice
from ..units import show
from ._choose import HOST, NODES, rows_of, varying

MOST_NAMED = 12
MOST_BINS = 40


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The same value on all hosts."""

    condensed: Finding
    hosts: tuple[str, ...]  # slowest first, where one direction is better
    values: tuple[float, ...]  # in the same order


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    groups: tuple[Group, ...]
    hosts: tuple[str, ...]
    scores: dict[str, float]  # host -> median over its findings of its speed over the median host's; slowest first
    slow: tuple[str, ...]


def hosts_of(analysis: Analysis) -> tuple[str, ...]:
    """The hosts that have findings, in natural order; the machine's hosts where there are none."""
    found = {finding.host for finding in analysis.findings if NODES not in finding.params}
    found = found or {host.name for host in analysis.machine.hosts}
    return tuple(sorted(found, key=natural))


def fleet(analysis: Analysis) -> Fleet | None:
    """The findings over hosts, or None where the hosts are few enough to be shown one by one."""
    hosts = hosts_of(analysis)
    if len(hosts) <= FEW_HOSTS:
        return None
    gathered: dict[tuple[object, ...], list[Finding]] = {}
    for finding in analysis.findings:
        key = (finding.workload, finding.metric, *sorted(finding.params.items()))
        gathered.setdefault(key, []).append(finding)
    groups = tuple(_group(findings) for findings in gathered.values())
    scores = _scores(groups)
    return Fleet(groups=groups, hosts=hosts, scores=scores, slow=_slow(scores))


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Linear between order statistics (type 7 of Hyndman and Fan, 1996)."""
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def _group(findings: list[Finding]) -> Group:
    first = findings[0]
    measured = [(finding.value, finding.host) for finding in findings if finding.value is not None]
    measured.sort(reverse=first.better == "lower")
    ordered = sorted(value for value, _ in measured)
    notices: dict[Notice, int] = {}
    shares: dict[tuple[str, str], list[Fraction]] = {}
    for finding in findings:
        for notice in finding.notices:
            notices[notice] = notices.get(notice, 0) + 1
        for rank, one in ranked(finding.fractions).items():
            shares.setdefault((rank, one.limit), []).append(one)
    condensed = Finding(
        metric=first.metric,
        unit=first.unit,
        better=first.better,
        workload=first.workload,
        params=first.params,
        host=first.host if len(findings) == 1 else count(len(measured), "host"),
        value=_quantile(ordered, 0.5) if ordered else None,
        low=_quantile(ordered, 0.05) if ordered else None,
        high=_quantile(ordered, 0.95) if ordered else None,
        n_samples=sum(finding.n_samples for finding in findings),
        n_runs=sum(finding.n_runs for finding in findings),
        outliers=sum(finding.outliers for finding in findings),
        best=(ordered[0] if first.better == "lower" else ordered[-1]) if ordered else None,
        fractions=tuple(
            Fraction(
                limit=limit,
                kind=group[0].kind,
                value=_median([one.value for one in group]),
                fraction=_median([one.fraction for one in group]),
            )
            for (_, limit), group in shares.items()
        ),
        notices=tuple(
            Notice(
                code=notice.code,
                text=f"{notice.text} (on {number:,} of {count(len(findings), 'host')})",
                advice=notice.advice,
            )
            for notice, number in notices.items()
        ),
    )
    return Group(
        condensed=condensed, hosts=tuple(host for _, host in measured), values=tuple(value for value, _ in measured)
    )


def _median(values: list[float]) -> float:
    return _quantile(sorted(values), 0.5)


def _scores(groups: Sequence[Group]) -> dict[str, float]:
    ratios: dict[str, list[float]] = {}
    for group in groups:
        middle = group.condensed.value
        if not middle or group.condensed.better == "none" or len(group.values) < 3:
            continue
        lower = group.condensed.better == "lower"
        for host, value in zip(group.hosts, group.values, strict=True):
            if value > 0:
                ratios.setdefault(host, []).append(middle / value if lower else value / middle)
    scores = {host: _median(values) for host, values in ratios.items()}
    return dict(sorted(scores.items(), key=lambda item: (item[1], natural(item[0]))))


def _slow(scores: dict[str, float]) -> tuple[str, ...]:
    if not scores:
        return ()
    middle = _median(list(scores.values()))
    deviation = MAD_TO_SIGMA * _median([abs(score - middle) for score in scores.values()])
    bound = middle - max(OUTLIER_DEVIATIONS * deviation, SLOW_AT_LEAST)
    return tuple(host for host, score in scores.items() if score < bound)


# ------------------------------------------------------------------------------------------------------------- section


def section(found: Fleet, metrics: dict[str, Metric]) -> Section:
    """The hosts against each other."""
    blocks: list[Block] = [Text(text=_sentence(found))]
    figure = _histogram(found)
    if figure:
        blocks.append(Figures(figures=(figure,)))
    if found.scores:
        blocks.append(_slowest(found, metrics))
    return Section(id="hosts", title="Hosts against each other", short="Hosts", blocks=tuple(blocks))


def _sentence(found: Fleet) -> str:
    number = count(len(found.hosts), "host")
    if not found.scores:
        return f"{number}; no value was measured on three hosts or more, so they cannot be compared with each other."
    if not found.slow:
        return f"{number}; none is slower than the others by more than {OUTLIER_DEVIATIONS} robust deviations and 2 %."
    names = listed((f"{host} ({show(found.scores[host], '%')})" for host in found.slow), MOST_NAMED)
    return (
        f"{number}; {count(len(found.slow), 'is', 'are')} slower than the others by more than {OUTLIER_DEVIATIONS} "
        f"robust deviations and 2 %: {names}. In brackets: the host's speed as a share of the median host's."
    )


def _histogram(found: Fleet) -> Histogram | None:
    scores = list(found.scores.values())
    if len(scores) < FEW_HOSTS or scores[0] == scores[-1]:
        return None
    number = min(MOST_BINS, 2 * math.isqrt(len(scores)))  # few hosts in many bins make a comb
    width = (scores[-1] - scores[0]) / number
    counts = [0] * number
    for score in scores:
        counts[min(number - 1, int((score - scores[0]) / width))] += 1
    bins = tuple(
        (scores[0] + index * width, scores[0] + (index + 1) * width, hosts) for index, hosts in enumerate(counts)
    )
    return Histogram(
        title="Speed of each host",
        caption="Each host's speed over the median host's, median over all its values.",
        summary=f"{count(len(scores), 'host')} between {show(scores[0], '%')} and {show(scores[-1], '%')}",
        x_title="speed, as a share of the median host's",
        y_title="hosts",
        bins=bins,
        named=tuple((host, found.scores[host]) for host in found.slow[:8]),
    )


def _slowest(found: Fleet, metrics: dict[str, Metric]) -> Table:
    named = list(found.slow[:MOST_NAMED]) or list(found.scores)[:5]
    worst: dict[str, tuple[float, str]] = {}
    for group in found.groups:
        middle, finding = group.condensed.value, group.condensed
        if not middle or finding.better == "none":
            continue
        for host, value in zip(group.hosts, group.values, strict=True):
            if host in named and value > 0:
                ratio = middle / value if finding.better == "lower" else value / middle
                if ratio < worst.get(host, (2.0, ""))[0]:
                    title = metrics[finding.metric].title if finding.metric in metrics else finding.metric
                    worst[host] = (
                        ratio,
                        f"{title}, {params_of(finding.params)}: {show(value, finding.unit)} where "
                        f"the median is {show(middle, finding.unit)}",
                    )
    more = len(found.slow) - len(named)
    caption = f"{more:,} further slow hosts; the values of all hosts are in the CSV and JSON files." if more > 0 else ""
    return table(
        "Slowest hosts",
        named,
        (
            ("Host", "code", str),
            ("State", "state", lambda host: "slow" if host in found.slow else "within the others"),
            ("Speed", "number", lambda host: show(found.scores[host], "%")),
            ("Furthest behind in", "text", lambda host: worst.get(host, (0.0, ""))[1]),
        ),
        caption=caption,
    )


def spread(found: Fleet, workload: str, metrics: dict[str, Metric], fold_from: int) -> Table:
    """Each value of one workload over the hosts."""
    groups = [group for group in found.groups if group.condensed.workload == workload]
    names = [name for name in varying(rows_of([group.condensed for group in groups])) if name != HOST]
    kinds = kinds_of(group.condensed for group in groups)
    rows = tuple(_spread_row(group, names, kinds, metrics) for group in groups)
    notes = dict.fromkeys(
        f"{notice.text}: {notice.advice}" if notice.advice else notice.text
        for group in groups
        for notice in group.condensed.notices
    )
    return Table(
        title="Each value over the hosts",
        folded=len(rows) > fold_from,
        rows=rows,
        notes=tuple(notes),
        caption="Spread: from the 5th to the 95th percentile of hosts, over the median.",
        columns=(
            Column("Metric"),
            Column("Conditions"),
            Column("Hosts", "number"),
            Column("Median", "number"),
            Column("5 % to 95 % of hosts", "number"),
            Column("Spread", "number"),
            Column("Least to most", "number"),
            *(Column(limit_title(kind), "number") for kind in kinds),
            Column("Slowest"),
        ),
    )


def _spread_row(group: Group, names: list[str], kinds: list[str], metrics: dict[str, Metric]) -> tuple[str, ...]:
    one = group.condensed
    title = metrics[one.metric].title if one.metric in metrics else one.metric
    shares = {kind: show(share.fraction, "%") for kind, share in ranked(one.fractions).items()}
    if one.value is None or one.low is None or one.high is None:
        return (title, params_of(one.params, names), "0", "not measured", "", "", "", *("" for _ in kinds), "")
    slowest = listed(
        (f"{host} {show(value, one.unit)}" for host, value in list(zip(group.hosts, group.values, strict=True))[:3]), 3
    )
    return (
        title,
        params_of(one.params, names),
        f"{len(group.values):,}",
        show(one.value, one.unit),
        f"{show(one.low, one.unit)} to {show(one.high, one.unit)}",
        show((one.high - one.low) / one.value, "%") if one.value else "not defined",
        f"{show(min(group.values), one.unit)} to {show(max(group.values), one.unit)}",
        *(shares.get(kind, "") for kind in kinds),
        slowest if one.better != "none" else "",
    )
