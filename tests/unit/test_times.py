"""Times: read in every form, on the clocks of every zone, and written with their offset."""

from __future__ import annotations

import datetime
import itertools
import subprocess
import sys
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown import times
from shakedown.document.axes import time_axis
from shakedown.errors import BadInput

BERLIN = "Europe/Berlin"
AUTUMN = 1_792_890_000  # 2026-10-25T01:00:00Z, when Berlin's clocks go back from 03:00 to 02:00


@given(
    st.integers(0, 4_000_000_000),
    st.sampled_from([BERLIN, "America/St_Johns", "Asia/Kathmandu", "UTC", "Australia/Lord_Howe"]),
)
def test_what_is_written_with_its_offset_is_the_same_time_when_read(at_s: int, zone: str) -> None:
    text = times.stamp(at_s, zone)
    assert times.unix_s(text, "", "here") == at_s == times.parse(text, "", "--begin") // 10**9
    assert times.minute(at_s, zone) == text[:16]
    assert times.unix_s(times.utc(at_s), "", "here") == at_s
    fold = times.local(at_s, zone).fold
    naive = text[:-6]
    assert times.unix_s(naive, zone, "here", later=bool(fold)) == at_s
    assert times.in_form(naive, "%Y-%m-%d %H:%M:%S", zone, later=bool(fold)) == at_s


@pytest.mark.parametrize(
    ("text", "offset_h"),
    [("UTC", 0), (" z ", 0), ("gmt", 0), ("+02:00", 2), ("-0330", -3.5), (" 02:00", 2), ("Asia/Tokyo", 9)],
)
def test_zones_by_name_and_by_offset(text: str, offset_h: float) -> None:
    assert times.offset_s(AUTUMN, times.zone(text)) == offset_h * 3600


@pytest.mark.parametrize(
    "text", ["", "Mars/Olympus", "+2", "+99:99", "24:00", "../../etc/passwd", "Europe", "Europe/Ber.lin" + "." * 2000]
)
def test_a_zone_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="time zone"):
        times.zone(text, "--zone")


def test_the_hour_that_comes_twice_and_the_one_that_never_was() -> None:
    assert times.unix_s("2026-10-25T02:30:00", BERLIN, "x") == AUTUMN - 1800
    assert times.unix_s("2026-10-25T02:30:00", BERLIN, "x", later=True) == AUTUMN + 1800
    (spring, autumn) = times.changes(BERLIN, AUTUMN - 300 * times.DAY_S, AUTUMN + 1)
    assert autumn == times.Change(AUTUMN, 7200, 3600) and (spring.before_s, spring.after_s) == (3600, 7200)
    assert times.changes(BERLIN, AUTUMN, AUTUMN + 30 * times.DAY_S) == ()
    assert times.changes(datetime.timezone(datetime.timedelta(hours=1)), 0, AUTUMN) == ()


@pytest.mark.parametrize(
    ("text", "zone"), [("2026-10-25", ""), ("soon", BERLIN), ("", "UTC"), ("2026-13-01", "UTC"), ("1e9", "UTC")]
)
def test_what_is_no_time_is_refused(text: str, zone: str) -> None:
    with pytest.raises(BadInput):
        times.unix_s(text, zone, "row 3")


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "1600-01-01", "2400-01-01"])
def test_a_time_that_nanoseconds_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="beyond any time"):
        times.parse(text, "UTC", "--from")
    with pytest.raises(BadInput, match="beyond any time"):
        times.stamps([text], "UTC", "f.csv")


def test_days_and_months_begin_where_the_zone_begins_them() -> None:
    begin, end = AUTUMN - 40 * times.DAY_S, AUTUMN + 10 * times.DAY_S
    found = times.months(begin, end, BERLIN)
    assert [times.stamp(low, BERLIN) for low, _ in found] == [
        "2026-09-01 00:00:00+02:00",
        "2026-10-01 00:00:00+02:00",
        "2026-11-01 00:00:00+01:00",
    ]
    assert all(high == low for (_, high), (low, _) in itertools.pairwise(found))
    day = datetime.date(2026, 10, 25)
    assert times.midnight(day + datetime.timedelta(days=1), BERLIN) - times.midnight(day, BERLIN) == 25 * 3600
    assert times.day_of(AUTUMN + 23 * 3600, BERLIN).day == 26 and times.utc_day(AUTUMN + 22 * 3600) == "2026-10-25"
    assert times.next_month(datetime.date(2027, 1, 31)) == datetime.date(2027, 2, 1)


def test_what_other_programs_print() -> None:
    assert times.in_form("Tue Oct  5 10:00:00 2021", "%a %b %d %H:%M:%S %Y") == 1633428000
    assert times.in_form("2021-10-05 10:00", "%a %b %d %H:%M:%S %Y") is None
    at = datetime.datetime(2026, 1, 2, 3, 4, 5).timestamp()
    assert times.here(at) == "2026-01-02T03:04:05" and times.for_name(at) == "20260102-030405"
    assert times.in_form_here(times.here(at), "%Y-%m-%dT%H:%M:%S") == at


@pytest.mark.parametrize("hours", [1, 20, 71, 73, 24 * 20, 24 * 400])
def test_an_axis_of_time_is_marked_at_whole_hours_or_midnights_of_its_zone(hours: int) -> None:
    low = AUTUMN - 7200 - 1234
    axis = time_axis(low, low + hours * 3600, ZoneInfo(BERLIN), pad=0.02)
    assert axis.low < low and axis.high > low + hours * 3600
    assert 1 <= len(axis.labels) <= 8 and all(low <= at <= low + hours * 3600 for at in axis.labels)
    if hours > 72:
        assert {times.minute(at, BERLIN)[11:] for at in axis.labels} == {"00:00"}


def test_times_are_known_without_numpy() -> None:
    words = "import sys, shakedown.times, shakedown.files.journal; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", words], check=False).returncode == 0
