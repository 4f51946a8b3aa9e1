"""What one host of the dual-stack test answers with, and how another asks: TCP, UDP and multicast.

Every request begins with a token that only the processes of the job know: nobody else gets an answer.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator

from ._addresses import FAMILIES, Address, Family

TOKEN_BYTES = 16
_MOST_BYTES = 1 << 20
_LIMIT_S = 4.0
_SOCKET_FAMILY: dict[Family, socket.AddressFamily] = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}
#: IP and UDP headers.
HEAD_BYTES: dict[Family, int] = {"ipv4": 28, "ipv6": 48}
_MOST_DATAGRAM: dict[Family, int] = {"ipv4": 65507, "ipv6": 65527}
# linux/in.h, linux/in6.h: the whole path must take a datagram in one piece
_DISCOVER = {"ipv4": (socket.IPPROTO_IP, 10, 2), "ipv6": (socket.IPPROTO_IPV6, 23, 2)}


class Wrong(Exception):
    """What did not come out as it must, in words."""


def _frame(data: bytes) -> bytes:
    return struct.pack("!I", len(data)) + data


def _receive(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise Wrong("the connection was closed early")
        data += more
    return data


def _receive_frame(connection: socket.socket) -> bytes:
    (length,) = struct.unpack("!I", _receive(connection, 4))
    if length > _MOST_BYTES:
        raise Wrong("the answer is longer than what was requested")
    return _receive(connection, length)


class Servers:
    """Answers on both families, by TCP and UDP, and on one TCP socket for both (IPv4-mapped addresses).

    A TCP answer is the address that the server saw, and the payload again; a UDP answer the datagram itself, unbroken.
    """

    def __init__(self, token: bytes) -> None:
        self.token = token
        self.ports: dict[str, int] = {}
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._stop = threading.Event()
        for family in FAMILIES:
            with contextlib.suppress(OSError):  # without the family there is no port, and its checks fail
                self._listen(f"tcp.{family}", _SOCKET_FAMILY[family], v6only=True)
                self._datagrams(family)
        with contextlib.suppress(OSError):
            self._listen("tcp.mapped", socket.AF_INET6, v6only=False)

    def close(self) -> None:
        """Stop answering."""
        self._stop.set()
        for one in self._threads:
            one.join()
        for door in self._open:
            door.close()

    def _listen(self, name: str, family: int, *, v6only: bool) -> None:
        door = socket.socket(family, socket.SOCK_STREAM)
        self._open.append(door)
        if family == socket.AF_INET6:
            door.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(v6only))
        door.bind(("", 0))
        door.listen(64)
        self._start(name, door, self._accept)

    def _datagrams(self, family: Family) -> None:
        door = socket.socket(_SOCKET_FAMILY[family], socket.SOCK_DGRAM)
        self._open.append(door)
        if family == "ipv6":
            door.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        door.setsockopt(*_DISCOVER[family])
        door.bind(("", 0))
        self._start(f"udp.{family}", door, self._echo)

    def _start(self, name: str, door: socket.socket, work: object) -> None:
        assert callable(work)
        door.settimeout(0.1)
        self.ports[name] = door.getsockname()[1]
        thread = threading.Thread(target=work, args=(door,), daemon=True)
        thread.start()
        self._threads.append(thread)

    def _accept(self, door: socket.socket) -> None:
        while not self._stop.is_set():
            try:
                connection, peer = door.accept()
            except (TimeoutError, OSError):
                continue
            threading.Thread(target=self._answer, args=(connection, peer[0]), daemon=True).start()

    def _answer(self, connection: socket.socket, peer: str) -> None:
        with contextlib.suppress(OSError, Wrong), connection:
            connection.settimeout(_LIMIT_S)
            asked = _receive_frame(connection)
            if asked[:TOKEN_BYTES] == self.token:
                connection.sendall(_frame(peer.encode()) + _frame(asked[TOKEN_BYTES:]))

    def _echo(self, door: socket.socket) -> None:
        while not self._stop.is_set():
            try:
                data, peer = door.recvfrom(1 << 16)
                if data[:TOKEN_BYTES] == self.token:
                    door.sendto(data, peer)
            except OSError:  # nobody asked; or the answer is too large for the way back: then none comes
                continue


def _where(address: str, port: int, family: Family) -> tuple[str, int] | tuple[str, int, int, int]:
    return (address, port) if family == "ipv4" else (address, port, 0, 0)


def ask_tcp(own: Address, other: str, port: int, token: bytes, *, mapped: bool = False) -> None:
    """A connection from our address to theirs, 64 KiB there and back. Raises Wrong or OSError."""
    payload = os.urandom(1 << 16)
    with socket.socket(_SOCKET_FAMILY[own.family], socket.SOCK_STREAM) as connection:
        connection.settimeout(_LIMIT_S)
        connection.bind(_where(own.address, 0, own.family))
        connection.connect(_where(other, port, own.family))
        connection.sendall(_frame(token + payload))
        seen = _receive_frame(connection).decode()
        back = _receive_frame(connection)
    expected = f"::ffff:{own.address}" if mapped else own.address
    if seen != expected:
        raise Wrong(f"the other side saw {seen} where {expected} was connecting")
    if hashlib.sha256(back).digest() != hashlib.sha256(payload).digest():
        raise Wrong("what came back is not what was sent")


def ask_udp(own: Address, other: str, port: int, token: bytes, size: int) -> None:
    """A datagram of ``size`` bytes there and back, in one piece. Raises Wrong or OSError."""
    payload = token + os.urandom(size - TOKEN_BYTES)
    with socket.socket(_SOCKET_FAMILY[own.family], socket.SOCK_DGRAM) as door:
        door.setsockopt(*_DISCOVER[own.family])
        door.bind(_where(own.address, 0, own.family))
        door.settimeout(_LIMIT_S / 4)
        for _ in range(4):  # one may be lost
            door.sendto(payload, _where(other, port, own.family))
            with contextlib.suppress(TimeoutError):
                while True:
                    back, _ = door.recvfrom(1 << 16)
                    if back == payload:
                        return
    raise Wrong(f"no answer to {size} bytes by UDP")


def largest(own: Address) -> int:
    """The UDP payload that fills the interface's MTU."""
    return min(own.mtu - HEAD_BYTES[own.family], _MOST_DATAGRAM[own.family])


