"""Cray's pm_counters: power and energy of a node and its parts, measured out of band by the blade's controller.

The controller scans about ten times a second (``raw_scan_hz``) and hands the node one set of values in
/sys/cray/pm_counters, each with its own stamp in microseconds: point power in whole watts, counters in whole joules. The
counter ``freshness`` goes up with each scan; it is read before and after, and all is read again where it changed. Where it
stands still for a second the controller has stopped and the values are STALE. A changed ``startup`` means that the
controller restarted and its counters do not join the earlier ones: RESET. ``generation`` counts changes of the power cap
(HPE, docs-csm, "User Access to Compute Node Power Data"), which resets nothing; a cap that holds stands in the note.

"Node" is the blade's input behind the cabinet's rectifiers, so that their losses, and shared fans, pumps and switches, are
not in it; accelerators, cpu and memory are parts of it. What it holds beyond them is network and board.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import NamedTuple

from ...errors import Unavailable
from ...hosts.access import HostAccess
from . import Channel, Meter, Quantity, Reading, Sample, Source, Status, Target
from ._local import Held, folder, number, text

ROOT = "/sys/cray/pm_counters"
_FILE = re.compile(r"(?:(?P<part>cpu\d*|memory\d*|accel\d+)_)?(?P<what>power|energy|temp)")
_UNITS: dict[str, tuple[Quantity, str, str]] = {
    "power": ("power", "W", "W"),
    "energy": ("energy", "J", "J"),
    "temp": ("temperature", "degC", "C"),
}
_LETTERS = (b"W", b"J", b"C")
_SCAN_HZ = 10
_STILL_S = 1.0
_TRIES = 4


class Value(NamedTuple):
    """One line of a file: ``495 W 1784929200356706 us``."""

    value: float
    unit: str
    device_ns: int | None


def parse(line: bytes) -> Value | None:
    """A line of pm_counters; None where it is none. The first version of the files has no stamp."""
    words = line.split()
    if len(words) not in (2, 4) or words[1] not in _LETTERS or (len(words) == 4 and words[3] != b"us"):
        return None
    try:
        value, device_ns = float(words[0]), int(words[2]) * 1000 if len(words) == 4 else None
    except ValueError:
        return None
    return Value(value, words[1].decode(), device_ns) if isfinite(value) else None


class _Counters:
    """The open files of one node."""

    def __init__(self, door: HostAccess, root: str, channels: list[Channel], names: list[str], scan_hz: int) -> None:
        self.channels = tuple(channels)
        self._now = door.now_ns
        self._files = [Held(door, f"{root}/{name}") for name in names]
        self._letters = [_UNITS[name.rpartition("_")[2]][2] for name in names]
        self._fresh, self._startup = Held(door, f"{root}/freshness"), Held(door, f"{root}/startup")
        self._still_ns = int(max(_STILL_S, 10 / scan_hz) * 1e9)
        self._seen: tuple[bytes | Status, int] = (b"", self._now())
        self._began: bytes | None = None

    def read(self) -> list[Reading]:
        """One whole set of one scan."""
        fresh: bytes | Status = Status.GAP
        for _ in range(_TRIES):
            fresh = self._fresh.read()
            said = [self._one(held) for held in self._files]
            if self._fresh.read() == fresh:
                break
        return self._judge(said, fresh)

    def _one(self, held: Held) -> tuple[int, bytes | Status, int]:
        before = self._now()
        return before, held.read(), self._now()

    def _judge(self, said: list[tuple[int, bytes | Status, int]], fresh: bytes | Status) -> list[Reading]:
        startup = self._startup.read()
        reset = isinstance(startup, bytes) and self._began is not None and startup != self._began
        self._began = startup if isinstance(startup, bytes) else self._began
        if fresh != self._seen[0]:
            self._seen = (fresh, self._now())
        stale = isinstance(fresh, bytes) and self._now() - self._seen[1] > self._still_ns
        out: list[Reading] = []
        for index, (before, answer, after) in enumerate(said):
            if isinstance(answer, Status):
                out.append(Reading(index, before, after, None, None, answer))
                continue
            found = parse(answer)
            if found is None:
                out.append(Reading(index, before, after, None, None, Status.GAP))
                continue
            status = Status.STALE if stale else Status.OK
            if found.unit != self._letters[index]:
                status = Status.UNSUPPORTED
            elif reset and self.channels[index].quantity == "energy":
                status = Status.RESET
            value = found.value if status is Status.OK else None
            out.append(Reading(index, before, after, found.device_ns, value, status))
        return out

    def close(self) -> None:
        """Close the files."""
        for held in (*self._files, self._fresh, self._startup):
            held.close()


def open_(target: Target, door: HostAccess) -> Source:
    """The counters of this node. Raises Unavailable where it is no Cray."""
    root = folder(target, ROOT)
    names = [name for name in door.list(root) if _FILE.fullmatch(name) and not _empty(door, root, name)]
    if not names:
        raise Unavailable(
            f"no pm_counters in {root}", where="cray", hint="they are on compute nodes of HPE Cray XC, EX and XD alone"
        )
    scan_hz = number(door, f"{root}/raw_scan_hz") or _SCAN_HZ
    names.sort(key=lambda name: (name.count("_"), name))
    channels = [_channel(door, root, name, scan_hz, names) for name in names]
    return _Counters(door, root, channels, names, scan_hz)


def _empty(door: HostAccess, root: str, name: str) -> bool:
    """Whether an accelerator's file stands for none: both its power and its energy are zero."""
    part = name.rpartition("_")[0]
    if not part.startswith("accel"):
        return False
    said = [parse(text(door, f"{root}/{part}_{what}").encode()) for what in ("power", "energy")]
    return all(one is not None and one.value == 0 for one in said)


