"""The storage program on something that is mounted for it alone, in a namespace of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from shakedown.programs import events
from shakedown.programs.events import Events

from . import natives


def run(folder: Path, command: str, *words: str, beside: str = "", before: str = "") -> tuple[int, Events, str]:
    """The program in a namespace where the shell's ``command`` mounts something on ``$0``, the folder: exit code, events and
    errors. ``beside`` is what the shell does meanwhile, ``before`` stands before the program. Skips where nothing can be
    mounted."""
    alone = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    meanwhile = f"({beside}) >/dev/null 2>&1 & beside=$!;" if beside else "beside=;"
    run = '"$1" --directory "$0" "${@:2}"; code=$?; [ -z "$beside" ] || kill "$beside" 2>/dev/null; exit $code'
    script = f"{command} || exit 77; {meanwhile} {before} {run}"
    done = subprocess.run(
        [*alone, "bash", "-c", script, str(folder), natives.path("storage"), *words],
        capture_output=True,
        timeout=natives.LIMIT_S,
    )
    if done.returncode == 77:
        pytest.skip(f"nothing can be mounted here: {done.stderr.decode().strip()}")
    return done.returncode, events.parse(done.stdout), done.stderr.decode()
