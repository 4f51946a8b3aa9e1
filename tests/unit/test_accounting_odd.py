"""Records that cannot be read, or cannot be so, are counted, named and shown; a window ends now; waiting has a total."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from shakedown.errors import BadInput, CannotMeasure
from shakedown.hosts.access import Result
from shakedown.operate.accounting import readers, report, tables
from shakedown.operate.accounting.loading import Store
from shakedown.operate.accounting.readers import _unread
from shakedown.operate.accounting.records import AccountingReport
from support.engines import HEAD, T0, Job, gridengine, row, settled, torque

# ------------------------------------------------------------------------------------------------- what cannot be, in each


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


@pytest.mark.parametrize("stamp", ["28/09/26 08:00", "26-09-28 08:00:00", "0026-09-28T08:00:00", "86400", "-5"])
def test_a_stamp_of_long_before_any_engine_is_none_of_that_form(stamp: str, tmp_path: Path) -> None:
    lines = [row(1, T0, T0 + 100), row(2, stamp, stamp), row(3, T0, stamp), row(4, T0, T0 + 100, Submit=stamp)]
    with Store(zone="UTC") as store:
        (tmp_path / "sacct").write_text("\n".join([HEAD, *lines]) + "\n")
        readers.for_file(tmp_path / "sacct").read(store, tmp_path / "sacct")
        told = [one.text for one in store.notices if one.code == "not-read"]
    assert [text.split(" of ")[0] for text in told] == ["Start", "End", "Submit"]
    assert stamp in told[0] and "not counted at all" in told[0]
    found, _ = settled(tmp_path / "again", "\n".join([HEAD, *lines]))
    assert sorted(found) == ["1", "3", "4"]
    assert found["3"]["end_s"] == T0 + 100 and found["4"]["submit_s"] is None


def test_what_could_not_be_read_is_said_in_one_order_whatever_the_database_s(tmp_path: Path) -> None:
    """DuckDB gives groups in any order, so that one file was told in two ways."""
    rows = [(name, 2, "7", "x") for name in _unread._ORDER]
    for seed in range(20):
        random.Random(seed).shuffle(rows)
        with Store(zone="UTC") as store, pytest.MonkeyPatch.context() as patch:
            unread = _unread.Unread()
            patch.setattr(store, "rows", lambda sql: rows)
            unread.count(store)
            assert unread.notices(store, "sacct") == 2
        assert [one.text.split(" of ")[0] for one in store.notices] == list(_unread._ORDER)


def test_of_rows_of_one_job_the_same_is_shown_each_time(tmp_path: Path) -> None:
    lines = [row(4, f"{day:02}.10.2026", T0) for day in range(28, 0, -1)] + [row(1, T0, T0 + 1)]
    for seed in range(3):
        random.Random(seed).shuffle(lines)
        with Store(zone="UTC") as store:
            (tmp_path / "sacct").write_text("\n".join([HEAD, *lines]) + "\n")
            readers.for_file(tmp_path / "sacct").read(store, tmp_path / "sacct")
            assert ["such as '01.10.2026' of job 4" in one.text for one in store.notices] == [True]


def test_a_negative_time_of_use_is_said_and_the_run_counts_from_start_to_end(tmp_path: Path) -> None:
    text = "\n".join([HEAD, row(1, T0, T0 + 100), row(2, T0, T0 + 100, ElapsedRaw=-100)])
    found, _ = settled(tmp_path / "sacct", text)
    assert found["2"]["ran_s"] == 100
    with Store(zone="UTC") as store:
        readers.for_file(tmp_path / "sacct").read(store, tmp_path / "sacct")
        assert any("Elapsed of 1 row" in one.text and "'-100' of job 2" in one.text for one in store.notices)


@pytest.mark.parametrize("start", [1, 86_400, 9_999_999_999])
def test_a_start_that_no_engine_can_have_written_is_said_in_other_records_too(start: int, tmp_path: Path) -> None:
    text = (
        "10/28/2026 08:00:00;E;7.srv;user=u account=a queue=q "
        f"ctime={T0} start={start} end={start + 60} Resource_List.ncpus=1 Exit_status=0"
    )
    _, said = settled(tmp_path / "torque", text)
    assert "before 1980 or beyond the year 2100" in said["impossible-numbers"] and "job 7" in said["impossible-numbers"]


def test_unix_and_local_stamps_in_one_file_are_both_read(tmp_path: Path) -> None:
    lines = [row(1, T0, T0 + 100), row(2, "2026-10-26T08:00:00", "2026-10-26T08:01:40", Submit="2026-10-26T07:59:00")]
    for order in (lines, lines[::-1]):
        found, said = settled(tmp_path / "sacct", "\n".join([HEAD, *order]))
        assert {one["ran_s"] for one in found.values()} == {100} and len(found) == 2
        assert found["2"]["start_s"] == 1793001600 and "not-read" not in said


def test_a_file_of_nothing_but_unknown_stamps_says_why_it_has_no_job(tmp_path: Path) -> None:
    (tmp_path / "sacct").write_text("\n".join([HEAD, row(4, "20.10.2026", "20.10.2026")]) + "\n")
    with Store(zone="UTC") as store, pytest.raises(CannotMeasure, match="Start of 1 row"):
        report.load(store, report.ReportOptions(sources=(str(tmp_path / "sacct"),)), Clock(T0))


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
        asked = report.ReportOptions(sources=(str(path),))
        report.load(store, asked, Clock(T0 + 1000))
        whole = dict(tables.facts(report.make(store, asked, Clock(T0 + 1000))))
    assert "see the notes" in whole["CPU time used"]


@pytest.mark.parametrize("word", ["0:nan", "1-00:00:inf", "99999999999999-00:00:00"])
def test_a_time_that_is_no_number_is_shown_and_not_used(word: str, tmp_path: Path) -> None:
    lines = [f"{row(1, T0, T0 + 100)}|00:06:40", f"{row(2, T0, T0 + 100)}|{word}"]
    found, said = settled(tmp_path / "sacct", "\n".join([f"{HEAD}|TotalCPU", *lines]))
    assert found["1"]["cpu_used_ms"] == 400_000 and found["2"]["cpu_used_ms"] is None and found["2"]["ran_s"] == 100
    assert word in said["not-read"] and "job 2" in said["not-read"]


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
    then = T0 - 10_000 * 86_400
    lines = [row(1, T0, T0 + 100, Submit=T0 + 3600), row(2, then, T0, ElapsedRaw=T0 - then, Submit=then)]
    _, said = settled(tmp_path / "sacct", "\n".join([HEAD, *lines]))
    assert "job 1" in said["started-before-submission"]
    assert "job 2" in said["longer-than-a-year"] and "10,000 days" in said["longer-than-a-year"]


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


def live(clock: Clock, begin: int, end: int | str) -> AccountingReport:
    asked = report.ReportOptions(from_slurm=True, begin=str(begin), end=str(end), nodes="n1 processors=4")
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
    asked = report.ReportOptions(sources=(str(path),), begin=str(T0), end=str(T0 + 86400), nodes="n1 processors=4")
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
    asked = report.ReportOptions(sources=(str(path),), by="user")
    with Store(zone="UTC") as store:
        report.load(store, asked, Clock(T0 + 10**6))  # type: ignore[arg-type]
        told = report.make(store, asked, Clock(T0 + 10**6))  # type: ignore[arg-type]
    assert (told.whole.wait_total_s, told.whole.wait_mean_s) == (sum(waits), sum(waits) / 4)
    assert told.tables[0].rows[0].wait_total_s == sum(waits)
    said = dict(tables.facts(told))["wait"]
    assert "15 min in the mean" in said and "1.0 h in all" in said
    assert "wait_total_s,wait_mean_s" in tables.table_csv(told.tables[0])
