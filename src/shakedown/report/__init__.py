"""Reports: one file per format, each with one constant ``REPORT``, all made from one Analysis.

    Analysis --_sections--> Document (sections of blocks) --html, markdown--> a page
    Analysis ----------------------------------------------csv, json------> every value, in full

What a report says has one home, the Document; a format only says how a block looks. The formats lie in
``formats/``; the modules whose names begin with an underscore are shared by them. Nothing here reads a clock, a file of
the run or the network: the same Analysis gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from .. import plugins
from ..errors import StoreFailed, unknown
from ..files import atomic
from ..records import Analysis

FORMATS = ("html", "md", "csv", "json")


class ReportFormat(msgspec.Struct, frozen=True, kw_only=True):
    """One format. Both functions are pure."""

    name: str
    suffix: str  # of the file's name, without the dot; a format is asked for by its name or by its suffix
    render: Callable[[Analysis], str | bytes]
    companions: Callable[[Analysis], Mapping[str, str | bytes]] = lambda analysis: {}
    """Further files that belong to the format: path relative to the report -> content."""


def names() -> tuple[str, ...]:
    """The names of all formats."""
    return plugins.names("report.formats")


def get(name: str) -> ReportFormat:
    """The format of that name or suffix. Raises BadInput with the nearest name."""
    if name in names():
        found = plugins.load("report.formats", "REPORT", name)
        assert isinstance(found, ReportFormat)
        return found
    for other in map(get, names()):
        if other.suffix == name:
            return other
    raise unknown("report format", name, names())


def write(analysis: Analysis, folder: Path, formats: Iterable[str] = FORMATS) -> dict[str, Path]:
    """Write the report into ``folder`` in each of ``formats``; return the main file of each, keyed as it was asked for.

    Each file appears whole or not at all. Raises BadInput for a format that there is not (before anything is written)
    and StoreFailed where the folder cannot be written.
    """
    asked = {name: get(name) for name in formats}
    paths = {}
    for name, report in asked.items():
        paths[name] = folder / f"report.{report.suffix}"
        for relative, content in report.companions(analysis).items():
            _write(folder / relative, content)
        _write(paths[name], report.render(analysis))
    return paths


def _write(path: Path, content: str | bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.replace(path, content, mode=0o644, flush=False)
    except OSError as error:
        raise StoreFailed(
            f"the report cannot be written: {error.strerror}",
            where=str(path),
            hint="choose a folder with room that you may write to",
        ) from error
