"""Transcripts of applications: what each step printed, in how many seconds seen from outside, and the rules of reading them.

    shakedown: begin raxml
    shakedown: step search on 0 ranks at 1763928800.123456: raxmlHPC -T 2 ...
    (what the program printed)
    shakedown: file RAxML_info.search of 120 lines
    (these lines)
    shakedown: step search ended after 12.345678 s with exit code 0
    shakedown: end

A log without these lines is a program's own, as a user has it: it is the one part, of which neither ranks nor the time
from outside are known. The rules are the same for all applications: a text that ends early is no time; a time by the
log may not exceed the time from outside; a program that did not see the ranks that were asked for has no score, since N
copies of a run of one rank end well and look fast.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...records import Case, Notice, Params, Residual
from .. import Garbage
from .printed import NUMBER

_BEGIN = re.compile(r"\Ashakedown: begin (\S+)\n")
_STEP = re.compile(r"^shakedown: step (\S+) on (\d{1,9}) ranks at (\d{1,12}\.\d{6}): ([^\n]*)$")
_FILE = re.compile(r"^shakedown: file (\S+) of (\d{1,9}) lines$")
_ENDED = re.compile(r"^shakedown: step (\S+) ended after (\d{1,9}\.\d{6}) s with exit code (\d{1,3})$")
END = "shakedown: end"
#: What a time by the log may exceed that from outside: its last printed place, and a clock that is read at another moment.
CLOCKS = 0.01
#: What start and end of a program may take beside the time in its log, before a notice says so.
_START_S = 2.0


class Part(NamedTuple):
    """One step: what it printed, and the files that it left. ``wall_s`` is None in a user's own log."""

    name: str
    ranks: int
    text: str
    files: Mapping[str, str]
    wall_s: float | None = None
    begin_ns: int | None = None
    code: int = 0

    @property
    def whole(self) -> str:
        """All of its text, the files behind what was printed."""
        return "\n".join((self.text, *self.files.values()))


def parts(text: str, application: str, main: str) -> dict[str, Part]:
    """The steps of a transcript by name; of a program's own log the one part ``main``. Raises Garbage for a cut one."""
    if not text.startswith("shakedown: "):
        if END in text:
            raise Garbage("the beginning of this transcript is missing")
        return {main: Part(main, 0, text, {})}
    begin = _BEGIN.match(text)
    if begin is None or begin[1] != application:
        raise Garbage(f"this is not the transcript of a job of {application}")
    lines = text.removesuffix("\n").split("\n")
    if lines[-1] != END:
        raise Garbage("the transcript ends before the job did")
    found: dict[str, Part] = {}
    at = 1
    while at < len(lines) - 1:
        at, part = _part(lines, at)
        found[part.name] = part
    if main not in found:
        raise Garbage(f"the transcript has no step {main}")
    return found


def step(found: Mapping[str, Part], name: str) -> Part:
    """The step of that name. Raises Garbage where the transcript has none."""
    if name not in found:
        raise Garbage(f"the transcript has no step {name}")
    return found[name]


def _part(lines: Sequence[str], at: int) -> tuple[int, Part]:
    """The step that begins at a line, and the line behind it."""
    head = _STEP.match(lines[at])
    if head is None:
        raise Garbage(f"the transcript has no step at line {at + 1}: {lines[at][:80]!r}")
    printed: list[str] = []
    files: dict[str, str] = {}
    at += 1
    while at < len(lines):
        if ended := _ENDED.match(lines[at]):
            begin_ns = round(float(head[3]) * 1e6) * 1000
            text = "\n".join((*printed, ""))
            return at + 1, Part(head[1], int(head[2]), text, files, float(ended[2]), begin_ns, int(ended[3]))
        if file := _FILE.match(lines[at]):
            files[file[1]] = "\n".join((*lines[at + 1 : at + 1 + int(file[2])], ""))
            at += int(file[2])
        else:
            printed.append(lines[at])
        at += 1
    raise Garbage(f"the transcript ends within the step {head[1]}")


_CLOCK = re.compile(rf"(?:(\d{{1,6}})d)? *(?:(\d{{1,6}})h)? *(?:(\d{{1,6}})m)? *(?:({NUMBER})s)?")


