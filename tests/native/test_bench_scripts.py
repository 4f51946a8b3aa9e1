"""Every measurement of scripts/bench on its tiny size, with its peers where they are here: what it prints is not looked at,
only that it starts, measures and ends. One that nobody starts breaks by a rename, and nobody sees it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from shakedown import programs
from support import natives

from support.bench import BENCH  # isort: skip  # lets the modules below be found

import all as everything
import peers

#: Where scripts/test-native builds what peers of `hydro`, `nbody` and `stream` need.
PEERS = everything.ROOT / "build" / "native-plain"

#: Rows with a program of ours of that name; the others measure Python.
NATIVE = {
    "fft",
    "gemm",
    "gpu_collectives",
    "hpl",
    "lj",
    "multi_pair",
    "multicast",
    "nbody",
    "path_loss",
    "pingpong",
    "storage",
    "stream",
}
#: `cluster` counts what is on the machine before and after: no other cluster may be up meanwhile.
SLURM = pytest.mark.needs("root", "slurmctld", "slurmd", "munged")
MARKS = {"allocation": [pytest.mark.cluster, SLURM], "cluster": [pytest.mark.timing, SLURM]}
#: Ends with 1 where its goal is missed, as it is by tests of a tenth of a second; what could not run ends with 3.
GOAL = {"allocation"}
#: Rows of which a peer is built with the native tests.
WITH_PEERS = {"checkpoint", "hpcg", "hydro", "nbody", "stream"}
#: Modules that the others share.
LIBRARIES = {"all", "common", "hpcc", "paired", "rapl_peers"}


def started(script: str, words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, BENCH / script, *words],
        cwd=folder,
        env={
            **os.environ,
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1",  # a Java that compiles less: half the time of what is short
        },
        capture_output=True,
        text=True,
        timeout=natives.LIMIT_S,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    return done


def test_every_script_is_known() -> None:
    assert {path.stem for path in BENCH.glob("*.py")} == {*everything.SCRIPTS, *LIBRARIES}
    assert set(peers.names()) >= NATIVE


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, [])) for name in peers.names()])
def test_a_row_measures_and_ends(name: str, tmp_path: Path) -> None:
    if name in NATIVE:
        natives.path(name)
    if name == "imb" and not (programs.folder() / "mpich" / "pingpong").exists():
        pytest.skip("needs programs for the MPICH family: sudo apt-get install libmpich-dev, then scripts/setup")
    if name in WITH_PEERS and not (PEERS / f"native/{name}/{name}_peers").exists():
        pytest.skip(f"needs {name}_peers: scripts/test-native builds it")
    done = started("paired.py", [name, "--tiny", "--build", str(PEERS)], tmp_path)
    if missing := re.search(r"next: (sudo apt-get install (?!iperf).*)", done.stderr):
        pytest.skip(f"not whole without a peer: {missing[1]}")
    codes = (0, 1) if name in GOAL else (0,)
    assert done.returncode in codes and done.stdout.strip(), done.stdout[-2000:] + done.stderr[-3000:]


@pytest.mark.parametrize("name", everything.SCRIPTS)
def test_a_script_measures_and_ends(name: str, tmp_path: Path) -> None:
    done = started(f"{name}.py", ["--tiny"], tmp_path)
    assert done.returncode == 0 and done.stdout.strip(), done.stdout[-2000:] + done.stderr[-3000:]


def test_all_names_what_it_knows(tmp_path: Path) -> None:
    done = started("all.py", ["no_such_part"], tmp_path)
    assert done.returncode == 2
    known = {word.rstrip(",") for word in done.stderr.split("next: one of ")[1].split()}
    assert known == {*peers.names(), *everything.SCRIPTS}
