"""The measurements of scripts/bench, as modules."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

BENCH = Path(__file__).resolve().parents[2] / "scripts" / "bench"
# Behind all else: some are called like packages. What they share they find by its name.
sys.path.append(str(BENCH))


@cache
def script(name: str) -> ModuleType:
    """One of them, under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"bench_{name}", BENCH / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
