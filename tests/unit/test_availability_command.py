"""`shakedown availability` as it is called: verdicts as exit codes, the arithmetic, the page, contracts, jobs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from shakedown.cli.availability import app
from shakedown.errors import BadInput, CannotMeasure
from shakedown.hosts.access import LocalHost
from shakedown.operate.availability import contract as contracts
from shakedown.operate.availability import jobs, reading

RECORDINGS = Path(__file__).parent.parent / "recordings" / "availability"
EVENTS = RECORDINGS / "slurm-22.05-events.txt"
T, DAY = 1_700_000_000, 86400
CONTRACT = """
name = "mine"
title = "Mine"
source = "the contract of 2026-01-01"
at_least = "97 %"
"""


def call(*words: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in words])


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine.toml").write_text(CONTRACT)
    return tmp_path / "mine.toml"


def outages(path: Path, *lines: str, days: int = 30) -> Path:
    head = ["node,start,end,kind,what", f"node[1-4],{T},,present,", f"*,{T},{T + days * DAY},observed,"]
    path.write_text("\n".join([*head, *lines]) + "\n")
    return path


def test_met_not_met_and_undecided_are_exit_codes(tmp_path: Path, mine: Path) -> None:
    good = outages(tmp_path / "good.csv", f"node1,{T},{T + 3 * DAY},power,PDU")
    bad = outages(tmp_path / "bad.csv", f"node1,{T},{T + 4 * DAY},power,PDU")
    short = outages(tmp_path / "short.csv", days=29)
    assert call("report", "--from", good, "--contract", mine).exit_code == 0
    assert call("report", "--from", bad, "--contract", mine).exit_code == 1
    assert call("report", "--from", short, "--contract", mine).exit_code == 4
    # Thufir's contract asks for full use, and nobody says how the machine was used.
    assert call("report", "--from", good, "--contract", "thufir").exit_code == 4
    assert call("report", "--from", bad, "--contract", "thufir").exit_code == 1


def test_json_holds_everything_and_nothing_else_is_on_standard_output(tmp_path: Path, mine: Path) -> None:
    bad = outages(
        tmp_path / "bad.csv", f"node[1-4],{T + DAY},{T + 2 * DAY},power,PDU", f"node2,{T + 9 * DAY},,gpu,Xid 79"
    )
    told = json.loads(call("report", "--from", bad, "--contract", mine, "--json", "--explain").stdout)
    assert told["verdict"] == "not met" and told["judged"]["lost"] == 4 * DAY + 21 * DAY
    assert [one["what"] for one in told["missing"]["ranked"]] == ["Xid 79", "PDU"]
    assert not any(one.get("would_meet") for one in told["missing"]["ranked"])
    assert told["missing"]["fewest"] == 2
    assert told["explained"]["lost"][-1]["sum"] == told["judged"]["lost"]


def test_the_arithmetic_is_shown_to_the_line(tmp_path: Path, mine: Path) -> None:
    good = outages(tmp_path / "good.csv", f"node1,{T + DAY},{T + 2 * DAY},power,PDU 7")
    shown = call("report", "--from", good, "--contract", mine, "--explain").stdout
    assert re.search(r"\+ +10,368,000.00 .*4 nodes x 1 processors x 2,592,000 s: node\[1-4\]", shown)
    assert re.search(r"- +86,400.00 .*node1 power: PDU 7; 86,400 s x 1 processors", shown)
    assert "= 99.166667 %" in shown


def test_a_table_that_does_not_say_for_which_time_it_speaks_needs_begin_and_end(tmp_path: Path, mine: Path) -> None:
    (tmp_path / "o.csv").write_text(f"node,start,end\nn1,{T},{T + DAY}\n")
    words = ("report", "--from", tmp_path / "o.csv", "--contract", mine, "--nodes", "n[1-2]")
    failed = call(*words)
    assert isinstance(failed.exception, BadInput) and "--begin" in str(failed.exception)
    assert call(*words, "--begin", T, "--end", T + 40 * DAY).exit_code == 0


def test_a_page_is_whole_and_escapes_what_it_was_told(tmp_path: Path, mine: Path) -> None:
    file = outages(tmp_path / "o.csv", f"node1,{T + DAY},{T + 9 * DAY},power,<script>alert(1)</script>", days=40)
    page = tmp_path / "page.html"
    assert call("report", "--from", file, "--contract", mine, "--html", page, "--explain").exit_code == 0
    text = page.read_text()
    assert "<script>alert" not in text and "&lt;script&gt;alert" in text
    assert "map-of-nodes" not in text and text.count("<svg role=") >= 2
    assert "http://" not in re.sub(r'xmlns(:\w+)?="http://[^"]*"', "", text) and "https://" not in text


def test_import_keeps_what_the_engine_forgets(tmp_path: Path) -> None:
    kept = tmp_path / "kept.csv"
    done = call("import", "--from", EVENTS, "--output", kept, "--json")
    assert done.exit_code == 0 and json.loads(done.stdout)["records"] == 6
    first, second = (json.loads(call("report", "--from", one, "--json").stdout) for one in (EVENTS, kept))
    assert first["whole"] == second["whole"] and first["causes"] == second["causes"]


# ------------------------------------------------------------------------------------------------------------ contracts


@pytest.mark.parametrize("name", contracts.names())
def test_a_shipped_contract_names_its_source_and_can_be_judged(name: str, tmp_path: Path) -> None:
    agreed = contracts.load(name)
    assert agreed.name == name and agreed.source and agreed.formula
    file = outages(tmp_path / "o.csv", days=400)
    assert call("report", "--from", file, "--contract", name).exit_code in (0, 4)
    assert call("contracts", name).exit_code == 0


def test_contracts_are_listed() -> None:
    assert {one["name"] for one in json.loads(call("contracts", "--json").stdout)} == set(contracts.names())


@pytest.mark.parametrize(
    "more, says",
    [
        ("at_leas = 1", "did you mean 'at_least'"),
        ('[window]\nlenght = "3 d"', "did you mean 'length'"),
        ('[window]\nlength = "3 km"', "unknown unit|not a valid time"),
        ('zone = "Europe/Berlyn"', "unknown time zone"),
        ('[[exclude]]\nname = "x"', "excludes nothing"),
        ('[[exclude]]\nname = "x"\nbegin = "2026-01-01"\nend = "2026-01-02"', "needs its why"),
        ('[[exclude]]\nname = "x"\nwhat = "("', "not a valid regular expression"),
        ('[down]\nstates = ["dwn"]', "unknown word 'dwn'"),
        ('[utilisation]\nat_least = "lots"', "not a valid share"),
        ('counting = "cpus"', "unknown word 'cpus'"),
    ],
)
def test_a_contract_is_read_strictly(mine: Path, more: str, says: str) -> None:
    mine.write_text(CONTRACT + more + "\n")
    failed = call("report", "--from", EVENTS, "--contract", mine)
    assert isinstance(failed.exception, BadInput)
    assert re.search(says, str(failed.exception)) and "mine.toml" in str(failed.exception)


def test_an_unknown_contract_names_the_nearest() -> None:
    failed = call("report", "--from", EVENTS, "--contract", "thufr")
    assert isinstance(failed.exception, BadInput) and "thufir" in str(failed.exception)


# ----------------------------------------------------------------------------------------------------------------- jobs

SACCT = """JobID|JobName|State|ExitCode|Start|End|NodeList|AllocCPUS
1|a|COMPLETED|0:0|{0}|{1}|node1|4
2|b|FAILED|1:0|{0}|{1}|node[1-2]|8
3|c|NODE_FAIL|0:0|{0}|{1}|node2|4
4|d|TIMEOUT|0:0|{0}|{1}|node3|4
5|e|CANCELLED by 1000|0:0|{0}|{1}|node3|4
6|f|FAILED|7:0|{0}|{2}|node4|4
"""


def test_jobs_that_failed_are_told_by_whose_fault(tmp_path: Path, mine: Path) -> None:
    (tmp_path / "sacct.txt").write_text(SACCT.format(T + DAY, T + 2 * DAY, T + 3 * DAY))
    file = outages(tmp_path / "o.csv", f"node2,{T + 2 * DAY + 60},{T + 2 * DAY + 900},hardware,DIMM")
    told = json.loads(
        call("report", "--from", file, "--contract", mine, "--jobs", tmp_path / "sacct.txt", "--json").stdout
    )["jobs"]
    found = {(one["cause"], one["state"]): one["jobs"] for one in told["causes"] if one["jobs"]}
    assert found == {
        ("system", "all"): 2,
        ("system", "node_fail"): 1,
        ("system", "failed as a node was lost"): 1,  # it ended a minute before its node was stamped
        ("user", "all"): 2,
        ("user", "timeout"): 1,
        ("user", "cancelled"): 1,
        ("unknown", "all"): 1,
        ("unknown", "failed"): 1,
    }
    share = next(one for one in told["causes"] if one["cause"] == "system")
    assert share["share"] == pytest.approx(2 / 6) and 0 < share["share_low"] < 1 / 3 < share["share_high"] < 1
    assert told["used_h"] == pytest.approx((4 + 8 + 4 + 4 + 4) * 24 + 4 * 48)


def test_jobs_that_cannot_be_used_are_counted_and_named(tmp_path: Path, mine: Path) -> None:
    text = SACCT.format(T + DAY, T + 2 * DAY, T + 3 * DAY)
    bad = f"8|h|COMPLETED|0:0|20.10.2026|20.10.2026|node1|4\n9|i|COMPLETED|0:0|{T + DAY}|{T + 2 * DAY}|node1|-4\n"
    (tmp_path / "sacct.txt").write_text(text + bad)
    file = outages(tmp_path / "o.csv", f"node2,{T + 2 * DAY + 60},{T + 2 * DAY + 900},hardware,DIMM")
    done = call("report", "--from", file, "--contract", mine, "--jobs", tmp_path / "sacct.txt", "--json")
    said = {one["code"]: one["text"] for one in json.loads(done.stdout)["jobs"]["notices"]}
    assert "1 job ended" in said["jobs-without-times"] and "such as 8" in said["jobs-without-times"]
    assert "1 job ran" in said["jobs-without-cpus"] and "such as 9" in said["jobs-without-cpus"]


def test_jobs_across_the_edges_count_for_what_is_inside() -> None:
    from shakedown.schedulers import JobRecord

    one = JobRecord(engine="slurm", id="1", state="done", cpus=10, begin_s=float(T - 50), end_s=float(T + 50))
    running = JobRecord(engine="slurm", id="2", state="running", cpus=1, begin_s=float(T + 90))
    assert jobs.used([one, running], T, T + 100) == 10 * 50 + 10


def test_a_file_of_jobs_that_is_none_is_refused(tmp_path: Path, mine: Path) -> None:
    (tmp_path / "x").write_text("hello\n")
    file = outages(tmp_path / "o.csv")
    failed = call("report", "--from", file, "--contract", mine, "--jobs", tmp_path / "x")
    assert isinstance(failed.exception, BadInput) and "describes no job" in str(failed.exception)


def test_a_year_is_read_without_its_end_being_taken_for_health(tmp_path: Path, mine: Path) -> None:
    """What comes after the last thing that was seen is not observed: never up."""
    told = json.loads(call("report", "--from", EVENTS, "--contract", mine, "--end", 1795307956 + 1000, "--json").stdout)
    assert told["whole"]["unobserved"] == 16 * 1000
    with pytest.raises(CannotMeasure):
        reading.read(["slurm"], _Silent(), begin_s=None, end_s=None)


class _Silent(LocalHost):
    def run(self, *_: object, **__: object) -> object:  # type: ignore[override]
        from shakedown.hosts.access import Result as Said

        return Said(None, "", "sacctmgr: not found")
