"""A plan takes from a run of the workload what it measured, and what is given by hand wins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from shakedown.checkpoint import measured
from shakedown.cli.app import app
from shakedown.errors import BadInput
from shakedown.programs import events
from shakedown.records import Finding, Measurement, Params
from support.runs import directory

STATE = 64e9


def case(metric: str, level: int, value: float, *, unit: str = "1", spread: float = 0.0, **params: object) -> Finding:
    told: Params = {"checkpoint_level": level, "n": 1, **params}  # type: ignore[dict-item]
    return Finding(
        metric=f"checkpoint.{metric}",
        unit=unit,
        better="none",
        workload="checkpoint",
        params=told,
        host="h",
        value=value,
        low=value - spread / 2,
        high=value + spread / 2,
    )


def level(
    number: int, drain: float, restart: float, slowdown: float, state: float = STATE, **params: Any
) -> list[Finding]:
    return [
        case("state", number, state, **params),
        case("drain", number, drain, **params),
        case("restart.bandwidth", number, restart, **params),
        case("slowdown", number, slowdown, **params),
        case("staging", number, 8e9, **params),
    ]


def test_rates_become_times_of_a_size_on_other_nodes() -> None:
    found = measured.of_findings(
        [*level(1, 2e9, 4e9, 0.01, emulated_nodes=4), *level(4, 1e9, 2e9, 0.03, emulated_nodes=4)]
    )
    assert (found.node_bytes, found.staging_B_s, found.slowdown) == (STATE, 8e9, 0.03)
    one, four = measured.levels(found, 128e9, 16, 30.0).values()
    assert (one.cost_s, one.restart_s) == pytest.approx((8e9 / 2e9, 30 + 8e9 / 4e9))
    assert (four.cost_s, four.restart_s) == pytest.approx((128.0, 30 + 64.0))
    assert "of each node, on one host whose folders stood for 4 nodes" in one.source
    assert "of all nodes together" in four.source


def test_over_several_hosts_a_rate_of_each_is_its_share() -> None:
    found = measured.of_findings(level(2, 8e9, 8e9, 0.0, nodes=4))
    assert found.node_bytes == STATE / 4
    assert measured.levels(found, STATE, 4, 0.0)[2].cost_s == pytest.approx(STATE / 8e9)


def test_a_level_costs_no_less_than_one_below_it() -> None:
    found = measured.of_findings([*level(1, 1e9, 1e9, 0.0), *level(2, 1.2e9, 1e9, 0.0)])
    one, two = measured.levels(found, 10e9, 1, 0.0).values()
    assert one.cost_s == two.cost_s == 10.0


def test_the_largest_state_counts_and_a_slowdown_is_a_share() -> None:
    small = level(1, 1e6, 1e6, 0.5, state=1e6, isa="avx2")
    for findings in ([*small, *level(1, 1e9, 1e9, -0.2)], [*level(1, 1e9, 1e9, -0.2), *small]):
        found = measured.of_findings(findings)
        assert found.rates[0].drain_B_s == 1e9 and found.slowdown == 0 and found.node_bytes == STATE
    noisy = [one for one in level(1, 1e9, 1e9, 0.2) if one.metric != "checkpoint.slowdown"]
    found = measured.of_findings([*noisy, case("slowdown", 1, 0.2, spread=0.8)])
    assert found.slowdown is None
    assert measured.of_findings(level(1, 1e9, 1e9, 4.0)).slowdown == measured.MOST_SLOWDOWN


def test_a_run_without_checkpoints_is_said() -> None:
    with pytest.raises(BadInput, match="no checkpoint was measured"):
        measured.of_findings([], "RUN")


@pytest.fixture
def run(tmp_path: Path, recordings: Path) -> Path:
    told = events.parse((recordings / "native/checkpoint-4-ranks.jsonl").read_bytes())
    record = Measurement(
        run="r1",
        repeat=1,
        workload="checkpoint",
        params={},
        host="h",
        state="ok",
        cases=told.cases,
        begin_ns=0,
        end_ns=1,
    )
    directory(tmp_path / "run", [record], [])
    return tmp_path / "run"


def planned(*words: object) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["checkpoint", "plan", "--json", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_the_command_plans_with_a_run(run: Path) -> None:
    found = planned("--mtti", "6h", "--nodes", "8", "--run", run)
    assert found["size_bytes"] == 8 * 400 * 400 * 32
    assert all(one["source"].startswith("measured: ") and not one.get("assumed") for one in found["costs"]["levels"])
    assert found["costs"]["staging_source"].startswith("measured") and found["costs"]["slowdown_source"] == "measured"
    assert not [one for one in found["notices"] if one["code"] == "assumed"]


def test_what_is_given_wins(run: Path) -> None:
    words = ("--global", "2GB/s", "--l1", "0.01s", "--slowdown", "2 %", "--size", "80GB")
    found = planned("--mtti", "6h", "--nodes", "8", "--run", run, *words)
    costs = found["costs"]
    assert found["size_bytes"] == 80e9 and (costs["slowdown"], costs.get("slowdown_source", "given")) == (0.02, "given")
    first, last = costs["levels"][0], costs["levels"][-1]
    assert (first["cost_s"], first["source"]) == (0.01, "given") and last["cost_s"] == 40.0


def test_a_size_is_needed_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        CliRunner().invoke(app, ["checkpoint", "plan", "--mtti", "6h"], catch_exceptions=False)
    assert error.value.where == "--size"
