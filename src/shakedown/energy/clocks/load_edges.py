"""Whether the edges of a load tell a clock: a step of the power does, a ramp does not, and rises and falls must agree.

About each mark, with a clock's offset taken out, the power before (L0) and after (L1) and the energy between them give the
time of the step: t = end - sum of (r_k - L0) D_k / (L1 - L0). A program that starts to draw power late, or falls before its
mark, moves rises and falls apart, where a clock that is off moves them together."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...metering.trace import Floats

#: About each mark the step is looked for within this many of the meter's steps, or a third of the way to the next mark; as
#: far again to either side lie the levels.
_REACH = 4.0
#: By so much of the time between readings a stamp may be off that counts as before or after a step.
_SLACK = 0.1
#: A level that moves by more than this share of the step within its own stretch belongs to a ramp.
_DRIFT = 0.1
#: Steps smaller than this share of the greatest tell nothing; nor do those of less than so many times the scatter.
_PLAIN, _ABOVE_SCATTER = 0.2, 5.0
_LEVEL = 0.05  # of a step: so near to the power before or after it a reading is of that
_MANY, _IN_PHASE = 6, 0.02  # edges, and the spread of their widths, from which their phases are not all alike
_NOTHING = 0.02  # of the range of the power: no step and no ramp
#: One run alone may begin to draw power late and end early by chance of one amount: so many rises and falls must say the
#: same. Meters as fast as this tell such an amount from a clock by one of each, since the two must agree to a part of their
#: step.
_FEWEST, _FAST_S = 2, 2.0
#: Rises and falls agree within this many of their standard uncertainties.
_AGREE = 3.0


class Edges(NamedTuple):
    """Of the marks at which the power moves: when it steps after each, in s, by how much it rises, and how many are
    ramps."""

    late_s: Floats
    step_w: Floats
    ramps: int
    u_s: float  # of one of ``late_s``
    unit_s: float  # over how long a step spreads in the readings
    ramp_s: float = 0.0  # how long the power takes to rise or fall, beyond what the meter makes of a step


def look(
    t_s: Floats, w: Floats, edges_s: Floats, smear_s: float, cadence_s: float, points: bool, kernel_s2: float = 0.0
) -> Edges:
    """``t_s``: stamps of readings less what their kernel delays them by, so that a step at a mark is centred on it;
    ``kernel_s2``: that kernel's variance."""
    unit = max(smear_s, cadence_s)
    widths: list[float] = []
    spread = float(np.median(np.abs(np.diff(w, 2)))) / (0.6745 * math.sqrt(6)) if len(w) > 2 else 0.0
    late, steps, ramps = [], [], 0
    # Readings that saw nothing of a step are stamped so long before it, and after it.
    ahead, behind = (
        max(smear_s - cadence_s, 0.0) / 2 + _SLACK * cadence_s,
        (smear_s + cadence_s) / 2 + _SLACK * cadence_s,
    )
    between = np.diff(edges_s, prepend=float(t_s[0]) - behind, append=float(t_s[-1]) + ahead)
    for edge, gap_before, gap_after in zip(edges_s, between[:-1], between[1:], strict=True):
        before, after = _half(gap_before, ahead, unit), _half(gap_after, behind, unit)
        low = w[(t_s > edge - min(before + _REACH * unit, gap_before - behind)) & (t_s <= edge - before)]
        high = w[(t_s > edge + after) & (t_s <= edge + min(after + _REACH * unit, gap_after - ahead))]
        cut = (t_s > edge - before) & (t_s <= edge + after)
        if not (len(low) and len(high) and np.any(cut)):
            continue
        step = float(high.mean() - low.mean())
        if abs(step) <= max(_ABOVE_SCATTER * spread, _NOTHING * float(np.ptp(w))):
            continue
        if max(_moves(low), _moves(high)) > _DRIFT * abs(step) + 2 * spread:
            ramps += 1
            continue
        at = t_s[cut]
        length = np.diff(at, prepend=float(at[0]) - cadence_s)
        risen = float(((w[cut] - low.mean()) * length).sum()) / step
        late.append(float(at[-1]) - risen - edge)
        steps.append(step)
        level = max(_LEVEL, 4 * spread / abs(step))
        widths.append(_width_s2(np.append(at[0] - cadence_s, at), (w[cut] - low.mean()) / step, level))
    found, sizes = np.array(late), np.array(steps)
    plain = np.abs(sizes) >= _PLAIN * np.abs(sizes).max() if len(sizes) else np.zeros(0, bool)
    least = float(np.abs(sizes[plain]).min()) if plain.any() else math.inf
    u = spread / least * unit * math.sqrt(2 * _REACH)
    return Edges(
        found[plain],
        sizes[plain],
        ramps,
        math.hypot(u, cadence_s / math.sqrt(12) if points else 0.02 * cadence_s),
        unit,
        _ramp_s(np.array(widths)[plain], kernel_s2, 0.0 if points else cadence_s) if plain.any() else 0.0,
    )


