"""The agent: one small process on each host of an allocation, which does there what the harness says.

    harness  -- orders, a line each, on its standard input -->  python -m shakedown.run.multihost.agent RUN SEAL HOST [ORDER]
             <-- answers, a line each, on its standard output --

Started once, it waits for orders and costs nothing while it waits. Each order is carried out by a child made by fork, so
that what ends a run (a crash, a limit on memory) does not end the agent, and no run inherits what another has left. The
end of its input is its own end, and that of the run under way: a harness that dies takes its agents along.

Whatever else the host prints (a login's greeting, warnings of a launcher) stands between the lines: ours bear a mark. What
a run has measured is not sent: it lies in the run directory, which all hosts share and of which SEAL is a proof. With ORDER
the agent carries out that one and ends: for launchers that do not pass on what they are told. Linux alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import re
import select
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Literal, NoReturn, TypeVar

import msgspec

from ... import __version__
from ...errors import BadInput, CannotMeasure, ShakedownError
from ...files.atomic import read_record, write_record
from ...records import Record
from ...schedulers import Allocation
from ..fallback_store import ResultSaved, SpilledResult

if TYPE_CHECKING:
    from ...records import Machine, Plan

#: The hosts of the harness that is at work in a run directory, or was last.
ALLOCATION = "allocation.json"
#: Before each line of ours; what stands before it in the same line is the host's own.
MARK = "@shakedown-relay "
#: How long a file that the harness has just written may take to be seen here, on a shared disk that caches.
_SEEN_S = 15.0
#: What a run under way may take to end once it is told to.
_END_S = 5.0
_PR_SET_PDEATHSIG = 1
#: How a launcher told the agent that it is one of its tasks. A program started below it is none: an MPI that believes
#: so takes all hosts for its world, waits for the others, or ends (Open MPI: "direct launched using srun, but not built with
#: SLURM's PMI support"). What a user sets (OMPI_MCA_btl and its like) stays.
_OWN = re.compile(
    r"SLURM_(STEP|PROCID|LOCALID)|PMIX?_|HYD|MPI_LOCAL|FLUX_TASK_|JSM_NAMESPACE_"
    r"|OMPI_(?!MCA_|ALLOW_)|OMPI_MCA_(ess|pmix|orte|prte|plm|initial_wdir)|PRTE_|ORTE_"
)
_R = TypeVar("_R")


class AgentCommand(Record, frozen=True, kw_only=True):
    """What hosts are told to do. ``machine``: leave what the host is. ``run ID REPEAT``: a copy of that run. ``stop``: end
    what is under way."""

    number: int
    words: tuple[str, ...]
    hosts: tuple[str, ...]


class Answer(Record, frozen=True, kw_only=True):
    """What a host says. ``ready``: of itself, once. ``done`` and ``failed``: of an order."""

    host: str
    kind: Literal["ready", "done", "failed"]
    number: int = 0
    text: str = ""
    version: str = ""
    unsaved: SpilledResult | None = None  # where the result lies that the run directory refused


def line_of(record: AgentCommand | Answer) -> bytes:
    """A record as a line; the break before it ends whatever stands there unfinished."""
    return b"\n" + MARK.encode() + msgspec.json.encode(record) + b"\n"


def order_in(line: bytes) -> AgentCommand | None:
    """The order in a line, if there is one."""
    return _decoded(line, AgentCommand)


def answer_in(line: bytes) -> Answer | None:
    """The answer in a line, if there is one, whatever stands before it."""
    return _decoded(line, Answer)


def _decoded(line: bytes, kind: type[_R]) -> _R | None:
    _, mark, text = line.rpartition(MARK.encode())
    try:
        return msgspec.json.decode(text, type=kind) if mark else None
    except msgspec.MsgspecError:
        return None


def seal(path: Path) -> str:
    """A proof that two processes see the same run directory: of what the harness wrote there last."""
    return hashlib.sha256((path / ALLOCATION).read_bytes()).hexdigest()[:16]


class _Word(Record, frozen=True, kw_only=True):
    """What the child that carries out an order leaves for its agent."""

    text: str = ""
    unsaved: SpilledResult | None = None


def _word_in(data: bytes) -> _Word:
    try:
        return msgspec.json.decode(data, type=_Word)
    except msgspec.MsgspecError:  # it was ended before it could say anything
        return _Word()


class _Ended(Exception):
    """The agent is to end."""


class _Relay:
    """What an agent holds: its host's name, its input, and what it has read of the run directory."""

    def __init__(self, path: Path, host: str) -> None:
        self.path, self.host = path, host
        self._rest = b""
        self._orders: list[AgentCommand] = []
        self._opened: tuple[Machine, Plan] | None = None

    def say(
        self,
        kind: Literal["ready", "done", "failed"],
        number: int = 0,
        text: str = "",
        unsaved: SpilledResult | None = None,
    ) -> None:
        answer = Answer(
            host=self.host, kind=kind, number=number, text=text[-2000:], version=__version__, unsaved=unsaved
        )
        os.write(1, line_of(answer))

    def serve(self) -> None:
        """Carry out orders until the input ends."""
        while True:
            while not self._orders:
                self._read()
            order = self._orders.pop(0)
            if order.words[0] != "stop":
                self.carry_out(order, listening=True)

    def _read(self) -> None:
        """Wait for input and take its orders. Raises _Ended where it has ended."""
        data = os.read(0, 1 << 16)
        if not data:
            raise _Ended
        *lines, self._rest = (self._rest + data).split(b"\n")
        found = [order for order in map(order_in, lines) if order is not None]
        self._orders += [order for order in found if self.host in order.hosts]

    def carry_out(self, order: AgentCommand, *, listening: bool) -> None:
        """Do it in a child, and say what became of it. An order to stop ends it; so does the end of the input."""
        try:
            self._prepare(order)
        except ShakedownError as error:
            return self.say("failed", order.number, str(error))
        said, hears = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(said)
            self._child(order, hears)
        os.close(hears)
        try:
            self._wait(child, listening)
        except BaseException:
            _end(child)
            raise
        finally:
            with open(said, "rb", closefd=True) as pipe:
                told = _word_in(pipe.read())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code < 0:
            told = _Word(text=f"the process that ran it was ended by {signal.Signals(-code).name}")
        self.say("failed" if code else "done", order.number, told.text, told.unsaved)

    def _wait(self, child: int, listening: bool) -> None:
        """Until the child has ended."""
        ended = os.pidfd_open(child)
        try:
            while True:
                ready, _, _ = select.select([ended, 0] if listening else [ended], [], [])
                if ended in ready:
                    return
                self._read()
                if any(order.words[0] == "stop" for order in self._orders):
                    self._orders.clear()
                    _signal(child, signal.SIGTERM)
                    select.select([ended], [], [], _END_S)
                    _signal(child, signal.SIGKILL)
        finally:
            os.close(ended)

    def _prepare(self, order: AgentCommand) -> None:
        """Load before the fork what every run needs, so that each child begins at once."""
        if order.words[0] != "run":
            return
        from ... import workloads
        from ...results.run_directory import RunDirectory
        from .. import schedule, single

        if self._opened is None:
            directory = RunDirectory.open(self.path)
            self._opened = directory.machine(), directory.plan()
        assert schedule and single
        for run in self._opened[1].runs:
            if run.id == order.words[1]:
                workloads.get(run.workload)

    def _child(self, order: AgentCommand, hears: int) -> NoReturn:
        code, text, unsaved = 1, "", None
        try:
            signal.signal(signal.SIGTERM, _stop)
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)  # an agent that is killed leaves no run behind
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(2, 1)  # the agent alone speaks to the harness
            self._do(order)
            code = 0
        except ResultSaved as error:
            text, unsaved, code = error.what, error.unsaved, error.exit_code
        except ShakedownError as error:
            text, code = str(error), error.exit_code
        except KeyboardInterrupt:
            text, code = "stopped", 130
        except BaseException as error:  # nothing above this frame may run twice
            text = f"{type(error).__name__}: {error}"
        finally:
            with contextlib.suppress(OSError):  # the agent may be gone
                text = text[-2000:].encode("utf-8", "replace").decode()
                os.write(hears, msgspec.json.encode(_Word(text=text, unsaved=unsaved)))
            os._exit(code)

    def _do(self, order: AgentCommand) -> None:
        from ...hosts.access import LocalHost

        if order.words[0] == "machine":
            from ... import machine

            found = msgspec.structs.replace(machine.discover(LocalHost()), name=self.host)
            return write_record(self.path / "hosts" / f"{self.host}.json", found)
        if order.words[0] != "run" or len(order.words) != 3 or self._opened is None:
            raise BadInput(f"the agent was given {' '.join(order.words)}", hint="machine, run ID REPEAT, stop")
        from ...results.run_directory import RunDirectory
        from .. import schedule, single

        machine_record, plan = self._opened
        run = next(one for one in plan.runs if one.id == order.words[1])
        allocation = read_record(self.path / ALLOCATION, Allocation)
        single.run_once(
            RunDirectory(self.path),
            schedule.Step(run, int(order.words[2])),
            machine_record,
            LocalHost(),
            lambda fraction, text: None,
            allocation=msgspec.structs.replace(allocation, hosts=(self.host,), cpus=(), gpus=()),
            copy_on=self.host,
        )


