"""Burn-in: what two looks at the machine tell, through a made-up driver, a made-up kernel and the health checks' readers."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from shakedown.hosts.gpu_state import GpuState as Gpu
from shakedown.operate.burnin import symptoms
from shakedown.operate.burnin.monitor import Monitor, Snapshot, Watts
from shakedown.operate.burnin.records import NODE, BurninPlan, Device, Stage, Symptom
from shakedown.operate.health.kernellines import Cursor
from shakedown.operate.health.node_access import NodeAccess
from shakedown.operate.health.records import Occasion
from support.waiting import until

NOW = 1_700_000_000.0
PLAN = BurninPlan(
    version="1",
    host="n1",
    devices=(
        Device(id="gpu:0", title="GPU", pci="0000:9b:00", index=0),
        Device(id="gpu:1", title="GPU", pci="0000:9c:00", index=1),
        Device(id="cpu:0", title="CPU", cpus=(0, 4)),
    ),
    seconds=60,
    stages=(Stage(work="product", seconds=60),),
)
WELL = tuple(
    Gpu(index=at, pci=pci, temperature_c=70.0, power_w=690.0, uncorrected=0, corrected=3, replays=0)
    for at, pci in enumerate(("0000:9b:00", "0000:9c:00"))
)
BEFORE = Snapshot(
    at_s=NOW,
    gpus=WELL,
    memory={"DIMM_A1": (2, 0)},
    machine_checks={"MCE": 1, "DFR": 0},
    throttles={0: 5, 4: 5},
)


def after(**changes: Any) -> tuple[Symptom, ...]:
    now = msgspec.structs.replace(BEFORE, at_s=NOW + 5, **changes)
    return symptoms.symptoms(BEFORE, now, PLAN)


def changed(**changes: Any) -> tuple[Symptom, ...]:
    return after(gpus=(WELL[0], msgspec.structs.replace(WELL[1], **changes)))


def brief(found: tuple[Symptom, ...]) -> list[tuple[str, str, str]]:
    return [(one.device, one.kind, one.severity) for one in found]


def test_nothing_new_is_no_symptom() -> None:
    assert after() == ()
    assert changed(temperature_c=75.0, power_w=700.0, replays=50) == ()


def test_a_count_that_was_not_told_before_is_no_rise() -> None:
    """A driver that gives its counters at the second look only: these may all be old."""
    untold = msgspec.structs.replace(WELL[1], uncorrected=None, corrected=None, replays=None)
    before = msgspec.structs.replace(BEFORE, gpus=(WELL[0], untold))
    now = msgspec.structs.replace(
        before,
        at_s=NOW + 5,
        gpus=(WELL[0], msgspec.structs.replace(untold, uncorrected=2, corrected=90, replays=10**6)),
    )
    assert symptoms.symptoms(before, now, PLAN) == ()


@pytest.mark.parametrize(
    ("changes", "kind", "severity"),
    [
        ({"uncorrected": 1}, "ecc-uncorrected", "critical"),
        ({"corrected": 4}, "ecc-corrected", "warning"),
        ({"slowed": 0x20}, "slowed", "warning"),
        ({"slowed": 0x40}, "slowed", "critical"),
        ({"slowed": 0x80}, "slowed", "critical"),
        ({"slowed": 0x08}, "slowed", "critical"),
        ({"remap_failed": True}, "remap-failed", "critical"),
        ({"remap_pending": True}, "remap-pending", "warning"),
        ({"reset_required": True}, "reset-required", "critical"),
        ({"replays": 101}, "pcie-replays", "warning"),
        ({"lost": "GPU is lost"}, "lost", "critical"),
    ],
)
def test_what_becomes_worse_on_a_gpu_is_its_symptom(changes: dict[str, Any], kind: str, severity: str) -> None:
    (found,) = changed(**changes)
    assert (found.device, found.kind, found.severity) == ("gpu:1", kind, severity)
    assert found.at_s == NOW + 5 and found.action


def test_the_reasons_that_are_the_power_limit_or_rest_are_no_symptoms() -> None:
    assert changed(slowed=0x01 | 0x04) == ()


def test_what_was_so_before_is_not_told_again() -> None:
    hot = (WELL[0], msgspec.structs.replace(WELL[1], slowed=0x40, uncorrected=7, reset_required=True))
    before = msgspec.structs.replace(BEFORE, gpus=hot)
    assert symptoms.symptoms(before, msgspec.structs.replace(before, at_s=NOW + 5), PLAN) == ()
    words = " ".join(symptoms.notes(before))
    assert "7 uncorrected" in words and "too hot (hardware)" in words


def test_heat_that_nobody_watches_is_noted() -> None:
    words = " ".join(symptoms.notes(BEFORE))
    assert "no sensor of the node reports a temperature" in words and "slowed for heat" not in words
    cold = (WELL[0], msgspec.structs.replace(WELL[1], temperature_c=None))
    words = " ".join(
        symptoms.notes(msgspec.structs.replace(BEFORE, heat_c={"coretemp": 50.0}, throttles={}, gpus=cold))
    )
    assert "no sensor" not in words and "slowed for heat" in words
    assert "GPU 0000:9c:00 reports no temperature" in words and "9b" not in words
    assert "temperature" not in " ".join(symptoms.notes(Snapshot(missing={"machine": "no answer"})))


def test_a_gpu_that_is_shown_no_more_is_lost() -> None:
    (found,) = after(gpus=WELL[:1])
    assert (found.device, found.kind, found.severity) == ("gpu:1", "lost", "critical")


def test_a_driver_that_does_not_answer_is_the_fault_of_every_gpu() -> None:
    found = after(gpus=(), missing={"gpus": "no answer within 4 s, while NVML: GPU 1"})
    assert brief(found) == [("gpu:0", "driver", "critical"), ("gpu:1", "driver", "critical")]
    assert "no answer within 4 s" in found[0].what


def test_counters_of_the_host() -> None:
    assert brief(after(memory={"DIMM_A1": (3, 0)})) == [(NODE, "ecc-corrected", "warning")]
    assert brief(after(memory={"DIMM_A1": (2, 1)})) == [(NODE, "ecc-uncorrected", "critical")]
    assert brief(after(machine_checks={"MCE": 2, "DFR": 0})) == [(NODE, "machine-check", "critical")]
    assert brief(after(throttles={0: 6, 4: 6})) == [("cpu:0", "slowed", "warning")]
    assert after(machine_checks={}) == () and after(throttles={}) == ()


def test_a_part_that_cannot_be_seen_any_more_is_told_once_and_compared_with_nothing() -> None:
    found = after(memory={}, missing={"machine": "no answer"})
    assert brief(found) == [(NODE, "unseen", "warning")]
    blind = msgspec.structs.replace(BEFORE, missing={"machine": "no answer"})
    assert symptoms.symptoms(blind, msgspec.structs.replace(blind, at_s=NOW + 5), PLAN) == ()


def occasion(kind: str, code: int = 0, item: str = "", text: str = "line") -> Occasion:
    return Occasion(kind=kind, code=code, item=item, first_s=NOW + 2, last_s=NOW + 2, text=text)


def test_lines_of_the_kernel_go_to_the_device_that_they_name() -> None:
    found = after(
        faults=(
            occasion("xid", 48, "GPU 0000:9c:00"),
            occasion("gpu-lost", item="GPU 0000:9b:00"),
            occasion("mce"),
            occasion("xid", 13, "GPU 0000:9b:00"),  # a fault of a program: of no meaning for the machine
        )
    )
    assert brief(found) == [
        ("gpu:1", "kernel", "critical"),
        ("gpu:0", "kernel", "critical"),
        (NODE, "kernel", "warning"),
    ]
    assert found[0].at_s == NOW + 2 and "Xid 48" in found[0].what


def test_figures_are_those_of_the_devices() -> None:
    seen = msgspec.structs.replace(
        BEFORE, gpu_hz={1: 1.9e9}, cpu_hz={0: 2e9, 4: 2.5e9}, watts={"rapl/package-0": 200.0}
    )
    found = symptoms.figures(seen, PLAN)
    assert found["gpu:1"]["power_w"].high == 690 and found["gpu:1"]["clock_hz"].low == 1.9e9
    assert "clock_hz" not in found["gpu:0"]
    assert found["cpu:0"]["clock_hz"].high == 2.5e9
    assert found[NODE]["gpus power_w"].high == 1380 and found[NODE]["rapl/package-0 power_w"].high == 200


# ------------------------------------------------------------------------------------------------------------------ eyes


class Machine(NodeAccess):
    """Files below a folder, a driver that is made up, a kernel's log that grows."""

    library: Any = None
    lines: list[str]

    def which(self, name: str) -> str | None:
        return None

    def nvml(self) -> Any:
        return self.library

    def kernel_log(self) -> list[str] | None:
        return self.lines


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    for path, text in {
        "proc/uptime": "1000.0 1.0\n",
        "proc/interrupts": "MCE: 1 2  Machine check exceptions\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "2600000\n",
        "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "3\n",
        "sys/devices/system/edac/mc/mc0/dimm0/dimm_ce_count": "4\n",
        "sys/devices/system/edac/mc/mc0/dimm0/dimm_ue_count": "0\n",
        "sys/devices/system/edac/mc/mc0/dimm0/dimm_label": "DIMM_B2\n",
        "sys/class/hwmon/hwmon0/name": "coretemp\n",
        "sys/class/hwmon/hwmon0/temp1_input": "61000\n",
        "sys/class/hwmon/hwmon0/temp2_input": "nonsense\n",
    }.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    made = Machine(str(tmp_path))
    made.lines = ["6,1,100,-;old line", "3,2,200,-;NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus."]
    return made


