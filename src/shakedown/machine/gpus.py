"""The GPUs: what drivers say of them, and those that are there without a driver.

NVIDIA: its management library (``hosts.nvidia``) in a child process; where that is absent ``nvidia-smi -q -x``, then
``/proc/driver/nvidia``. AMD: ``rocm-smi --json``, else sysfs. Last, the PCI bus is looked over for what no driver took.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import msgspec

from .. import strict
from ..errors import BadInput
from ..hosts import nvidia, nvidia_smi
from ..hosts.access import HostAccess
from ..records import Absent, Gpu, Value
from ..units import leading_number, whole_number
from . import pci
from .kernel import read_int, read_word

#: A driver that has not answered by then is taken for stuck.
LIMIT_S = 20.0

#: In a child process: a driver that hangs holds whoever asks it.
NVML = (sys.executable, "-P", str(Path(nvidia.__file__)))
NVIDIA_SMI = nvidia_smi.COMMAND
#: What is said of a GPU's state that is no fact of the machine.
_PASSING = ("index", "name", "memory_bytes", "pci", "rows_remapped_uncorrected", "pages_retired", "reset_required")
ROCM_SMI = (
    "rocm-smi",
    "--showproductname",
    "--showbus",
    "--showuniqueid",
    "--showmeminfo",
    "vram",
    "--showclocks",
    "--showdriverversion",
    "--showtoponuma",
    "--showmaxpower",
    "--json",
)

_Found = tuple[tuple[Gpu, ...], tuple[Absent, ...]]


def gpus(door: HostAccess) -> _Found:
    """All GPUs that a driver shows, in the drivers' order, and why others are not among them."""
    devices = pci.accelerators(door)
    nvidia, absent_nvidia = _nvidia(door)
    amd, absent_amd = _amd(door, devices)
    found = tuple(_placed(gpu, devices) for gpu in (*nvidia, *amd))
    absent = (
        absent_nvidia
        + absent_amd
        + tuple(_driverless(door, device) for device in devices if not _driven(device, found, absent_nvidia))
    )
    if not found and not absent:
        absent = (Absent(what="GPUs", why="no GPU on the PCI bus and no driver of one"),)
    return found, absent


def _driven(device: pci.Device, found: tuple[Gpu, ...], absent_nvidia: tuple[Absent, ...]) -> bool:
    if any(_address(gpu.pci) == device.address for gpu in found):
        return True
    if device.vendor == 0x10DE and device.driver == "nvidia":
        return bool(absent_nvidia)  # the driver is there and its silence is told already
    return device.vendor == 0x8086 and device.driver in ("i915", "xe")  # the graphics of the processor


def _driverless(door: HostAccess, device: pci.Device) -> Absent:
    name = f"{pci.VENDORS[device.vendor]} GPU {device.address} [{device.vendor:04x}:{device.device:04x}]"
    if device.driver:
        return Absent(
            what=name,
            why=f"taken by the driver {device.driver}, which does not compute"
            if device.driver in ("nouveau", "vfio-pci", "simpledrm")
            else f"its driver {device.driver} is there, but no tool that could ask it",
        )
    return Absent(what=name, why="there is a GPU, but no driver has taken it: install the vendor's driver")


def _address(text: str) -> str:
    """A PCI address the way sysfs writes it: ``00000000:01:00.0`` is ``0000:01:00.0``."""
    match = re.fullmatch(r"(?:0000)?([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])", text.lower())
    return match[1] if match else text.lower()


def _placed(gpu: Gpu, devices: tuple[pci.Device, ...]) -> Gpu:
    device = next((device for device in devices if device.address == _address(gpu.pci)), None)
    if device is None:
        return gpu
    facts: dict[str, Value] = dict(gpu.facts)
    if device.numa_node is not None:
        facts.setdefault("numa_node", device.numa_node)
    return Gpu(
        index=gpu.index,
        name=gpu.name,
        vendor=gpu.vendor,
        memory_bytes=gpu.memory_bytes,
        pci=gpu.pci,
        driver=gpu.driver,
        facts=facts,
    )


# -------------------------------------------------------------------------------------------------------------- NVIDIA


def _nvidia(door: HostAccess) -> _Found:
    version = door.read("/proc/driver/nvidia/version")
    device_files = [name for name in door.list("/dev") if re.fullmatch(r"nvidia(ctl|\d+)", name)]
    if version is None and not device_files and not door.which("nvidia-smi"):
        return (), ()
    reasons: list[str] = []
    answer = door.run(NVML, limit_s=LIMIT_S)
    try:
        if answer.ok:
            return parse_nvml(answer.out)
        reasons.append(f"NVML: {_why(answer.out, answer.err)}")
    except ValueError as error:
        reasons.append(f"NVML: {error}")
    if door.which("nvidia-smi"):
        printed = door.run(NVIDIA_SMI, limit_s=LIMIT_S)
        try:
            if printed.ok:
                return _shown(nvidia_smi.parse(printed.out))
            reasons.append(f"nvidia-smi: {_why(printed.out, printed.err)}")
        except ValueError as error:
            reasons.append(str(error))
    found = _proc_nvidia(door, version or "")
    return found, (Absent(what="NVIDIA GPUs" if not found else "facts of the NVIDIA GPUs", why="; ".join(reasons)),)


def _why(out: str, err: str) -> str:
    try:
        return str(json.loads(out)["error"])
    except (KeyError, TypeError, *strict.UNREADABLE):
        lines = (err or out).strip().splitlines()
        return lines[-1] if lines else "no answer"


