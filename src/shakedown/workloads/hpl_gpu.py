"""High-Performance Linpack on GPUs: LU factorization with row partial pivoting, one MPI rank for each GPU, our own program.

The matrix, the operation count and the check are netlib HPL 2.3's, bit for bit the ones that ``hpl`` uses: the rate is
(2/3 N^3 + 3/2 N^2) operations over the largest wall time of any rank, factorization and solve, and a scaled residual of 16
or more is no score. Matrix, panels, exchanges of rows and the solution stay on the devices; the next panel is factored
beside the update of the rest. Products are those of cuBLAS in double precision: what the environment says of emulating them
is taken back. Each run is laid beside cuBLAS' DGEMM with k = NB on the same memory, before and after it, the most that the
update could reach: ``hpl_gpu.ceiling.fraction`` is its rate over that one, ``hpl_gpu.efficiency`` the rate of each GPU over
its derived peak. Messages go from device to device where the MPI takes addresses of devices, else through pinned memory of
the host; the cases say which. The shares say what a device's update did or waited for, moment by moment; they sum to 1.
``hpl_gpu.panel.busy`` is the part of the time in which a panel was factored, beside the update or not. See
native/hpl_gpu/README.md.

``n = "auto"`` is the largest order that ``memory_share`` of the devices' free memory holds and whose solution is guessed to
end within ``time_limit_s``: the program chooses it on the devices. ``ranks = "auto"`` is one for each GPU of the host, ``p``
and ``q`` the squarest grid with P <= Q. One rank is started without MPI. Lists are swept. With ``per_host`` every host
solves a system of its own at the same time.
"""

from __future__ import annotations

import itertools
import math

from .. import launchers, programs
from ..errors import BadInput
from ..records import Host, Machine, Metric, Params, Value
from . import Command, Param, Sample, Workload, _gpu, _hpl
from ._hpl_dat import BCASTS, MAPPINGS, SWAPS

_NAME = "hpl_gpu"
_README = "native/hpl_gpu/README.md"
_AUTO = ("auto",)
#: What a device's lane of updates was doing, in the words of the program.
SHARES = {
    "update": "in the DGEMM of the trailing matrix",
    "panel": "in panels that no update hid",
    "solve": "solving for the rows of U",
    "rows": "moving rows on the device",
    "messages": "in messages that no update hid",
    "wait": "with nothing to do",
    "other": "in the back substitution",
}
_GPU_PEAK = "gpu.flops.fp64.matrix"
_METRICS = (
    Metric(
        name="hpl_gpu.rate",
        title="HPL rate on GPUs",
        unit="flop/s",
        better="higher",
        kernel="hpl",
        per="flop/s",
        headline=True,
        source="netlib HPL 2.3, HPL_pdtest.c: (2/3 N^3 + 3/2 N^2) / time, the largest wall time of any rank",
    ),
    Metric(
        name="hpl_gpu.time",
        title="HPL time on GPUs",
        unit="s",
        better="lower",
        kernel="hpl",
        per="s",
        match=("n",),
        source="netlib HPL 2.3: the largest wall time of any rank, factorization and solve",
    ),
    Metric(
        name="hpl_gpu.each.rate",
        title="HPL rate of each GPU",
        unit="flop/s",
        better="higher",
        kernel="each",
        per="flop/s",
        limit=_GPU_PEAK,
        source="the HPL rate over the number of GPUs",
    ),
    Metric(
        name="hpl_gpu.efficiency",
        title="HPL rate of each GPU as a fraction of its peak",
        unit="1",
        better="higher",
        kernel="each",
        per=f"hpl_gpu.each.rate/{_GPU_PEAK}",
        source="Rmax / Rpeak of one GPU; Rpeak is the derived FP64 peak of its matrix units at the highest clock",
    ),
    Metric(
        name="hpl_gpu.ceiling.rate",
        title="cuBLAS DGEMM with k = NB beside HPL",
        unit="flop/s",
        better="higher",
        kernel="ceiling",
        per="flop/s",
        source=_README,
    ),
    Metric(
        name="hpl_gpu.ceiling.fraction",
        title="HPL rate on GPUs as a fraction of its own DGEMM",
        unit="1",
        better="higher",
        kernel="hpl",
        per="hpl_gpu.rate/hpl_gpu.ceiling.rate",
        source=f"{_README}: the rate over that of the DGEMM with k = NB of the same run",
    ),
    Metric(
        name="hpl_gpu.panel.busy",
        title="Share of HPL's time in which a panel was factored",
        unit="1",
        better="none",
        kernel="panel_busy",
        per="value",
        source=_README,
    ),
    *(
        Metric(
            name=f"hpl_gpu.share.{word}",
            title=f"Share of HPL's time on GPUs {words}",
            unit="1",
            better="none",
            kernel=word,
            per="value",
            source=_README,
        )
        for word, words in SHARES.items()
    ),
)
#: For guesses of durations alone: flop/s of a device whose peak is not known, and the order at which half is reached.
_UNKNOWN_RATE, _HALF_ORDER = 1e13, 8000.0
_HOST_RATE = 3e7  # of the host backend, whose kernels are emulated


