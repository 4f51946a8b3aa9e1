"""What several functional tests need: a folder of their own to work in, and commands that end within a limit.

The folder is made below the working directory, which is the run's own folder on a file system that the nodes share, and
is readable and writable by nobody else: what is compiled there is executed. It is removed afterwards, also when the run
is ended by a signal.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from ..errors import BadInput, CannotMeasure, unknown
from ..programs.emitter import ProgramArguments
from ..results.outcome import last_line
from ..workloads.common.table import Table

SOURCES = Path(__file__).parent / "sources"
#: What is kept of an output: a program that prints without end must not fill the memory.
_KEPT_BYTES = 16 * 2**20
_PR_SET_PDEATHSIG = 1


class Ran(NamedTuple):
    """What a command left. ``code`` is None where it was not started, ran past its limit or ended by a signal; ``why``
    says so in words, empty where it ended with exit code 0."""

    code: int | None
    out: str
    err: str
    seconds: float
    why: str = ""

    @property
    def ok(self) -> bool:
        return self.code == 0


def run(
    argv: Sequence[str],
    *,
    limit_s: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    given: str = "",
) -> Ran:
    """Run a command, ``given`` on its standard input, in a group of its own that is ended whole at the limit (seconds).
    ``env`` joins what is inherited. Never raises."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as into:
        into.write(given.encode())
        into.seek(0)
        try:
            child = subprocess.Popen(
                list(argv),
                stdin=into,
                stdout=out,
                stderr=err,
                cwd=cwd,
                env={**os.environ, "LC_ALL": "C", **(env or {})},
                start_new_session=True,
            )
        except OSError as error:
            return Ran(None, "", str(error), 0.0, f"could not be started: {error.strerror or error}")
        why = ""
        try:
            child.wait(limit_s)
        except subprocess.TimeoutExpired:
            why = f"did not end within {limit_s:g} s"
        finally:
            _end(child)
        seconds = time.monotonic() - began
        printed, errors = _kept(out), _kept(err)
    code = child.returncode
    if why or code < 0:
        return Ran(None, printed, errors, seconds, why or f"ended by {_signal(-code)}")
    return Ran(code, printed, errors, seconds, f"exit code {code}" if code else "")


def _end(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)  # also what it left running
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(5)


def _kept(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_KEPT_BYTES).decode("utf-8", "replace")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def said(ran: Ran, most: int = 240) -> str:
    """The line that says most of a command that failed: the first that speaks of an error, else the last."""
    text = ran.err.strip() or ran.out.strip()
    lines = [line.strip() for line in text.splitlines()]
    line = next((one for one in lines if "error" in one.lower()), "") or last_line(text.encode())
    return "; ".join(filter(None, (ran.why, line[:most])))


@contextlib.contextmanager
def workshop(parent: Path | None = None) -> Iterator[Path]:
    """A folder for nobody else, removed at the end; SIGTERM, by which the harness ends a run, removes it too.

    Raises CannotMeasure where the folder above could be exchanged by others, or refuses to be written.
    """
    above = (parent or Path.cwd()).resolve()
    refuse_shared(above)
    try:
        folder = Path(tempfile.mkdtemp(prefix=".work-", dir=above))
    except OSError as error:
        raise CannotMeasure(
            f"no folder to work in can be made: {error.strerror}", where=str(above), hint="free some space there"
        ) from None
    try:
        with ended_by_signals():
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def refuse_shared(folder: Path) -> None:
    """Raise CannotMeasure where anybody may exchange what lies in a folder: it is writable to all and not sticky."""
    mode = folder.stat().st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise CannotMeasure(
            "anyone may write to this folder, and what is compiled in it is executed",
            where=str(folder),
            hint=f"chmod o-w {folder}",
        )


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end the block as an exception does, so that it can clean up."""

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_with_parent() -> None:
    """A harness that is killed sends this process SIGTERM, so that it ends what it started; from here on."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)


def add_options(to: ProgramArguments, table: Table, **other: dict[str, Any]) -> None:
    """The options that a workload's table has, with its defaults and its help; ``other`` is what differs here."""
    types = {"integer": int, "real": float}
    for name, param in table.params.items():
        if option := table.option(name):
            own: dict[str, Any] = {"default": param.default, "choices": param.choices or None}
            own |= {"type": str if param.words else types.get(param.kind, str), "help": param.help.replace("%", "%%")}
            to.add_argument(f"--{option}", **{**own, **other.get(name, {})})


def words(text: str, known: Sequence[str], where: str) -> tuple[str, ...]:
    """Words separated by commas, each one of ``known``. Raises BadInput with the nearest."""
    found = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    for word in found:
        if word not in known:
            raise unknown(where, word, known)
    if not found:
        raise BadInput(f"no {where} is named", hint=f"known: {', '.join(known)}")
    return found
