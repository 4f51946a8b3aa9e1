"""Meters beside a campaign: the energies of a run directory's cases against a load whose truth is known."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from shakedown.analysis import build, several
from shakedown.energy.simulate import Load
from shakedown.errors import BadInput, CannotMeasure
from shakedown.hosts.access import ReplayHost
from shakedown.metering import campaign_meters
from shakedown.metering import trace as traces
from shakedown.metering.meters import Status
from shakedown.metering.sampler import TRACE_FILE
from shakedown.records import Case, Measurement
from support.runs import NODE, SOCKET, T0, at, directory, finding, measured, seen


def test_energy_power_and_efficiency_of_two_repeats_are_the_truth(tmp_path: Path) -> None:
    both = [measured(1, 10, 70), measured(2, 80, 140)]
    trace = seen(NODE, window_s=1.0, resolution=1.0, noise=0.5)
    socket = seen(SOCKET, refresh_s=0.1, gain=0.5)
    analysis, damaged = build.analyse(directory(tmp_path / "run", both, [[trace, socket]]))
    assert damaged == []
    assert finding(analysis, "gemm.dgemm.power").value == pytest.approx(305, rel=0.002)
    energy = finding(analysis, "gemm.dgemm.energy")
    assert energy.value == pytest.approx(305 * 5, rel=0.002) and energy.n_runs == 2
    efficiency = finding(analysis, "gemm.dgemm.energy_efficiency")
    assert efficiency.unit == "flop/J" and efficiency.value == pytest.approx(1e12 / (305 * 5), rel=0.002)
    assert efficiency.low is not None and efficiency.high is not None
    assert efficiency.low < efficiency.value < efficiency.high  # type: ignore[operator]
    assert finding(analysis, "gemm.dgemm.edp").value == pytest.approx(305 * 5 * 5, rel=0.002)
    part = finding(analysis, "gemm.dgemm.part_power")
    assert part.value == pytest.approx(152.5, rel=0.005) and part.params["meter"] == "sim/socket"
    assert finding(analysis, "idle.power").value == pytest.approx(100, rel=0.01)
    assert analysis.power is not None
    assert [one.place for one in analysis.power.meters] == ["node", "component"]
    assert {one.kind for one in analysis.power.spans} == {"run", "idle"}
    assert any("energy efficiency" in sentence for sentence in analysis.summary)


def test_where_the_power_goes_is_told_by_parts_and_by_difference(tmp_path: Path) -> None:
    inner = msgspec.structs.replace(SOCKET, id="sim/socket", within="")
    run = directory(
        tmp_path / "run",
        [measured(1, 10, 70)],
        [[seen(NODE, 0, 79, window_s=1.0), seen(inner, 0, 79, refresh_s=0.1, gain=0.6)]],
    )
    view = build.analyse(run)[0].power
    assert view is not None
    watts = {one.part: one for one in view.parts}
    assert watts["sim/node"].power.value == pytest.approx(300, rel=0.002)
    assert watts["sim/node"].over_idle_w == pytest.approx(200, rel=0.02)
    assert watts["sim/socket"].within == "sim/node"
    assert watts["rest of sim/node"].power.value == pytest.approx(0.4 * 300, rel=0.01)
    assert view.notices == ()


def test_two_meters_on_one_load_that_differ_and_parts_above_the_whole_are_named(tmp_path: Path) -> None:
    second = msgspec.structs.replace(NODE, id="sim/node/average")
    first = msgspec.structs.replace(NODE, id="sim/node/instant")
    fat = seen(SOCKET, 0, 79, refresh_s=0.1, gain=1.3)
    two = [seen(first, 0, 79, window_s=1.0, noise=0.1), seen(second, 0, 79, window_s=1.0, gain=1.1, noise=0.1), fat]
    view = build.analyse(directory(tmp_path / "run", [measured(1, 10, 70)], [two]))[0].power
    assert view is not None
    assert {one.code for one in view.notices} == {"meters-differ", "negative-rest"}


def test_a_part_s_efficiency_is_no_machine_s(tmp_path: Path) -> None:
    analysis, _ = build.analyse(directory(tmp_path / "run", [measured(1, 10, 70)], [[seen(SOCKET, refresh_s=0.1)]]))
    names = {one.metric for one in analysis.findings}
    assert "gemm.dgemm.part_efficiency" in names and "gemm.dgemm.energy_efficiency" not in names
    assert not [one for one in analysis.beside if "efficiency" in one.metric]


def test_what_two_sessions_read_of_one_channel_is_one_trace(tmp_path: Path) -> None:
    both = [measured(1, 10, 70), measured(2, 80, 140)]
    sessions = [[seen(NODE, 0, 75, window_s=1.0)], [seen(NODE, 75, 150, window_s=1.0)]]
    analysis, _ = build.analyse(directory(tmp_path / "run", both, sessions))
    assert finding(analysis, "gemm.dgemm.energy").n_runs == 2
    assert analysis.power is not None and len(analysis.power.meters) == 1


def test_a_case_that_is_too_short_for_its_meter_has_no_energy_and_is_named(tmp_path: Path) -> None:
    trace = seen(NODE, refresh_s=10.0, window_s=10.0)
    analysis, _ = build.analyse(directory(tmp_path / "run", [measured(1, 10, 22)], [[trace]]))
    assert not [one for one in analysis.findings if one.metric.startswith("gemm.dgemm.energy")]
    assert analysis.power is not None
    assert [one.code for one in analysis.power.notices] == ["clock-assumed", "too-short"]
    assert "12 s" in analysis.power.notices[1].text and "seconds" in analysis.power.notices[1].advice


def test_other_work_in_a_case_s_time_is_said(tmp_path: Path) -> None:
    half = measured(1, 10, 70)
    case = msgspec.structs.replace(half.cases[0], seconds=(2.5,) * 12)
    run = directory(tmp_path / "run", [msgspec.structs.replace(half, cases=(case,))], [[seen(NODE, window_s=1.0)]])
    found = finding(build.analyse(run)[0], "gemm.dgemm.energy")
    said = [one.text for one in found.notices if one.code == "energy-of-more"]
    assert len(said) == 1 and "50%" in said[0]


@pytest.mark.parametrize("state", [Status.GAP, Status.REFUSED])
def test_readings_that_are_missing_are_no_zero(tmp_path: Path, state: Status) -> None:
    whole = seen(NODE, window_s=1.0)
    t = whole.seconds(T0)
    missing = (t > 30) & (t < 36)
    status = np.where(missing, state, Status.OK).astype(np.uint8)
    holed = traces.trace(NODE, whole.t_ns, whole.value, status=status)
    found = finding(build.analyse(directory(tmp_path / "run", [measured(1, 10, 70)], [[holed]]))[0], "gemm.dgemm.power")
    assert found.low is not None and found.high is not None and found.low < 300 < found.high
    assert found.value == pytest.approx(300, rel=0.02)  # a zero for each would give 270
    nothing = traces.trace(NODE, whole.t_ns, whole.value, status=np.full(len(whole), state, np.uint8))
    analysis, _ = build.analyse(directory(tmp_path / "none", [measured(1, 10, 70)], [[nothing]]))
    assert not [one for one in analysis.findings if "power" in one.metric or "energy" in one.metric]


def test_damaged_readings_cost_the_energy_and_nothing_else(tmp_path: Path) -> None:
    run = directory(tmp_path / "run", [measured(1, 10, 70)], [[seen(NODE)]])
    (tmp_path / "run" / campaign_meters.FOLDER / "1" / TRACE_FILE).write_bytes(b"PAR1 no")
    analysis, damaged = build.analyse(run)
    assert finding(analysis, "gemm.dgemm.rate").value is not None and analysis.power is None
    assert len(damaged) == 1 and "power.parquet" in damaged[0].what


def test_only_runs_that_ended_well_have_an_energy(tmp_path: Path) -> None:
    wrong = measured(1, 10, 70, state="wrong", reason="a check failed")
    analysis, _ = build.analyse(directory(tmp_path / "run", [wrong], [[seen(NODE, window_s=1.0)]]))
    assert not [one for one in analysis.findings if one.workload == "gemm"]


def test_many_directories_lie_side_by_side(tmp_path: Path) -> None:
    one = directory(tmp_path / "a", [measured(1, 10, 70)], [[seen(NODE, window_s=1.0)]])
    two = directory(tmp_path / "b", [measured(1, 80, 140, host="node2")], [[seen(NODE, window_s=1.0)]])
    analysis, _ = several.analyse_many([one, two])
    values = {f.host: f.value for f in analysis.findings if f.metric == "gemm.dgemm.power"}
    assert values == {"node1": pytest.approx(300, rel=0.002), "node2": pytest.approx(310, rel=0.002)}


def test_what_the_user_may_not_ask_for(tmp_path: Path) -> None:
    door = ReplayHost(tmp_path)
    with pytest.raises(BadInput, match="belong to --meter"):
        campaign_meters.ask((), 1.0, None, door)
    with pytest.raises(BadInput, match="rest of -1 s"):
        campaign_meters.ask(("simulated:x",), None, -1.0, door)
    with pytest.raises(BadInput, match="rapll") as caught:
        campaign_meters.ask(("rapll",), None, None, door)
    assert "rapl" in caught.value.hint
    with pytest.raises(CannotMeasure, match="no meter that can be read without an address"):
        campaign_meters.ask(("auto",), None, None, door)


def _solved(samples: int, **changes: object) -> Measurement:
    """HPL solved several times, 4 s each, with 4 s of filling and checking before each; the meter's load follows."""
    spans = tuple((at(10 + 8 * i), at(14 + 8 * i)) for i in range(samples))
    case = Case(
        kernel="dgemm",
        params={"n": 4096, "threads": 2, "library": "openblas"},
        work={"flop": 1e12},
        seconds=(4.0,) * samples,
        begin_ns=spans[0][0],
        end_ns=spans[-1][1],
        spans=spans,
    )
    record = measured(1, 10, 10 + 8 * samples)
    return msgspec.structs.replace(record, cases=(msgspec.structs.replace(case, **changes),))


