"""Jobs whose slots, GPUs and times are known, written as each batch engine may write them, and read again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, NamedTuple

from shakedown.operate.accounting import readers, settle
from shakedown.operate.accounting.loading import Store

T0 = 1_793_000_000


class Job(NamedTuple):
    """What was so."""

    number: int
    start_s: int
    end_s: int
    hosts: tuple[tuple[str, int], ...]  # slots on each
    gpus_each: int  # of each host

    @property
    def slots(self) -> int:
        return sum(count for _, count in self.hosts)

    @property
    def cpu_s(self) -> int:
        return self.slots * (self.end_s - self.start_s)

    @property
    def gpu_s(self) -> int:
        return self.gpus_each * len(self.hosts) * (self.end_s - self.start_s)


def made(count: int, seed: int) -> list[Job]:
    draw = random.Random(seed)
    jobs = []
    for number in range(1, count + 1):
        start = T0 + draw.randrange(10**6)
        hosts = tuple(
            (f"c{draw.randrange(10**4)}-{at}", draw.choice((1, 2, 16, 48))) for at in range(draw.randint(1, 5))
        )
        if draw.random() < 0.7:
            hosts = tuple((name, hosts[0][1]) for name, _ in hosts)  # as most are
        jobs.append(Job(number, start, start + draw.randrange(1, 10**5), hosts, draw.choice((0, 0, 1, 4))))
    return jobs


def lsf(job: Job, draw: random.Random) -> str:
    """A JOB_FINISH record: hosts once for each slot, or short, and GPUs where LSF writes them."""
    if draw.random() < 0.5:
        listed = [f"{count}*{name}" if count > 1 or draw.random() < 0.5 else name for name, count in job.hosts]
    else:
        listed = [name for name, count in job.hosts for _ in range(count)]
    asked = ["a", "b"][: draw.randrange(3)]
    words = [
        '"JOB_FINISH" "10.108"',
        job.end_s,
        job.number,
        1001,
        33554434,
        job.slots,
        job.start_s - 60,
        0,
        0,
        job.start_s,
    ]
    words += ['"ann" "normal" "" "" "" "login" "/w" "" "o" "e" "f"', len(asked), *(f'"{one}"' for one in asked)]
    words += [len(listed), *(f'"{one}"' for one in listed), 64, "60.0", '"n ""q"" ngpus_physical=9" "run -gpu x"']
    words += ["1.5 0.5 " + "0 " * 17, '"" "chem" 0', job.slots, '"" "" 0 1024 0 "" "" "" ""']
    if job.gpus_each:
        words.append(f'"select[type == local] rusage[ngpus_physical={job.gpus_each}.00]"')
    return " ".join(map(str, words))


def torque(job: Job, draw: random.Random, *, maui: bool) -> str:
    """An E record: a default ncpus=1 whatever was given, and neednodes as Maui leaves it."""
    one = job.hosts[0][1]
    same = all(count == one for _, count in job.hosts)
    gpus = f":gpus={job.gpus_each}" if job.gpus_each else ""
    each = [f"{name}:ppn={count}{gpus}" for name, count in job.hosts]
    nodes = f"{len(job.hosts)}:ppn={one}{gpus}" if same and draw.random() < 0.8 else "+".join(each)
    need = "+".join(name for name, count in job.hosts for _ in range(count)) if maui else nodes
    way = draw.randrange(3)
    places = {
        0: "+".join(f"{name}/{at}" for name, count in job.hosts for at in range(count)),
        1: "+".join(f"{name}/0-{count - 1}" if count > 1 else f"{name}/0" for name, count in job.hosts),
        2: "",
    }[way]
    host = f"exec_host={places} " if places else ""
    return (
        f"11/20/2026 10:00:00;E;{job.number}.mgr;user=carol group=bio jobname=gpus=7 queue=long ctime={job.start_s - 60} "
        f"start={job.start_s} {host}Resource_List.ncpus=1 Resource_List.neednodes={need} "
        f"Resource_List.nodect={len(job.hosts)} Resource_List.nodes={nodes} end={job.end_s} Exit_status=0"
    )


def openpbs(job: Job, draw: random.Random) -> str:
    given = "+".join(
        f"({name}:ncpus={count}{f':ngpus={job.gpus_each}' if job.gpus_each else ''}:mem=4gb)"
        for name, count in job.hosts
    )
    places = "+".join(f"{name}/0*{count}" if count > 1 else f"{name}/2" for name, count in job.hosts)
    vnode = f"exec_vnode={given} " if job.gpus_each or draw.random() < 0.7 else ""
    return (
        f"11/20/2026 10:00:00;E;{job.number}.pbs;user=al group=hpc jobname=x queue=workq ctime={job.start_s - 9} "
        f"start={job.start_s} exec_host={places} {vnode}Resource_List.ncpus=1 Resource_List.nodect={len(job.hosts)} "
        f"end={job.end_s} Exit_status=0 resources_used.ncpus=1"
    )


def gridengine(job: Job, draw: random.Random) -> str:
    """A line for each host, each with all slots; times in seconds or milliseconds."""
    scale = draw.choice((1, 1000))
    lines = []
    for at, (name, _) in enumerate(reversed(job.hosts)):
        fields = [
            "all.q",
            name,
            "g",
            "u",
            "n",
            job.number,
            "sge",
            0,
            *(t * scale for t in (job.start_s, job.start_s, job.end_s)),
        ]
        fields += [
            0,
            0,
            1,
            "0.5",
            "0.25",
            *["0"] * 15,
            "NONE",
            "d",
            "orte" if len(job.hosts) > 1 else "NONE",
            job.slots,
            0,
        ]
        request = f"-l gpu={job.gpus_each * len(job.hosts)}" if job.gpus_each else "NONE"
        master = at == len(job.hosts) - 1
        fields += ["0.1", "0.1", 0, request, "0.000", "NONE" if master else f"1.{name}", "1000.0", 0, 0]
        lines.append(":".join(map(str, fields)))
    return "\n".join(lines)


def sacct(job: Job) -> str:
    gpus = f",gres/gpu={job.gpus_each * len(job.hosts)}" if job.gpus_each else ""
    tres = f"cpu={job.slots}{gpus},node={len(job.hosts)}"
    return f"{job.number}|{job.start_s - 5}|{job.start_s}|{job.end_s}|{job.end_s - job.start_s}|COMPLETED|{job.slots}|{tres}"


HEAD = "JobID|Submit|Start|End|ElapsedRaw|State|AllocCPUS|AllocTRES"


def settled(path: Path, text: str, **how: Any) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    path.write_text(text + "\n")
    with Store(zone="UTC", **how) as store:
        readers.for_file(path).read(store, path)
        settle.settle(store)
        names = (
            "job",
            "start_s",
            "ran_s",
            "cpus",
            "gpus",
            "nodes",
            "end_s",
            "open",
            "submit_s",
            "state",
            "cpu_used_ms",
        )
        rows = [dict(zip(names, row, strict=True)) for row in store.rows(f"SELECT {', '.join(names)} FROM jobs")]
        return {one["job"]: one for one in rows}, {one.code: one.text for one in store.notices}


def row(number: int, start: object, end: object, **cells: object) -> str:
    made = dict(zip(HEAD.split("|"), [number, T0 - 60, start, end, 100, "COMPLETED", 4, "cpu=4,node=1"], strict=True))
    return "|".join(str(one) for one in (made | cells).values())
