"""What the readings of an import are like, channel by channel, in pieces: steps, gaps, duplicates, leaps of the clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...files.parquet import literal
from ...metering.trace import Floats, Ints

#: Rows that are looked at in one piece.
PIECE = 4_000_000
_SAMPLE = 100_000
_HOUR_S = 3600.0
#: A reading that comes later in the file than one of a later stamp, by so many rows of its channel, is of a clock set back.
_FAR = 20


class Judged:
    """One channel, fed with its rows in order of time."""

    def __init__(self) -> None:
        self.readings = self.without_value = self.duplicates = self.clashes = self.late = 0
        self.gaps = self.leaps = self.overlap = 0
        self.longest_gap_s = self.step_s = self.overlap_s = 0.0
        self.first_ns = self.last_ns = 0
        self._sum_ws = self._sum_s = 0.0
        self._ends: list[tuple[int, float]] = []
        self._last: tuple[int, int, float, int] | None = None  # stamp, row, value, status
        self._overlap_ns: list[int] = []

    def feed(self, t: Ints, row: Ints, value: Floats, status: Ints) -> None:
        """The next rows of the channel."""
        self.readings += len(t)
        self.without_value += int(np.count_nonzero(status))
        good = status == 0
        if good.any():
            if not self._ends:
                self._ends.append((int(t[good][0]), float(value[good][0])))
            self._ends[1:] = [(int(t[good][-1]), float(value[good][-1]))]
        if self._last is None:
            self.first_ns = int(t[0])
        else:
            t, row = np.append(self._last[0], t), np.append(self._last[1], row)
            value, status = np.append(self._last[2], value), np.append(self._last[3], status)
        self._last = (int(t[-1]), int(row[-1]), float(value[-1]), int(status[-1]))
        self.last_ns = int(t[-1])
        self._compare(t, row, value, status)

    def _compare(self, t: Ints, row: Ints, value: Floats, status: Ints) -> None:
        dt = np.diff(t)
        again = dt == 0
        alike = again & ((np.diff(value) == 0) | np.isnan(value[1:])) & (np.diff(status.astype(np.int64)) == 0)
        self.duplicates += int(alike.sum())
        self.clashes += int((again & ~alike).sum())
        seconds = dt.astype(np.float64) * 1e-9
        rising = seconds[seconds > 0]
        if not self.step_s and len(rising):
            self.step_s = float(np.median(rising[:_SAMPLE]))
        gap = seconds > 2.5 * self.step_s
        self.gaps += int(gap.sum())
        if len(seconds):
            self.longest_gap_s = max(self.longest_gap_s, float(seconds.max()))
        usual = self.step_s
        if usual < _HOUR_S / 4:
            self.leaps += int(np.sum(np.abs(seconds - _HOUR_S - usual) <= max(usual / 2, 1.0)))
        self._late(t, row, again)
        mean = (value[1:] + value[:-1]) / 2
        counts = np.isfinite(mean) & ~gap
        self._sum_ws += float(np.sum(mean[counts] * seconds[counts]))
        self._sum_s += float(np.sum(seconds[counts]))

    def _late(self, t: Ints, row: Ints, again: Any) -> None:
        back = np.diff(row)
        late = (back < 0) & ~again
        self.late += int(late.sum())
        far = np.flatnonzero(late & (back < -_FAR))
        # Two stretches of a file that lie in one time alternate; one that was written in front of the other meets it once.
        if len(far) >= 3:
            self.overlap += len(far)
            self._overlap_ns += [int(t[far[0]]), int(t[far[-1] + 1])]
            self.overlap_s = (self._overlap_ns[-1] - self._overlap_ns[0]) * 1e-9

    def mean_w(self, counter: bool) -> float | None:
        """The mean power, W; of a counter what it gained over its time."""
        if counter:
            if len(self._ends) < 2 or self._ends[1][0] <= self._ends[0][0]:
                return None
            (t0, v0), (t1, v1) = self._ends
            return max(0.0, v1 - v0) / ((t1 - t0) * 1e-9)
        return self._sum_ws / self._sum_s if self._sum_s > 0 else None


def judged(db: Any, path: Path) -> dict[int, Judged]:
    """The channels of a sorted file by number; one without a row is not there."""
    out: dict[int, Judged] = {}
    file = literal(path)
    rows = db.execute(f"select count(*) from read_parquet({file})").fetchone()[0]
    for begin in range(0, rows, PIECE):
        found = db.execute(
            f"select number, t_ns, row, value, status from read_parquet({file}, file_row_number = true) "
            f"where file_row_number >= {begin} and file_row_number < {begin + PIECE} order by file_row_number"
        ).fetchnumpy()
        value = np.ma.filled(np.ma.asarray(found["value"]).astype(np.float64), np.nan)
        number = np.asarray(found["number"])
        starts = np.flatnonzero(np.concatenate([[True], number[1:] != number[:-1]]))
        for start, stop in zip(starts, [*starts[1:], len(number)], strict=True):
            part = slice(int(start), int(stop))
            out.setdefault(int(number[start]), Judged()).feed(
                np.asarray(found["t_ns"])[part], np.asarray(found["row"])[part], value[part],
                np.asarray(found["status"])[part].astype(np.int64),
            )  # fmt: skip
    return out
