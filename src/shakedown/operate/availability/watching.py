"""Our own watch: a loop that asks the engine how its nodes are and appends what changed, with the time, to one file.

An engine stamps an outage when it notices it, forgets when a reservation was made, and purges its events; a watch keeps all
that. One line is one look, also where nothing changed: only so is silence told apart from health. Both clocks are
written, so that a wall clock that was set is seen; a line is written at once and whole; a second watch of the same file
is refused.

With a port, each host is asked by itself: a TCP connection to it (slurmd's 6818) that is taken or refused is an answer.
"""

from __future__ import annotations

import contextlib
import errno
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree

import msgspec

from ... import times
from ...document.text import natural
from ...errors import BadInput, CannotMeasure, Unavailable
from ...files import journal
from ...files.atomic import failed as store_failed
from ...hosts.access import HostAccess
from ...hosts.hostlist import fold
from ...records import Record
from ...units import MOST_COUNT, whole_number
from .heartbeat import answering

MARK = "shakedown 1"
ENGINES = ("slurm", "gridengine")
#: A whole look is written at least so often: what follows a damaged stretch can be read again from there.
FULL_EVERY = 240


class Reserved(Record, frozen=True, kw_only=True):
    name: str
    begin_s: int
    end_s: int
    nodes: str = ""
    flags: tuple[str, ...] = ()


class Line(Record, frozen=True, kw_only=True):
    """One look. ``states`` maps the engine's word to the nodes, folded: all of them in a ``full`` line, else those that
    changed; "" are those that are gone. ``silent`` are hosts that did not answer our heartbeat."""

    watch: str
    t_s: int
    steady_ns: int
    boot: str
    every_s: float
    engine: str = "slurm"
    full: bool = False
    states: dict[str, str] = msgspec.field(default_factory=dict)
    sizes: dict[str, tuple[int, int]] | None = None
    reasons: dict[str, str] | None = None
    reservations: tuple[Reserved, ...] | None = None
    silent: str = ""
    failed: str = ""


class Seen(msgspec.Struct, frozen=True):
    """What the engine said at one look."""

    states: dict[str, str]
    sizes: dict[str, tuple[int, int]]
    reasons: dict[str, str]
    reservations: tuple[Reserved, ...] = ()
    addresses: dict[str, str] = {}


def engine_here(door: HostAccess) -> str:
    """slurm or gridengine. Raises Unavailable."""
    for name, command in (("slurm", "sinfo"), ("gridengine", "qhost")):
        if door.which(command):
            return name
    raise Unavailable(
        "neither sinfo nor qhost is on PATH", where="watch", hint="run it where a batch engine's commands answer"
    )


def look(engine: str, door: HostAccess) -> Seen:
    """Ask the engine once. Raises CannotMeasure with what it said."""
    return _slurm(door) if engine == "slurm" else _gridengine(door)


def watch(
    path: Path,
    engine: str,
    door: HostAccess,
    *,
    every_s: float,
    looks: int = 0,
    port: int = 0,
    say: Callable[[str], None] = lambda text: None,
    clock: times.Clock = times.REAL,
) -> int:
    """Look every so many seconds, for ever or so many times; returns how many looks found the engine. Raises StoreFailed,
    BadInput."""
    before: Seen | None = None
    found = number = 0
    told = ""
    with contextlib.closing(_Output(path)) as out:
        due = clock.monotonic_s()
        while True:
            line, before = _line(engine, door, before, number, every_s, port, out.renewed())
            if line.failed != told:
                say(f"the engine does not answer: {line.failed}" if line.failed else "the engine answers again")
                told = line.failed
            found += not line.failed
            if not out.append(line):
                before = None
                say(f"cannot write {path}: what is seen now is lost")
            number += 1
            if looks and number >= looks:
                return found
            due = max(due + every_s, clock.monotonic_s())
            clock.sleep_s(max(0.0, due - clock.monotonic_s()))


def _line(
    engine: str, door: HostAccess, before: Seen | None, number: int, every_s: float, port: int, renewed: bool
) -> tuple[Line, Seen | None]:
    """One look as a line, and what to hold the next one against."""
    stamp = Line(
        watch=MARK,
        t_s=time.time_ns() // 10**9,
        steady_ns=time.monotonic_ns(),
        boot=(door.read("/proc/sys/kernel/random/boot_id") or "")[:8],
        every_s=every_s,
        engine=engine,
    )
    try:
        seen = look(engine, door)
    except CannotMeasure as error:
        return msgspec.structs.replace(stamp, failed=error.what), None
    full = before is None or renewed or number % FULL_EVERY == 0
    base = Seen({}, {}, {}) if full or before is None else before
    changed = {node: word for node, word in seen.states.items() if base.states.get(node) != word}
    changed |= dict.fromkeys(base.states.keys() - seen.states.keys(), "")
    reasons = {node: text for node, text in seen.reasons.items() if base.reasons.get(node) != text}
    reasons |= dict.fromkeys((node for node in base.reasons.keys() - seen.reasons.keys() if node in seen.states), "")
    sizes = {node: size for node, size in seen.sizes.items() if base.sizes.get(node) != size}
    silent = ""
    if port:
        alive = answering(seen.addresses or {node: node for node in seen.states}, port, limit_s=min(5.0, every_s / 2))
        silent = fold(sorted((node for node, answers in alive.items() if answers is False), key=natural))
    line = msgspec.structs.replace(
        stamp,
        full=full,
        states=_folded(changed),
        sizes={nodes: size for size, nodes in _folded(sizes).items()} or None,
        reasons=reasons or None,
        reservations=seen.reservations if full or seen.reservations != base.reservations else None,
        silent=silent,
    )
    return line, seen


