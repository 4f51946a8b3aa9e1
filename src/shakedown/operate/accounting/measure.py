"""What the jobs of a store add up to inside a window.

Cut in proportion: a run that crosses an edge counts with the part of its time that lies inside. Seconds up to an edge are
ran x (edge - start) // (end - start), in whole numbers, and a part is the difference of two of those, so that the parts of
neighbouring windows and of days add up to the whole exactly. Where nothing was suspended that is the time itself. Energy is
parted alike. What a run used is seconds x what was allocated to it (CPUs, GPUs, nodes), as Slurm's sreport and XDMoD count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import BadInput, unknown
from . import zones
from .columns import FAILED
from .loading import Store
from .records import Table, Use

PERIODS = ("day", "week", "month")
NOT_RECORDED = "not recorded"
#: Classes of size: up to so many CPUs, or GPUs.
_SIZES = (1, 4, 16, 64, 256, 1024, 4096, 16384)


def _classes(column: str) -> str:
    cases, low = [], 0
    for high in _SIZES:
        name = f"{high:,}" if high == low + 1 else f"{low + 1:,} to {high:,}"
        cases.append(f"WHEN {column} <= {high} THEN '{name}'")
        low = high
    return f"CASE WHEN NOT touches THEN 'not started' WHEN {column} IS NULL THEN '{NOT_RECORDED}' WHEN {column} = 0 THEN '0' {' '.join(cases)} ELSE 'more' END"


def _named(column: str) -> str:
    return f"coalesce(nullif({column}, ''), '{NOT_RECORDED}')"


#: What one can group by -> SQL.
DIMENSIONS: dict[str, str] = {
    **{name: _named(name) for name in ("user", "project", "partition", "qos", "cluster", "state")},
    "group": _named("unix_group"),
    "size": _classes("cpus"),
    "gpus": _classes("gpus"),
    "gpu": f"CASE WHEN gpus IS NULL THEN '{NOT_RECORDED}' WHEN gpus = 0 THEN 'none' ELSE coalesce(gpu_type, 'gpu') END",
}


def parse_by(text: str) -> tuple[tuple[str, ...], ...]:
    """``user,project+partition`` as groupings. Raises BadInput."""
    found = []
    for word in filter(None, (one.strip() for one in text.split(","))):
        names = tuple(word.replace("account", "project").replace("queue", "partition").split("+"))
        for name in names:
            if name not in (*DIMENSIONS, *PERIODS):
                raise unknown("grouping", name, (*DIMENSIONS, *PERIODS), where="--by")
        if len(names) != len(set(names)) or sum(name in PERIODS for name in names) > 1:
            raise BadInput(
                f"{word!r} names one thing twice", where="--by", hint="such as user, project+partition, day+project"
            )
        found.append(names)
    return tuple(dict.fromkeys(found))


# ------------------------------------------------------------------------------------------------------------- seconds


def upto(amount: str, edge: str, *, wide: bool = False) -> str:
    """SQL: how much of a run's ``amount`` lies before an edge; ``wide`` for amounts whose product needs 128 bits."""
    span = "nullif(end_s - start_s, 0)"
    number = f"CAST({amount} AS HUGEINT)" if wide else amount
    inside = f"least(greatest({edge}, start_s), end_s) - start_s"
    whole = f"CASE WHEN {edge} > start_s THEN {amount} ELSE 0 END"
    return f"(CASE WHEN end_s <= {edge} THEN {whole} ELSE coalesce({number} * ({inside}) // {span}, {whole}) END)"


def within(amount: str, begin: str, end: str, *, wide: bool = False) -> str:
    """SQL: how much of a run's ``amount`` lies from ``begin`` to ``end``."""
    parted = f"{upto(amount, end, wide=wide)} - {upto(amount, begin, wide=wide)}"
    return f"(CASE WHEN start_s >= {begin} AND start_s < {end} AND end_s <= {end} THEN {amount} ELSE {parted} END)"


def here(begin: str, end: str) -> str:
    """SQL: whether a run touches a stretch of time. One that took no time does where it began."""
    return f"(start_s < {end} AND (end_s > {begin} OR (end_s = start_s AND start_s >= {begin})))"


