"""Sources of power, energy and temperature: one file per kind of meter, each with one constant ``METER``.

    Target (what to ask)  --open-->  Source (channels; read() asks once)  --sampler.py-->  a trace on disk

A meter says what each of its channels measures, where in the power path, and what stretch of time a reading stands for:
a number of watts without that is no measurement. What cannot be read is a status with its reason, never a zero. Nothing
here imports numpy: the sampler must cost nothing beside what it measures. ``simulated`` is the shipped fake.
"""

from __future__ import annotations

import enum
import os
import shlex
import stat
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from ... import plugins
from ...errors import BadInput
from ...hosts.access import HostAccess, LocalHost
from ...records import Record
from ...strict import NotNegative

Quantity = Literal["power", "energy", "temperature", "flow", "speed", "ratio"]
#: What a reading stands for: the moment of its stamp, the interval before or after it, or a counter that only grows.
Scope = Literal["point", "last", "next", "counter"]
#: Where in the power path: a facility's feed, a rack's or outlet's, a node's AC input, behind its power supply (DC), or a
#: part of the node. The first three are upstream of the conversion in the sense of the EE HPC WG (aspect 4).
Place = Literal["facility", "rack", "node", "board", "component"]
PLACES: tuple[Place, ...] = ("facility", "rack", "node", "board", "component")
UPSTREAM: tuple[Place, ...] = ("facility", "rack", "node")


class Status(enum.IntEnum):
    """What became of one reading. Only OK has a value that counts."""

    OK = 0
    GAP = 1  # no answer in time, or an error: the source may answer again
    REFUSED = 2  # permission denied
    UNSUPPORTED = 3  # the source says that it does not have it: -1, 0xFFFFFFFF, "N/A", ENODATA
    OVERRANGE = 4  # above what the meter can measure
    STALE = 5  # the source itself says that the value is old
    RESET = 6  # the source itself says that it started anew: a counter's earlier values do not join the later ones


class Accuracy(Record, frozen=True, kw_only=True):
    """What the maker states: +-(reading x value + full_scale x range + absolute). All are fractions but ``absolute``."""

    reading: NotNegative = 0.0
    full_scale: NotNegative = 0.0
    absolute: NotNegative = 0.0  # in the channel's unit
    kind: Literal["bound", "sigma", "fwhm"] = "bound"
    source: str = ""


class Channel(Record, frozen=True, kw_only=True):
    """One series of readings. None means "not known"; a characterisation fills it in (see metering/character.py)."""

    id: str  # "rapl/package-0": the meter's name first, unique on its host
    title: str
    quantity: Quantity
    unit: str  # SI: W, J, degC, m3/s, Hz, 1
    scope: Scope
    place: Place
    host: str = ""  # what it measures: a node's name, a rack's, empty for "the host that reads it"
    within: str = ""  # id of a channel of the same source whose feed contains this one: core within package
    modulus: float | None = None  # counters: the value at which it starts again at zero
    resolution: float | None = None  # the least step
    full_scale: float | None = None
    refresh_s: float | None = None  # how often the device makes a new value
    window_s: float | None = None  # over how long it averages
    delay_s: float | None = None  # how late the value is, beyond half the window
    #: Whose stamps they are although they have a half width; "scrape": of who asked the device before this meter did,
    #: exact in themselves, while the value may be as old as its refresh.
    stamped: Literal["reader", "device", "scrape"] = "reader"
    most_w: float | None = None  # the most power that can flow here: how often a counter may wrap unseen
    accuracy: Accuracy | None = None
    device: str = ""  # maker, model, serial number
    firmware: str = ""
    driver: str = ""
    note: str = ""  # what is known to mislead: "average of 1 s since driver 535"


class Reading(NamedTuple):
    """One answer. Times are Unix nanoseconds; the value lies in SI units and is None unless the status is OK."""

    channel: int  # index into the source's channels
    before_ns: int  # the clock before it was asked
    after_ns: int  # and after it answered
    device_ns: int | None  # the device's own stamp, where it gives one
    value: float | None
    status: Status = Status.OK


class Source(Protocol):
    """A meter that is open. Not shared between threads."""

    channels: tuple[Channel, ...]

    def read(self) -> Sequence[Reading]:
        """Ask once, all channels. Never raises for what a device does: a failure is a reading with its status."""

    def close(self) -> None:
        """Let go of it: sessions, sockets, files. May be called twice."""


class Target(Record, frozen=True, kw_only=True):
    """What to ask, as the user wrote it: ``rapl``, ``redfish://bmc7/Chassis/1?insecure=1``, ``csv:run3.csv``.

    No password is ever part of it: ``secret`` of this module takes it from the environment or a file.
    """

    meter: str
    address: str = ""  # host, host:port or a path
    path: str = ""  # what follows the host, with its leading slash
    user: str = ""
    options: dict[str, str] = msgspec.field(default_factory=dict)

    def __str__(self) -> str:
        rest = "&".join(f"{key}={value}" for key, value in self.options.items())
        at = f"{self.user}@" if self.user else ""
        where = f"://{at}{self.address}{self.path}" if self.address else f":{self.path}" if self.path else ""
        return f"{self.meter}{where}{'?' + rest if rest else ''}"


