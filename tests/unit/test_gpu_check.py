"""What scripts/gpu-check builds, starts, leaves out and collects; the build is made up, what is measured is nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

import pytest

from shakedown import campaign

ROOT = Path(__file__).resolve().parents[2]
#: "Configures" with what CONFIGURED says of the build, and "builds" every target but those in BROKEN.
CMAKE = """#!/bin/bash
echo "cmake $*" >>"$CALLS"
if [ "$1" = --build ]; then
  for target in "${@:6}"; do
    [ "$target" != -- ] || exit ${broken:-0}
    case " $BROKEN " in *" $target "*) broken=1; continue ;; esac
    mkdir -p "$2/native/$target" && touch "$2/native/$target/$target" && chmod +x "$2/native/$target/$target"
  done
fi
[ -n "$CONFIGURED" ] || exit 1
echo "$CONFIGURED" >"$4/build.json"
touch "$4/build.ninja"
"""
CTEST = """#!/bin/bash
echo "ctest $*" >>"$CALLS"
if [ "$3" = -N ]; then
  for name in test_gpu_fft hpl_gpu_factor_test test_fft_verify test_lj; do echo "  Test #1$((++number)): $name"; done
  exit 0
fi
exit $FAILS
"""


class Ended(NamedTuple):
    code: int
    steps: dict[str, tuple[str, str]]  # name -> state, why
    calls: list[str]
    out: Path
    err: str


class Bench(NamedTuple):
    folder: Path

    def run(
        self,
        *words: str,
        configured: str = '{"cuda": "13.0"}',
        broken: str = "",
        fails: int = 0,
        python: str = sys.executable,
    ) -> Ended:
        calls, out = self.folder / "calls", self.folder / "out"
        calls.write_text("")
        env = {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "PYTHON": python,
            "CALLS": str(calls),
            "CONFIGURED": configured,
            "BROKEN": broken,
            "FAILS": str(fails),
        }
        env.pop("SHAKEDOWN_CUDA_ARCHITECTURES", None)  # scripts/test chooses one chip to compile for
        done = subprocess.run(
            [ROOT / "scripts/gpu-check", "--out", out, "--build", self.folder / "build", *words],
            env=env,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        steps = {}
        for line in (out / "steps.txt").read_text().splitlines() if (out / "steps.txt").exists() else ():
            told = re.fullmatch(r"(\S+)\s+(\w[\w ]*?)\s+\d+ s\s*(.*)", line)
            assert told is not None, line
            steps[told[1]] = (told[2], told[3])
        return Ended(done.returncode, steps, calls.read_text().splitlines(), out, done.stderr)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "bin").mkdir()
    for name, text in (("cmake", CMAKE), ("ctest", CTEST)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    return Bench(tmp_path)


def test_it_builds_what_is_required_first_measures_and_collects(bench: Bench) -> None:
    done = bench.run("--steps", "build,measure", "--", "empty", "seconds=0.01")
    assert done.code == 0 and {name: state for name, (state, _) in done.steps.items()} == {
        "configure": "done",
        "programs": "done",
        "more-programs": "done",
        "measure": "met",
    }
    configure, first, second = (call for call in done.calls if re.match("cmake (-S|--build) ", call))
    assert "-DSHAKEDOWN_CUDA_ARCHITECTURES=native" in configure, "kernels for the GPUs that are here"
    built = {one for call in (first, second) for one in call.split(" --target ")[1].split(" -- ")[0].split()}
    assert "gpu_stream" in first and "burnin" in second
    required = {run.workload for run in campaign.parse(*campaign.text_of("gpu-check")).runs}
    assert required <= built, "every program of the campaign is found by its CMakeLists.txt"
    assert {path.name for path in done.out.iterdir()} >= {"report.md", "report.json", "run.tar.gz", "logs.tar.gz"}
    with tarfile.open(done.out / "run.tar.gz") as packed:
        assert any(name.endswith("/stdout") for name in packed.getnames())


def test_what_is_not_built_keeps_nothing_else_from_being_measured(bench: Bench) -> None:
    done = bench.run("--backend", "host", "--steps", "build,measure", "--", "empty", broken="gpu_stream burnin")
    assert done.code == 1 and done.steps["measure"][0] == "met"
    assert done.steps["programs"][0] == "failed" and "not built: gpu_stream" in done.steps["programs"][1]
    assert "burnin" in done.steps["more-programs"][1]
    assert not any("ARCHITECTURES" in call for call in done.calls), "a rehearsal makes kernels for all"


def test_without_kernels_or_a_build_nothing_is_measured(bench: Bench) -> None:
    absent = bench.run(configured='{"cuda_absent": "no nvcc was found in PATH"}')
    assert absent.code == 3 and absent.steps["cuda"] == ("not measured", "no nvcc was found in PATH")
    assert "measure" not in absent.steps and len(absent.calls) == 1
    broken = bench.run(configured="")
    assert broken.code == 3 and broken.steps["configure"][0] == "not measured"
    assert (broken.out / "logs.tar.gz").exists()


def test_what_does_not_fit_into_the_time_is_left_to_be_gone_on_with(bench: Bench) -> None:
    done = bench.run("--steps", "measure", "--limit-s", "60", "--", "empty", "seconds=500")
    assert done.code == 4 and done.steps["measure"][0] == "undecided" and "--resume" in done.steps["measure"][1]
    assert "Not begun" in (done.out / "report.md").read_text()
    late = bench.run("--steps", "measure,tests", "--limit-s", "20")
    assert (
        late.code == 3
        and late.steps["measure"][1].startswith("left out")
        and late.steps["tests"][1].startswith("left out")
    )


def test_native_tests_are_those_of_programs_on_gpus(bench: Bench) -> None:
    done = bench.run("--steps", "tests")
    assert done.code == 0 and done.steps["tests"][0] == "passed"
    assert "-R ^(test_gpu_fft|hpl_gpu_factor_test)$" in done.calls[-1], "names made in a loop count too"
    failed = bench.run("--steps", "tests", fails=8)
    assert failed.code == 1 and failed.steps["tests"][0] == "failed"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--steps", "bild"), "no step bild"),
        (("--backend", "hip"), "no backend hip"),
        (("--limit-s", "soon"), "not a whole number"),
        (("--bench",), "unknown argument --bench"),
        (("--steps",), "--steps has no value"),
        (("--build", "/dev/null/x"), "another --out or --build"),
    ],
)
def test_what_is_not_known_is_refused(bench: Bench, words: tuple[str, ...], said: str) -> None:
    done = bench.run(*words)
    assert done.code == 2 and said in done.err and "next:" in done.err and not done.calls


def test_a_python_that_cannot_be_used_is_said_before_anything_is_built(bench: Bench, tmp_path: Path) -> None:
    without = tmp_path / "python"
    without.write_text('#!/bin/sh\n[ "$2" != pip ] || exit 1\necho msgspec\n')  # lacks it, and pip cannot bring it
    without.chmod(0o755)
    done = bench.run("--steps", "build,measure", python=str(without))
    assert done.code == 3 and "lacks msgspec" in done.steps["libraries"][1] and not done.calls
    gone = bench.run("--steps", "build,measure", python="/nowhere/python")
    assert gone.code == 3 and "cannot be used" in gone.steps["libraries"][1] and not gone.calls
