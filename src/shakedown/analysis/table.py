"""Measurements of any number of run directories as columns, through DuckDB.

One row is one case (one series of samples) of one repeat of one run on one host. Loose ``measurement.json`` files and the
packed ``measurements.parquet`` of a finished run directory give the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..errors import StoreFailed
from ..records import Measurement

if TYPE_CHECKING:
    import duckdb

Strings = NDArray[np.object_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Cases(NamedTuple):
    """Columns of equal length, one entry a case; ``seconds`` is flat, ``counts`` says how many belong to each case."""

    run: Strings
    repeat: Ints
    workload: Strings
    host: Strings
    kernel: Strings
    params: Strings  # JSON text with sorted keys
    work: Strings  # JSON text with sorted keys
    counts: Ints
    seconds: Floats

    def __len__(self) -> int:
        return len(self.run)


def from_measurements(measurements: Iterable[Measurement]) -> Cases:
    """The cases of measurements that ended well: a run whose check failed or that was cut short has no score."""
    columns: tuple[list[object], ...] = tuple([] for _ in range(8))
    seconds: list[float] = []
    for record in measurements:
        if record.state != "ok":
            continue
        for case in record.cases:
            told = dict(case.params)
            place = str(told.pop("host", record.host))  # one job over many hosts says which one a case is of
            row = (
                record.run,
                record.repeat,
                record.workload,
                place,
                case.kernel,
                key(told),
                key(case.work),
                len(case.seconds),
            )
            for column, entry in zip(columns, row, strict=True):
                column.append(entry)
            seconds.extend(case.seconds)
    run, repeat, workload, host, kernel, params, work, counts = columns
    return Cases(
        run=_strings(run),
        repeat=_ints(repeat),
        workload=_strings(workload),
        host=_strings(host),
        kernel=_strings(kernel),
        params=_strings(params),
        work=_strings(work),
        counts=_ints(counts),
        seconds=np.array(seconds, float),
    )


def _strings(values: Iterable[object]) -> Strings:
    return np.array(list(values), object)


def _ints(values: Iterable[object]) -> Ints:
    return np.array(list(values), np.int64)


def key(params: Mapping[str, object]) -> str:
    """Parameters as JSON text with sorted keys: equal parameters give equal text."""
    return msgspec.json.encode(params, order="sorted").decode()


def pack(cases: Cases, path: Path) -> None:
    """Write cases as Parquet, for DuckDB, pandas, R... and for fast analysis of many run directories. Atomic."""
    import os

    connection = _connect()
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    starts = np.cumsum(cases.counts) - cases.counts
    columns = {name: getattr(cases, name) for name in Cases._fields[:7]}
    connection.register("cases", {**columns, "start": starts, "count": cases.counts, "row": np.arange(len(cases))})
    connection.register(
        "samples",
        {
            "s": cases.seconds,
            "row": np.repeat(np.arange(len(cases)), cases.counts),
            "place": np.arange(len(cases.seconds)),
        },
    )
    try:
        connection.execute(
            "COPY (SELECT run, repeat, workload, host, kernel, params, work, coalesce(seconds, []) AS seconds FROM cases "
            "LEFT JOIN (SELECT row, list(s ORDER BY place) AS seconds FROM samples GROUP BY row) USING (row) ORDER BY row) "
            f"TO '{_quoted(temporary)}' (FORMAT parquet, COMPRESSION zstd)"
        )
        os.replace(temporary, path)
    except (OSError, connection_error()) as error:
        temporary.unlink(missing_ok=True)
        raise StoreFailed(f"cannot write: {error}", where=str(path), hint="free some space and try again") from None


def unpack(paths: Sequence[Path]) -> Cases:
    """Read cases from packed files. Raises StoreFailed for one that is absent or damaged."""
    connection = _connect()
    names = ", ".join(f"'{_quoted(path)}'" for path in paths)
    try:
        connection.execute(f"CREATE TABLE m AS SELECT * FROM read_parquet([{names}])")
        got = connection.execute(
            "SELECT run, repeat, workload, host, kernel, params, work, len(seconds) AS counts FROM m ORDER BY rowid"
        ).fetchnumpy()
        flat = connection.execute("SELECT unnest(seconds) AS s FROM m ORDER BY rowid").fetchnumpy()["s"]
    except connection_error() as error:
        raise StoreFailed(
            f"cannot read the packed measurements: {error}",
            where=str(paths[0].parent),
            hint="remove the packed file: it is made again from the measurements beside it",
        ) from None
    return Cases(
        run=_strings(got["run"]),
        repeat=_ints(got["repeat"]),
        workload=_strings(got["workload"]),
        host=_strings(got["host"]),
        kernel=_strings(got["kernel"]),
        params=_strings(got["params"]),
        work=_strings(got["work"]),
        counts=_ints(got["counts"]),
        seconds=np.asarray(flat, float),
    )


def concatenate(parts: Sequence[Cases]) -> Cases:
    """The cases of several sources, one after another."""
    if not parts:
        return from_measurements(())
    return Cases(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def connection_error() -> type[Exception]:
    """DuckDB's base error, imported when it is needed."""
    import duckdb

    return duckdb.Error


def _connect() -> duckdb.DuckDBPyConnection:
    import duckdb

    return duckdb.connect(config={"threads": 2, "memory_limit": "512MB"})


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
