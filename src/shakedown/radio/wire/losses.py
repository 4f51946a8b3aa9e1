"""Path loss events by the hundred thousand: EMANE's entries encoded and decoded as whole arrays, and packed into datagrams.

An entry is 14, 15 or 16 bytes, by its transmitter's id: from 128 on a varint has two bytes, from 16,384 on three. What
comes out is byte for byte what ``emane.encode_path_losses`` gives, which the tests hold.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..scene import FIRST_ID, LAST_ID
from . import emane
from .malformed import BEYOND_IDS, Malformed
from .protobuf import bytes_field, varint, varint_field

Ids = NDArray[np.int64]
Losses = NDArray[np.float32]
#: A frame of Ethernet without fragments, with room for headers of tunnels.
USUAL_LIMIT_BYTES = 1400
#: An event with one entry of the longest ids fits, and its sequence number of ten bytes.
LEAST_LIMIT_BYTES = 100
_WIDTH = 16
_LONG, _LONGER = 128, 16384
#: Of a datagram: length, UUID, the longest sequence number, the head of its data.
_DATAGRAM_BYTES = 2 + (2 + emane.UUID_BYTES) + (1 + 10) + (1 + 3)
#: Of a serialization: its own head, the receiver, the event, the head of its entries.
_HEAD_BYTES = (1 + 3) + (1 + 3) + (1 + 1) + (1 + 3)


class Entries(NamedTuple):
    """Losses by receiver and transmitter, three arrays of one length: what the receiver hears of the transmitter."""

    receiver: Ids
    transmitter: Ids
    loss_db: Losses

    @property
    def total(self) -> int:
        return len(self.receiver)


class Datagram(NamedTuple):
    """What is sent at once, and how many entries it holds."""

    data: bytes
    entries: int


def encode(transmitter: Ids, forward_db: Losses, reverse_db: Losses) -> tuple[bytes, Ids]:
    """The entries' bytes, one behind the other, and where each begins, with the end of all last."""
    if transmitter.size and not (transmitter.min() >= FIRST_ID and transmitter.max() <= LAST_ID):
        raise ValueError("an id that is not one of a radio")
    size = _sizes(transmitter)
    table = np.empty((len(transmitter), _WIDTH), np.uint8)
    table[:, 0] = 0x0A
    table[:, 1] = size - 2
    table[:, 2] = 0x08
    table[:, 3] = transmitter & 0x7F | np.where(transmitter >= _LONG, 0x80, 0)
    table[:, 4] = transmitter >> 7 & 0x7F | np.where(transmitter >= _LONGER, 0x80, 0)
    table[:, 5] = transmitter >> 14
    table[:, 6] = 0x15
    table[:, 7:11] = np.ascontiguousarray(forward_db, "<f4").view(np.uint8).reshape(-1, 4)
    table[:, 11] = 0x1D
    table[:, 12:16] = np.ascontiguousarray(reverse_db, "<f4").view(np.uint8).reshape(-1, 4)
    used = np.ones(table.shape, np.bool_)
    used[:, 4] = transmitter >= _LONG
    used[:, 5] = transmitter >= _LONGER
    begins = np.zeros(len(transmitter) + 1, np.int64)
    np.cumsum(size, out=begins[1:])
    return table[used].tobytes(), begins


def _sizes(transmitter: Ids) -> Ids:
    return 14 + (transmitter >= _LONG).astype(np.int64) + (transmitter >= _LONGER)


