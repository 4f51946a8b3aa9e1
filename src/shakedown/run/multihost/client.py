"""The agents of an allocation as the harness holds them: started once, told each run, heard, and started again where one
has ended.

An agent that does not come (a host that is down, a key that is not taken, a login that hangs) and one that ends in the
middle are answers as well, with the host's name and what to do: nothing here waits without a limit. See ``agent`` for the
other end.
"""

from __future__ import annotations

import atexit
import os
import re
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from ... import __version__, launchers
from ...errors import BadInput, CannotMeasure
from ...hosts.access import inherited
from ...hosts.process import kill_group
from ...records import Host
from ...schedulers import Allocation
from ..fallback_store import SpilledResult
from .agent import AgentCommand, Answer, answer_in, line_of, seal

Advance = Callable[[float | None, str], None]
#: Until an agent answers: the launcher's start on many hosts, a login, Python from a disk that all hosts load at once.
START_S = 60.0
#: Beyond an order's own limit, which the agent keeps itself.
_LATE_S = 30.0
#: What agents get to end their runs and themselves.
_END_S = 6.0
_SAID_LINES = 20
#: How often in a row a host may have no agent: the others wait for each try.
_TRIES = 3


class Outcome(NamedTuple):
    """What became of an order on one host."""

    state: str  # done, failed, lost (no agent there, or no longer), timeout
    text: str = ""
    unsaved: SpilledResult | None = None  # its result, which the run directory refused