def _ranks(params: Params, host: Host) -> int:
    """How many ranks. Raises Unavailable where several are asked for and no MPI fits."""
    asked = params["ranks"]
    found = _gpu.count(params, host) if asked == "auto" else int(asked)
    if found > 1:
        launchers.fitting_mpi(host.software, programs.build())
    return found


def _text(values: tuple[int, ...]) -> str:
    return ",".join(map(str, values))


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    present = _gpu.present(params, machine, _NAME)
    ranks = _ranks(present, host)
    shapes = _hpl.grids(present, ranks, _NAME)
    nbs = _hpl.whole(str(present["nb"]), f"{_NAME}.nb")
    if max(nbs) > 2048:
        raise BadInput(f"{_NAME}.nb = {present['nb']} is above 2048", hint="512 to 1024 is where devices are fast")
    orders = present["n"] if present["n"] == "auto" else _text(_hpl.whole(str(present["n"]), f"{_NAME}.n"))
    _bcasts(present)
    return (
        {
            **present,
            "n": orders,
            "nb": _text(nbs),
            "ranks": ranks,
            "p": _text(tuple(p for p, _ in shapes)),
            "q": _text(tuple(q for _, q in shapes)),
            "check": "" if float(present["threshold"]) > 0 else "not verified",
        },
    )


def _bcasts(params: Params) -> tuple[Value, ...]:
    text = str(params["bcast"])
    return () if text == "auto" else _hpl.words(text, BCASTS, f"{_NAME}.bcast")


def _command(params: Params, host: Host) -> Command:
    options: dict[str, object] = {name: params[name] for name in ("backend", "devices", "n", "nb", "p", "q", "mapping")}
    options["cublas"] = _gpu.cublas(params)
    if bcasts := _bcasts(params):
        options["bcast"] = ",".join(str(BCASTS.index(str(one))) for one in bcasts)
    if params["swap"] != "auto":
        options["swap"] = SWAPS.index(str(params["swap"]))
    names = {
        "swap_threshold": "swap-threshold",
        "split": "split",
        "segment_bytes": "segment",
        "tail_nb": "tail-nb",
        "tail_share": "tail-share",
        "panel_blocks": "panel-blocks",
        "aware": "aware",
    }
    options |= {option: params[name] for name, option in names.items() if params[name] != "auto"}
    options["threshold"] = float(params["threshold"])
    options |= {"samples": params["samples"], "seconds": params["seconds"]}
    if params["n"] == "auto":
        options |= {"memory-share": params["memory_share"], "time-limit": params["time_limit_s"]}
    flags = ("per_host", "share_devices")
    argv = [
        programs.path("hpl_gpu"),
        *(word for name, value in options.items() for word in (f"--{name}", str(value))),
        *(f"--{name.replace('_', '-')}" for name in flags if params[name]),
        *(() if params["ceiling"] else ("--no-ceiling",)),
    ]
    ranks = int(params["ranks"])
    return Command(argv=tuple(argv), ranks=ranks if ranks > 1 else 0)


def _rate_guess(n: float, params: Params, host: Host) -> float:
    """A guess of the rate in flop/s of all ranks at order n."""
    ranks = int(params["ranks"])
    if params["backend"] != "cuda":
        return _HOST_RATE
    peak = max((peak.value for peak in host.peaks if peak.name == _GPU_PEAK), default=_UNKNOWN_RATE)
    return 0.7 * peak * ranks * n / (n + _HALF_ORDER * math.sqrt(ranks))


