"""A fleet of rack PDUs under one HPL run, each with nodes, noise and a step of its own, for tests to spoil."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shakedown.energy.green500 import levels, rules, submission
from shakedown.energy.green500.levels import Assessment
from shakedown.metering.meters import Channel, channel_key
from shakedown.metering.trace import Trace, trace

T0 = 1_790_000_000_000_000_000
SECOND = 10**9
CORE, RUN, IDLE = (0, 600), (-40, 640), (-560, -360)
PER_RACK = 24
#: What each rack does to its own readings: rack number, times in s, W -> W.
Spoil = Callable[[int, Any, Any], Any]


def watts(rack: int, t: Any, *, seed: int = 5, sigma: float = 120.0) -> Any:
    """The power of one rack, W: idle, fill, a fall through the core phase, each rack a little different, with noise."""
    random = np.random.default_rng([seed, rack])
    level = np.interp(t, [-45, -40, -1, 2, 300, 595, 603, 640, 645], [2.6, 7, 7, 15.4, 14.9, 12.2, 6, 6, 2.6]) * 1e3
    noise = np.convolve(random.normal(0, sigma, len(t)), [0.5, 0.3, 0.2], "same")
    return level * (1 + 0.02 * random.standard_normal()) + np.where(level > 3e3, noise, noise / 8)


def fleet(
    racks: int = 12,
    *,
    quantity: str = "energy",
    step: float = 3600.0,
    every_s: float = 5.0,
    spoil: Spoil = lambda rack, t, w: w,
    copies: dict[int, int] | None = None,
    scale: dict[int, float] | None = None,
    two_feeds: float = 0.0,
    feed_words: Callable[[int, str], dict[str, Any]] = lambda rack, side: {},
    watts_per_node: float | None = None,
) -> Assessment:
    """The verdict on a submission of so many racks. ``copies``: rack -> whose readings it shows; ``scale``: what a rack's
    readings are multiplied by; ``two_feeds``: the share that the A feed carries where every rack has two."""
    raw, traces = described(racks), {}
    raw["sets"][0] |= {"watts_per_node": watts_per_node} if watts_per_node else {}
    raw["feeds"] = []
    for rack in range(racks):
        t = np.arange(-600.0, 700.0)
        true = spoil(rack, t, watts((copies or {}).get(rack, rack), t)) * (scale or {}).get(rack, 1.0)
        for side, share in (("A", two_feeds), ("B", 1 - two_feeds)) if two_feeds else (("", 1.0),):
            name = f"rack{rack:03}{side}"
            one = metered(name, t, true * share, quantity, step, every_s, (copies or {}).get(rack, rack))
            traces[channel_key(one.channel)] = one
            nodes = f"n[{rack * PER_RACK + 1:05}-{(rack + 1) * PER_RACK:05}]"
            feed = {"name": name, "channel": channel_key(one.channel), "of": "cpu", "nodes": [nodes], "meter": "pdu"}
            raw["feeds"].append({**feed, **({"load": f"rack{rack:03}"} if two_feeds else {}), **feed_words(rack, side)})
    given = submission.assemble(submission.describe(raw, "fleet.toml"), traces)
    return levels.assess(given, rules.load())


def metered(name: str, t: Any, w: Any, quantity: str, step: float, every_s: float, rack: int) -> Trace:
    """What a PDU shows: a counter in whole steps, or the mean power of its interval in whole steps of 10 W."""
    every = round(every_s)
    at = slice((rack * 7) % every, None, every)
    energy = np.concatenate([[0.0], np.cumsum(w)[:-1]])
    if quantity == "energy":
        value = np.floor((3.6e9 + 1e6 * rack + energy[at]) / step) * step
        times = t[at]
    else:
        times = t[at][1:]
        least = min(step, 10.0)
        value = np.round(np.diff(energy[at]) / every / least) * least
    channel = Channel(
        id=f"snmp/{quantity}", host=name, title=name, quantity=quantity,  # type: ignore[arg-type]
        unit="J" if quantity == "energy" else "W", scope="counter" if quantity == "energy" else "last", place="rack",
    )  # fmt: skip
    return trace(channel, T0 + (times * SECOND).astype(np.int64), value)


def described(racks: int) -> dict[str, Any]:
    def stamps(at: tuple[int, int]) -> dict[str, int]:
        return {"begin_ns": T0 + at[0] * SECOND, "end_ns": T0 + at[1] * SECOND}

    return {
        "title": "Fleet",
        "traces": ["power.parquet"],
        "sets": [{"name": "cpu", "nodes": racks * PER_RACK}],
        "meters": [
            {
                "name": "pdu",
                "accuracy": {"reading": 0.005, "source": "data sheet"},
                "samples_hz": 10.0,
                "waveform_hz": 8000.0,
                "integrates": True,
            }
        ],
        "subsystems": [{"name": "fabric", "kind": "interconnect", "state": "not participating"}],
        "phases": {"core": stamps(CORE), "full_run": stamps(RUN), "idle": stamps(IDLE)},
        "performance": {"rmax": "1 Pflop/s"},
    }


def true_w(racks: int) -> float:
    """The mean power of all racks over the core phase."""
    t = np.arange(-600.0, 700.0)
    inside = (t >= CORE[0]) & (t < CORE[1])
    return float(sum(watts(rack, t)[inside].mean() for rack in range(racks)))
