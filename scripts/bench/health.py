"""What a health check costs: time and memory of a whole call, and how long until one that hangs is told.

    python scripts/bench/health.py [--json] [--repeats 20]

The quick entry (python -m shakedown.operate.health) and the verb are called in turns, all checks that this machine has, with
a state that is kept. Memory is what all processes of a call take together at their worst: the sum of their proportional
shares (PSS), sampled in calls of their own, since sampling takes time. A device that hangs is a FIFO in a tree beside. Where
Node Health Check (LBNL) is installed its own check of the same kind runs in the same turns, with the configuration that
its nhc-genconf writes for this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

GOAL_S, GOAL_BYTES, GOAL_STUCK_S = 0.2, 40e6, 5.0
QUICK = (sys.executable, "-m", "shakedown.operate.health")
VERB = (
    sys.executable,
    "-c",
    "import sys; from shakedown.cli import app, health; "
    "'health' in {one.name for one in app.app.registered_groups} or app.app.add_typer(health.app, name='health'); "
    "sys.argv[1:1] = ['health', 'check']; app.main()",
)


def once(words: Sequence[str]) -> float:
    """Seconds of one call."""
    begun = time.perf_counter()
    done = subprocess.run(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False
    )
    taken = time.perf_counter() - begun
    if done.returncode not in (0, 1, 2, 3) or b"Traceback" in done.stderr:
        sys.exit(f"health: {' '.join(words)} failed:\n{done.stderr.decode()[-2000:]}")
    return taken


def pss_bytes(pid: int) -> int:
    """The proportional share of memory of a process and all its descendants that are there now."""
    total, waiting = 0, [pid]
    while waiting:
        one = waiting.pop()
        try:
            text = Path(f"/proc/{one}/smaps_rollup").read_text()
            total += next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:")), 0)
            waiting += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
        except (OSError, ValueError):
            continue
    return total


def peak_bytes(words: Sequence[str]) -> int:
    """The most that one call takes, as far as sampling sees it."""
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ended = threading.Event()
    most = 0

    def sample() -> None:
        nonlocal most
        while not ended.is_set():
            most = max(most, pss_bytes(child.pid))

    sampler = threading.Thread(target=sample)
    sampler.start()
    child.wait()
    ended.set()
    sampler.join()
    return most


def stuck_s(folder: Path) -> float:
    """How long a call takes on a tree where a sensor never answers; it must be told."""
    root = folder / "hung"
    (root / "sys/class/hwmon/hwmon0").mkdir(parents=True)
    os.mkfifo(root / "sys/class/hwmon/hwmon0/name")
    begun = time.perf_counter()
    done = subprocess.run(
        [*QUICK, "--root", str(root), "--state", "none", "--plan", "none"], capture_output=True, text=True, check=False
    )
    taken = time.perf_counter() - begun
    if "no answer" not in done.stdout or "hwmon0/name" not in done.stdout:
        sys.exit(f"health: what hangs was not told:\n{done.stdout}")
    return taken


def nhc(folder: Path) -> tuple[str, ...] | None:
    """The call of Node Health Check with what it generates for this machine; None where it is not installed."""
    if not shutil.which("nhc") or not shutil.which("nhc-genconf"):
        return None
    config = folder / "nhc.conf"
    subprocess.run(["nhc-genconf", "-c", str(config)], check=True, capture_output=True)
    return ("nhc", "-c", str(config), "MARK_OFFLINE=0", "NHC_CHECK_ALL=1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeats", type=int, default=20)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        common = ("--state", str(folder / "state"))
        calls: dict[str, tuple[str, ...]] = {"quick": (*QUICK, *common), "verb": (*VERB, *common)}
        if peer := nhc(folder):
            calls["nhc"] = peer
        for words in calls.values():
            once(words)  # files into the disk cache
        times: dict[str, list[float]] = {key: [] for key in calls}
        for _ in range(asked.repeats):
            for key, words in calls.items():
                times[key].append(once(words))
        memory = {key: max(peak_bytes(words) for _ in range(5)) for key, words in calls.items()}
        found = {
            "load_1min": os.getloadavg()[0],
            "seconds": {key: {"median": statistics.median(held), "least": min(held)} for key, held in times.items()},
            "peak_bytes": memory,
            "stuck_s": stuck_s(folder),
            "nhc": "" if peer else "not installed: https://github.com/mej/nhc",
        }
    if asked.json:
        print(json.dumps(found, indent=1))
        return
    print(f"load of this machine meanwhile: {found['load_1min']:.1f}")
    for key, held in times.items():
        median_ms, least_ms = statistics.median(held) * 1000, min(held) * 1000
        print(
            f"{key:6} median {median_ms:4.0f} ms, least {least_ms:4.0f} ms (goal {GOAL_S * 1000:.0f}); "
            f"together {memory[key] / 1e6:4.1f} MB (goal {GOAL_BYTES / 1e6:.0f})"
        )
    print(f"a device that hangs is told after {found['stuck_s']:.1f} s (goal {GOAL_STUCK_S:.0f})")
    if not peer:
        print("Node Health Check: not installed, not measured")


if __name__ == "__main__":
    main()