def _order_guess(params: Params, host: Host) -> float:
    """A guess of the order that the program would choose: the matrix alone in the devices' memory."""
    room = min((gpu.memory_bytes for gpu in host.gpus if gpu.memory_bytes), default=64 << 30)
    fits = math.sqrt(float(params["memory_share"]) * room * int(params["ranks"]) / 8)
    limit = float(params["time_limit_s"])
    while limit and fits > 1000 and _hpl.flop(fits) / _rate_guess(fits, params, host) > limit:
        fits *= 0.9
    return fits


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, and for each combination the matrix made and checked at 1e11 entries/s, the DGEMM beside it, the samples."""
    ranks = int(params["ranks"])
    times = max(1, len(_bcasts(params))) * len(str(params["p"]).split(","))
    orders = (
        (_order_guess(params, host),) if params["n"] == "auto" else tuple(float(n) for n in str(params["n"]).split(","))
    )
    total = 3.0 + 0.1 * ranks
    for n, _ in itertools.product(orders, str(params["nb"]).split(",")):
        one_s = _hpl.flop(n) / _rate_guess(n, params, host) + 2 * n**2 / 1e11 / ranks + 0.2
        total += times * (0.5 * bool(params["ceiling"]) + max(float(params["seconds"]), int(params["samples"]) * one_s))
    return total


def _label(params: Params) -> str:
    ranks = int(params["ranks"])
    shapes = [f"{p} x {q}" for p, q in zip(str(params["p"]).split(","), str(params["q"]).split(","), strict=True)]
    on = (
        f"{ranks} GPU{'s' * (ranks != 1)}" if params["backend"] == "cuda" else f"{ranks} of backend {params['backend']}"
    )
    kind = "hpl_gpu on each host" if params["per_host"] else "hpl_gpu"
    return f"{kind} N {params['n']}, NB {params['nb']}, {', '.join(shapes)}, {on}"


def _list(help: str, default: str = "auto") -> Param:
    return Param(kind="list", default=default, words=_AUTO, help=help)


def _number(help: str, low: float = 0, **more: object) -> Param:
    return Param(kind="integer", default="auto", words=_AUTO, low=low, help=help, **more)  # type: ignore[arg-type]


def _part(help: str) -> Param:
    return Param(kind="real", default="auto", words=_AUTO, low=0, high=1, help=help)


WORKLOAD = Workload(
    name=_NAME,
    title="High-Performance Linpack on GPUs, our own program",
    metrics=_METRICS,
    params={
        **_gpu.PARAMS,
        "cublas": _gpu.CUBLAS,
        "samples": Param(kind="integer", default=1, low=1, help="solve at least so many times"),
        "seconds": Param(kind="real", default=0, low=0, unit="s", help="solve again for at least so long"),
        "n": _list("orders N between commas; auto: the largest that memory_share and time_limit_s allow"),
        "nb": Param(kind="list", default="512", help="block sizes between commas, at most 2048"),
        "p": _list("process rows of the grids between commas; auto: the largest divisor up to the root of the ranks"),
        "q": _list("process columns, paired with p; auto: ranks / p"),
        "ranks": Param(
            kind="integer",
            default="auto",
            low=1,
            words=_AUTO,
            help="MPI ranks, one for each GPU; auto: the host's GPUs",
        ),
        "mapping": Param(kind="word", default="row", choices=MAPPINGS, help="how ranks fill the grid"),
        "bcast": _list(f"broadcast of panels: {', '.join(BCASTS)}; auto: as the program chooses"),
        "swap": Param(kind="word", default="auto", choices=("auto", *SWAPS), help="exchange of rows"),
        "swap_threshold": _number("columns up to which mix exchanges rows pairwise"),
        "split": _part("part of the columns whose row exchange hides behind the update of the rest"),
        "segment_bytes": _number("a panel is sent in pieces of so many bytes", 8, unit="B"),
        "tail_nb": _number("columns of a panel in the tail of a run; 0: as everywhere"),
        "tail_share": _part("of N, the part that is the tail"),
        "panel_blocks": _number("blocks of the panel's kernel, at most; 0: a quarter of the multiprocessors"),
        "aware": Param(
            kind="word",
            default="auto",
            choices=("auto", "yes", "no"),
            help="whether MPI takes addresses of devices; no: through pinned memory; auto: ask the MPI",
        ),
        "share_devices": Param(kind="flag", default=False, help="let ranks share a device: for tests, not for figures"),
        "threshold": Param(kind="real", default=16.0, help="of the scaled residual; 0 or less: no check"),
        "ceiling": Param(kind="flag", default=True, help="measure the DGEMM with k = NB beside it"),
        "memory_share": Param(kind="real", default=0.95, low=0.001, high=1, help="of the free memory, for n = auto"),
        "time_limit_s": Param(
            kind="real", default=0, low=0, unit="s", help="of one solution, for n = auto; 0: no limit"
        ),
        "per_host": Param(kind="flag", default=False, help="every host solves its own system at the same time"),
        "check": Param(
            kind="word", default="", help='"not verified" where threshold switches the check off; filled in'
        ),
    },
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    marks=("check",),
    samples=(
        Sample(
            recording="gpu/hpl-gpu-host.jsonl",
            source="four ranks on the host backend of two virtual CPUs, whose kernels are emulated: no figure of a GPU",
            expect={
                "hpl_gpu.rate[n=200,nb=64,p=2,q=2]": 14158115.1912908,
                "hpl_gpu.each.rate[ranks=4,messages=staged]": 3539528.7978227,
                "hpl_gpu.share.update": 0.017085262128751926,
                "hpl_gpu.panel.busy": 0.4488823453477409,
            },
        ),
    ),
)
