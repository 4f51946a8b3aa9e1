"""Traces of energies that are known: what the tests of one phase and of PRACE's arithmetic share."""

from __future__ import annotations

import numpy as np

from shakedown.energy import phase
from shakedown.energy.uncertainty.quantity import Quantity
from shakedown.metering import trace
from shakedown.metering.meters import Channel
from shakedown.metering.trace import Trace

ORIGIN = 1_700_000_000 * 10**9
SECOND = 10**9


def channel(**changed: object) -> Channel:
    known: dict[str, object] = {
        "id": "m/power", "title": "power", "quantity": "power", "unit": "W", "scope": "last", "place": "node",
    }  # fmt: skip
    return Channel(**{**known, **changed})  # type: ignore[arg-type]


COUNTER = {"id": "m/energy", "quantity": "energy", "unit": "J", "scope": "counter"}


def constant(watts: float, seconds: float, **changed: object) -> Trace:
    """What a perfect meter shows of a constant load; ten readings a window, and one on both sides."""
    count = 12
    t = np.round((np.arange(count) + 1) * (seconds / (count - 2) * 1e9)).astype(np.int64) - round(seconds / 10 * 1e9)
    return trace.trace(channel(**changed), ORIGIN + t, np.full(count, watts))


def joules(watts: float, seconds: float, **changed: object) -> Quantity:
    return phase.energy_of(constant(watts, seconds, **changed), ORIGIN, ORIGIN + round(seconds * 1e9))
