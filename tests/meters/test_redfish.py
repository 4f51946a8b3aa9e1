"""Redfish against sushy-tools' static server and a service that slows, refuses, throttles, breaks and ends sessions."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import Unavailable
from shakedown.metering.meters import Accuracy, Status
from shakedown.metering.meters._redfish import device_ns, duration_s, found_in_chassis, number, sensor_spots, status_of

from .conftest import Shared
from .helpers import by_id, follows, opened, until
from .redfish_server import CHASSIS, ROOT, RedfishServer, iso
from .servers import OPEN_DOOR, KeyedHost, program, redfish, redfish_static

pytest.importorskip("httpx")
RECORDED = Path(__file__).parents[1] / "recordings" / "meters" / "redfish"


@pytest.fixture
def service(shared: Shared) -> Iterator[RedfishServer]:
    with redfish(shared.power, shared.energy) as running:
        yield running


def test_a_live_service_follows_the_load(service: RedfishServer, shared: Shared) -> None:
    with opened(service.target) as source:
        named = {channel.id: channel for channel in source.channels}
        assert sorted(named) == [
            "redfish/1/average",
            "redfish/1/energy",
            "redfish/1/power",
            "redfish/1/power-totalpower",
        ]
        assert named["redfish/1/power"].place == "node" and named["redfish/1/power"].device == "Nobody M1 7"
        assert named["redfish/1/average"].window_s == 60.0
        assert named["redfish/1/energy"].scope == "counter" and named["redfish/1/energy"].unit == "J"
        total = named["redfish/1/power-totalpower"]
        assert (total.refresh_s, total.full_scale, total.scope) == (0.2, 2000.0, "point")
        assert total.accuracy == Accuracy(reading=0.015, source="Redfish Sensor.Accuracy")
        assert {channel.within for channel in source.channels} == {""}  # four views of one chassis
        follows(source, "redfish/1/power", shared.power)
        follows(source, "redfish/1/energy", shared.energy, step=0.01)
        follows(source, "redfish/1/power-totalpower", shared.power)
        assert service.log_ins == 1
    assert not service.sessions  # given back


def test_a_reading_has_the_device_s_own_stamp(service: RedfishServer, shared: Shared) -> None:
    with opened(service.target) as source:
        for _ in range(10):
            reading = by_id(source, source.read())["redfish/1/power-totalpower"]
            assert reading.device_ns is not None and reading.value is not None
            assert 0 <= reading.after_ns - reading.device_ns < 0.3e9
            assert reading.value in shared.power.shown(reading.device_ns + 1000, reading.device_ns + 1000)


def test_a_static_server_follows_the_load(tmp_path: Path, shared: Shared) -> None:
    with (
        redfish_static(tmp_path, shared.drive, shared.power, shared.energy) as target,
        opened(target, OPEN_DOOR) as source,
    ):
        follows(source, "redfish/1/power", shared.power, lag_s=0.5)
        follows(source, "redfish/1/energy", shared.energy, lag_s=0.5, step=0.01)


def test_each_resource_is_asked_for_once(service: RedfishServer) -> None:
    with opened(service.target) as source:
        service.gets.clear()
        source.read()
        assert service.gets == {
            f"{CHASSIS}/{name}": 1 for name in ("EnvironmentMetrics", "Power", "Sensors/TotalPower")
        }


def test_a_session_that_ran_out_is_opened_again_once(service: RedfishServer) -> None:
    with opened(service.target) as source:
        for ended in range(3):
            service.expire()
            assert {one.status for one in source.read()} == {Status.OK}
            assert service.log_ins == 2 + ended


def test_a_password_that_was_changed_is_a_refusal_and_the_account_is_not_hammered(service: RedfishServer) -> None:
    with opened(service.target) as source:
        service.expire()
        service._password = "another"
        assert {one.status for one in source.read()} == {Status.REFUSED}
        for _ in range(20):
            assert {one.status for one in source.read()} <= {Status.REFUSED, Status.GAP}
        assert service.log_ins == 2


def test_a_wrong_password_is_named_at_once(service: RedfishServer) -> None:
    class Wrong(KeyedHost):
        def env(self, name: str) -> str | None:
            return "wrong"

    with pytest.raises(Unavailable, match=r"(?s)refused.*SHAKEDOWN_REDFISH_PASSWORD"), opened(service.target, Wrong()):
        pass
    assert service.log_ins == 1


def test_a_service_without_sessions_is_asked_by_basic(service: RedfishServer, shared: Shared) -> None:
    service.basic = True
    with opened(service.target) as source:
        follows(source, "redfish/1/power", shared.power)


def test_a_refusal_is_a_status(service: RedfishServer) -> None:
    with opened(service.target) as source:
        service.refuse = 403
        assert {one.status for one in source.read()} == {Status.REFUSED}
        service.refuse = 0
        until(source, "redfish/1/power", Status.OK)


def test_a_service_that_asks_for_quiet_gets_it(service: RedfishServer) -> None:
    with opened(service.target) as source:
        service.refuse, service.retry_after = 429, "1"
        begin = time.monotonic()
        assert {one.status for one in source.read()} == {Status.GAP}
        service.refuse = 0
        asked = dict(service.gets)
        while time.monotonic() - begin < 0.5:
            assert {one.status for one in source.read()} == {Status.GAP}
            time.sleep(0.05)
        assert service.gets == asked
        until(source, "redfish/1/power", Status.OK)


@pytest.mark.parametrize("how", ["slow_s", "dribble_s"])
def test_a_slow_answer_is_a_gap_within_the_limit(service: RedfishServer, how: str) -> None:
    with opened(f"{service.target}&timeout=0.3") as source:
        setattr(service, how, 4.0 if how == "slow_s" else 0.1)
        begin = time.monotonic()
        readings = source.read()
        assert time.monotonic() - begin < 2 * 0.3 + 2.5
        assert Status.GAP in {one.status for one in readings}
        setattr(service, how, 0.0)
        until(source, "redfish/1/power", Status.OK)


def test_an_answer_that_is_no_json_is_a_gap(service: RedfishServer) -> None:
    with opened(service.target) as source:
        service.broken = True
        assert {one.status for one in source.read()} == {Status.GAP}
        service.broken = False
        assert {one.status for one in source.read()} == {Status.OK}


def test_one_broken_resource_takes_no_other_with_it(service: RedfishServer) -> None:
    with opened(service.target) as source:
        service.changed[f"{CHASSIS}/EnvironmentMetrics"] = {"EnergykWh": {"Reading": None}}
        service.changed[f"{CHASSIS}/Sensors/TotalPower"] = {"Reading": 5, "Status": {"State": "Absent"}}
        got = by_id(source, source.read())
        assert got["redfish/1/power"].status is Status.OK
        assert got["redfish/1/energy"].status is got["redfish/1/power-totalpower"].status is Status.UNSUPPORTED


@pytest.mark.parametrize("watts", [None, "N/A", True, -1, "-1", []])
def test_sentinels_are_no_values(service: RedfishServer, watts: Any) -> None:
    with opened(service.target) as source:
        service.changed[f"{CHASSIS}/Power"] = {"PowerControl": [{"PowerConsumedWatts": watts}]}
        assert by_id(source, source.read())["redfish/1/power"].status is Status.UNSUPPORTED


def test_a_service_that_is_away_is_a_gap_and_comes_back(shared: Shared) -> None:
    with contextlib.ExitStack() as stack:
        with redfish(shared.power) as first:
            source = stack.enter_context(opened(first.target))
            assert {one.status for one in source.read()} == {Status.OK}
        assert {one.status for one in source.read()} == {Status.GAP}
        again = stack.enter_context(redfish(shared.power, port=first.port))
        until(source, "redfish/1/power", Status.OK)
        assert again.log_ins == 1  # it did not know the old session
        source.close()


def test_a_report_gives_every_value_once_with_its_stamp(service: RedfishServer, shared: Shared) -> None:
    with opened(f"{service.target}&report=Power") as source:
        index = [channel.id for channel in source.channels].index("redfish/report/SystemPower")
        assert source.channels[index].unit == "W"
        got = []
        for _ in range(5):
            got += [one for one in source.read() if one.channel == index]
            time.sleep(0.25)
        stamps = [one.device_ns for one in got if one.device_ns is not None]
        assert stamps == sorted(stamps) and len(set(stamps)) >= 25
        steps = {round((b - a) / 1e6) for a, b in itertools.pairwise(stamps) if b > a}
        assert steps == {50}  # none is left out
        for one in got:
            assert one.device_ns is not None and one.value in shared.power.shown(
                one.device_ns + 1000, one.device_ns + 1000
            )


def test_a_certificate_that_nobody_signed_is_refused_unless_asked_for(tmp_path: Path, shared: Shared) -> None:
    openssl = program("openssl", "apt-get install openssl")
    pem = tmp_path / "both.pem"
    argv = [
        openssl,
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=bmc",
        "-keyout",
        str(pem),
    ]
    made = subprocess.run([*argv, "-out", str(tmp_path / "cert.pem")], capture_output=True, check=True)
    assert made.returncode == 0
    pem.write_text(pem.read_text() + (tmp_path / "cert.pem").read_text())
    with redfish(shared.power, certificate=pem) as service:
        with pytest.raises(Unavailable, match=r"(?i)certificate"), opened(service.target):
            pass
        with opened(f"{service.target}?insecure=1") as source:
            assert {one.status for one in source.read()} == {Status.OK}


def test_chassis_within_chassis_are_not_counted_twice(service: RedfishServer) -> None:
    blade = f"{ROOT}/Chassis/Blade1"
    service.changed[f"{ROOT}/Chassis"] = {"Members": [{"@odata.id": CHASSIS}, {"@odata.id": blade}]}
    service.changed[blade] = {
        "ChassisType": "Blade",
        "Power": {"@odata.id": f"{blade}/Power"},
        "Links": {"ContainedBy": {"@odata.id": CHASSIS}},
    }
    service.changed[f"{blade}/Power"] = {"PowerControl": [{"PowerConsumedWatts": 90}]}
    with opened(service.target) as source:
        within = {channel.id: channel.within for channel in source.channels}
        assert within["redfish/Blade1/power"] == "redfish/1/power" and within["redfish/1/power"] == ""
    with opened(service.target.replace("?", "/Chassis/Blade1?")) as source:
        assert [channel.id for channel in source.channels] == ["redfish/Blade1/power"]


def test_a_sensor_is_found_by_its_name(service: RedfishServer) -> None:
    service.changed[f"{CHASSIS}/Power"] = service.changed[f"{CHASSIS}/EnvironmentMetrics"] = {}
    with opened(service.target) as source:
        assert [channel.id for channel in source.channels] == ["redfish/1/totalpower/power"]
    assert f"{CHASSIS}/Sensors/InletTemp" not in service.gets  # its name says that it is something else


def test_the_recorded_answer_that_is_no_json_is_refused() -> None:
    with (
        pytest.raises(Unavailable, match="no valid JSON"),
        opened(f"redfish:{RECORDED}/hp-power-invalid.json", OPEN_DOOR),
    ):
        pass


def test_a_service_that_tells_of_no_power_says_so(service: RedfishServer) -> None:
    for name in ("Power", "EnvironmentMetrics", "Sensors"):
        service.changed[f"{CHASSIS}/{name}"] = {}
    with pytest.raises(Unavailable, match="no power"), opened(service.target):
        pass


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT1.5S", 1.5),
        ("PT1M", 60.0),
        ("P1DT2H3M4S", 93784.0),
        ("PT0S", 0.0),
        ("P", None),
        ("PT", None),
        ("1s", None),
        (5, None),
    ],
)
def test_durations(text: Any, seconds: float | None) -> None:
    assert duration_s(text) == seconds


@given(st.integers(946_684_800_000_000, 4_102_444_800_000_000), st.integers(-14 * 60, 14 * 60))
def test_stamps_are_exact_in_any_zone(microseconds: int, minutes: int) -> None:
    zone = datetime.timezone(datetime.timedelta(minutes=minutes))
    moment = datetime.datetime.fromtimestamp(0, zone) + datetime.timedelta(microseconds=microseconds)
    assert device_ns(moment.isoformat()) in (microseconds * 1000, None)  # None only where the zone still has 1999
    assert device_ns(iso(microseconds * 1000)) == microseconds * 1000


@pytest.mark.parametrize("text", ["2026-11-21T20:00:00", "1970-01-01T00:05:00Z", "yesterday", None, 5])
def test_stamps_without_a_zone_or_of_a_clock_never_set_are_none(text: Any) -> None:
    assert device_ns(text) is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda x: st.lists(x) | st.dictionaries(st.text(max_size=5), x),
        max_leaves=20,
    )
)
def test_any_json_is_survived(body: Any) -> None:
    control = {
        "PowerControl": body,
        "PowerWatts": body,
        "EnergykWh": {"Reading": body},
        "Reading": body,
        "ReadingUnits": "W",
    }
    for at in (body, control) if isinstance(body, dict) else (control,):
        spots = found_in_chassis("/a/b", at, "", {"place": "node"}) + sensor_spots("/a/b", at, "", {"place": "node"})
        for spot in spots:
            status, raw = status_of(at, spot.keys)
            assert status is not Status.OK or number(raw) is None or isinstance(number(raw), float)
