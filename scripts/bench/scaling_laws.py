"""How often what `shakedown scaling` states holds, on simulated curves whose parameters are known.

    python scripts/bench/scaling_laws.py [--curves 300] [--seed 1] [--json]

Each curve has 4 to 8 counts of workers and 3 to 5 launches at each, which scatter by 0.5 to 5 %. Those that follow a law
(Amdahl's, the universal, Gustafson's, linear overhead), with a noise as the analysis takes it to be (logarithms, normal) or
not (Student's t with 3 degrees of freedom, a launch in 20 that is 10 to 50 % slower); and those that follow none: a step
where a node is full, a step down where the work fits into caches, an overhead that grows with the logarithm of the count.
Figures of a row: the share of curves whose parameter lies in its interval of 95 %, of efficiencies at the last count in
theirs, of times at a count that was left out in theirs; how often the law is said not to hold, and how often none is or that
it is superlinear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import common
import numpy as np
from common import Option
from numpy.typing import NDArray

from shakedown.analysis.scaling import judged
from shakedown.records import ScalingKind, ScalingPoint, ScalingSeries

Floats = NDArray[np.float64]


class Curve(NamedTuple):
    kind: ScalingKind
    seconds: Callable[[Floats], Floats]
    law: str = ""  # that it follows
    parameter: float = float("nan")


def curve(rng: np.random.Generator, name: str) -> Curve:
    """One of its kind, with parameters drawn over decades."""
    scale = 10 ** rng.uniform(-1, 4)
    serial = 10 ** rng.uniform(-4, -1)
    overhead = 10 ** rng.uniform(-6, -3)
    step_at, step = rng.choice([8, 16, 24]), rng.uniform(1.3, 2.0)

    def amdahl(p: Floats) -> Floats:
        return scale * ((1 - serial) / p + serial)

    shapes: dict[str, Curve] = {
        "Amdahl": Curve("strong", amdahl, "Amdahl", serial),
        "universal": Curve(
            "strong",
            lambda p: amdahl(p) + scale * overhead * (p - 1),
            "universal",
            serial,
        ),
        "Gustafson": Curve("weak", lambda p: scale * p / (serial + (1 - serial) * p), "Gustafson", serial),
        "linear overhead": Curve("weak", lambda p: scale * (1 + overhead * (p - 1)), "linear overhead", overhead),
        "a step up": Curve("strong", lambda p: amdahl(p) * np.where(p > step_at, step, 1.0)),
        "a step down": Curve("strong", lambda p: amdahl(p) / np.where(p > step_at, step, 1.0)),
        "logarithmic": Curve("strong", lambda p: amdahl(p) + scale * 30 * overhead * np.log2(p)),
    }
    return shapes[name]


def scatter(rng: np.random.Generator, size: int, sigma: float, noise: str) -> Floats:
    """Factors of launches about their curve."""
    if noise == "heavy tails":
        tails: Floats = np.exp(sigma * rng.standard_t(3, size) / np.sqrt(3.0))
        return tails
    factors: Floats = np.exp(sigma * rng.standard_normal(size))
    if noise == "slow launches":
        factors = factors * np.where(rng.random(size) < 0.05, rng.uniform(1.1, 1.5, size), 1.0)
    return factors


class Seen(NamedTuple):
    """Of one curve: whether what was stated holds; None where nothing was."""

    parameter: bool | None
    efficiency: bool | None
    between: bool
    refused: bool | None  # the law that it follows
    none: bool  # no law holds, or it is superlinear


def seen(rng: np.random.Generator, name: str, noise: str) -> Seen:
    one = curve(rng, name)
    counts = np.array([2.0**index for index in range(int(rng.integers(5, 9)))])
    launches, sigma = int(rng.integers(3, 6)), 10 ** rng.uniform(-2.3, -1.3)
    times = one.seconds(counts)
    held_out = int(rng.integers(1, len(counts) - 1))
    points = tuple(
        ScalingPoint(count=int(count), seconds=tuple((seconds * scatter(rng, launches, sigma, noise)).tolist()))
        for index, (count, seconds) in enumerate(zip(counts, times, strict=True))
        if index != held_out
    )
    series = ScalingSeries(
        workload="simulated", title="simulated", kind=one.kind, over="ranks", params={}, points=points
    )
    found = judged(series, at=(int(counts[held_out]),))
    law = next((each for each in found.laws if each.name == one.law), None)
    last = found.speedups[-1]
    truth = times[0] / times[-1] / (counts[-1] if one.kind == "strong" else 1)
    told = found.between[0]
    return Seen(
        parameter=None
        if law is None or law.low is None or law.high is None
        else bool(law.low <= one.parameter <= law.high),
        efficiency=None
        if last.efficiency_low is None or last.efficiency_high is None
        else bool(last.efficiency_low <= truth <= last.efficiency_high),
        between=bool(told.low <= times[held_out] <= told.high),
        refused=None if law is None else law.state == "does not hold",
        none=not found.laws or all(each.state == "does not hold" for each in found.laws),
    )


def _share(values: list[bool | None]) -> float:
    known = [one for one in values if one is not None]
    return float(np.mean(known)) if known else float("nan")


def row(rng: np.random.Generator, name: str, noise: str, curves: int) -> dict[str, Any]:
    found = [seen(rng, name, noise) for _ in range(curves)]
    return {
        "curve": name,
        "noise": noise,
        "curves": curves,
        "parameter_held": _share([one.parameter for one in found]),
        "efficiency_held": _share([one.efficiency for one in found]),
        "left_out_held": _share([one.between for one in found]),
        "law_refused": _share([one.refused for one in found]),
        "no_law_said": _share([one.none for one in found]),
    }


def main() -> None:
    asked = common.arguments(__doc__, curves=Option(300, 3, "of each kind"), seed=Option(1))
    rng = np.random.default_rng(asked.seed)
    lawful = ("Amdahl", "universal", "Gustafson", "linear overhead")
    kinds = [(name, noise) for noise in ("normal", "heavy tails", "slow launches") for name in lawful]
    kinds += [(name, "normal") for name in ("a step up", "a step down", "logarithmic")]
    rows = [row(rng, name, noise, asked.curves) for name, noise in kinds]
    formats = {name: ".3f" if isinstance(value, float) else "" for name, value in rows[0].items()}
    common.show(asked, curves=(rows, formats))


if __name__ == "__main__":
    main()
