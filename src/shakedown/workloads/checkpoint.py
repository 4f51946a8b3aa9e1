"""What checkpoints cost an application and what a restart takes, by level: the gas of `hydro`, saved by our library.

The gas is advanced by segments of steps, with one checkpoint at the begin of a segment and without one, in turn: pairs
lie next to each other in one process, and which comes first alternates, so that a machine that drifts takes both alike. A
segment ends when its checkpoint is committed. **Overhead** is the time of a segment with over that of its neighbour
without, less one, and its interval is that over the pairs; it is of one checkpoint in ``interval`` seconds. **Blocked** is
how long the call kept the application, **drain** how long until the checkpoint was committed, and **slowdown** what the
application lost meanwhile.

**Restart**: when the last checkpoint is committed, its level's failure happens: nothing is lost (level 1), a node's folder
(2), as many of a group as may be lost (3), all nodes' folders (4). Files are dropped from the kernel's memory where it
lets that happen, and the time runs from opening the library until every rank has its state. That state must be the one
that was saved, to the bit (a digest of all cells), else the run has no score; conservation of the gas is checked as in
`hydro`.

**On one host a rank stands for a node**, with a folder of its own on the one disk: ``emulated_nodes`` says so. Then the
partner's copy and the parity go to that disk, too, and nothing crosses a network: levels 2 to 4 of real nodes are measured
over several hosts. Free space and memory are checked before; whatever ends the run, its folders are removed.

Sources: docs/checkpoint.md; the overhead is that of PRACE D9.3.4, section 6.4 (FTI and Hydro, every 6 min: interval=360).
"""

from __future__ import annotations

import math

from ..errors import BadInput
from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Host, Machine, Params
from ..units import show_bytes
from .common import lists
from .common import ranks as _ranks
from .common.memory import check_room
from .common.table import table_of

TABLE = table_of(__file__)

#: Bytes of a cell in a checkpoint; in memory it is there twice, and twice for checkpoints.
_STATE_BYTES, _CELL_BYTES = 32, 128
_MOST_RANK_BYTES, _SHARE_OF_MEMORY = 128 << 20, 64
_MOST_RANKS = 4
_SEVERAL_NODES = ("2", "3")
#: Of first guesses: bytes a second until a checkpoint is committed, and cell steps a second of a thread.
_SLOW_B_S, _RATE = 100e6, 1e7


def _count(params: Params, host: Host) -> int:
    """Ranks: as asked for, or one a core up to four. Raises Unavailable where several are asked for and no MPI fits."""
    if params["ranks"] != "auto":
        return _ranks.count(params, host)
    most = min(_MOST_RANKS, cores(host))
    return most if most > 1 and _ranks.has_mpi(host) else 1


def _levels(params: Params, ranks: int) -> tuple[str, ...]:
    asked = lists.words(params["levels"])
    if asked in (("auto",), ()):
        return tuple(one for one in TABLE.params["levels"].items if ranks > 1 or one not in _SEVERAL_NODES)
    chosen = TABLE.selection(params, "levels")
    if ranks == 1 and (alone := [one for one in chosen if one in _SEVERAL_NODES]):
        raise BadInput(
            f"checkpoint.levels: level {alone[0]} needs two nodes, and one rank is one node",
            hint="ranks = 2 or more (with an MPI), or levels = 1,4",
        )
    return chosen


def _cells(params: Params, host: Host, ranks: int) -> int:
    if params["n"] != "auto":
        return int(params["n"])
    state = min(host.memory.room_bytes // _SHARE_OF_MEMORY, _MOST_RANK_BYTES * ranks)
    return max(2 * ranks, 4, math.isqrt(state // _STATE_BYTES))


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    ranks = _count(params, host)
    threads = _ranks.threads(params, host, ranks, where="checkpoint")
    n = _cells(params, host, ranks)
    check_room("checkpoint.n", f"{n} x {n} cells and their checkpoints", _CELL_BYTES * n**2, host, "ask for fewer")
    if n < 2 * ranks:
        raise BadInput(
            f"checkpoint.n: {n} x {n} cells are too few for {ranks} ranks, each of which needs 2 x 2",
            hint=f"at least n = {2 * ranks}, or fewer ranks",
        )
    levels = lists.text(_levels(params, ranks))
    return ({**params, "levels": levels, "n": n, "ranks": ranks, "threads": threads},)


def _command(params: Params, host: Host) -> Command:
    ranks = int(params["ranks"])
    return Command(argv=TABLE.argv(params), ranks=ranks if ranks > 1 else 0)


def _estimate_s(params: Params, host: Host) -> float:
    """Two segments a pair and what a restart reads, of each level, at rates of a slow disk."""
    ranks, state = int(params["ranks"]), _STATE_BYTES * int(params["n"]) ** 2
    step_s = int(params["n"]) ** 2 / (_RATE * ranks * int(params["threads"]))
    drain_s = state / _SLOW_B_S
    segment_s = float(params["interval"]) or max(2.0, 3 * drain_s)
    each_s = 2 * int(params["pairs"]) * max(segment_s, 2 * step_s) + (int(params["restarts"]) + 2) * (drain_s + step_s)
    return 1.0 + 0.2 * ranks + len(TABLE.selection(params, "levels")) * each_s


def _label(params: Params) -> str:
    ranks, levels = int(params["ranks"]), str(params["levels"]).replace(",", ", ")
    size = show_bytes(_STATE_BYTES * int(params["n"]) ** 2)
    return f"checkpoints of level{'s' * (', ' in levels)} {levels}, {size} on {ranks} rank{'s' * (ranks > 1)}"


WORKLOAD = TABLE.workload(
    title="Checkpoints (overhead, drain and restart by level, bit for bit)",
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    marks=("directory", "local_directory"),
)
