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
from shakedown.metering.meters import Reading, Status, parse_target
from shakedown.metering.meters._snmp import MODULI, Oid, Spot, Vendor, parse_oid, table, value_of
from shakedown.metering.meters.snmp import _Pdu

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
        assert (power.id, power.unit, power.resolution, power.place) == (
            "snmp/raritan-inlet-1.1/power",
            "W",
            1.0,
            "rack",
        )
        # a step is a tenth of a watt-hour, by the digits that the device tells, and the type has 32 bits
        assert (energy.id, energy.unit, energy.resolution) == ("snmp/raritan-inlet-1.1/energy", "J", 360.0)
        assert energy.modulus == 2.0**32 * 360.0 and energy.scope == "counter"
        follows(source, power.id, shared.power)
        follows(source, energy.id, shared.energy, step=360.0, moves=1)


def test_scales_differ_by_maker(apc: Snmp, shared: Shared) -> None:
    with opened(f"{apc.target}?outlets=1") as source:
        named = {channel.id: channel for channel in source.channels}
        # the second outlet says -1: it is not there
        assert sorted(named) == ["snmp/apc-inlet-1/energy", "snmp/apc-inlet-1/power", "snmp/apc-outlet-1/power"]
        assert named["snmp/apc-outlet-1/power"].within == "snmp/apc-inlet-1/power"
        assert named["snmp/apc-inlet-1/power"].resolution == 10.0
        assert named["snmp/apc-inlet-1/energy"].modulus == 2.0**31 * 360_000.0
        assert by_id(source, source.read())["snmp/apc-outlet-1/power"].value == 77.0
        follows(source, "snmp/apc-inlet-1/power", shared.power, step=5.0)
    with opened(f"{apc.target}?only=*outlet*") as source:
        assert [channel.id for channel in source.channels] == ["snmp/apc-outlet-1/power"]


def test_version_3_with_authentication_and_privacy(apc: Snmp, shared: Shared) -> None:
    target = apc.target.replace("snmp://", f"snmp://{USER}@")
    with opened(f"{target}?auth=sha256&priv=aes") as source:
        follows(source, "snmp/apc-inlet-1/power", shared.power, step=5.0)
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
            assert until(source, "snmp/raritan-inlet-1.1/power", Status.UNSUPPORTED).value is None
            until(source, "snmp/raritan-inlet-1.1/energy", Status.UNSUPPORTED)
        finally:
            raritan.set()
        until(source, "snmp/raritan-inlet-1.1/power", Status.OK)


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
    limit_s = 1.0  # a real agent on a busy machine answers within it
    with snmp(tmp_path, shared.power, shared.energy) as agent:
        source = opened(f"{agent.target}?timeout={limit_s}")
        meter = source.__enter__()
        assert {one.status for one in meter.read()} == {Status.OK}
    begin = time.monotonic()
    assert {one.status for one in meter.read()} == {Status.GAP}
    assert {one.status for one in meter.read()} == {Status.GAP}
    assert time.monotonic() - begin < 2 * limit_s + 2.5
    begin = time.monotonic()
    assert {one.status for one in meter.read()} == {Status.GAP}
    assert time.monotonic() - begin < 0.5 * limit_s
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
        assert len({(column.level, column.quantity) for column in vendor.column}) == len(vendor.column)
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


class Tree:
    """An agent whose objects stand in a dictionary."""

    def __init__(self, rows: dict[Oid, object], whose: str) -> None:
        self.rows = rows
        self.whose = whose
        self.questions = 0

    def get(self, oids: list[Oid]) -> list[object]:
        self.questions += 1
        system = {(1, 3, 6, 1, 2, 1, 1, 1, 0): rfc1902.OctetString("a PDU")}
        system[1, 3, 6, 1, 2, 1, 1, 2, 0] = rfc1902.ObjectIdentifier(self.whose)
        return [{**self.rows, **system}.get(oid, rfc1905.noSuchInstance) for oid in oids]

    def walk(self, root: Oid, most: int = 2000) -> list[tuple[Oid, object]]:
        return sorted((oid, raw) for oid, raw in self.rows.items() if oid[: len(root)] == root)


@pytest.mark.parametrize("vendor", table().vendor, ids=lambda one: one.name)
def test_every_column_of_every_maker_is_found_and_scaled(vendor: Vendor) -> None:
    rows: dict[Oid, object] = {}
    expected: dict[tuple[str, str], float] = {}
    for at, column in enumerate(vendor.column):
        instance = (1, at + 1, *((column.last,) if column.last is not None else ()))
        rows[*parse_oid(column.oid), *instance] = rfc1902.Gauge32(1000 + at)
        if column.where:
            rows[*parse_oid(column.where.oid), *instance] = rfc1902.Integer32(column.where.values[0])
        if column.digits:
            rows[*parse_oid(column.digits), *instance] = rfc1902.Gauge32(1)
        expected[column.level, column.quantity] = (1000 + at) * column.scale / (10 if column.digits else 1)
    agent = Tree(rows, f"{vendor.enterprise}.1.2.3")
    target = parse_target("snmp://pdu?outlets=1&phases=1")
    pdu = _Pdu(agent, target, OPEN_DOOR)  # type: ignore[arg-type]
    channels = pdu.discover()
    readings: list[Reading] = []
    agent.questions = 0
    pdu.ask(readings)
    assert agent.questions == 1  # all in one GET
    got = {
        (one.id.split("/")[1].rsplit("-", 2)[1], one.quantity): readings[at].value for at, one in enumerate(channels)
    }
    assert got == pytest.approx(expected)
    for one in channels:
        assert one.host == "pdu" and one.place == "rack" and one.unit == {"power": "W", "energy": "J"}[one.quantity]
