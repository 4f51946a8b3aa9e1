"""IO500's score: what its twelve phases come to, by its formula, and whether its rules were kept. Pure.

    bandwidth   the geometric mean of the four phases of IOR, GiB/s
    metadata    that of the eight of operations, thousands a second
    score       the square root of their product

Source: IO500, "calc_score"; the list's rules: all twelve phases, and 300 s of each that writes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...records import Case, Notice, Params
from . import page_cache
from .printed import Span

BANDWIDTH = tuple(f"ior-{kind}-{way}" for way in ("write", "read") for kind in ("easy", "hard"))
METADATA = (
    *("mdtest-easy-write", "mdtest-hard-write", "find", "mdtest-easy-stat", "mdtest-hard-stat"),
    *("mdtest-easy-delete", "mdtest-hard-read", "mdtest-hard-delete"),
)
GIB, KILO = 2.0**30, 1e3
#: What the rules ask of a phase that writes, in seconds.
WRITES_S = 300.0
#: The kernel of the case that has the score of our own phases.
SCORE = "io500"
#: The parameters by which phases belong together.
_TOGETHER = ("threads", "ranks")


def computed(rates: Mapping[str, Span]) -> tuple[Span, Span, Span]:
    """The score that rates give (GiB/s; thousands of operations a second): of bytes, of operations, of all. Rates of 0 and
    phases that are not there are left out of their mean. Source: IO500, "calc_score"."""
    bandwidth, metadata = (_mean([rates[name] for name in names if name in rates]) for names in (BANDWIDTH, METADATA))
    return bandwidth, metadata, Span(*(math.sqrt(a * b) for a, b in zip(bandwidth, metadata, strict=True)))


def _mean(rates: Sequence[Span]) -> Span:
    """The geometric mean of those above 0, each of the numbers that round to what is printed."""
    there = [one for one in rates if one.low > 0]  # what is printed as 0 may be half a place above it
    if not there:
        return Span(0.0, 0.0)
    return Span(*(math.exp(math.fsum(map(math.log, side)) / len(there)) for side in zip(*there, strict=True)))


def broken_rules(phases: Mapping[str, Case]) -> tuple[str, ...]:
    """Which rules the phases of one run did not keep, in words; none: the score is valid."""
    found = [f"{name} has no result" for name in (*BANDWIDTH, *METADATA) if _rate(phases.get(name)) <= 0]
    found += [f"{name} is wrong" for name, case in phases.items() if case.residual and not case.residual.passed]
    for name in (*BANDWIDTH, *METADATA):
        if name.endswith("-write") and name in phases:
            stonewall_s, took_s = float(phases[name].params.get("stonewall", 0.0)), phases[name].seconds[0]
            if stonewall_s < WRITES_S:
                found.append(f"{name} stops after {stonewall_s:g} s, and the rules require {WRITES_S:g} s")
            elif took_s < WRITES_S:
                found.append(f"{name} came to its end after {took_s:.3g} s: it needs larger sizes or more files")
    return tuple(found)


def _rate(case: Case | None) -> float:
    """A phase's result in GiB/s or thousands of operations a second; 0 without one."""
    if case is None or not case.seconds or case.seconds[0] <= 0:
        return 0.0
    amount, unit = ("bytes", GIB) if case.kernel in BANDWIDTH else ("op", KILO)
    return float(case.work.get(amount, 0.0)) / case.seconds[0] / unit


def totals(cases: Sequence[Case]) -> tuple[tuple[Case, ...], tuple[Notice, ...]]:
    """The score of each set of phases among the cases of a run, as a case, and what is to be said of it."""
    runs: dict[tuple[object, ...], dict[str, Case]] = {}
    for case in cases:
        if case.kernel in (*BANDWIDTH, *METADATA):
            runs.setdefault(tuple(case.params.get(name) for name in _TOGETHER), {})[case.kernel] = case
    scored, notices = [], []
    for phases in runs.values():
        broken = broken_rules(phases)
        rates = {name: _rate(case) for name, case in phases.items()}
        bandwidth, metadata, score = (one.high for one in computed({k: Span(v, v) for k, v in rates.items()}))
        mark: Params = {page_cache.DOUBT: "INVALID"} if broken else {}
        work = {"bytes_per_s": bandwidth * GIB, "op_per_s": metadata * KILO, "score": score}
        scored.append(Case(kernel=SCORE, params={**next(iter(phases.values())).params, **mark}, work=work))
        if broken:
            more = f"; and {len(broken) - 3} more" if len(broken) > 3 else ""
            said = f"score {score:.4g} INVALID by the rules of IO500: {'; '.join(broken[:3])}{more}"
            advice = "stonewall = 300, with sizes and files that last so long; until then nothing is ranked by it"
            notices.append(Notice(code="io500-invalid", text=said, advice=advice))
    return tuple(scored), tuple(notices)
