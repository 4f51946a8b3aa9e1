"""Load on command: constant, a step, a square wave, a staircase or marks, as a burn-in, as idle, or to try a meter.

The cores work at multiply-adds on registers, whose results are checked bit for bit; the part of full load is threads at
work, and within one thread a part of its time. Level 0 is an idle node. Every edge is reported with the time at which it
really was, and how late that is against the schedule is measured. See native/load/README.md.
"""

from __future__ import annotations

from .. import programs
from ..errors import BadInput
from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Host, Machine, Params
from .common.table import table_of

TABLE = table_of(__file__)

_MARKERS_S = 662.0  # of the pattern at scale 1
_LEVELS = 5  # of the staircase, which goes up and down


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    usable = len(host.usable_cpus) or cores(host)
    threads = cores(host) if params["threads"] == "all" else int(params["threads"])
    if threads > usable:
        raise BadInput(
            f"load.threads = {threads}, but this process may use {usable} CPUs", hint=f"at most threads = {usable}"
        )
    if float(params["low"]) > float(params["level"]):
        raise BadInput(
            f"load.low = {params['low']} is above load.level = {params['level']}", hint="low is the lower of the two"
        )
    return ({**params, "threads": threads},)


def _command(params: Params, host: Host) -> Command:
    """The pattern fitted into ``seconds``: three holds of a step, nine of a staircase, marks by their scale."""
    seconds = float(params["seconds"])
    words = ["--pattern", str(params["pattern"]), "--threads", str(params["threads"]), "--high", str(params["level"])]
    match params["pattern"]:
        case "constant":
            words += ["--seconds", f"{seconds:g}"]
        case "step":
            words += ["--low", str(params["low"]), "--hold", f"{seconds / 3:g}"]
        case "square":
            words += ["--low", str(params["low"]), "--period", str(params["period"]), "--seconds", f"{seconds:g}"]
        case "staircase":
            low, high = float(params["low"]), float(params["level"])
            levels = [low + (high - low) * step / (_LEVELS - 1) for step in range(_LEVELS)]
            hold = seconds / (2 * _LEVELS - 1)
            words += ["--levels", ",".join(f"{level:g}" for level in levels), "--hold", f"{hold:g}"]
        case _:
            words += ["--low", str(params["low"]), "--scale", f"{seconds / _MARKERS_S:g}"]
    return Command(argv=(programs.path("load"), *words))


def _label(params: Params) -> str:
    if params["pattern"] == "constant":
        what = "idle" if params["level"] == 0 else f"constant at {float(params['level']):.0%}"
    else:
        what = str(params["pattern"])
    return f"load, {what}, {float(params['seconds']):g} s"


def _marks(params: Params) -> tuple[str, ...]:
    """Those that shape the pattern: a constant load has no low parts, and a square wave alone a period."""
    match params.get("pattern"):
        case "constant":
            return ("level",)
        case "square":
            return ("level", "low", "period")
        case _:
            return ("level", "low")


WORKLOAD = TABLE.workload(
    title="Load on command",
    command=_command,
    estimate_s=lambda params, host: 0.3 + float(params["seconds"]),
    resolve=_resolve,
    label=_label,
    marks=_marks,
)
