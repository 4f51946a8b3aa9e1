"""A clock that is right is not moved by a power that ramps after its marks, and one that is off still is."""

from __future__ import annotations

import numpy as np
import pytest

from shakedown.energy.clocks import meter_clock
from shakedown.metering.meters import Channel
from shakedown.metering.trace import Trace, trace

T0 = 1_790_000_000 * 10**9


def recorded(seed: int, *, ramps: bool, ahead_s: float = 0.0) -> tuple[Trace, list[int]]:
    """Four runs whose power rises and falls over up to 15 s after their marks, read as points or averages."""
    random = np.random.default_rng([17, seed])
    every = float(random.choice([1.0, 2.0, 5.0, 10.0]))
    rise, fall = random.uniform(0.1, 15.0, 2) if ramps else (0.0, 0.0)
    at, x, y, marks = 100.0, [0.0, 100.0], [300.0, 300.0], []
    for _ in range(4):
        length = float(random.uniform(120, 300))
        x += [at + rise + 1e-3, at + length, at + length + fall + 1e-3, at + length + 100]
        y += [1500.0, 1300.0, 300.0, 300.0]
        marks += [at, at + length]
        at += length + 100
    fine = np.arange(0.0, at, 0.05)
    power = np.interp(fine, x, y) + random.normal(0, 10, len(fine))
    energy = np.concatenate([[0.0], np.cumsum(power) * 0.05])
    t = np.arange(random.uniform(0, every), at - 1, every)
    averages = seed % 2 == 0
    if averages:
        value = np.diff(np.interp(t, np.append(fine, at), energy)) / every
        t = t[1:]
    else:
        value = np.interp(t, fine, power)
    channel = Channel(
        id="x/p", title="p", quantity="power", unit="W", scope="last" if averages else "point", place="node", host="n",
        stamped="device", refresh_s=every, window_s=every if averages else None,
    )  # fmt: skip
    stamps = T0 + np.round((t + ahead_s) * 1e9).astype(np.int64)
    return trace(channel, stamps, np.round(value, 1)), [T0 + round(one * 1e9) for one in marks]


@pytest.mark.parametrize("seed", [5, 29, *range(0, 24, 2)])
def test_ramps_move_no_clock(seed: int) -> None:
    found = meter_clock.estimate(*recorded(seed, ramps=True))
    assert found.how in ("assumed", "agrees"), (found.line, found.u_s)


@pytest.mark.parametrize("seed", [0, 5, 6, 8, 10])
def test_a_clock_that_is_off_is_found_where_the_power_steps(seed: int) -> None:
    found = meter_clock.estimate(*recorded(seed, ramps=False, ahead_s=7.0))
    assert found.how == "estimated" and found.line is not None
    assert found.line.offset_s.value == pytest.approx(7.0, abs=3 * found.u_s)
    assert found.u_s < 0.6 * recorded(seed, ramps=False)[0].channel.refresh_s  # type: ignore[operator]
