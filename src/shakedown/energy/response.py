"""What is known of how a channel answers the truth, from its record, its characterisation and the trace itself.

reading(t) = gain x (kernel * power)(t - delay) + offset. The kernel is a point, a boxcar of length W, an exponential with
time constant tau, or both in series. Whatever it is, a reading's centre of weight lies ``lag_s`` = delay + W/2 + tau before
its stamp. Corrections (gain, offset) are applied only where a characterisation against a better meter gave them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..metering.character import Character, Estimate
from ..metering.meters import Channel, Scope, channel_key
from ..metering.trace import Floats, Trace
from .refresh import counter_spacing_s, spacing_s
from .steps import counter_step, decimal_step, least_step

#: How many time constants until an exponential's rest does not count: e^-7 = 0.1 %.
SETTLED_TAUS = 7.0
#: A spacing above this many refreshes is a gap.
GAP = 2.5
#: Read more often than this many refreshes, a value is seen to repeat and its refresh to happen.
OFTEN = 0.7


class Response(NamedTuple):
    """Times in seconds, gain without a unit, the rest in the channel's unit."""

    key: str  # host:id of the channel
    scope: Scope
    refresh_s: float  # how often the device makes a new value
    window_s: float | None  # boxcar; None: not known, taken as one refresh where the scope says that it is an interval
    tau_s: float
    delay_s: float
    timing_u_s: float  # standard uncertainty of the lag, common to all readings
    age_u_s: float  # how old a value is when it is read, each reading by itself
    gain: float
    offset: float
    gain_u: float
    offset_u: float
    covariance: float  # of gain and offset
    calibrated: bool  # gain and offset are known against a better meter
    reference: str  # that meter's channel
    resolution: float  # the least step; 0 for a trace without a reading
    noise: float | None
    timing_known: bool = True  # whether its window or its delay is known, by statement or by characterisation
    dated: bool = True  # whether the stamps say when the values were made (``dates_values``)

    @property
    def boxcar_s(self) -> float:
        """The window that is reckoned with."""
        if self.window_s is not None:
            return self.window_s
        return 0.0 if self.scope in ("point", "counter") else self.refresh_s

    @property
    def lag_s(self) -> float:
        """From a reading's centre of weight to its stamp."""
        if self.scope == "next" and self.window_s is None:
            return self.delay_s - self.refresh_s / 2
        return self.delay_s + self.boxcar_s / 2 + self.tau_s

    @property
    def settle_s(self) -> float:
        """How long after a step a reading still holds something of what was before it."""
        return self.delay_s + self.boxcar_s + SETTLED_TAUS * self.tau_s

    @property
    def smear_s(self) -> float:
        """The boxcar that spreads as much as the whole kernel: sqrt(12) standard deviations."""
        return math.sqrt(self.boxcar_s**2 + 12 * self.tau_s**2)

    @property
    def covered(self) -> float:
        """The share of the time that readings see."""
        if self.scope == "counter":
            return 1.0
        return min(1.0, (self.boxcar_s + self.tau_s) / self.refresh_s) if self.refresh_s > 0 else 1.0


def response_of(trace: Trace, character: Character | None = None) -> Response:
    """All that is known of the trace's channel. The characterisation comes before the channel's own record; what neither
    says of the refresh period is taken from the trace."""
    channel = trace.channel
    spacing = counter_spacing_s if channel.quantity == "energy" else spacing_s
    refresh = _value(character.refresh_s if character else None) or channel.refresh_s or spacing(trace)
    window, tau, timing = channel.window_s, 0.0, 0.0
    delay = channel.delay_s or 0.0
    if character is not None:
        window = 0.0 if character.kernel in ("point", "exponential") else _value(character.window_s, window)
        tau = _value(character.tau_s) or 0.0 if "exponential" in character.kernel else 0.0
        delay = _value(character.delay_s, delay) or 0.0
        timing = math.sqrt(_u(character.delay_s) ** 2 + (_u(character.window_s) / 2) ** 2 + _u(character.tau_s) ** 2)
    age, age_u = _age(trace, refresh)
    gain = character.gain if character else None
    offset = character.offset if character else None
    return Response(
        key=channel_key(channel),
        scope="counter" if channel.quantity == "energy" else channel.scope,
        refresh_s=refresh,
        window_s=window,
        tau_s=tau,
        delay_s=delay if character is not None else delay + age,
        timing_u_s=timing,
        age_u_s=age_u,
        gain=_value(gain, 1.0) or 1.0,
        offset=_value(offset, 0.0) or 0.0,
        gain_u=_u(gain),
        offset_u=_u(offset),
        covariance=(character.gain_offset_covariance or 0.0) if character else 0.0,
        calibrated=gain is not None,
        reference=character.reference if character else "",
        resolution=_resolution(trace, channel, character),
        noise=character.noise if character else None,
        timing_known=character is not None
        or channel.quantity == "energy"
        or channel.window_s is not None
        or channel.delay_s is not None
        or channel.stamped == "device",
        dated=dates_values(trace),
    )


