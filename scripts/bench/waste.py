"""How far the waste that `shakedown checkpoint plan` expects is from jobs that fail at random.

    python scripts/bench/waste.py [--draws 200] [--jobs 2000] [--seed 1] [--tiny] [--json]

Costs, restarts, mixes of failures, staging and slowdown are drawn: two to four levels, MTTIs from a minute to a month. Each
draw is planned (`shakedown.checkpoint.pattern`), and then its intervals are lived through by simulated jobs, which know no
formula. A row's figures: median, 95 % quantile and greatest of the error, in percent of the simulated waste; how often it is
beyond 10 %; the greatest error in standard errors of
the simulation, and their median, below which no error can be seen. The formulas of first order
stand beside it, at the intervals that they choose. Draws of a waste above ``--most`` are a group of their own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import common
import numpy as np
from common import Option

from shakedown.checkpoint import interval, pattern, simulate
from shakedown.checkpoint.pattern import Scheme

#: A pattern with more checkpoints would take minutes to live through.
MOST_SEGMENTS, MOST_STEPS = 600, 4_000


class Seen(NamedTuple):
    kind: str
    waste: float  # as simulated
    error: float  # of the expectation, as a share of it
    first_order: float  # of the formulas of first order at their own intervals; NaN: they fit no pattern
    noise: float


def drawn(rng: np.random.Generator, *, drains: bool) -> Scheme:
    """Costs that grow with the level, and failures that get rarer or not."""
    levels = int(rng.integers(2, 5))
    cost = np.sort(10 ** rng.uniform(-1, 3, levels))
    restart = np.sort(10 ** rng.uniform(0, 3, levels))
    rates = rng.dirichlet(np.full(levels, 0.8)) / 10 ** rng.uniform(1.8, 6.4)
    rates = np.maximum(rates, 0.005 * rates.sum())
    none = (0.0,) * levels
    if not drains:
        return Scheme(_tuple(cost), none, _tuple(restart), _tuple(rates))
    staging = float(cost[0] * rng.uniform(0.05, 0.5))
    return Scheme((staging,) * levels, _tuple(cost), _tuple(restart), _tuple(rates), float(rng.uniform(0, 0.3)))


def _tuple(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def seen(scheme: Scheme, kind: str, jobs: int, seed: int) -> Seen | None:
    """One draw; None where nothing gets done, or where its pattern is too long."""
    best = pattern.optimum(scheme)
    kept = pattern.kept_levels(scheme, best.kept)
    segments = int(np.prod(best.counts))
    if segments > MOST_SEGMENTS or best.waste > 50:
        return None
    patterns = max(5, min(300, MOST_SEGMENTS // segments))
    truth = simulate.simulate(kept, best.work, best.counts, jobs=jobs, patterns=patterns, seed=seed)
    return Seen(
        kind, truth.waste, best.waste / truth.waste - 1, _first_order(scheme, jobs, seed), truth.error / truth.waste
    )


def _first_order(scheme: Scheme, jobs: int, seed: int) -> float:
    """The error of the formula for the intervals that it chooses itself."""
    late = tuple(restart + drain for restart, drain in zip(scheme.restart, scheme.drain, strict=True))
    formula = interval.multilevel(scheme.costs, late, scheme.rates)
    counts = (1, *(max(1, round(above / below)) if below else 1 for below, above in pairwise(formula.intervals)))
    segments = int(np.prod(counts))
    if segments > MOST_SEGMENTS or not formula.intervals[0] > 0:
        return float("nan")
    patterns = max(5, min(300, MOST_SEGMENTS // segments))
    truth = simulate.simulate(
        scheme, formula.intervals[0], counts, jobs=jobs, patterns=patterns, seed=seed, most_steps=MOST_STEPS
    )
    return formula.waste / truth.waste - 1


def row(group: Sequence[Seen], name: str) -> dict[str, Any]:
    ours = np.abs([one.error for one in group])
    formula = np.abs([one.first_order for one in group if np.isfinite(one.first_order)] or [np.nan])
    return {
        "policy": name,
        "draws": len(group),
        "median_percent": 100 * float(np.median(ours)),
        "q95_percent": 100 * float(np.quantile(ours, 0.95)),
        "worst_percent": 100 * float(ours.max()),
        "beyond_10_percent": float(np.mean(ours > 0.1)),
        "worst_in_errors": float(np.max(ours / [one.noise for one in group])),
        "noise_percent": 100 * float(np.median([one.noise for one in group])),
        "first_order_median_percent": 100 * float(np.median(formula)),
        "first_order_beyond_10_percent": float(np.mean(formula > 0.1)),
    }


def main() -> None:
    asked = common.arguments(
        __doc__,
        draws=Option(200, 3, "of each kind"),
        jobs=Option(2000, 50, "simulated for each"),
        seed=Option(1),
        most=Option(1.0, None, "waste up to which a draw is in the first group"),
    )
    rng = np.random.default_rng(asked.seed)
    found = []
    for kind in ("multilevel", "asynchronous"):
        for number in range(asked.draws):
            one = seen(drawn(rng, drains=kind == "asynchronous"), kind, asked.jobs, asked.seed + number)
            found += [one] if one else []
    groups = {
        f"{kind}, waste {words}": [one for one in found if one.kind == kind and (one.waste <= asked.most) == is_small]
        for kind in ("multilevel", "asynchronous")
        for words, is_small in ((f"up to {asked.most:g}", True), (f"above {asked.most:g}", False))
    }
    rows = [row(group, name) for name, group in groups.items() if group]
    formats = {name: ".3g" if isinstance(value, float) else "" for name, value in rows[0].items()}
    common.show(asked, waste=(rows, formats))


if __name__ == "__main__":
    main()
