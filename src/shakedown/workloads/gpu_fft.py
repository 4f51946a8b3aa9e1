"""Complex Fourier transforms on GPUs in one to three dimensions, by the GPU's own library (cuFFT), single and in batches.

Sizes, data, count of operations and check are those of ``fft`` on the processor: 5 N log2 N operations to a transform, by
convention and whatever the library really does. One dimension in double precision, one transform by itself, is EuroBen's
mod2f: on a GPU a small one is the latency of a few kernels. A batch does as many transforms in one call as read ``bytes``.
Transforms are out of place, in the device's memory, timed by its own events. Beside the operations each case counts the
bytes that a transform reads and writes at the least, input and output once: their rate against the memory's says how near
the library comes to a single pass. Planning stands apart, in seconds, after a first plan that is not timed. The host checks
every transform of a batch twice: the timed data there and back again, and plane waves, whose transform is known exactly and
which differ from one transform to the next; beyond the limit there is no score. See native/gpu_fft/README.md.
"""

from __future__ import annotations

import math

from ..errors import BadInput
from ..launchers import Command
from ..records import Host, Machine, Params
from ..units import whole_number
from .common import gpu, lists
from .common.table import table_of
from .fft import shapes

TABLE = table_of(__file__)

_NAME = "gpu_fft"


def batches(params: Params) -> tuple[str, ...]:
    """Numbers of transforms and "auto". Raises BadInput."""
    words = tuple(dict.fromkeys(word.strip() for word in str(params["batch"]).split(",")))
    if any(word != "auto" and whole_number(word, 1, 10**9 - 1) is None for word in words):
        raise BadInput(
            f"{_NAME}.batch = {params['batch']!r} is not a list of numbers of transforms",
            hint="numbers of at least 1 separated by commas; auto: as many as read gpu_fft.bytes",
        )
    return words


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    shapes(params, _NAME)
    batches(params)
    TABLE.selection(params, "precision")
    return (gpu.present(params, machine, _NAME),)


def _command(params: Params, host: Host) -> Command:
    sizes = tuple("x".join(map(str, shape)) for shape in shapes(params, _NAME))
    return Command(argv=gpu.argv(TABLE, params, sizes=sizes, batch=batches(params)))


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, and for each case a plan, warm-up, samples at 1 TB/s, and the host's check at 10 million points a second."""
    total = 3.0
    for point_bytes in (16 if word == "d" else 8 for word in TABLE.selection(params, "precision")):
        for shape in shapes(params, _NAME):
            points = math.prod(shape)
            filling = max(1, int(params["bytes"]) // (points * point_bytes))
            for batch in {filling if word == "auto" else int(word) for word in batches(params)}:
                call_s = max(4 * points * batch * point_bytes / 1e12, 2e-3)
                samples_s = max(float(params["seconds"]), int(params["samples"]) * call_s)
                total += 0.3 + samples_s + points * batch * 1e-7
    return total * gpu.count(params, host)


def _label(params: Params) -> str:
    found = ["x".join(map(str, shape)) for shape in shapes(params, _NAME)]
    return f"FFT on GPUs, {lists.span(found)}"


WORKLOAD = TABLE.workload(
    title="Fourier transforms (FFT) on GPUs",
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    marks=gpu.marks,
)
