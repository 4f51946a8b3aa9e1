"""Where the checkpoint library lies: what programs compile and link against, and what the Python bindings load."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from .. import programs
from ..errors import Unavailable

_NAME = "libshakedown_checkpoint.so"


class Folders(NamedTuple):
    """``include`` has the folder ``shakedown/`` with the headers and the Fortran modules; ``lib`` the library."""

    include: Path
    lib: Path

    @property
    def library(self) -> Path:
        return self.lib / _NAME

    @property
    def archive(self) -> Path:
        """The same library to be linked into a program."""
        return self.lib / "libshakedown_checkpoint.a"

    @property
    def fortran(self) -> Path:
        """The Fortran module, which is compiled with the application."""
        return self.include / "shakedown/shakedown_checkpoint.f90"


def folders() -> Folders:
    """Inside the package, beside the native programs; below ``SHAKEDOWN_NATIVE`` where it has them too, or below
    ``SHAKEDOWN_CHECKPOINT``, a prefix with ``include`` and ``lib``. Raises Unavailable where the library was not built."""
    chosen = os.environ.get("SHAKEDOWN_CHECKPOINT")
    native = programs.folder()
    for prefix in (Path(chosen),) if chosen else (native, native.parent):
        found = Folders(prefix / "include", prefix / "lib")
        if found.library.exists():
            return found
    raise Unavailable(
        "the checkpoint library was not built",
        where=str(Path(chosen or native.parent) / "lib" / _NAME),
        hint="build it: pip install . in the source tree",
    )