def _width_s2(t_s: Floats, share: Floats, level: float) -> float:
    """The variance of when the power rose, of what share of the step each reading shows; what is within ``level`` of the
    power before or after is that power."""
    plain = np.where(share < level, 0.0, np.where(share > 1 - level, 1.0, share))
    rose = np.diff(plain, prepend=0.0, append=1.0)
    middle = np.append((t_s[1:] + t_s[:-1]) / 2, t_s[-1])
    mean = float(np.sum(rose * middle))
    return max(0.0, float(np.sum(rose * (middle - mean) ** 2)))


def _ramp_s(widths_s2: Floats, kernel_s2: float, cadence_s: float) -> float:
    """The length of a ramp that makes the steps wider than the meter makes them, R^2 / 12; 0 where that may be chance.
    Rises and falls that take as long move together, as by a clock that is off by half of it.

    Averages over a cadence c show a step wider by c^2 / 12 in the mean, by twice that where all edges meet the readings in
    the same phase.
    """
    count, spread = len(widths_s2), float(widths_s2.std())
    in_phase = count < _MANY or spread < _IN_PHASE * cadence_s**2
    chance = max(2 * spread / math.sqrt(count), cadence_s**2 / 12 if in_phase else 0.0)
    wider = float(widths_s2.mean()) - kernel_s2 - cadence_s**2 / 12
    return math.sqrt(12 * wider) if wider > chance else 0.0


def _half(gap_s: float, least_s: float, unit_s: float) -> float:
    """How far from a mark its step is looked for: no further than what a reading needs where the next mark is near."""
    return least_s if gap_s < 6 * unit_s else min(_REACH * unit_s, max(gap_s / 3, least_s))


def _moves(level: Floats) -> float:
    """How far a level moves within its own stretch."""
    half = len(level) // 2
    return abs(float(level[half:].mean() - level[:half].mean())) if half else 0.0


def doubt(found: Edges, offset_s: float) -> str:
    """Why an offset that was taken out before ``look`` is not to be believed; empty where it is."""
    rises, falls = found.late_s[found.step_w > 0], found.late_s[found.step_w < 0]
    if found.ramps > len(found.late_s) / 4:
        return f"the power ramps at {found.ramps} of {found.ramps + len(found.late_s)} edges, and a ramp marks no time"
    fewest = 1 if found.unit_s <= _FAST_S else _FEWEST
    if min(len(rises), len(falls)) < fewest:
        return f"the power rises in a step at {len(rises)} edges and falls at {len(falls)}: {fewest} of each are needed"
    apart = float(rises.mean() - falls.mean())
    u = max(found.u_s, float(found.late_s.std()) / math.sqrt(len(found.late_s))) * math.sqrt(
        1 / len(rises) + 1 / len(falls)
    )
    if abs(apart) > _AGREE * max(u, found.u_s):
        when = "later" if apart > 0 else "earlier"
        return f"it rises {abs(apart):.2g} s {when} after its marks than it falls: that is the load"
    with_s, without_s = (float(np.sqrt(np.mean((found.late_s + by) ** 2))) for by in (0.0, offset_s))
    if with_s > 0.5 * without_s and abs(offset_s) > _AGREE * found.u_s:
        return f"an offset of {offset_s:+.2g} s would not make the steps lie better on their marks"
    return ""
