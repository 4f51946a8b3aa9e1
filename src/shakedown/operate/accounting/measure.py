"""What the jobs of a store add up to inside a window.

Cut in proportion: a run that crosses an edge counts with the part of its time that lies inside (``sums``), and with
that part of its energy. What a run used is seconds x what was allocated to it (CPUs, GPUs, nodes), as Slurm's sreport
and XDMoD count.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from ... import times
from ...errors import BadInput, unknown
from ...units import whole_number
from . import zones
from .loading import Store
from .records import Table, Use
from .sums import INSIDE, WAIT, all_sums, here, never, rows_of, within

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
    return (
        f"CASE WHEN NOT touches THEN 'not started' WHEN {column} IS NULL THEN '{NOT_RECORDED}' WHEN {column} = 0 THEN '0' "
        f"{' '.join(cases)} ELSE 'more' END"
    )


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


class Measure:
    """A window over a settled store."""

    def __init__(self, store: Store, begin_s: int, end_s: int, zone: str) -> None:
        self.store, self.begin_s, self.end_s, self.zone = store, begin_s, end_s, zone
        low, high = str(begin_s), str(end_s)
        most, longest = store.one("SELECT max(energy_j), max(end_s - start_s) FROM jobs")
        self._wide = (most or 0) * (longest or 0) >= 2**63
        store.db.execute(
            f"CREATE OR REPLACE TEMP VIEW runs AS SELECT *, start_s IS NOT NULL AS touches FROM jobs "
            f"WHERE (start_s IS NOT NULL AND {here(low, high)}) OR {never(low, high)}"
        )
        store.db.execute(
            f"CREATE OR REPLACE TEMP VIEW parts AS SELECT *, CASE WHEN touches THEN {within('ran_s', low, high)} ELSE "
            "0 END AS secs, "
            f"CASE WHEN touches THEN {within('energy_j', low, high, wide=self._wide)} END AS joules FROM runs"
        )
        self._bases: dict[str, tuple[str, ...]] = {}

    # ----------------------------------------------------------------------------------------------------- tables

    def tables(self, groupings: Sequence[tuple[str, ...]], *, shown: str = "") -> tuple[Table, ...]:
        """One table for each grouping; what they share is read once. ``shown`` is a period that figures will want by
        project."""
        plain = [names for names in groupings if not set(names) & set(PERIODS)]
        self._base("base", tuple(dict.fromkeys((*(name for names in plain for name in names), "gpu"))))
        for kind in PERIODS:
            names = [one for one in groupings if kind in one]
            more = ("project",) if kind == shown else ()
            if names:
                dims = (name for one in names for name in one if name != kind)
                self.period_base(kind, tuple(dict.fromkeys((*dims, *more))))
        return tuple(self._table(names) for names in groupings)

    def whole(self) -> Use:
        """Everything in the window as one row."""
        if "base" not in self._bases:
            self._base("base", ("gpu",))
        return self._table(()).rows[0]

    def _base(self, name: str, dims: tuple[str, ...]) -> None:
        if self._bases.get(name) == dims:
            return
        of = rows_of(str(self.begin_s), str(self.end_s))
        sums = ", ".join(f"{sql} AS {column}" for column, sql in all_sums(of).items())
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
        keys = ", ".join(f"{DIMENSIONS[dim]} AS k_{dim}" for dim in dims)
        joules = within("energy_j", "b", "e", wide=self._wide)
        general = (
            f"(SELECT *, CASE WHEN touches THEN {within('ran_s', 'b', 'e')} ELSE 0 END AS secs, "
            f"CASE WHEN touches THEN {joules} END AS joules FROM across_{kind})"
        )
        parts = []
        for source, of in ((f"inside_{kind}", INSIDE), (general, rows_of("b", "e"))):
            added = ", ".join(f"{sql} AS {column}" for column, sql in all_sums(of).items())
            parts.append(f"SELECT place, {keys}, {added} FROM {source} GROUP BY {self._places((kind, *dims))}")
        self.store.db.execute(
            f"CREATE OR REPLACE TEMP TABLE base_{kind} AS SELECT k_{kind}, x.* FROM ({' UNION ALL '.join(parts)}) x "
            f"JOIN periods_{kind} USING (place)"
        )
        self._bases[kind] = dims

    def _spread(self, kind: str) -> None:
        """The views ``inside_KIND`` (runs that lie in one period, which is nearly all) and ``across_KIND`` (the
        others, once for every period that they touch, with the period's edges b and e). ``place`` is the period's number."""
        found = self.periods(kind)
        numbers = [_number(kind, times.day_of(one.begin_s, self.zone)) for one in found]
        columns = {"p": numbers, "n": [one.name for one in found]}
        columns |= {"b": [one.begin_s for one in found], "e": [one.end_s for one in found]}
        self.store.db.execute(
            f"CREATE OR REPLACE TEMP TABLE periods_{kind} AS SELECT unnest($p) AS place, unnest($n) AS k_{kind}, "
            "unnest($b) AS b, unnest($e) AS e",
            columns,
        )
        first = "(CASE WHEN touches THEN start_s ELSE coalesce(end_s, submit_s) END)"
        last = f"greatest(CASE WHEN touches THEN end_s - 1 ELSE 0 END, {first})"
        whole = (
            f"first = last AND touches AND start_s >= {self.begin_s} AND end_s <= {self.end_s} AND before_end_s IS NULL"
        )
        placed = f"(SELECT *, {self._place(kind, first)} AS first, {self._place(kind, last)} AS last FROM runs)"
        self.store.db.execute(
            f"CREATE OR REPLACE TEMP VIEW inside_{kind} AS SELECT *, first AS place FROM {placed} WHERE {whole}"
        )
        self.store.db.execute(
            f"CREATE OR REPLACE TEMP VIEW across_{kind} AS SELECT x.*, p.b, p.e FROM (SELECT *, "
            f"unnest(range(first, last + 1)) AS place FROM {placed} WHERE NOT ({whole})) x JOIN periods_{kind} p USING "
            "(place)"
        )

    def _place(self, kind: str, at: str) -> str:
        """SQL: the number of the period that a Unix time lies in; times beyond the window lie in its first or last one."""
        known = times.changes(self.zone, self.begin_s - 86400, self.end_s + 86400)
        clipped = f"least(greatest({at}, {self.begin_s}), {self.end_s - 1})"
        ahead = f"{known[0].before_s if known else times.offset_s(self.begin_s, self.zone)}"
        for one in known:
            ahead = f"CASE WHEN {clipped} >= {one.at_s} THEN {one.after_s} ELSE {ahead} END"
        day = f"(({clipped} + ({ahead})) // 86400)"
        if kind == "week":
            return f"(({day} + {_EPOCH_WEEKDAY}) // 7)"
        if kind == "month":
            date = f"(DATE '1970-01-01' + CAST({day} AS INTEGER))"
            return f"(12 * year({date}) + month({date}))"
        return day

    def periods(self, kind: str) -> tuple[zones.Period, ...]:
        return zones.periods(kind, self.begin_s, self.end_s, self.zone)

    def _table(self, names: tuple[str, ...]) -> Table:
        period = next((name for name in names if name in PERIODS), "")
        base = f"base_{period}" if period else "base"
        keys = [f"k_{name}" for name in names]
        columns = list(all_sums(INSIDE))
        added = [f"coalesce(sum({one}), 0)" for one in columns]
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
            uses.sort(key=lambda one: (one.key[place], -(one.cpu_s or 0), one.key))
        elif ordered:
            uses.sort(key=lambda one: _class_order(one.key[0]))
        else:
            uses.sort(key=lambda one: (-(one.cpu_s or 0), -(one.gpu_s or 0), one.key))
        return Table(by=names, rows=tuple(uses), additive=not period, ordered=ordered)

    def _waits(self, names: tuple[str, ...], period: str) -> dict[tuple[str, ...], tuple[int | None, int | None]]:
        """Median and 90 % of the waiting times of runs that started: the least wait that so many did not exceed."""
        keys = ["place" if name == period else DIMENSIONS[name] for name in names]
        lead = "".join(f"{key} AS k{place}, " for place, key in enumerate(keys))
        source, began = "runs", f"start_s >= {self.begin_s}"
        if period:
            shared = ", ".join(["touches", "start_s", "eligible_s", "submit_s", "place", *_columns(names)])
            across = f"SELECT {shared} FROM across_{period} WHERE start_s >= b"
            source = f"(SELECT {shared} FROM inside_{period} UNION ALL {across})"
            began = "true"
        found = (
            f"SELECT {lead}quantile_disc({WAIT}, [0.5, 0.9]) AS waits FROM {source} WHERE touches AND {began} "
            f"AND coalesce(eligible_s, submit_s) IS NOT NULL {f'GROUP BY {self._places(keys)}' if keys else ''}"
        )
        if period:
            at = names.index(period)
            named = ", ".join(f"p.k_{period}" if place == at else f"x.k{place}" for place in range(len(keys)))
            found = f"SELECT {named}, waits FROM ({found}) x JOIN periods_{period} p ON p.place = x.k{at}"
        return {tuple(row[:-1]): tuple(row[-1]) for row in self.store.rows(found) if row[-1]}

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


#: Days from a Monday to 1 January 1970, a Thursday.
_EPOCH_WEEKDAY = 3
_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()


def _number(kind: str, day: datetime.date) -> int:
    """The number of the period that a local day lies in, as ``Measure._place`` counts them."""
    since = day.toordinal() - _EPOCH_ORDINAL
    return (since + _EPOCH_WEEKDAY) // 7 if kind == "week" else 12 * day.year + day.month if kind == "month" else since


def _columns(names: Sequence[str]) -> list[str]:
    """The columns that groupings are made of."""
    made = {"group": ("unix_group",), "size": ("cpus",), "gpus": ("gpus",), "gpu": ("gpus", "gpu_type")}
    return [column for name in names if name not in PERIODS for column in made.get(name, (name,))]


def _class_order(name: str) -> float:
    word = name.split(" ")[0].replace(",", "")
    number = whole_number(word)
    return 1e9 if name == "more" else 2e9 if number is None else number


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
        wait_total_s=int(sums["waits_s"]) if sums["waits"] else None,
        wait_mean_s=ratio("waits_s", "waits"),
        wait_median_s=waits[0],
        wait_90_s=waits[1],
        expansion=None if expansion is None else 1 + expansion,
        cpu_efficiency=ratio("busy_ms", "busy_of_s", 1e-3),
        cpu_seen=ratio("busy_of_s", "ended_cpu_s"),
        memory_efficiency=ratio("memory", "memory_of"),
        memory_seen=ratio("memory_s", "ended_s"),
        limit_efficiency=ratio("limited_s", "limits_s"),
        judged=int(sums["judged"]),
        failed=int(sums["failed"]),
        failed_cpu_s=int(sums["failed_cpu_s"]),
    )
