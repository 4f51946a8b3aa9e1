"""Where the forwarders of several hosts meet: IPv4 addresses with ports."""

from __future__ import annotations

import contextlib
import ipaddress

from ...errors import BadInput
from ...units import whole_number


def parse(text: str, *, multicast: bool = False, where: str = "") -> tuple[str, int]:
    """The address and the port of ADDRESS:PORT, of a host or of a multicast group. Raises BadInput."""
    address, _, port = text.rpartition(":")
    found: ipaddress.IPv4Address | None = None
    with contextlib.suppress(ValueError):
        found = ipaddress.IPv4Address(address)
    number = whole_number(port, 1, 65535)
    if found is None or number is None:
        raise BadInput(f"{text!r} is not an IPv4 address with a port", where=where, hint="such as 192.0.2.1:45800")
    if found.is_multicast != multicast:
        kind = "is not" if multicast else "is"
        hint = "hosts have addresses of their own; a group is one such as 239.1.2.3:45800"
        raise BadInput(f"{text!r} {kind} a multicast address", where=where, hint=hint)
    return address, number
