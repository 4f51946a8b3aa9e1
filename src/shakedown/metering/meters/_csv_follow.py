"""A file that a meter's own program appends to, followed line by line. Nothing here imports numpy."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ...errors import BadInput, Unavailable
from ...hosts.access import HostAccess, LocalHost
from ...times import zone as parse_zone
from . import Reading, Status
from . import _csv_table as table
from . import _csv_time as times

_HEAD_BYTES = 1 << 16  # of which the shape is found when a file is followed
_SILENT_STEPS = 10  # of the usual distance between lines, until a logger that has gone silent is a gap
_SILENT_S = 10.0
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_BEGIN = 5  # lines in which there are no zeros: header, units, first readings
_LIVE_S = 600.0  # a file whose last stamp is older, and that does not grow, is a recording: its end is no silence


class CsvSource:
    """Follows a file: each reading is a line that was appended since."""

    def __init__(self, path: str, options: Mapping[str, str], door: HostAccess) -> None:
        self._path, self._options, self._door = path, options, door
        head = self._bytes(0, _HEAD_BYTES)
        if head is None:
            raise Unavailable("the file cannot be read", where=path, hint="start the meter's program first")
        if not head.strip():
            raise Unavailable("the file is still empty", where=path, hint="start the meter's program first")
        if head[:4] == b"PAR1":
            raise BadInput("a Parquet file does not grow", where=path, hint="`shakedown energy import` reads it")
        self._begin(head)
        if options.get("begin") != "start":
            self._skip()

    def _begin(self, head: bytes) -> None:
        lines = table.decoded(head).splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(("\n", "\r"))] or lines
        if head[:2] not in _UTF_16:  # zeros further on are what a crash left of some lines
            begin = whole[:_BEGIN]
            if any("\0" in line for line in begin):
                raise BadInput(
                    "holds NUL bytes in its first lines: it is binary, or UTF-16 without its mark",
                    where=self._path,
                    hint="export it as UTF-8",
                )
        self._shape = table.layout([line for line in whole if "\0" not in line], self._options, self._path)
        self._clock = times.Clock(self._shape.how)
        self.channels = tuple(one.channel for one in self._shape.columns)
        zone = self._options.get("zone", "")
        self._local = times.Local(parse_zone(zone, self._path), self._path) if zone else None
        sample = self._shape.stamp(self._shape.cells(whole[self._shape.first]), self._clock)
        if sample is not None and sample.offset_s is None and self._local is None:
            raise BadInput(
                "the stamps are local time without a zone",
                where=self._path,
                hint="say which: zone=Europe/Berlin, zone=UTC or zone=+01:00",
            )
        self._offset = sum(len(line.encode()) for line in whole[: self._shape.first]) if head.isascii() else 0
        self._cut = b""
        self._last_ns = self._quiet_ns = self._door.now_ns()
        self._stamp_ns: int | None = None  # of the last line
        self._batches = 0  # reads that brought lines
        self._step_ns = round(_SILENT_S * 1e9)

    def _skip(self) -> None:
        """Go to the last whole line, so that the first reading is the value of now."""
        size = self._size()
        tail = self._bytes(max(self._offset, size - _HEAD_BYTES), _HEAD_BYTES) or b""
        whole = tail[: tail.rfind(b"\n") + 1]
        last = whole.rstrip(b"\r\n\0").rfind(b"\n") + 1
        self._offset = max(self._offset, size - len(tail) + last) if whole else self._offset

    def read(self) -> Sequence[Reading]:
        before = self._door.now_ns()
        size = self._size()
        if size < self._offset:  # begun anew: the counters of its program may have, too
            head = self._bytes(0, _HEAD_BYTES) or b""
            if not head.strip():
                return self._silence(before)
            self._begin(head)
            now = self._door.now_ns()
            return [Reading(index, before, now, None, None, Status.RESET) for index in range(len(self.channels))]
        data = self._bytes(self._offset, size - self._offset) if size > self._offset else b""
        if data is None:
            return self._silence(before)
        self._offset += len(data)
        *lines, self._cut = (self._cut + data).split(b"\n")
        found = [reading for line in lines for reading in self._line(table.decoded(line), before)]
        if found:
            self._batches += 1
            self._stamp_ns = found[-1].device_ns
            self._step_ns = max(self._step_ns, _SILENT_STEPS * (before - self._last_ns))
            self._last_ns = self._quiet_ns = before
            return found
        return self._silence(before)

    def _line(self, line: str, before: int) -> list[Reading]:
        line = line.strip("\0")  # a crash leaves zeros where a line was to come
        cells = self._shape.cells(line)
        stamp = self._shape.stamp(cells, self._clock) if line.strip() and line[0] != "#" else None
        if stamp is None or len(cells) < self._shape.fields - 1:
            return []
        try:
            ns = stamp.ns if stamp.offset_s is not None or self._local is None else self._local.utc_ns(stamp.ns)
        except BadInput:  # an hour that the zone skips: the stamp is worth nothing, the time of reading stands in
            ns = None
        after = self._door.now_ns()
        return [
            Reading(index, before, after, ns, value, state)
            for index, (value, state) in enumerate(self._shape.values(cells))
        ]

    def _silence(self, now: int) -> list[Reading]:
        """Nothing new is no gap until it lasts, and the end of a recording that nobody writes to any more is none."""
        if now - self._quiet_ns < self._step_ns:
            return []
        if self._batches < 2 and self._stamp_ns is not None and now - self._stamp_ns > _LIVE_S * 1e9:
            return []
        self._quiet_ns = now
        return [Reading(index, now, now, None, None, Status.GAP) for index in range(len(self.channels))]

    def _size(self) -> int:
        if isinstance(self._door, LocalHost):
            try:
                return os.stat(self._path).st_size
            except OSError:
                return 0
        return len(self._door.read_bytes(self._path) or b"")

    def _bytes(self, offset: int, count: int) -> bytes | None:
        """A part of the file. On this machine only that part is read: a log may have grown for weeks."""
        if not isinstance(self._door, LocalHost):
            data = self._door.read_bytes(self._path)
            return None if data is None else data[offset : offset + count]
        try:
            with open(self._path, "rb") as file:
                file.seek(offset)
                return file.read(count)
        except OSError:
            return None

    def close(self) -> None:
        pass
