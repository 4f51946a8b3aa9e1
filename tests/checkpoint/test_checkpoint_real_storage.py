"""Real storage that goes bad under a running job: full, read-only, hung, vanished; foreign files; two jobs in a folder.

The job goes on, its levels that still can hold, what it says names the level and the reason, and the newest checkpoint
that was committed comes back, exactly. Each case runs in a mount namespace of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shakedown.checkpoint.session import CheckpointError, Code, Session

#: The job, with `spoil` and `heal`: it saves, its storage goes bad, it saves at both levels, all is well again, it saves,
#: and another job takes over from it.
JOB = """
import array, json, subprocess, sys, time
from shakedown.checkpoint.session import Session

root, spoiled, makes, spoils, heals, timeout = sys.argv[1:]
folders = {"local": f"{root}/local", "global_folder": f"{root}/global"}
values, step = array.array("d", [0.0]) * 300_000, array.array("q", [0])

def sh(command):
    return subprocess.run(["bash", "-ec", command.replace("@", f"{root}/{spoiled}")], capture_output=True, text=True)

def state_of(number):
    return array.array("d", [number + 0.5]) * len(values)

def opened(**options):
    session = Session(**folders, synchronous=1, timeout_seconds=float(timeout), **options)
    session.protect("values", values)
    session.protect("step", step)
    return session

def save(session, number, level):
    step[0] = number
    values[:] = state_of(number)
    status = session.checkpoint(level)
    return {"level": level, "code": status.code.name, "text": session.last_error()}

subprocess.run(["mkdir", "-p", *folders.values()], check=True)
made = sh(makes)
if made.returncode:
    print(json.dumps({"why": made.stderr}))
    sys.exit()
try:
    session = opened()
    before = [save(session, 1, 1), save(session, 2, 4)]
    bad = sh(spoils)
    assert bad.returncode == 0, bad.stderr
    meanwhile = [save(session, 3, 4), save(session, 4, 1), save(session, 5, 4)]
finally:
    well = sh(heals)
assert well.returncode == 0, well.stderr
for attempt in range(3000):
    after = save(session, 6, 4)
    if after["code"] == "OK" or heals == "true":
        break
    time.sleep(0.05)  # until what hung has come back
session.close()
step[0] = -1
session = opened()
status = session.restore()
print(json.dumps({"before": before, "meanwhile": meanwhile, "after": after, "restored": status.code.name,
                  "step": step[0], "right": values == state_of(step[0]), "text": status.text}))
