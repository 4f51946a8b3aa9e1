"""Where the native programs lie, and how they were built."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import Unavailable


def folder() -> Path:
    """The folder of the native programs: ``SHAKEDOWN_NATIVE`` where it is set, else inside the package."""
    chosen = os.environ.get("SHAKEDOWN_NATIVE")
    return Path(chosen) if chosen else Path(__file__).parent.parent / "native" / "bin"


def path(name: str) -> str:
    """The path of one native program. Raises Unavailable where it was not built."""
    program = folder() / name
    if not os.access(program, os.X_OK):
        raise Unavailable(
            f"the native program {name!r} was not built",
            where=str(program),
            hint=str(build().get(f"{name}_absent", "build it: pip install . in the source tree")),
        )
    return str(program)


@cache
def build() -> dict[str, Any]:
    """What the build wrote of itself (``build.json``): compiler, flags, commit, the MPI that was found. Empty if none."""
    try:
        loaded = json.loads((folder() / "build.json").read_text())
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}
