"""An emulation that is up: brought up, looked at, entered, ended."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from ... import __version__
from ...errors import BadInput, CannotMeasure, Unavailable, unknown
from ...files import locks
from ...hosts.access import LocalHost, Result, inherited
from ...records import Record
from . import files, hosts, links, processes, routing
from .control import Control
from .files import Description
from .hosts import Share
from .scenario import Scenario, node_names

#: How long the forwarder and the first losses may take. 5,000 nodes take some 15 s and 12.5 million losses some 15 s.
_START_LIMIT_S = 600.0


class Status(Record, frozen=True, kw_only=True):
    """An emulation as it is now."""

    directory: str
    up: bool
    nodes: int
    links: int | None = None  # directed
    counts: dict[str, Any] = msgspec.field(default_factory=dict)
    updates: int | None = None
    late_s: float | None = None  # of the last update
    resident_bytes: int | None = None  # of the forwarder


class Lab:
    """``up`` and ``open_`` make these."""

    def __init__(self, directory: Path, description: Description) -> None:
        self.directory = directory
        self.description = description
        self._started: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Lab:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        down(self.directory)

    @property
    def share(self) -> Share:
        """The nodes that are this host's."""
        return hosts.shares(self.description.scenario)[self.description.host - 1]

    @property
    def names(self) -> tuple[str, ...]:
        return node_names(self.description.scenario)

    def control(self) -> Control:
        """A connection to the forwarder. Raises CannotMeasure where it is gone."""
        return Control(self.directory)

    def argv(self, node: str, command: Sequence[str]) -> tuple[str, ...]:
        """The words that run a command on a node, to be started by this process."""
        if node not in self.names:
            raise unknown("node", node, self.names if len(self.names) < 50 else self.names[:10])
        index = self.names.index(node) + 1
        if index not in self.share:
            owner = next(one for one in hosts.shares(self.description.scenario) if index in one)
            raise BadInput(f"{node} is on another host", where=str(self.directory), hint=f"there: {owner.own}")
        with self.control() as control:
            space = control.space(index)
        pid = processes.process_1(self.directory)
        return processes.enter(pid, space, command, user=self.description.user, folder=os.getcwd())

    def run(self, node: str, command: Sequence[str], limit_s: float = 60.0) -> Result:
        """Run a command on a node and keep what it prints."""
        return LocalHost().run(self.argv(node, command), limit_s=limit_s, env=_environment(self.directory))

    def status(self) -> Status:
        """What it is doing; never raises for one that is down."""
        scenario = self.description.scenario
        found = Status(directory=str(self.directory), up=False, nodes=scenario.nodes)
        pid = processes.process_1(self.directory)
        if not pid:
            return found
        with contextlib.suppress(CannotMeasure), self.control() as control:
            counts = control.counts()
            updates = self.directory / files.UPDATES
            lines = updates.read_text().splitlines() if updates.exists() else []
            found = Status(
                directory=str(self.directory),
                up=True,
                nodes=scenario.nodes,
                links=int(counts.pop("links")),
                counts=counts,
                updates=len(lines) or None,
                late_s=json.loads(lines[-1])["late_s"] if lines else None,
                resident_bytes=_resident(pid),
            )
        return found


