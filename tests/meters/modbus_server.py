"""A Modbus server on loopback that answers with what two devices show."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from support.ports import free_port

from .load import Device


class Modbus:
    """A pymodbus server under way. ``order`` is that of the words; ``delay_s`` holds answers back; ``code`` refuses."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.order = "big"
        self.delay_s = 0.0
        self.code = 0
        self.requests: list[tuple[int, int, int]] = []  # function code, address, count

    @property
    def target(self) -> str:
        return f"modbus://127.0.0.1:{self.port}?power=input/52/float32&energy=input/72/float32/3.6e6"


def _words(kind: str, value: float, order: str) -> list[int]:
    data = struct.pack(f">{kind}", value)
    words = list(struct.unpack(f">{len(data) // 2}H", data))
    return words if order == "big" else words[::-1]


def _registers(hole: bool) -> list[Any]:
    simulator = pytest.importorskip("pymodbus.simulator")
    blocks = [(52, 2), (72, 2), (200, 8), (300, 8)] if hole else [(52, 22), (200, 8), (300, 8)]
    kind = simulator.DataType.REGISTERS
    return [simulator.SimData(at, values=[0] * count, datatype=kind) for at, count in blocks]


@contextlib.contextmanager
def modbus(power: Device, energy: Device, *, hole: bool = False, rtu: bool = False, port: int = 0) -> Iterator[Modbus]:
    """A transducer with the registers of an Eastron SDM630: float32, watts at 52 and kWh at 72; the same as uint32 (watts,
    joules) at 200 and 202; float64 (watts, Wh) at 300 and 304. With ``hole`` those between 54 and 72 are not there."""
    pymodbus = pytest.importorskip("pymodbus.server")
    constants = pytest.importorskip("pymodbus.constants")
    simulator = pytest.importorskip("pymodbus.simulator")
    framers = pytest.importorskip("pymodbus.framer").FramerType
    server = Modbus(port or free_port())

    async def action(code: int, start: int, address: int, count: int, registers: list[int], new: Any) -> Any:
        server.requests.append((code, address, count))
        if server.delay_s:
            await asyncio.sleep(server.delay_s)
        if server.code:
            return constants.ExcCodes(server.code)
        joules, watts = energy.value(), power.value()
        values = {52: ("f", watts), 72: ("f", joules / 3.6e6), 200: ("I", round(watts)), 202: ("I", int(joules))}
        values |= {300: ("d", watts), 304: ("d", joules / 3600)}
        for at, (kind, value) in values.items():
            words = _words(kind, value, server.order)
            if start <= at and at + len(words) <= start + len(registers):
                registers[at - start : at - start + len(words)] = words
        return None

    device = simulator.SimDevice(1, simdata=_registers(hole), action=action)
    loop = asyncio.new_event_loop()
    up = threading.Event()
    made: list[Any] = []

    async def serve() -> None:
        framer = framers.RTU if rtu else framers.SOCKET
        made.append(pymodbus.ModbusTcpServer(device, address=("127.0.0.1", server.port), framer=framer))
        await made[0].serve_forever(background=True)
        up.set()
        await made[0].serving
        await asyncio.sleep(0)

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), name="modbus server")
    thread.start()
    try:
        assert up.wait(60)
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(made[0].shutdown(), loop)
        thread.join(60)
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()
