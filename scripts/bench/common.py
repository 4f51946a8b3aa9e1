"""What the measurements of this folder share: options with a tiny size, commands and what they cost, figures as a table."""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from shakedown.errors import NOT_MET, USAGE, CannotMeasure, ShakedownError

CORES = len(os.sched_getaffinity(0))
#: Open MPI starts as root, in a container, only where both say so.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Wrong(CannotMeasure):
    """What was measured is wrong: a total, a residual, something left behind."""

    exit_code: ClassVar[int] = NOT_MET


class Option(NamedTuple):
    """An option of a measurement: its value, the one that ends within seconds (None: the same), what may be given."""

    default: Any
    tiny: Any = None
    help: str = ""
    choices: tuple[str, ...] = ()

    def read(self, text: Any) -> Any:
        """A value from the command line, of the type of the default. Raises ValueError."""
        if isinstance(self.default, tuple):
            return tuple(text)
        if isinstance(self.default, list):
            return [type(self.default[0])(word) for word in text.split(",") if word]
        return text if isinstance(self.default, bool) else type(self.default)(text)

    def value(self, text: Any, *, tiny: bool) -> Any:
        """What holds: what was given, else the tiny size or the default. Raises ValueError."""
        if text is not None:
            return self.read(text)
        return self.tiny if tiny and self.tiny is not None else self.default


def add_options(parser: argparse.ArgumentParser, options: Mapping[str, Option]) -> None:
    """``--name VALUE`` for each; lists are separated by commas. Several measurements may share a name: None is not given."""
    for name, one in options.items():
        flag, sizes = f"--{name.replace('_', '-')}", f"{shown(one.default)}; tiny: {shown(one.tiny)}"
        if isinstance(one.default, bool):
            parser.add_argument(flag, action="store_true", default=None, help=one.help)
        elif isinstance(one.default, tuple):  # given once for each
            parser.add_argument(flag, action="append", help=one.help)
        else:
            text = f"{one.help} (default: {sizes if one.tiny is not None else shown(one.default)})".strip()
            parser.add_argument(flag, choices=one.choices or None, help=text.replace("%", "%%"))


def shown(value: Any) -> str:
    """A value of an option as it is written on a command line."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value) or "empty"


def chosen(given: argparse.Namespace, options: Mapping[str, Option]) -> argparse.Namespace:
    """The options of one measurement as they hold. Names the option, and raises SystemExit, for a value of another type."""
    found = argparse.Namespace(json=given.json, tiny=given.tiny)
    for name, one in options.items():
        text = getattr(given, name, None)
        try:
            setattr(found, name, one.value(text, tiny=given.tiny))
        except ValueError as error:
            say(f"--{name.replace('_', '-')} {text!r}: {error}\n  next: a value like {shown(one.default)}")
            raise SystemExit(USAGE) from None
    return found


def parser(doc: str | None, options: Mapping[str, Option]) -> argparse.ArgumentParser:
    """A parser with the options of a measurement, ``--tiny`` and ``--json``."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--tiny", action="store_true", help="sizes that only show that it works")
    made.add_argument("--json", action="store_true")
    add_options(made, options)
    return made


def arguments(doc: str | None, **options: Option) -> argparse.Namespace:
    """The command line of a script that has no peer."""
    return chosen(parser(doc, options).parse_args(), options)


def say(text: str) -> None:
    """To standard error, at once."""
    print(text, file=sys.stderr, flush=True)


def output(
    argv: Sequence[str | Path], *, codes: Sequence[int] = (0,), limit_s: float | None = None, **more: Any
) -> str:
    """Standard output of a command; ``env`` is added to the environment. Raises CannotMeasure where it fails or ends with
    another code than ``codes``."""
    words = [str(word) for word in argv]
    env = {**os.environ, **AS_ROOT, **more.pop("env", {})}
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=env, timeout=limit_s, **more)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotMeasure(str(error), where=words[0]) from None
    if done.returncode:
        raise CannotMeasure(
            f"ended with {done.returncode}: {(done.stderr or done.stdout)[-2000:]}", where=" ".join(words)
        )
    return str(done.stdout)


