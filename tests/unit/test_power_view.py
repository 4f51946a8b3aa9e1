"""What the report shows within a run: steady windows, phases that programs mark, a characterised meter beside its model."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from shakedown.analysis import build
from shakedown.document.model import Figures, Lines, Section, Table
from shakedown.energy.simulate import Load
from shakedown.metering import campaign_meters
from shakedown.metering.character import Character, Estimate
from shakedown.metering.trace import Trace
from shakedown.records import Analysis, Measurement, Phase, PowerView
from shakedown.report import _power
from shakedown.report.formats import html, markdown
from support.runs import NODE, SOCKET, T0, at, directory, measured, seen

SLOW = msgspec.structs.replace(NODE, id="bmc/node", title="Node input")
COUNTER = msgspec.structs.replace(SOCKET, place="node", id="pdu/node")
#: HPL as it draws power: filling the matrix 20 s, factorization 200 s, check 40 s; idle around it.
HPL = Load(np.array([0.0, 60, 80, 280, 320]), np.array([100.0, 220, 400, 280, 100]))
PHASES = (("init matrix", 60, 80, 220), ("measure factorization", 80, 280, 400), ("verify", 280, 320, 280))


def hpl(phases: tuple[tuple[str, float, float, float], ...] = PHASES, load_begin: float = 60) -> Measurement:
    marked = tuple(Phase(name=name, begin_ns=at(begin), end_ns=at(end)) for name, begin, end, _ in phases)
    return measured(1, 80, 280, samples=1, phases=marked, begin_ns=at(load_begin), end_ns=at(320))


def known(value: float, u: float) -> Estimate:
    return Estimate(value=value, low=value - 1.96 * u, high=value + 1.96 * u)


def characterised(run: Path, window_s: float = 20.0) -> None:
    """The slow meter's character, as the campaign would have left it beside the readings."""
    character = Character(
        channel=SLOW,
        made_ns=1,
        kernel="boxcar",
        refresh_s=known(2.0, 1e-3),
        window_s=known(window_s, 0.01),
        delay_s=known(1.0, 0.01),
        noise=0.5,
        resolution=0.1,
    )
    (run / campaign_meters.FOLDER / "1" / campaign_meters.CHARACTERS).write_bytes(msgspec.json.encode([character]))


def analysed(path: Path, traces: list[Trace], record: Measurement, *, slow: bool = False) -> tuple[Analysis, PowerView]:
    run = directory(path, [record], [traces])
    if slow:
        characterised(path)
    analysis, damaged = build.analyse(run)
    assert damaged == [] and isinstance(analysis.power, PowerView)
    return analysis, analysis.power


def slow_trace(**truth: float) -> Trace:
    told = {"refresh_s": 2.0, "window_s": 20.0, "delay_s": 1.0, "noise": 0.5, "resolution": 0.1, **truth}
    return seen(SLOW, -60, 460, load=HPL, **told)


def table(section: Section, title: str) -> Table:
    (found,) = [one for one in section.blocks if isinstance(one, Table) and one.title == title]
    return found


def figures(section: Section) -> list[Lines]:
    return [
        one for block in section.blocks if isinstance(block, Figures) for one in block.figures if isinstance(one, Lines)
    ]


@pytest.mark.parametrize("ahead", [0.0, 5.0])
def test_the_powers_of_hpl_s_phases_are_told_through_a_meter_slower_than_they_are(tmp_path: Path, ahead: float) -> None:
    analysis, view = analysed(tmp_path / "run", [slow_trace(clock_s=ahead)], hpl(), slow=True)
    assert [(one.name, one.state) for one in view.phases] == [(name, "told") for name, *_ in PHASES]
    for one, (_, begin, end, watts) in zip(view.phases, PHASES, strict=True):
        assert one.power is not None and one.power.interval is not None and one.energy is not None
        low, high = one.power.interval
        assert low - 0.5 <= watts <= high + 0.5 and one.power.value == pytest.approx(watts, rel=0.02)
        assert one.energy.value == pytest.approx(one.power.value * (end - begin))  # type: ignore[operator]
        assert "clock of bmc" in [term.common for term in one.power.terms]
    section = _power.section(analysis)
    assert section is not None
    assert [row[2] for row in table(section, "Phases that the programs mark").rows] == [name for name, *_ in PHASES]


def test_a_phase_shorter_than_the_meter_tells_is_refused_and_the_others_are_told(tmp_path: Path) -> None:
    """Checks of a fifth of a second each on a meter that averages over 20 s: they are absent, and merge nothing."""
    short = (("verify 1", 280, 280.2, 280), ("verify 2", 280.2, 280.4, 280), ("rest", 280.4, 320, 280))
    _, view = analysed(tmp_path / "run", [slow_trace()], hpl((*PHASES[:2], *short)), slow=True)
    shown = {one.name: one for one in view.phases}
    for name in ("verify 1", "verify 2"):
        assert shown[name].state == "refused" and shown[name].why and shown[name].energy is None
    for name, watts in (("measure factorization", 400), ("rest", 280)):
        assert shown[name].state == "told"
        low, high = shown[name].power.interval  # type: ignore[union-attr,misc]
        assert low <= watts <= high


