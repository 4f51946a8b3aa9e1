"""Odd values in sysfs: each costs the fact that it tells, with a reason in words, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.hosts.access import ReplayHost, parse_cpu_list
from shakedown.machine import cgroup, discover, numa
from shakedown.machine.cpu import cpu
from shakedown.machine.kernel import Reader, parse_mask
from shakedown.records import Absent, Cpu, NumaNode
from support import trees

#: What firmware, kernels and copies of trees leave in files; None: the file cannot be read.
SPOILED: tuple[bytes | None, ...] = (
    None,
    b"",
    b"\n",
    b"\0",
    b"-1\n",
    b"-99999999999999999999\n",
    b"9" * 30 + b"\n",
    b"9" * 6000,
    b"0-99999999999\n",
    b"7-3\n",
    b"1_0\n",
    "\N{SUPERSCRIPT TWO}\n".encode(),
    b"\xff\xfe\x00garbage\n",
    b"<unknown>\n",
    b"2.4 GHz\n",
    b"48 parsecs\n",
    b"ffffffff," * 3000,
    b"nan\n",
)

#: What a reader must never be shown.
PYTHON = re.compile(
    r"Error\b|invalid literal|Traceback|could not convert|list index|NoneType|unpack|base 10|base 16|codec"
)


class Spoiled(ReplayHost):
    """A recorded machine with one file that holds something else."""

    path, content = "", b""
    kept: dict[str, bytes | None]
    folders: dict[str, list[str]]

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.kept, self.folders = {}, {}  # read once: the same files are looked at a thousand times

    def read_bytes(self, path: str) -> bytes | None:
        if path == self.path:
            return self.content
        if path not in self.kept:
            self.kept[path] = super().read_bytes(path)
        return self.kept[path]

    def list(self, path: str) -> list[str]:
        if path not in self.folders:
            self.folders[path] = super().list(path)
        return self.folders[path]

    def spoil(self, path: str, content: bytes | None) -> None:
        self.path, self.content = path, content  # type: ignore[assignment]


def tree() -> dict[str, str | bytes | trees.Link]:
    files = trees.topology(2, 2, 2)
    for number in range(8):
        package = "0,1,4,5" if number % 4 < 2 else "2,3,6,7"
        base = f"{trees.CPUS}/cpu{number}"
        files |= {
            f"{base}/topology/core_siblings_list": f"{package}\n",
            f"{base}/cpufreq/base_frequency": "2000000\n",
            f"{base}/cpufreq/cpuinfo_max_freq": "3800000\n",
            f"{base}/node{number % 4 // 2}/cpulist": "x\n",  # in the kernel a link: only its name counts
        }
    return files | {
        "/proc/cpuinfo": trees.x86_cpuinfo(range(8)),
        f"{trees.CPUS}/present": "0-7\n",
        f"{trees.NODES}/node0/memory_side_cache/index1/size": f"{16 << 30}\n",
        f"{trees.NODES}/node0/memory_side_cache/index1/line_size": "64\n",
    }


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Spoiled:
    return Spoiled(trees.write(tmp_path_factory.mktemp("tree"), tree()))


def files() -> Iterator[str]:
    """One file of each kind: CPU 1's stand for those of the others."""
    for path in tree():
        if not re.search(r"/cpu[02-7]/|/node1/|/cpu1/node", path):
            yield path


#: Path -> the fields that may change when this file is odd, of the processor and of the nodes.
MAY_CHANGE = (
    (r"/cache/", {"caches"}),
    (r"/memory_side_cache/", {"side_caches"}),
    (r"/cpufreq/(base_frequency|cpuinfo_max_freq)$", {"base_hz", "max_hz", "clock_hz", "clock_basis"}),
    (r"/topology/core_id$", {"cores"}),
    (r"node\d/distance$", {"distances"}),
    (r"node\d/meminfo$", {"memory_bytes"}),
    (r"/proc/cpuinfo$", {"model", "vendor", "microarchitecture", "family", "model_number", "stepping", "isa"}),
    (r"", set()),  # told by another file too
)


def changed(path: str) -> set[str]:
    return next(fields for pattern, fields in MAY_CHANGE if re.search(pattern, path))


def look(door: ReplayHost) -> tuple[Cpu, tuple[NumaNode, ...], tuple[Absent, ...]]:
    processor, absent = cpu(door)
    nodes, more = numa.numa(door)
    return processor, nodes, absent + more


def fields_of(processor: Cpu, nodes: tuple[NumaNode, ...]) -> dict[str, object]:
    return {name: getattr(processor, name) for name in Cpu.__struct_fields__} | {
        name: [getattr(node, name) for node in nodes] for name in NumaNode.__struct_fields__
    }


@pytest.mark.parametrize("path", list(files()))
def test_an_odd_file_costs_its_own_fact(machine: Spoiled, path: str) -> None:
    machine.spoil("", b"")
    whole = fields_of(*look(machine)[:2])
    for content in SPOILED:
        machine.spoil(path, content)
        processor, nodes, absent = look(machine)
        found = fields_of(processor, nodes)
        lost = {name for name in whole if found[name] != whole[name]}
        assert lost <= changed(path), (path, content[:20] if content else content, lost)
        told = [gap for gap in absent if not PYTHON.search(gap.why)]
        assert told == list(absent)
        if content and content.strip(b"\0\n") and not path.startswith("/proc"):  # it is there, so it is said
            assert any(re.sub(r"(cpu|node)\d+", r"\1*", path) == gap.what for gap in absent) or not lost, (
                path,
                content,
            )


