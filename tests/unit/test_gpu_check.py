"""What scripts/gpu-check runs and leaves out, with programs that are a few lines of shell."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.scripts import load
from support.waiting import until

plan = load("gpu_steps")
check = load("gpu_check")

Program = Callable[..., None]
END = '{"event":"end","ok":%s,"unix_ns":1,"max_rss_bytes":1}'


@pytest.fixture
def one(tmp_path: Path) -> Any:
    asked = check.argparse.Namespace(out=tmp_path / "out", build=tmp_path / "build", limit_s=100.0, backend="host")
    return check.Check(asked)


@pytest.fixture
def program(one: Any) -> Program:
    """Make a program that prints this, and what it was told, and ends with this code."""

    def make(name: str, text: str, code: int = 0) -> None:
        path = check.path_of(one, name)
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\necho \"$@\" >> {one.out.parent}/told\ncat <<'X'\n{text}\nX\nexit {code}\n")
        path.chmod(0o755)

    return make


def states(one: Any) -> dict[str, str]:
    return {step["name"]: step["state"] for step in one.found["steps"]}


def test_what_is_not_built_is_left_out_with_its_reason(one: Any, program: Program) -> None:
    program("gpu_fft", END % "true")
    one.found["build"] = {"hpl_gpu_absent": "no mpicxx was found"}
    check.steps(
        one,
        [
            plan.Step("x", "gpu_nothing", "", 1, "--a 1"),
            plan.Step("y", "hpl_gpu", "", 1, "--a 1"),
            plan.Step("z", "gpu_stream", "", 1, "--a 1"),
            plan.Step("fft", "gpu_fft", "", 1, "--a 1"),
        ],
    )
    assert states(one) == {"x": "not measured", "y": "not measured", "z": "not measured", "fft": "passed"}
    reasons = [step["why"] for step in one.found["steps"]]
    assert reasons[0] == "left out: this tree has no gpu_nothing"
    assert "no mpicxx was found" in reasons[1] and "see build.log" in reasons[2]
    kept = json.loads((one.out / "gpu-check.json").read_text())
    assert [step["name"] for step in kept["steps"]] == ["x", "y", "z", "fft"]


@pytest.mark.parametrize(
    ("text", "code", "state"),
    [
        (END % "true", 0, "passed"),
        (END % "false", 1, "failed"),
        (END % "false", 0, "failed"),
        ("", 0, "failed"),
        (END % "true", 3, "not measured"),
        ("", 139, "failed"),
    ],
)
def test_states_follow_from_code_and_end(one: Any, program: Program, text: str, code: int, state: str) -> None:
    program("gpu_fft", text, code)
    check.steps(one, [plan.Step("fft", "gpu_fft", "", 1, "")])
    assert states(one) == {"fft": state}


def test_what_does_not_fit_into_the_time_is_not_begun(one: Any, program: Program) -> None:
    program("gpu_fft", END % "true")
    one.rehearsal = False
    check.steps(one, [plan.Step("long", "gpu_fft", "", 1000, ""), plan.Step("short", "gpu_fft", "", 10, "")])
    assert states(one) == {"long": "not measured", "short": "passed"}
    assert "s are left and it takes 1000" in one.found["steps"][0]["why"]


def test_burn_in_has_a_worker_and_a_verdict_for_each_device(one: Any, program: Program) -> None:
    program("burnin", END % "true")
    one.found["devices"] = [{"index": 0}, {"index": 2}]
    (step,) = (step for step in plan.BENCH if step.each_device)
    check.steps(one, [step])
    assert states(one) == {"burnin-gpu0": "passed", "burnin-gpu2": "passed"}
    told = (one.out.parent / "told").read_text().splitlines()
    starts = {line.split("--start ")[1].split()[0] for line in told}
    assert len(told) == 2 and len(starts) == 1, "both from the same moment on"
    assert {line.split("--device ")[1].split()[0] for line in told} == {"gpu:0", "gpu:2"}


def test_arguments_are_tiny_in_a_rehearsal_and_name_the_largest_order_that_fits(one: Any) -> None:
    (step,) = (step for step in plan.BENCH if step.name == "hpl-largest")
    assert check.command_of(one, step)[1:] == ["--backend", "host", *step.tiny.split()]
    h200, h100 = 143771 << 20, 81559 << 20
    assert "--n 131072 " in plan.filled(step, h200)
    assert "--n auto " in plan.filled(step, h100) and "--n auto " in plan.filled(step, None)
    assert plan.least_memory([{"memory_bytes": h200}, {"memory_bytes": h100}, {}]) == h100
    assert plan.least_memory([]) is None


def test_every_step_has_a_rehearsal_and_every_name_is_its_own() -> None:
    every = (*plan.CORRECT, *plan.BENCH)
    assert len({step.name for step in every}) == len(every)
    assert all(step.tiny and step.takes_s > 0 for step in every)
    assert all(step.name.startswith("correct-") for step in plan.CORRECT), "cases of these give no figures"
    assert not any(step.name.startswith("correct") for step in plan.BENCH)
    wanted = {"gpu_stream", "gpu_copy", "gpu_gemm", "gpu_fft", "gpu_nbody", "gpu_lj", "hpl_gpu", "hpl_mxp"}
    assert wanted <= {step.program for step in plan.CORRECT}
    assert wanted | {"burnin", "gpu_pingpong"} <= {step.program for step in plan.BENCH}


def test_a_library_that_the_loader_does_not_know_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "nvidia/cu13/lib"
    folder.mkdir(parents=True)
    for name in ("libcufft.so.12", "libcublas.so.13", "libcufftw.so.12"):
        (folder / name).touch()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "none"))
    assert plan.library("gpu_stream", "") == []
    assert plan.library("gpu_fft", "libcufft.so.12 => /usr/lib/libcufft.so.12") == []
    for program, name in (("gpu_fft", "cufft"), ("hpl_gpu", "cublas"), ("burnin", "cublas")):
        flag, path = plan.library(program, "")
        assert flag == f"--{name}" and Path(path).name.startswith(f"lib{name}.so")


def test_kernels_are_made_for_the_devices_that_are_here(one: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHAKEDOWN_CUDA_ARCHITECTURES", raising=False)
    assert check.architectures(one) == [], "a rehearsal makes them for all"
    one.rehearsal = False
    assert check.architectures(one) == ["-DSHAKEDOWN_CUDA_ARCHITECTURES=native"]
    monkeypatch.setenv("SHAKEDOWN_CUDA_ARCHITECTURES", "75")
    assert check.architectures(one) == [], "what the environment says counts"


def test_what_takes_too_long_is_ended_with_its_children() -> None:
    code, out, err, _ = check.run(["sh", "-c", "sleep 60 & echo $!; wait"], 1)
    assert code == 124 and "no end within 1 s" in err
    child = Path(f"/proc/{int(out)}/stat")

    def is_over() -> bool:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            return child.read_text().split(") ")[1][0] in "ZX"
        return True

    until(is_over, 10.0, "the child, which would sleep for a minute, ends", every_s=0.02)
    assert check.run(["/nowhere/program"], 1)[0] == 127


def test_native_tests_are_those_of_programs_on_gpus(one: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = (
        "  Test  #1: test_gpu_fft\n  Test #12: hpl_gpu_factor_test\n  Test #13: test_fft_verify\n Test #14: hpl_gpu\n"
    )
    monkeypatch.setattr(check, "_words", lambda *words: listed)
    assert check.gpu_tests(one) == ["test_gpu_fft", "hpl_gpu_factor_test"], "names made in a loop count too"


def test_devices_are_asked_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: list[str] = []
    monkeypatch.setattr(check, "query", lambda _: begun.append("query"))
    monkeypatch.setattr(check, "steps", lambda _, wanted: begun.append(wanted[0].name))
    where = ["--out", str(tmp_path / "out"), "--build", str(tmp_path / "build")]
    assert check.main([*where, "--steps", "bench"]) == 0
    assert check.main([*where, "--steps", "query,correct,bench"]) == 0
    first, second = plan.CORRECT[0].name, plan.BENCH[0].name
    assert begun == ["query", second, "query", first, second]


def test_nowhere_to_leave_results_is_said_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert check.main(["--out", str(tmp_path / "file/out")]) == 2
    assert "another --out" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        check.main(["--backend", "hip"])


def test_reasons_are_what_was_said_and_not_what_is_advised(one: Any, program: Program) -> None:
    path = check.path_of(one, "gpu_query")
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\nprintf 'gpu_query: no CUDA driver here\\n  next: install one\\n' >&2\nexit 3\n")
    path.chmod(0o755)
    check.query(one)
    path.unlink()
    check.query(one)
    said, absent = (step["why"] for step in one.found["steps"])
    assert said == "gpu_query: no CUDA driver here"
    assert absent.startswith("gpu_query was not built") and "--steps build" in absent
