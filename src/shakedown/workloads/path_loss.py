"""Radio path loss of all pairs of radios on the CPU, by the Irregular Terrain Model: Thufir's real-time load.

``rate`` counts links: profiles of the ground between two radios, each with its loss at the median of time, places and
situations. A profile of P points is read from a grid of heights (bilinear, at equal steps along the straight line of a
plane), and goes through the whole model: horizons, terrain irregularity, effective heights, diffraction or line of sight
or scatter, variability. The loss from A to B is that from B to A, so that n radios have n (n - 1) / 2 links. Several
links lie side by side in the lanes of a vector register; every instruction set gives the same losses, bit for bit.
Terrain and places come from a seed, so that all machines do the same work. ``precision`` is that of heights, sums and
physics; what decides by whole points of a profile (horizons, ranges) is in double precision either way.

A sample is all links once; with ``moved`` it is the links of so many radios at new places (``moved.rate``). After the last,
200 links spread over all are found again one by one by the plain form, which the tests hold against NTIA's own cases
and against version 1.4 of NTIA's code, with its errors and warnings. A difference above the rounding of the result, or a
loss that is not a number, leaves no score. In single precision the third largest of the 200 differences must stay below
0.05 dB: one link in a thousand may fall to the other side of a tie. See native/path_loss/README.md.

Sources: G. A. Hufford, "The ITS Irregular Terrain Model, version 1.2.2, The Algorithm"; A. G. Longley, P. L. Rice, ESSA
ERL 79-ITS 67, 1968; ARL-TR-7085, section 2 (all pairs, within the 0.5 s in which routing tables refresh).
"""

from __future__ import annotations

import itertools

from ..errors import BadInput
from ..records import Host, Machine, Params
from .common import lists
from .common.memory import check_room
from .common.table import table_of
from .common.threads import counts

TABLE = table_of(__file__)


def _links(radios: int) -> int:
    return radios * (radios - 1) // 2


def _found(radios: int, moved: int) -> int:
    """Links of a sample: those with an end that moved, or all."""
    return _links(radios) - _links(radios - moved) if moved else _links(radios)


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    radios, points, moved = (TABLE.numbers(params, name) for name in ("radios", "points", "moved"))
    if max(moved) > min(radios):
        raise BadInput(f"path_loss.moved: {max(moved)} of {min(radios)} radios cannot move", hint="move fewer")
    need = 4 * _links(max(radios)) + 16 * int(params["side"]) ** 2
    what = f"the losses of {max(radios)} radios and the terrain"
    check_room("path_loss.radios", what, need, host, "ask for fewer radios, or a smaller side")
    threads = counts(str(params["threads"]), host, where="path_loss.threads")
    swept = {"radios": radios, "points": points, "moved": moved, "threads": threads}
    return ({**params, **{name: lists.text(values) for name, values in swept.items()}},)


def _estimate_s(params: Params, host: Host) -> float:
    """7 ns a point and 0.4 us a link on a thread; the terrain; the check, ten times as slow, of 200 links."""
    total = 0.3 + 2e-7 * int(params["side"]) ** 2
    names = ("threads", "radios", "points", "moved")
    values = [[int(word) for word in str(params[name]).split(",")] for name in names]
    cases = len(lists.words(params["precision"]))
    for threads, radios, points, moved in itertools.product(*values):
        link_s = 4e-7 + 7e-9 * points
        sample_s = _found(radios, moved) * link_s / threads
        measured_s = max(int(params["samples"]) * sample_s, float(params["seconds"]))
        total += cases * (_links(radios) * link_s / threads + measured_s + 2000 * link_s)
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
