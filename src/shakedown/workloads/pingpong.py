"""Messages between two ranks: latency, bandwidth and bandwidth both ways at once, by size, for one pair or every pair.

Latency is half the time of a round trip; bandwidth is that of windows of messages under way at once, each window
acknowledged; both ways at once, it counts the bytes of both directions. Every rank is pinned to a core of its own.
Pairs are measured one at a time, so that nothing else runs, or as a tournament, disjoint pairs at the same time, so
that what they share shows. After each sample the first page and the last line of what arrived are checked, and after
each size whole messages that all differ: one wrong byte and the run has no result. See native/pingpong/README.md.

On one machine messages go through shared memory: what is measured is the MPI's software, and the caches between cores.
"""

from __future__ import annotations

import re
from typing import Any

from .. import launchers, programs
from ..errors import BadInput, Unavailable
from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Host, Machine, Params
from ..units import show_bytes
from .common import lists
from .common.table import table_of

TABLE = table_of(__file__)

ALL_SIZES = (0, *(2**power for power in range(23)))
#: Ranks beyond which "cores" measures all pairs one at a time no further: their number grows with the square.
MOST_ALONE = 128
_SAMPLES = {"first": 100, "all": 20}


def sizes(params: Params) -> tuple[int, ...]:
    """The message sizes in bytes. Raises BadInput."""
    return ALL_SIZES if params["sizes"] == "all" else TABLE.numbers(params, "sizes")


def pairs(params: Params) -> int:
    """How many pairs of ranks are measured. Raises BadInput."""
    ranks = int(params["ranks"])
    text = str(params["pairs"])
    if text == "first":
        return 1
    if text == "all":
        return ranks * (ranks - 1) // 2
    words = [word.strip() for word in text.split(",")]
    for word in words:
        match = re.fullmatch(r"(\d+)-(\d+)", word)
        if not match or match[1] == match[2] or max(int(match[1]), int(match[2])) >= ranks:
            raise BadInput(
                f"pingpong.pairs: {word!r} is not a pair of different ranks from 0 to {ranks - 1}",
                hint="write first, all, or a list such as 0-1,0-3",
            )
    return len(words)


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    usable = len(host.usable_cpus)
    if usable < 2:
        raise Unavailable(
            f"pingpong needs two CPUs, and {host.name} lets this process use {usable}",
            hint="give the job or the container two CPUs or more",
        )
    launchers.fitting_mpi(host.software, programs.build())
    found = cores(host)
    ranks = params["ranks"]
    if ranks == "hosts":
        ranks = host.count
        if ranks < 2:
            raise Unavailable(
                "pingpong between hosts needs two, and there is one", hint="shakedown run ... --on slurm --nodes 2"
            )
    elif ranks == "cores":
        alone = params["pairs"] == "all" and params["rounds"] == "one"
        ranks = max(2, min(found, MOST_ALONE) if alone else found)
    if int(ranks) > usable:
        raise BadInput(
            f"pingpong.ranks = {ranks}, but this process may use {usable} CPUs: each rank needs its own",
            hint=f"at most ranks = {usable}",
        )
    samples = params["samples"]
    kernels = ",".join(TABLE.selection(params, "kernels"))
    resolved = {**params, "kernels": kernels, "ranks": int(ranks), "cores": found}
    if samples == "auto":
        resolved["samples"] = _SAMPLES.get(str(params["pairs"]), _SAMPLES["first"])
    sizes(resolved)
    pairs(resolved)
    return (resolved,)


#: Parameters of a tournament of all pairs.
_OF_TOURNAMENTS = ("between", "passes", "most_rounds", "limit_s", "silent_s", "skip")


def _command(params: Params, host: Host) -> Command:
    tournament = params["rounds"] == "tournament" and params["pairs"] == "all"
    made: dict[str, Any] = {} if tournament else dict.fromkeys(_OF_TOURNAMENTS)
    return Command(argv=TABLE.argv(params, sizes=sizes(params), **made), ranks=int(params["ranks"]))


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, and for each pair and case the samples (of 120 us or one window), the warm-up and the check."""
    ranks = int(params["ranks"])
    alone = params["rounds"] == "one"
    rounds = pairs(params) if alone else max(1, -(-pairs(params) // max(1, ranks // 2))) * int(params["passes"])
    case_s = 0.0
    for kernel in TABLE.selection(params, "kernels"):
        messages = 2 if kernel == "latency" else int(params["window"]) * (2 if kernel == "bidirectional" else 1)
        for size in sizes(params):
            sample_s = max(1.2e-4, messages * size / 8e9)
            samples_s = min(int(params["samples"]) * sample_s, max(0.5, 10 * sample_s))
            case_s += max(float(params["seconds"]), samples_s) + 6 * sample_s + 0.002 + 4 * min(size, 2**18) * 64 / 2e9
    return 0.5 + 0.01 * ranks + rounds * (0.02 + case_s)


def _label(params: Params) -> str:
    span = lists.span([show_bytes(size) for size in sorted(sizes(params))])
    ranks = int(params["ranks"])
    of = f" of {params['cores']} cores" if params["pairs"] == "all" and ranks < int(params["cores"]) else ""
    which = {"first": f"{ranks} ranks", "all": f"all pairs of {ranks} ranks{of}"}.get(
        str(params["pairs"]), f"ranks {params['pairs']}"
    )
    together = ", disjoint pairs at once" if params["rounds"] == "tournament" else ""
    return f"pingpong {str(params['kernels']).replace(',', '+')}, {span}, {which}{together}"


WORKLOAD = TABLE.workload(
    title="Messages between ranks (latency, bandwidth, both ways)",
    network=True,
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
