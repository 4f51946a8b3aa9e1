"""What a reader is, and where the sound files lie that are spoiled for it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "tests" / "recordings"
SOURCE = ROOT / "src" / "shakedown"
_LARGEST_SEED = 200_000


class Reader(NamedTuple):
    """What is called with the path of a spoiled file, and the sound ones; ``share`` of all inputs is for slow ones less."""

    name: str
    seeds: tuple[bytes, ...]
    read: Callable[[Path], object]
    suffix: str = ""
    share: float = 1.0


def files(*patterns: str, below: Path = RECORDINGS) -> tuple[bytes, ...]:
    """The files of these names, none of them longer than a seed may be."""
    found = [path.read_bytes()[:_LARGEST_SEED] for pattern in patterns for path in sorted(below.glob(pattern))]
    if not found:
        raise FileNotFoundError(f"nothing is {patterns} below {below}")
    return tuple(found)


def line(record: Any) -> bytes:
    """A record as a line of a journal."""
    return msgspec.json.encode(record) + b"\n"


def at(name: str, read: Callable[[Path], object]) -> Callable[[Path], None]:
    """A reader of a folder: the spoiled file lies in it under ``name``."""

    def in_folder(path: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="fuzz-", dir=path.parent) as folder:
            place = Path(folder, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
            read(Path(folder))

    return in_folder
