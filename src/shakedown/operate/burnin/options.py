"""From the words of a user to a plan, and a plan carried out: what the verb and the workload share."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from ... import __version__, programs, times
from ...errors import BadInput, CannotMeasure, Unavailable, unknown
from ...files import atomic
from ...hosts.access import ReplayHost
from ...machine import cgroup
from ...units import parse_bytes, show_bytes, show_seconds
from ...workloads.common import gpu
from ..health.node_access import NodeAccess
from . import devices, journal
from .journal import Journal
from .monitor import open_meters
from .records import DRILLS, BurninPlan, BurninReport, Device, Drill, Stage, Stop
from .state import fold
from .supervise import Session, Setting
from .workers import SLOWEST_FILL

_TIMES = {"": 1.0, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
#: One round of all stages, where there is time for it; of the free memory, what the patterns take unless told.
_CYCLE_S, _SHARE = 120.0, 0.5
#: Unless told they take no more than the slowest core fills in this share of the time: filling tests nothing.
_FILLING = 0.1
_SHARES: tuple[tuple[Literal["product", "steps", "memory"], float], ...] = (
    ("product", 0.5),
    ("steps", 0.25),
    ("memory", 0.25),
)


class BurninOptions(msgspec.Struct, frozen=True, kw_only=True):
    """As a user writes it."""

    time: str = "1h"
    devices: str = "auto"
    memory: str = "auto"
    gpu_memory: str = "auto"
    stages: str = ""
    periods: str = "1,0.1,0.01"
    stop: str = "end"
    hang_s: float = 60.0
    look_s: float = 5.0
    inject: tuple[str, ...] = ()
    isa: str = "auto"
    meters: tuple[str, ...] = ("auto",)


def plan(asked: BurninOptions, senses: NodeAccess, usable: Sequence[int]) -> BurninPlan:
    """Resolved against this machine. Raises BadInput, Unavailable."""
    seconds = duration(asked.time)
    chosen = devices.choose(asked.devices, senses, usable)
    if not chosen:
        raise BadInput("no device is left to burn in", where="--devices", hint=devices.HELP)
    if any(one.index is not None for one in chosen) and (why := gpu.without_kernels()):
        raise Unavailable(
            "the burn-in of GPUs needs kernels for CUDA, and this build has none",
            where="--devices",
            hint=f"{why}. --devices cpu burns in the cores",
        )
    if asked.stop not in ("end", "first"):
        raise unknown("argument for --stop", asked.stop, ("end", "first"))
    if asked.hang_s < 1 or asked.look_s < 0.2:
        raise BadInput("--hang is at least 1 s and --look at least 0.2 s", hint="the defaults are 60 and 5")
    of_cores = sum(one.index is None for one in chosen)
    stop: Stop = "first" if asked.stop == "first" else "end"
    return BurninPlan(
        version=__version__,
        host=os.uname().nodename,
        devices=chosen,
        seconds=seconds,
        stages=stages(asked.stages, seconds),
        periods_s=tuple(_period(word) for word in asked.periods.split(",")),
        memory_bytes=_memory(asked.memory, of_cores, _available(senses), seconds) if of_cores else 0,
        gpu_memory=asked.gpu_memory if asked.gpu_memory == "auto" else str(_bytes(asked.gpu_memory, "--gpu-memory")),
        hang_s=asked.hang_s,
        look_s=asked.look_s,
        stop=stop,
        drills=tuple(drill(word, chosen) for word in asked.inject),
        isa=asked.isa,
        meters=asked.meters,
        there=devices.there(senses, chosen),
    )


def duration(text: str) -> float:
    """``90``, ``90s``, ``30min``, ``12h``, ``3d`` in seconds. Raises BadInput."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|m|h|d|)\s*", text)
    seconds = float(found[1]) * _TIMES[found[2]] if found else 0.0
    if not 0.5 <= seconds <= 366 * 86400:
        raise BadInput(
            f"{text!r} is not a valid duration for a burn-in", where="--time", hint="write 90s, 30min, 12h or 3d"
        )
    return seconds


def stages(text: str, seconds: float) -> tuple[Stage, ...]:
    """``product:60,steps:30,memory:30``; empty: these shares of two minutes, or of less where there is less time."""
    if not text:
        cycle_s = min(_CYCLE_S, seconds)
        return tuple(Stage(work=work, seconds=round(share * cycle_s, 3)) for work, share in _SHARES)
    found = []
    for word in text.split(","):
        name, _, length = word.strip().partition(":")
        if name not in dict(_SHARES):
            raise unknown("stage", name, dict(_SHARES), where="--stages")
        try:
            found.append(msgspec.convert({"work": name, "seconds": float(length)}, Stage))
        except ValueError:
            raise BadInput(f"{word!r} has no seconds", where="--stages", hint="write product:60") from None
        if not 0.01 <= found[-1].seconds <= 86400:
            raise BadInput(f"{word!r} lasts 0.01 to 86400 s", where="--stages", hint="write product:60")
    return tuple(found)


