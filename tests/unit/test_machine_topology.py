"""The topology of recorded machines must be the one that hwloc finds in the same files."""

from __future__ import annotations

import re
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from shakedown.hosts.access import ReplayHost
from shakedown.machine import discover
from shakedown.machine.kernel import parse_mask
from shakedown.records import Host

Set = frozenset[int]

#: What the probes read; the rest of a tree is ten thousand files of counters and power states.
_WANTED = re.compile(
    r"/(proc|class|bus/pci|hugepages)/|/system/(cpu|node)/(?!.*/(memory\d+|cpuidle|thermal_throttle|microcode|crash_notes)\b)"
    r"|/(net|infiniband)/(?!.*/(statistics|queues|power|counters|gids|pkeys|linkcontrol|sl2vl))"
    r"|/(class|vendor|device|driver|numa_node)$"
)


class Topology(NamedTuple):
    """What both say: sets of logical CPUs for everything that holds some."""

    cpus: Set
    cores: frozenset[Set]
    sockets: frozenset[Set]
    caches: frozenset[tuple[int, str, int, int | None, int | None, Set]]  # level, kind, bytes, line, ways, CPUs
    nodes: frozenset[tuple[Set, int]]  # CPUs, bytes
    distances: tuple[int, ...]


def unpack(archive: Path, folder: Path) -> None:
    """What is wanted of an archive of ours: files and links alone, without the owners and times that tarfile restores."""
    with tarfile.open(archive) as opened:
        for member in opened:
            place = folder / member.name
            if not _WANTED.search(member.name) or member.isdir():
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            if member.issym():
                place.symlink_to(member.linkname)
            elif content := opened.extractfile(member):
                place.write_bytes(content.read())