def test_a_look_reads_every_part(machine: Machine) -> None:
    seen = Monitor(machine, limit_s=120.0).look(NOW)
    assert seen.missing == {}
    assert seen.cpu_hz == {0: 2.6e9} and seen.throttles == {0: 3}
    assert seen.memory == {"DIMM_B2": (4, 0)} and seen.machine_checks == {"MCE": 3}
    assert seen.heat_c == {"coretemp hwmon0 temp1": 61.0}


def test_only_lines_of_the_kernel_that_come_after_the_start_count(machine: Machine) -> None:
    eyes = Monitor(machine, limit_s=120.0)
    assert eyes.look(NOW).faults == ()
    machine.lines.append("3,3,300,-;NVRM: Xid (PCI:0000:9c:00): 48, pid=1, DBE")
    (found,) = eyes.look(NOW + 5).faults
    assert (found.kind, found.code, found.item) == ("xid", 48, "GPU 0000:9c:00")
    assert eyes.look(NOW + 10).faults == ()


def test_a_log_that_is_refused_is_missing_and_the_rest_is_seen(machine: Machine) -> None:
    def refuse() -> list[str] | None:
        raise PermissionError(1, "Operation not permitted")

    machine.kernel_log = refuse  # type: ignore[method-assign]
    seen = Monitor(machine, limit_s=120.0).look(NOW)
    assert "Operation not permitted" in seen.missing["kernel"] and seen.cpu_hz


