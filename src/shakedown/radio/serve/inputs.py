"""Where positions come from: sockets and pipes that are read without waiting, and traces that are played.

Each has ``fileno`` and ``read``, which takes what is there, within a bound: a flood keeps nobody else from being heard.
What the kernel lost of a flood is counted where it says so (SO_RXQ_OVFL).
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
from collections.abc import Callable
from typing import Protocol

import numpy as np

from ...errors import BadInput, CannotMeasure
from ..wire.traces import Trace
from .addresses import Input
from .delivery import Delivery, LineBuffer
from .radios import Radios
from .sockets import join, port
from .tally import Tally

_AT_ONCE = 512
_BUFFER_BYTES = 8 << 20
_RXQ_OVFL = getattr(socket, "SO_RXQ_OVFL", 40)
_AGAIN_S = 1.0


class Source(Protocol):
    """``fileno`` is None while there is nothing to wait for; ``again_s`` is then when to try."""

    def fileno(self) -> int | None: ...
    def read(self, now_s: float) -> None: ...
    def again_s(self) -> float: ...
    def close(self) -> None: ...


class Datagrams:
    """A UDP socket, of a multicast group or a port."""

    def __init__(self, socket_: socket.socket, deliver: Callable[[bytes], None], tally: Tally) -> None:
        self._socket = socket_
        self._deliver = deliver
        self._tally = tally
        self._lost = 0
        socket_.setblocking(False)
        with contextlib.suppress(OSError):  # the kernel's most may be less
            socket_.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        with contextlib.suppress(OSError):
            socket_.setsockopt(socket.SOL_SOCKET, _RXQ_OVFL, 1)

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self, now_s: float) -> None:
        for _ in range(_AT_ONCE):
            try:
                data, ancillary, _, _ = self._socket.recvmsg(65536, 64)
            except BlockingIOError:
                return
            except OSError:  # an error of a datagram of ours that came back: there is nothing to read of it
                continue
            for level, kind, value in ancillary:
                if level == socket.SOL_SOCKET and kind == _RXQ_OVFL:
                    (lost,) = struct.unpack("I", value)
                    self._tally.lost_in_kernel += (lost - self._lost) % 2**32
                    self._lost = lost
            self._deliver(data)

    def again_s(self) -> float:
        return np.inf

    def close(self) -> None:
        self._socket.close()


class Stream:
    """Lines of a pipe or a connection. One that is connected again after its end has ``connect``."""

    def __init__(
        self,
        file: int | None,
        deliver: Callable[[bytes], None],
        tally: Tally,
        name: str,
        connect: Callable[[], socket.socket] | None = None,
    ) -> None:
        self._file = file
        self._deliver = deliver
        self._tally = tally
        self._name = name
        self._connect = connect
        self._socket: socket.socket | None = None
        self._again_s = -np.inf if connect else np.inf
        self._lines = LineBuffer()

    def fileno(self) -> int | None:
        return self._file

    def read(self, now_s: float) -> None:
        if self._file is None:
            self._open(now_s)
            return
        try:
            data = os.read(self._file, 1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        for line in self._lines.add(data):
            self._deliver(line)
        self._tally.malformed["a line that is too long"] += self._lines.too_long
        self._lines.too_long = 0
        if not data:
            self._tally.sources_ended[self._name] += 1
            self.close()
            self._lines = LineBuffer()
            self._again_s = now_s + _AGAIN_S if self._connect else np.inf

    def _open(self, now_s: float) -> None:
        assert self._connect is not None
        self._again_s = now_s + _AGAIN_S
        with contextlib.suppress(OSError):
            self._socket = self._connect()
            self._socket.setblocking(False)
            self._file = self._socket.fileno()

    def again_s(self) -> float:
        return self._again_s if self._file is None else np.inf

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = self._file = None


class Playback:
    """A trace, by the time since its first row."""

    def __init__(self, trace: Trace, radios: Radios) -> None:
        self._trace = trace
        self._times_s = trace.time_s - trace.time_s[0]
        self._radios = radios
        self._next = 0

    @property
    def ended(self) -> bool:
        return self._next >= len(self._times_s)

    def play(self, until_s: float) -> None:
        """The rows up to a time, that one with them."""
        end = int(np.searchsorted(self._times_s, until_s, side="right"))
        trace, rows = self._trace, slice(self._next, end)
        columns = (trace.radio, trace.latitude_deg, trace.longitude_deg, trace.height_m, trace.altitude_m)
        for radio, latitude, longitude, height, altitude in zip(*(one[rows].tolist() for one in columns), strict=True):
            self._radios.receive(
                radio,
                latitude,
                longitude,
                None if height != height else height,
                None if altitude != altitude else altitude,
            )
        self._next = max(self._next, end)


def opened(one: Input, delivery: Delivery, tally: Tally) -> Source | socket.socket:
    """A source, or a socket that listens for some. Raises BadInput or CannotMeasure."""
    deliver_line = delivery.json if one.kind == "json" else delivery.nmea
    name = f"{one.kind}:{one.way}" + (f":{one.host}:{one.port}" if one.host else f":{one.port}" if one.port else "")

    def each_line(data: bytes) -> None:
        for line in filter(bytes.strip, data.split(b"\n")):
            deliver_line(line, one.radio)

    try:
        if one.way == "multicast":
            return Datagrams(join(one.host, one.port, one.interface), delivery.emane, tally)
        if one.way == "udp":
            return Datagrams(port(one.port), each_line, tally)
        if one.way == "listen":
            return _listening(one)
    except OSError as error:
        raise CannotMeasure(f"cannot be opened: {error.strerror or error}", where=f"--from {name}",
                            hint="another program may hold the port; `ip address` shows interfaces") from None  # fmt: skip
    if one.way == "stdin":
        if sys.stdin is None or sys.stdin.closed:
            raise BadInput("standard input is closed", where=f"--from {name}", hint="pipe lines of positions into it")
        return Stream(sys.stdin.fileno(), lambda line: deliver_line(line, one.radio), tally, name)
    return Stream(
        None,
        lambda line: deliver_line(line, one.radio),
        tally,
        name,
        lambda: socket.create_connection((one.host, one.port), timeout=0.25),
    )


def _listening(one: Input) -> socket.socket:
    socket_ = socket.create_server((one.host, one.port), family=socket.AF_INET6 if ":" in one.host else socket.AF_INET)
    socket_.setblocking(False)
    return socket_
