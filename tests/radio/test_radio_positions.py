"""Positions as others send them: NMEA, lines of JSON, traces in four forms; what is wrong is named, and counted by cause."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import BadInput
from shakedown.radio.wire import lines, nmea, traces
from shakedown.radio.wire.malformed import Malformed

#: Sentences that are in the public manuals of receivers.
GGA = "$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47"
RMC = "$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A"


def signed(body: str) -> str:
    return f"${body}*{nmea.checksum(body)}"


def test_sentences_of_the_manuals() -> None:
    second = 12 * 3600 + 35 * 60 + 19
    place = (48 + 7.038 / 60, 11 + 31 / 60)
    assert nmea.read(GGA) == nmea.Fix(None, *place, 545.4, second)
    assert nmea.read(f"  {RMC}\r\n") == nmea.Fix(None, *place, None, second)
    found = nmea.read(signed("GNGLL,3723.2475,S,12158.3416,W,161229.487,A,A"))
    assert found == nmea.Fix(None, -(37 + 23.2475 / 60), -(121 + 58.3416 / 60), None, 58349.487)


def test_talkers_are_told_apart_by_a_prefix_or_a_tag_block() -> None:
    tag = "s:300,c:1700000000"
    for line, radio in ((f"7:{GGA}", 7), (f"65534: {GGA}", 65534), (f"\\{tag}*{nmea.checksum(tag)}\\{GGA}", 300)):
        found = nmea.read(line)
        assert found is not None and found.radio == radio


def test_sentences_without_a_fix_and_of_other_kinds_are_none() -> None:
    for body in ("GPGGA,123519,,,,,0,00,,,M,,M,,", "GPRMC,123519,V,,,,,,,230394,,", "GPGSV,1,1,00", "PGRME,15.0,M"):
        assert nmea.read(signed(body)) is None


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (GGA.replace("*47", "*48"), "checksum"),
        (GGA.replace("*47", ""), "checksum"),
        (GGA.replace("4807", "4907"), "checksum"),
        ("hello", "begin with"),
        (f"0:{GGA}", "65534"),
        (f"65535:{GGA}", "65534"),
        (f"\\s:7*00\\{GGA}", "checksum"),
        (signed("GPGGA,123519,4860.000,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,"), "angle"),
        (signed("GPGGA,123519,9100.000,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,"), "angle"),
        (signed("GPGGA,123519,4807.038,X,01131.000,E,1,08,0.9,545.4,M,46.9,M,,"), "hemisphere"),
        (signed("GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,high,M,46.9,M,,"), "altitude"),
        (signed("GPGGA,253519,4807.038,N,01131.000,E,1,08,0.9,5,M,46.9,M,,"), "time"),
        (signed("GPGGA,123519,4807.038,N"), "fields missing"),
        ("$" + "x" * 600, "too long"),
    ],
)
def test_what_is_wrong_with_a_sentence_is_its_cause(line: str, cause: str) -> None:
    with pytest.raises(Malformed, match=cause):
        nmea.read(line)


LATITUDES, LONGITUDES = st.floats(-90, 90), st.floats(-180, 180)


@given(LATITUDES, LONGITUDES, st.floats(-500, 9000), st.none() | st.integers(1, 65534), st.floats(0, 86399.99))
def test_a_sentence_that_is_written_is_read_within_a_centimetre(
    latitude: float, longitude: float, altitude_m: float, radio: int | None, second: float
) -> None:
    found = nmea.read(nmea.write(radio, latitude, longitude, altitude_m, second))
    assert found is not None and found.radio == radio and found.altitude_m is not None
    assert abs(found.latitude_deg - latitude) < 1e-9 and abs(found.longitude_deg - longitude) < 1e-9
    assert abs(found.altitude_m - altitude_m) < 0.001
    assert found.second_of_day is not None and abs(found.second_of_day - second) < 0.0051


# ------------------------------------------------------------------------------------------------------------------ lines


@given(
    st.builds(lines.Position, st.integers(1, 65534), LATITUDES, LONGITUDES, st.none() | st.floats(-10, 1e4),
              st.none() | st.floats(-10, 1e4), st.none() | st.floats(0, 1e9))
)  # fmt: skip
def test_a_position_that_is_written_is_read_again(position: lines.Position) -> None:
    assert lines.read_position(lines.write_position(position)) == position


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 3000, "not"),
        (b"[1, 2]", "without id"),
        (b'{"id": 1, "latitude_deg": NaN, "longitude_deg": 1}', "not JSON"),
        (b'{"id": 1, "latitude_deg": 1e999, "longitude_deg": 1}', "not"),
        (b'{"id": 1, "latitude_deg": "48", "longitude_deg": 1}', "without id"),
        (b'{"id": 0, "latitude_deg": 48, "longitude_deg": 1}', "65534"),
        (b'{"id": 65535, "latitude_deg": 48, "longitude_deg": 1}', "65534"),
        (b" " * 5000, "too long"),
    ],
)
def test_what_is_wrong_with_a_line_is_its_cause(line: bytes, cause: str) -> None:
    with pytest.raises(Malformed, match=cause):
        lines.read_position(line)


@given(st.integers(0, 3 * lines.MOST_LINKS), st.booleans())
def test_losses_are_split_into_lines_and_none_is_lost(count: int, whole: bool) -> None:
    first = np.arange(1, count + 1)
    loss_db = np.linspace(50, 150, count).astype(np.float32)
    loss_db[::7] = np.nan
    made = lines.write_losses(1.5, 3, first, first + 1, loss_db, whole=whole, skipped=2)
    read = [lines.read_losses(line) for line in made]
    assert [one.part for one in read] == list(range(1, len(read) + 1)) and all(one.parts == len(read) for one in read)
    links = [link for one in read for link in one.links]
    assert [link[:2] for link in links] == [(one, one + 1) for one in range(1, count + 1)]
    for (_, _, loss), expected in zip(links, loss_db.tolist(), strict=True):
        assert loss is None if math.isnan(expected) else abs(loss - expected) < 0.00501  # type: ignore[operator]
    assert all((one.whole, one.update, one.skipped) == (whole, 3, 2) for one in read)


# ----------------------------------------------------------------------------------------------------------------- traces

CSV = "time_s,id,latitude_deg,longitude_deg,height_m\n1,7,48,11,2\n0,7,47,11,2\n0,9,47.5,11.5,\n"


def test_a_trace_is_the_same_in_each_form(tmp_path: Path) -> None:
    rows = [lines.Position(7, 48.0, 11.0, altitude_m=600.0, time_s=1.0),
            lines.Position(7, 47.0, 11.0, altitude_m=600.0, time_s=0.0),
            lines.Position(9, 47.5, 11.5, altitude_m=610.0, time_s=0.0)]  # fmt: skip
    traces.write(tmp_path / "t.jsonl", rows)
    by_time = [rows[1], rows[2], rows[0]]
    (tmp_path / "t.csv").write_text(
        "id,time_s,altitude_m,latitude_deg,longitude_deg\n"
        + "".join(f"{one.id},{one.time_s},{one.altitude_m},{one.latitude_deg},{one.longitude_deg}\n" for one in rows)
    )
    (tmp_path / "t.eel").write_text(
        "".join(
            f"{one.time_s} nem:{one.id} location gps {one.latitude_deg},{one.longitude_deg},{one.altitude_m}\n"
            for one in by_time
        )
    )
    (tmp_path / "t.nmea").write_text(
        "".join(nmea.write(one.id, one.latitude_deg, one.longitude_deg, 0, one.time_s or 0) + "\n" for one in by_time)
    )
    for ending in ("jsonl", "csv", "eel", "nmea"):
        trace = traces.load(tmp_path / f"t.{ending}")
        assert trace.time_s.tolist() == [0, 0, 1] and trace.radio.tolist() == [7, 9, 7] and trace.duration_s == 1
        assert trace.latitude_deg == pytest.approx([47, 47.5, 48]) and np.isnan(trace.height_m).all()
        assert ending == "nmea" or trace.altitude_m.tolist() == [600, 610, 600]


def test_heights_that_are_not_given_are_not_known(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    trace = traces.load(tmp_path / "t.csv")
    assert trace.height_m[0] == 2 and math.isnan(trace.height_m[1]) and np.isnan(trace.altitude_m).all()


def test_midnight_passes_in_a_trace_of_nmea(tmp_path: Path) -> None:
    (tmp_path / "t.nmea").write_text("".join(nmea.write(1, 1, 1, 1, second) + "\n" for second in (86399, 0, 1)))
    assert traces.load(tmp_path / "t.nmea").time_s.tolist() == [86399, 86400, 86401]


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("t.txt", "x", "ending"),
        ("t.csv", "", "no column time_s"),
        ("t.csv", "time_s,id,latitude_deg\n", "no column longitude_deg"),
        ("t.csv", CSV.splitlines()[0], "no positions"),
        ("t.csv", CSV + "2,7,48\n", "line 5: has 3 columns"),
        ("t.csv", CSV + "2,7,nan,11,2\n", "line 5: 'nan' is not a number"),
        ("t.csv", CSV + "2,65535,48,11,2\n", "line 5: the id '65535'"),
        ("t.jsonl", '{"id": 1, "latitude_deg": 1, "longitude_deg": 1}\n', "line 1: has no time_s"),
        ("t.jsonl", '\n{"id": 1', "line 2: not JSON"),
        ("t.nmea", GGA, "line 1: has no id before the $"),
        ("t.nmea", f"7:{GGA[:-1]}0", "line 1: has a checksum"),
        ("t.eel", "0 nem:1 pathloss nem:2,90\n", "no positions"),
    ],
)
def test_what_is_wrong_with_a_trace_is_named_with_its_line(tmp_path: Path, name: str, text: str, what: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadInput) as error:
        traces.load(tmp_path / name)
    assert what in str(error.value)
