"""One load that moves in real time, and the simulated meters that see it: the source behind every server of these tests."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np

from shakedown.energy.simulate import Load, Truth, observe
from shakedown.metering.meters import Channel
from shakedown.metering.trace import Trace


def square(low_w: float, high_w: float, period_s: float, seconds: float) -> Load:
    """A square wave that begins low and ends low."""
    edges = np.arange(0.0, seconds, period_s / 2)
    return Load(edges, np.where(np.arange(len(edges)) % 2, high_w, low_w).astype(float))


class Device:
    """What a meter with a known truth shows of the load: watts, or joules counted since it began."""

    def __init__(self, trace: Trace, truth: Truth) -> None:
        self.trace = trace
        self.truth = truth
        self._made_ns = trace.t_ns - round(truth.clock_s * 1e9)  # when, by the true clock, each value was made

    def latest(self, at_ns: int | None = None) -> tuple[int, float]:
        """The device's stamp and its value at a time, now unless given: those of its last refresh."""
        at = int(np.searchsorted(self._made_ns, time.time_ns() if at_ns is None else at_ns, side="right")) - 1
        at = max(at, 0)
        return int(self.trace.t_ns[at]), float(self.trace.value[at])

    def value(self) -> float:
        """What it shows now."""
        return self.latest()[1]

    def shown(self, begin_ns: int, end_ns: int) -> set[float]:
        """Every value that it showed at some time between two moments."""
        first = max(int(np.searchsorted(self._made_ns, begin_ns, side="right")) - 1, 0)
        last = int(np.searchsorted(self._made_ns, end_ns, side="right"))
        return set(self.trace.value[first : max(last, first + 1)].tolist())

    def write(self, path: Path) -> Path:
        """All that it will ever show, as lines ``NANOSECONDS VALUE``: for servers in other processes."""
        rows = zip(self._made_ns.tolist(), self.trace.value.tolist(), strict=True)
        path.write_text("".join(f"{at} {value!r}\n" for at, value in rows))
        return path

    def next_ns(self, after_ns: int) -> int | None:
        """When it refreshes next."""
        at = int(np.searchsorted(self._made_ns, after_ns, side="right"))
        return int(self._made_ns[at]) if at < len(self._made_ns) else None


class Drive:
    """A load that began to move when this was made, at ``origin_ns``; it holds its last power when it has ended.

        with Drive(square(200, 400, 2.0, 60.0), seconds=60.0) as drive:
            slow = drive.device(Truth(refresh_s=1.0, window_s=4.0, resolution=1.0))
            counter = drive.device(Truth(refresh_s=0.1, resolution=3600.0, modulus=2.0**32), "energy")
            ...                                 # hand them to the servers of servers.py
            truth = drive.energy_j(begin_ns, end_ns)

    ``device`` takes all of ``energy.simulate.Truth``: refresh, window, time constant, delay, gain, offset, resolution,
    noise, phase, how far its stamps are ahead, and where a counter starts again. Servers in the test's own process ask a
    device at every request; those outside get all that it will show beforehand (``Device.write``) or, where they can only
    read a value from a file, have it written at every refresh (``follow``), which is late when the machine is busy.
    """

    def __init__(self, load: Load, *, seconds: float) -> None:
        self.load = load
        self.origin_ns = time.time_ns()
        self._seconds = seconds
        self._followed: list[tuple[Device, Callable[[float], None]]] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._pump, name="moving load", daemon=True)

    def __enter__(self) -> Drive:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def device(self, truth: Truth, quantity: Literal["power", "energy"] = "power", *, seed: int = 0) -> Device:
        """A meter of this load."""
        unit, scope = ("W", "last") if quantity == "power" else ("J", "counter")
        channel = Channel(
            id="truth",
            title="simulated",
            quantity=quantity,
            unit=unit,
            scope=scope,
            place="node",
            modulus=truth.modulus,
        )
        begin_s = -2.0 * truth.refresh_s
        trace = observe(self.load, truth, channel, begin_s, self._seconds, origin_ns=self.origin_ns, seed=seed)
        return Device(trace, truth)

    def seconds(self, at_ns: int) -> float:
        """A time on the load's own axis."""
        return (at_ns - self.origin_ns) * 1e-9

    def energy_j(self, begin_ns: int, end_ns: int) -> float:
        """The true energy between two times."""
        begin, end = self.load.energy_j(np.array([self.seconds(begin_ns), self.seconds(end_ns)]))
        return float(end - begin)

    def follow(self, device: Device, write: Callable[[float], None]) -> None:
        """Have ``write`` called with the device's value now, and again at every refresh."""
        write(device.value())
        with self._lock:
            self._followed.append((device, write))

    def _pump(self) -> None:
        at = time.time_ns()
        while not self._over.is_set():
            with self._lock:
                followed = list(self._followed)
            due = [(device.next_ns(at), device, write) for device, write in followed]
            soonest = min((when for when, _, _ in due if when is not None), default=None)
            now = time.time_ns()
            if soonest is None or soonest > now:
                wait_s = 0.02 if soonest is None else min((soonest - now) * 1e-9, 0.02)
                self._over.wait(wait_s)
                continue
            at = now
            for when, device, write in due:
                if when is not None and when <= now:
                    write(device.value())


def replace(path: Path, text: str) -> None:
    """Write a file so that whoever reads it sees the old text or the new one."""
    temporary = path.with_name(f".{path.name}.{threading.get_ident()}")
    temporary.write_text(text)
    os.replace(temporary, path)