def events(argv: Sequence[str | Path], **more: Any) -> list[dict[str, Any]]:
    """The events that a native program of ours prints. Raises CannotMeasure where it fails."""
    return [json.loads(line) for line in output(argv, **more).splitlines()]


def cases(argv: Sequence[str | Path], **more: Any) -> list[dict[str, Any]]:
    """Its cases alone."""
    return [event for event in events(argv, **more) if event["event"] == "case"]


class Cost(NamedTuple):
    """What a command took: its standard output, seconds, seconds of CPU, and most resident memory in bytes."""

    out: str
    seconds: float
    cpu_s: float
    peak_bytes: int


def cost(argv: Sequence[str | Path], *, codes: Sequence[int] = (0,), stderr: int | None = None) -> Cost:
    """A command from its start to its exit. Raises CannotMeasure where it ends with another code than ``codes``."""
    begun = time.perf_counter()
    with subprocess.Popen([str(word) for word in argv], stdout=subprocess.PIPE, stderr=stderr, text=True) as child:
        assert child.stdout is not None
        text = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - begun
    if child.returncode not in codes:
        raise CannotMeasure(f"ended with {child.returncode}", where=" ".join(map(str, argv)))
    return Cost(text, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def _child(work: Callable[..., dict[str, float]], args: Sequence[Any], out: Any) -> None:
    begun = time.perf_counter()
    try:
        found = work(*args)
    except ShakedownError as error:
        out.send(error)
        return
    seconds = time.perf_counter() - begun
    out.send({"seconds": seconds, "peak": proc_bytes("self", "VmHWM"), **found})


def in_process(work: Callable[..., dict[str, float]], *args: Any) -> dict[str, float]:
    """What ``work`` gives in a fresh process, with its ``seconds`` and, in bytes, the ``peak`` of its memory, its children's
    with it, looked at every 20 ms. Raises CannotMeasure."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(work, args, sender))
    process.start()
    sender.close()
    peak = 0
    while not receiver.poll(0.02):
        peak = max(peak, sum(proc_bytes(str(pid), "VmRSS") for pid in family(process.pid or 0)))
    try:
        found = receiver.recv()
    except EOFError:
        found = CannotMeasure("the process died", where=work.__name__)
    process.join()
    if isinstance(found, ShakedownError):
        raise found
    return {**found, "peak": max(peak, found["peak"])}


def proc_bytes(pid: str, what: str, file: str = "status") -> int:
    """A figure of /proc/PID/status, or another file of that form, in bytes; 0 where the process has ended."""
    try:
        text = Path(f"/proc/{pid}/{file}").read_text()
        return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith(f"{what}:")), 0)
    except OSError:
        return 0


def family(pid: int) -> list[int]:
    """A process and all its descendants that are there now."""
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        with contextlib.suppress(OSError):
            waiting += map(int, Path(f"/proc/{found[-1]}/task/{found[-1]}/children").read_text().split())
    return found


def table(rows: Sequence[Mapping[str, Any]], **formats: str) -> str:
    """Rows under the names of their fields: all, or those in ``formats`` (as of ``format``); numbers to the right."""
    if not rows:
        return ""
    names = list(formats or rows[0])
    lines = [[name.replace("_", " ") for name in names]]
    lines += [[format(row[name], formats.get(name, "")) for name in names] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    right = [not isinstance(rows[0][name], str) for name in names]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def show(asked: argparse.Namespace, **tables: tuple[Sequence[Mapping[str, Any]], Mapping[str, str]]) -> None:
    """Tables under their names, each its rows and the formats of its columns; with ``--json`` all fields of all rows."""
    if asked.json:
        found = {name: list(rows) for name, (rows, _) in tables.items()}
        print(json.dumps(found if len(found) > 1 else next(iter(found.values())), indent=1))
        return
    for name, (rows, formats) in tables.items():
        print(f"{name.replace('_', ' ')}\n{table(rows, **formats)}", flush=True)
