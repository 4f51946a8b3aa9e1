"""The site of all runs: what it says of runs and nodes, and what is left after one that was cut short."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from pathlib import Path

import msgspec
import pytest

from shakedown.analysis import run_summary
from shakedown.errors import CannotMeasure
from shakedown.records import RunTrouble
from shakedown.results.run_directory import RunDirectory
from shakedown.site import write
from shakedown.site.build import build
from shakedown.site.gather import in_processes
from support import trends
from support.site_pages import T0_NS, files, made, read, small


def test_a_site_that_was_cut_short_is_made_whole_the_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of a state that never became the site's are neither taken for current nor forgotten."""
    small(tmp_path)
    site = tmp_path / "site"
    made(tmp_path)
    first = files(site)
    trends.run(tmp_path / "in/new", T0_NS + 9 * trends.DAY_NS, [2.5e10], trends.node("n9"))

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


def _summary(path: Path, **changes: object) -> None:
    """Leave a summary in a run directory that says something else."""
    directory = RunDirectory.open(path)
    found = msgspec.structs.replace(run_summary.made(directory), **changes)
    (path / run_summary.FILE).write_bytes(run_summary.encoded(found))


def test_a_run_is_met_only_where_all_that_was_asked_is(tmp_path: Path) -> None:
    for at, asked in enumerate(({"met": 2}, {"met": 2, "undecided": 1}, {"met": 1, "not measured": 1}, {})):
        path = trends.run(tmp_path / f"in/r{at}", T0_NS + at * trends.DAY_NS, [2e10], trends.node("n1"))
        _summary(path, requirements=asked)
    made(tmp_path)
    text = (tmp_path / "site/runs.html").read_text()
    found = re.findall(r'data-of="state"><span class="chip [^>]*>(?:<span[^>]*>.</span> )?([a-z ]+)<', text)
    assert found == ["measured", "not measured", "undecided", "met"]


@pytest.mark.parametrize("host", ["", "n1,n2,n3"])
def test_a_job_over_several_nodes_that_fails_is_on_the_first_page_and_marks_no_node(tmp_path: Path, host: str) -> None:
    path = trends.run(tmp_path / "in/r", T0_NS, [2e10], trends.node("n1"))
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
        trends.run(tmp_path / f"in/r{at}", T0_NS + at * trends.DAY_NS, [2e10], trends.node("n1"))
        if not at:
            made(tmp_path)
            text = read(tmp_path / "site/node/n1.html").text
            assert "not compared with others" in text and "not compared with before" in text
            assert "1 run, 2025-01-01" in text and "2025-01-01 to" not in text
    for name in ("n2", "n3"):
        trends.run(tmp_path / f"in/{name}", T0_NS, [2e10], trends.node(name))
    made(tmp_path)
    text = read(tmp_path / "site/node/n1.html").text
    assert "as fast as the nodes of its kind, as good as it was" in text
    text = read(tmp_path / "site/node/n2.html").text
    assert "as fast as the nodes of its kind, not compared with before" in text


def _killed(number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_process_that_is_killed_ends_the_call_with_an_error() -> None:
    """And does not let it wait for ever, each night another one."""
    assert list(in_processes(abs, [0, -1, -2, -3], 2)) == [0, 1, 2, 3]
    with pytest.raises(CannotMeasure, match="killed"):
        list(in_processes(_killed, [0, 1, 2, 3], 2))
