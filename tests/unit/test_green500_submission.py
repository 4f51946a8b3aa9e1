"""What a site writes: read strictly, joined with traces and phases; and the command that judges it."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer import Typer
from typer.testing import CliRunner

from shakedown.cli import energy_check
from shakedown.energy.green500 import levels, rules, stamps, submission
from shakedown.energy.simulate import Load, Truth, observe
from shakedown.errors import BadInput
from shakedown.metering.meters import Channel
from shakedown.metering.trace import write

ROOT = Path(__file__).parent.parent.parent
UTC = datetime.UTC

LOG = """\
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4       100000   192     8     8             {seconds:.2f}             {gflops:.4e}
HPL_pdgesv() start time Mon May  4 12:00:00 2026

HPL_pdgesv() end time   Mon May  4 12:15:00 2026

--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   4.04947690e-03 ...... PASSED
================================================================================

Finished      1 tests with the following results:
              1 tests completed and passed residual checks,
              0 tests completed and failed residual checks,
              0 tests skipped because of illegal input values.
--------------------------------------------------------------------------------

End of Tests.
================================================================================
"""


def log(seconds: float = 899.6) -> str:
    return LOG.format(seconds=seconds, gflops=(2 / 3 * 1e5**3 + 3 / 2 * 1e5**2) / seconds / 1e9)


def example() -> str:
    found = re.search(r"```toml\n(.*?)```", (ROOT / "docs" / "green500.md").read_text(), re.DOTALL)
    assert found is not None
    return found[1]


def ns(text: str) -> int:
    return round(datetime.datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 10**9


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The example of the documentation with its log and its readings."""
    (tmp_path / "submission.toml").write_text(example())
    (tmp_path / "hpl.log").write_text(log())
    origin = ns("2026-05-04T10:00:00")
    load = Load(np.array([-4e3, -90.0, 0.0, 600.0, 900.0, 960.0]), np.array([3e3, 8e3, 22e3, 21e3, 9e3, 3e3]))
    traces = []
    for i in (1, 2):
        channel = Channel(
            id="snmp/energy", host=f"pdu{i}", title="rack", quantity="energy", unit="J", scope="counter", place="rack"
        )
        traces.append(observe(load, Truth(refresh_s=1.0), channel, -1900.0, 1000.0, origin_ns=origin))
    write(tmp_path / "power.parquet", traces)
    return tmp_path


def test_the_example_of_the_documentation_reaches_level_2(folder: Path) -> None:
    found = levels.assess(submission.load(folder / "submission.toml"), rules.load())
    assert found.level == 2
    assert {one.rule for aspect in found.aspects for one in aspect.failed} == {"3.interconnect"}
    assert found.core.value == pytest.approx(2 * (600 * 22e3 + 300 * 21e3) / 900 + 1536, rel=1e-9)
    assert found.n == 100000 and found.rmax == pytest.approx(2 / 3 * 1e15 / 899.6, rel=1e-3)
    assert found.efficiency is not None and found.efficiency.u


def app() -> Typer:
    typer = Typer()
    for verb in (energy_check.check, energy_check.draw, energy_check.bundle):
        typer.command()(verb)
    return typer


def call(*words: str) -> Any:
    return CliRunner().invoke(app(), list(words))


def test_check_says_the_level_and_what_the_next_needs(folder: Path) -> None:
    file = str(folder / "submission.toml")
    done = call("check", file)
    assert done.exit_code == 0
    assert "Level 2 of EE HPC WG power measurement methodology 2.0" in done.stdout
    assert (
        "To reach Level 3:\n  - aspect 3: 'switches' is estimated; Level 3 needs a meter on 'switches'" in done.stdout
    )
    assert call("check", file, "--level", "2").exit_code == 0
    assert call("check", file, "--level", "3").exit_code == 1
    assert json.loads(call("check", file, "--json").stdout)["level"] == 2
    assert json.loads(call("check", file, "--rules", "eehpcwg-3.0-draft", "--json").stdout)["draft"] is True
    with pytest.raises(BadInput, match="rule set"):
        CliRunner().invoke(app(), ["check", file, "--rules", "eehpcwg-2"], catch_exceptions=False)


