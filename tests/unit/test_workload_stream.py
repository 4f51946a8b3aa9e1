"""The stream workload: the size that STREAM's rule gives, what is refused, and what is started."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec
import pytest

from shakedown.analysis import derive, table
from shakedown.errors import BadInput, Unavailable
from shakedown.programs import events
from shakedown.records import Cache, Case, Host, Machine, Measurement, Memory, NumaNode, Params, Value
from shakedown.workloads import stream
from support.machines import host, machine
from support.workloads import installed, options, params_of

WORKLOAD = stream.WORKLOAD
MIB, GIB = 2**20, 2**30


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "stream")


def resolve(found: Machine | None = None, **given: Value) -> Params:
    return params_of(WORKLOAD, found or machine(4), given)


def with_last_level(size_bytes: int, *, groups: int = 1, **details: object) -> Host:
    """A host of four cores whose last-level cache is one of this size for each group of them."""
    plain = host(4, **details)  # type: ignore[arg-type]
    sharers = tuple(tuple(range(4))[part * 4 // groups : (part + 1) * 4 // groups] for part in range(groups))
    last = Cache(level=3, kind="unified", size_bytes=size_bytes, groups=sharers)
    caches = (*(cache for cache in plain.cpu.caches if cache.level < 3), last)
    return msgspec.structs.replace(plain, cpu=msgspec.structs.replace(plain.cpu, caches=caches))


def of(one: Host) -> Machine:
    return Machine(hosts=(one,), discovered_ns=1, version="test")


def test_memory_is_four_times_the_last_level_cache() -> None:
    assert resolve()["sizes"] == str(4 * 32 * MIB)


def test_every_cache_in_use_counts() -> None:
    assert stream.last_level_bytes(with_last_level(64 * MIB, groups=2)) == 128 * MIB
    assert resolve(of(with_last_level(64 * MIB, groups=2)))["sizes"] == str(4 * 2 * 64 * MIB)


def test_a_cache_of_cpus_that_may_not_be_used_does_not_count() -> None:
    one = msgspec.structs.replace(with_last_level(64 * MIB, groups=2), usable_cpus=(0, 1))
    assert stream.last_level_bytes(one) == 64 * MIB


def with_side_caches(size_bytes: int, *, nodes: int = 1) -> Host:
    """Four cores whose nodes have a cache before their memory, as Xeon Phi and Xeon Max in cache mode."""
    one = with_last_level(64 * MIB, memory_bytes=192 * GIB)
    each = 4 // nodes
    before = (Cache(level=1, kind="unified", size_bytes=size_bytes, line_bytes=64),)
    numa = [NumaNode(id=at, cpus=tuple(range(at * each, at * each + each)), side_caches=before) for at in range(nodes)]
    return msgspec.structs.replace(one, numa=tuple(numa))


def test_a_cache_before_the_memory_is_a_last_level_cache() -> None:
    """16 GiB of MCDRAM before the memory: arrays of four times the L3 would be arrays in MCDRAM."""
    assert stream.rule_bytes(with_side_caches(8 * GIB)) == 32 * GIB
    assert stream.memory_bytes(with_side_caches(8 * GIB)) == 32 * GIB
    quarter = with_side_caches(2 * GIB, nodes=4)
    assert stream.rule_bytes(quarter) == 32 * GIB
    assert stream.rule_bytes(quarter, 1) == 8 * GIB, "a thread uses the cache of its node"
    assert stream.rule_bytes(msgspec.structs.replace(quarter, usable_cpus=(0, 1))) == 16 * GIB
    assert stream.rule_bytes(with_side_caches(1 * MIB)) == 256 * MIB, "the processors' own are more"


def test_a_machine_without_known_caches_takes_the_least_size() -> None:
    one = host(2)
    one = msgspec.structs.replace(one, cpu=msgspec.structs.replace(one.cpu, caches=()))
    assert stream.memory_bytes(one) == 64 * MIB


def test_three_arrays_leave_two_fifths_of_the_free_memory() -> None:
    one = with_last_level(512 * MIB, memory_bytes=4 * GIB)
    free = one.memory.available_bytes
    assert free is not None
    size = stream.memory_bytes(one)
    assert 0.59 * free < 3 * size <= 0.6 * free and size % (2 * MIB) == 0


def test_a_control_group_bounds_the_size() -> None:
    one = with_last_level(512 * MIB)
    one = msgspec.structs.replace(one, memory=Memory(total_bytes=24 * GIB, available_bytes=20 * GIB, limit_bytes=GIB))
    assert 3 * stream.memory_bytes(one) <= 0.6 * GIB


def test_a_virtual_machine_that_shows_its_hosts_cache_takes_one_gib() -> None:
    assert stream.memory_bytes(with_last_level(480 * MIB, virtualisation="kvm")) == GIB
    assert stream.memory_bytes(with_last_level(480 * MIB)) == 4 * 480 * MIB
    assert stream.memory_bytes(with_last_level(32 * MIB, virtualisation="kvm")) == 4 * 32 * MIB


def test_a_sweep_doubles_from_4_kib_a_thread_to_memory() -> None:
    sizes = [int(word) for word in str(resolve(sizes="sweep", threads="all")["sizes"]).split(",")]
    assert sizes[0] == 4 * 4096 and sizes[-1] == 128 * MIB
    assert all(after == 2 * before for before, after in itertools.pairwise(sizes[:-1]))
    assert sizes[-2] < sizes[-1] <= 2 * sizes[-2]


def test_sizes_are_read_with_their_units() -> None:
    assert resolve(sizes="32 KiB, 1MiB,2000000,1.5 GB")["sizes"] == "32768,1048576,2000000,1500000000"


@pytest.mark.parametrize("word", ["", "large", "1 s", "-1 MiB", "0", "63", "1 MiB 2", "1 Gflop"])
def test_what_is_no_size_is_refused(word: str) -> None:
    with pytest.raises(BadInput, match="not a valid size"):
        stream.parse_bytes(word)


def test_arrays_larger_than_the_memory_are_refused_with_what_fits() -> None:
    with pytest.raises(BadInput) as error:
        resolve(sizes="8 GiB")
    assert "24 GiB" in error.value.what and "21.6 GiB" in error.value.what
    assert "each fit here" in error.value.hint
    most = error.value.hint.split("at most ")[1].split(" each")[0]
    resolve(sizes=most)


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"threads": "0"}, "threads"),
        ({"threads": "5"}, "threads"),
        ({"threads": "1,none"}, "threads"),
        ({"kernels": "tread"}, "tread"),
        ({"placement": "far"}, "far"),
        ({"placement": "node:"}, "node:"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Value], part: str) -> None:
    with pytest.raises(BadInput, match=part) as error:
        resolve(None, **given)
    assert error.value.hint


def test_remote_memory_needs_a_second_node() -> None:
    with pytest.raises(Unavailable, match="one NUMA node"):
        resolve(placement="remote")
    with pytest.raises(Unavailable, match="no NUMA node 3"):
        resolve(placement="node:3")
    nodes = tuple(NumaNode(id=node, cpus=(2 * node, 2 * node + 1), memory_bytes=12 * GIB) for node in range(2))
    two = msgspec.structs.replace(host(4), numa=nodes)
    assert resolve(of(two), placement="remote")["placement"] == "remote"
    assert resolve(of(two), placement="node:1")["placement"] == "node:1"


def test_words_become_numbers_and_names() -> None:
    params = resolve(threads="sweep", kernels="all")
    assert params["threads"] == "1,2,4"
    assert params["kernels"] == "copy,scale,add,triad,read,write"


def test_the_command_gives_every_parameter_to_the_program() -> None:
    params = resolve(variant="both", seconds=1.5)
    argv = WORKLOAD.command(params, host(4)).argv
    assert argv[0].endswith("/stream")
    given = options(argv)
    assert given["--variant"] == "both" and given["--seconds"] == "1.5" and given["--threads"] == "4"
    assert "--cpus" not in given  # empty: the program's own order
    assert {name.removeprefix("--") for name in given} == set(WORKLOAD.params) - {"cpus"}


def test_the_estimate_grows_with_the_work() -> None:
    small = WORKLOAD.estimate_s(resolve(sizes="1 MiB"), host(4))
    assert small < WORKLOAD.estimate_s(resolve(sizes="1 GiB"), host(4))
    assert WORKLOAD.estimate_s(resolve(sizes="1 MiB", seconds=10), host(4)) > 40  # four kernels


def test_the_label_says_what_is_unusual() -> None:
    assert WORKLOAD.label is not None
    assert WORKLOAD.label(resolve()) == "stream copy,scale,add,triad, 4 threads, 128 MiB an array"
    assert "isa avx2" in WORKLOAD.label(resolve(isa="avx2"))


def test_bandwidth_counts_as_stream_does_and_traffic_what_moves() -> None:
    case = Case(
        kernel="triad",
        params={"level": "memory", "threads": 2},
        work={"bytes": 24e9, "bytes_moved": 32e9},
        seconds=(1.0, 1.0, 1.0),
    )
    record = Measurement(
        run="r", repeat=1, workload="stream", params={}, host="h", state="ok", cases=(case,), begin_ns=0, end_ns=1
    )
    got = derive.findings(table.from_measurements([record]), {"stream": WORKLOAD.metrics})
    assert {one.metric: one.value for one in got} == {"stream.triad.bandwidth": 24e9, "stream.triad.traffic": 32e9}


def test_only_what_counts_moved_bytes_measures_a_peak() -> None:
    for metric in WORKLOAD.metrics:
        moved = metric.per == "bytes_moved/s" or metric.kernel == "read"
        assert (metric.measures == "{level}.bandwidth") == moved, metric.name


def test_the_loop_of_every_case_is_a_fact_of_the_run(recordings: Path) -> None:
    found = events.parse((recordings / "native/stream-2c.jsonl").read_bytes())
    loops = [name for name in found.provenance["facts"] if name.startswith("loop of ")]
    assert len(loops) == len(found.cases) == 66
    assert found.provenance["facts"]["isa"] == "avx512"  # those of the start are still there


def test_a_case_names_its_level_only_where_the_time_is_of_that_level(recordings: Path) -> None:
    found = events.parse((recordings / "native/stream-2c.jsonl").read_bytes())
    for case in found.cases:
        if case.params["variant"] == "nt":
            assert case.params.get("level") in (None, "memory")
        elif case.params["bytes"] == GIB:
            assert case.params["level"] == "memory"
            assert case.work["bytes_moved"] == case.work["bytes"] + (case.kernel != "read") * 8 * GIB / 8
