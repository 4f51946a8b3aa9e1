"""High-Performance Linpack: the solution of A x = b by LU factorization with row partial pivoting, by our own program.

The matrix, the operation count and the check are netlib HPL 2.3's: the rate is (2/3 N^3 + 3/2 N^2) operations over the
largest wall time of any rank, factorization and solve, and a scaled residual of 16 or more gives no score. A team of
threads on each rank factors the next panel beside the update of the rest, and rows and panels are sent while it computes;
the BLAS is loaded at run time and called on one thread. Each run is laid beside a DGEMM with k = NB that all its threads
do at once, the most that the update could reach: ``hpl.ceiling.fraction`` is its rate over that one, ``hpl.efficiency``
its rate over the derived peak. The shares say where the thread-seconds went; they sum to 1. See native/hpl/README.md.

``n = "auto"`` is the largest order whose matrix and buffers fit ``memory_share`` of the memory that is free (or that the
control group grants) and whose solution is guessed to end within ``time_limit_s``; a multiple of NB. ``ranks = "auto"`` is
one for each NUMA node, ``p`` and ``q`` the squarest grid with P <= Q. One rank is started without MPI. Lists are swept. With
``per_host`` every host solves a system of its own at the same time; the report names those that are slow. With
``windows`` no system is solved whole: at each share of N so many panels are factored and timed.
"""

from __future__ import annotations

import itertools

from ..errors import BadInput
from ..launchers import Command
from ..records import Host, Machine, Params, Value
from .common import blas, hpl, lists
from .common import ranks as _ranks
from .common.hpl_dat import BCASTS, FACTS, SWAPS
from .common.table import table_of

TABLE = table_of(__file__)


def _swept(params: Params) -> dict[str, tuple[Value, ...]]:
    """The lists of the algorithm that are not left to the program. Raises BadInput."""
    known = {"bcast": BCASTS, "pfact": FACTS, "rfact": FACTS}
    found: dict[str, tuple[Value, ...]] = {}
    for name in ("bcast", "depth", "pfact", "rfact", "nbmin", "ndiv"):
        text = str(params[name])
        if text == "auto":
            continue
        where = f"hpl.{name}"
        if name in known:
            found[name] = lists.known_words(text, known[name], where)
        else:
            found[name] = lists.whole(text, where, low={"depth": 0, "ndiv": 2}.get(name, 1))
    return found


def windows(params: Params) -> tuple[float, ...]:
    """The shares of N at which windows begin; empty for whole runs. Raises BadInput."""
    text = str(params["windows"])
    try:
        shares = tuple(float(word) for word in text.split(",")) if text else ()
    except ValueError:
        shares = (0.0,)
    if not all(0 < share <= 1 for share in shares):
        raise BadInput(f"hpl.windows = {text!r} is not a list of shares of N", hint="write them as 1,0.7,0.4,0.15")
    return shares


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    ranks = _ranks.count(params, host)
    threads = _ranks.threads(params, host, ranks, where="hpl")
    shapes = hpl.grids(params, ranks, "hpl")
    nbs = (hpl.block(host),) if params["nb"] == "auto" else lists.whole(params["nb"], "hpl.nb")
    depth = max(int(each) for each in _swept(params).get("depth", (1,)))
    windows(params)
    orders = hpl.orders(params, host, nbs, shapes, ranks * threads, where="hpl", depth=depth)
    return tuple(
        {
            **params,
            "n": lists.text(orders),
            "nb": lists.text(nbs),
            "ranks": ranks,
            "threads": threads,
            "p": lists.text(tuple(p for p, _ in shapes)),
            "q": lists.text(tuple(q for _, q in shapes)),
            "library": label or path,
            "library_path": path,
            "check": "" if float(params["threshold"]) > 0 else "not verified",
        }
        for path, label in blas.choose(str(params["library"]), host)
    )


def _command(params: Params, host: Host) -> Command:
    made: dict[str, object] = {**_swept(params)}
    if "bcast" in made:
        made["bcast"] = tuple(BCASTS.index(str(one)) for one in _swept(params)["bcast"])
    if params["swap"] != "auto":
        made["swap"] = SWAPS.index(str(params["swap"]))
    if not windows(params):
        made["window_panels"] = None
    ranks = int(params["ranks"])
    return Command(argv=TABLE.argv(params, omit=("", "auto"), **made), ranks=ranks if ranks > 1 else 0)


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, and for each combination the DGEMM beside it, the matrix made twice, the samples and the check."""
    ranks, threads = int(params["ranks"]), int(params["ranks"]) * int(params["threads"])
    times = 1
    for values in _swept(params).values():
        times *= len(values)
    times *= len(str(params["p"]).split(","))
    samples, least_s = int(params["samples"]), float(params["seconds"])
    total = 0.3 + (0.5 + 0.01 * ranks if ranks > 1 else 0.0)
    for n, nb in itertools.product(*(map(int, str(params[name]).split(",")) for name in ("n", "nb"))):
        if shares := windows(params):
            panels = int(params["window_panels"])
            one_s = sum(
                2.0 * nb * panels * (share * n) ** 2 / hpl.rate_guess(share * n, threads, host) for share in shares
            )
            one_s += n**2 * 4e-9 / threads
        else:
            one_s = hpl.run_s(n, threads, host)
        total += times * (0.3 * bool(params["ceiling"]) + max(least_s, samples * one_s))
    return total


def _label(params: Params) -> str:
    ranks, threads = int(params["ranks"]), int(params["threads"])
    shapes = [f"{p} x {q}" for p, q in zip(str(params["p"]).split(","), str(params["q"]).split(","), strict=True)]
    team = f"{threads} thread{'s' * (threads != 1)}" + (f" on each of {ranks} ranks" if ranks > 1 else "")
    kind = "hpl windows" if windows(params) else "hpl on each host" if params["per_host"] else "hpl"
    return f"{kind} N {params['n']}, NB {params['nb']}, {', '.join(shapes)}, {team}, {params['library']}"


WORKLOAD = TABLE.workload(
    title="High-Performance Linpack, our own program",
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    marks=("library", "check"),
)
