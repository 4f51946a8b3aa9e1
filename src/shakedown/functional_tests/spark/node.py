"""What stands on each host of a Spark cluster: starts master and worker, checks files, ends and removes everything.

    python -m shakedown.functional_tests.spark.node RENDEZVOUS

RENDEZVOUS is a file of the job that all hosts see and its user alone reads: where to call, and with which secret. Orders
come over that connection, a line of JSON each, and its end is the end of all that was started here, whatever ended it: the
test that finished, its kill -9, the host that it was on. What is killed last and by force is found by a word in its
environment, which every process inherits from the one that starts it; the folders go after them. This process is in
a session of its own, so that what ends the job's processes by group lets it clean up. Where it is killed itself, the kernel
ends master and worker (PR_SET_PDEATHSIG), executors follow their worker, and the next job of this user on the
host removes the folder that has no owner any more.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import connection, get_context
from pathlib import Path
from typing import Any

import msgspec

from ...errors import UNREADABLE
from ...files import atomic
from ...hosts import process
from . import files as _files
from . import logs
from .rows import Checked, check_file

#: In the environment of all that is started for a job, the job's token behind it.
MARK = "SHAKEDOWN_SPARK"
PREFIX = "shakedown-spark-"
OWNER = "owner.json"
_PR_SET_PDEATHSIG = 1
#: What master and worker get to end by themselves, and all others to be gone once they are killed.
_GRACE_S, _GONE_S = 5.0, 10.0
_CALL_S = 15.0
_LOG_BYTES = 1 << 16


class Rendezvous(msgspec.Struct, frozen=True):
    """Where the test waits for its nodes."""

    addresses: tuple[str, ...]
    port: int
    secret: str
    token: str
    keep: str = ""  # a folder of the test itself, which the first host removes


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a node is to do: begin, start, check, write_out, look, log, kill."""

    number: int
    do: str
    words: dict[str, Any] = {}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an order; with number 0 what happened by itself. ``failed`` says why it could not be done."""

    number: int
    host: str
    found: dict[str, Any] = {}
    failed: str = ""


class Owner(msgspec.Struct, frozen=True):
    """Whose a folder is: a process of this host, and when it began."""

    pid: int
    start: int
    token: str


def call(place: Rendezvous) -> connection.Connection:
    """The connection to the test, by the first of its addresses that answers. Raises OSError."""
    error: Exception = OSError("it has no address")
    for address in place.addresses:
        try:
            with socket.create_connection((address, place.port), timeout=_CALL_S):
                pass
            return connection.Client((address, place.port), authkey=bytes.fromhex(place.secret))
        except (OSError, EOFError) as why:
            error = why
    raise OSError(f"the test does not answer at {', '.join(place.addresses)}, port {place.port}: {error}")


class Node:
    """What one host has of a job."""

    def __init__(self, place: Rendezvous, link: connection.Connection) -> None:
        self.place, self.link = place, link
        self.host = os.uname().nodename
        self.address = _own_address(link)
        self.folder: Path | None = None
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()
        os.environ[MARK] = place.token

    # ------------------------------------------------------------------------------------------------------- orders

    def serve(self) -> None:
        """Until the connection ends."""
        while True:
            watched = {os.pidfd_open(child.pid): name for name, child in self._children.items()}
            try:
                ready = connection.wait([self.link, *watched])
            finally:
                for one in watched:
                    os.close(one)
            for descriptor, name in watched.items():
                if descriptor in ready:
                    self._ended(name)
            if self.link in ready:
                self._take(msgspec.json.decode(self.link.recv_bytes(), type=Order))

    def _take(self, order: Order) -> None:
        """Do it; what takes long in a thread of its own, so that the end of the connection is seen meanwhile."""
        if order.do in ("check", "write_out", "look"):
            threading.Thread(target=self._carry_out, args=(order,), daemon=True).start()
        else:  # PR_SET_PDEATHSIG is that of the thread which starts a process
            self._carry_out(order)

    def _carry_out(self, order: Order) -> None:
        done: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "begin": self._begin,
            "start": self._start,
            "check": _check,
            "write_out": _write_out,
            "look": self._look,
            "log": self._log,
            "kill": self._kill,
        }
        try:
            found, failed = done[order.do](order.words), ""
        except (OSError, ValueError, KeyError, TypeError) as error:
            own = isinstance(error, OSError) and error.errno is None  # said by this file, in words
            found, failed = {}, str(error) if own else f"{type(error).__name__}: {error}"
        self._say(Answer(number=order.number, host=self.host, found=found, failed=failed))

    def _say(self, answer: Answer) -> None:
        with self._lock, contextlib.suppress(OSError):
            self.link.send_bytes(msgspec.json.encode(answer))

    def _ended(self, name: str) -> None:
        child = self._children.pop(name)
        code = child.wait()
        found = {"ended": name, "code": code, "log": self._tail(name)}
        self._say(Answer(number=0, host=self.host, found=found))

    def _begin(self, words: dict[str, Any]) -> dict[str, Any]:
        """A folder for this job below the scratch folder, and what is there: room, kind of file system."""
        above = Path(words["scratch"] or tempfile.gettempdir())
        removed = remove_ownerless(above)
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=above))
        pid = os.getpid()
        atomic.replace(
            self.folder / OWNER, msgspec.json.encode(Owner(pid, process.start_ticks(pid) or 0, self.place.token))
        )
        for name in ("conf", "local", "work", "tmp"):
            (self.folder / name).mkdir()
        for name, text in words["files"].items():
            atomic.replace(self.folder / "conf" / name, text.encode(), mode=0o600)
        return {
            "address": self.address,
            "scratch": str(self.folder),
            "free_bytes": shutil.disk_usage(self.folder).free,
            "kind": _files.kind(self.folder),
            "sees": _files.sees(Path(words["shared"]), self.place.token) if words["shared"] else "",
            "removed": removed,
        }

    def _start(self, words: dict[str, Any]) -> dict[str, Any]:
        """A part of the cluster; its log is read until a line shows that it works."""
        name, shows = words["name"], words["shows"]
        assert self.folder is not None
        log = self.folder / f"{name}.log"
        own = {"SCRATCH": str(self.folder), "ADDRESS": self.address}
        argv = [word.format(**own) for word in words["argv"]]
        env = {**os.environ, **{key: text.format(**own) for key, text in words["env"].items()}, MARK: self.place.token}
        with open(log, "wb") as out:
            self._children[name] = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=self.folder,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        line = self._shown(name, log, shows, float(words["limit_s"]))
        if line is None:
            self._children.pop(name)
            raise OSError(f"the {name} of Spark did not start: {logs.said(self._tail(name))}")
        return {"line": line, "pid": self._children[name].pid}

    def _shown(self, name: str, log: Path, shows: str, limit_s: float) -> str | None:
        """The line of its log that shows it at work; None where it ended, was not there in time, or nobody waits."""
        end = time.monotonic() + limit_s
        child = self._children[name]
        while time.monotonic() < end:
            for line in log.read_text("utf-8", "replace").splitlines():
                if shows in line:
                    return line
            if child.poll() is not None or self.link.poll(0):  # an order or the end: nothing else is asked meanwhile
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(0.05)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return None

    def _look(self, words: dict[str, Any]) -> dict[str, Any]:
        """The room that is left for scratch, and the last lines of executors' logs that speak of errors."""
        assert self.folder is not None
        logs = sorted((self.folder / "work").glob("app-*/*/stderr"))
        lines = [line for log in logs for line in _tail(log).splitlines() if "ERROR" in line or "Exception" in line]
        free, files = shutil.disk_usage(self.folder).free, os.statvfs(self.folder).f_favail
        return {"free_bytes": free, "free_files": files, "errors": lines[-20:], "executors": len(logs)}

    def _log(self, words: dict[str, Any]) -> dict[str, Any]:
        return {"log": self._tail(words["name"])}

    def _tail(self, name: str) -> str:
        assert self.folder is not None
        return _tail(self.folder / f"{name}.log")

    def _kill(self, words: dict[str, Any]) -> dict[str, Any]:
        """End a part of the cluster by force: what tests try."""
        os.killpg(self._children[words["name"]].pid, signal.SIGKILL)
        return {}

    # ---------------------------------------------------------------------------------------------------- the end

    def end(self) -> None:
        """Ask master and worker to end, kill whatever bears the job's token, remove the folders. Never raises."""
        for child in self._children.values():
            with contextlib.suppress(ProcessLookupError):
                child.terminate()
        until = time.monotonic() + _GRACE_S
        for child in self._children.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0.0, until - time.monotonic()))
        kill_marked(self.place.token, _GONE_S)
        for child in self._children.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(1.0)
        for folder in (self.folder, Path(self.place.keep) if self.place.keep else None):
            if folder is not None and folder.name.startswith(PREFIX):
                shutil.rmtree(folder, ignore_errors=True)


