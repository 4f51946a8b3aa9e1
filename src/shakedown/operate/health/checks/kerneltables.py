"""The kernel's tables that can fill up: open files, tasks, neighbours (ARP and IPv6), tracked connections.

A table that is full shows far from its cause: "too many open files in system" and failing forks in programs of all
users, and in a cluster with more hosts than the neighbour table has entries (1,024 unless it was set) connections that
break now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ....records import Record
from ....strict import NotNegative
from ..node_access import NodeAccess
from ..records import Check, CheckContext, Finding, Metric, Outcome
from ..thresholds import at_most, refused, unknown


class KernelTablesConfig(Record, frozen=True, kw_only=True):
    warning: NotNegative = 0.8  # share of a table that is in use
    critical: NotNegative = 0.95


class Use(NamedTuple):
    """How many entries a table has, and how many it may have."""

    used: int
    most: int


def _files(senses: NodeAccess) -> Use | None:
    words = (senses.word("/proc/sys/fs/file-nr") or "").split()
    return Use(int(words[0]) - int(words[1]), int(words[2])) if len(words) == 3 else None


def _tasks(senses: NodeAccess) -> Use | None:
    words = (senses.word("/proc/loadavg") or "").split()
    limits = [senses.number(f"/proc/sys/kernel/{name}") for name in ("pid_max", "threads-max")]
    known = [limit for limit in limits if limit is not None]
    return Use(int(words[3].partition("/")[2]), min(known)) if len(words) == 5 and known else None


def _neighbours(senses: NodeAccess, family: str, cache: str) -> Use | None:
    most = senses.number(f"/proc/sys/net/{family}/neigh/default/gc_thresh3")  # not shown inside a container
    lines = (senses.text(f"/proc/net/stat/{cache}") or "").splitlines()
    if most is None or len(lines) < 2 or lines[0].split()[:1] != ["entries"]:
        return None
    return Use(int(lines[1].split()[0], 16), most)  # the same on the line of each CPU


def _connections(senses: NodeAccess) -> Use | None:
    used, most = (senses.number(f"/proc/sys/net/netfilter/nf_conntrack_{name}") for name in ("count", "max"))
    return Use(used, most) if used is not None and most is not None else None


#: Table -> how it is read, what its entries are, and what gives it more room. The first two are on every machine.
_TABLES: dict[str, tuple[Callable[[NodeAccess], Use | None], str, str]] = {
    "files": (
        _files,
        "open files",
        "see who holds them (lsof | awk '{print $2}' | sort | uniq -c), or raise fs.file-max",
    ),
    "tasks": (
        _tasks,
        "tasks",
        "see who starts them (ps -eLo user= | sort | uniq -c), or raise kernel.pid_max and threads-max",
    ),
    "arp": (
        lambda senses: _neighbours(senses, "ipv4", "arp_cache"),
        "neighbours (ARP)",
        "raise net.ipv4.neigh.default.gc_thresh1, 2 and 3 above the number of hosts in the network",
    ),
    "ndisc": (
        lambda senses: _neighbours(senses, "ipv6", "ndisc_cache"),
        "neighbours (IPv6)",
        "raise net.ipv6.neigh.default.gc_thresh1, 2 and 3 above the number of hosts in the network",
    ),
    "conntrack": (
        _connections,
        "tracked connections",
        "raise net.netfilter.nf_conntrack_max, or do not track the connections of the cluster's own networks",
    ),
}
_EVERYWHERE = ("files", "tasks")


def run(look: CheckContext) -> Outcome:
    findings: list[Finding] = []
    metrics: list[Metric] = []
    for item, (read, title, action) in _TABLES.items():
        try:
            use = read(look.senses)
        except (OSError, ValueError) as error:
            why = refused(error) if isinstance(error, OSError) else str(error)
            findings.append(unknown("kerneltables", f"{title}: {why}", item=item))
            continue
        if use is None or use.most < 1:
            if item in _EVERYWHERE:
                findings.append(unknown("kerneltables", f"{title}: the kernel does not say", item=item))
            continue
        share, what, plan = use.used / use.most, f"{title}, {use.used} of {use.most}", look.plan
        findings.append(at_most("kerneltables", what, share, plan.warning, plan.critical, action, item=item, unit="%"))
        metrics.append(Metric("kernel_table_used_ratio", share, {"table": item}, "Share of a table in use."))
    return Outcome(findings=tuple(findings), metrics=tuple(metrics))


CHECK = Check(name="kerneltables", title="Tables of the kernel that fill up", plan=KernelTablesConfig, run=run)