def parse_nvml(text: str) -> _Found:
    """What ``hosts/nvidia.py`` printed. Raises ValueError where it is something else."""
    try:
        printed = json.loads(text)
        strict.check_numbers(printed, "NVML")
        return _shown(printed)
    except (LookupError, TypeError, AttributeError, RecursionError, BadInput):
        raise ValueError(f"{text[:40]!r} is not what it prints") from None


def parse_nvidia_smi(text: str) -> tuple[Gpu, ...]:
    """The GPUs in the output of ``nvidia-smi -q -x``. Raises ValueError where it is not that."""
    return _shown(nvidia_smi.parse(text))[0]


def _shown(printed: dict[str, Any]) -> _Found:
    driver = str(printed["driver"])
    found: list[Gpu] = []
    absent: list[Absent] = []
    for gpu in printed["gpus"]:
        if "error" in gpu:
            absent.append(Absent(what=f"NVIDIA GPU {gpu['index']}", why=str(gpu["error"])))
            continue
        facts: dict[str, Value] = {key: value for key, value in gpu.items() if key not in _PASSING}
        found.append(
            msgspec.convert(
                {
                    **{key: gpu[key] for key in ("index", "name", "memory_bytes", "pci") if key in gpu},
                    "vendor": "NVIDIA",
                    "driver": driver,
                    "facts": {**facts, "cuda": str(printed["cuda"])},
                },
                Gpu,
            )
        )
    return tuple(found), tuple(absent)


def _proc_nvidia(door: HostAccess, version: str) -> tuple[Gpu, ...]:
    match = re.search(r"Kernel Module.*?\s(\d+\.\d[\d.]*)\s", version)
    found: list[Gpu] = []
    for address in door.list("/proc/driver/nvidia/gpus"):
        text = door.read(f"/proc/driver/nvidia/gpus/{address}/information") or ""
        model = re.search(r"^Model:\s*(.+?)\s*$", text, re.MULTILINE)
        found.append(
            Gpu(
                index=len(found),
                name=model[1] if model else "",
                vendor="NVIDIA",
                pci=address,
                driver=match[1] if match else "",
            )
        )
    return tuple(found)


# ----------------------------------------------------------------------------------------------------------------- AMD


def _amd(door: HostAccess, devices: tuple[pci.Device, ...]) -> _Found:
    if not any(device.vendor == 0x1002 and device.driver == "amdgpu" for device in devices) and not door.which(
        "rocm-smi"
    ):
        return (), ()
    why = "rocm-smi is not installed"
    if door.which("rocm-smi"):
        printed = door.run(ROCM_SMI, limit_s=LIMIT_S)
        why = f"rocm-smi: {_why(printed.out, printed.err)}"
        try:
            if printed.ok and printed.out.strip() and (found := parse_rocm_smi(printed.out)):
                return found, ()
        except ValueError as error:
            why = f"rocm-smi: {error}"
    found = _amd_sysfs(door, devices)
    return found, (Absent(what="facts of the AMD GPUs" if found else "AMD GPUs", why=why),)


def parse_rocm_smi(text: str) -> tuple[Gpu, ...]:
    """The GPUs in the output of ``rocm-smi --json``. Raises ValueError where it is not that."""
    try:
        plain = json.loads(text[text.index("{") :])  # warnings may stand before it
        printed = msgspec.convert(plain, dict[str, dict[str, str | int | float | bool | None]])
    except RecursionError:
        raise ValueError(f"{text[:40]!r} is not what it prints") from None
    driver = str(printed.get("system", {}).get("Driver version", ""))
    found: list[Gpu] = []
    for key in sorted((key for key in printed if re.fullmatch(r"card[0-9]{1,6}", key)), key=lambda key: int(key[4:])):
        card = {name.lower(): str(value) for name, value in printed[key].items()}
        facts: dict[str, Value] = {"device_id": card.get("device id", card.get("gpu id", ""))}
        if (power := leading_number(card.get("max graphics package power (w)", ""))) is not None:
            facts["power_limit_w"] = power
        if (node := whole_number(card.get("(topology) numa node"))) is not None:
            facts["numa_node"] = node
        name = next((card[name] for name in ("card series", "card model") if card.get(name, "N/A") != "N/A"), "")
        found.append(
            Gpu(
                index=int(key[4:]),
                name=name,
                vendor="AMD",
                memory_bytes=whole_number(card.get("vram total memory (b)")),
                pci=card.get("pci bus", "").lower(),
                driver=driver,
                facts=facts,
            )
        )
    return tuple(found)


def _amd_sysfs(door: HostAccess, devices: tuple[pci.Device, ...]) -> tuple[Gpu, ...]:
    version = read_word(door, "/sys/module/amdgpu/version") or ""
    found: list[Gpu] = []
    for device in devices:
        folder = f"/sys/bus/pci/devices/{device.address}"
        memory_bytes = read_int(door, f"{folder}/mem_info_vram_total")
        if device.vendor == 0x1002 and device.driver == "amdgpu" and memory_bytes:
            name = read_word(door, f"{folder}/product_name") or f"AMD GPU 1002:{device.device:04x}"
            facts: dict[str, Value] = {"pcie": device.link} if device.link else {}
            found.append(
                Gpu(
                    index=len(found),
                    name=name,
                    vendor="AMD",
                    memory_bytes=memory_bytes,
                    pci=device.address,
                    driver=version or "amdgpu",
                    facts=facts,
                )
            )
    return tuple(found)
