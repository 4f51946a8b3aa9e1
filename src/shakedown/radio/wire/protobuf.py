"""The encoding of Protocol Buffers (proto2), as much as EMANE's events need: varints, fixed numbers and messages.

A field is a varint of its number and its kind, then its value (protobuf.dev, "Encoding"). Fields that are not known are
passed over; a single field that comes twice is its last, and a message that comes twice is both together: the bytes of the
two, one after the other, are that. Groups, which proto2 gave up, are refused.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import NamedTuple

from .malformed import Malformed

VARINT, EIGHT, BYTES, FOUR = 0, 1, 2, 5
_MOST_VARINT_BYTES = 10
_CUT_SHORT = "cut short"
_DOUBLE, _FLOAT = struct.Struct("<d"), struct.Struct("<f")


class Field(NamedTuple):
    """A field as it was read: ``number`` for a varint, ``data`` for what is bytes."""

    tag: int
    kind: int
    number: int
    data: bytes


@lru_cache(1 << 17)  # ids and lengths come again and again
def varint(value: int) -> bytes:
    """A whole number from 0 to 2^64 - 1: seven bits a byte, the low ones first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint_field(tag: int, value: int) -> bytes:
    return varint(tag << 3 | VARINT) + varint(value)


def bytes_field(tag: int, value: bytes) -> bytes:
    return varint(tag << 3 | BYTES) + varint(len(value)) + value


def double_field(tag: int, value: float) -> bytes:
    return varint(tag << 3 | EIGHT) + _DOUBLE.pack(value)


def float_field(tag: int, value: float) -> bytes:
    return varint(tag << 3 | FOUR) + _FLOAT.pack(value)


def fields(data: bytes) -> list[Field]:
    """The fields of a message in their order. Raises Malformed."""
    found = []
    at, end = 0, len(data)
    while at < end:
        key, at = _read_varint(data, at)
        tag, kind = key >> 3, key & 7
        number, value = 0, b""
        if tag == 0:
            raise Malformed("a field without a number")
        if kind == VARINT:
            number, at = _read_varint(data, at)
        elif kind in (BYTES, EIGHT, FOUR):
            size = {EIGHT: 8, FOUR: 4}.get(kind, 0)
            if kind == BYTES:
                size, at = _read_varint(data, at)
            if size > end - at:
                raise Malformed(_CUT_SHORT)
            value, at = data[at : at + size], at + size
        else:
            raise Malformed("a field of a kind that is not in use")
        found.append(Field(tag, kind, number, value))
    return found


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for count in range(_MOST_VARINT_BYTES):
        if at + count >= len(data):
            raise Malformed(_CUT_SHORT)
        byte = data[at + count]
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + count + 1
    raise Malformed("a number of more than ten bytes")


class Message:
    """The fields of a message by their numbers."""

    def __init__(self, data: bytes) -> None:
        self._fields = fields(data)

    def number(self, tag: int) -> int:
        """A field that is a varint and must be there. Raises Malformed."""
        return self._last(tag, VARINT).number

    def double(self, tag: int) -> float:
        """A field that is a double and must be there. Raises Malformed."""
        return float(_DOUBLE.unpack(self._last(tag, EIGHT).data)[0])

    def float(self, tag: int) -> float:
        """A field that is a float and must be there. Raises Malformed."""
        return float(_FLOAT.unpack(self._last(tag, FOUR).data)[0])

    def data(self, tag: int) -> bytes:
        """A field that is bytes and must be there. Raises Malformed."""
        return self._last(tag, BYTES).data

    def each(self, tag: int) -> list[bytes]:
        """Messages of a repeated field."""
        return [self._of_kind(one, BYTES).data for one in self._fields if one.tag == tag]

    def message(self, tag: int) -> Message | None:
        """A message that may be there."""
        found = self.each(tag)
        return Message(b"".join(found)) if found else None

    def required(self, tag: int) -> Message:
        """A message that must be there. Raises Malformed."""
        if (found := self.message(tag)) is None:
            raise Malformed("a required field is missing")
        return found

    def _last(self, tag: int, kind: int) -> Field:
        for one in reversed(self._fields):
            if one.tag == tag:
                return self._of_kind(one, kind)
        raise Malformed("a required field is missing")

    @staticmethod
    def _of_kind(one: Field, kind: int) -> Field:
        if one.kind != kind:
            raise Malformed("a field of another kind than it must be")
        return one
