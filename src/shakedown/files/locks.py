"""One holder of a file at a time (flock: the kernel lets go of it when the holder ends, however it ends)."""

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from typing import Protocol


class _Open(Protocol):
    def fileno(self) -> int: ...


def take(file: int | _Open, wait_s: float = 0.0) -> bool:
    """Hold an open file alone until it is closed. True where it is ours; False on a file system without locks, where two
    holders at once are the user's to avoid. Raises BlockingIOError where another holds it for longer than ``wait_s``."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.02)
        except OSError:
            return False
        else:
            return True


def taken(path: Path) -> bool:
    """Whether somebody holds this file now; False where that cannot be told."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no such file yet, or a file system without locks
        pass
    return False
