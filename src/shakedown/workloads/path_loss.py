"""Radio path loss of all pairs of radios on the CPU, by the Irregular Terrain Model: Thufir's real-time load.

``rate`` counts links: profiles of the ground between two radios, each with its loss at the median of time, places and
situations. A profile of P points is read from a grid of heights (bilinear, at equal steps along the straight line of a
plane), and goes through the whole model: horizons, terrain irregularity, effective heights, diffraction or line of sight
or scatter, variability. The loss from A to B is that from B to A, so that n radios have n (n - 1) / 2 links. Several
links lie side by side in the lanes of a vector register, in double precision; every instruction set gives the same
losses, bit for bit. Terrain and places come from a seed, so that all machines do the same work.

A sample is all links once. After the last, 200 links spread over all are found again one by one by the plain form, which
the tests hold against NTIA's own cases and against version 1.4 of NTIA's code, with its errors and warnings; a
difference above the rounding of the result, or a loss that is not a number, leaves no score. See
native/path_loss/README.md.

Sources: G. A. Hufford, "The ITS Irregular Terrain Model, version 1.2.2, The Algorithm"; A. G. Longley, P. L. Rice, ESSA
ERL 79-ITS 67, 1968; ARL-TR-7085, section 2 (all pairs, within the 0.5 s in which routing tables refresh).
"""

from __future__ import annotations

from ..records import Host, Machine, Params
from .common import lists
from .common.memory import check_room
from .common.table import table_of
from .common.threads import counts

TABLE = table_of(__file__)


def _links(radios: int) -> int:
    return radios * (radios - 1) // 2


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    radios, points = TABLE.numbers(params, "radios"), TABLE.numbers(params, "points")
    need = 4 * _links(max(radios)) + 12 * int(params["side"]) ** 2
    what = f"the losses of {max(radios)} radios and the terrain"
    check_room("path_loss.radios", what, need, host, "ask for fewer radios, or a smaller side")
    threads = counts(str(params["threads"]), host, where="path_loss.threads")
    swept = {"radios": radios, "points": points, "threads": threads}
    return ({**params, **{name: lists.text(values) for name, values in swept.items()}},)


def _estimate_s(params: Params, host: Host) -> float:
    """7 ns a point and 0.4 us a link on a thread; the terrain; the check, ten times as slow, of 200 links."""
    total = 0.3 + 2e-7 * int(params["side"]) ** 2
    for threads in map(int, str(params["threads"]).split(",")):
        for radios in map(int, str(params["radios"]).split(",")):
            for points in map(int, str(params["points"]).split(",")):
                link_s = 4e-7 + 7e-9 * points
                sample_s = _links(radios) * link_s / threads
                total += sample_s + max(int(params["samples"]) * sample_s, float(params["seconds"])) + 2000 * link_s
    return total


def _label(params: Params) -> str:
    radios, points = (lists.span(lists.words(params[name])) for name in ("radios", "points"))
    return f"path_loss {radios} radios, {points} points, {params['threads']} threads"


WORKLOAD = TABLE.workload(
    title="Radio path loss, all pairs",
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
