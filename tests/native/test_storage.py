"""storage on real folders: who wrote what is read by others, caches are found out, and what is full, read-only or damaged is
reported in one line, with nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown import programs
from shakedown.programs.events import Events
from shakedown.records import Case
from shakedown.workloads.common import io500_score as io500
from support import mounted, natives

SMALL = ("--kernels", "write,rewrite,read", "--size", "1048576", "--blocks", "65536", "--samples", "1")


def run(folder: Path, *words: str) -> tuple[int, Events, str]:
    return natives.run("storage", "--directory", str(folder), *SMALL, *words).told()


def codes(found: Events) -> set[str]:
    return {one.code for one in found.notices}


def on_disk(folder: Path) -> bool:
    code, found, _ = run(folder, "--kernels", "write")
    return code == 0 and found.provenance["facts"]["where"] == "local"


@pytest.mark.parametrize(
    "words",
    [
        ("--file", "shared", "--pattern", "strided", "--threads", "3", "--blocks", "47008", "--size", "470080"),
        ("--file", "shared", "--pattern", "random", "--threads", "2", "--depth", "4"),
        ("--file", "shared", "--segments", "4", "--threads", "2"),
        ("--pattern", "strided", "--sync", "each"),
        ("--pattern", "random", "--cache", "dropped"),
        ("--sync", "none", "--cache", "kept"),
        ("--stonewall", "0.01", "--threads", "2"),
    ],
)
def test_every_pattern_is_right_and_leaves_nothing(tmp_path: Path, words: tuple[str, ...]) -> None:
    code, found, err = run(tmp_path, *words)
    assert code == 0 and found.ended and not found.garbage, err
    assert [case.kernel for case in found.cases] == ["write", "rewrite", "read"]
    for case in found.cases:
        assert case.residual is not None and case.residual.passed and case.work["bytes"] > 0
        assert case.work["bytes"] == case.work["op"] * int(case.params["block"])
        assert 0 < case.work["longest_s"] <= case.work["slowest_s"] * 1.001
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [(), ("--file", "shared", "--pattern", "strided")])
def test_damage_in_what_another_thread_wrote_is_found(tmp_path: Path, words: tuple[str, ...]) -> None:
    code, found, _ = run(tmp_path, "--kernels", "write", "--threads", "2", "--inject", "flip", *words)
    check = found.cases[0].residual
    assert code == 1 and check is not None and check.value == 1


def test_stopping_at_a_time_leaves_every_thread_with_as_much(tmp_path: Path) -> None:
    size = 1 << 30
    code, found, err = run(
        tmp_path, "--kernels", "write,read", "--threads", "2", "--stonewall", "0.05", "--size", f"{size}"
    )
    assert code == 0, err
    write, read = found.cases
    assert 0 < write.work["bytes"] < 2 * size and write.work["op"] % 2 == 0, "less than all, and the same of both"
    assert write.seconds[0] >= 0.05 and read.work["bytes"] == write.work["bytes"], "what was written is read"


def test_what_comes_from_memory_is_said_so(tmp_path: Path) -> None:
    if not on_disk(tmp_path):
        pytest.skip("needs a file system on a disk")
    _, found, _ = run(tmp_path, "--kernels", "read", "--cache", "kept")
    (kept,) = found.cases
    if "device_bytes" not in kept.work:
        assert "storage-cache-not-known" in codes(found)
        return
    assert kept.work["device_bytes"] < kept.work["bytes"] and "storage-cached" in codes(found)
    assert kept.params["doubt"] == "page cache", "it is shown, and nothing is ranked by it"
    _, found, _ = run(tmp_path, "--kernels", "read", "--cache", "dropped")
    (dropped,) = found.cases
    assert dropped.work["device_bytes"] >= 0.98 * dropped.work["bytes"] and "storage-cached" not in codes(found)
    assert "doubt" not in dropped.params


def test_several_directories_share_the_threads(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    words = ("--more-directories", f"{folders[1]},{folders[2]}", "--threads", "4", "--file", "shared")
    code, found, err = run(folders[0], *words)
    assert code == 0, err
    assert found.cases[0].params["directories"] == 3 and found.cases[0].work["bytes"] == 4 << 20
    assert all(list(folder.iterdir()) == [] for folder in folders)


def test_another_rank_reads_what_one_wrote(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    ended = natives.by_hand("storage", folder, 3, *SMALL, "--file", "shared", "--pattern", "strided")
    assert [one[0] for one in ended] == [0, 0, 0], [one[2] for one in ended]
    found = ended[0][1]
    fact = found.provenance["facts"]["over_time write block=65536 threads=1"]
    assert sum(fact["bytes"]) == 3 << 20 and {one["rank"] for one in fact["slowest"]} == {0, 1, 2}
    assert all(len(one["lag_s"]) == len(fact["bytes"]) for one in fact["slowest"])


@pytest.mark.parametrize("api", ["mpi-io", "mpi-io-collective"])
def test_mpi_io_writes_what_plain_calls_read(tmp_path: Path, api: str) -> None:
    if "mpi" not in programs.build():
        pytest.skip("built without an MPI")
    meet = tmp_path / "meet"
    words = (
        *SMALL,
        "--api",
        api,
        "--file",
        "shared",
        "--pattern",
        "strided",
        "--ranks",
        "2",
        "--rendezvous",
        str(meet),
    )
    code, found, err = natives.run_ranks("storage", 2, "--directory", str(tmp_path), *words).told()
    assert code == 0 and len(found.cases) == 3, err
    assert {case.params["engine"] for case in found.cases} == {api}
    assert list(tmp_path.iterdir()) == []


ALL_STEPS = ("create", "stat", "read-small", "rename", "unlink", "mkdir", "rmdir")


@pytest.mark.parametrize("ranks", [1, 2])
def test_small_files_step_by_step_in_own_folders_and_in_one(tmp_path: Path, ranks: int) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    words = ("--kernels", "metadata", "--steps", "create,stat,read,rename,unlink,tree", "--folders", "own,shared")
    ended = natives.by_hand(
        "storage", folder, ranks, *words, "--files", "60", "--small-bytes", "3901", "--threads", "2"
    )
    assert [one[0] for one in ended] == [0] * ranks, [one[2] for one in ended]
    cases = ended[0][1].cases
    assert [case.kernel for case in cases] == [*ALL_STEPS, *ALL_STEPS]
    assert [case.params.get("folder") for case in cases] == [None] * 7 + ["shared"] * 7
    for case in cases:
        assert case.residual is not None and case.residual.passed and case.work["op"] == 60 * 2 * ranks
        assert len(case.spans) == len(case.seconds) == 3
    assert list(folder.iterdir()) == []


def test_every_step_is_timed_long_enough_or_repeated_until_the_time_is_over(tmp_path: Path) -> None:
    """How often, on a clock that only the steps move, is parts_test.cpp's: here the real one moves in between, too."""
    words = ("--kernels", "metadata", "--steps", "create,stat,unlink", "--files", "200", "--seconds", "0.2")
    code, found, err = run(tmp_path, *words)
    assert code == 0, err
    create, stat, unlink = found.cases
    assert sum(stat.seconds) >= 0.2, "what leaves the files there is repeated as often as it takes"
    assert len(create.seconds) == len(unlink.seconds), "what was made is removed each time"
    assert min(sum(create.seconds), sum(unlink.seconds)) >= 0.2 or len(create.seconds) > 1