def _sums(begin: str, end: str) -> dict[str, str]:
    """Everything that can be added up, over rows of the view ``parts``."""
    ended = f"(touches AND NOT coalesce(open, false) AND end_s >= {begin} AND end_s < {end})"
    started = f"(touches AND start_s >= {begin})"
    failed = ", ".join(f"'{state}'" for state in FAILED)
    both = "memory_used_bytes IS NOT NULL AND memory_asked_bytes > 0"
    wait = "greatest(0, start_s - coalesce(eligible_s, submit_s))"
    waited = f"{started} AND {ended} AND coalesce(eligible_s, submit_s) IS NOT NULL"

    def total(of: str, where: str = "") -> str:
        return f"coalesce(sum({of}){f' FILTER (WHERE {where})' if where else ''}, 0)"

    return {
        "jobs": f"count(*) FILTER (WHERE touches AND (before_end_s IS NULL OR before_end_s <= {begin}))",
        "runs": "count(*) FILTER (WHERE touches)",
        "started": f"count(*) FILTER (WHERE {started})",
        "ended": f"count(*) FILTER (WHERE {ended})",
        "never": "count(*) FILTER (WHERE NOT touches)",
        "cpu_s": total("secs * cpus"),
        "gpu_s": total("secs * gpus"),
        "node_s": total("secs * nodes"),
        "no_cpus": "count(*) FILTER (WHERE touches AND cpus IS NULL)",
        "no_gpus": "count(*) FILTER (WHERE touches AND gpus IS NULL)",
        "no_nodes": "count(*) FILTER (WHERE touches AND nodes IS NULL)",
        "energy_j": total("joules"),
        "metered": "count(*) FILTER (WHERE touches AND energy_j IS NOT NULL)",
        "metered_s": total("secs * coalesce(nodes, cpus, 1)", "energy_j IS NOT NULL"),
        "meterable_s": total("secs * coalesce(nodes, cpus, 1)"),
        "wait_s": total(wait, waited),
        "waited_run_s": total("end_s - start_s", waited),
        "busy_ms": total("cpu_used_ms", f"{ended} AND cpus IS NOT NULL"),
        "busy_of_s": total("ran_s * cpus", f"{ended} AND cpu_used_ms IS NOT NULL"),
        "ended_cpu_s": total("ran_s * cpus", ended),
        "memory": total("CAST(memory_used_bytes AS DOUBLE) * ran_s", f"{ended} AND {both}"),
        "memory_of": total("CAST(memory_asked_bytes AS DOUBLE) * ran_s", f"{ended} AND {both}"),
        "memory_s": total("ran_s * coalesce(cpus, 1)", f"{ended} AND {both}"),
        "ended_s": total("ran_s * coalesce(cpus, 1)", ended),
        "limited_s": total("end_s - start_s", f"{ended} AND limit_s > 0"),
        "limits_s": total("limit_s", f"{ended} AND limit_s > 0"),
        "failed": f"count(*) FILTER (WHERE {ended} AND state IN ({failed}))",
        "failed_cpu_s": total("secs * cpus", f"state IN ({failed})"),
    }


