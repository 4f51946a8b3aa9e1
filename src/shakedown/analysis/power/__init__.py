"""What meters saw during a campaign -> power, energy and efficiency of every case, and the view that a report shows.

    readings   the channels of a run directory, with their characters, on the host's clock
    cases      energy of every case between its own marks (energy/phase.py), work over it, idleness, parts and rests
    phases     powers of the phases that a program marked, and the steady window of each run
    view       lines, spans, meters

A case that is too short for its meter has no energy, and the report says so. Channels upstream of the power supply give
``hpl.power``, ``hpl.energy``, ``hpl.energy_efficiency`` and ``hpl.edp``, which published figures may stand beside. A channel
of a part (a socket, a GPU) gives ``hpl.part_power`` and so on: a part's efficiency is no machine's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...records import Case, Finding, Measurement, Metric, PowerView
from ...results.run_directory import RunDirectory
from ..values import applies
from . import view as views
from .cases import MOST_BUDGETS, Cases
from .readings import idle_windows, marks_of, read_channels

__all__ = ["Power", "read", "together"]


class Power(NamedTuple):
    """What the analysis takes over."""

    findings: list[Finding]
    metrics: dict[str, tuple[Metric, ...]]  # by workload
    view: PowerView


def read(
    directory: RunDirectory,
    measurements: Sequence[Measurement],
    metrics: Mapping[str, Sequence[Metric]],
    labels: Mapping[str, str],
) -> Power | None:
    """Everything that the meters of a run directory say of its measurements; None where none was read.

    ``metrics`` is by workload, ``labels`` by run. Raises StoreFailed for readings that are damaged.
    """
    channels = read_channels(directory, measurements)
    if not channels:
        return None
    host = measurements[0].host if measurements else ""
    made = Cases(channels, idle_windows(measurements, channels), host, marks_of(measurements))
    for record in measurements:
        if record.state != "ok":
            continue
        for case in record.cases:
            known = metrics.get(record.workload, ())
            if metric := _rate_of(case, known):
                made.add(record, case, metric, _stem(metric, known))
    made.add_idle()
    made.warn(measurements, labels)
    view = views.view(made, measurements, labels)
    return Power(made.findings(), made.metrics, view)


def _rate_of(case: Case, metrics: Sequence[Metric]) -> Metric | None:
    """The rate that stands for a case: a headline's, else the first; None where it has none. A clock is no work."""
    rates = [
        one
        for one in metrics
        if one.kernel == case.kernel and one.per.endswith("/s") and one.unit.endswith("/s") and applies(one, case.work)
    ]
    return next((one for one in rates if one.headline), rates[0] if rates else None)


def _stem(metric: Metric, metrics: Sequence[Metric]) -> str:
    """What the figures of a rate are named after: ``hpl`` of ``hpl.rate``, the whole name where other kernels share that."""
    stem = metric.name.rpartition(".")[0]
    kernels = {one.kernel for one in metrics if one.per.endswith("/s") and one.name.rpartition(".")[0] == stem}
    return stem if stem and len(kernels) < 2 else metric.name


def together(powers: Sequence[Power]) -> Power:
    """Several run directories: their values and meters. Time lines are left to each directory's own report."""
    metrics: dict[str, tuple[Metric, ...]] = {}
    for one in powers:
        for name, group in one.metrics.items():
            have = {metric.name for metric in metrics.get(name, ())}
            metrics[name] = (*metrics.get(name, ()), *(metric for metric in group if metric.name not in have))
    view = PowerView(
        begin_ns=min(one.view.begin_ns for one in powers),
        meters=tuple(meter for one in powers for meter in one.view.meters),
        budgets=tuple(budget for one in powers for budget in one.view.budgets)[:MOST_BUDGETS],
        notices=tuple(dict.fromkeys(notice for one in powers for notice in one.view.notices)),
    )
    return Power([finding for one in powers for finding in one.findings], metrics, view)
