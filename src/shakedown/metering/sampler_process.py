"""The sampler's process: one thread a source, each at absolute times, each with a file of its own.

It is started by ``sampler.start`` and ends at a word on its standard input, at SIGTERM, or when its parent is gone: the
input closes, and PR_SET_PDEATHSIG tells it where a fork of the parent still holds the pipe. Nothing here imports numpy.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import struct
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ..errors import ShakedownError
from ..files import atomic
from ..hosts.access import HostAccess, LocalHost
from ..records import Absent, Record
from . import meters, raw_files
from .meters import Channel, Meter, Reading, Status, Target

#: How long the end waits for answers that are under way, all sources together.
GRACE_S = 1.0
_CLOCK_EVERY_S = 1.0
_PR_SET_PDEATHSIG = 1
_APART_NS = 1_000_000
_LOOK_EVERY = 64  # ticks: asking for a thread's CPU time is a system call


class Config(Record, frozen=True, kw_only=True):
    """What ``sampler.start`` asks for."""

    targets: tuple[Target, ...]
    folder: str
    parent: int  # process id
    interval_s: float | None = None
    cpus: tuple[int, ...] | None = None
    limit_s: float = 20.0  # to open


class _Thread(threading.Thread):
    """One source from its opening to its end."""

    def __init__(
        self, number: int, target: Target, config: Config, door: HostAccess, stop: threading.Event, bell: int
    ) -> None:
        super().__init__(name=str(target), daemon=True)
        self.name_of_files = f"{number:02d}-{target.meter}"
        self.target = target
        self.refused: Absent | None = None
        self.opened = False
        self.readings = self.skipped = self.lost = 0
        self.slowest_ns = 0
        self.cpu_s = 0.0
        self.error = ""
        self.descriptor = -1
        self._asked_ns = self._channels = 0
        self._config, self._door, self._stop_event, self._bell = config, door, stop, bell
        self._folder = Path(config.folder)
        self._number = number

    def run(self) -> None:
        try:
            meter = meters.get(self.target.meter)
            source = meter.open(self.target, self._door)
        except ShakedownError as error:
            self._refuse(error.what + (f"; next: {error.hint}" if error.hint else ""))
            return
        except Exception as error:  # a source's fault must not end the others
            self._refuse(f"{type(error).__name__}: {error}")
            return
        try:
            interval_s = self._begin(meter, source.channels)
        except OSError as error:
            self._refuse(f"its file cannot be written: {error}")
            return
        try:
            self._sample(source, round(interval_s * 1e9))
        finally:
            with contextlib.suppress(Exception):
                source.close()
            self.cpu_s = time.thread_time()

    def _refuse(self, why: str) -> None:
        self.refused = Absent(what=str(self.target), why=why)
        os.write(self._bell, b".")

    def _begin(self, meter: Meter, channels: Sequence[Channel]) -> float:
        interval_s, notes = interval(meter, self.target, self._config.interval_s, channels)
        path = self._folder / f"{self.name_of_files}.raw"
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        _write_record(
            path.with_suffix(".json"),
            raw_files.Header(
                target=str(self.target),
                meter=meter.name,
                channels=tuple(channels),
                interval_s=interval_s,
                opened_ns=time.time_ns(),
                notes=notes,
            ),
        )
        self.opened = True
        os.write(self._bell, b".")
        return interval_s

    def _sample(self, source: meters.Source, interval_ns: int) -> None:
        """Read at once, then at whole multiples of the interval. Ticks that pass during an answer are counted and left out.

        All sources keep to one grid, a millisecond apart: waking a core costs more than reading a source, so they share
        the waking, and do not wait for one another either.
        """
        base = time.monotonic_ns() // interval_ns * interval_ns + self._number * _APART_NS
        tick = 0
        wait_s = 0.0
        while not self._stop_event.wait(wait_s):
            asked = time.monotonic_ns()
            self._asked_ns, self._channels = time.time_ns(), len(source.channels)
            readings = self._read(source)
            self._asked_ns = 0
            raw_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            done = time.monotonic_ns()
            self.slowest_ns = max(self.slowest_ns, done - asked)
            self._keep(tick, readings, raw_ns)
            following = max(tick + 1, (done - base) // interval_ns + 1)
            self.skipped += following - tick - 1
            tick = following
            if tick % _LOOK_EVERY == 0:
                self.cpu_s = time.thread_time()
            wait_s = max(0, base + tick * interval_ns - time.monotonic_ns()) * 1e-9

    def _read(self, source: meters.Source) -> Sequence[Reading]:
        before = time.time_ns()
        try:
            return source.read()
        except Exception as error:  # against the contract; a gap with its reason, and the next tick asks again
            self.error = self.error or f"{type(error).__name__}: {error}"
            after = time.time_ns()
            return [Reading(index, before, after, None, None, Status.GAP) for index in range(len(source.channels))]

    def _keep(self, tick: int, readings: Sequence[Reading], raw_ns: int) -> None:
        if not readings:
            return
        try:
            data = b"".join([raw_files.pack(tick, reading, raw_ns) for reading in readings])
        except (struct.error, TypeError) as error:
            self.error = self.error or f"a reading that fits no record: {error}"
            self.lost += len(readings)
            return
        try:
            written = os.write(self.descriptor, data)
        except OSError as error:
            written = 0
            self.error = self.error or f"cannot write: {error.strerror}"
        whole = written // raw_files.RECORD.size
        if written != len(data):
            self.lost += len(readings) - whole
            with contextlib.suppress(OSError):  # the disk is full: what follows must begin at a record's place
                size = os.fstat(self.descriptor).st_size
                os.ftruncate(self.descriptor, size // raw_files.RECORD.size * raw_files.RECORD.size)
        self.readings += whole

    def end(self) -> None:
        """A source that is still waited for at the end leaves a gap, so that the trace tells until when it was asked."""
        asked, now = self._asked_ns, time.time_ns()
        if self.is_alive() and asked and self.descriptor >= 0:
            gaps = [Reading(index, asked, now, None, None, Status.GAP) for index in range(self._channels)]
            raw_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            with contextlib.suppress(OSError):
                os.write(self.descriptor, b"".join([raw_files.pack(0, gap, raw_ns) for gap in gaps]))

    def course(self) -> raw_files.Course:
        return raw_files.Course(
            name=self.name_of_files,
            readings=self.readings,
            skipped=self.skipped,
            lost=self.lost,
            slowest_s=self.slowest_ns * 1e-9,
            cpu_s=self.cpu_s,
            hung=self.is_alive(),
            error=self.error,
        )


def interval(
    meter: Meter, target: Target, asked_s: float | None, channels: Sequence[Channel] = ()
) -> tuple[float, tuple[str, ...]]:
    """How often a source is read, and why that is not what was asked for. The target's own ``interval`` goes before the
    general one; a counter is read three times before it could wrap (facts of RAPL: modulus / (3 x the most power))."""
    wanted = float(target.options["interval"]) if "interval" in target.options else asked_s or meter.poll_s
    notes = []
    if wanted < meter.least_poll_s:
        notes.append(
            f"read every {meter.least_poll_s:g} s, not {wanted:g} s: more often disturbs the device or the run"
        )
        wanted = meter.least_poll_s
    for channel in channels:
        if channel.scope == "counter" and channel.modulus and channel.most_w:
            limit = channel.modulus / (3 * channel.most_w)
            if limit < wanted:
                limit = max(limit, meter.least_poll_s)
                notes.append(f"read every {limit:.3g} s, not {wanted:g} s: {channel.id} wraps")
                wanted = limit
    return wanted, tuple(notes)


def run(config: Config, report: int, ear: int = 0) -> None:
    """Sample until told to end. ``report`` is where Begun goes, as a line of JSON; ``ear`` is the pipe that closes."""
    begun = time.monotonic()
    _die_with_parent()
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_blocking(wake_read, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: None)  # a handler, not SIG_IGN, which programs that a meter runs would inherit
    notes = _pin(config.cpus)
    door = LocalHost()
    stop = threading.Event()
    threads = [_Thread(n, target, config, door, stop, wake_write) for n, target in enumerate(config.targets)]
    descriptor = os.open(
        Path(config.folder) / raw_files.CLOCK_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644
    )
    for thread in threads:
        thread.start()
    why = _attend(config, threads, notes, report, ear, wake_read, descriptor)
    stop.set()
    deadline = time.monotonic() + GRACE_S
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    for thread in threads:
        thread.end()
    _look_at_clocks(descriptor)
    _write_record(Path(config.folder) / raw_files.ENDED_FILE, _ending(threads, why, time.monotonic() - begun))
    for one in (descriptor, *(thread.descriptor for thread in threads if thread.descriptor >= 0)):
        with contextlib.suppress(OSError):
            os.fsync(one)


def _attend(
    config: Config,
    threads: Sequence[_Thread],
    notes: tuple[Absent, ...],
    report: int,
    ear: int,
    wake: int,
    clock_file: int,
) -> str:
    """Look at the clocks each second, tell once that the sources have settled, and return why it is time to end."""
    told = False
    limit = time.monotonic() + config.limit_s
    looked = -_CLOCK_EVERY_S
    while True:
        now = time.monotonic()
        if now >= looked + _CLOCK_EVERY_S:
            _look_at_clocks(clock_file)
            looked = max(looked + _CLOCK_EVERY_S, now - _CLOCK_EVERY_S / 2)
        if not told and (now >= limit or all(thread.opened or thread.refused for thread in threads)):
            _tell(config, threads, notes, report)
            told = True
        due = looked + _CLOCK_EVERY_S if told else min(limit, looked + _CLOCK_EVERY_S)
        ready, _, _ = select.select([ear, wake], [], [], max(0.0, due - time.monotonic()))
        if wake in ready:
            signals = os.read(wake, 4096)
            if signal.SIGTERM in signals:
                return "stopped"
        word = os.read(ear, 4096) if ear in ready else None
        if word:
            return "stopped"
        if word is not None or os.getppid() != config.parent:
            return "the parent has gone"  # its end of the pipe closed without a word


def _tell(config: Config, threads: Sequence[_Thread], notes: tuple[Absent, ...], report: int) -> None:
    late = [
        Absent(
            what=str(thread.target),
            why=f"no answer within {config.limit_s:g} s; it is recorded from when it answers",
        )
        for thread in threads
        if not thread.opened and thread.refused is None
    ]
    begun = raw_files.Begun(
        pid=os.getpid(),
        opened=tuple(thread.name_of_files for thread in threads if thread.opened),
        refused=(*notes, *(thread.refused for thread in threads if thread.refused), *late),
    )
    _write_record(Path(config.folder) / raw_files.BEGUN_FILE, begun)
    with contextlib.suppress(BrokenPipeError):
        os.write(report, msgspec.json.encode(begun) + b"\n")
    os.close(report)


def _look_at_clocks(descriptor: int) -> None:
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    real = time.clock_gettime_ns(time.CLOCK_REALTIME)
    boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    cpu_s = time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    with contextlib.suppress(OSError):
        os.write(descriptor, raw_files.CLOCK.pack((before + after) // 2, real, boot, after - before, cpu_s))


def _ending(threads: Sequence[_Thread], why: str, wall_s: float) -> raw_files.Ending:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return raw_files.Ending(
        why=why,
        wall_s=wall_s,
        cpu_s=own.ru_utime + own.ru_stime,
        children_cpu_s=children.ru_utime + children.ru_stime,
        peak_bytes=_peak_bytes(),
        cpus=tuple(sorted(os.sched_getaffinity(0))),
        courses=tuple(thread.course() for thread in threads if thread.opened),
    )


def _peak_bytes() -> int:
    """Of this program: ru_maxrss would still hold the parent's, which a child is born with."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _pin(cpus: Sequence[int] | None) -> tuple[Absent, ...]:
    if not cpus:
        return ()
    try:
        os.sched_setaffinity(0, cpus)
    except OSError as error:
        return (Absent(what="pinning of the sampler", why=f"to CPUs {', '.join(map(str, cpus))}: {error.strerror}"),)
    return ()


def _die_with_parent() -> None:
    """SIGHUP when the thread that started this process ends; ``_attend`` then looks whether the parent itself has gone."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGHUP), 0, 0, 0)


def _write_record(path: Path, record: Record) -> None:
    atomic.replace(path, msgspec.json.encode(record), flush=False)


def main(argv: Sequence[str]) -> None:
    """``python -m shakedown.metering.sampler_process CONFIG.json``: it samples until it is ended."""
    config = msgspec.json.decode(Path(argv[0]).read_bytes(), type=Config)
    report = os.dup(1)
    os.dup2(2, 1)  # what a library prints must not stand in the report
    run(config, report)
    sys.stderr.flush()
    os._exit(0)  # a thread that hangs in a device must not hold up the end
