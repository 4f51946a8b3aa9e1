"""What scripts/gpu-check makes of its cases: rates, goals that can be missed, what was not measured, the table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.scripts import load

goals = load("gpu_goals")
check = load("gpu_check")


def event(
    kernel: str, work: dict[str, float], seconds: list[float], residual: Any = 0, **params: Any
) -> dict[str, Any]:
    found = {"event": "case", "kernel": kernel, "params": params, "work": work, "seconds": seconds}
    return found | ({"residual": {"value": residual, "limit": 0, "kind": "wrong"}} if residual != "none" else {})


def found(*cases: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "date": "2026-11-22",
        "backend": "cuda",
        "commit": "abc",
        "driver": "580.1",
        "pcie": {"generation": 5, "lanes": 16},
        "devices": [{"name": "NVIDIA H200"}],
        "steps": [],
        "cases": list(cases),
        "goals": [],
        **more,
    }


def stream(kernel: str, rate: float, **more: Any) -> dict[str, Any]:
    work = {"bytes": 3.0 * 2**32}
    case: dict[str, Any] = goals.case_of(
        "stream", event(kernel, work, [work["bytes"] / rate] * 3, array_bytes=2**32, **more)
    )
    return case


def state(name: str, *cases: dict[str, Any], **more: Any) -> tuple[str, float | None]:
    (one,) = [goal for goal in goals.goals(found(*cases, **more)) if name in goal["goal"]]
    return one["state"], one["value"]


def test_a_case_has_the_median_of_its_samples() -> None:
    case = goals.case_of("gemm", event("gemm_f64", {"flop": 6e12}, [1, 3, 2, 2, 100], 0.5, n=8192))
    assert case["median_s"] == 2 and case["rates"] == {"flop": 3e12} and case["samples"] == 5
    assert case["passed"] is False and goals.case_of("x", event("k", {}, [], None))["passed"] is False, (
        "NaN does not pass"
    )
    assert "passed" not in goals.case_of("x", event("k", {}, [], "none"))


def test_goals_are_met_missed_or_not_measured() -> None:
    copy = stream("memcpy", 4.3e12)
    assert state("arrays, over the driver's copy", stream("triad", 4.1e12), copy)[0] == "met"
    assert state("arrays, over the driver's copy", stream("triad", 3.9e12), copy)[0] == "not met"
    assert state("arrays, over the driver's copy", stream("triad", 4.1e12)) == ("not measured", None)
    reached, value = state("0.90 x 4.8 TB/s", stream("triad", 4.1e12))
    assert reached == "met" and value == pytest.approx(4.1 / 4.32)
    assert state("0.90 x 4.8 TB/s", stream("triad", 4.1e12), devices=[{"name": "NVIDIA H100"}])[0] == "not measured"
    everything = goals.goals(found())
    assert everything and all(one["state"] == "not measured" and one["value"] is None for one in everything)


def test_a_rehearsal_reaches_no_goal_and_says_what_it_is() -> None:
    cases = [stream("triad", 4.1e12), stream("memcpy", 4.3e12)]
    burnt = [{"name": "burnin-gpu0", "state": "passed", "why": ""}]
    everything = goals.goals(found(*cases, steps=burnt, rehearsal=True))
    assert all(one["state"] == "not measured" and one["value"] is None for one in everything)
    assert "nothing here is a figure of a GPU" in goals.table(found(*cases, rehearsal=True))
    assert "rehearsal" not in goals.table(found(*cases))


def test_a_wrong_result_counts_for_nothing() -> None:
    wrong = stream("triad", 4.1e12)
    wrong["passed"] = False
    assert state("arrays, over the driver's copy", wrong, stream("memcpy", 4.3e12))[0] == "not measured"
    small = goals.case_of("correct-stream", event("triad", {"bytes": 3.0 * 2**32}, [1e-3], array_bytes=2**32))
    assert state("0.90 x 4.8", small)[0] == "not measured", "runs for correctness give no figures"


def test_ours_over_cublas_alone() -> None:
    cases = [
        goals.case_of("gemm", event(kernel, {"flop": 1e12}, [seconds], "none", n=8192))
        for kernel, seconds in (("beside_f64", 0.0202), ("bare_f64", 0.02))
    ]
    assert state("DGEMM 8192", *cases) == ("met", pytest.approx(0.02 / 0.0202))
    assert state("SGEMM 8192", *cases)[0] == "not measured"


def test_the_link_to_the_host() -> None:
    case = goals.case_of("copy", event("h2d", {"bytes": 55e9}, [1.0], memory="pinned", bytes=2**28))
    assert state("host to device", case) == ("met", pytest.approx(55 / 57.6, rel=1e-3))
    assert state("host to device", case, pcie=None)[0] == "not measured"
    facts = check.facts_of(
        "<driver_version>580.65</driver_version><max_link_gen>5</max_link_gen><current_link_width>16x</current_link_width>"
    )
    assert facts == {"driver": "580.65", "pcie": {"generation": 5, "lanes": 16}}
    assert check.facts_of("<max_link_gen>N/A</max_link_gen>")["pcie"] is None


def test_the_trap_of_constant_data_and_the_table() -> None:
    cases = [
        goals.case_of("gemm", event("gemm_bf16", {"flop": 1e12}, [1 / rate], "none", n=8192, data=data))
        for data, rate in (("random", 788.0), ("ones", 894.0))
    ]
    cases += [
        goals.case_of(
            "gemm", event("conditions", {"hertz": hz, "watts": watts}, [], "none", n=8192, data=data, format="bf16")
        )
        for data, hz, watts in (("random", 1.4e9, 690.0), ("ones", 1.7e9, 600.0))
    ]
    ((format_, n, ratio, conditions),) = goals.traps(found(*cases))
    assert (format_, n, ratio) == ("bf16", 8192, pytest.approx(894 / 788)) and conditions["ones"]["watts"] == 600
    steps = [{"name": "pingpong", "state": "not measured", "why": "there is no mpirun"}]
    known = found(*cases, steps=steps)
    text = goals.table(known | {"goals": goals.goals(known)})
    assert "| bf16 | 8192 | 1.135 | 1400 MHz, 690 W | 1700 MHz, 600 W |" in text
    assert "| DGEMM 8192 over cuBLAS alone | 0.99 | not measured |" in text
    assert "pingpong: not measured: there is no mpirun" in text and "788 Tflop/s" in text


def test_events_of_a_program_that_was_cut_are_not_passed(tmp_path: Path, recordings: Path) -> None:
    asked = check.argparse.Namespace(out=tmp_path, build=tmp_path / "b", limit_s=10.0, backend="host")
    one = check.Check(asked)
    whole = (recordings / "gpu/gpu-stream-host.jsonl").read_bytes()
    assert check.keep_events(one, "stream", whole) and len(one.found["cases"]) == 20
    assert not check.keep_events(one, "stream", b"\n".join(whole.splitlines()[:-1])), "the end is missing"
    assert not check.keep_events(one, "stream", b"words\n")
    one.keep()
    assert json.loads((tmp_path / "gpu-check.json").read_text())["goals"] and (tmp_path / "recordings.tar.gz").exists()


def solved(step: str, kernel: str, n: int, rate: float, residual: Any = 0) -> dict[str, Any]:
    case: dict[str, Any] = goals.case_of(step, event(kernel, {"flop": 2e12}, [2e12 / rate] * 2, residual, n=n, nb=512))
    return case


def test_hpl_over_its_own_products_at_each_size() -> None:
    cases = [solved("hpl-32768", "hpl", 32768, 42e12), solved("hpl-32768", "ceiling", 32768, 50e12, "none")]
    assert state("HPL N = 32768", *cases) == ("met", pytest.approx(0.84))
    assert state("HPL N = 65536", *cases)[0] == "not measured"
    failed = [{**cases[0], "passed": False}, cases[1]]
    assert state("HPL N = 32768", *failed)[0] == "not measured", "a solution that is wrong has no rate"
    other = [solved("mxp", "hpl_mxp", 131072, 300e12), solved("mxp", "ceiling", 131072, 500e12, "none")]
    assert state("HPL N = 131072", *other)[0] == "not measured", "HPL-MxP is no HPL"
    assert state("HPL-MxP N = 131072", *other, *cases) == ("met", pytest.approx(0.6))


def test_the_largest_hpl_counts_where_131072_does_not_fit() -> None:
    largest = [solved("hpl-largest", "hpl", 98816, 46e12), solved("hpl-largest", "ceiling", 98816, 50e12, "none")]
    assert state("largest N that fits", *largest) == ("met", pytest.approx(0.92))
    small = [solved("hpl-65536", "hpl", 65536, 46e12), solved("hpl-65536", "ceiling", 65536, 50e12, "none")]
    assert state("largest N that fits", *small)[0] == "not measured", "that has a goal of its own"
    whole = [solved("hpl-largest", "hpl", 131072, 46e12), solved("hpl-largest", "ceiling", 131072, 50e12, "none")]
    assert state("largest N that fits", *largest, *whole)[0] == "not measured"
    assert state("HPL N = 131072", *largest, *whole) == ("not met", pytest.approx(0.92))


#: What gpu_query prints of a device through the CUDA backend.
(QUERIED,) = json.loads((Path(__file__).parents[1] / "recordings/gpu/gpu-query-cuda.json").read_text())["devices"]
H200_FACTS = {**QUERIED, "name": "NVIDIA H200"}


def test_bodies_over_the_peak_of_the_device() -> None:
    flop = 20.0 * 2**40
    case = goals.case_of("nbody", event("nbody", {"flop": flop}, [flop / 45e12], 0, n=2**20, precision="fp32"))
    peak = 132 * 128 * 2 * 1.98e9
    assert state("N-body", case, devices=[H200_FACTS]) == ("met", pytest.approx(45e12 / peak))
    assert state("N-body", case, devices=[{**H200_FACTS, "compute_capability": "77.0"}])[0] == "not measured"
    slow = {**case, "rates": {"flop": 40e12}}
    assert state("N-body", slow, devices=[H200_FACTS])[0] == "not met"
    assert state("N-body", {**case, "step": "correct-nbody"}, devices=[H200_FACTS])[0] == "not measured"


def test_particles_against_comet() -> None:
    def fluid(n: int, rate: float, precision: str = "mixed") -> dict[str, Any]:
        case: dict[str, Any] = goals.case_of(
            "lj", event("lj", {"particle_steps": 1e9}, [1e9 / rate], 0, n=n, precision=precision)
        )
        return case

    assert state("64,000 particles", fluid(64000, 900e6)) == ("met", pytest.approx(900 / 80.39))
    assert state("1M particles", fluid(1000000, 900e6)) == ("not met", pytest.approx(900 / 80.39))
    assert state("1M particles", fluid(1000000, 2e9, "fp64"))[0] == "not measured"
    assert "| lj | n 64000, precision mixed | 900 Mparticle steps/s |" in goals.table(found(fluid(64000, 900e6)))


def test_transforms_over_the_copy() -> None:
    params = {"shape": "1024", "batch": 16384, "precision": "double", "level": "memory"}
    case = goals.case_of("fft", event("fft", {"flop": 1.0, "bytes": 2.0**29}, [2.0**29 / 3.6e12], 0, **params))
    assert state("FFT 1024", case, stream("memcpy", 4e12)) == ("met", pytest.approx(0.9))
    assert state("FFT 1024", case)[0] == "not measured"
    cached = {**case, "params": {**params, "level": "l2"}}
    assert state("FFT 1024", cached, stream("memcpy", 4e12))[0] == "not measured", (
        "what a cache gives is not the memory's"
    )


@pytest.mark.parametrize(
    ("states", "reached", "value"),
    [
        (("passed", "passed"), "met", 1.0),
        (("passed", "failed"), "not met", 0.5),
        (("not measured",), "not measured", None),
        ((), "not measured", None),
    ],
)
def test_burn_in_has_a_verdict_of_each_device(states: tuple[str, ...], reached: str, value: float | None) -> None:
    steps = [{"name": f"burnin-gpu{i}", "state": one, "why": ""} for i, one in enumerate(states)]
    assert state("burn-in", steps=steps) == (reached, value)


def test_conditions_of_other_programs_are_none_of_the_trap() -> None:
    cases = [
        goals.case_of("gemm", event("gemm_f64", {"flop": 1e12}, [1.0], "none", n=2**20, data=data))
        for data in ("random", "ones")
    ]
    cases.append(goals.case_of("nbody", event("conditions", {"hertz": 1e9}, [], "none", n=2**20, precision="fp32")))
    ((*_, conditions),) = goals.traps(found(*cases))
    assert conditions == {}


def test_rows_name_the_device_where_there_are_several() -> None:
    cases = [
        goals.case_of("lj", event("lj", {"particle_steps": 1e9}, [1.0], 0, n=64000, device="NVIDIA H200", index=i))
        for i in (0, 1)
    ]
    cases.append(goals.case_of("burnin-gpu1", event("burnin_product", {"flop": 1e12}, [1.0], 0, device="gpu:1")))
    both = goals.table(found(*cases, devices=[{"name": "NVIDIA H200"}] * 2))
    assert "| lj | n 64000, index 0 |" in both and "| lj | n 64000, index 1 |" in both
    assert "| burnin_product | device gpu:1 | 1 Tflop/s |" in both
    assert "index" not in goals.table(found(*cases))


def test_programs_are_found_by_their_cmake_files() -> None:
    assert {"gpu_query", "gpu_stream", "gpu_copy", "gpu_gemm", "gpu_fft", "gpu_pingpong", "hpl_gpu", "burnin"} <= set(
        check.gpu_programs()
    )


def test_what_is_not_known_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--out", str(tmp_path)]
    assert check.main([*out, "--steps", "bild"]) == 2 and check.main([*out, "--bench", "strema"]) == 2
    assert "no step 'bild'" in capsys.readouterr().err
