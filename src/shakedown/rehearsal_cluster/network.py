"""The cluster's network: one switch (a bridge) in the controller's network namespace, one link to each node.

Pure functions give the commands of ``ip`` and ``tc``; ``links`` carries them out. A link is an Ethernet pair, ``v<node>``
at the switch and ``eth0`` in the node. To shape it:

netem  the kernel's own delay, loss and rate, at both ends; where the kernel has it
tbf    the kernel's token bucket, at both ends: rate alone
tap    a process of ours (``link.py``) between the link and the switch: delay, loss and rate wherever there is /dev/net/tun
"""

from __future__ import annotations

from typing import Literal

from .settings import CONTROLLER, Link, address4, address6, mac

Method = Literal["none", "netem", "tbf", "tap"]
BRIDGE = "br0"
#: How long a queue before a limited rate may get, in seconds of that rate: as an ordinary switch port buffers.
QUEUE_S = 0.05
_FRAME_BYTES = 1514
#: The kernel hands segments of up to 64 KiB to a virtual link; a token bucket must hold one, or it is dropped.
_BURST_BYTES = 64 << 10


def switch() -> list[str]:
    """The lines of ``ip -batch`` that make the switch. It floods multicast to all ports: there is no querier that would
    keep a snooping switch's groups alive."""
    return [
        "link set lo up",
        f"link add {BRIDGE} type bridge mcast_snooping 0 stp_state 0 forward_delay 0",
        f"addr add {address4(CONTROLLER)}/24 dev {BRIDGE}",
        f"addr add {address6(CONTROLLER)}/64 dev {BRIDGE} nodad",
        f"link set {BRIDGE} up",
        f"route add multicast 224.0.0.0/4 dev {BRIDGE}",
    ]


def port(node: str, pid: int) -> list[str]:
    """The lines that lay the link from the switch into the network namespace of the node's process 1."""
    name = port_name(node)
    return [
        f"link add {name} type veth peer name eth0 address {mac(node)} netns {pid}",
        f"link set {name} master {BRIDGE} up",
    ]


def inside(node: str) -> list[str]:
    """The lines, run in the node, that give the link its addresses."""
    return [
        "link set lo up",
        f"addr add {address4(node)}/24 dev eth0",
        f"addr add {address6(node)}/64 dev eth0 nodad",
        "link set eth0 up",
        f"route add default via {address4(CONTROLLER)}",
        f"route add ::/0 via {address6(CONTROLLER)}",
        "route add multicast 224.0.0.0/4 dev eth0",
    ]


def port_name(node: str) -> str:
    return f"v{node}"


def taps(node: str) -> tuple[str, str, str]:
    """The names of the small bridge that takes the node's port, and of the two ends of the process between it and the
    switch."""
    return f"l{node}", f"a{node}", f"b{node}"


def netem(device: str, link: Link) -> list[str]:
    """``tc`` for one direction of a link by netem (tc-netem(8)). The queue holds what is on its way and what waits."""
    words = ["qdisc", "replace", "dev", device, "root", "netem"]
    if link.delay_s:
        words += ["delay", f"{round(link.delay_s * 1e6)}us"]
    if link.loss:
        words += ["loss", f"{100 * link.loss:.6f}%"]
    if link.rate_bit_s:
        words += ["rate", f"{round(link.rate_bit_s)}bit"]
    rate = link.rate_bit_s or 1e10
    frames = rate / 8 * (link.delay_s + QUEUE_S) / _FRAME_BYTES
    return [*words, "limit", str(max(1000, round(frames)))]


def tbf(device: str, link: Link) -> list[str]:
    """``tc`` for one direction of a link by a token bucket (tc-tbf(8))."""
    assert link.rate_bit_s
    burst = max(_BURST_BYTES * 2, round(link.rate_bit_s / 8 * 0.002))
    limit = burst + round(link.rate_bit_s / 8 * QUEUE_S)
    return [
        *("qdisc", "replace", "dev", device, "root", "tbf", "rate", f"{round(link.rate_bit_s)}bit"),
        *("burst", f"{burst}b", "limit", f"{limit}b"),
    ]


def clear(device: str) -> list[str]:
    return ["qdisc", "del", "dev", device, "root"]
