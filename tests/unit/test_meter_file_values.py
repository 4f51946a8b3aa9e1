"""Values in meters' files, files that grow, simulated ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import BadInput, Unavailable
from shakedown.hosts.access import LocalHost
from shakedown.metering import meters
from shakedown.metering.meters import Status, csv, parse_target
from support.meter_tables import T0, read, table, written

# --------------------------------------------------------------------------------------------------------------- values


def test_marks_are_states_and_never_zeros(tmp_path: Path) -> None:
    cells = ["100", "-OL-", "----", "9.9E37", "INF", "NaN", "", "9.91E37", "Error", "101"]
    path = written(tmp_path, table([(str(T0 + n), cell) for n, cell in enumerate(cells)]))
    (found,) = read(path)
    over, gap = Status.OVERRANGE, Status.GAP
    assert found.status.tolist() == [Status.OK, over, over, over, over, gap, gap, gap, gap, Status.OK]
    assert np.isnan(found.value[1:9]).all()


def test_spl_says_not_measured_with_minus_one(tmp_path: Path) -> None:
    lines = [
        f"Time,11-21-2026 13:00:0{n}.000,Watts,{w},Volts,230,Amps,1,PF,1" for n, w in enumerate(("100", "-1.0", "102"))
    ]
    (found,) = read(written(tmp_path, "\n".join([*lines, ""]), "spl.txt"), {"zone": "UTC"})
    assert found.status.tolist() == [Status.OK, Status.UNSUPPORTED, Status.OK]


def test_spl_whose_first_line_is_no_row_is_refused() -> None:
    whole = "Time,11-21-2026 13:00:00.000,Watts,100,Volts,230,Amps,1,PF,1"
    with pytest.raises(BadInput, match="holds no stamp"):
        csv.layout(['Time,"' + "a" * 200_000 + whole[5:], whole], {"zone": "UTC"}, "spl.txt")


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    text = (
        table([(str(T0 + n), 100 + n) for n in range(9)], "time,a [V],power [W]").replace(",10", ",230,10")
        + f"{T0 + 9}\n"
    )
    (found,) = read(written(tmp_path, text))
    assert len(found) == 9


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("hello\nworld\n", {}, "no line holds numbers"),
        ("a,b\n1,2\n3,4\n", {}, "no column of stamps"),
        (f"time,x [W]\n{T0},1\n{T0 + 1},2\n", {"column": "y"}, "unknown column"),
        (f"time,x [W]\n{T0},1\n{T0 + 1},2\n", {"scope": "average"}, "unknown scope"),
        (f"time,x [W]\n{T0},1\n{T0 + 1},2\n", {"modulus": "-3"}, "modulus=-3"),
    ],
)
def test_what_is_no_meters_file_is_refused(tmp_path: Path, text: str, options: dict[str, str], words: str) -> None:
    with pytest.raises(BadInput, match=words) as refused:
        read(written(tmp_path, text), options)
    assert refused.value.hint


# --------------------------------------------------------------------------------------------------------- files that grow


def test_a_file_that_grows_is_followed(tmp_path: Path) -> None:
    path = written(tmp_path, table([(str(T0), 1), (str(T0 + 1), 2)]))
    source = csv.METER.open(parse_target(f"csv:{path}"), LocalHost())
    assert [one.value for one in source.read()] == [2.0]
    assert list(source.read()) == []
    with open(path, "a") as file:
        file.write(f"{T0 + 2},3\n{T0 + 3},-OL-\n{T0 + 4},4")
        file.flush()
        new = source.read()
        assert [(one.value, one.status) for one in new] == [(3.0, Status.OK), (None, Status.OVERRANGE)]
        assert new[0].device_ns == (T0 + 2) * 10**9 and new[0].before_ns <= new[0].after_ns
        file.write("5\n")
    assert [one.value for one in source.read()] == [45.0]  # the line that was cut when it was first seen
    path.write_text(table([(str(T0 + 9), 7)]))
    assert [one.status for one in source.read()] == [Status.RESET]
    assert [one.value for one in source.read()] == [7.0]


def test_a_logger_gone_silent_is_a_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, table([(str(T0), 1), (str(T0 + 1), 2)]))
    door = LocalHost()
    now = [T0 * 10**9]
    monkeypatch.setattr(door, "now_ns", lambda: now[0])
    source = csv.METER.open(parse_target(f"csv:{path}?begin=start"), door)
    assert len(source.read()) == 2
    now[0] += 9 * 10**9
    assert not source.read()
    now[0] += 2 * 10**9
    assert [one.status for one in source.read()] == [Status.GAP]
    assert not source.read()


def test_a_file_that_is_not_there_yet_is_unavailable(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", written(tmp_path, "")):
        with pytest.raises(Unavailable, match=r"cannot be read|still empty"):
            csv.METER.open(parse_target(f"csv:{path}"), LocalHost())
    with pytest.raises(BadInput, match="without a zone"):
        csv.METER.open(parse_target(f"csv:{written(tmp_path, table([('2026-11-21 14:00:00', 1)] * 2))}"), LocalHost())


# ------------------------------------------------------------------------------------------------------------- simulated


def simulated(folder: Path, **script: object) -> Path:
    path = folder / "load.json"
    path.write_text(json.dumps({"start_ns": 0, "load": {"t_s": [0, 10, 20], "w": [100, 300, 100]}, **script}))
    return path


class At(LocalHost):
    """This machine at a chosen time."""

    ns = 0

    def now_ns(self) -> int:
        return self.ns


@given(
    refresh=st.sampled_from([0.1, 1.0, 3.0]),
    window=st.sampled_from([0.0, 0.5, 4.0]),
    delay=st.sampled_from([0.0, 0.3]),
    gain=st.floats(0.9, 1.1),
    resolution=st.sampled_from([0.0, 1.0]),
    energy=st.booleans(),
)
def test_the_simulated_meter_is_the_one_of_the_simulation(
    tmp_path_factory: pytest.TempPathFactory,
    refresh: float,
    window: float,
    delay: float,
    gain: float,
    resolution: float,
    energy: bool,
) -> None:
    from shakedown.energy.simulate import Load, Truth, observe
    from shakedown.metering.meters import Channel

    modulus = 1000.0 if energy else None
    told = {"refresh_s": refresh, "window_s": window, "delay_s": delay, "gain": gain, "resolution": resolution}
    kind = {"quantity": "energy", "unit": "J", "scope": "counter"} if energy else {}
    path = simulated(
        tmp_path_factory.mktemp("simulated"),
        channels=[{"id": "simulated/x", **kind, "truth": {**told, "modulus": modulus}}],
    )
    door = At()
    source = meters.get("simulated").open(parse_target(f"simulated:{path}"), door)
    load = Load(np.array([0.0, 10.0, 20.0]), np.array([100.0, 300.0, 100.0]))
    channel = Channel(id="x", title="x", quantity="energy" if energy else "power", unit="J", scope="last", place="node")
    expected = observe(load, Truth(**told, modulus=modulus), channel, 0.0, 30.0, poll_s=0.25)
    base = observe(load, Truth(**told), channel, 0.0, 30.0, poll_s=0.25).value[0] if energy else 0.0
    for t_ns, value in zip(expected.t_ns[8:], expected.value[8:], strict=True):
        door.ns = int(t_ns)
        got = source.read()[0].value
        assert got is not None
        if modulus:  # the simulation counts from one refresh before its begin
            assert (
                abs((got - (value - base) + modulus / 2) % modulus - modulus / 2) <= gain * 100 * refresh + resolution
            )
        else:
            assert got == pytest.approx(value, abs=1e-6 + resolution)


def test_faults_come_and_go(tmp_path: Path) -> None:
    faults = [
        {"kind": "gap", "begin_s": 1, "end_s": 2},
        {"kind": "repeat", "begin_s": 9, "end_s": 12},
        {"kind": "jump", "begin_s": 14, "end_s": 15, "seconds": 3600},
        {"kind": "reset", "begin_s": 16, "channel": "simulated/e"},
    ]
    channels = [
        {"id": "simulated/p", "truth": {"refresh_s": 1}},
        {"id": "simulated/e", "quantity": "energy", "unit": "J", "scope": "counter", "truth": {"refresh_s": 1}},
    ]
    path = simulated(tmp_path, channels=channels, faults=faults, stamped=True)
    door = At()
    source = meters.get("simulated").open(parse_target(f"simulated:{path}"), door)

    def at(second: float) -> list[meters.Reading]:
        door.ns = round(second * 1e9)
        return list(source.read())

    assert [one.status for one in at(1.5)] == [Status.GAP] * 2
    assert at(8.5)[0].value == 100 and at(11.5)[0].value == 100 and at(12.5)[0].value == 300
    assert at(14.5)[0].device_ns == 3614 * 10**9
    assert at(15.5)[1].value == 1000 + 5 * 300
    assert at(18.5)[1].value == 2 * 300


def test_a_file_that_describes_no_simulation_is_refused(tmp_path: Path) -> None:
    for text, words in (("{", "no simulation"), ('{"load": {"t_s": [1, 0], "w": [1, 2]}, "channels": []}', "rising")):
        with pytest.raises(BadInput, match=words):
            meters.get("simulated").open(parse_target(f"simulated:{written(tmp_path, text)}"), LocalHost())


def test_the_end_of_an_old_recording_is_no_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of last year, followed from its start: its readings, and no gaps of today behind them."""
    file = tmp_path / "old.csv"
    file.write_text("time,power_w\n" + "".join(f"2025-03-01T10:00:{s:02}Z,{300 + s}\n" for s in range(40)))
    now = [1_790_000_000 * 10**9]
    door = LocalHost()
    monkeypatch.setattr(door, "now_ns", lambda: now[0])
    source = csv.METER.open(parse_target(f"csv:{file}?begin=start"), door)
    assert len(source.read()) == 40
    for _ in range(3):
        now[0] += 3600 * 10**9
        assert source.read() == []
    with file.open("a") as more:  # it grows after all: now a silence counts
        more.write("2025-03-01T10:00:41Z,345\n")
    assert len(source.read()) == 1
    now[0] += 10**6 * 10**9
    assert [one.status for one in source.read()] == [Status.GAP]


def test_gaps_lie_on_the_device_s_clock_and_a_clock_set_back_is_told(tmp_path: Path) -> None:
    from shakedown.metering import collect, raw_files

    channel = meters.Channel(id="x/power", title="x", quantity="power", unit="W", scope="last", place="node")
    second, host, device = 10**9, 1_790_000_000 * 10**9, 1_700_000_000 * 10**9
    shifts = [0, 1, 2, 3, -597, -596, -595]
    readings = [
        meters.Reading(0, host + i * second, host + i * second, device + s * second, 300.0)
        for i, s in enumerate(shifts)
    ]
    readings.append(meters.Reading(0, host + 20 * second, host + 20 * second, None, None, Status.GAP))
    raw = tmp_path / "one.raw"
    raw.write_bytes(b"".join(raw_files.pack(0, one, 0) for one in readings))
    found = collect._trace(channel, collect._rows(raw), [])
    assert abs(int(found.t_ns[found.status == Status.GAP][0]) - device) < 700 * second
    assert "fall back 1 times, by up to 600 s: its clock was set" in found.channel.note
