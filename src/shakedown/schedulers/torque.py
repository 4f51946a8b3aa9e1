"""Torque: PBS's other descendant. Known from its documentation only (and from Slurm's look-alike of its commands).

It shares PBS's script and words but for what a node is (``nodes=4:ppn=8``) and how qstat is asked: ``-f`` prints text,
``-x`` XML, and a finished job stays in state C for ``keep_completed`` seconds, after which nobody but the server's log
knows it: it is unknown then. Lines of the text are cut at 80 letters and go on behind a tab.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ..hosts.access import HostAccess, Result
from . import JobRecord, Request, Scheduler, pbs, under_way
from .common.answers import missing, silent
from .common.words import body, checked, resources


def attributes(text: str) -> dict[str, dict[str, Any]]:
    """Job -> its attributes from ``qstat -f``."""
    found: dict[str, dict[str, Any]] = {}
    job = ""
    for line in re.sub(r"\n\t", "", text).split("\n"):
        if opened := re.fullmatch(r"Job Id:\s*(\S+)\s*", line):
            job = opened[1]
            found[job] = {}
        elif job and (pair := re.fullmatch(r"    ([\w.]+) = (.*)", line)):
            found[job].setdefault(pair[1], pair[2])
    return found


def _asked(result: Result) -> tuple[JobRecord, ...] | None:
    if not result.ok and "Unknown Job Id" not in result.err:
        return None
    every = (pbs.record_of(name, values) for name, values in attributes(result.out).items())
    return tuple(msgspec.structs.replace(one, engine="torque") for one in every)


def _queued(result: Result) -> tuple[JobRecord, ...] | None:
    return under_way(_asked(result))


def script(request: Request) -> str:
    """The batch script. Raises BadInput."""
    each = f":ppn={request.slots or 1}"
    if request.constraint:
        each += ":" + checked("constraint", request.constraint, r"[\w.:=-]+")
    for kind, count in resources(request.gres, r"[\w.]+[:=]\d+"):
        each += f":{kind}s={count}" if kind == "gpu" else f":{kind}={count}"
    hosts = "+".join(checked("host", host, r"[\w.-]+") + each for host in request.hosts)
    lines = [*pbs.head(request, "Torque"), f"#PBS -l nodes={hosts or f'{request.nodes}{each}'}"]
    if request.exclusive:
        lines.append("#PBS -l naccesspolicy=singlejob")
    return "\n".join([*lines, "", body(request.folder, request.env, request.argv)])


def _absent(door: HostAccess) -> str:
    if why := missing(door, "qsub", "qstat", "qdel", "pbsnodes"):
        return why
    version = door.run(("qstat", "--version"), limit_s=20.0)
    if not re.search(r"^Version:\s*\d", version.out + version.err, re.IGNORECASE | re.MULTILINE):
        return "qstat is not that of Torque"
    return silent(door, "qstat", "-q", who="its server does not answer")


SCHEDULER = Scheduler(
    name="torque",
    title="Torque",
    absent=_absent,
    inside=lambda environment, door: pbs.inside(environment, door, "torque") if "PBS_VERSION" in environment else None,
    script=script,
    submit=lambda path: ("qsub", path),
    submitted=pbs.submitted,
    queue=lambda ids: ("env", "TZ=UTC", "LC_ALL=C", "qstat", "-f", *ids),
    queued=_queued,
    accounts=lambda ids: ("env", "TZ=UTC", "LC_ALL=C", "qstat", "-f", *ids),
    accounted=_asked,
    cancel=lambda job: ("qdel", job),
    look=lambda job: (f"qstat -f {job}", "qstat -B"),
    hopeless=pbs.hopeless,
)
