"""What a rehearsal cluster is asked to be, and what is kept of one that is up: ``cluster.json``.

Names and addresses are the same in every cluster, for each lies in namespaces of its own: the controller is ``ctl`` at
10.77.0.1 and fd77::1, node i is ``node<i>`` at 10.77.0.(10+i) and fd77::(10+i in hexadecimal).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import msgspec

from .. import strict
from ..errors import BadInput
from ..files import atomic
from ..records import Record

Engine = Literal["slurm", "gridengine"]
Layout = Literal["root", "user", "plain"]
"""``root``: namespaces made by root. ``user``: namespaces below a user namespace of an ordinary user. ``plain``: no
namespaces, all nodes share this host's name and network."""

SCHEMA = 1
CONTROLLER = "ctl"
MOST_NODES = 200  # 10.77.0.11 to 10.77.0.210
#: Ordinary accounts of a cluster made by root; they exist inside it only.
USERS = {"alice": 20001, "bob": 20002}
ACCOUNT = "accept"
CLUSTER = "rehearsal"
PARTITION = "batch"
#: Unix sockets have 108 bytes (man 7 unix); the longest below the directory is a step daemon's,
#: ``spool/node200/node200_4294967295.4294967295``.
LONGEST_DIRECTORY = 108 - 1 - len("/spool/node200/node200_4294967295.4294967295")


class Link(Record, frozen=True, kw_only=True):
    """The link between a node and the switch, in each of its two directions. Traffic between nodes passes two links."""

    rate_bit_s: float | None = None  # None: as fast as the host is
    delay_s: float = 0.0  # one way
    loss: float = 0.0  # fraction of frames, one way
    cut: bool = False

    @property
    def shaped(self) -> bool:
        return bool(self.rate_bit_s or self.delay_s or self.loss)


class Settings(Record, frozen=True, kw_only=True):
    """What is asked for."""

    nodes: int = 4
    engines: tuple[Engine, ...] = ("slurm",)
    cpus: int = 4  # of each node, as the engine is told; the host may have fewer
    memory_bytes: int = 4_000 << 20
    gpus: int = 4  # generic resources on dummy devices
    gpu_type: str = "h200"
    link: Link = Link()
    ssh: bool = False  # a server of ssh on each node, and keys for the users
    fence: bool = False  # Slurm's control groups: memory limits and devices really hold
    silence_s: int = 15  # SlurmdTimeout and Grid Engine's max_unheard: silence after which a node counts as lost
    layout: Layout | None = None  # None: the fullest that this host allows


class Description(Record, frozen=True, kw_only=True):
    """What ``cluster.json`` holds."""

    schema: int = SCHEMA
    version: str
    settings: Settings
    layout: Layout
    layout_reason: str = ""  # why not a fuller one
    links: dict[str, Link] = msgspec.field(default_factory=dict)
    methods: dict[str, str] = msgspec.field(default_factory=dict)  # node -> what shapes its link: netem, tbf, tap
    ports: dict[str, int] = msgspec.field(default_factory=dict)  # layout plain: daemon -> TCP port
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    init_pid: int = 0  # of the process that holds the namespaces, as this host counts; 0 in layout plain
    init_start: int = 0  # when it began, in clock ticks since boot
    ready: bool = False  # whether `up` came to its end


def node_names(count: int) -> tuple[str, ...]:
    return tuple(f"node{index}" for index in range(1, count + 1))


def address4(host: str) -> str:
    """The IPv4 address of ``ctl`` or of a node."""
    return f"10.77.0.{1 if host == CONTROLLER else 10 + number(host)}"


def address6(host: str) -> str:
    """The IPv6 address of ``ctl`` or of a node."""
    return f"fd77::{1 if host == CONTROLLER else 10 + number(host):x}"


def mac(host: str) -> str:
    """The Ethernet address of a node: fixed, so that a node that comes back is the same to its neighbours."""
    return f"02:77:00:00:00:{10 + number(host):02x}"


def number(host: str) -> int:
    """The 3 of ``node3``."""
    return int(host.removeprefix("node"))