class Measure:
    """A window over a settled store."""

    def __init__(self, store: Store, begin_s: int, end_s: int, zone: str) -> None:
        self.store, self.begin_s, self.end_s, self.zone = store, begin_s, end_s, zone
        low, high = str(begin_s), str(end_s)
        most, longest = store.one("SELECT max(energy_j), max(end_s - start_s) FROM jobs")
        self._wide = (most or 0) * (longest or 0) >= 2**63
        never = f"(start_s IS NULL AND coalesce(end_s, submit_s) >= {low} AND coalesce(end_s, submit_s) < {high})"
        store.db.execute(
            f"CREATE OR REPLACE TEMP VIEW runs AS SELECT *, start_s IS NOT NULL AS touches FROM jobs "
            f"WHERE (start_s IS NOT NULL AND {here(low, high)}) OR {never}"
        )
        store.db.execute(
            f"CREATE OR REPLACE TEMP VIEW parts AS SELECT *, CASE WHEN touches THEN {within('ran_s', low, high)} ELSE 0 END AS secs, "
            f"CASE WHEN touches THEN {within('energy_j', low, high, wide=self._wide)} END AS joules FROM runs"
        )
        self._bases: dict[str, tuple[str, ...]] = {}

    # ----------------------------------------------------------------------------------------------------- tables

    def tables(self, groupings: Sequence[tuple[str, ...]], *, shown: str = "") -> tuple[Table, ...]:
        """One table for each grouping; what they share is read once. ``shown`` is a period that figures will want by project."""
        plain = [names for names in groupings if not set(names) & set(PERIODS)]
        self._base("base", tuple(dict.fromkeys((*(name for names in plain for name in names), "gpu"))))
        for kind in PERIODS:
            names = [one for one in groupings if kind in one]
            more = ("project",) if kind == shown else ()
            if names:
                self.period_base(
                    kind, tuple(dict.fromkeys((*(name for one in names for name in one if name != kind), *more)))
                )
        return tuple(self._table(names) for names in groupings)

    def whole(self) -> Use:
        """Everything in the window as one row."""
        if "base" not in self._bases:
            self._base("base", ("gpu",))
        return self._table(()).rows[0]

    def _base(self, name: str, dims: tuple[str, ...]) -> None:
        if self._bases.get(name) == dims:
            return
        sums = ", ".join(f"{sql} AS {column}" for column, sql in _sums(str(self.begin_s), str(self.end_s)).items())
        keys = ", ".join(f"{DIMENSIONS[dim]} AS k_{dim}" for dim in dims)
        self.store.db.execute(
            f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {keys}, {sums} FROM parts GROUP BY {self._places(dims)}"
        )
        self._bases[name] = dims

    @staticmethod
    def _places(dims: Sequence[str]) -> str:
        return ", ".join(str(place + 1) for place in range(len(dims)))

    def period_base(self, kind: str, dims: tuple[str, ...]) -> None:
        """As ``_base``, with a run in every period that it touches."""
        if "gpu" not in dims:
            dims = (*dims, "gpu")
        if set(dims) <= set(self._bases.get(kind, ())):
            return
        self._spread(kind)
        sums = ", ".join(f"{sql} AS {column}" for column, sql in _sums("b", "e").items())
        keys = ", ".join(f"{DIMENSIONS[dim]} AS k_{dim}" for dim in dims)
        self.store.db.execute(
            f"CREATE OR REPLACE TEMP TABLE base_{kind} AS SELECT k_{kind}, {keys}, {sums} FROM (SELECT *, "
            f"CASE WHEN touches THEN {within('ran_s', 'b', 'e')} ELSE 0 END AS secs, "
            f"CASE WHEN touches THEN {within('energy_j', 'b', 'e', wide=self._wide)} END AS joules FROM spread_{kind}) "
            f"GROUP BY {self._places((kind, *dims))}"
        )
        self._bases[kind] = dims

    def _spread(self, kind: str) -> None:
        """The view ``spread_KIND``: each run once for every period that it touches, with the period's edges b and e."""
        found = self.periods(kind)
        known = zones.changes(self.zone, self.begin_s - 86400, self.end_s + 86400)
        ahead = f"{known[0].before_s if known else zones.offset_s(self.begin_s, self.zone)}"
        for one in known:
            ahead = f"CASE WHEN t >= {one.at_s} THEN {one.after_s} ELSE {ahead} END"
        days: list[tuple[int, int]] = []
        for place, period in enumerate(found):
            first, last = (
                zones.day_of(at, self.zone).toordinal() - 719163 for at in (period.begin_s, period.end_s - 1)
            )
            days += [(day, place) for day in range(first, last + 1)]
        self.store.db.execute(
            "CREATE OR REPLACE TEMP TABLE days AS SELECT unnest($a) AS day, unnest($b) AS place",
            {"a": [one[0] for one in days], "b": [one[1] for one in days]},
        )
        self.store.db.execute(
            f"CREATE OR REPLACE TEMP TABLE periods_{kind} AS SELECT unnest($p) AS place, unnest($n) AS k_{kind}, "
            "unnest($b) AS b, unnest($e) AS e",
            {
                "p": list(range(len(found))),
                "n": [one.name for one in found],
                "b": [one.begin_s for one in found],
                "e": [one.end_s for one in found],
            },
        )

        def day(at: str) -> str:
            clipped = f"least(greatest({at}, {self.begin_s}), {self.end_s} - 1)"
            return f"CAST(({clipped} + ({ahead.replace('t >=', f'{clipped} >=')})) // 86400 AS INTEGER)"

        first = "CASE WHEN touches THEN start_s ELSE coalesce(end_s, submit_s) END"
        last = f"greatest(CASE WHEN touches THEN end_s - 1 ELSE 0 END, {first})"
        self.store.db.execute(
            f"CREATE OR REPLACE TEMP VIEW spread_{kind} AS WITH placed AS (SELECT r.*, f.place AS first, l.place AS last FROM runs r "
            f"JOIN days f ON f.day = {day(first)} JOIN days l ON l.day = {day(last)}) "
            f"SELECT x.*, p.k_{kind}, p.b, p.e FROM (SELECT *, first AS at FROM placed WHERE first = last UNION ALL "
            f"SELECT *, unnest(range(first, last + 1)) AS at FROM placed WHERE first < last) x JOIN periods_{kind} p ON p.place = x.at"
        )

    def periods(self, kind: str) -> tuple[zones.Period, ...]:
        return zones.periods(kind, self.begin_s, self.end_s, self.zone)

    def _table(self, names: tuple[str, ...]) -> Table:
        period = next((name for name in names if name in PERIODS), "")
        base = f"base_{period}" if period else "base"
        keys = [f"k_{name}" for name in names]
        columns = list(_sums("0", "0"))
        added = [f"sum({one})" for one in columns]
        lead = "".join(f"{key}, " for key in keys)
        group = f"GROUP BY {', '.join(keys)}" if keys else ""
        rows = self.store.rows(f"SELECT {lead}{', '.join(added)} FROM {base} {group}")
        waits = self._waits(names, period)
        typed = self._types(base, keys)
        uses = []
        for row in rows:
            key, sums = tuple(row[: len(keys)]), dict(zip(columns, row[len(keys) :], strict=True))
            if names and not sums["runs"] and {"size", "gpus"} & set(names):
                continue  # what never started has no size
            uses.append(use(key, sums, waits.get(key, (None, None)), typed.get(key, {})))
        ordered = bool(period) or (len(names) == 1 and names[0] in ("size", "gpus"))
        if period:
            place = names.index(period)
            uses.sort(key=lambda one: (one.key[place], -(one.cpu_s or 0)))
        elif ordered:
            uses.sort(key=lambda one: _class_order(one.key[0]))
        else:
            uses.sort(key=lambda one: (-(one.cpu_s or 0), -(one.gpu_s or 0), one.key))
        return Table(by=names, rows=tuple(uses), additive=not period, ordered=ordered)

    def _waits(self, names: tuple[str, ...], period: str) -> dict[tuple[str, ...], tuple[int | None, int | None]]:
        """Median and 90 % of the waiting times of runs that started: the least wait that so many did not exceed."""
        source = f"spread_{period}" if period else "runs"
        begin = "b" if period else str(self.begin_s)
        if period:
            self._spread(period)
        keys = [f"k_{period}" if name == period else DIMENSIONS[name] for name in names]
        lead = "".join(f"{key}, " for key in keys)
        wait = "greatest(0, start_s - coalesce(eligible_s, submit_s))"
        rows = self.store.rows(
            f"SELECT {lead}quantile_disc({wait}, [0.5, 0.9]) FROM {source} WHERE touches AND start_s >= {begin} "
            f"AND coalesce(eligible_s, submit_s) IS NOT NULL {f'GROUP BY {self._places(keys)}' if keys else ''}"
        )
        return {tuple(row[:-1]): tuple(row[-1]) for row in rows if row[-1]}

    def _types(self, base: str, keys: list[str]) -> dict[tuple[str, ...], dict[str, int]]:
        lead = "".join(f"{key}, " for key in keys)
        rows = self.store.rows(
            f"SELECT {lead}k_gpu, sum(gpu_s) FROM {base} WHERE k_gpu NOT IN ('none', '{NOT_RECORDED}') "
            f"GROUP BY {self._places([*keys, 'gpu'])} HAVING sum(gpu_s) > 0 ORDER BY ALL"
        )
        found: dict[tuple[str, ...], dict[str, int]] = {}
        for row in rows:
            found.setdefault(tuple(row[: len(keys)]), {})[row[-2]] = int(row[-1])
        return found


