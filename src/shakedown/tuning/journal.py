"""The folder of a tuning run: every trial in ``trials.jsonl``, one a line, flushed to the disk before the next begins.

What a kill or a power cut leaves is a file whose last line may be cut short: such a line is set aside (it is one run
that was under way) and the rest counts. A line that is damaged elsewhere is named, so that nothing is lost in silence.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

import msgspec

from .. import strict
from ..errors import CannotMeasure, StoreFailed
from ..files import atomic
from ..records import Notice, Value
from .records import Trial

TRIALS = "trials.jsonl"
PROBLEM = "problem.json"


class Setup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a folder was made for: a later call must ask for the same, or take another folder."""

    schema: int = 1
    what: str = "hpl"
    n: int
    n_reason: str
    seed: int
    hosts: int
    windows: tuple[float, ...]
    columns: int
    axes: dict[str, tuple[Value, ...]]
    version: str


def _decoded(line: bytes) -> Trial | None:
    try:
        return msgspec.json.decode(line, type=Trial)
    except strict.UNREADABLE:
        return None


class Journal:
    """An open folder. ``trials`` are those of earlier calls, ``session`` is the number of this one, from 1."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notices: list[Notice] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = open(folder / TRIALS, "a+b")  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise atomic.failed(error, folder / TRIALS, "open") from None
        self._lock()
        self.trials = self._read()
        self.session = 1 + max((trial.session for trial in self.trials), default=0)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise CannotMeasure(
                "another tuner is at work in this folder", where=str(self.folder), hint="wait for it, or choose another"
            ) from None
        except OSError:  # a file system without locks: two tuners in one folder are then the user's to avoid
            pass

    def _read(self) -> list[Trial]:
        self._file.seek(0)
        data = self._file.read()
        lines = data.split(b"\n")
        rest = lines.pop()  # empty where the file ends as it should
        if rest and _decoded(rest) is not None:
            lines, rest = [*lines, rest], b""  # only its end of line is missing
            self._write(b"\n")
        trials: dict[str, Trial] = {}
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            trial = _decoded(line)
            if trial is None:
                self._notice(f"line {number} of {TRIALS} cannot be read; that run is made again")
            else:
                trials.setdefault(trial.key, trial)
        if rest:
            self._notice(f"the last line of {TRIALS} was cut short; that run is made again")
            self._write(b"\n")  # what follows begins on a line of its own; the fragment stays as it is
        return list(trials.values())

    def _notice(self, text: str) -> None:
        self.notices.append(Notice(code="journal", text=text))

    def add(self, trial: Trial) -> None:
        """Keep a trial: when this returns it is on the disk. Raises StoreFailed."""
        self._write(msgspec.json.encode(trial) + b"\n")
        self.trials.append(trial)

    def _write(self, data: bytes) -> None:
        try:
            self._file.write(data)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise atomic.failed(error, self.folder / TRIALS, "write") from None

    def spent_s(self) -> float:
        """What all runs took so far, start-up included."""
        return sum(trial.cost_s for trial in self.trials)

    def setup(self) -> Setup | None:
        """What the folder was made for; None in a new one. Raises StoreFailed where that is damaged."""
        path = self.folder / PROBLEM
        if not path.exists():
            if self.trials:
                raise StoreFailed(
                    f"{TRIALS} is there, but not {PROBLEM} that says what was asked for",
                    where=str(self.folder),
                    hint="restore it, or choose a new folder",
                )
            return None
        return atomic.read_record(path, Setup)

    def keep_setup(self, setup: Setup) -> None:
        atomic.write_record(self.folder / PROBLEM, setup)

    def close(self) -> None:
        self._file.close()
