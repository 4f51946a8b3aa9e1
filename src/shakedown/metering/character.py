"""What a meter does to the truth: reading = gain x (window * power)(t - delay) + offset, refreshed every so often.

The record that a characterisation leaves, and the store that keeps it beside the driver and firmware it holds for.
"""

from __future__ import annotations

from typing import Literal

from ..records import Notice, Record
from .meters import Channel


class Estimate(Record, frozen=True, kw_only=True):
    """A fitted value with its 95 % interval, by profile likelihood where that is not symmetric."""

    value: float
    low: float
    high: float

    @property
    def u(self) -> float:
        """The standard uncertainty that this interval amounts to."""
        return (self.high - self.low) / 3.92


class Character(Record, frozen=True, kw_only=True):
    """One channel, characterised. Times in seconds, gain without a unit, the rest in the channel's unit."""

    channel: Channel  # as it was, with device, firmware and driver
    made_ns: int
    kernel: Literal["point", "boxcar", "exponential", "boxcar+exponential"]
    refresh_s: Estimate | None = None
    window_s: Estimate | None = None  # length of the boxcar; 0 for a point
    tau_s: Estimate | None = None  # time constant of the exponential
    delay_s: Estimate | None = None  # between the end of the window and the stamp
    gain: Estimate | None = None  # None where no better meter was there: the reference is the commanded load
    offset: Estimate | None = None
    gain_offset_covariance: float | None = None
    reference: str = ""  # key of the channel that gain and offset are relative to
    resolution: float | None = None
    noise: float | None = None  # standard deviation of one reading at constant load
    nonlinearity: float | None = None  # largest departure from the line over the staircase
    warm_up_tau_s: float | None = None
    warm_up_rise: float | None = None  # W
    covered: float | None = None  # share of the time that readings see: window over refresh, at most 1
    method: str = ""
    notices: tuple[Notice, ...] = ()
