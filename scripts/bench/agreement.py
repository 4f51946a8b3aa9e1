"""Do our stated uncertainties hold? Simulated meters are characterised, then measure runs whose energy is known.

    python scripts/bench/agreement.py [--seeds 100] [--first 0] [--kind WORDS] [--tiny] [--json]

Each seed draws a meter of one kind (refresh, window, delay, gain, offset, step and noise of its own), has it characterised
beside a better meter by the same controller that drives real ones (`shakedown meter characterise`), and then lets it see
three runs of random length and shape between segments of idleness. Counted: how many of the energies lie within the 95 %
uncertainty that `energy_of` states for them, by kind of meter and in all; and of the seeds, those whose three energies all
do. Beside it the naive figure: the mean of the readings between the marks times the length. Takes some seconds a seed.
"""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import common
import msgspec
import numpy as np
from common import Option

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from shakedown.energy import phase
from shakedown.energy.characterise import session
from shakedown.energy.characterise.experiments import Limits
from shakedown.energy.simulate import Load, Truth, observe
from support.characters import BETTER, METER, ORIGIN_NS, Bench

RUNS = 3
#: kind -> refresh in s (least, most), window in refreshes (least, most), step in W, minutes of characterisation, how often
#: it can be read in s
KINDS: dict[str, tuple[tuple[float, float], tuple[float, float], float, float, float]] = {
    "GPU that sees a part of the time": ((0.08, 0.12), (0.2, 0.6), 0.01, 3, 0.005),
    "socket or board, full window": ((0.08, 0.12), (1.0, 1.0), 0.1, 3, 0.005),
    "management controller, 1 s": ((0.9, 1.1), (1.0, 4.0), 1.0, 20, 0.05),
    "rack PDU, 10 W steps": ((1.0, 3.0), (1.0, 1.0), 10.0, 40, 0.1),
    "slow blade, 40 s": ((9.0, 11.0), (3.0, 5.0), 1.0, 90, 0.2),
}


def meter(kind: str, random: np.random.Generator) -> Truth:
    """A meter of a kind."""
    (least, most), windows, step, _, _ = KINDS[kind]
    refresh = random.uniform(least, most)
    return Truth(
        refresh_s=refresh,
        window_s=refresh * random.uniform(*windows),
        delay_s=refresh * random.uniform(0.0, 0.5),
        gain=random.normal(1.0, 0.02),
        offset=random.normal(0.0, 3.0),
        resolution=step,
        noise=random.uniform(0.3, 1.5),
        phase_s=random.uniform(0, refresh),
    )


def runs(truth: Truth, random: np.random.Generator) -> tuple[Load, list[tuple[float, float]], float]:
    """A load with runs between segments of idleness, their ends, and where it all ends (s)."""
    rest = 4 * (truth.window_s + truth.refresh_s + truth.delay_s)
    edges, watts, spans, at = [0.0], [100.0], [], rest
    for _ in range(RUNS):
        length = max(30 * truth.refresh_s, truth.window_s) * random.uniform(0.75, 3.0)
        inner = np.sort(random.uniform(0, length, random.integers(0, 6)))
        edges += [at, *(at + inner)]
        watts += list(random.uniform(150, 450, len(inner) + 1))
        spans.append((at, at + length))
        edges.append(at + length)
        watts.append(100.0)
        at += length + rest * random.uniform(1.0, 1.5)
    return Load(np.array(edges), np.array(watts)), spans, at


def trial(kind: str, seed: int) -> list[tuple[float, float, float]]:
    """For each run: the error of ours, our U, and the error of the naive sum, all as parts of the truth."""
    random = np.random.default_rng((7, seed))
    truth = meter(kind, random)
    bench = Bench(truth, seed, better=True)
    with tempfile.TemporaryDirectory() as folder:
        limits = Limits(60 * KINDS[kind][3], KINDS[kind][4])
        recorded, findings = session.run(Path(folder), bench, limits, channel=METER.id, reference=BETTER.id)
    character = session.character(recorded, findings, made_ns=1)
    load, spans, end = runs(truth, random)
    poll = truth.refresh_s / random.uniform(3.0, 8.0)
    channel = msgspec.structs.replace(METER, scope="last")
    trace = observe(load, truth, channel, 0.0, end, poll_s=poll, origin_ns=ORIGIN_NS, seed=seed)
    marks = [(ORIGIN_NS + round(a * 1e9), ORIGIN_NS + round(b * 1e9)) for a, b in spans]
    found = []
    for index, (begin, stop) in enumerate(marks):
        before = (marks[index - 1][1] if index else ORIGIN_NS, begin)
        after = (stop, marks[index + 1][0] if index + 1 < RUNS else ORIGIN_NS + round(end * 1e9))
        value = phase.energy_of(trace, begin, stop, character=character, idle=(before, after), reference=BETTER)
        exact = float(np.diff(load.energy_j(np.array(spans[index])))[0])
        inside = trace.take((trace.t_ns > begin) & (trace.t_ns <= stop))
        naive = float(inside.value.mean()) * (stop - begin) * 1e-9 if len(inside) else math.nan
        if value.value is None or value.expanded is None:
            found.append((math.nan, math.nan, naive / exact - 1))
        else:
            found.append((value.value / exact - 1, value.expanded / exact, naive / exact - 1))
    return found


def main() -> None:
    asked = common.arguments(
        __doc__,
        seeds=Option(100, 1),
        first=Option(0, help="the first seed: parts of the whole can run side by side"),
        kind=Option("", "PDU", "only kinds of meter whose name holds this, as PDU"),
    )
    kinds = [kind for kind in KINDS if asked.kind.lower() in kind.lower()]
    if not kinds:
        raise SystemExit(f"no kind of meter holds {asked.kind!r}\n  next: one of {'; '.join(KINDS)}")
    results: dict[str, list[list[tuple[float, float, float]]]] = {kind: [] for kind in kinds}
    for seed in range(asked.first, asked.first + asked.seeds):
        kind = kinds[seed % len(kinds)]
        results[kind].append(trial(kind, seed))
    results["all"] = [one for each in list(results.values()) for one in each]
    formats = dict.fromkeys(("kind", "seeds", "energies", "refused"), "")
    formats |= {"within": ".1%", "seeds_within": "", "error": ".2%", "uncertainty": ".2%", "naive": ".2%"}
    common.show(
        asked, energies_within_their_uncertainty=([row(kind, trials) for kind, trials in results.items()], formats)
    )


def row(kind: str, trials: list[list[tuple[float, float, float]]]) -> dict[str, Any]:
    """Errors in root mean square, the median of U, as parts of the energy; ``seeds_within``: all three energies are."""
    flat = np.array([run for one in trials for run in one]).reshape(-1, 3)
    known = flat[np.isfinite(flat[:, 0])]
    return {
        "kind": kind,
        "seeds": len(trials),
        "energies": len(known),
        "refused": len(flat) - len(known),
        "within": float((np.abs(known[:, 0]) <= known[:, 1]).mean()) if len(known) else math.nan,
        "seeds_within": sum(all(abs(e) <= u for e, u, _ in one if math.isfinite(e)) for one in trials),
        "error": float(np.sqrt(np.mean(known[:, 0] ** 2))) if len(known) else math.nan,
        "uncertainty": float(np.median(known[:, 1])) if len(known) else math.nan,
        "naive": float(np.sqrt(np.nanmean(flat[:, 2] ** 2))) if len(flat) else math.nan,
    }


if __name__ == "__main__":
    main()
