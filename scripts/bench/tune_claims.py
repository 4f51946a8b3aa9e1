#!/usr/bin/env python3
"""How often the tuner claims that a parameter mattered: on machines where all values are equal, and where one is not.

    python scripts/bench/tune_claims.py [--sweeps 40] [--effect 0.05] [--tiny] [--json]

Each sweep is a whole search against the simulated machine of tests/support/landscapes.py, with noise, drift and runs
that others disturb. On equal values every claim is false: at most 5 % of the sweeps may have one. With an effect,
look-ahead 0 is slower by so much and nothing else matters: counted is how often that is claimed, and anything else.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).resolve().parents[2] / "tests"
sys.path.insert(0, str(TESTS))

import common  # noqa: E402
from common import Option  # noqa: E402

from shakedown.tuning import outcome  # noqa: E402
from shakedown.tuning.records import Point  # noqa: E402
from support import landscapes as simulated  # noqa: E402

#: Noise of a run, and the share of runs that take 30 % longer.
MACHINES = ((0.01, 0.0), (0.03, 0.0), (0.05, 0.0), (0.01, 0.05))


class Claims(NamedTuple):
    """Over all sweeps: in how many something false was claimed, and in how many what is true."""

    sweeps: int
    false: int
    true: int


def claims(sweeps: int, noise: float, spikes: float = 0.0, effect: float = 0.0, first_seed: int = 0) -> Claims:
    """Search ``sweeps`` times. ``effect``: by how much look-ahead 0 is slower; 0: all values are equal."""

    def landscape(point: Point) -> float:
        return effect * (point["depth"] == 0)

    false = true = 0
    for seed in range(first_seed, first_seed + sweeps):
        machine = simulated.Machine(landscape, noise=noise, drift=0.02, spikes=spikes, seed=seed)
        asked: Any = simulated.problem(learn=simulated.skewed(simulated.flat, 0.03, seed), seed=seed)
        ended, _ = simulated.run(machine, asked)
        found = outcome.result(ended, n_reason="", budget_s=None, version="")
        told = {one.axis for one in found.effects if one.matters}
        false += bool(told - ({"depth"} if effect else set())) or bool(found.interactions)
        true += "depth" in told if effect else 0
    return Claims(sweeps, false, true)


def main() -> None:
    asked = common.arguments(
        __doc__, sweeps=Option(40, 1), effect=Option(0.05, help="by how much look-ahead 0 is slower")
    )
    settings = [(noise, spikes, 0.0) for noise, spikes in MACHINES] + [
        (noise, 0.0, asked.effect) for noise in (0.005, 0.01)
    ]
    rows = []
    for noise, disturbed, effect in settings:
        found = claims(asked.sweeps, noise, disturbed, effect)
        rows.append({"noise": noise, "disturbed": disturbed, "effect": effect, **found._asdict()})
        common.say(f"{len(rows)} of {len(settings)} machines")
    formats = {"noise": ".1%", "disturbed": ".0%", "effect": ".0%", "sweeps": "", "false": "", "true": ""}
    common.show(asked, sweeps_with_a_false_claim_and_with_the_true_one=(rows, formats))


if __name__ == "__main__":
    main()
