"""The rows and lines that ``app.py`` has Spark make, as numpy makes them: by these what Spark wrote is checked.

    key       10 signs   the first of base64 of xxHash64(number, seed): 60 bits
    number    16 signs   hexadecimal
    filler    73 signs   xxHash64(1, number, seed), hexadecimal, again and again
    newline    1 sign

The two were written apart, so that what both say is no mistake of one. The sum of xxHash64 of all numbers, modulo 2^64,
does not depend on their order; rows that are all as the function has them, as many as were made, and with the right sum are
those that were made, none lost and none twice. A row is checked in about 1 us.

Source of the format: TeraGen of Hadoop's examples (rows of 100 bytes, keys of 10); of the hash: xxHash, XXH64 of 8 bytes, as
Spark's ``xxhash64`` has it (seed 42, the hash of one column being the seed of the next).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

ROW_BYTES, KEY_BYTES = 100, 10
#: A line of the test of input and output: the number, hexadecimal digits, the line's end.
LINE_BYTES = 16 + 16 * 4095 + 1
_CHUNK_ROWS = 1 << 11
_SPARK_SEED = 42
_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(one)
    for one in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
)
_BASE64 = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
_HEX = np.frombuffer(b"0123456789ABCDEF", np.uint8)
_NIBBLE = np.full(256, 255, np.uint8)
_NIBBLE[_HEX] = np.arange(16, dtype=np.uint8)
#: Where each of 16 digits, and each of 10 signs of base64, lies in 64 bits.
_DIGITS = np.arange(60, -1, -4, dtype=np.uint64)
_SIXES = np.arange(58, 0, -6, dtype=np.uint64)

Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]


def _rotated(words: Words, by: int) -> Words:
    return (words << np.uint64(by)) | (words >> np.uint64(64 - by))


def _hash(word: Words, seed: Words) -> Words:
    """XXH64 of 8 bytes."""
    with np.errstate(over="ignore"):
        state = seed + _P5 + np.uint64(8)
        state = state ^ (_rotated(word * _P2, 31) * _P1)
        state = _rotated(state, 27) * _P1 + _P4
        state = (state ^ (state >> np.uint64(33))) * _P2
        state = (state ^ (state >> np.uint64(29))) * _P3
        return state ^ (state >> np.uint64(32))


def hashes(numbers: Words, seed: int, more: int = 0) -> Words:
    """Spark's ``xxhash64(seed, number)``, and with ``more`` that of a third column as well."""
    first = _hash(np.asarray([seed], np.uint64), np.asarray([_SPARK_SEED], np.uint64))
    found = _hash(numbers, np.broadcast_to(first, numbers.shape))
    return _hash(np.asarray([more], np.uint64), found) if more else found


def _digits(words: Words) -> Bytes:
    return _HEX[((words[:, None] >> _DIGITS) & np.uint64(15)).astype(np.uint8)]


def rows(numbers: Words, seed: int) -> Bytes:
    """The rows of these numbers, 100 bytes each."""
    made = np.empty((len(numbers), ROW_BYTES), np.uint8)
    made[:, :KEY_BYTES] = _BASE64[((hashes(numbers, seed)[:, None] >> _SIXES) & np.uint64(63)).astype(np.uint8)]
    made[:, 10:26] = _digits(numbers)
    made[:, 26:99] = np.tile(_digits(hashes(numbers, seed, 1)), 5)[:, :73]
    made[:, 99] = ord("\n")
    return made


