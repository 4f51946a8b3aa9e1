"""N-body on GPUs: what is refused, what is started, how long it may take, how it stands beside the processor's."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown import workloads
from shakedown.acceptance import checking, plan
from shakedown.errors import BadInput, Unavailable
from shakedown.programs import events
from shakedown.records import Absent, Params, Value
from shakedown.workloads import gpu_nbody, nbody
from support.machines import with_gpus
from support.workloads import installed, options, params_of

WORKLOAD = gpu_nbody.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "gpu_nbody")


def resolve(count: int = 4, **given: Value) -> Params:
    return params_of(WORKLOAD, with_gpus(count), given)


def test_a_command_names_every_parameter_once(built: Path) -> None:
    command = WORKLOAD.command(resolve(bodies="1000, 2000,1000", seconds=5.0, devices="0,1"), with_gpus(4).hosts[0])
    assert command.argv[0] == str(built / "gpu_nbody") and command.ranks == 0
    words = options(command.argv)
    assert words["--bodies"] == "1000,2000" and words["--precision"] == "fp32,fp64" and words["--seconds"] == "5.0"
    assert set(words) == {f"--{name}" for name in WORKLOAD.params} - {"--together"}


def test_all_at_once_is_a_flag_and_stands_last() -> None:
    argv = WORKLOAD.command(resolve(together=True), with_gpus(4).hosts[0]).argv
    assert argv[-1] == "--together" and argv.count("--together") == 1
    assert "--together" not in WORKLOAD.command(resolve(), with_gpus(4).hosts[0]).argv


def test_what_both_programs_take_is_said_alike() -> None:
    for name in ("bodies", "precision", "steps", "softening", "dt", "seed"):
        ours, theirs = WORKLOAD.params[name], nbody.WORKLOAD.params[name]
        assert (ours.kind, ours.low, ours.high) == (theirs.kind, theirs.low, theirs.high), name


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"bodies": "1"}, "not a number from 2"),
        ({"bodies": "1e6"}, "'1e6'"),
        ({"bodies": str(2**30 + 1)}, "not a number"),
        ({"precision": "fp16"}, "fp16"),
        ({"precision": ""}, "precision"),
        ({"shape": "r3u4"}, "r3u4"),
        ({"shape": "r8u2"}, "not a shape of fp64"),
        ({"shape": "r1u8", "precision": "fp32"}, "not a shape of fp32"),
        ({"softening": 0}, "softening"),
        ({"dt": 1.0}, "gpu_nbody.dt: 1.0 is above 0.112"),
        ({"together": "yes"}, "true or false"),
        ({"devices": "first"}, "names no devices"),
        ({"backend": "hip"}, "not known"),
    ],
)
def test_what_cannot_be_is_refused_with_what_it_is(given: dict[str, Value], part: str) -> None:
    with pytest.raises(BadInput) as error:
        resolve(**given)
    assert part in error.value.what and error.value.hint


def test_without_a_gpu_it_is_unavailable_with_the_reason() -> None:
    none = with_gpus(0)
    gap = Absent(what="NVIDIA GPU 0000:01:00.0", why="there is a GPU, but no driver has taken it")
    none = msgspec.structs.replace(none, hosts=(msgspec.structs.replace(none.hosts[0], absent=(gap,)),))
    with pytest.raises(Unavailable, match="no driver has taken it"):
        WORKLOAD.resolve(workloads.check_params(WORKLOAD, {}), none)
    assert WORKLOAD.resolve(workloads.check_params(WORKLOAD, {"backend": "host:2"}), none)


def test_the_time_grows_with_the_square_of_the_bodies_and_all_at_once_saves_the_others() -> None:
    host = with_gpus(4).hosts[0]
    one, two = (WORKLOAD.estimate_s(resolve(bodies=n, precision="fp32"), host) for n in ("4000000", "8000000"))
    assert 3.5 < two / one < 4.1
    alone, together = (WORKLOAD.estimate_s(resolve(together=how), host) for how in (False, True))
    assert alone == pytest.approx(4 * together)
    assert WORKLOAD.estimate_s(resolve(seconds=60.0, together=True), host) > 120
    slow = WORKLOAD.estimate_s(resolve(bodies="4096", backend="host"), host)
    assert slow > WORKLOAD.estimate_s(resolve(bodies="4096", devices="0"), host)


def test_twenty_operations_an_interaction_and_each_device_has_its_case(recordings: Path) -> None:
    found = events.parse((recordings / "gpu/gpu-nbody-host.jsonl").read_bytes())
    assert {(case.params["index"], case.params["n"], case.params["precision"]) for case in found.cases} == {
        (index, n, precision) for index in (0, 1) for n in (2048, 4096) for precision in ("fp32", "fp64")
    }
    for case in found.cases:
        n, steps = float(case.params["n"]), case.work["steps"]
        assert case.work["interactions"] == n**2 * steps and case.work["flop"] == 20 * n**2 * steps
        assert case.params["mode"] == "together" and case.work["at_once"] == 2
        assert case.residual is not None and case.residual.passed


def test_the_rate_is_held_against_the_peak_of_its_precision() -> None:
    (rate,) = [one for one in WORKLOAD.metrics if one.headline]
    assert rate.limit.format(precision="fp64") == "gpu.flops.fp64"


@pytest.mark.parametrize("name", ["thufir", "generic-gpu-cluster"])
def test_the_acceptance_plans_run_it_on_every_gpu_of_each_node_at_once(name: str) -> None:
    (test,) = [one for one in checking.load(name)[0].tests if one.id == "nbody"]
    assert isinstance(test, plan.RunTest) and test.workload == "gpu_nbody" and test.nodes == "each"
    assert test.params["together"] is True and not checking.waits(test)


def test_labels_say_what_is_run() -> None:
    assert WORKLOAD.label is not None
    assert WORKLOAD.label(resolve(together=True)) == "N-body of 1048576 bodies, fp32 fp64, all GPUs at once"
    assert "4096 to 65536 bodies, fp32, GPUs one after another" in WORKLOAD.label(
        resolve(bodies="65536,4096", precision="fp32")
    )
