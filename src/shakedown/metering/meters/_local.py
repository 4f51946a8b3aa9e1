"""What the meters of this machine share: files that stay open, options with few words, who the device is.

A file of /sys is held open and read at its beginning with ``pread``: that is one system call and a third of what opening
costs. A recorded machine is read through its door.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...errors import BadInput, unknown
from ...hosts.access import HostAccess, LocalHost
from ...units import whole_number
from . import Channel, Reading, Status, Target

_UNSUPPORTED = (errno.ENODATA, errno.EOPNOTSUPP, errno.ENXIO)
_REFUSED = (errno.EACCES, errno.EPERM)
_LONGEST = 256  # bytes: more than any value of one line in /sys


class Facts(NamedTuple):
    """Who measures: what a characterisation holds for."""

    device: str = ""
    firmware: str = ""
    driver: str = ""


def status_of(error: OSError) -> Status:
    """What a failed read means: refused, not there to be read (ENODATA and such), or for now a gap."""
    if error.errno in _REFUSED:
        return Status.REFUSED
    return Status.UNSUPPORTED if error.errno in _UNSUPPORTED else Status.GAP


class Held:
    """One small file that is read again and again."""

    def __init__(self, door: HostAccess, path: str) -> None:
        self.path = path
        self._door = door
        self._real = isinstance(door, LocalHost)
        self._fd = -1

    def read(self) -> bytes | Status:
        """Its text as it is now, or why there is none. Never raises."""
        if not self._real:
            return self._recorded()
        try:
            if self._fd < 0:
                self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            return os.pread(self._fd, _LONGEST, 0)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                self.close()  # the device may have gone and come again: the next read opens anew
            return status_of(error)

    def _recorded(self) -> bytes | Status:
        data = self._door.read_bytes(self.path)
        if data is not None:
            return data
        folder, _, name = self.path.rpartition("/")
        return Status.REFUSED if name in self._door.list(folder) else Status.GAP

    def close(self) -> None:
        """Let go of it."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self._fd)
            self._fd = -1


class FileSource:
    """Channels that are one number in one file each: value = number x scale."""

    def __init__(
        self, door: HostAccess, channels: Sequence[Channel], paths: Sequence[str], scales: Sequence[float]
    ) -> None:
        self.channels = tuple(channels)
        self._now = door.now_ns
        self._files = [(Held(door, path), scale) for path, scale in zip(paths, scales, strict=True)]

    def read(self) -> list[Reading]:
        """Each file once, each with the times around it."""
        out: list[Reading] = []
        now = self._now
        for index, (held, scale) in enumerate(self._files):
            before = now()
            said = held.read()
            after = now()
            if isinstance(said, bytes):
                try:
                    out.append(Reading(index, before, after, None, int(said) * scale))
                except (ValueError, OverflowError):  # cut short or not a number
                    out.append(Reading(index, before, after, None, None, Status.GAP))
            else:
                out.append(Reading(index, before, after, None, None, said))
        return out

    def close(self) -> None:
        """Close the files."""
        for held, _ in self._files:
            held.close()


def folder(target: Target, default: str) -> str:
    """The folder that a target names (``rapl:/host/sys/class/powercap`` in a container), else where it lies. Raises
    BadInput for a host: this meter has none."""
    if target.path or target.user or (target.address and target.address[0] not in "/."):
        raise BadInput(
            f"the meter {target.meter!r} reads this machine alone and takes no host",
            where=str(target),
            hint=f"start Shakedown on that machine, or name a folder: {target.meter}:{default}",
        )
    return target.address.rstrip("/") or default


def no_address(target: Target) -> None:
    """Raises BadInput for a target that names a host or a path where the meter has neither."""
    if target.address or target.path or target.user:
        raise BadInput(
            f"the meter {target.meter!r} reads this machine and takes no address", where=str(target), hint=target.meter
        )


def choice(target: Target, key: str, default: str, allowed: Iterable[str]) -> str:
    """An option that is one of a few words. Raises BadInput with the nearest."""
    value = target.options.get(key, default)
    if value not in (known := tuple(allowed)):
        raise unknown(f"value of {key}", value, known, where=str(target))
    return value


def seconds(target: Target, key: str, default: float) -> float:
    """An option in seconds, above zero. Raises BadInput."""
    text = target.options.get(key)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise BadInput(f"{key}={text} is not a number of seconds", where=str(target), hint=f"for instance {key}=2")
    return value


def text(door: HostAccess, path: str) -> str:
    """A file's text without the space around it; empty where it cannot be read."""
    return (door.read(path) or "").strip()


def number(door: HostAccess, path: str) -> int | None:
    """A file's whole number, or None."""
    return whole_number(text(door, path), -(2**63))


def slug(words: str) -> str:
    """A label as part of a channel's id: ``CPU Power Socket 0`` -> ``cpu-power-socket-0``."""
    return re.sub(r"[^a-z0-9_]+", "-", words.strip().lower()).strip("-")


def kernel(door: HostAccess) -> str:
    """The kernel's release."""
    return text(door, "/proc/sys/kernel/osrelease")
