"""Radio path loss of all pairs of radios on GPUs, by the Irregular Terrain Model: Thufir's real-time load.

Terrain, radios, count of links and check are those of ``path_loss`` on the processor, and the formulas are its own source:
kernels are compiled from the same files. A warp takes 32 links. It reads the profile of each in turn with all its
threads, for what needs all points (horizons, irregularity, lines); then each thread has one link, for what needs none
(diffraction, line of sight or scatter, variability). Losses stay on the device: ``rate`` and ``time`` are of all pairs once.
With ``moved``, so many radios stand elsewhere before each sample: their places are copied to the device and their links
found again (``moved.rate``, ``moved.time``).

``precision = "fp32"`` is that of heights, sums and physics; what decides by whole points of a profile is in double on the
device as well, rounding by rounding as in NTIA's code. After the last sample 200 links are found again by the plain form
in double: in ``fp64`` the largest difference must be that of the result's own rounding, in ``fp32`` the third largest below
0.05 dB. Devices are measured one after another. No fraction of a peak is stated: instructions and the reading of scattered
cells bound the kernel alike, and neither is a peak that is measured here. See native/gpu_path_loss/README.md.

Sources: G. A. Hufford, "The ITS Irregular Terrain Model, version 1.2.2, The Algorithm"; A. G. Longley, P. L. Rice, ESSA
ERL 79-ITS 67, 1968; ARL-TR-7085, section 2 (all pairs, within the 0.5 s in which routing tables refresh).
"""

from __future__ import annotations

import itertools

from ..errors import BadInput
from ..records import Host, Machine, Params
from .common import gpu, lists
from .common.table import table_of

TABLE = table_of(__file__)

_NAME = "gpu_path_loss"
#: Seconds a point of a GPU and of the host that stands for one, for a first guess; the store's own history replaces it.
_POINT_S = {"fp32": 1.5e-11, "fp64": 4e-11}
_HOST_POINT_S = 1e-5


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    radios, points, moved = (TABLE.numbers(params, name) for name in ("radios", "points", "moved"))
    precisions = TABLE.selection(params, "precision")
    if max(moved) > min(radios):
        raise BadInput(f"{_NAME}.moved: {max(moved)} of {min(radios)} radios cannot move", hint="move fewer")
    swept = {name: lists.text(values) for name, values in (("radios", radios), ("points", points), ("moved", moved))}
    return ({**gpu.present(params, machine, _NAME), **swept, "precision": lists.text(precisions)},)


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up and the terrain on the host; on each device all links at first, the warm-up, the samples and the check."""
    on_host = str(params["backend"]).startswith("host")
    each = 0.0
    sizes = itertools.product(*(TABLE.numbers(params, name) for name in ("radios", "points", "moved")))
    for (radios, points, moved), precision in itertools.product(sizes, TABLE.selection(params, "precision")):
        link_s = (points + 100) * (_HOST_POINT_S if on_host else _POINT_S[precision])
        links, unmoved = radios * (radios - 1) // 2, radios - moved
        sample_s = max((links - unmoved * (unmoved - 1) // 2 if moved else links) * link_s, 2e-3)
        each += links * link_s + max((int(params["samples"]) + 2) * sample_s, float(params["seconds"])) + 0.2
    return 2.0 + 5e-7 * int(params["side"]) ** 2 + each * gpu.count(params, host)


def _label(params: Params) -> str:
    radios, points = (lists.span(lists.words(params[name])) for name in ("radios", "points"))
    return f"path loss of {radios} radios on GPUs, {points} points, {str(params['precision']).replace(',', ' ')}"


WORKLOAD = TABLE.workload(
    title="Radio path loss on GPUs, all pairs",
    command=gpu.command(TABLE, "radios", "points", "moved"),
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    marks=gpu.marks,
)
