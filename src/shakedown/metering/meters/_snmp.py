"""SNMP below the meter: the table of vendors, one agent by pysnmp, and what its values mean."""

from __future__ import annotations

import math
import struct
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import msgspec

from ...errors import BadInput
from ...hosts.access import HostAccess
from ...units import whole_number
from . import Status, Target, secret
from ._network import Lost, choice, endpoint, library

PORT = 161
Oid = tuple[int, ...]


class Where(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Only instances whose value in another column is one of some."""

    oid: str
    values: tuple[int, ...]


class Column(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One column of ``snmp_oids.toml``."""

    title: str
    oid: str
    quantity: Literal["power", "energy"]
    scale: float
    level: Literal["inlet", "phase", "outlet"]
    source: str
    last: int | None = None
    where: Where | None = None
    digits: str = ""
    absent: tuple[int, ...] = (-1,)
    modulus: float | None = None
    sure: bool = True


class Vendor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The columns of one vendor."""

    name: str
    enterprise: str
    column: tuple[Column, ...]


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``snmp_oids.toml``."""

    vendor: tuple[Vendor, ...]


@cache
def table() -> Table:
    """The table, read once."""
    return msgspec.toml.decode((files(__package__) / "snmp_oids.toml").read_bytes(), type=Table)


def parse_oid(text: str) -> Oid:
    """``1.3.6.1.4.1`` or ``.1.3.6.1.4.1`` as numbers. Raises BadInput."""
    parts = text.strip().lstrip(".").split(".")
    numbers = tuple(whole_number(part, most=2**32 - 1) for part in parts)  # RFC 2578: a sub-identifier has 32 bits
    if len(parts) < 2 or None in numbers:
        raise BadInput(
            f"{text!r} is not a valid object identifier", hint="write it in numbers: 1.3.6.1.4.1.318.1.1.26.4.3.1.5.1"
        )
    return tuple(int(part) for part in parts)


class Spot(NamedTuple):
    """One object that is read."""

    oid: Oid
    scale: float
    absent: tuple[int, ...]
    power: bool


#: SNMP type -> the value at which a counter of it starts again.
MODULI = {"Counter32": 2.0**32, "Gauge32": 2.0**32, "Unsigned32": 2.0**32, "Counter64": 2.0**64, "Integer32": 2.0**31}
MODULI |= {"Integer": 2.0**31}
MISSING = {"NoSuchObject", "NoSuchInstance", "EndOfMibView", "Null"}
_REFUSALS = ("digest", "username", "user name", "authorization", "authentication", "decryption", "security")


class Agent:
    """One device, by pysnmp, whose event loop runs in the thread that asks."""

    def __init__(self, target: Target, door: HostAccess, limit: float) -> None:
        self._api = library("pysnmp.hlapi.v3arch.asyncio", "pysnmp")
        self._asyncio = library("asyncio", "python")
        self._address = endpoint(target, PORT)
        self._auth = _credentials(self._api, target, door)
        self._limit = limit
        self._loop: Any = None
        self._engine: Any = None
        self._transport: Any = None

    def _start(self) -> None:
        if self._loop is None:
            self._loop = self._asyncio.new_event_loop()
            self._engine = self._api.SnmpEngine()
        if self._transport is None:
            made = self._api.UdpTransportTarget.create(self._address, timeout=self._limit / 2.2, retries=1)
            try:
                self._transport = self._loop.run_until_complete(made)
            except Exception as error:  # pysnmp wraps what getaddrinfo says in an error of its own
                raise Lost(f"{self._address[0]}: {error}") from None

    def get(self, oids: list[Oid]) -> list[Any]:
        """The values of some objects, in one question; in two where the answer would be too big. Raises Lost."""
        self._start()
        said = self._run(self._api.get_cmd, *(self._object(oid) for oid in oids))
        if said is None:
            half = len(oids) // 2
            return self.get(oids[:half]) + self.get(oids[half:])
        if len(said) != len(oids):
            raise Lost(f"{len(said)} values for {len(oids)} objects")
        return [value for _, value in said]

    def walk(self, root: Oid, most: int = 2000) -> list[tuple[Oid, Any]]:
        """The objects below ``root``, at most so many. Raises Lost."""
        self._start()
        out: list[tuple[Oid, Any]] = []
        at = root
        while len(out) < most:
            rows = self._run(self._api.bulk_cmd, 0, 20, self._object(at)) or ()
            before = len(out)
            for name, value in rows:
                oid = tuple(name)
                if oid[: len(root)] != root or type(value).__name__ in MISSING or oid <= at:
                    return out
                out.append((oid, value))
                at = oid
            if len(out) == before:
                return out
        return out

    def _object(self, oid: Oid) -> Any:
        return self._api.ObjectType(self._api.ObjectIdentity(oid))

    def _run(self, command: Any, *words: Any) -> Any:
        """The variables of an answer; None where it is too big to be sent at once."""
        context = self._api.ContextData()
        asked = command(self._engine, self._auth, self._transport, context, *words, lookupMib=False)
        try:
            failed, status, _, variables = self._loop.run_until_complete(asked)
        except OSError as error:
            raise Lost(str(error)) from None
        if failed:
            text = str(failed)
            if "timeout" in text.lower():
                text += " (no agent there, or another community)"
            refused = any(word in text.lower() for word in _REFUSALS)
            raise Lost(f"SNMP: {text}", Status.REFUSED if refused else Status.GAP)
        if int(status):
            text = status.prettyPrint() if hasattr(status, "prettyPrint") else str(status)
            if int(status) == 1 and len(variables) > 1:
                return None
            refused = int(status) in (6, 16)  # noAccess, authorizationError
            raise Lost(f"SNMP: {text}", Status.REFUSED if refused else Status.GAP, broken=False)
        return variables

    def close(self) -> None:
        """Close the socket and the event loop."""
        loop, self._loop = self._loop, None
        if loop is None:
            return
        self._engine.close_dispatcher()
        pending = self._asyncio.all_tasks(loop)
        for task in pending:
            task.cancel()
        loop.run_until_complete(self._asyncio.gather(*pending, return_exceptions=True))
        loop.run_until_complete(self._asyncio.sleep(0))  # the transport closes in the loop's next turn
        loop.close()


_AUTH = {"md5": "usmHMACMD5AuthProtocol", "sha": "usmHMACSHAAuthProtocol", "sha224": "usmHMAC128SHA224AuthProtocol"}
_AUTH |= {"sha256": "usmHMAC192SHA256AuthProtocol", "sha384": "usmHMAC256SHA384AuthProtocol"}
_AUTH |= {"sha512": "usmHMAC384SHA512AuthProtocol", "none": "usmNoAuthProtocol"}
_PRIV = {"des": "usmDESPrivProtocol", "aes": "usmAesCfb128Protocol", "aes192": "usmAesCfb192Protocol"}
_PRIV |= {"aes256": "usmAesCfb256Protocol", "none": "usmNoPrivProtocol"}


def _credentials(api: Any, target: Target, door: HostAccess) -> Any:
    password = secret(target, door)
    if not target.user:
        return api.CommunityData(password or "public", mpModel=1)
    auth = choice(target, "auth", tuple(_AUTH), "sha" if password else "none")
    priv = choice(target, "priv", tuple(_PRIV), "none")
    if auth != "none" and len(password) < 8:
        raise BadInput(
            "SNMP v3 needs a password of at least 8 characters",
            where=str(target),
            hint="set SHAKEDOWN_SNMP_PASSWORD, or ?auth=none",
        )
    if auth == "none" and priv != "none":
        raise BadInput("SNMP v3 has no privacy without authentication", where=str(target), hint="add ?auth=sha256")
    second = (door.env("SHAKEDOWN_SNMP_PRIV_PASSWORD") or password).strip()
    return api.UsmUserData(
        target.user,
        authKey=password if auth != "none" else None,
        privKey=second if priv != "none" else None,
        authProtocol=getattr(api, _AUTH[auth]),
        privProtocol=getattr(api, _PRIV[priv]),
    )


def value_of(raw: Any, spot: Spot) -> tuple[float | None, Status]:
    """What an SNMP value is in SI units, or why it is none."""
    kind = type(raw).__name__
    if kind in MISSING:
        return None, Status.UNSUPPORTED
    found = _plain(raw)
    if found is None or math.isnan(found):
        return None, Status.UNSUPPORTED
    if found in spot.absent or (spot.power and kind in ("Gauge32", "Unsigned32") and found == 2**32 - 1):
        return None, Status.UNSUPPORTED
    if math.isinf(found):
        return None, Status.OVERRANGE
    return found * spot.scale, Status.OK


def _plain(raw: Any) -> float | None:
    """A number from an integer, a text that is one, or net-snmp's opaque float and double; None for all else."""
    if type(raw).__name__ not in ("OctetString", "Opaque", "DisplayString"):
        try:
            return float(int(raw))
        except (TypeError, ValueError):
            return None
    data = bytes(raw)
    if data[:3] == b"\x9f\x78\x04" and len(data) == 7:
        return float(struct.unpack(">f", data[3:])[0])
    if data[:3] == b"\x9f\x79\x08" and len(data) == 11:
        return float(struct.unpack(">d", data[3:])[0])
    try:
        return float(data.decode("ascii").split()[0])
    except (UnicodeDecodeError, ValueError, IndexError):
        return None
