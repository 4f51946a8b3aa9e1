"""What is asked of a Slurm that answers: events, sizes of nodes, reservations, how fast it notices."""

from __future__ import annotations

import re
import time

from .... import times
from ....errors import CannotMeasure
from ....hosts.access import HostAccess
from ....hosts.hostlist import expand
from ....units import whole_number
from ..history import OPEN_S, Builder, Reservation
from .slurm import ASKED, events

_ENVIRONMENT = ("env", "SLURM_TIME_FORMAT=%s", "LC_ALL=C")
_LIMIT_S = 300.0


def ask(builder: Builder, door: HostAccess, begin_s: int | None, end_s: int | None) -> None:
    """Ask the engine that this machine belongs to. Raises CannotMeasure with what it said."""
    now_s = door.now_ns() // 10**9 or int(time.time())
    start = _stamp(begin_s if begin_s is not None else 0)
    of = _settings(builder, door)  # a database may hold several clusters
    done = door.run(
        (*_ENVIRONMENT, "sacctmgr", "-P", "show", "event", *of, f"start={start}", f"format={ASKED}"), limit_s=_LIMIT_S
    )
    if not done.ok:
        said = " ".join((done.err or done.out).split())[:300]
        raise CannotMeasure(
            f"sacctmgr reports no events: {said or 'no answer'}",
            where="--from slurm",
            hint="run it where Slurm's commands and slurmdbd answer, or give a file",
        )
    lines = iter(done.out.split("\n"))
    head = next(lines, "").split("|")
    events(builder, lines, head, "slurm", "", now_s=now_s, known=_sizes(door))
    _reservations(builder, door, (*of, f"start={start}"))


def _stamp(seconds: int) -> str:
    """A time as sacctmgr reads it: it knows no Unix seconds below ten digits, and local time only. One day earlier: an event
    that lasted into the stretch is kept whatever the zone."""
    return times.here(max(86400, seconds - 86400))


def _sizes(door: HostAccess) -> dict[str, tuple[int, int]]:
    """Processors and GPUs of the nodes as they are now; empty where the controller does not answer."""
    done = door.run((*_ENVIRONMENT, "sinfo", "-h", "-N", "-a", "-o", "%N|%c|%G"), limit_s=60.0)
    found = {}
    for line in done.out.splitlines() if done.ok else ():
        name, cpus, gres = (*line.split("|"), "", "")[:3]
        if (count := whole_number(cpus)) is not None:
            found[name] = (count, gpus_of(gres))
    return found


def gpus_of(gres: str) -> int:
    """GPUs in a GRES column: ``gpu:h200:4(S:0-1)`` -> 4."""
    return sum(int(count) for count in re.findall(r"\bgpu(?::[^:,(]+)?:([0-9]{1,9})(?![0-9])", gres))


def _reservations(builder: Builder, door: HostAccess, which: tuple[str, ...]) -> None:
    columns = "format=Name,Start,End,Flags,NodeNames"
    words = (*_ENVIRONMENT, "sacctmgr", "-P", "-n", "show", "reservation", *which, columns)
    done = door.run(words, limit_s=_LIMIT_S)
    known = set(builder.names)
    for line in done.out.splitlines() if done.ok else ():
        fields = line.split("|")
        begin = whole_number(fields[-4], -(2**63)) if len(fields) >= 5 else None
        if begin is None:
            continue
        name, end, flags, nodes = "|".join(fields[:-4]), *fields[-3:]
        members = tuple(builder.node(one) for one in expand(nodes) if one in known) if nodes else ()
        finish = whole_number(end) or OPEN_S
        builder.reservations.append(Reservation(name, begin, finish, members, tuple(flags.split(",")) if flags else ()))


def _settings(builder: Builder, door: HostAccess) -> tuple[str, ...]:
    """Keep how fast the engine notices (SlurmdTimeout, the interval of its health check); return the condition that asks
    for this cluster alone."""
    done = door.run((*_ENVIRONMENT, "scontrol", "show", "config"), limit_s=60.0)
    for key, name in (("SlurmdTimeout", "slurmd_timeout_s"), ("HealthCheckInterval", "health_interval_s")):
        if found := re.search(rf"^{key}\s*=\s*(\d+)", done.out, re.MULTILINE):
            builder.settings[name] = float(found[1])
    own = re.search(r"^ClusterName\s*=\s*(\S+)", done.out, re.MULTILINE)
    return (f"cluster={own[1]}",) if own else ()
