"""Joules from one simulated RAPL counter: ours beside codecarbon and perun, over wraps, unseen wraps and failed reads.

    python scripts/bench/counters.py [--json] [--peers /path/to/venv/bin/python]

All read the same powercap tree (a folder with one package of 32 bits x 61.035 uJ, modulus 262 143 J: the kernel cuts the
unit, 2^-14 J, to whole nanojoules), in which a load with a known energy counts. A failed read is an empty file, as a driver
leaves that answers nothing. Time is simulated, so that hours pass in a second. The peers live in a venv of their own, since
their dependencies are many:

    python3 -m venv peers && peers/bin/pip install codecarbon perun
    python scripts/bench/counters.py --peers peers/bin/python

codecarbon is driven through IntelRAPL.start() and get_cpu_details(), perun through its PowercapRAPLBackend's sensor and
processEnergyData(): what their monitors call, without their threads. Ours is the meter rapl and energy.counters.unroll.
The exit code is 1 where ours loses or invents energy, or does not say that it is unsure.
"""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

RANGE_UJ = 262_143_328_850  # max_energy_range_uj: one unit less than the modulus
UNIT_UJ = 61.035
MOST_W = 350.0

Step = tuple[float, str]  # seconds, text of energy_uj


def scenarios(seed: int) -> dict[str, dict[str, Any]]:
    """Name -> what the file says at each read, and the energy that truly flowed between the first and the last read."""
    found = {}
    for name, every_s, hours, failing, reset_at in (
        ("each 10 s", 10.0, 2.0, 0.0, None),
        ("each 10 s, one read in ten fails", 10.0, 2.0, 0.1, None),
        ("each 10 s, reads fail for ten minutes", 10.0, 2.0, -600.0, None),
        ("each 30 min: wraps unseen", 1800.0, 24.0, 0.0, None),
        ("each 30 min: wraps unseen, a wattmeter beside", 1800.0, 24.0, 0.0, None),
        ("each 10 s, the counter begins anew", 10.0, 2.0, 0.0, 3600.0),
    ):
        found[name] = scenario(random.Random(f"{seed}/{name}"), every_s, hours, failing, reset_at)
        found[name]["beside"] = "wattmeter" in name
    return found


def scenario(
    dice: random.Random, every_s: float, hours: float, failing: float, reset_at: float | None
) -> dict[str, Any]:
    """A load that changes each ten seconds between 90 and 340 W, read every ``every_s``."""
    count = round(hours * 3600 / every_s)
    steps: list[Step] = []
    joules, truth, second = 200_000.0, 0.0, []
    lost_until = -1.0
    for n in range(count + 1):
        t = n * every_s
        if n:
            for part in range(round(every_s / 10)):
                watts = 215 + 125 * math.sin(t / 500) * dice.random()
                second.append((t - every_s + 10 * (part + 1), watts * (1 + 0.02 * dice.uniform(-1, 1))))
                joules += watts * 10
                truth += watts * 10
        if reset_at is not None and t == reset_at:
            joules = 0.0
        fails = 0 < n < count and failing > 0 and dice.random() < failing
        if failing < 0 and lost_until < 0 and t >= 2000:
            lost_until = t - failing
        fails = fails or t < lost_until
        raw_uj = int(math.floor(joules * 1e6 / UNIT_UJ) % 2**32 * UNIT_UJ)
        steps.append((t, "" if fails else f"{raw_uj}\n"))
    return {"steps": steps, "truth_j": truth, "second": second, "every_s": every_s}


def tree(root: Path, first: str) -> Path:
    """The powercap tree; returns the counter's file."""
    zone = root / "intel-rapl:0"
    zone.mkdir(parents=True)
    (zone / "name").write_text("package-0\n")
    (zone / "max_energy_range_uj").write_text(f"{RANGE_UJ}\n")
    (zone / "constraint_0_power_limit_uw").write_text(f"{round(MOST_W / 2 * 1e6)}\n")
    (zone / "energy_uj").write_text(first)
    return zone / "energy_uj"


def played(steps: list[Step], root: Path, begin: Callable[[], Any], look: Callable[[Any, float, float], None]) -> None:
    """Write what the counter says at each step and let a tool look at it: look(tool, time, seconds since the last look)."""
    file = tree(root, steps[0][1])
    tool = begin()
    last = steps[0][0]
    for t, text in steps:
        with open(file, "r+") as counter:  # in place: some keep the file open
            counter.truncate()
            counter.write(text)
        look(tool, t, t - last)
        last = t


# -------------------------------------------------------------------------------------------------------------------- ours


def ours(case: dict[str, Any], root: Path) -> dict[str, Any]:
    """The meter rapl and the wraps taken out."""
    import numpy as np

    from shakedown.energy.counters import unroll
    from shakedown.hosts.access import LocalHost
    from shakedown.metering import meters
    from shakedown.metering.trace import trace

    class Later(LocalHost):
        ns = 0

        def now_ns(self) -> int:
            return self.ns

    door = Later()
    rows: list[Any] = []

    def look(source: Any, t: float, _: float) -> None:
        door.ns = round(t * 1e9)
        rows.extend(source.read())

    def begin() -> Any:
        target = meters.Target(meter="rapl", address=str(root))
        source = meters.get("rapl").open(target, door)
        channels.extend(source.channels)
        return source

    channels: list[Any] = []
    played(case["steps"], root, begin, look)
    values = [math.nan if one.value is None else one.value for one in rows]
    seen = trace(channels[0], [one.before_ns for one in rows], values, status=[one.status for one in rows])
    second = None
    if case["beside"]:
        power = meters.Channel(id="pdu/power", title="p", quantity="power", unit="W", scope="last", place="node")
        stamps, watts = zip((0.0, case["second"][0][1]), *case["second"], strict=True)
        second = trace(power, (np.array(stamps) * 1e9).astype(np.int64), watts)
    found = unroll(seen, second=second)
    least, most = found.between()
    return {"least_j": least, "most_j": most, "said": [one.code for one in found.notices()]}


