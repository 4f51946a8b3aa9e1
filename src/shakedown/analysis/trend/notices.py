"""What a reader of a history must know besides: why a rate is not held, where a series ends, hosts that may be one. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...records import Host, Notice, TrendSeries
from ...times import utc_day
from .gather import HistoryRun, params_of

#: A series that so many later runs of its host do not have has ended.
_ENDED = 3


def of_series(one: TrendSeries, last: int, runs: Sequence[HistoryRun]) -> tuple[Notice, ...]:
    """Of one series, whose last value is of the run ``last``."""
    found = []
    if one.by_day:
        found.append(
            Notice(
                code="by-day", text="runs of one day resemble each other more than those of others: a point is a day"
            )
        )
    if one.rate_held == "not held" and not one.correlation:
        found.append(
            Notice(
                code="too-often",
                text=f"{one.points_per_year or 0:,.0f} runs a year are more than the limits reach: the rate of false alarms "
                "is higher than chosen",
                advice="follow some of the runs alone, or allow more with --rate",
            )
        )
    elif one.rate_held != "held":
        how = "approximately" if one.rate_held == "approximate" else "not"
        found.append(
            Notice(
                code="correlated",
                text=f"a run resembles the one before it (correlation {one.correlation:.2f}): the rate of false alarms is "
                f"{how} held, and changes are found later",
                advice="find what lasts from run to run (heat, neighbours), or measure after it has ended",
            )
        )
    later = [run for run in runs[last + 1 :] if (one.host, one.workload) in run.measured]
    if len(later) >= _ENDED:
        other = sorted({_apart(one, run) for run in later[:_ENDED]} - {""})
        found.append(
            Notice(
                code="ended",
                text=f"the {len(later)} later runs of {one.workload} have no such value"
                + (f": they are with {'; '.join(other)}" if other else ""),
                advice="values with other parameters, or under other circumstances, are a series of their own",
            )
        )
    return tuple(found)


def _apart(one: TrendSeries, run: HistoryRun) -> str:
    """The parameters by which a later run's values of the metric differ, where a single one does."""
    for key in run.values:
        if (key.host, key.workload, key.metric) == (one.host, one.workload, one.metric):
            params = params_of(key)
            names = [name for name in {**one.params, **params} if params.get(name) != one.params.get(name)]
            if len(names) == 1:
                return f"{names[0]} {params.get(names[0], 'none')} instead of {one.params.get(names[0], 'none')}"
    return ""


def of_hosts(runs: Sequence[HistoryRun]) -> tuple[Notice, ...]:
    """Hosts of which one ended where another of the same parts began: they may be one, under two names."""
    spans: dict[str, tuple[int, int]] = {}
    parts: dict[str, object] = {}
    for index, run in enumerate(runs):
        for name in {key.host for key in run.values}:
            spans[name] = (spans.get(name, (index, 0))[0], index)
        for host in run.machine.hosts:
            parts[host.name] = parts_of(host)
    found = []
    for old, (_, ended) in spans.items():
        began = [
            new for new, (begun, _) in spans.items() if begun > ended and parts.get(new) == parts.get(old) is not None
        ]
        if len(began) == 1 and sum(parts.get(one) == parts.get(old) for one in spans) == 2:
            found.append(
                Notice(
                    code="renamed",
                    text=f"{old} ends on {utc_day(runs[ended].at_ns * 1e-9)}, and {began[0]} with the same parts begins "
                    "after it: if it is the same machine, their histories are one",
                    advice=f"--renamed {old}={began[0]}",
                )
            )
    return tuple(found)


def parts_of(host: Host) -> object:
    """What makes two hosts alike: processor, cores, memory, GPUs."""
    gpus = tuple(one.name for one in host.gpus)
    return host.cpu.model, len(host.cpu.cores), round(host.memory.total_bytes / 2**32), gpus