def default_directory() -> Path:
    """Where an emulation lies if no one says: one for each user."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.geteuid() and runtime and os.access(runtime, os.W_OK):
        return Path(runtime) / "shakedown-radio"
    return Path(tempfile.gettempdir()) / f"shakedown-radio-{os.geteuid()}"


def open_(directory: Path | None = None) -> Lab:
    """The emulation in a directory, up or not. Raises BadInput where there is none."""
    path = (directory or default_directory()).absolute()
    return Lab(path, files.load(path))


def up(
    scenario: Scenario,
    directory: Path | None = None,
    *,
    user: bool | None = None,
    threads: int = 2,
    host: int | None = None,
    begin_unix_s: float | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Lab:
    """Bring an emulation up; it stays when this process ends. Where that fails nothing stays. ``host``: which of the
    scenario's hosts this is, where its addresses do not say it; ``begin_unix_s``: when nodes begin to move. Raises BadInput
    where one is up there or something else lies there, Unavailable and CannotMeasure where this machine cannot."""
    path = (directory or default_directory()).absolute()
    routing.check(scenario.routing)
    if shutil.which("nsenter") is None:
        raise Unavailable("nsenter is not installed", hint="sudo apt-get install util-linux")
    below = os.geteuid() != 0 if user is None else user
    number = hosts.this_host(scenario, host)
    if scenario.hosts and scenario.moves and begin_unix_s is None:
        raise BadInput(
            "nodes of several hosts move by one clock", where="--begin", hint="give all of them the same time to come"
        )
    with _reserved(path):
        lab = Lab(
            path,
            Description(version=__version__, scenario=scenario, user=below, host=number, begin_unix_s=begin_unix_s),
        )
        try:
            _start(lab, threads, say)
        except BaseException:
            _end(path, hard=True)
            shutil.rmtree(path, ignore_errors=True)
            raise
    return lab


def _start(lab: Lab, threads: int, say: Callable[[str], None]) -> None:
    path, scenario = lab.directory, lab.description.scenario
    for folder in ("log", "run"):
        (path / folder).mkdir()
    files.save(path, lab.description)
    share = lab.share
    words = processes.argv(scenario, path, share, user=lab.description.user, threads=threads)
    with (path / files.EVENTS).open("wb") as out, (path / files.FORWARDER_LOG).open("wb") as log:
        child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=log,
            start_new_session=True,
            env=_environment(path),
            cwd="/",
        )
    _ORPHANS.append(child)
    begin = time.monotonic()

    def until(there: Callable[[], bool], log: str, what: str, gone: Callable[[], bool]) -> None:
        while not there():
            ended = gone()
            if (ended and not there()) or time.monotonic() - begin > _START_LIMIT_S:
                said, following = files.last_words(path, log)
                why = said or (f"it took longer than {_START_LIMIT_S:g} s" if not ended else "it printed nothing")
                raise CannotMeasure(f"{what} did not start: {why}", where=str(path), hint=following)
            time.sleep(0.01)

    until((path / "control").exists, files.FORWARDER_LOG, "the forwarder", lambda: child.poll() is not None)
    say(f"{share.last - share.first + 1} nodes after {time.monotonic() - begin:.1f} s")
    with lab.control() as control:
        if scenario.links:
            control.change(links.fixed(scenario))
        else:
            module = "shakedown.radio.emulate.updating"
            control.start(0, (sys.executable, "-m", module, str(path)), path / files.UPDATING_LOG)
            errors = path / files.UPDATING_LOG
            ready = (path / files.READY).exists
            until(ready, files.UPDATING_LOG, "finding losses", lambda: errors.exists() and errors.stat().st_size > 0)
        for index, name in enumerate(lab.names[share.first - 1 : share.last], share.first):
            if argv := routing.argv(scenario.routing, path, index):
                control.start(index, argv, path / "log" / f"{name}.log")
    say(f"up after {time.monotonic() - begin:.1f} s")


#: Children that outlive this call by intention; kept, so that Python does not warn that they still run.
_ORPHANS: list[subprocess.Popen[bytes]] = []


def _environment(path: Path) -> dict[str, str]:
    return {**inherited(), "SHAKEDOWN_EMULATION": str(path)}


@contextlib.contextmanager
def _reserved(path: Path) -> Iterator[None]:
    """Hold the directory, made or empty, alone. Raises BadInput."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / files.LOCK).open("w")
    except OSError as error:
        raise BadInput(f"cannot be used: {error.strerror}", where=str(path), hint="another --directory") from None
    with lock:
        try:
            locks.take(lock)
        except BlockingIOError:
            raise BadInput("another `up` or `down` is at work here", where=str(path), hint="wait for it") from None
        if processes.find(path):
            hint = "`shakedown radio emulate down`, or another --directory"
            raise BadInput("an emulation is up here", where=str(path), hint=hint)
        if {one.name for one in path.iterdir()} != {files.LOCK}:
            hint = "`shakedown radio emulate down` clears one that crashed; else another --directory"
            raise BadInput("something lies here", where=str(path), hint=hint)
        yield


def down(directory: Path | None = None, *, hard: bool = False, keep: bool = False) -> None:
    """End an emulation, whatever state it is in: up, crashed, half started. No process, namespace or file stays; with
    ``keep`` the directory with what was counted does. ``hard``: at once; its last counts are lost. Raises BadInput where
    there is none, CannotMeasure with what does not end."""
    path = (directory or default_directory()).absolute()
    if not processes.find(path) and not files.looks_like_ours(path):
        raise BadInput("there is no emulation here", where=str(path), hint="name its --directory")
    if rest := _end(path, hard=hard):
        raise CannotMeasure(
            f"processes that do not end: {', '.join(map(str, rest))}",
            where=str(path),
            hint="see /proc/PID/stack of each",
        )
    if not keep:
        shutil.rmtree(path, ignore_errors=True)


def _end(path: Path, *, hard: bool) -> tuple[int, ...]:
    """End its processes; those that did not."""
    if not hard:
        with contextlib.suppress(CannotMeasure), Control(path, limit_s=5.0) as control:
            control.end()
            _until_gone(path, 30.0)
    deadline = time.monotonic() + 30.0
    while (rest := processes.find(path)) and time.monotonic() < deadline:
        with contextlib.suppress(ProcessLookupError):
            os.kill(rest[-1], signal.SIGKILL)  # process 1 of the nodes takes all with it
        _until_gone(path, 5.0)
        for pid in processes.find(path):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    for child in _ORPHANS[:]:
        if child.poll() is not None:
            _ORPHANS.remove(child)
    return rest


def _until_gone(path: Path, limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline and processes.find(path):
        for child in _ORPHANS:
            child.poll()
        time.sleep(0.02)


def _resident(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None
