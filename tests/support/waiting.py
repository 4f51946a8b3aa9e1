"""Waiting for what must come, never for ever."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def until(holds: Callable[[], Found], limit_s: float = 300.0, what: str = "", every_s: float = 0.2) -> Found:
    """What ``holds`` gives once it is true; fails where it never is."""
    deadline = time.monotonic() + limit_s
    while not (found := holds()):
        assert time.monotonic() < deadline, f"{what or 'it did not happen'}: not within {limit_s} s"
        time.sleep(every_s)
    return found
