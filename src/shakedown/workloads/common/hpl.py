"""What the workloads that solve HPL's system share: its operations, its grid, the order that fits, the metrics. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from ...errors import BadInput
from ...launchers.mpirun import cores
from ...records import Host, Params
from ...units import show_bytes, show_seconds
from . import lists

#: DGEMM's share of the peak, and the order (times the root of the cores) at which HPL reaches half of DGEMM: 75 % of it
#: at N = 4000 on 3 cores, 85 % at 20,000 on 16. Guesses, for choosing N and estimating durations only.
_DGEMM_SHARE, _HALF_ORDER = 0.9, 770.0
_UNKNOWN_RATE = 2e10  # flop/s of a thread, where the peak is not known


def flop(n: float) -> float:
    """The operations that HPL counts for order n: 2/3 n^3 + 3/2 n^2 (HPL_pdtest.c)."""
    return (2 / 3) * n**3 + 1.5 * n**2


def grid(ranks: int) -> tuple[int, int]:
    """P x Q with P the largest divisor that is at most the root of the ranks."""
    p = math.isqrt(ranks)
    while ranks % p:
        p -= 1
    return p, ranks // p


def grids(params: Params, ranks: int, where: str) -> tuple[tuple[int, int], ...]:
    """The grids that ``p`` and ``q`` ask for: paired, each one ``auto`` or a list. Raises BadInput."""
    given = {name: str(params[name]) for name in ("p", "q")}
    if set(given.values()) == {"auto"}:
        return (grid(ranks),)
    axes = {name: lists.whole(text, f"{where}.{name}", once=False) for name, text in given.items() if text != "auto"}
    if len(axes) == 1:
        name, values = next(iter(axes.items()))
        if any(ranks % value for value in values):
            raise BadInput(
                f"{where}.{name} = {given[name]} does not divide the {ranks} ranks",
                hint=f"give p and q, or {name} = auto",
            )
        other = tuple(ranks // value for value in values)
        axes["q" if name == "p" else "p"] = other
    if len(axes["p"]) != len(axes["q"]):
        raise BadInput(
            f"{where}.p has {len(axes['p'])} values and {where}.q has {len(axes['q'])}: they are paired",
            hint="give as many of one as of the other: p = '1,2', q = '4,2'",
        )
    found = tuple(dict.fromkeys(zip(axes["p"], axes["q"], strict=True)))
    for p, q in found:
        if ranks and p * q > ranks:
            raise BadInput(
                f"{where}: the grid {p} x {q} needs {p * q} ranks, and there are {ranks}", hint="ask for more"
            )
    return found


# ------------------------------------------------------------------------------------------------------- how large, how long


def block(host: Host) -> int:
    """NB to begin with: 192 on up to 8 cores, 384 on 32 cores or more with AVX-512, 256 on others."""
    count = cores(host) // host.count
    if count <= 8:
        return 192
    return 384 if count >= 32 and "avx512f" in host.cpu.isa else 256


#: Of each rank before it has a matrix: the program, its BLAS and its MPI (measured: 20 to 30 MB).
PROGRAM_BYTES = 30_000_000
_WINDOW = 32  #: columns of a panel that are factored outside the matrix where nobody else wants the panel
_MOST_DEPTH = 1024  #: a BLAS cuts longer products


def run_bytes(n: int, nb: int, p: int, q: int, threads: int, depth: int = 1) -> int:
    """What ``native/hpl`` takes on all ranks together for its run, ``threads`` in all, as its fact ``memory_bytes`` says
    it for one rank (run_bytes() in native/hpl/system.cpp).

    That is the matrix with the right-hand side; the panels of L, which with one process column stay in the matrix but for
    a window; three buffers of the rows of U with several process rows; and what the BLAS packs in each thread.
    """
    slots = depth + (1 if p * q == 1 else 2)
    panels = slots * p * q * min(nb, n) ** 2 + (min(n, nb, _WINDOW) * n if q == 1 else slots * q * min(nb, n) * n)
    exchanges = 3 * nb * (n + nb * q) * p if p > 1 else 0
    height = -(-n // p)
    packed = threads * min(height, 4096, max(2048, height // 5)) * min(nb, n, _MOST_DEPTH)
    return 8 * (n * (n + 1) + panels + exchanges + packed)


def need_bytes(n: int, nb: int, p: int, q: int, threads: int, depth: int = 1) -> int:
    """Memory that p x q ranks with ``threads`` threads in all need for a system of order n, programs and MPI included."""
    return run_bytes(n, nb, p, q, threads, depth) + p * q * PROGRAM_BYTES


def rate_guess(n: float, threads: int, host: Host) -> float:
    """A guess of the rate in flop/s at order n with ``threads`` threads in all; from the derived peak where there is one."""
    peaks = [peak for peak in host.peaks if peak.name == "flops.fp64" and peak.scope == "node"]
    whole_node = max((peak.value for peak in peaks), default=_UNKNOWN_RATE / _DGEMM_SHARE * cores(host))
    share = min(1.0, threads / cores(host))
    return whole_node * share * _DGEMM_SHARE * n / (n + _HALF_ORDER * math.sqrt(threads))


def run_s(n: int, threads: int, host: Host) -> float:
    """A guess of the seconds of one run: the matrix made twice (to solve, to check), the solution, its check."""
    return flop(n) / rate_guess(n, threads, host) + n**2 * 8e-9 / threads


def largest_order(
    host: Host,
    nbs: Sequence[int],
    p: int,
    q: int,
    threads: int,
    *,
    share: float,
    limit_s: float,
    where: str,
    depth: int = 1,
) -> int:
    """The largest N whose memory is at most ``share`` of what is free and whose solution is guessed to end within
    ``limit_s`` seconds (0: no limit); a multiple of the block sizes where that costs little, else of the largest.

    Raises BadInput where not even one block fits.
    """
    room, nb = share * host.memory.room_bytes, max(nbs)

    def fits(n: int) -> bool:
        ends = not limit_s or flop(n) / rate_guess(n, threads, host) <= limit_s
        return ends and need_bytes(n, nb, p, q, threads, depth) <= room

    low, high = 0, math.isqrt(int(room) // 8) + 1  # low fits (an empty system), high does not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    common = math.lcm(*nbs)
    step = common if common <= low / 50 else nb
    n = low // step * step
    if n == 0:
        raise BadInput(
            f"{where}: no order of one block of {nb} fits: {show_bytes(room)} may be used"
            + (f", and {show_seconds(limit_s)}" if limit_s else ""),
            hint="give n and nb, a larger memory_share, or a longer time_limit_s",
        )
    return n


def refuse_too_large(host: Host, n: int, nb: int, p: int, q: int, threads: int, *, where: str, depth: int = 1) -> None:
    """Raises BadInput, with the largest order that fits, where a given N takes more memory than is free."""
    room, need = host.memory.room_bytes, need_bytes(n, nb, p, q, threads, depth)
    if need > room:
        most = largest_order(host, (nb,), p, q, threads, share=1.0, limit_s=0, where=where, depth=depth)
        raise BadInput(
            f"{where}.n = {n} needs {show_bytes(need)}, and {show_bytes(room)} are free", hint=f"at most n = {most}"
        )


def orders(
    params: Params,
    host: Host,
    nbs: Sequence[int],
    shapes: Sequence[tuple[int, int]],
    threads: int,
    *,
    where: str,
    depth: int = 1,
) -> tuple[int, ...]:
    """N as ``n`` asks for it, or for ``auto`` the largest that fits on each of the grids. Raises BadInput."""
    if params["n"] == "auto":
        share, limit_s = float(params["memory_share"]), float(params["time_limit_s"])
        return (
            min(
                largest_order(host, nbs, p, q, threads, share=share, limit_s=limit_s, where=f"{where}.n", depth=depth)
                for p, q in shapes
            ),
        )
    found = lists.whole(params["n"], f"{where}.n")
    for n, nb, (p, q) in itertools.product(found, nbs, shapes):
        refuse_too_large(host, n, nb, p, q, threads, where=where, depth=depth)
    return found
