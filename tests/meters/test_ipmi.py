"""IPMI against OpenIPMI's simulator with a DCMI handler, through pyghmi's session and through ipmitool."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import Unavailable
from shakedown.hosts.access import ReplayHost, Result
from shakedown.metering import meters
from shakedown.metering.meters import Status
from shakedown.metering.meters._ipmi import Denied, parse_power, parse_sensor, records
from shakedown.metering.meters._network import Lost

from .conftest import Shared
from .helpers import by_id, follows, opened, until
from .processes import program
from .servers import PASSWORD, Drive, Ipmi, KeyedHost, Truth, full_sensor_record, ipmi, square

ANSWER = bytes.fromhex("dcb001a001c001aa01c44fff6ae803000040")


@pytest.fixture(scope="module")
def bmc(shared: Shared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ipmi]:
    with ipmi(tmp_path_factory.mktemp("bmc"), shared.drive, shared.power) as running:
        yield running


@pytest.fixture(params=["pyghmi", "ipmitool"])
def target(request: pytest.FixtureRequest, bmc: Ipmi) -> str:
    if request.param == "pyghmi":
        pytest.importorskip("pyghmi")
    else:
        program("ipmitool", "apt-get install ipmitool")
    return f"{bmc.target}?tool={request.param}"


def test_dcmi_follows_the_load(target: str, shared: Shared) -> None:
    with opened(target) as source:
        channel = source.channels[0]
        assert (channel.id, channel.unit, channel.resolution, channel.window_s) == ("ipmi/dcmi/current", "W", 1.0, None)
        assert "window" in channel.note and channel.firmware == "9.08"
        rolling = source.channels[1]
        assert (rolling.id, rolling.window_s) == ("ipmi/dcmi/average", 5.0)
        follows(source, "ipmi/dcmi/current", shared.power)


def test_a_sensor_has_its_step_and_range_from_its_record(target: str, shared: Shared) -> None:
    with opened(f"{target}&sensors=PWR*&rolling=0") as source:
        channel = source.channels[-1]
        assert (channel.id, channel.resolution, channel.full_scale, channel.scope) == (
            "ipmi/pwr-total",
            4.0,
            1020.0,
            "point",
        )
        assert channel.within == "ipmi/dcmi/current"
        follows(source, "ipmi/pwr-total", shared.power, lag_s=0.8, step=4.0)


def test_a_measurement_that_is_off_or_refused_is_a_status(target: str, bmc: Ipmi) -> None:
    with opened(f"{target}&rolling=0") as source:
        try:
            for active, code, status in (
                (False, 0, Status.UNSUPPORTED),
                (True, 0xC1, Status.UNSUPPORTED),
                (True, 0xD4, Status.REFUSED),
                (True, 0xC0, Status.GAP),
            ):
                bmc.set(active=active, code=code)
                until(source, "ipmi/dcmi/current", status)
        finally:
            bmc.set()
        until(source, "ipmi/dcmi/current", Status.OK)


def test_stamps_of_the_bmc_have_whole_seconds(target: str) -> None:
    with opened(f"{target}&stamp=bmc&rolling=0") as source:
        reading = source.read()[0]
        assert reading.device_ns is not None and reading.device_ns % 1_000_000_000 == 0
        assert abs(reading.device_ns - time.time_ns()) < 3e9


class Watched(KeyedHost):
    """This machine; remembers what is started."""

    def __init__(self) -> None:
        self.argv: list[str] = []
        self.environment: dict[str, str] = {}

    def run(self, argv: Sequence[str], *, limit_s: float = 10.0, env: Mapping[str, str] | None = None) -> Result:
        self.argv += argv
        self.environment |= env or {}
        return super().run(argv, limit_s=limit_s, env=env)


def test_the_password_is_never_on_a_command_line(bmc: Ipmi) -> None:
    program("ipmitool", "apt-get install ipmitool")
    door = Watched()
    with opened(f"{bmc.target}?tool=ipmitool", door) as source:
        assert source.read()[0].status is Status.OK
    assert "-E" in door.argv and PASSWORD not in " ".join(door.argv) and "-P" not in door.argv
    assert door.environment["IPMI_PASSWORD"] == PASSWORD
    assert "sdr" not in door.argv


class Wrong(KeyedHost):
    def env(self, name: str) -> str | None:
        return "wrong" if name.startswith("SHAKEDOWN_") else super().env(name)


def test_a_wrong_password_is_named(bmc: Ipmi) -> None:
    pytest.importorskip("pyghmi")
    with pytest.raises(Unavailable, match=r"(?s)[Pp]assword.*SHAKEDOWN_IPMI_PASSWORD"), opened(bmc.target, Wrong()):
        pass


def test_a_bmc_that_was_reset_is_logged_in_to_again(bmc: Ipmi) -> None:
    pytest.importorskip("pyghmi")
    with opened(f"{bmc.target}?rolling=0&timeout=1") as source:
        assert by_id(source, source.read())["ipmi/dcmi/current"].status is Status.OK
        bmc.restart()
        until(source, "ipmi/dcmi/current", Status.OK)


def test_a_bmc_that_is_away_is_a_gap_within_the_limit(tmp_path: Path, shared: Shared) -> None:
    pytest.importorskip("pyghmi")
    with ipmi(tmp_path, shared.drive, shared.power) as away, opened(f"{away.target}?timeout=1") as source:
        away.child.kill()
        away.child.wait(60)
        begin = time.monotonic()
        assert {one.status for one in source.read()} == {Status.GAP}
        for _ in range(5):  # the pauses cost nothing
            assert {one.status for one in source.read()} == {Status.GAP}
        assert time.monotonic() - begin < 3 * 1 + 5


def test_a_saturated_byte_is_over_range(tmp_path: Path) -> None:
    pytest.importorskip("pyghmi")
    with Drive(square(1200.0, 1200.0, 1.0, 20.0), seconds=20.0) as drive:
        power = drive.device(Truth(refresh_s=0.1))
        with ipmi(tmp_path, drive, power) as high, opened(f"{high.target}?sensors=all") as source:
            until(source, "ipmi/pwr-total", Status.OVERRANGE)
            assert by_id(source, source.read())["ipmi/dcmi/current"].value == 1200.0


class Bytes:
    """A BMC whose repository has some records, given whole or in parts; only questions that change nothing are allowed."""

    def __init__(self, kept: list[bytes], *, whole: bool) -> None:
        self.kept = kept
        self.whole = whole

    def send(self, netfn: int, command: int, data: bytes, limit: float) -> bytes:
        assert (netfn, command) in {(0x0A, 0x20), (0x0A, 0x22), (0x0A, 0x23)}
        if command == 0x20:
            return b"\x51" + len(self.kept).to_bytes(2, "little") + bytes(11)
        if command == 0x22:
            return b"\x34\x12"
        assert self.kept, "an empty repository must not be read"
        at, start, size = int.from_bytes(data[2:4], "little"), data[4], data[5]
        if not self.whole and (size == 0xFF or size > 16):
            raise Denied(0xCA)
        if start:
            assert data[:2] == b"\x34\x12", "a part is asked for with a reservation"
        following = at + 1 if at + 1 < len(self.kept) else 0xFFFF
        end = None if size == 0xFF else start + size
        return following.to_bytes(2, "little") + self.kept[at][start:end]

    def close(self) -> None:
        pass


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_records_are_read_only_and_whole_or_in_parts(whole: bool, count: int) -> None:
    kept = [full_sensor_record(number, f"PSU{number} Input", 3) for number in range(1, count + 1)]
    assert list(records(Bytes(kept, whole=whole), 5.0)) == kept


def test_sensors_of_anything_but_linear_watts_are_left() -> None:
    record = full_sensor_record(7, "Total", 4)
    found = parse_sensor(record)
    assert found is not None and (found.number, found.name, found.m, found.value(100)) == (7, "Total", 4.0, 400.0)
    for at, byte in (
        (3, 0x02),
        (5, 0x24),
        (20, 0x01),
        (21, 4),
        (23, 7),
        (13, 0x6F),
    ):  # kind, owner, percent, volts, log, bits
        assert parse_sensor(record[:at] + bytes([byte]) + record[at + 1 :]) is None
    assert parse_sensor(record[:30]) is None


@given(st.integers(-512, 511), st.integers(-512, 511), st.integers(-8, 7), st.integers(-8, 7), st.integers(0, 255))
def test_the_line_of_a_sensor(m: int, b: int, r_exp: int, b_exp: int, raw: int) -> None:
    record = bytearray(full_sensor_record(1, "x", 0))
    record[24], record[25] = m & 0xFF, (m & 0x300) >> 2
    record[26], record[27] = b & 0xFF, (b & 0x300) >> 2
    record[29] = (r_exp & 0xF) << 4 | b_exp & 0xF
    found = parse_sensor(bytes(record))
    assert found is not None
    assert found.value(raw) == pytest.approx((m * raw + b * 10.0**b_exp) * 10.0**r_exp, rel=1e-9, abs=1e-9)


@given(st.integers(0, 65535), st.integers(0, 65535), st.integers(0, 2**32 - 1), st.booleans())
def test_a_power_reading(current: int, average: int, stamp: int, active: bool) -> None:
    data = (
        b"\xdc" + current.to_bytes(2, "little") + bytes(4) + average.to_bytes(2, "little") + stamp.to_bytes(4, "little")
    )
    data += (1000).to_bytes(4, "little") + bytes([0x40 * active])
    assert parse_power(data) == (current, average, stamp, 1000, active)


@pytest.mark.parametrize("data", [b"", ANSWER[:17], b"\xdd" + ANSWER[1:]])
def test_a_power_reading_that_is_none(data: bytes) -> None:
    with pytest.raises(Lost):
        parse_power(data)


def test_a_device_file_that_we_may_not_open_is_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "ipmi0").touch()
    said = "Could not open device at /dev/ipmi0 or /dev/ipmi/0 or /dev/ipmidev/0: No such file or directory"
    door = ReplayHost(tmp_path, commands={("ipmitool", "raw", "0x06", "0x01"): Result(1, "", said)})
    assert meters.get("ipmi").find(door) == (meters.parse_target("ipmi"),)
    with pytest.raises(Unavailable, match="Could not open"):
        meters.get("ipmi").open(meters.parse_target("ipmi"), door)


def test_nothing_here_is_nothing_found(tmp_path: Path) -> None:
    assert meters.get("ipmi").find(ReplayHost(tmp_path)) == ()
    with pytest.raises(Unavailable, match="ipmitool"):
        meters.get("ipmi").open(meters.parse_target("ipmi"), ReplayHost(tmp_path))
