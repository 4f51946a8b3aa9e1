"""One worker process for each device: what it is started with, what it tells, and how it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ...hosts.access import inherited
from ...programs import events
from ..health import children
from .records import BurninPlan, Device, State, WorkerEnd

#: A worker that prints lines without an end is none of ours: so much of one is kept.
_MOST_LINE = 1 << 16
#: What a memory test's pages cost before the first sign of life: they are locked, which fills them. B/s of one core.
SLOWEST_FILL = 0.2e9


def command(program: str, plan: BurninPlan, device: Device, start_ns: int, burnt_s: float, seed: int) -> list[str]:
    """The worker's command line. ``start_ns`` is the beginning of the schedule, of which ``burnt_s`` are over."""
    words = [program, "--device", device.id, "--start", str(start_ns)]
    words += ["--seconds", f"{plan.seconds:.3f}", "--seed", str(seed)]
    words += ["--stages", ",".join(f"{one.work}:{one.seconds:g}" for one in plan.stages)]
    words += ["--periods", ",".join(f"{one:g}" for one in plan.periods_s)]
    if device.index is None:
        words += ["--memory", str(plan.memory_bytes), "--isa", plan.isa]
    else:
        words += ["--memory", plan.gpu_memory, *(("--pci", device.pci) if device.pci else ())]
    for drill in plan.drills:
        if drill.device == device.id and drill.after_s >= burnt_s:
            words += ["--drill", drill.kind, "--drill-after", f"{drill.after_s:g}"]
    return words


class Worker:
    """A worker under way. What it tells is read without waiting."""

    def __init__(self, device: Device, argv: Sequence[str], errors: Path, now: float, plan: BurninPlan) -> None:
        self.device, self.errors = device, errors
        self.state: State = "waiting"
        self.done = WorkerEnd()
        self.stage = ""
        self.period_s = 0.0
        self.rate: float | None = None  # flop/s of the last seconds
        self.seen = now  # monotonic: the last sign of life
        self.patience_s = plan.hang_s + plan.memory_bytes / SLOWEST_FILL
        self._hang_s = plan.hang_s
        self._buffer = b""
        self._from = errors.stat().st_size if errors.exists() else 0
        with open(errors, "ab") as file:
            # A session of its own: Ctrl-C is for the supervisor alone, which then ends the workers.
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=file,
                env=inherited(),
                start_new_session=True,
            )
        assert self.process.stdout is not None
        self.pipe = self.process.stdout.fileno()
        os.set_blocking(self.pipe, False)

    @property
    def alive(self) -> bool:
        return self.state in ("waiting", "running", "silent")

    def read(self, now: float) -> tuple[list[dict[str, Any]], bool]:
        """Faults among what has come, and whether the worker has closed its end."""
        try:
            data = os.read(self.pipe, 1 << 16)
        except BlockingIOError:
            return [], False
        if not data:
            return [], True
        self.seen = now
        *lines, rest = (self._buffer + data).split(b"\n")
        self._buffer = rest[-_MOST_LINE:]
        return [fault for line in lines if (fault := self._take(line)) is not None], False

    def _take(self, line: bytes) -> dict[str, Any] | None:
        event = events.parse_line(line)
        match event["event"] if event else "":
            case "fault":
                return event
            case "beat" if event:
                self._beat(event)
            case "start":
                self.patience_s = self._hang_s
        return None

    def _beat(self, event: dict[str, Any]) -> None:
        names = WorkerEnd.__struct_fields__
        with contextlib.suppress(msgspec.ValidationError):  # a line that other output was mixed into
            done = msgspec.convert({name: event[name] for name in names if name in event}, WorkerEnd)
            seconds = done.product_s - self.done.product_s
            if seconds > 0.2:
                self.rate = (done.flop - self.done.flop) / seconds
            self.done, self.stage = done, str(event.get("stage", ""))
            self.period_s = float(event.get("period_s", 0.0))

    def doing(self) -> str:
        """In words: stage and rate."""
        if not self.alive or self.state == "silent":
            return self.state
        words = [self.stage or "beginning"]
        if self.stage == "steps" and self.period_s:
            words.append(f"of {self.period_s:g} s")
        if self.stage in ("product", "steps") and self.rate is not None:
            words.append(f"at {self.rate / 1e9:.1f} Gflop/s")
        return " ".join(words)

    def why_silent(self) -> str:
        """What the kernel says of a process that gives no sign of life."""
        state = children.state_of(self.process.pid)
        word = {"T": "it was stopped (SIGSTOP)", "D": "it hangs in the kernel", "R": "it runs on a CPU"}.get(state, "")
        held = children.held_at(self.process.pid) if state == "D" else ""
        return word + (f", in {held}" if held else "")

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, number)

    def ended(self) -> tuple[State, str] | None:
        """How it ended and why; None while it has not."""
        code = self.process.poll()
        if code is None:
            return None
        if code < 0:
            name = next((one.name for one in signal.Signals if one == -code), f"signal {-code}")
            return "died", f"ended by {name}" + (f": {said}" if (said := self.last_words()) else "")
        if code in (0, 1):
            return "ended", ""
        return "refused" if self.state == "waiting" else "died", self.last_words() or f"it ended with exit code {code}"

    def last_words(self) -> str:
        """The end of what it wrote to standard error in this session, in one line."""
        try:
            with open(self.errors, "rb") as file:
                file.seek(max(self._from, self.errors.stat().st_size - 2000))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            return ""
        return " ".join(text.split())[-400:]

    def close(self) -> None:
        assert self.process.stdout is not None
        self.process.stdout.close()
