"""What the verbs share: printing records as JSON, tables that are legible without colour, finding a run directory."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..errors import BadInput, plain
from . import _layout


def print_json(value: Any) -> None:
    """Any record as indented JSON on standard output."""
    import msgspec

    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=1).decode() + "\n")


def say(text: str) -> None:
    """A message to a person: standard error."""
    print(plain(text), file=sys.stderr, flush=True)


def note(text: str) -> None:
    """A message to a person that is a sentence: standard error, folded where that is a terminal."""
    for line in _layout.sentence(text, _layout.columns(sys.stderr), rest="  "):
        say(line)


def print_sentence(text: str, first: str = "", rest: str = "") -> None:
    """A sentence on standard output behind ``first``, folded behind ``rest`` where that is a terminal."""
    for line in _layout.sentence(text, _layout.columns(sys.stdout), first=first, rest=rest):
        print(plain(line))


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Names and what they are on standard output, one below the other."""
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        print_sentence(value, f"  {name.ljust(width)}  ", " " * (width + 4))


def print_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", spare: Sequence[str] = ()
) -> None:
    """A plain table on standard output: columns of numbers set right, all others left, folded where that is a terminal.
    ``spare``: headings of columns that a narrow one may go without, the first first."""
    if title:
        print(f"\n{title}")
    if not rows:
        print("  (nothing)")
        return
    words = [[str(cell) for cell in row] for row in rows]
    for line in _layout.table(headings, words, _layout.columns(sys.stdout), spare):
        print(plain(line))


def warn_of_passwords(targets: Iterable[str]) -> None:
    """Say on standard error for which meters a password goes over the network unencrypted. Raises BadInput for a file of
    passwords that others may read."""
    from .. import meters
    from ..host import RealHost

    for target in targets:
        if text := meters.exposed(meters.parse_target(target), RealHost()):
            note(f"shakedown: {text}")


def latest_run(parent: Path) -> Path:
    """The newest run directory below ``parent``. Raises BadInput where there is none."""
    found = sorted(path.parent for path in parent.glob("*/manifest.json"))
    if not found:
        raise BadInput("there is no run directory", where=str(parent), hint="shakedown run makes one")
    return found[-1]
