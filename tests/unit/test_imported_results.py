"""Logs that users have: host and time as they state them, judged by their own checks, marked wherever they are shown."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shakedown import workloads
from shakedown.analysis import build, circumstances, compare, several
from shakedown.cli.app import app
from shakedown.errors import BadInput
from shakedown.records import Metric
from shakedown.results import imported
from shakedown.results.run_directory import RunDirectory
from shakedown.workloads.common import application_log

XHPL = "hpl/netlib-2.3-1-rank.log"
HPCC = "hpcc/hpccoutf-1.5.0-debian-2-ranks.txt"
STREAM = "mccalpin/stream-5.10-zen4.log"
FIO = "fio/fio-3.33-write-1m.json"


def read(
    name: str, *paths: Path, host: str = "", date: datetime | None = None, zone: timezone = UTC
) -> list[imported.Log]:
    return imported.read(workloads.get(name), paths, host=host, date=date, zone=zone)


def test_host_and_time_are_those_that_the_log_states(recordings: Path) -> None:
    (log,) = read("hpcc", recordings / HPCC)
    assert log.host == "vm" and (log.begin_ns, log.end_ns) == (1795187641 * 10**9, 1795187643 * 10**9)
    (log,) = read("fio", recordings / FIO, host="n1")
    assert log.end_ns == 1795187737 * 10**9 and log.end_ns - log.begin_ns == 89 * 10**6
    (log,) = read("xhpl", recordings / XHPL, host="n1", zone=timezone(timedelta(hours=2)))
    assert log.begin_ns == datetime(2020, 3, 13, 21, 18, 9, tzinfo=UTC).timestamp() * 1e9
    (log,) = read("xhpl", recordings / "hpl/nvidia-1.0-2-gpus.log", host="n1")
    assert log.begin_ns == round(datetime(2023, 2, 3, 12, 8, 2, 125000, tzinfo=UTC).timestamp() * 1e3) * 10**6
    (log,) = read("stream", recordings / "native/stream-2c.jsonl")
    assert log.host == "vm" and 0 < log.end_ns - log.begin_ns < 600 * 10**9


@pytest.mark.parametrize("name", [name for name in workloads.names() if workloads.get(name).parse is None])
def test_what_every_program_of_ours_printed_can_be_imported(name: str, recordings: Path, tmp_path: Path) -> None:
    one = workloads.get(name)
    for number, sample in enumerate(one.samples):
        path = recordings / sample.recording
        logs = read(name, path, host="n1", date=datetime(2026, 5, 4, tzinfo=UTC))
        (record,) = imported.create(tmp_path / str(number), one, logs)
        assert record.cases
        if "--backend" in (text := path.read_text()):
            assert {str(case.params["backend"]).partition(":")[0] for case in record.cases} == {"host"}, text[:300]


def test_what_a_log_does_not_state_is_asked_for(recordings: Path) -> None:
    with pytest.raises(BadInput, match="on which host") as error:
        read("mccalpin", recordings / STREAM)
    assert "--host" in error.value.hint
    with pytest.raises(BadInput, match="when it was measured") as error:
        read("mccalpin", recordings / STREAM, host="n1")
    assert "--date" in error.value.hint
    at = datetime(2026, 5, 4, 3, 2, tzinfo=UTC)
    (log,) = read("mccalpin", recordings / STREAM, host="n1", date=at)
    assert log.begin_ns == log.end_ns == at.timestamp() * 1e9


@pytest.mark.parametrize("text", ["", "not a log\n", "{}"])
def test_what_is_no_output_at_all_is_said_before_anything_is_asked_for(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    for name, words in (("xhpl", "not output of HPL"), ("mccalpin", "not output of STREAM"), ("fio", "not the JSON")):
        with pytest.raises(BadInput, match=words) as error:
            read(name, tmp_path / "x")
        assert "--host" not in error.value.hint


def test_a_time_that_cannot_be_and_a_log_twice_are_refused(recordings: Path, tmp_path: Path) -> None:
    text = (recordings / HPCC).read_text()
    for stamp in ("0", "9999999999"):
        (tmp_path / "x").write_text(text.replace("(1795187641)", f"({stamp})"))
        with pytest.raises(BadInput, match="time"):
            read("hpcc", tmp_path / "x")
    (tmp_path / "x").write_text(text)
    with pytest.raises(BadInput, match="the same as"):
        read("hpcc", recordings / HPCC, tmp_path / "x")


def test_a_run_directory_is_made_and_marked(recordings: Path, tmp_path: Path) -> None:
    packed = tmp_path / "hpcc.txt.gz"
    packed.write_bytes(gzip.compress((recordings / HPCC).read_bytes()))
    one = workloads.get("hpcc")
    records = imported.create(tmp_path / "run", one, read("hpcc", packed))
    assert [record.state for record in records] == ["ok"]
    opened = RunDirectory.open(tmp_path / "run")
    assert opened.manifest().imported and opened.load().measurements == records
    analysis, damaged = build.analyse(opened)
    assert not damaged and analysis.name == "run (imported)" and "imported" in analysis.title
    assert analysis.summary[0].startswith("What is of run was imported from logs")
    found = {finding.metric: finding for finding in analysis.findings}
    assert found["hpcc.hpl.rate"].value == 1.634e9 and found["hpcc.hpl.rate"].params["origin"] == "imported"
    assert {finding.host for finding in analysis.findings} == {"vm"}
    metrics: dict[str, Metric] = {metric.name: metric for metric in one.metrics}
    entry = compare.from_analysis(analysis)
    assert entry.name.endswith("(imported)") and compare.side_by_side([entry, entry], metrics)
    both, _ = several.analyse_many([opened, opened])
    assert any(notice.code == "imported" for notice in both.notices)


def test_a_log_that_failed_its_check_has_no_score(recordings: Path, tmp_path: Path) -> None:
    text = (recordings / HPCC).read_text().replace("Success=1", "Success=0")
    (tmp_path / "x").write_text(text)
    (record,) = imported.create(tmp_path / "run", workloads.get("hpcc"), read("hpcc", tmp_path / "x"))
    assert record.state == "wrong"
    analysis, _ = build.analyse(RunDirectory.open(tmp_path / "run"))
    assert not analysis.findings


def test_the_output_of_another_program_is_named(recordings: Path, tmp_path: Path) -> None:
    logs = read("mccalpin", recordings / XHPL, host="n1", date=datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(BadInput) as error:
        imported.create(tmp_path / "run", workloads.get("mccalpin"), logs)
    assert "import xhpl" in error.value.hint and not (tmp_path / "run").exists()


def test_the_verb_makes_the_report(recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["import", "xhpl", str(recordings / XHPL), str(recordings / "hpl/intel-2.3-12-ranks.log"), "--host", "n1"]
    done = CliRunner().invoke(app, [*words, "--zone", "UTC", "--format", "json,md"])
    assert done.exit_code == 0, done.output
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.endswith("imported-xhpl-n1")
    report = json.loads((folder / "report.json").read_text())
    rates = sorted(finding["value"] for finding in report["findings"] if finding["metric"] == "hpl.rate")
    assert rates == pytest.approx([7.1029e6, 1.1155333e12])
    assert "imported" in (folder / "report.md").read_text()
    for more in (["--date", "yesterday"], ["--zone", "Mars/Base"], ["--host", "n[1-2]"]):
        assert isinstance(CliRunner().invoke(app, [*words, *more]).exception, BadInput)


OPENFOAM = """Build  : _f3950763fe-20191219 OPENFOAM=1912
Exec   : simpleFoam -parallel
nProcs : 4
Hosts  :
(
    (n1 2)
    (n2 2)
)
Create time
Time = 1
smoothSolver:  Solving for Ux, Initial residual = 1, Final residual = 0.05, No Iterations 2
ExecutionTime = 611.07 s  ClockTime = 615 s
End
Finalising parallel run
"""


@pytest.mark.parametrize(
    ("name", "file", "step", "spoil", "nodes"),
    [
        ("xhpl", "hpl/intel-2.3-12-ranks.log", "", ("", ""), None),
        ("xhpl", XHPL, "", ("", ""), 1),
        ("hpcc", HPCC, "", ("", ""), None),
        ("mccalpin", STREAM, "", ("", ""), 1),
        ("gromacs", "gromacs/generated-water-2-ranks.log", "mdrun", ("on 1 node with", "on 3 nodes with"), 3),
        ("gromacs", "gromacs/generated-water-2-ranks.log", "mdrun", ("Running on 1 node with", "Running with"), None),
        ("quantum_espresso", "quantum_espresso/generated-slab-2-ranks.log", "scf", ("   1 nodes", "  16 nodes"), 16),
        ("openfoam", "", "", ("", ""), 2),
        ("openfoam", "", "", ("Hosts  :", "Roots  :"), None),
    ],
)
def test_nodes_are_those_that_a_log_states(
    name: str, file: str, step: str, spoil: tuple[str, str], nodes: int | None, recordings: Path, tmp_path: Path
) -> None:
    """Over how many nodes several ranks lay no log says, unless it does."""
    text = (recordings / file).read_text() if file else OPENFOAM
    text = application_log.parts(text, name, step)[step].whole if step else text  # as a user has it
    assert spoil[0] in text
    (tmp_path / "log").write_text(text.replace(*spoil))
    logs = read(name, tmp_path / "log", host="n1", date=datetime(2026, 5, 4, tzinfo=UTC))
    imported.create(tmp_path / "run", workloads.get(name), logs)
    analysis, _ = build.analyse(RunDirectory.open(tmp_path / "run"))
    setting = circumstances.setting_of(analysis)
    metrics = {one.name: one for one in workloads.get(name).metrics}
    found = [one for one in analysis.findings if one.metric in metrics]
    assert found
    assert {circumstances.of_finding(one, metrics[one.metric], setting).nodes for one in found} == {nodes}
