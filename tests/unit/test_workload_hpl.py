"""Our own HPL: what is chosen on a machine, the command line, and what its events become. No program runs here."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown.campaign import parse as parse_campaign
from shakedown.campaign.plan import make
from shakedown.errors import BadInput, Unavailable
from shakedown.records import (
    Host,
    Machine,
    Params,
    Value,
)
from shakedown.workloads import hpl
from shakedown.workloads.common import hpl as _hpl
from support.hpls import node, resolve
from support.workloads import installed, options


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program, built with Open MPI."""
    return installed(tmp_path, monkeypatch, "hpl") / "hpl"


def words(given: Params, on: Host) -> dict[str, str]:
    argv = hpl.WORKLOAD.command(resolve(given, on), on).argv
    return options(argv, "--progress-thread", "--per-host", "--repeat-in-place", "--no-ceiling")


# ------------------------------------------------------------------------------------------------------- what is chosen


@pytest.mark.parametrize(
    ("on", "given", "ranks", "threads", "grid"),
    [
        (node(4), {}, 1, 4, ("1", "1")),
        (node(8, numa=2), {}, 2, 4, ("1", "2")),
        (node(16, numa=8), {}, 8, 2, ("2", "4")),
        (node(8, numa=2, mpi=False), {}, 1, 8, ("1", "1")),
        (node(12), {"ranks": "all"}, 12, 1, ("3", "4")),
        (node(12), {"ranks": 6}, 6, 2, ("2", "3")),
        (node(12), {"ranks": 6, "threads": 1}, 6, 1, ("2", "3")),
        (node(12), {"ranks": 6, "p": 6}, 6, 2, ("6", "1")),
        (node(12), {"ranks": 6, "q": 2}, 6, 2, ("3", "2")),
        (node(12), {"ranks": 12, "p": "1,3", "q": "12,4"}, 12, 1, ("1,3", "12,4")),
        (node(12), {"ranks": 12, "p": "1,2,1", "q": "6,6,6"}, 12, 1, ("1,2", "6,6")),
    ],
)
def test_ranks_threads_and_grid(on: Host, given: Params, ranks: int, threads: int, grid: tuple[str, str]) -> None:
    params = resolve({**given, "n": 1000}, on)
    assert (params["ranks"], params["threads"], (params["p"], params["q"])) == (ranks, threads, grid)
    assert hpl.WORKLOAD.command(params, on).ranks == (ranks if ranks > 1 else 0), "one rank needs no launcher"


def test_several_ranks_by_number_need_an_mpi() -> None:
    with pytest.raises(Unavailable):
        resolve({"ranks": 2, "n": 1000}, node(4, mpi=False))


@pytest.mark.parametrize("cores", [1, 2, 8, 64])
@pytest.mark.parametrize("gib", [1, 24, 512])
@pytest.mark.parametrize("share", [0.05, 0.8, 1.0])
def test_the_largest_order_fits_and_one_block_more_would_not(cores: int, gib: int, share: float) -> None:
    on = node(cores, memory_bytes=gib * 2**30)
    params = resolve({"memory_share": share, "nb": 128}, on)
    n, p, q = (int(str(params[name])) for name in ("n", "p", "q"))
    assert n > 0 and n % 128 == 0
    room = share * (on.memory.available_bytes or 0)
    assert _hpl.need_bytes(n, 128, p, q, cores) <= room < _hpl.need_bytes(n + 128, 128, p, q, cores)


def test_one_process_column_needs_little_beside_the_matrix() -> None:
    matrix = 8 * 8000 * 8001
    assert 1.04 * matrix < _hpl.need_bytes(8000, 192, 1, 1, 2) < 1.08 * matrix
    assert _hpl.run_bytes(8000, 192, 1, 1, 2) < 1.02 * matrix
    assert _hpl.run_bytes(8000, 192, 1, 2, 2) > 1.1 * matrix, "panels travel between process columns"
    deeper = _hpl.run_bytes(8000, 192, 1, 2, 2, depth=2) - _hpl.run_bytes(8000, 192, 1, 2, 2)
    assert deeper == 8 * (8000 + 192) * 192 * 2, "a panel more for each process column"


def test_the_control_group_bounds_the_order() -> None:
    on = node(4)
    limited = msgspec.structs.replace(on, memory=msgspec.structs.replace(on.memory, limit_bytes=2**30))
    n = int(str(resolve({}, limited)["n"]))
    assert 8 * n * n < 0.8 * 2**30 < 8 * int(str(resolve({}, on)["n"])) ** 2


def test_the_time_limit_bounds_the_order() -> None:
    on = node(4)
    orders = [int(str(resolve({"time_limit_s": seconds}, on)["n"])) for seconds in (1, 10, 100, 0)]
    assert orders == sorted(orders) and orders[0] < orders[-1]
    seconds = _hpl.flop(orders[1]) / _hpl.rate_guess(orders[1], 4, on)
    assert 8 < seconds <= 10
    assert _hpl.flop(orders[1] + 192) / _hpl.rate_guess(orders[1] + 192, 4, on) > 10


def test_an_order_is_a_multiple_of_all_block_sizes_where_that_costs_little() -> None:
    on = node(4)
    assert int(str(resolve({"nb": "192,256"}, on)["n"])) % 768 == 0
    n = int(str(resolve({"nb": "191,193,197"}, on)["n"]))
    assert n % 197 == 0


