"""Every error that a user can meet, and the exit code that it ends in.

    ShakedownError          what was wrong, where, and what to do next          exit code
    |- BadInput             the user's words, file or machine description       2
    |- CannotMeasure        something that is needed is absent or refused       3
    |  `- StoreFailed       the run directory cannot be read or written         3
    |- Unavailable          a plug-in says that it cannot work here, and why    3
    `- Interrupted          a person pressed Ctrl-C; what is whole was kept   130

Exit codes of the command: 0 met, 1 not met, 2 usage, 3 could not measure, 4 undecided.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import ClassVar

#: What JSON that cannot be decoded raises: msgspec's own errors, which are ValueErrors, and depth.
UNREADABLE = (ValueError, RecursionError)
MET, NOT_MET, USAGE, COULD_NOT_MEASURE, UNDECIDED = range(5)


class ShakedownError(Exception):
    """What was wrong (``what``), where (``where``) and what the user does next (``hint``)."""

    exit_code: ClassVar[int] = COULD_NOT_MEASURE

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return plain(f"{text}\n  next: {self.hint}" if self.hint else text)


class BadInput(ShakedownError):
    """The user's words, file or parameters are wrong."""

    exit_code: ClassVar[int] = USAGE


class CannotMeasure(ShakedownError):
    """Something that the measurement needs is absent, refused or broken."""


class StoreFailed(CannotMeasure):
    """The run directory cannot be read or written."""


class Unavailable(ShakedownError):
    """A plug-in cannot work on this machine; ``what`` says why."""


class Interrupted(ShakedownError):
    """A person ended it by Ctrl-C; ``hint`` is how to go on."""

    exit_code: ClassVar[int] = 130


#: Sequences that a terminal obeys: CSI, then OSC and other strings up to their end, then what is left of an escape.
_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?|\x9b[0-?]*[ -/]*[@-~]"
)
#: Control characters but for tabs and ends of lines, and what turns the direction of writing.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """A text that others wrote (a program, a file, a host), so that it steers no terminal: sequences are left out, other
    control characters shown as U+FFFD."""
    return _CONTROLS.sub("\ufffd", _SEQUENCES.sub("", text.replace("\r\n", "\n")))


def unforeseen(error: BaseException) -> str:
    """The sentence for an error that nobody foresaw: what it was, and where its details lie (a file of its own)."""
    import os
    import tempfile
    import traceback

    details = "".join(traceback.format_exception(error))
    said = plain(f"{type(error).__name__}: {error}".splitlines()[0][:200])
    try:
        handle, path = tempfile.mkstemp(prefix="shakedown-error-", suffix=".txt")
        with open(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(details)
    except OSError:
        return f"an error that was not foreseen ({said}); this is a defect of shakedown\n{plain(details)}"
    return (
        f"an error that was not foreseen ({said}); nothing was decided by it\n"
        f"  next: report it with its details, which lie in {os.path.abspath(path)}"
    )


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like ``word``, or None where none is near."""
    found = difflib.get_close_matches(word, list(known), 1, 0.5)
    return found[0] if found else None


def unknown(kind: str, word: str, known: Iterable[str], *, where: str = "") -> BadInput:
    """A BadInput for a word that is not among ``known``; it names the nearest right one and then all."""
    names = sorted(known)
    near = nearest(word, names)
    hint = f"did you mean {near!r}? " if near else ""
    return BadInput(f"unknown {kind} {word!r}", where=where, hint=f"{hint}known: {', '.join(names) or 'none'}")