def lines(first: int, count: int, seed: int) -> Bytes:
    """So many lines of the test of input and output, from that number on."""
    numbers = np.arange(first, first + count, dtype=np.uint64)
    made = np.empty((count, LINE_BYTES), np.uint8)
    made[:, :16] = _digits(numbers)
    made[:, 16:-1] = np.tile(_digits(hashes(numbers, seed, 2)), 4095)
    made[:, -1] = ord("\n")
    return made


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What one file holds. ``wrong``: rows that are not as they were made; ``disorder``: rows before whose predecessor they
    belong. Keys are those of its first and last row; the sum is modulo 2^64, of lines that of their CRC-32."""

    rows: int = 0
    wrong: int = 0
    disorder: int = 0
    sum: int = 0
    first: str = ""
    last: str = ""
    bytes: int = 0


def sums(count: int, seed: int) -> int:
    """The sum of the hashes of rows 0 to ``count`` - 1, modulo 2^64."""
    total = 0
    for first in range(0, count, 1 << 20):
        some = hashes(np.arange(first, min(count, first + (1 << 20)), dtype=np.uint64), seed)
        total = (total + int(np.add.reduce(some, dtype=np.uint64))) % 2**64
    return total


def numbers_of(block: Bytes) -> tuple[Words, NDArray[np.bool_]]:
    """The numbers in columns 10 to 26 of rows, and for which rows they are numbers."""
    nibbles = _NIBBLE[block]
    right: NDArray[np.bool_] = np.all(nibbles < 16, axis=1)
    found: Words = np.bitwise_or.reduce((nibbles & 15).astype(np.uint64) << _DIGITS, axis=1)
    return found, right


def check_sorted(file: BinaryIO, seed: int) -> Checked:
    """One file of sorted rows, read once."""
    found = Checked()
    previous = b""
    for data in _blocks(file, _CHUNK_ROWS * ROW_BYTES):
        whole = len(data) // ROW_BYTES
        found = msgspec.structs.replace(
            found, bytes=found.bytes + len(data), wrong=found.wrong + (len(data) > whole * ROW_BYTES)
        )
        if whole:
            block = np.frombuffer(data, np.uint8, whole * ROW_BYTES).reshape(whole, ROW_BYTES)
            found = _joined(found, block, seed, previous)
            previous = found.last.encode("latin-1")
    return found


def _joined(found: Checked, block: Bytes, seed: int, previous: bytes) -> Checked:
    numbers, right = numbers_of(block[:, 10:26])
    right &= (block == rows(numbers, seed)).all(axis=1)
    keys = np.ascontiguousarray(block[:, :KEY_BYTES])
    high = np.ascontiguousarray(keys[:, :8]).view(">u8").ravel()
    low = np.ascontiguousarray(keys[:, 8:]).view(">u2").ravel()
    behind = (high[1:] < high[:-1]) | ((high[1:] == high[:-1]) & (low[1:] < low[:-1]))
    first, last = keys[0].tobytes(), keys[-1].tobytes()
    total = int(np.add.reduce(hashes(numbers[right], seed), dtype=np.uint64))
    return msgspec.structs.replace(
        found,
        rows=found.rows + len(block),
        wrong=found.wrong + int((~right).sum()),
        disorder=found.disorder + int(behind.sum()) + (first < previous),
        sum=(found.sum + total) % 2**64,
        first=found.first or first.decode("latin-1"),
        last=last.decode("latin-1"),
    )


def check_lines(file: BinaryIO, seed: int) -> Checked:
    """One file of the test of input and output: its lines are in the order of their numbers, without a gap."""
    count = wrong = total = size = 0
    for data in _blocks(file, 64 * LINE_BYTES):
        size += len(data)
        whole = len(data) // LINE_BYTES
        wrong += len(data) > whole * LINE_BYTES
        if not whole:
            continue
        block = np.frombuffer(data, np.uint8, whole * LINE_BYTES).reshape(whole, LINE_BYTES)
        numbers, right = numbers_of(block[:, :16])
        expected = lines(int(numbers[0]) if right[0] else 0, whole, seed)
        wrong += int((block != expected).any(axis=1).sum())
        count += whole
        total += sum(zlib.crc32(one[:-1].tobytes()) for one in block)
    return Checked(rows=count, wrong=wrong, sum=total, bytes=size)


def _blocks(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The file in pieces of that size, the last one shorter; a pipe gives less at a time, and is read until it is full."""
    while True:
        parts, missing = [], size
        while missing and (data := file.read(missing)):
            parts.append(data)
            missing -= len(data)
        if not parts:
            return
        yield b"".join(parts)
        if missing:
            return


def check_file(path: Path, kind: str, seed: int) -> Checked:
    """A file of sorted rows (``sorted``), or of the test of input and output (``lines``). Raises OSError."""
    with open(path, "rb") as file:
        return check_sorted(file, seed) if kind == "sorted" else check_lines(file, seed)


class Verdict(NamedTuple):
    """What is wrong over all files, as counts; all zero where nothing is."""

    disorder: int
    wrong: int
    missing: int  # rows too few or too many
    sum_differs: int

    @property
    def total(self) -> int:
        return sum(self)

    def words(self) -> str:
        """For a person; empty where nothing is wrong."""
        said = {
            "out of order": self.disorder,
            "not as they were made": self.wrong,
            "too few or too many": self.missing,
        }
        parts = [f"{count} rows {what}" for what, count in said.items() if count]
        return ", ".join([*parts, *(["another checksum"] if self.sum_differs else [])])


def verdict(files: list[Checked], count: int, total: int) -> Verdict:
    """All files in the order of their names against what was made; borders between files, too. Empty ones have no border."""
    full = [one for one in files if one.rows]
    borders = sum(after.first < before.last for before, after in pairwise(full))
    return Verdict(
        disorder=sum(one.disorder for one in files) + borders,
        wrong=sum(one.wrong for one in files),
        missing=abs(count - sum(one.rows for one in files)),
        sum_differs=int(sum(one.sum for one in files) % 2**64 != total),
    )
