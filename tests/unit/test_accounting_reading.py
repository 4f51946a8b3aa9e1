"""What engines write of jobs, read into one set of columns: recordings, broken rows, local times, requeues."""

from __future__ import annotations

import datetime
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shakedown.errors import BadInput
from shakedown.operate.accounting import readers, text, values, zones
from shakedown.operate.accounting.readers import sacct, sacct_json
from shakedown.schedulers.common import delimited
from support.settled_jobs import RECORDINGS, jobs

ZURICH = ZoneInfo("Europe/Zurich")
HEAD = (
    "JobID|Cluster|User|Account|Partition|Submit|Eligible|Start|End|ElapsedRaw|Suspended|State|NNodes|NCPUS|AllocTRES|"
    "JobName"
)


def row(job: str, start: str, end: str, elapsed: int | str, **more: object) -> str:
    """A row of sacct."""
    cells = {
        "JobID": job, "Cluster": "c", "User": "u", "Account": "p", "Partition": "x", "Submit": start, "Eligible": start,
        "Start": start, "End": end, "ElapsedRaw": elapsed, "Suspended": "00:00:00", "State": "COMPLETED", "NNodes": 1,
        "NCPUS": 2, "AllocTRES": "billing=2,cpu=2,gres/gpu=1,node=1", "JobName": "n",
    }  # fmt: skip
    cells |= more
    return "|".join(str(cells[name]) for name in HEAD.split("|"))


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., tuple[list[dict[str, Any]], dict[str, str]]]:
    def read(*lines: str, zone: str = "UTC", head: str = HEAD) -> tuple[list[dict[str, Any]], dict[str, str]]:
        path = tmp_path / "sacct.txt"
        path.write_bytes(("\n".join([head, *lines]) + "\n").encode("utf-8", "surrogateescape"))
        return jobs(path, zone=zone)

    return read


# ---------------------------------------------------------------------------------------------------------- broken rows


def pieces(
    path: Path, form: delimited.Form, monkeypatch: pytest.MonkeyPatch, block: int
) -> tuple[list[list[str]], delimited.Mended]:
    monkeypatch.setattr(text, "BLOCK_BYTES", block)
    mended = delimited.Mended()
    found = []
    for piece in text.pieces(path, form, mended):
        lines = b"".join(piece.parts).decode().split("\n")
        assert lines.pop() == "" and len(lines) == piece.rows
        found += [line.split(piece.delimiter) for line in lines]
    return found, mended


@pytest.mark.parametrize("block", [997, 5000, 1 << 20])
def test_rows_with_line_breaks_are_the_expected_file(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = RECORDINGS / "sample-sacct-multiple-multiline.txt"
    form = sacct.form_of(path)
    assert form.delimiter == "|#"
    found, mended = pieces(path, form, monkeypatch, block)
    expected = (RECORDINGS / "sample-sacct-multiple-multiline-expected.txt").read_text().splitlines()[1:]
    assert sorted("|#".join(one) for one in found) == sorted(expected)
    assert (mended.mended, mended.lost) == (3, 0)


def test_bytes_that_are_no_utf8_stay_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    path = RECORDINGS / "sample-sacct-output-invalid-utf8.txt"
    form = sacct.form_of(path)
    found, mended = pieces(path, form, monkeypatch, 1 << 20)
    lines = path.read_bytes().decode("utf-8", "replace").splitlines()[1:]
    assert sorted("|".join(one) for one in found) == sorted(lines)
    assert mended.mended == 1
    names = [one[form.columns.index("JobName")] for one in found]
    assert "\ufffdorted" in names


NAMES = st.text(st.sampled_from("ab |\n\r\0é\udcff,;\"'\x1f"), max_size=8)


@settings(max_examples=40, deadline=None)
@given(st.lists(NAMES, max_size=12), st.integers(200, 700), st.booleans())
@example(["two\nlines|and"], 200, True)
@example(["\n|"], 200, False)
def test_no_name_costs_a_row(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], block: int, last: bool
) -> None:
    """Whatever names hold, wherever a block ends: as many rows, the same numbers, and the name but for its control bytes."""
    head = HEAD.split("|")
    if not last:
        head = [head[0], head[-1], *head[1:-1]]
    cells = [
        dict(
            zip(HEAD.split("|"), row(str(at), "2026-01-01T00:00:00", "2026-01-01T00:00:07", 7).split("|"), strict=True)
        )
        for at in range(len(names))
    ]
    lines = ["|".join({**cell, "JobName": name}[one] for one in head) for cell, name in zip(cells, names, strict=True)]
    path = tmp_path_factory.mktemp("names") / "sacct.txt"
    path.write_bytes("".join(f"{line}\n" for line in ["|".join(head), *lines]).encode("utf-8", "surrogateescape"))
    with pytest.MonkeyPatch.context() as patch:
        found, mended = pieces(path, sacct.form_of(path), patch, block)
    assert len(found) == len(names) and mended.lost == 0
    at = head.index("JobName")
    shown = {one[head.index("JobID")]: one[at].replace("\x1f", " ") for one in found}
    assert shown == {
        str(number): name.encode("utf-8", "surrogateescape")
        .decode("utf-8", "replace")
        .translate({ord("\r"): None, 0: None, ord("\n"): "\\n", ord("\x1f"): " "})
        for number, name in enumerate(names)
    }


