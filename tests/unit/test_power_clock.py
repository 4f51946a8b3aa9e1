"""Meters with a clock of their own beside a campaign: the run's edges set it right, and every energy says how well."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from shakedown.analysis import build
from shakedown.energy.clocks import meter_clock
from shakedown.energy.simulate import Load
from shakedown.errors import BadInput
from shakedown.metering.trace import Trace
from shakedown.records import Analysis, Finding, Measurement, PowerView, Term
from shakedown.report.formats import html
from support.runs import NODE, SOCKET, T0, directory, finding, measured, seen

METER = msgspec.structs.replace(NODE, id="bmc/node")
#: Unequal on both sides of every mark, so that a clock that is off shows in every energy.
RUNS = Load(np.array([0.0, 10, 40, 70, 80, 110, 140]), np.array([100.0, 300, 200, 100, 320, 210, 100]))
CASES = ((10, 40), (40, 70), (80, 110), (110, 140))
WATTS = (300, 200, 320, 210)
FLAT = Load(np.array([0.0]), np.array([20.0]))


def campaign(**truth: float) -> list[Trace]:
    return [seen(METER, -30, 180, load=RUNS, window_s=1.0, noise=0.5, **truth)]


def measurements() -> list[Measurement]:
    found = []
    for index, (begin, end) in enumerate(CASES, 1):
        one = measured(index, begin, end, begin_ns=T0 + begin * 10**9)
        case = msgspec.structs.replace(one.cases[0], params={"n": index, "threads": 2})
        found.append(msgspec.structs.replace(one, cases=(case,)))
    return found


def analysed(path: Path, traces: list[Trace], records: list[Measurement]) -> tuple[Analysis, PowerView]:
    analysis, damaged = build.analyse(directory(path, records, [traces]))
    assert damaged == [] and isinstance(analysis.power, PowerView)
    return analysis, analysis.power


def powers(analysis: Analysis, metric: str = "gemm.dgemm.power") -> dict[object, Finding]:
    return {one.params["n"]: one for one in analysis.findings if one.metric == metric}


def clocks(view: PowerView) -> list[Term]:
    return [term for budget in view.budgets for term in budget.terms if term.name == "clock"]


@pytest.mark.parametrize("ahead", [0.3, -0.3, 2.0, -2.0, 20.0, -20.0])
def test_every_energy_is_right_although_the_meters_clock_is_off(tmp_path: Path, ahead: float) -> None:
    analysis, view = analysed(tmp_path / "run", campaign(clock_s=ahead), measurements())
    for index, watts in enumerate(WATTS, 1):
        found = powers(analysis)[index]
        assert found.value == pytest.approx(watts, rel=0.002)
        assert found.low is not None and found.high is not None and found.low <= watts <= found.high
    (notice,) = [one for one in view.notices if one.code == "clock-corrected"]
    assert notice.text.startswith("bmc: ") and ("ahead of" if ahead > 0 else "behind") in notice.text
    assert "taken out of its stamps" in view.meters[0].note
    assert clocks(view) and all(term.u != 0 and term.common in ("", "clock of bmc") for term in clocks(view))
    assert "taken out of its stamps" in html.render(analysis)


def test_a_clock_that_drifts_is_right_from_the_first_run_to_the_last(tmp_path: Path) -> None:
    load = Load(
        np.concatenate([[0.0], np.ravel([[100 * k + 10, 100 * k + 40, 100 * k + 70] for k in range(12)])]),
        np.concatenate([[100.0], np.tile([300.0, 200.0, 100.0], 12)]),
    )
    records = [
        measured(2 * k + part, 100 * k + begin, 100 * k + end, begin_ns=T0 + (100 * k + begin) * 10**9)
        for k in range(12)
        for part, (begin, end) in ((1, (10, 40)), (2, (40, 70)))
    ]
    cases = [(msgspec.structs.replace(one.cases[0], params={"n": one.repeat, "threads": 2}),) for one in records]
    records = [msgspec.structs.replace(one, cases=case) for one, case in zip(records, cases, strict=True)]
    trace = seen(METER, -30, 1230, load=load, window_s=1.0, noise=0.5, clock_s=2.0, drift=2e-3)
    analysis, view = analysed(tmp_path / "run", [trace], records)
    found = powers(analysis)
    assert len(found) == 24
    assert all(one.value == pytest.approx(300 if n % 2 else 200, rel=0.003) for n, one in found.items())  # type: ignore[operator]
    assert "ppm" in view.meters[0].note


def test_with_too_few_edges_the_prior_stays_and_widens_what_it_touches(tmp_path: Path) -> None:
    """One step in all the readings tells nothing: within a second, any clock is as likely."""
    load = Load(np.array([0.0, 40.0]), np.array([300.0, 200.0]))
    run = measured(1, 10, 40, begin_ns=T0 - 20 * 10**9, end_ns=T0 + 60 * 10**9)
    trace = seen(METER, -5, 50, load=load, window_s=1.0, noise=0.5, clock_s=-0.4)
    analysis, view = analysed(tmp_path / "run", [trace], [run])
    (notice,) = [one for one in view.notices if one.code == "clock-assumed"]
    assert "too few" in notice.text
    found = finding(analysis, "gemm.dgemm.energy")
    assert found.low is not None and found.high is not None and found.low <= 300 * 30 / 12 <= found.high
    (term,) = clocks(view)
    assert abs(term.u) == pytest.approx(100 / np.sqrt(3), rel=0.6)  # the step times the prior
    assert "within 1 s" in view.meters[0].note


def test_channels_of_one_device_share_its_clock_and_the_hosts_stamps_have_none(tmp_path: Path) -> None:
    quiet = seen(msgspec.structs.replace(METER, id="bmc/fans", place="component"), -30, 180, load=FLAT, clock_s=2.0)
    local = seen(SOCKET, -30, 180, load=RUNS, refresh_s=0.1)
    local = replace(local, half_ns=np.full(len(local), 10_000))
    _, view = analysed(tmp_path / "run", [quiet, *campaign(clock_s=2.0), local], measurements())
    notes = {one.channel: one.note for one in view.meters}
    assert "taken out of its stamps" in notes["bmc/node"] and notes["bmc/fans"] == notes["bmc/node"]
    assert notes["sim/socket"] == ""
    names = {term.common for budget in view.budgets for term in budget.terms if term.name == "clock"}
    assert names <= {"", "clock of bmc"}


def test_a_clock_that_is_right_is_said_in_its_row_and_is_no_matter_to_mind(tmp_path: Path) -> None:
    _, view = analysed(tmp_path / "run", campaign(), measurements())
    assert "nothing is taken out" in view.meters[0].note
    assert not [one for one in view.notices if one.code.startswith("clock")]


def test_runs_too_near_to_one_another_are_the_reason_not_missing_readings() -> None:
    """Of 1,565 readings "0 lie within 60 s of the runs": it was other runs that lay within 60 s."""
    t_ns = T0 + np.arange(0, 300 * 10**9, 2 * 10**8, dtype=np.int64)
    readings = meter_clock._Seen("m", t_ns, np.full(len(t_ns), 200.0), 0.2, 0.0, 0.0, 0.2)
    edges = T0 + np.array([50, 60, 70, 80, 90, 100], np.int64) * 10**9
    with pytest.raises(BadInput, match="other runs lie within"):
        meter_clock._found(readings, edges, 2, 4, 0.0, 60.0)
