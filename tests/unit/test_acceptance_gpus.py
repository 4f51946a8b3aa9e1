"""The shipped plan on a fleet of GPU nodes: four nodes of two H100 that are in order meet it, and one that is not is named.

The cases are those that the programs print (kernels, parameters), with values that such a GPU reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from shakedown import workloads
from shakedown.acceptance import checking, plan, run_verdict, sealing, verdict
from shakedown.acceptance.plan import RunTest
from shakedown.analysis import derive, table
from shakedown.machine.accelerators import peaks_of
from shakedown.records import Analysis, Case, Gpu, Host, Machine, Measurement, Params, Plan, Residual, Value
from shakedown.units import show
from shakedown.workloads import gpu_query
from support.machines import host

NODES = ("node1", "node2", "node3", "node4")
FACTS: dict[str, Value] = {
    "compute_capability": "9.0",
    "cores": 16896,
    "max_sm_mhz": 1980,
    "max_memory_mhz": 2619,
    "memory_bus_bits": 5120,
    "pcie_generation_max": 5,
    "pcie_width": 16,
}
GPUS = tuple(Gpu(index=index, name="NVIDIA H100", vendor="NVIDIA", facts=FACTS) for index in (0, 1))
PEAKS = tuple(peaks_of(GPUS[0], "GPU 0"))
PEAK = {one.name: one.value for one in PEAKS}
#: Tests of GPUs in the generic plan.
OF_GPUS = {
    "gpu-query",
    "cuda-devices",
    "gpu-settings",
    "gpu-stream",
    "gpu-copy",
    "gpu-peers",
    "gpu-gemm",
    "hpl-gpu-fleet",
    "hpl-gpu",
    "gpu-pingpong",
    "nbody",
    "burn-in",
}
Fault = Callable[[str, str, Params], float]  # of (node, kernel, parameters): what a healthy value is multiplied by


def case(kernel: str, params: Params, work: Mapping[str, float], seconds: float = 1.0, ok: bool = True) -> Case:
    """A case of three equal samples."""
    check = Residual(value=0.0 if ok else 1.0, limit=0.5, kind="check")
    return Case(kernel=kernel, params=params, work=dict(work), seconds=(seconds,) * 3, residual=check)


def healthy(workload: str, params: Params) -> Iterator[Case]:
    """What a node in order prints."""
    for index in (0, 1):
        mine: Params = {"device": "NVIDIA H100", "index": index}
        match workload:
            case "gpu_query":
                yield Case(kernel="device", params=mine, work={"below_par": 0.0, "uncorrected": 0.0})
            case "gpu_stream":
                level: Params = {**mine, "array_bytes": 1 << 30, "level": "memory"}
                yield case("triad", level, {"bytes": 0.92 * PEAK["gpu.memory.bandwidth"]})
            case "gpu_copy" if params["kernels"] == "peer":
                yield case(
                    "peer", {"from": index, "to": 1 - index, "path": "direct", "bytes": 268435456}, {"bytes": 380e9}
                )
            case "gpu_copy":
                for kernel in ("h2d", "d2h"):
                    copied: Params = {**mine, "memory": "pinned", "bytes": 268435456}
                    yield case(kernel, copied, {"bytes": 0.95 * PEAK["gpu.pcie.payload"]})
            case "gpu_gemm":
                data: Params = {**mine, "n": 8192, "data": "random"}
                yield case("gemm_f64", data, {"flop": 0.85 * PEAK["gpu.flops.fp64.matrix"]})
                yield case("gemm_bf16", data, {"flop": 0.66 * PEAK["gpu.flops.bf16"]})
            case "gpu_nbody":
                yield case("nbody", {**mine, "n": 1048576, "precision": "fp32", "mode": "together"}, {"flop": 3e13})
            case "burnin":
                yield case("burnin_product", {"device": f"gpu:{index}"}, {"flop": 5e13})
    match workload:
        case "gpu_query":
            yield Case(kernel="node", params={}, work={"devices": 2.0})
        case "cuda":
            yield case("devices", {}, {"devices": 2.0})
        case "hpl_gpu":
            grid: Params = {"n": int(params["n"]) if params["n"] != "auto" else 130000, "nb": 512, "ranks": 2}
            yield case("hpl", grid, {"flop": 0.88e14})
            yield case("ceiling", grid, {"flop": 1e14})
        case "gpu_pingpong":
            for size in (8, 4194304):
                sides: Params = {"bytes": size, "sides": "dd", "path": "direct"}
                yield case("latency", sides, {"messages": 1.0, "bytes": float(size)}, 4e-6 + size / 2e11)
                yield case("bandwidth", sides, {"bytes": 2e11})


def changed(one: Case, by: float) -> Case:
    """The case with its work, or with its reported figures, multiplied."""
    return msgspec.structs.replace(one, work={name: value * by for name, value in one.work.items()})


def session(test: RunTest, fault: Fault) -> run_verdict.Measured:
    params = {**{name: param.default for name, param in workloads.get(test.workload).params.items()}, **test.params}
    repeats = test.repeat.min if test.repeat else 1
    measurements = [
        Measurement(
            run="r",
            repeat=repeat,
            workload=test.workload,
            params=params,
            host=node,
            state="ok",
            cases=tuple(changed(one, fault(node, one.kernel, one.params)) for one in healthy(test.workload, params)),
            begin_ns=1,
            end_ns=2,
        )
        for node in NODES
        for repeat in range(1, repeats + 1)
    ]
    metrics = {test.workload: workloads.get(test.workload).metrics}
    hosts: tuple[Host, ...] = tuple(host(2, name=node, peaks=PEAKS) for node in NODES)
    analysis = Analysis(
        name="r",
        campaign="c",
        title="C",
        created_ns=1,
        version="1",
        machine=Machine(hosts=hosts, discovered_ns=0, version="1"),
        findings=tuple(derive.findings(table.from_measurements(measurements), metrics)),
        metrics=workloads.get(test.workload).metrics,
    )
    return run_verdict.Measured(
        Plan(campaign="c", title="C", runs=()), analysis, measurements, dict.fromkeys(NODES, PEAKS)
    )

    return workloads.get(test.workload)


def judged(name: str, fault: Fault = lambda node, kernel, params: 1.0) -> tuple[str, str]:
    test = checking.load("generic-gpu-cluster")[0].test(name)
    assert isinstance(test, RunTest)
    points = run_verdict.points(test, ["r"], session(test, fault))
    assert len(points) >= len(NODES) * len(test.limits)
    return verdict.worst(one.state for one in points), verdict.reason_of(points)


def ill(kernel: str, by: float, index: int | None = None) -> Fault:
    """A fault of one node: a kernel's value multiplied, on one GPU or on all."""

    def fault(node: str, found: str, params: Params) -> float:
        mine = index is None or index in (params.get("index"), params.get("from"))
        mine |= params.get("device") == f"gpu:{index}"
        return by if node == "node3" and found == kernel and mine else 1.0

    return fault


