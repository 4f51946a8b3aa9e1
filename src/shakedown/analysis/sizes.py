"""Which measurements of memory are of memory: those whose arrays keep STREAM's rule on their host.

A program judges by a looser rule, or (McCalpin's own) not at all, in which level its arrays lie. Here the rule of four
(workloads/stream.py) decides what may stand for memory: a headline, a limit, a published value's neighbour, the peak
``memory.bandwidth``. What breaks it keeps its value and says what it is; it is of no one level.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ..records import Finding, Host, Metric, Notice
from ..units import show_bytes
from ..workloads.stream import rule_bytes

BELOW_RULE = "below-rule"
_MEMORY = "memory"


def by_rule(findings: Iterable[Finding], metrics: Mapping[str, Metric], hosts: Sequence[Host]) -> list[Finding]:
    """The findings; those said to be of memory whose arrays break STREAM's rule are of no level, with a notice.

    Of a host that is not among ``hosts`` the only one of them tells, where there is one: they are of one kind then.
    """
    known = {host.name: host for host in hosts}
    done = []
    for one in findings:
        host = known.get(one.host, hosts[0] if len(hosts) == 1 else None)
        broken = _broken(one, metrics.get(one.metric), host) if host else None
        if broken is not None:
            params = {name: value for name, value in one.params.items() if name != "level"}
            one = msgspec.structs.replace(one, params=params, notices=(*one.notices, broken))
        done.append(one)
    return done


def _broken(one: Finding, metric: Metric | None, host: Host) -> Notice | None:
    size, threads = one.params.get("bytes"), one.params.get("threads")
    if metric is None or one.params.get("level") != _MEMORY or not isinstance(size, int):
        return None
    if "level" not in metric.ranked_by:
        return None
    least = rule_bytes(host, threads if isinstance(threads, int) else None)
    if size >= least:
        return None
    return Notice(
        code=BELOW_RULE,
        text=f"arrays of {show_bytes(size)} beside last-level caches that require {show_bytes(least)} (STREAM's rule: four "
        "times the caches in use): a part of them may be in caches, so this does not measure memory alone",
        advice='sizes = "memory" follows the rule',
    )