def check(settings: Settings, directory: Path) -> None:
    """Raise BadInput where these settings cannot make a cluster in this directory."""
    _within("--nodes", settings.nodes, 1, MOST_NODES)
    _within("--cpus", settings.cpus, 1, 1024)
    _within("--gpus", settings.gpus, 0, 64)
    _within("silence in seconds", settings.silence_s, 5, 3600)
    if not settings.engines:
        raise BadInput("no engine was requested", hint="--engine slurm, --engine gridengine, or both")
    if not re.fullmatch(r"[a-z0-9_-]{1,32}", settings.gpu_type):
        raise BadInput(f"--gpu-type {settings.gpu_type!r}", hint="lower-case letters, digits, _ and -: h200, a100-40g")
    check_link(settings.link)
    check_directory(directory)


def check_link(link: Link) -> None:
    """Raise BadInput for a link that cannot be."""
    if link.rate_bit_s is not None and not 1e4 <= link.rate_bit_s <= 1e12:
        raise BadInput(f"a link rate of {link.rate_bit_s:g} bit/s", hint="between 10kbit and 1000Gbit")
    if not 0 <= link.delay_s <= 10:
        raise BadInput(f"a link delay of {link.delay_s:g} s", hint="between 0 and 10 s")
    if not 0 <= link.loss < 1:
        raise BadInput(
            f"a link loss of {100 * link.loss:g} %", hint="from 0 to below 100 %; `node cut` takes a link away"
        )


def check_directory(directory: Path) -> None:
    """Raise BadInput for a path that the cluster's sockets or configuration files cannot hold."""
    if len(str(directory)) > LONGEST_DIRECTORY:
        raise BadInput(
            f"the path has {len(str(directory))} bytes, and Unix sockets below it may not pass 108",
            where=str(directory),
            hint=f"--directory with at most {LONGEST_DIRECTORY} bytes",
        )
    if not re.fullmatch(r"[A-Za-z0-9/._+-]+", str(directory)):
        raise BadInput(
            "the engines' configuration files cannot hold this path",
            where=str(directory),
            hint="--directory of letters, digits and / . _ + -",
        )


def _within(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise BadInput(f"{name} {value}", hint=f"between {low} and {high}")


def parse_rate(text: str) -> float:
    """``1Gbit``, ``1 Gbit/s``, ``100Mbit`` -> bit/s. Raises BadInput."""
    found = re.fullmatch(r"\s*([0-9.eE+-]+)\s*([kKMGT]?)(?:bit(?:/s)?|bps)\s*", text)
    value = _number(found[1]) if found else None
    if found is None or value is None:
        raise BadInput(f"{text!r} is not a valid rate", hint="100Mbit, 1Gbit, 10 Gbit/s")
    return value * {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[found[2]]


def parse_delay(text: str) -> float:
    """``1ms``, ``250 us``, ``0.5s`` -> s. Raises BadInput."""
    found = re.fullmatch(r"\s*([0-9.eE+-]+)\s*(s|ms|us|µs)\s*", text)
    value = _number(found[1]) if found else None
    if found is None or value is None:
        raise BadInput(f"{text!r} is not a valid delay", hint="1ms, 250us, 0.5s")
    return value * {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}[found[2]]


def parse_loss(text: str) -> float:
    """``0.1%`` or ``0.001`` -> fraction. Raises BadInput."""
    found = re.fullmatch(r"\s*([0-9.eE+-]+)\s*(%?)\s*", text)
    value = _number(found[1]) if found else None
    if found is None or value is None:
        raise BadInput(f"{text!r} is not a valid loss", hint="0.1% or 0.001")
    return value / 100 if found[2] else value


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def save(directory: Path, description: Description) -> None:
    """Write ``cluster.json``, whole or not at all."""
    atomic.replace(directory / "cluster.json", atomic.as_json(description) + b"\n", flush=False)


def load(directory: Path) -> Description | None:
    """What ``cluster.json`` says, or None where there is none. Raises BadInput where it is not one of ours."""
    try:
        text = (directory / "cluster.json").read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(directory / "cluster.json")) from None
    try:
        found = msgspec.json.decode(text, type=Description)
    except strict.UNREADABLE as error:
        raise BadInput(
            f"is not a valid cluster description: {error}",
            where=str(directory / "cluster.json"),
            hint="another --directory",
        ) from None
    if found.schema != SCHEMA:
        raise BadInput(f"has schema {found.schema}; this version knows {SCHEMA}", where=str(directory / "cluster.json"))
    return found
