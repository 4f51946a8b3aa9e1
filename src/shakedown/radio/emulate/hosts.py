"""Several hosts of one emulation: which nodes each has, and which of them this one is.

Every host reads the same scenario, makes its own nodes, and finds the same losses: ways and draws are functions of the
seed. Frames go between the forwarders by UDP, to each or to one multicast group (native/radio_forwarder/hosts.hpp).
"""

from __future__ import annotations

import socket
from typing import NamedTuple

from ...errors import BadInput
from . import endpoints
from .scenario import Scenario


class Share(NamedTuple):
    """The nodes of a host, by their ids, and where it and the others listen; without others the last two are empty."""

    first: int
    last: int
    own: str = ""
    others: tuple[str, ...] = ()

    def __contains__(self, node: object) -> bool:
        return isinstance(node, int) and self.first <= node <= self.last


def shares(scenario: Scenario) -> tuple[Share, ...]:
    """Of each host in the scenario's order; where it names none, all nodes are of this one."""
    if not scenario.hosts:
        return (Share(1, scenario.nodes),)
    found, first = [], 1
    for host in scenario.hosts:
        away = tuple(other.address for other in scenario.hosts if other is not host)
        found.append(Share(first, first + host.nodes - 1, host.address, (scenario.group,) if scenario.group else away))
        first += host.nodes
    return tuple(found)


def this_host(scenario: Scenario, number: int | None = None) -> int:
    """Which of the scenario's hosts this is, from 1 on: the one asked for, or the one whose address this machine has; 1
    where the scenario names none. Raises BadInput."""
    hosts = scenario.hosts
    if not hosts:
        if number is not None:
            raise BadInput("the scenario names no hosts", where="--host", hint="leave it out, or write [[hosts]]")
        return 1
    if number is not None:
        if not 1 <= number <= len(hosts):
            raise BadInput(f"host {number} of {len(hosts)}", where="--host", hint=f"give 1 to {len(hosts)}")
        return number
    here = [at for at, host in enumerate(hosts, 1) if _is_here(endpoints.parse(host.address)[0])]
    if len(here) != 1:
        which = "none" if not here else f"{len(here)}"
        raise BadInput(
            f"{which} of the scenario's {len(hosts)} hosts have an address of this machine",
            where="hosts",
            hint=f"say which it is: --host 1 to --host {len(hosts)}",
        )
    return here[0]


def _is_here(address: str) -> bool:
    """Whether this machine has an address: only then a socket can be bound to it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True