def test_the_plan_tests_every_part_of_a_gpu_on_every_node() -> None:
    found, _ = checking.load("generic-gpu-cluster")
    tests = {one.id: one for one in found.tests if one.id in OF_GPUS}
    assert set(tests) == OF_GPUS
    for one in tests.values():
        assert isinstance(one, RunTest) and one.nodes == "each" and not checking.waits(one)
    waiting = {one.id for one in found.tests if checking.waits(one)}
    assert waiting == {"applications", "availability"}, "only what is the site's own is left to fill in"
    burn_in = tests["burn-in"]
    assert isinstance(burn_in, RunTest) and burn_in.times == 6 and verdict.needed_of(burn_in) == 6
    limit_s = plan.duration_s(burn_in.time_limit, "")
    assert float(burn_in.params["seconds"]) < limit_s, "it is not killed before its time"


def test_the_plan_s_performance_of_gpus_is_mandatory_and_each_limit_is_derived() -> None:
    found, _ = checking.load("generic-gpu-cluster")
    for one in found.tests:
        if one.id in OF_GPUS - {"gpu-query", "cuda-devices", "gpu-settings"}:
            assert isinstance(one, RunTest) and one.severity == "mandatory"
            assert all(limit.of or limit.metric == "hpl_gpu.ceiling.fraction" for limit in one.limits)


@pytest.mark.parametrize("name", sorted(OF_GPUS))
def test_a_fleet_in_order_meets_it(name: str) -> None:
    state, reason = judged(name)
    assert (state, reason) == ("met", "")


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("gpu-query", ill("node", 0.0)),
        ("gpu-stream", ill("triad", 0.93, 1)),
        ("gpu-copy", ill("d2h", 0.5, 0)),
        ("gpu-peers", ill("peer", 0.5, 1)),
        ("gpu-gemm", ill("gemm_f64", 0.94, 0)),
        ("gpu-gemm", ill("gemm_bf16", 0.8, 1)),
        ("hpl-gpu-fleet", ill("hpl", 0.9)),
        ("hpl-gpu", ill("hpl", 0.8)),
        ("gpu-pingpong", ill("bandwidth", 0.8)),
        ("gpu-pingpong", ill("latency", 0.5)),  # half of the messages in the same time
        ("nbody", ill("nbody", 0.9, 1)),
        ("burn-in", ill("burnin_product", 0.9, 1)),
    ],
)
def test_one_gpu_that_lags_is_not_met_and_its_node_is_named(name: str, fault: Fault) -> None:
    state, reason = judged(name, fault)
    assert state == "not met" and "node3" in reason, reason


def test_one_uncorrected_error_is_not_met() -> None:
    test = checking.load("generic-gpu-cluster")[0].test("gpu-query")
    assert isinstance(test, RunTest)
    found = session(test, lambda node, kernel, params: 1.0)
    wrong = [
        msgspec.structs.replace(
            one,
            cases=tuple(
                msgspec.structs.replace(each, work={**each.work, "uncorrected": 1.0})
                if (one.host, each.params.get("index")) == ("node2", 1)
                else each
                for each in one.cases
            ),
        )
        for one in found.measurements
    ]
    points = run_verdict.points(test, ["r"], found._replace(measurements=wrong))
    assert [one.where for one in points if one.state == "not met"] == ["node2 (index 1)"]


def test_limits_of_peaks_are_below_what_such_a_gpu_reaches() -> None:
    assert show(PEAK["gpu.memory.bandwidth"], "B/s") == "3.35 TB/s" and show(
        PEAK["gpu.flops.bf16"], "flop/s"
    ).startswith("1.07 P")
    assert {metric.name for metric in gpu_query.WORKLOAD.metrics} >= {"gpu_query.devices", "gpu_query.uncorrected"}


def test_what_a_program_leaves_in_its_run_is_sealed_whatever_its_name(tmp_path: Path) -> None:
    """A burn-in leaves its verdict as report.json; unsealed it would look as if somebody had added it."""
    folder = tmp_path / "R"
    names = ("report.json", "burnin-n1/report.json", "figures", "durations.json", "stdout")
    for name in (*names, ".stdout.tmp"):
        path = folder / "runs/r/1" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert {str(path.relative_to(folder / "runs/r/1")) for path in sealing.run_files(folder, ["r"])} == set(names)
    (folder / "report.json").touch()
    assert sealing.shared_files(folder) == []
