"""What Slurm's energy accounting says: of a node by ``scontrol show node``, of a job by ``sacct``.

Slurm measures nothing itself. Its plug-in (``AcctGatherEnergyType``) asks IPMI, RAPL, XCC, the GPUs or pm_counters every
``AcctGatherNodeFreq`` seconds, which decides what a value stands for. All plug-ins stamp in whole seconds and keep whole
watts; the IPMI plug-in makes energy of them by trapezoids, so that a job of a minute is known to some percent at best. A
job's energy holds its prolog, is that of the whole nodes where they are shared, and is final only when its steps have
ended. "n/s", 0 W and 0 J stand for "not measured" here: a node that is on takes more.

``slurm`` reads the node that it runs on, ``slurm:NODE`` another, ``slurm?job=ID`` the energy of a job.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ...errors import BadInput, CannotMeasure, Unavailable
from ...hosts.access import HostAccess, Result
from ...units import whole_number
from . import Channel, Meter, Place, Reading, Sample, Source, Status, Target
from ._local import seconds

#: Field of scontrol -> what is appended to the channel's id, quantity, what it is.
_FIELDS = {
    "ConsumedJoules": ("energy", "energy", "energy since the node's slurmd started"),
    "ConsumedEnergy": ("energy", "energy", "energy since the node's slurmd started"),
    "CurrentWatts": ("current", "power", "power at Slurm's last reading"),
    "AveWatts": ("average", "power", "mean power since the node's slurmd started"),
}
#: Plug-in -> where in the power path it looks.
_PLACES: dict[str, Place] = {
    "ipmi": "node",
    "xcc": "node",
    "pm_counters": "board",
    "rapl": "component",
    "gpu": "component",
}
_NOT_KNOWN = (2**32 - 1, 2**32 - 2, 2**64 - 1, 2**64 - 2)  # Slurm's INFINITE and NO_VAL
_LIMIT_S = 10.0
_HINT = "Slurm's commands must be on PATH and its controller must answer: try scontrol ping"


def value_of(word: str) -> tuple[float | None, Status]:
    """A field's text as a number. ``n/s``, ``n/a``, nothing, zero and Slurm's "no value" are UNSUPPORTED."""
    found = whole_number(word, 1, 2**64)
    if found is None or found in _NOT_KNOWN:
        return None, Status.UNSUPPORTED
    return float(found), Status.OK


def parse_node(text: str) -> dict[str, str]:
    """The fields ``Name=value`` of one line of ``scontrol -o show node``."""
    return dict(re.findall(r"(?:^|\s)([A-Za-z]\w*)=(\S*)", text))


def parse_config(text: str) -> tuple[str, float | None]:
    """The energy plug-in's name (empty for none) and how often it looks, from ``scontrol show config``."""
    kind = re.search(r"^AcctGatherEnergyType\s*=\s*(\S+)", text, re.MULTILINE)
    every = re.search(r"^AcctGatherNodeFreq\s*=\s*([0-9]{1,9})\b", text, re.MULTILINE)
    name = kind[1].rpartition("/")[2] if kind else ""
    return ("" if name in ("none", "(null)") else name), float(every[1]) if every and int(every[1]) else None


def parse_job(text: str, job: str) -> str | None:
    """ConsumedEnergyRaw of the job itself, not of its steps; None where the job is not in the answer."""
    for line in text.splitlines():
        words = line.split("|")
        if len(words) >= 3 and words[0] == job:
            return words[2]
    return None


class _Commands:
    """One command a reading."""

    def __init__(
        self,
        door: HostAccess,
        channels: list[Channel],
        argv: list[str],
        limit_s: float,
        words: Callable[[str], list[str | None]],
    ) -> None:
        self.channels = tuple(channels)
        self._door, self._argv, self._limit_s, self._words = door, argv, limit_s, words

    def read(self) -> list[Reading]:
        """What the command says now. A command that fails leaves a gap, one that is not permitted a refusal."""
        before = self._door.now_ns()
        result = self._door.run(self._argv, limit_s=self._limit_s)
        after = self._door.now_ns()
        if not result.ok:
            status = Status.REFUSED if refused(result) else Status.GAP
            return [Reading(index, before, after, None, None, status) for index in range(len(self.channels))]
        out: list[Reading] = []
        for index, word in enumerate(self._words(result.out)):
            value, status = (None, Status.GAP) if word is None else value_of(word)
            out.append(Reading(index, before, after, None, value, status))
        return out

    def close(self) -> None:
        """Nothing is held."""


def refused(result: Result) -> bool:
    """Whether a command failed for want of permission."""
    return bool(re.search(r"permission|access denied|not permitted", result.err, re.IGNORECASE))


def open_(target: Target, door: HostAccess) -> Source:
    """The node's or the job's channels. Raises Unavailable where Slurm is not there or accounts no energy."""
    limit_s = seconds(target, "limit", _LIMIT_S)
    named = target.address or target.path.strip("/")
    job = target.options.get("job", "")
    if not re.fullmatch(r"[\w.-]*", named) or not re.fullmatch(r"[\w+.]*", job):
        raise BadInput("not the name of a node or job", where=str(target), hint=METER.address)
    if job and named:
        raise BadInput("a node and a job at once", where=str(target), hint=f"slurm:{named} or slurm?job={job}")
    config = door.run(["scontrol", "show", "config"], limit_s=limit_s)
    if not config.ok:
        raise Unavailable(f"scontrol: {config.err.strip() or 'failed'}", where="slurm", hint=_HINT)
    kind, every_s = parse_config(config.out)
    if not kind:
        raise Unavailable(
            "Slurm accounts no energy on this cluster",
            where="slurm",
            hint="set AcctGatherEnergyType and AcctGatherNodeFreq in slurm.conf (man acct_gather.conf)",
        )
    if job:
        return _job(door, job, kind, every_s, limit_s)
    here = door.env("SLURMD_NODENAME") or door.name().partition(".")[0]
    return _node(door, named or here, named, kind, every_s, limit_s)