def _signal(child: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)


def _end(child: int) -> None:
    """Ask a child to end its run and itself; end it where it does not."""
    _signal(child, signal.SIGTERM)
    until = time.monotonic() + _END_S
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.02)
    _signal(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _sees(path: Path, wanted: str) -> str:
    """Why this host does not see the run directory as the harness does; empty where it does."""
    until = time.monotonic() + _SEEN_S
    while True:
        try:
            found = seal(path)
        except OSError as error:
            why = f"does not see {path} ({error.strerror})"
        else:
            if found == wanted:
                return ""
            why = f"has another {path} than the harness"
        if time.monotonic() > until:
            return f"{why}: a run directory over several hosts must lie on a file system that they share"
        time.sleep(0.2)


def me(hosts: Sequence[str], environment: Mapping[str, str], name: str) -> str:
    """Which of an allocation's hosts this one is: as the engine tells, else by its own name, with a domain or without.

    Raises CannotMeasure where it is none of them.
    """
    told = environment.get("SLURMD_NODENAME", "")
    for own in (told, name, name.split(".")[0]):
        if own in hosts:
            return own
    short = [host for host in hosts if host.split(".")[0] == name.split(".")[0]]
    if len(short) == 1:
        return short[0]
    raise CannotMeasure(
        f"this host, {name}, is none of the allocation's: {', '.join(hosts[:8])}",
        hint=f"start it on one of them: ssh {hosts[0]}, and there the same command; or `shakedown run ... --on` an engine",
    )


def main(words: Sequence[str]) -> int:
    """Exit code 0 also where an order failed: what became of it was said."""
    if len(words) not in (3, 4):
        raise BadInput("usage: python -m shakedown.run.multihost.agent RUN SEAL HOST [ORDER]")
    signal.signal(signal.SIGTERM, _stop)
    path = Path(words[0])
    host = words[2]
    for name in [name for name in os.environ if _OWN.match(name)]:
        del os.environ[name]
    relay = _Relay(path, host or os.uname().nodename)
    try:
        if why := _sees(path, words[1]):
            relay.say("failed", 0, why)
            return 3
        if not host:
            relay.host = me(read_record(path / ALLOCATION, Allocation).hosts, os.environ, os.uname().nodename)
        if len(words) == 4:
            order = order_in(MARK.encode() + words[3].encode())
            if order is None:
                raise BadInput("this is not a valid command", where=words[3][:80])
            relay.carry_out(order, listening=False)
            return 0
        relay.say("ready")
        relay.serve()
    except _Ended:
        return 0
    except KeyboardInterrupt:
        return 130
    except (CannotMeasure, BadInput) as error:
        relay.say("failed", 0, str(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