def test_block_sizes_by_the_machine() -> None:
    assert [_hpl.block(node(cores)) for cores in (2, 8, 16, 32)] == [192, 192, 256, 384]
    narrow = msgspec.structs.replace(node(32), cpu=msgspec.structs.replace(node(32).cpu, isa=("avx2",)))
    assert _hpl.block(narrow) == 256


@pytest.mark.parametrize("ranks", [1, 2, 3, 6, 7, 12, 36, 64, 144])
def test_the_grid_is_the_squarest_with_p_at_most_q(ranks: int) -> None:
    p, q = _hpl.grid(ranks)
    assert p * q == ranks and p <= q
    assert not any(ranks % wider == 0 for wider in range(p + 1, int(ranks**0.5) + 1))


def test_an_order_beyond_the_memory_is_refused_with_the_largest_that_fits() -> None:
    on = node(4, memory_bytes=2**30)
    with pytest.raises(BadInput, match="free") as caught:
        resolve({"n": 20000, "nb": 64}, on)
    most = int(caught.value.hint.split()[-1])
    assert resolve({"n": most, "nb": 64}, on)["n"] == str(most)
    with pytest.raises(BadInput):
        resolve({"n": most + 64, "nb": 64}, on)
    with pytest.raises(BadInput, match="no order of one block"):
        resolve({"memory_share": 0.001, "nb": 10**6}, on)


@pytest.mark.parametrize(
    "given",
    [
        {"n": "0"},
        {"n": "-5"},
        {"n": "1000,many"},
        {"nb": "0"},
        {"p": 3, "ranks": 4},
        {"p": "2,1", "q": "2", "ranks": 4},
        {"p": 2, "q": 4, "ranks": 4},
        {"ranks": 0},
        {"ranks": 5},
        {"ranks": 2, "threads": 3},
        {"bcast": "3ring"},
        {"pfact": "middle"},
        {"ndiv": "1"},
        {"depth": "-1"},
        {"mapping": "diagonal"},
        {"swap": "never"},
        {"trsm": "quick"},
        {"split": 1.5},
        {"windows": "2"},
        {"windows": "1,x"},
        {"memory_share": 1.5},
        {"samples": 0},
        {"library": "openbla"},
    ],
)
def test_nonsense_is_refused_with_a_hint(given: Params) -> None:
    with pytest.raises(BadInput) as caught:
        resolve({"n": 1000, **given}, node(4))
    assert caught.value.hint


# --------------------------------------------------------------------------------------------------------- how it starts


def test_what_is_not_asked_for_is_left_to_the_program() -> None:
    assert words({"n": "2000,4000", "nb": 192}, node(4)) == {
        "--n": "2000,4000",
        "--nb": "192",
        "--p": "1",
        "--q": "1",
        "--mapping": "row",
        "--threads": "4",
        "--library": "/lib/libopenblas.so",
        "--threshold": "16.0",
        "--samples": "1",
        "--seconds": "0",
    }


def test_every_choice_reaches_the_program(built: Path) -> None:
    given: Params = {
        "n": 2000,
        "cpus": "0-3",
        "mapping": "column",
        "bcast": "1ring,longM",
        "depth": "0,1",
        "pfact": "left",
        "rfact": "right,crout",
        "nbmin": 8,
        "ndiv": "2,3",
        "swap": "long",
        "swap_threshold": 100,
        "panel_threads": 1,
        "pages": "base",
        "trsm": "inverse",
        "split": 0.4,
        "segment_bytes": 2**20,
        "progress_thread": True,
        "per_host": True,
        "repeat_in_place": True,
        "ceiling": False,
        "windows": "1,0.5",
        "window_panels": 3,
        "seconds": 60,
    }
    got = words(given, node(4))
    expected = {
        "--cpus": "0-3",
        "--mapping": "column",
        "--bcast": "0,5",
        "--depth": "0,1",
        "--pfact": "left",
        "--rfact": "right,crout",
        "--nbmin": "8",
        "--ndiv": "2,3",
        "--swap": "1",
        "--swap-threshold": "100",
        "--panel-threads": "1",
        "--pages": "base",
        "--trsm": "inverse",
        "--split": "0.4",
        "--segment": "1048576",
        "--progress-thread": "",
        "--per-host": "",
        "--repeat-in-place": "",
        "--no-ceiling": "",
        "--windows": "1,0.5",
        "--window-panels": "3",
        "--seconds": "60",
    }
    assert {name: got.get(name) for name in expected} == expected
    assert hpl.WORKLOAD.command(resolve({"n": 100}, node(4)), node(4)).argv[0] == str(built)


def test_longer_runs_are_estimated_longer() -> None:
    def seconds(**given: Value) -> float:
        on = node(4)
        return hpl.WORKLOAD.estimate_s(resolve(given, on), on)

    assert 0 < seconds(n=2000) < seconds(n="2000,4000") < seconds(n="2000,4000", depth="0,1") < seconds(n=16000)
    assert seconds(n=2000, seconds=60) > 60
    assert seconds(n=16000, windows="1,0.5") < seconds(n=16000) / 4
    assert 4 < seconds(time_limit_s=5) < 12


def test_the_quick_campaign_grows_by_less_than_fifteen_seconds_on_two_cores() -> None:
    from shakedown.campaign import text_of

    plan = make(parse_campaign(*text_of("quick")), Machine(hosts=(node(2),), discovered_ns=1, version="t"), version="t")
    runs = [run for run in plan.runs if run.workload == "hpl"]
    assert len(runs) == 1
    assert sum(run.estimate_s * run.repeat_max for run in runs) < 15
