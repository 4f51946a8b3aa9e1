"""What a person needs to run the chosen configuration without the tuner: HPL.dat and the command lines."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from .. import launchers, workloads
from ..errors import ShakedownError
from ..records import Host, Params, Value
from ..schedulers import Allocation
from ..workloads.common import hpl_dat as _hpl_dat
from .records import Point
from .space import pair

_DAT = ("pfact", "nbmin", "ndiv", "rfact", "bcast", "depth")


def hpl_dat(point: Point, n: int, ran: Params) -> str:
    """The text of HPL.dat for a configuration. ``ran``: what the program said it ran, for what it chose by itself; what
    HPL.dat has no line for is in the command line."""
    chosen = {**ran, **{name: value for name, value in point.items() if value != "auto"}}
    lists = {name: (_number(name, chosen[name]),) for name in _DAT if name in chosen}
    rest = {name: chosen[name] for name in ("mapping", "swap", "swap_threshold") if name in chosen}
    dat = _hpl_dat.HplDat(n=(n,), nb=(int(point["nb"]),), grids=(pair(str(point["grid"])),), **lists, **rest)  # type: ignore[arg-type]
    return _hpl_dat.text(dat)


def _number(name: str, value: Value) -> Value:
    return int(value) if name in ("nbmin", "ndiv", "depth") else value


def lines(
    point: Point, params: Params, host: Host, *, hosts: int, slurm: bool, allocation: Allocation | None = None
) -> list[str]:
    """Command lines that run the configuration, the one for here first: as the tuner ran it; under Slurm with srun."""
    made = []
    ranks, threads = pair(str(point["layout"]))
    command = workloads.get("hpl").command(params, host)
    program = shlex.join(command.argv)
    if slurm:
        made.append(
            f"srun --nodes={hosts} --ntasks-per-node={ranks} --cpus-per-task={threads} --cpu-bind=cores {program}"
        )
    try:
        argv, env = launchers.wrap(command, host, allocation=allocation, hosts=allocation.hosts if allocation else ())
    except ShakedownError:
        return made or [program]
    shown = shlex.join([*(f"{name}={value}" for name, value in env.items() if name != "SHAKEDOWN_HARNESS"), *argv])
    return [*made, f"env {shown}" if env else shown]


def in_slurm(environment: Mapping[str, str]) -> bool:
    """Whether this is a Slurm allocation."""
    return "SLURM_JOB_ID" in environment
