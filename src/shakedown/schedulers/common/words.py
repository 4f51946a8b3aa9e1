"""Words that a batch script must hold, and the checks of what a person asked for. Pure.

A script that an engine takes is read twice: by the engine, which looks for its own lines, and by bash. Every word is
therefore written on one line, whatever it holds: Grid Engine takes options from any line of a script that begins with
its mark, and Slurm refuses a script with carriage returns.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from ...errors import BadInput
from ...records import Record
from .options import EVERYWHERE, JobOptions, declared

_PLAIN = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quote(word: str) -> str:
    """One word for bash, on one line. Raises BadInput for a NUL byte, which no program can be given."""
    if "\0" in word:
        raise BadInput(f"the argument {word!r} contains a NUL byte", hint="no program can be given one")
    if _PLAIN.fullmatch(word):
        return shlex.quote(word)
    out = []
    for byte in word.encode("utf-8", "surrogateescape"):
        letter = chr(byte)
        out.append(f"\\{letter}" if letter in "\\'" else letter if 32 <= byte < 127 else f"\\{byte:03o}")
    return f"$'{''.join(out)}'"


def join(words: Iterable[str]) -> str:
    """Words as one line for bash."""
    return " ".join(quote(word) for word in words)


def body(folder: str, env: Mapping[str, str], argv: tuple[str, ...]) -> str:
    """What every script does: go to its folder, set its variables, become the program. Raises BadInput."""
    if not argv:
        raise BadInput("a job needs a program to start", hint="give its arguments in argv")
    lines = [f"cd -- {quote(folder)} || exit 72"]
    for name, value in env.items():
        if not _NAME.fullmatch(name):
            raise BadInput(f"{name!r} is not a valid name of an environment variable", hint="letters, digits and _")
        lines.append(f"export {name}={quote(value)}")
    return "\n".join([*lines, f"exec -- {join(argv)}", ""])


def checked(what: str, text: str, pattern: str = r"[\w.@:/+-]+") -> str:
    """``text`` where it is one word of the engine that can stand in a script as it is. Raises BadInput."""
    if not re.fullmatch(pattern, text, re.ASCII) or text.startswith("-"):
        raise BadInput(f"{what} {text!r} cannot be given to a batch engine", hint=f"it must match {pattern}")
    return text


def resources(gres: str, pattern: str) -> list[tuple[str, str]]:
    """Each generic resource and its number of ``gpu:4,ssd=1``. Raises BadInput."""
    words = [checked("generic resource", word, pattern).replace("=", ":") for word in gres.split(",") if word]
    return [(kind, count) for kind, _, count in (word.rpartition(":") for word in words)]


def place(folder: str) -> str:
    """An absolute path that can stand in an engine's line. Raises BadInput."""
    if not PurePosixPath(folder).is_absolute() or not _PLAIN.fullmatch(folder) or "\\" in folder:
        raise BadInput(
            f"the folder {folder!r} cannot be given to a batch engine",
            hint="an absolute path on the shared file system, without control characters and backslashes",
        )
    return folder


def minutes(seconds: float, what: str = "the time limit") -> int:
    """Whole minutes, up: the granularity of Slurm, LSF and Flux. Raises BadInput for what is not a valid time."""
    if not 0 < seconds < 10 * 365 * 86400:
        raise BadInput(f"{what} of {seconds:g} s is not a time that a job can have", hint="say 30 min or 2 h")
    return -int(-seconds // 60)


def clock(seconds: float) -> str:
    """``HH:MM:SS`` of whole minutes, as Grid Engine and PBS read it."""
    total = minutes(seconds)
    return f"{total // 60}:{total % 60:02d}:00"


#: What a job needs of the environment that it was submitted from, for engines that carry it only where it is named, or
#: that show all of it to everybody.
CARRIED = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "MODULEPATH", "LOADEDMODULES", "LANG")


#: Hosts as engines fold them: node[1-4],login.
HOST_LIST = r"[A-Za-z0-9.,\[\]-]+"


def label(name: str) -> str:
    """A job's name as every engine takes it: nothing depends on it."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("._-")[:60] or "shakedown"


class Word(NamedTuple):
    """An engine's own word for an option."""

    line: str  # with {} where the value stands: "--account={}"
    pattern: str = r"[\w.@:/+-]+"  # what the value must match
    what: str = ""  # what the engine calls it, for messages; default: the field


def told(request: Record, words: Mapping[str, Word]) -> list[str]:
    """The engine's words for what is asked for, in the order of ``words``. Raises BadInput for a value that cannot be
    told."""
    given = ((field, word, getattr(request, field)) for field, word in words.items())
    return [
        word.line.format(checked(word.what or field, str(value), word.pattern)) for field, word, value in given if value
    ]


def refuse_unknown(request: JobOptions, title: str, known: Collection[str]) -> None:
    """Raises BadInput where something is asked for of which this engine knows nothing. ``known``: beside what every engine
    has."""
    options = declared(JobOptions)
    for field in (*options, "components"):
        if field not in (*EVERYWHERE, *known) and getattr(request, field) not in ("", (), None):
            name = f" ({options[field].name})" if field in options else ""
            raise BadInput(
                f"{title} has no {field}{name}", hint="leave it out; what the site has goes into --engine-option"
            )
