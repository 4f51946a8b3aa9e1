"""Spoiled copies of a file: structured mutations by random numbers with a seed, so that each can be made again."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

#: Words that stand where a number or a name is expected.
NASTY = (
    b"", b"0", b"-1", b"-0", b"nan", b"NaN", b"inf", b"-inf", b"1e400", b"-1e400", b"1e-400", b"1e-99999999",
    b"0x10", b"1_000", b"1.2.3",
    b"9" * 19, b"9" * 400, b"9" * 5000, b"\xc2\xb2", b"\xd9\xa3", b"\xff\xfe", b"\x00", b"null", b"true", b"[]", b"{}", b'"',
    b"'", b"../../x", b"/", b"%s%n", b"{0}", b"\x1b]0;x\x07", b"-", b"--", b"=", b",", b"|", b":", b"\n", b" ", b"\r\n",
    b"Unknown", b"None", b"N/A", b"2026-11-20T15:14:00", b"9999-12-31T23:59:59", b"0001-01-01", b"1969-12-31T23:59:59",
    b"[0-99999999]", b"1-", b"(x999999999)", b"999999999999Gn",
)  # fmt: skip
_TOKEN = re.compile(rb"[-+]?\d[\d.:eE+-]*|[A-Za-z_][\w.-]*")
_NUMBER = re.compile(rb"[-+]?\d[\d.]*(?:[eE][-+]?\d+)?")
_MOST_BYTES = 1 << 20


def mutate(data: bytes, random_: random.Random) -> bytes:
    """A copy with one to four things wrong, at most 1 MiB."""
    for _ in range(random_.choice((1, 1, 1, 2, 4))):
        data = random_.choice(_WAYS)(data, random_)[:_MOST_BYTES]
    return data


def _cut(data: bytes, random_: random.Random) -> bytes:
    return data[: random_.randint(0, len(data))]


def _head(data: bytes, random_: random.Random) -> bytes:
    return data[random_.randint(0, len(data)) :]


def _flip(data: bytes, random_: random.Random) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    for _ in range(random_.choice((1, 1, 4, 32))):
        changed[random_.randrange(len(changed))] = random_.randrange(256)
    return bytes(changed)


def _splice(data: bytes, random_: random.Random) -> bytes:
    """A stretch that is taken out, or put in elsewhere, once or many times."""
    a = random_.randint(0, len(data))
    b = min(len(data), a + random_.choice((1, 8, 64, 1024)))
    at = random_.randint(0, len(data))
    times = random_.choice((0, 1, 1, 2, 50))
    return data[:a] + data[b:] if times == 0 else data[:at] + data[a:b] * times + data[at:]


def _replace(pattern: re.Pattern[bytes]) -> Callable[[bytes, random.Random], bytes]:
    def way(data: bytes, random_: random.Random) -> bytes:
        begin = random_.randint(0, len(data))
        found = pattern.search(data, begin) or pattern.search(data)
        if found is None:
            return data + random_.choice(NASTY)
        return data[: found.start()] + random_.choice(NASTY) + data[found.end() :]

    return way


def _lines(data: bytes, random_: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    one, other = random_.randrange(len(lines)), random_.randrange(len(lines))
    match random_.randrange(5):
        case 0:
            del lines[one]
        case 1:
            lines.insert(other, lines[one])
        case 2:
            lines[one], lines[other] = lines[other], lines[one]
        case 3:
            lines[one:one] = [lines[one]] * 40
        case _:
            lines[one] = lines[one].replace(b"\n", b"").rstrip()
    return b"".join(lines)


def _deep(data: bytes, random_: random.Random) -> bytes:
    """Brackets, braces and dotted names without end."""
    at = random_.randint(0, len(data))
    count = random_.choice((70, 3000, 40000))
    sign = random_.choice((b"[", b"{", b'{"a":', b"a.", b"(", b"\x1b[", b"[[x.", b"{a="))
    return data[:at] + sign * count + data[at:]


_WAYS = (_cut, _head, _flip, _splice, _replace(_TOKEN), _replace(_NUMBER), _replace(_NUMBER), _lines, _deep)