def decode(data: bytes) -> Entries:
    """The entries of one path loss event; ``receiver`` is 0. Runs of entries of one size are read as a table, all else one
    by one. Raises Malformed."""
    ids: list[Ids] = []
    losses: list[Losses] = []
    at = 0
    whole = np.frombuffer(data, np.uint8)
    while at < len(data):
        size = 2 + int(whole[at + 1]) if len(data) - at >= 2 else 0
        run = _run(whole[at:], size) if 14 <= size <= 16 else 0
        if not run:
            rest = emane.decode_path_losses(data[at:])
            ids.append(np.array([one.transmitter for one in rest], np.int64))
            losses.append(np.array([one.forward_db for one in rest], np.float32))
            break
        table = whole[at : at + run * size].reshape(run, size)
        number = table[:, 3 : size - 10].astype(np.int64) & 0x7F
        ids.append(number @ (1 << 7 * np.arange(size - 13)))
        losses.append(np.ascontiguousarray(table[:, size - 9 : size - 5]).view("<f4")[:, 0])
        at += run * size
    transmitter = np.concatenate(ids) if ids else np.empty(0, np.int64)
    if transmitter.size and not (transmitter.min() >= FIRST_ID and transmitter.max() <= LAST_ID):
        raise Malformed(BEYOND_IDS)
    loss_db = np.concatenate(losses) if losses else np.empty(0, np.float32)
    return Entries(np.zeros(len(transmitter), np.int64), transmitter, loss_db.astype(np.float32))


def _run(data: NDArray[np.uint8], size: int) -> int:
    """How many entries from here on are of ``size`` bytes and in the order of fields in which they are written."""
    table = data[: len(data) // size * size].reshape(-1, size)
    id_bytes = size - 13
    sound = (table[:, 0] == 0x0A) & (table[:, 1] == size - 2) & (table[:, 2] == 0x08)
    sound &= (table[:, 3 + id_bytes] == 0x15) & (table[:, 8 + id_bytes] == 0x1D)
    sound &= (table[:, 3 : 2 + id_bytes] >= 0x80).all(axis=1) & (table[:, 2 + id_bytes] < 0x80)
    return len(sound) if sound.all() else int(np.argmin(sound))


# ------------------------------------------------------------------------------------------------------------------ pac


class Packer:
    """Fills datagrams of at most ``limit_bytes``, and numbers them."""

    def __init__(self, uuid: bytes, limit_bytes: int = USUAL_LIMIT_BYTES, sequence: int = 0) -> None:
        self._uuid = uuid
        self._limit_bytes = min(max(limit_bytes, LEAST_LIMIT_BYTES), emane.MOST_BYTES)
        self.sequence = sequence

    def pack(self, entries: Entries) -> list[Datagram]:
        """Datagrams with all entries. Those of one receiver, which must lie together, share a serialization where they fit;
        receivers share datagrams. Forward and reverse loss are the same: a path has one loss."""
        data, begins = encode(entries.transmitter, entries.loss_db, entries.loss_db)
        begin = begins.tolist()
        edges = np.flatnonzero(np.diff(entries.receiver)) + 1
        groups = [0, *edges.tolist(), entries.total] if entries.total else [0]
        receivers = entries.receiver[groups[:-1]].tolist()
        found: list[Datagram] = []
        parts: list[bytes] = []
        held = used = 0
        for receiver, first, end in zip(receivers, groups, groups[1:], strict=False):
            while first < end:
                room = self._limit_bytes - _DATAGRAM_BYTES - used - _HEAD_BYTES
                last = min(end, bisect_right(begin, begin[first] + room) - 1)
                if last <= first:
                    found.append(self._datagram(parts, held))
                    parts, held, used = [], 0, 0
                    continue
                parts.append(_serialization(receiver, data[begin[first] : begin[last]]))
                used += len(parts[-1])
                held += last - first
                first = last
        return [*found, self._datagram(parts, held)] if parts else found

    def _datagram(self, parts: Sequence[bytes], entries: int) -> Datagram:
        self.sequence += 1
        body = bytes_field(1, self._uuid) + varint_field(2, self.sequence) + bytes_field(3, b"".join(parts))
        return Datagram(len(body).to_bytes(2, "big") + body, entries)


_EVENT = varint_field(2, emane.PATH_LOSS)


def _serialization(receiver: int, data: bytes) -> bytes:
    body = varint_field(1, receiver) + _EVENT + bytes_field(3, data)
    return b"\x0a" + varint(len(body)) + body