def seconds(text: str) -> float:
    """A time as Fortran programs print it: ``13.50s``, ``1m 3.20s``, ``2h 5m``, ``1d 2h 3m``. Raises Garbage."""
    found = _CLOCK.fullmatch(text.strip())
    if found is None or not any(found.groups()):
        raise Garbage(f"{text.strip()[:40]!r} is not a time")
    days, hours, minutes, rest = (float(one or 0) for one in found.groups())
    return days * 86400 + hours * 3600 + minutes * 60 + rest


def ranks_check(part: Part, seen: Sequence[int], what: str = "ranks") -> Residual:
    """Whether the program saw the ranks that were asked for, once. In a user's own log any number, once."""
    if not seen:
        raise Garbage(f"the log does not say on how many {what} the program ran")
    if len(seen) > 1:
        kind = f"copies too many: the {what} ran {len(seen)} times on {seen[0]}, each on its own, and not together"
        return Residual(value=float(len(seen) - 1), limit=0.0, kind=kind)
    asked = part.ranks or seen[0]
    kind = f"{what} of {asked} that the program did not see (it saw {seen[0]})"
    return Residual(value=float(abs(asked - seen[0])), limit=0.0, kind=kind)


def nodes_stated(text: str, pattern: str) -> int:
    """The number of nodes that a log states by a pattern, the same wherever it does; else 0."""
    found = {int(one) for one in re.findall(pattern, text, re.MULTILINE)}
    return found.pop() if len(found) == 1 else 0


class Result(NamedTuple):
    """What was read of a run: ``total_s`` by the program's own clock, ``seconds`` of the phase that counts, the others."""

    told: Params
    work: Mapping[str, float]
    seconds: float
    total_s: float
    phases: Mapping[str, float]
    seen: Sequence[int]
    check: Residual | None
    more: Sequence[Residual] = ()
    nodes: int = 0  # as a user's own log states them; 0: it does not


def cases(part: Part, result: Result, *, seen_what: str = "ranks") -> tuple[Case, ...]:
    """The cases of a run: the phase that counts, with its check; every phase; all from outside; each other check."""
    if not 0 < result.seconds <= result.total_s * (1 + CLOCKS) + CLOCKS:
        raise Garbage(
            f"the phase that counts took {result.seconds:g} s of {result.total_s:g} s: one of the two is wrong"
        )
    if part.wall_s is not None and result.total_s > part.wall_s * (1 + CLOCKS) + CLOCKS:
        raise Garbage(
            f"the log says {result.total_s:g} s, and from outside it took {part.wall_s:g} s: the log is of another run"
        )
    told = {**result.told, "ranks": max(result.seen, default=1)} if seen_what == "ranks" else dict(result.told)
    if part.wall_s is None and result.nodes:
        told["nodes"] = result.nodes
    work = dict(result.work)
    found = [Case(kernel="run", params=told, work=work, seconds=(result.seconds,), residual=result.check)]
    if part.wall_s is not None and part.begin_ns is not None:
        end = part.begin_ns + round(part.wall_s * 1e9)
        found.append(
            Case(kernel="job", params=told, work=work, seconds=(part.wall_s,), begin_ns=part.begin_ns, end_ns=end)
        )
    for name, took in result.phases.items():
        if took > 0:
            found.append(Case(kernel="phase", params={**told, "phase": name}, seconds=(took,)))
    for check in (ranks_check(part, result.seen, seen_what), *result.more):
        found.append(Case(kernel="check", params=told, work={"checks": 1.0}, residual=check))
    return tuple(found)


def outside(part: Part, total_s: float) -> tuple[Notice, ...]:
    """What is to be said where the time from outside is longer than the log's by more than a start takes."""
    if part.wall_s is None or part.wall_s - total_s <= CLOCKS * part.wall_s + _START_S:
        return ()
    text = f"{part.name} took {part.wall_s:.2f} s from outside, and its log accounts for {total_s:.2f} s"
    advice = "the rest is start, end and waiting for a processor: look at the load, the launcher and the file system"
    return (Notice(code="time-not-in-log", text=text, advice=advice),)


def deviation(value: float, expected: float, limit: float, kind: str) -> Residual:
    """The relative deviation from what is expected."""
    return Residual(value=abs(value / expected - 1) if expected else None, limit=limit, kind=kind)


def one_number(text: str, pattern: str, missed: str) -> float:
    """The number in the last line that a pattern finds. Raises Garbage, with what was missed, where there is none."""
    found = re.findall(pattern, text, re.MULTILINE)
    try:
        value = float(found[-1])
    except (IndexError, ValueError):
        raise Garbage(missed) from None
    if not math.isfinite(value):
        raise Garbage(missed)
    return value
