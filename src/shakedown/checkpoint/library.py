"""The checkpoint library as tools call it: what lies in folders of checkpoints, and what of it may go.

Its C interface is ``native/checkpoint/include/shakedown/checkpoint.h``; the files on disk are read by the library alone. A
folder is that of one application: a node's own, or the one that all nodes share.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ..document.text import count, listed
from ..errors import BadInput, CannotMeasure
from ..records import Record
from . import _abi, installed
from .session import Code

#: How the library names a generation's folder.
GENERATIONS = "gen-*"

State = Literal["whole", "perhaps", "lost"]


class Entry(Record, frozen=True, kw_only=True):
    """A generation in one folder. ``ranks`` wrote it; of ``ranks_whole`` the state lies here, with so many partner copies
    and parts of parity. ``level`` is that of its commit record."""

    folder: str
    generation: int
    ranks: int
    ranks_whole: int
    copies: int
    parities: int
    committed: bool
    level: int
    bytes: int
    unix_s: float
    removable: bool
    problems: tuple[str, ...] = ()


class Generation(Record, frozen=True, kw_only=True):
    """A generation over all folders: whether it can be restored, and from where, or why not."""

    generation: int
    state: State
    level: int  # that it was committed at; 0: never
    why: str
    folders: int
    bytes: int
    unix_s: float


class Paths(Record, frozen=True, kw_only=True):
    """Where the library lies for who compiles against it."""

    include: str
    library: str
    compile: str
    compile_static: str


def paths() -> Paths:
    """Where headers and library are installed, with lines that compile a program: one that loads the library, and one that
    holds it. Raises Unavailable where they were not built."""
    found = installed.folders()
    return Paths(
        include=str(found.include),
        library=str(found.lib),
        compile=f"cc program.c -I{found.include} -L{found.lib} -Wl,-rpath,{found.lib} -lshakedown_checkpoint",
        compile_static=f"cc program.c -I{found.include} {found.archive} -lstdc++ -lm -ldl -pthread",
    )


_load = cache(_abi.load)


def _asked(function: str, folders: Sequence[Path], *words: int) -> list[Entry]:
    """What a function of the library visits. Raises BadInput and CannotMeasure with its words."""
    library = _load(installed.folders().library)
    found: list[Entry] = []
    sizes: set[int] = set()

    def visit(_context: Any, entry: Any) -> None:
        one = entry.contents
        sizes.add(one.struct_bytes)
        found.append(
            Entry(
                folder=os.fsdecode(one.folder or b""),
                generation=one.generation,
                ranks=one.ranks,
                ranks_whole=one.ranks_whole,
                copies=one.copies,
                parities=one.parities,
                committed=bool(one.committed),
                level=one.level,
                bytes=one.bytes,
                unix_s=one.unix_seconds,
                removable=bool(one.removable),
                problems=tuple((one.problem or b"").decode(errors="replace").splitlines()),
            )
        )

    names = (ctypes.c_char_p * len(folders))(*(os.fsencode(one) for one in folders))
    error = getattr(library, function)(names, len(folders), *words, _abi.VISIT(visit), None)
    if any(size < ctypes.sizeof(_abi.Entry) for size in sizes):
        raise CannotMeasure(
            "the checkpoint library is older than shakedown",
            where=str(installed.folders().library),
            hint="make build, in the source",
        )
    if not error:
        return found
    text = (library.shakedown_ckpt_last_error(None) or b"").decode(errors="replace") or "failed"
    where = ", ".join(map(str, folders))
    if error == Code.INVALID:
        raise BadInput(text, where=where, hint="name folders of checkpoints, and at least one generation to keep")
    hint = "wait until the job has ended" if error == Code.LOCKED else "see whether the folder can be read and written"
    raise CannotMeasure(text, where=where, hint=hint)


def folders_of(places: Sequence[Path]) -> list[Path]:
    """Folders of checkpoints: each place that holds generations, else the folders in it that do, as where every node has
    one. Raises BadInput where there is none."""
    found: list[Path] = []
    for place in places:
        if not place.is_dir():
            raise BadInput("is not a folder", where=str(place), hint="name a folder of checkpoints")
        here = (
            [place]
            if any(place.glob(GENERATIONS))
            else sorted(one for one in place.iterdir() if one.is_dir() and any(one.glob(GENERATIONS)))
        )
        if not here:
            raise BadInput(
                "holds no checkpoint",
                where=str(place),
                hint="name the folder that the application was given, local or global",
            )
        found += here
    return found


def entries(folders: Sequence[Path], *, verify: bool = False) -> list[Entry]:
    """Every generation in every folder, the oldest first; ``verify`` reads all data and compares every checksum. Nothing is
    changed. Raises BadInput and CannotMeasure."""
    return _asked("shakedown_ckpt_list", folders, int(verify))


def prune(folders: Sequence[Path], *, keep: int, dry_run: bool = False) -> list[Entry]:
    """Remove what ``keep`` newer committed generations of a level at least as safe, in the same folder, make superfluous,
    and what killed runs left; returns it. All data that stay are read first.

    Raises CannotMeasure where what stays is damaged: what would go may be the last that can be restored.
    """
    damaged = [one for one in entries(folders, verify=True) if one.committed and one.problems]
    gone = _asked("shakedown_ckpt_prune", folders, keep, 1)
    going = {(one.folder, one.generation) for one in gone}
    if held := [one for one in damaged if (one.folder, one.generation) not in going]:
        raise CannotMeasure(
            f"generation {held[0].generation} is damaged ({held[0].problems[0]}): older ones may be the last to restore",
            where=held[0].folder,
            hint="shakedown checkpoint verify names all that is wrong; let the application restore and save first",
        )
    return gone if dry_run else _asked("shakedown_ckpt_prune", folders, keep, 0)


# --------------------------------------------------------------------------------------------------------------- judging


def judged(found: Sequence[Entry]) -> tuple[Generation, ...]:
    """What can be restored of the generations in all folders together, the newest first. Pure."""
    numbers = sorted({one.generation for one in found}, reverse=True)
    return tuple(_judged(number, [one for one in found if one.generation == number]) for number in numbers)


def _judged(number: int, parts: Sequence[Entry]) -> Generation:
    state, why = _verdict(parts)
    return Generation(
        generation=number,
        state=state,
        level=max((one.level for one in parts if one.committed), default=0),
        why=why,
        folders=len(parts),
        bytes=sum(one.bytes for one in parts),
        unix_s=max(one.unix_s for one in parts),
    )


def _verdict(parts: Sequence[Entry]) -> tuple[State, str]:
    if not any(one.committed for one in parts):
        return "lost", "it was never committed: the run ended while it was being written"
    ranks = max(one.ranks for one in parts)
    problems = [problem for one in parts for problem in one.problems]
    if not ranks:
        return "lost", problems[0] if problems else "it has no manifest"
    all_ranks = count(ranks, "rank")
    sound = [one for one in parts if not one.problems]
    if alone := [one.folder for one in sound if one.committed and one.ranks_whole >= ranks]:
        return "whole", f"{all_ranks} in {listed(alone)}"
    here = sum(one.ranks_whole for one in sound)  # a part of the ranks on each node
    if here >= ranks:
        return "whole", f"{all_ranks} over {count(len(sound), 'folder')}"
    lacks = f"{here} of {all_ranks} whole" + (f" ({problems[0]})" if problems else "")
    copies, parities = sum(one.copies for one in parts), sum(one.parities for one in parts)
    if copies or parities:
        spare = " and ".join(
            count(number, name, names)
            for number, name, names in (
                (copies, "partner copy", "partner copies"),
                (parities, "part of parity", "parts of parity"),
            )
            if number
        )
        return "perhaps", f"{lacks}; {spare} may replace the rest, which a restart tries"
    return "lost", lacks
