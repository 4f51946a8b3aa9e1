"""What a run of the workload ``checkpoint`` says of costs: rates by level, slowdown, restart and the size. Pure.

A run on one host whose folders stood for nodes shared one disk among them: its rates are that host's, of all of them
together, and are taken as those of one node. Without a network partner copies and parity may take less than on real nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..document.text import count
from ..errors import BadInput
from ..records import Finding, Record
from ..units import show
from .costs import Level

WORKLOAD = "checkpoint"
#: A slowdown is planned with up to here: above it an application hardly moves while a checkpoint is written.
MOST_SLOWDOWN = 0.99
#: A slowdown whose interval is wider was not told from the noise of the machine.
MOST_SPREAD = 0.5


class Rates(Record, frozen=True, kw_only=True):
    """Of one level, in bytes/s of each node, of level 4 of all nodes together. None: not measured."""

    level: int
    drain_B_s: float | None = None
    restart_B_s: float | None = None


class MeasuredCosts(Record, frozen=True, kw_only=True):
    """``staging_B_s`` is of each node; ``slowdown`` the largest of a level; None where none was measured, or all
    with intervals too wide to plan with. ``basis`` says what it was measured on."""

    node_bytes: float
    rates: tuple[Rates, ...]
    staging_B_s: float | None
    slowdown: float | None
    basis: str


def of_findings(findings: Iterable[Finding], where: str = "") -> MeasuredCosts:
    """The costs in a run's findings. Raises BadInput where no checkpoint was measured.

    Of several cases of a level (sizes, hosts, ranks) the one of the largest state counts: small ones show the latency of a
    file system more than its rate.
    """
    values: dict[tuple[str, int], Finding] = {}
    sizes: dict[str, float] = {}
    known = [one for one in findings if one.workload == WORKLOAD and one.value is not None]
    for one in known:
        if one.metric == "checkpoint.state":
            sizes[_case(one)] = float(one.value or 0)
    for one in sorted(known, key=lambda found: sizes.get(_case(found), 0.0)):
        level = one.params.get("checkpoint_level")
        if isinstance(level, int) and 1 <= level <= 4:
            values[one.metric, level] = one
    sized = [one for (name, _), one in values.items() if name == "checkpoint.state"]
    if not sized:
        raise BadInput(
            "no checkpoint was measured in this run", where=where, hint="shakedown run checkpoint, and name its folder"
        )
    state = max(sized, key=lambda one: one.value or 0.0)
    hosts = _hosts(state)

    def rate(metric: str, level: int) -> float | None:
        found = values.get((metric, level))
        of = 1 if level == 4 else hosts
        return found.value / of if found and found.value and found.value > 0 else None

    levels = sorted({level for _, level in values})
    staged = (rate("checkpoint.staging", min(level, 3)) for level in levels)
    staging = [one for one in staged if one is not None]
    slow = [
        one.value
        for (name, _), one in values.items()
        if name == "checkpoint.slowdown"
        and None not in (one.value, one.low, one.high)
        and (one.high or 0.0) - (one.low or 0.0) <= MOST_SPREAD
    ]
    return MeasuredCosts(
        node_bytes=(state.value or 0.0) / hosts,
        rates=tuple(
            Rates(
                level=level,
                drain_B_s=rate("checkpoint.drain", level),
                restart_B_s=rate("checkpoint.restart.bandwidth", level),
            )
            for level in levels
        ),
        staging_B_s=min(staging, default=None),
        slowdown=min(max(0.0, *(one or 0.0 for one in slow)), MOST_SLOWDOWN) if slow else None,
        basis=_basis(state, hosts),
    )


def levels(measured: MeasuredCosts, size_bytes: float, nodes: int, relaunch_s: float) -> Mapping[int, Level]:
    """The measured levels for a state of this size. One that costs no more than a lower one takes the lower one's cost:
    it holds it, too, and the two were not told apart."""
    found: dict[int, Level] = {}
    least = 0.0
    for one in measured.rates:
        if one.drain_B_s is None:
            continue
        moved = size_bytes if one.level == 4 else size_bytes / nodes
        cost = max(moved / one.drain_B_s, least)
        back = moved / one.restart_B_s if one.restart_B_s else cost
        of = "of all nodes together" if one.level == 4 else "of each node"
        found[one.level] = Level(
            number=one.level,
            cost_s=cost,
            restart_s=relaunch_s + back,
            share=0.0,
            source=f"measured: {show(one.drain_B_s, 'B/s')} {of}, {measured.basis}",
        )
        least = cost
    return found


def _hosts(one: Finding) -> int:
    """How many hosts the state lay on: one whose folders stood for nodes; else one for each that the finding names."""
    nodes = one.params.get("nodes", 1)
    return 1 if "emulated_nodes" in one.params or not isinstance(nodes, int) else max(1, nodes)


def _basis(one: Finding, hosts: int) -> str:
    emulated = one.params.get("emulated_nodes")
    if isinstance(emulated, int) and emulated > 1:
        return f"on one host whose folders stood for {emulated} nodes"
    return f"on {count(hosts, 'host')}"


def _case(one: Finding) -> str:
    return repr((one.host, sorted(one.params.items())))