def _check(words: dict[str, Any]) -> dict[str, Any]:
    """Files against what was made, several at once; by path."""
    names = [Path(name) for name in words["files"]]
    if not names:
        return {"files": {}}
    context = get_context("fork")
    with ProcessPoolExecutor(max_workers=max(1, int(words["workers"])), mp_context=context) as pool:
        kinds, seeds = [words["kind"]] * len(names), [words["seed"]] * len(names)
        found: list[Checked] = list(pool.map(check_file, names, kinds, seeds))
    return {"files": {str(name): msgspec.to_builtins(one) for name, one in zip(names, found, strict=True)}}


def _write_out(words: dict[str, Any]) -> dict[str, Any]:
    """Flush files to their device; with ``drop`` out of this host's memory as well."""
    for name in words["files"]:
        _files.write_out(Path(name), drop=bool(words["drop"]))
    return {"cached": _files.cached_share([Path(name) for name in words["files"]]) if words["drop"] else None}


def _tail(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, path.stat().st_size - _LOG_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _own_address(link: connection.Connection) -> str:
    with socket.socket(fileno=os.dup(link.fileno())) as one:
        return str(one.getsockname()[0])


def die_with_parent() -> None:
    """Between fork and exec: the kernel ends the process when the thread that started it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def marked(token: str) -> list[int]:
    """The processes of this host, but this one, that bear a job's token. Those of other users cannot be looked into."""
    word = f"{MARK}={token}".encode()
    return [
        pid
        for pid in process.pids()
        if pid != os.getpid() and word in process.facts_of(pid, "environ").split(b"\0") and _lives(pid)
    ]


def _lives(pid: int) -> bool:
    start = process.start_ticks(pid)
    return start is not None and process.alive(pid, start)


def kill_marked(token: str, limit_s: float) -> bool:
    """Kill them again and again until there is none; False where one is still there after the limit."""
    end = time.monotonic() + limit_s
    while found := marked(token):
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def owner_of(folder: Path) -> Owner | None:
    """Whose a folder is; None where that cannot be read."""
    try:
        return msgspec.json.decode((folder / OWNER).read_bytes(), type=Owner)
    except (OSError, *UNREADABLE):
        return None


def remove_ownerless(above: Path) -> list[str]:
    """Remove our folders whose owner has ended without doing so; of this user, and of this host: scratch is local."""
    removed = []
    for folder in above.glob(f"{PREFIX}*"):
        try:
            if folder.stat().st_uid != os.getuid() or folder.is_symlink():
                continue
        except OSError:
            continue
        owner = owner_of(folder)
        if owner is None or not owner.token:
            continue
        if not process.alive(owner.pid, owner.start) and kill_marked(owner.token, _GONE_S):
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(str(folder))
    return removed


def main(words: Sequence[str]) -> int:
    """Serve until the connection ends, then clean up. 3: nobody answers."""
    if len(words) != 1:
        print("usage: python -m shakedown.functional_tests.spark.node RENDEZVOUS", file=sys.stderr)
        return 2
    try:
        place = msgspec.json.decode(Path(words[0]).read_bytes(), type=Rendezvous)
        link = call(place)
    except (OSError, ValueError) as error:
        print(f"spark node on {os.uname().nodename}: {error}", file=sys.stderr)
        return 3
    with contextlib.suppress(OSError):  # a launcher may have made it the leader of a group already
        os.setsid()

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, leave)
    node = Node(place, link)
    try:
        link.send_bytes(msgspec.json.encode(Answer(number=0, host=node.host, found={"address": node.address})))
        node.serve()
    except (OSError, EOFError):
        return 0
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        node.end()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
