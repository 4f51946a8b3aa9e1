"""Messages of many MPI ranks at once: pairs by where their two ends are, and rings in order and shuffled.

A pair alone shows what a link can do; all pairs at once show what is shared: a cache, a socket's memory, a node's
port, a switch. The time of a sample is from the first rank's begin to the last rank's end on one clock, so that a
slow pair counts, and is named. The figures of ``osu_mbw_mr`` and ``osu_multi_lat`` (bytes of all over the mean of the
senders' times) and those of HPCC's rings stand beside it under their own names. Every byte of what arrives follows
from its sender and its place, and one wrong byte means that the run has no result.

One pair inside a host over one between two hosts (``pingpong.latency.ratio``, ``pingpong.bandwidth.ratio``) follows where
both were measured, as PRACE's report compares placements.

Between hosts that have several networks (``rails``) each is measured alone and then all together, in launches of their own:
variables of the MPI say which to use, and the bytes that the kernel counts on each network prove which it was. Where
another carried more than a tenth of them, or none that is watched, the run has no result.

Rings: each rank sends to both neighbours and receives from both (R. Rabenseifner, S. R. Tiyyagura, M. Mueller,
"Network bandwidth measurements and ratio analysis with the HPC Challenge benchmark suite", EuroPVM/MPI 2005). In the
natural ring most neighbours are on the same node; in random ones most are not.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from .. import launchers, programs
from ..errors import BadInput, Unavailable
from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Case, Host, Machine, Notice, Params
from ..units import show_bytes
from .common import lists, rails
from .common.table import table_of

TABLE = table_of(__file__)

_RINGS = ("natural_ring", "random_ring")
#: By two methods.
_WAYS_OF_A_RING = 2
_CASE_S = 0.05


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    usable = len(host.usable_cpus)
    ranks = _ranks(params, host)
    if usable < 2 and params["ranks"] != "hosts":
        raise Unavailable(
            f"multi_pair needs two CPUs, and {host.name} lets this process use {usable}",
            hint="give the job or the container two CPUs or more",
        )
    launchers.fitting_mpi(host.software, programs.build())
    if params["ranks"] != "hosts" and ranks > usable and not params["allow_oversubscribe"]:
        raise BadInput(
            f"multi_pair.ranks = {ranks}, but this process may use {usable} CPUs: each rank needs its own",
            hint=f"at most ranks = {usable}",
        )
    TABLE.numbers(params, "sizes")
    for pairs in TABLE.numbers(params, "pairs"):
        if 2 * pairs > ranks:
            raise BadInput(
                f"multi_pair.pairs = {pairs} are of {2 * pairs} ranks, and there are {ranks}",
                hint=f"at most {ranks // 2}, or 0 for as many as there are",
            )
    kernels = ",".join(TABLE.selection(params, "kernels"))
    placements = ",".join(TABLE.selection(params, "placements"))
    whole = {**params, "kernels": kernels, "placements": placements, "ranks": ranks}
    if not params["rails"]:
        return (whole,)
    if host.count < 2:
        raise Unavailable(
            "multi_pair.rails are networks between hosts, and there is one host",
            hint="shakedown run ... --on slurm --nodes 2",
        )
    names = rails.named(str(params["rails"]), host, "multi_pair.rails")
    chosen = (str(params["rail"]).split("+"),) if params["rail"] else rails.alone_and_together(names)
    return tuple({**whole, "rails": ",".join(names), "rail": "+".join(one)} for one in chosen)


def _ranks(params: Params, host: Host) -> int:
    if params["ranks"] == "hosts":
        if host.count < 2:
            raise Unavailable(
                "multi_pair between hosts needs two, and there is one", hint="shakedown run ... --on slurm --nodes 2"
            )
        return host.count
    return max(2, cores(host)) if params["ranks"] == "cores" else int(params["ranks"])


def _command(params: Params, host: Host) -> Command:
    ranks = int(params["ranks"])
    argv, env = (*TABLE.argv(params), "--world-size", str(ranks)), {}
    if params["rail"]:
        names = str(params["rail"]).split("+")
        argv = (*argv, "--rail", ",".join(names))
        env = rails.environment(launchers.fitting_mpi(host.software, programs.build()).name, names)
    return Command(argv=argv, ranks=ranks, env=env)


def _cases(params: Params) -> int:
    """Of each size."""
    kernels = TABLE.selection(params, "kernels")
    rings = sum(1 for kernel in kernels if kernel in _RINGS)
    of_pairs = len(TABLE.numbers(params, "pairs")) * len(TABLE.selection(params, "placements"))
    return rings * _WAYS_OF_A_RING + (len(kernels) - rings) * of_pairs


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up and each case: samples of 100 us or a window at 4 GB/s, or its budget; and the loop of OSU."""
    each_s = [
        min(float(params["budget_s"]), int(params["samples"]) * (1.5e-4 + size * int(params["window"]) / 4e9))
        for size in TABLE.numbers(params, "sizes")
    ]
    return 2.0 + _cases(params) * sum(_CASE_S + 2 * one for one in each_s)


def _label(params: Params) -> str:
    span = lists.span([show_bytes(size) for size in sorted(TABLE.numbers(params, "sizes"))])
    kernels = TABLE.selection(params, "kernels")
    every = len(kernels) == len(TABLE.params["kernels"].items)
    placed = TABLE.selection(params, "placements")
    of = "" if placed == ("halves",) else f", {'+'.join(placed)}"
    by = f", by {params['rail']}" if params["rail"] else ""
    return f"multi_pair {'all' if every else '+'.join(kernels)}, {span}, {params['ranks']} ranks{of}{by}"


#: What two ends on one host can have in common, the nearest first.
_INSIDE = ("cache", "socket", "host")


def _ratios(cases: Sequence[Case]) -> tuple[tuple[Case, ...], tuple[Notice, ...]]:
    """Of one pair at a time inside a host and between two, what the one is over the other, in cases of their own: the
    nearest pair of a host that was measured, as PRACE's D9.3.4 compares two cores of a node with two nodes."""
    found: dict[tuple[object, ...], dict[str, tuple[Params, float]]] = {}
    for case in cases:
        wrong = case.residual is not None and not case.residual.passed
        if case.kernel not in ("latency", "bandwidth") or case.params.get("pairs") != 1 or not case.seconds or wrong:
            continue
        at = (case.kernel, case.params.get("bytes"), case.params.get("rail"))
        made = float(case.work["messages"]) / statistics.median(case.seconds)
        found.setdefault(at, {})[str(case.params["placement"])] = (case.params, made)
    ratios = []
    for (kernel, _, _), rates in found.items():
        near = next((one for one in _INSIDE if one in rates), "")
        if not near or "hosts" not in rates:
            continue
        words = "inside a node over outside it" if kernel == "bandwidth" else "outside a node over inside it"
        params = {name: value for name, value in rates["hosts"][0].items() if name not in ("placement", "link")}
        params |= {"case": words, "inside": near}
        ratios.append(Case(kernel=f"{kernel}_ratio", params=params, work={"ratio": rates[near][1] / rates["hosts"][1]}))
    return tuple(ratios), ()


WORKLOAD = TABLE.workload(
    title="Messages of many MPI ranks at once: pairs and rings",
    network=True,
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    marks=("rail",),
    totals=_ratios,
)
