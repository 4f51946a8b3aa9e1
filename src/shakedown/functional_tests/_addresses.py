"""This host's addresses, asked of the kernel by rtnetlink, and which of them the hosts of a job have in common.

The interfaces under ``/sys`` may be those of another network namespace than this process's; the kernel's answer is not.
"""

from __future__ import annotations

import fcntl
import ipaddress
import socket
import struct
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from ..errors import CannotMeasure

Family = Literal["ipv4", "ipv6"]
FAMILIES: tuple[Family, ...] = ("ipv4", "ipv6")

# linux/rtnetlink.h, linux/if_addr.h, linux/sockios.h
_RTM_NEWADDR, _RTM_GETADDR = 20, 22
_NLM_F_REQUEST, _NLM_F_DUMP = 1, 0x300
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_IFA_ADDRESS, _IFA_LOCAL, _IFA_FLAGS = 1, 2, 8
_IFA_F_DADFAILED, _IFA_F_DEPRECATED, _IFA_F_TENTATIVE = 0x08, 0x20, 0x40
_SIOCGIFMTU, _SIOCGIFFLAGS = 0x8921, 0x8913
_IFF_UP, _IFF_LOOPBACK = 0x1, 0x8


class Address(msgspec.Struct, frozen=True):
    """One address of one interface that is up."""

    interface: str
    family: Family
    address: str
    prefix: int
    mtu: int = 0
    loopback: bool = False
    fault: str = ""  # why it cannot be used: a duplicate, or not yet checked for one

    @property
    def network(self) -> str:
        return str(ipaddress.ip_interface(f"{self.address}/{self.prefix}").network)

    @property
    def link_local(self) -> bool:
        return ipaddress.ip_address(self.address).is_link_local


class Raw(NamedTuple):
    """An address as the kernel says it."""

    interface: int  # its number
    family: Family
    address: str
    prefix: int
    flags: int


def parse(data: bytes) -> Iterator[Raw]:
    """The addresses in the kernel's answer to RTM_GETADDR. Ends at what says that it is done, or that it is cut."""
    at = 0
    while at + 16 <= len(data):
        length, kind = struct.unpack_from("=IH", data, at)
        if length < 16 or kind == _NLMSG_DONE:
            return
        if kind == _RTM_NEWADDR and at + length <= len(data):
            yield from _parse_one(data[at + 16 : at + length])
        at += (length + 3) & ~3


def _parse_one(body: bytes) -> Iterator[Raw]:
    if len(body) < 8:
        return
    number, prefix, flags, _, index = struct.unpack_from("=BBBBI", body)
    family: Family | None = {socket.AF_INET: "ipv4", socket.AF_INET6: "ipv6"}.get(number)  # type: ignore[assignment]
    values: dict[int, bytes] = {}
    at = 8
    while at + 4 <= len(body):
        length, kind = struct.unpack_from("=HH", body, at)
        if length < 4:
            break
        values[kind] = body[at + 4 : at + length]
        at += (length + 3) & ~3
    if len(values.get(_IFA_FLAGS, b"")) == 4:
        (flags,) = struct.unpack("=I", values[_IFA_FLAGS])
    own = values.get(_IFA_LOCAL, values.get(_IFA_ADDRESS))  # of a point-to-point link, IFA_ADDRESS is the other end's
    if family and own and len(own) == (4 if family == "ipv4" else 16):
        yield Raw(index, family, socket.inet_ntop(number, own), prefix, flags)


def ask() -> tuple[Address, ...]:
    """All addresses of this host's interfaces that are up. Raises CannotMeasure where the kernel does not answer."""
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
            netlink.settimeout(5)
            request = struct.pack("=BBBBI", socket.AF_UNSPEC, 0, 0, 0, 0)
            flags = _NLM_F_REQUEST | _NLM_F_DUMP
            netlink.send(struct.pack("=IHHII", 16 + len(request), _RTM_GETADDR, flags, 1, 0) + request)
            answers = []
            while True:
                answer = netlink.recv(1 << 17)
                answers.append(answer)
                if _ends(answer):
                    break
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
            return tuple(one for answer in answers for raw in parse(answer) if (one := _address(raw, door)))
    except OSError as error:
        raise CannotMeasure(f"this host's addresses cannot be asked of the kernel: {error}") from None


def _ends(answer: bytes) -> bool:
    at = 0
    while at + 16 <= len(answer):
        length, kind = struct.unpack_from("=IH", answer, at)
        if kind in (_NLMSG_DONE, _NLMSG_ERROR) or length < 16:
            return True
        at += (length + 3) & ~3
    return False


