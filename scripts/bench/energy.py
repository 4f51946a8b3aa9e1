"""Energy numerics beside the naive way, on loads and meters whose truth is known (energy/simulate.py).

    python scripts/bench/energy.py [--tiny] [--json] [--repeats 2000]

Three tables: short runs (150 W idle, 400 W HPL) on a meter that averages over 40 s, with noise and steps of 1 W; 95 %
intervals of the mean of autocorrelated readings (by tau_int, by 20 batch means, by s / sqrt(n)); powers of short phases.
And one figure over all kinds of channels: how often the truth lies in the interval that energy_of states.
"""

from __future__ import annotations

from typing import Any

import common
import numpy as np
from common import Option
from scipy.signal import lfilter
from scipy.special import stdtrit

from shakedown.energy import forward, phase, simulate
from shakedown.energy.simulate import Load, Truth
from shakedown.energy.uncertainty import correlated
from shakedown.errors import CannotMeasure
from shakedown.metering.meters import Channel
from shakedown.records import Phase

ORIGIN = 1_700_000_000 * 10**9
SECOND = 10**9


def channel(**changed: Any) -> Channel:
    known = {"id": "m", "title": "", "quantity": "power", "unit": "W", "scope": "last", "place": "node"}
    return Channel(**{**known, **changed})


# ---------------------------------------------------------------------------------------------------------- short runs


def hpl(seconds: float) -> Load:
    """Idle 150 W, start-up, 400 W, and the fall of power as the matrix shrinks."""
    t = np.linspace(0.0, seconds, 61)
    x = t[:-1] / seconds
    power = np.where(x < 0.05, 300.0, 400 * (1 - 0.3 * np.maximum(0, x - 0.6) / 0.4))
    return Load(np.concatenate([[-1000.0], t]), np.concatenate([[150.0], power, [150.0]]))


def short_runs(repeats: int) -> list[dict[str, float]]:
    """The naive sum of the readings stamped inside the run, readings moved back by their lag, and the padded window."""
    what = channel(refresh_s=10.0, window_s=40.0, resolution=1.0)
    rows = []
    for seconds in (30.0, 60.0, 120.0, 300.0, 600.0, 1800.0):
        load, end = hpl(seconds), ORIGIN + round(seconds * 1e9)
        true = load.mean_w(0, seconds) * seconds
        naive: list[float] = []
        moved: list[float] = []
        ours, inside = [], []
        for seed in range(repeats):
            first = np.random.default_rng(seed).uniform(0, 10)
            truth = Truth(10.0, 40.0, resolution=1.0, noise=1.0, phase_s=first)
            one = simulate.observe(load, truth, what, -200, seconds + 200, origin_ns=ORIGIN, seed=seed)
            for into, late in ((naive, 0), (moved, 20 * SECOND)):
                chosen = (one.t_ns - late > ORIGIN) & (one.t_ns - late <= end)
                into.append(one.value[chosen].sum() * 10 / true - 1)
            idle = (ORIGIN - 200 * SECOND, ORIGIN), (end, end + 200 * SECOND)
            found = phase.energy_of(one, ORIGIN, end, idle=idle)
            assert found.value is not None and found.expanded is not None
            ours.append(found.value / true - 1)
            inside.append(abs(found.value - true) <= found.expanded)
        rows.append(
            {
                "run_s": seconds,
                "naive_percent": 100 * float(np.mean(naive)),
                "moved_percent": 100 * float(np.mean(moved)),
                "padded_percent": 100 * float(np.mean(ours)),
                "padded_sd_percent": 100 * float(np.std(ours)),
                "within_half_percent": float(np.mean(np.abs(ours) <= 0.005)),
                "in_interval": float(np.mean(inside)),
            }
        )
    return rows


# --------------------------------------------------------------------------------------------------------- steady mean


