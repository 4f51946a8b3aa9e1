"""Files exchanged: what is refused, what comes back otherwise, and the whole of it between two folders of this host."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown import workloads
from shakedown.errors import BadInput
from shakedown.functional_tests import _exchange_tree as trees
from shakedown.functional_tests import exchange
from shakedown.programs import events
from shakedown.records import Params, Value
from shakedown.workloads.exchange import Target, parse_target
from support.machines import host, machine
from support.waiting import until
from support.workloads import params_of

WORKLOAD = workloads.get("exchange")


def resolve(**given: Value) -> Params:
    return params_of(WORKLOAD, machine(), given)


@pytest.mark.parametrize(
    ("text", "target", "login"),
    [
        ("node2:", Target("", "node2", ""), "node2"),
        ("alice@login.site.org:/scratch/x", Target("alice", "login.site.org", "/scratch/x"), "alice@login.site.org"),
        ("bob@[fd77::1]:~/a", Target("bob", "[fd77::1]", "~/a"), "bob@fd77::1"),
        ("/mnt/other file:system", Target("", "", "/mnt/other file:system"), ""),
    ],
)
def test_a_target_is_a_host_and_a_folder_or_a_folder(text: str, target: Target, login: str) -> None:
    assert parse_target(text) == target
    assert parse_target(text).login == login


@pytest.mark.parametrize(
    "text",
    [
        "",
        "relative/path",
        "-oProxyCommand=x:/a",
        "host:-rf",
        "host:/a;reboot",
        "host:$(id)",
        "host:/a b",
        "host:/a\nb",
        "a b:/c",
        "user@-x:/c",
        "/a\nb",
        ":/c",
        "@host:/c",
        "host:'x'",
        "[fd77::1:/c",
    ],
)
def test_what_ssh_or_a_shell_could_take_for_something_else_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_target(text)
    assert caught.value.hint


@given(st.text(max_size=30))
def test_no_target_smuggles_a_word(text: str) -> None:
    try:
        target = parse_target(text)
    except BadInput:
        return
    if target.host:
        assert not set(target.path) & set(" \t\n;|&$`'\"\\<>(){}*?[]!#")
        assert not target.login.startswith("-") and not target.path.startswith("-")


def test_tools_follow_from_the_target() -> None:
    assert resolve(target="far:/x")["tools"] == "rsync,scp,sftp"
    assert resolve(target="/mnt")["tools"] == "rsync,cp"
    assert resolve(target="/mnt", tools="cp, cp")["tools"] == "cp"
    for wrong in ({"target": ""}, {"target": "/mnt", "tools": "rsnyc"}, {"target": "/mnt", "large": 0}):
        with pytest.raises(BadInput) as caught:
            resolve(**wrong)
        assert caught.value.hint
    assert "--ssh-config" not in WORKLOAD.command(resolve(target="/mnt"), host()).argv


def test_the_estimate_grows_with_what_is_sent() -> None:
    small, large = resolve(target="/mnt", large=1000), resolve(target="/mnt", large=10**10)
    assert 0 < WORKLOAD.estimate_s(small, host()) < WORKLOAD.estimate_s(large, host())


def test_whatever_comes_back_otherwise_is_named(tmp_path: Path) -> None:
    keeps = trees.KEEPS["cp"]
    trees.make(tmp_path / "sent", keeps)
    sent = trees.read(tmp_path / "sent")
    assert any(b"\n" in path for path in sent) and any(entry.kind == "link" for entry in sent.values())

    def wrong(change: str) -> list[str]:
        got = tmp_path / "got"
        shutil.rmtree(got, ignore_errors=True)
        subprocess.run(["cp", "-a", "--sparse=always", str(tmp_path / "sent"), str(got)], check=True)
        match change:
            case "content":
                with open(got / "size 65536", "r+b") as file:
                    file.seek(777)
                    byte = file.read(1)
                    file.seek(777)
                    file.write(bytes([byte[0] ^ 1]))
            case "short":
                os.truncate(got / "size 4097", 4096)
            case "mode":
                (got / "plain.txt").chmod(0o666)
            case "gone":
                (got / "new\nline").unlink(missing_ok=True)
                (got / "deep/er/still deeper" / "new\nline").unlink(missing_ok=True)
            case "link":
                (got / "link to nowhere").unlink()
                (got / "link to nowhere").symlink_to("elsewhere")
            case "followed":
                (got / "link to a file").unlink()
                shutil.copy(got / "plain.txt", got / "link to a file")
            case "more":
                (got / ".plain.txt.Xy3").touch()
            case "time":
                os.utime(got / "-rf" if (got / "-rf").exists() else got / "plain.txt")
        return trees.differences(sent, trees.read(got), keeps)

    assert wrong("nothing") == []
    for change, words in {
        "content": "another content (65536 of 65536",
        "short": "another content (4096 of 4097",
        "mode": "came back with 666",
        "gone": "did not come back",
        "link": "points to 'elsewhere'",
        "followed": "was a link and came back as a file",
        "more": "was not sent",
        "time": "another time",
    }.items():
        found = wrong(change)
        assert any(words in text for text in found), (change, found)


def test_holes_that_are_filled_are_seen(tmp_path: Path) -> None:
    trees.make(tmp_path / "sent", trees.KEEPS["cp"])
    sent = trees.read(tmp_path / "sent")
    if not sent[b"holes"].holes:
        pytest.skip("this file system keeps no holes")
    subprocess.run(["cp", "-a", "--sparse=never", str(tmp_path / "sent"), str(tmp_path / "got")], check=True)
    found = trees.differences(sent, trees.read(tmp_path / "got"), trees.KEEPS["cp"])
    assert found == ["b'holes' came back without its holes"]
    assert trees.differences(sent, trees.read(tmp_path / "got"), trees.KEEPS["scp"]) == []


def test_sums_of_the_far_side_are_compared() -> None:
    entry = trees.Entry("file", 0o600, 3, "abc", 1, "", False)
    folder = entry._replace(kind="folder", digest="")
    sent = {b"a": entry, b"b": entry, b"c": folder}
    assert exchange.sent_wrong(sent, {b"a": "abc", b"b": "abc"}) == []
    wrong = exchange.sent_wrong(sent, {b"a": "xyz", b"d": "abc"})
    assert len(wrong) == 3 and "another sum" in wrong[1] and "not there" in wrong[0] and "was not sent" in wrong[2]


def demonstrate(folder: Path, *words: str, **env: str) -> tuple[subprocess.CompletedProcess[bytes], events.Events]:
    done = subprocess.run(
        [sys.executable, "-m", "shakedown.functional_tests.exchange", "--large", "100000", "--samples", "2", *words],
        capture_output=True,
        cwd=folder,
        env={**os.environ, **env},
        timeout=300,
        check=False,
    )
    return done, events.parse(done.stdout)


@pytest.fixture
def ends(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "here").mkdir()
    (tmp_path / "over there").mkdir()
    return tmp_path / "here", tmp_path / "over there"


def test_files_go_to_another_folder_and_back(ends: tuple[Path, Path]) -> None:
    here, there = ends
    done, found = demonstrate(here, "--target", str(there), "--tools", "cp")
    assert found.provenance["facts"]["hosts"] == [os.uname().nodename], "a folder of this host is no other system"
    assert done.returncode == 0, done.stderr
    large = [case for case in found.cases if case.kernel == "large"]
    assert [case.params["direction"] for case in large] == ["out", "back"]
    assert all(len(case.seconds) == 2 and case.work == {"bytes": 100000} for case in large)
    assert found.cases[-1].work == {"tools": 1}
    assert not list(here.iterdir()) and not list(there.iterdir()), "both sides are clean"


def test_a_tool_that_changes_what_it_carries_fails(ends: tuple[Path, Path], tmp_path: Path) -> None:
    here, there = ends
    false = tmp_path / "bin" / "cp"
    false.parent.mkdir()
    false.write_text(
        '#!/bin/sh\n/bin/cp "$@" || exit 1\nfor last; do :; done\n'
        '[ -d "$last" ] && printf x >> "$last/size 511"\nexit 0\n'
    )
    false.chmod(0o755)
    path = f"{false.parent}:{os.environ['PATH']}"
    done, found = demonstrate(here, "--target", str(there), "--tools", "cp", PATH=path)
    assert done.returncode == 1
    assert any("size 511" in notice.text for notice in found.notices)
    assert found.cases[-1].work == {"tools": 0} and not any(case.kernel == "large" for case in found.cases)
    assert not list(here.iterdir()) and not list(there.iterdir())


def test_what_cannot_be_reached_is_unavailable(ends: tuple[Path, Path], tmp_path: Path) -> None:
    here, there = ends
    done, _ = demonstrate(here, "--target", str(tmp_path / "absent"), "--tools", "cp")
    assert done.returncode == 3 and b"no folder can be made" in done.stderr
    done, _ = demonstrate(here, "--target", str(there), "--tools", "scp")
    assert done.returncode == 3 and b"can be used" in done.stderr
    done, _ = demonstrate(here, "--target", str(there), "--folder", str(tmp_path / "absent"))
    assert done.returncode == 2
    assert not list(there.iterdir())


def test_a_folder_that_anybody_may_write_to_is_refused(ends: tuple[Path, Path]) -> None:
    here, there = ends
    here.chmod(0o777)
    done, _ = demonstrate(here, "--target", str(there), "--tools", "cp")
    assert done.returncode == 3 and b"chmod o-w" in done.stderr


def test_a_run_that_is_ended_leaves_nothing(ends: tuple[Path, Path]) -> None:
    here, there = ends
    words = ("--target", str(there), "--tools", "cp", "--large", "1000000", "--samples", "100000")
    child = subprocess.Popen(
        [sys.executable, "-m", "shakedown.functional_tests.exchange", *words], cwd=here, stdout=subprocess.PIPE
    )
    try:
        until(lambda: list(there.glob(".shakedown-exchange-*/large")), every_s=0.02)
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=300)
    finally:
        child.kill()
    assert not list(here.iterdir()) and not list(there.iterdir())