def test_draw_keeps_what_it_drew_and_the_check_verifies_it(folder: Path) -> None:
    file = folder / "submission.toml"
    done = call("draw", str(file), "--level", "2", "--seed", "17", "--json")
    assert done.exit_code == 0
    drawn = json.loads(done.stdout)
    assert drawn["nodes"] == 16 and drawn["seed"] == 17  # 10 kW of 690 W are 15 nodes, in chassis of four 16
    kept = (folder / "submission.draw.toml").read_text()
    text = file.read_text()
    first = text.index('[[feeds]]\nname = "rack 2"')
    text = text[:first] + text[text.index("[[subsystems]]") :]
    text = text.replace('nodes = ["cn[01-32]"] ', f"nodes = {json.dumps(drawn['sets'][0]['nodes'])} ")
    file.write_text(text + "\n" + kept)
    found = json.loads(call("check", str(file), "--json").stdout)
    assert found["level"] == 2
    file.write_text(file.read_text().replace("seed = 17", "seed = 18"))
    assert json.loads(call("check", str(file), "--json").stdout).get("level", 0) == 0


def test_bundle_writes_and_still_says_whether_the_level_is_reached(folder: Path) -> None:
    file = str(folder / "submission.toml")
    assert call("bundle", file, "-o", str(folder / "out.zip"), "--level", "3").exit_code == 1
    done = call("bundle", file, "-o", str(folder / "out"))
    assert done.exit_code == 0
    summary = (folder / "out" / "summary.txt").read_text()
    assert "Mflop/s/W" in summary and "Level 2 of" in summary
    assert "3 switches x 512 W" in (folder / "out" / "subsystems.txt").read_text()
    assert (folder / "out" / "submission.toml").read_text() == example()


