"""SNMP against net-snmp's agent, which answers as the PDUs of two makers through a pass_persist script."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown import units
from shakedown.errors import BadInput, Unavailable
from shakedown.meters import Status
from shakedown.meters._snmp import MODULI, Spot, parse_oid, table, value_of

from .conftest import Shared
from .helpers import by_id, follows, opened, until
from .servers import OPEN_DOOR, USER, Snmp, snmp

rfc1902 = pytest.importorskip("pysnmp.proto.rfc1902")
rfc1905 = pytest.importorskip("pysnmp.proto.rfc1905")


@pytest.fixture(scope="module")
def raritan(shared: Shared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snmp]:
    with snmp(tmp_path_factory.mktemp("snmp"), shared.power, shared.energy, "raritan") as running:
        yield running


@pytest.fixture(scope="module")
def apc(shared: Shared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snmp]:
    with snmp(tmp_path_factory.mktemp("snmp"), shared.power, shared.energy, "apc") as running:
        yield running


def test_a_pdu_is_known_by_its_object_id_and_follows_the_load(raritan: Snmp, shared: Shared) -> None:
    with opened(raritan.target) as source:
        power, energy = source.channels
        assert (power.id, power.unit, power.resolution, power.place) == ("snmp/raritan-power-1.1", "W", 1.0, "rack")
        # a step is a tenth of a watt-hour, by the digits that the device tells, and the type has 32 bits
        assert (energy.id, energy.unit, energy.resolution) == ("snmp/raritan-energy-1.1", "J", 360.0)
        assert energy.modulus == 2.0**32 * 360.0 and energy.scope == "counter"
        follows(source, power.id, shared.power)
        follows(source, energy.id, shared.energy, step=360.0, moves=1)


def test_scales_differ_by_maker(apc: Snmp, shared: Shared) -> None:
    with opened(f"{apc.target}?outlets=1") as source:
        named = {channel.id: channel for channel in source.channels}
        # the second outlet says -1: it is not there
        assert sorted(named) == ["snmp/apc-energy-1", "snmp/apc-outlet-power-1", "snmp/apc-power-1"]
        assert named["snmp/apc-power-1"].resolution == 10.0
        assert named["snmp/apc-energy-1"].modulus == 2.0**31 * 360_000.0
        assert by_id(source, source.read())["snmp/apc-outlet-power-1"].value == 77.0
        follows(source, "snmp/apc-power-1", shared.power, step=5.0)
    with opened(f"{apc.target}?only=*outlet-power*") as source:
        assert [channel.id for channel in source.channels] == ["snmp/apc-outlet-power-1"]


def test_version_3_with_authentication_and_privacy(apc: Snmp, shared: Shared) -> None:
    target = apc.target.replace("snmp://", f"snmp://{USER}@")
    with opened(f"{target}?auth=sha256&priv=aes") as source:
        follows(source, "snmp/apc-power-1", shared.power, step=5.0)
    with pytest.raises(Unavailable, match="SHAKEDOWN_SNMP_PASSWORD"), opened(f"{target}?auth=md5&priv=aes&timeout=0.8"):
        pass
    with pytest.raises(BadInput, match="8 characters"), opened(f"{target}?auth=sha256", OPEN_DOOR):
        pass
    with pytest.raises(BadInput, match="privacy"), opened(f"{target}?auth=none&priv=aes"):
        pass


def test_what_is_gone_is_unsupported_and_comes_back(raritan: Snmp) -> None:
    with opened(raritan.target) as source:
        raritan.set(gone=True)
        try:
            assert until(source, "snmp/raritan-power-1.1", Status.UNSUPPORTED).value is None
            until(source, "snmp/raritan-energy-1.1", Status.UNSUPPORTED)
        finally:
            raritan.set()
        until(source, "snmp/raritan-power-1.1", Status.OK)


def test_any_object_can_be_read(raritan: Snmp, shared: Shared) -> None:
    power, energy = "1.3.6.1.4.1.13742.6.5.2.3.1.4.1.1.5", "1.3.6.1.4.1.13742.6.5.2.3.1.4.1.1.8"
    missing = "1.3.6.1.4.1.13742.6.5.2.3.1.4.9.9.9"
    rest = f"oid={power},{energy},{missing}&scale=1,360,1&quantity=power,energy,power"
    with opened(f"{raritan.target}?{rest}", OPEN_DOOR) as source:  # the community "public"
        assert [channel.scope for channel in source.channels] == ["last", "counter", "last"]
        follows(source, f"snmp/{power}", shared.power)
        assert by_id(source, source.read())[f"snmp/{missing}"].status is Status.UNSUPPORTED
    for wrong in ("oid=1.3.x", f"oid={power}&quantity=watts", f"oid={power}&scale=ten", f"oid={power}&scale=1,2"):
        with pytest.raises(BadInput), opened(f"{raritan.target}?{wrong}"):
            pass


def test_an_agent_that_is_away_is_a_gap_and_costs_nothing_while_it_pauses(tmp_path: Path, shared: Shared) -> None:
    with snmp(tmp_path, shared.power, shared.energy) as agent:
        source = opened(f"{agent.target}?timeout=0.2")
        meter = source.__enter__()
        assert {one.status for one in meter.read()} == {Status.OK}
    begin = time.monotonic()
    assert {one.status for one in meter.read()} == {Status.GAP}
    assert {one.status for one in meter.read()} == {Status.GAP}
    assert time.monotonic() - begin < 2 * 0.2 + 0.5
    begin = time.monotonic()
    assert {one.status for one in meter.read()} == {Status.GAP}
    assert time.monotonic() - begin < 0.2
    source.__exit__(None, None, None)


def test_an_agent_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable), opened("snmp://127.0.0.1:1?timeout=0.3"):
        pass


def test_a_maker_that_is_not_in_the_table(raritan: Snmp) -> None:
    with pytest.raises(BadInput, match="did you mean 'raritan'"), opened(f"{raritan.target}?vendor=rariton"):
        pass
    with pytest.raises(Unavailable, match="apc"), opened(f"{raritan.target}?vendor=apc"):
        pass


def test_the_table_is_whole() -> None:
    enterprises = [parse_oid(vendor.enterprise) for vendor in table().vendor]
    assert len(set(enterprises)) == len(enterprises)
    for vendor in table().vendor:
        assert len({column.id for column in vendor.column}) == len(vendor.column)
        for column in vendor.column:
            root = parse_oid(column.oid)
            assert root[: len(parse_oid(vendor.enterprise))] == parse_oid(vendor.enterprise)
            assert not column.digits or parse_oid(column.digits)
            assert column.source and column.scale > 0
            named = [units.si(word)[1] for word in ("W", "kW", "Wh", "kWh", "J")]
            assert any(column.scale == pytest.approx(size * part) for size in named for part in (1, 0.1, 0.01, 0.001))


NONE_SPOT = Spot((1, 3), 10.0, (-1,), True)


@given(st.integers(0, 2**31 - 1))
def test_whole_numbers_are_scaled(raw: int) -> None:
    assert value_of(rfc1902.Integer32(raw), NONE_SPOT) == (raw * 10.0, Status.OK)


@given(st.floats(-1e6, 1e6, width=32))
def test_texts_and_opaque_floats_are_numbers(value: float) -> None:
    spot = NONE_SPOT._replace(scale=1.0, absent=())
    assert value_of(rfc1902.OctetString(repr(value)), spot) == (value, Status.OK)
    assert value_of(rfc1902.Opaque(b"\x9f\x78\x04" + struct.pack(">f", value)), spot) == (value, Status.OK)
    assert value_of(rfc1902.Opaque(b"\x9f\x79\x08" + struct.pack(">d", value)), spot) == (value, Status.OK)


@pytest.mark.parametrize(
    "raw",
    [
        rfc1902.Integer32(-1),
        rfc1902.Gauge32(2**32 - 1),
        rfc1902.OctetString("N/A"),
        rfc1902.OctetString(""),
        rfc1902.OctetString(b"\xff\xfe"),
        rfc1902.OctetString("nan"),
        rfc1905.noSuchObject,
        rfc1905.noSuchInstance,
        rfc1905.endOfMibView,
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_is_not_there_is_unsupported(raw: object) -> None:
    assert value_of(raw, NONE_SPOT) == (None, Status.UNSUPPORTED)


def test_counters_start_again_at_the_range_of_their_type() -> None:
    assert MODULI[type(rfc1902.Counter32(1)).__name__] == 2.0**32
    assert MODULI[type(rfc1902.Counter64(1)).__name__] == 2.0**64
