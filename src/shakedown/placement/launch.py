"""Launches of a command with watchers in it, once or in rounds, and the folder that keeps them.

FOLDER/command.json                    what was launched
FOLDER/as-launched/1/launch.json       how long it took; beside it stdout, stderr and a record of each rank
FOLDER/compact/1/launch.json           with --price: the same under each arrangement, round by round
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from .. import programs, times
from ..errors import UNREADABLE, BadInput, CannotMeasure, Interrupted, StoreFailed
from ..files import atomic
from ..hosts.process import Exit, Process
from ..records import Record
from . import command_line, records
from .price import ARRANGEMENTS, AS_LAUNCHED, Launched, order
from .records import Left, Rank

LAUNCH, COMMAND = "launch.json", "command.json"
SAME = "here it is the same CPUs as"
Say = Callable[[str], None]


class Request(Record, frozen=True, kw_only=True):
    """What is launched, and how often."""

    command: tuple[str, ...]
    arrangements: tuple[str, ...] = ()
    rounds: int = 1
    limit_s: float = 600.0
    threads: int = 1  # busy threads of a rank, for the arrangements
    seed: int = 0


class Kept(NamedTuple):
    """A folder of launches as it lies."""

    request: Request | None  # None: records that a watcher left which a person put there
    first: Left  # the first launch as it is
    launches: tuple[Launched, ...]
    same: dict[str, str]  # arrangements that are another one here


def free_name(parent: Path) -> Path:
    """A folder that is not there yet: by the time, counted on where that one is."""
    name = times.for_name()
    number = 0
    while (folder := parent / (f"{name}-{number}" if number else name)).exists():
        number += 1
    return folder


def carry_out(request: Request, folder: Path, say: Say) -> None:
    """Launch everything, keep everything. Raises BadInput for a command without a known launcher, CannotMeasure where the
    first launch left no record, Interrupted."""
    for name in ("", *request.arrangements):
        _argv(request, folder, name)  # what is wrong in the command is said before anything runs
    _make(folder)
    atomic.write_record(folder / COMMAND, request)
    names = (AS_LAUNCHED, *request.arrangements)
    dropped: dict[str, str] = {}
    for number in range(1, request.rounds + 1):
        turn = names if number == 1 else order([one for one in names if one not in dropped], number, request.seed)
        for name in turn:
            place = folder / name / str(number)
            launched = _launch(request, place, name, number)
            say(_line(launched, number, request.rounds))
            if number == 1 and name == AS_LAUNCHED and not (left := records.read(place)).ranks:
                raise _nothing(place, left)
        if number == 1:
            dropped = alike({name: records.read(folder / name / "1").ranks for name in names})
            for name, other in dropped.items():
                say(f"{name}: {SAME} {other}, so it is launched no more")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise atomic.failed(error, folder, "made") from None


def _argv(request: Request, place: Path, name: str) -> tuple[str, ...]:
    watcher = programs.path("placement_rank")
    words = command_line.prologue(watcher, str(place.resolve()), arrange=name, threads=request.threads)
    return command_line.watched(request.command, words)


def _launch(request: Request, place: Path, name: str, number: int) -> Launched:
    _make(place)
    argv = _argv(request, place, "" if name == AS_LAUNCHED else name)
    process = Process(argv, {}, place, cwd=Path.cwd())
    try:
        ended = process.wait(request.limit_s, 0.0, lambda done, text: None)
    except KeyboardInterrupt:
        process.kill()
        raise Interrupted("the launch was interrupted", where=str(place), hint="what was seen so far is kept") from None
    launched = judged(ended, records.read(place), name, number)
    atomic.write_record(place / LAUNCH, launched)
    return launched


def judged(ended: Exit, left: Left, name: str, number: int) -> Launched:
    """What a launch counts for: the time of its slowest rank, if all ranks ended as they should."""
    if ended.timed_out:
        return Launched(arrangement=name, round=number, seconds=None)
    wrong = ""
    if ended.code != 0:
        wrong = f"exit code {ended.code}" if ended.signal is None else f"ended by signal {ended.signal}"
    elif not left.ranks:
        wrong = "no rank left a record"
    elif any(not one.finished for one in left.ranks):
        wrong = "a watcher was killed"
    elif len(left.ranks) < max(one.size for one in left.ranks):
        wrong = f"{len(left.ranks)} of {left.ranks[0].size} ranks left a record"
    seconds = max((one.wall_s for one in left.ranks), default=0.0)
    return Launched(arrangement=name, round=number, seconds=seconds, wrong=wrong)


def _line(launched: Launched, number: int, rounds: int) -> str:
    took = "no answer within the limit" if launched.seconds is None else f"{launched.seconds:.2f} s"
    of = f" {number} of {rounds}" if rounds > 1 else ""
    return f"{launched.arrangement}{of}: {launched.wrong or took}"


def _nothing(place: Path, left: Left) -> CannotMeasure:
    if left.damaged:
        first = left.damaged[0]
        return CannotMeasure(
            f"no record of a rank can be read: {first.why}",
            where=first.what,
            hint="build again: the watcher is of another version",
        )
    errors = (place / "stderr").read_bytes().decode("utf-8", "replace").strip().splitlines() if place.exists() else []
    said = next((line for line in errors if line.strip("- ")), "")
    return CannotMeasure(
        "no rank left a record" + (f"; the launcher said: {said[:200]}" if said else ""),
        where=str(place),
        hint="try the command without shakedown; on several hosts the folder (--keep) and this installation must be on a "
        "file system that all of them see",
    )


def alike(first: dict[str, Sequence[Rank]]) -> dict[str, str]:
    """Arrangements that put the ranks on the same CPUs as an earlier one, or as the launch as it is."""
    seen: dict[tuple[tuple[int, str, frozenset[int]], ...], str] = {}
    found = {}
    for name, ranks in first.items():
        masks = tuple(
            (one.rank, one.host, frozenset(one.arranged if name != AS_LAUNCHED else one.launched_mask)) for one in ranks
        )
        if masks and masks in seen:
            found[name] = seen[masks]
        else:
            seen[masks] = name
    return found


def read(folder: Path) -> Kept:
    """What ``carry_out`` left, or a folder with records alone. Raises BadInput and CannotMeasure."""
    first = folder / AS_LAUNCHED / "1"
    if not first.is_dir():
        left = records.read(folder)
        if not left.ranks and not left.damaged:
            raise BadInput(
                "there are no records of ranks in it",
                where=str(folder),
                hint="give a folder that shakedown placement -- or placement_rank --to left, or a run directory",
            )
        return Kept(None, left, (), {})
    try:
        request = atomic.read_record(folder / COMMAND, Request)
    except CannotMeasure:
        request = None
    launches = []
    for path in sorted(folder.glob(f"*/*/{LAUNCH}")):
        try:
            launches.append(decode(path.read_bytes()))
        except (OSError, *UNREADABLE) as error:
            raise StoreFailed(str(error)[:200], where=str(path), hint="remove its folder: the others stand") from None
    names = dict.fromkeys((AS_LAUNCHED, *(one.arrangement for one in launches)))
    same = alike({name: records.read(folder / name / "1").ranks for name in names if (folder / name / "1").is_dir()})
    return Kept(request, records.read(first), tuple(one for one in launches if one.arrangement not in same), same)


def decode(data: bytes) -> Launched:
    """A ``launch.json``. Raises ValueError."""
    import msgspec

    found = msgspec.json.decode(data, type=Launched)
    if found.arrangement not in (AS_LAUNCHED, *ARRANGEMENTS):
        raise ValueError(f"{found.arrangement[:40]!r} is not an arrangement")
    if found.seconds is not None and not 0 <= found.seconds < 1e12:
        raise ValueError(f"{found.seconds} s is not a time that a launch can take")
    return found
