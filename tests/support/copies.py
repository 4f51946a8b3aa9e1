"""Recorded files, copied."""

from __future__ import annotations

import shutil
from pathlib import Path

RECORDINGS = Path(__file__).parent.parent / "recordings" / "meters"


def copy(name: str, folder: Path) -> Path:
    shutil.copytree(RECORDINGS / name, folder / name, symlinks=True)
    return folder / name
