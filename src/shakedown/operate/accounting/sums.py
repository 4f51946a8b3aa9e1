"""The arithmetic of a window as SQL: which part of a run lies inside, and everything that is added up over runs.

Seconds up to an edge are ran x (edge - start) // (end - start), in whole numbers, and a part is the difference of two
of those: the parts of neighbouring windows add up to the whole exactly. Where nothing was suspended that is the time itself.
"""

from __future__ import annotations

from typing import NamedTuple

from .columns import FAILED


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


def never(begin: str, end: str) -> str:
    """SQL: whether a job ended in a stretch of time and had never started."""
    at = "coalesce(end_s, submit_s)"
    return f"(start_s IS NULL AND state IS DISTINCT FROM 'queued' AND {at} >= {begin} AND {at} < {end})"


WAIT = "greatest(0, start_s - coalesce(eligible_s, submit_s))"


class Rows(NamedTuple):
    """What the sums ask of a row, as SQL: conditions, and the amounts that lie inside."""

    touches: str
    started: str
    ended: str
    first: str  # no earlier attempt of its job is inside too
    secs: str
    joules: str


def rows_of(begin: str, end: str) -> Rows:
    """Over rows of any kind. A run has ended inside if its last second lies inside: each ends in one window only."""
    return Rows(
        touches="touches",
        started=f"(touches AND start_s >= {begin})",
        ended=f"(touches AND NOT open AND end_s <= {end})",
        first=f"(touches AND (before_end_s IS NULL OR before_end_s <= {begin}))",
        secs="secs",
        joules="joules",
    )


#: Over first attempts that began and ended inside: nearly all of them.
INSIDE = Rows("true", "true", "(NOT open)", "true", "ran_s", "energy_j")


def all_sums(of: Rows) -> dict[str, str]:
    """Everything that can be added up."""
    failed = ", ".join(f"'{state}'" for state in FAILED)
    both = f"{of.ended} AND memory_used_bytes IS NOT NULL AND memory_asked_bytes > 0"
    began = f"{of.started} AND coalesce(eligible_s, submit_s) IS NOT NULL"
    waited = f"{of.started} AND {of.ended} AND coalesce(eligible_s, submit_s) IS NOT NULL"

    def total(amount: str, where: str = "") -> str:
        return f"coalesce(sum({amount}){f' FILTER (WHERE {where})' if where else ''}, 0)"

    def count(where: str) -> str:
        return f"count(*) FILTER (WHERE {where})"

    return {
        "jobs": count(of.first),
        "runs": count(of.touches),
        "started": count(of.started),
        "ended": count(of.ended),
        "never": count(f"NOT {of.touches}"),
        "cpu_s": total(f"{of.secs} * cpus"),
        "gpu_s": total(f"{of.secs} * gpus"),
        "node_s": total(f"{of.secs} * nodes"),
        "no_cpus": count(f"{of.touches} AND cpus IS NULL"),
        "no_gpus": count(f"{of.touches} AND gpus IS NULL"),
        "no_nodes": count(f"{of.touches} AND nodes IS NULL"),
        "energy_j": total(of.joules),
        "metered": count(f"{of.touches} AND energy_j IS NOT NULL"),
        "metered_s": total(f"{of.secs} * coalesce(nodes, cpus, 1)", "energy_j IS NOT NULL"),
        "meterable_s": total(f"{of.secs} * coalesce(nodes, cpus, 1)"),
        "wait_s": total(WAIT, waited),
        "waits_s": total(WAIT, began),
        "waits": count(began),
        "waited_run_s": total("end_s - start_s", waited),
        "busy_ms": total("cpu_used_ms", f"{of.ended} AND cpus IS NOT NULL"),
        "busy_of_s": total("ran_s * cpus", f"{of.ended} AND cpu_used_ms IS NOT NULL"),
        "ended_cpu_s": total("ran_s * cpus", of.ended),
        "memory": total("CAST(memory_used_bytes AS DOUBLE) * ran_s", both),
        "memory_of": total("CAST(memory_asked_bytes AS DOUBLE) * ran_s", both),
        "memory_s": total("ran_s * coalesce(cpus, 1)", both),
        "ended_s": total("ran_s * coalesce(cpus, 1)", of.ended),
        "limited_s": total("end_s - start_s", f"{of.ended} AND limit_s > 0"),
        "limits_s": total("limit_s", f"{of.ended} AND limit_s > 0"),
        "judged": count(f"{of.ended} AND coalesce(state, 'unknown') <> 'unknown'"),
        "failed": count(f"{of.ended} AND state IN ({failed})"),
        "failed_cpu_s": total(f"{of.secs} * cpus", f"state IN ({failed})"),
    }
