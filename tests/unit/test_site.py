"""The site of all runs: links, HTML, escaping, determinism, what is rewritten, what is marked, what is left out."""

from __future__ import annotations

import html.parser
import json
import os
import re
import shutil
import time
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import msgspec
import pytest

from shakedown.acceptance import directory as acceptances
from shakedown.analysis import run_summary
from shakedown.operate.health.records import Finding, HealthReport
from shakedown.records import RunTrouble
from shakedown.results.run_directory import RunDirectory
from shakedown.site import write
from shakedown.site.build import build
from shakedown.site.layout import Cell
from support import trends
from support.acceptances import LOOK, TWO_REQUIREMENTS
from support.command import called

from support.bench import BENCH  # isort: skip  # lets the module below be found

from peers import site as fleet

assert BENCH
HOSTILE = "<img src=x onerror=alert(1)>'\"&ü\N{RIGHT-TO-LEFT OVERRIDE}"
VOID = {"meta", "link", "input", "br", "img"}
NODES, RUNS = 24, 30


class Reader(html.parser.HTMLParser):
    """Links, ids and text; raises where tags are not closed in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute of {tag} is there twice"
        assert not (tag == "a" and "a" in self.open), "a link in a link"
        found = dict(attrs)
        self.links += [value for name in ("href", "src") if (value := found.get(name)) is not None]
        if found.get("id"):
            self.ids.append(str(found["id"]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        self.text += data


def read(path: Path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text("utf-8"))
    reader.close()
    assert reader.open == [], f"{path}: {reader.open} are not closed"
    return reader


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def files(site: Path) -> dict[str, bytes]:
    return {str(one.relative_to(site)): one.read_bytes() for one in sorted(site.rglob("*")) if one.is_file()}


def made(folder: Path, *words: str | Path) -> dict[str, object]:
    """What `shakedown site --json` prints."""
    done = called("site", folder / "in", "-o", folder / "site", "--json", *words)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


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


def small(folder: Path, nodes: int = 3) -> Path:
    for node in range(nodes):
        for at in range(3):
            host = trends.node(f"n{node}")
            trends.run(folder / "in" / f"r{node}-{at}", fleet.T0_NS + at * trends.DAY_NS, [2e10 + node * 1e7], host)
    return folder


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


def test_a_site_that_was_cut_short_is_made_whole_the_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of a state that never became the site's are neither taken for current nor forgotten."""
    small(tmp_path)
    site = tmp_path / "site"
    made(tmp_path)
    first = files(site)
    trends.run(tmp_path / "in/new", fleet.T0_NS + 9 * trends.DAY_NS, [2.5e10], trends.node("n9"))

    def killed(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(write, "finish", killed)
        with pytest.raises(KeyboardInterrupt):
            now_ns = time.time_ns()  # two processes: what draws leaves threads in its own, which is then forked no more
            build([tmp_path / "in"], site, title="The fleet", least=0.01, now_ns=now_ns, processes=2)
    assert (site / "node/n9.html").exists()
    shutil.rmtree(tmp_path / "in/new")
    made(tmp_path)
    assert files(site) == first | {name: data for name, data in files(site).items() if name.startswith("cache/")}


def test_summaries_of_runs_that_are_gone_are_removed(tmp_path: Path) -> None:
    small(tmp_path)
    made(tmp_path)
    kept = sorted((tmp_path / "site/cache").iterdir())
    assert kept, "runs without a summary of their own"
    for one in kept:
        os.utime(one, (1, 1))
    shutil.rmtree(tmp_path / "in/r2-0")
    made(tmp_path)
    assert len(list((tmp_path / "site/cache").iterdir())) == len(kept) - 1


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


def _summary(path: Path, **changes: object) -> None:
    """Leave a summary in a run directory that says something else."""
    directory = RunDirectory.open(path)
    found = msgspec.structs.replace(run_summary.made(directory), **changes)
    (path / run_summary.FILE).write_bytes(run_summary.encoded(found))


def test_a_run_is_met_only_where_all_that_was_asked_is(tmp_path: Path) -> None:
    for at, asked in enumerate(({"met": 2}, {"met": 2, "undecided": 1}, {"met": 1, "not measured": 1}, {})):
        path = trends.run(tmp_path / f"in/r{at}", fleet.T0_NS + at * trends.DAY_NS, [2e10], trends.node("n1"))
        _summary(path, requirements=asked)
    made(tmp_path)
    text = (tmp_path / "site/runs.html").read_text()
    found = re.findall(r'data-of="state"><span class="chip [^>]*>(?:<span[^>]*>.</span> )?([a-z ]+)<', text)
    assert found == ["measured", "not measured", "undecided", "met"]


@pytest.mark.parametrize("host", ["", "n1,n2,n3"])
def test_a_job_over_several_nodes_that_fails_is_on_the_first_page_and_marks_no_node(tmp_path: Path, host: str) -> None:
    path = trends.run(tmp_path / "in/r", fleet.T0_NS, [2e10], trends.node("n1"))
    trouble = RunTrouble(host=host, state="crashed", what="HPL on 3 nodes", why="signal 9")
    _summary(path, hosts=("n1", "n2", "n3"), troubles=(trouble,))
    made(tmp_path)
    text = read(tmp_path / "site/index.html").text
    assert "1 job over several nodes did not end well" in text and "signal 9" in text
    first = re.search(r"<h1>.*</h1>", (tmp_path / "site/index.html").read_text())
    assert first is not None and "failed" in first[0]
    assert "No node wants a look" in text


def test_what_was_not_compared_is_not_said_to_be_as_good(tmp_path: Path) -> None:
    for at in range(8):
        trends.run(tmp_path / f"in/r{at}", fleet.T0_NS + at * trends.DAY_NS, [2e10], trends.node("n1"))
        if not at:
            made(tmp_path)
            text = read(tmp_path / "site/node/n1.html").text
            assert "not compared with others" in text and "not compared with before" in text
            assert "1 run, 2025-01-01" in text and "2025-01-01 to" not in text
    for name in ("n2", "n3"):
        trends.run(tmp_path / f"in/{name}", fleet.T0_NS, [2e10], trends.node(name))
    made(tmp_path)
    text = read(tmp_path / "site/node/n1.html").text
    assert "as fast as the nodes of its kind, as good as it was" in text
    text = read(tmp_path / "site/node/n2.html").text
    assert "as fast as the nodes of its kind, not compared with before" in text


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
