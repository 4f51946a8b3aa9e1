"""How often the truth lies within the uncertainty of an energy where nothing says how late the meter's readings are.

    python scripts/bench/lag.py [--shifts 8] [--seed 0] [--rest 5,60,0] [--tiny] [--json]

A run of 5 to 120 s with one to three levels between idle stretches, on meters that are 0 to 3 s late: those that average
over twice their lag, and those of first order with that time constant. They make a value every
1, 2, 5 and 10 s, at any phase against the marks, and carry the device's own stamps (claimed as points) or are read by a
host (claimed as averages). Known to be idle is the machine for ``--rest`` seconds on both sides; 0: not known. A row's
figures: the share of phases whose truth lies within U, the medians of U and of the error's size in percent of the energy,
the greatest error in U, the shares that are refused and that are within 5 %."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import common
import numpy as np
from common import Option

from shakedown.energy import phase, simulate
from shakedown.energy.simulate import Load, Truth
from shakedown.metering.meters import Channel
from shakedown.metering.trace import Trace, trace

ORIGIN = 1_700_000_000 * 10**9
KINDS = ("average", "first order")
LAGS_S = (0.0, 0.5, 1.0, 2.0, 3.0)
PERIODS_S = (1.0, 2.0, 5.0, 10.0)
LENGTHS_S = (5.0, 10.0, 20.0, 60.0, 120.0)
STAMPS = ("device", "host")


class Case(NamedTuple):
    stamps: str
    kind: str
    lag_s: float
    period_s: float
    length_s: float
    rest_s: float  # 0: not known


class Seen(NamedTuple):
    case: Case
    error: float  # of the energy; NaN: refused
    expanded: float
    method: str


def load(length_s: float, rng: np.random.Generator) -> Load:
    """Idle, one to three levels from 0 to ``length_s`` (which may begin late and end early by up to a fifth), idle."""
    idle = rng.uniform(150, 300)
    late, early = rng.choice([0.0, 0.1], 2) * rng.uniform(0, 1, 2) * length_s
    inner = np.sort(rng.uniform(0.2, 0.8, rng.integers(0, 3))) * length_s
    edges = np.concatenate([[-1000.0, late], inner, [length_s - early]])
    return Load(edges, np.concatenate([[idle], rng.uniform(400, 900, len(inner) + 1), [idle]]))


def meter(case: Case, phase_s: float) -> Truth:
    window = 2 * case.lag_s if case.kind == "average" else 0.0
    return Truth(
        refresh_s=case.period_s,
        window_s=window or (case.period_s if case.stamps == "host" else 0.0),
        tau_s=case.lag_s if case.kind == "first order" else 0.0,
        resolution=1.0,
        noise=0.5,
        phase_s=phase_s,
    )


def read(case: Case, one: Load, phase_s: float, rng: np.random.Generator) -> Trace:
    """What the sampler keeps of it: each value once with the device's stamp, or whatever stands there when it is asked."""
    device = case.stamps == "device"
    channel = Channel(
        id="bmc/power", title="", quantity="power", unit="W", scope="point" if device else "last", place="node"
    )
    reach = 4 * case.period_s + 80.0
    truth, seed = meter(case, phase_s), int(rng.integers(1 << 30))
    if truth.tau_s and truth.window_s:
        truth = truth._replace(window_s=0.0)
    made = simulate.observe(one, truth, channel, -reach, case.length_s + reach, origin_ns=ORIGIN, seed=seed)
    if device:
        return made
    asked = np.arange(-reach + 2 * case.period_s + rng.uniform(0, case.period_s), case.length_s + reach, case.period_s)
    asked += rng.uniform(0, 0.01, len(asked))
    at_ns = ORIGIN + np.round(asked * 1e9).astype(np.int64)
    return trace(channel, at_ns, made.value[np.searchsorted(made.t_ns, at_ns, side="right") - 1], half_ns=5_000_000)


def seen(case: Case, phase_s: float, rng: np.random.Generator) -> Seen:
    one = load(case.length_s, rng)
    begin, end = ORIGIN, ORIGIN + round(case.length_s * 1e9)
    rest = round(case.rest_s * 1e9)
    idle = ((begin - rest, begin), (end, end + rest)) if rest else None
    found = phase.energy_of(read(case, one, phase_s, rng), begin, end, idle=idle)
    true = one.mean_w(0.0, case.length_s) * case.length_s
    if found.value is None or found.expanded is None:
        return Seen(case, float("nan"), float("nan"), "refused")
    return Seen(case, found.value / true - 1, found.expanded / true, found.method.partition(":")[0])


def sweep(shifts: int, seed: int, rests_s: Sequence[float], lengths_s: Sequence[float] = LENGTHS_S) -> Iterator[Seen]:
    """Every cell at ``shifts`` phases of the readings; no lag at all is one kind only."""
    every = itertools.product(STAMPS, KINDS, LAGS_S, PERIODS_S, lengths_s, rests_s)
    for number, what in enumerate(every):
        case = Case(*what)
        if case.lag_s == 0 and case.kind != KINDS[0]:
            continue
        rng = np.random.default_rng([seed, number])
        for shift in range(shifts):
            yield seen(case, (shift + rng.uniform()) / shifts * case.period_s, rng)


def table(found: Sequence[Seen], by: Sequence[str]) -> list[dict[str, Any]]:
    """One row for each value of some fields of the case."""
    rows: dict[tuple[Any, ...], list[Seen]] = {}
    for one in found:
        rows.setdefault(tuple(getattr(one.case, name) for name in by), []).append(one)
    return [dict(zip(by, key, strict=True)) | row(group) for key, group in sorted(rows.items())]


def row(group: Sequence[Seen]) -> dict[str, Any]:
    known = [one for one in group if one.error == one.error]
    sizes = np.array([abs(one.error) for one in known] or [np.nan])
    us = np.array([one.expanded for one in known] or [np.nan])
    return {
        "phases": len(group),
        "refused": 1 - len(known) / len(group),
        "within": float(np.mean(sizes <= us)),
        "u_percent": 100 * float(np.median(us)),
        "error_percent": 100 * float(np.median(sizes)),
        "worst_in_u": float(np.max(sizes / us)),
        "within_5_percent": float(np.mean(sizes <= 0.05)),
        "padded": sum(one.method == "padded" for one in group) / len(group),
    }


VIEWS = (("stamps", "rest_s"), ("stamps", "rest_s", "kind", "lag_s"), ("stamps", "rest_s", "period_s", "length_s"))


def main() -> None:
    asked = common.arguments(
        __doc__,
        shifts=Option(8, 1, "phases of the readings in each cell"),
        seed=Option(0),
        rest=Option([5.0, 60.0, 0.0], [5.0], "known idle, s; 0: not known"),
    )
    found = list(sweep(asked.shifts, asked.seed, asked.rest))
    tables = {}
    for by in VIEWS:
        rows = table(found, by)
        formats = {name: ".3g" if isinstance(value, float) else "" for name, value in rows[0].items()}
        tables["by_" + "_".join(by)] = rows, formats
    common.show(asked, **tables)


if __name__ == "__main__":
    main()
