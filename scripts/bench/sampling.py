"""What sampling costs: CPU time of the sampler, and what it takes from STREAM.

    python scripts/bench/sampling.py [--json] [--seconds 20] [--hz 10] [--stream PROGRAM] [--windows 40] [--window-s 0.5]

All meters that a machine has of its own are read at 10 Hz: those of this machine, and beside them a tree as two sockets
with RAPL, an ACPI power meter, coretemp and Cray's pm_counters with four accelerators would show (files of a disk cache
answer faster than a device, so the cost of the kernel's own work for a reading is not in it). The sampler's CPU time is
its own and that of the programs it runs, without its start.

The slowdown is found within one run of our stream: its sampler is stopped (SIGSTOP) and let go on in turns, in an order
that is drawn, and the passes of each window are compared with those of its neighbours of the other kind. The ratio is
that of mean times: a pass that was interrupted counts in full. The interval is that of the median over the pairs (95 %).
Where the benchmark leaves a CPU free the sampler runs there; otherwise among its threads.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from shakedown.errors import Unavailable
from shakedown.hosts.access import LocalHost
from shakedown.metering import meters
from shakedown.metering import sampler as sampling

GOAL_SHARE, GOAL_SLOWDOWN = 0.005, 0.001


def tree(root: Path) -> list[str]:
    """The files of a node with two sockets and four accelerators; the targets that read them."""

    def put(path: str, text: str) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{text}\n")

    for socket in range(2):
        zones = [(f"intel-rapl:{socket}", f"package-{socket}")]
        zones += [(f"intel-rapl:{socket}:{n}", name) for n, name in enumerate(("core", "dram"))]
        for n, (zone, name) in enumerate(zones):
            put(f"powercap/{zone}/name", name)
            put(f"powercap/{zone}/energy_uj", str(123456789 + 7_000_000 * n + 50_000_000 * socket))
            put(f"powercap/{zone}/max_energy_range_uj", "262143328850")
            put(f"powercap/{zone}/constraint_0_power_limit_uw", "350000000")
        put(f"hwmon/hwmon{1 + socket}/name", "coretemp")
        put(f"hwmon/hwmon{1 + socket}/temp1_input", "54000")
        put(f"hwmon/hwmon{1 + socket}/temp1_label", f"Package id {socket}")
    put("hwmon/hwmon0/name", "power_meter")
    put("hwmon/hwmon0/power1_average", "412000000")
    put("hwmon/hwmon0/power1_average_interval", "1000")
    parts = ["", "cpu_", "memory_", *(f"accel{n}_" for n in range(4))]
    for part in parts:
        put(f"pm_counters/{part}power", "495 W 1784929200356706 us")
        put(f"pm_counters/{part}energy", "123456789 J 1784929200356706 us")
    for name, text in (
        ("freshness", "17"),
        ("generation", "1"),
        ("startup", "1784929100000000"),
        ("raw_scan_hz", "10"),
    ):
        put(f"pm_counters/{name}", text)
    put("pm_counters/version", "2")
    return [f"rapl:{root}/powercap", f"hwmon:{root}/hwmon", f"cray:{root}/pm_counters"]


def opened(words: list[str]) -> list[meters.Target]:
    """The targets that can be read here, this machine's own among them; what cannot is said."""
    found = []
    for target in sampling.resolve([*words, "auto"], LocalHost()):
        try:
            meters.get(target.meter).open(target, LocalHost()).close()
            found.append(target)
        except Unavailable as error:
            print(f"sampling: left out: {target}: {error.what}", file=sys.stderr)
    return found


def cost(targets: list[meters.Target], folder: Path, seconds: float, hz: float) -> dict[str, Any]:
    """CPU time and memory of the sampler beside an idle machine."""
    with sampling.start(targets, folder, interval_s=1 / hz) as sampler:
        time.sleep(seconds)
    assert sampler.ending is not None
    rates = [one.readings / sampler.ending.wall_s for one in sampler.ending.courses]
    return {
        "sources": len(sampler.opened),
        "channels": sum(len(one.channels) for one in sampler.opened),
        "readings_per_s": sum(rates),
        "share_of_core": sampling.cost(folder),
        "memory_mb": sampler.ending.peak_bytes / 1e6,
        "skipped": sum(course.skipped for course in sampler.ending.courses),
    }


