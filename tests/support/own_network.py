"""A network of a test's own: a namespace with nothing but a loopback that carries multicast."""

from __future__ import annotations

import ctypes
import os
import subprocess
import threading
from collections.abc import Callable

_CLONE_NEWNET = 0x40000000
_SET_UP = (
    ("ip", "link", "set", "lo", "up", "multicast", "on"),
    ("ip", "route", "add", "224.0.0.0/4", "dev", "lo"),
)


def in_own_network(body: Callable[[], None]) -> None:
    """Calls ``body`` in a thread that has its own network, as have the threads and processes that it starts: a network
    belongs to a thread, and ends with the last. Raises what ``body`` raises."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET):
                error = ctypes.get_errno()
                raise OSError(error, f"unshare: {os.strerror(error)}")
            for words in _SET_UP:
                subprocess.run(words, check=True, capture_output=True)
            body()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
