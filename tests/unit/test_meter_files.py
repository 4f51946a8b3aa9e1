"""Files of meters: every dialect gives its values, and what is wrong with a file is refused or said with its share."""

from __future__ import annotations

import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import BadInput
from shakedown.hosts.access import LocalHost, ReplayHost
from shakedown.metering import meters
from shakedown.metering.meters import Status, csv, parse_target
from support.meter_tables import T0, read, table, written

BERLIN = ZoneInfo("Europe/Berlin")


# ------------------------------------------------------------------------------------------------------------- dialects


@pytest.mark.parametrize("name", ["csv", "simulated"])
def test_a_recording_gives_what_it_holds(name: str, recordings: Path) -> None:
    meter = meters.get(name)
    assert meter.samples
    for sample in meter.samples:
        source = meter.open(parse_target(sample.target), ReplayHost(recordings / sample.recording))
        got = {
            source.channels[one.channel].id: one.value if one.status is Status.OK else one.status.name
            for one in source.read()
        }
        assert got == {
            key: pytest.approx(value) if isinstance(value, float) else value for key, value in sample.expect.items()
        }


def test_a_yokogawa_file_has_its_interval_before_the_stamp(recordings: Path) -> None:
    (found,) = read(recordings / "meters/csv/wt310.csv", {"zone": "Europe/Berlin"})
    assert found.channel.scope == "last"
    assert found.t_ns.tolist() == [(T0 * 10 + tenth) * 10**8 for tenth in (1, 6, 11)]
    assert found.value.tolist() == [230.11, 230.39, 231.47]


def test_a_sum_contains_its_elements(tmp_path: Path) -> None:
    text = "Store No.,Date,Time,Millisecond,P-1,P-2,P-SIGMA,PF-1\n1,2026/11/21,14:00:00,0,100,200,300,0.9\n"
    found = read(written(tmp_path, text * 1), {"zone": "UTC"})
    assert {one.channel.id: one.channel.within for one in found} == {
        "csv/P-1": "csv/P-SIGMA",
        "csv/P-2": "csv/P-SIGMA",
        "csv/P-SIGMA": "",
    }


def test_a_columns_name_without_end_is_cut(tmp_path: Path) -> None:
    """Brackets that do not close are searched from each: 40,000 of them took ten seconds."""
    text = f"Store No.,Date,Time,Millisecond,P-1{'[' * 20_000},P-1{'[' * 25_000}\n1,2026/11/21,14:00:00,0,100,200\n"
    found = read(written(tmp_path, text), {"zone": "UTC", "unit": "W"})
    assert [one.value.tolist() for one in found] == [[100], [200]]
    assert {len(one.channel.title) for one in found} == {200} and len({one.channel.id for one in found}) == 2


def test_semicolons_decimal_commas_and_german_names(tmp_path: Path) -> None:
    head = "Zähler: LMG500\n\nDatum;Zeit;P1 [kW];WP [kWh]\n"
    text = head + "21.11.2026;14:00:00,5;1.234,5;0,001\n21.11.2026;14:00:01,5;0,75;0,002\n"
    power, energy = read(written(tmp_path, text), {"zone": "Europe/Berlin"})
    assert power.value.tolist() == [1_234_500.0, 750.0]
    assert energy.channel.scope == "counter" and energy.value.tolist() == pytest.approx([3600.0, 7200.0])
    assert power.t_ns[0] == (T0 * 10 + 5) * 10**8


def test_units_in_a_row_of_their_own(tmp_path: Path) -> None:
    text = "Time\tU\tI\tP\n\tV\tA\tkW\n2026-11-21T13:00:00Z\t230\t1\t0.23\n2026-11-21T13:00:01Z\t230\t2\t0.46\n"
    (found,) = read(written(tmp_path, text))
    assert found.channel.id == "csv/P" and found.value.tolist() == [230.0, 460.0]


@pytest.mark.parametrize(
    ("head", "unit"),
    [("power_w", 1), ("Watts", 1), ("Power (kW)", 1e3), ("P/mW", 1e-3), ("node power [W]", 1), ("pdu.kW", None)],
)
def test_units_in_names(tmp_path: Path, head: str, unit: float | None) -> None:
    path = written(tmp_path, f"timestamp,{head}\n{T0},2\n{T0 + 1},4\n")
    if unit is None:
        with pytest.raises(BadInput, match="no column of power"):
            read(path)
        return
    (found,) = read(path)
    assert found.value.tolist() == [2 * unit, 4 * unit] and found.channel.quantity == "power"


def test_a_power_without_a_unit_is_refused_and_then_told(tmp_path: Path) -> None:
    path = written(tmp_path, f"timestamp,power\n{T0},2\n{T0 + 1},4\n")
    with pytest.raises(BadInput, match="gives no unit"):
        read(path)
    (found,) = read(path, {"unit": "kW"})
    assert found.value.tolist() == [2000.0, 4000.0]


def test_a_file_without_a_header_by_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, f"{T0} 5 100.5\n{T0 + 2} 5 101.5\n", "log.txt")
    (found,) = read(path, {"time": "1", "column": "3", "unit": "W", "scope": "last", "place": "rack", "host": "r1"})
    assert found.value.tolist() == [100.5, 101.5]
    assert (found.channel.place, found.channel.host) == ("rack", "r1")


