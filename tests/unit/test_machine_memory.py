"""Memory: its size and limit, the modules and channels that dmidecode or EDAC show."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.hosts.access import ReplayHost, Result
from shakedown.machine.memory import channel_count, memory, parse_dmidecode, slot_channel
from shakedown.machine.numa import numa
from support import trees


def device(locator: str, bank: str, size: str = "32 GB", speed: str = "2933 MT/s", kind: str = "DDR4") -> str:
    return (
        f"Handle 0x0011, DMI type 17, 84 bytes\nMemory Device\n\tArray Handle: 0x000F\n\tSize: {size}\n"
        f"\tForm Factor: DIMM\n\tLocator: {locator}\n\tBank Locator: {bank}\n\tType: {kind}\n\tSpeed: 3200 MT/s\n"
        f"\tConfigured Memory Speed: {speed}\n\n"
    )


DMIDECODE = (
    "# dmidecode 3.3\nGetting SMBIOS data from sysfs.\n\n"
    + "".join(
        device(f"P{socket}-DIMM{'ABCDEF'[channel]}1", f"P{socket}_Node0_Channel{channel}_Dimm0")
        for socket in (0, 1)
        for channel in range(6)
    )
    + device("P1-DIMMA2", "P1_Node0_Channel0_Dimm1", "No Module Installed", "Unknown")
)


def test_modules_channels_and_the_speed_that_is_configured() -> None:
    modules = parse_dmidecode(DMIDECODE)
    assert len(modules) == 12 and {module.size_bytes for module in modules} == {32 << 30}
    assert {module.speed_mts for module in modules} == {2933.0} and {module.kind for module in modules} == {"DDR4"}
    assert channel_count(modules) == 12


def test_old_dmidecode_writes_megahertz_and_megabytes() -> None:
    text = device("DIMM 0", "P0 CHANNEL A", "16384 MB", "Unknown").replace(
        "Configured Memory Speed: Unknown", "Configured Clock Speed: 1333 MHz"
    )
    assert [(module.size_bytes, module.speed_mts) for module in parse_dmidecode(text)] == [(16 << 30, 1333.0)]


@pytest.mark.parametrize(
    ("locator", "bank", "channel"),
    [
        ("P1-DIMMA1", "P0_Node0_Channel0_Dimm0", "0/0"),
        ("DIMM 0", "P1 CHANNEL H", "1/H"),
        ("CPU1_DIMM_A1", "NODE 1", "1/A"),
        ("CPU0_DIMM_B2", "", "0/B"),
        ("Node1_Dimm3", "NODE 0 CHANNEL 2 DIMM 1", "0/2"),
        ("ChannelA-DIMM0", "BANK 0", "0/A"),
        ("A1", "", ""),  # Dell: A is the socket
        ("PROC 1 DIMM 12", "", ""),  # HPE: the number tells the slot, not the channel
    ],
)
def test_the_channel_by_the_names_of_slots(locator: str, bank: str, channel: str) -> None:
    assert slot_channel(locator, bank) == channel


def test_a_slot_name_that_tells_no_channel_gives_no_count(tmp_path: Path) -> None:
    text = device("PROC 1 DIMM 1", "Not Specified") + device("PROC 1 DIMM 3", "Not Specified")
    found, absent = memory(
        trees.door(tmp_path, {"/proc/meminfo": "MemTotal: 1024 kB\n"}, commands={("dmidecode", "-t", "17"): text})
    )
    assert found.channels is None and found.speed_mts == 2933.0
    assert "PROC 1 DIMM 1" in absent[0].why


def test_dmidecode_without_root_falls_back_on_edac(tmp_path: Path) -> None:
    base = "/sys/devices/system/edac/mc"
    files: dict[str, str | bytes | trees.Link] = {"/proc/meminfo": "MemTotal: 1024 kB\nSwapTotal: 0 kB\n"}
    for controller in (0, 1):
        for channel in range(4):
            folder = f"{base}/mc{controller}/dimm{channel}"
            files |= {
                f"{folder}/size": "16384\n" if channel < 3 else "0\n",
                f"{folder}/dimm_mem_type": "Registered-DDR4\n",
                f"{folder}/dimm_location": f"channel {channel} slot 0 \n",
                f"{folder}/dimm_label": f"L{channel}\n",
            }
    refused = Result(1, "", "/sys/firmware/dmi/tables/smbios_entry_point: Permission denied\n")
    found, absent = memory(trees.door(tmp_path, files, commands={("dmidecode", "-t", "17"): refused}))
    assert found.channels == 6 and found.speed_mts is None and found.modules[0].kind == "DDR4"
    assert found.bus_bytes == 8 and found.swap_bytes == 0
    assert [gap.what for gap in absent] == ["memory speed"] and "Permission denied" in absent[0].why


def test_nothing_readable_is_said(tmp_path: Path) -> None:
    found, absent = memory(trees.door(tmp_path, {"/proc/meminfo": "MemTotal: 1024 kB\n"}))
    assert (found.total_bytes, found.available_bytes, found.channels, found.modules) == (1 << 20, None, None, ())
    assert absent[0].what == "memory channels and speed" and "dmidecode is not installed" in absent[0].why
    with pytest.raises(ValueError, match="MemTotal"):
        memory(trees.door(tmp_path / "none", {}))


def test_the_slowest_module_sets_the_speed(tmp_path: Path) -> None:
    text = device("DIMM 0", "P0 CHANNEL A") + device("DIMM 0", "P0 CHANNEL B", speed="2400 MT/s")
    found, _ = memory(
        trees.door(tmp_path, {"/proc/meminfo": "MemTotal: 1 kB\n"}, commands={("dmidecode", "-t", "17"): text})
    )
    assert (found.channels, found.speed_mts) == (2, 2400.0)


# ---------------------------------------------------------------------------------------------------------------- NUMA


def test_nodes_without_cpus_or_memory(tmp_path: Path) -> None:
    nodes, absent = numa(
        trees.door(
            tmp_path,
            {
                f"{trees.CPUS}/online": "0-1\n",
                "/proc/meminfo": "MemTotal: 3072 kB\n",
                f"{trees.NODES}/node0/cpulist": "0-1\n",
                f"{trees.NODES}/node0/meminfo": "Node 0 MemTotal: 1024 kB\n",
                f"{trees.NODES}/node0/distance": "10 17\n",
                f"{trees.NODES}/node8/cpulist": "\n",
                f"{trees.NODES}/node8/meminfo": "Node 8 MemTotal: 2048 kB\n",
                f"{trees.NODES}/node8/distance": "17 10\n",
                f"{trees.NODES}/node0/hugepages/hugepages-1048576kB/nr_hugepages": "4\n",
                f"{trees.NODES}/possible": "0-8\n",
            },
        )
    )
    assert [(node.id, node.cpus, node.memory_bytes, node.distances) for node in nodes] == [
        (0, (0, 1), 1 << 20, (10, 17)),
        (8, (), 2 << 20, (17, 10)),
    ]
    assert nodes[0].hugepages == {"1073741824": 4} and absent == ()


def test_nodes_that_do_not_add_up_are_doubted(tmp_path: Path) -> None:
    _, absent = numa(
        trees.door(
            tmp_path,
            {
                "/proc/meminfo": "MemTotal: 25000000 kB\n",
                f"{trees.NODES}/node0/cpulist": "0\n",
                f"{trees.NODES}/node0/meminfo": "Node 0 MemTotal: 5000000 kB\n",
            },
        )
    )
    assert absent[0].what == "memory of the NUMA nodes"
    assert "4.8 GiB" in absent[0].why and "23.8 GiB" in absent[0].why


def test_a_kernel_without_numa(tmp_path: Path) -> None:
    nodes, absent = numa(trees.door(tmp_path, {}))
    assert nodes == () and absent[0].what == "NUMA nodes"


def _nodes(folder: Path, allowed: str = "0-2") -> ReplayHost:
    """Node 0 with CPUs, a GPU's memory as node 1, node 2 with CPUs; each of 700 kB with 250 kB that programs can have."""
    for node, cpus in enumerate(("0-3", "", "4-7")):
        trees.write(
            folder,
            {
                f"sys/devices/system/node/node{node}/cpulist": f"{cpus}\n",
                f"sys/devices/system/node/node{node}/meminfo": f"Node {node} MemTotal:       700 kB\n"
                f"Node {node} MemFree:        200 kB\nNode {node} Inactive(file):  50 kB\n",
            },
        )
    trees.write(
        folder,
        {
            "proc/meminfo": "MemTotal:  2100 kB\nMemAvailable:  750 kB\n",
            "proc/self/status": f"Name:\tx\nMems_allowed_list:\t{allowed}\n",
        },
    )
    return ReplayHost(folder)


@pytest.mark.parametrize(("allowed", "kib"), [("0-2", 500), ("0", 250), ("0-1", 250), ("x", 500)])
def test_memory_without_cpus_and_of_other_cpusets_is_no_room(tmp_path: Path, allowed: str, kib: int) -> None:
    found, _ = memory(_nodes(tmp_path, allowed))
    assert found.near_bytes == kib * 1024 == found.room_bytes
    assert found.available_bytes == 750 * 1024


def test_where_all_memory_is_near_nothing_is_taken_off(tmp_path: Path) -> None:
    door = _nodes(tmp_path)
    (tmp_path / "sys/devices/system/node/node1/cpulist").write_text("8\n")
    found, _ = memory(door)
    assert found.near_bytes is None and found.room_bytes == 750 * 1024
