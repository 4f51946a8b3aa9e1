"""The small file that outlives a call: where it lies, reading it, writing it whole, one writer at a time."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ...errors import UNREADABLE, BadInput, CannotMeasure
from ...files import atomic, locks
from .records import KeptState

#: How long a call waits for another to finish before it goes on without keeping anything.
LOCK_S = 0.5
#: Larger than any state of ours; a file that is larger is not ours.
MOST_BYTES = 8 << 20


def folder(asked: str = "") -> str:
    """Where states lie: as asked, else /var/lib/shakedown/health for root and ~/.local/state/shakedown/health."""
    if asked:
        return asked
    if os.geteuid() == 0:
        return "/var/lib/shakedown/health"
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return f"{home}/shakedown/health"


def path(asked: str, host: str) -> str:
    """The file of a host: several may share a folder."""
    return f"{folder(asked)}/{host.replace('/', '_')}.json"


def prepare(where: str) -> None:
    """Make the folder. Raises CannotMeasure where that fails, BadInput where others could change what lies in it."""
    try:
        os.makedirs(where, mode=0o755, exist_ok=True)
        found = os.stat(where)
    except OSError as error:
        raise CannotMeasure(
            f"cannot be made: {error.strerror}", where=where, hint="name another folder with --state"
        ) from None
    if found.st_uid not in (0, os.geteuid()) or stat.S_IMODE(found.st_mode) & 0o022:
        raise BadInput(
            "others may write there, and could hide a fault or free a drained node",
            where=where,
            hint=f"chmod go-w {where}, or name another folder with --state",
        )


def read(file: str) -> KeptState | None:
    """The state; None where there is none yet. Raises ValueError for one that is damaged, OSError."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb") as opened:
        data = opened.read(MOST_BYTES)
    try:
        kept = msgspec.json.decode(data, type=KeptState)
    except UNREADABLE as error:
        raise ValueError(f"is damaged: {error}") from None
    if kept.schema != 1:
        raise ValueError(f"has schema {kept.schema}, this version reads 1")
    return kept


def write(file: str, kept: KeptState) -> None:
    """Whole or not at all. Not flushed to the disk: that takes longer than the checks, and what a power cut loses is
    counted anew from the kernel's log of the next start. Raises CannotMeasure."""
    try:
        atomic.replace(Path(file), msgspec.json.encode(kept), mode=0o600, flush=False)
    except OSError as error:
        raise CannotMeasure(
            f"cannot be written: {error.strerror}", where=file, hint="name another folder with --state"
        ) from None


@contextlib.contextmanager
def locked(file: str, limit_s: float = LOCK_S) -> Iterator[bool]:
    """Whether the state is ours for the while; False where another call has it, or it cannot be."""
    try:
        descriptor = os.open(f"{file}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        yield False
        return
    try:
        yield locks.take(descriptor, limit_s)
    except BlockingIOError:
        yield False
    finally:
        os.close(descriptor)