# ------------------------------------------------------------------------------------------------------------------- peers


def codecarbon(case: dict[str, Any], root: Path) -> float:
    """The sum of the energies that IntelRAPL reports, in J."""
    from codecarbon.core.cpu import IntelRAPL  # type: ignore[import-not-found]
    from codecarbon.core.units import Time  # type: ignore[import-not-found]

    total = 0.0

    def begin() -> Any:
        tool = IntelRAPL(rapl_dir=str(root))
        tool.start()
        return tool

    def look(tool: Any, t: float, passed: float) -> None:
        nonlocal total
        if t > 0:
            details = tool.get_cpu_details(Time(seconds=passed))
            total += 3.6e6 * sum(value for name, value in details.items() if "Energy" in name)

    played(case["steps"], root, begin, look)
    return total


def perun(case: dict[str, Any], root: Path) -> float:
    """The energy that perun makes of the values that its sensor read, in J."""
    import numpy as np
    from perun.backend import powercap_rapl  # type: ignore[import-not-found]
    from perun.data_model.data import RawData  # type: ignore[import-not-found]
    from perun.data_model.measurement_type import Magnitude, MetricMetaData, Unit  # type: ignore[import-not-found]
    from perun.processing import processEnergyData  # type: ignore[import-not-found]

    powercap_rapl.RAPL_PATH = str(root)
    values: list[Any] = []
    times: list[float] = []

    def begin() -> Any:
        backend = powercap_rapl.PowercapRAPLBackend()
        backend.setup()
        (sensor,) = backend.getSensors(set(backend.devices))
        return sensor

    def look(sensor: Any, t: float, _: float) -> None:
        kinds.append(sensor.dataType)
        times.append(t)
        values.append(sensor.read())

    kinds: list[Any] = []
    played(case["steps"], root, begin, look)
    seconds = MetricMetaData(
        Unit.SECOND, Magnitude.ONE, np.dtype("float32"), np.float32(0), np.float32(1e9), np.float32(-1)
    )
    raw = RawData(np.array(times), np.array(values, dtype=np.uint64), seconds, kinds[0])
    return float(processEnergyData(raw)[0])


def as_peer(name: str) -> None:
    """In the peers' own interpreter: scenarios on standard input, energies on standard output."""
    import logging

    logging.disable(logging.CRITICAL)
    tool = {"codecarbon": codecarbon, "perun": perun}[name]
    out: dict[str, Any] = {}
    for key, case in json.load(sys.stdin).items():
        with tempfile.TemporaryDirectory() as root:
            try:
                out[key] = tool(case, Path(root) / "powercap")
            except Exception as error:
                out[key] = f"{type(error).__name__}: {error}"
    print(json.dumps(out))


def of_peer(python: str, name: str, found: dict[str, Any]) -> dict[str, Any]:
    """What a peer makes of the scenarios, or why there is nothing."""
    done = subprocess.run(
        [python, __file__, "--peer", name], input=json.dumps(found), capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no word"])[-1]
        return dict.fromkeys(found, f"did not run: {last}")
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


# ------------------------------------------------------------------------------------------------------------------- table


def main() -> None:
    if sys.argv[1:2] == ["--peer"]:  # in the peers' own interpreter, which has nothing of ours
        as_peer(sys.argv[2])
        return
    import common
    from common import Option

    asked = common.arguments(
        __doc__,
        peers=Option("", help="the Python of a venv with codecarbon and perun"),
        seed=Option(1),
    )
    found = scenarios(asked.seed)
    table = {}
    peers = {name: of_peer(asked.peers, name, found) for name in ("codecarbon", "perun")} if asked.peers else {}
    for name, case in found.items():
        with tempfile.TemporaryDirectory() as root:
            mine = ours(case, Path(root) / "powercap")
        table[name] = {
            "truth_j": case["truth_j"],
            "ours": mine,
            **{peer: answer[name] for peer, answer in peers.items()},
        }
    if asked.json:
        print(json.dumps(table))
    else:
        show(table, bool(peers))
    sys.exit(1 if any(wrong(row) for row in table.values()) else 0)


def wrong(row: dict[str, Any]) -> bool:
    """Whether ours lost or invented energy: the truth outside its bounds, or bounds that part without a word."""
    mine, slack = row["ours"], 2 * UNIT_UJ * 1e-6
    outside = not mine["least_j"] - slack <= row["truth_j"] <= mine["most_j"] + slack
    return outside or (mine["most_j"] - mine["least_j"] > slack and not mine["said"])


def show(table: dict[str, dict[str, Any]], peers: bool) -> None:
    for name, row in table.items():
        truth, mine = row["truth_j"], row["ours"]
        print(f"\n{name}: truth {truth:,.0f} J")
        least, most = mine["least_j"], mine["most_j"]
        bounds = (
            f"{least:,.0f} J"
            if most - least < 1e-3
            else f"{least:,.0f} to {most:,.0f} J, said: {', '.join(mine['said'])}"
        )
        print(f"  {'ours':<12} {bounds}" + (f" ({least / truth - 1:+.4%})" if most - least < 1e-3 else ""))
        for peer in ("codecarbon", "perun"):
            if peer in row:
                value = row[peer]
                told = f"{value:,.0f} J ({value / truth - 1:+.4%}), nothing said" if isinstance(value, float) else value
                print(f"  {peer:<12} {told}")
    if not peers:
        print("\ncodecarbon and perun: left out; next: --peers PYTHON (see --help of this script's docstring)")


if __name__ == "__main__":
    main()
