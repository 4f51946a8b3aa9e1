"""`shakedown predict hpl`: from published runs, from run directories, from a description; the page; what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from shakedown.cli.app import app
from shakedown.errors import BadInput
from shakedown.prediction import Config, Rates, measured, seconds
from shakedown.records import Case, Job, Measurement, Plan
from shakedown.results import run_directory
from support.machines import machine

RANK = 1.1e12
#: The machine that the recorded runs below were made on, so to say.
TRUE = Rates(
    dgemm=((256, RANK),),
    panel=0.3 * RANK,
    trsm=0.5 * RANK,
    rows=2e8,
    back=0.1 * RANK,
    latency_on_s=1e-6,
    latency_off_s=2e-6,
    stream_on=6e9,
    stream_off=10e9,
    node_off=20e9,
    spread=0.008,
    jitter=0.004,
)


def predict(*words: str | Path) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["predict", "hpl", *map(str, words), "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def refused(*words: str | Path) -> BadInput:
    done = CliRunner().invoke(app, ["predict", *map(str, words)])
    assert isinstance(done.exception, BadInput), done.output
    assert done.exception.hint
    return done.exception


# ------------------------------------------------------------------------------------------------------------ the command


def test_published_runs_as_text_and_as_a_page_that_works_offline(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = CliRunner().invoke(
        app,
        ["predict", "hpl", "--published", "tsubame", "--from", "1,2,4", "--to", "64,648", "--output", str(page)],
        catch_exceptions=False,
    )
    assert done.exit_code == 0
    assert "648 nodes are forecast to reach" in done.stdout
    assert "Its interval hangs most on" in done.stdout
    assert "straight line" in done.stdout
    text = page.read_text()
    assert "Weak scaling" in text and "Strong scaling" in text
    assert text.count("<svg role=") == 2
    assert "default-src 'none'" in text
    assert "http://" not in text.replace("http://www.w3.org", "")


def test_a_target_of_its_own_size_and_grid() -> None:
    found = predict("--published", "tsubame", "--to", "128", "--n", "480000", "--grid", "16x64")
    (one,) = found["forecast"]["predicted"]
    assert (one["n"], one["p"], one["q"]) == (480_000, 16, 64)
    assert "measured" not in one  # that run was never made


def test_n_is_what_fills_the_memory_where_no_run_is_known() -> None:
    found = predict("--published", "tsubame", "--to", "200", "--memory-share", "0.5")
    (one,) = found["forecast"]["predicted"]
    assert one["n"] % 240 == 0
    assert 0.49 < 8 * one["n"] ** 2 / (200 * 32 * 2**30) <= 0.5


def test_without_targets_every_other_known_size_is_forecast() -> None:
    found = predict("--published", "castorc")
    assert [one["count"] for one in found["forecast"]["predicted"]] == [6, 8, 9, 10, 12, 14, 16]
    assert found["against_measured"]["rows"] == 7


def test_a_description_alone(tmp_path: Path) -> None:
    described = tmp_path / "mine.toml"
    described.write_text(
        'title = "mine"\n[run]\nranks_per_node = 2\nnb = 256\n[memory]\nper_node = "64 GiB"\n'
        '[input.dgemm]\nvalue = "1 Tflop/s"\nsource = "probe"\n'
    )
    found = predict("--model", described, "--to", "4,16")
    rates = [one["rate"] for one in found["forecast"]["predicted"]]
    assert 0 < rates[0] < 8e12
    assert 3 * rates[0] < rates[1] < 32e12
    assert found["baselines"] == {}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("hlp", "--published", "tsubame"), "did you mean 'hpl'"),
        (("hpl",), "nothing to forecast from"),
        (("hpl", "--published", "tsubami"), "did you mean 'tsubame'"),
        (("hpl", "--published", "thufir"), "not described"),
        (("hpl", "--published", "tsubame", "--from", "3"), "no measured run on 3 nodes"),
        (("hpl", "--published", "tsubame", "--from", "1,two"), "'two' is not a valid number"),
        (("hpl", "--published", "tsubame", "--to", "0"), "'0' is not a valid number"),
        (("hpl", "--published", "tsubame", "--to", "8", "--n", "400000"), "needs"),
        (("hpl", "--published", "tsubame", "--to", "8", "--n", "-4"), "not a valid matrix order"),
        (("hpl", "--published", "tsubame", "--to", "8", "--grid", "7x9"), "8 x 8 is nearly square"),
        (("hpl", "--published", "tsubame", "--to", "8", "--grid", "square"), "is not a grid"),
        (("hpl", "--published", "tsubame", "--to", "8,16", "--grid", "8x8"), "one grid"),
        (("hpl", "--published", "castorc", "--to", "64"), "memory of a node is not known"),
        (("hpl", "--published", "tsubame", "--to", "9", "--memory-per-node", "lots"), "lots"),
        (("hpl", "--published", "tsubame", "--to", "9", "--memory-share", "2"), "not a valid share"),
        (("hpl", "runs/x", "--published", "tsubame"), "exclude each other"),
    ],
)
def test_bad_input_is_one_clear_error(words: tuple[str, ...], message: str) -> None:
    assert message in str(refused(*words))


# ---------------------------------------------------------------------------------------------------------------- own runs


def measurement(nodes: int, *cases: Case, workload: str = "hpl", state: str = "ok") -> Measurement:
    grid = [{"rank": rank, "host": f"node{rank // 2}"} for rank in range(2 * nodes)]
    return Measurement(
        run=f"r{nodes}",
        repeat=1,
        workload=workload,
        params={},
        host="node0",
        state=state,  # type: ignore[arg-type]
        cases=cases,
        provenance={"facts": {"grid": grid}},
        begin_ns=0,
        end_ns=1,
    )


def hpl_cases(n: int, p: int, q: int) -> tuple[Case, ...]:
    config = Config(n=n, nb=256, p=p, q=q, ranks_per_node=2, threads=24)
    made = seconds(config, TRUE)
    params = {
        name: getattr(config, name)
        for name in ("n", "nb", "p", "q", "threads", "mapping", "depth", "bcast", "swap", "swap_threshold", "split")
    }
    params |= {"segment_bytes": config.segment_bytes, "ranks": p * q, "pfact": "right", "progress_thread": 0}
    ceiling = 1e13 * p * q
    shares = [Case(kernel=name, params=params, work={"value": share}) for name, share in made.shares.items()]
    return (
        Case(kernel="hpl", params=params, work={"flop": made.flop_per_s * made.time_s}, seconds=(made.time_s,)),
        Case(kernel="ceiling", params=params, work={"flop": ceiling}, seconds=(ceiling / (p * q * RANK),)),
        *shares,
    )


RUNS = [
    measurement(1, *hpl_cases(100_352, 1, 2)),
    measurement(2, *hpl_cases(142_080, 2, 2)),
    measurement(4, *hpl_cases(200_704, 2, 4)),
]


def test_own_runs_become_rows_and_ranges() -> None:
    found = measured.from_measurements(RUNS, memory_bytes=96 * 2**30)
    assert [(row.count, row.p, row.q) for row in found.rows] == [(1, 1, 2), (2, 2, 2), (4, 2, 4)]
    assert all(row.config and row.config.ranks_per_node == 2 for row in found.rows)
    assert found.run.nb == 256 and found.run.threads == 24
    for name, true in (("dgemm", RANK), ("panel", 0.3), ("trsm", 0.5), ("rows", 2e8)):
        prior = found.priors[name]
        assert prior.measured
        assert prior.low < true < prior.high, name


def test_repeats_of_a_run_are_one_row_with_their_median() -> None:
    def at(factor: float) -> Measurement:
        first, *others = hpl_cases(100_352, 1, 2)
        slower = Case(kernel="hpl", params=first.params, work=first.work, seconds=(first.seconds[0] * factor,))
        return measurement(1, slower, *others)

    (row,) = measured.from_measurements([at(1.0), at(1.01), at(1.2)]).rows
    (middle,) = measured.from_measurements([at(1.01)]).rows
    assert row.rate == middle.rate


def test_the_machine_is_forecast_from_its_own_small_runs() -> None:
    """Runs made by the model itself: the ensemble must hold what made them."""
    from shakedown.prediction import forecast, setup
    from shakedown.prediction.priors import DEFAULTS

    found = measured.from_measurements(RUNS)
    described = setup.Setup(title="own", run=found.run, priors={**DEFAULTS, **found.priors})
    target = setup.Row(count=64, n=802_816, p=8, q=16)
    true = seconds(setup.configs(described, target)[0], TRUE).flop_per_s
    one = forecast.forecast(described, found.rows, [target]).predicted[0]
    assert one.low < true < one.high
    assert one.rate == pytest.approx(true, rel=0.05)


def test_run_directories_are_read(tmp_path: Path) -> None:
    manifest = run_directory.Manifest(
        schema=run_directory.SCHEMA, campaign="t", created_ns=1, version="test", host="node0"
    )
    plan = Plan(campaign="t", title="T", runs=())
    opened = run_directory.RunDirectory.create(
        tmp_path / "run", manifest=manifest, campaign_toml="", machine=machine(), plan=plan
    )
    for one in RUNS:
        job = Job(run=one.run, repeat=1, argv=("hpl",))
        opened.begin(job)
        opened.finish(job, one)
    found = predict(tmp_path / "run", "--nodes", "16,64")
    predicted = found["forecast"]["predicted"]
    assert [one["count"] for one in predicted] == [16, 64]
    assert [(one["p"], one["q"]) for one in predicted] == [(4, 8), (8, 16)]
    assert 0.75 < 8 * predicted[1]["n"] ** 2 / (64 * 24 * 2**30) <= 0.8  # of that machine's memory
    assert len(found["forecast"]["calibrated"]) == 3
    assert "what is to be forecast is not given" in str(refused("hpl", str(tmp_path / "run")))


def test_a_sites_own_hpl_is_taken_as_netlibs() -> None:
    one = msgspec.structs.replace(RUNS[0], workload="xhpl")
    found = measured.from_measurements([one])
    assert found.run.program == "netlib"
    assert found.rows[0].config and found.rows[0].config.chunked


def test_hosts_that_solve_a_system_each_give_the_spread() -> None:
    (case,) = (one for one in hpl_cases(50_176, 1, 2) if one.kernel == "hpl")
    speeds = (1.0, 0.98, 1.02, 0.99, 1.01)
    cases = tuple(
        Case(
            kernel="hpl",
            params={**case.params, "host": f"node{index}"},
            work=case.work,
            seconds=(case.seconds[0] / speed,),
        )
        for index, speed in enumerate(speeds)
    )
    found = measured.from_measurements([*RUNS, measurement(5, *cases)])
    assert found.priors["spread"].low < 0.0158 < found.priors["spread"].high
    assert len(found.rows) == 3  # a host alone is no run on the cluster
    assert "spread" not in measured.from_measurements([*RUNS, measurement(3, *cases[:3])]).priors


def test_pingpong_gives_latencies_and_bandwidths_apart() -> None:
    def pair(kernel: str, size: int, other: str, seconds: float) -> Case:
        params = {"bytes": size, "host_a": "node0", "host_b": other}
        return Case(kernel=kernel, params=params, work={"messages": 2, "bytes": 2 * size}, seconds=(seconds,))

    cases = (
        pair("latency", 8, "node0", 1e-6),
        pair("latency", 8, "node1", 4e-6),
        pair("bandwidth", 4 << 20, "node1", 2 * (4 << 20) / 10e9),
        pair("bandwidth", 1024, "node1", 1.0),  # too small to tell a bandwidth
    )
    found = measured.from_measurements([*RUNS, measurement(2, *cases, workload="pingpong")]).priors
    assert found["latency_on_s"].low < 0.5e-6 < found["latency_on_s"].high
    assert found["latency_off_s"].low < 2e-6 < found["latency_off_s"].high
    assert (found["stream_off"].low, found["stream_off"].high) == (pytest.approx(5e9), pytest.approx(10e9))
    assert "stream_on" not in found


def test_runs_that_did_not_end_well_do_not_count() -> None:
    failed = [msgspec.structs.replace(one, state="wrong") for one in RUNS]
    with pytest.raises(BadInput, match="no run of hpl that ended successfully"):
        measured.from_measurements(failed)


def test_runs_on_gpus_are_no_rows_of_the_processors_model() -> None:
    on_gpus = measurement(1, *hpl_cases(40_000, 1, 1), workload="hpl_gpu")
    with pytest.raises(BadInput, match="no run of hpl"):
        measured.from_measurements([on_gpus])
    assert len(measured.from_measurements([*RUNS, on_gpus]).rows) == len(measured.from_measurements(RUNS).rows)


def test_runs_that_do_not_count_are_named_with_the_reason() -> None:
    """A mixed run directory: the GPU's run was dropped without a word."""
    on_gpus = msgspec.structs.replace(measurement(1, *hpl_cases(40_000, 1, 1), workload="hpl_gpu"), run="aboard")
    broken = msgspec.structs.replace(RUNS[0], run="broken", state="wrong")
    found = measured.from_measurements([*RUNS, on_gpus, broken])
    gpus, wrong = found.said
    assert "aboard (hpl_gpu, N 40000)" in gpus and "on GPUs" in gpus
    assert "broken (hpl: wrong)" in wrong
    assert measured.from_measurements(RUNS).said == ()


