"""Files whole or not at all, and journals: what was written is read again, whatever cut it off; one writer at a time."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.acceptance import directory
from shakedown.errors import StoreFailed
from shakedown.files import atomic, locks
from shakedown.files.journal import Appender, rows
from shakedown.operate.burnin import journal as burnin
from shakedown.operate.burnin import options
from shakedown.tuning.journal import TRIALS
from shakedown.tuning.journal import Journal as Tuning

RECORDED = Path(__file__).parent.parent / "recordings" / "journals"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    n: int
    text: str = ""


DECODER = msgspec.json.Decoder(Entry)


def read(path: Path) -> list[Entry | None]:
    return [row.record for row in rows(path, DECODER)]


# ----------------------------------------------------------------------------------------------------------- whole files


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o700])
def test_a_file_has_the_permissions_that_were_asked_for_whatever_the_umask(tmp_path: Path, mode: int) -> None:
    before = os.umask(0o077)
    try:
        atomic.replace(tmp_path / "f", b"x", mode=mode, folder=True)
    finally:
        os.umask(before)
    assert (tmp_path / "f").stat().st_mode & 0o777 == mode
    assert os.listdir(tmp_path) == ["f"]


def test_a_link_under_the_temporary_name_is_not_written_through(tmp_path: Path) -> None:
    with atomic.beside(tmp_path / "f") as temporary:
        name = temporary.name
        temporary.write_text("old")
    mine = tmp_path / "mine"
    mine.write_text("precious")
    (tmp_path / name).symlink_to(mine)
    atomic.replace(tmp_path / "f", "new")
    assert mine.read_text() == "precious" and (tmp_path / "f").read_text() == "new"
    assert sorted(os.listdir(tmp_path)) == ["f", "mine"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "f"
    atomic.write(path, "old")
    with pytest.raises(KeyError), atomic.beside(path) as temporary:
        temporary.write_text("half")
        raise KeyError
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["f"]
    with pytest.raises(StoreFailed, match="cannot write"):
        atomic.write(path / "below", "x")


def test_a_reserved_room_is_filled_in_place_and_keeps_its_size(tmp_path: Path) -> None:
    path = tmp_path / "note"
    atomic.reserve(path, 100)
    held = path.stat()
    atomic.fill(path, b'{"a":1}')
    assert path.stat().st_ino == held.st_ino and path.stat().st_size == 100
    assert msgspec.json.decode(path.read_bytes()) == {"a": 1}
    atomic.fill(path, b"y" * 200)
    assert path.read_bytes() == b"y" * 100


# --------------------------------------------------------------------------------------------------------------- journals


@settings(max_examples=30, deadline=None)
@given(
    texts=st.lists(st.text(max_size=40), min_size=1, max_size=5),
    back=st.integers(1, 60),
    torn=st.sampled_from(["cut", "closed"]),
)
def test_a_torn_line_costs_that_line_alone(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], back: int, torn: str
) -> None:
    path = tmp_path_factory.mktemp("j") / "j"
    kept = [Entry(n, text) for n, text in enumerate(texts)]
    file = Appender(path)
    ends = [0]
    for entry in kept:
        ends.append(ends[-1] + len(file.append(entry)) + 1)
    file.close()
    data = path.read_bytes()[: max(0, ends[-1] - back)]
    path.write_bytes(data)
    whole = sum(end <= len(data) for end in ends) - 1
    lacks_its_end_only = any(len(data) == end - 1 for end in ends[1:])
    assert [row.torn for row in rows(path, DECODER)].count(True) == (len(data) not in ends)
    again = Appender(path, torn=torn)  # type: ignore[arg-type]
    assert path.read_bytes() == data  # opening changes nothing
    again.append(Entry(99))
    again.close()
    found = [entry for entry in read(path) if entry is not None]
    assert found == [*kept[: whole + (lacks_its_end_only and torn == "closed")], Entry(99)]
    assert path.read_bytes().startswith(data if torn == "closed" else data[: ends[whole]])


def test_a_full_disk_leaves_whole_lines_and_the_next_one_stands_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Appender(tmp_path / "j")
    file.append(Entry(1))
    good = (tmp_path / "j").read_bytes()
    write, room = os.write, [5]

    def full(descriptor: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = write(descriptor, data[: room[0]])
        room[0] -= written
        return written

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            file.append(Entry(2))
        assert (tmp_path / "j").read_bytes() == good
        room[0] = 5  # and where even taking it back is refused
        patch.setattr(os, "ftruncate", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "bad")))
        with pytest.raises(OSError, match="No space"):
            file.append(Entry(3))
    file.append(Entry(4))
    file.close()
    assert read(tmp_path / "j") == [Entry(1), Entry(4)]


def test_records_are_strict_and_what_cannot_be_read_has_its_number(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes(b'{"n":1}\n{"n":1,"m":2}\n\n\x00\xff\n' + b"[" * 5000 + b'\n{"n":2}\n')
    found = list(rows(path, DECODER))
    assert [(row.number, row.record) for row in found if row.record] == [(1, Entry(1)), (6, Entry(2))]
    assert "unknown field" in found[1].error and not any(row.torn for row in found)


def test_one_writer_at_a_time_and_none_through_a_link(tmp_path: Path) -> None:
    path = tmp_path / "j"
    assert not locks.taken(path)
    first = Appender(path)
    assert locks.taken(path)
    with pytest.raises(BlockingIOError):
        Appender(path)
    first.close()
    assert not locks.taken(path)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(OSError, match="symbolic"):
        Appender(tmp_path / "link", follow=False)
    with pytest.raises(FileExistsError):
        Appender(path, create="new")
    with pytest.raises(FileNotFoundError):
        Appender(tmp_path / "none", create="never")


def test_a_file_system_without_locks_is_written_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks.fcntl, "flock", refuses)
    file = Appender(tmp_path / "j")
    file.append(Entry(1))
    file.close()
    assert read(tmp_path / "j") == [Entry(1)] and not locks.taken(tmp_path / "j")


# ---------------------------------------------------------------------------------- journals that version 0.1.0 has written


def test_a_burn_in_of_version_0_1_is_read_and_gone_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "b"
    shutil.copytree(RECORDED / "burnin", folder)
    entries = list(burnin.entries(folder))
    assert [type(one).__name__ for one in entries] == [
        "Begin",
        "Turn",
        "Turn",
        "SymptomEntry",
        "Turn",
        "Turn",
        "Minute",
        "End",
    ]
    assert options.again(folder).judgement == "failed"
    again = burnin.Journal(folder)
    again.add(entries[-1])
    again.close()
    assert list(burnin.entries(folder)) == [*entries, entries[-1]]


def test_the_trials_of_version_0_1_are_read(tmp_path: Path) -> None:
    shutil.copy(RECORDED / "tuning-trials.jsonl", tmp_path / TRIALS)
    journal = Tuning(tmp_path)
    journal.close()
    assert [trial.point["nb"] for trial in journal.trials] == [1, 3]
    assert [notice.text for notice in journal.notices] == [
        "line 2 of trials.jsonl cannot be read; that run is made again"
    ]


def test_the_record_of_an_acceptance_of_version_0_1_holds(tmp_path: Path) -> None:
    root = tmp_path / "A"
    shutil.copytree(RECORDED / "acceptance", root)
    for path in (root, *root.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    opened = directory.open_(root)
    assert [type(entry).__name__ for entry in opened.entries] == ["Begun", "Attempt", "Attempt"]
    good = (root / "journal.jsonl").read_bytes()
    with directory.writing(root) as (_, book):
        book.append(msgspec.structs.replace(opened.entries[-1], begin_ns=5), 6)
    assert (root / "journal.jsonl").read_bytes().startswith(good) and len(directory.open_(root).entries) == 4