class _Line:
    """One start of a launcher, and what comes from it."""

    def __init__(self, reached: launchers.Reached) -> None:
        self.hosts = reached.hosts
        self.launcher = reached.launcher
        self.waiting = set(reached.hosts)  # of which no agent has answered yet
        self.alive: set[str] = set()
        self.said: list[str] = []
        self.code: int | None = None
        self.since = time.monotonic()
        self._rest = b""
        try:
            self.child = subprocess.Popen(
                list(reached.argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=inherited(reached.env),
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise CannotMeasure(
                f"{reached.argv[0]} cannot be started: {error.strerror}",
                hint="ulimit -n, where it is of open files; else install what is missing",
            ) from None
        assert self.child.stdout is not None
        os.set_blocking(self.child.stdout.fileno(), False)

    def tell(self, order: AgentCommand) -> None:
        assert self.child.stdin is not None
        with suppress(OSError):  # it has ended, which is heard from its output
            self.child.stdin.write(line_of(order))

    def hear(self) -> list[Answer]:
        """What agents have said since; notes those that have ended. At the end of its output the line is over."""
        assert self.child.stdout is not None
        found: list[Answer] = []
        while True:
            try:
                data = self.child.stdout.read(1 << 16)
            except OSError:
                data = b""
            if not data:
                break
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._note(line, found)
        if data == b"":
            self._note(self._rest, found)
            self._over()
        return found

    def _note(self, line: bytes, found: list[Answer]) -> None:
        if answer := answer_in(line):
            found.append(answer)
        elif text := line.decode("utf-8", "replace").strip():
            self.said = [*self.said, text][-_SAID_LINES:]
            fallen = set(self.launcher.fallen(text))
            self.alive -= fallen
            self.waiting -= fallen

    def _over(self) -> None:
        self.alive.clear()
        self.waiting.clear()
        if self.code is None:
            kill_group(self.child.pid, grace_s=0)
            self.code = self.child.wait()
            self._close()

    def _close(self) -> None:
        for pipe in (self.child.stdin, self.child.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def hang_up(self) -> None:
        """The end of its input is the agents' end."""
        if self.child.stdin is not None:
            with suppress(OSError):
                self.child.stdin.close()

    def kill(self) -> None:
        if self.code is None:
            kill_group(self.child.pid)
            self.code = self.child.wait()
            self._close()
        self.alive.clear()
        self.waiting.clear()


class AgentClient:
    """Those of one run directory and one allocation. ``first`` is the host that this runs on."""

    def __init__(self, path: Path, first: Host, allocation: Allocation) -> None:
        self.path, self.first, self.allocation = path.resolve(), first, allocation
        self._lines: list[_Line] = []
        self._why: dict[str, str] = {}
        self._answers: list[Answer] = []
        self._tries: dict[str, int] = {}
        self._number = 0
        self._seal = seal(self.path)

    def same(self, path: Path, allocation: Allocation) -> bool:
        """Whether these serve that directory and those hosts as they are now."""
        return self.path == path.resolve() and self.allocation == allocation and self._seal == seal(self.path)

    def do(
        self, words: Sequence[str], hosts: Sequence[str], limit_s: float, estimate_s: float, advance: Advance
    ) -> dict[str, Outcome]:
        """Have an order carried out on each of these hosts at the same time; what became of it on each. On any exception,
        Ctrl-C too, what is under way is ended everywhere."""
        self._number += 1
        order = AgentCommand(number=self._number, words=tuple(words), hosts=tuple(hosts))
        try:
            fed = self._call(order)
            if fed:
                for line in self._lines:
                    if line.alive & set(hosts):
                        line.tell(order)
            return self._await(order, fed, limit_s, estimate_s, advance)
        except BaseException:
            self.close()
            raise

    def _call(self, order: AgentCommand) -> bool:
        """Have an agent on each host that an order is for, or a start that carries the order with it (False)."""
        missing = [host for host in self._without(order.hosts) if self._tries.get(host, 0) < _TRIES]
        if not missing:
            return True
        for host in missing:
            self._why.pop(host, None)

        def argv(hosts: tuple[str, ...], given: str = "") -> tuple[str, ...]:
            name = hosts[0] if len(hosts) == 1 else ""
            return (
                *(sys.executable, "-P", "-m", "shakedown.run.multihost.agent", str(self.path), self._seal, name),
                *((given,) if given else ()),
            )

        # Of a host that is reached alone the name is told; on others the engine tells it, or the host itself.
        starts = launchers.reach(argv, self.first, self.allocation, missing)
        fed = all(one.launcher.fed for one in starts)
        if not fed:
            text = msgspec.json.encode(order).decode()
            starts = launchers.reach(lambda hosts: argv(hosts, text), self.first, self.allocation, missing)
        self._lines += [_Line(one) for one in starts]
        if fed:
            self._listen(start_limit_s(), lambda: not any(line.waiting for line in self._lines))
            for line in self._lines:
                for host in sorted(line.waiting):
                    self._why[host] = f"does not answer within {start_limit_s():g} s{_heard(line)}"
                line.waiting.clear()
                if not line.alive:
                    line.kill()
            self._lines = [line for line in self._lines if line.code is None]
            absent = self._without(missing)
            self._tries |= {host: self._tries.get(host, 0) + 1 if host in absent else 0 for host in missing}
        return fed

    def _without(self, hosts: Sequence[str]) -> list[str]:
        """Those that have no agent now."""
        return [host for host in hosts if not any(host in line.alive for line in self._lines)]

    def _await(
        self, order: AgentCommand, fed: bool, limit_s: float, estimate_s: float, advance: Advance
    ) -> dict[str, Outcome]:
        begun = time.monotonic()
        found: dict[str, Outcome] = {}

        def here(host: str) -> bool:
            return any(host in (line.alive if fed else line.waiting) for line in self._lines)

        def settled() -> bool:
            for answer in self._answers:
                if answer.number == order.number:
                    state = "done" if answer.kind == "done" else "failed"
                    found[answer.host] = Outcome(state, answer.text, answer.unsaved)
            self._answers.clear()
            passed = time.monotonic() - begun
            advance(min(passed / estimate_s, 0.99) if estimate_s > 0 else None, "")
            return all(host in found or not here(host) for host in order.hosts)

        late_s = _LATE_S if fed else _LATE_S + start_limit_s()
        if not self._listen(limit_s + late_s, settled):
            stop = AgentCommand(number=order.number, words=("stop",), hosts=order.hosts)
            for line in self._lines:
                line.tell(stop)
            self._listen(_END_S, settled)
            for line in self._lines:  # an agent that does not even stop is none
                if any(host not in found for host in line.hosts if host in order.hosts):
                    line.kill()
            return {
                host: found.get(host, Outcome("timeout", f"no answer within {limit_s:g} s")) for host in order.hosts
            }
        return {host: found.get(host) or Outcome("lost", self._reason(host)) for host in order.hosts}

    def _listen(self, limit_s: float, settled: Callable[[], bool]) -> bool:
        """Hear all lines until it is settled; False once the limit has passed."""
        self._answers = []
        deadline = time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            for line in self._lines:
                if line.code is None:
                    assert line.child.stdout is not None
                    selector.register(line.child.stdout, selectors.EVENT_READ, line)
            while not settled():
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    return False
                for key, _ in selector.select(min(left_s, 0.25)):
                    self._hear(key.data)
                    if key.data.code is not None:
                        selector.unregister(key.fileobj)
        self._lines = [line for line in self._lines if line.code is None]
        return True

    def _hear(self, line: _Line) -> None:
        alive, waiting = set(line.alive), set(line.waiting)
        for answer in line.hear():
            if answer.kind == "ready":
                line.waiting.discard(answer.host)
                if answer.version == __version__:
                    line.alive.add(answer.host)
                else:
                    self._why[answer.host] = f"has shakedown {answer.version}, and here is {__version__}"
            elif answer.number == 0:
                line.waiting.discard(answer.host)
                self._why[answer.host] = answer.text
            else:
                self._answers.append(answer)
                if not line.launcher.fed:
                    line.waiting.discard(answer.host)
        for host in (alive | waiting) - line.alive - line.waiting:
            self._why.setdefault(host, why(host, line.code, line.said, begun=host in alive))

    def _reason(self, host: str) -> str:
        given_up = f"; given up after {_TRIES} tries" if self._tries.get(host, 0) >= _TRIES else ""
        return self._why.get(host, "its agent has ended") + given_up

    def close(self) -> None:
        """End all agents, and what they run."""
        for line in self._lines:
            line.hang_up()
        deadline = time.monotonic() + _END_S
        for line in self._lines:
            while line.code is None and line.child.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            line.kill()
        self._lines = []


def start_limit_s() -> float:
    """Seconds until an agent must answer: SHAKEDOWN_START_S, else START_S. Raises BadInput."""
    text = os.environ.get("SHAKEDOWN_START_S", "")
    try:
        found = float(text) if text else START_S
    except ValueError:
        found = 0.0
    if not 0 < found < 86400:
        raise BadInput(f"SHAKEDOWN_START_S = {text!r} is not a number of seconds", hint="as in SHAKEDOWN_START_S=120")
    return found


def _heard(line: _Line) -> str:
    last = line.said[-1] if line.said else ""
    return f" (it said: {last[:200]})" if last else ""


#: What ssh, a shell or Python say on a host that has no agent, and what to do about it.
_CAUSES = (
    (
        r"Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key is not known here, or is not the known one",
        "ssh {host} once by hand, and look at the key before you take it",
    ),
    (
        r"Permission denied \(",
        "does not let this user in without a password",
        "ssh-copy-id {host}, or ssh-add for a key with a passphrase; then `ssh -o BatchMode=yes {host} true` must work",
    ),
    (r"Could not resolve hostname|Name or service not known", "its name is not known here", "getent hosts {host}"),
    (
        r"Connection timed out|No route to host|Connection refused|Network is unreachable|Operation timed out"
        r"|timed out during banner exchange",
        "is not reached by ssh",
        "is it up, and does sshd run there? leave it out of --hosts, or repair it",
    ),
    (
        rf"{re.escape(sys.executable)}\W+(?:.*not found|No such file|Permission denied)|No module named '?shakedown",
        "has no shakedown where it lies here",
        "install it there under the same path, {python}, or on a file system that all hosts share",
    ),
)


def why(host: str, code: int | None, said: Sequence[str], *, begun: bool = False) -> str:
    """Why a host has no agent, or no longer where it had ``begun``: from how its start ended and what it printed, with what
    to do. Pure."""
    text = "\n".join(said)
    last = next((line for line in reversed(said) if line), "")
    for pattern, what, hint in _CAUSES:
        if not begun and (found := re.search(f".*(?:{pattern}).*", text)):
            mend = hint.format(host=host, python=sys.executable)
            return f"{what} ({found[0].strip()[:200]})\n    next: {mend}"
    ended = "" if code is None else f" with code {code}" if code >= 0 else f" by signal {-code}"
    return f"its agent has ended{ended}" + (f" ({last[:200]})" if last else "")


# -------------------------------------------------------------------------------------------------------- what is held

_HELD: list[AgentClient] = []


def held(path: Path, first: Host, allocation: Allocation) -> AgentClient:
    """The agents of a run directory, started when they are first told something; those of an earlier one are ended."""
    for one in _HELD:
        if one.same(path, allocation):
            return one
    close()
    _HELD.append(AgentClient(path, first, allocation))
    return _HELD[0]


@atexit.register
def close() -> None:
    """End all agents that this process holds."""
    while _HELD:
        _HELD.pop().close()
