"""A clock that moves when it is slept on."""

from __future__ import annotations

from collections.abc import Callable

from shakedown.times import Clock


def fake(begin_s: float = 0.0, at_sleep: Callable[[float], None] = lambda seconds: None) -> Clock:
    """Both of its times begin at ``begin_s``; a sleep moves them at once, then calls ``at_sleep``."""
    now_s = begin_s

    def sleep(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds
        at_sleep(seconds)

    return Clock(lambda: now_s, lambda: now_s, sleep)
