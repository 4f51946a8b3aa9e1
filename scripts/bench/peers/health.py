"""A health check: time and memory of a whole call, and how long until one that hangs is reported.

The quick entry (python -m shakedown.operate.health) and the verb are called in turns, all checks that this machine has, with
a state that is kept. Memory is what all processes of a call take together at their worst: the sum of their proportional
shares (PSS), sampled in calls of their own, since sampling takes time. A device that hangs is a FIFO in a tree beside. Where
Node Health Check (LBNL) is installed its own check of the same kind runs in the same turns, with the configuration that
its nhc-genconf writes for this machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import common

from shakedown.errors import CannotMeasure

from . import Figure, Group, Pass, Rates, Row

QUICK = (sys.executable, "-m", "shakedown.operate.health")
VERB = (
    sys.executable,
    "-c",
    "import sys; from shakedown.cli import app; sys.argv[1:1] = ['health', 'check']; app.main()",
)


NHC = {
    "nhc": "install Node Health Check: https://github.com/mej/nhc",
    "nhc-genconf": "install Node Health Check: https://github.com/mej/nhc",
}


def seconds(words: Sequence[str]) -> float:
    """Of one call. Raises CannotMeasure where it fails."""
    begun = time.perf_counter()
    done = subprocess.run(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False
    )
    taken = time.perf_counter() - begun
    if done.returncode not in (0, 1, 2, 3) or b"Traceback" in done.stderr:
        raise CannotMeasure(done.stderr.decode()[-2000:], where=" ".join(words))
    return taken


def peak_bytes(words: Sequence[str]) -> float:
    """The most that one call takes, as far as sampling sees it."""
    most = 0
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        while child.poll() is None:
            held = (common.proc_bytes(str(pid), "Pss", "smaps_rollup") for pid in common.family(child.pid))
            most = max(most, sum(held))
    return most


def stuck_s(folder: Path) -> Rates:
    """How long a call takes on a tree where a sensor never answers; it must be reported."""
    with tempfile.TemporaryDirectory(dir=folder) as root:
        Path(root, "sys/class/hwmon/hwmon0").mkdir(parents=True)
        os.mkfifo(Path(root, "sys/class/hwmon/hwmon0/name"))
        words = [*QUICK, "--root", root, "--state", "none", "--plan", "none"]
        begun = time.perf_counter()
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        taken = time.perf_counter() - begun
    if "no answer" not in done.stdout or "hwmon0/name" not in done.stdout:
        raise common.Wrong(f"what hangs was not reported:\n{done.stdout}")
    return {"quick": {"reported": taken}}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        state, config = ("--state", str(folder / "state")), folder / "nhc.conf"
        calls = {"quick": (*QUICK, *state), "verb": (*VERB, *state)}
        if not (absent := [program for program in NHC if not shutil.which(program)]):
            common.output(["nhc-genconf", "-c", config])
        calls["nhc"] = ("nhc", "-c", str(config), "MARK_OFFLINE=0", "NHC_CHECK_ALL=1")
        for side, words in calls.items():
            if side != "nhc" or not absent:
                seconds(words)  # files into the disk cache

        def group(figure: str, what: Figure, of: Callable[[Sequence[str]], float], rounds: int | None) -> Group:
            passes = [
                Pass(
                    side,
                    partial(lambda side, words: {side: {figure: of(words)}}, side, words),
                    NHC if side == "nhc" else {},
                )
                for side, words in calls.items()
            ]
            return Group(figure, {figure: what}, passes, ["quick", "verb"], rounds, alone=True)

        yield group("a call", Figure("ms", 1e3, better="lower", goal="below 200 ms"), seconds, None)
        yield group("memory", Figure("MB", 1e-6, better="lower", goal="below 40 MB"), peak_bytes, 5)
        hangs = Figure("s", better="lower", goal="within 5 s")
        yield Group("a device that hangs", {"reported": hangs}, [Pass("quick", partial(stuck_s, folder))], ["quick"], 1)


ROW = Row(groups, rounds=20)
