"""Modbus: power transducers and energy meters behind Modbus TCP, or RTU framing over TCP.

    modbus://METER[:502]?profile=eastron-sdm630
    modbus://METER?power=input/52/float32&energy=input/72/float32/3.6e6

A register is table/address/type[/scale]: ``holding`` or ``input``; the address on the wire, from zero; int16, uint16, int32,
uint32, int64, uint64, float32 or float64; what one unit is in watts or joules. A device has one unit number (?unit=1).

Power and energy are read in ONE request where they lie within 100 registers and the device allows it, so that they belong
together. Makers disagree on which word comes first: a value that is absurd one way and sane the other (1099.96 W reads as
9.99e37 W) is refused with the option that fixes it. A float32 counter grows coarse: its step is the last of its 24 bits.
"""

from __future__ import annotations

import logging
import math
import struct
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from ...errors import BadInput, unknown
from ...hosts.access import HostAccess
from ...strict import CountOrNone, Positive
from . import Channel, Meter, Reading, Source, Status, Target
from ._network import (
    OPTIONS,
    Bounded,
    Lost,
    Polled,
    choice,
    connect,
    endpoint,
    library,
    limit_s,
    measured,
    number,
    place,
)

PORT = 502
_REACH = 100  # registers between two values that are still read in one request; a request may ask for 125
_FORMATS = {"int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q"}
_FORMATS |= {"float32": "f", "float64": "d"}
Kind = Literal["int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
Order = Literal["big", "little"]


class Register(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a value lies and what one unit of it is in SI."""

    table: Literal["holding", "input"]
    address: CountOrNone
    type: Kind
    scale: float = 1.0
    modulus: Positive | None = None  # in units of the register

    @property
    def count(self) -> int:
        """How many registers it takes."""
        return struct.calcsize("=" + _FORMATS[self.type]) // 2


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of transducer."""

    name: str
    title: str
    source: str
    power: Register | None = None
    energy: Register | None = None
    words: Order = "big"
    bytes: Order = "big"


class Profiles(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``modbus_profiles.toml``, or a user's file of the same form."""

    profile: tuple[Profile, ...]


@cache
def profiles() -> dict[str, Profile]:
    """The profiles that are shipped, by name."""
    table = msgspec.toml.decode((files(__package__) / "modbus_profiles.toml").read_bytes(), type=Profiles)
    return {one.name: one for one in table.profile}


def parse_register(text: str) -> Register:
    """``input/52/float32/3.6e6``. Raises BadInput."""
    words = text.split("/")
    try:
        if not 3 <= len(words) <= 4:
            raise ValueError
        raw = {"table": words[0], "address": int(words[1], 0), "type": words[2]}
        raw["scale"] = float(words[3]) if len(words) == 4 else 1.0
        register = msgspec.convert(raw, Register)
        if not 0 <= register.address <= 65536 - register.count or not math.isfinite(register.scale):
            raise ValueError
    except (ValueError, msgspec.ValidationError):
        raise BadInput(
            f"{text!r} is not a valid register",
            hint=f"TABLE/ADDRESS/TYPE[/SCALE]: input/52/float32/1; types: {', '.join(_FORMATS)}",
        ) from None
    return register


def decode(words: list[int], kind: Kind, order: Order, within: Order) -> float:
    """Registers as a number. ``order``: the high word first (big) or last; ``within``: the same for a word's bytes."""
    ordered = words if order == "big" else words[::-1]
    data = b"".join(struct.pack(">H" if within == "big" else "<H", word) for word in ordered)
    return float(struct.unpack(">" + _FORMATS[kind], data)[0])


#: What makers put into a register that has no value (SunSpec and others).
_ABSENT = {"int16": -(2.0**15), "uint16": 2.0**16 - 1, "int32": -(2.0**31), "uint32": 2.0**32 - 1}
_ABSENT |= {"int64": -(2.0**63), "uint64": float(2**64 - 1)}


def sane(watts: float, most_w: float) -> bool:
    """Whether a power can be: finite, not beyond ``most_w``, and no denormal such as swapped words make of it."""
    return math.isfinite(watts) and abs(watts) <= most_w and (watts == 0 or abs(watts) >= 1e-4)


def swapped(
    words: list[int], register: Register, order: Order, within: Order, most_w: float
) -> tuple[str, float] | None:
    """The option that makes sense of a power that is absurd, and the watts that it then is; None where all is well.

    A whole number is absurd too where its low half is empty and its high half alone would do: small powers with their
    words swapped.
    """
    if register.count < 2:
        return None
    value = decode(words, register.type, order, within) * register.scale
    whole = not register.type.startswith("float")
    half = whole and words and value != 0 and decode(words, register.type, order, within) % 65536 == 0
    if sane(value, most_w) and not half:
        return None
    other: Order = "little" if order == "big" else "big"
    for option, how in ((f"words={other}", (other, within)), (f"bytes={_other(within)}", (order, _other(within)))):
        watts = decode(words, register.type, *how) * register.scale
        if sane(watts, most_w) and watts != 0 and (not whole or abs(watts) < abs(value)):
            return option, watts
    return None


def _other(order: Order) -> Order:
    return "little" if order == "big" else "big"


class _Spot(NamedTuple):
    register: Register
    quantity: Literal["power", "energy"]


class _Client:
    """One connection, by pymodbus."""

    def __init__(self, target: Target, limit: float) -> None:
        api = library("pymodbus.client", "pymodbus")
        self._errors = library("pymodbus.exceptions", "pymodbus").ModbusException
        framers = library("pymodbus.framer", "pymodbus").FramerType
        logging.getLogger("pymodbus.logging").setLevel(
            logging.CRITICAL
        )  # what fails is a reading's status, no log line
        host, port = endpoint(target, PORT)
        framer = framers.RTU if choice(target, "framing", ("tcp", "rtu"), "tcp") == "rtu" else framers.SOCKET
        self._unit = int(number(target, "unit", 1))
        self._where = f"{host}:{port}"
        self._client = api.ModbusTcpClient(host, port=port, framer=framer, timeout=0.9 * limit, retries=0)

    def read(self, table: str, address: int, count: int) -> list[int]:
        """Some registers. Raises Lost."""
        try:
            if not self._client.connected and not self._client.connect():
                raise Lost(f"{self._where} does not take the connection")
            ask = self._client.read_holding_registers if table == "holding" else self._client.read_input_registers
            said = ask(address, count=count, device_id=self._unit)
        except (self._errors, OSError) as error:
            self._client.close()  # what is still under way must not be taken for the next answer
            raise Lost(f"{self._where}: {error}") from None
        if said.isError():
            raise _exception(self._where, int(getattr(said, "exception_code", 0)))
        registers = list(said.registers)
        if len(registers) != count:
            self._client.close()
            raise Lost(f"{self._where}: {len(registers)} registers instead of {count}")
        return registers

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


class _Refused(Lost):
    """A Modbus exception response."""

    code = 0


def _exception(where: str, code: int) -> _Refused:
    names = {1: "illegal function", 2: "illegal address", 3: "illegal value", 4: "device failure", 6: "busy"}
    names |= {0x0A: "gateway path unavailable", 0x0B: "no answer behind the gateway"}
    status = Status.UNSUPPORTED if code in (1, 2, 3) else Status.GAP
    lost = _Refused(f"{where}: exception {code}, {names.get(code, 'unknown')}", status, broken=code not in (1, 2, 3))
    lost.code = code
    return lost


class _Transducer:
    """What is asked of one device, in the order of the channels."""

    def __init__(self, client: _Client, profile: Profile, target: Target, door: HostAccess) -> None:
        self.client = client
        self._profile = profile
        self._target = target
        self._door = door
        self._most_w = number(target, "most", 2e6)
        self._words: Order = choice(target, "words", ("big", "little"), profile.words)  # type: ignore[assignment]
        self._bytes: Order = choice(target, "bytes", ("big", "little"), profile.bytes)  # type: ignore[assignment]
        pairs: tuple[tuple[Register | None, Literal["power", "energy"]], ...]
        pairs = ((profile.power, "power"), (profile.energy, "energy"))
        self._spots = [_Spot(register, quantity) for register, quantity in pairs if register is not None]
        self._blocks = _blocks([spot.register for spot in self._spots])

    def discover(self) -> list[Channel]:
        """The channels, each read once: words that are swapped are named here. Raises Lost or BadInput."""
        try:
            raw = self._registers([])
        except _Refused as refused:
            if refused.code not in (2, 3) or len(self._blocks) == len(self._spots):
                raise
            self._blocks = [[index] for index in range(len(self._spots))]  # the registers between them are not there
            raw = self._registers([])
        for spot, words in zip(self._spots, raw, strict=True):
            found = (
                swapped(words, spot.register, self._words, self._bytes, self._most_w)
                if spot.quantity == "power"
                else None
            )
            if found:
                value = decode(words, spot.register.type, self._words, self._bytes) * spot.register.scale
                raise BadInput(
                    f"the power reads as {value:.6g} W, which cannot be; with ?{found[0]} it is {found[1]:.6g} W",
                    where=str(self._target),
                    hint=f"add ?{found[0]}, or ?most= where so much power can be",
                )
        return [self._channel(spot, words) for spot, words in zip(self._spots, raw, strict=True)]

    def _registers(self, stamps: list[tuple[int, int]]) -> list[list[int]]:
        """The registers of every spot; ``stamps`` gets the clock before and after, for every spot."""
        raw: dict[int, list[int]] = {}
        times: dict[int, tuple[int, int]] = {}
        for block in self._blocks:
            registers = [self._spots[index].register for index in block]
            begin = min(one.address for one in registers)
            end = max(one.address + one.count for one in registers)
            before = self._door.now_ns()
            words = self.client.read(registers[0].table, begin, end - begin)
            times.update(dict.fromkeys(block, (before, self._door.now_ns())))
            for index in block:
                at = self._spots[index].register.address - begin
                raw[index] = words[at : at + self._spots[index].register.count]
        stamps += [times[index] for index in range(len(self._spots))]
        return [raw[index] for index in range(len(self._spots))]

    def _channel(self, spot: _Spot, words: list[int]) -> Channel:
        register = spot.register
        value = decode(words, register.type, self._words, self._bytes)
        energy = spot.quantity == "energy"
        whole = not register.type.startswith("float")
        bits = 16 * register.count - (not register.type.startswith("u"))
        modulus = register.modulus or (2.0**bits if whole else None)
        step = 1.0 if whole else _float_step(value, register.type) if energy and math.isfinite(value) else None
        return Channel(
            id=f"modbus/meter/{spot.quantity}",
            title=f"{self._profile.title}, {register.table} register {register.address}",
            quantity=spot.quantity,
            unit="J" if energy else "W",
            scope="counter" if energy else "last",
            place=place(self._target, "node"),
            host=measured(self._target, PORT),
            most_w=self._most_w if "most" in self._target.options else None,
            modulus=modulus * register.scale if energy and modulus else None,
            resolution=step * register.scale if step else None,
            device=self._profile.title if self._profile.source else "",
            note=self._profile.source + ("; a float counter: its step grows with it" if energy and not whole else ""),
        )

    def ask(self, out: list[Reading]) -> None:
        """One reading of every channel, in as few requests as the device takes."""
        stamps: list[tuple[int, int]] = []
        raw = self._registers(stamps)
        for index, (spot, words) in enumerate(zip(self._spots, raw, strict=True)):
            value, status = self._value(spot, words)
            out.append(Reading(index, *stamps[index], None, value, status))

    def _value(self, spot: _Spot, words: list[int]) -> tuple[float | None, Status]:
        value = decode(words, spot.register.type, self._words, self._bytes)
        if math.isnan(value) or value == _ABSENT.get(spot.register.type):
            return None, Status.UNSUPPORTED
        value *= spot.register.scale
        if not math.isfinite(value) or (spot.quantity == "power" and abs(value) > self._most_w):
            return None, Status.OVERRANGE
        return value, Status.OK


def _float_step(value: float, kind: str) -> float:
    """The distance to the next number of that type."""
    if kind == "float64":
        return math.ulp(value)
    mantissa, exponent = math.frexp(abs(value))
    return math.ldexp(1.0, exponent - 24) if mantissa else 2.0**-149


def _blocks(registers: list[Register]) -> list[list[int]]:
    """Which registers to ask for together: those of one table that one request reaches."""
    if len(registers) == 2 and registers[0].table == registers[1].table:
        begin = min(one.address for one in registers)
        end = max(one.address + one.count for one in registers)
        if end - begin <= _REACH:
            return [[0, 1]]
    return [[index] for index in range(len(registers))]


def profile_of(target: Target) -> Profile:
    """What to read: a shipped profile, a user's file, or the registers in the target. Raises BadInput."""
    given = {key: parse_register(target.options[key]) for key in ("power", "energy") if key in target.options}
    name = target.options.get("profile")
    if name is None:
        if not given:
            raise BadInput(
                "which registers?",
                where=str(target),
                hint=f"?power=input/52/float32, or ?profile={'|'.join(profiles())}",
            )
        return Profile(name="", title="registers", source="", power=given.get("power"), energy=given.get("energy"))
    if name.endswith(".toml"):
        from ...strict import convert, read_text, read_toml

        found = convert(read_toml(read_text(Path(name)), name), Profile, name, hint="see docs/meters.md")
    elif name in profiles():
        found = profiles()[name]
    else:
        raise unknown("profile", name, profiles(), where=str(target))
    return msgspec.structs.replace(found, **given)


def _open(target: Target, door: HostAccess) -> Source:
    limit = limit_s(target, 2.0)
    profile = profile_of(target)
    client = _Client(target, limit)
    device = _Transducer(client, profile, target, door)
    thread = Bounded(f"modbus {target.address}")
    channels = connect(target, thread, device.discover, client.close, 4 * limit)
    return Polled(channels, device.ask, client.close, door=door, limit=limit, thread=thread)


METER = Meter(
    name="modbus",
    title="Modbus: power transducers and energy meters",
    address="modbus://METER[:502]?profile=NAME",
    open=_open,
    options={
        **OPTIONS,
        "profile": "a kind of transducer, or a TOML file that lists its registers",
        "power": "register of the power: TABLE/ADDRESS/TYPE[/SCALE]",
        "energy": "register of the energy counter",
        "unit": "unit number of the device: 1",
        "words": "which word of a value comes first: big (the high one) or little",
        "bytes": "the same for the bytes of a word",
        "framing": "tcp, or rtu: serial framing over TCP",
        "most": "watts beyond which a power cannot be: 2e6",
    },
    poll_s=0.5,
    least_poll_s=0.01,
)