# ------------------------------------------------------------------------------------------------ a site's HPL: its nodes


def of_a_site(p: int, q: int, **params: int) -> Measurement:
    """A run of a site's HPL, which tells no hosts: ``ranks`` that the harness started, on ``nodes``."""
    cases = tuple(one for one in hpl_cases(100_352, p, q) if one.kernel == "hpl")
    if nodes := params.pop("nodes", 0):
        cases = tuple(msgspec.structs.replace(one, params={"nodes": nodes, **one.params}) for one in cases)
    one = measurement(1, *cases, workload="xhpl")
    return msgspec.structs.replace(one, params=dict(params), provenance={})


def test_nodes_of_a_sites_hpl_are_those_that_it_was_started_on() -> None:
    assert [row.count for row in measured.from_measurements([of_a_site(2, 4, ranks=8, nodes=4)]).rows] == [4]
    assert [row.count for row in measured.from_measurements([of_a_site(2, 4, ranks=8)]).rows] == [1]
    # a grid of fewer ranks than were started takes the first of them: two hosts of four
    (row,) = measured.from_measurements([of_a_site(2, 2, ranks=8, nodes=4)]).rows
    assert row.count == 2 and row.config and row.config.ranks_per_node == 2


@pytest.mark.parametrize("started", [{}, {"ranks": 0}])  # an imported log; a script that starts its own ranks
def test_nodes_that_nothing_tells_are_asked_for(started: dict[str, int]) -> None:
    with pytest.raises(BadInput, match="does not say on how many nodes") as refused:
        measured.from_measurements([of_a_site(4, 8, **started)])
    assert "--ranks-per-node" in str(refused.value.hint)
    (row,) = measured.from_measurements([of_a_site(4, 8, **started)], ranks_per_node=8).rows
    assert row.count == 4 and row.config and row.config.ranks_per_node == 8
