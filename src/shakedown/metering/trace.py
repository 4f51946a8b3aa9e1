"""What one channel said over time: arrays in memory, Parquet on disk.

A trace keeps every answer, those without a value too: a gap is an entry with its status and NaN, never a zero and never
left out. ``t_ns`` is the device's own stamp where it gives one, else the middle between asking and answering.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from .. import strict
from ..errors import BadInput, StoreFailed
from ..files import parquet
from .meters import Channel, Status, channel_key

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Trace:
    """Columns of equal length, ordered by time."""

    channel: Channel
    t_ns: Ints  # Unix time
    half_ns: Ints  # half of how long the answer took: how far the stamp may be off
    value: Floats  # SI; NaN unless the status is OK
    status: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.t_ns)

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which entries have a value that counts."""
        out: NDArray[np.bool_] = (self.status == Status.OK) & np.isfinite(self.value)
        return out

    def seconds(self, origin_ns: int) -> Floats:
        """The stamps in seconds after an origin: differences are taken in whole nanoseconds first."""
        out: Floats = (self.t_ns - origin_ns).astype(np.float64) * 1e-9
        return out

    def of(self, channel: Channel) -> Trace:
        """The same readings under another description of their channel."""
        return replace(self, channel=channel)

    def take(self, chosen: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Trace:
        """Some entries, in order."""
        return Trace(self.channel, self.t_ns[chosen], self.half_ns[chosen], self.value[chosen], self.status[chosen])


def trace(
    channel: Channel,
    t_ns: Sequence[int] | Ints,
    value: Sequence[float] | Floats,
    *,
    half_ns: Sequence[int] | Ints | int = 0,
    status: Sequence[int] | NDArray[np.uint8] | None = None,
) -> Trace:
    """A trace from columns: ordered by time (stable), NaN made a gap where no status says otherwise. Raises BadInput for
    columns of unequal length."""
    times = np.asarray(t_ns, np.int64)
    values = np.asarray(value, np.float64)
    halves = np.broadcast_to(np.asarray(half_ns, np.int64), times.shape)
    states = np.zeros(times.shape, np.uint8) if status is None else np.asarray(status, np.uint8)
    if not len(times) == len(values) == len(states):
        raise BadInput(f"{len(times)} stamps, {len(values)} values, {len(states)} states", where=channel_key(channel))
    states = np.where((states == Status.OK) & ~np.isfinite(values), np.uint8(Status.GAP), states)
    values = np.where(states == Status.OK, values, np.nan)
    if np.any(np.diff(times) < 0):
        order = np.argsort(times, kind="stable")
        times, halves, values, states = times[order], halves[order], values[order], states[order]
    return Trace(channel, times, halves, values, states)


_CHANNELS = "shakedown.channels"


def metadata(channels: Sequence[Channel]) -> str:
    """The entry of a Parquet file's metadata that names its channels, in SQL."""
    told = msgspec.json.encode(list(channels)).decode().replace("'", "''")
    return f"'{_CHANNELS}': '{told}'"


def write(path: Path, traces: Iterable[Trace]) -> None:
    """All traces as one Parquet file: columns channel, t_ns, half_ns, value (null unless it counts), status; the channels
    in full stand in its metadata. Raises StoreFailed."""
    import duckdb

    kept = list(traces)
    columns = {
        "channel": np.repeat(np.array([channel_key(one.channel) for one in kept], object), [len(one) for one in kept]),
        "t_ns": np.concatenate([one.t_ns for one in kept] or [np.empty(0, np.int64)]),
        "half_ns": np.concatenate([one.half_ns for one in kept] or [np.empty(0, np.int64)]),
        "value": np.concatenate([one.value for one in kept] or [np.empty(0)]),
        "status": np.concatenate([one.status for one in kept] or [np.empty(0, np.uint8)]),
    }
    told = metadata([one.channel for one in kept])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with duckdb.connect() as db:
            db.register("columns", columns)
            parquet.write(
                db,
                "select channel, t_ns, half_ns, case when status = 0 then value end as value, status from columns",
                path,
                options=f"kv_metadata {{{told}}}",
            )
    except (OSError, duckdb.Error) as error:
        why = error.strerror if isinstance(error, OSError) else "check that the disk is not full"
        raise StoreFailed(f"the trace cannot be written: {why}", where=str(path)) from None


def channels(path: Path) -> tuple[Channel, ...]:
    """The channels of a file that ``write`` made, in its order, without reading it. Raises BadInput."""
    import duckdb

    if not path.is_file():
        raise BadInput(
            "there is no such trace", where=str(path), hint="name what `meter record`, a run or `energy import` left"
        )
    own = "import another tool's file first: shakedown energy import FILE -o power.parquet"
    with contextlib.suppress(OSError), path.open("rb") as file:
        if file.read(4) != b"PAR1":
            raise BadInput("this is not a Parquet file", where=str(path), hint=own)
    try:
        with duckdb.connect() as db:
            found = db.execute("select key, value from parquet_kv_metadata(?)", [str(path)]).fetchall()
        told = {bytes(key).decode(): bytes(value) for key, value in found}
        if _CHANNELS not in told:
            raise BadInput("the Parquet file contains no channels of Shakedown", where=str(path), hint=own)
        return tuple(msgspec.json.decode(told[_CHANNELS], type=list[Channel]))
    except (duckdb.Error, *strict.UNREADABLE):
        raise BadInput("the trace is damaged", where=str(path), hint="record or import it again") from None


def span_ns(path: Path, channel: Channel) -> tuple[int, int] | None:
    """The first and the last stamp of a channel; None for a channel without any. Raises BadInput."""
    found = _query(
        path,
        "select min(t_ns) as low, max(t_ns) as high from read_parquet($path) where channel = $channel",
        {"channel": channel_key(channel)},
    )
    low, high = found["low"], found["high"]
    return None if np.ma.getmaskarray(low).any() else (int(low[0]), int(high[0]))


def read(
    path: Path, wanted: Iterable[Channel] | None = None, begin_ns: int | None = None, end_ns: int | None = None
) -> tuple[Trace, ...]:
    """The traces of a Parquet file that ``write`` made, in its order: all, or those of some channels, whole or between two
    stamps. Only what is asked for is read: the file may be larger than the memory. Raises BadInput for
    what is no trace or damaged, StoreFailed for what does not fit into memory."""
    chosen = channels(path) if wanted is None else tuple(wanted)
    keys = [channel_key(one) for one in chosen]
    if not keys:
        return ()
    bounds = [(f"t_ns >= {begin_ns}", begin_ns), (f"t_ns <= {end_ns}", end_ns)]
    where = " and ".join(["channel in $keys", *(words for words, bound in bounds if bound is not None)])
    # The number of a channel instead of its name: a name a row is what would fill the memory.
    rows = _query(
        path,
        "select list_position($keys, channel)::integer as place, t_ns, half_ns, value, status from read_parquet($path) "
        f"where {where} order by place, t_ns",
        {"keys": keys},
    )
    values = np.ma.filled(rows["value"].astype(np.float64, copy=False), np.nan)
    edges = np.searchsorted(rows["place"], np.arange(1, len(keys) + 2))
    return tuple(
        trace(
            one,
            rows["t_ns"][edges[i] : edges[i + 1]],
            values[edges[i] : edges[i + 1]],
            half_ns=rows["half_ns"][edges[i] : edges[i + 1]],
            status=rows["status"][edges[i] : edges[i + 1]],
        )
        for i, one in enumerate(chosen)
    )


def _query(path: Path, query: str, values: dict[str, object]) -> dict[str, NDArray[Any]]:
    import duckdb

    try:
        with duckdb.connect() as db:
            return db.execute(query, {"path": str(path), **values}).fetchnumpy()
    except duckdb.OutOfMemoryException:
        raise StoreFailed(
            "the trace is larger than the memory", where=str(path), hint="ask for a part: --channel, --begin, --end"
        ) from None
    except duckdb.Error:
        raise BadInput("the trace is damaged", where=str(path), hint="record or import it again") from None
