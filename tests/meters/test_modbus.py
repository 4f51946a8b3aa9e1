"""Modbus against a pymodbus server whose registers move."""

from __future__ import annotations

import contextlib
import math
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import BadInput, Unavailable
from shakedown.metering.meters import Status
from shakedown.metering.meters.modbus import Kind, Order, Register, decode, parse_register, profiles, sane, swapped

from .conftest import Shared
from .helpers import by_id, follows, opened, until
from .modbus_server import Modbus, modbus

pytest.importorskip("pymodbus")
FORMATS = {
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}


@pytest.fixture
def transducer(shared: Shared) -> Iterator[Modbus]:
    with modbus(shared.power, shared.energy) as running:
        yield running


def address(server: Modbus) -> str:
    return server.target.partition("?")[0]


def test_power_and_energy_follow_the_load_in_one_request(transducer: Modbus, shared: Shared) -> None:
    with opened(transducer.target) as source:
        power, energy = source.channels
        assert (power.id, power.unit, power.scope) == ("modbus/meter/power", "W", "last")
        assert (energy.id, energy.unit, energy.scope, energy.modulus) == ("modbus/meter/energy", "J", "counter", None)
        assert energy.resolution is not None and 0 < energy.resolution < 36 and "grows" in energy.note
        transducer.requests.clear()
        readings = source.read()
        assert transducer.requests == [(4, 52, 22)]
        assert readings[0].before_ns == readings[1].before_ns
        follows(source, "modbus/meter/power", shared.power)
        follows(source, "modbus/meter/energy", shared.energy, step=1.0)


def test_a_shipped_profile_is_the_same_as_its_registers(transducer: Modbus, shared: Shared) -> None:
    with opened(f"{address(transducer)}?profile=eastron-sdm630") as source:
        assert "Eastron" in source.channels[0].device and source.channels[0].note
        follows(source, "modbus/meter/power", shared.power)


