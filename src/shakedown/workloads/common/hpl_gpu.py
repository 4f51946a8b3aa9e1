"""What the workloads that solve a system with a rank for each GPU share: parameters, ranks, grids, the command line,
guesses of durations. Pure."""

from __future__ import annotations

import math
from typing import NamedTuple

from ... import launchers, programs
from ...errors import BadInput, Unavailable
from ...launchers import Command
from ...records import Host, Machine, Params, Value
from ...units import show_bytes
from . import gpu as _gpu
from . import hpl, lists
from .hpl_dat import BCASTS
from .table import Table


def marks(params: Params) -> tuple[str, ...]:
    """The parameters that join those of cases: what keeps them from being a figure."""
    return ("check", *_gpu.marks(params), *(("share_devices",) if params.get("share_devices") else ()))


def ranks(params: Params, host: Host) -> int:
    """How many ranks. Raises Unavailable where several are asked for and no MPI fits."""
    asked = params["ranks"]
    found = _gpu.count(params, host) if asked == "auto" else int(asked)
    if found > 1:
        launchers.fitting_mpi(host.software, programs.build())
    return found


def bcasts(params: Params, where: str) -> tuple[Value, ...]:
    """The broadcasts of panels that are asked for; none: the program's choice. Raises BadInput."""
    asked = str(params["bcast"])
    return () if asked == "auto" else lists.known_words(asked, BCASTS, f"{where}.bcast")


def resolve(
    params: Params, machine: Machine, where: str, most_nb: int, fast: str, entry_bytes: int
) -> tuple[Params, ...]:
    """The parameters with ranks, grid and lists settled; ``fast`` says which NB are, ``entry_bytes``
    what an entry of the matrix takes on a device. Raises BadInput, Unavailable."""
    present = _gpu.present(params, machine, where)
    count = ranks(present, machine.hosts[0])
    shapes = hpl.grids(present, count, where)
    nbs = lists.whole(present["nb"], f"{where}.nb")
    if max(nbs) > most_nb:
        raise BadInput(f"{where}.nb = {present['nb']} is above {most_nb}", hint=f"{fast} is where devices are fast")
    orders = present["n"] if present["n"] == "auto" else lists.text(lists.whole(present["n"], f"{where}.n"))
    if orders != "auto":
        _check_room(present, machine.hosts[0], min(lists.whole(orders, "")), count, entry_bytes)
    bcasts(present, where)
    return (
        {
            **present,
            "n": orders,
            "nb": lists.text(nbs),
            "ranks": count,
            "p": lists.text(tuple(p for p, _ in shapes)),
            "q": lists.text(tuple(q for _, q in shapes)),
            "check": "" if float(present["threshold"]) > 0 else "not verified",
        },
    )


def _check_room(params: Params, host: Host, order: int, count: int, entry_bytes: int) -> None:
    """Raises Unavailable where not even the matrix of an order fits into the devices' memory."""
    room = min((gpu.memory_bytes for gpu in host.gpus if gpu.memory_bytes), default=None)
    if params["backend"] == "cuda" and room is not None and entry_bytes * order**2 > count * room:
        raise Unavailable(
            f"a system of order {order} needs {show_bytes(entry_bytes * order**2)}, and {count} "
            f"GPU{'s have' if count > 1 else ' has'} {show_bytes(count * room)}",
            hint='n = "auto" takes the largest that fits',
        )


def command(table: Table, params: Params, **made: object) -> Command:
    """What is started; options that are "auto" are left to the program, but for the order."""
    asked = bcasts(params, table.path.stem)
    if asked:
        made["bcast"] = tuple(BCASTS.index(str(one)) for one in asked)
    if params["n"] != "auto":
        made |= {"memory_share": None, "time_limit_s": None}
    made |= {"n": params["n"], "cublas": _gpu.library(params, "cublas")}
    count = int(params["ranks"])
    return Command(argv=table.argv(params, omit=("", "auto"), **made), ranks=count if count > 1 else 0)


class RateGuess(NamedTuple):
    """What guesses of durations take the rate to be, and nothing else: ``share`` of a device's peak, half of that at
    ``half_order`` (times the root of the ranks)."""

    peak: str
    share: float
    half_order: float
    unknown: float  # flop/s of a device whose peak is not known
    emulated: float  # flop/s of the host backend, whose kernels are emulated
    entry_bytes: int  # of the matrix

    def rate(self, n: float, params: Params, host: Host) -> float:
        """flop/s of all ranks at order n."""
        ranks = int(params["ranks"])
        if params["backend"] != "cuda":
            return self.emulated
        peak = max((peak.value for peak in host.peaks if peak.name == self.peak), default=self.unknown)
        return self.share * peak * ranks * n / (n + self.half_order * math.sqrt(ranks))

    def order(self, params: Params, host: Host) -> float:
        """The order that the program would choose: the matrix alone in the devices' memory, within the limit of time."""
        room = min((gpu.memory_bytes for gpu in host.gpus if gpu.memory_bytes), default=64 << 30)
        fits = math.sqrt(float(params["memory_share"]) * room * int(params["ranks"]) / self.entry_bytes)
        limit = float(params["time_limit_s"])
        while limit and fits > 1000 and hpl.flop(fits) / self.rate(fits, params, host) > limit:
            fits *= 0.9
        return fits

    def estimate_s(self, params: Params, host: Host) -> float:
        """Start-up, and for each combination the matrix made and checked at 1e11 entries/s, the product beside it, the
        samples."""
        count = int(params["ranks"])
        times = max(1, len(bcasts(params, ""))) * len(lists.words(params["nb"])) * len(str(params["p"]).split(","))
        auto = params["n"] == "auto"
        orders = (self.order(params, host),) if auto else map(float, lists.words(params["n"]))
        total = 3.0 + 0.1 * count
        for n in orders:
            one_s = hpl.flop(n) / self.rate(n, params, host) + 2 * n**2 / 1e11 / count + 0.2
            product_s = 0.5 * bool(params["ceiling"])
            total += times * (product_s + max(float(params["seconds"]), int(params["samples"]) * one_s))
        return total


def label(params: Params, name: str) -> str:
    """One line on a run."""
    count = int(params["ranks"])
    shapes = [f"{p} x {q}" for p, q in zip(str(params["p"]).split(","), str(params["q"]).split(","), strict=True)]
    on = (
        f"{count} GPU{'s' * (count != 1)}" if params["backend"] == "cuda" else f"{count} of backend {params['backend']}"
    )
    kind = f"{name} on each host" if params["per_host"] else name
    return f"{kind} N {params['n']}, NB {params['nb']}, {', '.join(shapes)}, {on}"
