"""gpu_collectives: what is started on which machine, and what becomes of runs whose ranks hang or whose data is wrong."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown import workloads
from shakedown.analysis import derive, limits, table
from shakedown.errors import BadInput
from shakedown.machine import gpu_collectives as links_of_node
from shakedown.machine.accelerators import gpu_peaks
from shakedown.programs import events
from shakedown.records import Case, Gpu, Job, Machine, Measurement, Params, Run, Value
from shakedown.results import outcome
from shakedown.workloads import gpu_collectives
from support.machines import with_gpus
from support.workloads import installed, options, params_of

WORKLOAD = gpu_collectives.WORKLOAD
FACTS: dict[str, Value] = {"compute_capability": "9.0", "nvlinks": 18, "pcie_generation_max": 5, "pcie_width": 16}
H200 = Gpu(index=0, name="NVIDIA H200", vendor="NVIDIA", facts=FACTS)


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch, "gpu_collectives")


def started(machine: Machine, **given: Value) -> dict[str, str]:
    params = params_of(WORKLOAD, machine, given)
    return options(WORKLOAD.command(params, machine.hosts[0]).argv, "--no-algorithm")


def test_what_is_started_says_what_joins_the_gpus() -> None:
    node = with_gpus(8, H200)
    words = started(node, operations="all_reduce,alltoall", sizes="8,1048576", groups="2,4,8", nccl="/opt/libnccl.so.2")
    assert (words["--operations"], words["--groups"], words["--nccl"]) == (
        "all_reduce,alltoall",
        "2,4,8",
        "/opt/libnccl.so.2",
    )
    assert words["--links"] == "switch" and "--no-algorithm" not in words
    assert "--no-algorithm" in started(node, algorithm_shown=False)
    assert started(node, backend="host:2")["--links"] == "unknown"


@pytest.mark.parametrize(
    ("facts", "joined"),
    [
        (FACTS, "switch"),
        ({**FACTS, "compute_capability": "8.0", "nvlinks": 12}, "nvlink"),
        ({**FACTS, "nvlinks": 0}, "pcie"),
        ({}, "unknown"),
    ],
)
def test_links_are_those_that_were_found(facts: dict[str, Value], joined: str) -> None:
    gpu = msgspec.structs.replace(H200, name="some GPU", facts=facts)
    assert gpu_collectives.links(with_gpus(2, gpu).hosts[0]) == joined


@pytest.mark.parametrize("given", [{"operations": "allreduce"}, {"sizes": "0"}, {"groups": "300"}, {"place": "beside"}])
def test_what_cannot_be_is_refused(given: dict[str, Value]) -> None:
    with pytest.raises(BadInput) as caught:
        started(with_gpus(2, H200), **given)
    assert caught.value.hint


def test_it_is_the_same_figure_as_that_of_nccl_tests() -> None:
    """One meaning: what one measures stands beside what the other measured."""
    theirs = {one.name: one for one in workloads.get("nccl_tests").metrics}
    for metric in WORKLOAD.metrics:
        if metric.kernel == "group":
            continue  # nccl-tests has none of several groups at once
        other = theirs[metric.name]
        same = ("unit", "better", "kernel", "per", "match", "ranked_by", "limit")
        assert [getattr(metric, name) for name in same] == [getattr(other, name) for name in same]


def made(case: Case, machine: Machine) -> dict[str, float]:
    """Limits of the bus bandwidth of a case -> its share."""
    record = Measurement(
        run="r", repeat=1, workload="gpu_collectives", params={}, host="h", state="ok", cases=(case,), begin_ns=0, end_ns=1
    )  # fmt: skip
    found = derive.findings(table.from_measurements([record]), {"gpu_collectives": WORKLOAD.metrics})
    gpus = machine.hosts[0].gpus
    peaks = (*gpu_peaks(gpus)[0], *links_of_node.node_peaks(gpus, ()))
    metrics = {one.name: one for one in WORKLOAD.metrics}
    done = limits.with_fractions(found, metrics, {"h": peaks})
    (bus,) = (one for one in done if one.metric == "gpu_collective.bus_bandwidth")
    return {one.limit: one.fraction for one in bus.fractions}


def test_each_figure_stands_beside_the_limit_of_the_algorithm_that_ran() -> None:
    told: Params = {"operation": "all_reduce", "bytes": 2**33, "gpus": 8, "in_place": False}
    case = Case(
        kernel="collective",
        params={**told, "algorithm": "nvls", "transport": "P2P"},
        work={"bytes": 2.0**33, "bus_bytes": 1.75 * 2.0**33, "op": 1.0},
        seconds=(1.75 * 2**33 / 473e9,),
    )
    node = with_gpus(8, H200)
    assert made(case, node) == {"gpu.collective.in_switch": pytest.approx(0.82, abs=0.005)}
    ring = msgspec.structs.replace(case, params={**told, "algorithm": "ring", "transport": "SHM"})
    shares = made(ring, node)
    assert set(shares) == {"gpu.collective.ring", "gpu.collective.by_host"}


def ended(lines: list[dict[str, object]], code: int) -> Measurement:
    start = {"event": "start", "program": "gpu_collectives", "facts": {}}
    text = b"\n".join(map(msgspec.json.encode, [start, *lines, {"event": "end", "ok": code != 1, "unix_ns": 1}]))
    assert not events.parse(text).garbage
    run = Run(id="r", workload="gpu_collectives", params={"backend": "cuda"}, label="x", estimate_s=1.0, limit_s=60.0)
    return outcome.measurement(run, Job(run="r", repeat=1, host="h", argv=(), exit_code=code), text, b"")


CASE: dict[str, object] = {
    "event": "case",
    "kernel": "collective",
    "params": {"operation": "all_reduce", "bytes": 8, "gpus": 3, "in_place": False},
    "work": {"bytes": 8, "bus_bytes": 10.6, "op": 1},
    "seconds": [1e-5],
    "residual": {"value": 0, "limit": 0, "kind": "wrong elements"},
}


def test_a_hang_leaves_what_was_measured_and_names_the_rank() -> None:
    text = "all_gather of 8 B on 4 GPUs hung: rank 2 (GPU 2, NVIDIA H200): no answer"
    found = ended([CASE, {"event": "notice", "code": "gpu-hung", "text": text, "advice": "drain"}], 3)
    assert found.state == "partial" and "hung: all_gather" in found.reason and "rank 2" in found.reason
    assert len(found.cases) == 1


def test_a_wrong_element_leaves_no_result_and_is_the_reason() -> None:
    wrong = {**CASE, "residual": {"value": 1, "limit": 0, "kind": "wrong elements"}}
    text = "all_reduce of 8 B on 3 GPUs: rank 1 (GPU 1) has a wrong element 1"
    found = ended([wrong, {"event": "notice", "code": "element-wrong", "text": text, "advice": ""}], 1)
    assert found.state == "wrong" and "rank 1 (GPU 1) has a wrong element 1" in found.reason