class Sample(Record, frozen=True, kw_only=True):
    """A recording and what it must read as: the contract tests open ``target`` on a recorded host.

    ``recording`` is a folder below tests/recordings that holds the machine's files; ``commands`` maps a command line to the
    file in it with what it printed. ``expect`` maps a channel's id to its value in SI units, or to a status's name.
    """

    recording: str
    target: str
    expect: dict[str, float | str]
    commands: dict[str, str] = msgspec.field(default_factory=dict)
    source: str = ""


class Meter(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of meter. Its module's docstring is its entry in the methods page."""

    name: str
    title: str
    address: str  # what a target looks like, for help and errors: "redfish://[USER@]HOST[/redfish/v1/Chassis/ID]"
    open: Callable[[Target, HostAccess], Source]
    """Raises Unavailable where it is not there or its library is missing, BadInput for a target that cannot be."""
    find: Callable[[HostAccess], tuple[Target, ...]] = lambda door: ()
    """What this machine has that needs no address: taken by ``--meter auto``. Quick, silent, never raises."""
    options: Mapping[str, str] = {}  # name -> help
    poll_s: float = 1.0  # how often it is read unless asked otherwise
    least_poll_s: float = 0.01  # never more often: it would measure the reading itself, or hurt the device
    samples: tuple[Sample, ...] = ()
    exposes: Callable[[Target], bool] = lambda target: False
    """Whether a password for this target would go over the network as it is, without encryption."""


def names() -> tuple[str, ...]:
    """The names of all meters."""
    return plugins.names("metering.meters")


def get(name: str) -> Meter:
    """The meter of that name. Raises BadInput with the nearest name."""
    found = plugins.load("metering.meters", "METER", name)
    assert isinstance(found, Meter)
    return found


def parse_target(text: str) -> Target:
    """``meter``, ``meter:PATH`` or ``meter://[user@]host[:port][/path][?key=value&...]``. Raises BadInput.

    Options are checked against those that the meter has; a password in the text is refused, since it would be recorded.
    """
    name = text.partition(":")[0].partition("?")[0]
    meter = get(name)
    parts = urlsplit(text if ":" in text else f"{name}:{text[len(name) :]}")
    if parts.password is not None:
        raise BadInput(
            f"the meter {name}://{parts.hostname} has a password in it, which would be written into every record",
            hint=f"give it in the environment (SHAKEDOWN_{name.upper()}_PASSWORD) or in a file (?password_file=PATH)",
        )
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    known = {**meter.options, "interval": "seconds between readings", "password_file": "file with the password"}
    for key in options:
        if key not in known:
            from ...errors import nearest

            near = nearest(key, known)
            raise BadInput(
                f"meter {name!r} has no option {key!r}",
                where=text,
                hint=(f"did you mean {near!r}? " if near else "") + f"known: {', '.join(sorted(known))}",
            )
    if parts.netloc:
        user, _, address = parts.netloc.rpartition("@")
        path = unquote(parts.path)
    else:
        user, address, path = "", unquote(parts.path), ""
    return Target(meter=name, address=address, path=path, user=unquote(user), options=options)


def secret(target: Target, door: HostAccess) -> str:
    """The password for a target: SHAKEDOWN_<METER>_PASSWORD, else the file named in ?password_file=; else empty."""
    value = door.env(f"SHAKEDOWN_{target.meter.upper()}_PASSWORD")
    if value is None and "password_file" in target.options:
        path = target.options["password_file"]
        if isinstance(door, LocalHost):
            _check_private(path)
        value = door.read(path)
        if value is None:
            raise BadInput("the password file cannot be read", where=path, hint="give the path of a file of your own")
    return (value or "").strip()


def _check_private(path: str) -> None:
    """Raises BadInput for a file with a password that others may read, as ssh refuses such a key: of one's own that is the
    group too; a file of root's may be for a group."""
    try:
        status = os.stat(path)
    except OSError:
        return  # said by who reads it
    open_to = status.st_mode & (0o077 if status.st_uid == os.geteuid() else 0o007)
    if open_to:
        raise BadInput(
            f"the password file may be read by others (mode {stat.S_IMODE(status.st_mode):03o})",
            where=path,
            hint=f"chmod 600 {shlex.quote(path)}, and choose a new password where others could have read it",
        )


def exposed(target: Target, door: HostAccess) -> str:
    """What to say where a password goes over the network unencrypted; empty where none does. Raises BadInput."""
    if not get(target.meter).exposes(target) or not secret(target, door):
        return ""
    return (
        f"the password for {target} goes over the network unencrypted, with every reading: whoever sees the packets has it; "
        "see TLS in docs/meters.md"
    )


def channel_key(channel: Channel) -> str:
    """``host:id``, which is unique in a run directory; the id alone where the channel names no host."""
    return f"{channel.host}:{channel.id}" if channel.host else channel.id
