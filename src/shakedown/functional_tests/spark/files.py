"""Files as a host has them: on which kind of file system, written to their device, out of memory, seen by all."""

from __future__ import annotations

import os
import time
from pathlib import Path

IN_MEMORY = ("tmpfs", "ramfs")
SHARED = ("nfs", "lustre", "gpfs", "beegfs")
#: A file that another host has just written may take so long to be seen here.
_SEEN_S = 10.0
_PAGE = 4096
_LOOKED_AT = 64


def kind(path: Path) -> str:
    """The file system that a path is on; empty for one that is not known by name."""
    device = os.stat(path).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    for line in mounts:
        head, _, tail = line.partition(" - ")
        if head.split()[2:3] == [wanted]:
            return tail.split()[0]
    return ""


def sees(path: Path, token: str) -> str:
    """Why this host does not see what the test wrote there; empty where it does."""
    end = time.monotonic() + _SEEN_S
    while True:
        try:
            os.listdir(path)  # which makes a network file system look anew
            if (path / "token").read_text() == token:
                return ""
            why = "another folder of that name"
        except OSError as error:
            why = error.strerror or str(error)
        if time.monotonic() > end:
            return why
        time.sleep(0.2)


def write_out(path: Path, *, drop: bool) -> None:
    """Until a file is on its device; with ``drop`` the kernel's copy in memory goes. Raises OSError."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        if drop:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cached_share(paths: list[Path]) -> float | None:
    """The share of pages looked at that are in this host's memory; None where its file system does not say."""
    seen = cached = 0
    for path in paths:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            for place in range(_LOOKED_AT if size else 0):
                seen += 1
                try:
                    offset = size * place // _LOOKED_AT // _PAGE * _PAGE
                    cached += os.preadv(file.fileno(), [bytearray(1)], offset, os.RWF_NOWAIT) > 0
                except BlockingIOError:
                    continue
                except OSError:
                    return None
    return cached / seen if seen else None
