"""Runs the command as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def shakedown(
    *words: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None, limit_s: float = 120
) -> subprocess.CompletedProcess[str]:
    """``shakedown WORDS``; its exit code, output and errors."""
    return subprocess.run(
        [sys.executable, "-m", "shakedown", *map(str, words)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        timeout=limit_s,
        check=False,
    )
