"""The device query as a workload: what the drivers say becomes values that can be judged and laid beside published ones."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from shakedown import published, workloads
from shakedown.analysis import compare, derive, table
from shakedown.campaign import plan
from shakedown.errors import Unavailable
from shakedown.machine import gpu_events, gpu_query
from shakedown.machine.gpu_settings import gpu_settings
from shakedown.programs import events
from shakedown.programs.emitter import Emitter
from shakedown.records import Absent, Finding, Gpu, Measurement, Value
from shakedown.workloads.gpu_query import WORKLOAD
from support.machines import machine

H100: dict[str, Value] = {
    "compute_capability": "9.0",
    "cores": 16896,
    "max_sm_mhz": 1980,
    "max_memory_mhz": 2619,
    "memory_bus_bits": 5120,
    "l2_bytes": 52428800,
    "constant_memory_bytes": 65536,
    "shared_memory_per_block_bytes": 49152,
    "registers_per_block": 65536,
    "warp_size": 32,
    "threads_per_block": 1024,
    "texture_alignment_bytes": 512,
    "ecc_uncorrected": 0,
    "ecc_uncorrected_ever": 0,
}


def queried(index: int = 0, **facts: Value) -> gpu_query.Queried:
    gpu = Gpu(index=index, name="NVIDIA H100", vendor="NVIDIA", memory_bytes=85_520_809_984, facts={**H100, **facts})
    return gpu_query.Queried(gpu=gpu, findings=gpu_settings([gpu]))


def told(found: gpu_query.Query) -> events.Events:
    out = io.BytesIO()
    emit = Emitter("gpu_query", out)
    emit.start({})
    gpu_events.tell(found, emit)
    emit.end()
    return events.parse(out.getvalue())


def findings(found: gpu_query.Query) -> list[Finding]:
    seen = told(found)
    assert seen.ended and not seen.garbage
    record = Measurement(
        run="r", repeat=1, workload="gpu_query", params={}, host="h", state="ok", cases=seen.cases, begin_ns=0, end_ns=1
    )
    return derive.findings(table.from_measurements([record]), {"gpu_query": WORKLOAD.metrics})


def test_every_published_device_query_has_our_value_beside_it() -> None:
    (system,) = [one for one in published.systems() if one.id == "iict-bas"]
    wanted = {value.metric for value in system.values if value.metric.startswith("device_query.")}
    own = plan.metrics(set(workloads.names()))
    metrics = {name: own[name] for name in wanted}
    ours = compare.Entry(name="run", findings=tuple(findings(gpu_query.Query(gpus=(queried(),)))))
    rows = compare.side_by_side([ours, compare.from_published(system, metrics)], metrics)
    shown = {row.metric: [cell.value for cell in row.cells if cell] for row in rows}
    assert set(shown) == wanted and all(len(values) == 2 for values in shown.values())
    assert shown["device_query.cores"] == [16896, 512] and shown["device_query.clock"] == [1.98e9, 1.3e9]
    assert shown["device_query.memory.bus_width"] == [640, 48] and shown["device_query.l2.size"] == [52428800, 786432]


def test_what_nobody_tells_is_no_value_and_no_zero() -> None:
    bare = gpu_query.Queried(gpu=Gpu(index=0, name="NVIDIA Unheard Of", vendor="NVIDIA"))
    found = {one.metric: one.value for one in findings(gpu_query.Query(gpus=(bare,)))}
    assert found == {"gpu_query.devices": 1, "gpu_query.below_par": 0}


def test_errors_and_what_is_below_par_are_told_of_the_gpu_that_has_them() -> None:
    ill = queried(1, ecc_uncorrected=2, ecc_uncorrected_ever=7, pcie_width=8, pcie_width_max=16)
    whole = gpu_query.Query(gpus=(queried(), ill), absent=(Absent(what="GPU 2", why="it is lost"),))
    found = {(one.metric, one.params.get("index")): one.value for one in findings(whole)}
    assert found["gpu_query.devices", None] == 2
    assert [found["gpu_query.uncorrected", index] for index in (0, 1)] == [0, 7]
    assert [found["gpu_query.below_par", index] for index in (0, 1)] == [0, 2]
    notices = told(whole).notices
    assert [one.code for one in notices].count("gpu-below-par") == 2
    assert any("GPU 1 PCIe width" in one.text for one in notices) and any("it is lost" in one.text for one in notices)


def test_no_gpu_is_unavailable_with_the_reason() -> None:
    with pytest.raises(Unavailable, match="no driver"):
        told(gpu_query.Query(absent=(Absent(what="GPUs", why="no driver"),)))
    with pytest.raises(Unavailable, match="shows none"):
        WORKLOAD.resolve({}, machine(2))


def test_each_fact_is_one_that_the_driver_or_the_library_is_asked_for() -> None:
    root = Path(__file__).parents[2]
    asked = (root / "native/gpu/query.cpp").read_text() + (root / "src/shakedown/hosts/nvidia.py").read_text()
    assert {fact for fact, _ in gpu_events.FACTS.values() if f'"{fact}"' not in asked} == set()
