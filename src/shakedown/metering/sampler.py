"""Meters read over time, in a process of their own: ``python -m shakedown.metering.sampler CONFIG.json``.

    with start(targets, folder, cpus=spare) as sampler:    sampler.opened, sampler.refused
        ...the benchmark...
    traces = sampler.collect(folder)

Each source has a thread and a file of its own (``sampler_process.py``, ``raw_files.py``): one that hangs holds up
neither the others nor the end, and a sampler that is killed leaves everything up to its last reading. Nothing is
thinned: a meter that is read faster than it refreshes leaves its repeats, and a failure its status.

Stamps are those of the system's clock, which the benchmark's phase marks share. Once a second CLOCK_REALTIME is laid
beside CLOCK_BOOTTIME, which nobody can set, and CLOCK_MONOTONIC_RAW, which nobody can steer: their difference moves only
when the clock is set (NTP's steps, an administrator, an hour's jump). ``collect`` takes such steps out of the stamps, so
that the trace stays on the clock that the run began with; ``clock_steps`` names them.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import msgspec

from ..errors import BadInput, CannotMeasure, StoreFailed
from ..hosts.access import HostAccess
from ..records import Absent, Record
from . import meters, raw_files
from .collect import TRACE_FILE, ClockStep, ahead_s, clock_steps, collect, cost
from .meters import Channel, Reading, Target

__all__ = [
    "TRACE_FILE",
    "ClockStep",
    "Opened",
    "Sampler",
    "ahead_s",
    "clock_steps",
    "collect",
    "cost",
    "find",
    "resolve",
    "some",
    "spare_cpus",
    "start",
]

_END_S = 30.0  # for a sampler to end, after which it is killed


class Opened(Record, frozen=True, kw_only=True):
    """One source that is being read."""

    target: str
    channels: tuple[Channel, ...]
    interval_s: float
    notes: tuple[str, ...] = ()


class Sampler:
    """The sampler under way. Made by ``start``; ends with ``stop``, with its context or with this process."""

    def __init__(self, folder: Path, child: subprocess.Popen[bytes], begun: raw_files.Begun) -> None:
        self.folder = folder
        self.refused: tuple[Absent, ...] = begun.refused
        names = set(begun.opened)
        self.opened = tuple(
            Opened(
                target=one.header.target,
                channels=one.header.channels,
                interval_s=one.header.interval_s,
                notes=one.header.notes,
            )
            for one in raw_files.sources(folder)
            if one.records.stem in names
        )
        self.ending: raw_files.Ending | None = None  # its cost and what became of each source, once it has ended
        self._child = child

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def alive(self) -> bool:
        """Whether it still samples. One that was killed (by the kernel for memory, say) has left what it had."""
        return self._child.poll() is None

    def latest(self) -> list[tuple[Channel, Reading]]:
        """The last reading of each channel that has one."""
        found = []
        for source in raw_files.sources(self.folder):
            last: dict[int, Reading] = {}
            for reading, _ in raw_files.unpack(_tail(source.records, 4 * len(source.header.channels))):
                last[reading.channel] = reading
            found += [(source.header.channels[index], reading) for index, reading in sorted(last.items())]
        return found

    def stop(self) -> tuple[Path, ...]:
        """End it and return the files with the raw readings, for ``collect``. May be called again. Never hangs: a sampler
        that does not end within five seconds is killed, and what it wrote is kept."""
        if self._child.stdin and not self._child.stdin.closed:
            with contextlib.suppress(OSError):
                self._child.stdin.write(b".")  # a word, which tells a stop from a parent that died
            with contextlib.suppress(OSError):
                self._child.stdin.close()
        try:
            self._child.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self.ending = raw_files.ending(self.folder)
        return tuple(one.records for one in raw_files.sources(self.folder))

    def __enter__(self) -> Sampler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def resolve(words: Sequence[str], door: HostAccess) -> tuple[Target, ...]:
    """Targets as a user writes them; ``auto`` stands for everything that this machine has. Raises BadInput."""
    targets: dict[str, Target] = {}
    for word in words:
        for one in find(door) if word == "auto" else (meters.parse_target(word),):
            _check_interval(one)
            targets.setdefault(str(one), one)
    return tuple(targets.values())


def some(words: Sequence[str], door: HostAccess) -> tuple[Target, ...]:
    """The same, at least one. Raises CannotMeasure where ``auto`` finds nothing: the question is sound, the machine has no
    answer to it."""
    targets = resolve(words, door)
    if not targets:
        raise CannotMeasure(
            "this machine shows no meter that can be read without an address",
            hint="`shakedown meter list` says why for each kind; or name one: ipmi://USER@BMC, redfish://USER@BMC, "
            "snmp://PDU, csv:FILE",
        )
    return targets


def find(door: HostAccess) -> tuple[Target, ...]:
    """What this machine has that needs no address. A meter whose module cannot be loaded is passed over."""
    found: list[Target] = []
    for name in meters.names():
        with contextlib.suppress(Exception):  # find must be silent by contract; a library that prints its woes is none
            found += meters.get(name).find(door)
    return tuple(found)


def spare_cpus(used: Sequence[int], door: HostAccess) -> tuple[int, ...] | None:
    """The CPUs that this process may use and the benchmark does not; those whose core it leaves alone altogether where
    there are any. None where it uses all."""
    from ..machine.kernel import Reader  # not in the sampler's own process, which calls nothing of it

    free = [cpu for cpu in door.affinity() if cpu not in set(used)]
    base = "/sys/devices/system/cpu/cpu"
    reader = Reader(door)
    quiet = [
        cpu for cpu in free if not set(used) & set(reader.cpus(f"{base}{cpu}/topology/thread_siblings_list") or (cpu,))
    ]
    return tuple(quiet or free) or None


def start(
    targets: Sequence[Target],
    folder: Path,
    *,
    interval_s: float | None = None,
    cpus: Sequence[int] | None = None,
    limit_s: float = 20.0,
) -> Sampler:
    """Start the sampler and wait until every source is open or refused, at most ``limit_s`` seconds.

    ``interval_s`` goes before what the meters do by default, a target's own ``interval`` before both. ``cpus``: where it
    may run (``spare_cpus``). Raises BadInput for an interval that is none or
    that a meter forbids, and for a folder that holds readings; CannotMeasure where the process does not come up.
    """
    _check(targets, folder, interval_s)
    config = _config(targets, folder, interval_s, cpus, limit_s)
    child = _spawn(folder, config)
    try:
        begun = _listen(child, limit_s + 10.0, folder)
    except BaseException:
        child.kill()
        child.wait()
        if child.stdin:
            child.stdin.close()
        raise
    return Sampler(folder, child, begun)


def _check(targets: Sequence[Target], folder: Path, interval_s: float | None) -> None:
    if not targets:
        raise BadInput("no meter to read", hint="name one: `shakedown meter list` shows what there is")
    if interval_s is not None and not 0 < interval_s < 86400:
        raise BadInput(f"an interval of {interval_s:g} s", hint="give seconds above zero")
    words = [str(target) for target in targets]
    for word in words:
        if words.count(word) > 1:
            raise BadInput(f"{word} is named twice", hint="read each meter once")
    for target in targets:
        _check_interval(target)
    if any(folder.glob("*.raw")):
        raise BadInput(
            "the folder holds readings already", where=str(folder), hint="choose another folder, or remove this one"
        )


def _check_interval(target: Target) -> None:
    text = target.options.get("interval")
    if text is None:
        return
    least = meters.get(target.meter).least_poll_s
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not least <= seconds < 86400:
        raise BadInput(
            f"{text!r} is not a valid interval for the meter {target.meter}",
            where=str(target),
            hint=f"give seconds, at least {least:g}: more often disturbs the device or the run",
        )


def _config(
    targets: Sequence[Target],
    folder: Path,
    interval_s: float | None,
    cpus: Sequence[int] | None,
    limit_s: float,
) -> Path:
    # Imported here: the parent needs nothing of the process but the shape of its configuration.
    from .sampler_process import Config

    config = Config(
        targets=tuple(targets),
        folder=str(folder.resolve()),
        parent=os.getpid(),
        interval_s=interval_s,
        cpus=tuple(cpus) if cpus else None,
        limit_s=limit_s,
    )
    path = folder / "config.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.encode(config))
    except OSError as error:
        raise StoreFailed(f"cannot be written: {error.strerror}", where=str(path)) from None
    return path


def _spawn(folder: Path, config: Path) -> subprocess.Popen[bytes]:
    """The process, in a session of its own: Ctrl-C reaches the parent alone, which then decides."""
    package = Path(__file__).resolve().parents[2]
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    environment = dict(os.environ)
    if package.name not in ("site-packages", "dist-packages"):
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(package), *paths]))
    with open(folder / "sampler.stderr", "wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "shakedown.metering.sampler", str(config.resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=0,
            env=environment,
            start_new_session=True,
        )


def _listen(child: subprocess.Popen[bytes], limit_s: float, folder: Path) -> raw_files.Begun:
    """What the sampler tells once its sources have settled. Raises CannotMeasure."""
    assert child.stdout is not None
    deadline = time.monotonic() + limit_s
    data = b""
    with child.stdout as pipe:
        while not data.endswith(b"\n"):
            ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
            piece = os.read(pipe.fileno(), 1 << 16) if ready else b""
            if not piece:
                why = "it ended at once" if ready else f"it reported nothing within {limit_s:g} s"
                said = (folder / "sampler.stderr").read_text(errors="replace").strip().splitlines()
                raise CannotMeasure(
                    f"the sampler did not start: {why}" + (f": {said[-1]}" if said else ""),
                    where=str(folder / "sampler.stderr"),
                    hint="`shakedown meter read` asks the meters once, without it",
                )
            data += piece
    return msgspec.json.decode(data, type=raw_files.Begun)


def _tail(path: Path, count: int) -> bytes:
    """The last whole records of a file."""
    size = raw_files.RECORD.size
    try:
        with open(path, "rb") as file:
            records = os.fstat(file.fileno()).st_size // size
            file.seek(max(0, records - count) * size)
            return file.read(min(count, records) * size)
    except OSError:
        return b""


def main() -> None:
    """The sampler's process."""
    from . import sampler_process

    if len(sys.argv) != 2:
        print("usage: python -m shakedown.metering.sampler CONFIG.json (started by sampler.start)", file=sys.stderr)
        sys.exit(2)
    sampler_process.main(sys.argv[1:])


if __name__ == "__main__":
    main()
