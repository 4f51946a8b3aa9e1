"""What a report shows of meters beyond ``records.PowerView``: steady windows, phase powers, a meter's fitted answer.

They lie here, as a kind of PowerView, so that what makes them (analysis/power) and what draws them (report/_power.py) share
them without numpy.
"""

from __future__ import annotations

from typing import Literal

from ..records import PowerView, Quantity, Record


class SteadyWindow(Record, frozen=True, kw_only=True):
    """Where the power of one run was steady on one channel, or why nowhere. Seconds after ``begin_ns`` of the view."""

    channel: str
    run: str
    begin_s: float
    end_s: float
    steady: bool
    power: Quantity  # the mean of the window; of the whole run, or what it would settle to, where it is not steady
    why: str


class PhaseShown(Record, frozen=True, kw_only=True):
    """One phase that a program marked, or several that this meter can only tell together."""

    run: str
    channel: str
    name: str
    seconds: float
    power: Quantity | None  # None: refused
    energy: Quantity | None
    state: Literal["told", "together", "refused"]
    why: str = ""


class MeterFit(Record, frozen=True, kw_only=True):
    """Readings beside what the characterised meter would have said of the load that explains them best: constant power in
    every stretch between two edges. Times in seconds after ``begin_ns`` of the view, powers in W."""

    channel: str
    title: str
    t_s: tuple[float, ...]  # stamps, on the host's clock
    readings: tuple[float, ...]  # with gain and offset taken out
    model: tuple[float, ...]
    edges_s: tuple[float, ...]  # of the load: one more than powers
    load: tuple[float, ...]
    residual_w: float
    expected_w: float | None  # what the meter's noise and resolution would leave


class PowerShown(PowerView, frozen=True, kw_only=True):
    """A view with all of it."""

    steady: tuple[SteadyWindow, ...] = ()
    phases: tuple[PhaseShown, ...] = ()
    fits: tuple[MeterFit, ...] = ()