def test_a_row_that_was_cut_off_is_counted_and_shown(told: Any) -> None:
    found, said = told(row("1", "2026-01-01T00:00:00", "2026-01-01T00:01:00", 60), "2|c|u|p|x|2026-01-0")
    assert [one["job"] for one in found] == ["1"]
    assert "1 lines" in said["lines-lost"] and "2|c|u|p" in said["lines-lost"]


def test_any_delimiter_packed_with_a_trailing_one_and_with_carriage_returns(tmp_path: Path) -> None:
    lines = [HEAD, row("1", "2026-01-01T00:00:00", "2026-01-01T00:01:00", 60)]
    written = {
        "semicolon": "\n".join(lines).replace("|", ";"),
        "trailing": "\n".join(f"{line}|" for line in lines),
        "windows": "\r\n".join(lines) + "\r\n",
        "unit": "\n".join(lines).replace("|", "\x1f"),
        "words": "\n".join(lines).replace("|", "|#"),
    }
    for name, words in written.items():
        (tmp_path / name).write_bytes(words.encode())
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(words.encode()))
        for path in (tmp_path / name, tmp_path / f"{name}.gz"):
            (found,), _ = jobs(path)
            assert (found["job"], found["ran_s"], found["name"], found["gpus"]) == ("1", 60, "n", 1), name