def _channel(door: HostAccess, root: str, name: str, scan_hz: int, names: list[str]) -> Channel:
    part, _, what = name.rpartition("_")
    quantity, unit, _ = _UNITS[what]
    cap = number_of(door, f"{root}/{part + '_' if part else ''}power_cap")
    note = {"": "the blade's input, behind the cabinet's rectifiers"}.get(part, "")
    if cap and what != "temp":
        note = "; ".join(filter(None, (note, f"power cap {cap:g} W")))
    return Channel(
        id=f"cray/{part or 'node'}/{'temperature' if what == 'temp' else what}",
        title=f"{quantity} of {part or 'the node'} (pm_counters)",
        quantity=quantity,
        unit=unit,
        scope="counter" if what == "energy" else "point",
        place="component" if part else "board",
        within=f"cray/node/{what}" if part and what in names else "",
        resolution=1.0,
        refresh_s=1 / scan_hz,
        device="HPE Cray blade controller",
        firmware=f"pm_counters version {text(door, f'{root}/version')}",
        note=note,
    )


def number_of(door: HostAccess, path: str) -> float | None:
    """The number of a line such as ``0 W``, or None."""
    found = parse(text(door, path).encode())
    return found.value if found else None


def find(door: HostAccess) -> tuple[Target, ...]:
    """pm_counters where the node has them."""
    return (Target(meter="cray"),) if "power" in door.list(ROOT) else ()


METER = Meter(
    name="cray",
    title="Cray pm_counters",
    address="cray[:FOLDER]",
    open=open_,
    find=find,
    poll_s=0.1,
    least_poll_s=0.02,
    samples=(
        Sample(
            recording="meters/cray-mi250x",
            target="cray",
            expect={
                "cray/node/power": 495.0,
                "cray/node/energy": 4_709_337_659.0,
                "cray/cpu/power": 35.0,
                "cray/cpu/energy": 376_665_426.0,
                "cray/cpu0/temperature": 44.0,
                "cray/memory/power": 76.0,
                "cray/memory/energy": 388_323_859.0,
                "cray/accel0/power": 92.0,
                "cray/accel3/energy": 895_124_018.0,
            },
            source="ROCm/omnistat test/pm_counters (MIT)",
        ),
    ),
)
