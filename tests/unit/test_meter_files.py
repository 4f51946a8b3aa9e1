"""Files of meters: every dialect gives its values, and what is wrong with a file is refused or said with its share."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import BadInput, Unavailable
from shakedown.hosts.access import RealHost, RecordedHost
from shakedown.metering import meters
from shakedown.metering import trace as traces
from shakedown.metering.meters import Status, csv, parse_target

BERLIN = ZoneInfo("Europe/Berlin")
T0 = int(datetime.datetime(2026, 11, 21, 13, tzinfo=datetime.UTC).timestamp())


def written(folder: Path, text: str, name: str = "meter.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def table(rows: list[tuple[str, object]], head: str = "time,power [W]") -> str:
    return "\n".join([head, *(f"{stamp},{value}" for stamp, value in rows)]) + "\n"


def codes(found: csv.Loaded) -> list[str]:
    return [notice.code for notice in found.notices if notice.code != "scope-taken"]


# ------------------------------------------------------------------------------------------------------------- dialects


@pytest.mark.parametrize("name", ["csv", "simulated"])
def test_a_recording_gives_what_it_holds(name: str, recordings: Path) -> None:
    meter = meters.get(name)
    assert meter.samples
    for sample in meter.samples:
        source = meter.open(parse_target(sample.target), RecordedHost(recordings / sample.recording))
        got = {
            source.channels[one.channel].id: one.value if one.status is Status.OK else one.status.name
            for one in source.read()
        }
        assert got == {
            key: pytest.approx(value) if isinstance(value, float) else value for key, value in sample.expect.items()
        }


def test_a_yokogawa_file_has_its_interval_before_the_stamp(recordings: Path) -> None:
    (found,) = csv.load(recordings / "meters/csv/wt310.csv", {"zone": "Europe/Berlin"})
    assert found.channel.scope == "last" and found.channel.refresh_s == found.channel.window_s == 0.5
    assert found.t_ns.tolist() == [(T0 * 10 + tenth) * 10**8 for tenth in (1, 6, 11)]
    assert found.value.tolist() == [230.11, 230.39, 231.47]
    assert found.half_ns.tolist() == [500_000] * 3  # a stamp with three digits is off by half a millisecond


def test_a_sum_contains_its_elements(tmp_path: Path) -> None:
    text = "Store No.,Date,Time,Millisecond,P-1,P-2,P-SIGMA,PF-1\n1,2026/11/21,14:00:00,0,100,200,300,0.9\n"
    found = csv.load(written(tmp_path, text * 1), {"zone": "UTC"})
    assert {one.channel.id: one.channel.within for one in found} == {
        "csv/P-1": "csv/P-SIGMA",
        "csv/P-2": "csv/P-SIGMA",
        "csv/P-SIGMA": "",
    }


def test_semicolons_decimal_commas_and_german_names(tmp_path: Path) -> None:
    head = "Zähler: LMG500\n\nDatum;Zeit;P1 [kW];WP [kWh]\n"
    text = head + "21.11.2026;14:00:00,5;1.234,5;0,001\n21.11.2026;14:00:01,5;0,75;0,002\n"
    power, energy = csv.load(written(tmp_path, text), {"zone": "Europe/Berlin"})
    assert power.value.tolist() == [1_234_500.0, 750.0]
    assert energy.channel.scope == "counter" and energy.value.tolist() == pytest.approx([3600.0, 7200.0])
    assert power.t_ns[0] == (T0 * 10 + 5) * 10**8


def test_units_in_a_row_of_their_own(tmp_path: Path) -> None:
    text = "Time\tU\tI\tP\n\tV\tA\tkW\n2026-11-21T13:00:00Z\t230\t1\t0.23\n2026-11-21T13:00:01Z\t230\t2\t0.46\n"
    (found,) = csv.load(written(tmp_path, text))
    assert found.channel.id == "csv/P" and found.value.tolist() == [230.0, 460.0]


@pytest.mark.parametrize(
    ("head", "unit"),
    [("power_w", 1), ("Watts", 1), ("Power (kW)", 1e3), ("P/mW", 1e-3), ("node power [W]", 1), ("pdu.kW", None)],
)
def test_units_in_names(tmp_path: Path, head: str, unit: float | None) -> None:
    path = written(tmp_path, f"timestamp,{head}\n{T0},2\n{T0 + 1},4\n")
    if unit is None:
        with pytest.raises(BadInput, match="no column of power"):
            csv.load(path)
        return
    (found,) = csv.load(path)
    assert found.value.tolist() == [2 * unit, 4 * unit] and found.channel.quantity == "power"


def test_a_power_without_a_unit_is_refused_and_then_told(tmp_path: Path) -> None:
    path = written(tmp_path, f"timestamp,power\n{T0},2\n{T0 + 1},4\n")
    with pytest.raises(BadInput, match="gives no unit"):
        csv.load(path)
    (found,) = csv.load(path, {"unit": "kW"})
    assert found.value.tolist() == [2000.0, 4000.0]


def test_a_file_without_a_header_by_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, f"{T0} 5 100.5\n{T0 + 2} 5 101.5\n", "log.txt")
    (found,) = csv.load(path, {"time": "1", "column": "3", "unit": "W", "scope": "last", "place": "rack", "host": "r1"})
    assert found.value.tolist() == [100.5, 101.5]
    assert (found.channel.place, found.channel.host, found.channel.window_s) == ("rack", "r1", 2.0)


@pytest.mark.parametrize("scale", [1, 10**3, 10**6, 10**9])
def test_unix_stamps_in_any_unit(tmp_path: Path, scale: int) -> None:
    path = written(tmp_path, table([(str(T0 * scale), 1), (str((T0 + 1) * scale), 2)]))
    assert csv.load(path)[0].t_ns.tolist() == [T0 * 10**9, (T0 + 1) * 10**9]


def test_stamps_that_count_from_the_start(tmp_path: Path) -> None:
    path = written(tmp_path, table([("0.0", 1), ("0.1", 2)]))
    with pytest.raises(BadInput, match="count from the start"):
        csv.load(path)
    target = parse_target(f"csv:{path}?start=2026-11-21T14:00:00+01:00")  # the plus becomes a blank
    assert csv.load(target)[0].t_ns.tolist() == [T0 * 10**9, T0 * 10**9 + 10**8]


def test_parquet_of_others_and_of_ours(tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    with duckdb.connect() as db:
        db.execute(
            "copy (select timestamptz '2026-11-21 13:00:00+00' + to_seconds(i) as ts, 100.0 + i as power_w "
            f"from range(3) t(i)) to '{other}' (format parquet)"
        )
        db.execute(
            "copy (select timestamp '2026-11-21 14:00:00' + to_seconds(i) as ts, 100.0 + i as power_w "
            f"from range(3) t(i)) to '{tmp_path}/naive.parquet' (format parquet)"
        )
    (found,) = csv.load(other, {"time": "ts"})
    assert found.t_ns.tolist() == [(T0 + second) * 10**9 for second in range(3)]
    with pytest.raises(BadInput, match="without a zone"):
        csv.load(tmp_path / "naive.parquet", {"time": "ts"})
    (local,) = csv.load(tmp_path / "naive.parquet", {"time": "ts", "zone": "Europe/Berlin"})
    assert local.t_ns.tolist() == found.t_ns.tolist() and local.value.tolist() == [100, 101, 102]
    traces.write(tmp_path / "ours.parquet", [found])
    (back,) = csv.load(tmp_path / "ours.parquet")
    assert back.channel == found.channel and back.value.tolist() == found.value.tolist()


# ------------------------------------------------------------------------------------------------------------ time zones


def test_local_time_needs_its_zone(tmp_path: Path) -> None:
    path = written(tmp_path, table([("2026-11-21 14:00:00", 1), ("2026-11-21 14:00:01", 2)]))
    with pytest.raises(BadInput, match="without a zone") as refused:
        csv.load(path)
    assert "zone=" in refused.value.hint
    for zone in ("Europe/Berlin", "+01:00", " 01:00"):
        assert csv.load(path, {"zone": zone})[0].t_ns[0] == T0 * 10**9
    with pytest.raises(BadInput, match="no time zone"):
        csv.load(path, {"zone": "Europe/Munich"})


def autumn(first: int, last: int, every: int = 600) -> list[tuple[str, int]]:
    """Local stamps around the end of summer time 2026 in Berlin (01:00 UTC on 25 October), from and to seconds before it."""
    begin = int(datetime.datetime(2026, 10, 25, 1, tzinfo=datetime.UTC).timestamp())
    return [
        (datetime.datetime.fromtimestamp(begin + second, BERLIN).strftime("%Y-%m-%d %H:%M:%S"), second)
        for second in range(first, last, every)
    ]


@pytest.mark.parametrize(("first", "last"), [(-7200, 7200), (-3000, 7200), (600, 7200), (-7200, 600)])
def test_the_hour_that_occurs_twice_is_told_apart_by_order(tmp_path: Path, first: int, last: int) -> None:
    rows = autumn(first, last)
    found = csv.examine(written(tmp_path, table(rows)), {"zone": "Europe/Berlin"})
    steps = np.diff(found.traces[0].t_ns)
    assert np.all(steps == 600 * 10**9)
    assert found.traces[0].value.tolist() == [second for _, second in rows]
    assert "hour-twice" in codes(found)


def test_an_hour_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, table([("2026-03-29 01:59:59", 1), ("2026-03-29 02:30:00", 2)]))
    with pytest.raises(BadInput, match="does not exist") as refused:
        csv.load(path, {"zone": "Europe/Berlin"})
    assert "+01:00" in refused.value.hint
    assert len(csv.load(path, {"zone": "+01:00"})[0]) == 2


def test_a_clock_with_summer_time_and_a_fixed_zone_is_found_out(tmp_path: Path) -> None:
    path = written(tmp_path, table(autumn(-7200, 7200)))
    with pytest.raises(BadInput, match=r"falls back by 3\d00 s.*12 of 24 readings"):
        csv.load(path, {"zone": "+02:00"})
    found = csv.examine(path, {"zone": "+02:00", "jump": "correct"})
    assert np.all(np.diff(found.traces[0].t_ns) == 600 * 10**9) and "clock-set" in codes(found)


def test_a_leap_of_an_hour_is_said_and_taken_out_on_request(tmp_path: Path) -> None:
    stamps = [T0 + second + (3600 if second >= 50 else 0) for second in range(100)]
    path = written(tmp_path, table([(str(stamp), 1) for stamp in stamps]))
    assert codes(csv.examine(path)) == ["hour-leap"]
    corrected = csv.examine(path, {"jump": "correct"})
    assert np.all(np.diff(corrected.traces[0].t_ns) == 10**9) and codes(corrected) == ["clock-set"]


def test_a_clock_that_was_set_back_is_refused(tmp_path: Path) -> None:
    stamps = [T0 + second - (40 if second >= 50 else 0) for second in range(100)]
    path = written(tmp_path, table([(str(stamp), n) for n, stamp in enumerate(stamps)]))
    with pytest.raises(BadInput, match=r"falls back by 39 s at reading 51: 40 of 100 readings \(40.0%\)"):
        csv.load(path)
    for name in ("correct", "mend"):  # mend: its name in 0.1.0
        found = csv.load(path, {"jump": name})[0]
        assert np.all(np.diff(found.t_ns) == 10**9) and found.value.tolist() == list(range(100))
    with pytest.raises(BadInput, match="unknown value of jump= 'corect'"):
        csv.load(path, {"jump": "corect"})


def test_two_offsets_are_taken_at_their_word_and_a_missing_one_is_not(tmp_path: Path) -> None:
    rows: list[tuple[str, object]] = [("2026-10-25T02:59:59+02:00", 1), ("2026-10-25T02:00:00+01:00", 2)]
    found = csv.examine(written(tmp_path, table(rows)))
    assert np.diff(found.traces[0].t_ns).tolist() == [10**9] and codes(found) == ["zones"]
    with pytest.raises(BadInput, match="1 of 3 stamps name no zone"):
        csv.load(written(tmp_path, table([*rows, ("2026-10-25T02:00:01", 3)])))


def test_day_or_month_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, table([("03/04/2026 10:00:00", 1), ("03/04/2026 10:00:01", 2)]))
    with pytest.raises(BadInput, match="day or with the month"):
        csv.load(path, {"zone": "UTC"})
    (found,) = csv.load(path, {"zone": "UTC", "format": "%d/%m/%Y %H:%M:%S"})
    assert found.t_ns[0] == int(datetime.datetime(2026, 4, 3, 10, tzinfo=datetime.UTC).timestamp()) * 10**9
    clear = written(tmp_path, table([("03/04/2026 10:00:00", 1), ("03/14/2026 10:00:00", 2)]))
    month = int(datetime.datetime(2026, 3, 4, 10, tzinfo=datetime.UTC).timestamp()) * 10**9
    assert csv.load(clear, {"zone": "UTC"})[0].t_ns[0] == month


@given(
    st.datetimes(datetime.datetime(1990, 1, 1), datetime.datetime(2200, 1, 1)),
    st.sampled_from([datetime.UTC, BERLIN, ZoneInfo("Asia/Kathmandu"), ZoneInfo("America/St_Johns")]),
)
def test_a_stamp_with_its_offset_is_read_exactly(moment: datetime.datetime, zone: datetime.tzinfo) -> None:
    from shakedown.metering.meters import _csv_time as times

    aware = moment.replace(tzinfo=zone)
    offset = aware.utcoffset()
    assert offset is not None
    text = aware.isoformat(" ", "microseconds")
    if offset.seconds % 60:
        return  # ISO 8601 has no seconds of offset
    found = times.Clock(times.Spec("stamp", order="ymd")).read(text)
    micros = (moment - offset - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    assert found is not None and found.ns == micros * 1000


# --------------------------------------------------------------------------------------------------------------- values


def test_marks_are_states_and_never_zeros(tmp_path: Path) -> None:
    cells = ["100", "-OL-", "----", "9.9E37", "INF", "NaN", "", "9.91E37", "Error", "101"]
    path = written(tmp_path, table([(str(T0 + n), cell) for n, cell in enumerate(cells)]))
    found = csv.examine(path)
    over, gap = Status.OVERRANGE, Status.GAP
    assert found.traces[0].status.tolist() == [Status.OK, over, over, over, over, gap, gap, gap, gap, Status.OK]
    assert np.isnan(found.traces[0].value[1:9]).all()
    (notice,) = [one for one in found.notices if one.code == "no-value"]
    assert "8 of 10" in notice.text and "'-OL-'" in notice.text


def test_spl_says_not_measured_with_minus_one(tmp_path: Path) -> None:
    lines = [
        f"Time,11-21-2026 13:00:0{n}.000,Watts,{w},Volts,230,Amps,1,PF,1" for n, w in enumerate(("100", "-1.0", "102"))
    ]
    (found,) = csv.load(written(tmp_path, "\n".join(lines), "spl.txt"), {"zone": "UTC"})
    assert found.status.tolist() == [Status.OK, Status.UNSUPPORTED, Status.OK]


def test_disorder_and_copies_are_mended_and_counted(tmp_path: Path) -> None:
    seconds = [0, 1, 3, 2, 4, 5, 5, 6, 7]
    found = csv.examine(written(tmp_path, table([(str(T0 + s), s * 10) for s in seconds])))
    assert found.traces[0].value.tolist() == [s * 10 for s in range(8)]
    assert codes(found) == ["unordered", "duplicates"]
    assert "1 of 9 stamps (11.11%)" in found.notices[0].text and "by up to 1 s" in found.notices[0].text


def test_whole_seconds_that_hold_two_readings_keep_both(tmp_path: Path) -> None:
    path = written(
        tmp_path, table([("2026-11-21T13:00:00Z", 1), ("2026-11-21T13:00:00Z", 2), ("2026-11-21T13:00:01Z", 3)])
    )
    found = csv.examine(path)
    assert found.traces[0].value.tolist() == [1, 2, 3] and codes(found) == ["coarse-stamps"]
    assert found.traces[0].half_ns.tolist() == [500_000_000] * 3


def test_a_line_that_was_cut_off_is_left_out_and_said(tmp_path: Path) -> None:
    text = (
        table([(str(T0 + n), 100 + n) for n in range(9)], "time,a [V],power [W]").replace(",10", ",230,10")
        + f"{T0 + 9}"
    )
    found = csv.examine(written(tmp_path, text))
    assert len(found.traces[0]) == 9 and codes(found) == ["lines-left-out"]


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", {}, "no lines"),
        ("hello\nworld\n", {}, "no line holds numbers"),
        ("a,b\n1,2\n3,4\n", {}, "no column of stamps"),
        (f"time,x [W]\n{T0},hi\n{T0 + 1},ho\n", {}, "holds no number|no line holds numbers"),
        (f"time,x [W]\n{T0},1\n{T0 + 1},2\n", {"column": "y"}, "unknown column"),
        (f"time,x [W]\n{T0},1\n{T0 + 1},2\n", {"scope": "average"}, "unknown scope"),
        (f"time,x [W]\n{T0},1\n{T0 + 1},2\n", {"modulus": "-3"}, "modulus=-3"),
    ],
)
def test_what_is_no_meters_file_is_refused(tmp_path: Path, text: str, options: dict[str, str], words: str) -> None:
    with pytest.raises(BadInput, match=words) as refused:
        csv.load(written(tmp_path, text), options)
    assert refused.value.hint


def test_a_load_says_what_was_noticed_in_the_channel(tmp_path: Path) -> None:
    (found,) = csv.load(written(tmp_path, table([(str(T0 + n), n) for n in (0, 1, 1, 2)])))
    assert "repeat stamp and values" in found.channel.note


# --------------------------------------------------------------------------------------------------------- files that grow


def test_a_file_that_grows_is_followed(tmp_path: Path) -> None:
    path = written(tmp_path, table([(str(T0), 1), (str(T0 + 1), 2)]))
    source = csv.METER.open(parse_target(f"csv:{path}"), RealHost())
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
    door = RealHost()
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
            csv.METER.open(parse_target(f"csv:{path}"), RealHost())
    with pytest.raises(BadInput, match="without a zone"):
        csv.METER.open(parse_target(f"csv:{written(tmp_path, table([('2026-11-21 14:00:00', 1)] * 2))}"), RealHost())


# ------------------------------------------------------------------------------------------------------------- simulated


def simulated(folder: Path, **script: object) -> Path:
    path = folder / "load.json"
    path.write_text(json.dumps({"start_ns": 0, "load": {"t_s": [0, 10, 20], "w": [100, 300, 100]}, **script}))
    return path


class At(RealHost):
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
            meters.get("simulated").open(parse_target(f"simulated:{written(tmp_path, text)}"), RealHost())


def test_the_end_of_an_old_recording_is_no_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of last year, followed from its start: its readings, and no gaps of today behind them."""
    file = tmp_path / "old.csv"
    file.write_text("time,power_w\n" + "".join(f"2025-03-01T10:00:{s:02}Z,{300 + s}\n" for s in range(40)))
    now = [1_790_000_000 * 10**9]
    door = RealHost()
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
