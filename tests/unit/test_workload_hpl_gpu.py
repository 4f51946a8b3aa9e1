"""HPL on GPUs: what is chosen on a machine, the command line, and what its events become. No program runs here."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import BadInput, Unavailable
from shakedown.records import Machine, Params, Peak, Value
from shakedown.workloads import hpl_gpu
from support.machines import OPEN_MPI, with_gpus
from support.workloads import installed, options, params_of

PEAK = Peak(name="gpu.flops.fp64.matrix", scope="gpu", value=67e12, unit="flop/s", kind="derived", basis="test")


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "hpl_gpu")


def gpus(count: int, mpi: bool = True) -> Machine:
    return with_gpus(count, software=(OPEN_MPI,) if mpi else (), peaks=(PEAK,))


def resolve(where: Machine, **given: Value) -> Params:
    return params_of(hpl_gpu.WORKLOAD, where, given)


def words(where: Machine, **given: Value) -> dict[str, str]:
    argv = hpl_gpu.WORKLOAD.command(resolve(where, **given), where.hosts[0]).argv
    return options(argv, "--share-devices", "--per-host", "--no-ceiling")


@pytest.mark.parametrize(
    ("count", "given", "ranks", "grid"),
    [
        (1, {}, 1, ("1", "1")),
        (8, {}, 8, ("2", "4")),
        (8, {"devices": "0,1,4,5"}, 4, ("2", "2")),
        (8, {"p": 4}, 8, ("4", "2")),
        (4, {"ranks": 2}, 2, ("1", "2")),
        (1, {"backend": "host:2"}, 2, ("1", "2")),
    ],
)
def test_one_rank_for_each_gpu(count: int, given: Params, ranks: int, grid: tuple[str, str]) -> None:
    where = gpus(count)
    params = resolve(where, **given)
    assert (params["ranks"], (params["p"], params["q"])) == (ranks, grid)
    command = hpl_gpu.WORKLOAD.command(params, where.hosts[0])
    assert command.ranks == (ranks if ranks > 1 else 0), "one rank needs no launcher"


def test_without_a_gpu_or_an_mpi_for_several_it_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        resolve(gpus(0))
    with pytest.raises(Unavailable):
        resolve(gpus(2, mpi=False))
    assert resolve(gpus(1, mpi=False))["ranks"] == 1


def test_what_is_not_asked_for_is_left_to_the_program() -> None:
    assert words(gpus(1), n="32768,65536", cublas="/lib/libcublas.so") == {
        "--backend": "cuda",
        "--devices": "all",
        "--n": "32768,65536",
        "--nb": "512",
        "--p": "1",
        "--q": "1",
        "--mapping": "row",
        "--cublas": "/lib/libcublas.so",
        "--threshold": "16.0",
        "--samples": "1",
        "--seconds": "0",
    }


def test_n_is_chosen_on_the_device_within_memory_and_time() -> None:
    got = words(gpus(1), memory_share=0.9, time_limit_s=60)
    assert (got["--n"], got["--memory-share"], got["--time-limit"]) == ("auto", "0.9", "60")
    assert "--memory-share" not in words(gpus(1), n=1000)


def test_every_choice_reaches_the_program() -> None:
    got = words(
        gpus(4),
        n=2000,
        nb="256,1024",
        mapping="column",
        bcast="1ring,longM",
        swap="long",
        swap_threshold=100,
        split=0.4,
        segment_bytes=2**20,
        tail_nb=128,
        tail_share=0.1,
        panel_blocks=24,
        aware="no",
        share_devices=True,
        per_host=True,
        ceiling=False,
        samples=3,
        seconds=60,
    )
    expected = {
        "--nb": "256,1024",
        "--mapping": "column",
        "--bcast": "0,5",
        "--swap": "1",
        "--swap-threshold": "100",
        "--split": "0.4",
        "--segment": "1048576",
        "--tail-nb": "128",
        "--tail-share": "0.1",
        "--panel-blocks": "24",
        "--aware": "no",
        "--share-devices": "",
        "--per-host": "",
        "--no-ceiling": "",
        "--samples": "3",
        "--seconds": "60",
    }
    assert {name: got.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    "given",
    [
        {"n": "0"},
        {"n": "1000,many"},
        {"nb": "0"},
        {"nb": "4096"},
        {"p": 3, "ranks": 4},
        {"p": 2, "q": 4, "ranks": 4},
        {"ranks": 0},
        {"bcast": "3ring"},
        {"mapping": "diagonal"},
        {"swap": "never"},
        {"split": 1.5},
        {"tail_share": -1},
        {"memory_share": 1.5},
        {"samples": 0},
        {"aware": "perhaps"},
        {"backend": "hip"},
        {"devices": "first"},
    ],
)
def test_nonsense_is_refused_with_a_hint(given: Params) -> None:
    with pytest.raises(BadInput) as caught:
        resolve(gpus(4), **{"n": 1000, **given})
    assert caught.value.hint


def test_longer_runs_are_estimated_longer_and_more_gpus_shorter() -> None:
    def seconds(count: int = 1, **given: Value) -> float:
        where = gpus(count)
        return hpl_gpu.WORKLOAD.estimate_s(resolve(where, **given), where.hosts[0])

    assert 0 < seconds(n=8000) < seconds(n=65536) < seconds(n="65536,65536,131072") < seconds(n=131072, samples=5)
    assert seconds(4, n=130000) < seconds(1, n=130000)
    assert seconds(n=8000, seconds=600) > 600
    assert seconds(time_limit_s=20) < seconds(), "a limit of time bounds the order that is chosen"


def test_its_figures_are_never_those_of_the_processor() -> None:
    from shakedown.workloads import hpl

    ours = {metric.name for metric in hpl_gpu.WORKLOAD.metrics}
    assert all(name.startswith("hpl_gpu.") for name in ours)
    assert not ours & {metric.name for metric in hpl.WORKLOAD.metrics}
