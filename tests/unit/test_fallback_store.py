"""Results that a run directory refuses: saved whole, named, never mixed with those of another, and brought in once."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from shakedown.errors import StoreFailed
from shakedown.files.atomic import failed
from shakedown.records import Measurement
from shakedown.results.run_directory import RunDirectory
from shakedown.run import fallback_store
from shakedown.run.fallback_store import ResultSaved


def record(repeat: int = 1, host: str = "node1", end_ns: int = 7) -> Measurement:
    return Measurement(
        run="abc",
        repeat=repeat,
        workload="empty",
        params={},
        host=host,
        state="ok",
        reason="",
        begin_ns=1,
        end_ns=end_ns,
    )


def refusal() -> StoreFailed:
    return failed(OSError(28, "No space left on device"), Path("/run/measurement.json"), "write")


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A home and a temporary folder, and no other place."""
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(temporary))
    found = fallback_store.places
    monkeypatch.setattr(fallback_store, "places", lambda in_job=False: found(in_job=in_job)[:2])
    return home, temporary


def opened(parent: Path, name: str, manifest: str = "{}") -> RunDirectory:
    path = parent / name
    path.mkdir()
    (path / "manifest.json").write_text(manifest)
    return RunDirectory(path)


def test_a_job_saves_in_the_home_and_others_in_the_temporary_folder(homes: tuple[Path, Path], tmp_path: Path) -> None:
    directory = opened(tmp_path, "run")
    for in_job, place in ((True, homes[0]), (False, homes[1])):
        error = fallback_store.save(refusal(), directory, directory.folder("abc", 1, "node1"), record(), in_job=in_job)
        assert isinstance(error, ResultSaved)
        (saved,) = error.unsaved.saved
        assert Path(saved.file).parent == place and saved.belongs == "runs/abc/1@node1/measurement.json"
        assert f"node1:{saved.file}" in error.what and f"mv {saved.file} RUN/{saved.belongs}" in error.hint
        assert "free some space" in error.hint


def test_where_no_place_takes_it_the_refusal_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fallback_store, "places", lambda in_job=False: (tmp_path / "none", tmp_path / "neither"))
    directory, error = opened(tmp_path, "run"), refusal()
    assert fallback_store.save(error, directory, directory.folder("abc", 1), record()) is error


def test_what_was_saved_is_brought_in_once_and_only_into_its_own_directory(
    homes: tuple[Path, Path], tmp_path: Path
) -> None:
    one, other = opened(tmp_path, "one", '{"n": 1}'), opened(tmp_path, "other", '{"n": 2}')
    folder = one.folder("abc", 1, "node1")
    fallback_store.save(refusal(), one, folder, record(), in_job=True)
    assert fallback_store.bring_in(other, other.folder("abc", 1, "node1")) is None
    assert fallback_store.bring_in(one, one.folder("abc", 2, "node1")) is None
    assert fallback_store.bring_in(one, folder) == record()
    assert msgspec.json.decode((folder / "measurement.json").read_bytes(), type=Measurement) == record()
    assert not list(homes[0].iterdir()) and fallback_store.bring_in(one, folder) is None


def test_a_result_in_the_run_directory_is_never_replaced(homes: tuple[Path, Path], tmp_path: Path) -> None:
    directory = opened(tmp_path, "run")
    folder = directory.folder("abc", 1)
    fallback_store.save(refusal(), directory, folder, record(end_ns=1))
    folder.mkdir(parents=True)
    (folder / "measurement.json").write_bytes(msgspec.json.encode(record(end_ns=2)))
    assert fallback_store.bring_in(directory, folder) is None
    assert b'"end_ns":2' in (folder / "measurement.json").read_bytes()


def test_links_files_cut_short_and_those_of_others_are_not_taken(homes: tuple[Path, Path], tmp_path: Path) -> None:
    directory = opened(tmp_path, "run")
    folder = directory.folder("abc", 1)
    error = fallback_store.save(refusal(), directory, folder, record())
    assert isinstance(error, ResultSaved)
    saved = Path(error.unsaved.saved[0].file)
    data = saved.read_bytes()
    saved.write_bytes(data[:-4])
    assert fallback_store.bring_in(directory, folder) is None
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(data)
    saved.unlink()
    saved.symlink_to(elsewhere)
    assert fallback_store.bring_in(directory, folder) is None
    fallback_store.save(refusal(), directory, folder, record(end_ns=9))  # a link in its place is replaced, not followed
    assert elsewhere.read_bytes() == data and not saved.is_symlink()
    if os.geteuid() == 0:
        os.chown(saved, 12345, 12345)
        assert fallback_store.bring_in(directory, folder) is None


def test_what_is_still_refused_stays_where_it_is(
    homes: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = opened(tmp_path, "run")
    folder = directory.folder("abc", 1)
    fallback_store.save(refusal(), directory, folder, record())

    def refuse(path: Path, record: object) -> None:
        raise refusal()

    monkeypatch.setattr(fallback_store, "write_record", refuse)
    with pytest.raises(ResultSaved, match="the result was saved") as caught:
        fallback_store.bring_in(directory, folder)
    assert Path(caught.value.unsaved.saved[0].file).exists()


def test_the_note_of_a_job_takes_no_more_room_than_was_taken_before(tmp_path: Path) -> None:
    """Written in place: neither the file's blocks nor its number change, however many hosts have something to say."""
    fallback_store.reserve(tmp_path, hosts=2)
    assert fallback_store.note_in(tmp_path) is None
    before = (tmp_path / fallback_store.NOTE).stat()
    hosts = [
        fallback_store.SpilledFile(host=f"node{i}", file=f"/tmp/{i:0200}", belongs=f"runs/x/1@node{i}")
        for i in range(100)
    ]
    fallback_store.leave(
        tmp_path, ResultSaved(fallback_store.SpilledResult(what="full", hint="free it", saved=tuple(hosts)))
    )
    after = (tmp_path / fallback_store.NOTE).stat()
    assert (before.st_ino, before.st_size) == (after.st_ino, after.st_size)
    note = fallback_store.note_in(tmp_path)
    assert note is not None and note.what == "full" and note.saved == tuple(hosts[: len(note.saved)])
    assert len(note.saved) >= 2


def test_a_note_says_also_what_is_no_result(tmp_path: Path) -> None:
    fallback_store.reserve(tmp_path, hosts=1)
    fallback_store.leave(tmp_path, refusal())
    note = fallback_store.note_in(tmp_path)
    assert note is not None and "No space left" in note.what and not note.saved
