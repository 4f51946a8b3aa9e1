"""How many hosts a test needs, of which kind, and how many its runs were really on. Pure.

A test of a network that ran within one host measured that host's kernel: it shows nothing, however good its figures are.
What counts is what the programs themselves saw of their world, never what was asked of a launcher.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .. import workloads
from ..document.text import count, listed
from ..records import Host, Machine, Measurement
from .plan import RunTest
from .results import Point

#: Hosts that a test of a network needs where its plan names no number.
FEWEST_OF_A_NETWORK = 2
_KINDS = {"gpu": "with GPUs", "bare metal": "that are not virtual machines"}


def needed(test: RunTest) -> int:
    """How many hosts a test's values must come from: as its plan says, else two for a network and what `nodes` names."""
    if test.hosts:
        return test.hosts
    if test.workload in workloads.names() and workloads.get(test.workload).network:
        return FEWEST_OF_A_NETWORK
    nodes = test.nodes if isinstance(test.nodes, tuple) else (test.nodes,)
    return min((one for one in nodes if isinstance(one, int)), default=1)


def words(test: RunTest) -> str:
    """``on 2 hosts at least, with GPUs``; empty where any host will do."""
    number, kind = needed(test), _KINDS.get(test.host_kind, "")
    if number < 2 and not kind:
        return ""
    return f"on {count(number, 'host')} at least" + (f", {kind}" if kind else "")


def seen(one: Measurement) -> set[str]:
    """The hosts that a run was on, as its program saw them; the one that it was started on where it tells of none."""
    facts = one.provenance.get("facts")
    told = facts if isinstance(facts, dict) else {}
    lists = [told.get("hosts"), *(part.get("hosts") for part in told.values() if isinstance(part, dict))]
    names = {str(name) for each in lists if isinstance(each, list) for name in each if name}
    names |= {str(case.params["host"]) for case in one.cases if "host" in case.params}
    return {name.split(".")[0] for name in names} or {one.host.split(".")[0]}


def is_of_kind(test: RunTest, host: Host) -> bool:
    """Whether a host is of the kind that a test is for."""
    if test.host_kind == "gpu":
        return bool(host.gpus)
    return test.host_kind == "any" or not host.virtualisation


def of_kind(test: RunTest, machine: Machine) -> tuple[Host, ...]:
    """The hosts of the machine that a test is for."""
    return tuple(host for host in machine.hosts if is_of_kind(test, host))


def counted(
    test: RunTest, measurements: Iterable[Measurement], machine: Machine
) -> tuple[list[Measurement], Point | None]:
    """The measurements that a test's verdict may rest on, and what is said where there are too few hosts among them.

    A run that ended badly stays: what it showed does not hang on how many hosts there were.
    """
    others = {host.name.split(".")[0] for host in machine.hosts if not is_of_kind(test, host)}
    on_kind = [one for one in measurements if not seen(one) & others]
    number = needed(test)
    if test.nodes == "each":
        found = set().union(*(seen(one) for one in on_kind))
        return on_kind, None if len(found) >= number else _few(test, found, others)
    enough = [one for one in on_kind if one.state not in ("ok", "partial") or len(seen(one)) >= number]
    if any(len(seen(one)) >= number for one in on_kind) or not any(one.state in ("ok", "partial") for one in on_kind):
        return enough, None if on_kind else _few(test, set(), others)
    return enough, _few(test, max((seen(one) for one in on_kind), key=len, default=set()), others)


def _few(test: RunTest, found: set[str], others: Sequence[str] | set[str]) -> Point:
    kind = f" {_KINDS[test.host_kind]}" if test.host_kind in _KINDS else ""
    what = f"{count(len(found), 'host')}{kind}" + (f" ({listed(sorted(found))})" if found else "")
    if others and kind:
        what += f"; not of this kind: {listed(sorted(others))}"
    if needed(test) > 1 and len(found) == 1:
        what += ": within one host nothing is shown of what is between hosts"
    return Point(criterion=f"{test.workload} runs {words(test)}", found=what, state="not measured")
