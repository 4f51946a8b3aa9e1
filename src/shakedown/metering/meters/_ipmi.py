"""IPMI below the meter: two ways to a BMC, and what its bytes mean. The parsers are pure."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from ...hosts.access import HostAccess
from . import Status
from ._network import Lost, library

DCMI = 0xDC
GROUP, APP, STORAGE, SENSOR = 0x2C, 0x06, 0x0A, 0x04
_WATTS = 6  # IPMI 2.0, table 43-15

#: Completion codes (IPMI 2.0, table 5-2) that say more than "not now".
_CODES = {
    0xC1: Status.UNSUPPORTED,  # invalid command
    0xC2: Status.UNSUPPORTED,
    0xC9: Status.UNSUPPORTED,  # parameter out of range
    0xCB: Status.UNSUPPORTED,  # requested sensor not present
    0xCC: Status.UNSUPPORTED,
    0xCD: Status.UNSUPPORTED,
    0xD4: Status.REFUSED,  # insufficient privilege
}


class Denied(Exception):
    """The BMC answered with a completion code other than 0."""

    def __init__(self, code: int) -> None:
        super().__init__(f"completion code {code:02X}h")
        self.code = code
        self.status = _CODES.get(code, Status.GAP)


class Link(Protocol):
    """A way to a BMC."""

    def send(self, netfn: int, command: int, data: bytes, limit: float) -> bytes:
        """The answer after its completion code. Raises Denied or Lost."""

    def close(self) -> None:
        """End the session."""


class ToolLink:
    """ipmitool, once per question. The password goes through the environment, never through the command line.

    Over the network it asks for the least privilege, and for more where the BMC wants it.
    """

    def __init__(
        self, door: HostAccess, argv: tuple[str, ...], env: dict[str, str], *, levels: tuple[str, ...] = ()
    ) -> None:
        self._door = door
        self._argv = argv
        self._env = env
        self._levels = levels

    def send(self, netfn: int, command: int, data: bytes, limit: float) -> bytes:
        deadline = time.monotonic() + limit
        while True:
            try:
                return self._send(netfn, command, data, max(0.01, deadline - time.monotonic()))
            except Denied as denied:
                if denied.status != Status.REFUSED or len(self._levels) < 2:
                    raise
                self._levels = self._levels[1:]

    def _send(self, netfn: int, command: int, data: bytes, limit: float) -> bytes:
        words = [f"0x{byte:02x}" for byte in (netfn, command, *data)]
        level = ["-L", self._levels[0]] if self._levels else []
        done = self._door.run([*self._argv, *level, "raw", *words], limit_s=limit, env=self._env)
        if done.ok:
            try:
                return bytes.fromhex("".join(done.out.split()))
            except ValueError:
                raise Lost(f"ipmitool printed {done.out.strip()[:80]!r}, which is not a valid answer") from None
        said = " ".join(done.err.split())
        if "rsp=0x" in said:
            raise Denied(int(said.partition("rsp=0x")[2][:2], 16))
        if "RMCP+ session" in said:
            said += " (no BMC there, a wrong user or password, or it wants another ?cipher=)"
        raise Lost(said or f"ipmitool ended with {done.code}", self._why(said))

    def _why(self, said: str) -> Status:
        if "HMAC" in said or "unauthorized" in said or "privilege" in said:
            return Status.REFUSED
        if "Could not open device" in said and any(name.startswith("ipmi") for name in self._door.list("/dev")):
            return Status.REFUSED  # it is there, but not for us
        return Status.GAP

    def close(self) -> None:
        pass


class PyghmiLink:
    """One session that stays open, by pyghmi. It logs in again after a loss, at the next question.

    pyghmi's own waiting can miss a packet that comes before it has begun to wait, and then sleeps for most of a second: so
    the answer is waited for in short steps here.
    """

    _STEP_S = 0.005

    def __init__(self, host: str, port: int, user: str, password: str) -> None:
        self._module = library("pyghmi.ipmi.private.session", "pyghmi")
        self._errors = library("pyghmi.exceptions", "pyghmi")
        # as bytes: given text, pyghmi does not find its own entry again and hands out a session that has ended
        names = {"userid": user.encode(), "password": password.encode()}
        self._how = {"bmc": host, "port": port, "keepalive": False, **names}
        self._session: Any = None

    def send(self, netfn: int, command: int, data: bytes, limit: float) -> bytes:
        deadline = time.monotonic() + limit
        try:
            if self._session is None:
                self._log_in(deadline)
            said = self._ask(netfn, command, data, deadline)
        except (self._errors.PyghmiException, OSError) as error:
            self._drop()
            raise Lost(str(error.args[0] if error.args and error.args[0] else "the BMC does not answer")) from None
        if said is None or ("error" in said and said.get("code", 0) in (0, 0xFFFF)):
            self._drop()
            raise Lost("the BMC does not answer")
        if said.get("code"):
            raise Denied(int(said["code"]))
        return bytes(said["data"])

    def _log_in(self, deadline: float) -> None:
        said: list[dict[str, Any]] = []
        self._session = self._module.Session(onlogon=said.append, **self._how)
        self._wait(said, deadline)
        if not said or "error" in said[0]:
            why = str(said[0]["error"]) if said else "the BMC does not answer"
            refused = any(word in why.lower() for word in ("password", "unauthorized", "privilege", "user"))
            self._drop()
            raise Lost(why, Status.REFUSED if refused else Status.GAP, wait_s=60.0 if refused else 0.0)

    def _ask(self, netfn: int, command: int, data: bytes, deadline: float) -> dict[str, Any] | None:
        said: list[dict[str, Any]] = []
        session = self._session
        session.raw_command(netfn=netfn, command=command, data=tuple(data), callback=said.append)
        self._wait(said, deadline)
        session.incommand = False  # what pyghmi leaves to whoever gives a callback
        while session.evq:
            session.evq.popleft().set()
        return said[0] if said else None

    def _wait(self, said: list[dict[str, Any]], deadline: float) -> None:
        while not said and time.monotonic() < deadline:
            self._module.Session.wait_for_rsp(timeout=self._STEP_S)

    def _drop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.logged = 0  # no farewell to one that does not answer
            session._mark_broken()

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None and session.logged:
            session.logout()
            # its answer must not come in the midst of the next session's log-in, which would lose most of a second
            self._wait([], time.monotonic() + 0.05)


class Power(NamedTuple):
    """DCMI's answer: whole watts, the BMC's clock in seconds, and whether it measures at all."""

    current_w: int
    average_w: int
    stamp_s: int
    period_ms: int
    active: bool


def parse_power(data: bytes) -> Power:
    """The data of Get Power Reading, without its completion code. Raises Lost where it is cut short or another group's."""
    if len(data) < 18 or data[0] != DCMI:
        raise Lost(f"no power reading: {data.hex(' ') or 'empty'}", broken=False)
    return Power(_word(data, 1, 2), _word(data, 7, 2), _word(data, 9, 4), _word(data, 13, 4), bool(data[17] & 0x40))