@pytest.mark.parametrize("scale", [1, 10**3, 10**6, 10**9])
def test_unix_stamps_in_any_unit(tmp_path: Path, scale: int) -> None:
    path = written(tmp_path, table([(str(T0 * scale), 1), (str((T0 + 1) * scale), 2)]))
    assert read(path)[0].t_ns.tolist() == [T0 * 10**9, (T0 + 1) * 10**9]


def test_stamps_that_count_from_the_start(tmp_path: Path) -> None:
    path = written(tmp_path, table([("0.0", 1), ("0.1", 2)]))
    with pytest.raises(BadInput, match="count from the start"):
        read(path)
    target = parse_target(f"csv:{path}?start=2026-11-21T14:00:00+01:00")  # the plus becomes a blank
    assert read(path, target.options)[0].t_ns.tolist() == [T0 * 10**9, T0 * 10**9 + 10**8]


# ------------------------------------------------------------------------------------------------------------ time zones


def test_local_time_needs_its_zone(tmp_path: Path) -> None:
    path = written(tmp_path, table([("2026-11-21 14:00:00", 1), ("2026-11-21 14:00:01", 2)]))
    with pytest.raises(BadInput, match="without a zone") as refused:
        read(path)
    assert "zone=" in refused.value.hint
    for zone in ("Europe/Berlin", "+01:00", " 01:00"):
        assert read(path, {"zone": zone})[0].t_ns[0] == T0 * 10**9
    with pytest.raises(BadInput, match="no time zone"):
        read(path, {"zone": "Europe/Munich"})


def autumn(first: int, last: int, every: int = 600) -> list[tuple[str, int]]:
    """Local stamps around the end of summer time 2026 in Berlin (01:00 UTC on 25 October), from and to seconds before it."""
    begin = int(datetime.datetime(2026, 10, 25, 1, tzinfo=datetime.UTC).timestamp())
    return [
        (datetime.datetime.fromtimestamp(begin + second, BERLIN).strftime("%Y-%m-%d %H:%M:%S"), second)
        for second in range(first, last, every)
    ]


@pytest.mark.parametrize(("first", "last"), [(-7200, 7200), (-7200, 600)])
def test_the_hour_that_occurs_twice_is_told_apart_by_order(tmp_path: Path, first: int, last: int) -> None:
    rows = autumn(first, last)
    (found,) = read(written(tmp_path, table(rows)), {"zone": "Europe/Berlin"})
    assert np.all(np.diff(found.t_ns) == 600 * 10**9)
    assert found.value.tolist() == [second for _, second in rows]


def test_the_time_of_reading_stands_in_for_an_hour_that_does_not_exist(tmp_path: Path) -> None:
    path = written(tmp_path, table([("2026-03-29 01:59:59", 1), ("2026-03-29 02:30:00", 2)]))
    source = csv.METER.open(parse_target(f"csv:{path}?zone=Europe/Berlin&begin=start"), LocalHost())
    assert [one.device_ns is None for one in source.read()] == [False, True]
    (found,) = read(path, {"zone": "+01:00"})
    assert np.diff(found.t_ns).tolist() == [1801 * 10**9]


def test_two_offsets_are_taken_at_their_word(tmp_path: Path) -> None:
    rows: list[tuple[str, object]] = [("2026-10-25T02:59:59+02:00", 1), ("2026-10-25T02:00:00+01:00", 2)]
    (found,) = read(written(tmp_path, table(rows)))
    assert np.diff(found.t_ns).tolist() == [10**9]


def test_day_or_month_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, table([("03/04/2026 10:00:00", 1), ("03/04/2026 10:00:01", 2)]))
    with pytest.raises(BadInput, match="day or with the month"):
        read(path, {"zone": "UTC"})
    (found,) = read(path, {"zone": "UTC", "format": "%d/%m/%Y %H:%M:%S"})
    assert found.t_ns[0] == int(datetime.datetime(2026, 4, 3, 10, tzinfo=datetime.UTC).timestamp()) * 10**9
    clear = written(tmp_path, table([("03/04/2026 10:00:00", 1), ("03/14/2026 10:00:00", 2)]))
    month = int(datetime.datetime(2026, 3, 4, 10, tzinfo=datetime.UTC).timestamp()) * 10**9
    assert read(clear, {"zone": "UTC"})[0].t_ns[0] == month


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


def test_nul_bytes_at_the_begin_are_no_text_and_further_on_lost_lines(tmp_path: Path) -> None:
    text = ("time,power_w\n" + "".join(f"{T0 + i},{300 + i}\n" for i in range(40))).encode()
    for spoiled in (b"\0" + text, text[:5] + b"\0" + text[5:], text.decode().encode("utf-16-le"), b"\0" * 500):
        (tmp_path / "a.csv").write_bytes(spoiled)
        with pytest.raises(BadInput, match="NUL bytes"):
            meters.get("csv").open(parse_target(f"csv:{tmp_path}/a.csv"), LocalHost())
    cut = text.rfind(b"\n", 0, -1) + 1
    for spoiled, last in (
        (text + b"\0" * 100 + b"\n", 339.0),  # a crash, and nothing since
        (text + b"\0" * 100 + b"%d,351\n" % (T0 + 50), 351.0),  # a crash, and the logger began again
        (text[:cut] + b"\0" * 4096 + b"\n" + text[cut:], 339.0),
        (text[:-3] + b"\0" + text[-3:], None),
    ):
        (tmp_path / "a.csv").write_bytes(spoiled)
        (one,) = meters.get("csv").open(parse_target(f"csv:{tmp_path}/a.csv"), LocalHost()).read()
        assert one.value == last and one.status is (Status.GAP if last is None else Status.OK)
