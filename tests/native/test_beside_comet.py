"""What the real programs print of Comet's fluid stands beside what its document printed: nothing is set by hand."""

from __future__ import annotations

import pytest

from shakedown import published, workloads
from shakedown.analysis import compare, derive, published_comparison, table
from shakedown.records import Measurement
from support import natives

FEW = ("--samples", "2", "--steps", "1", "--equilibrate", "0", "--skin", "0.3")


@pytest.mark.parametrize(
    ("name", "words", "theirs"),
    [  # of the document's rows that which is nearest: for one device the one of two GPUs
        ("lj", ("--threads", "1"), 80.39e6),
        ("gpu_lj", ("--backend", "host:1", "--lanes", "1"), 68.74e6),
    ],
)
def test_the_fluid_of_comet_is_laid_beside_its_figure(name: str, words: tuple[str, ...], theirs: float) -> None:
    code, told, errors = natives.run(name, "--particles", "64000", "--precision", "mixed", *FEW, *words).told()
    assert code == 0, errors
    record = Measurement(
        run="r", repeat=1, workload=name, params={}, host="h", state="ok", cases=told.cases, begin_ns=0, end_ns=1
    )
    metrics = {one.name: one for one in workloads.get(name).metrics}
    found = derive.findings(table.from_measurements([record]), {name: tuple(metrics.values())})
    laid = published_comparison.beside(found, metrics, published.systems())
    assert [(one.system, one.metric, one.theirs) for one in laid] == [("comet", f"{name}.rate", theirs)]
    entries = [
        compare.Entry(name="here", findings=tuple(found)),
        compare.from_published(published.system("comet"), metrics),
    ]
    (row,) = compare.side_by_side(entries, metrics)
    assert not row.detail and row.metric == f"{name}.rate"
