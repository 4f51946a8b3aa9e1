"""Control groups that Slurm's fence leaves behind."""

from __future__ import annotations
from pathlib import Path
from .settings import Description


def remove(directory: Path, description: Description | None) -> None:
    pass
