"""The events of ``native/README.md``, printed by a functional test, which is a Python program.

    def body(argv: Sequence[str], emit: Emitter) -> None:
        words = ProgramArguments("name", "what it shows").parse_args(argv)
        emit.start({"compiler": "gcc 12"})
        with emit.phase("measure"):
            check = Residual(value=0, limit=0, kind="failed checks")
            emit.case("compile", work={"checks": 3}, seconds=[0.1], residual=check)

    if __name__ == "__main__":
        sys.exit(run("name", body))

``run`` says a foreseen error in one line on standard error and gives the exit code: 0 whole and right, 1 a residual
failed, 2 usage, 3 could not measure (the run is then "unavailable", with that line as its reason).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import resource
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NoReturn

import msgspec

from .. import __version__, programs
from ..errors import NOT_MET, BadInput, ShakedownError
from ..records import Residual, Value

SCHEMA = 1
_PROGRESS_S = 0.5  # between two progress events, at least


class Emitter:
    """Writes events, one flushed line each. ``ok`` is false once a residual failed."""

    def __init__(self, program: str, out: BinaryIO | None = None) -> None:
        self.program = program
        self.ok = True
        self.started = False
        self._out = sys.stdout.buffer if out is None else out
        self._progress_s = 0.0

    def start(self, facts: Mapping[str, Any]) -> None:
        """First: what the program resolved and really got."""
        self.started = True
        self._write(
            "start",
            program=self.program,
            schema=SCHEMA,
            unix_ns=time.time_ns(),
            monotonic_ns=time.monotonic_ns(),
            host=socket.gethostname(),
            pid=os.getpid(),
            argv=sys.argv,
            build={
                "version": __version__,
                "commit": str(programs.build().get("commit", "unknown")),
                "compiler": f"{platform.python_implementation()} {platform.python_version()}",
                "flags": "",
            },
            facts=dict(facts),
        )

    def facts(self, more: Mapping[str, Any]) -> None:
        """Facts that were found after the start."""
        self._write("facts", facts=dict(more))

    @contextlib.contextmanager
    def phase(self, name: str, label: str = "") -> Iterator[None]:
        """Marks a phase (init, warmup, measure, verify) from here to the end of the block, also where it raises."""
        self._write("phase", name=name, edge="begin", unix_ns=time.time_ns(), label=label)
        try:
            yield
        finally:
            self._write("phase", name=name, edge="end", unix_ns=time.time_ns(), label=label)

    def phase_was(self, name: str, begin_ns: int, end_ns: int, label: str = "") -> None:
        """A phase that another process has been through (Unix ns)."""
        for edge, unix_ns in (("begin", begin_ns), ("end", end_ns)):
            self._write("phase", name=name, edge=edge, unix_ns=unix_ns, label=label)

    def progress(self, done: float, text: str) -> None:
        """How far it is, from 0 to 1; at most twice a second."""
        now = time.monotonic()
        if now - self._progress_s >= _PROGRESS_S:
            self._progress_s = now
            self._write("progress", done=done, text=text)

    def case(
        self,
        kernel: str,
        params: Mapping[str, Value] | None = None,
        work: Mapping[str, float] | None = None,
        seconds: Sequence[float] = (),
        residual: Residual | None = None,
        begin_ns: int | None = None,
        end_ns: int | None = None,
        spans: Sequence[tuple[int, int]] = (),
    ) -> None:
        """One series of samples, each of which did the same ``work``; ``residual`` is the check of its result, ``spans`` are
        when each sample was, in Unix ns."""
        fields: dict[str, Any] = {
            "kernel": kernel,
            "params": dict(params or {}),
            "work": dict(work or {}),
            "seconds": list(seconds),
        }
        if residual is not None:
            self.ok = self.ok and residual.passed
            fields["residual"] = {"value": residual.value, "limit": residual.limit, "kind": residual.kind}
        if spans:
            fields |= {"begin_ns": spans[0][0], "end_ns": spans[-1][1], "spans": list(spans)}
        elif begin_ns is not None and end_ns is not None:
            fields |= {"begin_ns": begin_ns, "end_ns": end_ns}
        self._write("case", **fields)

    def notice(self, code: str, text: str, advice: str = "") -> None:
        """Something to know, and what mends it."""
        self._write("notice", code=code, text=text, advice=advice)

    def end(self) -> None:
        """Last; its absence means that the program was cut short."""
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self._write("end", ok=self.ok, unix_ns=time.time_ns(), max_rss_bytes=most)

    def _write(self, event: str, **fields: Any) -> None:
        self._out.write(msgspec.json.encode({"event": event, **fields}) + b"\n")
        self._out.flush()


class ProgramArguments(argparse.ArgumentParser):
    """Arguments as ``--name value``; what is wrong with them is one line and exit code 2."""

    def __init__(self, program: str, about: str) -> None:
        super().__init__(prog=program, description=about, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise BadInput(message, hint=f"{self.prog} --help prints all arguments")


Body = Callable[[Sequence[str], Emitter], None]


def run(program: str, body: Body, argv: Sequence[str] | None = None, out: BinaryIO | None = None) -> int:
    """Run ``body`` and give the exit code. It calls ``start``; ``end`` is written here where nothing was raised."""
    emit = Emitter(program, out)
    try:
        body(sys.argv[1:] if argv is None else argv, emit)
    except ShakedownError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return error.exit_code
    emit.end()
    return 0 if emit.ok else NOT_MET