def test_a_profile_of_one_s_own(transducer: Modbus, shared: Shared, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(
        'name = "mine"\ntitle = "Mine"\nsource = "me"\n[power]\ntable = "input"\naddress = 52\ntype = "float32"\n'
    )
    with opened(f"{address(transducer)}?profile={mine}") as source:
        follows(source, "modbus/meter/power", shared.power)
    mine.write_text(
        'name = "mine"\ntitle = "Mine"\nsource = "me"\n[power]\ntabel = "input"\naddress = 52\ntype = "float32"\n'
    )
    with pytest.raises(BadInput, match="tabel"), opened(f"{address(transducer)}?profile={mine}"):
        pass


@pytest.mark.parametrize(
    ("power", "energy", "step"),
    [("input/200/uint32", "input/202/uint32", 1.0), ("input/300/float64", "input/304/float64/3600", 1e-3)],
)
@pytest.mark.parametrize("order", ["big", "little"])
def test_other_types_and_orders(
    transducer: Modbus, shared: Shared, power: str, energy: str, step: float, order: str
) -> None:
    transducer.order = order
    with opened(f"{address(transducer)}?power={power}&energy={energy}&words={order}") as source:
        follows(source, "modbus/meter/power", shared.power)
        follows(source, "modbus/meter/energy", shared.energy, step=step)
        if "uint" in power:
            assert source.channels[1].modulus == 2.0**32 and source.channels[1].resolution == 1.0


@pytest.mark.parametrize("register", ["input/52/float32", "input/200/uint32", "input/300/float64"])
def test_swapped_words_are_named_with_the_option_that_mends_them(
    transducer: Modbus, shared: Shared, register: str
) -> None:
    transducer.order = "little"
    with (
        pytest.raises(BadInput, match=r"(?s)cannot be.*words=little"),
        opened(f"{address(transducer)}?power={register}"),
    ):
        pass
    with opened(f"{address(transducer)}?power={register}&words=little") as source:
        follows(source, "modbus/meter/power", shared.power)


def test_words_that_swap_while_it_runs_are_no_values(transducer: Modbus) -> None:
    with opened(transducer.target) as source:
        assert {one.status for one in source.read()} == {Status.OK}
        transducer.order = "little"
        reading = by_id(source, source.read())["modbus/meter/power"]
        assert reading.status is Status.OVERRANGE or (reading.value is not None and reading.value < 1e-3)


def test_registers_that_are_not_there_are_not_asked_for(shared: Shared) -> None:
    with modbus(shared.power, shared.energy, hole=True) as device, opened(device.target) as source:
        device.requests.clear()
        assert {one.status for one in source.read()} == {Status.OK}
        assert device.requests == [(4, 52, 2), (4, 72, 2)]


def test_serial_framing_over_tcp(shared: Shared) -> None:
    with modbus(shared.power, shared.energy, rtu=True) as device, opened(f"{device.target}&framing=rtu") as source:
        follows(source, "modbus/meter/power", shared.power)


@pytest.mark.parametrize(("code", "status"), [(2, Status.UNSUPPORTED), (4, Status.GAP), (6, Status.GAP)])
def test_an_exception_of_the_device_is_a_status(transducer: Modbus, code: int, status: Status) -> None:
    with opened(transducer.target) as source:
        transducer.code = code
        assert {one.status for one in source.read()} == {status}
        transducer.code = 0
        until(source, "modbus/meter/power", Status.OK)


def test_a_slow_answer_is_a_gap_within_the_limit_and_is_never_taken_for_the_next(
    transducer: Modbus, shared: Shared
) -> None:
    with opened(f"{transducer.target}&timeout=0.3") as source:
        transducer.delay_s = 4.0
        begin = time.monotonic()
        assert {one.status for one in source.read()} == {Status.GAP}
        assert time.monotonic() - begin < 0.3 + 2.5
        transducer.delay_s = 0.0
        until(source, "modbus/meter/power", Status.OK)
        follows(source, "modbus/meter/power", shared.power)


def test_a_device_that_is_away_is_a_gap_and_comes_back(shared: Shared) -> None:
    with contextlib.ExitStack() as stack:
        with modbus(shared.power, shared.energy) as first:
            source = stack.enter_context(opened(f"{first.target}&timeout=0.5"))
            assert {one.status for one in source.read()} == {Status.OK}
        assert {one.status for one in source.read()} == {Status.GAP}
        stack.enter_context(modbus(shared.power, shared.energy, port=first.port))
        until(source, "modbus/meter/power", Status.OK)


def test_nobody_there_is_unavailable() -> None:
    with pytest.raises(Unavailable), opened("modbus://127.0.0.1:1?power=input/52/float32&timeout=0.5"):
        pass


@pytest.mark.parametrize(
    "rest",
    [
        "",
        "?power=52",
        "?power=coil/52/float32",
        "?power=input/52/float",
        "?power=input/65535/float32",
        "?power=input/1/int16/x",
        "?profile=sdm630",
        "?power=input/52/float32&words=mixed",
    ],
)
def test_what_cannot_be_read_is_refused(rest: str) -> None:
    with pytest.raises(BadInput), opened(f"modbus://127.0.0.1:1{rest}"):
        pass


def encode(value: float, kind: str, order: str, within: str) -> list[int]:
    packed = struct.pack(">" + FORMATS[kind], value if kind.startswith("float") else int(value))
    words = [packed[at : at + 2] for at in range(0, len(packed), 2)]
    words = words if order == "big" else words[::-1]
    return [int.from_bytes(word if within == "big" else word[::-1], "big") for word in words]


ORDERS = st.sampled_from(["big", "little"])


@given(st.sampled_from(sorted(FORMATS)), ORDERS, ORDERS, st.integers(0, 30000))
def test_every_type_and_order_is_read_back(kind: Kind, order: Order, within: Order, value: int) -> None:
    assert decode(encode(value, kind, order, within), kind, order, within) == value


@given(st.floats(1.0, 1e6, width=32).filter(lambda x: (struct.unpack(">I", struct.pack(">f", x))[0] & 0xFFFF) != 0))
def test_a_power_never_reads_sane_both_ways_unnoticed(watts: float) -> None:
    """Either the swapped value cannot be, and the right option is named; or it is a sane power, which nobody can tell."""
    register = Register(table="input", address=0, type="float32")
    words = encode(watts, "float32", "little", "big")
    wrong = decode(words, "float32", "big", "big")
    found = swapped(words, register, "big", "big", 2e6)
    assert sane(wrong, 2e6) or (found is not None and sane(found[1], 2e6))
    if found is not None and found[0] == "words=little":
        assert found[1] == watts
    assert swapped(words, register, "little", "big", 2e6) is None


def test_the_example_of_the_facts() -> None:
    words = encode(1099.96, "float32", "little", "big")
    register = Register(table="input", address=0, type="float32")
    assert decode(words, "float32", "big", "big") > 1e37
    found = swapped(words, register, "big", "big", 2e6)
    assert found is not None and found[0] == "words=little" and found[1] == pytest.approx(1099.96, rel=1e-6)


@given(st.integers(1, 65535))
def test_small_whole_powers_with_swapped_words_are_noticed(watts: int) -> None:
    register = Register(table="input", address=0, type="uint32")
    assert swapped(encode(watts, "uint32", "little", "big"), register, "big", "big", 2e6) == ("words=little", watts)
    assert swapped(encode(watts, "uint32", "big", "big"), register, "big", "big", 2e6) is None


SENTINELS: list[tuple[Kind, list[int]]] = [("int16", [0x8000]), ("uint16", [0xFFFF]), ("int32", [0x8000, 0])]
SENTINELS.append(("float32", [0x7FC0, 0]))


@pytest.mark.parametrize(("kind", "raw"), SENTINELS)
def test_sentinels_are_what_makers_use(kind: Kind, raw: list[int]) -> None:
    value = decode(raw, kind, "big", "big")
    assert math.isnan(value) or value in (-(2.0**15), 2.0**16 - 1, -(2.0**31))


def test_profiles_are_whole() -> None:
    for profile in profiles().values():
        assert profile.source and profile.title and profile.power is not None
        assert profile.energy is None or profile.energy.scale in (1.0, 3600.0, 3.6e6)


def test_a_register_in_words() -> None:
    assert parse_register("holding/0x48/uint64/0.1") == Register(table="holding", address=72, type="uint64", scale=0.1)
