"""What a simulated meter does to a load: arithmetic that needs no numpy, on one time or on an array of them.

``simulate`` applies it to arrays; the meter ``simulated`` to one time after another, in a process that must not import
numpy. At a refresh made at t, the reading is

    gain x (mean power over the window that ended delay_s ago, or the power at that point) + offset + noise

in whole steps, and modulo the modulus; a counter holds gain x energy + offset x time since its zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from .trace import Floats

Times = TypeVar("Times", float, "Floats")


class Truth(NamedTuple):
    """What a simulated meter does. ``window_s`` 0 reads the power at a point; ``tau_s`` follows with an exponential."""

    refresh_s: float
    window_s: float = 0.0
    tau_s: float = 0.0
    delay_s: float = 0.0
    gain: float = 1.0
    offset: float = 0.0
    resolution: float = 0.0
    noise: float = 0.0
    phase_s: float = 0.0  # when the first refresh is
    clock_s: float = 0.0  # how far its stamps are ahead of true time, at the load's zero
    modulus: float | None = None  # counters
    drift: float = 0.0  # by how much its clock gains on true time, each second


def mean_w(truth: Truth, energy_j: Callable[[Times], Times], power_w: Callable[[Times], Times], at_s: Times) -> Times:
    """What a boxcar, or a point without one, sees at its refreshes; ``energy_j`` and ``power_w`` are the load's."""
    seen = at_s - truth.delay_s
    if not truth.window_s:
        return power_w(seen)
    return (energy_j(seen) - energy_j(seen - truth.window_s)) / truth.window_s


def count_j(truth: Truth, energy_j: Callable[[Times], Times], at_s: Times, zero_s: Times) -> Times:
    """What a counter has counted at its refreshes since the one at which it stood at zero."""
    gained = energy_j(at_s - truth.delay_s) - energy_j(zero_s - truth.delay_s)
    return truth.gain * gained + truth.offset * (at_s - zero_s)


def power_shown(truth: Truth, seen_w: Times, noise: Times) -> Times:
    """The reading before it is cut into steps; ``noise`` in standard deviations."""
    return truth.gain * seen_w + truth.offset + truth.noise * noise


def stepped(truth: Truth, value: Times) -> Times:
    """In whole steps, halves to the even one, and begun anew at the modulus."""
    if truth.resolution:
        above = value / truth.resolution + 0.5
        whole = above // 1
        value = (whole - (above == whole) * (whole % 2)) * truth.resolution
    return value % truth.modulus if truth.modulus else value


def stamp_s(truth: Truth, at_s: Times) -> Times:
    """What the device's own clock says."""
    return at_s + truth.clock_s + truth.drift * at_s
