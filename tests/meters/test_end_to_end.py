"""One load drives every real server at once; what is read of each through the sampler must agree with the truth, within the
uncertainty that is stated for it."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from shakedown.energy import phase
from shakedown.energy.simulate import Load
from shakedown.metering import sampler as sampling
from shakedown.metering.meters import channel_key

from . import servers
from .servers import Device, Drive, Truth

#: Idle, a run of 6 s in two levels, idle.
IDLE_W, LOW_W, HIGH_W = 200.0, 500.0, 800.0
RUN_S, AFTER_S = 6.0, 3.5
#: How long the servers may take to come up, and on a busy machine.
LEADS_S = (12.0, 45.0)
TRUTHS = {
    "ipmi": Truth(refresh_s=0.5, window_s=0.5, resolution=1.0),
    "redfish": Truth(refresh_s=0.25, window_s=1.0, resolution=1.0, noise=0.5),
    "redfish-static": Truth(refresh_s=0.5, window_s=0.5, resolution=1.0),
    "snmp": Truth(refresh_s=0.5, window_s=0.5, resolution=1.0),
    "modbus": Truth(refresh_s=0.2, window_s=0.2, noise=0.3),
    "prometheus": Truth(refresh_s=0.2, window_s=0.2),
    "prometheus-energy": Truth(refresh_s=0.2),
}


@pytest.mark.system
def test_all_energies_agree_with_the_truth_within_their_uncertainty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("IPMI", "REDFISH", "SNMP"):
        monkeypatch.setenv(f"SHAKEDOWN_{name}_PASSWORD", servers.PASSWORD)
    for lead_s in LEADS_S:
        measured = measure(tmp_path / f"{lead_s:g}", lead_s)
        if measured is not None:
            break
    assert measured is not None, "the servers came up too late for the run's idle time, twice"
    truth_j, off = measured
    assert len(off) >= 12, off
    assert {key.rpartition(":")[2].partition("/")[0] for key in off} == {
        "ipmi",
        "redfish",
        "snmp",
        "modbus",
        "prometheus",
    }
    outside = {key: pair for key, pair in off.items() if abs(pair[0]) > pair[1]}
    assert len(outside) <= len(off) // 10, (truth_j, off)
    assert all(abs(error) <= 0.05 * truth_j for error, _ in off.values()), (truth_j, off)


def measure(folder: Path, lead_s: float) -> tuple[float, dict[str, tuple[float, float]]] | None:
    """The run's true energy, and by channel how far the measured one is off, beside its U. None where the servers came up
    after the run's idle time had begun."""
    folder.mkdir()
    load = Load(np.array([0.0, lead_s, lead_s + RUN_S / 2, lead_s + RUN_S]), np.array([IDLE_W, LOW_W, HIGH_W, IDLE_W]))
    with Drive(load, seconds=lead_s + 60.0) as drive:

        def devices(name: str) -> tuple[Device, Device]:
            truth = TRUTHS[name]
            counter = Truth(refresh_s=truth.refresh_s, resolution=1.0)
            return drive.device(truth, seed=1), drive.device(counter, "energy")

        begin_ns, end_ns = (drive.origin_ns + round(at * 1e9) for at in (lead_s, lead_s + RUN_S))
        with servers.everything(folder, devices, drive) as targets:
            parsed = sampling.resolve(list(targets.values()), servers.DOOR)
            with sampling.start(parsed, folder / "readings", interval_s=0.1) as sampler:
                assert sampler.refused == ()
                if time.time_ns() > begin_ns - 15 * 10**8:
                    return None
                time.sleep((end_ns - time.time_ns()) * 1e-9 + AFTER_S)
        truth_j = drive.energy_j(begin_ns, end_ns)
    idle = ((begin_ns - 15 * 10**8, begin_ns), (end_ns, end_ns + 3 * 10**9))
    off: dict[str, tuple[float, float]] = {}
    for trace in sampling.collect(folder / "readings"):
        if trace.channel.quantity not in ("power", "energy"):
            continue
        if (trace.channel.window_s or 0) > 30:
            continue  # a mean of minutes says nothing of six seconds
        if trace.channel.id == "ipmi/dcmi/average":
            continue  # the simulated controller shows its present power as the average of 5 s that it claims
        found = phase.energy_of(trace, begin_ns, end_ns, idle=idle)
        assert found.value is not None and found.expanded, (channel_key(trace.channel), found.notices)
        off[channel_key(trace.channel)] = (found.value - truth_j, found.expanded)
    return truth_j, off
