"""The tuner's choice beside the best of an exhaustive sweep: how much slower it is, and at what part of the cost.

    python scripts/bench/tune.py [--n 5000] [--folder runs/bench-tune] [--rounds 1] [--finalists 8] [--final-rounds 8]

Three parts, each kept in the folder and gone on with when it is called again:

1. the tuner, as a user calls it (``shakedown tune hpl``), in the space below;
2. the sweep: every configuration of the space once a round, in an order shuffled anew in each round;
3. the truth: the sweep's best few and the tuner's choice, in rounds side by side, since the fastest of hundreds of single
   runs is mostly the luckiest.

Printed: the tuner's choice over the sweep's best (seconds, of part 3, with the 95 % interval), and the tuner's cost over
the sweep's (seconds of all their processes, start-up included). For a quiet machine; the whole takes about an hour.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import common
from common import Option

from shakedown.hosts.access import LocalHost
from shakedown.results import run_directory
from shakedown.tuning import loop, program, session
from shakedown.tuning import space as spaces
from shakedown.tuning.history import TrialHistory
from shakedown.tuning.journal import Journal
from shakedown.tuning.paired import Observation, compare
from shakedown.tuning.records import Point, Request, Trial, name_of
from shakedown.tuning.search import whole_level

#: What is swept beyond layouts and grids, which are all that the machine has.
SPACE = {
    "nb": [64, 96, 128, 160, 192, 256, 320],
    "depth": [1, 0],
    "trsm": ["recursive", "inverse"],
    "bcast": ["1ringM", "1ring", "long"],
    "swap": ["mix", "long"],
    "nbmin": [8, 16],
    "split": [0.5],
    "pages": ["huge"],
}
LIMIT_S = 120.0


def main() -> None:
    asked = common.arguments(
        __doc__,
        n=Option(5000, 1300),
        folder=Option(Path("runs/bench-tune")),
        rounds=Option(1, help="of the sweep"),
        finalists=Option(8, 1, "the sweep's best, run again beside the tuner's choice"),
        final_rounds=Option(8, 1),
        budget_min=Option(60.0, 0.1, "of the tuner; large enough not to matter"),
        points=Option(0, 2, "of the sweep, spread over all; 0: every one"),
    )
    asked.folder.mkdir(parents=True, exist_ok=True)
    file = asked.folder / "space.toml"
    file.write_text("".join(f"{name} = {json.dumps(values)}\n" for name, values in SPACE.items()))
    chosen, tuner_s = tuned(asked, file)
    measured = Measured(asked, file)
    points = every(measured.problem.space)
    if name_of(chosen) not in map(name_of, points):
        sys.exit(f"the tuner chose what is not in the sweep: {chosen}")
    if asked.points:
        points = points[:: max(1, len(points) // asked.points)]
    common.say(f"sweep: {len(points)} configurations")
    sweep = measured.rounds("sweep", points, asked.rounds)
    sweep_s = sum(trial.cost_s for trial in sweep) / asked.rounds
    result = judged(measured, sweep, chosen, asked)
    result |= {"n": asked.n, "configurations": len(points), "tuner_s": tuner_s, "sweep_s": sweep_s}
    result["cost_ratio"] = tuner_s / sweep_s
    if asked.json:
        print(json.dumps(result))
        return
    print(f"tune: N = {asked.n}, {len(points)} configurations")
    print(f"  the tuner's choice  {spaces.words(chosen, [*SPACE, 'layout', 'grid'])}")
    print(f"  the sweep's best    {result['best']}")
    print(
        f"  slower by           {100 * result['slower']:.2f} % [{100 * result['low']:.2f}, {100 * result['high']:.2f}]"
    )
    print(f"  cost                {tuner_s:.0f} s of {sweep_s:.0f} s: {result['cost_ratio']:.3f}")


def tuned(asked: argparse.Namespace, file: Path) -> tuple[Point, float]:
    """The tuner's choice and what its runs cost, by the command itself."""
    folder = asked.folder / "tuner"
    command = [sys.executable, "-m", "shakedown", "tune", "hpl", str(folder), "--n", str(asked.n), "--space", str(file)]
    command += ["--windows", "none", "--budget-min", str(asked.budget_min)]
    if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
        sys.exit("the tuner found nothing; its messages are above")
    result = json.loads((folder / "result.json").read_text())
    journal = Journal(folder)
    journal.close()
    return result["chosen"]["point"], journal.spent_s()


