"""Records of ranks as a watcher leaves them, with what a test says of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shakedown.placement.records import Rank, Thread


def thread(
    mask: Sequence[int] = (0,),
    cpus: dict[int, int] | None = None,
    *,
    wait: float = 0.0,
    wall_s: float = 2.0,
    **more: Any,
) -> Thread:
    """A thread that wants a CPU all the time, and waits for the share ``wait`` of it."""
    given = {
        "pid": 1,
        "tid": 1,
        "mask": tuple(mask),
        "cpus": cpus or {mask[0]: 100},
        "run_s": wall_s * (1 - wait),
        "wait_s": wall_s * wait,
        "slices": 10,
        "migrations": 0,
    }
    return Thread(**{**given, **more})


def rank(number: int, *threads: Thread, size: int = 2, cpus: int = 4, nodes: int = 1, **more: Any) -> Rank:
    """A rank on a host of so many CPUs, each a core, dealt to so many NUMA nodes."""
    given = {
        "schema": 1,
        "rank": number,
        "size": size,
        "local_rank": number,
        "launcher": "Open MPI",
        "host": "n1",
        "boot_id": "b",
        "launched_mask": tuple(sorted({cpu for one in threads for cpu in one.mask})),
        "reachable": tuple(range(cpus)),
        "places": tuple((cpu, cpu, 0, cpu * nodes // cpus, cpu) for cpu in range(cpus)),
        "begin_unix_ns": 10**18,
        "wall_s": 2.0,
        "finished": True,
        "samples": 100,
        "threads": threads,
    }
    return Rank(**{**given, **more})
