"""Files that are there are whole: written to a temporary name, flushed to the disk and renamed. Records as JSON likewise."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TypeVar

import msgspec

from .. import strict
from ..errors import StoreFailed

_T = TypeVar("_T")


def failed(error: OSError, path: Path, doing: str) -> StoreFailed:
    """The StoreFailed for an OSError, with the step that mends it."""
    hints = {
        errno.ENOSPC: "free some space, then go on (run --resume, accept run); what was measured so far is kept",
        errno.EDQUOT: "your quota is used up: free some space, then go on (run --resume, accept run)",
        errno.EROFS: "the file system is read-only: choose another directory",
        errno.EACCES: "you may not write there: choose another directory",
        errno.EFBIG: "a file-size limit is in the way (ulimit -f): raise it, then go on (run --resume, accept run)",
        errno.EIO: "the disk reports an error: copy the run directory elsewhere before anything else",
    }
    return StoreFailed(
        f"cannot {doing}: {error.strerror or error}",
        where=str(path),
        hint=hints.get(error.errno or 0, "check the path and its permissions"),
    )


def write(path: Path, data: bytes | str) -> None:
    """Write a file whole or not at all. Raises StoreFailed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise failed(error, path, "write") from None


def write_record(path: Path, record: msgspec.Struct) -> None:
    """A record as indented JSON, written whole. Raises StoreFailed."""
    write(path, msgspec.json.format(msgspec.json.encode(record), indent=1))


def read_record(path: Path, kind: type[_T]) -> _T:
    """A record from its file. Raises StoreFailed for a file that is absent or damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise failed(error, path, "read") from None
    except strict.UNREADABLE as error:
        raise StoreFailed(
            f"is damaged: {strict.in_words(str(error))}",
            where=str(path),
            hint="restore it from a copy; the measurements beside it are untouched",
        ) from None
