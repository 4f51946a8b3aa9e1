"""Power of a phase, made up."""

from __future__ import annotations

import numpy as np

from shakedown.energy import simulate
from shakedown.energy.simulate import Load, Truth
from shakedown.energy.uncertainty import quantity
from shakedown.energy.uncertainty.quantity import Quantity
from shakedown.metering import trace
from shakedown.metering.trace import Trace
from support.energies import ORIGIN, SECOND, channel


def dgemm(
    seconds: float, *, window: float, refresh: float, rise: float = 50.0, tau: float = 200.0, seed: int = 0
) -> Trace:
    """CaSToRC's blade: repeated DGEMM, warming up by ``rise``, through a meter that averages; an idle node around it."""
    t = np.arange(0, seconds, 1.0)
    load = Load(
        np.concatenate([[-1000.0], t, [seconds]]), np.concatenate([[330.0], 711 - rise * np.exp(-t / tau), [330.0]])
    )
    truth = Truth(refresh_s=refresh, window_s=window, noise=2.0, resolution=1.0)
    return simulate.observe(load, truth, channel(), -300, seconds + 300, origin_ns=ORIGIN, seed=seed)


def noisy(n: int = 600, **changed: object) -> Trace:
    rng = np.random.default_rng(5)
    return trace.trace(channel(**changed), ORIGIN + (np.arange(n) + 1) * SECOND, 400 + rng.standard_normal(n))


def term(found: Quantity, name: str) -> quantity.Term:
    return next(one for one in found.terms if one.name == name)
