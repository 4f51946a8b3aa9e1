"""Parameters that make runs comparable or not join their cases: what differs in one of them is never taken for a repeat."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown import workloads
from shakedown.analysis import derive, table
from shakedown.records import Finding, Job, Measurement, Run, Value
from shakedown.results.outcome import measurement


def measured(name: str, text: bytes, repeat: int, **given: Value) -> Measurement:
    params = workloads.check_params(workloads.get(name), given)
    run = Run(id=f"{given}", workload=name, params=params, label=name, estimate_s=1, limit_s=10)
    return measurement(run, Job(run=run.id, repeat=repeat, argv=(), host="node1", exit_code=0), text, b"")


def findings(name: str, metric: str, text: bytes, *given: dict[str, Value]) -> list[Finding]:
    records = [measured(name, text, 1, **one) for one in given]
    found = derive.findings(table.from_measurements(records), {name: workloads.get(name).metrics})
    return [one for one in found if one.metric == metric]


@pytest.mark.parametrize("apart", [{"pages": "base"}, {"beta": 1.0}])
def test_products_with_other_pages_or_another_beta_stand_apart(recordings: Path, apart: dict[str, Value]) -> None:
    text = (recordings / "native/gemm-openblas.jsonl").read_bytes()
    alone = findings("gemm", "gemm.dgemm.rate", text, {})
    both = findings("gemm", "gemm.dgemm.rate", text, {}, apart)
    assert len(both) == 2 * len(alone) > 0
    (name,) = apart
    assert {one.params[name] for one in both} == {apart[name], workloads.get("gemm").params[name].default}


def test_loads_of_other_shapes_stand_apart_and_name_only_what_shapes_them(recordings: Path) -> None:
    text = (recordings / "native/load-square.jsonl").read_bytes()
    square: dict[str, Value] = {"pattern": "square", "period": 0.05, "threads": 2}
    both = findings("load", "load.rate", text, square, {**square, "low": 0.5}, {**square, "period": 0.1})
    assert {(one.params["low"], one.params["period"]) for one in both} == {(0, 0.05), (0.5, 0.05), (0, 0.1)}
    (constant,) = findings("load", "load.rate", text, {"pattern": "constant", "threads": 2})
    assert "low" not in constant.params and "period" not in constant.params and constant.params["level"] == 1
