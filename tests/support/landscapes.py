"""Landscapes that the tuner searches."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import product
from typing import Any

import msgspec

from shakedown.records import Params
from shakedown.tuning import loop, space
from shakedown.tuning.history import Predict, Problem
from shakedown.tuning.records import Point, Request, Trial, Window, name_of
from shakedown.tuning.windows import orders

AXES: dict[str, tuple[Any, ...]] = {
    "layout": ("2x4", "1x8", "4x2", "8x1"),
    "grid": tuple(f"{p}x{r // p}" for r in (1, 2, 4, 8) for p in (1, 2, 4, 8) if r % p == 0),
    "nb": (64, 96, 128, 192, 256, 384),
    "trsm": ("recursive", "inverse", "blas"),
    "depth": (1, 0),
    "bcast": ("1ringM", "1ring", "2ring", "long"),
    "swap": ("mix", "long", "binary"),
    "nbmin": (8, 4, 16),
}


SPACE = space.Space(axes=AXES, defaults=space.first_values(AXES, 1), hosts=1, cpus=8)


N = 6000


START_S = 0.4


Landscape = Callable[[Point], float]  # slower than the best, relative


def even(point: Point) -> float:
    """A landscape like HPL's: small P forgiving, small Q not; NB 192; 4 ranks x 2 threads; some of the rest matters."""
    p, q = space.pair(str(point["grid"]))
    layout = {"2x4": 0.02, "1x8": 0.06, "4x2": 0.0, "8x1": 0.05}[str(point["layout"])]
    shape = math.log2(p / q)
    grid = 0.03 * max(shape, 0.0) + 0.012 * max(-shape - 1, 0.0)
    nb = 0.05 * math.log2(int(point["nb"]) / 192) ** 2
    rest = {"recursive": 0.01, "inverse": 0.0, "blas": 0.04}[str(point["trsm"])] + 0.03 * (point["depth"] == 0)
    rest += {"1ringM": 0.004, "1ring": 0.0, "2ring": 0.006, "long": 0.05}[str(point["bcast"])] * (q > 1)
    rest += {"mix": 0.0, "long": 0.01, "binary": 0.03}[str(point["swap"])] * (p > 1)
    return layout + grid + nb + rest + {8: 0.0, 4: 0.004, 16: 0.006}[int(point["nbmin"])]


def flat(point: Point) -> float:
    return 0.0


class Machine:
    """Simulates runs: a landscape with noise, a drift, spikes, and faults; its clock only moves while it runs."""

    def __init__(
        self,
        landscape: Landscape,
        *,
        noise: float = 0.01,
        drift: float = 0.0,
        spikes: float = 0.0,
        broken: Callable[[Point], str] = lambda point: "",
        seed: int = 1,
        base_s: float = 2.0,
        hosts: dict[str, float] | None = None,
    ) -> None:
        self.landscape, self.noise, self.drift, self.spikes = landscape, noise, drift, spikes
        self.broken, self.hosts, self.base_s = broken, hosts or {}, base_s
        self.random = random.Random(seed)
        self.clock_s = 0.0
        self.asked: list[str] = []

    def now_s(self) -> float:
        return self.clock_s

    def true_s(self, point: Point, n: int = N) -> float:
        return self.base_s * (n / N) ** 3 * (1 + self.landscape(point))

    def measure(self, asked: loop.TrialRequest) -> Trial:
        request = asked.request
        self.asked.append(request.key)
        seconds = self.true_s(request.point, request.n) * math.exp(self.random.gauss(0, self.noise))
        seconds *= 1 + self.drift * math.sin(self.clock_s / 60)
        if self.random.random() < self.spikes:
            seconds *= 1.3
        windows = self._windows(request, seconds)
        cost_s = START_S + (sum(one.seconds for one in windows) if windows else seconds)
        state = self.broken(request.point)
        if state == "hangs":
            cost_s = math.inf
        if cost_s > asked.limit_s:
            self.clock_s += asked.limit_s
            return loop.failed(asked, state="timeout", reason="killed at its limit", cost_s=asked.limit_s)
        self.clock_s += cost_s
        if state:
            return loop.failed(asked, state=state, reason=f"it is {state}", cost_s=cost_s)
        return msgspec.structs.replace(
            loop.blank(asked), state="ok", seconds=seconds, samples=(seconds,), windows=windows, cost_s=cost_s,
            hosts=self.hosts if request.kind == "hosts" else {},
        )  # fmt: skip

    def _windows(self, request: Request, seconds: float) -> tuple[Window, ...]:
        if request.kind != "windows":
            return ()
        nb = int(request.point["nb"])
        each = seconds / sum(n * n for n in orders(request.n, nb, 10**9))
        made = []
        for share in request.shares:
            order = int(request.n * share)
            work = sum(n * n for n in orders(order, nb, request.panels))
            made.append(Window(order=order, panels=request.panels, seconds=each * work))
        return tuple(made)


class Memory:
    """A journal in memory."""

    def __init__(self, trials: list[Trial] | None = None, session: int = 1) -> None:
        self.trials = list(trials or [])
        self.session = session

    def add(self, trial: Trial) -> None:
        self.trials.append(trial)


def skewed(landscape: Landscape, by: float = 0.0, seed: int = 0, base_s: float = 3.0) -> Callable[[Any], Predict]:
    """A model that knows the landscape's shape, but is off by ``by`` for each value of each axis."""
    generator = random.Random(seed)
    off = {(axis, value): generator.gauss(0, by) for axis, values in AXES.items() for value in values}

    def predict(point: Point, n: int) -> float:
        wrong = sum(off.get((axis, value), 0.0) for axis, value in point.items() if axis in ("layout", "grid", "nb"))
        return base_s * (n / N) ** 3 * (1 + landscape(point)) * math.exp(wrong)

    return lambda trials: predict


def problem(landscape: Landscape = flat, **changes: Any) -> Problem:
    made: dict[str, Any] = {"space": SPACE, "n": N, "learn": skewed(landscape), "sizes": False}
    return Problem(**{**made, **changes})


def every_point() -> list[Point]:
    found: dict[str, Point] = {}
    for layout in AXES["layout"]:
        for grid in SPACE.grids(layout):
            rest = [name for name in AXES if name not in ("layout", "grid")]
            for values in product(*(AXES[name] for name in rest)):
                point = space.canonical(SPACE, {"layout": layout, "grid": grid, **dict(zip(rest, values, strict=True))})
                found.setdefault(name_of(point), point)
    return list(found.values())


POINTS = every_point()


def run(machine: Machine, asked: Problem, memory: Memory | None = None) -> tuple[loop.Ended, Memory]:
    memory = memory or Memory()
    return loop.tune(asked, memory, machine.measure, machine.now_s), memory


def loss(machine: Machine, chosen: Params | None) -> float:
    """How much slower the choice truly is than the best of all configurations."""
    assert chosen is not None
    best = min(machine.true_s(point) for point in POINTS if not machine.broken(point))
    return machine.true_s(chosen) / best - 1
