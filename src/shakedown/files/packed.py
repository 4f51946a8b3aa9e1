"""Files that users bring, packed or not: gzip, xz and bzip2 are told by their first bytes, and one that is cut or damaged is
an error with its name, never an end of the file that nobody notices."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from ..errors import BadInput

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_FORMATS: tuple[tuple[bytes, str, Callable[[Path], object]], ...] = (
    (b"\x1f\x8b", "gzip", gzip.GzipFile),
    (b"\xfd7zXZ\x00", "xz", lzma.LZMAFile),
    (b"BZh", "bzip2", bz2.BZ2File),
)
_BUFFER_BYTES = 1 << 20
_GIVE = "give a file that can be read"


def opened(path: Path, *, hint: str = _GIVE) -> IO[bytes]:
    """A file, unpacked where its first bytes say that it is packed. Raises BadInput, also while it is read."""
    try:
        file = open(path, "rb")  # noqa: SIM115 - given to the caller
        magic = file.read(6)
        file.seek(0)
    except OSError as error:
        raise _unreadable(path, error, hint) from None
    for sign, name, unpack in _FORMATS:
        if magic.startswith(sign):
            file.close()
            return cast(IO[bytes], io.BufferedReader(_Unpacked(path, name, unpack), _BUFFER_BYTES))
    return file


def is_packed(begin: bytes) -> bool:
    """Whether a file that begins so (six bytes or more, if it has them) is packed."""
    return any(begin.startswith(sign) for sign, _, _ in _FORMATS)


def opened_text(
    path: Path, *, encoding: str = "utf-8", errors: str = "replace", newline: str | None = None, hint: str = _GIVE
) -> io.TextIOWrapper:
    """A file as text, unpacked where it is packed; the rest as of ``open``. Raises BadInput, also while it is read."""
    return io.TextIOWrapper(opened(path, hint=hint), encoding=encoding, errors=errors, newline=newline)


def read_text(path: Path, *, most_bytes: int, hint: str = _GIVE) -> str:
    """The text of a whole file; bytes that are no UTF-8 are shown as such. Raises BadInput, also where it is larger."""
    with opened(path, hint=hint) as file:
        try:
            data = file.read(most_bytes + 1)
        except OSError as error:
            raise _unreadable(path, error, hint) from None
    if len(data) > most_bytes:
        raise BadInput(
            f"holds more than {most_bytes >> 20} MiB", where=str(path), hint="give the part of it that holds the result"
        )
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def _unreadable(path: Path, error: OSError, hint: str) -> BadInput:
    return BadInput(f"cannot be read: {error.strerror or error}", where=str(path), hint=hint)


class _Unpacked(io.RawIOBase):
    """What a packed file holds, with every way in which it can be broken as one error."""

    def __init__(self, path: Path, name: str, unpack: Callable[[Path], object]) -> None:
        self._path, self._name = path, name
        self._file = cast(IO[bytes], unpack(path))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        try:
            data = self._file.read(len(view))
        except EOFError:
            raise self._broken("it ends in the middle", "copy it again: it was cut short") from None
        except (OSError, lzma.LZMAError, zlib.error, ValueError) as error:
            raise self._broken(f"is damaged ({error})", "copy it again") from None
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()

    def _broken(self, what: str, hint: str) -> BadInput:
        return BadInput(f"{what}, as a file packed by {self._name}", where=str(self._path), hint=hint)
