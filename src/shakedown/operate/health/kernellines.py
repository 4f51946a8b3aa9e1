"""The kernel's log in the shapes that it is found in: /dev/kmsg, dmesg (raw, timed, -T), syslog, the journal. Pure.

6,1305,15963814752,-;br0: port 1 ...      /dev/kmsg: facility * 8 + level, sequence number, microseconds since boot
<6>[15963.814752] br0: ...                dmesg -r; without <6>: dmesg
[Sun Feb 23 16:24:18 2025] NVRM: ...      dmesg -T
Feb 23 16:24:18 host kernel: NVRM: ...    syslog and journalctl -k (the year is not told)
2025-02-23T16:24:18+0000 host kernel: ... journalctl -k -o short-iso
{"MESSAGE": ..., "__REALTIME_TIMESTAMP": ...}  journalctl -k -o json
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from ... import times
from ...errors import UNREADABLE
from ...units import whole_number

_KMSG = re.compile(r"([0-9]{1,9}),([0-9]{1,18}),([0-9]{1,18}),[^;]*;(.*)")
_DMESG = re.compile(r"(?:<\d+>)?\[ *([0-9]{1,12})\.([0-9]{6})\](?:\[ *[TC]\d+\])? (.*)")
_CTIME = re.compile(r"\[(\w{3} \w{3} +\d+ [\d:]{8} \d{4})\] (.*)")
_SYSLOG = re.compile(r"(\w{3} +\d+ [\d:]{8}) \S+ kernel: (?:\[ *\d+\.\d+\] )?(.*)")
_ISO = re.compile(r"(\d{4}-\d\d-\d\dT[\d:]{8}(?:[.,]\d+)?)(Z|[+-]\d\d:?\d\d) \S+ kernel: (?:\[ *\d+\.\d+\] )?(.*)")
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")


class Line(NamedTuple):
    """One message of the kernel. ``at_s`` is None where its time cannot be known."""

    text: str
    at_s: float | None
    sequence: int = -1  # in /dev/kmsg
    since_boot_us: int = -1


class Cursor(NamedTuple):
    """Up to where a log has been read: sequence number where there is one, else time and how many lines bore it."""

    sequence: int = -1
    since_boot_us: int = -1
    alike: int = 0


def kmsg(records: Iterable[str], boot_s: float | None) -> list[Line]:
    """The kernel's own messages of /dev/kmsg. What a process wrote there has another facility and is left out, as are the
    lines of a dictionary, which begin with a space."""
    lines = []
    for record in records:
        found = _KMSG.match(record)
        if found is None or int(found[1]) >> 3:
            continue
        micros = int(found[3])
        text = _ESCAPE.sub(lambda one: chr(int(one[1], 16)), found[4]) if "\\x" in found[4] else found[4]
        lines.append(Line(text, _since_boot(micros, boot_s), int(found[2]), micros))
    return lines


def text_log(text: str, boot_s: float | None = None, now_s: float | None = None) -> list[Line]:
    """The lines of any of the other shapes; a line of none of them goes on with the time of the one before it.

    Syslog tells no year: the latest that lies not after ``now_s``. Times without a zone are this machine's.
    """
    lines: list[Line] = []
    at_s: float | None = None
    for raw in text.splitlines():
        micros, sequence, message = -1, -1, raw
        if raw.startswith("{"):
            one = _journal(raw)
            if one is None:
                continue
            at_s, micros, message = one.at_s, one.since_boot_us, one.text
        elif found := _DMESG.match(raw):
            micros = int(found[1]) * 1_000_000 + int(found[2])
            at_s, message = _since_boot(micros, boot_s), found[3]
        elif found := _KMSG.match(raw):
            if one_kmsg := kmsg([raw], boot_s):
                at_s, sequence, micros, message = one_kmsg[0].at_s, *one_kmsg[0][2:], one_kmsg[0].text
            else:
                continue
        elif found := _CTIME.match(raw):
            at_s, message = times.in_form_here(found[1], "%a %b %d %H:%M:%S %Y"), found[2]
        elif found := _ISO.match(raw):
            at_s, message = _iso(found[1], found[2]), found[3]
        elif found := _SYSLOG.match(raw):
            at_s, message = _yearless(found[1], now_s), found[2]
        lines.append(Line(message, at_s, sequence, micros))
    return lines


def _since_boot(micros: int, boot_s: float | None) -> float | None:
    """The Unix time of so many microseconds after the start; None for more than three hundred years of them."""
    return None if boot_s is None or micros > 10**16 else boot_s + micros * 1e-6


def _journal(raw: str) -> Line | None:
    try:
        held = msgspec.json.decode(raw, type=dict[str, Any])
    except UNREADABLE:
        return None
    message = held.get("MESSAGE", "")
    if isinstance(message, list):  # the journal writes what is no UTF-8 as numbers
        message = bytes(one for one in message if isinstance(one, int) and 0 <= one < 256).decode("utf-8", "replace")
    at_us = whole_number(str(held.get("__REALTIME_TIMESTAMP")), most=10**16)
    micros = whole_number(str(held.get("_SOURCE_MONOTONIC_TIMESTAMP", held.get("__MONOTONIC_TIMESTAMP"))))
    return Line(str(message), None if at_us is None else at_us * 1e-6, -1, -1 if micros is None else micros)


def _iso(text: str, zone: str) -> float | None:
    found = times.iso(text.replace(",", ".") + zone.replace("Z", "+00:00"))
    return None if found is None else found.timestamp()


def _yearless(text: str, now_s: float | None) -> float | None:
    if now_s is None:
        return None
    year = int(times.here(now_s, "%Y"))
    found = times.in_form_here(f"{text} {year}", "%b %d %H:%M:%S %Y")
    if found is not None and found > now_s + 86400:
        found = times.in_form_here(f"{text} {year - 1}", "%b %d %H:%M:%S %Y")
    return found


def news(lines: list[Line], cursor: Cursor) -> tuple[list[Line], Cursor]:
    """The lines behind a cursor of the same boot, and the cursor behind them."""
    if not lines:
        return [], cursor
    by_sequence = cursor.sequence >= 0 and lines[-1].sequence >= 0
    if by_sequence and lines[-1].sequence < cursor.sequence:
        new = lines  # the numbers began anew: another log than that of the last call
    elif by_sequence:
        new = [one for one in lines if one.sequence > cursor.sequence]
    else:
        alike = cursor.alike
        new = []
        for one in lines:
            if one.since_boot_us == cursor.since_boot_us and alike:
                alike -= 1
            elif one.since_boot_us >= cursor.since_boot_us:
                new.append(one)
    last = lines[-1]
    alike = sum(one.since_boot_us == last.since_boot_us for one in lines)
    return new, Cursor(last.sequence, last.since_boot_us, alike)