def _address(raw: Raw, door: socket.socket) -> Address | None:
    try:
        name = socket.if_indextoname(raw.interface)
        flags = struct.unpack_from("=16sh", _ioctl(door, _SIOCGIFFLAGS, name))[1]
        mtu = struct.unpack_from("=16si", _ioctl(door, _SIOCGIFMTU, name))[1]
    except OSError:
        return None  # it has gone meanwhile
    if not flags & _IFF_UP:
        return None
    fault = ""
    if raw.flags & _IFA_F_DADFAILED:
        fault = "another host has it, too (duplicate address detection failed)"
    elif raw.flags & _IFA_F_TENTATIVE:
        fault = "it is still being checked for duplicates"
    elif raw.flags & _IFA_F_DEPRECATED:
        fault = "it is deprecated"
    return Address(name, raw.family, raw.address, raw.prefix, mtu, bool(flags & _IFF_LOOPBACK), fault)


def _ioctl(door: socket.socket, request: int, name: str) -> bytes:
    return fcntl.ioctl(door.fileno(), request, struct.pack("=16s24x", name.encode()))


class Chosen(msgspec.Struct, frozen=True):
    """One host's part of the network that is looked at: an address of each family, where there is one."""

    interface: str
    ipv4: Address | None = None
    ipv6: Address | None = None

    def of(self, family: Family) -> Address | None:
        return self.ipv4 if family == "ipv4" else self.ipv6


def usable(address: Address) -> bool:
    """Whether an address leads anywhere but on its own link or host."""
    return not address.link_local and not address.loopback


def choose(hosts: Sequence[tuple[Address, ...]], asked: str) -> tuple[Chosen, ...]:
    """For each host the interface that is looked at, and its addresses. Pure, and alike on every host.

    ``asked`` is a name, or auto: of the first host's interfaces that with most families in networks which all hosts are
    on, each at an address of its own; with none such, the first with an address at all. One host alone may take its
    loopback. Raises CannotMeasure where a host has no interface to look at.
    """
    alone = len(hosts) == 1
    names = list(dict.fromkeys(one.interface for one in hosts[0] if usable(one) or (alone and one.loopback)))
    if asked != "auto":
        return tuple(_named(found, asked, number) for number, found in enumerate(hosts))
    candidates = []
    for name in names:
        shared = {family: _shared(hosts, name, family) for family in FAMILIES}
        loopback = any(one.loopback for one in hosts[0] if one.interface == name)
        score = (sum(1 for found in shared.values() if found), not loopback)
        candidates.append((score, shared, name))
    if not candidates or max(candidates, key=lambda one: one[0])[0][0] == 0:
        raise CannotMeasure(
            "the hosts have no network in common, of either family", hint="name the interface: interface = 'eth1'"
        )
    _, shared, name = max(candidates, key=lambda one: one[0])
    return tuple(
        Chosen(
            interface=next((each[i].interface for each in shared.values() if each), name),
            ipv4=shared["ipv4"][i] if shared["ipv4"] else None,
            ipv6=shared["ipv6"][i] if shared["ipv6"] else None,
        )
        for i in range(len(hosts))
    )


def _shared(hosts: Sequence[tuple[Address, ...]], name: str, family: Family) -> list[Address]:
    """An address of every host in one network of the first host's interface; empty where there is none."""
    alone = len(hosts) == 1
    for first in hosts[0]:
        if first.interface != name or first.family != family or not (usable(first) or (alone and first.loopback)):
            continue
        found = [
            next((one for one in each if one.family == family and one.network == first.network and usable(one)), None)
            for each in hosts[1:]
        ]
        whole = [first, *(one for one in found if one)]
        if len(whole) == len(hosts) and len({one.address for one in whole}) == len(hosts):
            return whole
    return []


def _named(found: tuple[Address, ...], name: str, number: int) -> Chosen:
    mine = [one for one in found if one.interface == name and not one.link_local]
    if not mine:
        raise CannotMeasure(
            f"host {number + 1} of the job has no interface {name!r} that is up and has an address",
            hint=f"it has {', '.join(sorted({one.interface for one in found})) or 'none'}",
        )
    return Chosen(
        interface=name,
        ipv4=next((one for one in mine if one.family == "ipv4"), None),
        ipv6=next((one for one in mine if one.family == "ipv6"), None),
    )
