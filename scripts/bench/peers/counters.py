"""Joules from one simulated RAPL counter: ours beside codecarbon and perun, over wraps, unseen wraps and failed reads.

All read the same powercap tree (a folder with one package of 32 bits x 61.035 uJ, modulus 262 143 J: the kernel cuts the
unit, 2^-14 J, to whole nanojoules), in which a load with a known energy counts. A failed read is an empty file, as a driver
leaves that answers nothing. Time is simulated, so that hours pass in a second. The peers live in a venv of their own, since
their dependencies are many:

    python3 -m venv peers && peers/bin/pip install codecarbon perun
    python scripts/bench/paired.py counters --peers peers/bin/python

codecarbon is driven through IntelRAPL.start() and get_cpu_details(), perun through its PowercapRAPLBackend's sensor and
processEnergyData(): what their monitors call, without their threads. Ours is the meter rapl and energy.counters.unroll: the
least and the most that may have flowed, with what it says of them. The exit code is 1 where ours loses or invents energy, or
does not say that it is unsure.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import common
import numpy as np
import rapl_peers
from common import Option

from shakedown.energy.counters import unroll
from shakedown.hosts.access import LocalHost
from shakedown.metering import meters
from shakedown.metering.trace import trace

from . import Figure, Group, Pass, Rates, Row

UNIT_UJ = 61.035
PEERS = ("codecarbon", "perun")

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


def ours(case: dict[str, Any]) -> Rates:
    """The meter rapl and the wraps taken out. Raises Wrong where energy is lost or invented: the truth lies outside the
    bounds, or these part without a word."""

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
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "powercap"
        rapl_peers.played(case["steps"], root, begin, look)
    values = [math.nan if one.value is None else one.value for one in rows]
    seen = trace(channels[0], [one.before_ns for one in rows], values, status=[one.status for one in rows])
    second = None
    if case["beside"]:
        power = meters.Channel(id="pdu/power", title="p", quantity="power", unit="W", scope="last", place="node")
        stamps, watts = zip((0.0, case["second"][0][1]), *case["second"], strict=True)
        second = trace(power, (np.array(stamps) * 1e9).astype(np.int64), watts)
    found = unroll(seen, second=second)
    least, most = found.between()
    said, slack = ", ".join(one.code for one in found.notices()), 2 * UNIT_UJ * 1e-6
    if not least - slack <= case["truth_j"] <= most + slack or (most - least > slack and not said):
        raise common.Wrong(f"{least} to {most} J, and not {case['truth_j']} J; said: {said}")
    beyond = {"beyond the truth": least / case["truth_j"] - 1} if most - least < 1e-3 else {}
    return {f"ours: {said}": {"least": least, "most": most, **beyond}}


def theirs(python: str, name: str, case: dict[str, Any]) -> Rates:
    text = common.output([python, rapl_peers.__file__, name], input=json.dumps(case["steps"]))
    joules = float(json.loads(text.strip().splitlines()[-1]))
    return {name: {"energy": joules, "beyond the truth": joules / case["truth_j"] - 1}}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    joules = dict.fromkeys(("least", "most", "energy"), Figure("J", better=""))
    figures = {**joules, "beyond the truth": Figure("%", 100, better="")}
    needs = {asked.peers or "codecarbon-and-perun": "a venv with codecarbon and perun, named by --peers"}
    for name, case in scenarios(asked.seed).items():
        passes = [Pass(peer, partial(theirs, asked.peers, peer, case), needs) for peer in PEERS]
        title = f"{name}: truth {case['truth_j']:,.0f} J"
        yield Group(title, figures, [Pass("ours", partial(ours, case)), *passes], ["ours"], rounds=1, alone=True)


ROW = Row(
    groups,
    rounds=1,
    options={"peers": Option("", help="the Python of a venv with codecarbon and perun"), "seed": Option(1)},
)
