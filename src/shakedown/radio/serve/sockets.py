"""Multicast sockets, IPv4 and IPv6, on the interface that is named or the one that the machine chooses."""

from __future__ import annotations

import ipaddress
import socket
import struct

from ...errors import BadInput

#: What EMANE's own tools send with.
TTL = 32


def _group(host: str, interface: str) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]:
    """The group and the number of the interface, 0 for none. Raises BadInput."""
    try:
        group = ipaddress.ip_address(host)
    except ValueError:
        group = None
    if group is None or not group.is_multicast:
        raise BadInput(f"{host!r} is not a multicast group", hint="EMANE's is 224.1.2.8; IPv6 groups begin with ff")
    try:
        return group, socket.if_nametoindex(interface) if interface else 0
    except OSError:
        known = ", ".join(name for _, name in socket.if_nameindex())
        raise BadInput(f"there is no interface {interface!r}", hint=f"known: {known}") from None


def join(host: str, port: int, interface: str) -> socket.socket:
    """A socket that hears a group. Raises BadInput, and OSError where it cannot be joined."""
    group, index = _group(host, interface)
    made = socket.socket(socket.AF_INET if group.version == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((str(group), port) if group.version == 4 else (str(group), port, 0, index))
        if group.version == 4:
            member = group.packed + struct.pack("=4si", bytes(4), index)
            made.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
        else:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group.packed + struct.pack("=I", index))
    except OSError:
        made.close()
        raise
    return made


def sender(host: str, port: int, interface: str) -> tuple[socket.socket, tuple[str, int]]:
    """A socket that sends to a group, and its address. Raises BadInput, and OSError."""
    group, index = _group(host, interface)
    made = socket.socket(socket.AF_INET if group.version == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
    try:
        if group.version == 4:
            made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, TTL)
            if index:
                made.setsockopt(
                    socket.IPPROTO_IP, socket.IP_MULTICAST_IF, struct.pack("=4s4si", bytes(4), bytes(4), index)
                )
        else:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, TTL)
            if index:
                made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
    except OSError:
        made.close()
        raise
    return made, (str(group), port)


def port(number: int) -> socket.socket:
    """A UDP socket on a port of all addresses, of both families. Raises OSError."""
    made = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    try:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        made.bind(("", number))
    except OSError:
        made.close()
        raise
    return made


def listening(path: str) -> socket.socket:
    """A socket in the file system that listens. Raises OSError."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.bind(path)
        made.listen()
    except OSError:
        made.close()
        raise
    return made