def _period(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    if not 0.002 <= value <= 3600:
        raise BadInput(
            f"{word!r} is not a valid period of a power step",
            where="--periods",
            hint="seconds from 0.002 to 3600, separated by commas",
        )
    return value


def drill(text: str, chosen: Sequence[Device]) -> Drill:
    """``DEVICE=KIND`` or ``DEVICE=KIND@SECONDS``. Raises BadInput."""
    found = re.fullmatch(r"([a-z]+:\d+)=([a-z-]+)(?:@(\d+(?:\.\d+)?))?", text)
    if found is None:
        raise BadInput(f"{text!r} is not a drill", where="--inject", hint="write cpu:0=result or cpu:0=result@30")
    if found[1] not in {one.id for one in chosen}:
        raise unknown("device", found[1], [one.id for one in chosen], where="--inject")
    if found[2] not in DRILLS:
        raise unknown("drill", found[2], DRILLS, where="--inject")
    return Drill(device=found[1], kind=found[2], after_s=float(found[3] or 1.0))


def _available(senses: NodeAccess) -> int:
    """Bytes that are free, and that the control groups of this process allow."""
    limit = cgroup.limits(ReplayHost(Path(senses.root or "/"))).memory_bytes
    for line in (senses.text("/proc/meminfo") or "").splitlines():
        if found := re.match(r"MemAvailable:\s+(\d+) kB", line):
            free = int(found[1]) * 1024
            return free if limit is None else min(free, limit)
    return 0


def _bytes(text: str, where: str) -> int:
    try:
        value = parse_bytes(text)
    except ValueError:
        value = -1
    if value < 0:
        raise BadInput(f"{text!r} is not a valid size", where=where, hint="write 512 MiB, 2 GiB, auto, or 0 for none")
    return value


def _memory(text: str, of_cores: int, available: int, seconds: float) -> int:
    """Bytes for each core, in whole MiB. Raises BadInput where all together are more than nine tenths of what is free."""
    if found := re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text):
        share = float(found[1]) / 100
        each = int(share * available / of_cores) >> 20 << 20
    elif text == "auto":
        each = int(min(_SHARE * available / of_cores, _filled(seconds))) >> 20 << 20
    else:
        each = _bytes(text, "--memory")
    if each * of_cores > 0.9 * available:
        raise BadInput(
            f"{of_cores} cores with {show_bytes(each)} each are more than nine tenths of the {show_bytes(available)} free",
            where="--memory",
            hint="write a smaller size for each core, or a share such as 80%",
        )
    return each


def _filled(seconds: float) -> float:
    return _FILLING * seconds * SLOWEST_FILL


def remark(asked: BurninOptions, plan: BurninPlan) -> str:
    """What a short time makes of the memory that is tested, in words; empty where it makes nothing of it."""
    if asked.memory != "auto" or not plan.memory_bytes or plan.memory_bytes < _filled(plan.seconds) - (1 << 20):
        return ""
    return (
        f"in {show_seconds(plan.seconds)} the memory patterns take {show_bytes(plan.memory_bytes)} of each core, so that "
        "filling it is a small part of the time; --memory takes more"
    )


def folder_name(plan: BurninPlan) -> str:
    """Where a burn-in goes unless it is told."""
    return f"burnin-{plan.host}-{times.here(time.time(), '%Y%m%dT%H%M%S')}"


def carry_out(
    folder: Path,
    planned: BurninPlan,
    senses: NodeAccess,
    say: Callable[[str], None],
    watched: Callable[[Session], None] = lambda session: None,
) -> BurninReport:
    """Burn in what is left of a plan whose journal lies in ``folder``. Raises CannotMeasure, Unavailable."""
    program = programs.path("burnin")
    kept = Journal(folder)
    try:
        course = fold(planned, journal.entries(folder))
        left_s = planned.seconds - course.burnt_s
        if left_s < 1:
            raise BadInput(
                f"it has burnt for {show_seconds(course.burnt_s)} of {show_seconds(planned.seconds)}: nothing is left",
                where=str(folder),
                hint="`shakedown burnin report` shows the verdict; begin a new one for more",
            )
        watts = open_meters(planned.meters)
        try:
            Session(planned, course, kept, Setting(folder, program, senses, watts, say=say, watched=watched)).run()
        finally:
            watts.close()
    finally:
        kept.close()
    report = course.report()
    try:
        atomic.replace(folder / "report.json", atomic.as_json(report), folder=True)
    except OSError as error:
        raise CannotMeasure(f"the report cannot be written: {error.strerror}", where=str(folder)) from None
    return report


def again(folder: Path) -> BurninReport:
    """The verdict of a journal, whole or not, and whether it is still being written. Raises BadInput."""
    running = journal.in_use(folder)  # before the entries are read: one that ends meanwhile has ended
    return fold(journal.read_plan(folder), journal.entries(folder)).report(running=running)
