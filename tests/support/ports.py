"""Ports for servers of tests."""

from __future__ import annotations

import random
import socket
from pathlib import Path

_CHOICE = random.SystemRandom()


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """A port of 127.0.0.1 that nobody has, below those that the kernel gives to whoever asks for any: between this and the
    server's own start none of the many that ask gets it."""
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = _CHOICE.randrange(lowest // 2, lowest)
        with socket.socket(socket.AF_INET, kind) as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
