"""GPUs by the tools of their makers, GPUs without a driver, network interfaces and InfiniBand ports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from shakedown.hosts import nvidia
from shakedown.hosts.access import Result
from shakedown.machine import gpus
from shakedown.machine.accelerators import gpu_peaks
from shakedown.machine.network import network
from shakedown.records import Gpu
from support import trees

VERSION = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023\nGCC version:  gcc 11\n"
)

NVML = json.dumps(
    {
        "driver": "570.86.15",
        "cuda": "12.8",
        "gpus": [
            {
                "index": 0,
                "name": "NVIDIA H200",
                "memory_bytes": 150754820096,
                "pci": "00000000:1B:00.0",
                "cores": 16896,
                "compute_capability": "9.0",
                "max_sm_mhz": 1980,
                "max_memory_mhz": 3201,
                "memory_bus_bits": 6144,
                "power_limit_w": 700.0,
                "mig": False,
                "ecc": True,
                "nvlinks": 18,
            },
            {"index": 1, "name": "", "error": "GPU is lost"},
        ],
    }
)


def pci_device(
    address: str, vendor: str, kind: str = "0x030200", driver: str = ""
) -> dict[str, str | bytes | trees.Link]:
    folder = f"/sys/bus/pci/devices/{address}"
    files: dict[str, str | bytes | trees.Link] = {
        f"{folder}/class": kind + "\n",
        f"{folder}/vendor": vendor + "\n",
        f"{folder}/device": "0x2335\n",
        f"{folder}/numa_node": "1\n",
    }
    if driver:
        files[f"{folder}/driver"] = trees.Link(f"../../../../bus/pci/drivers/{driver}")
    return files


# -------------------------------------------------------------------------------------------------------------- NVIDIA


def test_nvml(tmp_path: Path) -> None:
    files = pci_device("0000:1b:00.0", "0x10de", driver="nvidia") | {"/proc/driver/nvidia/version": VERSION}
    found, absent = gpus.gpus(trees.door(tmp_path, files, commands={gpus.NVML: NVML}))
    assert [(gpu.name, gpu.driver, gpu.memory_bytes) for gpu in found] == [("NVIDIA H200", "570.86.15", 150754820096)]
    assert found[0].facts["numa_node"] == 1 and found[0].facts["cuda"] == "12.8"
    assert [(gap.what, gap.why) for gap in absent] == [("NVIDIA GPU 1", "GPU is lost")]


def test_nvml_program_says_why_it_cannot_ask() -> None:
    done = subprocess.run(gpus.NVML, capture_output=True, text=True, timeout=300, check=False)
    printed = json.loads(done.stdout)
    assert (done.returncode == 0 and "gpus" in printed) or (done.returncode == 3 and printed["error"])


def test_nvidia_smi_where_nvml_is_absent(tmp_path: Path, recordings: Path) -> None:
    text = (recordings / "gpu/nvidia-smi-a100-sxm4-v12.xml").read_text()
    door = trees.door(
        tmp_path,
        {"/proc/driver/nvidia/version": VERSION},
        commands={gpus.NVML: Result(3, '{"error": "nvidia-ml-py is not installed"}', ""), gpus.NVIDIA_SMI: text},
    )
    found, absent = gpus.gpus(door)
    assert absent == () and len(found) >= 1
    first = found[0]
    assert (first.name, first.driver, first.pci) == ("NVIDIA A100-SXM4-80GB", "535.54.03", "00000000:01:00.0")
    assert first.facts["power_limit_w"] == 500.0 and first.facts["mig"] is True and first.facts["max_sm_mhz"] == 1410


def test_nvidia_smi_of_a_t4_in_a_narrow_slot(recordings: Path) -> None:
    (gpu,) = gpus.parse_nvidia_smi((recordings / "gpu/nvidia-smi-tesla-t4.xml").read_text())
    assert gpu.name == "Tesla T4" and gpu.memory_bytes == 15360 << 20
    assert (gpu.facts["pcie_width"], gpu.facts["pcie_width_max"], gpu.facts["ecc"]) == (8, 16, True)
    assert "mig" not in gpu.facts  # N/A is neither on nor off


def test_a_driver_that_does_not_answer(tmp_path: Path) -> None:
    files = pci_device("0000:1b:00.0", "0x10de", driver="nvidia") | {
        "/proc/driver/nvidia/version": VERSION,
        "/proc/driver/nvidia/gpus/0000:1b:00.0/information": "Model: \t\t NVIDIA H200\nIRQ:   \t\t 180\n",
    }
    late = Result(None, "", "no answer within 20 s")
    found, absent = gpus.gpus(trees.door(tmp_path, files, commands={gpus.NVML: late, gpus.NVIDIA_SMI: late}))
    assert [(gpu.name, gpu.driver, gpu.memory_bytes) for gpu in found] == [("NVIDIA H200", "535.54.03", None)]
    assert absent[0].why == "NVML: no answer within 20 s; nvidia-smi: no answer within 20 s"


def test_output_that_is_not_xml_is_an_error() -> None:
    with pytest.raises(ValueError, match="no XML"):
        gpus.parse_nvidia_smi("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n")


# ----------------------------------------------------------------------------------------------------------------- AMD


def test_rocm_smi(tmp_path: Path, recordings: Path) -> None:
    text = (recordings / "gpu/rocm-smi-mi100.json").read_text()
    found = gpus.parse_rocm_smi("WARNING: AMD GPU is in a low-power state\n" + text)
    assert found[0].name == "Arcturus GL-XL [Instinct MI100]" and found[0].memory_bytes == 34342961152
    assert (
        found[0].pci == "0000:83:00.0" and found[0].facts["power_limit_w"] == 290.0 and found[0].facts["numa_node"] == 1
    )
    assert [gpu.index for gpu in found] == list(range(len(found)))
    door = trees.door(
        tmp_path, pci_device("0000:83:00.0", "0x1002", "0x038000", "amdgpu"), commands={gpus.ROCM_SMI: text}
    )
    assert gpus.gpus(door)[0][0].vendor == "AMD"


def test_amd_by_sysfs_where_rocm_is_not_installed(tmp_path: Path) -> None:
    files = pci_device("0000:83:00.0", "0x1002", "0x038000", "amdgpu") | {
        "/sys/bus/pci/devices/0000:83:00.0/mem_info_vram_total": "34342961152\n",
        "/sys/module/amdgpu/version": "6.3.6\n",
    }
    found, absent = gpus.gpus(trees.door(tmp_path, files))
    assert [(gpu.memory_bytes, gpu.driver) for gpu in found] == [(34342961152, "6.3.6")]
    assert absent[0].why == "rocm-smi is not installed"


# ------------------------------------------------------------------------------------------------------- without driver


@pytest.mark.parametrize(
    ("driver", "why"),
    [
        ("", "no driver has taken it"),
        ("nouveau", "nouveau, which does not compute"),
        ("vfio-pci", "vfio-pci, which does not compute"),
    ],
)
def test_a_gpu_without_its_driver_is_told(tmp_path: Path, driver: str, why: str) -> None:
    found, absent = gpus.gpus(trees.door(tmp_path, pci_device("0000:1b:00.0", "0x10de", driver=driver)))
    assert found == () and len(absent) == 1
    assert absent[0].what == "NVIDIA GPU 0000:1b:00.0 [10de:2335]" and why in absent[0].why


def test_a_management_controllers_screen_is_no_gpu(tmp_path: Path) -> None:
    found, absent = gpus.gpus(trees.door(tmp_path, pci_device("0000:02:00.0", "0x1a03", "0x030000", "ast")))
    assert found == () and absent[0].why == "no GPU on the PCI bus and no driver of one"


def test_one_gpu_of_two_without_driver(tmp_path: Path) -> None:
    files = (
        pci_device("0000:1b:00.0", "0x10de", driver="nvidia")
        | pci_device("0000:2b:00.0", "0x10de")
        | {"/proc/driver/nvidia/version": VERSION}
    )
    one = json.dumps({"driver": "570", "cuda": "12.8", "gpus": [json.loads(NVML)["gpus"][0]]})
    found, absent = gpus.gpus(trees.door(tmp_path, files, commands={gpus.NVML: one}))
    assert len(found) == 1 and [gap.what for gap in absent] == ["NVIDIA GPU 0000:2b:00.0 [10de:2335]"]


# --------------------------------------------------------------------------------------------------------------- peaks


def rates(gpu: Gpu) -> dict[str, float]:
    return {peak.name: peak.value for peak in gpu_peaks([gpu])[0]}


def test_peaks_of_gpus_are_those_of_their_data_sheets() -> None:
    h200 = gpus.parse_nvml(NVML)[0][0]
    assert rates(h200) | {
        "gpu.flops.fp64": pytest.approx(33.5e12, rel=0.005),
        "gpu.flops.fp32": pytest.approx(66.9e12, rel=0.005),
        "gpu.memory.bandwidth": pytest.approx(4.9e12, rel=0.01),
    } == rates(h200)
    v100 = Gpu(index=0, name="Tesla V100-SXM2-32GB", vendor="NVIDIA", facts={"max_sm_mhz": 1530, "max_memory_mhz": 877})
    assert rates(v100) == {
        "gpu.flops.fp64": pytest.approx(7.8e12, rel=0.01),
        "gpu.flops.fp32": pytest.approx(15.7e12, rel=0.01),
        "gpu.flops.fp16": pytest.approx(125e12, rel=0.01),
        "gpu.memory.bandwidth": pytest.approx(900e9, rel=0.01),
    }
    m2050 = Gpu(index=0, name="Tesla M2050", vendor="NVIDIA", facts={"max_sm_mhz": 1147, "max_memory_mhz": 1546})
    assert rates(m2050) == {
        "gpu.flops.fp64": pytest.approx(515e9, rel=0.01),
        "gpu.flops.fp32": pytest.approx(1.03e12, rel=0.01),
        "gpu.memory.bandwidth": pytest.approx(148e9, rel=0.01),
    }


def test_a_gpu_of_no_known_kind_has_no_peak_and_a_reason() -> None:
    peaks, absent = gpu_peaks([Gpu(index=0, name="Arcturus GL-XL [Instinct MI100]", vendor="AMD")])
    assert peaks == () and "MI100" in absent[0].what


# ------------------------------------------------------------------------------------------------------------- network


def test_infiniband_ports_up_and_down(tmp_path: Path) -> None:
    found, absent = network(trees.door(tmp_path, trees.cluster_node()))
    ports = {one.name: one for one in found}
    up, down = ports["mlx4_0:1"], ports["mlx4_0:2"]
    assert (up.kind, up.state, up.rate_bit_s, up.numa_node) == ("infiniband", "active", 56e9, 1)
    assert (up.driver, up.facts["adapter"], up.facts["width"]) == ("mlx4_core", "MT4099", "4X FDR")
    assert (down.state, down.rate_bit_s) == ("down", None)
    assert absent == ()


def test_interfaces(tmp_path: Path) -> None:
    base = "/sys/class/net"
    devices = "/sys/devices"
    found, absent = network(
        trees.door(
            tmp_path,
            {
                f"{base}/eth0": trees.Link("../../devices/pci0000:00/net/eth0"),
                f"{devices}/pci0000:00/net/eth0/type": "1\n",
                f"{devices}/pci0000:00/net/eth0/operstate": "up\n",
                f"{devices}/pci0000:00/net/eth0/speed": "25000\n",
                f"{devices}/pci0000:00/net/eth0/mtu": "9000\n",
                f"{devices}/pci0000:00/net/eth0/duplex": "half\n",
                f"{base}/veth1": trees.Link("../../devices/virtual/net/veth1"),
                f"{devices}/virtual/net/veth1/type": "1\n",
                f"{devices}/virtual/net/veth1/operstate": "up\n",
                f"{devices}/virtual/net/veth1/speed": "10000\n",
                f"{base}/eth1": trees.Link("../../devices/pci0000:01/net/eth1"),
                f"{devices}/pci0000:01/net/eth1/type": "1\n",
                f"{devices}/pci0000:01/net/eth1/operstate": "up\n",
                f"{devices}/pci0000:01/net/eth1/speed": "-1\n",
                f"{base}/bonding_masters": "bond0\n",
            },
        )
    )
    kinds = {one.name: (one.kind, one.rate_bit_s) for one in found}
    assert kinds == {"eth0": ("ethernet", 25e9), "veth1": ("virtual", 10e9), "eth1": ("ethernet", None)}
    assert next(one for one in found if one.name == "eth0").facts == {"duplex": "half"}
    assert [gap.what for gap in absent] == ["InfiniBand"]


def test_no_network_at_all(tmp_path: Path) -> None:
    found, absent = network(trees.door(tmp_path, {}))
    assert found == () and {gap.what for gap in absent} == {"network interfaces", "InfiniBand"}


def test_the_program_asked_is_this_python() -> None:
    assert gpus.NVML[0] == sys.executable


# --------------------------------------------------------------------------------------------- the library's own words


class FakeNvml:
    """A driver of two GPUs: one answers some questions and refuses the others, the second has fallen off the bus."""

    class NVMLError(Exception):
        pass

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_NVLINK_MAX_LINKS = 1, 2, 4

    def __getattr__(self, name: str) -> object:
        def answer(*arguments: object) -> object:
            if name == "nvmlDeviceGetHandleByIndex" and arguments == (1,):
                raise self.NVMLError("GPU is lost")
            answers: dict[str, object] = {
                "nvmlSystemGetCudaDriverVersion_v2": 12080,
                "nvmlSystemGetDriverVersion": b"570.86.15",
                "nvmlDeviceGetCount": 2,
                "nvmlDeviceGetHandleByIndex": "handle",
                "nvmlDeviceGetName": "NVIDIA H200",
                "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=150754820096),
                "nvmlDeviceGetPciInfo": SimpleNamespace(busId=b"00000000:1B:00.0"),
                "nvmlDeviceGetCudaComputeCapability": (9, 0),
                "nvmlDeviceGetEnforcedPowerLimit": 700000,
                "nvmlDeviceGetPersistenceMode": 0,
                "nvmlDeviceGetEccMode": (1, 1),
                "nvmlDeviceGetNvLinkState": 1,
            }
            if name not in answers:
                raise self.NVMLError("Not Supported")
            return answers[name]

        return answer


def test_what_the_driver_refuses_is_left_out_and_not_zero() -> None:
    printed = nvidia.driver(FakeNvml())
    found, absent = gpus.parse_nvml(json.dumps(printed))
    assert [gpu.name for gpu in found] == ["NVIDIA H200"] and [gap.why for gap in absent] == ["GPU is lost"]
    assert found[0].facts == {
        "compute_capability": "9.0",
        "power_limit_w": 700.0,
        "persistence": False,
        "ecc": True,
        "ecc_pending": True,
        "nvlinks": 4,
        "nvlinks_all": 4,
        "cuda": "12.8",
    }
    assert (found[0].memory_bytes, found[0].pci, found[0].driver) == (150754820096, "00000000:1B:00.0", "570.86.15")
