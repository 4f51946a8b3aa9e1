"""Files that are there are whole: written to a temporary name, flushed to the disk and renamed. Records as JSON likewise."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from ..errors import UNREADABLE, StoreFailed

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


def replace(
    path: Path, data: bytes | str, *, mode: int | None = None, flush: bool = True, folder: bool = False
) -> None:
    """Write a file whole or not at all, through nobody's link. Raises OSError.

    ``mode``: its permissions, whatever the umask; without, as the umask has it. ``flush``: on the disk before it takes the
    name. ``folder``: the name too, so that it outlives a power cut.
    """
    with beside(path) as temporary:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(temporary, flags, 0o666 if mode is None else mode & 0o600), "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            if flush:
                os.fsync(file.fileno())
    if folder:
        flush_folder(path.parent)


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A path for what others write (DuckDB): it takes the name of ``path`` when the block ends, and is removed where that
    fails. Raises OSError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_native_id()}.tmp")
    temporary.unlink(missing_ok=True)  # of an earlier process of this number
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def flush_folder(folder: Path) -> None:
    """The names in a folder, onto the disk; nothing where the file system has no way to do so."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write(path: Path, data: bytes | str, *, flush: bool = True, folder: bool = False) -> None:
    """``replace``, with the user's error. Raises StoreFailed."""
    try:
        replace(path, data, flush=flush, folder=folder)
    except OSError as error:
        raise failed(error, path, "write") from None


def reserve(path: Path, size: int) -> None:
    """Take room on the disk, as blanks, before anything is full: for ``fill``. Raises OSError."""
    replace(path, b" " * size)


def fill(path: Path, data: bytes) -> None:
    """Write into the room that ``reserve`` took, in place, which needs no more of the disk; it keeps its size, and what is
    longer is cut. Raises OSError."""
    with open(path, "r+b") as file:
        room = os.fstat(file.fileno()).st_size
        file.write(data[:room].ljust(room))
        file.flush()
        os.fsync(file.fileno())


def write_record(path: Path, record: object, *, flush: bool = True, folder: bool = False) -> None:
    """A record as indented JSON, written whole. Raises StoreFailed."""
    write(path, as_json(record), flush=flush, folder=folder)


def as_json(record: object) -> bytes:
    """A record as it stands in a file: indented JSON."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1)


def read_record(path: Path, kind: type[_T]) -> _T:
    """A record from its file. Raises StoreFailed for a file that is absent or damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise failed(error, path, "read") from None
    except UNREADABLE as error:
        from .. import strict  # which a health check's call does without

        raise StoreFailed(
            f"is damaged: {strict.in_words(str(error))}",
            where=str(path),
            hint="restore it from a copy; the measurements beside it are untouched",
        ) from None
