"""What lies in the folders that a person gave: run directories, acceptance directories, health records."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import BadInput
from ..records import Absent

#: Folders are looked through so deep.
DEEPEST = 6
#: Files that may be health records: of each folder at most so many, and none larger.
_MOST_FILES, _MOST_BYTES = 20_000, 8 << 20


class Found(NamedTuple):
    """Paths as they were given, sorted; of a directory that can be reached twice the first."""

    runs: list[Path]
    acceptances: list[Path]
    records: list[Path]  # files that may be health records
    left_out: list[Absent]


def find(folders: Iterable[Path], output: Path) -> Found:
    """All that lies in the folders; ``output``, where the site is written, is not looked into. Raises BadInput where a
    folder cannot be read."""
    found = Found([], [], [], [])
    seen: set[tuple[int, int]] = set()
    if output.is_dir():
        seen.add(_identity(os.stat(output)))
    for folder in folders:
        if not folder.is_dir():
            raise BadInput(
                "is a file, not a folder" if folder.exists() else "there is no such folder",
                where=str(folder),
                hint="give run directories, or folders of them",
            )
        try:
            os.listdir(folder)
        except OSError as error:
            raise BadInput(
                f"cannot be read: {error.strerror}", where=str(folder), hint="check its permissions"
            ) from None
        _look(os.fspath(folder), 0, seen, found)
    return found


def _words(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "replace")


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _look(path: str, depth: int, seen: set[tuple[int, int]], found: Found) -> None:
    """One folder. A link is followed once: what was seen is not entered again."""
    try:
        here = _identity(os.stat(path))
        if here in seen:
            return
        seen.add(here)
        if os.path.lexists(f"{path}/manifest.json"):
            found.runs.append(Path(path))
            return
        if os.path.lexists(f"{path}/journal.jsonl"):
            found.acceptances.append(Path(path))
        entries = sorted(_entries(path), key=lambda one: one[0])
    except OSError as error:
        found.left_out.append(Absent(what=_words(path), why=f"cannot be read: {error.strerror}"))
        return
    names = {name for name, _ in entries}
    if "runs" in names and "plan.json" in names:
        found.left_out.append(
            Absent(what=_words(path), why="the run directory was cut short before its plan was written")
        )
        return
    files = [name for name, is_folder in entries if not is_folder]
    found.records.extend(Path(path, name) for name in files[:_MOST_FILES])
    if depth == DEEPEST:
        if len(files) < len(entries):
            found.left_out.append(
                Absent(what=_words(path), why=f"lies {DEEPEST} folders deep: what is below was not looked at")
            )
        return
    for name, is_folder in entries:
        if is_folder:
            _look(f"{path}/{name}", depth + 1, seen, found)


def _entries(path: str) -> Iterator[tuple[str, bool]]:
    """The folders in a folder, and the files that may be health records; links that lead nowhere are none of it."""
    with os.scandir(path) as entries:
        for one in entries:
            if one.name.startswith("."):
                continue
            try:
                if one.is_dir():
                    yield one.name, True
                elif one.name.endswith(".json") and one.is_file() and one.stat().st_size <= _MOST_BYTES:
                    yield one.name, False
            except OSError:
                continue
