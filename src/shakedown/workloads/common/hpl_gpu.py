"""What the workloads that solve a system with a rank for each GPU share: parameters, ranks, grids, the command line,
guesses of durations. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from ... import launchers, programs
from ...errors import BadInput
from ...launchers import Command
from ...records import Host, Machine, Only, Params, Value
from .. import CHECKED, Param
from . import gpu as _gpu
from . import hpl
from .hpl_dat import BCASTS, MAPPINGS

AUTO = ("auto",)


def list_param(help: str, default: str = "auto") -> Param:
    return Param(kind="list", default=default, words=AUTO, help=help)


def number_param(help: str, low: float = 0, **more: object) -> Param:
    return Param(kind="integer", default="auto", words=AUTO, low=low, help=help, **more)  # type: ignore[arg-type]


def part_param(help: str) -> Param:
    return Param(kind="real", default="auto", words=AUTO, low=0, high=1, help=help)


PARAMS = {
    **_gpu.PARAMS,
    "cublas": _gpu.CUBLAS,
    "samples": Param(kind="integer", default=1, low=1, help="solve at least so many times"),
    "seconds": Param(kind="real", default=0, low=0, unit="s", help="solve again for at least so long"),
    "n": list_param("orders N separated by commas; auto: the largest that memory_share and time_limit_s allow"),
    "p": list_param(
        "process rows of the grids separated by commas; auto: the largest divisor up to the root of the ranks"
    ),
    "q": list_param("process columns, paired with p; auto: ranks / p"),
    "ranks": Param(
        kind="integer", default="auto", low=1, words=AUTO, help="MPI ranks, one for each GPU; auto: the host's GPUs"
    ),
    "mapping": Param(kind="word", default="row", choices=MAPPINGS, help="how ranks fill the grid"),
    "bcast": list_param(f"broadcast of panels: {', '.join(BCASTS)}; auto: as the program chooses"),
    "segment_bytes": number_param("a panel is sent in pieces of so many bytes", 8, unit="B"),
    "tail_nb": number_param("columns of a panel in the tail of a run; 0: as everywhere"),
    "tail_share": part_param("of N, the part that is the tail"),
    "aware": Param(
        kind="word",
        default="auto",
        choices=("auto", "yes", "no"),
        help="whether MPI takes addresses of devices; no: through pinned memory; auto: ask the MPI",
    ),
    "share_devices": Param(kind="flag", default=False, help="let ranks share a device: for tests, not for figures"),
    "threshold": Param(kind="real", default=16.0, help="of the scaled residual; 0 or less: no check"),
    "ceiling": Param(kind="flag", default=True, help="measure the product with k = NB beside it"),
    "memory_share": Param(kind="real", default=0.95, low=0.001, high=1, help="of the free memory, for n = auto"),
    "time_limit_s": Param(kind="real", default=0, low=0, unit="s", help="of one solution, for n = auto; 0: no limit"),
    "per_host": Param(kind="flag", default=False, help="every host solves its own system at the same time"),
    "check": Param(kind="word", default="", help='"not verified" where threshold switches the check off; filled in'),
}


#: What a case must be to measure GPUs, each with a rank of its own, and to be checked.
ONLY = {
    **CHECKED,
    **_gpu.ON_GPUS,
    "share_devices": Only(value=False, why="made with ranks that share a device, which measures none"),
}


def marks(params: Params) -> tuple[str, ...]:
    """The parameters that join those of cases: what keeps them from being a figure."""
    return ("check", *_gpu.marks(params), *(("share_devices",) if params["share_devices"] else ()))


def ranks(params: Params, host: Host) -> int:
    """How many ranks. Raises Unavailable where several are asked for and no MPI fits."""
    asked = params["ranks"]
    found = _gpu.count(params, host) if asked == "auto" else int(asked)
    if found > 1:
        launchers.fitting_mpi(host.software, programs.build())
    return found


def text(values: tuple[int, ...]) -> str:
    """Whole numbers separated by commas."""
    return ",".join(map(str, values))


def bcasts(params: Params, where: str) -> tuple[Value, ...]:
    """The broadcasts of panels that are asked for; none: the program's choice. Raises BadInput."""
    asked = str(params["bcast"])
    return () if asked == "auto" else hpl.words(asked, BCASTS, f"{where}.bcast")