# ------------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("accuracy = {", "acuracy = {", "unknown key 'acuracy'"),
        ('kind = "bound"', 'kind = "bond"', "bond"),
        ('meter = "rack-pdu"', 'meter = "rack-pdi"', "unknown meter 'rack-pdi'"),
        ('of = "cpu"', 'of = "gpu"', "unknown set or subsystem 'gpu'"),
        ('within = "hall"', 'within = "hal"', "unknown feed 'hal'"),
        ('channel = "pdu2:snmp/energy"', 'channel = "pdu3:snmp/energy"', "unknown channel 'pdu3:snmp/energy'"),
        ('channel = "pdu2:snmp/energy"', 'channel = "pdu1:snmp/energy"', "meters two feeds"),
        ('name = "rack 2"\nwithin = "hall"', 'name = "rack 2"\nwithin = "rack 1"', "'rack 1' contains 'rack 2'"),
        ("nodes = 64", "nodes = 65", "65 nodes, but 64 names"),
        ('nodes = ["cn[33-64]"]', 'nodes = ["cn[33-65]"]', "nodes that 'cpu' does not have: cn65"),
        ('nodes = ["cn[33-64]"]', 'nodes = ["cn[64-33]"]', "not a valid host list"),
        ('hpl_zone = "Europe/Berlin"', "", "without its zone"),
        ('hpl_zone = "Europe/Berlin"', 'hpl_zone = "Europe/Berlim"', "unknown time zone"),
        ("2026-05-04T09:30:00Z", "2026-05-04T09:30:00", "no time zone"),
        ("begin = 2026-05-04T09:30:00Z", "begin = 2026-05-04T09:50:00Z", "ends before it begins"),
        ("end = 2026-05-04T10:16:00Z", "end = 2026-05-04T10:10:00Z", "does not lie within the full run"),
        ("[phases]", "[phases]\nhpl_result = 2", "has 1 results"),
        ("[phases]", '[performance]\nrmax = "12 W"\n[phases]', "not a rate in flop/s"),
        ('nodes = ["cn[01-32]"]', 'nodes = ["cn[01-32]"]\nincludes = ["switches"]', "it would count twice"),
        ("title =", "titel =", "unknown key 'titel'"),
    ],
)
def test_what_is_wrong_is_named(folder: Path, old: str, new: str, words: str) -> None:
    text = example()
    assert old in text
    (folder / "submission.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(BadInput, match=re.escape(words)):
        submission.load(folder / "submission.toml")


def test_names_expand_with_their_zeros() -> None:
    assert submission.expand(["cn[08-11,3]", "x"]) == ("cn08", "cn09", "cn10", "cn11", "cn3", "x")
    assert submission.expand(["r[1-2]n[1-2]"]) == ("r1n1", "r1n2", "r2n1", "r2n2")


# ----------------------------------------------------------------------------------------------------------------- phases


def core_of(text: str, tmp_path: Path, **told: Any) -> tuple[stamps.Window, Any]:
    (tmp_path / "hpl.log").write_text(text)
    windows, _, _, notices = stamps.windows_of(stamps.Phases(hpl_log="hpl.log", **told), tmp_path)
    return windows["core"], notices


def test_hpl_stamps_are_read_in_the_zone_of_the_nodes(tmp_path: Path) -> None:
    for zone, hour in (("Europe/Berlin", 10), ("UTC", 12), ("+05:30", 6), ("-0700", 19)):
        core, notices = core_of(log(), tmp_path, hpl_zone=zone)
        minute = 30 if zone == "+05:30" else 0
        assert core.begin_ns == ns(f"2026-05-04T{hour:02}:{minute:02}:00")
        assert (core.seconds, core.resolution_s, notices) == (900.0, 1.0, ())


def test_stamps_that_hpl_s_own_timer_contradicts_are_told(tmp_path: Path) -> None:
    _, notices = core_of(log(850.0), tmp_path, hpl_zone="UTC")
    assert [one.code for one in notices] == ["hpl-clock"]


def test_a_run_through_the_hour_that_comes_twice_keeps_its_length(tmp_path: Path) -> None:
    """02:50 summer time to 02:10 winter time: twenty minutes, not minus forty."""
    text = log(1200.0).replace("Mon May  4 12:00:00 2026", "Sun Oct 25 02:50:00 2026")
    text = text.replace("Mon May  4 12:15:00 2026", "Sun Oct 25 02:10:00 2026")
    core, notices = core_of(text, tmp_path, hpl_zone="Europe/Berlin")
    assert (core.seconds, notices) == (1200.0, ())


def test_real_logs_of_four_implementations_have_their_stamps() -> None:
    for name, seconds in (
        ("netlib-2.3-1-rank.log", 886),
        ("intel-2.3-12-ranks.log", 94),
        ("amd-zen-2.3-2-ranks.log", 4645),
        ("nvidia-25.02-8-gpus.log", 55),
    ):
        solved = stamps.hpl_log((ROOT / "tests" / "recordings" / "hpl" / name).read_text())
        assert len(solved) == 1
        assert (solved[0].end - solved[0].begin).total_seconds() == seconds
        assert solved[0].seconds is None or abs(solved[0].seconds - seconds) < 1.5


@pytest.mark.parametrize(
    "wrong", ["May 99999999999999999999 12:00:00 2026", "Mai  4 12:00:00 2026", "May 34 12:00:00 2026"]
)
def test_a_stamp_that_is_no_time_is_refused(wrong: str) -> None:
    with pytest.raises(BadInput, match="not a time as HPL prints it"):
        stamps.hpl_log(log().replace("May  4 12:00:00 2026", wrong))


def test_a_log_without_stamps_is_refused() -> None:
    with pytest.raises(BadInput, match="no pair of lines"):
        stamps.hpl_log("WR11C2R4 ...")
    with pytest.raises(BadInput, match="no pair of lines"):
        stamps.hpl_log(log().replace("HPL_pdgesv() end", "end"))


def test_a_run_directory_tells_core_phase_full_run_and_rate(tmp_path: Path) -> None:
    """The fastest of two repeats: the mark that is as long as the fastest sample, the job's own begin and end around it."""
    from shakedown.files import atomic
    from shakedown.records import Case, Cpu, Host, Machine, Measurement, Memory, Phase, Plan
    from shakedown.results import run_directory

    machine = Machine(
        hosts=(Host(name="n", cpu=Cpu(model="", vendor="", architecture="", microarchitecture=""),
                    memory=Memory(total_bytes=1)),),
        discovered_ns=0,
        version="0",
    )  # fmt: skip
    run = run_directory.RunDirectory.create(
        tmp_path / "run",
        manifest=run_directory.Manifest(schema=run_directory.SCHEMA, campaign="c", created_ns=0, version="0", host="n"),
        campaign_toml="",
        machine=machine,
        plan=Plan(campaign="c", title="c", runs=()),
    )
    second = 10**9
    done = Measurement(
        run="abc", repeat=0, workload="hpl", params={}, host="n", state="ok", begin_ns=100 * second, end_ns=400 * second,
        cases=(Case(kernel="hpl", params={"n": 5000}, work={"flop": 1e12}, seconds=(80.0, 70.0)),),
        phases=(
            Phase(name="init matrix", begin_ns=101 * second, end_ns=120 * second),
            Phase(name="measure factorization", begin_ns=120 * second, end_ns=200 * second),
            Phase(name="measure factorization", begin_ns=230 * second, end_ns=300 * second),
        ),
    )  # fmt: skip
    folder = run.folder("abc", 0)
    folder.mkdir(parents=True)
    atomic.write_record(folder / "measurement.json", done)
    windows, rmax, n, _ = stamps.windows_of(stamps.Phases(run_directory="run"), tmp_path)
    assert (windows["core"].begin_ns, windows["core"].end_ns) == (230 * second, 300 * second)
    assert (windows["full run"].begin_ns, windows["full run"].end_ns) == (100 * second, 400 * second)
    assert (rmax, n) == (1e12 / 70, 5000)
