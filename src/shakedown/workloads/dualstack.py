"""IPv4 and IPv6 side by side on every host, and between all of them.

On the network that is looked at, every host must have a usable address of each family (for IPv6 a global or unique local
one, not found to be a duplicate), with an MTU that all hosts share and that the family allows. Every host's name must
resolve to addresses of both families, all of them that host's. Each host then asks others, over each family: a TCP
connection that carries 64 KiB there and back between just those addresses, a UDP datagram and its answer, the largest
datagram of the MTU unbroken both ways and one byte more refused, and IPv4 to a server that speaks IPv6 (IPv4-mapped
addresses, RFC 4291, section 2.5.5.2). Everyone joins one multicast group of each family, and must hear all others.

Over several hosts one process on each takes part, and asks the next ``partners`` hosts in a ring; on one host it asks
itself. The metric is the number of checks that passed, and one that failed fails the run and is named in a notice.

Source: ARL-TR-7085, 3.3 (14), "dual stack functionality", without further detail; what is checked is listed above.
"""

from __future__ import annotations

from ..launchers import Command
from ..records import Host, Machine, Params
from .common.table import table_of

TABLE = table_of(__file__)


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    hosts = params["hosts"]
    return ({**params, "hosts": machine.hosts[0].count if hosts == "all" else int(hosts)},)


def _command(params: Params, host: Host) -> Command:
    hosts = int(params["hosts"])
    return Command(argv=TABLE.argv(params), ranks=hosts if hosts > 1 else 0)


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, the meetings by files, and for each partner a few round trips."""
    return 3.0 + 0.02 * int(params["hosts"]) + 0.05 * min(int(params["partners"]), int(params["hosts"]))


def _label(params: Params) -> str:
    where = "" if params["interface"] == "auto" else f" on {params['interface']}"
    return f"dual stack of IPv4 and IPv6{where}, {params['hosts']} host{'s' * (int(params['hosts']) > 1)}"


WORKLOAD = TABLE.workload(
    title="IPv4 and IPv6 (dual stack)",
    network=True,
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
