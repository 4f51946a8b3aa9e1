"""Requirements of published documents beside values: like with like, and decided by intervals."""

from __future__ import annotations

import pytest

from shakedown import published, workloads
from shakedown.analysis import compare, requirements
from shakedown.campaign import plan
from shakedown.records import Finding
from support.findings import finding

METRICS = plan.metrics(set(workloads.names()))
THUFIR = compare.from_published(published.system("thufir"), METRICS)
TIME, GPU = METRICS["path_loss.time"], METRICS["gpu_path_loss.time"]


def rows(*findings: Finding) -> tuple[requirements.Requirement, ...]:
    return requirements.rows([compare.Entry(name="mine", findings=findings), THUFIR], METRICS)


def test_thufirs_half_second_beside_ours() -> None:
    slow = finding(TIME, 20.0, 19.5, 20.5, n=5000, points=500, precision="fp32")
    quick = finding(GPU, 0.040, 0.039, 0.041, n=5000, points=500, precision="fp32", index=0)
    cpu, gpu = sorted(rows(slow, quick), key=lambda row: row.metric, reverse=True)
    assert (cpu.metric, gpu.metric) == ("path_loss.time", "gpu_path_loss.time")
    assert (
        cpu.value == gpu.value == 0.5 and cpu.sense == "below" and cpu.system == 1 and cpu.where.startswith("section 3")
    )
    assert cpu.cells[0] and cpu.cells[0].state == "not met" and cpu.cells[1] is None
    assert gpu.cells[0] and gpu.cells[0].state == "met"
    assert requirements.verdict(gpu, ["mine", "thufir"]) == "mine: met"


def test_other_numbers_of_radios_are_not_held_against_it() -> None:
    few = finding(TIME, 0.1, 0.1, 0.1, n=200, points=500, precision="fp32")
    more = finding(TIME, 0.2, 0.2, 0.2, n=1000, points=500, precision="fp32")
    (row,) = rows(few, more)
    assert row.cells[0] and row.cells[0].value == 0.2, "the nearest stands there"
    assert row.cells[0].state == "other circumstances" and row.cells[0].apart == ("radios: 1000, required for 5000",)
    assert not rows(), "nothing of ours: nothing beside it"


@pytest.mark.parametrize(
    ("sense", "low", "high", "state"),
    [
        ("below", 0.1, 0.49, "met"),
        ("below", 0.5, 0.6, "not met"),
        ("below", 0.4, 0.5, "undecided"),
        ("below", None, None, "undecided"),
        ("above", 0.5, 0.6, "met"),
        ("above", 0.3, 0.4, "not met"),
        ("above", 0.49, 0.6, "undecided"),
    ],
)
def test_intervals_decide(sense: published.Required, low: float, high: float, state: str) -> None:
    assert requirements.judge(sense, 0.5, low, high) == state


def test_a_requirement_is_no_result() -> None:
    assert all(one.metric != "path_loss.time" for one in THUFIR.findings)
    assert {one.metric.name for one in THUFIR.required} >= {"path_loss.time", "gpu_path_loss.time"}


def test_the_5000_nodes_stand_beside_ours_unranked() -> None:
    radios = METRICS["manet.radios"]
    mine = compare.Entry(name="mine", findings=(finding(radios, 5000, 5000, 5000, radios=5000),))
    (row,) = compare.side_by_side([mine, THUFIR], METRICS)
    assert row.metric == "manet.radios" and [cell and cell.value for cell in row.cells] == [5000, 5000]


def test_tsubames_rate_over_mounts_is_held_against_no_other_number_of_mounts() -> None:
    metric = METRICS["storage.bandwidth"]
    tsubame = compare.from_published(published.system("tsubame"), METRICS)

    def held(*entries: compare.Entry) -> list[requirements.Held]:
        (row,) = requirements.rows([*entries, tsubame], METRICS)
        assert (row.metric, row.sense, row.value) == ("storage.bandwidth", "above", 5e9)
        return [cell for cell in row.cells if cell]

    one, many, slow = (
        compare.Entry(name=name, findings=(finding(metric, rate, 0.99 * rate, 1.01 * rate, **params),))
        for name, rate, params in (
            ("one", 9e9, {}),
            ("many", 6e9, {"directories": 1000}),
            ("slow", 3e9, {"directories": 1000}),
        )
    )
    alone, met, missed = held(one, many, slow)
    assert alone.state == "other circumstances" and alone.apart == ("mounts: not reported, required for 1000",)
    assert (met.state, missed.state) == ("met", "not met")
