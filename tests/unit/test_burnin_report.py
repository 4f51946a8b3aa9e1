"""Burn-in: what a failure is called in one line, and how much memory is tested in a short time."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown.operate.burnin import options, report
from shakedown.operate.burnin.records import (
    Begin,
    BurninPlan,
    Device,
    End,
    Minute,
    Stage,
    Symptom,
    SymptomEntry,
    Turn,
    WorkerEnd,
)
from shakedown.operate.burnin.state import fold
from shakedown.operate.health.node_access import NodeAccess

DEVICES = tuple(Device(id=f"cpu:{cpu}", title=f"CPU {cpu}", cpus=(cpu,)) for cpu in (0, 1))


@pytest.mark.parametrize("device", ["cpu:1", "node"])
def test_a_failed_burn_in_says_its_first_symptom_whoever_has_it(device: str) -> None:
    planned = BurninPlan(
        version="1", host="n1", devices=DEVICES, seconds=10, stages=(Stage(work="product", seconds=60),)
    )
    symptom = Symptom(at_s=103, device=device, kind="kernel", severity="critical", what="machine check in bank 7")
    done = {one.id: WorkerEnd(products=1, flop=1.0, product_s=1.0) for one in DEVICES}
    entries = [
        Begin(at_s=100),
        *(Turn(at_s=101, device=one.id, state="running") for one in DEVICES),
        SymptomEntry(symptom=msgspec.structs.replace(symptom, since_start_s=3)),
        *(Turn(at_s=110, device=one.id, state="ended") for one in DEVICES),
        Minute(at_s=110, done=done, figures={}),
        End(at_s=110, why="time"),
    ]
    found = fold(planned, entries).report()
    assert found.judgement == "failed"
    assert report.in_brief(found) == f"failed; first {device}, 3.0 s after the start: machine check in bank 7"
    whole = fold(planned, [one for one in entries if not isinstance(one, SymptomEntry)]).report()
    assert whole.judgement == "passed" and report.in_brief(whole) == ""


# -------------------------------------------------------------------------------------------------- memory of short runs


def machine(tmp_path: Path, limit: str = "") -> NodeAccess:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 67108864 kB\nMemAvailable: 67108864 kB\n")  # 64 GiB
    if limit:
        (tmp_path / "proc/mounts").write_text("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
        (tmp_path / "proc/self").mkdir()
        (tmp_path / "proc/self/cgroup").write_text("0::/job\n")
        (tmp_path / "sys/fs/cgroup/job").mkdir(parents=True)
        (tmp_path / "sys/fs/cgroup/job/memory.max").write_text(limit)
    return NodeAccess(str(tmp_path))


def test_a_short_burn_in_does_not_spend_its_time_on_filling_memory(tmp_path: Path) -> None:
    senses = machine(tmp_path)
    short = options.BurninOptions(time="10s", devices="cpu")
    planned = options.plan(short, senses, (0, 1))
    assert 100e6 < planned.memory_bytes <= 0.1 * 10 * 0.2e9
    assert "--memory" in options.remark(short, planned)
    told = options.BurninOptions(time="10s", devices="cpu", memory="4 GiB")
    assert options.plan(told, senses, (0, 1)).memory_bytes == 4 << 30
    assert options.remark(told, options.plan(told, senses, (0, 1))) == ""
    long = options.BurninOptions(time="1h", devices="cpu")
    assert options.plan(long, senses, (0, 1)).memory_bytes == 16 << 30
    assert options.remark(long, options.plan(long, senses, (0, 1))) == ""


def test_a_job_s_own_limit_of_memory_counts(tmp_path: Path) -> None:
    senses = machine(tmp_path, str(8 << 30))
    assert options.plan(options.BurninOptions(devices="cpu"), senses, (0, 1)).memory_bytes == 2 << 30