def test_phases_of_a_load_that_ramps_are_told_by_a_fast_meter(tmp_path: Path) -> None:
    """Fill, a factorization that falls from 400 to 200 W, and the rest, each by itself and within its U."""
    t = np.arange(80.0, 281.0)
    load = Load(np.r_[0.0, 60.0, t, 320.0], np.r_[100.0, 220.0, np.interp(t, [80, 180, 280], [400, 400, 200]), 100.0])
    trace = seen(NODE, -10, 360, load=load, window_s=1.0, noise=1.0)
    _, view = analysed(tmp_path / "run", [trace], hpl())
    assert [(one.name, one.state) for one in view.phases] == [(name, "told") for name, *_ in PHASES]
    for one, (_, begin, end, _) in zip(view.phases, PHASES, strict=True):
        assert one.power is not None and one.power.interval is not None
        low, high = one.power.interval
        assert low <= load.mean_w(begin, end) <= high


def test_phases_without_readings_around_them_are_refused_with_the_reason(tmp_path: Path) -> None:
    trace = slow_trace()
    few = trace.take((trace.t_ns < at(61)) | (trace.t_ns > at(400)))
    _, view = analysed(tmp_path / "run", [few], hpl(), slow=True)
    assert {one.state for one in view.phases} == {"refused"} and all(one.why for one in view.phases)


def test_a_counter_tells_phases_by_its_differences(tmp_path: Path) -> None:
    counted = seen(COUNTER, -10, 360, load=HPL, refresh_s=0.5)
    _, view = analysed(tmp_path / "run", [counted], hpl())
    assert [one.power.value for one in view.phases if one.power] == pytest.approx([220, 400, 280], rel=0.005)


def test_the_steady_window_is_tinted_in_the_time_line_and_told_in_a_table(tmp_path: Path) -> None:
    fast = seen(NODE, -10, 360, load=HPL, window_s=1.0, noise=1.0)
    analysis, view = analysed(tmp_path / "run", [fast], hpl())
    (window,) = view.steady
    assert window.steady and window.power.value == pytest.approx(400, rel=0.002)
    begin = view.begin_ns - T0
    assert window.begin_s >= 80 - begin * 1e-9 - 0.1 and window.end_s <= 280 - begin * 1e-9 + 0.1
    section = _power.section(analysis)
    assert section is not None
    (line,) = figures(section)
    tinted, named = line.regions[0], line.regions[1]
    assert (tinted.begin, tinted.end, tinted.name) == (window.begin_s, window.end_s, "") and named.name
    assert "tinted" in line.caption and table(section, "Steady state").rows[0][4] in ("399.9 W", "400 W", "400.1 W")
    page = html.render(analysis)
    assert "Steady state" in page and "Phases that the programs mark" in markdown.render(analysis)


def test_a_run_that_is_nowhere_steady_says_why_and_tints_nothing(tmp_path: Path) -> None:
    ramp = np.linspace(80, 280, 201)[:-1]
    load = Load(np.concatenate([[0.0], ramp, [280.0]]), np.concatenate([[100.0], 200 + ramp, [100.0]]))
    trace = seen(NODE, -10, 360, load=load, window_s=1.0, noise=1.0)
    analysis, view = analysed(tmp_path / "run", [trace], measured(1, 80, 280, begin_ns=at(80)))
    (window,) = view.steady
    assert not window.steady and window.why
    section = _power.section(analysis)
    assert section is not None
    assert all(one.begin == one.end for one in figures(section)[0].regions[::2])
    assert table(section, "Steady state").rows[0][-1] == window.why


def test_a_characterised_meter_stands_beside_its_model(tmp_path: Path) -> None:
    analysis, view = analysed(tmp_path / "run", [slow_trace()], hpl(), slow=True)
    (fit,) = view.fits
    assert fit.expected_w is not None and fit.residual_w < 3 * fit.expected_w
    assert np.max(np.abs(np.array(fit.readings) - np.array(fit.model))) < 5
    assert sorted(set(np.round(fit.load))) == pytest.approx([100, 220, 280, 400], abs=1)
    assert len(fit.edges_s) == len(fit.load) + 1
    section = _power.section(analysis)
    assert section is not None
    assert [one.title for one in figures(section)][-1] == "Node input: the meter's answer"
    blind, without = analysed(tmp_path / "blind", [slow_trace()], hpl())
    assert without.fits == () and len(figures(_power.section(blind))) == 1  # type: ignore[arg-type]


def test_a_channel_s_energy_is_reckoned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shakedown.analysis.power import cases

    asked: list[tuple[str, int, int]] = []
    real = cases.phase.energy_of

    def counted(trace: Trace, begin_ns: int, end_ns: int, **more: object) -> object:
        asked.append((trace.channel.id, begin_ns, end_ns))
        return real(trace, begin_ns, end_ns, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(cases.phase, "energy_of", counted)
    directory_of = directory(tmp_path / "run", [measured(1, 80, 280)], [[seen(NODE, -10, 360, load=HPL, window_s=1.0)]])
    build.analyse(directory_of)
    assert len(asked) == len(set(asked))
