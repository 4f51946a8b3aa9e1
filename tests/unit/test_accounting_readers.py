"""Accounting of engines other than Slurm, and tables: read into the same columns, and told apart by their text."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import BadInput
from shakedown.operate.accounting import export, readers, settle
from shakedown.operate.accounting.loading import Store
from support.settled_jobs import RECORDINGS, jobs


def test_grid_engine_slaves_limits_and_gpus() -> None:
    found, said = jobs(RECORDINGS / "gridengine-8.1.9-accounting")
    by = {(one["job"], one["attempt"]): one for one in found if one["start_s"]}
    spread = by["15", 0]  # a line for each of two hosts, every one with all slots
    assert (spread["cpus"], spread["nodes"], spread["ran_s"], spread["node_list"]) == (4, 2, 1, "node4,node1")
    assert spread["cpu_used_ms"] == 268
    assert by["17", 0]["gpus"] == 8 and by["8", 0]["state"] == "timeout" and by["3.2", 0]["task"] == "2"
    assert "rescheduled" in said and "per slot" in said["gpus-per"]
    per_job = {one["job"]: one for one in jobs(RECORDINGS / "gridengine-8.1.9-accounting", gpus_per="job")[0]}
    assert per_job["17"]["gpus"] == 2


def test_grid_engine_of_other_forks(tmp_path: Path) -> None:
    """Fewer and more fields, milliseconds, a request with colons."""
    fields = [
        "q",
        "h",
        "g",
        "u",
        "name",
        "43",
        "sge",
        "0",
        "1200093286",
        "1200093294",
        "1200093295",
        "0",
        "0",
        "1",
        "0.5",
        "0.25",
    ]
    fields += ["0"] * 15 + [
        "NONE",
        "d",
        "NONE",
        "1",
        "0",
        "0.090",
        "0.1",
        "0",
        "-l host=a:b,gpu=2",
        "0.000",
        "NONE",
        "1000.0",
    ]
    old = ":".join(fields)
    fields[8:11] = ["1412932860657", "1412932865141", "1412933085629"]
    new = ":".join([*fields, "0", "0", "NONE", "NONE", "1", "2", "host", "NONE", "qsub x"]).replace(":43:", ":44:")
    path = tmp_path / "accounting"
    path.write_text(f"# a comment\n{old}\n{new}\n")
    first, second = jobs(path)[0]
    assert (first["ran_s"], first["cpu_used_ms"], first["gpus"], first["memory_used_bytes"]) == (1, 90, 2, 1000)
    assert (second["start_s"], second["end_s"]) == (1412932865, 1412933085)


def test_pbs_and_torque() -> None:
    found, _ = jobs(RECORDINGS / "openpbs", RECORDINGS / "torque", zone="Europe/Zurich")
    by = {(one["job"], one["attempt"]): one for one in found}
    first = by["101", 0]
    assert (first["project"], first["cpus"], first["gpus"], first["nodes"]) == ("fluid dynamics", 16, 4, 2)
    assert (first["memory_asked_bytes"], first["cpu_used_ms"], first["limit_s"]) == (64 << 30, 143_100_000, 14400)
    assert (by["102", 0]["state"], by["102", 1]["state"], by["102", 1]["gpus"]) == ("preempted", "timeout", 0)
    assert by["102", 1]["eligible_s"] == by["102", 0]["end_s"]  # it waited anew
    assert by["103[7]", 0]["task"] == "7" and by["103[7]", 0]["exit_code"] == 1
    never = by["104", 0]
    assert (never["start_s"], never["user"], never["partition"], never["end_s"]) == (None, "eve", "late", 1792906200)
    torque = by["900", 0]
    assert (torque["cpus"], torque["gpus"], torque["nodes"], torque["eligible_s"]) == (8, 2, 2, 1795165200)
    assert (by["901-2", 0]["state"], by["901-2", 0]["cpus"], by["901-2", 0]["limit_s"]) == ("timeout", 2, 3600)


def test_lsf() -> None:
    found, said = jobs(RECORDINGS / "lsf")
    first, second, third = found
    assert (first["cpus"], first["nodes"], first["gpus"], first["name"]) == (4, 2, 4, 'a "quoted" name')
    assert (first["project"], first["cpu_used_ms"], first["memory_used_bytes"]) == ("chem", 28_012_750, 2 << 30)
    assert (second["job"], second["eligible_s"], second["exit_code"], second["project"]) == (
        "5002[3]",
        1795171000,
        9,
        None,
    )
    assert (third["start_s"], third["state"], third["ran_s"]) == (None, "cancelled", 0)
    assert "1 lines" in said["lines-lost"]


def test_a_table_and_the_way_back(tmp_path: Path) -> None:
    found, _ = jobs(RECORDINGS / "table.csv", zone="Europe/Zurich")
    assert [(one["job"], one["ran_s"], one["gpus"], one["cpus"]) for one in found] == [
        ("1", 3600, 2, 8),
        ("2", 14400, None, 4),
        ("3", 0, 0, None),
    ]
    assert found[0]["energy_j"] == 360000 and found[1]["name"] == "a, comma"
    for source in ("slurm-22.05-sacct-all.txt", "openpbs", "table.csv"):
        before = jobs(RECORDINGS / source)[0]
        with Store() as store:
            readers.for_file(RECORDINGS / source).read(store, RECORDINGS / source)
            settle.settle(store)
            (tmp_path / "jobs.csv").write_text("".join(export.lines(store, None, None, as_json=False)))
        after = jobs(tmp_path / "jobs.csv")[0]
        for one, other in zip(before, after, strict=True):
            assert {k: v for k, v in one.items() if k != "source"} == {k: v for k, v in other.items() if k != "source"}
    (tmp_path / "bad.csv").write_text("job,start,end,cores\n1,5,6,7\n2,yesterday,6,7\n")
    with pytest.raises(BadInput, match=r"bad.csv:3: 'yesterday' is not a valid time"):
        jobs(tmp_path / "bad.csv")
    (tmp_path / "bad.csv").write_text("job,start,end,corse\n")
    with pytest.raises(BadInput, match="columns corse are not known"):
        jobs(tmp_path / "bad.csv")


def test_every_reader_knows_its_samples_and_nobody_elses() -> None:
    for name in readers.names():
        reader = readers.get(name)
        assert reader.samples, name
        for sample in reader.samples:
            assert readers.for_file(RECORDINGS / sample) is reader
