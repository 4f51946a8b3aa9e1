"""Modules of scripts/, which is no package, as tests import them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[2] / "scripts"


def load(name: str) -> ModuleType:
    """A module of that folder, which finds the others there while it is imported."""
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(FOLDER))
