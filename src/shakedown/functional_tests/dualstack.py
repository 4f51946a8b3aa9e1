"""IPv4 and IPv6 side by side: one process on each host of the job, which meet by files in the folder that they share.

Each tells its addresses; all choose alike the network that is looked at; each answers the others and asks them. What was
found is told by rank 0. No MPI: the launcher only starts the processes.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..errors import BadInput
from ..programs.emitter import Emitter, ProgramArguments, run
from ..records import Residual
from ..workloads.dualstack import TABLE
from . import _addresses, _work
from ._addresses import FAMILIES, Address, Chosen, Family
from ._meeting import Meeting, launched_rank
from ._servers import TOKEN_BYTES, Member, Servers, Wrong, ask_mtu, ask_tcp, ask_udp, serving

_LEAST_MTU: dict[Family, int] = {"ipv4": 576, "ipv6": 1280}  # RFC 791 (what every host takes), RFC 8200, section 5
_SMALL_BYTES = 512
_MULTICAST_S = 10.0
_TOLD = 40  # kinds of failed checks, host by host, that become notices


class Check(msgspec.Struct, frozen=True):
    """One thing that must hold; ``why`` is empty where it does."""

    what: str  # address, names, tcp, udp, mapped, mtu, multicast
    family: str
    host: str
    other: str = ""
    why: str = ""


class Host(msgspec.Struct, frozen=True):
    """What a process tells of its host before anything is tried."""

    name: str
    addresses: tuple[Address, ...]
    resolved: dict[str, tuple[str, ...]] = {}  # family -> what the host's own name resolves to, there
    ports: dict[str, int] = {}
    token: str = ""  # to be asked with
    group_token: str = ""  # rank 0's: of the multicast groups
    groups: dict[str, str] = {}  # rank 0's: family -> multicast group
    group_port: int = 0


def resolve(name: str) -> dict[str, tuple[str, ...]]:
    """Family -> the addresses that a name resolves to on this host."""
    found: dict[str, tuple[str, ...]] = {}
    for family, number in (("ipv4", socket.AF_INET), ("ipv6", socket.AF_INET6)):
        try:
            answers = socket.getaddrinfo(name, None, number, socket.SOCK_STREAM)
        except OSError:
            answers = []
        found[family] = tuple(dict.fromkeys(str(one[4][0]) for one in answers))
    return found


def check_addresses(host: str, chosen: Chosen) -> list[Check]:
    """Both families are there, usable, and with a lawful MTU."""
    found = []
    for family in FAMILIES:
        address = chosen.of(family)
        why = ""
        if address is None:
            why = f"{chosen.interface} has no {'global or unique local ' if family == 'ipv6' else ''}address"
        elif address.fault:
            why = f"{address.address} cannot be used: {address.fault}"
        elif address.mtu < _LEAST_MTU[family]:
            why = f"the MTU of {chosen.interface} is {address.mtu} bytes, below {_LEAST_MTU[family]}"
        found.append(Check("address", family, host, why=why))
    return found


def check_names(host: str, other: str, resolved: dict[str, tuple[str, ...]], has: Sequence[Address]) -> list[Check]:
    """A host's name gives addresses of both families, and every one of them is that host's."""
    found = []
    for family in FAMILIES:
        answers = resolved.get(family, ())
        own = {one.address for one in has if one.family == family}
        strangers = [one for one in answers if one not in own and not (host == other and one.startswith("127."))]
        why = ""
        if not answers:
            why = f"the name {other} has no address of {family}"
        elif strangers:
            why = f"the name {other} gives {strangers[0]}, which is not an address of that host"
        found.append(Check("names", family, host, other, why))
    return found


def check_mtus(hosts: Sequence[str], chosen: Sequence[Chosen]) -> list[Check]:
    """All hosts have one MTU in this network: else packets are lost that some of them send."""
    found = []
    for family in FAMILIES:
        sizes = {host: one.mtu for host, each in zip(hosts, chosen, strict=True) if (one := each.of(family))}
        usual = max(set(sizes.values()), key=list(sizes.values()).count, default=0)
        found += [
            Check("mtu", family, host, why="" if mtu == usual else f"its MTU is {mtu} bytes where others have {usual}")
            for host, mtu in sizes.items()
        ]
    return found


def _tried(what: str, family: str, host: str, other: str, attempt: Callable[[], None]) -> Check:
    try:
        attempt()
    except Wrong as wrong:
        return Check(what, family, host, other, str(wrong))
    except OSError as error:
        return Check(what, family, host, other, error.strerror or str(error) or type(error).__name__)
    return Check(what, family, host, other)


def ask(own: Chosen, name: str, other: Host, theirs: Chosen) -> list[Check]:
    """Everything that one host asks of another (or of itself): TCP, UDP, the MTU, and IPv4 by way of IPv6."""
    found = []
    token = bytes.fromhex(other.token)
    for family in FAMILIES:
        mine, peer = own.of(family), theirs.of(family)
        if mine is None or peer is None:
            found += [
                Check(what, family, name, other.name, f"no address of {family}") for what in ("tcp", "udp", "path-mtu")
            ]
            continue
        tcp, udp = other.ports.get(f"tcp.{family}", 0), other.ports.get(f"udp.{family}", 0)
        attempts = {
            "tcp": partial(ask_tcp, mine, peer.address, tcp, token),
            "udp": partial(ask_udp, mine, peer.address, udp, token, _SMALL_BYTES),
            "path-mtu": partial(ask_mtu, mine, peer.address, udp, token),
        }
        found += [_tried(what, family, name, other.name, attempt) for what, attempt in attempts.items()]
    if own.ipv4 and theirs.ipv4:
        port = other.ports.get("tcp.mapped", 0)
        attempt = partial(ask_tcp, own.ipv4, theirs.ipv4.address, port, token, mapped=True)
        found.append(_tried("mapped", "ipv4", name, other.name, attempt))
    return found


def partners(rank: int, size: int, most: int) -> list[int]:
    """Which ranks a rank asks: the next ``most`` in a ring, all others where they are not more; alone, itself."""
    if size == 1:
        return [0]
    return [(rank + step) % size for step in range(1, min(most, size - 1) + 1)]


def check_multicast(meeting: Meeting, hosts: Sequence[Host], chosen: Sequence[Chosen]) -> list[Check]:
    """Every host that has joined a group hears all the others, in both families. Not on a loopback, which has none."""
    own, name = chosen[meeting.rank], hosts[meeting.rank].name
    members: dict[Family, Member] = {}
    failed: dict[Family, str] = {}
    for family in FAMILIES:
        address = own.of(family)
        if address is None or address.loopback:
            continue
        try:
            members[family] = Member(
                address, hosts[0].groups[family], hosts[0].group_port, bytes.fromhex(hosts[0].group_token)
            )
        except OSError as error:
            failed[family] = f"the group cannot be joined: {error.strerror}"
    meeting.tell("joined", sorted(members))
    meeting.wait("joined")
    found = [Check("multicast", family, name, why=why) for family, why in failed.items()]
    for family, member in members.items():
        try:
            deaf = set(range(meeting.size)) - member.meet(meeting.rank, meeting.size, _MULTICAST_S)
            why = f"nothing is heard of {', '.join(hosts[rank].name for rank in sorted(deaf)[:8])}" if deaf else ""
        except OSError as error:
            why = f"nothing can be sent to the group: {error.strerror}"
        finally:
            member.close()
        found.append(Check("multicast", family, name, why=why))
    return found


class DualstackOptions(NamedTuple):
    """The words of the command line."""

    size: int
    interface: str
    names: str
    partners: int
    wait_s: float
    folder: Path


def _words(argv: Sequence[str]) -> DualstackOptions:
    words = ProgramArguments("dualstack", "IPv4 and IPv6 between the hosts of a job, or within this one.")
    _work.add_options(
        words, TABLE, hosts={"type": int, "default": 1, "help": "processes of the job, one on each host (1)"}
    )
    words.add_argument("--wait", type=float, default=120.0, help="seconds that all processes have to come (120)")
    words.add_argument(
        "--folder", type=Path, default=Path(), help="where the processes meet: a folder that all see (.)"
    )
    given = words.parse_args(argv)
    if given.hosts < 1 or given.partners < 1:
        raise BadInput("--hosts and --partners are numbers above 0", hint="dualstack --help")
    return DualstackOptions(given.hosts, given.interface, given.names, given.partners, given.wait, given.folder)


def _host(servers: Servers, asked: DualstackOptions) -> Host:
    name = socket.gethostname()
    draw = secrets.token_bytes(5)
    return Host(
        name=name,
        addresses=_addresses.ask(),
        resolved=resolve("localhost") if asked.names == "localhost" else {},
        ports=servers.ports,
        token=servers.token.hex(),
        group_token=secrets.token_hex(TOKEN_BYTES),
        # RFC 2365: site-local scope; RFC 4291, section 2.7: transient, site-local
        groups={
            "ipv4": f"239.255.{draw[0]}.{draw[1]}",
            "ipv6": f"ff15::{draw[0]:x}{draw[1]:02x}:{draw[2]:x}{draw[3]:02x}",
        },
        group_port=20000 + int.from_bytes(draw[3:5], "big") % 10000,
    )


def examine(asked: DualstackOptions, rank: int) -> tuple[list[Host], tuple[Chosen, ...], list[Check]]:
    """The hosts, what is looked at, and what was found: on rank 0 by all, else by this process. All run it together."""
    meeting = Meeting(asked.folder, rank, asked.size, asked.wait_s)
    try:
        with serving(secrets.token_bytes(TOKEN_BYTES)) as servers:
            meeting.tell("host", _host(servers, asked))
            meeting.wait("host")
            hosts = meeting.read("host", Host)
            chosen = _addresses.choose([one.addresses for one in hosts], asked.interface)
            found = check_addresses(hosts[rank].name, chosen[rank])
            others = partners(rank, asked.size, asked.partners)
            found += _check_all_names(asked, hosts, rank, others)
            found += check_multicast(meeting, hosts, chosen)
            own, name = chosen[rank], hosts[rank].name
            with ThreadPoolExecutor(8) as pool:
                for checks in pool.map(lambda other: ask(own, name, hosts[other], chosen[other]), others):
                    found += checks
            meeting.tell("found", found)
            meeting.wait("found")  # and from here on nobody asks us any more
    finally:
        meeting.forget("host")  # with the tokens
        meeting.forget("joined")
    if rank == 0:
        found = [check for each in meeting.read("found", list[Check]) for check in each]
        found += check_mtus([one.name for one in hosts], chosen)
    return hosts, chosen, found


def _check_all_names(asked: DualstackOptions, hosts: Sequence[Host], rank: int, others: Sequence[int]) -> list[Check]:
    name = hosts[rank].name
    if asked.names == "localhost":
        return check_names("localhost", "localhost", hosts[rank].resolved, hosts[rank].addresses)
    found = []
    for other in sorted({rank, *others}) if asked.names == "hosts" else ():
        found += check_names(name, hosts[other].name, resolve(hosts[other].name), hosts[other].addresses)
    return found


#: In which processes that are done are gone, on a loaded node too.
_LEAVING_S = 2.0


def tell(emit: Emitter, checks: Sequence[Check], hosts: int) -> None:
    """The case, the counts by kind among the facts, and a notice for each kind that failed at a host (the first ones)."""
    failed = [check for check in checks if check.why]
    kinds: dict[str, dict[str, int]] = {}
    for check in checks:
        count = kinds.setdefault(f"{check.what} {check.family}", {"passed": 0, "failed": 0})
        count["failed" if check.why else "passed"] += 1
    emit.facts({"checks": kinds})
    grouped: dict[tuple[str, str, str], list[Check]] = {}
    for check in failed:
        grouped.setdefault((check.what, check.family, check.host), []).append(check)
    for (what, family, host), same in list(grouped.items())[:_TOLD]:
        first = same[0]
        other = f" to {first.other}" if first.other and first.other != host else ""
        more = f" (and to {len(same) - 1} more)" if len(same) > 1 else ""
        emit.notice("dualstack-failed", f"{what} over {family} at {host}{other}: {first.why}{more}")
    if len(grouped) > _TOLD:
        emit.notice("dualstack-failed-more", f"and {len(grouped) - _TOLD} kinds of checks more failed at hosts")
    emit.case(
        "checks",
        params={"hosts": hosts},
        work={"passed": len(checks) - len(failed), "failed": len(failed)},
        residual=Residual(value=len(failed), limit=0, kind="failed checks"),
    )


def body(argv: Sequence[str], emit: Emitter) -> None:
    """Rank 0 tells what all found; the others only take part."""
    asked = _words(argv)
    rank = launched_rank(dict(os.environ)) if asked.size > 1 else 0
    if rank >= asked.size:
        raise BadInput(f"this is rank {rank} of {asked.size}", hint="--hosts says how many processes are started")
    begin = time.time_ns()
    hosts, chosen, checks = examine(asked, rank)
    if rank:
        raise SystemExit(0)
    seen = [
        {
            "rank": number,
            "host": host.name,
            "interface": own.interface,
            **{family: f"{one.address}/{one.prefix}" for family in FAMILIES if (one := own.of(family))},
            "mtu": next((one.mtu for family in FAMILIES if (one := own.of(family))), 0),
        }
        for number, (host, own) in enumerate(zip(hosts, chosen, strict=True))
    ]
    names = sorted({host.name for host in hosts})
    emit.start({"world_size": asked.size, "hosts": names, "ranks": seen, "names": asked.names, "begin_ns": begin})
    if any(one.loopback for own in chosen for family in FAMILIES if (one := own.of(family))):
        emit.notice(
            "dualstack-loopback",
            "this host has no interface beside its loopback: multicast was not tried",
            "run it over several hosts, or name an interface",
        )
    tell(emit, checks, len(names))
    if asked.size > 1 and any(one.why for one in checks):
        # srun ends all processes as soon as one fails, and then loses what was printed last: the others leave first.
        time.sleep(_LEAVING_S)


if __name__ == "__main__":
    sys.exit(run("dualstack", body))
