"""Products of matrices, C = alpha A B + beta C, in double and single precision, by the BLAS libraries of the machine.

The program loads a library by its path, so that all of a site can be measured by one build. The rate is 2 n^3
operations over the time of a call; each result is checked against sums of higher precision, whole rows and a random
vector (Freivalds), and a residual above its limit gives no score. Matrices lie in huge pages and are random; the library's
threads get a core each where they can be distinguished. See native/gemm/README.md.

``library`` is ``all``, ``auto``, a name such as ``openblas``, or a path. ``auto`` takes, of those found, the first in
the order that suits the processor (Intel: mkl, openblas, aocl, blis; AMD: aocl, openblas, blis, mkl; Arm: nvpl, armpl,
openblas, blis), a library with threads before one without, 32-bit integers before 64-bit ones, the site's before
Python's. netlib's reference is measured only when it is named.
"""

from __future__ import annotations

import posixpath

from ..errors import BadInput
from ..launchers import Command
from ..records import Host, Machine, Params
from ..units import show_bytes
from .common import blas, lists
from .common.table import table_of
from .common.threads import counts

TABLE = table_of(__file__)

#: Of the memory that is free, what the three matrices may take.
_SHARE = 0.9


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    threads = counts(str(params["threads"]), host, where="gemm.threads")
    entry_bytes = 8 if "d" in TABLE.selection(params, "precision") else 4
    largest = max(TABLE.numbers(params, "sizes"))
    need = 3 * largest**2 * entry_bytes
    room = host.memory.room_bytes
    if need > _SHARE * room:
        most = int((_SHARE * room / 3 / entry_bytes) ** 0.5)
        raise BadInput(
            f"gemm.sizes: three matrices of order {largest} need {show_bytes(need)}, and {show_bytes(room)} are free",
            hint=f"at most order {most} fits here",
        )
    return tuple(
        {**params, "library": path, "label": label, "threads": lists.text(threads)}
        for path, label in blas.choose(str(params["library"]), host)
    )


def _command(params: Params, host: Host) -> Command:
    return Command(argv=TABLE.argv(params, sizes=TABLE.numbers(params, "sizes")))


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, and for each case the filling, two calls of warm-up, the samples and the check.

    The rate is guessed as 20 Gflop/s a thread in double precision, twice that in single.
    """
    total = 0.3
    for threads in map(int, str(params["threads"]).split(",")):
        for n in TABLE.numbers(params, "sizes"):
            fill_s = 4 * n**2 * 3e-9 / threads
            check_s = (max(2 * n**2, min(2**26, n**3)) + 4 * n**2) * 2e-9 / threads
            for precision in TABLE.selection(params, "precision"):
                call_s = 2 * n**3 / (threads * (2e10 if precision == "d" else 4e10))
                sample_s = max(call_s, 2e9 / (threads * 2e10))
                total += fill_s + check_s + max(0.15, 2 * call_s)
                total += max(float(params["seconds"]), int(params["samples"]) * sample_s)
    return total


def _label(params: Params) -> str:
    words = "+".join({"d": "dgemm", "s": "sgemm"}[one] for one in TABLE.selection(params, "precision"))
    span = lists.span([str(n) for n in sorted(TABLE.numbers(params, "sizes"))])
    threads = str(params["threads"])
    library = str(params["label"]) or posixpath.basename(str(params["library"]))
    return f"{words} {span}, {threads} thread{'s' * (threads != '1')}, {library}"


WORKLOAD = TABLE.workload(
    title="Products of matrices (DGEMM, SGEMM)",
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    marks=("pages", "beta"),
)
