"""Use that exceeds the capacity: nothing can be used that is not there, so that one of the two is wrong. Which causes are
likely is told by how the excess lies over time. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...records import Notice
from .records import Capacity, UsageOverTime

#: A period is over where its share is above 100 % by more than the seconds at the edges of jobs can explain.
SLACK = 0.005
#: Two hardware threads to a core: with all cores in use, threads over cores come to nearly this.
_TWICE = (1.7, 2.0 + SLACK)

Shares = Sequence[tuple[str, float]]  # period -> used over there


def notices(held: Capacity, courses: Sequence[UsageOverTime], period: str) -> tuple[Notice, ...]:
    """A warning for each kind of resource of which more was used than there was, with its likely causes."""
    cpus = [(one.name, one.cpu_s / one.capacity_cpu_s) for one in courses if one.capacity_cpu_s]
    gpus = [(one.name, one.gpu_s / one.capacity_gpu_s) for one in courses if one.capacity_gpu_s]
    found = [
        _notice("CPU", held.cpu_utilisation, cpus, period, held),
        _notice("GPU", held.gpu_utilisation, gpus, period, held),
    ]
    if held.node_utilisation is not None and held.node_utilisation > 1:
        text = f"node utilisation is above 100 % ({_percent(held.node_utilisation)})"
        advice = "nodes that several runs share count for each; the CPU hours show the share that was used"
        found.append(Notice(code="over-capacity", text=text, advice=advice))
    return tuple(one for one in found if one is not None)


def _notice(what: str, whole: float | None, shares: Shares, period: str, held: Capacity) -> Notice | None:
    over = [one for one in shares if one[1] > 1 + SLACK]
    if whole is None or (whole <= 1 and not over):
        return None
    name, most = max(shares, key=lambda one: one[1], default=("", whole))
    where = ""
    if len(shares) > 1:
        where = f"above 100 % in {len(over)} of {len(shares)} {period}s, most in {name} ({_percent(most)})"
    first, *others = causes(what, shares or [("", whole)], held)
    return Notice(
        code="over-capacity",
        text=f"more {what} hours were used than there were: "
        + "; ".join(filter(None, (f"{_percent(whole)} of the capacity on the whole", where))),
        advice=f"likely {first}; else {', or '.join(others)}",
    )


def causes(what: str, shares: Shares, held: Capacity) -> tuple[str, ...]:
    """What may be wrong, the likeliest first."""
    given = held.basis.startswith("nodes as given")
    stretch = _stretch(shares)
    changed = (
        f"the capacity changed within the window{stretch} (give the nodes' history with --availability, or report each part "
        "with its own --nodes)"
    )
    counted = (
        "the engine counts hyperthreads and the capacity cores (give processors= as the engine counts: CPUTot of scontrol "
        "show node, slots of qhost)"
        if what == "CPU"
        else "the engine counts parts of GPUs (MIG instances, shards) and the capacity whole ones (give gpus= as it does)"
    )
    wrong = (
        f"--nodes names fewer nodes, or fewer {'processors' if what == 'CPU' else 'gpus'} on them, than the engine gives out"
        if given
        else "the history lacks nodes that ran jobs, or has them smaller than they are (name them with --nodes)"
    )
    most = max(share for _, share in shares)
    if stretch:
        return changed, wrong, counted
    if _TWICE[0] <= most <= _TWICE[1]:
        return counted, wrong, changed
    return wrong, counted, changed


def _stretch(shares: Shares) -> str:
    """Where the excess begins or ends once, beside periods as busy as a machine that is well used: when that was. Empty
    where it comes and goes."""
    over = [share > 1 + SLACK for _, share in shares]
    if all(over) or not any(over):
        return ""
    turns = [place for place in range(1, len(over)) if over[place] != over[place - 1]]
    rest = [share for share, is_over in zip((share for _, share in shares), over, strict=True) if not is_over]
    if len(turns) != 1 or max(rest) < 0.5:
        return ""
    name = shares[turns[0]][0]
    return f" ({'from' if over[-1] else 'until'} {name})"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
