"""The folder of a tuning run: every trial in ``trials.jsonl``, one a line, flushed to the disk before the next begins.

What a kill or a power cut leaves is a file whose last line may be cut short: such a line is set aside (it is one run
that was under way) and the rest counts. A line that is damaged elsewhere is named, so that nothing is lost in silence.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from ..errors import CannotMeasure, StoreFailed
from ..files import atomic
from ..files import journal as appended
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


_DECODER = msgspec.json.Decoder(Trial)


class Journal:
    """An open folder. ``trials`` are those of earlier calls, ``session`` is the number of this one, from 1."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notices: list[Notice] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = appended.Appender(folder / TRIALS, torn="closed")  # what was cut short stays as it is
        except BlockingIOError:
            raise CannotMeasure(
                "another tuner is at work in this folder", where=str(self.folder), hint="wait for it, or choose another"
            ) from None
        except OSError as error:
            raise atomic.failed(error, folder / TRIALS, "open") from None
        self.close = self._file.close
        self.trials = self._read()
        self.session = 1 + max((trial.session for trial in self.trials), default=0)

    def _read(self) -> list[Trial]:
        trials: dict[str, Trial] = {}
        for row in appended.rows(self.folder / TRIALS, _DECODER):
            if row.record is not None:  # also where only its end of line is missing
                trials.setdefault(row.record.key, row.record)
            elif row.torn:
                self._notice(f"the last line of {TRIALS} was cut short; that run is made again")
            elif row.line.strip():
                self._notice(f"line {row.number} of {TRIALS} cannot be read; that run is made again")
        return list(trials.values())

    def _notice(self, text: str) -> None:
        self.notices.append(Notice(code="journal", text=text))

    def add(self, trial: Trial) -> None:
        """Keep a trial: when this returns it is on the disk. Raises StoreFailed."""
        try:
            self._file.append(trial)
        except OSError as error:
            raise atomic.failed(error, self.folder / TRIALS, "write") from None
        self.trials.append(trial)

    def spent_s(self) -> float:
        """What all runs took so far, start-up included."""
        return sum(trial.cost_s for trial in self.trials)

    def setup(self) -> Setup | None:
        """What the folder was made for; None in a new one. Raises StoreFailed where that is damaged."""
        path = self.folder / PROBLEM
        if not path.exists():
            if self.trials:
                raise StoreFailed(
                    f"{TRIALS} is there, but not {PROBLEM} that says what was requested",
                    where=str(self.folder),
                    hint="restore it, or choose a new folder",
                )
            return None
        return atomic.read_record(path, Setup)

    def keep_setup(self, setup: Setup) -> None:
        atomic.write_record(self.folder / PROBLEM, setup, folder=True)