def driver(uncorrected: int = 0, clock_mhz: int = 1980, hang: bool = False) -> Any:
    """NVML of one GPU."""

    class Error(Exception):
        value = 3

    def refuse(*arguments: Any) -> Any:
        raise Error

    def start() -> None:
        if hang:
            import time

            time.sleep(60)

    answers = {
        "nvmlInit": start,
        "nvmlSystemGetDriverVersion": lambda: "570.1",
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetPciInfo": lambda device: SimpleNamespace(busId="00000000:9B:00.0"),
        "nvmlDeviceGetTemperature": lambda device, sensor: 71,
        "nvmlDeviceGetTotalEccErrors": lambda device, kind, which: uncorrected if kind == 1 else 0,
        "nvmlDeviceGetClockInfo": lambda device, kind: clock_mhz,
        "nvmlDeviceGetPowerUsage": lambda device: 700_000,
    }
    constants = {
        "NVMLError": Error,
        "NVML_TEMPERATURE_GPU": 0,
        "NVML_TEMPERATURE_THRESHOLD_SLOWDOWN": 1,
        "NVML_MEMORY_ERROR_TYPE_CORRECTED": 0,
        "NVML_MEMORY_ERROR_TYPE_UNCORRECTED": 1,
        "NVML_VOLATILE_ECC": 0,
        "NVML_NVLINK_MAX_LINKS": 0,
    }

    class Library:
        def __getattr__(self, name: str) -> Any:
            return {**answers, **constants}.get(name, refuse)

    return Library()


