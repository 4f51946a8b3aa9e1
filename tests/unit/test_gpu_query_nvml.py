"""The device query's library: what NVML says is kept whole, and named as the program names it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from shakedown.hosts import nvidia
from shakedown.machine import gpus
from shakedown.machine.gpu_settings import gpu_settings
from shakedown.records import Value


class WholeNvml:
    """A driver that answers every question."""

    class NVMLError(Exception):
        pass

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_NVLINK_MAX_LINKS, NVML_TEMPERATURE_GPU = 1, 2, 4, 0
    NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 0, 1
    NVML_VOLATILE_ECC, NVML_AGGREGATE_ECC = 0, 1

    def __getattr__(self, name: str) -> object:
        answers: dict[str, object] = {
            "nvmlSystemGetCudaDriverVersion_v2": 13000,
            "nvmlSystemGetDriverVersion": "580.65.06",
            "nvmlDeviceGetCount": 1,
            "nvmlDeviceGetHandleByIndex": "handle",
            "nvmlDeviceGetName": "NVIDIA H200",
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=150754820096, used=1 << 30),
            "nvmlDeviceGetPciInfo": SimpleNamespace(busId="00000000:1B:00.0"),
            "nvmlDeviceGetCudaComputeCapability": (9, 0),
            "nvmlDeviceGetNumGpuCores": 16896,
            "nvmlDeviceGetComputeMode": 3,
            "nvmlDeviceGetMigMode": (0, 1),
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=40, memory=10),
            "nvmlDeviceGetComputeRunningProcesses": ["one", "two"],
            "nvmlDeviceGetPowerUsage": 345000,
            "nvmlDeviceGetEnforcedPowerLimit": 600000,
            "nvmlDeviceGetPowerManagementDefaultLimit": 700000,
            "nvmlDeviceGetPowerManagementLimitConstraints": (200000, 700000),
            "nvmlDeviceGetCurrentClocksThrottleReasons": 0x04,
            "nvmlDeviceGetRemappedRows": (1, 2, 1, 0),
            "nvmlDeviceGetEccMode": (1, 0),
        }

        def answer(*arguments: object) -> object:
            if name == "nvmlDeviceGetNvLinkState":
                return 1 if arguments[1] != 3 else 0
            if name == "nvmlDeviceGetTotalEccErrors":
                return 10 * int(str(arguments[1])) + int(str(arguments[2]))
            if name not in answers:
                raise self.NVMLError("Not Supported")
            return answers[name]

        return answer


def test_all_that_the_library_answers() -> None:
    (found,), absent = gpus.parse_nvml(json.dumps(nvidia.driver(WholeNvml())))
    expected: dict[str, Value] = {
        "compute_mode": "exclusive process",
        "busy": 0.4,
        "processes": 2,
        "memory_used_bytes": 1 << 30,
        "power_w": 345.0,
        "power_limit_w": 600.0,
        "power_default_w": 700.0,
        "power_least_w": 200.0,
        "power_most_w": 700.0,
        "slowed_bits": 4,
        "rows_remapped": 3,
        "remap_pending": True,
        "remap_failed": False,
        "ecc": True,
        "ecc_pending": False,
        "ecc_corrected": 0,
        "ecc_uncorrected": 10,
        "ecc_corrected_ever": 1,
        "ecc_uncorrected_ever": 11,
        "nvlinks": 3,
        "nvlinks_all": 4,
    }
    assert absent == () and found.facts | expected == found.facts
    names = {one.name.removeprefix("GPU 0 ") for one in gpu_settings([found])}
    assert names == {"compute mode", "in use", "power limit", "ECC", "ECC errors", "row remapping", "NVLink"}


def test_the_fake_library_through_the_child(tmp_path: Path) -> None:
    import os

    from support import nvml as fake

    fake.build(tmp_path)
    fake.say(tmp_path / "values", fake.H100, {"handle": "lost"})
    env = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "FAKE_NVML": str(tmp_path / "values")}
    done = subprocess.run(gpus.NVML, capture_output=True, text=True, timeout=300, check=True, env=env)
    found, absent = gpus.parse_nvml(done.stdout)
    assert [one.name for one in found] == ["NVIDIA H100 PCIe"] and found[0].facts["power_w"] == 310.25
    assert [gap.why for gap in absent] == ["GPU is lost"]


def test_the_library_and_the_program_tell_of_a_gpu_in_the_same_words(recordings: Path) -> None:
    """One vocabulary: what both readers tell stands under one name, and the state that is judged is the same."""
    from shakedown.hosts import nvidia_smi
    from shakedown.hosts.gpu_state import GpuState, states

    said = nvidia_smi.parse((recordings / "gpu/nvidia-smi-tesla-t4.xml").read_text())
    asked = nvidia.driver(WholeNvml())
    assert set(said) == set(asked) == {"driver", "cuda", "gpus"}
    printed_only = {"memory_temperature_c", "pages_retired", "reset_required"}
    source = Path(nvidia.__file__).read_text()
    assert {key for key in said["gpus"][0] if f'"{key}"' not in source} <= printed_only
    (state,) = states(asked)
    assert (state.uncorrected, state.corrected, state.remapped) == (10, 0, 2)
    assert (state.links_up, state.links, state.slowed, state.power_w) == (3, 4, 0, 345.0)
    assert state == states(nvidia.driver(WholeNvml(), whole=False))[0]
    (printed,) = states(said)
    assert printed.temperature_c == 40 and isinstance(printed.temperature_c, float)
    (lost,) = states({"driver": "1", "gpus": [{"index": 3, "name": "", "error": "GPU is lost"}]})
    assert lost == GpuState(index=3, pci="", lost="GPU is lost", driver="1")


@pytest.mark.parametrize(
    ("bus_id", "address"),
    [("00000000:9B:00.0", "0000:9b:00"), ("0000:9b:00.0", "0000:9b:00"), (" 00010002:01:1f.7", "0002:01:1f"), ("", "")],
)
def test_a_pci_address_as_the_kernels_log_writes_it(bus_id: str, address: str) -> None:
    assert nvidia.address(bus_id) == address


def test_nothing_else_loads_the_library() -> None:
    root = Path(nvidia.__file__).parent.parent
    loading = [path for path in root.rglob("*.py") if "import pynvml" in path.read_text()]
    assert loading == [Path(nvidia.__file__)]
