"""Measurements of any number of run directories as columns, through DuckDB.

One row is one case (one series of samples) of one repeat of one run on one host. Loose ``measurement.json`` files and the
packed ``measurements.parquet`` of a finished run directory give the same rows.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..errors import StoreFailed
from ..files import parquet
from ..records import SCORED, Case

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


class Measured(Protocol):
    """A measurement as far as its cases are concerned; ``cases`` is gone through once."""

    @property
    def run(self) -> str: ...
    @property
    def repeat(self) -> int: ...
    @property
    def workload(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def cases(self) -> Iterable[Case]: ...


def from_measurements(measurements: Iterable[Measured]) -> Cases:
    """The cases of measurements that ended successfully, or did on all devices but some: a run whose check failed or that
    was cut short has no score."""
    run: list[str] = []
    repeat: list[int] = []
    workload: list[str] = []
    host: list[str] = []
    kernels: list[str] = []
    params: list[str] = []
    work: list[str] = []
    counts, seconds = array("q"), array("d")
    texts: dict[object, str] = {}  # work is the same for most: one text, made once
    for record in measurements:
        if record.state not in SCORED:
            continue
        before = len(params)
        for case in record.cases:
            told, place = case.params, record.host
            if "host" in told:  # one job over many hosts says which one a case is of
                told = dict(told)
                place = str(told.pop("host"))
            done = tuple(case.work.items())
            if done not in texts:
                texts[done] = key(case.work)
            host.append(place)
            kernels.append(texts.setdefault(case.kernel, case.kernel))
            params.append(key(told))
            work.append(texts[done])
            counts.append(len(case.seconds))
            seconds.extend(case.seconds)
        added = len(params) - before
        run += [record.run] * added
        repeat += [record.repeat] * added
        workload += [record.workload] * added
    return Cases(
        run=_strings(run),
        repeat=_ints(repeat),
        workload=_strings(workload),
        host=_strings(host),
        kernel=_strings(kernels),
        params=_strings(params),
        work=_strings(work),
        counts=np.array(counts, np.int64),
        seconds=np.array(seconds, float),
    )


def chosen(cases: Cases, rows: NDArray[np.bool_]) -> Cases:
    """Some of the cases."""
    columns = {name: getattr(cases, name)[rows] for name in Cases._fields[:8]}
    return Cases(**columns, seconds=cases.seconds[np.repeat(rows, cases.counts)])


def _strings(values: Sequence[object] | NDArray[Any]) -> Strings:
    made = np.empty(len(values), object)
    made[:] = values
    return made


def _ints(values: Sequence[object] | NDArray[Any]) -> Ints:
    return np.array(values, np.int64)


def key(params: Mapping[str, object]) -> str:
    """Parameters as JSON text with sorted keys: equal parameters give equal text."""
    return msgspec.json.encode(params, order="sorted").decode()


#: The packed measurements of a run directory.
PACKED = "measurements.parquet"
_PACKED_TOGETHER = 50_000  # cases that go into the file at once
_WIDE = 256  # samples of a case up to which they go as columns


def pack(cases: Cases, path: Path) -> None:
    """Write cases as Parquet, for DuckDB, pandas, R... and for fast analysis of many run directories. Atomic.

    DuckDB takes no array of arrays: cases with equally many samples go in as columns, one a sample, and become lists there.
    """
    connection = _connect(threads=1)  # each has buffers of its own
    starts = np.cumsum(cases.counts) - cases.counts
    try:
        connection.execute(
            "CREATE TABLE packed (row BIGINT, run VARCHAR, repeat BIGINT, workload VARCHAR, host VARCHAR, kernel VARCHAR, "
            "params VARCHAR, work VARCHAR, seconds DOUBLE[])"
        )
        mixed = False
        for begin in range(0, len(cases), _PACKED_TOGETHER):
            part = np.arange(begin, min(begin + _PACKED_TOGETHER, len(cases)))
            sizes = np.unique(cases.counts[part]).tolist()
            mixed = mixed or len(sizes) > 1
            for count in sizes:
                _insert(connection, cases, part[cases.counts[part] == count], starts, count)
        order = "ORDER BY row" if mixed else ""  # without, they stay as they went in, and take half the memory
        parquet.write(connection, f"SELECT * EXCLUDE row FROM packed {order}", path)
    except (OSError, connection_error()) as error:
        raise StoreFailed(f"cannot write: {error}", where=str(path), hint="free some space and try again") from None


def _insert(connection: duckdb.DuckDBPyConnection, cases: Cases, rows: Ints, starts: Ints, count: int) -> None:
    """Cases with ``count`` samples each."""
    columns = {name: getattr(cases, name)[rows] for name in Cases._fields[:7]}
    samples = cases.seconds[starts[rows][:, None] + np.arange(count)]
    if count <= _WIDE:
        listed = f"list_value({', '.join(f's{at}' for at in range(count))})::DOUBLE[]"
        columns |= {f"s{at}": np.ascontiguousarray(samples[:, at]) for at in range(count)}
        table = "alike"
    else:
        flat = {"s": samples.ravel(), "row": np.repeat(rows, count), "place": np.tile(np.arange(count), len(rows))}
        connection.register("samples", flat)
        listed = "seconds"
        table = "alike JOIN (SELECT row, list(s ORDER BY place) AS seconds FROM samples GROUP BY row) USING (row)"
    connection.register("alike", {"row": rows, **columns})
    connection.execute(
        f"INSERT INTO packed SELECT row, run, repeat, workload, host, kernel, params, work, {listed} FROM {table}"
    )


def unpack(paths: Sequence[Path]) -> Cases:
    """Read cases from packed files. Raises StoreFailed for one that is absent or damaged."""
    connection = _connect()
    names = ", ".join(parquet.literal(path) for path in paths)
    try:
        # Without a table between: rows come in the order of files and of rows in them (preserve_insertion_order).
        got = connection.execute(
            "SELECT run, repeat, workload, host, kernel, params, work, len(seconds) AS counts "
            f"FROM read_parquet([{names}])"
        ).fetchnumpy()
        flat = connection.execute(f"SELECT unnest(seconds) AS s FROM read_parquet([{names}])").fetchnumpy()["s"]
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


def _connect(threads: int = 2) -> duckdb.DuckDBPyConnection:
    import duckdb

    return duckdb.connect(config={"threads": threads, "memory_limit": "512MB"})
