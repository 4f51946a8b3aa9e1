"""How waiting times, sizes and efficiencies are spread, and the use over time: what the page's figures are drawn from."""

from __future__ import annotations

from .capacity import Available
from .measure import DIMENSIONS, Measure
from .records import Bin, Spread, UsageOverTime
from .sums import WAIT

#: Edges of waiting times in seconds: as a clock parts them.
WAITS_S = (0, 1, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 259200, 604800)
#: Edges of the CPU time used over that allocated.
EFFICIENCIES = tuple(step / 10 for step in range(11))
#: Projects with a band of their own; the rest is one.
MOST_BANDS = 6
MOST_SPREADS = 5
OTHERS = "others"


def waits(measure: Measure) -> tuple[Spread, ...]:
    """Of runs that started in the window: all of them, then by partition, those with the most runs first."""
    rows = measure.store.rows(
        f"SELECT {DIMENSIONS['partition']}, {_place(WAIT, WAITS_S[1:])}, count(*), coalesce(sum(secs * cpus), 0) FROM parts "
        f"WHERE touches AND start_s >= {measure.begin_s} AND coalesce(eligible_s, submit_s) IS NOT NULL GROUP BY 1, 2"
    )
    sizes: dict[str, int] = {}
    for name, _, runs, _ in rows:
        sizes[name] = sizes.get(name, 0) + runs
    names = sorted(sizes, key=lambda name: (-sizes[name], name))
    found = [_spread("all", [row[1:] for row in rows], WAITS_S)]
    if len(names) > 1:
        found += [_spread(name, [row[1:] for row in rows if row[0] == name], WAITS_S) for name in names[:MOST_SPREADS]]
    return tuple(found)


def efficiencies(measure: Measure) -> tuple[Bin, ...]:
    """CPU time used over that allocated, of runs that ended in the window; above one counts as one."""
    share = "cpu_used_ms / (1000.0 * ran_s * cpus)"
    rows = measure.store.rows(
        f"SELECT {_place(share, EFFICIENCIES[1:-1])}, count(*), sum(ran_s * cpus) FROM runs WHERE touches AND NOT open "
        f"AND end_s <= {measure.end_s} AND cpu_used_ms IS NOT NULL AND ran_s * cpus > 0 GROUP BY 1"
    )
    return _spread("", rows, EFFICIENCIES).bins if rows else ()


def _place(value: str, edges: tuple[float, ...]) -> str:
    cases = " ".join(f"WHEN {value} < {edge} THEN {place}" for place, edge in enumerate(edges))
    return f"CASE {cases} ELSE {len(edges)} END"


def _spread(name: str, rows: list[tuple[int, ...]], edges: tuple[float, ...]) -> Spread:
    last = len(edges) - 1
    runs, cpu_s = [0] * (last + 1), [0] * (last + 1)
    for place, count, seconds in rows:
        runs[place] += int(count)
        cpu_s[place] += int(seconds)
    bins = [
        Bin(low=edges[place], high=edges[place + 1] if place < last else None, runs=runs[place], cpu_s=cpu_s[place])
        for place in range(last + 1)
        if place < last or runs[place]
    ]
    return Spread(name=name, bins=tuple(bins))


def period_of(begin_s: int, end_s: int) -> str:
    """The periods that a figure of a window shows."""
    days = (end_s - begin_s) / 86400
    return "day" if days <= 100 else "week" if days <= 700 else "month"


def courses(measure: Measure, kind: str, capacity: Available | None) -> tuple[UsageOverTime, ...]:
    """The use of each period by project, the greatest in CPU seconds (GPU seconds where there are no others) by name."""
    measure.period_base(kind, ("project",))
    rows = measure.store.rows(
        f"SELECT k_{kind}, k_project, sum(cpu_s), sum(gpu_s) FROM base_{kind} GROUP BY 1, 2 HAVING sum(runs) > 0 "
        "ORDER BY ALL"
    )
    sums: dict[str, tuple[int, int]] = {}
    for _, project, cpu_s, gpu_s in rows:
        before = sums.get(project, (0, 0))
        sums[project] = (before[0] + int(cpu_s), before[1] + int(gpu_s))
    named = _greatest(sums)
    found = []
    for period in measure.periods(kind):
        cpu: dict[str, int] = {}
        gpu: dict[str, int] = {}
        for name, project, cpu_s, gpu_s in rows:
            if name == period.name:
                band = project if project in named else OTHERS
                cpu[band] = cpu.get(band, 0) + int(cpu_s)
                gpu[band] = gpu.get(band, 0) + int(gpu_s)
        there = capacity.within("processors", period.begin_s, period.end_s) if capacity else None
        gpus = capacity.within("gpus", period.begin_s, period.end_s) if capacity else None
        found.append(
            UsageOverTime(
                name=period.name,
                begin_s=period.begin_s,
                end_s=period.end_s,
                cpu_s_of=cpu,
                gpu_s_of=gpu,
                cpu_s=sum(cpu.values()),
                gpu_s=sum(gpu.values()),
                capacity_cpu_s=there.there if there else None,
                capacity_gpu_s=gpus.there if gpus else None,
                down_cpu_s=there.down if there and capacity and capacity.watched else None,
            )
        )
    return tuple(found)


def _greatest(sums: dict[str, tuple[int, int]]) -> set[str]:
    by_cpu = sorted(sums, key=lambda name: (-sums[name][0], name))
    if len(by_cpu) <= MOST_BANDS + 1:
        return set(by_cpu)
    return set(by_cpu[:MOST_BANDS])