def test_a_nul_behind_a_value_is_no_part_of_it(machine: Spoiled) -> None:
    machine.spoil("", b"")
    whole = look(machine)
    for path, content in tree().items():
        if path.startswith("/sys") and not path.endswith("/meminfo"):
            machine.spoil(path, str(content).encode() + b"\0")
            assert look(machine) == whole, path


def test_the_whole_of_discovery_takes_any_file(tmp_path: Path) -> None:
    """Every file that a node shows, with the worst of contents: no exception, no word of Python's."""
    node = trees.cluster_node()
    door = Spoiled(trees.write(tmp_path, node))
    kinds = {
        re.sub(r"\d+", "*", path): path
        for path in node
        if "/cpu2" not in path and not isinstance(node[path], trees.Link)
    }
    paths = [path for path in kinds.values() if "/topology/" not in path and "/cache/" not in path]
    for index, path in enumerate(paths):
        door.spoil(path, SPOILED[index % len(SPOILED)])
        host = discover(door)
        assert not [gap for gap in host.absent if PYTHON.search(gap.why)]
        if not path.startswith("/proc"):
            assert len(host.cpu.cores) == 24 and host.memory.total_bytes > 0 and len(host.numa) == 2


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_content_of_any_file_is_an_error(machine: Spoiled, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(tree())))
    bits = st.sampled_from(
        [b"0", b"7", b"-", b",", b"\n", b"\0", b"f", b"K", b" ", b"x", b"\xff", b"9" * 20, b"0-3", b"processor : "]
    )
    machine.spoil(path, b"".join(data.draw(st.lists(bits, max_size=12))))
    processor, _, absent = look(machine)
    assert not [gap for gap in absent if PYTHON.search(gap.why)]
    cpus = [cpu for core in processor.cores for cpu in core.cpus]
    assert len(set(cpus)) == len(cpus) and (processor.sockets is None or processor.sockets >= 1)


def test_which_cpus_run_is_told_by_their_folders_where_the_list_is_odd(machine: Spoiled) -> None:
    for content in (b"0-3,,x", b"0-65000\n", b"9\n"):
        machine.spoil(f"{trees.CPUS}/online", content)
        processor, _, absent = look(machine)
        assert len(processor.cores) == 4 and processor.sockets == 2
        assert f"{trees.CPUS}/online" in {gap.what for gap in absent}


def test_many_files_odd_in_one_way_are_told_once(tmp_path: Path) -> None:
    shown = {path: "K\n" if path.endswith("index3/size") else content for path, content in tree().items()}
    processor, _, absent = look(trees.door(tmp_path, shown))
    assert {cache.level for cache in processor.caches} == {1, 2}
    (gap,) = (gap for gap in absent if "index3/size" in gap.what)
    assert "'K\\n' is not a size such as 32K" in gap.why and "7 more like it" in gap.why


def test_a_clock_in_another_unit_is_not_believed(machine: Spoiled) -> None:
    machine.spoil(f"{trees.CPUS}/cpu0/cpufreq/base_frequency", b"2000000000\n")  # Hz for kHz: 2,000 GHz
    processor, _, absent = look(machine)
    assert processor.base_hz is None and processor.clock_hz == 3.8e9 and "highest clock" in processor.clock_basis
    assert any("2000000000, which is not within" in gap.why for gap in absent)


def test_odd_limits_of_a_control_group_are_said(tmp_path: Path) -> None:
    shown = {
        "/proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
        "/proc/self/cgroup": "0::/job\n",
        "/sys/fs/cgroup/job/cpu.max": "lots 100000\n",
        "/sys/fs/cgroup/job/memory.max": "12 GiB\n",
        "/sys/fs/cgroup/job/cpuset.cpus.effective": "0-\n",
    }
    found = cgroup.limits(trees.door(tmp_path, shown))
    assert (found.cpu_quota, found.memory_bytes, found.cpus) == (None, None, None)
    assert len(found.absent) == 3 and not [gap for gap in found.absent if PYTHON.search(gap.why)]


@pytest.mark.parametrize("text", ["0-99999999999", "3-1", "1_0", "-1", "0-3-5", "\N{SUPERSCRIPT TWO}", "a", "0-70000"])
def test_what_is_no_list_of_cpus_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match="is not a list of CPUs such as"):
        parse_cpu_list(text)


def test_lists_and_masks_with_a_nul_behind() -> None:
    assert parse_cpu_list("0-2,8\n\0") == (0, 1, 2, 8) and parse_cpu_list("\0") == ()
    assert parse_mask("3\0") == (0, 1)
    with pytest.raises(ValueError, match="is not a mask of CPUs"):
        parse_mask("0_1")


def test_a_reader_says_nothing_of_files_that_are_not_there(tmp_path: Path) -> None:
    reader = Reader(trees.door(tmp_path, {}))
    assert reader.cpus("/sys/a") is None and reader.number("/sys/b", 0, 1) is None and reader.absent == ()
