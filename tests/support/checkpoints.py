"""Checkpoints on disk, made by the library itself through its C interface: a rank alone, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from shakedown.checkpoint import installed

_SAVE = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.shakedown_ckpt_last_error.restype = ctypes.c_char_p
def checked(error):
    if error:
        sys.exit(f"error {error}: {library.shakedown_ckpt_last_error(None).decode()}")
options, handle = ctypes.create_string_buffer(4096), ctypes.c_void_p()
library.shakedown_ckpt_options_init(options)
checked(library.shakedown_ckpt_open(None, options, ctypes.byref(handle)))
state = (ctypes.c_double * 300_000)(*range(300_000))
shape = (ctypes.c_uint64 * 1)(300_000)
box = (shape, shape, (ctypes.c_uint64 * 1)(0))
checked(library.shakedown_ckpt_protect(handle, b"u", state, 12, 1, *box))
for step, level in enumerate(map(int, sys.argv[2:])):
    state[0] = step
    checked(library.shakedown_ckpt_checkpoint(handle, level))
    checked(library.shakedown_ckpt_wait(handle, ctypes.c_double(300)))
print("saved", flush=True)
if sys.stdin.readline() != "die\\n":
    checked(library.shakedown_ckpt_close(handle, 0))
"""


def save(levels: Sequence[int], *, local: Path | None = None, shared: Path | None = None, keep: int = 9) -> None:
    """A job that saves 2.4 MB at each of these levels and ends."""
    job = job_of(levels, local=local, shared=shared, keep=keep)
    out, error = job.communicate("\n", timeout=300)
    assert job.returncode == 0, out + error


def job_of(
    levels: Sequence[int], *, local: Path | None = None, shared: Path | None = None, keep: int = 9
) -> subprocess.Popen[str]:
    """The same job, which says when it has saved and then waits for a line before it closes."""
    places = {"SHAKEDOWN_CKPT_LOCAL": local, "SHAKEDOWN_CKPT_GLOBAL": shared}
    env = {**os.environ, **{name: str(place) for name, place in places.items() if place}}
    env |= {"SHAKEDOWN_CKPT_KEEP": str(keep), "SHAKEDOWN_CKPT_SYNCHRONOUS": "1"}
    path = installed.folders().library
    return subprocess.Popen(
        [sys.executable, "-c", _SAVE, str(path), *map(str, levels)],
        env=env,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