def _word(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


class Sensor(NamedTuple):
    """One full sensor record: m x raw + b are watts."""

    number: int
    name: str
    m: float
    b: float
    signed: int  # 0 unsigned, 1 one's complement, 2 two's complement
    entity: int

    def value(self, raw: int) -> float:
        """The watts of a raw byte."""
        if self.signed and raw & 0x80:
            raw = raw - 256 + (self.signed == 1)
        return self.m * raw + self.b

    @property
    def top(self) -> int:
        """The raw byte that means "this or more"."""
        return 0x7F if self.signed else 0xFF


def parse_sensor(record: bytes) -> Sensor | None:
    """A sensor of watts that the BMC owns and that is linear, from a full record (IPMI 2.0, table 43-1); else None."""
    if len(record) < 48 or record[3] != 0x01 or record[5] != 0x20 or record[6] & 0x03:
        return None
    units, base, linear = record[20], record[21], record[23] & 0x7F
    if base != _WATTS or units & 0x3F or units >> 6 == 3 or linear or record[13] != 0x01:
        return None
    scale = 10.0 ** _signed(record[29] >> 4, bits=4)
    m = _signed((record[25] & 0xC0) << 2 | record[24], bits=10) * scale
    b = _signed((record[27] & 0xC0) << 2 | record[26], bits=10) * 10.0 ** _signed(record[29] & 0x0F, bits=4) * scale
    name = record[48 : 48 + (record[47] & 0x1F)].decode("latin-1").strip("\0 ")
    return Sensor(record[7], name or f"sensor {record[7]}", m, b, units >> 6, record[8])


def _signed(value: int, *, bits: int) -> int:
    """Two's complement of so many bits."""
    return value - (1 << bits) if value >> (bits - 1) else value


def records(link: Link, limit: float) -> Iterator[bytes]:
    """The records of the sensor data repository, read only; none where it is empty. Raises Denied or Lost."""
    info = link.send(STORAGE, 0x20, b"", limit)
    if len(info) < 3 or int.from_bytes(info[1:3], "little") == 0:
        return
    deadline = time.monotonic() + limit
    follow = 0
    for _ in range(int.from_bytes(info[1:3], "little")):
        if time.monotonic() > deadline:
            return
        try:
            answer = link.send(STORAGE, 0x23, bytes([0, 0, *follow.to_bytes(2, "little"), 0, 0xFF]), limit)
        except Denied:
            answer = _in_parts(link, follow, limit)
        yield answer[2:]
        follow = int.from_bytes(answer[:2], "little")
        if follow == 0xFFFF:
            return


def _in_parts(link: Link, follow: int, limit: float) -> bytes:
    """One record in pieces of 16 bytes, for a BMC that cannot send it whole."""
    ticket = link.send(STORAGE, 0x22, b"", limit)[:2]

    def ask(at: int, size: int) -> bytes:
        asked = bytes([*ticket, *follow.to_bytes(2, "little"), at, size])
        return link.send(STORAGE, 0x23, asked, limit)

    out = bytearray(ask(0, 5))
    size = 5 + out[6]
    while len(out) - 2 < size:
        more = ask(len(out) - 2, min(16, size - (len(out) - 2)))[2:]
        if not more:
            raise Lost(f"the record {follow} is cut short", broken=False)
        out += more
    return bytes(out)
