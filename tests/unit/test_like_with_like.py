"""Published values: what may be ranked beside ours, and what stands apart and why."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown import published, workloads
from shakedown.analysis import circumstances, compare, curves, published_comparison
from shakedown.analysis.circumstances import Setting
from shakedown.analysis.power.case_values import metric_of
from shakedown.machine.virtualisation import is_virtual
from shakedown.published import System
from shakedown.records import IMPORTED, Circumstances, Finding, Metric, PublishedComparison, Value
from support.findings import finding
from support.machines import host

METRICS = {one.name: one for name in workloads.names() for one in workloads.get(name).metrics}
METER = "wall/power"


def setting(cores: int = 2, virtualisation: str = "", place: str = "node") -> Setting:
    return Setting({"node1": host(cores, virtualisation=virtualisation)}, {METER: place})


def of(name: str) -> Metric:
    if name in METRICS:
        return METRICS[name]
    stem, _, word = name.rpartition(".")
    rate = {"hpl": "hpl.rate", "stream.copy": "stream.copy.bandwidth"}[stem]
    return metric_of(METRICS[rate], rate.rpartition(".")[0], word, part=False)


def laid(
    name: str, value: float, under: Setting, *systems: str, on: str = "node1", **params: Value
) -> list[PublishedComparison]:
    """What stands beside one value of ours with an interval of a percent."""
    one = msgspec.structs.replace(finding(of(name), value, 0.99 * value, 1.01 * value, **params), host=on)
    chosen = [published.system(system) for system in systems]
    return list(published_comparison.beside([one], {name: of(name)}, chosen, under))


def only(found: list[PublishedComparison]) -> PublishedComparison:
    (one,) = found
    return one


def apart(one: PublishedComparison) -> str:
    assert one.verdict == "other circumstances" and one.ratio is None
    return "; ".join(one.differences)


PAIR = {"rank_a": 0, "rank_b": 1, "host_a": "node1", "ranks": 2}


def test_messages_within_a_machine_are_not_ranked_with_those_of_a_network_or_of_gpus() -> None:
    within = {**PAIR, "host_b": "node1", "bytes": 8}
    found = {
        one.system: apart(one)
        for one in laid("pingpong.latency", 3e-7, setting(virtualisation="kvm"), "comet", "iict-bas", **within)
    }
    assert "device: cpu here, gpu there" in found["comet"]
    assert "messages through: shared memory here, network there" in found["iict-bas"]
    assert all("machine: virtual here, bare there" in text for text in found.values())


def test_messages_between_two_hosts_are_ranked_with_those_between_two_servers() -> None:
    between = {**PAIR, "host_b": "node2", "bytes": 8}
    one = only(laid("pingpong.latency", 1.5e-6, setting(), "iict-bas", on="node[1-2]", **between))
    assert (one.verdict, one.theirs, one.differences) == ("better", 2.14e-6, ())
    assert one.ratio == pytest.approx(1.5e-6 / 2.14e-6)


def test_a_node_is_ranked_with_a_node_and_not_with_a_card_or_a_core() -> None:
    whole = only(laid("gemm.dgemm.rate", 1e11, setting(), "bsc-2", threads=2, n=4096))
    assert whole.verdict == "better" and whole.theirs == 2.43e9 and whole.theirs_params["device"] == "cpu"
    core = only(laid("gemm.dgemm.rate", 5e10, setting(), "bsc-2", threads=1, n=4096))
    assert core.theirs == 0.90e9 and core.verdict == "better", "one core beside one core"
    assert not laid("gemm.dgemm.rate", 1e11, setting(), "tsubame", threads=2, n=4096), "the maker's word is no result"
    card = only(laid("gemm.dgemm.rate", 1e11, setting(), "castorc", threads=2, n=4096))
    assert "device: cpu here, gpu there" in apart(card)


def test_what_gpus_reached_stands_beside_ours_of_gpus() -> None:
    one = only(
        laid("hpl_gpu.rate", 5e13, setting(), "castorc", "iict-bas", ranks=1, n=50000, device="NVIDIA", backend="cuda")
    )
    assert (one.verdict, one.theirs, one.differences) == ("better", 266e9, ()), "one GPU beside one GPU"
    four = only(laid("hpl_gpu.rate", 2e14, setting(), "castorc", ranks=4, n=50000, device="NVIDIA", backend="cuda"))
    assert apart(four) == "4 GPUs here, 2 GPUs there", "on one node there are two"


def test_one_core_in_its_cache_is_not_ranked_with_a_machine() -> None:
    node = only(laid("euroben.mod2f.rate", 3.6e10, setting(), "lrz-coolmuc", threads=1, n=1024))
    assert "1 core here, all cores (16) there" in apart(node) and "n: 1024 here, not reported there" in apart(node)
    whole = only(laid("euroben.mod2f.rate", 3.6e10, setting(), "lrz-coolmuc", threads=2, n=1024))
    assert "n: 1024 here" in apart(whole), "a size that nobody tells may be one of a cache"


def test_a_power_is_ranked_with_that_of_the_same_rail() -> None:
    stream = {"threads": 2, "level": "memory", "placement": "local", "meter": METER, "bytes": 2**30}
    rails = only(laid("stream.copy.power", 70, setting(), "snic-dsp", **stream))
    assert "power of: node here" in apart(rails)
    wall = only(laid("stream.copy.power", 60, setting(), "bsc-2", **stream))
    assert (wall.verdict, wall.theirs) == ("worse", 33.9), "the desktop node, whole, at its wall"
    rack = only(laid("stream.copy.power", 60, setting(place="rack"), "bsc-2", **stream))
    assert "power of: rack here, node there" in apart(rack)


def test_an_energy_is_that_of_one_problem_on_as_many_nodes() -> None:
    run = {"threads": 1, "ranks": 2, "n": 1000, "meter": METER}
    words = apart(only(laid("hpl.energy", 3, setting(place="rack"), "psnc-ice", **run)))
    assert "nodes: 1 here, 32 there" in words and "n: 1000 here, 314832 there" in words


def test_the_published_row_nearest_in_nodes_is_shown() -> None:
    nodes = {f"n{at}": host(16, name=f"n{at}") for at in range(1, 101)}
    cluster = Setting(nodes, {})

    def beside_tsubame(count: int) -> PublishedComparison:
        name = f"n[1-{count}]" if count > 1 else "n1"
        return only(laid("hpl.rate", 1e12, cluster, "tsubame", on=name, ranks=16 * count, threads=1))

    assert (beside_tsubame(8).theirs_params["nodes"], beside_tsubame(8).verdict) == (8, "better")
    assert beside_tsubame(1).theirs == 72.24e9, "of two rows with one node the faster"
    ninety = beside_tsubame(90)
    assert ninety.theirs_params["nodes"] == 96 and apart(ninety) == "nodes: 90 here, 96 there"


def test_what_the_document_does_not_tell_is_not_known_to_agree() -> None:
    one = only(
        laid("filesystem.read.bandwidth", 1e9, setting(), "iict-bas", block=2**20, threads=1, ranks=1, cache="direct")
    )
    assert one.theirs == 436e6, "436 MB/s of bonnie++ stand beside our reading"
    assert "block: 1048576 here, not reported there" in apart(one) and "nodes: 1 here, not reported there" in apart(one)


def test_our_efficiencies_have_the_published_names() -> None:
    for name in ("gemm.dgemm.efficiency", "gemm.sgemm.efficiency", "stream.triad.efficiency", "stream.copy.efficiency"):
        assert METRICS[name].unit == "1" and METRICS[name].per
    one = only(laid("gemm.dgemm.efficiency", 0.9, setting(), "bsc-2", threads=2, n=512))
    assert (one.verdict, one.theirs) == ("better", pytest.approx(0.467))


@pytest.mark.parametrize(
    ("text", "virtual"),
    [("", False), ("kvm", True), ("docker", False), ("kvm, docker", True), ("apptainer", False), ("hyper-v", True)],
)
def test_a_container_is_no_virtual_machine(text: str, virtual: bool) -> None:
    assert is_virtual(text) is virtual


def test_threads_that_leave_cores_idle_are_no_whole_node() -> None:
    metric = METRICS["gemm.dgemm.rate"]
    for threads, whole in ((15, False), (16, True), (32, True)):
        found = circumstances.of_finding(finding(metric, 1, threads=threads), metric, setting(cores=16))
        assert (found.cores, found.whole, found.nodes) == (threads, whole, 1)


@pytest.mark.parametrize(
    ("told", "cores"),
    [
        ({"ranks": 2}, None),  # HPL's log: two ranks, of how many threads it does not say
        ({"ranks": 16}, None),
        ({"ranks": 16, "nodes": 4, "threads": 2}, 32),
        ({"threads": 16}, 16),
    ],
)
def test_ranks_of_an_imported_log_are_no_cores(told: dict[str, Value], cores: int | None) -> None:
    metric = METRICS["hpl.rate"]
    one = circumstances.of_finding(finding(metric, 1, **IMPORTED, **told), metric, setting(cores=16))
    assert one.cores == cores
    if cores is None:
        beside = only(laid("hpl.rate", 7e10, setting(cores=16), "tsubame", **IMPORTED, **told))
        assert "cores not reported here" in apart(beside)


@pytest.mark.parametrize("field", ["device", "nodes", "virtual", "level", "placement", "link", "rail"])
def test_each_circumstance_alone_keeps_two_values_apart(field: str) -> None:
    metric = Metric(name="m", title="M", unit="1", better="higher", ranked_by=(field,))
    values: dict[str, tuple[object, object]] = {"nodes": (1, 2), "virtual": (False, True)}
    one, other = values.get(field, ("a", "b"))
    same, differs, untold = (Circumstances(**{field: value}) for value in (one, other, "" if one == "a" else None))  # type: ignore[arg-type]
    assert circumstances.alike(same, same, metric)
    assert not circumstances.alike(same, differs, metric)
    assert not circumstances.alike(same, untold, metric) and circumstances.alike(untold, untold, metric)


# ----------------------------------------------------------------------------------------------- tables, prose, curves

DOCUMENT = """
id = "testbed"
name = "Testbed"
site = "here"
country = "nowhere"
year = 2020
summary = "A table, and a sentence that contradicts it."
[document]
id = "report"
title = "Report"
authors = "A"
date = "2020"
file = "report.txt"
[hardware]
nodes = 2
cores_per_node = 4
[[value]]
metric = "pingpong.bandwidth"
value = "999"
unit = "MB/s"
params = { bytes = 4096, link = "network" }
where = "page 1"
[[table]]
where = "Table 1"
params = { link = "network" }
columns = [{ name = "size", param = "bytes" }, { name = "rate", metric = "pingpong.bandwidth", unit = "MB/s" }]
rows = \"\"\"
1024 | 100
2048 | 200
4096 | 400
8192 | 700
\"\"\"
"""


def document(text: str = DOCUMENT) -> System:
    return published.parse(text, "testbed.toml")


def test_a_table_comes_before_prose() -> None:
    metric = METRICS["pingpong.bandwidth"]
    one = finding(metric, 5e8, 4e8, 6e8, **{**PAIR, "host_b": "node2"}, bytes=4096)
    (got,) = published_comparison.beside([one], {metric.name: metric}, [document()], setting())
    assert got.theirs == 400e6, "the better word of page 1 is not what the table says"
    without = DOCUMENT.replace("4096 | 400\n", "")
    (got,) = published_comparison.beside([one], {metric.name: metric}, [document(without)], setting())
    assert got.theirs == 999e6, "prose counts where there is nothing else"


def test_the_table_of_iict_comes_before_its_erratum() -> None:
    between = {**PAIR, "host_b": "node2", "bytes": 131072}
    assert only(laid("pingpong.bandwidth", 1e9, setting(), "iict-bas", on="node[1-2]", **between)).theirs == 1727.01e6


def test_curves_are_whole() -> None:
    (curve,) = curves.curves([document()], {"pingpong.bandwidth": METRICS["pingpong.bandwidth"]})
    assert (curve.axis, curve.x, curve.y) == ("bytes", (1024, 2048, 4096, 8192), (100e6, 200e6, 400e6, 700e6))
    found = {
        (one.metric, one.axis): one
        for one in curves.curves([published.system("iict-bas")], METRICS)
    }  # fmt: skip
    assert len(found["pingpong.latency", "bytes"].x) == 24 and len(found["pingpong.bandwidth", "bytes"].x) == 24


# ------------------------------------------------------------------------------------------------------------- compare


def test_compare_shows_circumstances_and_ranks_only_like_with_like(tmp_path: Path) -> None:
    metric = METRICS["gemm.dgemm.rate"]
    one = finding(metric, 1.01e11, 1.0e11, 1.02e11, threads=2)

    def entry(name: str, of: Finding, under: Setting) -> compare.Entry:
        told = circumstances.of_finding(of, metric, under)
        return compare.Entry(name=name, findings=(of,), circumstances=(told,))

    mine, vm = entry("mine", one, setting()), entry("vm", one, setting(virtualisation="kvm"))
    theirs = compare.from_published(published.system("bsc-2"), METRICS)
    (row,) = [row for row in compare.side_by_side([mine, theirs], METRICS) if not row.detail]
    assert compare.winner(row) == 0 and compare.verdict(row, ("mine", "bsc-2")) == "mine is better"
    assert row.cells[1] is not None and row.cells[1].circumstances == "1 node, all cores (4)"
    (row,) = [row for row in compare.side_by_side([vm, theirs], METRICS) if not row.detail]
    assert compare.winner(row) is None and row.cells[1] is not None and row.cells[1].ratio is None
    assert compare.verdict(row, ("vm", "bsc-2")) == "other circumstances (machine: virtual in vm, bare in bsc-2)"
    # of three columns "here" and "there" name none; two of one name are numbered
    third = entry("vm", msgspec.structs.replace(one, params={"threads": 1}), setting(virtualisation="kvm"))
    columns = [mine, vm, third]
    assert compare.names_of(columns) == ["mine", "vm (1)", "vm (2)"]
    (row,) = [row for row in compare.side_by_side(columns, METRICS) if not row.detail]
    said = compare.verdict(row, compare.names_of(columns))
    assert "machine: bare in mine, virtual in vm (1)" in said
    assert "all cores (2) in mine, 1 core in vm (2)" in said
    assert " here" not in said and " there" not in said


def test_a_value_without_an_interval_says_so_whatever_the_factor() -> None:
    metric = METRICS["hpl.rate"]
    bare = compare.Entry(name="run", findings=(finding(metric, 1.01e11),))
    other = compare.Entry(name="tsubame", findings=(finding(metric, 47.38e12, 47.375e12, 47.385e12),))
    (row,) = compare.side_by_side([bare, other], {metric.name: metric})
    assert compare.verdict(row, ("run", "tsubame")) == "not ranked: no interval for run"
    assert row.cells[1] is not None and row.cells[1].ratio == pytest.approx(469, rel=0.01)


@pytest.mark.parametrize(("ours", "verdict"), [(6912, "run is better"), (512, "equal"), (511, "iict-bas is better")])
def test_counts_are_exact(ours: int, verdict: str) -> None:
    metric = METRICS["device_query.cores"]
    one = msgspec.structs.replace(finding(metric, ours, index=0), n_samples=1)
    told = circumstances.of_finding(one, metric, setting())
    run = compare.Entry(name="run", findings=(one,), circumstances=(told,))
    theirs = compare.from_published(published.system("iict-bas"), METRICS)
    (row,) = compare.side_by_side([run, theirs], METRICS)
    assert compare.verdict(row, ("run", "iict-bas")) == verdict
    assert row.cells[1] is not None and row.cells[1].low == row.cells[1].high == 512
