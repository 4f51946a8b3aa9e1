"""Sockets where ``physical_package_id`` does not tell them: -1, absent, repeated in each node."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.hosts.access import format_cpu_list
from shakedown.machine.cpu import cpu
from shakedown.machine.span import span
from shakedown.records import Absent, Cpu, Host, Memory
from support import trees


def machine(
    root: Path,
    sockets: int,
    cores: int,
    *,
    package: str,
    siblings: str = "",
    distance: int = 21,
    threads: int = 1,
    core_ids: bool = True,
) -> tuple[Cpu, tuple[Absent, ...]]:
    """``package``: what physical_package_id holds, {} for the CPU's own socket; ``siblings``: package, all or self."""
    files = trees.topology(sockets, cores, threads, distance=distance, l3_kib=1024)
    total = sockets * cores * threads
    for number in range(total):
        folder = f"{trees.CPUS}/cpu{number}/topology"
        socket = number % (sockets * cores) // cores
        files[f"{folder}/physical_package_id"] = package.format(socket) + "\n"
        if not package:
            del files[f"{folder}/physical_package_id"]
        if not core_ids:
            files[f"{folder}/core_id"] = f"{number % (sockets * cores)}\n"
        mine = [other for other in range(total) if other % (sockets * cores) // cores == socket]
        if siblings:
            shown = {"package": mine, "all": range(total), "self": [number]}[siblings]
            files[f"{folder}/core_siblings_list"] = format_cpu_list(shown) + "\n"
    return cpu(trees.door(root, files | {"/proc/cpuinfo": trees.x86_cpuinfo(range(total))}))


def sizes(processor: Cpu) -> list[int]:
    groups: dict[int | None, int] = {}
    for core in processor.cores:
        groups[core.socket] = groups.get(core.socket, 0) + 1
    return sorted(groups.values())


@pytest.mark.parametrize("package", ["-1", "", "0", "x"])
@pytest.mark.parametrize("sockets", [8, 64])
def test_by_the_cpus_that_are_said_to_be_beside(tmp_path: Path, sockets: int, package: str) -> None:
    processor, absent = machine(tmp_path, sockets, 2, package=package, siblings="package")
    assert processor.sockets == sockets and sizes(processor) == [2] * sockets
    assert any(gap.what == "sockets" and "share each core" in gap.why for gap in absent)


@pytest.mark.parametrize("package", ["-1", "", "0"])
@pytest.mark.parametrize("siblings", ["", "all"])
def test_by_the_nodes(tmp_path: Path, package: str, siblings: str) -> None:
    processor, absent = machine(tmp_path, 8, 4, package=package, siblings=siblings)
    assert processor.sockets == 8 and sizes(processor) == [4] * 8
    assert any(gap.what == "sockets" and "node" in gap.why for gap in absent)


def test_two_sockets_in_each_node_that_counts_them_anew(tmp_path: Path) -> None:
    files = trees.topology(4, 2, distance=22)
    for number in range(8):  # two nodes of four cores: packages 0 and 1 in each
        files[f"{trees.CPUS}/cpu{number}/topology/physical_package_id"] = f"{number // 2 % 2}\n"
    for node in range(4):
        for name in ("cpulist", "meminfo", "distance"):
            del files[f"{trees.NODES}/node{node}/{name}"]
    files |= {f"{trees.NODES}/node0/cpulist": "0-3\n", f"{trees.NODES}/node0/distance": "10 22\n"}
    files |= {f"{trees.NODES}/node1/cpulist": "4-7\n", f"{trees.NODES}/node1/distance": "22 10\n"}
    processor, _ = cpu(trees.door(tmp_path, files | {"/proc/cpuinfo": trees.x86_cpuinfo(range(8))}))
    assert processor.sockets == 4 and sizes(processor) == [2] * 4


def test_unknown_stays_unknown(tmp_path: Path) -> None:
    for root, siblings in (("a", ""), ("b", "self")):
        processor, absent = machine(tmp_path / root, 1, 8, package="-1", siblings=siblings)
        assert processor.sockets is None and {core.socket for core in processor.cores} == {None}
        assert any(gap.what == "sockets" and "not known" in gap.why for gap in absent)


def test_near_nodes_are_parts_of_one_socket(tmp_path: Path) -> None:
    processor, _ = machine(tmp_path / "a", 4, 2, package="-1", distance=12)
    assert processor.sockets is None  # one socket of four quarters, or more that are near: not told
    processor, absent = machine(tmp_path / "b", 4, 2, package="0", distance=12)
    assert processor.sockets == 1 and not [gap for gap in absent if gap.what == "sockets"]
    # Knights Landing in quarters: 21 between them, one package, core numbers that do not repeat
    processor, _ = machine(tmp_path / "c", 4, 2, package="0", siblings="all", core_ids=False)
    assert processor.sockets == 1


def test_sound_numbers_stay(tmp_path: Path) -> None:
    for root, siblings in (("a", ""), ("b", "package"), ("c", "self")):
        processor, absent = machine(tmp_path / root, 2, 4, package="{}", siblings=siblings, threads=2)
        assert [core.socket for core in processor.cores] == [0] * 4 + [1] * 4 and processor.sockets == 2
        assert not [gap for gap in absent if gap.what == "sockets"]


def test_one_number_that_cannot_be_read_is_that_of_its_node(tmp_path: Path) -> None:
    files = trees.topology(2, 4) | {f"{trees.CPUS}/cpu5/topology/physical_package_id": "\n"}
    processor, absent = cpu(trees.door(tmp_path, files | {"/proc/cpuinfo": trees.x86_cpuinfo(range(8))}))
    assert [core.socket for core in processor.cores] == [0] * 4 + [1] * 4
    assert any("physical_package_id" in gap.what for gap in absent)


def test_a_job_over_hosts_has_no_sockets_where_one_host_does_not_tell(tmp_path: Path) -> None:
    known, _ = machine(tmp_path / "a", 2, 2, package="{}")
    unknown, _ = machine(tmp_path / "b", 1, 4, package="-1")
    hosts = [Host(name=f"n{at}", cpu=cpu, memory=Memory(total_bytes=1)) for at, cpu in enumerate((known, unknown))]
    assert span(hosts, "both").cpu.sockets is None
    assert span(hosts[:1] * 2, "both").cpu.sockets == 4
