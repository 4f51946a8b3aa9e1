"""What the verbs share: printing records as JSON, tables that are legible without colour, finding a run directory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import BadInput


def print_json(value: Any) -> None:
    """Any record as indented JSON on standard output."""
    import msgspec

    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=1).decode() + "\n")


def say(text: str) -> None:
    """A message to a person: standard error."""
    print(text, file=sys.stderr, flush=True)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """A plain table on standard output; columns of numbers are set right."""
    if title:
        print(f"\n{title}")
    if not rows:
        print("  (nothing)")
        return
    widths = [max(len(str(row[i])) for row in (headings, *rows)) for i in range(len(headings))]
    numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(headings))]
    for row in (headings, ["-" * width for width in widths], *rows):
        cells = [
            str(cell).rjust(width) if right else str(cell).ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        print(("  " + "  ".join(cells)).rstrip())


def _is_number(text: str) -> bool:
    return not text or text[0].isdigit() or text in ("-", "not measured")


def latest_run(parent: Path) -> Path:
    """The newest run directory below ``parent``. Raises BadInput where there is none."""
    found = sorted(path.parent for path in parent.glob("*/manifest.json"))
    if not found:
        raise BadInput("there is no run directory", where=str(parent), hint="shakedown run makes one")
    return found[-1]
