"""Prometheus, a real one, scraping an exporter whose values move."""

from __future__ import annotations

import math
import time

import pytest

from shakedown.errors import BadInput, Unavailable
from shakedown.metering.meters import Reading, Status
from shakedown.metering.meters._network import Lost
from shakedown.metering.meters.prometheus import Series, duration_s, guess, parse_matrix

from .conftest import Shared
from .helpers import by_id, opened, until
from .servers import DOOR, OPEN_DOOR, Prometheus

pytest.importorskip("httpx")


def right(reading: Reading, shared: Shared, quantity: str) -> bool:
    """Whether a reading is what the device showed when it was scraped: the stamp is the beginning of the scrape."""
    assert reading.device_ns is not None and reading.value is not None
    device = shared.power if quantity == "power" else shared.energy
    shown = device.shown(reading.device_ns - 2_000_000, reading.device_ns + 100_000_000)
    return min(abs(reading.value - value) for value in shown) <= 1e-9 * abs(reading.value)


def test_every_scrape_is_given_once_with_its_own_stamp(watched: Prometheus, shared: Shared) -> None:
    with opened(watched.target("node_power_watts"), OPEN_DOOR) as source:
        channel = source.channels[0]
        assert (channel.id, channel.unit, channel.scope, channel.host) == (
            "prometheus/node_power_watts",
            "W",
            "last",
            "127.0.0.1",
        )
        assert "feed=a" in channel.title and "scrape" in channel.note
        got: list[Reading] = []
        for _ in range(8):
            got += source.read()
            time.sleep(0.13)
        assert [one.device_ns for one in got] == sorted(one.device_ns or 0 for one in got)
        assert all(right(one, shared, "power") for one in got)
        assert len({one.value for one in got}) > 3


def test_a_counter_is_read_raw(watched: Prometheus, shared: Shared) -> None:
    with opened(watched.target("node_energy_joules_total"), OPEN_DOOR) as source:
        assert (source.channels[0].unit, source.channels[0].scope) == ("J", "counter")
        assert source.channels[0].refresh_s is None or source.channels[0].refresh_s == pytest.approx(0.2, abs=0.05)
        for _ in range(3):
            assert all(right(one, shared, "energy") for one in source.read())
            time.sleep(0.2)


def test_a_reading_may_begin_in_the_past(watched: Prometheus, shared: Shared) -> None:
    with opened(watched.target("node_power_watts", "&since=600ms"), OPEN_DOOR) as source:
        first = source.read()
        assert 2 <= len(first) <= 4 and all(right(one, shared, "power") for one in first)


def test_an_exporter_that_is_silent_goes_stale_and_one_that_starts_anew_is_a_reset(watched: Prometheus) -> None:
    with opened(watched.target("node_energy_joules_total"), OPEN_DOOR) as source:
        assert until(source, "prometheus/node_energy_joules_total", Status.OK).value
        watched.exporting = False
        try:
            until(source, "prometheus/node_energy_joules_total", Status.STALE)
        finally:
            watched.exporting = True
        until(source, "prometheus/node_energy_joules_total", Status.OK)
        watched.added_j = -1000.0
        try:
            got: list[Reading] = []
            deadline = time.monotonic() + 300
            while Status.RESET not in {one.status for one in got}:
                assert time.monotonic() < deadline
                got += source.read()
                time.sleep(0.1)
        finally:
            watched.added_j = 0.0
        at = [one.status for one in got].index(Status.RESET)
        assert got[at].device_ns == got[at + 1].device_ns and got[at + 1].status is Status.OK


def test_what_is_no_series_is_refused(watched: Prometheus) -> None:
    with pytest.raises(Unavailable, match="selector"), opened(watched.target("sum(node_power_watts)"), OPEN_DOOR):
        pass
    with pytest.raises(Unavailable, match="no series"), opened(watched.target("nothing_watts"), OPEN_DOOR):
        pass
    with pytest.raises(BadInput, match="quantity"), opened(watched.target("up"), OPEN_DOOR):
        pass
    with pytest.raises(BadInput, match="which series"), opened(f"prometheus://{watched.address}", OPEN_DOOR):
        pass
    with opened(watched.target("up", "&quantity=ratio"), OPEN_DOOR) as source:
        assert by_id(source, source.read())["prometheus/up"].value == 1.0


def test_a_server_that_is_away_is_unavailable() -> None:
    with pytest.raises(Unavailable), opened("prometheus://127.0.0.1:1?query=a_watts&timeout=0.5", DOOR):
        pass


def test_names_tell_quantities_and_units() -> None:
    assert guess("node_hwmon_power_average_watts") == guess("a_watt") == ("power", 1.0)
    assert guess("DCGM_milliwatts") == ("power", 1e-3)
    assert guess("node_rapl_package_joules_total") == ("energy", 1.0)
    assert guess("pdu_kwh_total") == ("energy", 3.6e6)
    assert guess("kepler_power_mw") is None  # milli or mega: nobody knows
    assert guess("up") is None


def test_durations() -> None:
    assert [duration_s(text) for text in ("15m", "90s", "2h", "500ms", "3", "1.5d")] == [900, 90, 7200, 0.5, 3, 129600]
    for wrong in ("", "m", "-5s", "5 minutes"):
        with pytest.raises(BadInput):
            duration_s(wrong)


def test_an_answer_that_is_no_matrix() -> None:
    good = {
        "status": "success",
        "data": {"resultType": "matrix", "result": [{"metric": {"a": "b"}, "values": [[1.5, "NaN"], [2, "3"]]}]},
    }
    [series] = parse_matrix(good)
    assert isinstance(series, Series) and series.labels == {"a": "b"}
    assert series.samples[1] == (2_000_000_000, 3.0) and math.isnan(series.samples[0][1])
    for wrong in (
        {},
        None,
        [],
        {"status": "error"},
        {"status": "success", "data": {"resultType": "vector", "result": []}},
    ):
        with pytest.raises(Lost):
            parse_matrix(wrong)
