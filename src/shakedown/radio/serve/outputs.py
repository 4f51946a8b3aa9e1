"""Where losses go: a multicast group, readers on a socket, an EEL file. Nothing here waits for anybody."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path
from typing import NamedTuple

from ...errors import BadInput, CannotMeasure, StoreFailed
from ..wire.losses import Datagram
from .addresses import Output
from .readers import Reader
from .sockets import listening, sender
from .tally import Tally
from .updater import Update

_SEND_BUFFER_BYTES = 4 << 20
_MOST_READERS = 256


class Group:
    """Sends datagrams to a multicast group."""

    def __init__(self, one: Output, tally: Tally) -> None:
        try:
            self._socket, self._address = sender(one.host, one.port, one.interface)
        except OSError as error:
            raise _cannot(error, f"--to emane:{one.host}:{one.port}") from None
        self._tally = tally
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)

    def send(self, datagrams: list[Datagram]) -> None:
        """What the network refuses is counted: everybody's turn (``Book.turn``) brings it again."""
        for one in datagrams:
            try:
                self._socket.sendto(one.data, self._address)
            except OSError:
                self._tally.not_sent += one.entries
                continue
            self._tally.entries += one.entries
            self._tally.datagrams += 1
            self._tally.bytes += len(one.data)

    def close(self) -> None:
        self._socket.close()


class Connected(NamedTuple):
    socket: socket.socket
    reader: Reader


class Readers:
    """A socket that listens, and who reads losses from it."""

    def __init__(self, one: Output, tally: Tally, most_bytes: int, patience_s: float) -> None:
        self._tally = tally
        self._limits = most_bytes, patience_s
        self._path = one.path
        self.connected: dict[int, Connected] = {}
        where = f"--to json:{one.path or f'{one.host}:{one.port}'}"
        try:
            if one.path:
                self.listening = listening(one.path)
            else:
                family = socket.AF_INET6 if ":" in one.host else socket.AF_INET
                self.listening = socket.create_server((one.host, one.port), family=family)
        except OSError as error:
            raise _cannot(error, where) from None
        self.listening.setblocking(False)
        self.address = one.path or "{}:{}".format(*self.listening.getsockname()[:2])

    def accept(self, now_s: float) -> None:
        with contextlib.suppress(OSError):
            made, _ = self.listening.accept()
            if len(self.connected) >= _MOST_READERS:
                made.close()
                self._tally.readers_dropped += 1
                return
            made.setblocking(False)
            self.connected[made.fileno()] = Connected(made, Reader(now_s, *self._limits))
            self._tally.readers += 1

    @property
    def need_whole(self) -> bool:
        return any(one.reader.needs_whole and not one.reader.held for one in self.connected.values())

    def offer(self, update: Update, now_s: float) -> None:
        for file, one in list(self.connected.items()):
            if one.reader.offer(update.lines, update.whole, now_s):
                self.write(file, now_s)
            else:
                self._tally.skipped_for_readers += 1

    def write(self, file: int, now_s: float) -> None:
        """As much as a reader takes now."""
        one = self.connected[file]
        try:
            while head := one.reader.head():
                count = one.socket.send(head)
                one.reader.wrote(count, now_s)
                if count < len(head):
                    return
        except BlockingIOError:
            return
        except OSError:  # it went away
            self._close(file)

    def hear(self, file: int) -> None:
        """A reader says nothing that matters, or that it is gone."""
        try:
            if self.connected[file].socket.recv(65536):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self._close(file)

    def drop_dead(self, now_s: float) -> None:
        for file, one in list(self.connected.items()):
            if one.reader.is_dead(now_s):
                self._tally.readers_dropped += 1
                self._close(file)

    @property
    def held(self) -> int:
        return sum(one.reader.held for one in self.connected.values())

    def _close(self, file: int) -> None:
        self.connected.pop(file).socket.close()

    def close(self) -> None:
        for file in list(self.connected):
            self._close(file)
        self.listening.close()
        if self._path:
            with contextlib.suppress(OSError):
                os.unlink(self._path)


class EelFile:
    """An EEL file, written as it grows. One that is there already is left alone."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._file = Path(path).open("x", encoding="ascii")  # noqa: SIM115 -- closed by close()
        except FileExistsError:
            raise BadInput("is there already", where=path, hint="name a file that is not") from None
        except OSError as error:
            raise _cannot(error, path) from None

    def write(self, sentences: list[str]) -> None:
        """Raises StoreFailed."""
        try:
            self._file.writelines(sentences)
            self._file.flush()
        except OSError as error:
            hint = "make room; what was written before stays"
            raise StoreFailed(f"cannot be written: {error.strerror}", where=self._path, hint=hint) from None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()


def _cannot(error: OSError, where: str) -> CannotMeasure:
    hint = "look at the address: another program may hold it, or it is none of this machine"
    return CannotMeasure(f"cannot be opened: {error.strerror or error}", where=where, hint=hint)
