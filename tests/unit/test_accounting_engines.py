"""Jobs whose slots, GPUs and times are known, written as each engine may write them, come out as they are known."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from shakedown.schedulers import pbs
from support.engines import HEAD, T0, Job, gridengine, lsf, made, openpbs, sacct, settled, torque


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
