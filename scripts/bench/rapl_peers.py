"""codecarbon and perun on a simulated RAPL counter, in an interpreter of their own: nothing of ours is imported here.

Standard input: what the file says at each read, as JSON; standard output: the joules that the tool named makes of it. For
peers/counters.py.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

RANGE_UJ = 262_143_328_850  # max_energy_range_uj: one unit less than the modulus
MOST_W = 350.0

Steps = Sequence[Sequence[Any]]  # seconds, text of energy_uj


def tree(root: Path, first: str) -> Path:
    """The powercap tree; returns the counter's file."""
    zone = root / "intel-rapl:0"
    zone.mkdir(parents=True)
    (zone / "name").write_text("package-0\n")
    (zone / "max_energy_range_uj").write_text(f"{RANGE_UJ}\n")
    (zone / "constraint_0_power_limit_uw").write_text(f"{round(MOST_W / 2 * 1e6)}\n")
    (zone / "energy_uj").write_text(first)
    return zone / "energy_uj"


def played(steps: Steps, root: Path, begin: Callable[[], Any], look: Callable[[Any, float, float], None]) -> None:
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


def codecarbon(steps: Steps, root: Path) -> float:
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

    played(steps, root, begin, look)
    return total


def perun(steps: Steps, root: Path) -> float:
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
    played(steps, root, begin, look)
    seconds = MetricMetaData(
        Unit.SECOND, Magnitude.ONE, np.dtype("float32"), np.float32(0), np.float32(1e9), np.float32(-1)
    )
    raw = RawData(np.array(times), np.array(values, dtype=np.uint64), seconds, kinds[0])
    return float(processEnergyData(raw)[0])


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    tool = {"codecarbon": codecarbon, "perun": perun}[sys.argv[1]]
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(tool(json.load(sys.stdin), Path(folder) / "powercap")))
