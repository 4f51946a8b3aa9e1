"""Storage that fails while it is measured: full, read-only, slow, gone, less than it promised. One error each, and what
was measured before stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import mounted

SMALL = ("--blocks", "65536", "--samples", "1", "--size", "1048576")


#: In the shell of ``mounted.run``: until the program has written something.
WRITES = 'until [ -n "$(find "$0"/shakedown-* -type f -size +0 2>/dev/null | head -n1)" ]; do sleep 0.02; done'


def one_error(err: str, *said: str) -> None:
    """Whether standard error is one line with its next step, and says so."""
    assert err.count("storage: ") == 1 and err.count("next:") == 1 and all(word in err for word in said), err


@pytest.mark.parametrize("kernels", ["write", "metadata"])
def test_full_meanwhile(tmp_path: Path, kernels: str) -> None:
    words = (*SMALL, "--kernels", kernels, "--seconds", "30", "--small-bytes", "4096", "--files", "2000")
    words += ("--steps", "create,unlink")
    fill = 'while :; do cat /dev/zero >>"$0/fill" 2>/dev/null; sleep 0.01; done'
    keep = 'mount -t tmpfs -o size=32m tmpfs "$0"'
    code, found, err = mounted.run(tmp_path, keep, *words, beside=f"{WRITES}; {fill}")
    assert code == 3 and not found.ended, err
    one_error(err, "No space left on device", "free some space")


@pytest.mark.needs("root", "mkfs.ext4")
def test_storage_that_promised_more_than_it_has_keeps_what_was_measured_before(tmp_path: Path) -> None:
    """A file system of 64 MiB whose device lies in a memory of 12: as a volume that is thinly provisioned."""
    make = (
        'mount -t tmpfs -o size=12m tmpfs "$0" && truncate -s 64m "$0/image" && mkfs.ext4 -q -m 0 -O ^has_journal "$0/image"'
        ' && mount -o loop "$0/image" "$0"'
    )
    words = (*SMALL, "--kernels", "write,rewrite", "--threads", "1,16", "--cache", "dropped")
    code, found, err = mounted.run(tmp_path, make, *words)
    assert code == 3 and not found.ended, err
    one_error(err, "failed: ")
    assert "Input/output error" in err or "No space left" in err, "as the loop device of this kernel tells it"
    assert [(case.kernel, case.params["threads"]) for case in found.cases] == [("write", 1), ("rewrite", 1)]


@pytest.mark.needs("root", "mkfs.ext4")
def test_an_error_after_which_it_is_read_only(tmp_path: Path) -> None:
    folder = tmp_path / "loop"
    folder.mkdir()
    image = f'"{tmp_path}/image"'
    make = (
        f'truncate -s 64m {image} && mkfs.ext4 -q {image} && mount -o loop,errors=remount-ro {image} "$0"'
        ' && device=$(basename "$(findmnt -no SOURCE "$0")") && test -w "/sys/fs/ext4/$device/trigger_fs_error"'
    )
    fail = f'{WRITES}; echo x >"/sys/fs/ext4/$device/trigger_fs_error"'
    # Files of one block: the error comes between two samples as likely as within one, when the last file is to be removed.
    words = (
        *SMALL,
        "--size",
        "65536",
        "--kernels",
        "write,metadata",
        "--seconds",
        "20",
        "--files",
        "200",
        "--sync",
        "none",
    )
    code, found, err = mounted.run(folder, make, *words, beside=fail)
    assert code == 3 and not found.ended, err
    assert "Read-only file system" in err or "Input/output error" in err, err
    assert "next:" in err


@pytest.mark.needs("root", "bindfs")
def test_a_slow_directory_among_several_is_named(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("slow", "behind", "fast")]
    for folder in folders:
        folder.mkdir()
    # What lies behind both is memory: a disk that others use would be slow as well.
    memory = " && ".join(f'mount -t tmpfs tmpfs "{folder}"' for folder in folders[1:])
    slow = f'{memory} && bindfs --write-rate=2M "{folders[1]}" "$0"'
    words = (
        *SMALL,
        "--kernels",
        "write",
        "--threads",
        "2",
        "--cache",
        "dropped",
        "--more-directories",
        str(folders[2]),
    )
    code, found, err = mounted.run(folders[0], slow, *words)
    assert code == 0, err
    (notice,) = (one for one in found.notices if one.code == "storage-slow-directory")
    assert str(folders[0]) in notice.text and notice.advice
    facts = found.provenance["facts"]
    assert [one["directory"] for one in facts["directories"]] == [str(folders[0]), str(folders[2])]
    parts = facts["over_time write block=65536 threads=2"]["directories"]
    assert [one["bytes"] for one in parts] == [1 << 20, 1 << 20] and parts[0]["seconds"] > parts[1]["seconds"]


@pytest.mark.needs("root", "bindfs")
def test_storage_that_goes_away(tmp_path: Path) -> None:
    folder, behind = tmp_path / "gone", tmp_path / "behind"
    folder.mkdir()
    behind.mkdir()
    serve = f'bindfs -f "{behind}" "$0" >/dev/null 2>&1 & server=$!; until mountpoint -q "$0"; do sleep 0.01; done'
    end = f'until ls "{behind}"/shakedown-*/files.0/f1000; do sleep 0.01; done; kill -9 "$server"'
    words = (*SMALL, "--kernels", "write,metadata", "--files", "100000", "--cache", "dropped")
    code, found, err = mounted.run(folder, serve, *words, beside=end)
    assert code == 3 and not found.ended, err
    assert "Transport endpoint is not connected" in err and "the storage failed or has gone" in err
    assert "could not be removed" in err, "what is out of reach is said"
    assert [case.kernel for case in found.cases] == ["write"]
