"""Runs the command as a user does: in a process of its own, or where that says no more, in this one."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

from shakedown import __main__ as command


def shakedown(
    *words: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None, limit_s: float = 300
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


def called(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The same in this process, for verbs that start nothing: what a start costs is the imports."""
    out, err = io.StringIO(), io.StringIO()
    argv = ["shakedown", *map(str, words)]
    with (
        contextlib.chdir(cwd or "."),
        mock.patch.object(sys, "argv", argv),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            command.main()
        except SystemExit as end:
            code = end.code
    assert isinstance(code, int), code
    return subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue())
