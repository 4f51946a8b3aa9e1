"""shakedown accounting as it is called: exit codes, what goes where, files, a live Slurm that is played."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from shakedown.cli import app as command
from shakedown.cli.accounting import app
from shakedown.errors import CannotMeasure
from shakedown.hosts.access import LocalHost
from shakedown.operate.accounting import live, settle
from shakedown.operate.accounting.loading import Store

RECORDINGS = Path(__file__).parent.parent / "recordings" / "accounting"
SACCT = RECORDINGS / "slurm-22.05-sacct-all.txt"


def call(*words: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in words])


def main(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["shakedown", "accounting", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        command.main()
    return int(ended.value.code or 0)


def test_data_goes_to_the_output_and_notes_to_the_other() -> None:
    done = call("report", SACCT, "--timezone", "UTC", "--by", "user,project+partition")
    assert done.exit_code == 0
    assert "By project and partition" in done.stdout and "CPU hours" in done.stdout
    assert "note:" in done.stderr and "note:" not in done.stdout
    told = json.loads(call("report", SACCT, "--timezone", "UTC", "--json").stdout)
    assert told["whole"]["jobs"] == 11 and told["sources"][0]["steps"] > 0


def test_times_that_say_no_zone_are_said_to_be_read_as_utc() -> None:
    plain = call("report", SACCT, "--json", "--by", "user")
    moved = call("report", SACCT, "--written-in", "Asia/Tokyo", "--json", "--by", "user")
    unix = call("report", RECORDINGS / "slurm-22.05-sacct-epochs.txt", "--json", "--by", "user")
    assert "have no zone and are read as UTC" in json.dumps(json.loads(plain.stdout)["notices"])
    assert "have no zone" not in moved.stdout + unix.stdout
    assert json.loads(plain.stdout)["begin_s"] - json.loads(moved.stdout)["begin_s"] == 9 * 3600


def test_files_are_written_whole_and_hold_the_same(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text('name = "t"\ncurrency = "CHF"\n[rates]\ncpu_h = "10"\ngpu_h = "20"\n')
    words = ("--timezone", "UTC", "--tariff", tmp_path / "t.toml", "--by", "user,project,size")
    done = call("report", SACCT, *words, "--format", "html,csv,json", "--output", tmp_path / "out")
    assert done.exit_code == 0, done.output
    names = {one.name for one in (tmp_path / "out").iterdir()}
    assert names == {
        "accounting.html",
        "accounting.json",
        "by-user.csv",
        "by-project.csv",
        "by-size.csv",
        "charges.csv",
    }
    told = json.loads((tmp_path / "out" / "accounting.json").read_text())
    with open(tmp_path / "out" / "by-user.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["cpu_s"]) for row in rows) == told["whole"]["cpu_s"]
    assert rows[0]["energy_j"] == ""  # not recorded
    with open(tmp_path / "out" / "charges.csv", newline="") as file:
        *lines, total = csv.DictReader(file)
    assert total["project"] == "total" and total["net"] == told["charges"]["total"]
    assert sum(round(100 * float(line["net"])) for line in lines) == round(100 * float(total["net"]))
    assert "CHF" in (tmp_path / "out" / "accounting.html").read_text()


def test_a_cell_that_a_spreadsheet_would_run_is_led_by_an_apostrophe(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("job,user,start,end,cpus,name\n1,=cmd|'/c calc'!A0,1790000100,1790000200,1,@x\n")
    assert call("report", tmp_path / "jobs.csv", "--by", "user", "--format", "csv", "--output", tmp_path).exit_code == 0
    assert "\n\"'=cmd" in (tmp_path / "by-user.csv").read_text() or "\n'=cmd" in (tmp_path / "by-user.csv").read_text()
    again = tmp_path / "again.csv"
    again.write_text(call("jobs", tmp_path / "jobs.csv").stdout)
    assert json.loads(call("jobs", again, "--json").stdout)["user"] == "=cmd|'/c calc'!A0"


def test_control_characters_in_a_name_do_not_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("job,user,start,end,cpus\n1,e\x1b[2Jve,1790000100,1790000200,1\n")
    assert "\x1b" not in call("report", tmp_path / "jobs.csv", "--by", "user").stdout


def test_jobs_of_any_engine_come_out_in_one_set_of_columns() -> None:
    heads = {call("jobs", RECORDINGS / name).stdout.split("\n")[0] for name in ("openpbs", "lsf", "table.csv")}
    assert len(heads) == 1
    lines = call(
        "jobs", RECORDINGS / "openpbs", "--json", "--begin", "1792893600", "--end", "1792893601"
    ).stdout.splitlines()
    assert [json.loads(line)["job"] for line in lines] == ["102"]


def test_what_is_wrong_is_said_once_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    empty, other, plain = tmp_path / "empty", tmp_path / "other", tmp_path / "plain.csv"
    empty.write_text("")
    other.write_text("hello\n")
    plain.write_text("job,start,end\n")
    cases: list[tuple[int, str, tuple[object, ...]]] = [
        (2, "no source was named", ("report",)),
        (2, "is empty", ("report", empty)),
        (2, "not in a known accounting format", ("report", other)),
        (2, "cannot be read", ("report", tmp_path / "absent")),
        (2, "did you mean 'slurm'", ("report", "--from", "slrum", "--begin", "2026-10-01")),
        (2, "a window is needed", ("report", "--from", "slurm")),
        (2, "unknown time zone", ("report", SACCT, "--timezone", "Mars/Olympus")),
        (2, "unknown time zone", ("report", SACCT, "--written-in", "Mars/Olympus")),
        (2, "is not a valid time", ("report", SACCT, "--begin", "yesterday")),
        (2, "ends before it begins", ("report", SACCT, "--begin", "2026-10-02", "--end", "2026-10-01")),
        (2, "cannot be read", ("report", SACCT, "--tariff", tmp_path / "absent.toml")),
        (2, "did you mean 'project'", ("report", SACCT, "--by", "projct")),
        (2, "did you mean 'html'", ("report", SACCT, "--format", "htm")),
        (2, "no file is to be written", ("report", SACCT, "--output", tmp_path)),
        (2, "is not a folder", ("report", SACCT, "--format", "csv", "--output", other)),
        (2, "way of counting", ("report", SACCT, "--gpus-per", "node")),
        (2, "did you mean 'sacct'", ("report", SACCT, "--as", "sact")),
        (2, "has no head line", ("report", other, "--as", "sacct")),
        (2, "names no node", ("report", SACCT, "--nodes", " ; ")),
        (2, "is there already", ("example", other)),
        (3, "no job was found", ("report", plain)),
    ]
    for code, words, arguments in cases:
        assert main(monkeypatch, *arguments) == code, arguments
        told = capsys.readouterr()
        assert words in told.err and "next:" in told.err and "Traceback" not in told.err, (arguments, told.err)
        assert told.out == ""


def test_an_example_is_what_it_says_it_is(tmp_path: Path) -> None:
    known = json.loads(call("example", tmp_path / "x", "--jobs", 300, "--json").stdout)
    words = ("--begin", known["begin_s"], "--end", known["end_s"], "--timezone", known["zone"], "--json")
    told = json.loads(call("report", tmp_path / "x", *words).stdout)
    assert told["whole"]["cpu_s"] == known["whole"]["cpu_s"] > 0


def test_readers_are_listed_with_what_makes_gpus_be_recorded() -> None:
    assert "AccountingStorageTRES=gres/gpu" in call("readers").stdout
    assert {one["name"] for one in json.loads(call("readers", "--json").stdout)} >= {
        "sacct",
        "pbs",
        "gridengine",
        "table",
    }


# ------------------------------------------------------------------------------------------------------- a live engine


def player(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch, name: str = "sacct") -> None:
    """A command that does this."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_a_live_slurm_is_asked_day_by_day_and_a_job_over_midnight_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = 1_790_000_000
    row = (
        f"7|7|c|u|p|g|x|normal|{begin}|{begin}|{begin + 200}|{begin + 90000}|89800|00:00:00|COMPLETED|0:0|1|2|"
        "cpu=2,gres/gpu=1,node=1|2G|00:00:01||||0|n1|60"
    )
    head = "|".join(live.FORMAT)
    script = f'echo "$*" >> {tmp_path}/asked\ncase "$*" in *--noheader*) ;; *) echo "{head}" ;; esac\necho "{row}"'
    player(tmp_path, script, monkeypatch)
    with Store() as store:
        live.ask(store, LocalHost(), begin, begin + 86400 + 5000)
        settle.settle(store)
        assert store.rows("SELECT job, cpus, gpus, ran_s FROM jobs") == [("7", 2, 1, 89800)]
        assert [one.code for one in store.notices] == []
        assert store.sources[0].name == "slurm"
    asked = (tmp_path / "asked").read_text().splitlines()
    assert [f"--starttime=uts{begin + day * 86400} " in one for day, one in enumerate(asked)] == [True, True]
    assert all("--duplicates" in one and "--allusers" in one and "JobName" not in one for one in asked)


def test_a_live_slurm_whose_nodes_cannot_be_asked_has_no_utilisation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = ["7", "7", "c", "u", "p", "g", "x", "normal", *["1790000000"] * 3, "1790000100", "100", *[""] * 14]
    player(tmp_path, f"printf '%s\\n' '{'|'.join(live.FORMAT)}' '{'|'.join(row)}'", monkeypatch)
    for name in ("sacctmgr", "sinfo", "scontrol"):
        player(tmp_path, "echo no >&2; exit 1", monkeypatch, name)
    done = call("report", "--from", "slurm", "--begin", "1790000000", "--end", "1790000200", "--by", "user")
    assert done.exit_code == 0, done.output
    assert "what there was to use is not known" in done.stderr and "give --nodes" in done.stdout


def test_a_slurm_that_does_not_answer_could_not_be_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    player(tmp_path, "echo 'sacct: error: Problem talking to the database' >&2; exit 1", monkeypatch)
    with Store() as store, pytest.raises(CannotMeasure, match="Problem talking"):
        live.ask(store, LocalHost(), 0, 10)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with Store() as store, pytest.raises(CannotMeasure, match="not on PATH"):
        live.ask(store, LocalHost(), 0, 10)
