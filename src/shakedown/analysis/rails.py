"""Several networks between the same hosts: each alone beside the fastest, all together beside the sum of each alone. Pure.

Values are of launches of their own with the parameter ``rail``: one network's name, or several joined by ``+``. Only rates
are laid beside each other, of the same metric, hosts and parameters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from ..records import Finding, Fraction, Notice
from ..units import show
from .table import key

SLOW, TOGETHER_SLOWER = "slow-network", "networks-together-slower"
LIMIT = "networks alone, added up"
#: A network alone is slow that does not reach this part of the fastest, surely.
_ALIKE = 0.9


def judged(found: Sequence[Finding]) -> list[Finding]:
    """The findings; those of several networks together with the sum of each alone as their limit, those of a slow one with a
    notice."""
    by_case: dict[tuple[str, str, str], dict[str, Finding]] = defaultdict(dict)
    for one in found:
        if one.params.get("rail") and one.better == "higher" and one.value:
            by_case[_case(one)][str(one.params["rail"])] = one
    return [_judged(one, by_case.get(_case(one), {})) if one.params.get("rail") else one for one in found]


def _case(one: Finding) -> tuple[str, str, str]:
    return one.metric, one.host, key({name: value for name, value in one.params.items() if name != "rail"})


def _judged(one: Finding, beside: dict[str, Finding]) -> Finding:
    name = str(one.params["rail"])
    if beside.get(name) is not one:
        return one
    alone = {rail: finding for rail, finding in beside.items() if "+" not in rail}
    if "+" in name:
        parts = [alone[rail] for rail in name.split("+") if rail in alone]
        return _together(one, parts) if len(parts) == len(name.split("+")) else one
    best = max(alone.values(), key=lambda each: each.value or 0)
    if best is one or not _surely_below(one, best, _ALIKE):
        return one
    assert one.value and best.value
    return _with(
        one,
        Notice(
            code=SLOW,
            text=f"network {name} alone reaches {show(one.value / best.value, '%', 2)} of {best.params['rail']}: "
            f"{show(one.value, one.unit)} of {show(best.value, best.unit)}",
            advice="compare both networks' speed and width, their PCIe slots and the counters of errors at both ends "
            "(ibstat, ethtool -S), then swap their cables",
        ),
    )


def _together(one: Finding, parts: Sequence[Finding]) -> Finding:
    total = sum(part.value or 0 for part in parts)
    assert one.value and total
    basis = " + ".join(f"{part.params['rail']} {show(part.value or 0, part.unit)}" for part in parts)
    laid = msgspec.structs.replace(
        one,
        fractions=(
            *one.fractions,
            Fraction(limit=LIMIT, kind="measured", value=total, fraction=one.value / total, basis=basis),
        ),
    )
    best = max(parts, key=lambda each: each.value or 0)
    if not _surely_below(one, best, 1.0):
        return laid
    assert best.value
    return _with(
        laid,
        Notice(
            code=TOGETHER_SLOWER,
            text=f"{one.params['rail']} together carry {show(one.value / best.value, '%', 2)} of what {best.params['rail']} "
            "does alone",
            advice="an MPI that gives each network the same part waits for the slowest: leave that out, or weigh them "
            "(btl_tcp_bandwidth, UCX_MAX_RNDV_RAILS)",
        ),
    )


def _surely_below(one: Finding, other: Finding, share: float) -> bool:
    high, low = one.high if one.high is not None else one.value, other.low if other.low is not None else other.value
    return bool(high and low and high < share * low)


def _with(one: Finding, notice: Notice) -> Finding:
    return msgspec.structs.replace(one, notices=(*one.notices, notice))