def _class_order(name: str) -> float:
    word = name.split(" ")[0].replace(",", "")
    return float(word) if word.isdigit() else 1e9 if name == "more" else 2e9


def use(
    key: tuple[str, ...], sums: Mapping[str, Any], waits: tuple[int | None, int | None], types: dict[str, int]
) -> Use:
    """One row of a table from its sums. What no run recorded is None."""

    def told(column: str, missing: str) -> int | None:
        return None if sums["runs"] and sums[missing] >= sums["runs"] else int(sums[column])

    def ratio(of: str, over: str, factor: float = 1.0) -> float | None:
        return factor * float(sums[of]) / float(sums[over]) if sums[over] else None

    expansion = ratio("wait_s", "waited_run_s")
    return Use(
        key=key,
        jobs=int(sums["jobs"]),
        runs=int(sums["runs"]),
        started=int(sums["started"]),
        ended=int(sums["ended"]),
        never_started=int(sums["never"]),
        cpu_s=told("cpu_s", "no_cpus"),
        gpu_s=told("gpu_s", "no_gpus"),
        node_s=told("node_s", "no_nodes"),
        runs_without_cpus=int(sums["no_cpus"]),
        runs_without_gpus=int(sums["no_gpus"]),
        runs_without_nodes=int(sums["no_nodes"]),
        gpu_s_of_type=types,
        energy_j=int(sums["energy_j"]) if sums["metered"] else None,
        energy_seen=ratio("metered_s", "meterable_s") if sums["metered"] else None,
        wait_median_s=waits[0],
        wait_90_s=waits[1],
        expansion=None if expansion is None else 1 + expansion,
        cpu_efficiency=ratio("busy_ms", "busy_of_s", 1e-3),
        cpu_seen=ratio("busy_of_s", "ended_cpu_s"),
        memory_efficiency=ratio("memory", "memory_of"),
        memory_seen=ratio("memory_s", "ended_s"),
        limit_efficiency=ratio("limited_s", "limits_s"),
        failed=int(sums["failed"]),
        failed_cpu_s=int(sums["failed_cpu_s"]),
    )
