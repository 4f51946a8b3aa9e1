"""`shakedown predict hpl` from logs and HPL.dat files, grids ranked; runs on GPUs and sizes beyond memory refused."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from shakedown.cli.app import app
from shakedown.errors import BadInput
from shakedown.prediction import Config, Rates, seconds
from shakedown.prediction.inputs import netlib
from shakedown.units import show
from shakedown.workloads.common import hpl_dat

RANK = 40e9
TRUE = Rates(
    dgemm=((192, RANK),),
    panel=0.25 * RANK,
    trsm=0.4 * RANK,
    rows=1.5e8,
    back=0.1 * RANK,
    narrow=0.05,
    latency_on_s=1e-6,
    latency_off_s=2e-6,
    stream_on=4e9,
    node_on=50e9,
    stream_off=8e9,
    node_off=10e9,
    spread=0.008,
    jitter=0.004,
)
HEAD = """================================================================================
HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018
- Computational tests pass if scaled residuals are less than                16.0
T/V                N    NB     P     Q               Time                 Gflops
"""


def line(n: int, p: int, q: int, factor: float = 1.0) -> str:
    config = netlib(Config(n=n, nb=192, p=p, q=q, ranks_per_node=4, swap_threshold=64))
    time_s = seconds(config, TRUE).time_s * factor
    gflops = ((2 / 3) * n**3 + 1.5 * n**2) / time_s / 1e9
    return (
        f"WR11C2R4 {n:11d} {192:5d} {p:5d} {q:5d} {time_s:18.2f} {gflops:18.4e}\n"
        "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   1.57135916e-03 ...... PASSED\n"
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    made = tmp_path / "hpl.log"
    lines = line(40_000, 2, 2) + line(56_000, 2, 4) + line(80_000, 4, 4)
    made.write_text(f"{HEAD}{lines}Finished      3 tests with the following results:\nEnd of Tests.\n")
    return made


@pytest.fixture
def dat(tmp_path: Path) -> Path:
    made = tmp_path / "HPL.dat"
    grids = ((8, 8), (4, 16), (16, 4), (1, 64))
    made.write_text(hpl_dat.text(hpl_dat.HplDat(n=(160_000,), nb=(192,), grids=grids)))
    return made


def predict(*words: str | Path) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["predict", "hpl", *map(str, words), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def refused(*words: str | Path) -> BadInput:
    done = CliRunner().invoke(app, ["predict", "hpl", *map(str, words)])
    assert isinstance(done.exception, BadInput), done.output
    assert done.exception.hint
    return done.exception


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_logs_and_hpl_dat_say_the_same(pack: Any, log: Path, dat: Path, tmp_path: Path) -> None:
    """As `shakedown import` takes them."""
    plain = predict(log, dat, "--ranks-per-node", "4")
    packed = [tmp_path / f"{one.name}.packed" for one in (log, dat)]
    for one, made in zip((log, dat), packed, strict=True):
        made.write_bytes(pack(one.read_bytes()))
    found = predict(*packed, "--ranks-per-node", "4")
    assert found["ranking"] == plain["ranking"]
    packed[0].write_bytes(packed[0].read_bytes()[:-20])
    assert refused(*packed, "--ranks-per-node", "4").exit_code == 2


def test_a_log_calibrates_and_the_grids_of_an_hpl_dat_are_ranked(log: Path, dat: Path, tmp_path: Path) -> None:
    found = predict(log, dat, "--ranks-per-node", "4")
    assert [one["row"]["count"] for one in found["forecast"]["calibrated"]] == [1, 2, 4]
    ranked = found["ranking"]
    assert len(ranked) == 4
    real = {
        (p, q): seconds(netlib(Config(n=160_000, nb=192, p=p, q=q, ranks_per_node=4)), TRUE).flop_per_s
        for p, q in ((8, 8), (4, 16), (16, 4), (1, 64))
    }
    first = (ranked[0]["p"], ranked[0]["q"])
    assert real[first] > 0.99 * max(real.values())
    assert (ranked[-1]["p"], ranked[-1]["q"]) == min(real, key=lambda grid: real[grid])
    assert sum(one["best_chance"] for one in ranked) == pytest.approx(1)
    for one, predicted in zip(
        ranked, sorted(found["forecast"]["predicted"], key=lambda one: -one["rate"]), strict=True
    ):
        assert one["rate"] == pytest.approx(predicted["rate"])
        assert predicted["low"] < real[one["p"], one["q"]] < predicted["high"]
    page = tmp_path / "page.html"
    done = CliRunner().invoke(
        app,
        ["predict", "hpl", str(log), str(dat), "--ranks-per-node", "4", "--output", str(page)],
        catch_exceptions=False,
    )
    assert "is the fastest of 4" in done.stdout and "Ranked" in done.stdout
    assert "Ranked" in page.read_text()


def test_the_sentence_above_a_ranking_is_of_the_best_one_also_among_variants_on_one_grid(
    log: Path, tmp_path: Path
) -> None:
    made = tmp_path / "HPL.dat"
    grids, bcast = ((4, 16), (8, 8)), ("1ring", "2ringM", "long")
    made.write_text(hpl_dat.text(hpl_dat.HplDat(n=(120_000,), nb=(160, 224), grids=grids, bcast=bcast)))
    words = ("predict", "hpl", str(log), str(made), "--ranks-per-node", "4", "--output", str(tmp_path / "page.html"))
    found = predict(*words[2:6])
    best = found["ranking"][0]
    assert {one["variant"] for one in found["forecast"]["predicted"]} == {one["variant"] for one in found["ranking"]}
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    sentence = next(line for line in done.stdout.splitlines() if "are forecast to reach" in line)
    assert f"reach {show(best['rate'], 'flop/s', 4)} at" in sentence
    table_ = done.stdout.partition("Forecasts")[2].partition("Ranked")[0]
    assert len({line for line in table_.splitlines() if " x " in line and "nb 160" in line}) == 6


def test_several_grids_in_one_call_are_ranked() -> None:
    found = predict("--published", "tsubame", "--to", "64", "--n", "400000", "--grid", "32x16,16x32,2x256")
    assert (found["ranking"][0]["p"], found["ranking"][0]["q"]) == (16, 32)
    assert found["ranking"][-1]["behind_high"] < 0


def test_a_log_needs_the_ranks_of_a_node_and_its_end(log: Path, dat: Path, tmp_path: Path) -> None:
    assert "how many ranks ran on a node" in str(refused(log, "--to", "8"))
    assert "below zero" in str(refused(log, "--ranks-per-node", "4", "--to", "8", "--memory-per-node=-3GiB"))
    cut = tmp_path / "cut.log"
    cut.write_text(log.read_text()[:700])
    assert "ends before" in str(refused(cut, "--ranks-per-node", "4", "--to", "8"))
    other = tmp_path / "notes.txt"
    other.write_text("nothing\n")
    assert "neither an output of HPL nor an HPL.dat" in str(refused(other, "--ranks-per-node", "4"))
    assert "nothing says how fast" in str(refused(dat, "--ranks-per-node", "4"))


def test_n_is_not_taken_from_a_measured_run(log: Path) -> None:
    assert "memory of a node is not known" in str(refused(log, "--ranks-per-node", "4", "--to", "4"))
    found = predict(log, "--ranks-per-node", "4", "--to", "4", "--memory-per-node", "64GiB")
    (one,) = found["forecast"]["predicted"]
    assert "measured" not in one
    assert 0.75 < 8 * one["n"] ** 2 / (4 * 64 * 2**30) <= 0.8
    assert "80%" in found["notices"][0] and "64" in found["notices"][0]


def test_a_run_that_calibrates_is_no_test_of_itself(tmp_path: Path) -> None:
    described = tmp_path / "mine.toml"
    described.write_text(
        'title = "mine"\n[run]\nranks_per_node = 4\nnb = 192\nprogram = "netlib"\n[memory]\nper_node = "64 GiB"\n'
        '[[measured]]\ncount = 1\nn = 40000\nrate = "130 Gflop/s"\n'
        '[[measured]]\ncount = 2\nn = 56000\nrate = "258 Gflop/s"'
    )
    found = predict("--model", described, "--to", "2")
    (one,) = found["forecast"]["predicted"]
    assert one["n"] != 56_000 and "measured" not in one
    same = predict("--model", described, "--to", "2", "--n", "56000")
    assert "measured" not in same["forecast"]["predicted"][0]
    assert found["against_measured"] == {}


def test_measured_runs_can_be_left_out(log: Path) -> None:
    found = predict(log, "--ranks-per-node", "4", "--to", "8", "--n", "100000", "--leave-out", "2@56000")
    assert [one["row"]["count"] for one in found["forecast"]["calibrated"]] == [1, 4]
    assert "there is no measured run 3" in str(refused(log, "--ranks-per-node", "4", "--to", "8", "--leave-out", "3"))


@pytest.mark.parametrize("count", ["100000000", "999999999999999999"])
def test_more_nodes_than_can_be_counted_are_refused_at_once(count: str) -> None:
    assert "ranks are more than" in str(refused("--published", "tsubame", "--to", count))


def test_logs_of_gpus_are_refused(tmp_path: Path) -> None:
    log = tmp_path / "gpu.log"
    log.write_text(
        f"HPL-NVIDIA 25.02\n{HEAD}"
        "WC0           92160  1024     1     1              12.40              4.208e+04 ( 4.208e+04)\n"
        "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   1.57135916e-05 ...... PASSED\n"
        "Finished      1 tests with the following results:\nEnd of Tests.\n"
    )
    found = refused(log, "--ranks-per-node", "1", "--to", "8")
    assert "made on GPUs" in str(found) and 'counts = "gpus"' in found.hint
