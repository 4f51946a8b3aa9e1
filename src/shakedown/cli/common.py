"""What the verbs share: printing records as JSON, tables that are legible without colour, finding a run directory."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from ..errors import BadInput, plain
from . import _layout


def print_json(value: Any) -> None:
    """Any record as indented JSON on standard output."""
    import msgspec

    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=1).decode() + "\n")


def print_whole_json(value: Any) -> None:
    """Records as JSON with every field, empty lists and null too, and with the expanded uncertainty U (95 %) of every
    value: who reads it need not know what may be left out."""
    print_json(_whole(value))


def _whole(value: Any) -> Any:
    import msgspec

    from ..records import Quantity

    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        out = {field.encode_name: _whole(getattr(value, field.name)) for field in fields}
        return {**out, "U": value.expanded} if isinstance(value, Quantity) else out
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, list | tuple) else value


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


def not_negative(param: typer.CallbackParam, value: float | None) -> float | None:
    """The callback of an option that is a number: finite and not below zero. Raises BadInput with the option's name."""
    from .. import strict

    return value if value is None else strict.finite(value, param.opts[0], "the command line", least=0.0)


def latest_run(parent: Path) -> Path:
    """The newest run directory below ``parent``. Raises BadInput where there is none."""
    found = sorted(path.parent for path in parent.glob("*/manifest.json"))
    if not found:
        raise BadInput("there is no run directory", where=str(parent), hint="shakedown run makes one")
    return found[-1]