def has_own_stamps(trace: Trace) -> bool:
    """Whether the stamps are of another clock than this host's: the device's own, its file's, or those of who scraped it.
    They are taken as exact, or their half width as rounding; a host's lie between asking and answering."""
    return len(trace) > 0 and (trace.channel.stamped == "device" or not bool(np.any(trace.half_ns)))


def dates_values(trace: Trace) -> bool:
    """Whether the stamps say when the values were made. A host's, and those of a scrape, say when they were fetched."""
    return has_own_stamps(trace) and trace.channel.stamped != "scrape"


def _value(estimate: Estimate | None, otherwise: float | None = None) -> float | None:
    return estimate.value if estimate is not None else otherwise


def _u(estimate: Estimate | None) -> float:
    return estimate.u if estimate is not None else 0.0


def _age(trace: Trace, refresh_s: float) -> tuple[float, float]:
    """How old a value is when it is read, in the mean and as a standard uncertainty, where the stamp is the time of the
    reading and not the device's own (``dates_values``): anything up to a refresh; nothing in the mean where it is
    read often enough to see the refresh, which is then known to one reading (deduplicate.refreshed)."""
    if len(trace) < 2 or refresh_s <= 0:
        return 0.0, 0.0
    poll_s = float(np.median(np.diff(trace.t_ns))) * 1e-9
    if poll_s <= OFTEN * refresh_s:
        return 0.0, poll_s / math.sqrt(12)
    if dates_values(trace) and abs(poll_s / refresh_s - 1) < 0.02:
        return 0.0, 0.0
    return refresh_s / 2, refresh_s / math.sqrt(12)


def _resolution(trace: Trace, channel: Channel, character: Character | None) -> float:
    """The least step of its values: what is stated or characterised; what the readings show where nothing is, and of a
    counter also where it is coarser than what is stated. Never nothing: what no step shows of has at least its own last
    figure."""
    known = character.resolution if character and character.resolution is not None else channel.resolution
    values = trace.value[trace.ok]
    if channel.quantity == "energy":
        return max(known or 0.0, counter_step(values))
    if known:
        return known
    return least_step(trace) or (decimal_step(values) if len(values) else 0.0)


def scatter(values: Floats) -> float:
    """The standard deviation of readings about a load that changes slowly or in few steps: median |difference| / 0.954."""
    if len(values) < 3:
        return 0.0
    return float(np.median(np.abs(np.diff(values)))) / (0.6745 * math.sqrt(2))


def cadence_s(trace: Trace, response: Response) -> float:
    """How often a new value is in the trace: the refresh, or the spacing of the readings where that is longer."""
    if len(trace) < 2:
        return response.refresh_s
    return max(response.refresh_s, float(np.median(np.diff(trace.t_ns))) * 1e-9)


def step_answer(response: Response, x_s: Floats) -> Floats:
    """What a reading stamped ``x_s`` after a unit step shows of it: 0 before the delay, 1 when all is settled."""
    return kernel_answer(np.asarray(x_s, float) - response.delay_s, response.boxcar_s, response.tau_s)


def kernel_answer(x: Floats, window: float, tau: float) -> Floats:
    """The kernel's integral from 0 to x: boxcar x/W; exponential 1 - e^(-x/tau); both in series: the integral of the one
    over the window of the other; a point: a step."""
    if tau <= 0 and window <= 0:
        return np.where(x >= 0, 1.0, 0.0)
    if tau <= 0:
        return np.clip(x / window, 0.0, 1.0)
    if window <= 0:
        out: Floats = -np.expm1(-np.maximum(x, 0.0) / tau)
        return out

    def ramp(y: Floats) -> Floats:
        positive = np.maximum(y, 0.0)
        found: Floats = positive + tau * np.expm1(-positive / tau)
        return found

    return (ramp(x) - ramp(x - window)) / window


def caught(smear_s: float, length_s: float) -> float:
    """Of a constant load's energy above its surroundings, the share that readings show between its ends when they are moved
    back by their lag: 1 - w/(4T) for a boxcar w <= 2T, T/w for longer ones; any kernel counts as the boxcar that spreads
    as much. What is missing lies before and after."""
    if smear_s <= 0 or length_s <= 0:
        return 1.0
    return 1 - smear_s / (4 * length_s) if smear_s <= 2 * length_s else length_s / smear_s
