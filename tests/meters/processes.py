"""Servers as processes: found, ready before they are asked, and gone afterwards."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest


def program(name: str, package: str) -> str:
    """The path of a program; the test is skipped, with what to install, where it is not here."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"needs {name}: {package}")
    return found


@contextlib.contextmanager
def running(
    argv: Sequence[str], folder: Path, ready: Callable[[], bool], env: dict[str, str] | None = None
) -> Iterator[Any]:
    """A child that is ready, and is gone afterwards."""
    with (folder / "log").open("wb") as log:
        child = subprocess.Popen(
            list(argv), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env={**os.environ, **(env or {})}
        )
        try:
            deadline = time.monotonic() + 300
            while not ready():
                assert child.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < deadline, f"{argv[0]} is not ready: {(folder / 'log').read_text()[-2000:]}"
                time.sleep(0.02)
            yield child
        finally:
            child.terminate()
            try:
                child.wait(60)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait(60)


def answers(url: str) -> bool:
    """Whether a server gives this page."""
    try:
        with urllib.request.urlopen(url, timeout=10) as said:
            return bool(said.status == 200)
    except (OSError, http.client.HTTPException):
        return False


def listens(port: int) -> bool:
    with socket.socket() as one:
        one.settimeout(0.2)
        return one.connect_ex(("127.0.0.1", port)) == 0