def _node(door: HostAccess, node: str, named: str, kind: str, every_s: float | None, limit_s: float) -> Source:
    argv = ["scontrol", "-o", "show", "node", node]
    result = door.run(argv, limit_s=limit_s)
    fields = parse_node(result.out) if result.ok else {}
    if fields.get("NodeName") != node:
        raise CannotMeasure(
            f"scontrol shows no node {node!r}: {(result.err or result.out).strip()[:200]}",
            where="slurm",
            hint="sinfo -N lists the nodes; name one: slurm:NODE",
        )
    names = [name for name in _FIELDS if name in fields]
    if not names:
        raise Unavailable(f"Slurm shows no power of {node}", where="slurm", hint="slurm?job=ID reads sacct instead")
    note = f"acct_gather_energy/{kind}" + (
        f", every {every_s:g} s" if every_s else "; AcctGatherNodeFreq = 0: between jobs the value does not change"
    )
    channels = [
        Channel(
            id=f"slurm/node/{_FIELDS[name][0]}",
            title=f"{node}: {_FIELDS[name][2]}",
            quantity="power" if _FIELDS[name][1] == "power" else "energy",
            unit="W" if _FIELDS[name][1] == "power" else "J",
            scope="counter" if _FIELDS[name][1] == "energy" else "last" if name == "AveWatts" else "point",
            place=_PLACES.get(kind, "node"),
            host=named,
            resolution=1.0,
            refresh_s=every_s,
            device="Slurm",
            firmware=f"slurmd {fields['Version']}" if "Version" in fields else "",
            driver=f"acct_gather_energy/{kind}",
            note=note,
        )
        for name in names
    ]
    return _Commands(door, channels, argv, limit_s, lambda text: [parse_node(text).get(name) for name in names])


def _job(door: HostAccess, job: str, kind: str, every_s: float | None, limit_s: float) -> Source:
    argv = ["sacct", "-n", "-P", "--noconvert", "-j", job, "-o", "JobID,State,ConsumedEnergyRaw"]
    result = door.run(argv, limit_s=limit_s)
    if not result.ok:
        raise Unavailable(f"sacct: {result.err.strip() or 'failed'}", where="slurm", hint="sacct needs slurmdbd")
    if parse_job(result.out, job) is None:
        raise CannotMeasure(f"sacct knows no job {job}", where="slurm", hint="sacct -X lists your jobs of today")
    channel = Channel(
        id=f"slurm/job-{job}/energy",
        title=f"energy of job {job} (ConsumedEnergyRaw)",
        quantity="energy",
        unit="J",
        scope="counter",
        place=_PLACES.get(kind, "node"),
        host=f"job {job}",
        resolution=1.0,
        refresh_s=every_s,
        device="Slurm",
        driver=f"acct_gather_energy/{kind}",
        note=f"acct_gather_energy/{kind}: whole watts and whole seconds; all of each node, prolog included; "
        "final when the job's steps have ended",
    )
    return _Commands(door, [channel], argv, limit_s, lambda text: [parse_job(text, job)])


def find(door: HostAccess) -> tuple[Target, ...]:
    """Slurm where this host is one of its nodes and it accounts energy."""
    if door.which("scontrol") is None:
        return ()
    config = door.run(["scontrol", "show", "config"], limit_s=2.0)
    if not config.ok or not parse_config(config.out)[0]:
        return ()
    node = door.env("SLURMD_NODENAME") or door.name().partition(".")[0]
    shown = door.run(["scontrol", "-o", "show", "node", node], limit_s=2.0)
    words = parse_node(shown.out) if shown.ok else {}
    told = [value_of(words[name])[1] for name in _FIELDS if name in words]
    return (Target(meter="slurm"),) if Status.OK in told else ()


METER = Meter(
    name="slurm",
    title="Slurm's energy accounting",
    address="slurm[:NODE] or slurm?job=ID",
    open=open_,
    find=find,
    options={"job": "the id of a job: its energy by sacct", "limit": "seconds that a command may take (10)"},
    poll_s=30.0,
    least_poll_s=1.0,
    samples=(
        Sample(
            recording="meters/slurm-ipmi",
            target="slurm:nid001234",
            commands={
                "scontrol show config": "config.txt",
                "scontrol -o show node nid001234": "node.txt",
            },
            expect={"slurm/node/current": 412.0, "slurm/node/average": 388.0},
            source="made for this project, in the form of Slurm 23.11",
        ),
        Sample(
            recording="meters/slurm-ipmi",
            target="slurm?job=4711",
            commands={
                "scontrol show config": "config.txt",
                "sacct -n -P --noconvert -j 4711 -o JobID,State,ConsumedEnergyRaw": "job.txt",
            },
            expect={"slurm/job-4711/energy": 32_150_000.0},
            source="made for this project, in the form of Slurm 23.11",
        ),
        Sample(
            recording="meters/slurm-15.08",
            target="slurm:linux1",
            commands={
                "scontrol show config": "config.txt",
                "scontrol -o show node linux1": "node.txt",
            },
            expect={"slurm/node/current": "UNSUPPORTED", "slurm/node/energy": "UNSUPPORTED"},
            source="made for this project, in the form of Slurm 15.08 on a node that is not measured",
        ),
    ),
)
