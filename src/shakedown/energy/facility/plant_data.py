"""The readings of a plant's sensors, from CSV or Parquet files or from traces of our own.

A cell without a number is a gap, a value above the sensor's range is an over-range: both stay in the trace.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import times
from ...errors import BadInput, nearest
from ...files.packed import opened_text
from ...metering.meters import Channel, Status, channel_key
from ...metering.trace import Floats, Ints, Trace, trace
from ...metering.trace import read as read_traces
from .plant import Plant, Sensor

_BESIDE = "give its path beside the plant file"

_OVERRANGE = ("-ol-", "ol", "+ol", "over", "overrange", "----")


class _File(NamedTuple):
    """A file's columns as they are: text or numbers. ``traces`` instead, where it is one of ours."""

    columns: dict[str, Any]
    traces: tuple[Trace, ...]


def read(plant: Plant) -> dict[str, Trace]:
    """The trace of every sensor, in SI, its delay taken off. Raises BadInput."""
    files: dict[str, _File] = {}
    stamped: dict[tuple[str, str], Ints] = {}
    found = {}
    for sensor in plant.sensors.values():
        where = f"sensor {sensor.name!r}, {sensor.file}"
        if sensor.file not in files:
            files[sensor.file] = _read(Path(plant.folder, sensor.file), where)
        file = files[sensor.file]
        if file.traces:
            found[sensor.name] = _of_trace(sensor, file.traces, where)
            continue
        key = (sensor.file, sensor.time)
        if key not in stamped:
            stamped[key] = times.stamps(_column(file.columns, sensor.time, where), plant.zone, where)
        values, status = _values(_column(file.columns, sensor.column, where))
        found[sensor.name] = _trace(sensor, stamped[key], values * sensor.factor, status)
    return found


def _column(columns: dict[str, Any], name: str, where: str) -> Any:
    if name not in columns:
        near = nearest(name, columns)
        raise BadInput(
            f"there is no column {name!r}",
            where=where,
            hint=(f"did you mean {near!r}? " if near else "") + f"there are: {', '.join(columns)}",
        )
    return columns[name]


def _read(path: Path, where: str) -> _File:
    if path.suffix.lower() == ".parquet":
        return _read_parquet(path, where)
    try:
        with opened_text(path, encoding="utf-8-sig", errors="strict", newline="", hint=_BESIDE) as file:
            head = file.readline()
            file.seek(0)
            delimiter = max(",;\t", key=head.count)
            rows = list(csv.reader(file, delimiter=delimiter))
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=where, hint=_BESIDE) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(
            f"is not a CSV file: {error}", where=where, hint="save it as UTF-8 with commas or semicolons"
        ) from None
    if len(rows) < 2:
        raise BadInput("has no rows", where=where, hint="a line of names, then a line for each stamp")
    names, body = [name.strip() for name in rows[0]], [row for row in rows[1:] if row]
    for number, row in enumerate(body, start=2):
        if len(row) != len(names):
            raise BadInput(
                f"row {number} has {len(row)} cells for {len(names)} names", where=where, hint="fix that row"
            )
    columns = {name: [row[index] for row in body] for index, name in enumerate(names)}
    if delimiter == ";":
        columns = {name: [cell.replace(",", ".") for cell in cells] for name, cells in columns.items()}
    return _File(columns, ())


def _read_parquet(path: Path, where: str) -> _File:
    import duckdb

    if not path.exists():
        raise BadInput("there is no such file", where=where, hint="give its path beside the plant file")
    try:
        with duckdb.connect() as db:
            told = db.execute("describe select * from read_parquet(?)", [str(path)]).fetchall()
            names = {str(row[0]): str(row[1]) for row in told}
            if {"channel", "t_ns", "half_ns", "value", "status"} <= set(names):
                return _File({}, read_traces(path))
            wanted = ", ".join(
                f'epoch_ns("{name}") as "{name}"' if kind.startswith("TIMESTAMP") else f'"{name}"'
                for name, kind in names.items()
            )
            return _File(dict(db.execute(f"select {wanted} from read_parquet(?)", [str(path)]).fetchnumpy()), ())
    except duckdb.Error:
        raise BadInput("is not a Parquet file, or is damaged", where=where, hint="write it again") from None


def _of_trace(sensor: Sensor, traces: tuple[Trace, ...], where: str) -> Trace:
    """The channel that ``column`` names. Its values are in SI already; the sensor's unit must agree."""
    by_key = {channel_key(one.channel): one for one in traces}
    one = _column(by_key, sensor.column, where)
    if one.channel.unit != sensor.unit:
        raise BadInput(
            f"the channel is in {one.channel.unit}, the sensor in {sensor.unit}", where=where, hint="correct the unit"
        )
    return _trace(sensor, one.t_ns, one.value, one.status)


def _trace(sensor: Sensor, t_ns: Ints, values: Floats, status: NDArray[np.uint8]) -> Trace:
    channel = Channel(
        id=sensor.name,
        title=sensor.title,
        quantity=sensor.quantity,
        unit=sensor.unit,
        scope=sensor.scope,
        place=sensor.place,
        full_scale=sensor.high,
        delay_s=sensor.delay_s,
        accuracy=sensor.accuracy if sensor.accuracy_known else None,
        note=sensor.note,
    )
    if sensor.high is not None and sensor.quantity != "energy":
        with np.errstate(invalid="ignore"):
            status = np.where((status == Status.OK) & (values > sensor.high), np.uint8(Status.OVERRANGE), status)
    return trace(channel, t_ns - round(sensor.delay_s * 1e9), values, status=status)


def _values(cells: Any) -> tuple[Floats, NDArray[np.uint8]]:
    """Numbers and their states; a cell that holds none is a gap."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiu":
        values = np.ma.filled(np.ma.asarray(cells).astype(np.float64), np.nan)
    else:
        try:
            values = np.array(cells, np.float64)
        except ValueError:
            values = np.array([_number(cell) for cell in cells], np.float64)
    status = np.where(np.isfinite(values), np.uint8(Status.OK), np.uint8(Status.GAP))
    for index in np.flatnonzero(~np.isfinite(values)):
        if str(cells[index]).strip().lower() in _OVERRANGE:
            status[index] = Status.OVERRANGE
    return values, status


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return float("nan")