def slowdown(
    targets: list[meters.Target], folder: Path, hz: float, program: str, windows: int, window_s: float
) -> dict[str, Any]:
    """How much longer STREAM's passes take on average while the sampler runs."""
    used = sorted(os.sched_getaffinity(0))
    spare = sampling.spare_cpus(used, LocalHost())
    size = 2**25
    seconds = (windows + 4) * (window_s + 0.1)
    command = [program, "--threads", str(len(used)), "--sizes", str(size), "--kernels", "triad", "--variant", "nt"]
    command += ["--seconds", f"{seconds:g}", "--no-verify"]
    order = [state for _ in range(windows // 2) for state in random.choice([(True, False), (False, True)])]
    spans: list[tuple[float, float, bool]] = []
    with sampling.start(targets, folder, interval_s=1 / hz, cpus=spare) as sampler:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        for line in child.stdout:
            event = json.loads(line)
            if event["event"] == "phase" and event["name"] == "measure" and event["edge"] == "begin":
                break
        time.sleep(window_s)
        for running in order:
            os.kill(sampler.pid, signal.SIGCONT if running else signal.SIGSTOP)
            time.sleep(0.05)  # a tick that was under way
            begin = time.time()
            time.sleep(window_s)
            spans.append((begin, time.time(), running))
        os.kill(sampler.pid, signal.SIGCONT)
        cases = [event for event in map(json.loads, child.stdout) if event["event"] == "case"]
        child.wait()
    means = passes(cases[0], spans)
    pairs = [
        (on if first else off) / (off if first else on) - 1
        for (on, first), (off, _) in zip(means[::2], means[1::2], strict=True)
    ]
    low, high = interval(pairs)
    return {"median": statistics.median(pairs), "low": low, "high": high, "pairs": len(pairs), "pinned": bool(spare)}


def passes(case: dict[str, Any], spans: list[tuple[float, float, bool]]) -> list[tuple[float, bool]]:
    """The mean time of a pass in each window. Passes follow one another; what lies between them is spread evenly."""
    taken = case["seconds"]
    begin, end = case["begin_ns"] * 1e-9, case["end_ns"] * 1e-9
    between = (end - begin - sum(taken)) / len(taken)
    sums = [[0.0, 0] for _ in spans]
    at = begin
    for one in taken:
        middle = at + one / 2
        at += one + between
        for index, (first, last, _) in enumerate(spans):
            if first <= middle < last:
                sums[index][0] += one
                sums[index][1] += 1
    if not all(count for _, count in sums):
        sys.exit("sampling: stream ended before its windows; next: fewer --windows")
    return [(total / count, state) for (total, count), (_, _, state) in zip(sums, spans, strict=True)]


def interval(values: list[float]) -> tuple[float, float]:
    """The 95 % interval of the median by resampling (10 000 times)."""
    draws = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(10_000))
    return draws[250], draws[9750]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--json", action="store_true")
    options.add_argument("--seconds", type=float, default=20.0, help="of the sampler alone")
    options.add_argument("--hz", type=float, default=10.0)
    options.add_argument("--stream", default="", help="our program stream; default: the one of this installation")
    options.add_argument("--windows", type=int, default=40, help="of stream, half of them sampled")
    options.add_argument("--window-s", type=float, default=0.5)
    options.add_argument("--seed", type=int, default=1)
    asked = options.parse_args()
    random.seed(asked.seed)
    program = asked.stream
    if not program:
        from shakedown import programs

        try:
            program = programs.path("stream")
        except Unavailable as error:
            print(f"sampling: no slowdown: {error}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        targets = opened(tree(folder / "sys"))
        result = {"cost": cost(targets, folder / "alone", asked.seconds, asked.hz)}
        if program:
            result["stream"] = slowdown(targets, folder / "beside", asked.hz, program, asked.windows, asked.window_s)
    if asked.json:
        print(json.dumps(result))
        return
    found = result["cost"]
    print(
        f"sampling: {found['channels']} channels of {found['sources']} sources at {asked.hz:g} Hz "
        f"({found['readings_per_s']:.0f} readings/s): {found['share_of_core']:.3%} of a core (goal below "
        f"{GOAL_SHARE:.1%}), {found['memory_mb']:.0f} MB, {found['skipped']} ticks skipped"
    )
    if "stream" in result:
        beside = result["stream"]
        where = "on CPUs that stream leaves free" if beside["pinned"] else "among stream's threads: no CPU is free"
        print(
            f"sampling: stream triad slower by {beside['median']:+.3%} ({beside['low']:+.3%} to {beside['high']:+.3%}, "
            f"{beside['pairs']} pairs, sampler {where}; goal below {GOAL_SLOWDOWN:.1%})"
        )


if __name__ == "__main__":
    main()
