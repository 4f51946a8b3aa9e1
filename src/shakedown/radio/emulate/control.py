"""The forwarder's control socket: a line, then bytes; the answer is a line of JSON (native/radio_forwarder/README.md)."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...errors import UNREADABLE, CannotMeasure
from .links import Links

NAME = "control"


class Control:
    """A connection. Every method raises CannotMeasure where the forwarder is gone or refuses."""

    def __init__(self, directory: Path, limit_s: float = 30.0) -> None:
        self._where = str(directory)
        self._unread = b""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(limit_s)
        try:
            self._socket.connect(str(directory / NAME))
        except OSError as error:
            self._socket.close()
            raise self._gone(error) from None

    def __enter__(self) -> Control:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def change(self, links: Links) -> None:
        """Tell these links; the others stay."""
        self._ask(f"links {len(links)}", links.tobytes())

    def counts(self) -> dict[str, Any]:
        """What became of frames since the start."""
        return self._ask("counts")

    def fates(self) -> dict[str, int]:
        """The numbers of frames alone, by what became of them."""
        return {name: count for name, count in self.counts().items() if isinstance(count, int) and name != "links"}

    def traffic(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Frames sent by and delivered to each node, from node 1 on."""
        found = self._ask("traffic")
        return np.array(found["sent"], np.int64), np.array(found["received"], np.int64)

    def space(self, node: int) -> int:
        """The number of the forwarder's file that holds the node's network namespace."""
        return int(self._ask(f"space {node}")["fd"])

    def start(self, node: int, argv: Sequence[str], log: Path) -> int:
        """Start a command on a node (0: in the host's own network); its process id, as the nodes see it."""
        data = b"\0".join([str(log).encode(), *(word.encode("utf-8", "surrogateescape") for word in argv)])
        return int(self._ask(f"start {node} {len(data)}", data)["pid"])

    def end(self) -> None:
        """Ask it to end; it has not ended yet when this returns."""
        self._ask("end")

    def _ask(self, line: str, data: bytes = b"") -> dict[str, Any]:
        try:
            self._socket.sendall(line.encode() + b"\n" + data)
            while b"\n" not in self._unread:
                block = self._socket.recv(1 << 20)
                if not block:
                    raise ConnectionResetError("it closed the connection")
                self._unread += block
        except OSError as error:
            raise self._gone(error) from None
        answer, _, self._unread = self._unread.partition(b"\n")
        try:
            found: dict[str, Any] = msgspec.json.decode(answer, type=dict[str, Any])
        except UNREADABLE as error:
            raise CannotMeasure(f"the forwarder's answer is not JSON: {error}", where=self._where) from None
        if "error" in found:
            raise CannotMeasure(f"the forwarder refused: {found['error']}", where=self._where)
        return found

    def _gone(self, error: OSError) -> CannotMeasure:
        return CannotMeasure(
            f"the forwarder does not answer: {error.strerror or error}",
            where=self._where,
            hint="its last words are in events.jsonl and forwarder.log there; `shakedown radio emulate down` clears up",
        )
