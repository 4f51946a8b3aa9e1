"""Pairs from run directories and from findings, and the command over them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from shakedown.analysis import derive, pairs, table
from shakedown.analysis.pairs import Pairs, simulate, topology
from shakedown.analysis.pairs.simulate import Fleet
from shakedown.cli import pairs as verb
from shakedown.errors import BadInput, ShakedownError
from shakedown.files import atomic
from shakedown.records import Analysis, Case, Measurement, Params, Plan, Residual, State
from shakedown.report import pairs as _pairs
from shakedown.results import run_directory as store
from shakedown.workloads import pingpong
from support.machines import machine

METRIC = next(one for one in pingpong.WORKLOAD.metrics if one.kernel == "bandwidth")
MANIFEST = store.Manifest(schema=store.SCHEMA, campaign="t", created_ns=1, version="test", host="n1")


def cases(measured: Pairs, *, samples: int = 3) -> list[Case]:
    """What pingpong prints of such pairs: windows of 64 messages of 1 MiB."""
    work = {"messages": 64.0, "bytes": 64.0 * 2**20}
    found = []
    for a, b, value in zip(measured.a.tolist(), measured.b.tolist(), measured.values.tolist(), strict=True):
        seconds = tuple(work["bytes"] / value * factor for factor in np.linspace(0.99, 1.01, samples).tolist())
        found.append(Case(kernel="bandwidth", params=of(a, b, len(measured.places)), work=work, seconds=seconds))
    return found


def of(a: int, b: int, ranks: int) -> Params:
    return {
        "bytes": 2**20,
        "rank_a": a,
        "rank_b": b,
        "cpu_a": 0,
        "cpu_b": 0,
        "host_a": f"n{a + 1}",
        "host_b": f"n{b + 1}",
        "ranks": ranks,
        "pattern": "tournament",
        "window": 64,
    }


def run_directory(path: Path, found: Sequence[Case], *, state: State = "ok", repeats: int = 1) -> store.RunDirectory:
    plan = Plan(campaign="t", title="T", runs=())
    made = store.RunDirectory.create(path, manifest=MANIFEST, campaign_toml="", machine=machine(), plan=plan)
    for repeat in range(1, repeats + 1):
        record = Measurement(
            run="r1",
            repeat=repeat,
            workload="pingpong",
            params={},
            host="n1",
            state=state,
            cases=tuple(found),
            begin_ns=1,
            end_ns=2,
        )
        made.folder("r1", repeat).mkdir(parents=True)
        atomic.write_record(made.folder("r1", repeat) / "measurement.json", record)
    return made


FLEET = Fleet(nodes=12, slow_nodes={2: 0.12}, slow_links={(3, 9): 0.4})


def test_a_run_directory_gives_back_its_pairs(tmp_path: Path) -> None:
    measured = simulate.pairs(FLEET, 1)
    (got,), damaged = pairs.from_directories([run_directory(tmp_path / "run", cases(measured))])
    assert not damaged
    assert (got.metric, got.places) == (METRIC, measured.places)
    assert got.values == pytest.approx(measured.values)
    assert (got.a.tolist(), got.b.tolist(), got.round.tolist()) == (
        measured.a.tolist(),
        measured.b.tolist(),
        measured.round.tolist(),
    )
    assert got.params == {"bytes": 2**20, "ranks": 12, "pattern": "tournament", "window": 64}
    assert (got.spread > 0).all()
    verdict = pairs.verdict(got)
    assert [one.node for one in verdict.slow_nodes] == ["n3"]
    assert [(one.a, one.b) for one in verdict.slow_links] == [("n4", "n10")]


def test_repeats_and_several_run_directories_are_passes(tmp_path: Path) -> None:
    measured = simulate.pairs(FLEET, 1)
    opened = [run_directory(tmp_path / name, cases(measured), repeats=2) for name in ("one", "two")]
    (got,), _ = pairs.from_directories(opened)
    assert len(got.a) == 4 * 66
    assert pairs.verdict(got).passes == 4


def test_packed_measurements_serve_when_the_loose_ones_are_gone(tmp_path: Path) -> None:
    measured = simulate.pairs(FLEET, 1)
    made = run_directory(tmp_path / "run", cases(measured))
    table.pack(table.from_measurements(made.load().measurements), made.path / "measurements.parquet")
    (made.folder("r1", 1) / "measurement.json").unlink()
    (got,), _ = pairs.from_directories([made])
    assert got.values == pytest.approx(measured.values)


def test_a_pair_without_an_answer_is_a_finding_and_hides_no_other(tmp_path: Path) -> None:
    found = cases(simulate.pairs(FLEET, 1))
    dead = Case(
        kernel="bandwidth",
        params=found[5].params,
        work={"messages": 0, "bytes": 0},
        residual=Residual(value=None, limit=0, kind="no answer in 60 s"),
    )
    wrong = Case(
        kernel="bandwidth",
        params=found[6].params,
        work=found[6].work,
        seconds=found[6].seconds,
        residual=Residual(value=3, limit=0, kind="wrong bytes or messages"),
    )
    made = run_directory(tmp_path / "run", [*found[:5], dead, wrong, *found[7:]], state="wrong")
    (got,), _ = pairs.from_directories([made])
    assert len(got.a) == 64
    ends = [(str(one.params["host_a"]), str(one.params["host_b"])) for one in (dead, wrong)]
    verdict = pairs.verdict(got)
    assert [(one.a, one.b) for one in verdict.dead_links] == ends
    assert [one.why for one in verdict.dead_links] == ["no answer in 60 s", "3 wrong bytes or messages"]
    assert [one.node for one in verdict.slow_nodes] == ["n3"]
    assert "failed: no answer in 60 s" in _pairs.named(verdict)[0].seen


def test_a_run_of_nothing_but_dead_pairs_is_no_clean_one(tmp_path: Path) -> None:
    dead = Case(
        kernel="bandwidth",
        params=of(0, 1, 2),
        work={"messages": 0, "bytes": 0},
        residual=Residual(value=None, limit=0, kind="no answer in 60 s"),
    )
    (got,), _ = pairs.from_directories([run_directory(tmp_path / "run", [dead], state="wrong")])
    verdict = pairs.verdict(got)
    assert (verdict.state, verdict.typical, verdict.pairs) == ("slow", None, 0)
    assert "no pair has a value" in _pairs.summary(verdict)


def test_ranks_of_one_host_are_places_of_their_own_and_near(tmp_path: Path) -> None:
    measured = simulate.pairs(Fleet(nodes=16, leaf=4, far=0.4, slow_links={(1, 9): 0.4}), 2)
    found = []
    for case in cases(measured):
        a, b = int(case.params["rank_a"]), int(case.params["rank_b"])
        params: Params = {**case.params, "host_a": f"h{a // 4}", "host_b": f"h{b // 4}"}
        found.append(Case(kernel=case.kernel, params=params, work=case.work, seconds=case.seconds))
    (got,), _ = pairs.from_directories([run_directory(tmp_path / "run", found)])
    assert got.places[:5] == ("h0:0", "h0:1", "h0:2", "h0:3", "h1:4")
    verdict = pairs.verdict(got)
    assert [(one.a, one.b) for one in verdict.slow_links] == [("h0:1", "h2:9")]
    assert verdict.groups == 4


def analysis_of(measured: Pairs) -> Analysis:
    record = Measurement(
        run="r",
        repeat=1,
        workload="pingpong",
        params={},
        host="n1",
        state="ok",
        cases=tuple(cases(measured, samples=9)),
        begin_ns=1,
        end_ns=2,
    )
    metrics = pingpong.WORKLOAD.metrics
    found = derive.findings(table.from_measurements([record]), {"pingpong": metrics})
    return Analysis(
        name="r",
        campaign="t",
        title="T",
        created_ns=1,
        version="test",
        machine=machine(),
        findings=tuple(found),
        metrics=metrics,
    )


def test_the_report_has_a_section_for_a_matrix_of_nodes_and_for_no_other() -> None:
    section = _pairs.section(analysis_of(simulate.pairs(FLEET, 1)))
    assert section is not None
    kinds = [type(block).__name__ for block in section.blocks]
    assert kinds == ["Text", "Table", "Figures"]
    named = next(block for block in section.blocks if type(block).__name__ == "Table")
    assert [row[:2] for row in named.rows] == [("n3", "slow"), ("n4 - n10", "slow")]  # type: ignore[attr-defined]
    assert _pairs.section(analysis_of(simulate.pairs(Fleet(nodes=4), 1))) is None


# ---------------------------------------------------------------------------------------------------------- topologies


def test_a_topology_is_read_from_toml_and_from_slurms_file(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text('[switches]\nleaf1 = ["n1", "n2"]\nleaf2 = ["n3"]\n')
    (tmp_path / "topology.conf").write_text(
        "# the fabric\nSwitchName=leaf1 Nodes=n[1-2]\nSwitchName=leaf2 Nodes=n3 LinkSpeed=100\n"
        "SwitchName=top Switches=leaf[1-2]\n"
    )
    expected = {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2"}
    assert topology.read(tmp_path / "t.toml") == topology.read(tmp_path / "topology.conf") == expected
    groups = topology.given(expected, ("n3", "n9", "n1"))
    assert (groups.of.tolist(), groups.names) == ([0, -1, 1], ("leaf2", "leaf1"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "names no switch"),
        ("[switches]\nleaf1 = 3\n", "not a list of names"),
        ('[switches]\na = ["n1"]\nb = ["n1"]\n', "behind a and behind b"),
        ("[switches\n", "is not TOML"),
        ("SwitchName=a Nodes=n[3-\n", "n\\[3-"),
        ("SwitchName=top Switches=leaf1\n", "no switch with nodes"),
    ],
)
def test_a_wrong_topology_is_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(BadInput, match=message) as caught:
        topology.read(tmp_path / "t")
    assert caught.value.where == str(tmp_path / "t")
    assert caught.value.hint


def test_a_topology_of_other_nodes_is_refused() -> None:
    with pytest.raises(BadInput, match="none of the measured nodes"):
        pairs.verdict(simulate.pairs(FLEET, 1), switches={"other": "leaf1"})


# ----------------------------------------------------------------------------------------------------------- the command


def invoke(*words: str) -> SimpleNamespace:
    import typer

    app = typer.Typer()
    app.command()(verb.command)
    done = CliRunner().invoke(app, list(words))
    return SimpleNamespace(code=done.exit_code, out=done.output, error=done.exception)


def test_the_command_names_them_and_says_so_in_its_exit_code(tmp_path: Path) -> None:
    run_directory(tmp_path / "run", cases(simulate.pairs(FLEET, 1)))
    done = invoke(str(tmp_path / "run"))
    assert done.code == 1
    assert "node n3: 12 % slower to everybody" in done.out or "node n3: 11 % slower" in done.out
    assert "link n4-n10: " in done.out
    assert "next: " in done.out
    found = json.loads(invoke(str(tmp_path / "run"), "--json").out)
    assert found["verdicts"][0]["slow_nodes"][0]["node"] == "n3"
    assert found["damaged"] == []
    floors = invoke(str(tmp_path / "run"), "--node-floor", "30 %", "--link-floor", "0.6")
    assert (floors.code, "No node and no link is slow" in floors.out) == (0, True)


def test_a_clean_fleet_and_an_undecided_one(tmp_path: Path) -> None:
    run_directory(tmp_path / "clean", cases(simulate.pairs(Fleet(nodes=12), 1)))
    assert invoke(str(tmp_path / "clean")).code == 0
    run_directory(tmp_path / "few", cases(simulate.pairs(Fleet(nodes=3), 1)))
    few = invoke(str(tmp_path / "few"))
    assert (few.code, "Undecided" in few.out) == (4, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--rate", "2"), "--rate 2"),
        (("--node-floor", "5 s"), "not a share"),
        (("--link-floor", "many"), "does not begin with a number"),
        (("--topology", "nowhere"), "cannot be read"),
    ],
)
def test_wrong_words_are_one_clear_error(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    run_directory(tmp_path / "run", cases(simulate.pairs(Fleet(nodes=5), 1)))
    done = invoke(str(tmp_path / "run"), *words)
    assert isinstance(done.error, BadInput)
    assert message in str(done.error)
    assert done.error.hint


def test_a_run_without_pairs_says_what_to_measure(tmp_path: Path) -> None:
    run_directory(tmp_path / "run", [])
    done = invoke(str(tmp_path / "run"))
    assert isinstance(done.error, ShakedownError)
    assert "tournament" in done.error.hint
