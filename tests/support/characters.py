"""A meter of known truth, and a recorder that leaves what the sampler and the native load would: in no time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from shakedown.energy import refresh as refreshing
from shakedown.energy.characterise.experiments import Experiment
from shakedown.energy.characterise.identify import Recording
from shakedown.energy.simulate import Load, Truth, observe
from shakedown.metering import trace as tracing
from shakedown.metering.meters import Channel

ORIGIN_NS = 1_700_000_000_000_000_000
IDLE_W, FULL_W = 100.0, 400.0
METER = Channel(
    id="sim/power", title="", quantity="power", unit="W", scope="point", place="node", device="A", driver="535"
)
BETTER = Channel(id="lab/power", title="", quantity="power", unit="W", scope="last", place="node", device="WT310")

A100 = Truth(refresh_s=0.1012, window_s=0.025, delay_s=0.012, gain=0.954, offset=-1.2, resolution=0.01, noise=1.0)
PRACE = Truth(refresh_s=10, window_s=40, delay_s=1.5, gain=1.01, offset=3, resolution=1, noise=0.5)
SECOND = Truth(refresh_s=0.1, window_s=1.0, delay_s=0.02, gain=0.95, offset=3, resolution=0.01, noise=1.5)
K40 = Truth(refresh_s=0.015, tau_s=0.25, delay_s=0.005, gain=0.95, offset=3, resolution=0.01, noise=1.0)
POINT = Truth(refresh_s=1.0, delay_s=0.3, gain=1.02, offset=2, resolution=4, noise=1.0)

Loaded = tuple[Load, float]  # and when it ends


def step(hold_s: float) -> Loaded:
    return Load(np.array([0.0, hold_s, 2 * hold_s]), np.array([IDLE_W, FULL_W, IDLE_W])), 3 * hold_s


def square(period_s: float, cycles: int, lead_s: float) -> Loaded:
    edges = lead_s + period_s / 2 * np.arange(2 * cycles)
    watts = np.where(np.arange(2 * cycles) % 2, IDLE_W, FULL_W)
    return Load(np.append(0.0, edges), np.append(IDLE_W, watts)), 2 * lead_s + period_s * cycles


def recorded(
    loads: Sequence[Loaded], truth: Truth, seed: int, polls: float = 9.7
) -> tuple[list[Recording], refreshing.Refresh]:
    """One recording after another through one meter, polled so often a refresh; each with one reading a refresh."""
    begin, traces, moved = 0.0, [], []
    for index, (load, end) in enumerate(loads):
        later = Load(load.t_s + begin, load.w)
        poll = truth.refresh_s / polls
        traces.append(
            observe(later, truth, METER, begin, begin + end, poll_s=poll, origin_ns=ORIGIN_NS, seed=100 * seed + index)
        )
        moved.append(later)
        begin += end + 73 * truth.refresh_s
    found = refreshing.refresh(*traces)
    made = [refreshing.updates(one, found) for one in traces]
    return [
        Recording(str(index), load, one.seconds(ORIGIN_NS), one.value)
        for index, (load, one) in enumerate(zip(moved, made, strict=True))
    ], found


class Bench:
    """Records experiments of a simulated meter, beside a better one where asked. Its clock runs on from one to the next."""

    def __init__(
        self, truth: Truth, seed: int, *, better: bool = False, channel: Channel = METER, warm_w: float = 0.0
    ) -> None:
        self.truth, self.seed, self.better, self.channel, self.warm_w = truth, seed, better, channel, warm_w
        self.now_s, self.made = 50.0, 0

    def __call__(self, experiment: Experiment, place: Path) -> None:
        random = np.random.default_rng((self.seed, self.made))
        self.made += 1
        planned = self.now_s + 0.3 + np.concatenate([[0.0], np.cumsum([s for s, _ in experiment.schedule])])
        edges = planned + np.abs(random.normal(0, 5e-5, len(planned)))
        levels = [level for _, level in experiment.schedule]
        load = self._load(experiment, edges, np.array(levels))
        end = float(edges[-1]) + 0.3
        trace = observe(
            load,
            self.truth,
            self.channel,
            self.now_s,
            end,
            poll_s=experiment.interval_s,
            origin_ns=ORIGIN_NS,
            seed=int(random.integers(1 << 30)),
        )
        traces = [trace]
        if self.better:
            fine = min(0.005, self.truth.refresh_s / 20)
            truth = Truth(refresh_s=fine, window_s=fine, noise=0.3)
            traces.append(observe(load, truth, BETTER, self.now_s, end, origin_ns=ORIGIN_NS, seed=self.made))
        (place / "power").mkdir()
        tracing.write(place / "power" / "power.parquet", traces)
        _tell(place / "load.jsonl", edges, levels)
        self.now_s = end + float(random.uniform(0.5, 1.0))

    def _load(self, experiment: Experiment, edges: np.ndarray, levels: np.ndarray) -> Load:
        watts = IDLE_W + (FULL_W - IDLE_W) * levels
        if not self.warm_w or experiment.kind != "constant":
            return Load(edges[:-1], watts)
        after = np.arange(0.0, experiment.schedule[0][0], 1.0)
        warm = FULL_W - self.warm_w * np.exp(-after / 120.0)
        return Load(np.concatenate([edges[0] + after, edges[1:-1]]), np.concatenate([warm, watts[1:]]))


def _tell(path: Path, edges: np.ndarray, levels: Sequence[float]) -> None:
    """The events of the native load."""
    stamps = [ORIGIN_NS + round(float(edge) * 1e9) for edge in edges]
    told: list[dict[str, object]] = [{"event": "start", "program": "load"}]
    for index, level in enumerate(levels):
        for edge, stamp in (("begin", stamps[index]), ("end", stamps[index + 1])):
            told.append({"event": "phase", "name": "load", "edge": edge, "unix_ns": stamp, "label": f"{level:g}"})
    told.append({"event": "end", "ok": True})
    path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in told))
