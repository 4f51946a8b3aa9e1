"""Hypervisors and containers: told by what each leaves in /proc and /sys, and what they hide."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.machine import discover, virtualisation
from shakedown.machine.cpu import cpu
from support import trees


def layers(root: Path, files: dict[str, str | bytes | trees.Link], **details: object) -> str:
    return virtualisation.layers(trees.door(root, files, **details)).text  # type: ignore[arg-type]


VIRTUAL = trees.x86_cpuinfo(range(2), flags="hypervisor avx")
OVERLAY = "overlay / overlay rw,lowerdir=x 0 0\n"


@pytest.mark.parametrize(
    ("files", "environment", "name"),
    [
        ({"/proc/cpuinfo": trees.x86_cpuinfo(range(2))}, {}, ""),
        ({"/proc/cpuinfo": VIRTUAL, "/sys/class/dmi/id/sys_vendor": "QEMU\n"}, {}, "kvm"),
        ({"/proc/cpuinfo": VIRTUAL, "/sys/class/dmi/id/product_name": "VMware Virtual Platform\n"}, {}, "vmware"),
        (
            {
                "/proc/cpuinfo": VIRTUAL,
                "/sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n",
                "/sys/class/dmi/id/product_name": "Virtual Machine\n",
            },
            {},
            "hyper-v",
        ),
        (
            {
                "/proc/cpuinfo": VIRTUAL,
                "/sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
                "/sys/class/dmi/id/product_name": "c5.large\n",
            },
            {},
            "kvm",
        ),
        (
            {
                "/proc/cpuinfo": trees.x86_cpuinfo(range(2)),
                "/sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
                "/sys/class/dmi/id/product_name": "c5.metal\n",
            },
            {},
            "",
        ),
        (  # without its flag: hidden, or a kernel of before 2009
            {
                "/proc/cpuinfo": trees.x86_cpuinfo(range(2)),
                "/sys/class/dmi/id/sys_vendor": "innotek GmbH\n",
                "/sys/class/dmi/id/product_name": "VirtualBox\n",
            },
            {},
            "virtualbox",
        ),
        (
            {"/proc/cpuinfo": trees.x86_cpuinfo(range(2)), "/sys/bus/pci/devices/0000:00:04.0/vendor": "0x80ee\n"},
            {},
            "virtualbox",
        ),
        (
            {"/proc/cpuinfo": trees.x86_cpuinfo(range(2)), "/sys/class/dmi/id/sys_vendor": "VMware, Inc.\n"},
            {},
            "vmware",
        ),
        ({"/proc/cpuinfo": VIRTUAL, "/sys/hypervisor/type": "xen\n"}, {}, "xen"),
        ({"/proc/cpuinfo": VIRTUAL}, {}, "unknown hypervisor"),
        (
            {
                "/proc/cpuinfo": VIRTUAL,
                "/sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc kvm-clock\n",
            },
            {},
            "kvm",
        ),
        ({"/.dockerenv": "", "/proc/mounts": OVERLAY}, {}, "docker"),
        ({"/.dockerenv": "", "/proc/mounts": "/dev/vda / ext4 rw 0 0\n"}, {}, ""),
        ({"/run/.containerenv": 'engine="podman-4.3.1"\n'}, {}, "podman"),
        ({"/proc/1/cgroup": "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-abc.scope\n"}, {}, "kubernetes"),
        ({"/proc/1/cgroup": "4:memory:/docker/0123456789abcdef\n"}, {}, "docker"),
        ({}, {"APPTAINER_CONTAINER": "/images/hpc.sif"}, "apptainer"),
        ({}, {"SINGULARITY_CONTAINER": "/images/hpc.sif"}, "singularity"),
        (
            {
                "/proc/cpuinfo": VIRTUAL,
                "/sys/class/dmi/id/sys_vendor": "QEMU\n",
                "/.dockerenv": "",
                "/proc/mounts": OVERLAY,
            },
            {},
            "kvm, docker",
        ),
    ],
)
def test_hypervisors_and_containers(
    tmp_path: Path, files: dict[str, str], environment: dict[str, str], name: str
) -> None:
    assert layers(tmp_path, dict(files), environment=environment) == name


def test_a_container_with_a_quota_on_a_large_node(tmp_path: Path) -> None:
    files = trees.cluster_node() | {
        "/.dockerenv": "",
        "/proc/mounts": OVERLAY + "cgroup /sys/fs/cgroup cgroup2 ro 0 0\nshm /dev/shm tmpfs rw,size=65536k 0 0\n",
        "/proc/self/cgroup": "0::/\n",
        "/sys/fs/cgroup/cpu.max": "400000 100000\n",
        "/sys/fs/cgroup/memory.max": "17179869184\n",
    }
    host = discover(trees.door(tmp_path, files))
    assert host.virtualisation == "docker" and host.cpu_quota == 4.0 and host.memory.limit_bytes == 16 << 30
    node = next(peak for peak in host.peaks if (peak.name, peak.scope) == ("flops.fp64", "node"))
    assert node.value == 4 * 40e9 and "control group" in node.basis
    # a container hides no hardware: the memory's peak is still that of the node
    assert any(peak.name == "memory.bandwidth" for peak in host.peaks)
    assert "software and settings of the host" in {gap.what for gap in host.absent}
    assert {one.name for one in host.settings if one.state == "warn"} == {"/dev/shm", "control group CPU time"}


def test_a_guest_with_less_to_hide(tmp_path: Path) -> None:
    files = trees.cluster_node() | {
        "/proc/cpuinfo": trees.x86_cpuinfo(range(24), model=63, flags="hypervisor avx avx2 fma arch_perfmon"),
        "/sys/class/dmi/id/sys_vendor": "QEMU\n",
        "/proc/stat": "cpu  1 2 3 4 5 6 7 800 0 0\n",
    }
    door = trees.door(tmp_path, files)
    what = {gap.what for gap in virtualisation.hidden(door, virtualisation.layers(door), cpu(door)[0])}
    assert what == {"physical cores", "real NUMA layout and cache sharing"}
