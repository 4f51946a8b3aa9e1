"""The PCI devices that compute or display, whether or not a driver has taken them."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..hosts.access import HostAccess
from .kernel import read_int, read_word

_DEVICES = "/sys/bus/pci/devices"
VENDORS = {0x10DE: "NVIDIA", 0x1002: "AMD", 0x8086: "Intel", 0x1DA3: "Habana"}


class Device(NamedTuple):
    address: str  # 0000:01:00.0
    vendor: int
    device: int
    driver: str  # empty: none has taken it
    numa_node: int | None
    link: str  # "16.0 GT/s PCIe x16", empty where the kernel does not say


def accelerators(door: HostAccess) -> tuple[Device, ...]:
    """GPUs and processing accelerators; the screen of a board's management controller is none."""
    found: list[Device] = []
    for address in door.list(_DEVICES):
        folder = f"{_DEVICES}/{address}"
        kind = _hexadecimal(door, f"{folder}/class") >> 8
        vendor = _hexadecimal(door, f"{folder}/vendor")
        # 0300 VGA, 0302 3D, 0380 other display, 1200 processing accelerator
        if kind not in (0x0300, 0x0302, 0x0380, 0x1200) or vendor not in VENDORS:
            continue
        speed, width = read_word(door, f"{folder}/current_link_speed"), read_word(door, f"{folder}/current_link_width")
        node = read_int(door, f"{folder}/numa_node")
        found.append(
            Device(
                address,
                vendor,
                _hexadecimal(door, f"{folder}/device"),
                (door.link(f"{folder}/driver") or "").rsplit("/", 1)[-1],
                node if node is not None and node >= 0 else None,
                f"{speed} x{width}" if speed and width else "",
            )
        )
    return tuple(found)


def _hexadecimal(door: HostAccess, path: str) -> int:
    """A number such as 0x10de; 0, which is nobody's, where there is none."""
    word = read_word(door, path) or ""
    return int(word, 16) if re.fullmatch(r"(?:0x)?[0-9A-Fa-f]{1,8}", word) else 0
