"""Products of matrices on GPUs by cuBLAS, in every format that it has, on random data, and on constant data beside it.

C = A B of order n, 2 n^3 operations over the time of a call, a sample being one call or as many as last 5 ms. Formats: f64,
f32, tf32, bf16, f16 (sums in single precision), i8 (sums in 32-bit integers) and f8 (E4M3, through cublasLt). Each result is
checked by the host: whole rows against sums of higher precision, and all rows at once by a random vector of signs
(Freivalds); integers must be exact. While a case runs the management library is queried for clock and power.

``bare`` lays a loop of cuBLAS's own calls beside ours, by turns on the same matrices: ``gpu_gemm.bare.fraction``.

Matrices of one value switch few wires, draw less power and so hold a higher clock: figures made with them are too high. Both
are measured (``data``), with their clocks; a figure is that of ``random``. cuBLAS is loaded at run time, the site's before
that of a Python wheel. See native/gpu_gemm/README.md.
"""

from __future__ import annotations

from ..records import Host, Machine, Params
from .common import gpu, lists
from .common.table import table_of

TABLE = table_of(__file__)

_NAME = "gpu_gemm"


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    TABLE.numbers(params, "sizes")
    TABLE.selection(params, "formats")
    TABLE.selection(params, "data")
    return (gpu.present(params, machine, _NAME),)


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, and for each case warm-up, samples at 20 Tflop/s, and the check on the host's threads (3 ns an entry)."""
    total = 3.0
    threads = max(1, len(host.usable_cpus))
    cases = len(TABLE.selection(params, "formats")) * len(TABLE.selection(params, "data"))
    for n in TABLE.numbers(params, "sizes"):
        call_s = 2 * n**3 / 2e13
        samples_s = max(float(params["seconds"]), int(params["samples"]) * max(call_s, 5e-3))
        total += cases * (0.2 + (1 + 2 * bool(params["bare"])) * samples_s + 12 * n**2 * 3e-9 / threads)
    return total * gpu.count(params, host)


def _label(params: Params) -> str:
    span = lists.span([str(n) for n in sorted(TABLE.numbers(params, "sizes"))])
    return f"products of matrices on GPUs, {str(params['formats']).replace(',', ' ')}, {span}"


WORKLOAD = TABLE.workload(
    title="Products of matrices on GPUs",
    command=gpu.command(TABLE, "sizes"),
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    marks=gpu.marks,
)
