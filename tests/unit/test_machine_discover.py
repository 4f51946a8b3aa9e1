"""The whole of discovery: a recorded guest, probes that fail or hang, what hypervisors and containers hide, text."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from shakedown.cli import machine as verb
from shakedown.hosts.access import HostAccess, LocalHost, ReplayHost, Result
from shakedown.machine import discover, machine, recording, settings, software
from shakedown.machine.together import together
from shakedown.records import Host, Machine
from support import trees

GUEST = "machines/kvm-sapphire-rapids-2c"


@pytest.fixture(scope="module")
def guest(recordings: Path) -> Host:
    return discover(recording.replay(recordings / GUEST))


# --------------------------------------------------------------------------------------------------- the recorded guest


def test_the_guest_is_told_by_what_it_can_do(guest: Host) -> None:
    assert guest.cpu.model_number == 167 and guest.cpu.microarchitecture == "Sapphire Rapids or newer"
    assert guest.virtualisation == "kvm (Firecracker)"  # /.dockerenv is a leftover: the root is a disk, not an overlay
    assert len(guest.cpu.cores) == 2 and guest.cpu.sockets == 1 and guest.cpu.base_hz is None
    assert guest.cpu.clock_hz == 2.6e9 and "time-stamp counter" in guest.cpu.clock_basis
    assert [(cache.level, cache.kind, cache.size_bytes, len(cache.groups)) for cache in guest.cpu.caches] == [
        (1, "data", 48 << 10, 2),
        (1, "instruction", 64 << 10, 2),
        (2, "unified", 2 << 20, 2),
        (3, "unified", 480 << 20, 1),
    ]


def test_the_guests_peaks(guest: Host) -> None:
    values = {(peak.name, peak.scope): peak.value for peak in guest.peaks}
    assert values["flops.fp64", "node"] == 2 * 32 * 2.6e9 and values["flops.fp32", "core"] == 64 * 2.6e9
    assert not [peak for peak in guest.peaks if peak.name == "memory.bandwidth"]
    node = next(peak for peak in guest.peaks if (peak.name, peak.scope) == ("flops.fp64", "node"))
    assert node.basis.startswith(
        "2 cores x 32 flop/cycle (2 FMA units x 8 lanes x 2) x 2.60 GHz rate of the time-stamp counter"
    )


def test_what_the_guest_cannot_know_is_said(guest: Host) -> None:
    gaps = {gap.what: gap.why for gap in guest.absent}
    for what in (
        "microarchitecture",
        "physical cores",
        "real NUMA layout and cache sharing",
        "clock control",
        "performance counters (PMU)",
        "memory channels and speed",
        "memory of the NUMA nodes",
        "GPUs",
        "InfiniBand",
        "peak of memory bandwidth",
    ):
        assert gaps[what]
    assert "Rocket Lake" in gaps["microarchitecture"]


def test_the_guests_settings_and_limits(guest: Host) -> None:
    found = {one.name: one for one in guest.settings}
    assert found["transparent huge pages"].value == "madvise" and found["scheduler tick"].value == (
        "250 ticks/s, none on idle cores, preempt dynamic"
    )
    assert found["clock governor"].state == found["turbo"].state == found["energy counters (RAPL)"].state == "unknown"
    assert found["hardware threads (SMT)"].state == "unknown"
    assert guest.cpu_quota is None and guest.memory.limit_bytes is None
    assert {one.name: one.version for one in guest.software if one.kind == "compiler"}["gcc"] == "12.2.0"


def test_a_machine_survives_its_own_json(guest: Host) -> None:
    made = Machine(hosts=(guest,), discovered_ns=1, version="test")
    assert msgspec.json.decode(msgspec.json.encode(made), type=Machine) == made


# --------------------------------------------------------------------------------------------------------- this machine


def test_this_machine_is_discovered_and_replayed_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in settings.OVERRIDES:  # which mean something beside libraries, of whose folders a recording keeps nothing
        monkeypatch.delenv(name, raising=False)
    door = recording.RecordingDoor(LocalHost())
    live = discover(door)
    assert live.cpu.cores and live.memory.total_bytes > 0 and set(live.usable_cpus) == os.sched_getaffinity(0)
    door.save(tmp_path / "here")
    again = discover(recording.replay(tmp_path / "here"))
    for name in (
        "cpu",
        "memory",
        "numa",
        "gpus",
        "networks",
        "peaks",
        "virtualisation",
        "usable_cpus",
        "cpu_quota",
        "os",
    ):
        assert getattr(again, name) == getattr(live, name), name
    assert [(one.name, one.state) for one in again.settings] == [(one.name, one.state) for one in live.settings]


def test_a_recording_leaves_out_what_is_private(tmp_path: Path) -> None:
    door = trees.door(
        tmp_path / "door",
        {
            "/proc/cmdline": "quiet mitigations=off init=/opt/site/start -- --token secret\n",
            "/proc/mounts": "/dev/sda1 / ext4 rw 0 0\nfiler:/home/alice /home/alice nfs rw 0 0\n"
            "tmpfs /dev/shm tmpfs rw 0 0\n",
        },
    )
    recorded = recording.RecordingDoor(door)
    recorded.read("/proc/cmdline")
    recorded.read("/proc/mounts")
    recorded.read("/home/alice/.netrc")
    recorded.list("/home/alice")
    recorded.save(tmp_path / "saved")
    kept = b"".join(path.read_bytes() for path in sorted((tmp_path / "saved").rglob("*")) if path.is_file())
    assert b"mitigations=off" in kept and b"/dev/sda1" in kept
    assert b"secret" not in kept and b"alice" not in kept and b"/opt/site" not in kept


# --------------------------------------------------------------------------------------------------- failures, injected


class Broken:
    """A door behind which some paths raise, hang until released, or are refused."""

    def __init__(self, door: HostAccess, *, hang: str = "", garbage: Mapping[str, str] | None = None) -> None:
        self._door, self._hang, self._garbage = door, hang, dict(garbage or {})
        self.released = threading.Event()

    def __getattr__(self, name: str) -> object:
        return getattr(self._door, name)

    def read(self, path: str) -> str | None:
        if self._hang and path.startswith(self._hang):
            self.released.wait(300)
            return None
        return self._garbage.get(path, self._door.read(path))

    def list(self, path: str) -> Sequence[str]:
        if self._hang and path.startswith(self._hang):
            self.released.wait(300)
        return self._door.list(path)


def test_a_probe_that_hangs_costs_its_own_facts_and_no_others(tmp_path: Path) -> None:
    door = Broken(trees.door(tmp_path, trees.cluster_node()), hang="/sys/class/net")
    host = discover(door, limit_s=8.0)  # type: ignore[arg-type]
    door.released.set()
    assert host.networks == () and "no answer within 8 s" in next(
        gap.why for gap in host.absent if gap.what == "network"
    )
    assert len(host.cpu.cores) == 24 and host.memory.total_bytes and host.settings and host.peaks


def test_settings_that_hang_are_missing_and_the_rest_is_there(tmp_path: Path) -> None:
    door = Broken(trees.door(tmp_path, trees.cluster_node()), hang="/sys/class/powercap")
    host = discover(door, limit_s=8.0)  # type: ignore[arg-type]
    door.released.set()
    assert host.settings == () and "settings" in {gap.what for gap in host.absent} and host.peaks


@pytest.mark.parametrize(
    ("path", "text", "what"),
    [
        ("/proc/cpuinfo", "", "processor"),
        ("/proc/meminfo", "garbage", "memory"),
        (f"{trees.NODES}/node0/distance", "ten twenty\n", f"{trees.NODES}/node*/distance"),
        (f"{trees.CPUS}/cpu3/topology/core_id", "x\n", f"{trees.CPUS}/cpu*/topology/core_id"),
        (f"{trees.CPUS}/cpu0/cache/index0/size", "much\n", f"{trees.CPUS}/cpu*/cache/index0/size"),
    ],
)
def test_garbage_in_one_file_is_one_absence(tmp_path: Path, path: str, text: str, what: str) -> None:
    door = trees.door(tmp_path, trees.cluster_node())
    host = discover(Broken(door, garbage={path: text}))  # type: ignore[arg-type]
    gaps = [gap.what for gap in host.absent]
    if path == "/proc/cpuinfo":  # sysfs still knows the cores
        assert len(host.cpu.cores) == 24 and host.cpu.microarchitecture == "unknown" and "peak of flop/s" in gaps
    else:
        assert what in gaps
    assert host.settings and (host.networks or "network interfaces" in gaps)


def test_an_empty_machine_is_a_host_full_of_gaps(tmp_path: Path) -> None:
    host = discover(ReplayHost(tmp_path))
    assert host.cpu.microarchitecture == "unknown" and host.memory.total_bytes == 0 and host.peaks == ()
    assert {"processor", "memory", "NUMA nodes", "GPUs", "network interfaces"} <= {gap.what for gap in host.absent}
    assert not [one for one in host.settings if one.state == "good"]


def test_a_fault_of_the_program_is_not_hidden() -> None:
    def faulty() -> int:
        raise TypeError("a fault")

    with pytest.raises(TypeError, match="a fault"):
        together({"faulty": faulty, "well": lambda: 1}, 5)


@pytest.mark.timing
def test_a_command_that_does_not_end_is_given_up(tmp_path: Path) -> None:
    begin = time.monotonic()
    # the child holds the pipe open after its parent is gone
    result = LocalHost().run(["/bin/sh", "-c", "sleep 60 & sleep 60"], limit_s=0.2)
    assert result == Result(None, "", "no answer within 0.2 s")
    assert time.monotonic() - begin < 30


# ------------------------------------------------------------------------------------------------------------- software


def test_software_by_what_programs_print_of_themselves(tmp_path: Path) -> None:
    commands: dict[tuple[str, ...], Result | str] = {
        ("gcc", "--version"): "gcc (GCC) 8.5.0 20210514 (Red Hat 8.5.0-22)\nCopyright (C) 2018\n",
        ("clang", "--version"): "Ubuntu clang version 14.0.0-1ubuntu1.1\nTarget: x86_64-pc-linux-gnu\n",
        ("icx", "--version"): "Intel(R) oneAPI DPC++/C++ Compiler 2024.0.2 (2024.0.2.20231213)\n",
        (
            "nvcc",
            "--version",
        ): "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 12.4, V12.4.131\n",
        ("sinfo", "--version"): "slurm-wlm 22.05.8\n",
        ("apptainer", "--version"): "apptainer version 1.2.5-1.el8\n",
        ("docker", "--version"): "Docker version 28.2.2, build e6534b4\n",
        ("getconf", "GNU_LIBC_VERSION"): "glibc 2.28\n",
        ("numactl",): "",
        ("qstat", "-help"): "SGE 8.1.9\nusage: qstat [options]\n",
        ("podman", "--version"): Result(125, "", "no storage"),
    }
    files = {
        "/usr/local/cuda/version.json": '{"cuda" : {"name" : "CUDA SDK", "version" : "12.4.1"}}',
        "/opt/rocm/.info/version": "6.0.2-115\n",
    }
    found, absent = software.software(trees.door(tmp_path, dict(files), commands=commands))
    versions = {one.name: one.version for one in found}
    assert absent == ()
    assert versions == {
        "gcc": "8.5.0",
        "clang": "14.0.0-1ubuntu1.1",
        "icx": "2024.0.2",
        "nvcc": "12.4.131",
        "slurm": "22.05.8",
        "apptainer": "1.2.5-1.el8",
        "docker": "28.2.2",
        "glibc": "2.28",
        "numactl": "",
        "gridengine": "8.1.9",
        "podman": "",
        "cuda": "12.4.1",
        "rocm": "6.0.2-115",
    }


@pytest.mark.parametrize(
    ("argv", "text", "name", "version"),
    [
        ("-help", "GE 6.2u5\nusage: qstat\n", "gridengine", "6.2u5"),
        ("--version", "pbs_version = 19.1.3\n", "pbs", "19.1.3"),
        ("--version", "Version: 6.1.1.1\nCommit: x\n", "torque", "6.1.1.1"),
        ("-x", "", "qstat", ""),
    ],
)
def test_whose_qstat_it_is(tmp_path: Path, argv: str, text: str, name: str, version: str) -> None:
    found, _ = software.software(trees.door(tmp_path, {}, commands={("qstat", argv): text}))
    assert [(one.name, one.version) for one in found] == [(name, version)]


# ------------------------------------------------------------------------------------------------------------- the text


def test_the_text_tells_what_matters_without_colour(guest: Host) -> None:
    text = "\n".join(verb.lines(Machine(hosts=(guest,), discovered_ns=0, version="test"), width=100))
    assert "\x1b" not in text and text.isascii()
    for part in (
        "kvm (Firecracker)",
        "Sapphire Rapids or newer",
        "2 in 1 socket",
        "166.4 Gflop/s",
        "2.60 GHz",
        "clock governor: not readable",
        "1 x 480 MiB, each shared by 2 logical CPUs",
        "Not known",
        "gcc",
    ):
        assert part in text, part
    assert max(len(line) for line in text.splitlines()) <= 100


def test_all_settings_are_shown_on_request(guest: Host) -> None:
    made = Machine(hosts=(guest,), discovered_ns=0, version="test")
    few, many = ("\n".join(verb.lines(made, everything=choice)) for choice in (False, True))
    assert "swap: none" not in few and "swap: none" in many and "need nothing" in few


def test_warnings_come_first(tmp_path: Path) -> None:
    host = discover(trees.door(tmp_path, trees.cluster_node() | {"/proc/sys/kernel/numa_balancing": "1\n"}))
    text = "\n".join(verb.lines(Machine(hosts=(host,), discovered_ns=0, version="test")))
    settings = text[text.index("\nSettings\n") :].splitlines()[2:]
    assert settings[0].strip().startswith("wrong  NUMA balancing: 1")
    assert "mlx4_0:1" in text and "56 Gbit/s" in text and "2 sockets x 12 cores" in text


def test_machine_is_one_host_and_the_version(tmp_path: Path) -> None:
    made = machine(trees.door(tmp_path, trees.cluster_node()))
    assert len(made.hosts) == 1 and made.version and made.hosts[0].name == "recorded"
