"""The network interfaces and the InfiniBand, Omni-Path and RoCE ports."""

from __future__ import annotations

import re

from ..hosts.access import HostAccess
from ..records import Absent, Network, Value
from .kernel import read_int, read_word

_NET = "/sys/class/net"
_INFINIBAND = "/sys/class/infiniband"

# ARPHRD_* of linux/if_arp.h
_ETHERNET, _INFINIBAND_IP, _LOOPBACK = 1, 32, 772


def network(door: HostAccess) -> tuple[tuple[Network, ...], tuple[Absent, ...]]:
    """All interfaces and ports by name. A rate is what the link runs at; None where the kernel does not say."""
    found = [_interface(door, name) for name in door.list(_NET) if name != "bonding_masters"]
    devices = door.list(_INFINIBAND)
    for device in devices:
        found += [_port(door, device, port) for port in door.list(f"{_INFINIBAND}/{device}/ports")]
    absent: tuple[Absent, ...] = ()
    if not found:
        absent = (Absent(what="network interfaces", why=f"{_NET} is empty: this container has no network of its own"),)
    if not devices:
        absent += (
            Absent(what="InfiniBand", why=f"{_INFINIBAND} is not there: no adapter, or its driver is not loaded"),
        )
    return tuple(found), absent


def _device_facts(door: HostAccess, folder: str) -> tuple[str, int | None]:
    driver = (door.link(f"{folder}/device/driver") or "").rsplit("/", 1)[-1]
    node = read_int(door, f"{folder}/device/numa_node")
    return driver, node if node is not None and node >= 0 else None


def _interface(door: HostAccess, name: str) -> Network:
    folder = f"{_NET}/{name}"
    kind = read_int(door, f"{folder}/type")
    driver, node = _device_facts(door, folder)
    speed = read_int(door, f"{folder}/speed")  # refused while the link is down; -1 or 0 where it has none
    state = read_word(door, f"{folder}/operstate") or ""
    facts: dict[str, Value] = {}
    duplex = read_word(door, f"{folder}/duplex")
    if duplex == "half":
        facts["duplex"] = duplex
    return Network(
        name=name,
        kind="loopback"
        if name == "lo"
        else _kind(kind, virtual="/virtual/" in (door.link(folder) or ""), driver=driver),
        state=state,
        rate_bit_s=speed * 1e6 if speed and speed > 0 and state != "down" else None,
        mtu=read_int(door, f"{folder}/mtu"),
        driver=driver,
        numa_node=node,
        facts=facts,
    )


def _kind(number: int | None, *, virtual: bool, driver: str) -> str:
    if number == _LOOPBACK:
        return "loopback"
    if number == _INFINIBAND_IP:
        return "omnipath" if driver == "hfi1" else "infiniband"
    return "ethernet" if number == _ETHERNET and not virtual else "virtual"


def _port(door: HostAccess, device: str, port: str) -> Network:
    folder = f"{_INFINIBAND}/{device}"
    driver, node = _device_facts(door, folder)
    rate = re.match(r"([\d.]+) Gb/sec(?: \((\w+)(?: (\w+))?\))?", read_word(door, f"{folder}/ports/{port}/rate") or "")
    layer = read_word(door, f"{folder}/ports/{port}/link_layer") or "InfiniBand"  # not there before kernel 2.6.37
    facts: dict[str, Value] = {"link_layer": layer}
    if rate and rate[2]:
        facts["width"] = " ".join(word for word in rate.groups()[1:] if word)
    for key, path in (
        ("adapter", "hca_type"),
        ("firmware", "fw_ver"),
        ("lid", f"ports/{port}/lid"),
        ("physical", f"ports/{port}/phys_state"),
        ("description", "node_desc"),
    ):
        value = read_word(door, f"{folder}/{path}")
        if value:
            facts[key] = value.partition(": ")[2] or value
    state = (read_word(door, f"{folder}/ports/{port}/state") or "").partition(": ")[2].lower()
    kind = (
        "omnipath"
        if device.startswith("hfi") or driver == "hfi1"
        else "ethernet"
        if layer == "Ethernet"
        else "infiniband"
    )
    return Network(
        name=f"{device}:{port}",
        kind=kind,
        state=state,
        rate_bit_s=float(rate[1]) * 1e9 if rate and float(rate[1]) > 0 and state == "active" else None,
        driver=driver,
        numa_node=node,
        facts=facts,
    )
