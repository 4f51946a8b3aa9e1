"""The site of all runs: links, HTML, escaping, determinism, what is rewritten, what is marked, what is left out."""

from __future__ import annotations

import json
import os
import re
import shutil
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import msgspec
import numpy as np
import pytest

from shakedown.acceptance import directory as acceptances
from shakedown.analysis import run_summary, trend
from shakedown.analysis.trend import chart
from shakedown.document import strips
from shakedown.operate.health.records import Finding, HealthReport
from shakedown.results.run_directory import RunDirectory
from shakedown.site import write
from shakedown.site.layout import Cell, slug
from support import trends
from support.acceptances import LOOK, TWO_REQUIREMENTS
from support.command import called

from support.bench import BENCH  # isort: skip  # lets the module below be found

from peers import site as fleet

from support.site_pages import files, made, pages, read, small  # isort: skip

assert BENCH
HOSTILE = "<img src=x onerror=alert(1)>'\"&ü\N{RIGHT-TO-LEFT OVERRIDE}"
NODES, RUNS = 24, 30


def left_out(found: dict[str, object]) -> dict[str, str]:
    listed = found["left_out"]
    assert isinstance(listed, list)
    return {Path(one["what"]).name: one["why"] for one in listed}


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet with slow and changed nodes, a hostile host, an acceptance, a health record, and everything that is broken."""
    folder = tmp_path_factory.mktemp("site")
    runs = folder / "in"
    fleet.generate(runs, NODES, RUNS, 14, 4)
    for at in range(2):
        trends.run(runs / f"odd{at} #%", fleet.T0_NS + at * trends.DAY_NS, [2e10, 2.1e10], trends.node(HOSTILE))
    trends.run(runs / "early", 10**18, [2e10], trends.node("node1"))
    trends.run(runs / "late", 5 * 10**18, [2e10], trends.node("node1"))
    trends.run(runs / "imported", fleet.T0_NS, [2e10], trends.node("node1"))
    manifest = json.loads((runs / "imported/manifest.json").read_text())
    (runs / "imported/manifest.json").write_text(json.dumps({**manifest, "imported": True}))
    shutil.copytree(runs / "node0001/0001-0003-nightly", runs / "node0001/copied")
    (runs / "cut/runs").mkdir(parents=True)
    (runs / "cut/plan.json").write_text("{}")
    (runs / "loop").symlink_to(runs)
    (runs / "nowhere").symlink_to(folder / "none")
    plan = folder / "plan.toml"
    plan.write_text(TWO_REQUIREMENTS + LOOK % "b")
    acceptances.begin(runs / "accepted", str(plan), system="Thufir & Söhne", parties={}, now_ns=fleet.T0_NS)
    (runs / "health").mkdir()
    ill = HealthReport(
        host="node0002",
        at_s=1.7e9,
        took_s=1.0,
        boot="b",
        severity="CRITICAL",
        findings=(Finding(check="gpus", item="GPU 0", severity="CRITICAL", what="Xid 79 <fell>", action="drain it"),),
    )
    (runs / "health/node0002.json").write_bytes(msgspec.json.encode(ill))
    (runs / "health/other.json").write_text('{"something": "else"}')
    (folder / "made.json").write_text(json.dumps(made(folder, "--title", HOSTILE)))
    return folder


def test_every_link_leads_to_a_page_a_report_or_an_anchor(everything: Path) -> None:
    site = everything / "site"
    read_pages = {page: read(page) for page in pages(site)}
    assert len(read_pages) > NODES + 20
    followed = 0
    for page, reader in read_pages.items():
        for link in reader.links:
            path, _, anchor = link.partition("#")
            if path == "data:,":
                continue
            assert not re.match(r"[a-z]+:|//|/", path), f"{page} leads away: {link}"
            target = Path(os.path.normpath(page.parent / unquote(path))) if path else page
            assert target.exists(), f"{page} leads nowhere: {link}"
            if anchor:
                assert anchor in read_pages[target].ids, f"{page}: {link} names no anchor"
            followed += 1
    assert followed > 1000
    hit = json.loads((site / "search.js").read_text("utf-8").partition(" = ")[2].rstrip(";\n"))
    assert len(hit) > NODES and all((site / path).exists() for _, _, path in hit)


def test_pages_are_whole_and_name_nothing_twice(everything: Path) -> None:
    for page in pages(everything / "site"):
        reader = read(page)
        assert len(reader.ids) == len(set(reader.ids)), page
        text = page.read_text("utf-8")
        assert "Content-Security-Policy" in text and "default-src 'none'" in text
        addresses = set(re.findall(r"https?://[^\"'\s<)]+", re.sub(r"<(dd|small|p|td)[ >].*?</\1>", "", text)))
        assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}, f"{page}: {addresses}"
        assert "<script>" not in text and " onload=" not in text


def test_hostile_names_are_text(everything: Path) -> None:
    site = everything / "site"
    (own,) = [one for one in (site / "node").iterdir() if "--" in one.name]
    assert re.fullmatch(r"[a-z0-9-]+\.html", own.name)
    for page in (own, site / "index.html", site / "nodes.html"):
        text = page.read_text("utf-8")
        assert "<img" not in text and HOSTILE in read(page).text
    assert "STREAM triad" in read(own).text, "values of directories without a summary are read too"
    assert any(link.endswith("report.html") for link in read(site / "node/node0003.html").links)


def test_nodes_are_marked_as_they_were_made(everything: Path) -> None:
    fleet.check(everything / "site", NODES)
    text = read(everything / "site/node/node0012.html").text
    assert "worse" in text and "kernel: " in text, "what changed with it is named"
    assert "Xid 79 <fell>" in read(everything / "site/node/node0002.html").text
    assert "node0002: critical" in (everything / "site/index.html").read_text()
    accepted = read(everything / "site/acceptances.html").text
    assert "Thufir & Söhne" in accepted and "2 not measured" in accepted and "as it was sealed" in accepted


def test_what_cannot_be_used_is_named_with_its_reason(everything: Path) -> None:
    told = left_out(json.loads((everything / "made.json").read_text()))
    assert "truncated" in told["broken1"] and "campaign" in told["broken0"]
    assert "before 2015" in told["early"] and "future" in told["late"] and "imported" in told["imported"]
    assert "copy of" in told.get("copied", told.get("0001-0003-nightly", ""))
    assert "cut short" in told["cut"]
    assert "loop" not in told, "a link to what was seen is passed over"
    notes = read(everything / "site/notes.html").text
    assert "it was imported from logs" in notes


def test_the_same_input_gives_the_same_bytes(everything: Path, tmp_path: Path) -> None:
    (tmp_path / "in").symlink_to(everything / "in")
    first = files(everything / "site")
    made(everything, "--title", HOSTILE)
    assert files(everything / "site") == first
    shutil.move(everything / "site", everything / "before")
    try:
        found = made(everything, "--title", HOSTILE, "--processes", "2")
        assert files(everything / "site") == first and found["written"] == found["pages"]
    finally:
        shutil.rmtree(everything / "before")


def test_only_what_changed_is_written_again(tmp_path: Path) -> None:
    small(tmp_path)
    made(tmp_path)
    site = tmp_path / "site"
    stamps = {path: path.stat().st_mtime_ns for path in pages(site)}
    assert made(tmp_path)["written"] == 0
    assert stamps == {path: path.stat().st_mtime_ns for path in pages(site)}
    trends.run(tmp_path / "in/more", fleet.T0_NS + 9 * trends.DAY_NS, [2.5e10], trends.node("n1"))
    again = made(tmp_path)
    assert 0 < int(str(again["written"])) < int(str(again["pages"])), "pages of published systems stay as they are"
    assert "2.5" in read(site / "node/n1.html").text or "25" in read(site / "node/n1.html").text
    shutil.rmtree(tmp_path / "in/r2-0"), shutil.rmtree(tmp_path / "in/r2-1"), shutil.rmtree(tmp_path / "in/r2-2")
    assert made(tmp_path)["removed"] == 1 and not (site / "node/n2.html").exists()


def test_times_sort_by_their_minutes(everything: Path) -> None:
    """Keys that told nothing apart within three hours."""
    text = (everything / "site/runs.html").read_text()
    keys = [float(key) for key in re.findall(r'data-key="([^"]+)">\d{4}-\d\d-\d\d', text)]
    times = re.findall(r'data-key="[^"]+">(\d{4}-\d\d-\d\d \d\d:\d\d) UTC', text)
    assert len(keys) == len(times) > 20
    for (key, when), (other, before) in pairwise(zip(keys, times, strict=True)):
        assert when == before or (key - other >= 60e9 - 1e7) == (when > before)
    assert write._cell(Cell("a", key=1.795812345e18 + 60e9), ("a", "text"), "", first=False) != write._cell(
        Cell("a", key=1.795812345e18), ("a", "text"), "", first=False
    )


def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    small(tmp_path, 1)
    (tmp_path / "site").mkdir()
    (tmp_path / "site/thesis.tex").write_text("x")
    for _ in range(2):
        done = called("site", tmp_path / "in", "-o", tmp_path / "site")
        assert done.returncode == 2 and "holds something else" in done.stderr and "-o DIR" in done.stderr
        assert [one.name for one in (tmp_path / "site").iterdir()] == ["thesis.tex"]
        (tmp_path / "site/thesis.tex").rename(tmp_path / "site/site.json")  # also where a file has the name of ours
        (tmp_path / "site/site.json").rename(tmp_path / "site/thesis.tex")
    done = called("site", tmp_path / "in", "-o", tmp_path / "in/r0-0/manifest.json")
    assert done.returncode == 2


def test_nothing_to_show_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for folder in ("in", "none"):
        done = called("site", tmp_path / folder, "-o", tmp_path / "site")
        assert done.returncode == 2 and "next:" in done.stderr and "Traceback" not in done.stderr
    (tmp_path / "in/bad").mkdir()
    (tmp_path / "in/bad/manifest.json").write_text("[]")
    done = called("site", tmp_path / "in", "-o", tmp_path / "site")
    assert done.returncode == 3 and "no run could be read" in done.stderr


# --------------------------------------------------------------------------------------------------------------- summaries


def test_a_summary_says_what_a_history_reads(tmp_path: Path) -> None:
    path = trends.run(tmp_path / "r", fleet.T0_NS, [2e10, 2.2e10, 2.1e10], trends.node())
    (run,) = trend.read([path], fleet.T0_NS + trends.DAY_NS).runs
    summary = run_summary.made(RunDirectory.open(path))
    found = {
        trend.Key(one.host, one.workload, one.metric, one.params, one.circumstances.encode()): value
        for one, value in zip(summary.series, summary.values, strict=True)
    }
    assert found == run.values and found
    assert called("report", path, "--format", "json").returncode == 0
    held = run_summary.read(path)
    assert held is not None and (held[0].values, held[0].looked_ns) == (summary.values, summary.looked_ns)
    assert msgspec.json.decode(held[0].series) == msgspec.json.decode(msgspec.json.encode(summary.series))


def test_a_summary_of_before_is_not_used(tmp_path: Path) -> None:
    path = trends.run(tmp_path / "r", fleet.T0_NS, [2e10], trends.node())
    (path / run_summary.FILE).write_bytes(run_summary.encoded(run_summary.made(RunDirectory.open(path))))
    assert run_summary.read(path) is not None
    later = (path / run_summary.FILE).stat().st_mtime_ns + 10**9
    os.utime(path / "runs/r1", ns=(later, later))
    assert run_summary.read(path) is None, "a repeat was begun after it"
    shutil.rmtree(path / "runs")
    assert run_summary.read(path) is not None
    (path / run_summary.FILE).write_text('{"schema": 1}')
    assert run_summary.read(path) is None


# ------------------------------------------------------------------------------------------------------------------ pieces


def test_what_is_screened_out_has_no_alarm() -> None:
    rng = np.random.default_rng(8)
    rows = np.exp(0.01 * rng.standard_normal((60, 300)))
    rows[:10, 200:] *= 0.97
    rows[10:20] = np.round(rows[10:20], 2)
    told = chart.alarming(rows, 1 / 400)
    assert told[:10].all() and 10 < told.sum() < 60
    for row, may in zip(rows, told, strict=True):
        assert may or not chart.alarms(np.log(row), 1 / 400)


def test_paths_are_plain_stable_and_never_alike() -> None:
    names = [
        "node1",
        "Node1",
        "NODE1",
        "",
        ".",
        "..",
        "a/b",
        "a\\b",
        "con",
        "nul.txt",
        "x" * 300,
        "\u00e9",
        "e\u0301",
        "a--b",
        "a b",
        HOSTILE,
    ]
    made_of = [slug(name) for name in names]
    assert len(set(made_of)) == len(names) == len({one.lower() for one in made_of})
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,79}", one) for one in made_of)
    assert made_of[0] == "node1" and made_of == [slug(name) for name in names]


def test_strips_stay_within_their_box_for_any_values() -> None:
    rng = np.random.default_rng(1)
    for values in (np.full(5, 3.0), 10 ** rng.uniform(-300, 300, 50), np.array([1e-9]), rng.normal(1, 1e-9, 400)):
        times = np.sort(rng.uniform(1e9, 2e9, len(values)))
        drawn = strips.history(times, values, 1e9, 2e9, 1.5e9)
        points = [tuple(map(int, pair.split(","))) for pair in re.findall(r'points="([^"]*)"', drawn)[0].split()]
        assert all(0 <= x <= strips.WIDTH and 0 <= y <= strips.HEIGHT for x, y in points)
        assert [x for x, _ in points] == sorted({x for x, _ in points})
    assert "nan" not in strips.place(1.0, (1.0, 1.0, 1.0, 1.0, 1.0))
