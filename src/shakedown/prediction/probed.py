"""What runs of ``hpl_probe`` bring to a forecast: ranges of the rates that no run of HPL was there to show.

A product, a solve, a panel and the rows were timed alone by HPL's own code, messages on a ring of all ranks. A run of HPL
shows the first four as they are among everything else, and so goes before these; for messages the ring goes before a pair
alone. See native/hpl_probe/README.md for the cases.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

import numpy as np

from ..records import Case, Measurement
from .model import dgemm_rate
from .priors import Prior, known

_SOURCE = "hpl_probe"
_LARGE_BYTES = 1 << 20
_LEAST_HOSTS = 4  # whose speeds have a spread


def cases_of(measurements: Iterable[Measurement]) -> list[Case]:
    """The cases of probes in runs that ended successfully."""
    return [
        case
        for one in measurements
        if one.state == "ok" and one.workload == "hpl_probe"
        for case in one.cases
        if case.seconds
    ]


def compute(cases: Sequence[Case], *, nb: int, threads: int, trsm: str = "recursive") -> dict[str, Prior]:
    """Ranges of ``dgemm panel trsm rows narrow spread`` for ranks of so many threads; only of what was measured.

    Where the probes had other numbers of threads, products, solves and rows are taken in proportion: each thread works
    alone there, beside all others. Panels count with the gangs that such a rank can have.
    """
    found: dict[str, Prior] = {}
    table = _by_k(cases, threads)
    if table:
        rate = dgemm_rate(table, nb)
        found["dgemm"] = _prior("dgemm", (rate,), 1.05, "products, all ranks at once")
        for name, values, precision, what in (
            ("panel", _panels(cases, nb, threads), 1.2, "panels, by groups of threads"),
            ("trsm", _of_a_rank(_near(cases, "probe.solve", nb, trsm=trsm), "flop", threads), 1.2, f"solves, {trsm}"),
        ):
            if values:
                found[name] = _prior(name, [value / rate for value in values], precision, what)
    if rows := _of_a_rank(_near(cases, "probe.rows", nb), "elements", threads):
        found["rows"] = _prior("rows", rows, 1.3, "rows gathered and put back")
    losses = [loss for loss in _narrow(cases, nb) if loss > 0]
    if losses:
        found["narrow"] = _prior("narrow", losses, 1.5, "products of about NB columns")
    return found | _spread(cases)


def network(cases: Sequence[Case]) -> dict[str, Prior]:
    """Ranges of latencies and bandwidths within hosts and between them: from messages of 1 MiB and more, the slowest
    (beside products, from memory) to the fastest (alone, from caches)."""
    found: dict[str, Prior] = {}
    for scope in ("on", "off"):
        here = [case for case in cases if case.params.get("scope") == scope]
        times = [
            statistics.median(case.seconds) / case.work["messages"] for case in here if case.kernel == "probe.latency"
        ]
        if times:
            found[f"latency_{scope}_s"] = _prior(f"latency_{scope}_s", times, 1.5, "messages of 8 bytes")
        rings = [
            case for case in here if case.kernel == "probe.ring" and int(case.params.get("bytes", 0)) >= _LARGE_BYTES
        ]
        alone = [_rate(case, "bytes") for case in rings if not case.params.get("contended")]
        together = [
            _rate(case, "bytes") * int(case.params.get("senders", 1)) for case in rings if case.params.get("contended")
        ]
        if alone:
            found[f"stream_{scope}"] = _prior(f"stream_{scope}", alone, 1.1, "one message of 1 MiB or more")
        if together:
            found[f"node_{scope}"] = _prior(f"node_{scope}", together, 1.1, "messages of all ranks round a ring")
    return found


def _rate(case: Case, work: str) -> float:
    return case.work[work] / statistics.median(case.seconds)


def _prior(name: str, values: Sequence[float], precision: float, what: str) -> Prior:
    return known(name, values, precision, f"{_SOURCE}: {what}")


def _of_a_rank(cases: Sequence[Case], work: str, threads: int) -> list[float]:
    return [_rate(case, work) / int(case.params.get("threads", 1)) * threads for case in cases]


def _by_k(cases: Sequence[Case], threads: int) -> tuple[tuple[int, float], ...]:
    rates: dict[int, list[float]] = {}
    for case in cases:
        if case.kernel == "probe.gemm":
            rates.setdefault(int(case.params["k"]), []).extend(_of_a_rank([case], "flop", threads))
    return tuple((k, statistics.median(values)) for k, values in sorted(rates.items()))


def _near(cases: Sequence[Case], kernel: str, nb: int, **wanted: str) -> list[Case]:
    """The cases whose NB is nearest."""
    found = [
        case
        for case in cases
        if case.kernel == kernel and all(case.params.get(name) == value for name, value in wanted.items())
    ]
    if not found:
        return []
    nearest = min((int(case.params["nb"]) for case in found), key=lambda one: abs(math.log(one / nb)))
    return [case for case in found if int(case.params["nb"]) == nearest]


def _panels(cases: Sequence[Case], nb: int, threads: int) -> list[float]:
    usable = [case for case in cases if int(case.params.get("threads", 1)) <= threads]
    return [_rate(case, "flop") for case in _near(usable, "probe.panel", nb)]


def _narrow(cases: Sequence[Case], nb: int) -> list[float]:
    """What products of the width nearest to NB lose against wide ones of the same depth and threads."""
    few = [case for case in cases if case.kernel == "probe.narrow"]
    full = {(case.params["k"], case.params["threads"]): case for case in cases if case.kernel == "probe.gemm"}
    losses = []
    for case in few:
        wide = full.get((case.params["k"], case.params["threads"]))
        if wide is None or case.params["m"] != wide.params["m"] or not nb / 1.5 <= int(case.params["n"]) <= nb * 1.5:
            continue
        losses.append(1 - _rate(case, "flop") / _rate(wide, "flop"))
    return losses


def _spread(cases: Sequence[Case]) -> dict[str, Prior]:
    """The relative standard deviation of the speed of hosts."""
    rates: dict[str, list[float]] = {}
    for case in cases:
        if case.kernel == "probe.node":
            rates.setdefault(str(case.params["host"]), []).append(_rate(case, "flop"))
    if len(rates) < _LEAST_HOSTS:
        return {}
    each = np.array([statistics.median(values) for values in rates.values()])
    spread = max(float(each.std(ddof=1) / each.mean()), 0.001)
    return {"spread": _prior("spread", (spread,), 1.4, f"products on {len(rates)} hosts at once")}
