"""The measurements of a run directory as they lie there, read case by case: half a million of them do not fit otherwise.

A case as a record takes a kilobyte and a half, as columns a quarter of that. So a measurement's cases stay as JSON until
they are asked for (``CaseStream.cases``), one after another, and what stays is columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from .. import strict
from ..errors import StoreFailed
from ..files.atomic import failed
from ..records import Absent, Case, Check, Measurement
from ..results.run_directory import RunDirectory
from .checks import Tally

T = TypeVar("T")


class _Text(Measurement, frozen=True, kw_only=True):
    """A measurement whose cases are still JSON."""

    cases: tuple[msgspec.Raw, ...] = ()  # type: ignore[assignment]


class CaseStream:
    """One measurement; all of it but its cases is in ``record``."""

    def __init__(self, record: Measurement, texts: tuple[msgspec.Raw, ...] | None = None) -> None:
        self._texts = texts
        self.record = record
        self.run, self.repeat, self.workload = record.run, record.repeat, record.workload
        self.host, self.state = record.host, record.state
        self._checks: tuple[Check, ...] | None = None

    @property
    def cases(self) -> Iterator[Case]:
        """The cases in their order. Raises StoreFailed for one that is damaged."""
        tally = Tally()
        for case in self.record.cases if self._texts is None else self._decoded(self._texts):
            tally.add(case)
            yield case
        self._checks = tally.checks(self.workload, self.host)

    def whole(self) -> Measurement:
        """With all of its cases as records. Raises StoreFailed for one that is damaged."""
        if self._texts is None:
            return self.record
        return msgspec.structs.replace(self.record, cases=tuple(self._decoded(self._texts)))

    @property
    def checks(self) -> tuple[Check, ...]:
        """The worst check of each kernel: known once the cases have been gone through. Raises StoreFailed."""
        if self._checks is None:
            for _ in self.cases:
                pass
        return self._checks or ()

    def _decoded(self, texts: tuple[msgspec.Raw, ...]) -> Iterator[Case]:
        decoder = msgspec.json.Decoder(Case)
        try:
            for text in texts:
                yield decoder.decode(text)
        except strict.UNREADABLE as error:
            raise StoreFailed(f"is damaged: {error}") from None


def read(directory: RunDirectory, make: Callable[[list[CaseStream]], T]) -> tuple[T, list[Absent]]:
    """What ``make`` makes of all whole measurements of a directory, and what in it is damaged.

    Where anything is, all is read again by ``RunDirectory.load``, which mends what can be mended. Raises StoreFailed.
    """
    try:
        return make([_read(path) for path in _files(directory)]), []
    except StoreFailed:
        loaded = directory.load()
        return make([CaseStream(record) for record in loaded.measurements]), loaded.damaged


def _files(directory: RunDirectory) -> Iterator[Path]:
    for _, _, folder in directory.repeats():
        path = folder / "measurement.json"
        if path.exists():
            yield path


def _read(path: Path) -> CaseStream:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_Text)
    except OSError as error:
        raise failed(error, path, "read") from None
    except strict.UNREADABLE as error:
        raise StoreFailed(f"is damaged: {error}", where=str(path)) from None
    fields = {name: getattr(found, name) for name in Measurement.__struct_fields__ if name != "cases"}
    return CaseStream(Measurement(**fields), found.cases)
