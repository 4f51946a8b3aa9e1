"""The device query: what NVML and the driver say joined by address, peaks with their basis, what is below par."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from shakedown.errors import Unavailable
from shakedown.hosts.access import Result
from shakedown.machine import accelerators, discover, gpu_query, gpus, pcie
from shakedown.machine.gpu_settings import gpu_settings, reasons
from shakedown.machine.gpus import parse_nvidia_smi
from shakedown.records import Gpu, Value
from support import trees

DRIVER = {
    "backend": "cuda",
    "devices": [
        {
            "index": 0,
            "name": "NVIDIA A100-SXM4-80GB",
            "pci": "0000:41:00.0",
            "compute_capability": "8.0",
            "l2_bytes": 41943040,
            "warp_size": 32,
            "registers_per_block": 65536,
            "concurrent_kernels": True,
            "reaches": [1],
        },
        {
            "index": 1,
            "name": "NVIDIA A100-SXM4-80GB",
            "pci": "0000:01:00.0",
            "compute_capability": "8.0",
            "warp_size": 32,
            "reaches": [],
        },
    ],
}


def gpu(**facts: Value) -> Gpu:
    return Gpu(index=0, name="NVIDIA H200", vendor="NVIDIA", facts=facts)


def findings(**facts: Value) -> dict[str, str]:
    return {one.name.removeprefix("GPU 0 "): one.state for one in gpu_settings([gpu(**facts)])}


# ---------------------------------------------------------------------------------------------------------------- peaks


@pytest.mark.parametrize(
    ("name", "capability", "processors", "mhz", "expected"),
    [
        # Data sheets: A100 (312, 156, 19.5 TFLOPS, 624 TOPS), H100 SXM at its tensor clock of 1830 MHz (989, 495, 1979)
        # and at 1980 MHz (66.9 in FP64), T4 (65, 130), V100 (125), L40S at 2490 MHz (362, 724), B200 at 1855 MHz (2250).
        ("A100", "8.0", 108, 1410, {"bf16": 312e12, "tf32": 156e12, "fp64.matrix": 19.5e12}),
        ("H100", "9.0", 132, 1830, {"bf16": 989.4e12, "tf32": 494.7e12, "fp8": 1978.9e12}),
        ("H100", "9.0", 132, 1980, {"fp64.matrix": 66.9e12, "fp64": 33.5e12, "fp32": 66.9e12}),
        ("Tesla T4", "7.5", 40, 1590, {"fp16": 65.1e12}),
        ("V100", "7.0", 80, 1530, {"fp16": 125e12}),
        ("L40S", "8.9", 142, 2490, {"bf16": 362e12, "fp8": 724e12}),
        ("B200", "10.0", 148, 1855, {"bf16": 2250e12, "fp8": 4500e12, "fp64": 35e12}),
    ],
)
def test_peaks_are_those_of_the_data_sheets(
    name: str, capability: str, processors: int, mhz: int, expected: dict[str, float]
) -> None:
    lanes = accelerators.table().capabilities[capability]
    facts: dict[str, Value] = {"compute_capability": capability, "cores": processors * lanes[0], "max_sm_mhz": mhz}
    found = {
        one.name: one for one in accelerators.peaks_of(Gpu(index=0, name=name, vendor="NVIDIA", facts=facts), name)
    }
    for word, value in expected.items():
        peak = found[f"gpu.flops.{word}"]
        assert peak.value == pytest.approx(value, rel=0.005)
        assert str(processors) in peak.basis and f"{mhz / 1000:.3f} GHz" in peak.basis


def test_links() -> None:
    h200 = gpu(
        compute_capability="9.0", pcie_generation=1, pcie_generation_max=5, pcie_width=16, pcie_width_max=16, nvlinks=18
    )
    found = {one.name: one.value for one in accelerators.peaks_of(h200, "it")}
    assert found["gpu.pcie.bandwidth"] == pytest.approx(63.015e9, rel=1e-3), "the highest generation: it falls at rest"
    assert found["gpu.pcie.payload"] == pytest.approx(57.6e9, rel=1e-3)
    assert found["gpu.nvlink.bandwidth"] == 450e9
    assert pcie.bandwidth(3, 16) == pytest.approx(15.754e9, rel=1e-3) and pcie.bandwidth(2, 8) == 4e9
    assert pcie.bandwidth(6, 16) == pytest.approx(121e9, rel=1e-2)
    assert pcie.payload(9, 16) is None and pcie.bandwidth(4, 0) is None


@given(st.sampled_from(sorted(pcie.LANE_B_S)), st.sampled_from([1, 2, 4, 8, 16, 32]))
def test_a_wider_link_carries_more_and_payload_less_than_the_link(generation: int, lanes: int) -> None:
    raw, carried, wider = (
        pcie.bandwidth(generation, lanes),
        pcie.payload(generation, lanes),
        pcie.bandwidth(generation, 2 * lanes),
    )
    assert raw and carried and wider
    assert 0 < carried < raw and wider == pytest.approx(2 * raw)


def test_every_entry_of_the_table_has_its_capability() -> None:
    table = accelerators.table()
    assert all(entry.capability in table.capabilities for entry in table.accelerator)
    assert all(
        (entry.fp32_lanes, entry.fp64_lanes) == table.capabilities[entry.capability] for entry in table.accelerator
    )
    assert set(table.matrix) <= set(table.capabilities) and set(table.nvlink) <= set(table.capabilities)


# ------------------------------------------------------------------------------------------------------------ below par


@pytest.mark.parametrize(
    ("facts", "name", "state"),
    [
        ({"pcie_width": 8, "pcie_width_max": 16}, "PCIe width", "warn"),
        ({"pcie_generation": 3, "pcie_generation_max": 5, "busy": 0.0}, "PCIe generation", "info"),
        ({"pcie_generation": 3, "pcie_generation_max": 5, "busy": 0.9}, "PCIe generation", "warn"),
        ({"ecc": False}, "ECC", "warn"),
        ({"ecc": True, "ecc_pending": False}, "ECC", "info"),
        ({"ecc_uncorrected": 2}, "ECC errors", "warn"),
        ({"remap_pending": True}, "row remapping", "warn"),
        ({"remap_failed": True}, "row remapping", "warn"),
        ({"power_limit_w": 500.0, "power_default_w": 700.0}, "power limit", "warn"),
        ({"slowed_bits": 0x48}, "slowed", "warn"),
        ({"slowed_bits": 0x02, "application_sm_mhz": 1500, "max_sm_mhz": 1980}, "application clock", "info"),
        ({"mig": True}, "MIG", "info"),
        ({"persistence": False}, "persistence", "warn"),
        ({"compute_mode": "prohibited"}, "compute mode", "warn"),
        ({"compute_mode": "exclusive process"}, "compute mode", "info"),
        ({"processes": 1}, "in use", "info"),
        ({"nvlinks": 17, "nvlinks_all": 18}, "NVLink", "warn"),
    ],
)
def test_what_is_below_par_is_named(facts: dict[str, Value], name: str, state: str) -> None:
    assert findings(**facts) == {name: state}


def test_a_gpu_in_order_has_no_finding_and_absence_is_none() -> None:
    assert findings() == {}
    whole: dict[str, Value] = {
        "pcie_width": 16,
        "pcie_width_max": 16,
        "pcie_generation": 5,
        "pcie_generation_max": 5,
        "ecc": True,
        "ecc_pending": True,
        "ecc_uncorrected": 0,
        "power_limit_w": 700.0,
        "power_default_w": 700.0,
        "slowed_bits": 0x05,  # idle, and the power limit: both are usual
        "mig": False,
        "persistence": True,
        "compute_mode": "default",
        "processes": 0,
        "nvlinks": 18,
        "nvlinks_all": 18,
        "application_sm_mhz": 1500,  # shipped so on some boards, and not in force
        "max_sm_mhz": 1980,
    }
    assert findings(**whole) == {}


def test_the_same_finding_on_several_gpus_is_one() -> None:
    resting = [msgspec.structs.replace(gpu(persistence=False), index=index) for index in (0, 3)]
    assert [one.name for one in gpu_settings(resting)] == ["GPU 0, 3 persistence"]


def test_reasons_in_words() -> None:
    assert reasons(0x01) == "idle" and reasons(0) == "" and reasons(0x44) == "too hot (hardware), power limit"


# ------------------------------------------------------------------------------------------------- recordings, and joining


def test_recorded_machines(recordings: Path) -> None:
    first = parse_nvidia_smi((recordings / "gpu/nvidia-smi-a100-sxm4-v12.xml").read_text())[0]
    expected = {
        "power_default_w": 500.0,
        "power_w": 67.03,
        "temperature_c": 27,
        "slowdown_c": 89,
        "ecc_uncorrected": 0,
        "ecc_uncorrected_ever": 0,
        "slowed_bits": 0,
        "compute_mode": "default",
        "application_sm_mhz": 1275,
        "memory_used_bytes": 50 << 20,
        "persistence": False,
    }
    assert first.facts | expected == first.facts
    assert "remap_pending" not in first.facts, "N/A is neither"
    (t4,) = parse_nvidia_smi((recordings / "gpu/nvidia-smi-tesla-t4.xml").read_text())
    assert {one.name for one in gpu_settings([t4]) if one.state == "warn"} == {"GPU 0 PCIe width", "GPU 0 persistence"}


def machine_of(
    tmp_path: Path, recordings: Path, answer: Result | str, native: Path | None, monkeypatch: pytest.MonkeyPatch
) -> gpu_query.Query:
    folder = tmp_path / "native"
    folder.mkdir()
    monkeypatch.setenv("SHAKEDOWN_NATIVE", str(folder))
    commands: dict[tuple[str, ...], Result | str] = {
        gpus.NVML: Result(3, '{"error": "nvidia-ml-py is not installed"}', ""),
        gpus.NVIDIA_SMI: (recordings / "gpu/nvidia-smi-a100-sxm4-v12.xml").read_text(),
    }
    if native is not None:
        (folder / "gpu_query").touch(0o755)
        commands[(str(folder / "gpu_query"),)] = answer
    version = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue\n"
    return gpu_query.query(trees.door(tmp_path / "tree", {"/proc/driver/nvidia/version": version}, commands=commands))


def test_driver_and_library_are_joined_by_address(
    tmp_path: Path, recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = machine_of(tmp_path, recordings, json.dumps(DRIVER), tmp_path, monkeypatch)
    by_pci = {one.gpu.pci: one for one in found.gpus}
    first = by_pci["00000000:01:00.0"]
    assert first.cuda_index == 1 and first.reaches == (), "CUDA counts otherwise than the library"
    assert first.gpu.facts["compute_capability"] == "8.0" and first.gpu.facts["power_limit_w"] == 500.0
    assert "l2_bytes" not in first.gpu.facts, "that is another one's"
    text = "\n".join(gpu_query.lines(found))
    for words in (
        'Device 0: "NVIDIA A100-SXM4-80GB"',
        "535.54.03, CUDA 12.2",
        "108 x 64 lanes = 6912 lanes",
        "warp:",
        "32 threads",
        "generation 4 x16 (at most 4 x16)",
        "0 uncorrected, 0 corrected",
        "flops.bf16:",
        "312 Tflop/s = 108 multiprocessors x 2048 flop/cycle",
        "Below par",
        "persistence: off",
    ):
        assert words in text, f"{words}\n{text}"
    assert not any(line.rstrip().endswith(":") for line in text.splitlines()), "no property without a value"
    encoded = msgspec.json.decode(msgspec.json.encode(found))
    assert encoded["gpus"][0]["peaks"][0]["basis"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            Result(3, "", "gpu_query: there is no CUDA driver here: libcuda.so.1\n  next: install"),
            "no CUDA driver here",
        ),
        (Result(None, "", "no answer within 20 s"), "no answer within 20 s"),
    ],
)
def test_a_driver_that_does_not_answer_leaves_what_the_library_says(
    tmp_path: Path, recordings: Path, monkeypatch: pytest.MonkeyPatch, answer: Result, why: str
) -> None:
    found = machine_of(tmp_path, recordings, answer, tmp_path, monkeypatch)
    assert found.gpus and found.gpus[0].cuda_index is None and found.gpus[0].peaks
    assert any(why in gap.why for gap in found.absent)
    assert "Not known" in "\n".join(gpu_query.lines(found))


def test_without_the_native_program(tmp_path: Path, recordings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = machine_of(tmp_path, recordings, "", None, monkeypatch)
    assert found.gpus and any("was not built" in gap.why for gap in found.absent)


def test_output_of_something_else_is_an_error() -> None:
    for text in ("{}", "[]", '{"devices": [1]}', "words"):
        with pytest.raises(ValueError, match=r"."):
            gpu_query.parse(text)


def test_the_findings_are_settings_of_the_host(tmp_path: Path, recordings: Path) -> None:
    text = (recordings / "gpu/nvidia-smi-tesla-t4.xml").read_text()
    door = trees.door(
        tmp_path,
        {"/proc/driver/nvidia/version": "NVRM version: x  535.54.03  \n"},
        commands={gpus.NVML: Result(3, '{"error": "no"}', ""), gpus.NVIDIA_SMI: text},
    )
    found = {one.name: one for one in discover(door).settings}
    assert found["GPU 0 PCIe width"].value == "x8 of x16" and found["GPU 0 PCIe width"].advice


def test_the_command_says_that_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    from shakedown.cli import gpu as verb

    monkeypatch.setattr(gpu_query, "query", lambda door: gpu_query.Query())
    app = typer.Typer()
    app.command()(verb.command)
    result = CliRunner().invoke(app, [])
    assert isinstance(result.exception, Unavailable) and result.exception.exit_code == 3 and result.exception.hint
