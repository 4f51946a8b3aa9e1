"""The one set of columns that every reader fills: a row is one attempt to run one job (or one task of an array)."""

from __future__ import annotations

from typing import NamedTuple


class Column(NamedTuple):
    """``kind`` is its type in DuckDB."""

    kind: str
    says: str


#: NULL is "not recorded" in every column.
COLUMNS: dict[str, Column] = {
    "source": Column("USMALLINT", "which of the files"),
    "cluster": Column("VARCHAR", "as the engine calls itself"),
    "job": Column(
        "VARCHAR", "its number as people know it: 123, 123_4 (task of an array), 123+1 (part of a heterogeneous job)"
    ),
    "task": Column("VARCHAR", "of an array"),
    "attempt": Column("INTEGER", "how often it had been started before"),
    "user": Column("VARCHAR", "who ran it"),
    "project": Column("VARCHAR", "whose account is charged"),
    "unix_group": Column("VARCHAR", ""),
    "partition": Column("VARCHAR", "or queue"),
    "qos": Column("VARCHAR", ""),
    "submit_s": Column(
        "BIGINT", "Unix time, as all that follow; of a later attempt, when the engine took the job back"
    ),
    "eligible_s": Column("BIGINT", "from when nothing but resources was missing"),
    "start_s": Column("BIGINT", "NULL: it never started"),
    "end_s": Column("BIGINT", "of a run that goes on: the last time that the source knows of"),
    "open": Column("BOOLEAN", "it was still running when the record was written"),
    "ran_s": Column("BIGINT", "seconds of use: end - start without the time it was suspended"),
    "state": Column("VARCHAR", "shakedown's word"),
    "word": Column("VARCHAR", "the engine's word"),
    "exit_code": Column("INTEGER", ""),
    "signal": Column("INTEGER", ""),
    "nodes": Column("INTEGER", "that were allocated"),
    "cpus": Column("INTEGER", "that were allocated; slots where the engine counts those"),
    "gpus": Column("INTEGER", "that were allocated; NULL where the engine does not record them"),
    "gpu_type": Column("VARCHAR", ""),
    "memory_asked_bytes": Column("BIGINT", "of the whole job"),
    "memory_used_bytes": Column("BIGINT", "of the whole job, at its highest"),
    "cpu_used_ms": Column("BIGINT", "user and system time"),
    "energy_j": Column(
        "BIGINT", "as the engine recorded it; NULL also for its zero, which means that nothing measured"
    ),
    "limit_s": Column("BIGINT", "of time"),
    "node_list": Column("VARCHAR", "folded"),
    "before_end_s": Column("BIGINT", "when the attempt before this one ended; set by settle"),
    "name": Column("VARCHAR", "line breaks in it as \\n"),
}
#: States of a run that did not do what it was started for.
FAILED = ("failed", "timeout", "oom", "node_fail")


def create(name: str = "jobs") -> str:
    """The statement that makes an empty table."""
    return f"CREATE TABLE {name} ({', '.join(f'{column} {of.kind}' for column, of in COLUMNS.items())})"
