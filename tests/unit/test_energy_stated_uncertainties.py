"""Stated uncertainties on loads that ramp at their marks: averages, points and counters, whole, off by half a second, with
holes."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from shakedown.energy import phase, simulate
from shakedown.energy.clocks import meter_clock
from shakedown.energy.importing import trace_import
from shakedown.energy.simulate import Load, Truth
from shakedown.metering import trace
from shakedown.metering.trace import Trace
from support import bench
from support.energies import COUNTER, ORIGIN, SECOND, channel

KWH = 3.6e6


coverage = bench.script("coverage")
#: Idle 30 kW, full 100 kW from the mark on, falling to 45 kW over the last 150 s of 400, idle at the end's mark.
_T = np.arange(-600.0, 1000.0, 0.5)
RUN = Load(_T, np.where((_T >= 0) & (_T < 400), np.interp(_T, [0, 250, 400], [100e3, 100e3, 45e3]), 30e3))
TRUE_J = RUN.mean_w(0, 400) * 400


def seen(period_s: float, phase_s: float, **changed: object) -> Trace:
    what = channel(refresh_s=period_s, window_s=period_s, **changed)
    return simulate.observe(RUN, Truth(period_s, period_s, phase_s=phase_s), what, -500, 900, origin_ns=ORIGIN)


@pytest.mark.parametrize("anywhere", [False, True])
def test_the_truth_lies_within_u_in_at_least_nine_of_ten(anywhere: bool) -> None:
    """Each kind over all periods and both doors; scripts/bench/coverage.py has every cell by itself."""
    runs = [coverage.hpl_like(np.random.default_rng(seed)) for seed in range(900, 906)]
    rows = coverage.table(runs, anywhere=anywhere)
    for door in ("energy of", "check"):
        for kind in coverage.KINDS:
            cells = [one for one in rows if (one["by"], one["kind"]) == (door, kind)]
            within = sum(one["within"] * one["phases"] for one in cells) / sum(one["phases"] for one in cells)
            assert within >= 0.9, (door, kind, within)
    for one in rows:
        assert one["u_percent"] <= 4 * one["bound_percent"] + 1.5, one


@pytest.mark.parametrize("period_s", [10.0, 60.0])
def test_bounds_hold_wherever_the_meter_begins_and_two_phases_make_the_whole(period_s: float) -> None:
    for phase_s in np.linspace(0, period_s, 7):
        one = seen(period_s, float(phase_s))
        run = phase.energy_of(one, ORIGIN, ORIGIN + 400 * SECOND)
        assert run.value is not None and run.expanded is not None
        assert abs(run.value - TRUE_J) <= run.expanded
        parts = [
            phase.energy_of(one, ORIGIN + a * SECOND, ORIGIN + b * SECOND).value for a, b in ((0, 170), (170, 400))
        ]
        assert sum(part for part in parts if part is not None) == pytest.approx(run.value, rel=1e-9)


def test_a_reading_missing_at_the_mark_is_bounded_and_in_the_middle_of_a_plateau_hardly_counts() -> None:
    whole = seen(10.0, 5.0)
    for lost_s, most in ((5.0, 0.03), (105.0, 0.002)):
        one = whole.take(whole.t_ns != ORIGIN + round(lost_s * 1e9))
        found = phase.energy_of(one, ORIGIN, ORIGIN + 400 * SECOND)
        assert found.value is not None and found.expanded is not None
        assert abs(found.value - TRUE_J) <= found.expanded
        assert sum(term.u for term in found.terms if term.name == "gap") <= most * TRUE_J
        assert "gap" in {notice.code for notice in found.notices}


# ---------------------------------------------------------------------------------------------------------- counters


@pytest.mark.parametrize(("step_j", "every_s"), [(36e3, 60.0), (0.1 * KWH, 5.0), (0.1 * KWH, 60.0)])
def test_a_counter_s_step_is_found_and_in_the_budget(step_j: float, every_s: float) -> None:
    """5 kW for 1,040 s: 5.2e6 J, of which a counter of 10 Wh or 0.1 kWh shows a multiple of its step."""
    load = Load(np.array([-4000.0]), np.array([5000.0]))
    what = channel(**COUNTER, refresh_s=every_s, most_w=50e3)
    held = 0
    for seed in range(40):
        truth = Truth(every_s, resolution=step_j, phase_s=float(np.random.default_rng(seed).uniform(0, every_s)))
        one = simulate.observe(load, truth, what, -2000, 3000, origin_ns=ORIGIN)
        found = phase.energy_of(one, ORIGIN, ORIGIN + 1040 * SECOND)
        assert found.value is not None and found.expanded is not None and found.expanded > 0.01 * step_j
        term = next(term for term in found.terms if term.name == "quantisation")
        assert f"{step_j:g} J" in term.text
        held += abs(found.value - 5.2e6) <= found.expanded
    assert held >= 36


def test_a_step_coarser_than_the_one_that_is_stated_is_seen() -> None:
    t = np.arange(200)
    one = trace.trace(channel(**COUNTER, refresh_s=10.0, resolution=1.0), ORIGIN + t * 10 * SECOND, (t * 7 // 3) * 36e3)
    found = phase.energy_of(one, ORIGIN + 100 * SECOND, ORIGIN + 1900 * SECOND)
    assert "36000 J" in next(term for term in found.terms if term.name == "quantisation").text


@pytest.mark.parametrize("quantity", ["power", "energy"])
def test_nothing_is_ever_without_uncertainty(quantity: str) -> None:
    t = np.arange(100)
    counts = quantity == "energy"
    what = channel(**COUNTER, refresh_s=1.0) if counts else channel(refresh_s=1.0)
    one = trace.trace(what, ORIGIN + t * SECOND, t * 400.0 if counts else np.full(100, 400.0))
    for begin, end in ((10, 90), (10.25, 20.75)):
        found = phase.energy_of(one, ORIGIN + round(begin * 1e9), ORIGIN + round(end * 1e9))
        assert found.value == pytest.approx(400 * (end - begin), rel=1e-3)
        assert found.u is not None and found.u > 0


# ------------------------------------------------------------------------------------------------------------- stamps


@pytest.mark.parametrize("period_s", [10, 60])
def test_whole_seconds_of_a_file_are_no_lag(tmp_path: Path, period_s: int) -> None:
    one = seen(float(period_s), 0.0)
    rows = [f"{int(t) // SECOND},{value:.0f}" for t, value in zip(one.t_ns, one.value, strict=True)]
    file = tmp_path / "pdu.csv"
    file.write_text("time,power\n" + "\n".join(rows) + "\n", encoding="utf-8")
    trace_import.bring([file], {"scope": "last", "unit": "W"}, (), tmp_path / "pdu.parquet")
    (loaded,) = trace.read(tmp_path / "pdu.parquet")
    assert np.all(loaded.half_ns > 0)
    direct, found = (phase.energy_of(each, ORIGIN, ORIGIN + 400 * SECOND) for each in (one, loaded))
    assert found.value == pytest.approx(direct.value, rel=1e-3)
    assert "lag" not in {term.name for term in found.terms}


# -------------------------------------------------------------------------------------------------------------- clock


@pytest.mark.parametrize("period_s", [1.0, 10.0, 30.0])
def test_a_clock_that_is_right_is_not_moved_by_ramps(period_s: float) -> None:
    """Two runs that rise over 8 s after their marks and fall over 60 s before them."""
    t = np.arange(-300.0, 1500.0, 0.25)
    w = np.full(len(t), 30e3)
    marks = []
    for begin, end in ((0.0, 400.0), (600.0, 1100.0)):
        inside = (t >= begin) & (t < end)
        w = np.where(inside, np.interp(t, [begin, begin + 8, end - 60, end], [30e3, 100e3, 100e3, 30e3]), w)
        marks += [ORIGIN + round(at * 1e9) for at in (begin, end)]
    what = channel(refresh_s=period_s, window_s=period_s)
    for phase_s in np.linspace(0.1, 0.9, 4) * period_s:
        made = simulate.observe(
            Load(t, w), Truth(period_s, period_s, phase_s=float(phase_s)), what, -290, 1400, origin_ns=ORIGIN
        )
        found = meter_clock.estimate(made, marks)
        assert found.how == "assumed" or (found.how == "agrees" and found.u_s > 0)
        assert np.array_equal(meter_clock.corrected(made, found).t_ns, made.t_ns)


# --------------------------------------------------------------------------------------------------------------- idle


def _slow(before_w: float, after_w: float, middle_w: float | None = None) -> Trace:
    """A run of 50 s at 400 W on a meter that averages over 40 s, 150 W of idle about it, where nothing else is told."""
    edges, watts = [-1000.0, 0.0, 50.0], [before_w, 400.0, after_w]
    if middle_w is not None:
        edges, watts = [-1000.0, -120.0, -90.0, 0.0, 50.0], [before_w, middle_w, before_w, 400.0, after_w]
    what = channel(refresh_s=5.0, window_s=40.0)
    truth = Truth(5.0, 40.0, noise=0.5)
    return simulate.observe(Load(np.array(edges), np.array(watts)), truth, what, -300, 400, origin_ns=ORIGIN, seed=3)


IDLE = ((ORIGIN - 200 * SECOND, ORIGIN), (ORIGIN + 50 * SECOND, ORIGIN + 250 * SECOND))


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (_slow(150.0, 150.0, middle_w=390.0), "before the run is not idle"),
        (_slow(150.0, 330.0), "one of them is not idle"),
        (_slow(450.0, 450.0), "more than the run"),
    ],
)
def test_windows_that_are_not_idle_are_named_and_not_used(made: Trace, why: str) -> None:
    end = ORIGIN + 50 * SECOND
    assert why in phase.energy_of(made, ORIGIN, end, idle=IDLE, method="padded").notices[0].text
    found = phase.energy_of(made, ORIGIN, end, idle=IDLE)
    assert not found.method.startswith("padded")
    assert found.value is None or any(why in notice.text for notice in found.notices)


def test_idle_windows_that_are_idle_are_used() -> None:
    found = phase.energy_of(_slow(150.0, 155.0), ORIGIN, ORIGIN + 50 * SECOND, idle=IDLE)
    assert found.method.startswith("padded") and found.value == pytest.approx(400 * 50, rel=0.02)


def test_the_channel_of_a_file_says_whose_stamps_it_has() -> None:
    assert msgspec.json.decode(msgspec.json.encode(channel()), type=type(channel())).stamped == "reader"
