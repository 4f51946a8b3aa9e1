"""A tree of difficult files: made, read, compared. Names, sizes, modes, times, links and holes."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

#: What each tool promises beyond the content and the mode of plain files.
KEEPS: Mapping[str, frozenset[str]] = {
    "rsync": frozenset({"times", "links", "holes", "any name", "empty folders"}),
    "cp": frozenset({"times", "links", "holes", "any name", "empty folders"}),
    "scp": frozenset({"times", "empty folders"}),
    "sftp": frozenset({"times", "empty folders"}),
}
_SIZES = (0, 1, 2, 511, 4096, 4097, 65536, 1_000_003, 8 * 2**20)
_NAMES = (
    "plain.txt",
    ".hidden",
    "with space",
    " spaces at its ends ",
    "Grüße €uro 𝄞.txt",
    "e\u0301 decomposed",
    "-rf",
    "$(touch pwned)",
    "`id`; echo 'x' \"y\"",
    "*?[abc]{d,e}",
    "#comment & more | pipes > out",
    "n" * 200,
)
_ODD_NAMES = ("new\nline", "back\\slash", "tab\there")
_MODES = (0o600, 0o644, 0o640, 0o755, 0o400)
_HOLE_BYTES = 16 * 2**20
_BLOCK = 2**20


class Entry(NamedTuple):
    """One thing in a tree. ``digest``: SHA-256 of a file's content."""

    kind: str  # file | folder | link
    mode: int
    size: int
    digest: str
    mtime_s: int
    link: str
    holes: bool


Tree = dict[bytes, Entry]


def fill(path: Path, size: int) -> str:
    """Write a file of random bytes, which nothing can compress, and return its SHA-256."""
    seen = hashlib.sha256()
    with open(path, "wb") as file:
        for start in range(0, size, _BLOCK):
            block = secrets.token_bytes(min(_BLOCK, size - start))
            file.write(block)
            seen.update(block)
        file.flush()
        os.fsync(file.fileno())
    return seen.hexdigest()


def make(root: Path, keeps: frozenset[str]) -> None:
    """The tree, without what a tool does not promise to keep."""
    root.mkdir()
    for size in _SIZES:
        fill(root / f"size {size}", size)
    deep = root / "deep" / "er" / "still deeper"
    deep.mkdir(parents=True)
    names = (*_NAMES, *(_ODD_NAMES if "any name" in keeps else ()))
    for number, name in enumerate(names):
        path = (deep if number % 3 == 2 else root) / name
        fill(path, 100 + number)
        path.chmod(_MODES[number % len(_MODES)])
        os.utime(path, (978_307_200 + number, 978_307_200 + number))  # 2001
    if "empty folders" in keeps:
        (root / "empty folder").mkdir(mode=0o750)
    if "links" in keeps:
        (root / "link to a file").symlink_to("plain.txt")
        (root / "link to nowhere").symlink_to("not/there")
        (deep / "link to a folder").symlink_to("../..")
    if "holes" in keeps:
        with open(root / "holes", "wb") as file:
            file.write(b"begin")
            file.seek(_HOLE_BYTES // 2)
            file.write(b"middle")
            file.truncate(_HOLE_BYTES)


def digest_of(path: Path) -> str:
    """SHA-256 of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read(root: Path) -> Tree:
    """What lies below a folder; empty where there is none."""
    found: Tree = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder) / name
            found[os.fsencode(path.relative_to(root))] = _entry(path)
    return found


def _entry(path: Path) -> Entry:
    status = path.lstat()
    kind = "link" if path.is_symlink() else "folder" if stat.S_ISDIR(status.st_mode) else "file"
    plain = kind == "file"
    return Entry(
        kind=kind,
        mode=0 if kind == "link" else stat.S_IMODE(status.st_mode),
        size=status.st_size if plain else 0,
        digest=digest_of(path) if plain else "",
        mtime_s=int(status.st_mtime) if plain else 0,
        link=os.readlink(path) if kind == "link" else "",
        holes=plain and status.st_blocks * 512 < status.st_size // 2,
    )


def differences(sent: Tree, got: Tree, keeps: frozenset[str]) -> list[str]:
    """What came back otherwise than it was sent, as far as the tool promises to keep it."""
    wrong = [f"{path!r} did not come back" for path in sent if path not in got]
    wrong += [f"{path!r} was not sent" for path in got if path not in sent]
    for path in sent.keys() & got.keys():
        before, after = sent[path], got[path]
        if before.kind != after.kind:
            wrong.append(f"{path!r} was a {before.kind} and came back as a {after.kind}")
        elif before.digest != after.digest:
            wrong.append(f"{path!r} came back with another content ({after.size} of {before.size} bytes)")
        elif before.mode != after.mode:
            wrong.append(f"{path!r} had the mode {before.mode:o} and came back with {after.mode:o}")
        elif before.link != after.link:
            wrong.append(f"{path!r} pointed to {before.link!r} and points to {after.link!r}")
        elif "times" in keeps and before.mtime_s != after.mtime_s:
            wrong.append(f"{path!r} came back with another time of modification")
        elif "holes" in keeps and before.holes and not after.holes:
            wrong.append(f"{path!r} came back without its holes")
    return sorted(wrong)
