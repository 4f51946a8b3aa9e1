"""HPL-MxP: what is chosen on a machine, the command line, and that nothing lays its figures beside HPL's. No program runs
here."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown import workloads
from shakedown.errors import BadInput, Unavailable
from shakedown.records import Machine, Params, Peak, Value
from shakedown.workloads import hpl, hpl_gpu, hpl_mxp
from support.machines import OPEN_MPI, with_gpus
from support.workloads import installed, options, params_of

PEAK = Peak(name="gpu.flops.fp16", scope="gpu", value=1e15, unit="flop/s", kind="derived", basis="test")


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "hpl_mxp")


def gpus(count: int, mpi: bool = True) -> Machine:
    return with_gpus(count, software=(OPEN_MPI,) if mpi else (), peaks=(PEAK,))


def resolve(where: Machine, **given: Value) -> Params:
    return params_of(hpl_mxp.WORKLOAD, where, given)


def words(where: Machine, **given: Value) -> dict[str, str]:
    argv = hpl_mxp.WORKLOAD.command(resolve(where, **given), where.hosts[0]).argv
    return options(argv, "--share-devices", "--per-host", "--no-ceiling")


@pytest.mark.parametrize(
    ("count", "given", "ranks", "grid"),
    [
        (1, {}, 1, ("1", "1")),
        (8, {}, 8, ("2", "4")),
        (8, {"devices": "0,1,4,5"}, 4, ("2", "2")),
        (8, {"p": 4}, 8, ("4", "2")),
        (1, {"backend": "host:2"}, 2, ("1", "2")),
    ],
)
def test_one_rank_for_each_gpu(count: int, given: Params, ranks: int, grid: tuple[str, str]) -> None:
    where = gpus(count)
    params = resolve(where, **given)
    assert (params["ranks"], (params["p"], params["q"])) == (ranks, grid)
    command = hpl_mxp.WORKLOAD.command(params, where.hosts[0])
    assert command.argv[0].endswith("/hpl_mxp")
    assert command.ranks == (ranks if ranks > 1 else 0), "one rank needs no launcher"


def test_without_a_gpu_or_an_mpi_for_several_it_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        resolve(gpus(0))
    with pytest.raises(Unavailable):
        resolve(gpus(2, mpi=False))
    assert resolve(gpus(1, mpi=False))["ranks"] == 1


def test_what_is_not_asked_for_is_left_to_the_program() -> None:
    assert words(gpus(1), n="65536,131072", cublas="/lib/libcublas.so") == {
        "--backend": "cuda",
        "--devices": "all",
        "--n": "65536,131072",
        "--nb": "1024",
        "--p": "1",
        "--q": "1",
        "--mapping": "row",
        "--cublas": "/lib/libcublas.so",
        "--precision": "fp16",
        "--accuracy": "1.0",
        "--refinements": "50",
        "--threshold": "16.0",
        "--samples": "1",
        "--seconds": "0",
    }


def test_every_choice_reaches_the_program() -> None:
    got = words(
        gpus(4),
        n=2000,
        nb="256,2048",
        mapping="column",
        bcast="1ring,longM",
        segment_bytes=2**20,
        tail_nb=128,
        tail_share=0.1,
        aware="no",
        share_devices=True,
        per_host=True,
        ceiling=False,
        precision="bf16",
        accuracy=0.5,
        refinements=9,
        samples=3,
        seconds=60,
    )
    expected = {
        "--nb": "256,2048",
        "--mapping": "column",
        "--bcast": "0,5",
        "--segment": "1048576",
        "--tail-nb": "128",
        "--tail-share": "0.1",
        "--aware": "no",
        "--share-devices": "",
        "--per-host": "",
        "--no-ceiling": "",
        "--precision": "bf16",
        "--accuracy": "0.5",
        "--refinements": "9",
        "--samples": "3",
        "--seconds": "60",
    }
    assert {name: got.get(name) for name in expected} == expected
    chosen = words(gpus(1), memory_share=0.9, time_limit_s=60)
    assert (chosen["--n"], chosen["--memory-share"], chosen["--time-limit"]) == ("auto", "0.9", "60")


@pytest.mark.parametrize(
    "given",
    [
        {"n": "0"},
        {"n": "1000,many"},
        {"nb": "0"},
        {"nb": "8192"},
        {"p": 3, "ranks": 4},
        {"p": 2, "q": 4, "ranks": 4},
        {"bcast": "3ring"},
        {"precision": "fp8"},
        {"accuracy": -1},
        {"refinements": -1},
        {"samples": 0},
        {"backend": "hip"},
    ],
)
def test_nonsense_is_refused_with_a_hint(given: Params) -> None:
    with pytest.raises(BadInput) as caught:
        resolve(gpus(4), **{"n": 1000, **given})
    assert caught.value.hint


@pytest.mark.parametrize("name", ["swap", "swap_threshold", "split", "panel_blocks"])
def test_what_has_no_meaning_without_pivots_is_no_parameter(name: str) -> None:
    with pytest.raises(BadInput):
        workloads.check_params(hpl_mxp.WORKLOAD, {name: 1})


def test_longer_runs_are_estimated_longer_and_more_gpus_shorter() -> None:
    def seconds(count: int = 1, **given: Value) -> float:
        where = gpus(count)
        return hpl_mxp.WORKLOAD.estimate_s(resolve(where, **given), where.hosts[0])

    assert 0 < seconds(n=8000) < seconds(n=65536) < seconds(n="65536,65536,131072") < seconds(n=131072, samples=5)
    assert seconds(4, n=180000) < seconds(1, n=180000)
    assert seconds(n=8000, seconds=600) > 600
    assert seconds(time_limit_s=2) < seconds(), "a limit of time bounds the order that is chosen"


def test_its_figures_are_never_those_of_hpl() -> None:
    """No name of a figure or of a case of its own is shared, and neither points at the other's."""
    ours = hpl_mxp.WORKLOAD.metrics
    others = (*hpl.WORKLOAD.metrics, *hpl_gpu.WORKLOAD.metrics)
    assert all(metric.name.startswith("hpl_mxp.") for metric in ours)
    assert not {metric.name for metric in ours} & {metric.name for metric in others}
    for metric in ours:
        assert not any(one.name in metric.per.split("/") for one in others), metric.name
        assert "fp64" not in metric.per + metric.limit, f"{metric.name}: a peak that is not its own"
    for metric in others:
        assert "hpl_mxp" not in metric.per, metric.name
    # What looks for HPL's solutions among cases (power stamps, forecasts, the tuner) looks for this word.
    assert "hpl" not in {metric.kernel for metric in ours}


def test_no_published_system_and_no_forecast_speaks_of_it_as_hpl() -> None:
    from shakedown import published
    from shakedown.prediction import publications

    folder = Path(published.__file__).parent
    texts = [path.read_text() for path in folder.glob("*.toml")]
    assert texts and not any('"hpl_mxp.' in text for text in texts)
    assert "hpl_mxp" not in Path(publications.__file__).read_text()