"""
TMPFS = "mount -t tmpfs -o size=14m tmpfs @"
LOOP = "truncate -s 64m @.image && mkfs.ext4 -q @.image && mount -o loop,errors=remount-ro @.image @ && mkdir @/job"


def run(
    folder: Path, spoiled: str, makes: str, spoils: str, heals: str = "true", timeout_s: float = 200
) -> dict[str, Any]:
    alone = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", JOB, str(folder), spoiled]
    done = subprocess.run(
        [*alone, makes, spoils, heals, str(timeout_s)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    if "why" in found:
        pytest.skip(f"this machine mounts nothing here: {found['why']}")
    assert [one["code"] for one in found["before"]] == ["OK", "OK"]
    assert found["restored"] == "OK" and found["right"], found
    return found


pytestmark = pytest.mark.needs("root", "unshare", "mount")
ONLY = "is committed at level 1 only"


def test_a_shared_folder_that_is_full(tmp_path: Path) -> None:
    found = run(tmp_path, "global", TMPFS, "head -c 11m /dev/zero > @/other", "rm @/other")
    for at in (0, 2):
        one = found["meanwhile"][at]
        assert one["code"] == "STORAGE" and ONLY in one["text"] and "No space left" in one["text"], one
        assert str(tmp_path / "global") in one["text"]
    assert found["meanwhile"][1]["code"] == "OK"
    assert found["after"]["code"] == "OK" and found["step"] == 6


def test_a_node_that_is_full_leaves_the_shared_folder(tmp_path: Path) -> None:
    found = run(tmp_path, "local", TMPFS, "head -c 9m /dev/zero > @/other || true")
    first, second, third = found["meanwhile"]
    assert first["code"] == third["code"] == "OK" and "No space left" in first["text"], "level 4 needs no node"
    assert second["code"] == "STORAGE" and "an older one holds" in second["text"] and "level 1" in second["text"]
    assert found["step"] == 6


@pytest.mark.needs("mkfs.ext4")
def test_a_shared_folder_that_becomes_read_only(tmp_path: Path) -> None:
    """As ext4 does after an error of its device: nothing is written any more, what is there can be read."""
    error = "echo 1 > /sys/fs/ext4/$(basename $(findmnt -no SOURCE @))/trigger_fs_error"
    found = run(tmp_path, "global", LOOP, error)
    for at in (0, 2):
        one = found["meanwhile"][at]
        assert one["code"] == "STORAGE" and ONLY in one["text"] and "Read-only file system" in one["text"], one
    assert found["meanwhile"][1]["code"] == "OK" and found["step"] == 6


@pytest.mark.needs("mkfs.ext4", "fsfreeze")
def test_a_shared_folder_that_hangs(tmp_path: Path) -> None:
    """Writers of a frozen file system wait in the kernel and cannot be killed. Then it thaws."""
    found = run(tmp_path, "global", LOOP, "fsfreeze -f @", "fsfreeze -u @", timeout_s=4)
    for at in (0, 2):
        one = found["meanwhile"][at]
        assert one["code"] == "STORAGE" and ONLY in one["text"] and "has not answered for 4 s" in one["text"], one
    assert found["meanwhile"][1]["code"] == "OK"
    assert found["after"]["code"] == "OK" and found["step"] == 6, "it is used again once it answers"


@pytest.mark.parametrize(
    ("spoiled", "codes"), [("global", ["STORAGE", "OK", "STORAGE"]), ("local", ["OK", "STORAGE", "OK"])]
)
def test_a_folder_that_vanishes(tmp_path: Path, spoiled: str, codes: list[str]) -> None:
    found = run(tmp_path, spoiled, TMPFS, "umount -l @")
    assert [one["code"] for one in found["meanwhile"]] == codes
    for one in found["meanwhile"]:
        if one["level"] == 4 or spoiled == "local":
            assert str(tmp_path / spoiled) in one["text"] and "No such file" in one["text"], one
    assert found["step"] == 6, "the newest of those that hold"


def test_foreign_files_are_left_alone_and_named(tmp_path: Path) -> None:
    """What others put between ours, or half of ours: a pipe that would never end, links, text, folders by our names."""
    folder = tmp_path / "job"
    numbers = bytearray(range(200))
    with Session(local=folder, synchronous=1) as session:
        session.protect("numbers", numbers)
        assert session.checkpoint(1)
    (ours,) = folder.glob("gen-*")
    newer = folder / "gen-00000000000000000007"
    newer.mkdir()
    os.mkfifo(newer / "rank-000000.manifest")
    (newer / "rank-000000.data").symlink_to("/dev/zero")
    (newer / "COMMIT").write_bytes(b"SHKDCOMM and no more")
    torn = folder / "gen-00000000000000000008"
    torn.mkdir()
    (torn / "rank-000000.manifest").write_bytes((ours / "rank-000000.manifest").read_bytes())
    (torn / "rank-000000.data").write_bytes((ours / "rank-000000.data").read_bytes()[:100])
    (folder / "gen-1").mkdir()
    (folder / "notes.txt").write_text("of the user")
    (folder / "gen-00000000000000000009").write_text("no folder")
    back = bytearray(200)
    with Session(local=folder, synchronous=1, timeout_seconds=200) as session:
        session.protect("numbers", back)
        assert session.restore() and back == numbers
        for name in ("rank-000000.manifest", "COMMIT", "gen-00000000000000000008"):
            assert name in session.last_error()
        for _ in range(3):
            assert session.checkpoint(1)
    assert (folder / "notes.txt").read_text() == "of the user" and (folder / "gen-1").exists()


def test_a_second_job_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    numbers = bytearray(range(200))
    with Session(local=tmp_path / "job", synchronous=1) as session:
        session.protect("numbers", numbers)
        with pytest.raises(CheckpointError) as refused:
            Session(local=tmp_path / "job")
        assert refused.value.code is Code.LOCKED and "a folder of its own" in str(refused.value)
        assert session.checkpoint(1), "the first goes on"
    with Session(local=tmp_path / "job") as session:
        session.protect("numbers", numbers)
        assert session.restore(), "and gives the folder back when it ends"