def test_files_that_are_none_say_so(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("")
    with pytest.raises(BadInput, match="is empty"):
        readers.for_file(path)
    path.write_text("hello world\n")
    with pytest.raises(BadInput, match="not in a known accounting format"):
        readers.for_file(path)
    path.write_text("JobID|User|Start|State\n1|u|Unknown|PENDING\n")
    with pytest.raises(BadInput, match="lacks the columns End"):
        jobs(path)
    with pytest.raises(BadInput, match="did you mean 'sacct'"):
        readers.get("sact")
    with pytest.raises(BadInput, match="cannot be read"):
        readers.for_file(tmp_path / "absent")


# ---------------------------------------------------------------------------------------------------------- local times


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(
        ["Europe/Zurich", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca", "UTC"]
    ),
    st.integers(1_700_000_000, 1_830_000_000),
    st.booleans(),
)
def test_clock_faces_become_the_unix_times_that_zoneinfo_says(zone: str, at: int, later: bool) -> None:
    clock = datetime.datetime.fromtimestamp(at, ZoneInfo(zone)).replace(tzinfo=None, fold=0)
    face = int((clock - datetime.datetime(1970, 1, 1)).total_seconds())
    sql = zones.unix_sql("face", zone, at - 40 * 86400, at + 40 * 86400, later=later)
    found = duckdb.execute(f"SELECT {sql} FROM (SELECT {face}::BIGINT AS face)").fetchone()
    both = {int(clock.replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()) for fold in (0, 1)}
    assert found is not None and found[0] == (max(both) if later else min(both))


@pytest.mark.parametrize(
    ("start", "end", "ran"), [("02:30", "02:30", 3600), ("01:59", "03:00", 2 * 3600 + 60), ("02:10", "02:40", 1800)]
)
def test_the_hour_that_comes_twice_is_told_by_the_elapsed_time(told: Any, start: str, end: str, ran: int) -> None:
    (found,), said = told(row("1", f"2026-10-25T{start}:00", f"2026-10-25T{end}:00", ran), zone="Europe/Zurich")
    assert found["end_s"] - found["start_s"] == found["ran_s"] == ran
    assert ("hour-twice" in said) == (start == "02:10")  # as long in the first hour as in the second


def test_the_second_of_two_hours_is_found_and_the_wait_is_the_shortest(told: Any) -> None:
    line = row(
        "1",
        "2026-10-25T02:40:00",
        "2026-10-25T03:10:00",
        1800,
        Submit="2026-10-25T02:39:00",
        Eligible="2026-10-25T02:39:30",
    )
    (found,), said = told(line, zone="Europe/Zurich")
    assert found["start_s"] == int(datetime.datetime(2026, 10, 25, 2, 40, fold=1, tzinfo=ZURICH).timestamp())
    assert (found["start_s"] - found["eligible_s"], found["start_s"] - found["submit_s"]) == (30, 60)
    assert "hour-twice" not in said


def test_stamps_of_an_hour_that_never_was_say_that_the_zone_is_another(told: Any) -> None:
    _, said = told(row("1", "2026-03-29T02:30:00", "2026-03-29T02:40:00", 600), zone="Europe/Zurich")
    assert "skipped" in said["stamps-that-never-were"]


def test_midnight_and_unix_times_and_offsets(told: Any) -> None:
    local, _ = told(row("1", "2026-03-29T00:00:00", "2026-03-30T00:00:00", 23 * 3600), zone="Europe/Zurich")
    unix, _ = told(row("1", "1774738800", "1774821600", 23 * 3600))
    offset, _ = told(row("1", "2026-03-29T00:00:00+0100", "2026-03-30T00:00:00+0200", 23 * 3600))
    assert local == unix == offset
    assert local[0]["start_s"] == 1774738800


# ------------------------------------------------------------------------------------------- what is one job, one attempt


def test_a_requeued_job_is_one_job_of_several_attempts(told: Any) -> None:
    found, _ = told(
        row("7", "2026-01-01T00:00:00", "2026-01-01T01:00:00", 3600, State="NODE_FAIL"),
        row("7", "2026-01-01T01:05:00", "2026-01-01T02:00:00", 3300, Submit="2026-01-01T01:00:00"),
        row("7", "2026-03-01T00:00:00", "2026-03-01T00:00:10", 10),  # the numbers began anew
    )
    assert [(one["attempt"], one["state"], one["ran_s"]) for one in found if one["start_s"] < 1770000000] == [
        (0, "node_fail", 3600),
        (1, "done", 3300),
    ]
    (later,) = [one for one in found if one["start_s"] > 1770000000]
    assert later["attempt"] == 0 and later["before_end_s"] is None


def test_a_row_that_comes_twice_counts_once_and_the_later_look_holds(told: Any) -> None:
    whole = row("1", "2026-01-01T00:00:00", "2026-01-01T01:00:00", 3600)
    early = row("1", "2026-01-01T00:00:00", "Unknown", 600, State="RUNNING")
    waiting = row("1", "Unknown", "Unknown", 0, State="PENDING", Submit="2026-01-01T00:00:00", AllocTRES="")
    for lines in ((whole, whole), (early, whole), (whole, early, waiting), (waiting, early, whole)):
        found, said = told(*lines)
        assert [(one["ran_s"], one["state"]) for one in found] == [(3600, "done")]
        assert f"{len(lines) - 1} rows" in said["twice"]


def test_jobs_of_two_clusters_with_one_number_are_two(told: Any) -> None:
    one = row("1", "2026-01-01T00:00:00", "2026-01-01T01:00:00", 3600)
    found, said = told(one, one.replace("|c|", "|d|"))
    assert len(found) == 2 and "twice" not in said


def test_what_runs_on_what_never_started_and_what_was_suspended(told: Any) -> None:
    found, said = told(
        row("1", "2026-01-01T00:00:00", "Unknown", 500, State="RUNNING", Suspended="00:01:40"),
        row(
            "2",
            "None",
            "2026-01-01T00:00:09",
            0,
            State="CANCELLED by 5",
            NCPUS=99,
            AllocTRES="",
            Submit="2026-01-01T00:00:01",
        ),
        row("3", "Unknown", "Unknown", 0, State="PENDING", NCPUS=99, AllocTRES="", Submit="2026-01-01T00:00:01"),
        row("4", "2026-01-01T00:00:00", "2026-01-01T00:10:00", 400, Suspended="00:03:20"),
    )
    runs, dead, waits, idle = found
    assert (runs["open"], runs["ran_s"], runs["end_s"] - runs["start_s"]) == (True, 500, 600)
    assert (dead["start_s"], dead["cpus"], dead["ran_s"], dead["state"]) == (None, None, 0, "cancelled")
    assert (waits["start_s"], waits["end_s"], waits["cpus"]) == (None, None, None)
    assert (idle["ran_s"], idle["end_s"] - idle["start_s"]) == (400, 600)
    assert "1 runs" in said["open"]


def test_a_clock_that_was_set_back_leaves_the_time_that_the_engine_counted(told: Any) -> None:
    found, said = told(
        row("1", "2026-01-01T01:00:00", "2026-01-01T00:00:00", 120),
        row("2", "2026-01-01T01:00:00", "2026-01-01T00:00:00", 0),
    )
    assert [one["end_s"] - one["start_s"] for one in found] == [120, 0]
    assert "2 runs" in said["ends-before-start"] and "1 of them for none" in said["ends-before-start"]


def test_steps_give_memory_and_are_not_counted() -> None:
    found, said = jobs(RECORDINGS / "slurm-22.05-sacct-all.txt")
    assert [one["job"] for one in found] == ["1", "10", "2_0", "2_1", "2_2", "3", "3", "5", "6", "7", "8+0", "8+1"]
    by = {(one["job"], one["attempt"]): one for one in found}
    assert by["6", 0]["memory_used_bytes"] == 73628 * 1024 and by["6", 0]["cpu_used_ms"] == 2791
    assert by["1", 0]["gpus"] == 2 and by["8+0", 0]["gpus"] == 2 and by["10", 0]["gpus"] == 0
    assert by["5", 0]["name"] == "two\\nlines|and a pipe"
    assert by["3", 0]["state"] == "preempted" and by["3", 1]["open"]
    assert "lines-lost" not in said and "steps-without-job" not in said


def test_text_epochs_json_and_completion_file_tell_the_same() -> None:
    """Of one cluster: what a form does not know is empty there, and nothing else differs."""
    kinds = [f"slurm-22.05-{name}" for name in ("sacct-all.txt", "sacct-epochs.txt", "sacct.json", "jobcomp.txt")]
    plain, unix, as_json, completed = (
        {(one["job"], one["attempt"]): one for one in jobs(RECORDINGS / name)[0]} for name in kinds
    )
    assert plain == unix
    assert set(plain) == set(as_json)
    for key, one in as_json.items():
        for name, value in one.items():
            if value is not None and name not in ("word", "exit_code"):
                assert value == plain[key][name], (key, name)
    same = {"8+0": "8", "8+1": "9"}
    for (job, attempt), one in plain.items():
        if (job, attempt) != ("3", 1):  # still running
            other = completed[same.get(job, job), attempt]
            for name in ("user", "partition", "start_s", "end_s", "ran_s", "cpus", "gpus", "nodes", "state", "name"):
                assert other[name] == one[name], (job, name)
    assert completed["4", 0]["start_s"] is None


def test_json_of_other_versions(tmp_path: Path) -> None:
    """Since 23.02 numbers are objects and states lists."""
    new = {
        "job_id": 5, "state": {"current": ["CANCELLED"]}, "account": "p", "user": "u", "nodes": "n1", "name": "a\nb",
        "array": {"job_id": 4, "task_id": {"set": True, "infinite": False, "number": 2}},
        "time": {"start": 100, "end": 160, "submission": 90, "eligible": 90, "elapsed": 60, "suspended": 0,
                 "limit": {"set": True, "infinite": False, "number": 10}, "total": {"seconds": 5, "microseconds": 250000}},
        "exit_code": {"return_code": {"set": True, "infinite": False, "number": 0},
                      "signal": {"id": {"set": True, "number": 15}}},
        "tres": {"allocated": [{"type": "cpu", "name": "", "count": 8}, {"type": "gres", "name": "gpu:h200", "count": 2}]},
        "steps": [{"statistics": {"energy": {"consumed": {"set": True, "number": 77}}}}],
    }  # fmt: skip
    path = tmp_path / "new.json"
    path.write_text(
        json.dumps({"meta": {}, "jobs": [new, {**new, "job_id": 6, "array": {"job_id": 0, "task_id": {"set": False}}}]})
    )
    first, second = jobs(path)[0]
    assert (first["job"], first["task"], second["job"]) == ("4_2", "2", "6")
    assert (first["cpus"], first["gpus"], first["gpu_type"], first["limit_s"]) == (8, 2, "h200", 600)
    assert (first["cpu_used_ms"], first["energy_j"], first["signal"], first["state"]) == (5250, 77, 15, "cancelled")
    path.write_text(path.read_text()[:-40])
    with pytest.raises(BadInput, match="ends within a job"):
        jobs(path)
    assert sacct_json.number({"set": True, "infinite": True, "number": 3}) is None


# ------------------------------------------------------------------------------------------------------------------ GPUs


def test_gpus_that_no_row_names_are_not_recorded(told: Any) -> None:
    plain = row("1", "2026-01-01T00:00:00", "2026-01-01T00:01:00", 60, AllocTRES="cpu=2,node=1")
    found, _ = told(plain)
    assert found[0]["gpus"] is None
    found, _ = told(plain, row("2", "2026-01-01T00:00:00", "2026-01-01T00:01:00", 60))
    assert [one["gpus"] for one in found] == [0, 1]


def test_gpus_recorded_only_since_some_day_are_not_zero_before_it(told: Any) -> None:
    days = [(f"2026-01-{day:02d}T00:00:00", f"2026-01-{day:02d}T00:01:00") for day in range(1, 31)] * 2
    lines = [
        row(str(at), *day, 60, AllocTRES="cpu=2,node=1" if int(day[0][8:10]) < 15 else "cpu=2,gres/gpu:a100=2,node=1")
        for at, day in enumerate(days)
    ]
    found, said = told(*lines)
    assert {one["gpus"] for one in found if one["start_s"] < 1768435200} == {None}
    assert {(one["gpus"], one["gpu_type"]) for one in found if one["start_s"] >= 1768435200} == {(2, "a100")}
    assert "partition x" in said["gpus-since"]


@pytest.mark.parametrize(
    ("word", "gpus"),
    [
        ("billing=97,cpu=1,gres/gpu=8,mem=64G,node=1", (8, "")),
        ("cpu=1,gres/gpu:a100=2,gres/gpu:h200=1,gres/gpu=3", (3, "a100+h200")),
        ("cpu=1,gres/gpu:a100=2", (2, "a100")),
        ("cpu=4,node=1", (None, "")),
        ("gpu:h200:2", (2, "h200")),
        ("gpu:2(IDX:0-1)", (2, "")),
    ],
)
def test_gpus_of_slurms_words(word: str, gpus: tuple[int | None, str]) -> None:
    assert values.gpus_of(word) == gpus