#: 300 W while it solves, 100 W while it fills and checks.
SOLVING = Load(
    np.array([0.0, *(10.0 + 4 * i for i in range(12))]),
    np.array([100.0, *(300.0 if i % 2 == 0 else 100.0 for i in range(12))]),
)


def test_of_samples_with_other_work_between_them_only_their_own_energy_counts(tmp_path: Path) -> None:
    meter = seen(NODE, 0, 70, load=SOLVING, refresh_s=0.02)
    analysis, _ = build.analyse(directory(tmp_path / "run", [_solved(6)], [[meter]]))
    assert finding(analysis, "gemm.dgemm.power").value == pytest.approx(300, rel=0.01)
    assert finding(analysis, "gemm.dgemm.energy").value == pytest.approx(1200, rel=0.01)
    efficiency = finding(analysis, "gemm.dgemm.energy_efficiency")
    assert efficiency.value == pytest.approx(1e12 / 1200, rel=0.01)
    assert not [one for one in efficiency.notices if one.code == "energy-of-more"]
    rate = finding(analysis, "gemm.dgemm.rate")
    assert rate.value == pytest.approx(efficiency.value * 300, rel=0.01)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"begin_ns": at(10), "end_ns": at(14), "spans": ()}, "24 s and its span is 4.0 s"),  # the first sample's alone
        ({"spans": ((at(10), at(14)),)}, "6 samples, and the spans of 1"),
        ({"spans": tuple((at(10 + i), at(14 + i)) for i in range(6)), "end_ns": at(19)}, "24 s and its span is 9.0 s"),
        (
            {"spans": tuple((at(10 + 8 * i), at(11 + 8 * i)) for i in range(6)), "end_ns": at(51)},
            "4.0 s and its span is 1.0 s",
        ),
        ({"begin_ns": at(2)}, "not that of its samples"),
    ],
)
def test_a_span_that_is_not_its_samples_own_gives_no_energy(
    tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    meter = seen(NODE, 0, 70, load=SOLVING, refresh_s=0.1)
    analysis, _ = build.analyse(directory(tmp_path / "run", [_solved(6, **changes)], [[meter]]))
    assert not [one for one in analysis.findings if "energy" in one.metric]
    assert analysis.power is not None
    said = [one.text for one in analysis.power.notices if one.code == "span-disagrees"]
    assert len(said) == 1 and words in said[0]


def test_an_efficiency_holds_the_spread_of_its_samples(tmp_path: Path) -> None:
    """A rate of [0.97, 1.07] of its median and a meter that knows to 0.1 %: the efficiency is known as the rate is."""
    seconds = (4.7, 4.8, 4.9, 5.0, 5.0, 5.1, 5.1, 5.15, 5.2, 5.0, 5.05, 5.0)
    record = measured(1, 10, 10 + sum(seconds))
    case = msgspec.structs.replace(record.cases[0], seconds=seconds)
    run = directory(
        tmp_path / "run", [msgspec.structs.replace(record, cases=(case,))], [[seen(NODE, refresh_s=0.1, noise=0.1)]]
    )
    analysis, _ = build.analyse(run)
    rate, efficiency = finding(analysis, "gemm.dgemm.rate"), finding(analysis, "gemm.dgemm.energy_efficiency")
    assert rate.low and rate.high and rate.value and efficiency.low and efficiency.high and efficiency.value
    assert efficiency.value * 300 == pytest.approx(rate.value, rel=0.005)  # one statistic for both
    assert efficiency.low / efficiency.value <= rate.low / rate.value
    assert efficiency.high / efficiency.value >= rate.high / rate.value


def test_one_sample_states_no_interval_but_the_meter_s_part(tmp_path: Path) -> None:
    run = directory(tmp_path / "run", [measured(1, 10, 70, samples=1)], [[seen(NODE, window_s=1.0)]])
    analysis, _ = build.analyse(run)
    efficiency = finding(analysis, "gemm.dgemm.energy_efficiency")
    assert efficiency.value is not None and efficiency.low is None and efficiency.high is None
    assert [one.code for one in efficiency.notices if one.code == "one-sample"]
    assert finding(analysis, "gemm.dgemm.power").low is not None  # the mean power is the meter's own


@pytest.mark.parametrize("metered", [True, False])
def test_every_file_of_a_run_directory_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metered: bool
) -> None:
    from shakedown.acceptance import run_verdict

    both = [measured(1, 10, 70), measured(2, 80, 140)]
    made = directory(tmp_path / "run", both, [[seen(NODE, window_s=1.0)]] if metered else [])
    looked: list[str] = []
    read_bytes = Path.read_bytes

    def counted(path: Path) -> bytes:
        looked.append(f"{path.parent.name}/{path.name}")
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", counted)
    analysis, damaged = build.analyse(made)
    assert damaged == [] and (analysis.power is not None) is metered
    assert sorted(one for one in looked if one.endswith("measurement.json")) == [
        "1/measurement.json",
        "2/measurement.json",
    ]
    assert len(looked) == len(set(looked))
    looked.clear()
    session = run_verdict.load(made.path)
    assert list(session.measurements) == both
    assert looked.count("1/measurement.json") == 1 and looked.count("run/plan.json") == 1
