"""What records cannot mean: negative counts, times beyond any calendar, more CPU time than there was.

Each kind is counted and its first or worst job named. A number that cannot be is taken out (not recorded), a run never: it
is shown, and counts with what is left."""

from __future__ import annotations

from .loading import Store
from .values import EARLIEST_S

_COUNTS = {
    "cpus": "number of CPUs",
    "nodes": "number of nodes",
    "gpus": "number of GPUs",
    "ran_s": "time of use",
    "cpu_used_ms": "CPU time",
    "memory_asked_bytes": "memory requested",
    "memory_used_bytes": "memory used",
    "energy_j": "energy",
    "limit_s": "limit of time",
}
_STAMPS = ("submit_s", "eligible_s", "start_s", "end_s")
#: Unix seconds of the year 2100; later ones are of another unit.
_LATEST_S = 4_102_444_800
_YEAR_S = 366 * 86400
#: CPU time may exceed that allocated by the second that stamps cut off, and by this share: clocks of CPU time tick.
_TICKS = 1.01
_BUSY = f"start_s IS NOT NULL AND cpus > 0 AND cpu_used_ms > 1000 * {_TICKS} * (ran_s + 1) * cpus"


def take_out(store: Store) -> None:
    """Take out numbers that cannot be, before anything is made of them."""
    wrong = {name: f"{name} < 0" for name in _COUNTS} | {
        name: f"({name} <= {EARLIEST_S} OR {name} > {_LATEST_S})" for name in _STAMPS
    }
    counts = store.one(f"SELECT {', '.join(f'count(*) FILTER (WHERE {one})' for one in wrong.values())} FROM jobs")
    for (name, condition), count in zip(wrong.items(), counts, strict=True):
        if not count:
            continue
        job, value = store.one(f"SELECT job, {name} FROM jobs WHERE {condition} ORDER BY job, {name} LIMIT 1")
        what = f"a negative {_COUNTS[name]}" if name in _COUNTS else "a time before 1980 or beyond the year 2100"
        store.notice(
            "impossible-numbers",
            f"{_runs(count)} {'has' if count == 1 else 'have'} {what}, such as job {job} with {value}: it is taken as not "
            "recorded",
            "look at these records: the engine, or what exported them, wrote something else there",
        )
        store.db.execute(f"UPDATE jobs SET {name} = NULL WHERE {condition}")


def say(store: Store) -> None:
    """Say which settled runs cannot have been as they are recorded."""
    busy, long, early = store.one(
        f"SELECT count(*) FILTER (WHERE {_BUSY}), count(*) FILTER (WHERE end_s - start_s > {_YEAR_S}), "
        "count(*) FILTER (WHERE start_s < submit_s - 1) FROM jobs"
    )
    if busy:
        job, share, cpus = store.one(
            f"SELECT job, cpu_used_ms / (1000.0 * greatest(ran_s, 1) * cpus) AS share, cpus FROM jobs WHERE {_BUSY} "
            "ORDER BY share DESC, job, cpus LIMIT 1"
        )
        store.notice(
            "more-cpu-time-than-there-was",
            f"{_runs(busy)} used more CPU time than was allocated to {'it' if busy == 1 else 'them'}"
            f", most job {job}: {100 * share:,.0f} % of its {cpus} CPUs. Either its "
            "CPU hours are too few, or its CPU time is wrong",
            "likely the records name fewer CPUs than were given (whole nodes, or cores for hardware threads), or programs "
            "ran outside of what they were given",
        )
    if long:
        job, days = store.one(
            f"SELECT job, (end_s - start_s) // 86400 AS days FROM jobs WHERE end_s - start_s > {_YEAR_S} "
            "ORDER BY days DESC, job LIMIT 1"
        )
        store.notice(
            "longer-than-a-year",
            f"{_runs(long)} took longer than a year, most job {job}: {days:,} days",
            "check whether its start and end are right; an end that the engine has lost is one more month in each report",
        )
    if early:
        (job,) = store.one("SELECT min(job) FROM jobs WHERE start_s < submit_s - 1")
        store.notice(
            "started-before-submission",
            f"{_runs(early)} began before {'it was' if early == 1 else 'they were'} submitted, such as job {job}: the wait "
            "counts as none",
            "look at the clocks of the controller and the nodes (chronyc tracking)",
        )


def _runs(count: int) -> str:
    return f"{count:,} run{'s' * (count != 1)}"
