"""How often the interval of nothing against nothing holds 1, and how often an overhead is wrongly claimed.

    python scripts/bench/overheads.py [--sessions 0] [--series 2000] [--pairs 6,9,20] [--seed 0] [--tiny] [--json]

Series of pairs with a known factor go through the order and the formula of `shakedown overhead`: launches drift together,
those that run first in a pair may be slower, and scatter by the kinds of noise below. `held` is the share of series whose
interval holds the truth (goal: 95 %), `claimed` the share that says "costs" or "gains" (of nothing: wrongly), `equivalent`
the share that is equivalent within 2 %: of a factor beyond that, wrongly. With `--sessions` the verb itself measures
native beside native so often, with a workload of a fraction of a second.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import common
from common import Option

from shakedown.analysis.statistics import PairedFactor, paired_factor
from shakedown.records import Run
from shakedown.run.schedule import in_turn

EQUIVALENCE = 0.02
MOST_LOG = 20.0  # heavy tails reach further than any run lasts
FACTORS = (1.0, 1.01, 1.05, 1.3)
#: What is measured of nothing against nothing: cheap, and without a case that decides by itself.
CONTROL = ("latency", "sizes=16KiB", "loads=65536", "samples=9", "--under", "control")


def _modes(rng: random.Random) -> float:
    return 0.01 * rng.gauss(0, 1) + (math.log(1.3) if rng.random() < 0.3 else 0.0)


#: Kind of noise -> the logarithm of one launch's time, beside the truth.
NOISES: dict[str, Callable[[random.Random], float]] = {
    "normal, 1 %": lambda rng: 0.01 * rng.gauss(0, 1),
    "normal, 5 %": lambda rng: 0.05 * rng.gauss(0, 1),
    "heavy tails": lambda rng: 0.02 * math.tan(math.pi * (rng.random() - 0.5)) if rng.random() < 0.999 else 0.0,
    "late ones": lambda rng: 0.05 * rng.expovariate(1.0),
    "two modes": _modes,
    "disturbed, 1 in 10": lambda rng: 0.01 * rng.gauss(0, 1) + (rng.uniform(0, 2) if rng.random() < 0.1 else 0.0),
}
#: What changes besides: drift from launch to launch (relative), and how much slower the first of a pair is.
SETTINGS = {"still": (0.0, 0.0), "drifting 1 % a launch": (0.01, 0.0), "the first 3 % slower": (0.0, 0.03)}


def run(under: str) -> Run:
    return Run(id=under, workload="w", params={}, label=under, estimate_s=1, limit_s=1, under=under, pair="layer")


RUNS = (run("native"), run("layer"))


def series(
    noise: Callable[[random.Random], float], setting: str, pairs: int, truth: float, rng: random.Random
) -> PairedFactor:
    """One series as the verb measures it."""
    drift, first_slower = SETTINGS[setting]
    walk, ratios = 0.0, []
    for number in range(1, pairs + 1):
        times = {}
        for place, one in enumerate(in_turn(RUNS, number)):
            walk += drift
            log = walk + noise(rng) + (math.log1p(first_slower) if place == 0 else 0.0)
            times[one.under] = math.exp(max(-MOST_LOG, min(log, MOST_LOG))) * (truth if one.under == "layer" else 1.0)
        ratios.append(times["layer"] / times["native"])
    return paired_factor(ratios)


def simulated(count: int, sizes: list[int], seed: int) -> Iterator[dict[str, Any]]:
    """A row for each kind of noise, setting, number of pairs and factor."""
    for name, setting, pairs, truth in itertools.product(NOISES, SETTINGS, sizes, FACTORS):
        rng = random.Random(f"{seed} {name} {setting} {pairs} {truth}")
        found = [series(NOISES[name], setting, pairs, truth, rng) for _ in range(count)]
        yield {
            "noise": name,
            "setting": setting,
            "pairs": pairs,
            "factor": truth,
            "held": sum(one.low <= truth <= one.high for one in found) / count,
            "claimed": sum(one.side in ("above", "below") for one in found) / count,
            "wrong_side": sum(one.side == "below" for one in found) / count if truth > 1 else 0.0,
            "equivalent": sum(one.within is not None and one.within <= EQUIVALENCE for one in found) / count,
        }


def measured(sessions: int, pairs: int) -> Iterator[dict[str, Any]]:
    """A row for each session of the verb: native beside native."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(sessions):
            words = [*CONTROL, "--pairs", str(pairs), "--directory", str(Path(folder) / str(number)), "--json"]
            text = common.output([sys.executable, "-m", "shakedown", "overhead", *words])
            for one in json.loads(text)["overheads"]:
                held = one["low"] <= 1 <= one["high"]
                yield {"session": number + 1, **{name: one[name] for name in ("factor", "low", "high")}, "held": held}
            common.say(f"session {number + 1} of {sessions}")


def worst(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each number of pairs and factor: the least share that held, the largest that was claimed, over all noises."""
    made = []
    for pairs, truth in sorted({(one["pairs"], one["factor"]) for one in rows}):
        group = [one for one in rows if (one["pairs"], one["factor"]) == (pairs, truth)]
        made.append(
            {
                "pairs": pairs,
                "factor": truth,
                "kinds": len(group),
                "least_held": min(one["held"] for one in group),
                "least_claimed": min(one["claimed"] for one in group),
                "most_claimed": max(one["claimed"] for one in group),
                "most_wrong_side": max(one["wrong_side"] for one in group),
                "most_equivalent": max(one["equivalent"] for one in group),
            }
        )
    return made


def main() -> int:
    asked = common.arguments(
        __doc__,
        series=Option(2000, 20, "simulated series a row"),
        pairs=Option([6, 9, 20], [6], "pairs a series"),
        sessions=Option(0, 1, "sessions of the verb itself, native beside native"),
        session_pairs=Option(8, 6, "pairs of such a session"),
        seed=Option(0),
    )
    rows = list(simulated(asked.series, asked.pairs, asked.seed))
    shares = dict.fromkeys(("held", "claimed", "wrong_side", "equivalent"), ".1%")
    nothing = [one for one in rows if one["factor"] == 1.0]
    over_all = worst(rows)
    of_all = {name: ".1%" if "_" in name else "" for name in over_all[0]}
    sessions = list(measured(asked.sessions, asked.session_pairs))
    tables: dict[str, Any] = {
        "nothing against nothing": (nothing, {"noise": "", "setting": "", "pairs": "", **shares}),
        "over all kinds of noise": (over_all, of_all),
    }
    if sessions:
        tables["measured: native beside native"] = (
            sessions,
            {"session": "", "factor": ".4f", "low": ".4f", "high": ".4f", "held": ""},
        )
    common.show(asked, **tables)
    if sessions and not asked.json:
        print(f"held 1 in {sum(one['held'] for one in sessions)} of {len(sessions)} measured series")
    return 0


if __name__ == "__main__":
    sys.exit(main())
