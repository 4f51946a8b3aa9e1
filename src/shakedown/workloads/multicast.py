"""UDP multicast between hosts: one sends to many, or every one to all others, by the size of the group.

That is what an emulator of radios does to a network (ARL-TR-7085, section 3): every packet of every node goes to all the
others, so that deliveries grow with the square of the nodes. First every listener must hear every sender; a pair between
which nothing passes fails the run. Then, for groups of 2, 4, 8 ... and all ranks (one a host, spread over the hosts):

- the time from joining a group to its first packet (RFC 3918, section 6.1, "group join delay");
- latency, half of the round trip sender, group, receiver, unicast answer; or one way, by clocks whose offset is estimated
  from MPI messages, with its uncertainty as a metric of its own;
- packets delivered to each listener in a second at the rate offered, and what was lost of them: at a receiver's socket
  (the kernel counts those), in a sender's kernel, or on the way; duplicates and packets out of order are counted. What is
  offered is a number of packets, or a share of the link (``share``), and each case says how much of the link it was. A loss
  has the interval of a proportion (Clopper and Pearson 1934) and, with repeats, at least that of their scatter: losses come
  in bursts, so that limits on them are judged better with repeats;
- the highest rate at which nothing is lost (RFC 2544, section 26.1), in three trials in a row. Where there is none, there is
  no such value; a loss fails no run.

Every packet carries its number, its sender and a checksum over header and payload, which each listener checks: one
corrupt packet and the run has no result. A sample of a rate is the mean time between two packets at a listener over a
trial. Within one host nothing leaves it: what is measured is the kernel. See native/multicast/README.md.
"""

from __future__ import annotations

import ipaddress

from .. import launchers, programs
from ..errors import BadInput
from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Host, Machine, Params
from .common import lists
from .common.table import table_of

TABLE = table_of(__file__)

#: Ranks on one host where none were asked for: a rank has a thread that sends and one that listens.
MOST_ALONE = 4
_TRIALS = 16  # that a search for the rate without loss takes


def sizes(params: Params) -> tuple[int, ...]:
    """How many ranks take part, group by group. Raises BadInput."""
    ranks = int(params["ranks"])
    if params["sizes"] == "auto":
        return (*(2**power for power in range(1, ranks.bit_length()) if 2**power < ranks), ranks)
    return TABLE.numbers(params, "sizes", high=ranks)


def _check_interface(params: Params) -> None:
    text = str(params["interface"])
    if "/" not in text:
        return
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise BadInput(
            f"multicast.interface = {text!r} is not a valid network: {error}",
            hint="such as 10.77.0.0/24, fd77::/64, or eth1",
        ) from None
    family = f"ipv{network.version}"
    if TABLE.selection(params, "family") != (family,):
        raise BadInput(
            f"multicast.interface = {text!r} is a network of {family} alone",
            hint=f"family = {family!r}, or the interface's name, which fits both",
        )


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    launchers.fitting_mpi(host.software, programs.build())
    ranks = params["ranks"]
    if ranks == "auto":
        ranks = host.count if host.count > 1 else max(2, min(cores(host), MOST_ALONE))
    resolved = {
        **params,
        "ranks": int(ranks),
        **{name: lists.text(TABLE.selection(params, name)) for name in ("pattern", "family", "kernels")},
    }
    resolved["sizes"] = lists.text(sizes(resolved))
    _check_interface(resolved)
    return (resolved,)


def _command(params: Params, host: Host) -> Command:
    return Command(argv=TABLE.argv(params, port=params["port"] or None), ranks=int(params["ranks"]))


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, and for each pattern, family and group its trials, with the silence after each that lost something."""
    trial_s = float(params["seconds"]) + 0.15
    kernels = str(params["kernels"]).split(",")
    trials = int(params["samples"]) * ("rate" in kernels) + _TRIALS * ("lossless" in kernels)
    stages = len(str(params["pattern"]).split(",")) * len(str(params["family"]).split(","))
    groups = sizes(params)
    echoes_s = sum(groups) * int(params["echoes"]) * 5e-5 * ("latency" in kernels)
    return 1 + 0.02 * int(params["ranks"]) + stages * (len(groups) * (0.1 + trials * trial_s) + echoes_s)


def _label(params: Params) -> str:
    span = lists.span([str(size) for size in sizes(params)])
    families = str(params["family"]).replace("ipv", "IPv").replace(",", " and ")
    return f"multicast {str(params['pattern']).replace(',', ', ')}, {families}, {span} ranks, {params['payload']} B packets"


WORKLOAD = TABLE.workload(
    title="Multicast (rate, loss, latency, rate without loss)",
    network=True,
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