def resolve(params: Params, machine: Machine, where: str, most_nb: int, fast: str) -> tuple[Params, ...]:
    """The parameters with ranks, grid and lists settled; ``fast`` says which NB are. Raises BadInput, Unavailable."""
    present = _gpu.present(params, machine, where)
    count = ranks(present, machine.hosts[0])
    shapes = hpl.grids(present, count, where)
    nbs = hpl.whole(str(present["nb"]), f"{where}.nb")
    if max(nbs) > most_nb:
        raise BadInput(f"{where}.nb = {present['nb']} is above {most_nb}", hint=f"{fast} is where devices are fast")
    orders = present["n"] if present["n"] == "auto" else text(hpl.whole(str(present["n"]), f"{where}.n"))
    bcasts(present, where)
    return (
        {
            **present,
            "n": orders,
            "nb": text(nbs),
            "ranks": count,
            "p": text(tuple(p for p, _ in shapes)),
            "q": text(tuple(q for _, q in shapes)),
            "check": "" if float(present["threshold"]) > 0 else "not verified",
        },
    )


def command(program: str, params: Params, more: dict[str, object]) -> Command:
    """The command line: the shared options, and ``more``, of which what is "auto" is left to the program."""
    options: dict[str, object] = {name: params[name] for name in ("backend", "devices", "n", "nb", "p", "q", "mapping")}
    options["cublas"] = _gpu.cublas(params)
    if asked := bcasts(params, program):
        options["bcast"] = ",".join(str(BCASTS.index(str(one))) for one in asked)
    shared = {"segment_bytes": "segment", "tail_nb": "tail-nb", "tail_share": "tail-share", "aware": "aware"}
    more = {**more, **{option: params[name] for name, option in shared.items()}}
    options |= {option: value for option, value in more.items() if value != "auto"}
    options["threshold"] = float(params["threshold"])
    options |= {"samples": params["samples"], "seconds": params["seconds"]}
    if params["n"] == "auto":
        options |= {"memory-share": params["memory_share"], "time-limit": params["time_limit_s"]}
    flags = ("per_host", "share_devices")
    argv = [
        programs.path(program),
        *(word for name, value in options.items() for word in (f"--{name}", str(value))),
        *(f"--{name.replace('_', '-')}" for name in flags if params[name]),
        *(() if params["ceiling"] else ("--no-ceiling",)),
    ]
    count = int(params["ranks"])
    return Command(argv=tuple(argv), ranks=count if count > 1 else 0)


def order_guess(params: Params, host: Host, entry_bytes: int, rate: Callable[[float], float]) -> float:
    """A guess of the order that the program would choose: the matrix alone in the devices' memory, and ``rate`` (of an
    order, in flop/s) within the limit of time."""
    room = min((gpu.memory_bytes for gpu in host.gpus if gpu.memory_bytes), default=64 << 30)
    fits = math.sqrt(float(params["memory_share"]) * room * int(params["ranks"]) / entry_bytes)
    limit = float(params["time_limit_s"])
    while limit and fits > 1000 and hpl.flop(fits) / rate(fits) > limit:
        fits *= 0.9
    return fits


def estimate_s(params: Params, host: Host, where: str, entry_bytes: int, rate: Callable[[float], float]) -> float:
    """Start-up, and for each combination the matrix made and checked at 1e11 entries/s, the product beside it, the
    samples."""
    count = int(params["ranks"])
    times = max(1, len(bcasts(params, where))) * len(str(params["p"]).split(","))
    orders = (
        (order_guess(params, host, entry_bytes, rate),)
        if params["n"] == "auto"
        else tuple(float(n) for n in str(params["n"]).split(","))
    )
    total = 3.0 + 0.1 * count
    for n, _ in itertools.product(orders, str(params["nb"]).split(",")):
        one_s = hpl.flop(n) / rate(n) + 2 * n**2 / 1e11 / count + 0.2
        total += times * (0.5 * bool(params["ceiling"]) + max(float(params["seconds"]), int(params["samples"]) * one_s))
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
