"""Which hosts answer at all: one TCP connection to each, all at once, given up after a time. Nothing is sent."""

from __future__ import annotations

import errno
import selectors
import socket
import time
from collections.abc import Mapping

#: Connections that are open at a time.
_AT_ONCE = 512
#: The host itself said so: it is alive, though nobody listens.
_ANSWERS = (0, errno.ECONNREFUSED, errno.EISCONN)


def answering(addresses: Mapping[str, str], port: int, *, limit_s: float = 2.0) -> dict[str, bool | None]:
    """Host -> whether it answered within the limit; None for one whose address is not known."""
    found: dict[str, bool | None] = {}
    names = list(addresses)
    for start in range(0, len(names), _AT_ONCE):
        found |= _some({name: addresses[name] for name in names[start : start + _AT_ONCE]}, port, limit_s)
    return found


def _some(addresses: Mapping[str, str], port: int, limit_s: float) -> dict[str, bool | None]:
    found: dict[str, bool | None] = {}
    with selectors.DefaultSelector() as waiting:
        try:
            for name, address in addresses.items():
                _begin(waiting, name, address, port, found)
            deadline = time.monotonic() + limit_s
            while waiting.get_map() and (left := deadline - time.monotonic()) > 0:
                for key, _ in waiting.select(left):
                    code = key.fileobj.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)  # type: ignore[union-attr]
                    found[key.data] = code in _ANSWERS
                    waiting.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
        finally:
            for key in list(waiting.get_map().values()):
                found[key.data] = False
                key.fileobj.close()  # type: ignore[union-attr]
    return found


def _begin(waiting: selectors.BaseSelector, name: str, address: str, port: int, found: dict[str, bool | None]) -> None:
    try:
        family, kind, proto, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
    except OSError:
        found[name] = None
        return
    one = socket.socket(family, kind | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC, proto)
    code = one.connect_ex(place)
    if code == errno.EINPROGRESS:
        waiting.register(one, selectors.EVENT_WRITE, name)
        return
    one.close()
    found[name] = code in _ANSWERS
