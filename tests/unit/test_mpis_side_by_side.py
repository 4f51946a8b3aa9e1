"""What is kept of a run with one of several MPIs, and what may be said of those that measured the same: ratios by rounds, on
the page, in comparisons, in scaling."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from shakedown.analysis import compare, mpis, scaling, table
from shakedown.analysis.scaling import comparison
from shakedown.campaign import plan
from shakedown.errors import BadInput
from shakedown.records import Case, Finding, Job, Measurement, Metric, Run, ScalingPoint, ScalingSeries
from shakedown.report import mpis as page
from shakedown.results.outcome import measurement

TIME = Metric(name="pingpong.latency", title="latency", unit="s", better="lower", kernel="latency", per="s/messages")
RATE = Metric(
    name="pingpong.bandwidth", title="bandwidth", unit="B/s", better="higher", kernel="latency", per="bytes/s"
)


def measured(label: str, repeat: int, seconds: float, size: int = 8) -> Measurement:
    case = Case(
        kernel="latency", params={"mpi": label, "bytes": size}, work={"messages": 1, "bytes": 8}, seconds=(seconds,)
    )
    return Measurement(
        run=f"run of {label}",
        repeat=repeat,
        workload="pingpong",
        params={},
        host="n",
        state="ok",
        cases=(case,),
        begin_ns=0,
        end_ns=1,
    )


def compared(rounds: Sequence[tuple[float, ...]], metric: Metric = TIME, labels: str = "ABC") -> Any:
    records = [
        measured(labels[at], repeat, seconds)
        for repeat, of_round in enumerate(rounds, 1)
        for at, seconds in enumerate(of_round)
    ]
    return mpis.comparisons(table.from_measurements(records), {"pingpong": [metric]})


def test_ratios_are_those_of_the_rounds() -> None:
    """The machine is three times as slow in every other round, for all MPIs alike: the ratio does not see it."""
    (one,) = compared([(slow, 1.5 * slow, slow) for slow in (1.0, 3.0, 1.0, 3.0, 1.0, 3.0)])
    first, second, third = one.values
    assert (first.mpi, first.ratio, first.launches) == ("A", None, 6)
    assert (second.ratio, second.low, second.high) == (pytest.approx(1.5),) * 3
    assert mpis.verdict("lower", second) == "worse" and mpis.verdict("higher", second) == "better"
    assert third.ratio == 1.0 and mpis.verdict("lower", third) == "not distinguished"
    (rate,) = compared([(1.0, 2.0)] * 6, RATE)
    assert rate.values[1].ratio == pytest.approx(0.5) and mpis.verdict("higher", rate.values[1]) == "worse"


def test_too_few_rounds_tell_nothing_apart_and_say_how_sure_they_are() -> None:
    (one,) = compared([(1.0, 2.0)] * 5)
    assert one.values[1].level == pytest.approx(0.9375)
    assert mpis.verdict("lower", one.values[1]) == "not distinguished"
    assert "at 94%" in page.tables([one])[0].rows[0][-1]
    (single,) = compared([(1.0, 2.0)])
    assert single.values[1].ratio == 2.0 and single.values[1].low is None
    assert mpis.verdict("lower", single.values[1]) == "not distinguished"


def test_a_round_that_one_of_them_lacks_is_no_ratio() -> None:
    records = [measured("A", 1, 1.0), measured("A", 2, 1.0), measured("B", 2, 4.0), measured("B", 3, 9.0)]
    (one,) = mpis.comparisons(table.from_measurements(records), {"pingpong": [TIME]})
    assert one.values[1].ratio == 4.0
    apart = [measured("A", 1, 1.0), measured("B", 2, 4.0)]
    (none,) = mpis.comparisons(table.from_measurements(apart), {"pingpong": [TIME]})
    assert none.values[1].ratio is None


def test_what_was_measured_with_one_mpi_is_beside_nothing() -> None:
    assert compared([(1.0,), (1.0,)]) == ()
    sizes = [measured("A", 1, 1.0, size=8), measured("B", 1, 1.0, size=16)]
    assert mpis.comparisons(table.from_measurements(sizes), {"pingpong": [TIME]}) == ()


def _two_modes(draw: random.Random) -> float:
    """A latency of a virtual machine: one of two levels from launch to launch."""
    return draw.choice((0.12, 0.37)) * draw.gauss(1.0, 0.02)


DISTRIBUTIONS: dict[str, Callable[[random.Random], float]] = {
    "normal": lambda draw: draw.gauss(1.0, 0.05),
    "two modes": _two_modes,
    "heavy tails": lambda draw: draw.paretovariate(1.1),
    "few values": lambda draw: float(draw.randint(1, 9)),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("launches", [6, 9])
def test_the_interval_holds_whatever_the_distribution(name: str, launches: int) -> None:
    """Two MPIs whose launches are drawn alike, one of them times 1.3: the median of their ratio, by symmetry."""
    draw, trials, held = random.Random(f"{name} {launches}"), 1500, 0
    for _ in range(trials):
        mine = {("b", n): 1.3 * DISTRIBUTIONS[name](draw) for n in range(launches)}
        theirs = {("a", n): DISTRIBUTIONS[name](draw) for n in range(launches)}
        made = mpis.beside("B", mine, theirs)
        assert made.low is not None and made.high is not None and made.level == 0.95
        held += made.low <= 1.3 + 1e-9 and made.high >= 1.3 - 1e-9
    assert held / trials >= 0.95 - 3 * (0.05 * 0.95 / trials) ** 0.5, held / trials


def test_the_page_says_what_is_better_and_what_is_not_told_apart() -> None:
    found = compared([(1.0, 2.0, 1.0 + 0.001 * (n % 2)) for n in range(6)])
    made = page.section(found)
    assert made is not None
    (shown,) = made.blocks
    assert "B beside A: better in 0 of 1 case, worse in 1, not distinguished in 0." in shown.caption  # type: ignore[union-attr]
    assert shown.rows[0][-2].endswith("worse")  # type: ignore[union-attr]
    assert page.section(()) is None


def finding(label: str | None, value: float, **params: Any) -> Finding:
    told = {**params, **({} if label is None else {"mpi": label})}
    return Finding(
        metric="pingpong.latency", unit="s", better="lower", workload="pingpong", params=told, host="n", value=value
    )


def test_compare_lays_the_mpis_of_a_run_beside_each_other() -> None:
    entry = compare.Entry(
        name="r",
        findings=(
            finding("Open MPI 4.1.4", 1.0, bytes=8),
            finding("MPICH 4.0.2", 2.0, bytes=8),
            finding(None, 3.0, bytes=8),
        ),
    )
    parts = compare.by_mpi(entry, ["all"])
    assert [one.name for one in parts] == ["r, Open MPI 4.1.4", "r, MPICH 4.0.2"]
    metrics = plan.metrics({"pingpong"})
    rows = compare.side_by_side(parts, metrics)
    row = next(one for one in rows if one.metric == "pingpong.latency")
    assert [cell and cell.value for cell in row.cells] == [1.0, 2.0]
    assert [one.name for one in compare.by_mpi(entry, ["mpich"])] == ["r, MPICH 4.0.2"]
    with pytest.raises(BadInput, match="here are: Open MPI"):
        compare.by_mpi(entry, ["intel"])


def series(label: str, factor: float, launches: int) -> ScalingSeries:
    points = tuple(
        ScalingPoint(count=count, seconds=tuple(factor * (1 + n % 3) / count for n in range(launches)))
        for count in (1, 2, 4)
    )
    return ScalingSeries(
        workload="hydro", title="rate", kind="strong", over="ranks", params={"mpi": label}, host="n", points=points
    )


def test_scaling_lays_mpis_side_by_side_by_their_rounds() -> None:
    chosen = scaling.of_mpis([series("Open MPI 4.1.4", 1.0, 6), series("MPICH 4.0.2", 1.25, 6)], ["mpich", "openmpi"])
    assert [one.params["mpi"] for one in chosen] == ["MPICH 4.0.2", "Open MPI 4.1.4"]
    ((name, members),) = comparison.alike([scaling.judged(one) for one in chosen])
    assert name == "mpi"
    for row in comparison.ratios(members):
        (ratio,) = row.ratios
        assert ratio is not None and tuple(ratio) == pytest.approx((0.8, 0.8, 0.8)), "each round is three levels apart"
    with pytest.raises(BadInput, match="no MPI 'intel'"):
        scaling.of_mpis(chosen, ["intel"])


def left(said: str, *, label: str = "MPICH 4.0.2") -> Measurement:
    """What comes of a run whose library says this of itself."""
    events = [
        {"event": "start", "program": "pingpong", "schema": 1, "facts": {"mpi": said}},
        {"event": "case", "kernel": "latency", "params": {"mpi": said}, "work": {"messages": 1}, "seconds": [1e-6]},
        {"event": "end", "ok": True},
    ]
    text = "".join(json.dumps(one) + "\n" for one in events).encode()
    return measurement(
        Run(id="r", workload="pingpong", params={}, label="r", estimate_s=1, limit_s=9, mpi=label),
        Job(run="r", repeat=1, argv=("x",), exit_code=0),
        text,
        b"",
        ranks=2,
    )


def test_a_case_carries_the_mpi_that_was_asked_for_and_another_library_is_no_result() -> None:
    good = left("MPICH Version:\t4.0.2")
    assert good.state == "ok", good.reason
    assert good.cases[0].params["mpi"] == "MPICH 4.0.2"
    other = left("Open MPI v4.1.4, package: Debian")
    assert other.state == "failed"
    assert "requested MPICH 4.0.2, and the program ran with Open MPI v4.1.4" in other.reason