class Measured:
    """Runs that are not the tuner's, kept in a journal of their own."""

    def __init__(self, asked: argparse.Namespace, file: Path) -> None:
        wanted = session.TuneOptions(n=str(asked.n), space=file, windows="none")
        self.opened = session.open_folder(asked.folder / "sweep", wanted)
        self.problem = session.problem(self.opened, None)
        self.journal = self.opened.journal
        self.run = program.measure(run_directory.RunDirectory(self.opened.folder), self.opened.machine, LocalHost())

    def rounds(self, stage: str, points: list[Point], rounds: int) -> list[Trial]:
        """Every configuration once a round, in an order of its own in each; those measured before are not run again."""
        stored = {(trial.key, trial.stage): trial for trial in self.journal.trials}
        found = []
        begun = time.monotonic()
        for turn in range(rounds):
            order = sorted(points, key=name_of)
            random.Random(f"{stage} {turn}").shuffle(order)
            for number, point in enumerate(order, 1):
                request = Request(
                    point=point,
                    n=self.problem.n,
                    repeat=1 + turn + (1000 if stage != "sweep" else 0),
                    stage=stage,
                    block=f"{stage}-{turn + 1}-{number // 16 if stage == 'sweep' else 0}",
                    estimate_s=5.0,
                    cap_s=LIMIT_S,
                )
                trial = stored.get((request.key, stage))
                if trial is None:
                    trial = self.run(loop.TrialRequest(request, LIMIT_S, self.journal.session))
                    self.journal.add(trial)
                found.append(trial)
                if number % 25 == 0:
                    passed = time.monotonic() - begun
                    common.say(f"  {stage} {turn + 1}: {number} of {len(order)}, {passed:.0f} s")
        return found


def every(space: spaces.Space) -> list[Point]:
    """Every configuration of the space, each once."""
    found: dict[str, Point] = {}
    axes = list(space.axes)
    for values in product(*(space.axes[name] for name in axes)):
        point = dict(zip(axes, values, strict=True))
        if point["grid"] in space.grids(str(point["layout"])):
            made = spaces.canonical(space, point)
            found.setdefault(name_of(made), made)
    return list(found.values())


def judged(measured: Measured, sweep: list[Trial], chosen: Point, asked: argparse.Namespace) -> dict[str, Any]:
    """The sweep's best few and the tuner's choice side by side: how much slower the choice is than the best of them."""
    known = TrialHistory(measured.problem)
    for trial in sweep:
        known.add(trial)
    ranked = known.ranked(whole_level(measured.problem))
    finalists = [point for point in ranked if point != chosen][: asked.finalists]
    trials = measured.rounds("truth", [chosen, *finalists], asked.final_rounds)
    seen = [trial for trial in trials if trial.ok and trial.seconds]
    found = compare([Observation(name_of(one.point), one.block, _log(one)) for one in seen])
    own = name_of(chosen)
    if own not in found.items:
        sys.exit("the tuner's choice failed when it was run again")
    best = next(name for name in found.order() if name != own)
    slower = found.interval(own, best)
    point = next(one.point for one in seen if name_of(one.point) == best)
    return {
        "best": spaces.words(point, [*SPACE, "layout", "grid"]),
        "slower": slower.value,
        "low": slower.low,
        "high": slower.high,
        "failed": sum(not trial.ok for trial in sweep),
    }


def _log(trial: Trial) -> float:
    import math

    assert trial.seconds is not None
    return math.log(trial.seconds)


if __name__ == "__main__":
    main()
