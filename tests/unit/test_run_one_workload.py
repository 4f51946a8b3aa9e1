"""One workload by its name: what is typed becomes a campaign of one run, and what does not fit is refused by name."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from shakedown import campaign, programs, workloads
from shakedown.campaign import plan
from shakedown.cli import _chosen
from shakedown.cli.app import app
from shakedown.errors import BadInput, ShakedownError, Unavailable
from shakedown.machine import gpu_query
from shakedown.records import Case, Gpu, Job, Machine
from shakedown.results.outcome import judge
from shakedown.workloads import Param
from shakedown.workloads.common import gpu as _gpu
from support.machines import H200, host, machine


def chosen(name: str, *settings: str) -> campaign.Campaign:
    return campaign.parse(*_chosen.campaign(name, settings))


def refused(name: str, *settings: str) -> str:
    with pytest.raises(BadInput) as caught:
        made = chosen(name, *settings)
        plan.make(made, machine(2))
    return str(caught.value)


def test_a_workload_becomes_a_campaign_of_one_run() -> None:
    (run,) = chosen("gpu_nbody", "bodies=4096,8192", "together=yes", "seconds=2.5", "shape=r2u4").runs
    assert run.workload == "gpu_nbody" and not run.optional, (
        "what cannot run here is an error: nothing else is asked for"
    )
    assert run.params == {"bodies": "4096,8192", "together": True, "seconds": 2.5, "shape": "r2u4"}
    assert run.sweep == {} and run.nodes == () and run.repeat is None


def test_values_between_commas_are_runs_of_their_own_where_one_value_is_a_number_or_a_choice() -> None:
    (run,) = chosen("gpu_nbody", "seconds=1,2", "shape=auto,r2u4", "nodes=each", "repeat=3").runs
    assert run.sweep == {"seconds": (1, 2), "shape": ("auto", "r2u4")}
    assert run.nodes == "each" and run.repeat == campaign.Repeat(min=3, max=3)
    assert chosen("empty", "nodes=4").runs[0].nodes == 4
    (run,) = chosen("hpl_gpu", "ranks=auto,2").runs
    assert run.sweep == {"ranks": ("auto", 2)}
    assert len(plan.make(chosen("empty", "seconds=0.1,0.2"), machine(2)).runs) == 2


def test_a_limit_of_its_own_and_what_is_said_where_it_was_too_short() -> None:
    """What is advised where a run was killed is what this takes, and longer than the limit that it had."""
    planned = plan.make(chosen("empty", "limit=20min"), machine(2))
    assert [run.limit_s for run in planned.runs] == [1200.0]
    for limit_s in (30.0, 100.0, 1799.0, 1801.0, 86400.0):
        state, why = judge(Job(run="r", repeat=1, argv=(), timed_out=True), (), b"", "", limit_s=limit_s)
        (advised,) = re.findall(r"next: limit=(\S+) gives", why)
        assert state == "timeout" and f"limit of {limit_s:g} s" in why
        (run,) = plan.make(chosen("empty", f"limit={advised}"), machine(2)).runs
        assert 4 * limit_s <= run.limit_s <= 4 * limit_s + 3600
    case = Case(kernel="empty", seconds=(1.0,))
    assert (
        "with 1 case measured" in judge(Job(run="r", repeat=1, argv=(), timed_out=True), (case,), b"", "", limit_s=9)[1]
    )


def test_campaigns_are_what_they_were() -> None:
    assert chosen("quick").name == "quick"
    for name in campaign.names():
        assert name not in workloads.names(), "a campaign of a workload's name would hide it"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nbdy",), ("no workload of that name", "did you mean 'nbody'", "list workloads")),
        (("quik",), ("did you mean 'quick'", "campaigns: clock, gpu")),
        (("nbody", "bodes=3"), ("no parameter 'bodes'", "did you mean 'bodies'", "list workloads nbody")),
        (("empty", "seconds"), ("not of the form NAME=VALUE",)),
        (("empty", "seconds=soon"), ("'soon' is not a number",)),
        (("empty", "nodes=some"), ("nodes = 'some'",)),
        (("empty", "repeat=often"), ("not a valid number of times",)),
        (("empty", "limit=long"), ("'long' is not a valid duration",)),
        (("gpu_nbody", "together=perhaps"), ("is not true or false",)),
        (("quick", "n=3"), ("is a campaign",)),
    ],
)
def test_what_does_not_fit_is_named(words: tuple[str, ...], said: tuple[str, ...]) -> None:
    text = refused(*words)
    assert all(word in text for word in said), text


@pytest.mark.parametrize("name", workloads.names())
def test_every_default_can_be_typed(name: str) -> None:
    workload = workloads.get(name)
    for key, param in workload.params.items():
        typed = str(param.default).lower() if isinstance(param.default, bool) else str(param.default)
        assert _chosen.value(param, typed) == param.default, key


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)))
def test_a_number_is_the_number_that_was_typed(number: float) -> None:
    assert _chosen.value(Param(kind="real", default=0, help="h"), repr(number)) == number


# ----------------------------------------------------------------------------------------------------- one workload shown


def listed(*words: str) -> str:
    result = CliRunner().invoke(app, ["list", *words])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_one_workload_is_shown_with_what_its_parameters_mean_and_may_be() -> None:
    text = listed("workloads", "gpu_nbody")
    for words in ("0 to 1e+06", "one of auto, r1u8", "together", "false", "gpu_nbody.rate", "gpu.flops.{precision}"):
        assert words in text, text
    assert listed("gpu_nbody") == text


@pytest.mark.parametrize("name", workloads.names())
def test_every_workload_can_be_shown(name: str) -> None:
    shown = json.loads(listed("workloads", name, "--json"))
    workload = workloads.get(name)
    assert set(shown["parameters"]) == set(workload.params) and len(shown["metrics"]) == len(workload.metrics)
    for key, param in workload.params.items():
        assert shown["parameters"][key]["default"] == param.default
        assert tuple(shown["parameters"][key]["choices"]) == param.choices
    assert all(metric["unit"] and metric["source"] for metric in shown["metrics"])


def test_the_list_fits_a_page_and_its_json_has_structure() -> None:
    assert max(map(len, listed("workloads").splitlines())) < 100
    found = json.loads(listed("--json"))
    assert set(found) == {"campaigns", "workloads", "published"}
    stream = next(one for one in found["workloads"] if one["name"] == "stream")
    assert stream["parameters"]["sizes"]["kind"] == "list" and stream["metrics"][0]["unit"]
    assert "gpu_stream" in next(one for one in found["campaigns"] if one["name"] == "gpu")["workloads"]


@pytest.mark.parametrize("words", [("metrics", "stream"), ("workloads", "nbdy"), ("nbdy",)])
def test_what_there_is_none_of_is_refused(words: tuple[str, ...]) -> None:
    assert isinstance(CliRunner().invoke(app, ["list", *words]).exception, BadInput)


# ------------------------------------------------------------------------------------------------------- native programs


def test_the_path_of_a_program_is_what_a_shell_can_start(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "hpl").touch(0o755)
    (tmp_path / "build.json").write_text('{"version": "1", "pingpong_absent": "no MPI", "cuda_absent": "no nvcc"}')
    monkeypatch.setenv("SHAKEDOWN_NATIVE", str(tmp_path))
    programs.build.cache_clear()
    try:
        runner = CliRunner()
        assert runner.invoke(app, ["native", "hpl"]).stdout == f"{tmp_path / 'hpl'}\n"
        text = runner.invoke(app, ["native"]).stdout
        assert str(tmp_path) in text and "not built: cuda: no nvcc" in text and "pingpong: no MPI" in text
        assert json.loads(runner.invoke(app, ["native", "--json"]).stdout)["programs"] == ["hpl"]
        absent = runner.invoke(app, ["native", "pingpong"]).exception
        assert isinstance(absent, Unavailable) and "no MPI" in absent.hint
        assert isinstance(runner.invoke(app, ["native", "hpll"]).exception, BadInput)
    finally:
        programs.build.cache_clear()


# ------------------------------------------------------------------------------------------------ a build without kernels


@pytest.fixture
def without_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "build", lambda: {"cuda_absent": "no nvcc to compile with. Run scripts/setup cuda"})


def with_gpus() -> Machine:
    import msgspec

    found = machine(4)
    return msgspec.structs.replace(found, hosts=(msgspec.structs.replace(host(4), gpus=(H200,)),))


@pytest.mark.usefixtures("without_cuda")
def test_a_plan_says_what_a_build_without_kernels_cannot_run() -> None:
    made = plan.make(chosen("gpu"), with_gpus())
    assert {run.workload for run in made.runs} <= {"gpu_query", "gpu_fft"}
    skipped = {one.what: one.why for one in made.skipped}
    for name in ("gpu_stream", "gpu_gemm", "hpl_gpu", "gpu_nbody"):
        assert "this build has none" in skipped[name] and "scripts/setup cuda" in skipped[name]


def test_a_build_with_kernels_plans_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "build", lambda: {"cuda": {"version": "13.0"}})
    assert {"gpu_stream", "gpu_gemm", "gpu_query"} <= {
        run.workload for run in plan.make(chosen("gpu"), with_gpus()).runs
    }
    assert _gpu.without_kernels() == ""


@pytest.mark.usefixtures("without_cuda")
def test_the_device_query_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    one = gpu_query.Queried(gpu=Gpu(index=0, name="NVIDIA H200", vendor="NVIDIA"))
    monkeypatch.setattr(gpu_query, "query", lambda door: gpu_query.Query(gpus=(one,)))
    result = CliRunner().invoke(app, ["gpu"])
    assert result.exit_code == 0 and "no kernels for CUDA" in result.stderr and "scripts/setup cuda" in result.stderr


@pytest.mark.usefixtures("without_cuda")
def test_a_burn_in_of_gpus_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from shakedown.operate.burnin import devices, options
    from shakedown.operate.burnin.records import Device
    from shakedown.operate.health.node_access import NodeAccess

    gpu = Device(id="gpu:0", title="GPU", pci="0000:9b:00", index=0)
    monkeypatch.setattr(devices, "gpus", lambda senses: (gpu,))
    with pytest.raises(ShakedownError, match="this build has none") as caught:
        options.plan(options.BurninOptions(devices="gpu"), NodeAccess(), (0,))
    assert "--devices cpu" in caught.value.hint