def coverage(repeats: int) -> list[dict[str, float]]:
    """How often the 95 % interval of the mean of AR(1) noise holds the true mean: by tau_int, batch means, s / sqrt(n)."""
    rng = np.random.default_rng(1)
    rows = []
    for phi in (0.0, 0.5, 0.9, 0.95):
        for n in (1000, 1800, 3600):
            hits = batches = naive = 0
            independent = []
            for _ in range(repeats):
                values = lfilter([1.0], [1.0, -phi], rng.standard_normal(n + 500))[500:]
                found = correlated.mean_of(values)
                assert found.batch_u is not None
                hits += abs(found.value) <= stdtrit(found.dof, 0.975) * found.u
                batches += abs(found.value) <= stdtrit(19, 0.975) * found.batch_u
                naive += abs(found.value) <= 1.96 * found.sd / np.sqrt(n)
                independent.append(found.n_eff)
            rows.append(
                {
                    "phi": phi,
                    "n": n,
                    "n_eff": float(np.median(independent)),
                    "tau_int": hits / repeats,
                    "batch_means": batches / repeats,
                    "naive": naive / repeats,
                }
            )
    return rows


# -------------------------------------------------------------------------------------------------------- phase powers


def phases(repeats: int) -> list[dict[str, float]]:
    """Eight phases of 150 to 400 W on a 40 s meter: error of the readings' mean and of the model, and how often it is
    refused."""
    rows = []
    for refresh, length in (
        (1.0, 5.0),
        (1.0, 20.0),
        (1.0, 40.0),
        (1.0, 120.0),
        (10.0, 10.0),
        (10.0, 20.0),
        (10.0, 40.0),
    ):
        naive, ours, inside, told = [], [], [], []
        for seed in range(repeats):
            rng = np.random.default_rng(seed)
            powers = rng.uniform(150, 400, 8)
            load = Load(np.concatenate([[-1000.0], np.arange(9) * length]), np.concatenate([[100.0], powers, [100.0]]))
            truth = Truth(refresh, 40.0, noise=2.0, phase_s=rng.uniform(0, refresh))
            what = channel(refresh_s=refresh, window_s=40.0)
            one = simulate.observe(load, truth, what, -100, 8 * length + 100, origin_ns=ORIGIN, seed=seed)
            edges = [ORIGIN + round(i * length * 1e9) for i in range(9)]
            marks = [Phase(name=f"p{i}", begin_ns=edges[i], end_ns=edges[i + 1]) for i in range(8)]
            for mark, power in zip(marks, powers, strict=True):
                part = (one.t_ns > mark.begin_ns) & (one.t_ns <= mark.end_ns)
                naive += [float(one.value[part].mean()) - power] if part.any() else []
            try:
                found = forward.phase_powers(one, marks)
            except CannotMeasure:
                told.append(0)
                continue
            told.append(1)
            for each in found.phases:
                assert each.power.value is not None and each.power.expanded is not None
                true = load.mean_w((each.begin_ns - ORIGIN) * 1e-9, (each.end_ns - ORIGIN) * 1e-9)
                ours.append(each.power.value - true)
                inside.append(abs(ours[-1]) <= each.power.expanded)
        rows.append(
            {
                "refresh_s": refresh,
                "phase_s": length,
                "naive_w": float(np.std(naive)),
                "model_w": float(np.std(ours)) if ours else float("nan"),
                "in_interval": float(np.mean(inside)) if inside else float("nan"),
                "answered": float(np.mean(told)),
            }
        )
    return rows


# ----------------------------------------------------------------------------------------------------------- all of it