def ask_mtu(own: Address, other: str, port: int, token: bytes) -> None:
    """The largest datagram of the interface passes unbroken both ways, and one byte more is refused. As ask_udp.

    To an address of this host it goes by the loopback, whose MTU is another: nothing is refused then.
    """
    size = largest(own)
    try:
        ask_udp(own, other, port, token, size)
    except OSError as error:
        if error.errno == errno.EMSGSIZE:
            raise Wrong(f"the path carries no packets of {own.mtu} bytes, the MTU of {own.interface}") from None
        raise
    if size == _MOST_DATAGRAM[own.family] or other == own.address:
        return
    with contextlib.suppress(TimeoutError):
        try:
            ask_udp(own, other, port, token, size + 1)
        except OSError as error:
            if error.errno == errno.EMSGSIZE:
                return
            raise
        except Wrong:
            pass
    raise Wrong(f"a packet larger than the MTU of {own.interface}, {own.mtu} bytes, was not refused")


class Member:
    """A member of one multicast group on one interface: says who it is, and hears who else is there."""

    def __init__(self, own: Address, group: str, port: int, token: bytes) -> None:
        self._own, self._token = own, token
        index = socket.if_nametoindex(own.interface)
        family = _SOCKET_FAMILY[own.family]
        self._in = socket.socket(family, socket.SOCK_DGRAM)
        self._out = socket.socket(family, socket.SOCK_DGRAM)
        self._in.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if own.family == "ipv4":
            self._to: tuple[str, int] | tuple[str, int, int, int] = (group, port)
            self._in.bind((group, port))
            member = socket.inet_aton(group) + b"\0\0\0\0" + struct.pack("=i", index)
            self._in.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
            self._out.setsockopt(
                socket.IPPROTO_IP,
                socket.IP_MULTICAST_IF,
                b"\0\0\0\0" + socket.inet_aton(own.address) + struct.pack("=i", index),
            )
        else:
            self._to = (group, port, 0, index)
            self._in.bind((group, port, 0, index))
            member = socket.inet_pton(socket.AF_INET6, group) + struct.pack("=i", index)
            self._in.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, member)
            self._out.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)

    def meet(self, rank: int, count: int, limit_s: float) -> set[int]:
        """Say our rank again and again until all ``count`` are heard, and for a while after; the ranks heard."""
        heard: set[int] = set()
        self._in.settimeout(0.05)
        end = time.monotonic() + limit_s
        said = 0
        while time.monotonic() < end and (len(heard) < count or said < 20):
            self._out.sendto(self._token + struct.pack("!I", rank), self._to)
            said += 1
            with contextlib.suppress(TimeoutError):
                while True:
                    data = self._in.recv(1 << 16)
                    if data[:TOKEN_BYTES] == self._token and len(data) == TOKEN_BYTES + 4:
                        heard.add(struct.unpack("!I", data[TOKEN_BYTES:])[0])
                        if len(heard) >= count:
                            time.sleep(0.02)
                            break
        return heard

    def close(self) -> None:
        """Leave the group."""
        self._in.close()
        self._out.close()


@contextlib.contextmanager
def serving(token: bytes) -> Iterator[Servers]:
    """Servers that answer until the end of the block."""
    servers = Servers(token)
    try:
        yield servers
    finally:
        servers.close()
