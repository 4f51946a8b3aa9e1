"""Jobs whose slots, GPUs and times are known, written as each engine may write them, come out as they are known; and what
cannot be read or cannot be is counted, named and shown."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from shakedown.errors import BadInput, CannotMeasure
from shakedown.host import Result
from shakedown.operate.accounting import readers, report, settle, tables
from shakedown.operate.accounting.loading import Store
from shakedown.operate.accounting.records import Report
from shakedown.schedulers import pbs

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


@pytest.mark.parametrize("engine", ["lsf", "torque", "torque with Maui", "openpbs", "gridengine", "sacct"])
@pytest.mark.parametrize("seed", [1, 2])
def test_each_engine_tells_what_was_given(engine: str, seed: int, tmp_path: Path) -> None:
    jobs, draw = made(60, seed), random.Random(seed)
    lines = {
        "lsf": lambda one: lsf(one, draw),
        "torque": lambda one: torque(one, draw, maui=False),
        "torque with Maui": lambda one: torque(one, draw, maui=True),
        "openpbs": lambda one: openpbs(one, draw),
        "gridengine": lambda one: gridengine(one, draw),
        "sacct": sacct,
    }[engine]
    text = "\n".join(map(lines, jobs))
    found, said = settled(tmp_path / "log", f"{HEAD}\n{text}" if engine == "sacct" else text, gpus_per="job")
    assert {number: one["cpus"] * one["ran_s"] for number, one in found.items()} == {
        str(one.number): one.cpu_s for one in jobs
    }
    assert sum(one["gpus"] * one["ran_s"] for one in found.values()) == sum(one.gpu_s for one in jobs)
    assert not {"lines-lost", "slots-differ", "impossible-numbers", "not-read"} & set(said)


# ---------------------------------------------------------------------------------------------------------------------- LSF


def test_lsf_slots_are_held_against_num_processors(tmp_path: Path) -> None:
    job = Job(7, T0, T0 + 100, (("h1", 16), ("h2", 16)), 0)
    line = lsf(job, random.Random(1))
    less = line.replace(" 33554434 32 ", " 33554434 30 ")
    assert less != line
    found, said = settled(tmp_path / "lsb.acct", less)
    assert found["7"]["cpus"] == 32
    assert "slots-differ" not in said  # up to as many as the record's greatest number may be given
    wrong = line.replace(" 33554434 32 ", " 33554434 2 ").replace('"chem" 0 32 ', '"chem" 0 2 ')
    found, said = settled(tmp_path / "lsb.acct", wrong)
    assert found["7"]["cpus"] == 32
    assert "1 run" in said["slots-differ"] and "32 and 2" in said["slots-differ"] and "job 7" in said["slots-differ"]


def test_lsf_gpus_for_each_task_and_those_of_the_request(tmp_path: Path) -> None:
    job = Job(7, T0, T0 + 100, (("h1", 4), ("h2", 4)), 1)
    line = lsf(job, random.Random(1))
    found, _ = settled(tmp_path / "lsb.acct", line.replace("=1.00]", "=1.00/task]"))
    assert found["7"]["gpus"] == 8
    bare = line.rpartition(' "select')[0].replace('"normal" "" ""', '"normal" "rusage[ngpus_physical=2]" ""')
    found, _ = settled(tmp_path / "lsb.acct", bare)
    assert found["7"]["gpus"] == 4


def test_lsf_records_that_are_cut_or_resized_are_shown(tmp_path: Path) -> None:
    whole = lsf(Job(7, T0, T0 + 100, (("h1", 4),), 0), random.Random(1))
    resized = f'"JOB_RESIZE" "10.1" {T0} 7 0 {T0} 1001 "ann" 1 {T0} 1 "h1" 1 "h2"'
    for cut in (0.3, 0.6, 0.8):
        found, said = settled(tmp_path / "lsb.acct", f"{whole}\n{resized}\n{whole[: int(cut * len(whole))]}")
        assert list(found) == ["7"]
        assert "1 lines" in said["lines-lost"] and '"JOB_FINISH"' in said["lines-lost"]
        assert "job 7" in said["resized"]


# ---------------------------------------------------------------------------------------------------------------------- PBS


@pytest.mark.parametrize(
    ("words", "cpus", "gpus"),
    [
        ({"exec_host": "c1/0-15", "Resource_List.ncpus": "1"}, 16, 0),
        ({"Resource_List.nodes": "1:ppn=16", "Resource_List.ncpus": "1"}, 16, 0),
        ({"Resource_List.nodes": "2:big:ppn=8+c7:ppn=4#shared", "Resource_List.ncpus": "1"}, 20, 0),
        ({"Resource_List.select": "2:ncpus=8:ngpus=2+1:ncpus=4"}, 20, 4),
        ({"Resource_List.procs": "12", "Resource_List.ncpus": "1"}, 12, 0),
        ({"exec_host": "c1/0,2,4-7+c2/1*3"}, 9, 0),
        ({"Resource_List.neednodes": "c1:ppn=4", "Resource_List.nodes": "1:ppn=4:gpus=2"}, 4, 2),
        ({"Resource_List.neednodes": "gpu01:ppn=4", "Resource_List.nodes": "gpu01:ppn=4"}, 4, 0),
        ({"Resource_List.nodes": "2:ppn=4:gpus=2:exclusive_process"}, 8, 4),
        ({"Resource_List.gpus": "2"}, None, 2),
        ({"Resource_List.ngpus": "3", "exec_vnode": "(n1:ncpus=4)"}, 4, 3),
        ({"Resource_List.gres": "matlab:1+gpu:2"}, None, 2),
        ({"Resource_List.x": "GRES:gpus@2"}, None, 2),
        ({"Resource_List.select": "2:ncpus=4:naccelerators=1"}, 8, 2),
        ({"exec_gpus": "c1-gpu/0-1+c2-gpu/1", "Resource_List.nodes": "2:ppn=1:gpus=9"}, 2, 3),
        ({"Resource_List.nodes": "1:ppn=4:gpu"}, 4, None),
    ],
)
def test_what_pbs_gives_comes_before_what_was_asked_for(
    words: dict[str, str], cpus: int | None, gpus: int | None
) -> None:
    assert (pbs.cpus_of(words), pbs.gpus_of(words).number) == (cpus, gpus)


def test_pbs_arrays_uncounted_gpus_and_fewer_slots_than_asked_for(tmp_path: Path) -> None:
    times = f"start={T0} end={T0 + 10} Exit_status=0"
    lines = [
        f"11/20/2026 10:00:00;E;1[].s;user=a {times} Resource_List.ncpus=4",
        f"11/20/2026 10:00:00;E;1[1].s;user=a {times} exec_host=n/0*4 Resource_List.ncpus=4",
        f"11/20/2026 10:00:00;E;2.s;user=a {times} exec_host=n/0 Resource_List.nodes=1:ppn=8",
        f"11/20/2026 10:00:00;E;3.s;user=a {times} exec_host=n/0 Resource_List.nodes=1:ppn=1:gpu",
        "11/20/2026 10:00:00;E;4.s;user=a start=yesterday end=1 Exit_status=0",
        f"11/20/2026 10:00:00;E;5.s;user=a {times} exec_host=n/0 Resource_List.gres=gpu:2",
    ]
    found, said = settled(tmp_path / "20261120", "\n".join(lines))
    assert {number: one["cpus"] for number, one in found.items()} == {"1[1]": 4, "2": 1, "3": 1, "5": 1}
    assert found["3"]["gpus"] is None and found["5"]["gpus"] == 2
    assert (
        "job 2.s" in said["slots-differ"] and "job 3.s" in said["gpus-uncounted"] and "job 5.s" in said["gpus-generic"]
    )
    assert "1 lines" in said["lines-lost"] and "yesterday" in said["lines-lost"]


# ------------------------------------------------------------------------------------------------- what cannot be, in each


def row(number: int, start: object, end: object, **cells: object) -> str:
    made = dict(zip(HEAD.split("|"), [number, T0 - 60, start, end, 100, "COMPLETED", 4, "cpu=4,node=1"], strict=True))
    return "|".join(str(one) for one in (made | cells).values())


def test_stamps_in_a_form_that_is_not_known_are_counted_and_shown(tmp_path: Path) -> None:
    lines = [row(at, T0, T0 + 100) for at in (1, 2, 3)]
    lines += [row(at, "20.10.2026 08:00:00", "20.10.2026 09:00:00") for at in (4, 5)]
    lines += [row(6, T0, "20.10.2026 09:00:00"), row(7, T0, T0 + 100, Submit="yesterday")]
    found, said = settled(tmp_path / "sacct", "\n".join([HEAD, *lines]))
    assert sorted(found) == ["1", "2", "3", "6", "7"]
    assert (found["6"]["ran_s"], found["6"]["end_s"], found["6"]["open"]) == (100, T0 + 100, False)
    assert found["7"]["submit_s"] is None
    with Store(zone="UTC") as store:
        readers.for_file(tmp_path / "sacct").read(store, tmp_path / "sacct")
        told = [one.text for one in store.notices if one.code == "not-read"]
    assert len(told) == 3
    assert (
        "Start of 2 rows" in told[0]
        and "20.10.2026" in told[0]
        and "job 4" in told[0]
        and "not counted at all" in told[0]
    )
    assert "not-read" in said


def test_unix_and_local_stamps_in_one_file_are_both_read(tmp_path: Path) -> None:
    lines = [row(1, T0, T0 + 100), row(2, "2026-10-26T08:00:00", "2026-10-26T08:01:40", Submit="2026-10-26T07:59:00")]
    for order in (lines, lines[::-1]):
        found, said = settled(tmp_path / "sacct", "\n".join([HEAD, *order]))
        assert {one["ran_s"] for one in found.values()} == {100} and len(found) == 2
        assert found["2"]["start_s"] == 1793001600 and "not-read" not in said


def test_a_file_of_nothing_but_unknown_stamps_says_why_it_has_no_job(tmp_path: Path) -> None:
    (tmp_path / "sacct").write_text("\n".join([HEAD, row(4, "20.10.2026", "20.10.2026")]) + "\n")
    with Store(zone="UTC") as store, pytest.raises(CannotMeasure, match="Start of 1 row"):
        report.load(store, report.Asked(sources=(str(tmp_path / "sacct"),)), Clock(T0))


@pytest.mark.parametrize(("word", "shown"), [("-4", "-4"), ("4294967294", "4294967294"), ("many", "many")])
def test_counts_that_cannot_be_are_shown_and_not_used(word: str, shown: str, tmp_path: Path) -> None:
    lines = [row(1, T0, T0 + 100), row(2, T0, T0 + 100, AllocCPUS=word, AllocTRES="")]
    found, said = settled(tmp_path / "sacct", "\n".join([HEAD, *lines]))
    assert found["1"]["cpus"] == 4 and found["2"]["cpus"] is None and found["2"]["ran_s"] == 100
    told = said.get("impossible-numbers", "") + said.get("not-read", "")
    assert "1 r" in told and shown in told and "job 2" in told


def test_more_cpu_time_than_there_was_is_said(tmp_path: Path) -> None:
    head = f"{HEAD}|TotalCPU"
    lines = [f"{row(1, T0, T0 + 100)}|00:06:40", f"{row(2, T0, T0 + 100)}|01:59:36"]  # 100 % and 1794 % of 4 CPUs
    path = tmp_path / "sacct"
    _, said = settled(path, "\n".join([head, *lines]))
    text = said["more-cpu-time-than-there-was"]
    assert text.startswith("1 run ") and "job 2" in text and "1,794 %" in text
    with Store(zone="UTC") as store:
        asked = report.Asked(sources=(str(path),))
        report.load(store, asked, Clock(T0 + 1000))
        whole = dict(tables.facts(report.make(store, asked, Clock(T0 + 1000))))
    assert "see the notes" in whole["CPU time used"]


def test_grid_engine_and_completion_file_say_what_they_cannot_read(tmp_path: Path) -> None:
    job = Job(5, T0, T0 + 50, (("h", 4),), 0)
    line = gridengine(job, random.Random(0)).split(":")
    line[34] = "-3"
    found, said = settled(tmp_path / "accounting", ":".join(line))
    assert found["5"]["cpus"] is None and "-3" in said["impossible-numbers"]
    line[34] = "0"
    found, said = settled(tmp_path / "accounting", ":".join(line))
    assert found["5"]["cpus"] is None and "job 5" in said["no-slots"]
    whole = (
        "JobId=2 UserId=a(1) GroupId=g(1) Name=n JobState=COMPLETED Partition=p TimeLimit=60 StartTime=2026-10-26T08:00:00 "
        "EndTime=2026-10-26T08:01:40 NodeList=n1 NodeCnt=1 ProcCnt=4"
    )
    bad = whole.replace("=2026-10-26T08:00:00", "=26.10.2026").replace("JobId=2", "JobId=3")
    found, said = settled(tmp_path / "jobcomp", f"{whole}\n{bad}")
    assert list(found) == ["2"] and "JobId=3" in said["lines-lost"]


def test_numbers_without_end_and_gpus_of_a_run_without_a_start(tmp_path: Path) -> None:
    line = gridengine(Job(5, T0, T0 + 50, (("h", 4),), 0), random.Random(0)).split(":")
    line[36] = "1e400"
    found, _ = settled(tmp_path / "accounting", ":".join(line))
    assert found["5"]["cpus"] == 4 and found["5"]["cpu_used_ms"] == 750  # from the other two fields
    never = Job(6, T0 * 1000, T0 * 1000 + 50, (("h", 4),), 2)
    found, said = settled(tmp_path / "20261120", torque(never, random.Random(0), maui=False))
    assert found["6"]["start_s"] is None and "2100" in said["impossible-numbers"]


def test_json_of_a_shape_that_is_not_known_loses_one_job_and_shows_it(tmp_path: Path) -> None:
    good = {
        "job_id": 1,
        "nodes": "n1",
        "state": "COMPLETED",
        "time": {"start": T0, "end": T0 + 10, "submission": T0, "elapsed": 10},
        "tres": {"allocated": [{"type": "cpu", "name": "", "count": 4}, {"type": "node", "name": "", "count": -2}]},
    }
    text = json.dumps({"meta": {}, "jobs": [good, {"job_id": 2, "time": "noon"}, good | {"job_id": 3, "tres": ["x"]}]})
    found, said = settled(tmp_path / "sacct.json", text)
    assert list(found) == ["1"] and found["1"]["cpus"] == 4
    assert "2 lines" in said["lines-lost"] and "noon" in said["lines-lost"]
    assert "-2" in said["impossible-numbers"]
    huge = json.dumps({"jobs": [good | {"tres": {"allocated": [{"type": "cpu", "count": 4294967294}]}}]})
    found, said = settled(tmp_path / "sacct.json", huge)
    assert found["1"]["cpus"] is None and "4294967294" in said["impossible-numbers"]


def test_a_start_before_the_submission_and_a_run_of_decades_are_said(tmp_path: Path) -> None:
    lines = [row(1, T0, T0 + 100, Submit=T0 + 3600), row(2, 1, T0, ElapsedRaw=T0 - 1, Submit=1)]
    _, said = settled(tmp_path / "sacct", "\n".join([HEAD, *lines]))
    assert "job 1" in said["started-before-submission"]
    assert "job 2" in said["longer-than-a-year"] and "20,752 days" in said["longer-than-a-year"]


# ------------------------------------------------------------------------------------------------------- now, and waiting


class Clock:
    """A host whose clock stands, and whose sacct knows one job that runs since ``start_s`` on 2 of 4 CPUs."""

    def __init__(self, now_s: int, start_s: int = T0) -> None:
        self.now_s, self.start_s = now_s, start_s
        self.asked: list[Sequence[str]] = []

    def now_ns(self) -> int:
        return self.now_s * 10**9

    def which(self, name: str) -> str | None:
        return f"/usr/bin/{name}" if name == "sacct" else None

    def run(self, argv: Sequence[str], **_: object) -> Result:
        self.asked.append(argv)
        until = int(next(word for word in argv if word.startswith("--endtime")).partition("uts")[2])
        head = [] if "--noheader" in argv else [HEAD]
        tres = "cpu=2,node=1"
        line = f"9|{self.start_s - 60}|{self.start_s}|Unknown|{self.now_s - self.start_s}|RUNNING|2|{tres}"
        return Result(0, "\n".join([*head, *([line] if until > self.start_s else [])]) + "\n", "")


def live(clock: Clock, begin: int, end: int | str) -> Report:
    asked = report.Asked(from_slurm=True, begin=str(begin), end=str(end), nodes="n1 processors=4")
    with Store(zone="UTC", lean=True) as store:
        report.load(store, asked, clock)  # type: ignore[arg-type]
        return report.make(store, asked, clock)  # type: ignore[arg-type]


@pytest.mark.parametrize("end", [T0 + 86400, ""])
def test_the_running_day_ends_now(end: int | str) -> None:
    clock = Clock(T0 + 8 * 3600)
    told = live(clock, T0, end)
    assert told.end_s == clock.now_s
    assert told.capacity is not None and told.capacity.cpu_utilisation == 0.5
    assert not any(f"uts{T0 + 86400}" in word for argv in clock.asked for word in argv)
    assert ("up-to-now" in {one.code for one in told.notices}) == bool(end)


def test_a_window_that_has_not_begun_is_refused() -> None:
    with pytest.raises(BadInput, match="lies in the future"):
        live(Clock(T0), T0 + 10, T0 + 20)


def test_a_file_of_the_running_day_ends_now_too(tmp_path: Path) -> None:
    path = tmp_path / "sacct"
    path.write_text("\n".join([HEAD, row(1, T0, T0 + 100)]) + "\n")
    asked = report.Asked(sources=(str(path),), begin=str(T0), end=str(T0 + 86400), nodes="n1 processors=4")
    for now, utilisation in ((T0 + 200, 0.5), (T0 - 10**6, 100 / 101)):  # a clock that is behind hides no record
        with Store(zone="UTC") as store:
            report.load(store, asked, Clock(now))  # type: ignore[arg-type]
            told = report.make(store, asked, Clock(now))  # type: ignore[arg-type]
        assert told.capacity is not None and told.capacity.cpu_utilisation == pytest.approx(utilisation)


def test_waiting_has_a_total_and_a_mean(tmp_path: Path) -> None:
    waits = [0, 10, 20, 3600]
    lines = [row(at, T0, T0 + 100, Submit=T0 - wait) for at, wait in enumerate(waits, 1)]
    path = tmp_path / "sacct"
    path.write_text("\n".join([HEAD, *lines]) + "\n")
    asked = report.Asked(sources=(str(path),), by="user")
    with Store(zone="UTC") as store:
        report.load(store, asked, Clock(T0 + 10**6))  # type: ignore[arg-type]
        told = report.make(store, asked, Clock(T0 + 10**6))  # type: ignore[arg-type]
    assert (told.whole.wait_total_s, told.whole.wait_mean_s) == (sum(waits), sum(waits) / 4)
    assert told.tables[0].rows[0].wait_total_s == sum(waits)
    said = dict(tables.facts(told))["wait"]
    assert "15 min in the mean" in said and "1.0 h in all" in said
    assert "wait_total_s,wait_mean_s" in tables.table_csv(told.tables[0])
