"""What the meters saw, as a report shows it: lines for the eye, what ran when, each meter and how well it answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...energy.counters import unroll
from ...metering.meters import channel_key
from ...metering.trace import Trace
from ...records import Measurement, MeterSeen, PowerLine, PowerSpan, PowerView
from ...units import show_seconds
from . import phases
from .cases import Cases
from .readings import Read, span

#: Stretches of a line: what an eye tells apart on a page.
STRETCHES = 400


def view(made: Cases, measurements: Sequence[Measurement], labels: Mapping[str, str]) -> PowerView:
    """Everything that is shown of the meters."""
    begin_ns, end_ns = span(made.channels)
    spans = [
        PowerSpan(
            name=labels.get(one.run, one.workload),
            kind="run",
            begin_s=(one.begin_ns - begin_ns) * 1e-9,
            end_s=(one.end_ns - begin_ns) * 1e-9,
        )
        for one in measurements
    ]
    spans += [
        PowerSpan(name="idle", kind="idle", begin_s=(begin - begin_ns) * 1e-9, end_s=(end - begin_ns) * 1e-9)
        for begin, end in made.idle
    ]
    parts = made.parts()
    return PowerView(
        begin_ns=begin_ns,
        parts=parts,
        lines=tuple(line for one in made.channels if (line := _line(one.trace, begin_ns, end_ns)) is not None),
        spans=tuple(sorted(spans, key=lambda one: one.begin_s)),
        meters=tuple(_seen(one) for one in made.channels),
        budgets=made.budgets,
        notices=tuple(made.notices()),
        steady=phases.steady_windows(made, measurements, labels, begin_ns),
        phases=phases.phase_rows(made, measurements, labels),
        fits=phases.fits(made, begin_ns),
    )


def _line(one: Trace, begin_ns: int, end_ns: int) -> PowerLine | None:
    """A channel's power in stretches: a counter's from its differences. None where fewer than two readings count."""
    good = one.take(one.ok)
    t_s, watts = good.seconds(begin_ns), good.value
    if one.channel.scope == "counter":
        counted = unroll(one, most_w=one.channel.most_w)
        t_s = (counted.t_ns - begin_ns).astype(np.float64) * 1e-9
        steps = np.diff(counted.energy_j) / np.maximum(np.diff(t_s), 1e-9)
        t_s, watts = t_s[1:], steps
        finite = np.isfinite(watts)
        t_s, watts = t_s[finite], watts[finite]
    if len(watts) < 2:
        return None
    span = max((end_ns - begin_ns) * 1e-9, 1e-9)
    count = int(min(STRETCHES, max(2, len(watts))))
    index = np.minimum((t_s / span * count).astype(int), count - 1)
    kept = [np.flatnonzero(index == i) for i in range(count)]
    kept = [rows for rows in kept if len(rows)]
    return PowerLine(
        channel=channel_key(one.channel),
        title=one.channel.title,
        host=one.channel.host,
        place=one.channel.place,
        unit="W",
        t_s=tuple(float(np.mean(t_s[rows])) for rows in kept),
        mean=tuple(float(np.mean(watts[rows])) for rows in kept),
        low=tuple(float(np.min(watts[rows])) for rows in kept),
        high=tuple(float(np.max(watts[rows])) for rows in kept),
    )


def _seen(one: Read) -> MeterSeen:
    channel = one.trace.channel
    window = f"{show_seconds(channel.window_s)} " if channel.window_s else ""
    words = {
        "point": "the power at its stamp",
        "last": f"the mean of the {window}before its stamp" if window else "the mean since the reading before",
        "next": f"the mean of the {window}after its stamp" if window else "the mean until the reading after",
        "counter": "the energy so far",
    }
    clock = one.clock.text()
    return MeterSeen(
        channel=one.key,
        title=channel.title,
        place=channel.place,
        stands_for=words[channel.scope],
        readings=int(one.trace.ok.sum()),
        missing=int(len(one.trace) - one.trace.ok.sum()),
        refresh_s=one.refresh_s if len(one.trace) else None,
        characterised=one.character is not None,
        note="; ".join(filter(None, (channel.note, clock[:1].upper() + clock[1:]))),
    )
