"""Laying, shaping, cutting and mending the links of a cluster: carries out what ``network`` words."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..errors import CannotMeasure, Unavailable
from ..hosts import process
from ..hosts.access import LocalHost, Result
from . import daemons, entering, namespaces, network
from .settings import CONTROLLER, Description, Link

PROGRAM = Path(__file__).parent / "link.py"


def batch(description: Description, pid: int, lines: Sequence[str]) -> None:
    """Carry out lines of ``ip`` in the network namespace of a process. Raises CannotMeasure with the first that fails."""
    try:
        done = subprocess.run(
            (*namespaces.enter(description.layout, pid, only=("net",), administer=True), "ip", "-batch", "-"),
            input="\n".join(lines) + "\n",
            capture_output=True,
            text=True,
            timeout=300,
            start_new_session=True,
            env={**os.environ, "PATH": namespaces.search_path()},
        )
    except subprocess.TimeoutExpired:
        raise CannotMeasure("ip gave no answer within 300 s") from None
    if done.returncode:
        raise CannotMeasure(
            f"the network cannot be made: {done.stderr.strip()}", hint="ip -batch - with: " + "; ".join(lines)
        )


def run(description: Description, pid: int, *words: str) -> Result:
    """Run one network command in the network namespace of a process."""
    return LocalHost().run(
        (*namespaces.enter(description.layout, pid, only=("net",), administer=True), *words),
        limit_s=300,
        env={"PATH": namespaces.search_path()},
    )


def lay(directory: Path, description: Description, node: str) -> None:
    """Lay the link of a node that has just started, in the state that the description says."""
    here, there = _ends(directory, description, node)
    run(description, here, "ip", "link", "del", network.port_name(node))  # one that a dead node has left
    batch(description, here, network.port(node, there))
    batch(description, there, network.inside(node))


def shape(directory: Path, description: Description, node: str) -> network.Method:
    """Make the link what the description says, and return by which means. Raises Unavailable where there are none."""
    link = description.links.get(node, Link())
    here, there = _ends(directory, description, node)
    unshape(directory, description, node)
    method = _by_kernel(description, here, there, node, link) if link.shaped else "none"
    if method == "none" and link.shaped:
        _by_process(directory, description, here, node, link)
        method = "tap"
    batch(description, here, [f"link set {network.port_name(node)} {'down' if link.cut else 'up'}"])
    return method


def unshape(directory: Path, description: Description, node: str) -> None:
    """Take everything off the link that holds traffic up."""
    here, there = _ends(directory, description, node)
    run(description, here, "tc", *network.clear(network.port_name(node)))
    run(description, there, "tc", *network.clear("eth0"))
    if pid := carrier(description, here, node):
        daemons.end(pid, 5, 9)
    small = network.taps(node)[0]
    if run(description, here, "ip", "link", "show", small).ok:
        batch(description, here, [f"link set {network.port_name(node)} master {network.BRIDGE}", f"link del {small}"])


def _by_kernel(description: Description, here: int, there: int, node: str, link: Link) -> network.Method:
    ends = ((here, network.port_name(node)), (there, "eth0"))
    if all(run(description, pid, "tc", *network.netem(device, link)).ok for pid, device in ends):
        return "netem"
    for pid, device in ends:
        run(description, pid, "tc", *network.clear(device))
    if link.delay_s or link.loss:
        return "none"
    if all(run(description, pid, "tc", *network.tbf(device, link)).ok for pid, device in ends):
        return "tbf"
    for pid, device in ends:
        run(description, pid, "tc", *network.clear(device))
    return "none"


def _by_process(directory: Path, description: Description, here: int, node: str, link: Link) -> None:
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        raise Unavailable(
            "this kernel has no netem, and there is no /dev/net/tun for a link in user space",
            where=f"the link of {node}",
            hint="modprobe sch_netem (or tun) on the host; a rate alone needs sch_tbf only",
        )
    small, near, far = network.taps(node)
    argv = (
        namespaces.python(), "-I", "-S", str(PROGRAM), near, far,
        f"{link.delay_s:g}", f"{link.loss:g}", f"{link.rate_bit_s or 0:g}", str(namespaces.namespace(here) & 0xFFFF),
    )  # fmt: skip
    batch(description, here, [f"link add {small} type bridge mcast_snooping 0 stp_state 0 forward_delay 0"])
    daemons.launch(directory, description, argv, host=CONTROLLER, env={}, log=f"link.{node}.out")

    def carries() -> bool:
        return run(description, here, "ip", "link", "show", far).ok and bool(carrier(description, here, node))

    if not daemons.until(carries, 10, 0.02):
        raise CannotMeasure(
            f"the link's process did not start: {daemons.last_lines(directory, f'link.{node}.out')}",
            where=f"the link of {node}",
        )
    batch(
        description,
        here,
        [
            # the two ends are no hosts: without this each would have an IPv6 address and talk
            *(f"link set {name} addrgenmode none" for name in (small, near, far)),
            f"link set {near} master {small} up",
            f"link set {far} master {network.BRIDGE} up",
            f"link set {small} up",
            f"link set {network.port_name(node)} master {small}",
        ],
    )


def carrier(description: Description, here: int, node: str) -> int:
    """The process that carries the frames of a node's link; 0 where none does."""
    space, near = namespaces.namespace(here), network.taps(node)[1]
    for pid in process.pids():
        words = namespaces.words_of(pid)
        if str(PROGRAM) in words and near in words and namespaces.namespace(pid) == space:
            return pid
    return 0


def _ends(directory: Path, description: Description, node: str) -> tuple[int, int]:
    if description.layout == "plain":
        raise Unavailable(
            "all nodes of this cluster share this host's network, so no link of one can be shaped, cut or repaired",
            where=node,
            hint=description.layout_reason or "a cluster with namespaces",
        )
    here, there = (entering.host_pid(directory, description, host) for host in (CONTROLLER, node))
    if not here or not there:
        raise CannotMeasure(f"{node if here else 'the cluster'} is off", where=str(directory))
    return here, there
