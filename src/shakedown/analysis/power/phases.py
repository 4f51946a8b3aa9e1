"""What lies within a run: its steady window, the powers of the phases that its program marked, and a meter's answer to it.

Only channels of power take part where readings are looked at one by one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...energy import forward, phase, steady
from ...energy.clocks import meter_clock
from ...energy.response import cadence_s, response_of
from ...errors import ShakedownError
from ...metering.meters import UPSTREAM
from ...records import Measurement, MeterFit, Phase, PhaseShown, Quantity, SteadyWindow
from .cases import LEAST_REFRESHES, MOST_PHASES, Cases, Longest
from .readings import Read

#: What a page can hold, longest runs first.
MOST_RUNS, MOST_CHANNELS, MOST_FITS = 12, 3, 3
#: A meter that averages for longer than this many of its refreshes is slow: short phases are told through its model.
SLOW = 1.2
#: A phase whose energy is known to no better than this share of it is refused.
MOST_U = 0.5
#: Of a meter's fit: how many of its settling times (at least refreshes) before and after the run are shown.
AROUND = 3.0


def _chosen(made: Cases) -> list[Read]:
    """The channels that are looked at: upstream of the supply where there are any, those of power before counters."""
    readable = [one for one in made.channels if len(one.trace) > 1]
    upstream = [one for one in readable if one.trace.channel.place in UPSTREAM] or readable
    power = [one for one in upstream if one.trace.channel.quantity == "power"]
    return (power or upstream)[:MOST_CHANNELS]


# --------------------------------------------------------------------------------------------------------------- steady


def steady_windows(
    made: Cases, measurements: Sequence[Measurement], labels: Mapping[str, str], origin_ns: int
) -> tuple[SteadyWindow, ...]:
    """For the longest case of each run, on each channel of power: where it is steady, and the mean there; else why not."""
    found = []
    channels = [one for one in _chosen(made) if one.trace.channel.quantity == "power"]
    for record, longest in _longest_runs(made, measurements):
        for one in channels:
            if _long_enough(one, longest):
                found.append(_steady(one, longest, labels.get(record.run, record.workload), origin_ns))
    return tuple(window for window in found if window is not None)


def _longest_runs(made: Cases, measurements: Sequence[Measurement]) -> list[tuple[Measurement, Longest]]:
    pairs = [
        (record, made.longest_of_run[record.run, record.repeat])
        for record in measurements
        if record.state == "ok" and (record.run, record.repeat) in made.longest_of_run
    ]
    kept = sorted(pairs, key=lambda pair: pair[1].rank, reverse=True)[:MOST_RUNS]
    return sorted(kept, key=lambda pair: pair[0].begin_ns)


def _long_enough(one: Read, longest: Longest) -> bool:
    begin, end = longest.window
    return (end - begin) * 1e-9 >= steady.LEAST_READINGS * one.refresh_s


def _steady(one: Read, longest: Longest, label: str, origin_ns: int) -> SteadyWindow | None:
    try:
        found = steady.steady_of(one.trace, *longest.window)
        power = phase.power_of(
            one.trace,
            *longest.window,
            character=one.character,
            preset="auto",
            clock_u_s=one.clock.u_s,
            clock=one.device,
            name=f"steady power, {label}",
        )
    except ShakedownError:
        return None  # too few readings: the case has said so
    if power.value is None:
        return None
    return SteadyWindow(
        channel=one.key,
        run=label,
        begin_s=(found.begin_ns - origin_ns) * 1e-9,
        end_s=(found.end_ns - origin_ns) * 1e-9,
        steady=found.steady,
        power=power,
        why=found.why,
    )


# --------------------------------------------------------------------------------------------------------------- phases


def phase_rows(made: Cases, measurements: Sequence[Measurement], labels: Mapping[str, str]) -> tuple[PhaseShown, ...]:
    """Power and energy of every phase that a program marked, of the longest repeat of each run with two or more."""
    longest: dict[str, Measurement] = {}
    for record in measurements:
        if record.state == "ok" and len(record.phases) > 1:
            have = longest.get(record.run)
            if have is None or record.end_ns - record.begin_ns > have.end_ns - have.begin_ns:
                longest[record.run] = record
    kept = sorted(longest.values(), key=lambda one: one.end_ns - one.begin_ns, reverse=True)[:MOST_RUNS]
    found: list[PhaseShown] = []
    for record in sorted(kept, key=lambda one: one.begin_ns):
        label = labels.get(record.run, record.workload)
        phases = _following(record.phases)
        for one in _chosen(made):
            if one.trace.channel.host not in ("", record.host):
                continue
            if (record.end_ns - record.begin_ns) * 1e-9 >= LEAST_REFRESHES * one.refresh_s:
                found += _phases_of(one, label, phases)
    return tuple(found)


def _following(phases: Sequence[Phase]) -> list[Phase]:
    """Those that follow one another: what lies within another, or begins before it ends, is part of it."""
    kept: list[Phase] = []
    for one in sorted(phases, key=lambda each: (each.begin_ns, -each.end_ns)):
        if one.end_ns > one.begin_ns and (not kept or one.begin_ns >= kept[-1].end_ns):
            kept.append(one)
    return kept


def _phases_of(one: Read, label: str, phases: Sequence[Phase]) -> list[PhaseShown]:
    if len(phases) > MOST_PHASES:
        return []  # a program that marks each case: their energies stand among the findings
    response = response_of(one.trace, one.character)
    if response.smear_s > SLOW * cadence_s(one.trace, response):
        try:
            found = forward.phase_powers(
                one.trace, phases, character=one.character, clock_u_s=one.clock.u_s, clock=one.device
            )
        except ShakedownError:
            pass  # each by itself, below: what the meter cannot tell of a phase is in its uncertainty, or it is refused
        else:
            return [
                _told(one, label, each, "; ".join(notice.text for notice in found.notices)) for each in found.phases
            ]
    return [_by_itself(one, label, each) for each in phases]


def _told(one: Read, label: str, each: forward.PhasePower, doubts: str) -> PhaseShown:
    seconds = (each.end_ns - each.begin_ns) * 1e-9
    return PhaseShown(
        run=label,
        channel=one.key,
        name=each.name,
        seconds=seconds,
        power=each.power,
        energy=each.energy,
        state="told",
        why=doubts,
    )


def _by_itself(one: Read, label: str, each: Phase) -> PhaseShown:
    seconds = (each.end_ns - each.begin_ns) * 1e-9
    if seconds < LEAST_REFRESHES * one.refresh_s:
        return _refused(one, label, each, "shorter than two readings")
    energy: Quantity | None = None
    why = ""
    try:
        energy = phase.energy_of(
            one.trace, each.begin_ns, each.end_ns, clock_u_s=one.clock.u_s, clock=one.device, character=one.character
        )
        why = "; ".join(notice.text for notice in energy.notices) if energy.value is None else ""
    except ShakedownError as error:
        why = error.what
    if energy is None or energy.value is None or energy.expanded is None:
        return _refused(one, label, each, why)
    if energy.expanded > MOST_U * abs(energy.value):
        why = f"its energy would be known to within {energy.expanded / abs(energy.value or math.inf):.0%} only"
        return _refused(one, label, each, why)
    power = phase.power_of(
        one.trace, each.begin_ns, each.end_ns, clock_u_s=one.clock.u_s, clock=one.device, character=one.character
    )
    return PhaseShown(
        run=label, channel=one.key, name=each.name, seconds=seconds, power=power, energy=energy, state="told"
    )


def _refused(one: Read, label: str, each: Phase, why: str) -> PhaseShown:
    return PhaseShown(
        run=label,
        channel=one.key,
        name=each.name,
        seconds=(each.end_ns - each.begin_ns) * 1e-9,
        power=None,
        energy=None,
        state="refused",
        why=why,
    )


# ----------------------------------------------------------------------------------------------------------- the meter


def fits(made: Cases, origin_ns: int) -> tuple[MeterFit, ...]:
    """Each characterised channel of power beside its model, over the longest case and what surrounds it."""
    if not made.longest:
        return ()
    longest = max(made.longest.values(), key=lambda one: one.rank)
    known = [
        one
        for one in made.channels
        if one.character is not None and one.trace.channel.quantity == "power" and len(one.trace) > 1
    ]
    found = [_fit(one, longest, made, origin_ns) for one in known[:MOST_FITS]]
    return tuple(fit for fit in found if fit is not None)


def _fit(one: Read, longest: Longest, made: Cases, origin_ns: int) -> MeterFit | None:
    response = response_of(one.trace, one.character)
    around = round(AROUND * max(response.settle_s, response.refresh_s) * 1e9)
    begin, end = longest.window
    marks = [mark for mark in made.marks_ns if begin - around <= mark <= end + around]
    least = round(max(response.refresh_s, response.boxcar_s / 4) * 1e9)
    edges, _ = meter_clock.edges_of([*marks, begin, end], least)
    edges_ns = [int(edge) for edge in edges]
    if len(edges_ns) > MOST_PHASES:
        edges_ns = [begin, end]
    try:
        made_of = forward.fitted(one.trace, edges_ns, character=one.character)
    except ShakedownError:
        return None
    return MeterFit(
        channel=one.key,
        title=one.trace.channel.title or one.key,
        t_s=tuple(((made_of.t_ns - origin_ns) * 1e-9).tolist()),
        readings=tuple(made_of.readings.tolist()),
        model=tuple(made_of.model.tolist()),
        edges_s=tuple(((made_of.edges_ns - origin_ns) * 1e-9).tolist()),
        load=tuple(made_of.load.tolist()),
        residual_w=made_of.residual_w,
        expected_w=made_of.expected_w,
    )