def intervals(repeats: int) -> list[dict[str, float | str]]:
    """How often the truth lies in the stated 95 % interval: random piecewise constant loads of 200 s."""
    counter = {"quantity": "energy", "unit": "J", "scope": "counter"}
    cases: dict[str, tuple[dict[str, Any], Truth, float | None]] = {
        "1 s averages": ({"refresh_s": 1.0, "window_s": 1.0}, Truth(1.0, 1.0, noise=2.0), None),
        "10 s averages": ({"refresh_s": 10.0}, Truth(10.0, 10.0, noise=2.0), None),
        "points, 1 s": ({"scope": "point", "refresh_s": 1.0}, Truth(1.0, noise=2.0), None),
        "25 ms of every 100 ms": ({"refresh_s": 0.1, "window_s": 0.025}, Truth(0.1, 0.025, noise=2.0), None),
        "10 s averages every second": ({"refresh_s": 1.0, "window_s": 10.0}, Truth(1.0, 10.0, noise=2.0), None),
        "counter, 1 ms, wraps": (
            {**counter, "refresh_s": 0.001, "resolution": 6e-5, "modulus": 65536.0, "most_w": 600.0},
            Truth(0.001, modulus=65536.0, resolution=6e-5),
            1.0,
        ),
        "counter, 1 Wh, 5 s": ({**counter, "refresh_s": 5.0, "resolution": 3600.0}, Truth(5.0, resolution=3600.0), 1.0),
    }
    rows: list[dict[str, float | str]] = []
    for name, (changed, truth, poll_s) in cases.items():
        hits, wide, off = 0, [], []
        for seed in range(repeats):
            rng = np.random.default_rng(seed)
            cuts = np.sort(rng.uniform(0, 200, rng.integers(1, 5)))
            powers = rng.uniform(200, 450, len(cuts) + 1)
            load = Load(np.concatenate([[-1000.0, 0.0], cuts, [200.0]]), np.concatenate([[150.0], powers, [150.0]]))
            shifted = truth._replace(phase_s=rng.uniform(0, truth.refresh_s))
            one = simulate.observe(
                load, shifted, channel(**changed), -30, 230, origin_ns=ORIGIN, poll_s=poll_s, seed=seed
            )
            found = phase.energy_of(one, ORIGIN, ORIGIN + 200 * SECOND)
            assert found.value is not None and found.expanded is not None
            true = load.mean_w(0, 200) * 200
            hits += abs(found.value - true) <= found.expanded
            wide.append(found.expanded / true)
            off.append(found.value / true - 1)
        rows.append(
            {
                "channel": name,
                "in_interval": hits / repeats,
                "U_percent": 100 * float(np.mean(wide)),
                "rms_error_percent": 100 * float(np.sqrt(np.mean(np.square(off)))),
            }
        )
    return rows


def main() -> None:
    asked = common.arguments(__doc__, repeats=Option(2000, 20, "of the steady mean; a tenth of it for the rest"))
    some = max(asked.repeats // 10, 10)
    percent = dict.fromkeys(("naive_percent", "moved_percent"), "+.1f")
    percent |= dict.fromkeys(("padded_percent", "padded_sd_percent"), ".2f")
    shares = dict.fromkeys(("tau_int", "batch_means", "naive"), ".1%")
    answered = dict.fromkeys(("answered", "in_interval"), ".0%")
    common.show(
        asked,
        energy_of_a_run_on_a_40_s_meter_read_every_10_s=(
            short_runs(some),
            {"run_s": ".0f", **percent, "within_half_percent": ".0%", "in_interval": ".0%"},
        ),
        share_of_95_percent_intervals_of_the_mean_of_autocorrelated_noise_that_hold_it=(
            coverage(asked.repeats),
            {"phi": ".2f", "n": ".0f", "n_eff": ".0f", **shares},
        ),
        powers_of_eight_phases_on_a_40_s_meter=(
            phases(max(some // 4, 10)),
            {"refresh_s": ".0f", "phase_s": ".0f", "naive_w": ".1f", "model_w": ".2f", **answered},
        ),
        the_truth_lies_in_the_stated_95_percent_interval=(
            intervals(some),
            {"channel": "", "in_interval": ".1%", "U_percent": ".3f", "rms_error_percent": ".3f"},
        ),
    )


if __name__ == "__main__":
    main()
