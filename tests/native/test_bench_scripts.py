"""Every script of scripts/bench on a tiny size, with its peers where they are here: what it prints is not looked at, only
that it starts, measures and ends. One that nobody starts breaks by a rename, and nobody sees it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import natives

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "scripts" / "bench"
#: Where scripts/test-native builds what peers of `stream` and `nbody` need.
PEERS = ROOT / "build" / "native-plain"

#: Script -> its arguments, of a tenth of a second or a few; {NAME} is the path of a native program, {peers} and {folder} are
#: folders.
TINY = {
    "accept": "--pieces 3 --repeats 1",
    "accounting": "--jobs 2000 --folder {folder}",
    "agreement": "--seeds 1 --kind PDU",
    "allocation": "--tests 1 --seconds 0.1 --nodes 2",
    "analysis": "--hosts 4 --measurements 10",
    "archive": "--nodes 2 --days 0.1 --repeat 1 --folder {folder}",
    "availability": "--nodes 20 --days 30 --events 200 --repeat 1 --folder {folder}",
    "cluster": "--nodes 2 --repeats 1",
    "counters": "--json",
    "energy": "--repeats 20",
    "fft": "--sizes 256 --threads 1 --samples 2 --sample-flop 1e6 --rounds 1",
    "filesystem": "--program {filesystem} --directory {folder} --rounds 1 --blocks 65536",
    "forecast": "--only Athlon",
    "gemm": "--sizes 128 --threads 1 --precision d --samples 1 --rounds 1",
    "harness": "--runs 2",
    "health": "--repeats 1",
    "hpl": "--program {hpl} --orders 400 --peer-orders 400 --nb 64 --peer-nb 64 --peer-depth 0 --layouts 1 --pages base"
    " --rounds 1",
    "lag": "--shifts 1 --rest 5",
    "lj": "--particles 2000 --ranks 1 --steps 5 --samples 1 --suffixes none --skins 0.3 --rounds 1",
    "multicast": "--program {multicast} --rounds 1 --seconds 0.05",
    "nbody": "--build {peers} --bodies 1024 --threads 1 --rounds 1",
    "pairs": "--nodes 8 --seeds 1 --harder-seeds 1",
    "pingpong": "--program {pingpong} --rounds 1 --samples 2",
    "sampling": "--seconds 0.5 --windows 2 --window-s 0.1",
    "stream": "--build {peers} --threads 1 --gib 0.01 --pairs 1 --hpcc-rounds 0",
    "tune_claims": "--sweeps 1",
    "coverage": "--loads 1",
    "tune": "--n 1300 --folder {folder} --final-rounds 1 --finalists 1 --points 2 --budget-min 0.1",
}
CLUSTER = {"allocation", "cluster"}
#: Ends with 1 where its goal is missed, as it is by tests of a tenth of a second; what could not run ends with 3.
GOAL = {"allocation"}


def test_every_script_has_a_tiny_size() -> None:
    """But `all`, which starts the others by their names."""
    assert {path.stem for path in BENCH.glob("*.py")} == {*TINY, "all", *LIBRARIES}


#: Modules that the scripts share.
LIBRARIES = {"paired"}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.cluster] * (name in CLUSTER)) for name in TINY])
def test_a_script_starts_measures_and_ends(name: str, tmp_path: Path) -> None:
    words = TINY[name]
    if "{peers}" in words and not (PEERS / f"native/{name}/{name}_peers").exists():
        pytest.skip(f"needs {name}_peers: scripts/test-native builds it")
    if name == "hpl" and shutil.which("hpcc") is None:
        pytest.skip("needs hpcc: sudo apt-get install hpcc")
    programs = {
        one: natives.path(one) for one in ("filesystem", "hpl", "multicast", "pingpong") if f"{{{one}}}" in words
    }
    folder = tmp_path / "folder"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, BENCH / f"{name}.py", *words.format(peers=PEERS, folder=folder, **programs).split()],
        cwd=tmp_path,
        env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        capture_output=True,
        text=True,
        timeout=natives.LIMIT_S,
        check=False,
    )
    assert done.returncode in ((0, 1) if name in GOAL else (0,)), done.stdout[-2000:] + done.stderr[-3000:]
    assert done.stdout.strip() and "Traceback" not in done.stderr


def test_all_knows_every_script() -> None:
    done = subprocess.run(
        [sys.executable, BENCH / "all.py", "no_such_part"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    known = {word.rstrip(",") for word in done.stderr.split("next: one of ")[1].split()}
    assert known <= set(TINY) and set(TINY) - known == {
        "agreement",
        "coverage",
        "forecast",
        "lag",
        "tune",
        "tune_claims",
    }
