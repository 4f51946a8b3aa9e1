"""Whether a hypervisor or a container stands between this process and the hardware, and what it hides."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..hosts.access import HostAccess
from ..records import Absent, Cpu
from .kernel import read_word

#: Text in DMI's vendor and product -> hypervisor. Cloud providers name themselves, not their hypervisor.
_DMI = (
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("Virtual Machine", "hyper-v"),
    ("KVM", "kvm"),
    ("QEMU", "kvm"),
    ("OpenStack", "kvm"),
    ("Google Compute Engine", "kvm"),
    ("Amazon EC2", "kvm"),
    ("RHEV", "kvm"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Bochs", "bochs"),
    ("HVM domU", "xen"),
    ("Xen", "xen"),
)

#: Boards that only their hypervisor makes: believed even where it hides its flag, or the kernel is too old to show it.
_BOARDS = ("virtualbox", "vmware")
#: The number of VirtualBox's own devices on the PCI bus.
_VIRTUALBOX_PCI = "0x80ee"

_CLOCKS = (("kvm-clock", "kvm"), ("hyperv", "hyper-v"), ("xen", "xen"))

_CONTAINERS = (
    (r"/docker[/-]|docker-[0-9a-f]{12}", "docker"),
    (r"libpod", "podman"),
    (r"kubepods", "kubernetes"),
    (r"/lxc[/.]|lxc\.payload", "lxc"),
    (r"containerd", "containerd"),
    (r"garden", "garden"),
)


#: Those, and what systemd's container variable may hold besides (systemd-detect-virt(1)).
_CONTAINER_NAMES = {
    *(name for _, name in _CONTAINERS),
    *("apptainer", "systemd-nspawn", "lxc-libvirt", "openvz", "rkt", "pouch", "proot", "wsl", "oci", "container"),
}


def is_virtual(text: str) -> bool:
    """Whether what a host says of its layers (``kvm, docker``) names a hypervisor: a container hides no hardware."""
    return any(word.strip() not in _CONTAINER_NAMES for word in text.split(",") if word.strip())


class Layers(NamedTuple):
    """The layers by name, outermost first; empty words where there is none."""

    hypervisor: str
    container: str

    @property
    def text(self) -> str:
        return ", ".join(filter(None, self))


def layers(door: HostAccess) -> Layers:
    """The hypervisor (``kvm``, ``vmware``, ``xen``...; ``unknown hypervisor``) and the container (``docker``...)."""
    return Layers(_hypervisor(door), _container(door))


def _hypervisor(door: HostAccess) -> str:
    flags = re.search(r"^flags\s*:.*\bhypervisor\b", door.read("/proc/cpuinfo") or "", re.MULTILINE) is not None
    product = " ".join(
        read_word(door, f"/sys/class/dmi/id/{name}") or ""
        for name in ("sys_vendor", "product_name", "product_version", "board_vendor")
    )
    named = next((name for text, name in _DMI if text in product), "")
    if "Amazon EC2" in product and ".metal" in product:
        named = ""
    kind = read_word(door, "/sys/hypervisor/type")
    if kind:
        return "" if kind == "xen" and "control_d" in (door.read("/proc/xen/capabilities") or "") else kind
    tree = door.read("/proc/device-tree/hypervisor/compatible") or ""
    if tree:
        return "kvm" if "kvm" in tree else "xen" if "xen" in tree else "unknown hypervisor"
    if not named and _has_pci(door, _VIRTUALBOX_PCI):
        named = "virtualbox"
    if not flags and named not in _BOARDS and door.architecture() in ("x86_64", "i686"):
        return ""  # an x86 hypervisor sets the flag; without it a DMI text is an emulated board's leftover
    if b"FIRECK" in (door.read_bytes("/sys/firmware/acpi/tables/DSDT") or b"")[:64]:
        return "kvm (Firecracker)"
    if named:
        return named
    clocks = read_word(door, "/sys/devices/system/clocksource/clocksource0/available_clocksource") or ""
    clocked = next((name for text, name in _CLOCKS if text in clocks), "")
    return clocked or ("unknown hypervisor" if flags else "")


def _has_pci(door: HostAccess, vendor: str) -> bool:
    folder = "/sys/bus/pci/devices"
    return any(read_word(door, f"{folder}/{address}/vendor") == vendor for address in door.list(folder))


def _container(door: HostAccess) -> str:
    for variable in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"):
        if door.env(variable) is not None:
            return variable.partition("_")[0].lower()
    if door.list("/.singularity.d"):
        return "apptainer"
    if door.read("/run/.containerenv") is not None:
        return "podman"
    named = read_word(door, "/run/systemd/container") or door.env("container")
    groups = (door.read("/proc/1/cgroup") or "") + (door.read("/proc/self/cgroup") or "")
    found = next((name for pattern, name in _CONTAINERS if re.search(pattern, groups)), "")
    if found or named:
        return found or named or ""
    if door.env("KUBERNETES_SERVICE_HOST") is not None:
        return "kubernetes"
    # the file alone proves nothing: it stays behind where a machine's root file system was made from an image
    if door.read("/.dockerenv") is not None and _root_is_layered(door):
        return "docker"
    return ""


def _root_is_layered(door: HostAccess) -> bool:
    for fields in (line.split() for line in (door.read("/proc/mounts") or "").splitlines()):
        if len(fields) > 2 and fields[1] == "/":
            return fields[2] in ("overlay", "aufs", "fuse.fuse-overlayfs", "btrfs", "zfs") or "docker" in fields[0]
    return False


def hidden(door: HostAccess, found: Layers, cpu: Cpu) -> tuple[Absent, ...]:
    """What the layers hide from a benchmark, each with what follows from it."""
    absent: list[Absent] = []
    if found.hypervisor:
        absent += _hidden_by_hypervisor(door, found.hypervisor, cpu)
    if found.container:
        absent.append(
            Absent(
                what="software and settings of the host",
                why=f"the {found.container} container shows its own: "
                "compilers, libraries and limits outside of it are not listed",
            )
        )
        if not door.list("/sys/class/dmi/id"):
            absent.append(Absent(what="board and firmware", why=f"the {found.container} container masks DMI"))
    return tuple(absent)


def _hidden_by_hypervisor(door: HostAccess, name: str, cpu: Cpu) -> list[Absent]:
    absent = [
        Absent(
            what="physical cores",
            why=f"{name}: a virtual CPU may be one thread of a core whose other thread works for "
            "someone else, and may move between cores",
        ),
        Absent(
            what="real NUMA layout and cache sharing",
            why=f"{name} shows what it was configured to show; a last-level cache may be shared with other guests",
        ),
    ]
    if not door.list("/sys/devices/system/cpu/cpu0/cpufreq"):
        absent.append(
            Absent(what="clock control", why=f"{name}: no cpufreq; the clock is set by the host and can change unseen")
        )
    text = door.read("/proc/cpuinfo") or ""
    if cpu.architecture == "x86_64" and not re.search(
        r"^flags\s*:.*\b(arch_perfmon|perfctr_core)\b", text, re.MULTILINE
    ):
        absent.append(Absent(what="performance counters (PMU)", why=f"{name} passes none to the guest"))
    steal = re.match(r"cpu +(?:\d+ +){7}(\d+)", door.read("/proc/stat") or "")
    if steal is None or steal[1] == "0":
        absent.append(
            Absent(
                what="stolen time", why=f"/proc/stat counts none: either none was stolen or {name} does not report it"
            )
        )
    return absent