@pytest.mark.parametrize("ranks", [1, 3])
def test_phases_like_those_of_io500_are_right_and_their_score_is_invalid(tmp_path: Path, ranks: int) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    words = ("--kernels", "io500", "--size", str(4 << 20), "--files", "150", "--stonewall", "60")
    ended = natives.by_hand("storage", folder, ranks, *words)
    assert [one[0] for one in ended] == [0] * ranks, [one[2] for one in ended]
    cases = {case.kernel: case for case in ended[0][1].cases}
    assert set(cases) == {*io500.BANDWIDTH, *io500.METADATA}
    assert all(case.residual is not None and case.residual.passed for case in cases.values())
    assert cases["find"].work["op"] == 2 * 150 * ranks, "every small file is looked at"
    assert cases["ior-hard-read"].work["bytes"] == cases["ior-hard-write"].work["bytes"]
    assert cases["ior-easy-write"].work["bytes"] == ranks * (4 << 20)
    (score,), (notice,) = io500.totals(tuple(cases.values()))
    assert score.params["doubt"] == "INVALID" and "INVALID" in notice.text and score.work["score"] > 0
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--steps", "stat,unlink"), "what is made must be removed"),
        (("--steps", "create,touch,unlink"), "unknown step 'touch'"),
        (("--folders", "none"), "unknown kind of folder"),
        (("--api", "mpi"), "unknown api"),
        (("--api", "mpi-io", "--threads", "2"), "more ranks in place of"),
        (("--depth", "2", "--sync", "each"), "--depth 1"),
        (("--depth", "2", "--engine", "calls"), "makes one transfer at a time"),
        (("--segments", "3"), "does not divide"),
        (("--more-directories", "/nonexistent"), "cannot be asked"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    code, found, err = run(tmp_path, *words)
    assert code in (2, 3) and not found.cases and said in err and "next:" in err, err
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_that_is_too_small_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    code, found, err = mounted.run(tmp_path, 'mount -t tmpfs -o size=2m tmpfs "$0"', *SMALL, "--size", str(4 << 20))
    assert code == 3 and not found.started and "are free on" in err and "next:" in err


def test_what_is_mounted_for_reading_only_is_refused(tmp_path: Path) -> None:
    code, found, err = mounted.run(tmp_path, 'mount -t tmpfs -o ro tmpfs "$0"', *SMALL)
    assert code == 3 and not found.started and "no folder can be made" in err and "Read-only" in err


def loop(folder: Path, *words: str) -> tuple[int, Case]:
    image = folder.parent / "image"
    make = f'truncate -s 64m "{image}" && mkfs.ext4 -q "{image}" && mount -o loop "{image}" "$0"'
    code, found, err = mounted.run(folder, make, *SMALL, *words)
    assert found.cases, err
    return code, found.cases[-1]


@pytest.mark.needs("root", "mkfs.ext4")
def test_on_a_loop_device_the_disk_below_is_counted(tmp_path: Path) -> None:
    """A loop device moves what it is asked for from the memory of its file: only the disk below shows that."""
    folder = tmp_path / "loop"
    folder.mkdir()
    if not on_disk(tmp_path):
        pytest.skip("needs a file system on a disk")
    code, case = loop(folder, "--kernels", "read", "--cache", "kept")
    assert code == 0 and case.work["device_bytes"] < 0.5 * case.work["bytes"]
