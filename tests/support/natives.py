"""The native programs as tests run them: alone or on ranks of the MPI that is here, never longer than a limit, and skipped,
with what to install, where something that they need is absent."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from shakedown import launchers, programs
from shakedown.errors import Unavailable
from shakedown.hosts.access import LocalHost
from shakedown.launchers import Command
from shakedown.machine.mpi import mpi
from shakedown.programs import events
from shakedown.programs.events import Events
from shakedown.records import Cpu, Host, Memory

LIMIT_S = 300.0  # far beyond what any takes: a test that reaches it hangs


class Ended(NamedTuple):
    """How a program ended: its exit code, what it printed, its errors."""

    code: int
    out: bytes
    err: str

    def told(self) -> tuple[int, Events, str]:
        return self.code, events.parse(self.out), self.err


def path(name: str) -> str:
    try:
        return programs.path(name)
    except Unavailable as error:
        pytest.skip(f"needs the native programs: {error.hint}")


def run(name: str, *words: str, text: str = "", env: Mapping[str, str] | None = None) -> Ended:
    """One process of a program; ``text`` is its input, ``env`` is added to the environment."""
    done = subprocess.run(
        [path(name), *words],
        input=text.encode(),
        capture_output=True,
        env={**os.environ, **(env or {})},
        timeout=LIMIT_S,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr.decode())


@functools.cache
def here() -> Host:
    """This machine, as far as a launcher must know it."""
    door = LocalHost()
    return Host(
        name=door.name(),
        cpu=Cpu(model="", vendor="", architecture="", microarchitecture=""),
        memory=Memory(total_bytes=0),
        usable_cpus=door.affinity(),
        software=mpi(door),
    )


def start(
    name: str,
    ranks: int,
    *words: str,
    program: str = "",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """A program on so many ranks, as a process group of its own; without a launcher on 0. ``program`` is its path where it
    is not the installed one; what the launcher sets stands before what ``env`` says."""
    try:
        command = Command(argv=(program or programs.path(name), *words), ranks=ranks)
        argv, launched = launchers.wrap(command, here())
    except Unavailable as error:
        pytest.skip(f"needs {name} and the MPI that it was built with: {error.what}; {error.hint}")
    return subprocess.Popen(
        argv,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(env or {}), **launched},
        start_new_session=True,
        cwd=cwd,
    )


def end(process: subprocess.Popen[bytes]) -> Ended:
    """Wait for what was started; whatever happens, nothing of its group is left."""
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    text = err.decode()
    if "no BLAS library was found" in text:
        pytest.skip("needs a BLAS library: sudo apt-get install libopenblas0")
    return Ended(process.returncode, out, text)


def run_ranks(
    name: str, ranks: int, *words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Ended:
    return end(start(name, ranks, *words, cwd=cwd, env=env))


def by_hand(name: str, folder: Path, ranks: int, *words: str) -> list[tuple[int, Events, str]]:
    """So many processes of a program that needs no MPI, as a launcher would start them: each knows its rank by its
    environment, and they meet by a file beside the folder."""
    here = ("--directory", str(folder), "--ranks", str(ranks), "--rendezvous", str(folder.parent / "meet"))
    started = [
        subprocess.Popen(
            [path(name), *here, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PMI_RANK": str(rank)},
        )
        for rank in range(ranks)
    ]
    found = []
    try:
        for one in started:
            out, err = one.communicate(timeout=LIMIT_S)
            found.append((one.returncode, events.parse(out), err.decode()))
    finally:
        for one in started:
            one.kill()
            one.wait()
    return found