@pytest.fixture(scope="module")
def unpacked(recordings: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:  # removed at once: pytest would keep three of them
        for archive in sorted((recordings / "topology").glob("*.tar.bz2")):
            unpack(archive, Path(name))
        yield Path(name)


def of_host(host: Host) -> Topology:
    sockets: dict[int, set[int]] = {}
    for core in host.cpu.cores:
        sockets.setdefault(core.socket, set()).update(core.cpus)
    return Topology(
        cpus=frozenset(cpu for core in host.cpu.cores for cpu in core.cpus),
        cores=frozenset(frozenset(core.cpus) for core in host.cpu.cores),
        sockets=frozenset(frozenset(cpus) for cpus in sockets.values()),
        caches=frozenset(
            (cache.level, cache.kind, cache.size_bytes, cache.line_bytes, cache.ways, frozenset(group))
            for cache in host.cpu.caches
            for group in cache.groups
        ),
        nodes=frozenset((frozenset(node.cpus), node.memory_bytes or 0) for node in host.numa),
        distances=tuple(distance for node in host.numa for distance in node.distances),
    )


def of_xml(path: Path) -> Topology:
    tree = ElementTree.parse(path)
    objects = [
        (
            element,
            frozenset(
                parse_mask(",".join(f"{int(word or '0', 16):08x}" for word in element.get("cpuset", "0").split(",")))
            ),
        )
        for element in tree.iter("object")
    ]

    def sets(kind: str) -> frozenset[Set]:
        return frozenset(cpus for element, cpus in objects if element.get("type") == kind)

    kinds = {"0": "unified", "1": "data", "2": "instruction"}
    return Topology(
        cpus=frozenset(int(element.get("os_index", "")) for element, _ in objects if element.get("type") == "PU"),
        cores=sets("Core"),
        sockets=sets("Package"),
        caches=frozenset(
            (
                int(element.get("depth", "")),
                kinds[element.get("cache_type", "")],
                int(element.get("cache_size", "")),
                int(element.get("cache_linesize", "")),
                int(element.get("cache_associativity", "")),
                cpus,
            )
            for element, cpus in objects
            if re.fullmatch(r"L\di?Cache", element.get("type", ""))
        ),
        nodes=frozenset(
            (cpus, int(element.get("local_memory", "")))
            for element, cpus in objects
            if element.get("type") == "NUMANode"
        ),
        distances=tuple(int(word) for values in tree.iter("u64values") for word in (values.text or "").split()),
    )


class Line(NamedTuple):
    depth: int
    kind: str
    number: int | None
    text: str


def of_console(path: Path) -> Topology:
    """hwloc's drawing: what is indented under an object lies in it."""
    text = path.read_text()
    lines = [
        Line(len(match[1]), match[2], int(match[3]) if match[3] else None, match[0])
        for match in re.finditer(r"^( *)(\w+) L#\d+(?: \((?:P#(\d+))?.*)?$", text, re.MULTILINE)
    ]

    def below(index: int) -> Set:
        depth, cpus = lines[index].depth, set()
        for line in lines[index + 1 :]:
            if line.depth <= depth:
                break
            if line.kind == "PU" and line.number is not None:
                cpus.add(line.number)
        return frozenset(cpus)

    def caches(index: int, line: Line) -> tuple[int, str, int, int | None, int | None, Set]:
        match = re.search(r"size=(\d+)KiB linesize=(\d+) ways=(\d+)", line.text)
        assert match is not None
        kind = {"d": "data", "i": "instruction", "C": "unified"}[line.kind[2]]
        return int(line.kind[1]), kind, int(match[1]) * 1024, int(match[2]), int(match[3]), below(index)

    def nodes() -> frozenset[tuple[Set, int]]:
        found = set()
        for index, line in enumerate(lines):
            if line.kind == "NUMANode":  # its CPUs are those of the object that it hangs on
                parent = max(other for other in range(index) if lines[other].depth < line.depth)
                size = re.search(r"local=(\d+)([MG])iB", line.text)
                assert size is not None
                found.add((below(parent), int(size[1]) << {"M": 20, "G": 30}[size[2]]))
        return frozenset(found)

    rows = re.findall(r"^ +\d+((?: +\d+){8})$", text[text.index("Relative latency") :], re.MULTILINE)
    return Topology(
        cpus=frozenset(line.number for line in lines if line.kind == "PU" and line.number is not None),
        cores=frozenset(below(index) for index, line in enumerate(lines) if line.kind == "Core"),
        sockets=frozenset(below(index) for index, line in enumerate(lines) if line.kind == "Package"),
        caches=frozenset(caches(index, line) for index, line in enumerate(lines) if "Cache" in line.kind),
        nodes=nodes(),
        distances=tuple(int(word) for row in rows for word in row.split()),
    )


def test_old_xeons_with_cpus_offline(unpacked: Path, recordings: Path) -> None:
    host = discover(ReplayHost(unpacked / "16em64t-4s2c2t-offlines"))
    want = of_xml(recordings / "topology/16em64t-4s2c2t-offlines-xml.xml")
    got = of_host(host)
    assert got._replace(distances=()) == want._replace(distances=())
    assert got.cpus == {0, 1, 3, 4, 6, 7, 8, 9, 10, 11, 12, 15} and host.cpu.offline_cpus == (2, 5, 13, 14)
    assert host.cpu.sockets == 4 and host.cpu.threads_per_core == 2 and len(host.cpu.cores) == 7
    assert host.cpu.microarchitecture == "NetBurst"
    assert next(one for one in host.settings if one.name == "CPUs offline").state == "warn"


def test_four_westmere_ex_with_infiniband(unpacked: Path, recordings: Path) -> None:
    host = discover(ReplayHost(unpacked / "40intel64-2g2n4c+pci"))
    assert of_host(host) == of_xml(recordings / "topology/40intel64-2g2n4c+pcilocality.xml")
    assert host.cpu.microarchitecture == "Westmere-EX" and host.cpu.base_hz == 2.4e9
    ports = {network.name: network for network in host.networks}
    assert ports["qib0:1"].kind == "infiniband" and ports["qib0:1"].state == "active"
    assert ports["qib0:1"].rate_bit_s == 40e9 and ports["qib0:1"].facts["width"] == "4X QDR"
    assert ports["ib0"].kind == "infiniband" and ports["eth0"].rate_bit_s == 1e9 and ports["lo"].kind == "loopback"
    assert ports["eth1"].state == "down" and ports["eth1"].rate_bit_s is None
    # the only display is that of the board's management controller: no GPU, and none without a driver
    assert host.gpus == () and [gap.why for gap in host.absent if "GPU" in gap.what] == [
        "no GPU on the PCI bus and no driver of one"
    ]


def test_four_interlagos_of_two_dies(unpacked: Path, recordings: Path) -> None:
    host = discover(ReplayHost(unpacked / "64amd64-4s2n4ca2co"))
    got, want = of_host(host), of_console(recordings / "topology/64amd64-4s2n4ca2co.console")
    # the console rounds memory to whole GiB or MiB
    assert {cpus for cpus, _ in got.nodes} == {cpus for cpus, _ in want.nodes}
    assert all(abs(size - dict(want.nodes)[cpus]) < 2**29 for cpus, size in got.nodes)
    assert got._replace(nodes=frozenset()) == want._replace(nodes=frozenset())
    # core_id repeats in both dies of a socket, and cpuinfo counts 8 cores in a socket of 16
    assert len(host.cpu.cores) == 64 and host.cpu.sockets == 4 and len(host.numa) == 8
    assert host.cpu.microarchitecture == "Bulldozer"
    assert [node.hugepages for node in host.numa] == [{"2097152": 0}] * 8


def test_interlagos_cores_share_their_floating_point_unit(unpacked: Path) -> None:
    door = ReplayHost(unpacked / "64amd64-4s2n4ca2co")
    peaks = {(peak.name, peak.scope): peak for peak in discover(door).peaks}
    # AMD: 8 flop/cycle for each pair of cores; 4 sockets x 8 pairs x 8 x 2.3 GHz
    assert peaks["flops.fp64", "node"].value == pytest.approx(588.8e9)
    assert peaks["flops.fp64", "socket"].value == pytest.approx(147.2e9)
    assert peaks["flops.fp64", "core"].value == pytest.approx(18.4e9)
    # one core of each of two pairs has both units to itself
    apart = discover(ReplayHost(unpacked / "64amd64-4s2n4ca2co", affinity=(0, 2)))
    together = discover(ReplayHost(unpacked / "64amd64-4s2n4ca2co", affinity=(0, 1)))
    node = {
        "apart": next(peak.value for peak in apart.peaks if (peak.name, peak.scope) == ("flops.fp64", "node")),
        "together": next(peak.value for peak in together.peaks if (peak.name, peak.scope) == ("flops.fp64", "node")),
    }
    assert node == {"apart": pytest.approx(36.8e9), "together": pytest.approx(18.4e9)}


def test_memory_behind_buffers_has_no_derived_bandwidth(unpacked: Path) -> None:
    host = discover(ReplayHost(unpacked / "40intel64-2g2n4c+pci"))
    assert not [peak for peak in host.peaks if peak.name == "memory.bandwidth"]
    assert "Westmere-EX" in next(gap.why for gap in host.absent if gap.what == "peak of memory bandwidth")