def on_bus(machine: Machine) -> None:
    folder = Path(machine.root) / "sys/bus/pci/devices/0000:9b:00.0"
    folder.mkdir(parents=True)
    (folder / "vendor").write_text("0x10de\n")
    (folder / "class").write_text("0x030200\n")


def test_an_error_count_that_rises_in_the_driver_is_seen(machine: Machine) -> None:
    on_bus(machine)
    eyes = Monitor(machine, limit_s=120.0)
    machine.library = driver(0)
    before = eyes.look(NOW)
    assert before.gpus[0].temperature_c == 71 and before.gpu_hz == {0: 1.98e9}
    machine.library = driver(2)
    (found,) = symptoms.symptoms(before, eyes.look(NOW + 5), PLAN)
    assert (found.device, found.kind, found.severity) == ("gpu:0", "ecc-uncorrected", "critical")
    assert "2 uncorrected ECC errors" in found.what


def test_a_driver_that_hangs_costs_its_part_alone(machine: Machine) -> None:
    on_bus(machine)
    machine.library = driver(hang=True)
    seen = Monitor(machine, limit_s=8.0).look(NOW)  # long enough for the other parts on a busy machine
    assert "no answer within 8 s, while nvmlInit" in seen.missing["gpus"]
    assert seen.cpu_hz and seen.memory


def test_looks_leave_no_children(machine: Machine) -> None:
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    eyes = Monitor(machine, limit_s=120.0)
    before = set(children.read_text().split())
    for at in range(4):
        eyes.look(NOW + at)

    def left() -> set[str]:
        eyes.look(NOW + 10)  # takes what has ended
        return set(children.read_text().split()) - before

    until(lambda: not left(), what="a look leaves children", every_s=0.01)


def test_what_could_not_be_seen_does_not_move_the_cursor() -> None:
    assert Snapshot().cursor == Cursor()


# ----------------------------------------------------------------------------------------------------------------- power


class Counter:
    """An energy counter and a power, as a meter gives them."""

    channels = (
        SimpleNamespace(id="package", quantity="energy"),
        SimpleNamespace(id="board", quantity="power"),
        SimpleNamespace(id="heat", quantity="temperature"),
    )

    def __init__(self, *joules: float | None) -> None:
        self._joules, self._at = list(joules), 0

    def read(self) -> list[Any]:
        self._at += 1
        value = self._joules.pop(0)
        readings = ((0, value), (1, 120.0), (2, 60.0))
        return [SimpleNamespace(channel=at, value=one, after_ns=self._at * 2_000_000_000) for at, one in readings]

    def close(self) -> None:
        pass


def test_counters_become_means_and_a_counter_that_began_anew_is_left_out() -> None:
    watts = Watts([("rapl", Counter(100.0, 300.0, 50.0, None, 250.0))])
    assert watts.read() == {"board": 120.0}
    assert watts.read() == {"package": 100.0, "board": 120.0}
    assert watts.read() == {"board": 120.0}
    assert watts.read() == {"board": 120.0}
    assert watts.read() == {"package": 50.0, "board": 120.0}
