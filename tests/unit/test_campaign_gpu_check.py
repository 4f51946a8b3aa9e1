"""The shipped campaign `gpu-check`: what it runs on which GPU, and that each of its limits can be met and missed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown import campaign
from shakedown.analysis import build, table
from shakedown.campaign import plan
from shakedown.machine.accelerators import peaks_of
from shakedown.records import Case, Gpu, Machine, Measurement, Plan, Value
from support.machines import OPEN_MPI, with_gpus
from support.workloads import installed

PROGRAMS = (
    *("gpu_query", "gpu_stream", "gpu_copy", "gpu_gemm", "gpu_fft", "gpu_nbody", "gpu_lj", "gpu_path_loss"),
    *("gpu_pingpong", "hpl_gpu", "hpl_mxp", "burnin"),
)
FACTS: dict[str, Value] = {
    "compute_capability": "9.0",
    "cores": 16896,
    "max_sm_mhz": 1980,
    "max_memory_mhz": 3201,
    "memory_bus_bits": 6144,
    "pcie_generation_max": 5,
    "pcie_width": 16,
}
H200 = Gpu(index=0, name="NVIDIA H200", vendor="NVIDIA", memory_bytes=143771 << 20, facts=FACTS)
H100 = msgspec.structs.replace(H200, name="NVIDIA H100", memory_bytes=81559 << 20)


def on(gpu: Gpu) -> Machine:
    return with_gpus(1, gpu, peaks=tuple(peaks_of(gpu, "GPU 0")), software=(OPEN_MPI,))


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch, *PROGRAMS)


def planned(gpu: Gpu) -> Plan:
    return plan.make(campaign.parse(*campaign.text_of("gpu-check")), on(gpu))


def test_every_program_is_checked_on_small_sizes_before_anything_is_required_of_it() -> None:
    made = planned(H200)
    assert not made.skipped and {run.workload for run in made.runs} == set(PROGRAMS)
    for workload in {limit.metric.partition(".")[0] for limit in made.limits}:
        first, *rest = (run for run in made.runs if run.workload == workload)
        assert first.estimate_s < 30 and rest, f"{workload}: small sizes first"
    assert sum(run.estimate_s for run in made.runs) < 600, "on a GPU that is lent for minutes"


def test_an_order_that_a_gpu_cannot_hold_is_left_out_with_its_reason() -> None:
    (absent,) = planned(H100).skipped
    assert absent.what == "hpl_gpu" and "131072" in absent.why and 'n = "auto"' in absent.why
    assert any(run.params["n"] == "auto" for run in planned(H100).runs if run.workload == "hpl_gpu")


def case(kernel: str, work: dict[str, float], **params: Value) -> Case:
    return Case(
        kernel=kernel, params={"device": "NVIDIA H200", "index": 0, **params}, work=work, seconds=(1.0, 1.0, 1.0)
    )


def reached(share: float) -> dict[str, list[Case]]:
    """What the programs print on an H200 that reaches a little more than is required, times ``share``."""
    peak = {one.name: one.value for one in peaks_of(H200, "GPU 0")}

    def solved(kernel: str, n: int, fraction: float) -> list[Case]:
        return [
            case(kernel, {"flop": 5e13 * fraction * share}, n=n, nb=512, p=1, q=1),
            case("ceiling", {"flop": 5e13}, n=n, nb=512, p=1, q=1),
        ]

    return {
        "gpu_stream": [
            case("triad", {"bytes": 4.3e12 * 0.93 * share}, array_bytes=2**32, level="memory"),
            case("memcpy", {"bytes": 4.3e12}, array_bytes=2**32, level="memory"),
        ],
        "gpu_gemm": [
            case(
                kernel, {"flop": 6e13 * (0.995 * share if kernel == "beside" else 1)}, n=8192, data="random", format=one
            )
            for one in ("f64", "f32", "bf16")
            for kernel in ("beside", "bare")
        ],
        "hpl_gpu": [
            one for n, fraction in ((32768, 0.81), (65536, 0.91), (131072, 0.95)) for one in solved("hpl", n, fraction)
        ],
        "hpl_mxp": solved("hpl_mxp", 131072, 0.51),
        "gpu_nbody": [
            case("nbody", {"flop": peak["gpu.flops.fp32"] * 0.66 * share}, n=2**20, precision="fp32", mode="alone")
        ],
        "gpu_lj": [
            case("lj", {"particle_steps": 80.39e6 * times * share}, n=n, precision="mixed")
            for n, times in ((64000, 10.1), (1000000, 20.2))
        ],
        "gpu_path_loss": [
            case(
                "itm",
                {"links": 12497500 / 0.098 * share, "calls": 1 / 0.098 * share},
                n=5000,
                points=500,
                precision="fp32",
            )
        ],
        "gpu_copy": [
            case("h2d", {"bytes": peak["gpu.pcie.payload"] * 0.96 * share}, memory="pinned", bytes=2**28),
        ],
        "gpu_fft": [
            case(
                "fft",
                {"bytes": peak["gpu.memory.bandwidth"] * 0.71 * share},
                shape="1024",
                batch=16384,
                precision="double",
                level="memory",
            )
        ],
    }


def states(cases: dict[str, list[Case]]) -> list[str]:
    measured = [
        Measurement(
            run=name,
            repeat=1,
            workload=name,
            params={},
            host="node1",
            state="ok",
            begin_ns=1,
            end_ns=2,
            cases=tuple(ones),
        )
        for name, ones in cases.items()
    ]
    found = table.from_measurements(measured)
    analysis = build.build("r", planned(H200), on(H200), found, (), 1, "t")
    return [one.state for one in analysis.verdicts]


def test_each_limit_can_be_met_and_missed() -> None:
    count = len(planned(H200).limits)
    assert states(reached(1.0)) == ["met"] * count
    assert states(reached(0.94)) == ["not met"] * count
    assert states({"gpu_stream": reached(1.0)["gpu_stream"]})[:3] == ["met", "met", "undecided"], "nothing of it ran"


def test_a_ratio_needs_what_it_is_laid_over() -> None:
    alone = reached(1.0)["gpu_stream"][:1]
    assert states({"gpu_stream": alone})[0] != "met", "without the driver's copy"
