"""GPUs: from recorded nvidia-smi, from a library that is made up, and what is concluded."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from shakedown.hosts import nvidia, nvidia_smi
from shakedown.hosts.access import Result
from shakedown.hosts.gpu_state import GpuState as Gpu
from shakedown.hosts.gpu_state import states
from shakedown.operate.health.checks import gpus
from shakedown.operate.health.growth import DAY_S, Counters
from shakedown.operate.health.node_access import NodeAccess
from shakedown.operate.health.records import CheckContext, Finding, Outcome

NOW = 1_700_000_000.0
WELL = Gpu(
    index=0,
    pci="0000:9b:00",
    name="NVIDIA H200",
    driver="570.1",
    memory_bytes=141 << 30,
    generation=5,
    generation_max=5,
    width=16,
    width_max=16,
    replays=0,
    temperature_c=40.0,
    slowdown_c=90.0,
    power_w=80.0,
    busy=0.0,
    ecc=True,
    uncorrected=0,
    corrected=0,
    links_up=18,
    links=18,
)


def from_xml(text: str) -> tuple[Gpu, ...]:
    return states(nvidia_smi.parse(text))


def wrong(plan: dict[str, Any] | None = None, **changed: Any) -> dict[str, Finding]:
    one = msgspec.structs.replace(WELL, **changed)
    found = gpus.judge(one, msgspec.convert(plan or {}, gpus.GpusConfig), Counters({}, NOW, DAY_S))
    return {
        finding.item.removeprefix("GPU 0000:9b:00").strip(): finding for finding in found if finding.severity != "OK"
    }


class Machine(NodeAccess):
    """A bus with so many GPUs, and what nvidia-smi prints."""

    library: Any = None
    said: Result | None = None

    def which(self, name: str) -> str | None:
        return "/usr/bin/nvidia-smi" if self.said and name == "nvidia-smi" else None

    def run(self, argv: Any, limit_s: float = 3.0) -> Result:
        assert self.said is not None
        return self.said

    def nvml(self) -> Any:
        return self.library


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    for n in range(4):
        folder = tmp_path / f"sys/bus/pci/devices/0000:0{n}:00.0"
        folder.mkdir(parents=True)
        (folder / "vendor").write_text("0x10de\n")
        (folder / "class").write_text("0x030200\n")
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia/version").write_text("NVRM version: 570.1\n")
    return Machine(str(tmp_path))


def check(machine: Machine, **plan: Any) -> Outcome:
    return gpus.run(CheckContext(machine, msgspec.convert(plan, gpus.GpusConfig), {}, NOW, "b"))


# ------------------------------------------------------------------------------------------------------------ recordings


def test_a_recorded_t4_sits_in_a_slot_of_eight_lanes(recordings: Path) -> None:
    (one,) = from_xml((recordings / "gpu/nvidia-smi-tesla-t4.xml").read_text())
    assert (one.pci, one.name, one.driver) == ("0000:00:1e", "Tesla T4", "515.105.01")
    assert (one.generation, one.width, one.width_max, one.replays) == (3, 8, 16, 0)
    assert (one.temperature_c, one.slowdown_c, one.power_w, one.power_limit_w) == (40, 93, 26.78, 70)
    assert (one.ecc, one.uncorrected, one.corrected, one.retired, one.remap_pending) == (True, 0, 0, 0, False)
    assert (one.busy, one.slowed, one.lost) == (0.0, 0, "")
    counters = Counters({}, NOW, DAY_S)
    assert [finding.severity for finding in gpus.judge(one, gpus.GpusConfig(), counters)] == ["WARNING"]
    assert [finding.severity for finding in gpus.judge(one, gpus.GpusConfig(pcie_width=8), counters)] == ["OK"]


def test_recorded_a100s_under_mig(recordings: Path) -> None:
    found = from_xml((recordings / "gpu/nvidia-smi-a100-sxm4-v12.xml").read_text())
    assert found and all(one.name == "NVIDIA A100-SXM4-80GB" and one.ecc for one in found)
    one = found[0]
    assert (one.busy, one.power_w, one.memory_bytes, one.reset_required) == (None, 67.03, 81920 << 20, False)
    assert (one.memory_temperature_c, one.remapped, one.retired) == (44, None, None)


@pytest.mark.parametrize(
    ("pattern", "instead", "item", "severity"),
    [
        (r"(hw_thermal_slowdown>)Not Active", r"\1Active", "slowed", "CRITICAL"),
        (r"(sw_thermal_slowdown>)Not Active", r"\1Active", "slowed", "WARNING"),
        (r"(sw_power_cap>)Not Active", r"\1Active", "", ""),
        (r"(<volatile>.*?<dram_uncorrectable>)0", r"\g<1>2", "ECC uncorrected", "CRITICAL"),
        (
            r"<remapped_rows>N/A",
            "<remapped_rows><remapped_row_pending>Yes</remapped_row_pending>",
            "row remap pending",
            "WARNING",
        ),
        (
            r"<remapped_rows>N/A",
            "<remapped_rows><remapped_row_failure>Yes</remapped_row_failure>",
            "row remap",
            "CRITICAL",
        ),
        (r"(<retired_count>)0", r"\g<1>64", "retired pages", "CRITICAL"),
        (r"(<gpu_temp>)40", r"\g<1>95", "temperature", "CRITICAL"),
        (r"(<gpu_temp>)40 C", r"\1N/A", "temperature", "UNKNOWN"),
    ],
)
def test_what_is_wrong_in_the_xml_is_found(
    recordings: Path, pattern: str, instead: str, item: str, severity: str
) -> None:
    text = (recordings / "gpu/nvidia-smi-tesla-t4.xml").read_text()
    changed = re.sub(pattern, instead, text, count=1, flags=re.DOTALL)
    assert changed != text
    (one,) = from_xml(changed)
    found = gpus.judge(one, gpus.GpusConfig(pcie_width=8), Counters({}, NOW, DAY_S))
    assert [(finding.item, finding.severity) for finding in found if finding.severity != "OK"] == (
        [(f"GPU 0000:00:1e {item}", severity)] if item else []
    )


def test_a_gpu_that_nvidia_smi_calls_lost(recordings: Path) -> None:
    text = (recordings / "gpu/nvidia-smi-tesla-t4.xml").read_text()
    (one,) = from_xml(text.replace("<gpu_temp>40 C<", "<gpu_temp>GPU is lost<"))
    assert one.lost == "GPU is lost"


def test_what_is_no_xml_is_said() -> None:
    with pytest.raises(ValueError, match="no XML"):
        from_xml("Segmentation fault")


# ------------------------------------------------------------------------------------------------------------- judgement


def test_a_gpu_that_is_well_is_one_finding() -> None:
    assert wrong() == {}


@pytest.mark.parametrize(
    ("plan", "changed", "item", "severity"),
    [
        ({}, {"width": 8}, "PCIe width", "WARNING"),
        ({"pcie_width": 16}, {"width": 8}, "PCIe width", "CRITICAL"),
        ({"pcie_width": 16}, {"width": None}, "PCIe width", "UNKNOWN"),
        ({}, {"generation": 1, "busy": 0.9}, "PCIe generation", "WARNING"),
        ({"pcie_generation": 5}, {"generation": 3, "busy": 0.9}, "PCIe generation", "CRITICAL"),
        ({"nvlinks": 18}, {"links_up": 17}, "NVLink", "CRITICAL"),
        ({}, {"links_up": 17}, "NVLink", "WARNING"),
        ({"nvlinks": 18}, {"links_up": None, "links": None}, "NVLink", "UNKNOWN"),
        ({"name": "NVIDIA H100"}, {}, "name", "CRITICAL"),
        ({"driver": "580.2"}, {}, "driver", "WARNING"),
        ({"ecc": True}, {"ecc": False}, "ECC", "CRITICAL"),
        ({"ecc": True}, {"ecc": None}, "ECC", "UNKNOWN"),
        ({"memory": "141 GiB"}, {"memory_bytes": 80 << 30}, "memory", "CRITICAL"),
        ({"power_limit_w": 700}, {"power_limit_w": 400.0}, "power limit", "WARNING"),
        ({}, {"slowed": 0x80}, "slowed", "CRITICAL"),
        ({}, {"slowed": 0x20}, "slowed", "WARNING"),
        ({}, {"temperature_c": 88.0}, "temperature", "WARNING"),
        ({}, {"reset_required": True}, "reset", "CRITICAL"),
    ],
)
def test_what_is_not_as_it_should_be(plan: dict[str, Any], changed: dict[str, Any], item: str, severity: str) -> None:
    found = wrong(plan, **changed)
    assert {name: one.severity for name, one in found.items()} == {item: severity}
    assert severity == "UNKNOWN" or found[item].action


def test_a_link_at_rest_and_a_power_cap_are_no_faults() -> None:
    assert wrong(generation=1, busy=0.0) == {} and wrong({"pcie_generation": 5}, generation=1, busy=0.0) == {}
    assert wrong(slowed=0x01 | 0x04) == {}


def test_replays_count_within_a_day() -> None:
    kept: dict[str, Any] = {}
    seen = []
    for n, replays in enumerate((100000, 100050, 100500)):
        counters = Counters(kept, NOW + n * 600, DAY_S)
        found = gpus.judge(msgspec.structs.replace(WELL, replays=replays), gpus.GpusConfig(), counters)
        kept = counters.kept
        seen.append({one.severity for one in found})
    assert seen == [{"OK"}, {"OK"}, {"WARNING"}]


# ------------------------------------------------------------------------------------------------------- the whole check


class NVMLError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(f"error {value}")
        self.value = value


def library(lost: int | None = None, start: Exception | None = None) -> Any:
    """Four GPUs, as far as the check asks; one may be lost."""

    def init() -> None:
        if start:
            raise start

    def temperature(device: int, sensor: int) -> int:
        if device == lost:
            raise NVMLError(15)
        return 40

    def refused(*arguments: Any) -> Any:
        raise NVMLError(3)

    known = {
        "nvmlInit": init,
        "nvmlSystemGetDriverVersion": lambda: b"570.1",
        "nvmlDeviceGetCount": lambda: 4,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetPciInfo": lambda index: SimpleNamespace(busId=f"00000000:0{index}:00.0".encode()),
        "nvmlDeviceGetTemperature": temperature,
        "nvmlDeviceGetName": lambda index: "NVIDIA H200",
        "nvmlDeviceGetUtilizationRates": lambda index: SimpleNamespace(gpu=90 if index < 3 else 10),
        "nvmlDeviceGetPowerUsage": lambda index: 350000,
        "nvmlDeviceGetNvLinkState": lambda index, link: int(link < 2),
        "nvmlDeviceGetRemappedRows": lambda index: (0, 1, 1, 0),
    }
    constants = {
        "NVML_ERROR_GPU_IS_LOST": 15,
        "NVML_ERROR_UNKNOWN": 999,
        "NVML_NVLINK_MAX_LINKS": 2,
        "NVML_TEMPERATURE_GPU": 0,
        "NVML_TEMPERATURE_THRESHOLD_SLOWDOWN": 1,
        "NVML_MEMORY_ERROR_TYPE_UNCORRECTED": 1,
        "NVML_MEMORY_ERROR_TYPE_CORRECTED": 0,
        "NVML_VOLATILE_ECC": 0,
        "NVMLError": NVMLError,
    }
    asked = (
        "EnforcedPowerLimit EccMode CurrPcieLinkGeneration MaxPcieLinkGeneration CurrPcieLinkWidth MaxPcieLinkWidth "
        "PcieReplayCounter TemperatureThreshold TotalEccErrors CurrentClocksThrottleReasons PersistenceMode MemoryInfo"
    )
    rest = {f"nvmlDeviceGet{name}": refused for name in asked.split()}
    return SimpleNamespace(**{**rest, **known, **constants})


def test_the_library_is_asked_and_what_it_refuses_is_not_known() -> None:
    notes: list[str] = []
    found = states(nvidia.driver(library(), notes.append, whole=False))
    assert [one.pci for one in found] == [f"0000:0{n}:00" for n in range(4)]
    one = found[0]
    assert (one.power_w, one.busy, one.links_up, one.links) == (350.0, 0.9, 2, 2)
    assert (one.remapped, one.remap_pending, one.remap_failed) == (1, True, False)
    assert (one.ecc, one.width, one.uncorrected, one.persistence) == (None, None, None, None)
    assert notes[0] == "NVML: GPU 0" and notes[-1] == "NVML: GPU 3 0000:03:00"


def test_the_questions_that_we_ask_are_those_of_the_library_that_is_installed() -> None:
    pynvml = pytest.importorskip("pynvml")
    made = library()
    missing = [name for name in vars(made) if name.startswith(("nvml", "NVML")) and not hasattr(pynvml, name)]
    assert missing == []


def test_a_gpu_that_is_lost_is_critical_and_no_witness_of_load(machine: Machine) -> None:
    machine.library = library()
    whole = check(machine)
    assert whole.load == {"gpus": 4.0, "gpus_busy": 3.0, "gpu_power_w": 1400.0}
    machine.library = library(lost=2)
    found = check(machine)
    ill = {one.item: one for one in found.findings if one.severity == "CRITICAL"}
    assert set(ill) == {"GPU 0000:02:00", "count by the driver"} and found.load == {}
    assert ill["count by the driver"].what == "GPUs that the driver shows: 3 instead of 4"


def test_a_gpu_that_the_bus_does_not_show_any_more(machine: Machine) -> None:
    machine.library = library()
    found = {one.item: one.severity for one in check(machine, count=8).findings}
    assert found["count by the bus"] == found["count by the driver"] == "CRITICAL"


def test_a_driver_that_does_not_answer_is_ill_and_no_means_to_ask_is_unknown(machine: Machine, tmp_path: Path) -> None:
    (one,) = check(machine).findings
    assert one.severity == "UNKNOWN" and "installed" in one.what
    machine.said = Result(9, "", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")
    (one,) = check(machine).findings
    assert one.severity == "CRITICAL" and "the driver is not loaded" in one.what
    machine.said = Result(None, "", "no answer within 3 s")
    assert check(machine).findings[0].severity == "CRITICAL"
    machine.said = Result(4, "", "")
    assert check(machine).findings[0].severity == "UNKNOWN"
    machine.library = library(start=NVMLError(999))
    assert check(machine).findings[0].severity == "UNKNOWN"  # nvidia-smi, asked next, says that it may not look


def test_nvidia_smi_is_asked_where_there_is_no_library(machine: Machine, recordings: Path) -> None:
    machine.said = Result(0, (recordings / "gpu/nvidia-smi-tesla-t4.xml").read_text(), "")
    found = check(machine, count=1)
    assert {one.item for one in found.findings if one.severity == "CRITICAL"} == {"count by the bus"}
    assert found.learnt["name"] == "Tesla T4" and found.learnt["pcie_width"] == 8


def test_a_node_without_gpus_is_only_ill_where_the_plan_counts_some(tmp_path: Path) -> None:
    assert check(Machine(str(tmp_path))).absent
    assert [one.severity for one in check(Machine(str(tmp_path)), count=4).findings] == ["CRITICAL"]