def _folded(of: Mapping[str, object]) -> dict:  # type: ignore[type-arg]
    """Node -> value turned round: value -> nodes, folded."""
    groups: dict[object, list[str]] = {}
    for node in sorted(of, key=natural):
        groups.setdefault(of[node], []).append(node)
    return {value: fold(nodes) for value, nodes in groups.items()}


# ------------------------------------------------------------------------------------------------------------- engines


def _slurm(door: HostAccess) -> Seen:
    from .reading.slurm_asked import gpus_of

    done = door.run(("env", "LC_ALL=C", "sinfo", "-h", "-N", "-a", "-o", "%N|%T|%c|%G|%o|%E"), limit_s=60.0)
    if not done.ok:
        raise CannotMeasure(f"sinfo: {' '.join((done.err or done.out).split())[:200] or 'no answer'}", where="slurm")
    states, sizes, reasons, addresses = {}, {}, {}, {}
    for row in done.out.splitlines():
        fields = row.split("|", 5)
        if len(fields) < 6:
            continue  # a reason with a line break goes on
        name, word, cpus, gres, address, reason = fields
        states[name] = word.strip()
        sizes[name] = (whole_number(cpus, most=MOST_COUNT) or 1, gpus_of(gres))
        addresses[name] = address.strip() or name
        if reason.strip() not in ("none", ""):
            reasons[name] = reason.strip()
    if not states:
        raise CannotMeasure("sinfo knows no node", where="slurm")
    return Seen(states, sizes, reasons, _reservations(door), addresses)


def _reservations(door: HostAccess) -> tuple[Reserved, ...]:
    done = door.run(("env", "SLURM_TIME_FORMAT=%s", "LC_ALL=C", "scontrol", "-o", "show", "reservation"), limit_s=60.0)
    found = []
    for row in done.out.splitlines() if done.ok else ():
        fields = dict(re.findall(r"(\w+)=(\S*)", row))
        begin, end = whole_number(fields.get("StartTime")), whole_number(fields.get("EndTime"))
        if fields.get("ReservationName") and begin is not None and end is not None:
            nodes = fields.get("Nodes", "").replace("(null)", "")
            flags = tuple(fields.get("Flags", "").split(","))
            found.append(Reserved(name=fields["ReservationName"], begin_s=begin, end_s=end, nodes=nodes, flags=flags))
    return tuple(found)


def _gridengine(door: HostAccess) -> Seen:
    """Hosts by their queue instances: the letters of the best of them."""
    done = door.run(("env", "LC_ALL=C", "qstat", "-f", "-u", "root", "-xml"), limit_s=60.0)
    try:
        tree = ElementTree.fromstring(done.out) if done.ok else None
    except ElementTree.ParseError:
        tree = None
    if tree is None:
        raise CannotMeasure(
            f"qstat: {' '.join((done.err or done.out).split())[:200] or 'no answer'}", where="gridengine"
        )
    from .words import of_gridengine

    order = ("up", "drained", "failed", "silent", "absent")
    letters: dict[str, str] = {}
    slots: dict[str, int] = {}
    for entry in tree.iter("Queue-List"):
        host = (entry.findtext("name") or "").partition("@")[2]
        state = (entry.findtext("state") or "").strip()
        if not host:
            continue
        slots[host] = max(slots.get(host, 0), whole_number(entry.findtext("slots_total"), most=MOST_COUNT) or 0)
        if host not in letters or order.index(of_gridengine(state)) < order.index(of_gridengine(letters[host])):
            letters[host] = state
    if not letters:
        raise CannotMeasure("qstat knows no queue", where="gridengine")
    sizes = {host: (count or 1, 0) for host, count in slots.items()}
    return Seen({host: word or "-" for host, word in letters.items()}, sizes, {})


# ---------------------------------------------------------------------------------------------------------------- file


class _Output:
    """The file that looks are appended to, which a rotation may take away."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fresh = True
        self._file = self._open()

    def _open(self) -> journal.Appender:
        try:
            return journal.Appender(self.path, torn="closed", follow=False, mode=0o644)
        except BlockingIOError:
            raise BadInput(
                "another watch writes this file", where=str(self.path), hint="end that one, or name another file"
            ) from None
        except OSError as error:
            raise store_failed(error, self.path, "open the watch's file") from None

    def renewed(self) -> bool:
        """Whether the file begins anew: at first, and when a rotation took it away."""
        if not self._file.has_its_name():
            self._file.close()
            self._file, self._fresh = self._open(), True
        fresh, self._fresh = self._fresh, False
        return fresh

    def append(self, line: Line) -> bool:
        """Write one line and wait until it is on the disk; False where there is no room."""
        try:
            self._file.append(line)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
                raise store_failed(error, self.path, "write") from None
            return False
        return True

    def close(self) -> None:
        self._file.close()
